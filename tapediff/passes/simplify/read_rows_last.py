"""Reads repeated rows after products and functions of them: (h @ W)[s] in place of h[s] @ W, if s names the same rows several times.

Rows may be numbers: exp(a[s]) becomes exp(a)[s]. Cheap functions are moved only with a product, a sum or a costly function after them.
Rows that are not read are left out first: a NaN in one would enter the cotangent of W, as 0 times NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...ir.instruction import CONSTANT, FLOAT64, INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, known_positions
from ...ops.arrays.reductions import MAX, MIN, SUM
from ...ops.arrays.regions import Region
from ...ops.arrays.shape import RESHAPE
from ...ops.elementwise.arithmetic import ADD, DIVIDE, MULTIPLY
from ...ops.matrices.products import MATMUL
from ..rows import box, in_shape

# Fewer entries are computed as fast as read. A product is moved if at most this share of the rows are different ones.
FEWEST_ENTRIES, LARGEST_SHARE = 1024, 0.75

# Costly functions alone: exp(a[s]) takes half the time at a third, but 1.3 times as long at one half if a[s] is read, too. Constants, as
# in the design of a model of groups: bootstrap samples, of which 0.63 differ, go on sharing their program.
LARGEST_SHARE_OF_FUNCTION, LARGEST_SHARE_OF_CONSTANT = 0.33, 0.25


class Rows(NamedTuple):
    """Rows that are read from an array: all of those that `source` has, along its first axis.

    Attributes:
        source: the number of an array, of shape (rows, *row).
        numbers: which row is at each place.
        is_moved: the value is read from the source; else it is computed as written, and the source may be without readers.
    """

    source: int
    numbers: np.ndarray
    is_moved: bool


class Repeated(NamedTuple):
    """Positions of repeated rows.

    Attributes:
        firsts: the position of the first entry of each row that is read, without repetitions.
        within: the positions of a row's entries after its first.
        numbers: which of the rows is at each place.
    """

    firsts: np.ndarray
    within: np.ndarray
    numbers: np.ndarray


def read_rows_last(tape: Tape) -> Tape:
    found, constants = _repeated_rows(tape), _constant_rows(tape)
    if not found and not constants:
        return tape
    rows: dict[int, Rows] = {}

    def emit(made: Rewriter, instruction: Instruction, number: int) -> int | None:
        op = instruction.op
        if op is GATHER:
            moved = _distinct(made, instruction, found[number]) if number in found else None
        elif op is CONSTANT:
            moved = _distinct_constant(made, *constants[number]) if number in constants else None
        elif op is MATMUL:
            replaced = _product_of_blocks(made, instruction, rows) or _product_of_weighted(made, instruction, rows)
            if replaced is not None:
                return replaced
            moved = _product(made, instruction, rows)
        elif isinstance(op, Elementwise):
            moved = _function(made, op, instruction, rows)
        else:
            known = rows.get(made.number[instruction.inputs[0]])
            moved = None if known is None else _of_rows(made, instruction, known)
        if moved is None:
            return None
        new = _read(made, moved) if moved.is_moved else made.copy(number)
        rows[new] = moved
        return new

    elementwise = [op for op in tape.ops if isinstance(op, Elementwise)]
    result = rewritten(tape, emit, CONSTANT, GATHER, MATMUL, SUM, MAX, MIN, RESHAPE, INDEX, *elementwise)
    return result if any(each.is_moved for each in rows.values()) else tape


def _repeated_rows(tape: Tape) -> dict[int, Repeated]:
    """The gathers of floats at constant positions that read rows repeatedly. Equal positions have the same numbers."""
    found: dict[int, Repeated] = {}
    if GATHER not in tape.ops:
        return found
    known: dict[tuple[int, tuple[int, ...]], Repeated | None] = {}
    for number, (_, (source, at), _, type_, _) in tape.numbered(GATHER):
        shape = tape.instructions[source].type.shape
        if type_.dtype != FLOAT64 or type_.size < FEWEST_ENTRIES or not shape:
            continue
        if (at, shape) not in known:
            known[at, shape] = _repeated(tape, at, type_.shape, shape)
        repeated = known[at, shape]
        if repeated is not None:
            found[number] = repeated
    return found


def _repeated(tape: Tape, at: int, read: tuple[int, ...], shape: tuple[int, ...]) -> Repeated | None:
    """Rows as long as the source's, or a part of these; else single entries. None unless they repeat."""
    rank = min(len(shape), len(read)) - 1
    split = len(read) - rank
    op, inputs, *_ = tape.instructions[at]
    firsts, within = (known_positions(tape.instructions, i) for i in inputs) if op is ADD else (None, None)
    if firsts is None or within is None or within.shape != read[split:] or firsts.size != math.prod(read[:split]):
        positions = known_positions(tape.instructions, at)
        if positions is None or not positions.size:
            return None
        rows = np.reshape(positions, (-1, math.prod(read[split:])))
        firsts, within = rows[:, 0], rows[0] - rows[0, 0]
        if not (rows == firsts[:, None] + within).all():
            firsts, within, split = rows, np.zeros(1, int), len(read)
    distinct, numbers = np.unique(firsts.ravel(), return_inverse=True)
    if len(distinct) > LARGEST_SHARE * firsts.size:
        return None
    return Repeated(distinct, within.reshape(read[split:]), numbers.reshape(read[:split]))


def _constant_rows(tape: Tape) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The distinct rows of constants that are multiplied from the right, and which of them is at each place; if these are few."""
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for factor in {i.inputs[0] for _, i in tape.numbered(MATMUL)} if MATMUL in tape.ops else ():
        op, _, params, (shape, dtype), _ = tape.instructions[factor]
        if op is not CONSTANT or dtype != FLOAT64 or len(shape) < 2 or math.prod(shape) < FEWEST_ENTRIES:
            continue
        rows = np.ascontiguousarray(params[0]).reshape(shape[0], -1)
        bits = rows.view(np.uint64)
        hashes = np.sum((bits ^ bits >> 32) * np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64), axis=1)
        _, places, numbers = np.unique(hashes, return_index=True, return_inverse=True)
        if len(places) <= LARGEST_SHARE_OF_CONSTANT * len(rows) and np.array_equal(bits[places][numbers], bits):
            found[factor] = rows[places].reshape(-1, *shape[1:]), numbers
    return found


def _distinct_constant(made: Rewriter, rows: np.ndarray, numbers: np.ndarray) -> Rows:
    return Rows(made.constant(rows, ValueType(rows.shape, FLOAT64)), numbers, False)


def _distinct(made: Rewriter, instruction: Instruction, repeated: Repeated) -> Rows:
    """The rows, in an array without others."""
    source = made.number[instruction.inputs[0]]
    firsts, within, numbers = repeated
    shape = made.instructions[source].type.shape
    if shape != (len(firsts), *within.shape) or not np.array_equal(np.add.outer(firsts, within).ravel(), np.arange(math.prod(shape))):
        source = _gathered(made, source, firsts, within)
    return Rows(source, numbers, False)


def _gathered(made: Rewriter, source: int, firsts: np.ndarray, within: np.ndarray) -> int:
    """Read rows: at the first position of each, plus those within a row."""
    firsts = firsts.reshape(*firsts.shape, *(1 for _ in within.shape))
    at = made.constant(firsts, ValueType(firsts.shape, INT64))
    if within.shape:
        at = made.make(ADD, (at, made.constant(within, ValueType(within.shape, INT64))))
    return made.make(GATHER, (source, at))


def _read(made: Rewriter, rows: Rows) -> int:
    row = made.instructions[rows.source].type.shape[1:]
    size = math.prod(row)
    return _gathered(made, rows.source, rows.numbers * size, np.arange(size).reshape(row))


def _product(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> Rows | None:
    """Multiply the rows from the right by one matrix or vector."""
    x, y = (made.number[i] for i in instruction.inputs)
    if not _is_of_rows(made, x, known) or len(made.instructions[y].type.shape) > 2:
        return None
    return Rows(made.make(MATMUL, (known[x].source, y)), known[x].numbers, True)


def _is_of_rows(made: Rewriter, number: int, known: dict[int, Rows]) -> bool:
    """Return True if what is read from are rows, not single numbers."""
    return number in known and len(made.instructions[known[number].source].type.shape) > 1


def _product_of_blocks(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> int | None:
    """Multiply arrays that are joined along the last axis one by one, and add the products, if most columns are of repeated rows."""
    x, y = (made.number[i] for i in instruction.inputs)
    op, parts, params, (shape, _), _ = made.instructions[x]
    y_shape = made.instructions[y].type.shape
    if op is not ASSEMBLE or len(y_shape) > 2 or any(r.counts[:-1] != shape[:-1] or r.shape != r.counts for r in params[0]):
        return None
    widths = [region.counts[-1] for region in params[0]]
    of_rows = [_is_of_rows(made, part, known) for part in parts]
    if sum(widths) != shape[-1] or 2 * sum(w for w, are_rows in zip(widths, of_rows) if are_rows) < shape[-1]:
        return None
    total = None
    for part, region, are_rows in zip(parts, params[0], of_rows):
        block = made.make(INDEX, (y,), (box((region.starts[-1], region.counts[-1]), *((0, n) for n in y_shape[1:])),))
        if are_rows:
            moved = Rows(made.make(MATMUL, (known[part].source, block)), known[part].numbers, True)
            product = _read(made, moved)
            known[product] = moved
        else:
            product = made.make(MATMUL, (part, block))
        total = product if total is None else made.make(ADD, (total, product))
    return total


def _product_of_weighted(made: Rewriter, instruction: Instruction, known: dict[int, Rows]) -> int | None:
    """Weight the products of rows, not the rows: (h[s] * w) @ W with a weight for each row that is read."""
    x, y = (made.number[i] for i in instruction.inputs)
    op, operands, _, (shape, _), _ = made.instructions[x]
    rows = next((k for k in operands if _is_of_rows(made, k, known)), None)
    if rows is None or (op is not MULTIPLY and (op is not DIVIDE or rows != operands[0])) or len(made.instructions[y].type.shape) > 2:
        return None
    weights = operands[rows == operands[0]]
    if made.instructions[weights].type.shape != (*shape[:-1], 1):
        return None
    moved = Rows(made.make(MATMUL, (known[rows].source, y)), known[rows].numbers, True)
    product = _read(made, moved)
    known[product] = moved
    rank = len(instruction.type.shape)
    return made.make(op, (product, in_shape(made, weights, (*shape[:-1], 1)[:rank])))


def _function(made: Rewriter, op: Elementwise, instruction: Instruction, known: dict[int, Rows]) -> Rows | None:
    """Apply a function to the rows; other operands are the same for all rows."""
    operands = [made.number[i] for i in instruction.inputs]
    read = [known[k] for k in operands if k in known]
    if not read or any(n is not read[0].numbers and not np.array_equal(n, read[0].numbers) for _, n, _ in read[1:]):
        return None
    numbers, rank = read[0].numbers, len(instruction.type.shape)
    ranks = [len(made.instructions[k].type.shape) - (rank if k in known else rank - numbers.ndim) for k in operands]
    if any(extra != 0 if k in known else extra > 0 for k, extra in zip(operands, ranks)):
        return None
    source = made.make(op, tuple([known[k].source if k in known else k for k in operands]), instruction.params)
    pays = op.is_costly and made.instructions[source].type.shape[0] <= LARGEST_SHARE_OF_FUNCTION * numbers.size
    return Rows(source, numbers, pays or any(each.is_moved for each in read))


def _of_rows(made: Rewriter, instruction: Instruction, rows: Rows) -> Rows | None:
    """Reduce, reshape or read a part of each row."""
    op, _, params, type_, _ = instruction
    source, numbers, is_moved = rows
    leading, length = numbers.ndim, made.instructions[source].type.shape[0]
    if op is RESHAPE:
        sizes = np.cumprod(type_.shape)
        if numbers.size not in sizes:
            return None
        leading = 1 + int(np.argmax(sizes == numbers.size))
        numbers, params = numbers.reshape(type_.shape[:leading]), ((length, *type_.shape[leading:]),)
    elif op is INDEX:
        starts, steps, counts, shape = params[0]
        if any(starts[:leading]) or counts[:leading] != numbers.shape or shape[:leading] != numbers.shape or set(steps[:leading]) != {1}:
            return None
        params = (Region((0, *starts[leading:]), (1, *steps[leading:]), (length, *counts[leading:]), (length, *shape[leading:])),)
    else:
        if not params[0] or min(params[0]) < leading:
            return None
        params, is_moved = (tuple(axis - leading + 1 for axis in params[0]),), True
    return Rows(made.make(op, (source,), params), numbers, is_moved)
