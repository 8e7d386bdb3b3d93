"""Finds the axis of each value that counts the rows of a tape, and checks that each row is computed without the others.

An axis counts rows if it is as long as there are rows; a value with two such axes is rejected. Length alone does not prove that rows are
independent; the operations do: each has to compute row k of its result from row k of its operands. Sums over rows are sums of the sums of
blocks, as are sums of such sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ...ir.instruction import CONSTANT, INPUT, AnyType, Instruction, ValueType
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.reductions import OPS as REDUCTIONS, SUM
from ...ops.arrays.regions import Region
from ...ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm
from ...ops.elementwise.arithmetic import ADD, CONVERT, DIVIDE, MULTIPLY, NEGATIVE, SUBTRACT
from ...ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ...ops.matrices.products import MATMUL
from ...passes.simplify.discarded_zeros import kept_cotangent

# The axis of rows; or SAME for all rows; PART: a block's part of a sum over rows; TEST: a test of such a part, read only by selections that
# keep discarded cotangents exact zeros (passes/simplify/discarded_zeros.py).
SAME, PART, TEST = -1, -2, -3

# Of tuples, the kinds of their items.
Kind: TypeAlias = int | tuple[int, ...]

# Products with larger matrices are faster for many rows at once.
LARGEST_FACTOR = 1024

# Bodies of more instructions are left alone.
LARGEST_BODY = 5_000


class RowsMeet(Exception):
    """An operation mixes rows."""


def axis_of_rows(type_: AnyType, rows: int) -> int:
    """Return the axis of a value that counts rows, or SAME. Raises RowsMeet if there are several, or the shape is unknown."""
    if not isinstance(type_, ValueType):
        raise RowsMeet
    found = [axis for axis, extent in enumerate(type_.shape) if extent == rows]
    if len(found) > 1:
        raise RowsMeet
    return found[0] if found else SAME


def kind_of(tape: Tape, number: int, kinds: Mapping[int, Kind] | Sequence[Kind], rows: int, *, is_guess: bool = False) -> Kind:
    """Return the kind of a value from those of its operands, which are in `kinds` by their numbers. Raises RowsMeet.

    Args:
        is_guess: take any value with parts of sums among its operands for a part.
    """
    op, inputs, params, type_, _ = instruction = tape.instructions[number]
    if op is LOOP:
        zeros = [_is_zero(tape.instructions[i]) for i in inputs]
        return _loop(params[0], params[1], [_one(kinds[i]) for i in inputs], zeros, rows)
    if op is GET:
        items = kinds[inputs[0]]
        assert isinstance(items, tuple)
        return items[params[0]]
    given = [_one(kinds[i]) for i in inputs]
    result = axis_of_rows(type_, rows)
    if PART in given or TEST in given:
        return PART if is_guess else _of_parts(tape, instruction, kinds, result)
    rule = _elementwise if isinstance(op, Elementwise) or op is CONVERT else RULES.get(op)
    if op is CONSTANT or (rule is not None and result == SAME and all(kind == SAME for kind in given)):
        return result
    if rule is None:
        raise RowsMeet
    return rule(instruction, [tape.instructions[i].type for i in inputs], given, result)


def kinds_of(tape: Tape, given: Sequence[int], rows: int, *, is_guess: bool = False) -> list[Kind]:
    """Return the kinds of all values of a tape from those of its inputs; see kind_of. Raises RowsMeet.

    Cost: linear in the number of instructions, of the tape and of the bodies of its loops.
    """
    kinds: list[Kind] = []
    for number, instruction in enumerate(tape.instructions):
        is_input = instruction.op is INPUT
        kinds.append(given[instruction.params[0]] if is_input else kind_of(tape, number, kinds, rows, is_guess=is_guess))
    return kinds


def body_of(callee: Callee, form: LoopForm) -> Tape | None:
    """The tape of an iteration of a loop whose length and path are known; None for other loops."""
    if form.length is None or form.stops or form.variant_given or form.returns_variants:
        return None
    if callee.may_branch or not callee.is_compiled or callee.only_tape() is None:
        return None
    body = callee.variant_tape(0)
    return body if len(body) <= LARGEST_BODY else None


def _one(kind: Kind) -> int:
    if isinstance(kind, tuple):
        raise RowsMeet
    return kind


def _is_zero(instruction: Instruction) -> bool:
    return instruction.op is CONSTANT and not np.any(instruction.params[0])


def _loop(callee: Callee, form: LoopForm, given: Sequence[int], zeros: Sequence[bool], rows: int) -> Kind:
    body = body_of(callee, form)
    if body is None or form.length == rows or PART in given[form.carries :]:
        raise RowsMeet
    inputs = [axis_of_rows(body.instructions[i].type, rows) for i in body.inputs]
    # A carry that iterations add parts of sums to is a part; it has to begin with one, or with zeros.
    carried: list[int] = []
    while carried != inputs[: form.carries]:
        carried = inputs[: form.carries]
        kinds = kinds_of(body, inputs, rows, is_guess=True)
        results = [_one(kinds[i]) for i in body.outputs]
        inputs[: form.carries] = [PART if PART in found else found[0] for found in zip(carried, results, given)]
    kinds = kinds_of(body, inputs, rows)
    results = [_one(kinds[i]) for i in body.outputs]
    for k, kind in enumerate(carried):
        if kind != results[k] or (kind == PART and given[k] != PART and not zeros[k]):
            raise RowsMeet
    items = [*carried, *map(_stacked, results[form.carries :])]
    return tuple([*items, *map(_stacked, carried)] if form.saves_carries else items)


def _stacked(kind: int) -> int:
    return kind + 1 if kind >= 0 else kind


def _of_parts(tape: Tape, instruction: Instruction, kinds: Mapping[int, Kind] | Sequence[Kind], result: int) -> int:
    """Return the kind of an operation on parts of sums: PART if it is linear in them.

    With a non-finite factor a part becomes NaN or infinite, and 0 if the part was discarded; so does the sum.
    """
    op, inputs, _, _, _ = instruction
    given = [_one(kinds[i]) for i in inputs]
    if op is SELECT:
        z_bar = kept_cotangent(tape.instructions, instruction)
        is_linear = z_bar is not None and given == [TEST, SAME, PART] and kinds[z_bar] == PART
    elif TEST in given:
        is_linear = False
    elif op is MULTIPLY or op is DIVIDE:
        is_linear = given.count(PART) == 1 and (op is MULTIPLY or given[0] == PART)
    else:
        is_linear = op in _LINEAR and given.count(PART) == len(given)
    if result == SAME and is_linear and max(given) < 0:
        return PART
    if result == SAME and _is_test(tape, instruction, given):
        return TEST
    raise RowsMeet


# Not Op.linear, which is about derivatives: a comparison or a rounding has derivative zero.
_LINEAR = (ADD, SUBTRACT, NEGATIVE, RESHAPE, BROADCAST, TRANSPOSE, INDEX, ASSEMBLE, REPLACE, SUM)


def _is_test(tape: Tape, instruction: Instruction, given: Sequence[int]) -> bool:
    op, inputs, _, _, _ = instruction
    if op is EQUAL:
        return given == [PART, SAME] and _is_zero(tape.instructions[inputs[1]])
    return (op is IS_NAN and given == [PART]) or (op is LOGICAL_AND and given == [TEST, TEST])



# Rules for the kind of a result, from the types and kinds of its operands, and the axis of rows of the result if it has one.


def _elementwise(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    """Axes are aligned from the right; an operand without rows has length 1 along the axis of rows, or lacks it."""
    rank = len(instruction.type.shape)
    for type_, kind in zip(types, given):
        if kind >= 0 and kind - len(type_.shape) != result - rank:
            raise RowsMeet
    if result == SAME:
        raise RowsMeet
    return result


def _reshaped(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    (type_,), (axis,) = types, given
    if axis < 0 or result < 0 or math.prod(type_.shape[:axis]) != math.prod(instruction.type.shape[:result]):
        raise RowsMeet
    return result


def _transposed(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    if given[0] < 0 or result < 0 or instruction.params[0][result] != given[0]:
        raise RowsMeet
    return result


def _reduced(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    (axes,), (axis,) = instruction.params, given
    if axis in axes:
        if instruction.op is not SUM or result != SAME:
            raise RowsMeet
        return PART
    if result != axis - sum(1 for k in axes if k < axis):
        raise RowsMeet
    return result


def _along_an_axis(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    along, (axis,) = instruction.params[0], given
    kept = len(instruction.type.shape) == len(types[0].shape)
    if along == axis or result != (axis if kept or axis < along else axis - 1):
        raise RowsMeet
    return result


def _indexed(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    _require_whole(instruction.params[0], types[0].shape, given[0], result)
    return result


def _assembled(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    for region, kind in zip(instruction.params[0], given):
        _require_whole(region, instruction.type.shape, result, kind)
    return result


def _replaced(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    if given[0] != result:
        raise RowsMeet
    return _assembled(instruction, types[1:], given[1:], result)


def _require_whole(region: Region, shape: Sequence[int], axis: int, axis_of_part: int) -> None:
    """Raise RowsMeet unless a slice of an array has all its rows, at the given axis of the slice."""
    if axis < 0 or axis_of_part < 0:
        raise RowsMeet
    if (region.starts[axis], region.steps[axis], region.counts[axis]) != (0, 1, shape[axis]):
        raise RowsMeet
    if math.prod(region.counts[:axis]) != math.prod(region.shape[:axis_of_part]):
        raise RowsMeet


def _product(instruction: Instruction, types: Sequence[AnyType], given: Sequence[int], result: int) -> int:
    """Products of the rows with a small matrix, of a small matrix for each row, and sums over rows."""
    (x, y), (left, right) = (type_.shape for type_ in types), given
    if max(len(x), len(y)) <= 2:
        if left == len(x) - 1 and right == 0:
            if result != SAME:
                raise RowsMeet
            return PART
        if left == 0 and len(x) == 2 and right == SAME and result == 0 and math.prod(y) <= LARGEST_FACTOR:
            return result
        if right == 1 and left == SAME and result == len(instruction.type.shape) - 1 and math.prod(x) <= LARGEST_FACTOR:
            return result
    elif len(x) == 3 and left == 0 and result == 0 and (right == 0 if len(y) == 3 else right == SAME):
        if max(math.prod(x[1:]), math.prod(y[-2:])) <= LARGEST_FACTOR:
            return result
    raise RowsMeet


Rule: TypeAlias = Callable[[Instruction, Sequence[AnyType], Sequence[int], int], int]

RULES: dict[Hashable, Rule] = {
    RESHAPE: _reshaped,
    TRANSPOSE: _transposed,
    BROADCAST: _elementwise,
    INDEX: _indexed,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    MATMUL: _product,
    **{op: _reduced if op.params == ("axes",) else _along_an_axis for op in REDUCTIONS},
}
