"""Calls at every row of a batch: of few rows on the calling thread at once, of many by threads; and those known from before."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from operator import is_
from time import perf_counter

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.entries import batch_rows, python_entry
from ...ir.arguments import Constant
from ...ir.instruction import Operand, Tree, ValueType
from ...ir.outputs import check_out, share_memory
from ...ir.pytree import ARRAY, TreeDef
from ...recording.python_state.gc_pause import without_collections
from ..evaluate.call_code import MARK, leaves_of
from ..evaluate.direct_calls import NoForm, form_of
from ..tapes.row_blocks import block_kernel, rows_of_block
from . import batch
from .addressed_call import AddressedCall
from .batch import Failure, Job, check_threads, raise_first, run_timed
from .owner import Owner
from .row_arguments import RowArguments, Rows

# Up to this many rows run at once before the time of a row is known.
UNTIMED = 8

# A kernel for several rows at once is compiled after batches have taken this part of the time spent compiling so far; not if a row takes
# longer than this many seconds, as its operations fill the lanes already.
WORTH_COMPILING, LONGEST_ROW = 0.5, 5e-6

class RowCalls:
    """Calls at rows, for arguments of certain types.

    Attributes:
        call: the call of a row.
        types: of the arguments of a call; per_row: which have an entry for each row.
        row_seconds: the time of a row; infinite until some have been timed.
        tape: of a CompiledTape, until it is decided whether rows are computed in blocks; else None.
        nested: nests the results.
        leaves_of: returns the arrays in the arguments of a batch; None if these have another form than before.
        with_rows: the index of an array that has rows.
        takes_out: there are no containers.
    """

    __slots__ = (
        "_batch_seconds", "_inputs", "_lock", "_outputs", "_run", "call", "leaves_of", "nested", "per_row", "row_seconds", "takes_out",
        "tape", "types", "with_rows",
    )  # fmt: skip

    nested: Callable[[Sequence[np.ndarray]], Tree]
    leaves_of: Callable[[tuple[Tree, ...]], tuple[Tree, ...] | None]
    with_rows: int
    takes_out: bool

    def __init__(self, call: AddressedCall, arguments: RowArguments, tape: Owner | None = None) -> None:
        self.call, self.row_seconds = call, math.inf
        self.types, self.per_row = [a.type for a in arguments], [a.per_row for a in arguments]
        inputs, outputs = list(map(widened, call.inputs)), list(map(widened, call.outputs))
        specified = [python_entry.specification(t, False, per_row=per_row) for t, per_row in zip(inputs, self.per_row)]
        specified += [python_entry.specification(t, True, per_row=True) for t in outputs]
        # Tuples, which Python unpacks in half the time.
        self._inputs, self._outputs = [(t.shape, t.dtype) for t in inputs], [(t.shape, t.dtype) for t in outputs]
        self._run = batch_rows.batch_builtin(call.address, len(self._inputs), specified, call)
        may_use_blocks = tape is not None and len(self._inputs) == 1 and tape.memory is None and not tape.threads
        self.tape, self._batch_seconds, self._lock = tape if may_use_blocks else None, 0.0, new_lock()

    def run(
        self, tape: Owner, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, first: int = 0
    ) -> Sequence[np.ndarray] | None:
        """The results of all rows, in `outs` or new arrays; None if the arrays are of other types.

        Args:
            tape: the target.
            first: the number in the batch of the first of these rows.

        Raises:
            The exception of the first row that fails. Rows before it are computed.
        """
        row_seconds = self.row_seconds
        is_short = rows * row_seconds < batch.WAKING or (rows <= UNTIMED and row_seconds == math.inf)
        targets: Sequence[Operand] = [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs] if outs is None else outs
        asked, started = self.call.asked, perf_counter()
        if is_short and rows and (threads is None or (type(threads) is int and threads == 1)):
            code = self._run(*arrays, *targets, rows, 0)
            if code > 0:
                raise_first([self._failure(code, tape, arrays, first)])
            row_seconds = (perf_counter() - started) / rows
        else:
            job = self._job(tape, arrays, targets, rows, first)
            code = job.check()
            failures = [] if code else run_timed(job, check_threads(threads))
            if failures:
                raise_first(failures)
            row_seconds = job.row_seconds if rows and threads is None else row_seconds
        if code:
            return self._run_copies(tape, arrays, rows, outs, threads, first)
        if self.call.asked == asked:
            self.row_seconds = row_seconds
        if self.tape is not None:
            self._use_blocks(self.tape, perf_counter() - started, arrays[0])
        return targets

    def _job(self, tape: Owner, arrays: Sequence[Tree], targets: Sequence[Operand], rows: int, first: int) -> Job:
        return Job(self._run, [*arrays, *targets], rows, lambda code: self._failure(code, tape, arrays, first))

    def _run_copies(
        self, tape: Owner, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, first: int
    ) -> Sequence[np.ndarray] | None:
        """`run` with copies of arrays that the kernel cannot read, or else write to, as they are."""
        for array, (shape, dtype), (_, read), per_row in zip(arrays, self.types, self._inputs, self.per_row):
            fits = type(array) is np.ndarray and array.dtype in (dtype, read) and array.shape == ((rows, *shape) if per_row else shape)
            if not fits:
                return None
        inputs = [np.require(a, dtype, ["C", "A"]) for a, (_, dtype) in zip(arrays, self._inputs)]
        if not all(map(is_, inputs, arrays)):
            return self.run(tape, inputs, rows, outs, threads, first)
        found = None if outs is None else self.run(tape, inputs, rows, None, threads, first)
        if found is None or outs is None:
            raise_first([Failure(first, None)])  # another thread has changed an array's shape
        return put(self.in_own_types(found), outs)

    def in_own_types(self, found: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results of kernels, which compute float32 in float64."""
        return [a if a.dtype == dtype else a.astype(dtype) for a, (_, dtype) in zip(found, self.call.outputs)]

    def _failure(self, code: int, tape: Owner, arrays: Sequence[Tree], first: int) -> Failure:
        """The failure of a code of the builtin in this thread, where row 0 is that number of the batch."""
        row, low = divmod(code, 256)
        if code < 0:
            return Failure(first, None)  # another thread has changed an array's shape
        try:
            inputs = [np.asarray(a[row] if each else a, t.dtype)[()] for a, each, t in zip(arrays, self.per_row, self.call.inputs)]
            self.call.again(low - 256 if low > 127 else low, tape, inputs)
        except BaseException as raised:  # noqa: BLE001 -- it is handed to whoever raises it
            return Failure(first + row, raised)
        return Failure(first + row, None)

    def _use_blocks(self, tape: Owner, seconds: float, points: np.ndarray) -> None:
        """Add the time of a batch; from a total that makes it worthwhile, several rows are computed at once."""
        self._batch_seconds += seconds
        if self._batch_seconds > WORTH_COMPILING * tape.seconds:
            self._make_blocks(tape, points)

    @holding("_lock")
    def _make_blocks(self, tape: Owner, points: np.ndarray) -> None:
        count = rows_of_block(len(points))
        if self.tape is None or not count:
            return
        self.tape = None
        if self.row_seconds > LONGEST_ROW:
            return
        by_rows = lambda x, gradients, values: self._run(x, values, gradients, len(x), 0)  # noqa: E731 -- its name is its use
        made = without_collections(lambda: block_kernel(tape.tape, count, points, by_rows))
        if made is not None:
            self.call.use_blocks(made, count)


def put(found: Sequence[np.ndarray], outs: Sequence[Operand]) -> list[np.ndarray]:
    """Copy the results to the caller's arrays."""
    # A shortcut for the usual case; the full check takes 5 µs.
    is_usual = all(type(o) is np.ndarray and o.shape == a.shape and o.dtype == a.dtype and o.flags.carray for o, a in zip(outs, found))
    if not is_usual or len(outs) != len(found) or share_memory(outs):
        check_out(outs, [ValueType(a.shape, a.dtype) for a in found])
    for out, array in zip(outs, found):
        out[...] = array
    return list(outs)


# Known calls


def known_calls(tape: Owner, args: tuple[Tree, ...], argnums: Tree, has_out: bool) -> tuple[RowCalls, Sequence[Tree], int] | None:
    """The calls for a batch like one before, its arrays, and the number of rows, of which there are some."""
    native = tape._native
    calls = None if native is None else native.rows.get(_key(args, argnums))
    leaves = None if calls is None else calls.leaves_of(args)
    if calls is None or leaves is None or (has_out and not calls.takes_out):
        return None
    one = leaves[calls.with_rows]
    rows = len(one) if type(one) is np.ndarray and one.ndim else 0
    return (calls, leaves, rows) if rows else None


def _key(args: tuple[Tree, ...], argnums: Tree) -> Hashable:
    return argnums, args[0].shape[1:] if type(args[0]) is np.ndarray else None


def remember(tape: Owner, args: tuple[Tree, ...], argnums: Tree, arguments: RowArguments, calls: RowCalls) -> None:
    """Let the next similar batch take these calls."""
    if any(t.dtype == np.float32 for t in [*calls.types, *calls.call.outputs]):
        return
    trees = arguments.trees or (ARRAY,) * len(args)
    try:
        forms = tuple(map(_form, trees, args))
    except (NoForm, TypeError):
        return
    calls.leaves_of, calls.takes_out = leaves_of(forms), arguments.trees is None
    calls.with_rows = calls.per_row.index(True)
    tape._native_side().rows[_key(args, argnums)] = calls


def _form(tree: TreeDef, given: Tree) -> TreeDef:
    """The form of an argument of a batch.

    Raises:
        NoForm: it needs conversion, or is part of a tape.
    """
    if type(given) is Rows or type(given) is Constant:
        return TreeDef(type(given), MARK, (_form(tree, given.value),))
    return form_of(tree, given, _leaf_form)


def _leaf_form(leaf: Tree) -> TreeDef:
    if type(leaf) in (np.ndarray, float, np.float64):
        return ARRAY
    raise NoForm
