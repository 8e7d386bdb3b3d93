"""Evaluates instructions with only constant operands, and drops instructions that change nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.source_location import Site
from ...ir.instruction import BOOL, CONSTANT, GUARD, INPUT, TUPLE, Instruction, ValueType
from ...ir.interpreter import check_guard
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, Region
from ...ops.arrays.shape import RESHAPE
from ...ops.declaration.op import Elementwise
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY, NEGATIVE, PRODUCT_OR_ZERO
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_OR, SELECT

# A folded constant lives in memory as long as the tape: a broadcast scalar stays an instruction.
LARGEST_GROWTH = 4096

# Ops that may return an operand unchanged even without constant operands.
_SIMPLIFIED = frozenset((SELECT, NEGATIVE, RESHAPE, ASSEMBLE, INDEX))


@np.errstate(all="ignore")
def fold_constants(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    numbers, new = rewriter.number, rewriter.instructions
    views: dict[int, np.ndarray] = {}
    for number, instruction in enumerate(tape.instructions):
        op, inputs, *_ = instruction
        operands = tuple([numbers[i] for i in inputs])
        # Fast path: most instructions of a long tape read no constant.
        is_plain = operands and op not in _SIMPLIFIED
        for operand in operands:
            if new[operand][0] is CONSTANT or operand in views:
                is_plain = False
        numbers[number] = (
            rewriter.keep(instruction, operands) if is_plain else _folded(rewriter, views, number, instruction, operands)
        )
    return rewriter.finish()


def _folded(
    rewriter: Rewriter, views: dict[int, np.ndarray], number: int, instruction: Instruction, operands: tuple[int, ...]
) -> int:
    """Return the number of the replacement of an instruction.

    Args:
        views: values of large views of constants, by number; they are added.
    """
    op, _, params, type_, site = instruction
    if op is CONSTANT or op is INPUT or type_.dtype is TUPLE:
        return rewriter.copy(number)
    values = [views.get(i, _constant_value(rewriter, i)) for i in operands]
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        if op is GUARD:
            check_guard(params, known[0], site)
            return -1
        # exp differs in the last bits between kernels, NumPy and processors: values must not depend on folding, nor on the machine.
        if isinstance(op, Elementwise) and op.is_costly and type_.dtype.kind == "f":
            return rewriter.copy(number)
        # A view costs nothing in a kernel, while a folded one would be a second copy of the data.
        is_view = op.is_view and type_.size > 64 and type_.size >= known[0].size
        if not is_view and type_.size <= max(LARGEST_GROWTH, sum(value.size for value in known)):
            return rewriter.constant(op.evaluate(*[v[()] for v in known], *params), type_)
    if op is PRODUCT_OR_ZERO and values[0] is not None and values[0].all():
        return rewriter.emit(MULTIPLY, operands, (), type_, site)
    same = _unchanged(rewriter, instruction, operands, values)
    made = rewriter.copy(number) if same is None else same
    # Not for broadcasts, which are larger than their data.
    if op.is_view and values[0] is not None and type_.size <= values[0].size:
        views[made] = op.evaluate(values[0], *params)
    return made


def _unchanged(
    rewriter: Rewriter, instruction: Instruction, operands: tuple[int, ...], values: list[np.ndarray | None]
) -> int | None:
    """Return the operand that an instruction leaves unchanged, perhaps in another shape; None if it changes something."""
    op, _, params, type_, site = instruction
    if op is RESHAPE:
        return _in_shape(rewriter, operands[0], type_, site)
    if op is ASSEMBLE or op is INDEX:
        whole = type_.shape if op is ASSEMBLE else rewriter.instructions[operands[0]].type.shape
        is_whole = _is_whole(params[0] if op is ASSEMBLE else params, whole)
        return _in_shape(rewriter, operands[0], type_, site) if is_whole else None
    chosen = None
    if op is NEGATIVE:
        inner = rewriter.instructions[operands[0]]
        chosen = inner.inputs[0] if inner.op is NEGATIVE else None
    elif op is SELECT:
        chosen = _chosen(values, operands)
    elif op is LOGICAL_AND or op is LOGICAL_OR:
        neutral = [k for k in (0, 1) if _is_bool(values[k], op is LOGICAL_AND)]
        chosen = operands[1 - neutral[0]] if neutral else None
    elif op is MULTIPLY or op is DIVIDE:
        ones = [k for k in ((0, 1) if op is MULTIPLY else (1,)) if _is_one(values[k])]
        chosen = next((operands[1 - k] for k in ones if rewriter.instructions[operands[1 - k]].type == type_), None)
    return chosen if chosen is not None and rewriter.instructions[chosen].type == type_ else None


def _is_one(value: np.ndarray | None) -> bool:
    if value is None or value.size > LARGEST_GROWTH:
        return False
    return value.item() == 1.0 if value.shape == () else bool((value == 1.0).all())


def _is_whole(regions: Sequence[Region], shape: tuple[int, ...]) -> bool:
    """True if the only region of an array covers all of it, in order."""
    return len(regions) == 1 and regions[0].counts == shape and all(step == 1 for step in regions[0].steps)


def _in_shape(rewriter: Rewriter, number: int, type_: ValueType, site: Site | None) -> int:
    while rewriter.instructions[number].op is RESHAPE:
        number = rewriter.instructions[number].inputs[0]
    if rewriter.instructions[number].type.shape == type_.shape:
        return number
    return rewriter.emit(RESHAPE, (number,), (type_.shape,), type_, site)


def _is_bool(value: np.ndarray | None, wanted: bool) -> bool:
    return value is not None and value.shape == () and value.dtype == BOOL and bool(value) == wanted


def _chosen(values: Sequence[np.ndarray | None], operands: tuple[int, ...]) -> int | None:
    """Return the operand that a selection always equals: one of its sides, or its condition."""
    condition = values[0]
    if operands[1] == operands[2]:
        return operands[1]
    if _is_bool(values[1], True) and _is_bool(values[2], False):
        return operands[0]
    if condition is not None and condition.shape == ():
        return operands[1 if condition else 2]
    return None


def _constant_value(rewriter: Rewriter, number: int) -> np.ndarray | None:
    op, _, params, *_ = rewriter.instructions[number]
    return params[0] if op is CONSTANT else None
