"""Calls at every row of a batch: of few rows on the calling thread at once, of many by threads; and those known from before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

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
from ..evaluate.chosen import choose
from ..evaluate.direct_calls import NoForm, form_of
from ..tapes.row_blocks import block_kernel, rows_of_block
from . import batch
from .addressed_call import AddressedCall
from .batch import Failure, Job, check_threads, raise_first, run_timed
from .errors import OtherResults
from .owner import KernelOwner, Owner
from .row_arguments import RowArguments, Rows, row_arguments
from .signature import completed, kind_of_rows

# Up to this many rows run at once before the time of a row is known.
UNTIMED = 8

# A kernel for several rows at once is compiled after batches have taken this part of the time spent compiling so far; not if a row takes
# longer than this many seconds, as its operations fill the lanes already.
WORTH_COMPILING, LONGEST_ROW = 0.5, 5e-6

# The tape, arguments and argnums of a batch; None for values.
At: TypeAlias = tuple[Owner, tuple[Tree, ...], Tree]


class RowCalls:
    """Calls at rows, for arguments of certain types.

    Attributes:
        call: the call of a row.
        types: of the arguments of a call; per_row: which have an entry for each row.
        row_seconds: the time of a row; infinite until some have been timed.
        nested: nests the results.
        tape: of a CompiledTape, until it is decided whether rows are computed in blocks; else None.
    """

    __slots__ = (
        "_batch_seconds", "_inputs", "_lock", "_outputs", "_run", "call", "nested", "per_row", "row_seconds", "tape", "types",
    )  # fmt: skip

    nested: Callable[[Sequence[np.ndarray]], Tree]

    def __init__(self, call: AddressedCall, arguments: RowArguments, tape: KernelOwner | None = None) -> None:
        self.call, self.row_seconds = call, math.inf
        self.types, self.per_row = [a.type for a in arguments], [a.per_row for a in arguments]
        inputs, outputs = list(map(widened, call.inputs)), list(map(widened, call.outputs))
        specified = [_specified(type_, per_row, False) for type_, per_row in zip(inputs, self.per_row)]
        specified += [_specified(type_, True, True) for type_ in outputs]
        # Tuples, which Python unpacks in half the time.
        self._inputs, self._outputs = [(t.shape, t.dtype) for t in inputs], [(t.shape, t.dtype) for t in outputs]
        self._run = batch_rows.batch_builtin(call.address, len(self._inputs), specified, call)
        may_use_blocks = tape is not None and len(self._inputs) == 1 and tape.memory is None and not tape.threads
        self.tape, self._batch_seconds, self._lock = tape if may_use_blocks else None, 0.0, new_lock()

    def run(
        self, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, at: At
    ) -> Sequence[np.ndarray] | None:
        """The results of all rows, in `outs` or new arrays; None if arrays or results are unusual.

        Raises:
            The exception of the first row that fails.
        """
        row_seconds = self.row_seconds
        is_short = rows * row_seconds < batch.WAKING or (rows <= UNTIMED and row_seconds == math.inf)
        if not rows or not is_short or (threads is not None and (type(threads) is not int or threads != 1)):
            return self._run_checked(arrays, rows, outs, threads, at)
        targets = [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs] if outs is None else outs
        asked, started = self.call.asked, time.perf_counter()
        code = self._run(*arrays, *targets, rows, 0)
        if code:
            return self._after(code, arrays, rows, outs, threads, at)
        seconds = time.perf_counter() - started
        if self.call.asked == asked:
            self.row_seconds = seconds / rows
        if self.tape is not None:
            self._use_blocks(self.tape, seconds, arrays[0])
        return targets  # type: ignore[return-value]  # the builtin has checked `outs`

    def _after(
        self, code: int, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, at: At
    ) -> Sequence[np.ndarray] | None:
        """`run` after the builtin has returned this code, not 0."""
        if code > 0:
            return _raised([self._failure(code, at)])
        if outs is None:
            return self._run_checked(arrays, rows, outs, threads, at)
        # Where the kernel cannot write to `outs`, copies do.
        found = self.run(arrays, rows, None, threads, at)
        return None if found is None else put(found, outs)

    def _run_checked(
        self, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, at: At
    ) -> Sequence[np.ndarray] | None:
        """`run` with threads."""
        for array, (shape, dtype), per_row in zip(arrays, self.types, self.per_row):
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != ((rows, *shape) if per_row else shape):
                return None
        if not rows:
            return None
        failures, found = self.run_many(arrays, rows, outs, check_threads(threads), at)
        return _raised(failures) if failures else found

    def run_many(
        self, arrays: Sequence[np.ndarray], rows: int, outs: Sequence[Operand] | None, threads: int | None, at: At, first: int = 0
    ) -> tuple[list[Failure], Sequence[np.ndarray]]:
        """Share rows with threads; returns the failures, among them that of the first failed row, and the results.

        Args:
            first: the number in the batch of the first of these rows.
        """
        inputs = [
            a if a.dtype == dtype and a.flags.carray else np.require(a, dtype, ["C", "A"]) for a, (_, dtype) in zip(arrays, self._inputs)
        ]
        targets: Sequence[Operand] = [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs] if outs is None else outs
        asked, started = self.call.asked, time.perf_counter()
        job = Job(self._run, [*inputs, *targets], rows, lambda code: self._failure(code, at, first))
        if outs is not None and job.is_refused:
            failures, found = self.run_many(inputs, rows, None, threads, at, first)
            return failures, found if failures else put(found, outs)
        failures = run_timed(job, threads)
        if not failures and threads is None:
            self.row_seconds = job.row_seconds if self.call.asked == asked else math.inf
        if not failures and self.tape is not None:
            self._use_blocks(self.tape, time.perf_counter() - started, inputs[0])
        # Kernels compute float32 in float64.
        return failures, [a if a.dtype == dtype else a.astype(dtype) for a, (_, dtype) in zip(targets, self.call.outputs)]

    def _failure(self, code: int, at: At, first: int = 0) -> Failure:
        """The failure of a code of the builtin in this thread, where row 0 is that number of the batch."""
        row, low = divmod(code, 256)
        if code < 0:
            return Failure(0, None)  # another thread has changed an array's shape
        return Failure(row, self.call.taken(low - 256 if low > 127 else low) or _again(*at, first + row))

    def _use_blocks(self, tape: KernelOwner, seconds: float, points: np.ndarray) -> None:
        """Add the time of a batch; from a total that makes it worthwhile, several rows are computed at once."""
        self._batch_seconds += seconds
        if self._batch_seconds > WORTH_COMPILING * tape.seconds:
            self._make_blocks(tape, points)

    @holding("_lock")
    def _make_blocks(self, tape: KernelOwner, points: np.ndarray) -> None:
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


def _raised(failures: list[Failure]) -> None:
    """Raise the exception of the first failed row, unless that has results of other types."""
    if not isinstance(min(failures, key=lambda failure: failure.row).raised, OtherResults):
        raise_first(failures)


def put(found: Sequence[np.ndarray], outs: Sequence[Operand]) -> list[np.ndarray]:
    """Copy the results to the caller's arrays."""
    # A shortcut for the usual case; the full check takes 5 µs.
    is_usual = all(type(o) is np.ndarray and o.shape == a.shape and o.dtype == a.dtype and o.flags.carray for o, a in zip(outs, found))
    if not is_usual or len(outs) != len(found) or share_memory(outs):
        check_out(outs, [ValueType(a.shape, a.dtype) for a in found], True)
    for out, array in zip(outs, found):
        out[...] = array
    return list(outs)


def _specified(type_: ValueType, per_row: bool, written: bool) -> tuple[int, list[int]]:
    """The stride between rows in bytes, and the specification of an argument."""
    rows = ValueType((0, *type_.shape), type_.dtype) if per_row else type_
    return (type_.size * type_.dtype.itemsize if per_row else 0), python_entry.specification(rows, written=written)


def _again(tape: Owner, args: tuple[Tree, ...], argnums: Tree, row: int) -> BaseException | None:
    """Repeat the call at a row, and return its exception."""
    arguments = row_arguments(args[0], args[1:])
    try:
        if hasattr(tape, "answer_kind"):
            at_row = arguments.at(row)
            tape.answer_kind(at_row, kind_of_rows(None if argnums is None else choose(tape, at_row, argnums).numbers), ())
            return None
        arrays = [a.array.astype(t.dtype) for a, t in zip(arguments, tape.tape.input_types)]
        converted = [a._replace(array=array, given=array) for a, array in zip(arguments, arrays)]
        at_row = completed(tape.tape, RowArguments(converted, arguments.trees, arguments.rows).at(row))
        if argnums is None:
            tape(*at_row)
        else:
            tape.value_and_gradient(*at_row, argnums=argnums)
    except BaseException as raised:  # noqa: BLE001 -- it is handed to whoever raises it
        return raised
    return None


# Known calls


class KnownRows(NamedTuple):
    """Batches of arguments of one form.

    Attributes:
        leaves_of: returns the arrays in the arguments; None if they have another form.
        with_rows: the index of an array that has rows.
        calls: runs the rows.
        takes_out: there are no containers.
    """

    leaves_of: Callable[[tuple[Tree, ...]], tuple[Tree, ...] | None]
    with_rows: int
    calls: RowCalls
    takes_out: bool


def known_calls(tape: Owner, args: tuple[Tree, ...], argnums: Tree, has_out: bool) -> tuple[RowCalls, Sequence[Tree], int] | None:
    """The calls for a batch like one before, its arrays, and the number of rows."""
    native = tape._native
    known = None if native is None else native.rows.get(_key(args, argnums))
    leaves = None if known is None else known.leaves_of(args)
    if known is None or leaves is None or (has_out and not known.takes_out):
        return None
    one = leaves[known.with_rows]
    return (known.calls, leaves, len(one)) if type(one) is np.ndarray and one.ndim else None


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
    with_rows = next(k for k, a in enumerate(arguments) if a.per_row)
    tape._native_side().rows[_key(args, argnums)] = KnownRows(leaves_of(forms), with_rows, calls, arguments.trees is None)


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
