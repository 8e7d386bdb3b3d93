"""Reads repeated rows after products and functions of them: (h @ W)[s] in place of h[s] @ W, if s names the same rows several times.

Rows that are not read are left out first: a NaN in one would enter the cotangent of W, as 0 times NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...ir.instruction import FLOAT64, INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, known_positions
from ...ops.elementwise.arithmetic import ADD
from ...ops.matrices.products import MATMUL
from ..rows import box

# Fewer entries are computed as fast as read. A product is moved if at most this share of the rows are different ones.
FEWEST_ENTRIES, LARGEST_SHARE = 1024, 0.75


class Rows(NamedTuple):
    """Rows that are read from an array: all of those that `source` has, along its first axis.

    Attributes:
        source: the number of an array, of shape (rows, *row).
        numbers: which row is at each place.
        is_made: the source was made by this pass, not for another reader.
    """

    source: int
    numbers: np.ndarray
    is_made: bool


def read_rows_last(tape: Tape) -> Tape:
    if GATHER not in tape.ops or MATMUL not in tape.ops:
        return tape
    found = {number: numbers for number, i in tape.numbered(GATHER) if (numbers := _repeated_rows(tape, i)) is not None}
    if not found:
        return tape
    rows: dict[int, Rows] = {}

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        if instruction.op is GATHER:
            if number in found:
                new = made.copy(number)
                rows[new] = _distinct(made, made.number[instruction.inputs[0]], found[number], instruction.type.shape)
                return new
            return None
        if instruction.op is MATMUL:
            by_blocks = _product_of_blocks(made, instruction, rows)
            if by_blocks is not None:
                return by_blocks
        moved = _product(made, instruction, rows) if instruction.op is MATMUL else _function(made, instruction, rows)
        if moved is None:
            return None
        new = _read(made, moved)
        rows[new] = moved
        return new

    return rewritten(tape, emit, GATHER, MATMUL, *(op for op in tape.ops if isinstance(op, Elementwise)))


def _repeated_rows(tape: Tape, instruction: Instruction) -> np.ndarray | None:
    """The rows of a matrix (or of a stack) that are read at constant positions; None unless they repeat."""
    source, at = instruction.inputs
    shape, type_ = tape.instructions[source].type.shape, instruction.type
    if type_.dtype != FLOAT64 or type_.size < FEWEST_ENTRIES or len(shape) < 2 or type_.shape[1 - len(shape) :] != shape[1:]:
        return None
    leading, size = type_.shape[: len(type_.shape) + 1 - len(shape)], math.prod(shape[1:])
    op, inputs, *_ = tape.instructions[at]
    firsts = known_positions(tape.instructions, inputs[0]) if op is ADD else None
    if firsts is None or firsts.size != math.prod(leading):
        positions = known_positions(tape.instructions, at)
        if positions is None:
            return None
        positions = positions.reshape(-1, size)
        firsts = positions[:, 0]
        if not (positions == firsts[:, None] + np.arange(size)).all():
            return None
    numbers, rest = np.divmod(firsts.ravel(), size)
    return numbers if not rest.any() and len(np.unique(numbers)) <= LARGEST_SHARE * numbers.size else None


def _distinct(made: Rewriter, source: int, numbers: np.ndarray, shape: tuple[int, ...]) -> Rows:
    """The rows, in an array without others."""
    type_ = made.instructions[source].type
    used, places = np.unique(numbers, return_inverse=True)
    leading = shape[: len(shape) + 1 - len(type_.shape)]
    if len(used) < type_.shape[0]:
        source = _gathered(made, source, used, type_.shape[1:])
    return Rows(source, places.reshape(leading), False)


def _gathered(made: Rewriter, source: int, numbers: np.ndarray, row: tuple[int, ...]) -> int:
    """Read rows: at the first position of each, plus those within a row."""
    size = math.prod(row)
    firsts = (numbers * size).reshape(*numbers.shape, *(1 for _ in row))
    at = made.constant(firsts, ValueType(firsts.shape, INT64))
    if row:
        within = np.arange(size).reshape(row)
        at = made.make(ADD, (at, made.constant(within, ValueType(row, INT64))))
    return made.make(GATHER, (source, at))


def _read(made: Rewriter, rows: Rows) -> int:
    return _gathered(made, rows.source, rows.numbers, made.instructions[rows.source].type.shape[1:])


def _product(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> Rows | None:
    """Multiply the rows from the right by one matrix or vector."""
    x, y = (made.number[i] for i in instruction.inputs)
    if x not in known or len(made.instructions[y].type.shape) > 2:
        return None
    source, numbers, _ = known[x]
    return Rows(made.make(MATMUL, (source, y)), numbers, True)


def _product_of_blocks(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> int | None:
    """Multiply arrays that are joined along the last axis one by one, and add the products, if most columns are of repeated rows."""
    x, y = (made.number[i] for i in instruction.inputs)
    op, parts, params, (shape, _), _ = made.instructions[x]
    y_shape = made.instructions[y].type.shape
    if op is not ASSEMBLE or len(y_shape) > 2 or any(r.counts[:-1] != shape[:-1] or r.shape != r.counts for r in params[0]):
        return None
    widths = [region.counts[-1] for region in params[0]]
    if sum(widths) != shape[-1] or 2 * sum(w for w, part in zip(widths, parts) if part in known) < shape[-1]:
        return None
    total = None
    for part, region in zip(parts, params[0]):
        block = made.make(INDEX, (y,), (box((region.starts[-1], region.counts[-1]), *((0, n) for n in y_shape[1:])),))
        if part in known:
            source, numbers, _ = known[part]
            product = _read(made, Rows(made.make(MATMUL, (source, block)), numbers, True))
        else:
            product = made.make(MATMUL, (part, block))
        total = product if total is None else made.make(ADD, (total, product))
    return total


def _function(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> Rows | None:
    """Apply a costly function to the rows, or any function to products; other operands are the same for all rows."""
    operands = [made.number[i] for i in instruction.inputs]
    read = {number for number in operands if number in known}
    if len(read) != 1 or instruction.type.dtype != FLOAT64 or not isinstance(instruction.op, Elementwise):
        return None
    (number,) = read
    rows, shape = known[number], made.instructions[number].type.shape
    row = made.instructions[rows.source].type.shape[1:]
    others = [made.instructions[k].type.shape for k in operands if k != number]
    if instruction.type.shape != shape or not (rows.is_made or instruction.op.is_costly) or any(len(other) > len(row) for other in others):
        return None
    source = made.make(instruction.op, tuple([rows.source if k == number else k for k in operands]), instruction.params)
    return Rows(source, rows.numbers, True)
