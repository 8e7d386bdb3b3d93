"""The C-callable gradient of a tape: its state block, and the last exception of each thread.

A CompiledEntry runs one kernel. A PathsEntry runs the kernels of a GuardedTape's paths: it changes between them natively, and calls
the GuardedTape, on the calling thread, if no known path holds.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.jit.toolchain import toolchain
from ...compiler.runtime.call_frame import Frame, input_word, output_word
from ...compiler.runtime.callbacks import callback_address, take_pending
from ...compiler.runtime.callees.dispatch_loop import DONE
from ...compiler.runtime.entries import batch_rows, c_entry, python_entry
from ...compiler.runtime.status import OUT_OF_MEMORY, RECURSION
from ...errors import GuardFailed, ShapeMismatch, is_recoverable
from ...ir.instruction import FLOAT_SCALAR
from ...recording.python_state.gc_pause import without_collections
from ..tapes.row_blocks import block_kernel, rows_of_block
from .paths import Path, PathsDispatch, PathsTable, lost_error

if TYPE_CHECKING:
    from ...compiler.kernel import Kernel
    from .owner import CompiledPath, GradientOwner, PathsOwner

# The most pending exceptions; older ones are dropped, as some threads never fetch theirs.
MOST_ERRORS = 64

# A kernel for several rows of a batch at once is compiled after batches have taken this part of the time spent compiling so far;
# not if a row takes longer than this many seconds, as its operations fill the lanes already.
WORTH_COMPILING, LONGEST_ROW = 0.5, 5e-6


class Errors:
    """The exceptions raised in native calls of one tape: the latest of each thread."""

    def __init__(self) -> None:
        self._by_thread: dict[int, BaseException] = {}
        self._lock = new_lock()

    @holding("_lock")
    def keep(self, raised: BaseException) -> None:
        """Keep the exception of a call in this thread."""
        self._by_thread.pop(threading.get_ident(), None)
        self._by_thread[threading.get_ident()] = raised
        if len(self._by_thread) > MOST_ERRORS:
            del self._by_thread[next(iter(self._by_thread))]

    @holding("_lock")
    def take(self, *, any_thread: bool = False) -> BaseException | None:
        """Take this thread's exception; with `any_thread`, if it has none, the latest of any other."""
        found = self._by_thread.pop(threading.get_ident(), None)
        if found is None and any_thread and self._by_thread:
            found = self._by_thread.popitem()[1]
        # An interrupt may have come while the exception was stored.
        return take_pending() if found is None else found


def keep_error(errors: Errors, raised: BaseException) -> int:
    """Keep an exception; returns its status code."""
    errors.keep(raised)
    if is_recoverable(raised):
        return c_entry.NOT_POSITIVE_DEFINITE if isinstance(raised, np.linalg.LinAlgError) else c_entry.RECOVERABLE
    if isinstance(raised, GuardFailed):
        return c_entry.GUARD_FAILED
    return c_entry.NO_MEMORY if isinstance(raised, MemoryError) else c_entry.RAISED


class NativeEntry:
    """A C function of value and gradient, with its state.

    Attributes:
        symbol: its name in compiler.runtime.entries.c_entry.
        state_block: its last argument.
        shape: of its argument; None until the first call, if no tape has it.
        few_rows: the builtin that runs all rows of a batch at once; None until a batch has timed some rows.
        row_seconds: the time of a row; infinite until then.
        row_calls: how batches run rows; see compiler.runtime.entries.batch_rows.ROW_CALLS.
        may_use_blocks: True until it is decided whether rows are computed in blocks.
        batch_seconds: the time of batches until that is decided.
    """

    symbol: str

    def __init__(self, shape: tuple[int, ...] | None, errors: Errors, first: int, second: int) -> None:
        self.shape, self.errors = shape, errors
        self.few_rows: Callable[[np.ndarray, np.ndarray, np.ndarray, int], int] | None = None
        self.row_seconds = math.inf
        number = toolchain.number(NativeEntry, self)
        size = c_entry.ANY_SIZE if shape is None else math.prod(shape)
        callback = callback_address(_entry_failed, ("i64", "i64", "ptr", "i32"), "i32")
        self.state_block = np.array([first, second, size, number, callback, 0], np.int64)
        self.batch_seconds, self.may_use_blocks = 0.0, False
        self._row_calls: np.ndarray | None = None
        self._row_calls_address = 0

    @property
    @holding("_lock")
    def row_calls(self) -> np.ndarray:
        """Made once: native code keeps its address, whichever thread asks first."""
        if self._row_calls is None:
            self._row_calls = batch_rows.row_calls(self.function, self.user_data, math.prod(self.shape or ()))
        return self._row_calls

    @property
    def row_calls_address(self) -> int:
        """The address of `row_calls`."""
        if not self._row_calls_address:
            self._row_calls_address = int(self.row_calls.ctypes.data)
        return self._row_calls_address

    def use_blocks(self, seconds: float, points: np.ndarray) -> None:
        """Add the time of a batch; from a total that makes it worthwhile, several rows are computed at once."""

    @property
    def function(self) -> int:
        """The function's address, for callers of this package."""
        return c_entry.function_address(self.symbol)

    @property
    def user_data(self) -> int:
        """The address of the state block."""
        return int(self.state_block.ctypes.data)

    def failed(self, size: int, x: int, status: int) -> int:
        """The status to return for a kernel's `status`; keeps the exception. Called by native code."""
        raise NotImplementedError

    def error_at(self, x: np.ndarray, status: int) -> BaseException | None:
        """The exception of a call at x in this thread that returned `status`; None if it does not recur."""
        raise NotImplementedError

    def _keep(self, raised: BaseException) -> int:
        return keep_error(self.errors, raised)


class CompiledEntry(NativeEntry):
    """The native entry of a CompiledTape."""

    symbol = "tapediff_point"

    def __init__(self, compiled: GradientOwner, errors: Errors) -> None:
        kernel = compiled.kernel((0,))
        self._compiled = compiled
        # Held, as the state block has their addresses.
        self._kernel = kernel
        self._block: Kernel | None = None
        self._lock = new_lock()
        address = int(kernel.state[0])
        super().__init__(compiled.tape.input_types[0].shape, errors, address, int(kernel.state.ctypes.data))
        self.state_block[c_entry.RELEASES_GIL] = kernel.state[python_entry.RELEASES_GIL]
        self.may_use_blocks = compiled.memory is None and not compiled.threads

    def use_blocks(self, seconds: float, points: np.ndarray) -> None:
        self.batch_seconds += seconds
        if self.batch_seconds > WORTH_COMPILING * self._compiled.seconds:
            self._use_blocks(points)

    @holding("_lock")
    def _use_blocks(self, points: np.ndarray) -> None:
        few, count = self.few_rows, rows_of_block(len(points))
        if not self.may_use_blocks or few is None or not count:
            return
        self.may_use_blocks = False
        if self.row_seconds > LONGEST_ROW:
            return
        by_rows = lambda x, gradients, values: few(x, gradients, values, len(x))  # noqa: E731 -- its name is its use
        self._block = without_collections(lambda: block_kernel(self._compiled.tape, count, points, by_rows))
        if self._block is not None:
            calls = self.row_calls
            calls[batch_rows.BLOCK_KERNEL :] = self._block.state[0], self._block.state.ctypes.data
            # Last: other threads may read it already.
            calls[batch_rows.BLOCK] = count

    def failed(self, size: int, x: int, status: int) -> int:
        if status == OUT_OF_MEMORY:
            return self._keep(MemoryError(f"no memory for a workspace of {self._kernel.workspace_bytes} bytes"))
        return self._keep(take_pending() or lost_error())

    def error_at(self, x: np.ndarray, status: int) -> BaseException | None:
        if status not in (c_entry.GUARD_FAILED, c_entry.NOT_POSITIVE_DEFINITE):
            return self.errors.take()
        self.errors.take()
        try:
            self._compiled.value_and_gradient(x.reshape(self.shape))
        except BaseException as raised:  # noqa: BLE001 -- it is handed to whoever raises it
            return raised
        return None


class PathsEntry(NativeEntry, PathsDispatch):
    """The native entry of a GuardedTape, for arguments of one shape."""

    symbol = "tapediff_point_on_paths"
    TABLE, ACTIVE, RELEASES_GIL = c_entry.DISPATCH_TABLE, c_entry.ACTIVE, c_entry.RELEASES_GIL

    def __init__(self, guarded: PathsOwner, shape: tuple[int, ...] | None, errors: Errors) -> None:
        PathsDispatch.__init__(self, guarded, (FLOAT_SCALAR,), (FLOAT_SCALAR, FLOAT_SCALAR))
        self._owner = guarded
        NativeEntry.__init__(self, shape, errors, self._table.address, 0)
        self.head = self.state_block

    def failed(self, size: int, x: int, status: int) -> int:
        return self._keep(take_pending() or lost_error())

    def error_at(self, x: np.ndarray, status: int) -> BaseException | None:
        return self.errors.take()

    # Called by the dispatch table

    def answer(self, table: PathsTable, frame: Frame, asker: Path | None, status: int, outcome: int) -> int:
        """Run one call by the GuardedTape; then native code takes the same path by itself, if it may."""
        self._free_retired(table, 1)
        if status == RECURSION:
            raise RecursionError(f"calls of {self._owner.name} stand too deep in each other")
        self._raise_pending(status)
        x = _copied(frame[input_word(0)], frame[c_entry.SIZE_WORD]).reshape(self._shape_for(frame[c_entry.SIZE_WORD]))
        variant, value, gradient = self._owner.answer_at(x)
        result, target = frame[output_word(0, 1)], frame[output_word(1, 1)]
        gradient = np.ascontiguousarray(gradient, np.float64)
        self._learn(variant, table, asker, status, outcome)
        ctypes.c_double.from_address(result).value = float(value)
        # Last, and on one line: after an interrupt nothing may have been written.
        return (ctypes.memmove(target, gradient.ctypes.data, gradient.nbytes), DONE)[1]

    @holding("_lock")
    def _shape_for(self, size: int) -> tuple[int, ...]:
        if self.shape is None:
            self.shape = (size,)
            self.state_block[c_entry.SIZE] = size
        shape = self.shape
        if math.prod(shape) != size:
            raise ShapeMismatch("two threads called a new tape with points of different sizes",
                                got=f"{math.prod(shape)} and {size}", fix="use one GuardedTape for each")  # fmt: skip
        return shape

    def path_of(self, variant: CompiledPath) -> Path | None:
        if not self._owner.may_run_natively(variant):
            return None
        kernel = variant.gradient_kernel()
        state = np.array([kernel.state[0], kernel.state.ctypes.data, 0], np.int64)
        return Path(variant, kernel, c_entry.function_address("tapediff_variant"), state)


def _copied(address: int, size: int) -> np.ndarray:
    x = np.empty(size)
    ctypes.memmove(x.ctypes.data, address, x.nbytes)
    return x


def _entry_failed(number: int, size: int, x: int, status: int) -> int:
    """Called by the functions of native entries; see NativeEntry.failed."""
    return toolchain.numbered(NativeEntry, number).failed(size, x, status)
