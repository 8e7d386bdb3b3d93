"""The matrix of a tape that is linear in some of its inputs, as triplets: computed values, and the row and column of each.

Every value of the tape gets terms, arrays of coefficients of the inputs' entries. Only coefficients that may be other than zero are
computed, by whole arrays; rows and columns are known beforehand, so that moving, picking, copying and adding up entries costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.source_location import Site
from ..ir.instruction import CONSTANT, INPUT, INT64, Instruction, Params, Primitive, ValueType
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from ..ops import Elementwise
from ..ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, SCATTER_ADD
from ..ops.arrays.reductions import SUM
from ..ops.arrays.regions import Region
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.elementwise.arithmetic import (
    ADD,
    CONVERT,
    DIVIDE,
    MULTIPLY,
    NEGATIVE,
    PRODUCT_OR_ZERO,
    QUOTIENT_OR_ZERO,
    SUBTRACT,
)
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT

# So many more instructions than the tape has are worth fewer multiplications.
MOST_INSTRUCTIONS = 4.0


class NotInTriplets(Exception):
    """An operation that mixes all entries, such as a product with a matrix; or too much work."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """Coefficients of the entries of one input in the entries of a value.

    Attributes:
        value: their number on the new tape; its shape broadcasts to that of `rows`.
        rows: of each, which entry of the value it is a part of.
        columns: of each, which entry of the input.
        source: which input, counted among the linear ones.
    """

    value: int
    rows: np.ndarray
    columns: np.ndarray
    source: int


class Triplets(Rewriter):
    """Rebuilds a tape with terms in the place of what depends on the linear inputs.

    Attributes:
        terms: of each value of the old tape that depends on them.
        work: how many coefficients are computed.
    """

    def __init__(self, tape: Tape, vectors: Sequence[int], most_work: float) -> None:
        """Raises NotInTriplets.

        Args:
            tape: linear in some inputs.
            vectors: their positions.
            most_work: beyond so many coefficients, it is not worth it.
        """
        super().__init__(tape)
        self.terms: dict[int, list[Term]] = {}
        self.work, self.most_work = 0, most_work
        self.most_instructions: float = MOST_INSTRUCTIONS * len(tape.instructions) + 100
        self.site: Site | None = None
        self._known: dict[Any, np.ndarray] = {}
        self._picked: dict[tuple[int, int], int] = {}
        sources = {tape.inputs[k]: source for source, k in enumerate(vectors)}
        for number, instruction in enumerate(tape.instructions):
            self.site = instruction.site
            if number in sources:
                type_ = instruction.type
                ids = self._same(np.arange(type_.size).reshape(type_.shape))
                self.terms[number] = [Term(self.constant(1.0, ValueType((), type_.dtype)), ids, ids, sources[number])]
            elif instruction.op is INPUT or not any(i in self.terms for i in instruction.inputs):
                self.number[number] = self.copy(number)
            else:
                self.terms[number] = self._merged(self._terms_of(instruction))
        # What is made from here on is to be made in any case.
        self.most_work = self.most_instructions = math.inf

    # The new tape

    def make(self, op: Any, inputs: tuple[int, ...], params: Params = ()) -> int:
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        self._count(op, type_)
        return self.emit(op, inputs, params, type_, self.site)

    def _count(self, op: Primitive, type_: ValueType) -> None:
        self.work += 0 if getattr(op, "is_view", False) else max(type_.size, 1)
        if self.work > self.most_work or len(self.instructions) > self.most_instructions:
            raise NotInTriplets

    def _same(self, array: np.ndarray) -> np.ndarray:
        """The same array for equal ones, so that terms are compared by identity."""
        array = np.ascontiguousarray(array, np.int64).reshape(array.shape)
        key = (array.shape, hash(array.tobytes()))
        known = self._known.setdefault(key, array)
        return known if known is array or np.array_equal(known, array) else array

    def shape(self, number: int) -> tuple[int, ...]:
        return self.instructions[number].type.shape

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
            self._known.setdefault(("picked", id(positions)), positions)  # so that its id stays its own
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

    # Terms

    def _merged(self, terms: Iterable[Term]) -> list[Term]:
        """Coefficients of the same entries are added."""
        found: dict[Any, Term] = {}
        for term in terms:
            if term.rows.size:
                key = (id(term.rows), id(term.columns), term.source)
                known = found.get(key)
                value = term.value if known is None else self.make(ADD, (known.value, term.value))
                found[key] = Term(value, term.rows, term.columns, term.source)
        return list(found.values())

    def _terms_of(self, instruction: Instruction) -> list[Term]:
        op = instruction.op
        if isinstance(op, Elementwise) or op is CONVERT:
            return self._elementwise(instruction)
        rule = RULES.get(op)
        if rule is None:
            raise NotInTriplets
        return rule(self, instruction)

    def restricted(self, term: Term, kept: np.ndarray, rows: np.ndarray | None = None) -> Term:
        """The term with some of its coefficients; in other rows, where given."""
        rows = term.rows if rows is None else rows
        if kept.all():
            return Term(term.value, self._same(rows), term.columns, term.source)
        positions = box_shaped(kept)
        value = term.value
        if self.shape(value):
            value = self.picked(self.whole(term), self._same(positions))
        flat = lambda array: self._same(np.ravel(array)[positions])  # noqa: E731 -- its name is its use
        return Term(value, flat(rows), flat(term.columns), term.source)

    def moved(self, number: int, source: np.ndarray) -> list[Term]:
        """The terms of a value whose entries are entries of another: of each, which one."""
        size = math.prod(self.tape.instructions[number].type.shape)
        flat = np.ravel(source)
        place = np.full(size, -1)
        place[flat] = np.arange(len(flat))
        if (place[flat] == np.arange(len(flat))).all():
            return [self._at_places(term, place, source.shape, size) for term in self.terms[number]]
        return [self._copied(term, source, size) for term in self.terms[number]]

    def _at_places(self, term: Term, place: np.ndarray, shape: tuple[int, ...], size: int) -> Term:
        """Each entry is at most at one place of the result."""
        rows = place[term.rows]
        if len(place) == math.prod(shape) and rows.shape != shape and rows.size == size and (np.ravel(rows) == np.arange(size)).all():
            # Another shape of all of the array.
            value = self.reshaped(self.whole(term), shape) if self.shape(term.value) else term.value
            return Term(value, self._same(rows.reshape(shape)), self._same(term.columns.reshape(shape)), term.source)
        return self.restricted(term, rows >= 0, rows)

    def _copied(self, term: Term, source: np.ndarray, size: int) -> Term:
        """Entries are copied to several places."""
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
            self._count(GATHER, ValueType((int(counts.sum()),), INT64))
            ids = np.repeat(np.arange(source.size), counts)
            within = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
            found = order[starts[np.ravel(source)[ids]] + within]
        value = self.picked(self.whole(term), self._same(found)) if self.shape(term.value) else term.value
        return Term(value, self._same(ids), self._same(np.ravel(term.columns)[found]), term.source)

    def combined(self, number: int, places: np.ndarray) -> list[Term]:
        """The terms of a value to which each entry of another is added in one place, or dropped at -1."""
        found = []
        for term in self.terms[number]:
            rows = np.ravel(places)[term.rows]
            found.append(self._summed(self.restricted(term, rows >= 0, rows)))
        return found

    def _summed(self, term: Term) -> Term:
        """Coefficients of the same entry along an axis are added up."""
        axes = tuple(
            k for k, extent in enumerate(term.rows.shape)
            if extent > 1 and all((a == a.take([0], k)).all() for a in (term.rows, term.columns))
        )  # fmt: skip
        if not axes:
            return term
        value = self.make(SUM, (self.whole(term),), (axes,))
        first = tuple(0 if k in axes else slice(None) for k in range(term.rows.ndim))
        return Term(value, self._same(term.rows[first]), self._same(term.columns[first]), term.source)

    # Elementwise operations

    def _elementwise(self, instruction: Instruction) -> list[Term]:
        op, inputs, _, type_, _ = instruction
        reached = [k for k, i in enumerate(inputs) if i in self.terms]
        terms = {k: self._spread(inputs[k], type_.shape) for k in reached}
        if op is ADD or op is SUBTRACT:
            if len(reached) < 2 and not self.is_zero(inputs[1 - reached[0]]):
                raise NotInTriplets
            second = terms.get(1, [])
            if op is SUBTRACT:
                second = [Term(self.make(NEGATIVE, (t.value,)), t.rows, t.columns, t.source) for t in second]
            return [*terms.get(0, ()), *second]
        if op is SELECT and 0 not in reached:
            return self._selected(instruction, terms)
        if len(reached) == 1 and reached[0] in LINEAR.get(op, ()):
            (k,) = reached
            return [made for t in terms[k] for made in self._applied(instruction, {k: t})]
        if op in TESTS:
            return self._tested(instruction, terms)
        raise NotInTriplets

    def _spread(self, number: int, shape: tuple[int, ...]) -> list[Term]:
        """The terms of an operand, broadcast."""
        own = self.tape.instructions[number].type.shape
        if own == shape:
            return self.terms[number]
        ids = np.arange(math.prod(own)).reshape(own)
        return self._merged(self.moved(number, np.broadcast_to(ids, shape)))

    def is_zero(self, number: int) -> bool:
        """Whether a value is zeros at any point."""
        source = self.tape.instructions[number]
        while source.op in (BROADCAST, RESHAPE):
            source = self.tape.instructions[source.inputs[0]]
        return source.op is CONSTANT and not np.any(source.params[0])

    def _applied(self, instruction: Instruction, given: dict[int, Term]) -> list[Term]:
        """The op on coefficients of the same entries, and on the other operands there."""
        op, inputs, params, type_, _ = instruction
        term = next(iter(given.values()))
        if op is MULTIPLY:
            term = self._without_zeros(term, inputs[1 - next(iter(given))], type_.shape)
            given = dict.fromkeys(given, term)
        operands = [given[k].value if k in given else self._beside(term, i, type_.shape) for k, i in enumerate(inputs)]
        is_one = [self._is_one(i) for i in operands]
        if op is MULTIPLY and any(is_one):
            value = operands[is_one.index(True) - 1]
        else:
            value = self.make(op, tuple(operands), params)
        return [Term(value, term.rows, term.columns, term.source)]

    def _is_one(self, number: int) -> bool:
        instruction = self.instructions[number]
        return instruction.op is CONSTANT and instruction.type.shape == () and instruction.params[0] == 1.0

    def _beside(self, term: Term, number: int, shape: tuple[int, ...]) -> int:
        """The entries of an operand that does not depend on the inputs, for each coefficient."""
        own = self.tape.instructions[number].type.shape
        new = self.number[number]
        if term.rows.shape == shape and (np.ravel(term.rows) == np.arange(term.rows.size)).all():
            return new  # broadcast by the op itself
        positions = term.rows
        if own != shape:
            ids = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape)
            positions = self._same(np.ravel(ids)[term.rows])
        return self.picked(new, positions)

    def _without_zeros(self, term: Term, factor: int, shape: tuple[int, ...]) -> Term:
        """Without coefficients that are multiplied by the zeros of a constant."""
        instruction = self.tape.instructions[factor]
        if instruction.op is not CONSTANT:
            return term
        nonzero = np.ravel(np.broadcast_to(instruction.params[0] != 0, shape))
        return term if nonzero.all() else self.restricted(term, nonzero[term.rows])

    def _selected(self, instruction: Instruction, terms: dict[int, list[Term]]) -> list[Term]:
        """Each side is zero where the other one is chosen."""
        mask = instruction.inputs[0]
        if len(terms) == 2 and _entries(terms[1]) == _entries(terms[2]):
            return self._tested(instruction, terms)
        found = []
        for k, side in terms.items():
            other = instruction.inputs[3 - k]
            if 3 - k not in terms and not self.is_zero(other) and not self._is_nan(other):
                raise NotInTriplets
            zero = self.constant(np.nan if 3 - k not in terms and self._is_nan(other) else 0.0, ValueType((), instruction.type.dtype))
            for term in side:
                sides = (term.value, zero) if k == 1 else (zero, term.value)
                value = self.make(SELECT, (self._beside(term, mask, instruction.type.shape), *sides))
                found.append(Term(value, term.rows, term.columns, term.source))
        return found

    def _is_nan(self, number: int) -> bool:
        instruction = self.tape.instructions[number]
        return instruction.op is CONSTANT and bool(np.isnan(instruction.params[0]).all())

    def _tested(self, instruction: Instruction, terms: dict[int, list[Term]]) -> list[Term]:
        """Whether a coefficient is zero because its value was discarded, and its replacement by 0: see transforms/reverse.py."""
        entries = [_entries(found) for found in terms.values()]
        if any(e != entries[0] for e in entries):
            raise NotInTriplets
        if instruction.op is SELECT and not all(k in terms or self.is_zero(instruction.inputs[k]) for k in (1, 2)):
            raise NotInTriplets
        return [made for group in zip(*terms.values()) for made in self._applied(instruction, dict(zip(terms, group)))]


def _entries(terms: list[Term]) -> list[tuple[int, int, int]]:
    """What terms are coefficients of, to be compared."""
    return [(id(t.rows), id(t.columns), t.source) for t in terms]


# By op, the operands in which it is linear while the others stay.
LINEAR: dict[Any, tuple[int, ...]] = {
    MULTIPLY: (0, 1), DIVIDE: (0,), NEGATIVE: (0,), PRODUCT_OR_ZERO: (0, 1), QUOTIENT_OR_ZERO: (0,), CONVERT: (0,),
}  # fmt: skip
TESTS = {EQUAL, IS_NAN, LOGICAL_AND, SELECT}


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
    """The flat positions of what is kept of an array; with its axes, where it is a box."""
    positions = np.flatnonzero(kept)
    extents = tuple(
        int(np.count_nonzero(kept.any(axis=tuple(k for k in range(kept.ndim) if k != axis)))) for axis in range(kept.ndim)
    )
    return positions.reshape(extents) if math.prod(extents) == len(positions) else positions


# Operations that move entries or add them up, by what the op itself does with their numbers.


def _moved(made: Triplets, instruction: Instruction) -> list[Term]:
    i = instruction.inputs[0]
    type_ = made.tape.instructions[i].type
    ids = np.arange(type_.size).reshape(type_.shape)
    return made.moved(i, np.asarray(instruction.op.evaluate(ids, *instruction.params)))


def _known_positions(made: Triplets, instruction: Instruction, operand: int) -> np.ndarray:
    number = instruction.inputs[operand]
    known = made.tape.instructions[number]
    if known.op is not CONSTANT or number in made.terms:
        raise NotInTriplets
    return known.params[0]


def _gathered(made: Triplets, instruction: Instruction) -> list[Term]:
    return made.moved(instruction.inputs[0], _known_positions(made, instruction, 1))


def _scattered(made: Triplets, instruction: Instruction) -> list[Term]:
    return made.combined(instruction.inputs[0], _known_positions(made, instruction, 1))


def _reduced(made: Triplets, instruction: Instruction) -> list[Term]:
    i, (axes,) = instruction.inputs[0], instruction.params
    shape = made.tape.instructions[i].type.shape
    kept = tuple(1 if k in axes else extent for k, extent in enumerate(shape))
    return made.combined(i, np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape))


def _assembled(made: Triplets, instruction: Instruction) -> list[Term]:
    regions, shape, _ = instruction.params
    return [t for i, region in zip(instruction.inputs, regions) for t in _into_region(made, i, region, shape)]


def _into_region(made: Triplets, i: int, region: Region, shape: tuple[int, ...]) -> list[Term]:
    return _combined(made, i, np.arange(math.prod(shape)).reshape(shape)[region.slices])


def _combined(made: Triplets, i: int, places: np.ndarray) -> list[Term]:
    """As Triplets.combined; a value that does not depend on the inputs must be zero, or else the result is not linear."""
    if i in made.terms:
        return made.combined(i, places)
    if not made.is_zero(i):
        raise NotInTriplets
    return []


def _replaced(made: Triplets, instruction: Instruction) -> list[Term]:
    x, *parts = instruction.inputs
    shape, (regions,) = instruction.type.shape, instruction.params
    kept = np.arange(math.prod(shape)).reshape(shape)
    for region in regions:
        kept[region.slices] = -1
    found = [t for i, region in zip(parts, regions) for t in _into_region(made, i, region, shape)]
    return [*_combined(made, x, kept), *found]


def _put(made: Triplets, instruction: Instruction) -> list[Term]:
    """Where positions repeat, the last value stays."""
    x, v, _ = instruction.inputs
    at = _known_positions(made, instruction, 2)
    size = math.prod(instruction.type.shape)
    kept, last = np.arange(size), np.full(size, -1)
    kept[np.ravel(at)] = -1
    last[np.ravel(at)] = np.arange(at.size)
    places = np.where(last[np.ravel(at)] == np.arange(at.size), np.ravel(at), -1)
    return [*_combined(made, x, kept), *_combined(made, v, places)]


RULES: dict[Any, Callable[[Triplets, Instruction], list[Term]]] = {
    **dict.fromkeys((INDEX, RESHAPE, TRANSPOSE, BROADCAST), _moved),
    GATHER: _gathered,
    SCATTER_ADD: _scattered,
    SUM: _reduced,
    ASSEMBLE: _assembled,
    REPLACE: _replaced,
    PUT: _put,
}
