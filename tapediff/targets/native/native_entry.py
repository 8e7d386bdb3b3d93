"""The C-callable gradient of a tape: its state block, and the last exception of each thread.

A CompiledEntry runs one kernel. A PathsEntry runs the kernels of a GuardedTape's paths: it changes between them natively, and asks
the GuardedTape, on the calling thread, where it knows no way on.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.call_frame import input_word, output_word
from ...compiler.runtime.callbacks import callback_address, take_pending
from ...compiler.runtime.callees.dispatch_loop import CURRENT, DONE
from ...compiler.runtime.callees.dispatch_table import DispatchTable, NativeVariant
from ...compiler.runtime.entries import c_entry, python_entry
from ...compiler.runtime.status import FAILURE, OUT_OF_MEMORY, RECURSION
from ...errors import GuardFailed, InvalidTape, ShapeMismatch, is_recoverable
from ...ir.instruction import FLOAT_SCALAR

if TYPE_CHECKING:
    from .owner import CompiledPath, GradientOwner, PathsOwner

# Exceptions of threads that never ask for them are forgotten beyond this many.
MOST_ERRORS = 64

_ids = itertools.count(1)
_entries: weakref.WeakValueDictionary[int, NativeEntry] = weakref.WeakValueDictionary()


class Errors:
    """The exceptions raised in native calls of one tape, the latest of each thread."""

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
        """This thread's exception; with `any_thread`, the latest of any other where it has none."""
        found = self._by_thread.pop(threading.get_ident(), None)
        if found is None and any_thread and self._by_thread:
            found = self._by_thread.popitem()[1]
        # An interrupt may have come while the exception was kept.
        return take_pending() if found is None else found


def keep_error(errors: Errors, raised: BaseException) -> int:
    """Keep an exception; gives the code that stands for it."""
    errors.keep(raised)
    if is_recoverable(raised):
        return c_entry.NOT_POSITIVE_DEFINITE if isinstance(raised, np.linalg.LinAlgError) else c_entry.RECOVERABLE
    if isinstance(raised, GuardFailed):
        return c_entry.GUARD_FAILED
    return c_entry.NO_MEMORY if isinstance(raised, MemoryError) else c_entry.RAISED


class NativeEntry:
    """A C function of value and gradient, with its state.

    Attributes:
        symbol: its name in compiler.runtime.c_entry.
        state_block: its last argument.
        shape: of its argument; None until the first call, where no tape tells.
        few_rows: the builtin that does all rows of a batch at once; None until a batch has timed some rows.
        row_seconds: how long a row takes; infinite until then.
    """

    symbol: str

    def __init__(self, shape: tuple[int, ...] | None, errors: Errors, first: int, second: int) -> None:
        self.shape, self.errors = shape, errors
        self.few_rows: Callable[[np.ndarray, np.ndarray, np.ndarray, int], int] | None = None
        self.row_seconds = math.inf
        number = next(_ids)
        size = c_entry.ANY_SIZE if shape is None else math.prod(shape)
        callback = callback_address(_entry_failed, ("i64", "i64", "ptr", "i32"), "i32")
        self.state_block = np.array([first, second, size, number, callback, 0], np.int64)
        _entries[number] = self

    @property
    def function(self) -> int:
        """Its address, for callers of this package."""
        return c_entry.function_address(self.symbol)

    @property
    def address(self) -> int:
        """The address that is given out: of a function that also says whether the value is finite."""
        return c_entry.function_address(c_entry.ADDRESSES[self.symbol])

    @property
    def user_data(self) -> int:
        """The address of the state block."""
        return int(self.state_block.ctypes.data)

    def failed(self, size: int, x: int, status: int) -> int:
        """The status that the function returns for a kernel's `status`; the exception is kept. Called by native code."""
        raise NotImplementedError

    def error_at(self, x: np.ndarray, status: int) -> BaseException | None:
        """The exception of a call at x in this thread that returned `status`; None if it does not come again."""
        raise NotImplementedError

    def _keep(self, raised: BaseException) -> int:
        return keep_error(self.errors, raised)


class CompiledEntry(NativeEntry):
    """The native entry of a CompiledTape."""

    symbol = "tapediff_point"

    def __init__(self, compiled: GradientOwner, errors: Errors) -> None:
        kernel = compiled.kernel((0,))
        self._compiled = compiled
        # Held, as the state block has its addresses.
        self._kernel = kernel
        address = int(kernel.state[0])
        super().__init__(compiled.tape.input_types[0].shape, errors, address, int(kernel.state.ctypes.data))
        self.state_block[c_entry.RELEASES_GIL] = kernel.state[python_entry.RELEASES_GIL]

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


class PathsEntry(NativeEntry):
    """The native entry of a GuardedTape, for arguments of one shape."""

    symbol = "tapediff_point_on_paths"

    def __init__(self, guarded: PathsOwner, shape: tuple[int, ...] | None, errors: Errors) -> None:
        self._guarded = guarded
        self._lock = new_lock()
        self._paths: dict[CompiledPath, _Path] = {}
        self._table = _PathsTable(self)
        # Tables of before a tape was dropped, in which calls may still be under way.
        self._retired: list[_PathsTable] = []
        self._builtin: Any = None
        self._builtin_state: Any = None
        super().__init__(shape, errors, self._table.address, 0)

    @property
    @holding("_lock")
    def builtin(self) -> Any:
        """A builtin of (x, gradient): a float, the value, or KEPT where an exception waits for `errors.take()`."""
        if self._builtin is None:
            self._builtin, self._builtin_state = c_entry.builtin_on_paths(self.state_block, self.shape or ())
        return self._builtin

    def failed(self, size: int, x: int, status: int) -> int:
        return self._keep(take_pending() or lost_error())

    def error_at(self, x: np.ndarray, status: int) -> BaseException | None:
        return self.errors.take()

    # Called by the dispatch table

    def answer(self, table: _PathsTable, frame: Any, asker: _Path | None, status: int, outcome: int) -> int:
        """One call, by the GuardedTape; from then on native code goes the same way by itself, where it may."""
        self._free_retired(table, 1)
        if status == RECURSION:
            raise RecursionError(f"calls of {self._guarded.name} stand too deep in each other")
        x = _copied(frame[input_word(0)], frame[c_entry.SIZE_WORD]).reshape(self._shape_for(frame[c_entry.SIZE_WORD]))
        variant, value, gradient = self._guarded.answer_at(x)
        result, target = frame[output_word(0, 1)], frame[output_word(1, 1)]
        gradient = np.ascontiguousarray(gradient, np.float64)
        self._learn(variant, table, asker, status, outcome)
        ctypes.c_double.from_address(result).value = float(value)
        # Last of all, and on one line: where an interrupt comes, nothing is to be written.
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

    def _learn(self, variant: CompiledPath, table: _PathsTable, asker: _Path | None, status: int, outcome: int) -> None:
        """Let native code run this tape next, and from the same failed guard on."""
        if not self._guarded.may_run_natively(variant):
            return
        # Made before the lock is taken, as it may compile.
        path = self._paths.get(variant) or _Path(variant)
        if self._guarded.keeps(variant):
            self._add(variant, path, table, asker, status, outcome)

    @holding("_lock")
    def _add(
        self, variant: CompiledPath, path: _Path, table: _PathsTable, asker: _Path | None, status: int, outcome: int
    ) -> None:
        if not self._guarded.keeps(variant):
            return
        path = self._paths.get(variant, path)
        # An interrupt may come before any line: every path in `_paths` is in the table already, and the table is the one in use.
        self.state_block[c_entry.DISPATCH_TABLE] = self._table.address
        if path not in self._table.natives:
            self._table.add(path)
            self._paths[variant] = path
            self._connect(variant, self._table.natives[path])
            self.state_block[c_entry.RELEASES_GIL] |= path.kernel.state[python_entry.RELEASES_GIL]
            if self._builtin_state is not None:
                self._builtin_state[python_entry.RELEASES_GIL] = self.state_block[c_entry.RELEASES_GIL]
        native = self._table.natives[path]
        self._table.words[CURRENT] = native.address
        if table is not self._table or asker is None or asker is path or not 0 < status < FAILURE:
            return
        # Arrays are not told apart natively, so no outcome stands for one.
        if not isinstance(asker.variant.outcomes[status - 1], np.ndarray):
            table.natives[asker].add_jump(status, outcome, native)

    def _connect(self, variant: CompiledPath, native: NativeVariant) -> None:
        """Let native code go from this path to those that part from it, and back: a fork is the same guard for all that come to it."""
        for ordinal, fork in variant.forks.items():
            side, outcome = variant.path[ordinal], variant.outcomes[ordinal]
            # Arrays are not told apart natively, so no outcome stands for one.
            if isinstance(outcome, np.ndarray):
                continue
            for other_side, others in fork.tapes.items():
                known = [] if other_side == side else [v for v in others if v in self._paths]
                for other in known:
                    self._table.natives[self._paths[other]].add_jump(ordinal + 1, _reported(outcome), native)
                if known:
                    last = self._table.natives[self._paths[known[-1]]]
                    native.add_jump(ordinal + 1, _reported(known[-1].outcomes[ordinal]), last)

    # Called by the tape cache

    @holding("_lock")
    def note_uses(self) -> None:
        """Count the native answers so far as hits and uses of the tapes that gave them, the current tape as the latest."""
        self._drop_retired(None, 0)
        current = int(self._table.words[CURRENT])
        for path in sorted(self._paths.values(), key=lambda path: self._table.natives[path].address == current):
            hits = int(path.state[c_entry.VARIANT_HITS])
            if hits != path.noted:
                path.variant.hits += hits - path.noted
                path.noted = hits
                self._guarded.note_native_use(path.variant)

    @holding("_lock")
    def forget_dropped(self) -> None:
        """Leave out the tapes that are no longer kept; calls under way go on in the table that they are in."""
        self._drop_retired(None, 0)
        kept = {v: p for v, p in self._paths.items() if self._guarded.keeps(v)}
        if len(kept) == len(self._paths):
            return
        made = _PathsTable(self)
        for path in kept.values():
            made.add(path)
        self._retired.append(self._table)
        self._table, self._paths = made, kept
        for variant, path in kept.items():
            self._connect(variant, made.natives[path])
        self.state_block[c_entry.DISPATCH_TABLE] = self._table.address

    @holding("_lock")
    def _free_retired(self, table: _PathsTable | None, own: int) -> None:
        self._drop_retired(table, own)

    def _drop_retired(self, table: _PathsTable | None, own: int) -> None:
        """Call under the lock: free old tables that no call is in: none is under way but `own` many of this thread's, in `table`."""
        # No call that begins now can find them.
        if self._retired and self.state_block[c_entry.ACTIVE] == own:
            used = self.state_block[c_entry.DISPATCH_TABLE]
            self._retired = [old for old in self._retired if old is table or old.address == used]


class _Path:
    """The kernel of one path in the form that dispatch loops run.

    Attributes:
        address, state: of the adapter and its state block, as of a kernel.
        noted: how many of its answers have been counted as hits.
    """

    def __init__(self, variant: CompiledPath) -> None:
        self.variant = variant
        self.kernel = variant.gradient_kernel()
        self.address = c_entry.function_address("tapediff_variant")
        self.state = np.array([self.kernel.state[0], self.kernel.state.ctypes.data, 0], np.int64)
        self.noted = 0


class _PathsTable(DispatchTable):
    """The native side of a PathsEntry. It holds the kernels that native code finds through it."""

    def __init__(self, entry: PathsEntry) -> None:
        # Addresses only: its kernels know the arrays.
        super().__init__((FLOAT_SCALAR,), (FLOAT_SCALAR, FLOAT_SCALAR), c_entry.LAYOUT)
        self._entry = entry
        self.natives: dict[_Path, NativeVariant] = {}
        self._paths_by_address: dict[int, _Path] = {}

    def add(self, path: _Path) -> None:
        native = NativeVariant(path, path.variant.number)
        # An interrupt may come before any line: every path in `natives` is in the other table already.
        self._paths_by_address[native.address] = path
        self.natives[path] = native

    def answer(self, frame: Any, asker: int, status: int, outcome: int) -> int:
        return self._entry.answer(self, frame, self._paths_by_address.get(asker), status, outcome)


def _copied(address: int, size: int) -> np.ndarray:
    x = np.empty(size)
    ctypes.memmove(x.ctypes.data, address, x.nbytes)
    return x


def _reported(outcome: Any) -> int:
    """The outcome of a guard on a number, as kernels report it: the bits of a double."""
    return int(np.float64(outcome).view(np.int64))


def lost_error() -> BaseException:
    return InvalidTape("native code says that Python has raised an exception, and none is kept")


def _entry_failed(number: int, size: int, x: int, status: int) -> int:
    """Called by the functions of native entries; see NativeEntry.failed."""
    return _entries[number].failed(size, x, status)
