"""Products with a matrix that is diagonal for all arguments become scaled rows or columns.

A constant with unit vectors as rows is the identity; it makes the products of whole Jacobians and Hessians diagonal.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import GATHER
from ...ops.arrays.shape import RESHAPE, TRANSPOSE
from ...ops.elementwise.arithmetic import DIVIDE, MULTIPLY, NEGATIVE
from ...ops.matrices.products import MATMUL

IDENTITY, DIAGONAL, OTHER = range(3)


def diagonal_products(tape: Tape) -> Tape:
    if MATMUL not in tape.ops:
        return tape
    kinds = _kinds(tape)
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        made = _product(rewriter, instruction, kinds) if instruction.op is MATMUL else None
        rewriter.number[number] = rewriter.copy(number) if made is None else made
    return rewriter.finish()


def _kinds(tape: Tape) -> list[int]:
    """The known structure of each value as a matrix."""
    kinds: list[int] = []
    for op, inputs, params, type_, _ in tape.instructions:
        kind = OTHER
        if len(type_.shape) == 2 and type_.shape[0] == type_.shape[1]:
            if op is CONSTANT:
                kind = _kind_of(params[0])
            elif op is NEGATIVE or op is TRANSPOSE or op is DIVIDE:
                kind = max(kinds[inputs[0]], DIAGONAL)
            elif op is MULTIPLY:
                kind = max(min(kinds[i] for i in inputs), DIAGONAL)
        kinds.append(kind)
    return kinds


def _kind_of(matrix: np.ndarray) -> int:
    diagonal = np.diagonal(matrix)
    if np.count_nonzero(matrix) != np.count_nonzero(diagonal):
        return OTHER
    return IDENTITY if (diagonal == 1.0).all() else DIAGONAL


def _product(rewriter: Rewriter, instruction: Instruction, kinds: list[int]) -> int | None:
    tape, (left, right) = rewriter.tape, instruction.inputs
    shapes = [tape.instructions[i].type.shape for i in instruction.inputs]
    if any(len(shape) != 2 for shape in shapes):
        return None
    if kinds[left] == IDENTITY:
        return rewriter.number[right]
    if kinds[right] == IDENTITY:
        return rewriter.number[left]
    if kinds[left] == DIAGONAL:
        scale = _diagonal(rewriter, left, column=True)
        return rewriter.emit(MULTIPLY, (scale, rewriter.number[right]), (), instruction.type, instruction.site)
    if kinds[right] == DIAGONAL:
        scale = _diagonal(rewriter, right, column=False)
        return rewriter.emit(MULTIPLY, (rewriter.number[left], scale), (), instruction.type, instruction.site)
    return None


def _diagonal(rewriter: Rewriter, old: int, column: bool) -> int:
    """The diagonal of a value, as a column or as a vector."""
    type_ = rewriter.tape.instructions[old].type
    n = type_.shape[0]
    positions = rewriter.constant(np.arange(n, dtype=np.int64) * (n + 1), ValueType((n,), INT64))
    found = rewriter.emit(GATHER, (rewriter.number[old], positions), (), ValueType((n,), type_.dtype), None)
    return rewriter.emit(RESHAPE, (found,), ((n, 1),), ValueType((n, 1), type_.dtype), None) if column else found
