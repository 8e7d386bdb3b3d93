"""Calls at every row of a batch: of few rows by one builtin on the calling thread, of many by threads; and those known from before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...compiler.runtime.call_frame import widened
from ...compiler.runtime.entries import batch_rows, python_entry
from ...compiler.runtime.status import MOST_COMPARED
from ...ir.arguments import Constant
from ...ir.containers import is_container
from ...ir.instruction import Operand, Tree, ValueType
from ...ir.outputs import check_out, share_memory
from ...ir.pytree import ARRAY, TreeDef, parts_of, static_leaf
from ...recording.python_state.gc_pause import without_collections
from ..evaluate.call_code import MARK, leaves_of
from ..evaluate.direct_calls import NoForm
from ..tapes.row_blocks import block_kernel, rows_of_block
from . import batch
from .addressed_call import AddressedCall, OtherResults
from .batch import Failure, Job, failure_at, raise_first, run_timed
from .owner import KernelOwner, Owner
from .row_arguments import RowArguments, Rows

# Up to this many rows run at once before the time of a row is known.
UNTIMED = 8

# A kernel for several rows at once is compiled after batches have taken this part of the time spent compiling so far; not if a row takes
# longer than this many seconds, as its operations fill the lanes already.
WORTH_COMPILING, LONGEST_ROW = 0.5, 5e-6

# Repeats the call at a row, and returns its exception.
Again: TypeAlias = Callable[[int], BaseException | None]


class RowCalls:
    """Calls at rows, for arguments of certain types.

    Attributes:
        call: the call of a row.
        types: of the arguments of a call; per_row: which have an entry for each row.
        row_seconds: the time of a row; infinite until some have been timed.
        nested: nests the results.
        tape: of a CompiledTape, until it is decided whether rows are computed in blocks; else None.
    """

    __slots__ = ("_batch_seconds", "_few", "_lock", "_outputs", "call", "nested", "per_row", "row_seconds", "tape", "types")

    nested: Callable[[Sequence[np.ndarray]], Tree]

    def __init__(self, call: AddressedCall, arguments: RowArguments, tape: KernelOwner | None = None) -> None:
        self.call, self.row_seconds = call, math.inf
        self.types, self.per_row = [a.type for a in arguments], [a.per_row for a in arguments]
        self._outputs = [widened(t) for t in call.outputs]
        given = [_specified(type_, per_row, False) for type_, per_row in zip(call.inputs, self.per_row)]
        written = [_specified(type_, True, True) for type_ in call.outputs]
        self._few = batch_rows.few_rows_builtin(call.address, len(given), [*given, *written], call)
        may_use_blocks = tape is not None and len(given) == 1 and tape.memory is None and not tape.threads
        self.tape, self._batch_seconds, self._lock = tape if may_use_blocks else None, 0.0, new_lock()

    def run(
        self, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, threads: int | None, again: Again
    ) -> list[np.ndarray] | None:
        """The results of all rows, in `outs` or new arrays; None if arrays or results are unusual.

        Raises:
            The exception of the first row that fails.
        """
        is_alone = threads is None or (type(threads) is int and threads == 1)
        is_short = rows * self.row_seconds < batch.WAKING or (rows <= UNTIMED and self.row_seconds == math.inf)
        if rows and is_alone and is_short:
            found = self._run_few(arrays, rows, outs, again)
            if found is not None:
                return found
        fits = all(
            type(a) is np.ndarray and a.dtype == t.dtype and a.shape == ((rows, *t.shape) if per_row else t.shape)
            for a, t, per_row in zip(arrays, self.types, self.per_row)
        )
        if not rows or not fits:
            return None
        failures, found = self.run_many(arrays, rows, outs, threads, again)
        if failures:
            failure = min(failures, key=lambda failure: failure.row)
            return None if isinstance(failure.raised, OtherResults) else raise_first([failure])
        return found

    def _run_few(self, arrays: Sequence[Tree], rows: int, outs: Sequence[Operand] | None, again: Again) -> list[np.ndarray] | None:
        """Run on the calling thread."""
        if outs is None or len(outs) > MOST_COMPARED:
            targets, is_direct = [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs], False
        else:
            targets, is_direct = list(outs), True
        asked, started = self.call.asked, time.perf_counter()
        code = self._few(*arrays, *targets, rows)
        if code > 0:
            row, low = divmod(code, 256)
            failure = failure_at(self.call, row, low - 256 if low > 127 else low, again)
            return None if isinstance(failure.raised, OtherResults) else raise_first([failure])
        if code:
            # Of other arrays in `outs` than the kernel could write to, copies do.
            found = self._run_few(arrays, rows, None, again) if is_direct else None
            return found if found is None or outs is None else put(found, outs)
        seconds = time.perf_counter() - started
        if self.call.asked == asked:
            self.row_seconds = seconds / rows
        if self.tape is not None:
            self._use_blocks(self.tape, seconds, arrays[0])
        return targets if is_direct or outs is None else put(targets, outs)

    def run_many(
        self, arrays: Sequence[np.ndarray], rows: int, outs: Sequence[Operand] | None, threads: int | None, again: Again
    ) -> tuple[list[Failure], list[np.ndarray]]:
        """Share rows with threads; returns the failures, among them that of the first failed row, and the results."""
        inputs = [np.require(a, widened(t).dtype, ["C", "A"]) for a, t in zip(arrays, self.call.inputs)]
        given = [] if outs is None else list(outs)
        is_direct = len(given) == len(self._outputs) and all(
            type(o) is np.ndarray and o.shape == (rows, *t.shape) and o.dtype == t.dtype and o.flags.carray
            for o, t in zip(given, self._outputs)
        ) and not share_memory(given) and not share_memory(given, inputs)  # fmt: skip
        targets = given if is_direct else [np.empty((rows, *shape), dtype) for shape, dtype in self._outputs]
        strides = [a.strides[0] if per_row else 0 for a, per_row in zip(inputs, self.per_row)] + [o.strides[0] for o in targets]
        asked, started = self.call.asked, time.perf_counter()
        job = Job(self.call, [*inputs, *targets], strides, rows, again)
        failures = run_timed(job, threads)
        # For few rows, Python's time was measured.
        if not failures and threads is None:
            self.row_seconds = job.row_seconds if self.call.asked == asked and rows > UNTIMED else math.inf
        if not failures and self.tape is not None:
            self._use_blocks(self.tape, time.perf_counter() - started, inputs[0])
        found = [target.astype(type_.dtype, copy=False) for target, type_ in zip(targets, self.call.outputs)]
        return failures, found if failures or is_direct or outs is None else put(found, outs)

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
        by_rows = lambda x, gradients, values: self._few(x, values, gradients, len(x))  # noqa: E731 -- its name is its use
        made = without_collections(lambda: block_kernel(tape.tape, count, points, by_rows))
        if made is not None:
            self.call.use_blocks(made, count)


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
    held = widened(type_)
    rows = ValueType((0, *held.shape), held.dtype) if per_row else held
    return (held.size * held.dtype.itemsize if per_row else 0), python_entry.specification(rows, written=written)


# Known calls


class KnownForm(NamedTuple):
    """Batches of containers of one form.

    Attributes:
        leaves_of: returns the arrays in the arguments; None if they have another form.
        with_rows: the index of an array that has rows.
        calls: runs the rows.
    """

    leaves_of: Callable[[tuple[Tree, ...]], tuple[Tree, ...] | None]
    with_rows: int
    calls: RowCalls


def known_calls(
    tape: Owner, args: tuple[Tree, ...], argnums: Tree, has_out: bool
) -> tuple[RowCalls, Sequence[Tree], int] | None:
    """The calls for a batch like one before, its arrays, and the number of rows."""
    native, X = tape._native, args[0]
    if native is None:
        return None
    if type(X) is np.ndarray and X.ndim:
        arrays, marks = _unmarked(args)
        calls = native.rows.get((argnums, marks, X.shape[1:]))
        if calls is not None:
            return calls, arrays, len(X)
    known = None if has_out else native.forms.get((argnums, type(argnums)))
    leaves = None if known is None else known.leaves_of(args)
    if known is None or leaves is None or type(leaves[known.with_rows]) is not np.ndarray:
        return None
    return known.calls, leaves, len(leaves[known.with_rows])


def remember(tape: Owner, args: tuple[Tree, ...], argnums: Tree, arguments: RowArguments, calls: RowCalls) -> None:
    """Let the next similar batch take these calls."""
    native = tape._native_side()
    if any(t.dtype == np.float32 for t in [*calls.types, *calls.call.outputs]):
        return
    if type(args[0]) is np.ndarray and arguments.trees is None:
        native.rows[argnums, _unmarked(args)[1], args[0].shape[1:]] = calls
        return
    try:
        forms = tuple(map(_form, args))
    except (NoForm, TypeError):
        return
    with_rows = next(k for k, a in enumerate(arguments) if a.per_row)
    native.forms[argnums, type(argnums)] = KnownForm(leaves_of(forms), with_rows, calls)


def _form(given: Tree) -> TreeDef:
    """The form of an argument of a batch.

    Raises:
        NoForm: it needs conversion, or is part of a tape.
    """
    kind = type(given)
    if kind is Rows or kind is Constant:
        return TreeDef(kind, MARK, (_form(given.value),))
    if kind is np.ndarray or kind is float:
        return ARRAY
    found = parts_of(given) if is_container(given) else None
    if found is not None:
        return TreeDef(found[0], found[1], tuple([_part_form(part) for part in found[2]]))
    raise NoForm


def _part_form(given: Tree) -> TreeDef:
    return static_leaf(given) if type(given) in (bool, str, bytes, type(None)) else _form(given)


def _unmarked(args: Sequence[Tree]) -> tuple[list[Tree], int]:
    """Remove td.Rows and td.Constant from the arguments and convert NumPy scalars to Python's; also returns which had which mark."""
    arrays, marks = [args[0]], 1
    for argument in args[1:]:
        marks <<= 2
        kind = type(argument)
        while kind in _MARKS:
            marks |= _MARKS[kind]
            argument = argument.value
            kind = type(argument)
        arrays.append(float(argument) if kind is np.float64 else argument)
    return arrays, marks


_MARKS: dict[type, int] = {Rows: 1, Constant: 2}
