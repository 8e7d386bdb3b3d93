"""Which entries of a tape's Jacobian may be other than zero, for any arguments on the tape's path.

Every value gets a Boolean matrix with a row for each of its entries and a column for each entry of the inputs: its index sets.
Nothing is evaluated, so an entry that only happens to be zero at some point is never lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.instruction import CONSTANT, GUARD, INPUT, Instruction
from ..ir.tape import Tape
from ..ops import Elementwise
from ..ops.arithmetic import CONVERT, MULTIPLY
from ..ops.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD
from ..ops.products import MATMUL
from ..ops.reductions import CUMSUM, MAX, MIN, SUM
from ..ops.shape import BROADCAST, RESHAPE, TRANSPOSE

# scipy.sparse.csr_array of Booleans. SciPy has no type information.
Pattern = Any

# Index sets with more entries than this in one value, or in all values of a tape together, are not followed.
MOST_ENTRIES = 4_000_000
MOST_IN_ALL = 40_000_000


class TooDense(Exception):
    """The index sets take too much memory or time: the Jacobian is taken to be dense."""


def jacobian_pattern(tape: Tape, wrt: Sequence[int], outputs: Sequence[int]) -> Pattern | None:
    """The pattern of the Jacobian of some outputs of a tape by some of its inputs.

    Args:
        tape: any tape.
        wrt: positions of the inputs; their entries are the columns, one input after the other.
        outputs: positions of the outputs; their entries are the rows.

    Returns:
        A Boolean CSR array with sorted indices, or None where it is dense or finding it would take too long.

    Cost: in proportion to the entries of all index sets, at most some tenths of a second.
    Source: Griewank and Walther (2008), Evaluating Derivatives, section 7.1.
    """
    import scipy.sparse

    types = [tape.input_types[k] for k in wrt]
    columns = sum(t.size for t in types)
    rows = sum(tape.output_types[k].size for k in outputs)
    try:
        found = _Patterns(tape, wrt, columns).of([tape.outputs[k] for k in outputs])
    except TooDense:
        return None
    pattern: Pattern = scipy.sparse.vstack(found, format="csr") if found else scipy.sparse.csr_array((rows, columns), dtype=bool)
    pattern.sum_duplicates()
    return pattern


class _Patterns:
    """The index sets of a tape's values; None stands for no dependence at all."""

    def __init__(self, tape: Tape, wrt: Sequence[int], columns: int) -> None:
        self.tape, self.columns = tape, columns
        self.sets: list[Pattern | None] = []
        self.starts: dict[int, int] = {}
        start = 0
        for k in wrt:
            self.starts[tape.inputs[k]] = start
            start += tape.input_types[k].size
        self.entries = 0

    def of(self, numbers: Sequence[int]) -> list[Pattern]:
        last = max(numbers, default=-1)
        uses = self._last_uses(last, numbers)
        for number, instruction in enumerate(self.tape.instructions[: last + 1]):
            found = self._found(number, instruction)
            if found is not None:
                self.entries += found.nnz
                if found.nnz > MOST_ENTRIES or self.entries > MOST_IN_ALL:
                    raise TooDense
            self.sets.append(found)
            for i in uses.get(number, ()):
                self.sets[i] = None
        return [self._whole(n) for n in numbers]

    def _last_uses(self, last: int, kept: Sequence[int]) -> dict[int, list[int]]:
        """By instruction, the values that nothing reads after it."""
        final: dict[int, int] = {}
        for number in range(last + 1):
            for i in self.tape.instructions[number].inputs:
                final[i] = number
        result: dict[int, list[int]] = {}
        for i in final.keys() - set(kept):
            result.setdefault(final[i], []).append(i)
        return result

    def size(self, number: int) -> int:
        return int(self.tape.instructions[number].type.size)

    def shape(self, number: int) -> tuple[int, ...]:
        return tuple(self.tape.instructions[number].type.shape)

    def _whole(self, number: int) -> Pattern:
        import scipy.sparse

        found = self.sets[number]
        return scipy.sparse.csr_array((self.size(number), self.columns), dtype=bool) if found is None else found

    def _found(self, number: int, instruction: Instruction) -> Pattern | None:
        op, inputs, _, type_, _ = instruction
        if op is INPUT:
            return self._identity(number)
        if op is CONSTANT or op is GUARD or all(self.sets[i] is None for i in inputs):
            return None
        if type_.dtype.kind in "bi":
            return None  # the derivative of a mask or an index is zero
        if isinstance(op, Elementwise) or op is CONVERT:
            return self._elementwise(instruction)
        rule = RULES.get(op)
        return self._everything(instruction) if rule is None else rule(self, instruction)

    def _identity(self, number: int) -> Pattern | None:
        import scipy.sparse

        start = self.starts.get(number)
        if start is None:
            return None
        n = self.size(number)
        return scipy.sparse.csr_array(
            (np.ones(n, bool), np.arange(start, start + n), np.arange(n + 1)), (n, self.columns)
        )

    def _everything(self, instruction: Instruction) -> Pattern | None:
        """Every entry of the result depends on everything that any operand depends on."""
        import scipy.sparse

        found = [s for i in instruction.inputs if (s := self.sets[i]) is not None]
        union = np.unique(np.concatenate([s.indices for s in found]))
        size = self._elements(instruction)
        if len(union) * size > MOST_ENTRIES:
            raise TooDense
        indices = np.tile(union, size)
        return scipy.sparse.csr_array(
            (np.ones(len(indices), bool), indices, np.arange(size + 1) * len(union)), (size, self.columns)
        )

    def _elements(self, instruction: Instruction) -> int:
        # A record, or a sequence whose length is not known, is one value here.
        return int(instruction.type.size)

    def rows(self, number: int, which: np.ndarray) -> Pattern | None:
        """The index sets of entries of a value, in any order; none for entry -1."""
        found = self.sets[number]
        if found is None or not found.shape[0]:
            return None
        flat = np.ravel(which)
        if len(flat) == found.shape[0] and (flat == np.arange(len(flat))).all():
            return found
        counts = np.diff(found.indptr)
        if int(counts[flat[flat >= 0]].sum()) > MOST_ENTRIES:
            raise TooDense
        taken = found[np.maximum(flat, 0)]
        if (flat >= 0).all():
            return taken
        return _scaled(taken, flat >= 0)

    def _elementwise(self, instruction: Instruction) -> Pattern | None:
        op, inputs, _, type_, _ = instruction
        result = None
        for k, i in enumerate(inputs):
            if self.sets[i] is None or (isinstance(op.vjp, tuple) and op.vjp[k] is None):
                continue
            ids = np.broadcast_to(np.arange(self.size(i)).reshape(self.shape(i)), type_.shape)
            part = self.rows(i, ids)
            if op is MULTIPLY and part is not None:
                part = self._without_zeros(part, inputs[1 - k], type_.shape)
            result = united(result, part)
        return result

    def _without_zeros(self, part: Pattern, factor: int, shape: tuple[int, ...]) -> Pattern:
        """x * c where entries of the constant c are zero."""
        instruction = self.tape.instructions[factor]
        if instruction.op is not CONSTANT:
            return part
        nonzero = np.broadcast_to(instruction.params[0] != 0, shape)
        return part if nonzero.all() else _scaled(part, np.ravel(nonzero))


def _scaled(pattern: Pattern, kept: np.ndarray) -> Pattern:
    """The pattern without the rows that are not kept."""
    import scipy.sparse

    counts = np.diff(pattern.indptr)
    indices = pattern.indices[np.repeat(kept, counts)]
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, counts, 0))])
    return scipy.sparse.csr_array((np.ones(len(indices), bool), indices, indptr), pattern.shape)


def united(x: Pattern | None, y: Pattern | None) -> Pattern | None:
    return y if x is None else x if y is None else x + y


def _moved(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    """The result's entries are entries of the operand: the op itself moves their numbers."""
    i = instruction.inputs[0]
    ids = np.arange(patterns.size(i)).reshape(patterns.shape(i))
    return patterns.rows(i, np.asarray(instruction.op.evaluate(ids, *instruction.params)))


def _gathered(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    array, positions = instruction.inputs
    known = patterns.tape.instructions[positions]
    if known.op is not CONSTANT:
        return patterns._everything(instruction)
    return patterns.rows(array, known.params[0])


def _assembled(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    regions, shape, _ = instruction.params
    result = None
    for i, region in zip(instruction.inputs, regions):
        result = united(result, _in_region(patterns, i, region, shape))
    return result


def _in_region(patterns: _Patterns, i: int, region: Any, shape: tuple[int, ...]) -> Pattern | None:
    if patterns.sets[i] is None:
        return None
    ids = np.full(shape, -1)
    ids[region.slices] = np.arange(patterns.size(i)).reshape(region.counts)
    return patterns.rows(i, ids)


def _replaced(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    x, *parts = instruction.inputs
    shape = instruction.type.shape
    ids = np.arange(patterns.size(x)).reshape(shape)
    for region in instruction.params[0]:
        ids[region.slices] = -1
    result = patterns.rows(x, ids)
    for i, region in zip(parts, instruction.params[0]):
        result = united(result, _in_region(patterns, i, region, shape))
    return result


def _put(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    x, v, positions = instruction.inputs
    known = patterns.tape.instructions[positions]
    if known.op is not CONSTANT:
        return patterns._everything(instruction)
    at = np.ravel(known.params[0])
    kept, values = np.arange(patterns.size(x)), np.full(patterns.size(x), -1)
    kept[at] = -1
    values[at] = np.arange(len(at))
    return united(patterns.rows(x, kept), patterns.rows(v, values))


def _summed_over(patterns: _Patterns, number: int, groups: np.ndarray, count: int) -> Pattern | None:
    """Entry g of the result depends on the entries of the operand in group g."""
    import scipy.sparse

    found = patterns.sets[number]
    if found is None:
        return None
    ones = np.ones(len(groups), bool)
    return scipy.sparse.csr_array((ones, (groups, np.arange(len(groups)))), (count, len(groups))) @ found


def _reduced(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    i, (axes,) = instruction.inputs[0], instruction.params
    shape = patterns.shape(i)
    kept = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    groups = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape)
    return _summed_over(patterns, i, np.ravel(groups), instruction.type.size)


def _scattered(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    values, positions = instruction.inputs
    known = patterns.tape.instructions[positions]
    if known.op is not CONSTANT:
        return patterns._everything(instruction)
    return _summed_over(patterns, values, np.ravel(known.params[0]), instruction.type.size)


def _cumulated(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    """Entry k depends on all entries up to k, or from k on."""
    import scipy.sparse

    i, (axis, backwards) = instruction.inputs[0], instruction.params
    found, shape = patterns.sets[i], patterns.shape(i)
    length = shape[axis]
    if found is None or patterns.size(i) * length > MOST_ENTRIES:
        return patterns._everything(instruction)
    ids = np.moveaxis(np.arange(patterns.size(i)).reshape(shape), axis, -1).reshape(-1, length)
    result, source = np.triu_indices(length) if backwards else np.tril_indices(length)
    chosen = (np.ravel(ids[:, result]), np.ravel(ids[:, source]))
    return scipy.sparse.csr_array((np.ones(len(chosen[0]), bool), chosen), (patterns.size(i),) * 2) @ found


def _product(patterns: _Patterns, instruction: Instruction) -> Pattern | None:
    """Row i of x and column j of y go into entry (i, j)."""
    left, right = instruction.inputs
    x_shape, y_shape = patterns.shape(left), patterns.shape(right)
    if len(x_shape) > 2 or len(y_shape) > 2:
        return patterns._everything(instruction)
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
            return patterns._everything(instruction)
        i, j, k = np.meshgrid(np.arange(rows), np.arange(columns), np.arange(inner), indexing="ij")
        entry, source, factor = i * columns + j, (i * inner + k) if is_left else (k * columns + j), \
            (k * columns + j) if is_left else (i * inner + k)
        known = patterns.tape.instructions[other]
        kept = np.ravel(known.params[0])[factor] != 0 if known.op is CONSTANT else np.ones(entry.shape, bool)
        result = united(result, _related(patterns, number, entry[kept], source[kept], size))
    return result


def _related(patterns: _Patterns, number: int, entry: np.ndarray, source: np.ndarray, size: int) -> Pattern | None:
    import scipy.sparse

    found = patterns.sets[number]
    relation = scipy.sparse.csr_array((np.ones(len(entry), bool), (entry, source)), (size, patterns.size(number)))
    return relation @ found


RULES: dict[Any, Callable[[_Patterns, Instruction], Any]] = {
    **dict.fromkeys((INDEX, RESHAPE, TRANSPOSE, BROADCAST), _moved),
    **dict.fromkeys((SUM, MAX, MIN), _reduced),
    GATHER: _gathered,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    PUT: _put,
    SCATTER_ADD: _scattered,
    CUMSUM: _cumulated,
    MATMUL: _product,
}
