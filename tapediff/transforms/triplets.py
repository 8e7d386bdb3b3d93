"""The matrix of a tape that is linear in some of its inputs, as triplets: computed values, and the row and column of each.

Every value of the tape gets terms, arrays of coefficients of the inputs' entries. Only coefficients that may be other than zero are
computed, as whole arrays; rows and columns are known beforehand, so that moving, picking, copying and adding up entries costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.instruction import CONSTANT, INT64, Params, Primitive, ValueType
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from ..ops.arrays.indexing import GATHER, INDEX
from ..ops.arrays.reductions import SUM
from ..ops.arrays.regions import Region
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.elementwise.arithmetic import ADD

# The instructions that saved multiplications may add, as a multiple of the tape's.
MOST_INSTRUCTIONS = 4.0

# Limit on the moved terms per instruction of the tape. Each takes as long as ten instructions of other passes.
MOST_MOVES = 2


class NotInTriplets(Exception):
    """An operation mixes all entries, such as a product with a matrix; or the work is too much."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Coefficients of the entries of one input in the entries of a value.

    Attributes:
        value: the coefficients' number on the new tape; its shape broadcasts to that of `rows`.
        rows: of each coefficient, its entry of the value.
        columns: of each coefficient, its entry of the input.
        source: the index of the input among the linear ones.
    """

    value: int
    rows: np.ndarray
    columns: np.ndarray
    source: int


class Triplets(Rewriter):
    """Rebuilds a tape with terms instead of values that depend on the linear inputs.

    Attributes:
        terms: by old value that depends on them.
        work: the number of computed coefficients.
    """

    def __init__(self, tape: Tape, most_work: float) -> None:
        """Raise NotInTriplets later, if more coefficients than `most_work` would be made."""
        super().__init__(tape)
        self.terms: dict[int, list[Term]] = {}
        self.work, self.most_work = 0, most_work
        self.most_instructions: float = MOST_INSTRUCTIONS * len(tape.instructions) + 100
        # The number of moved terms, and its limit: reached by arrays of many terms that are written entry by entry.
        self.moves = 0
        self.most_moves: float = MOST_MOVES * len(tape.instructions) + 1_000
        self._known: dict[Any, np.ndarray] = {}
        self._picked: dict[tuple[int, int], int] = {}
    # The new tape

    def make(self, op: Any, inputs: tuple[int, ...], params: Params = ()) -> int:
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        self.count(op, type_)
        return self.emit(op, inputs, params, type_, self.site)

    def count(self, op: Primitive, type_: ValueType) -> None:
        self.work += 0 if getattr(op, "is_view", False) else max(type_.size, 1)
        if self.work > self.most_work or len(self.instructions) > self.most_instructions:
            raise NotInTriplets

    def count_moves(self, number: int) -> None:
        self.moves += len(self.terms[number])
        if self.moves > self.most_moves:
            raise NotInTriplets

    def same(self, array: np.ndarray) -> np.ndarray:
        """The same array for equal ones, so that terms are compared by identity."""
        array = np.ascontiguousarray(array, np.int64).reshape(array.shape)
        key = (array.shape, hash(array.tobytes()))
        known = self._known.setdefault(key, array)
        return known if known is array or np.array_equal(known, array) else array

    def shape(self, number: int) -> tuple[int, ...]:
        return self.instructions[number].type.shape

    def size(self, number: int) -> int:
        return math.prod(self.shape(number))

    def is_one(self, number: int) -> bool:
        instruction = self.instructions[number]
        return instruction.op is CONSTANT and instruction.type.shape == () and instruction.params[0] == 1.0

    def reshaped(self, number: int, shape: tuple[int, ...]) -> int:
        return number if self.shape(number) == shape else self.make(RESHAPE, (number,), (shape,))

    def whole(self, term: Term) -> int:
        """The coefficients as an array of the shape of `rows`."""
        shape = term.rows.shape
        return term.value if self.shape(term.value) == shape else self.make(BROADCAST, (term.value,), (shape,))

    def picked(self, number: int, positions: np.ndarray) -> int:
        """Entries of a value at flat positions, in a shape that broadcasts to that of the positions."""
        key = (number, id(positions))
        if key not in self._picked:
            self._known.setdefault(("picked", id(positions)), positions)  # keeps the array alive, and its id unique
            self._picked[key] = self._pick(number, positions)
        return self._picked[key]

    def _pick(self, number: int, positions: np.ndarray) -> int:
        shape = self.shape(number)
        size = math.prod(shape)
        if size == 1:
            return self.reshaped(number, ())
        if positions.size == size and (np.ravel(positions) == np.arange(size)).all():
            return self.reshaped(number, positions.shape)
        box = box_of(positions, shape)
        if box is None:
            found = self.constant(positions, ValueType(positions.shape, INT64))
            return self.make(GATHER, (number, found))
        region, axes, final = box
        number = self.make(INDEX, (number,), (region,))
        if axes != tuple(range(len(axes))):
            number = self.make(TRANSPOSE, (number,), (axes,))
        return self.reshaped(number, final)

    def is_zero(self, number: int) -> bool:
        """True if a value of the old tape is zero at every point."""
        source = self.tape.instructions[number]
        while source.op in (BROADCAST, RESHAPE):
            source = self.tape.instructions[source.inputs[0]]
        return source.op is CONSTANT and not np.any(source.params[0])

    # Terms

    def merged(self, terms: Iterable[Term]) -> list[Term]:
        """Add coefficients of the same entries."""
        found: dict[Any, Term] = {}
        for term in terms:
            if term.rows.size:
                key = (id(term.rows), id(term.columns), term.source)
                known = found.get(key)
                value = term.value if known is None else self.make(ADD, (known.value, term.value))
                found[key] = Term(value, term.rows, term.columns, term.source)
        return list(found.values())

    def restricted(self, term: Term, kept: np.ndarray, rows: np.ndarray | None = None) -> Term:
        """Return the term with some of its coefficients; in other rows, if given."""
        rows = term.rows if rows is None else rows
        if kept.all():
            return Term(term.value, self.same(rows), term.columns, term.source)
        positions = box_shaped(kept)
        value = term.value
        if self.shape(value):
            value = self.picked(self.whole(term), self.same(positions))
        flat = lambda array: self.same(np.ravel(array)[positions])  # noqa: E731 -- its name is its use
        return Term(value, flat(rows), flat(term.columns), term.source)

    def moved(self, number: int, source: np.ndarray) -> list[Term]:
        """Return the terms of a value whose entries are copies of another's; `source` gives the number of each."""
        self.count_moves(number)
        size = math.prod(self.tape.instructions[number].type.shape)
        flat = np.ravel(source)
        place = np.full(size, -1)
        place[flat] = np.arange(len(flat))
        if (place[flat] == np.arange(len(flat))).all():
            return [self._at_places(term, place, source.shape, size) for term in self.terms[number]]
        return [self._copied(term, source, size) for term in self.terms[number]]

    def _at_places(self, term: Term, place: np.ndarray, shape: tuple[int, ...], size: int) -> Term:
        """Move terms whose entries occur at most once in the result."""
        rows = place[term.rows]
        if len(place) == math.prod(shape) and rows.shape != shape and rows.size == size and (np.ravel(rows) == np.arange(size)).all():
            # A reshape of the whole array.
            value = self.reshaped(self.whole(term), shape) if self.shape(term.value) else term.value
            return Term(value, self.same(rows.reshape(shape)), self.same(term.columns.reshape(shape)), term.source)
        return self.restricted(term, rows >= 0, rows)

    def _copied(self, term: Term, source: np.ndarray, size: int) -> Term:
        """Copy terms whose entries occur at several places."""
        rows = np.ravel(term.rows)
        place = np.full(size, -1)
        place[rows] = np.arange(len(rows))
        ids = np.arange(source.size).reshape(source.shape)
        if (place[rows] == np.arange(len(rows))).all():
            found = place[source]
            if not (found >= 0).all():
                positions = box_shaped(found >= 0)
                found, ids = np.ravel(found)[positions], positions
        else:
            # Entry by entry, all coefficients of its source.
            order = np.argsort(rows, kind="stable")
            starts = np.searchsorted(rows[order], np.arange(size + 1))
            counts = np.diff(starts)[np.ravel(source)]
            self.count(GATHER, ValueType((int(counts.sum()),), INT64))
            ids = np.repeat(np.arange(source.size), counts)
            within = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
            found = order[starts[np.ravel(source)[ids]] + within]
        value = self.picked(self.whole(term), self.same(found)) if self.shape(term.value) else term.value
        return Term(value, self.same(ids), self.same(np.ravel(term.columns)[found]), term.source)

    def combined(self, number: int, places: np.ndarray) -> list[Term]:
        """The terms of a value to which each entry of another is added in one place, or dropped at -1."""
        self.count_moves(number)
        found = []
        for term in self.terms[number]:
            rows = np.ravel(places)[term.rows]
            found.append(self.summed(self.restricted(term, rows >= 0, rows)))
        return found

    def summed(self, term: Term) -> Term:
        """Add up coefficients of the same entry along an axis."""
        axes = tuple(
            k for k, extent in enumerate(term.rows.shape)
            if extent > 1 and all((a == a.take([0], k)).all() for a in (term.rows, term.columns))
        )  # fmt: skip
        if not axes:
            return term
        value = self.make(SUM, (self.whole(term),), (axes,))
        first = tuple(0 if k in axes else slice(None) for k in range(term.rows.ndim))
        return Term(value, self.same(term.rows[first]), self.same(term.columns[first]), term.source)


def box_of(positions: np.ndarray, shape: tuple[int, ...]) -> tuple[Region, tuple[int, ...], tuple[int, ...]] | None:
    """Flat positions as a region of an array, the order of its axes, and a shape that broadcasts to that of the positions."""
    if not positions.size:
        return None
    first = np.array(np.unravel_index(positions.flat[0], shape))
    counts, steps, along = [1] * len(shape), [1] * len(shape), []
    final = []
    for axis, extent in enumerate(positions.shape):
        final.append(1)
        if extent == 1:
            continue
        second = positions[tuple(int(k == axis) for k in range(positions.ndim))]
        step = np.array(np.unravel_index(second, shape)) - first
        moving = np.flatnonzero(step)
        if len(moving) > 1 or (len(moving) and counts[moving[0]] != 1):
            return None
        if len(moving):
            k = int(moving[0])
            counts[k], steps[k] = extent, int(step[k])
            along.append(k)
            final[-1] = extent
    region = Region(tuple(int(a) for a in first), tuple(steps), tuple(counts), tuple(counts[k] for k in sorted(along)))
    last = [a + s * (n - 1) for a, s, n in zip(region.starts, steps, counts)]
    if not all(0 <= b < n for b, n in zip(last, shape)):
        return None
    axes = tuple(sorted(along).index(k) for k in along)
    found = np.arange(math.prod(shape)).reshape(shape)[region.slices].reshape(region.shape).transpose(axes).reshape(final)
    return (region, axes, tuple(final)) if (np.broadcast_to(found, positions.shape) == positions).all() else None


def box_shaped(kept: np.ndarray) -> np.ndarray:
    """Return the flat positions of the kept entries of an array; with its axes, if they form a box."""
    positions = np.flatnonzero(kept)
    extents = tuple(
        int(np.count_nonzero(kept.any(axis=tuple(k for k in range(kept.ndim) if k != axis)))) for axis in range(kept.ndim)
    )
    return positions.reshape(extents) if math.prod(extents) == len(positions) else positions
