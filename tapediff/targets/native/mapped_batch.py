"""Batches: values and gradients, or results of any shape, at every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ...compiler.runtime.call_frame import widened
from ...errors import ArgumentMismatch, ShapeMismatch
from ...ir.containers import is_container, structured
from ...ir.instruction import FLOAT_SCALAR, Operand, Tree, ValueType
from ...ir.outputs import Out, check_out
from ...ir.pytree import TreeDef
from ..evaluate.chosen import Chosen, choose, inputs_of
from .addressed_call import compiled_call
from .batch import Failure, check_threads, raise_first
from .errors import OtherResults
from .owner import Owner
from .paths_call import Result, paths_call, result_of
from .row_arguments import RowArguments, require_fit, row_arguments
from .row_calls import At, RowCalls, known_calls, put, remember
from .signature import kind_of_rows, of_call

Numbers = tuple[int, ...]


def run_batch(tape: Owner, args: tuple[Tree, ...], argnums: Tree, out: Out, threads: int | None) -> tuple[Tree, Tree]:
    """See NativeCalls.batch."""
    if out is not None and (not isinstance(out, (tuple, list)) or len(out) != 2):
        raise ArgumentMismatch("out must be a pair", got=type(out).__name__, fix="out=(values, gradients)")
    kind = type(argnums)
    known = known_calls(tape, args, argnums, out is not None) if kind is int or kind is tuple else None
    if known is not None:
        calls, arrays, rows = known
        outs = out if out is None or kind is int else [out[0], *out[1]]
        try:
            found = calls.run(arrays, rows, outs, threads, (tape, args, argnums))
        except OtherResults:
            found = None
        if found is not None:
            return calls.nested(found)
    if len(args) == 1 and argnums == 0 and not is_container(args[0]):
        args = (_in_double(tape, args[0]),)
    arguments = row_arguments(args[0], args[1:])
    chosen = choose(tape, arguments.example(), argnums)
    outs = out if out is None else [out[0], *chosen.flat(out[1], "out")]
    answer = _run(tape, arguments, chosen.numbers, outs, check_threads(threads), (tape, args, argnums))
    structure = replace(chosen, arrays=())  # which may be kept
    return _kept(tape, args, argnums, arguments, answer, tuple if chosen.is_plain else partial(_with_gradient, structure))


def run_values(tape: Owner, args: tuple[Tree, ...], out: Out, threads: int | None) -> Tree:
    """See NativeCalls.batch_values."""
    outs = None if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
    known = known_calls(tape, args, None, out is not None)
    if known is not None:
        calls, arrays, rows = known
        try:
            # `out` is written at the end, as a row may fail.
            found = calls.run(arrays, rows, None, threads, (tape, args, None))
        except OtherResults:
            found = None
        if found is not None:
            return calls.nested(found if outs is None else put(found, outs))
    arguments = row_arguments(args[0], args[1:])
    answer = _run(tape, arguments, None, outs, check_threads(threads), (tape, args, None))
    nested = tuple if answer.is_tuple else itemgetter(0)
    return _kept(tape, args, None, arguments, answer, nested if answer.tree is None else partial(structured, answer.tree, answer.is_tuple))


def _with_gradient(chosen: Chosen, found: Sequence[np.ndarray]) -> tuple[Tree, Tree]:
    return found[0], chosen.nested(found[1:])


class Answer(NamedTuple):
    """The results of all rows.

    Attributes:
        arrays: one for each result.
        is_tuple, tree: see Tape.returns_tuple and Tape.result; of no use for gradients.
        calls: the calls that gave them, if similar batches may take them.
    """

    arrays: Sequence[np.ndarray]
    is_tuple: bool
    tree: TreeDef | None
    calls: RowCalls | None = None


def _kept(
    tape: Owner, args: tuple[Tree, ...], argnums: Tree, arguments: RowArguments, answer: Answer,
    nested: Callable[[Sequence[np.ndarray]], Tree],
) -> Tree:  # fmt: skip
    """The nested results; the next similar batch takes the same calls."""
    if answer.calls is not None and arguments.rows and type(argnums) in (int, tuple, type(None)):
        answer.calls.nested = nested
        remember(tape, args, argnums, arguments, answer.calls)
    return nested(answer.arrays)


def _in_double(tape: Owner, X: Tree) -> Tree:
    """The points in float64, unless the tape was recorded in their dtype."""
    points = np.asarray(X)
    is_own = not hasattr(tape, "answer_kind") and [t.dtype for t in tape.tape.input_types[:1]] == [points.dtype]
    return X if is_own or points.dtype.kind != "f" or points.dtype.itemsize >= 8 else points.astype(np.float64)


def _run(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None, threads: int | None, at: At
) -> Answer:
    return (_on_paths if hasattr(tape, "answer_kind") else _on_tape)(tape, arguments, numbers, outs, threads, at)


def _on_tape(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None, threads: int | None, at: At
) -> Answer:
    require_fit(arguments, tape.tape)
    kind = kind_of_rows(numbers, inputs_of(tape.tape, numbers or ()))
    calls = RowCalls(compiled_call(tape, kind), arguments, tape if kind.wrt == (0,) else None)
    check_out(outs, _of_rows(arguments.rows, calls.call.outputs), True)
    # Of batch_values, results are written at the end, as a row may fail.
    found = calls.run([a.array for a in arguments], arguments.rows, None if numbers is None else outs, threads, at)
    assert found is not None, "the calls are for these types"
    found = calls.in_own_types(found)
    return Answer(put(found, outs) if outs is not None and numbers is None else found, tape.tape.returns_tuple, tape.tape.result, calls)


def _of_rows(rows: int, types: Sequence[ValueType]) -> list[ValueType]:
    return [ValueType((rows, *t.shape), t.dtype) for t in types]


# Functions with several paths


class Results(list[np.ndarray]):
    """The results of all rows, one array for each.

    Attributes:
        result: the `result_of` the tapes of all rows; None for gradients.
    """

    def __init__(self, rows: int, values: Sequence[Operand], result: Result | None) -> None:
        super().__init__(np.empty((rows, *np.shape(v)), np.asarray(v).dtype) for v in values)
        self.result = result

    @property
    def types(self) -> list[ValueType]:
        """The types of the results of a call."""
        return [ValueType(a.shape[1:], a.dtype) for a in self]

    def take(self, row: int, values: Sequence[Operand], result: Result | None) -> None:
        """Store the results of one call."""
        if len(values) != len(self) or result != self.result:
            raise ShapeMismatch(
                "rows return tuples of different lengths, or other containers", got=f"{len(self)} and {len(values)} results at row {row}"
            )
        for k, value in enumerate(values):
            if np.shape(value) != self[k].shape[1:]:
                raise ShapeMismatch(
                    "rows return results of different shapes", got=f"{self[k].shape[1:]} and {np.shape(value)} at row {row}",
                    fix="return results of one shape from every path, or call row by row",
                )  # fmt: skip
            dtype = np.result_type(self[k].dtype, np.asarray(value).dtype)
            if dtype != self[k].dtype:
                self[k] = self[k].astype(dtype)
            self[k][row] = value


def _on_paths(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None, threads: int | None, at: At
) -> Answer:
    """Python answers the first row, which tells the types of the results, and every row after which these change."""
    row, results, calls = 0, None, None
    while row < arguments.rows:
        try:
            variant, values = tape.answer_kind(arguments.at(row), kind_of_rows(numbers), ())
        except Exception as raised:  # noqa: BLE001 -- raised with its row
            raise_first([Failure(row, raised)])
        result = result_of(variant.program.tape) if numbers is None else None
        if results is None:
            results = Results(arguments.rows, values, result)
            check_out(outs, _of_rows(arguments.rows, results.types), True)
        results.take(row, values, result)
        row += 1
        calls = _paths_calls(tape, arguments, numbers, results)
        if calls is not None and row < arguments.rows:
            row = _natively(calls, arguments, row, results, threads, at)
    if results is None:
        return _nothing(tape, arguments, numbers, outs)
    is_tuple, tree = results.result or (False, None)
    return Answer(results if outs is None else put(results, outs), is_tuple, tree, calls)


def _natively(calls: RowCalls, arguments: RowArguments, first: int, results: Results, threads: int | None, at: At) -> int:
    """Compute the rows from `first` on; returns the first one that has results of other types, or their number."""
    arrays = [a.array[first:] if a.per_row else a.array for a in arguments]
    stop = arguments.rows
    found = [np.empty((stop - first, *t.shape), widened(t).dtype) for t in calls.call.outputs]
    try:
        calls.run(arrays, stop - first, found, threads, at, first)
    except OtherResults as raised:
        stop = raised.row  # type: ignore[attr-defined]  # see raise_first
    for result, array in zip(results, found):
        result[first:stop] = array[: stop - first]
    return stop


def _paths_calls(tape: Owner, arguments: RowArguments, numbers: Numbers | None, results: Results) -> RowCalls | None:
    """Calls for these arguments and results; None if Python is needed for each row."""
    if not tape.chooses_natively:
        return None
    call = tape.keyed(arguments.at(0), numbers or (), with_data=True)
    signature = of_call(call.bound, call.key)
    if len(signature.positions) != len(arguments):
        return None
    return RowCalls(paths_call(tape, signature, kind_of_rows(numbers, call.bound.argnums), results.types, result=results.result), arguments)


def _nothing(tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None) -> Answer:
    """The results of no rows, in the shapes that a row of ones would have."""
    args, is_tuple, tree = arguments.example(), False, None
    if numbers is not None:
        bound = tape.keyed(args, numbers).bound
        types = [FLOAT_SCALAR, *(ValueType(bound.inputs[k].shape, bound.inputs[k].dtype) for k in bound.argnums)]
    else:
        try:
            recorded = tape.likely_at(args)
        except Exception as raised:
            raise ArgumentMismatch(
                "a batch without rows has no result that would tell the shapes, and the function cannot be called with ones",
                got=f"{type(raised).__name__}: {raised}", fix="do not call it where len(X) == 0",
            ) from raised  # fmt: skip
        types, is_tuple, tree = recorded.output_types, recorded.returns_tuple, recorded.result
    check_out(outs, _of_rows(0, types), True)
    return Answer(outs or [np.empty((0, *t.shape), t.dtype) for t in types], is_tuple, tree)
