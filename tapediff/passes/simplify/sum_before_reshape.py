"""Sums values before they are reshaped or transposed, so that a sum runs over the loop that computes its terms.

The terms are then added in the order of the array as computed, which still depends on the tape alone: if both shapes have rows of whole
vectors, the order is the same.
"""

from __future__ import annotations

from ...ir.instruction import Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE
from ...ops.arrays.reductions import SUM
from ...ops.arrays.shape import RESHAPE, TRANSPOSE
from ..rows import in_shape
from .axis_groups import axis_groups

# A sum over shorter rows costs more than storing them for a sum over one long row, unless they fill whole vectors.
SHORTEST_ROW = 64
VECTOR = 8


def sum_before_reshape(tape: Tape) -> Tape:
    return rewritten(tape, lambda made, total, _: _moved(made, total), SUM) if SUM in tape.ops else tape


def _moved(rewriter: Rewriter, total: Instruction) -> int | None:
    """Sum the array that the operand is a view of; None if that does not pay."""
    number, axes = rewriter.number[total.inputs[0]], total.params[0]
    moved = False
    # The result's axes as axes of the source, possibly permuted by a transposition.
    order = [k for k in range(len(rewriter.instructions[number].type.shape)) if k not in axes]
    while rewriter.instructions[number].op in (RESHAPE, TRANSPOSE):
        op, inputs, params, type_, _ = rewriter.instructions[number]
        if op is TRANSPOSE:
            axes, order = tuple(sorted(params[0][k] for k in axes)), [params[0][k] for k in order]
        elif order == sorted(order):
            before = _axes_before(rewriter.instructions[inputs[0]].type.shape, type_.shape, axes)
            if before is None:
                return None
            axes = before
            order = [k for k in range(len(rewriter.instructions[inputs[0]].type.shape)) if k not in axes]
        else:
            return None
        number, moved = inputs[0], True
    source = rewriter.instructions[number]
    if not moved or not (isinstance(source.op, Elementwise) or source.op is ASSEMBLE) or not _has_long_rows(source.type.shape):
        return None
    return _emitted(rewriter, total, number, axes, order)


def _has_long_rows(shape: tuple[int, ...]) -> bool:
    row = next((extent for extent in reversed(shape) if extent != 1), 1)
    return row % VECTOR == 0 or row >= SHORTEST_ROW


def _axes_before(old: tuple[int, ...], new: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the axes that a sum over `axes` of the reshaped array sums over before the reshape; None if it sums over a part of one."""
    before: list[int] = []
    for old_axes, new_axes in axis_groups(old, new):
        summed = {k in axes for k in new_axes if new[k] != 1}
        if len(summed) > 1:
            return None
        if summed == {True}:
            before += [k for k in old_axes if old[k] != 1]
    return tuple(before)


def _emitted(rewriter: Rewriter, total: Instruction, number: int, axes: tuple[int, ...], order: list[int]) -> int:
    if axes:
        number = rewriter.make(SUM, (number,), (axes,))
    if order != sorted(order):
        number = rewriter.make(TRANSPOSE, (number,), (tuple(sorted(order).index(k) for k in order),))
    return in_shape(rewriter, number, total.type.shape)
