"""Index sets of operations that move, add or multiply entries, from those of their operands; see sparsity.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..ir.instruction import CONSTANT, Instruction, Primitive
from ..ir.tape import Tape
from ..ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD, known_positions
from ..ops.arrays.reductions import CUMSUM, MAX, MIN, SUM
from ..ops.arrays.regions import Region
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.matrices.products import CORRELATE, MATMUL
from ..ops.matrices.sparse import SPARSE_PRODUCT, SPARSE_SAMPLED, SPARSE_TRANSPOSED, rows_of

# scipy.sparse.csr_array of Booleans. SciPy has no type information.
Pattern: TypeAlias = Any

# Limit on the entries of one value's index sets.
MOST_ENTRIES = 4_000_000


class IndexSets(Protocol):
    """The index sets of a tape's values so far."""

    tape: Tape
    sets: list[Pattern | None]

    def size(self, number: int) -> int: ...
    def shape(self, number: int) -> tuple[int, ...]: ...
    def rows(self, number: int, which: np.ndarray) -> Pattern | None: ...
    def everything(self, instruction: Instruction) -> Pattern | None: ...


def scaled(pattern: Pattern, kept: np.ndarray) -> Pattern:
    """Clear the rows that are not kept."""
    import scipy.sparse

    counts = np.diff(pattern.indptr)
    indices = pattern.indices[np.repeat(kept, counts)]
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, counts, 0))])
    return scipy.sparse.csr_array((np.ones(len(indices), bool), indices, indptr), pattern.shape)


def united(x: Pattern | None, y: Pattern | None) -> Pattern | None:
    return y if x is None else x if y is None else x + y


def _moved(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    """Permute the operand's entries: evaluate the op on their numbers."""
    i = instruction.inputs[0]
    ids = np.arange(patterns.size(i)).reshape(patterns.shape(i))
    return patterns.rows(i, np.asarray(instruction.op.evaluate(ids, *instruction.params)))


def _gathered(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    array, positions = instruction.inputs
    known = known_positions(patterns.tape.instructions, positions)
    if known is None:
        return patterns.everything(instruction)
    return patterns.rows(array, known)


def _assembled(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    regions, shape, _ = instruction.params
    result = None
    for i, region in zip(instruction.inputs, regions):
        result = united(result, _in_region(patterns, i, region, shape))
    return result


def _in_region(patterns: IndexSets, i: int, region: Region, shape: tuple[int, ...]) -> Pattern | None:
    if patterns.sets[i] is None:
        return None
    ids = np.full(shape, -1)
    ids[region.slices] = np.arange(patterns.size(i)).reshape(region.counts)
    return patterns.rows(i, ids)


def _replaced(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    x, *parts = instruction.inputs
    shape = instruction.type.shape
    ids = np.arange(patterns.size(x)).reshape(shape)
    for region in instruction.params[0]:
        ids[region.slices] = -1
    result = patterns.rows(x, ids)
    for i, region in zip(parts, instruction.params[0]):
        result = united(result, _in_region(patterns, i, region, shape))
    return result


def _put(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    x, v, positions = instruction.inputs
    known = known_positions(patterns.tape.instructions, positions)
    if known is None:
        return patterns.everything(instruction)
    at = np.ravel(known)
    kept, values = np.arange(patterns.size(x)), np.full(patterns.size(x), -1)
    kept[at] = -1
    values[at] = np.arange(len(at))
    return united(patterns.rows(x, kept), patterns.rows(v, values))


def summed_over(patterns: IndexSets, number: int, groups: np.ndarray, count: int) -> Pattern | None:
    """Entry g of the result depends on the entries of the operand in group g."""
    import scipy.sparse

    found = patterns.sets[number]
    if found is None:
        return None
    ones = np.ones(len(groups), bool)
    return scipy.sparse.csr_array((ones, (groups, np.arange(len(groups)))), (count, len(groups))) @ found


def _reduced(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    i, (axes,) = instruction.inputs[0], instruction.params
    shape = patterns.shape(i)
    kept = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    groups = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape)
    return summed_over(patterns, i, np.ravel(groups), instruction.type.size)


def _scattered(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    values, positions = instruction.inputs
    known = known_positions(patterns.tape.instructions, positions)
    if known is None:
        return patterns.everything(instruction)
    return summed_over(patterns, values, np.ravel(known), instruction.type.size)


def _cumulated(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    """Entry k depends on all entries up to k, or from k on."""
    import scipy.sparse

    i, (axis, backwards) = instruction.inputs[0], instruction.params
    found, shape = patterns.sets[i], patterns.shape(i)
    length = shape[axis]
    if found is None or patterns.size(i) * length > MOST_ENTRIES:
        return patterns.everything(instruction)
    ids = np.moveaxis(np.arange(patterns.size(i)).reshape(shape), axis, -1).reshape(-1, length)
    result, source = np.triu_indices(length) if backwards else np.tril_indices(length)
    chosen = (np.ravel(ids[:, result]), np.ravel(ids[:, source]))
    return scipy.sparse.csr_array((np.ones(len(chosen[0]), bool), chosen), (patterns.size(i),) * 2) @ found


def _product(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    """Let entry (i, j) depend on row i of x and column j of y."""
    left, right = instruction.inputs
    x_shape, y_shape = patterns.shape(left), patterns.shape(right)
    if len(x_shape) > 2 or len(y_shape) > 2:
        return patterns.everything(instruction)
    rows, inner = (1, *x_shape)[-2:]
    columns = y_shape[1] if len(y_shape) == 2 else 1
    size = rows * columns
    result = None
    for number, other, is_left in ((left, right, True), (right, left, False)):
        known_sets = patterns.sets[number]
        if known_sets is None:
            continue
        per_row = known_sets.nnz / max(1, patterns.size(number))
        if size * inner * (1.0 + per_row) > MOST_ENTRIES:
            return patterns.everything(instruction)
        i, j, k = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(inner), indexing="ij")
        entry, source, factor = i * columns + j, (i * inner + k) if is_left else (k * columns + j), \
            (k * columns + j) if is_left else (i * inner + k)
        known = patterns.tape.instructions[other]
        kept = np.ravel(known.params[0])[factor] != 0 if known.op is CONSTANT else np.ones(entry.shape, bool)
        result = united(result, _related(patterns, number, entry[kept], source[kept], size))
    return result


def _correlated(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    """Let entry i depend on the window of x from i on, and on all of v."""
    x, v = instruction.inputs
    count, length = instruction.type.size, patterns.size(v)
    if sum(s.nnz / max(1, s.shape[0]) + 1.0 for k in (x, v) if (s := patterns.sets[k]) is not None) * count * length > MOST_ENTRIES:
        return patterns.everything(instruction)
    entry, place = (np.ravel(k) for k in np.meshgrid(np.arange(count), np.arange(length), indexing="ij"))
    result = None
    for number, source in ((x, entry + place), (v, place)):
        if patterns.sets[number] is not None:
            result = united(result, _related(patterns, number, entry, source, count))
    return result


def _related(patterns: IndexSets, number: int, entry: np.ndarray, source: np.ndarray, size: int) -> Pattern | None:
    import scipy.sparse

    found = patterns.sets[number]
    relation = scipy.sparse.csr_array((np.ones(len(entry), bool), (entry, source)), (size, patterns.size(number)))
    return relation @ found


def _sparse(patterns: IndexSets, instruction: Instruction) -> Pattern | None:
    """Each entry of the sparse matrix goes, with one row of the dense operand, into one row of the result."""
    first, second, *places = instruction.inputs
    known = [patterns.tape.instructions[i] for i in places]
    if any(i.op is not CONSTANT for i in known):
        return patterns.everything(instruction)
    columns, starts = (i.params[0] for i in known)
    width = math.prod(patterns.shape(second)[1:])
    rows, own = rows_of(starts), np.arange(len(columns))
    of_op: dict[Primitive, tuple[np.ndarray, ...]] = {
        SPARSE_PRODUCT: (rows, own, columns), SPARSE_TRANSPOSED: (columns, own, rows), SPARSE_SAMPLED: (own, rows, columns),
    }  # fmt: skip
    result_rows, *operand_rows = of_op[instruction.op]
    result = None
    for number, at in zip((first, second), operand_rows):
        found = patterns.sets[number]
        if found is None:
            continue
        if len(columns) * width * (1.0 + found.nnz / max(1, patterns.size(number))) > MOST_ENTRIES:
            return patterns.everything(instruction)
        entry, source = (
            np.repeat(each, width) if len(shape) == 1 and width != 1 else np.ravel(each[:, None] * width + np.arange(width))
            for each, shape in ((result_rows, instruction.type.shape), (at, patterns.shape(number)))
        )  # fmt: skip
        result = united(result, _related(patterns, number, entry, source, instruction.type.size))
    return result


RULES: dict[Primitive, Callable[[IndexSets, Instruction], Pattern | None]] = {
    **dict.fromkeys((INDEX, RESHAPE, TRANSPOSE, BROADCAST), _moved),
    **dict.fromkeys((SUM, MAX, MIN), _reduced),
    GATHER: _gathered,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    PUT: _put,
    SCATTER_ADD: _scattered,
    CUMSUM: _cumulated,
    MATMUL: _product,
    CORRELATE: _correlated,
    **dict.fromkeys((SPARSE_PRODUCT, SPARSE_TRANSPOSED, SPARSE_SAMPLED), _sparse),
}
