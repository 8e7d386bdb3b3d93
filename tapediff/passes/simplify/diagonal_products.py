"""Products with a matrix that is diagonal for all arguments become scaled rows or columns.

A constant with unit vectors as rows is the identity; it makes the products of whole Jacobians and Hessians diagonal.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
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
    return rewritten(tape, lambda made, product, _: _product(made, product, kinds), MATMUL)


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
        return rewriter.make(MULTIPLY, (_diagonal(rewriter, left, column=True), rewriter.number[right]))
    if kinds[right] == DIAGONAL:
        return rewriter.make(MULTIPLY, (rewriter.number[left], _diagonal(rewriter, right, column=False)))
    return None


def _diagonal(rewriter: Rewriter, old: int, column: bool) -> int:
    """The diagonal of a value, as a column or as a vector."""
    n, _ = rewriter.tape.instructions[old].type.shape
    positions = rewriter.constant(np.arange(n, dtype=np.int64) * (n + 1), ValueType((n,), INT64))
    found = rewriter.make(GATHER, (rewriter.number[old], positions))
    return rewriter.make(RESHAPE, (found,), ((n, 1),)) if column else found
