"""Batches: values and gradients, or results of any shape, at every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TypeAlias

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
from .paths import Result, paths_call, result_of
from .row_arguments import RowArguments, require_fit, row_arguments
from .row_calls import RowCalls, known_calls, put, remember
from .signature import kind_of_rows, of_call

Numbers = tuple[int, ...]

# The results of all rows, one array for each; their structure, of no use for gradients; the calls that similar batches may take.
Answer: TypeAlias = tuple[Sequence[np.ndarray], Result, RowCalls | None]


# In place of argnums: values alone.
VALUES = object()

# The types of argnums by which calls are kept.
KEPT_BY = frozenset((int, tuple, object))


def run_rows(tape: Owner, args: tuple[Tree, ...], out: Out, threads: int | None, argnums: Tree = VALUES) -> Tree:
    """See NativeCalls.batch; and NativeCalls.batch_values without argnums."""
    kind, outs = type(argnums), out
    if out is not None:
        if argnums is VALUES:
            outs = list(out) if isinstance(out, (tuple, list)) else [out]
        elif not isinstance(out, (tuple, list)) or len(out) != 2:
            raise ArgumentMismatch("out must be a pair", got=type(out).__name__, fix="out=(values, gradients)")
    known = known_calls(tape, args, argnums, out is not None) if kind in KEPT_BY else None
    if known is not None:
        calls, arrays, rows = known
        # Values are copied to `out` at the end, as a row may fail.
        into = None if out is None or argnums is VALUES else out if kind is int else [out[0], *out[1]]
        try:
            found = calls.run(tape, arrays, rows, into, threads)
        except OtherResults:
            found = None
        if found is not None:
            return calls.nested(put(found, outs) if into is None and out is not None else found)
    if len(args) == 1 and argnums == 0 and not is_container(args[0]):
        args = (_in_double(tape, args[0]),)
    arguments = row_arguments(args)
    chosen = None if argnums is VALUES else choose(tape, arguments.example(), argnums)
    if chosen is not None and out is not None:
        outs = [out[0], *chosen.flat(out[1], "out")]
    on = _on_paths if hasattr(tape, "answer_kind") else _on_tape
    found, result, calls = on(tape, arguments, None if chosen is None else chosen.numbers, outs, check_threads(threads))
    nested = _nesting(chosen, *result)
    if calls is not None and arguments.rows and kind in KEPT_BY:
        calls.nested = nested
        remember(tape, args, argnums, arguments, calls)
    return nested(found if outs is None or found is outs else put(found, outs))


def _nesting(chosen: Chosen | None, is_tuple: bool, tree: TreeDef | None) -> Callable[[Sequence[np.ndarray]], Tree]:
    """A function that nests the results of all rows: values and gradients, or results of such a structure."""
    if chosen is not None:
        return tuple if chosen.is_plain else partial(_with_gradient, replace(chosen, arrays=()))  # which may be kept
    return partial(structured, tree, is_tuple) if tree is not None else tuple if is_tuple else itemgetter(0)


def _with_gradient(chosen: Chosen, found: Sequence[np.ndarray]) -> tuple[Tree, Tree]:
    return found[0], chosen.nested(found[1:])


def _in_double(tape: Owner, X: Tree) -> Tree:
    """The points in float64, unless the tape was recorded in their dtype."""
    points = np.asarray(X)
    is_own = not hasattr(tape, "answer_kind") and [t.dtype for t in tape.tape.input_types[:1]] == [points.dtype]
    return X if is_own or points.dtype.kind != "f" or points.dtype.itemsize >= 8 else points.astype(np.float64)


def _on_tape(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None, threads: int | None
) -> Answer:
    require_fit(arguments, tape.tape)
    kind = kind_of_rows(numbers, inputs_of(tape.tape, numbers or ()))
    calls = RowCalls(compiled_call(tape, kind), arguments, tape if kind.wrt == (0,) else None)
    check_out(outs, _of_rows(arguments.rows, calls.call.outputs))
    into = None if numbers is None else outs
    found = calls.run(tape, [a.array for a in arguments], arguments.rows, into, threads)
    assert found is not None, "the calls are for these types"
    return found if found is into else calls.in_own_types(found), result_of(tape.tape), calls


def _of_rows(rows: int, types: Sequence[ValueType]) -> list[ValueType]:
    return [ValueType((rows, *t.shape), t.dtype) for t in types]


# Functions with several paths


def _on_paths(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None, threads: int | None
) -> Answer:
    """Python answers the first row, which tells the types of the results, and every row after which these change."""
    row, calls = 0, None
    types, result = list[ValueType](), None
    parts: list[list[np.ndarray]] = []
    while row < arguments.rows:
        try:
            variant, values = tape.answer_kind(arguments.at(row), kind_of_rows(numbers), ())
        except Exception as raised:  # noqa: BLE001 -- raised with its row
            raise_first([Failure(row, raised)])
        found = [np.array(value)[None] for value in values]
        if not parts:
            types, result = [ValueType(a.shape[1:], a.dtype) for a in found], result_of(variant.program.tape)
            check_out(outs, _of_rows(arguments.rows, types))
        types = _joined(types, found, row, numbers is not None or result_of(variant.program.tape) == result)
        parts.append(found)
        row += 1
        calls = _paths_calls(tape, arguments, numbers, types, None if numbers is not None else result)
        if calls is not None and row < arguments.rows:
            count, found = _natively(tape, calls, arguments, row, threads)
            parts.append(found)
            row += count
    if result is None:
        return _nothing(tape, arguments, numbers, outs)
    return [np.concatenate(each, dtype=t.dtype) for t, *each in zip(types, *parts)], result, calls


def _joined(types: Sequence[ValueType], found: Sequence[np.ndarray], row: int, is_alike: bool) -> list[ValueType]:
    """The types of results that those of one more row fit into."""
    if len(found) != len(types) or not is_alike:
        raise ShapeMismatch(
            "rows return tuples of different lengths, or other containers", got=f"{len(types)} and {len(found)} results at row {row}"
        )
    for type_, array in zip(types, found):
        if array.shape[1:] != type_.shape:
            raise ShapeMismatch(
                "rows return results of different shapes", got=f"{type_.shape} and {array.shape[1:]} at row {row}",
                fix="return results of one shape from every path, or call row by row",
            )  # fmt: skip
    return [ValueType(t.shape, np.result_type(t.dtype, a.dtype)) for t, a in zip(types, found)]


def _natively(
    tape: Owner, calls: RowCalls, arguments: RowArguments, first: int, threads: int | None
) -> tuple[int, list[np.ndarray]]:
    """The results of the rows from `first` on, up to one that has results of other types; and how many these are."""
    arrays = [a.array[first:] if a.per_row else a.array for a in arguments]
    rows = arguments.rows - first
    found = [np.empty((rows, *t.shape), widened(t).dtype) for t in calls.call.outputs]
    try:
        calls.run(tape, arrays, rows, found, threads, first)
    except OtherResults as raised:
        rows = raised.row - first  # type: ignore[attr-defined]  # see raise_first
    return rows, [a[:rows] for a in calls.in_own_types(found)]


def _paths_calls(
    tape: Owner, arguments: RowArguments, numbers: Numbers | None, types: Sequence[ValueType], result: Result | None
) -> RowCalls | None:
    """Calls for these arguments and results; None if Python is needed for each row."""
    if not tape.chooses_natively:
        return None
    call = tape.keyed(arguments.at(0), numbers or (), with_data=True)
    signature = of_call(call.bound, call.key)
    if len(signature.positions) != len(arguments):
        return None
    return RowCalls(paths_call(tape, signature, kind_of_rows(numbers, call.bound.argnums), types, result=result), arguments)


def _nothing(tape: Owner, arguments: RowArguments, numbers: Numbers | None, outs: Sequence[Operand] | None) -> Answer:
    """The results of no rows, in the shapes that a row of ones would have."""
    args, result = arguments.example(), (False, None)
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
        types, result = recorded.output_types, result_of(recorded)
    check_out(outs, _of_rows(0, types))
    return outs or [np.empty((0, *t.shape), t.dtype) for t in types], result, None
