"""Accumulates the cotangents of a tape's values: each user adds one, and their sum is taken once.

Comes in: cotangents by value, dense, of a region, of an item of a tuple, or chosen by a mask, each with its quality. Goes out: their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from ..ir.instruction import DynamicArrayType, Operand, ValueType
from ..ir.tape import Tape
from ..ops.arrays.indexing import RegionCotangent, assemble
from ..ops.arrays.regions import cover
from ..ops.control.calls import GET, LOOP, ItemCotangent, LoopForm
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import SELECT
from ..recording.arrays.tracked import TrackedArray
from ..recording.recorder import Recorder

# The quality of a cotangent. ABSENT: there is none. NONZERO: the chain rule gives it, and it is zero only by chance. NOT_YET_SEEDED: it may
# be an exact zero because nothing uses the value yet, as with the last carries of a loop. MAYBE_DISCARDED: it may be an exact zero, in
# whole or in part, because a later operation did not choose the value. The last two need a selection if a derivative may be infinite.
ABSENT, NONZERO, NOT_YET_SEEDED, MAYBE_DISCARDED = range(4)


class Chosen(NamedTuple):
    """A cotangent where a mask holds, or where it does not, and exact zeros elsewhere.

    The chain rule continues with the cotangent itself, so discarded entries need not be distinguished from zeros that meet infinity.

    Attributes:
        quality: of the cotangent there: NONZERO, NOT_YET_SEEDED or MAYBE_DISCARDED.
    """

    mask: TrackedArray
    where: bool
    cotangent: Operand
    quality: int

    def selected(self) -> Operand:
        return SELECT(self.mask, *((self.cotangent, 0.0) if self.where else (0.0, self.cotangent)))


def _in_precision_of(type_: ValueType, cotangent: TrackedArray) -> Operand:
    """Convert a cotangent to the precision of its value."""
    kinds = (type_.dtype.kind, cotangent.dtype.kind)
    return CONVERT(cotangent, dtype=type_.dtype) if kinds == ("f", "f") and type_.dtype != cotangent.dtype else cotangent


class Cotangents:
    """The cotangents collected so far.

    Attributes:
        active: by value, True if it has a cotangent; others are dropped.
        items: cotangents of tuples, by item.
    """

    def __init__(self, tape: Tape, recorder: Recorder, active: Sequence[bool]) -> None:
        self.tape = tape
        self.recorder = recorder
        self.active = active
        self.dense: dict[int, list[Operand | Chosen]] = {}
        self.parts: dict[int, list[RegionCotangent]] = {}
        # Chosen cotangents of parts.
        self.chosen_parts: dict[int, list[Chosen]] = {}
        self.items: dict[int, dict[int, list[Operand | Chosen]]] = {}
        # Values with a cotangent that is MAYBE_DISCARDED, with one that is NOT_YET_SEEDED, and with one of the whole value that is NONZERO.
        self.maybe_discarded: set[int] = set()
        self.not_yet_seeded: set[int] = set()
        self.nonzero: set[int] = set()

    def value(self, number: int) -> TrackedArray:
        return TrackedArray(self.recorder, number, None, self.tape.instructions[number].type)

    def add(self, number: int, cotangent: Operand, quality: int) -> None:
        if cotangent is None or not self.active[number]:
            return
        # type() and not isinstance(): the __class__ property of tracked arrays is slow.
        kind = type(cotangent)
        inner = type(cotangent.cotangent) if kind is Chosen else None
        if inner is RegionCotangent:
            self.chosen_parts.setdefault(number, []).append(cotangent)
        elif inner is ItemCotangent:
            item = cotangent.cotangent
            self.items.setdefault(number, {}).setdefault(item.k, []).append(cotangent._replace(cotangent=item.z_bar))
        elif kind is RegionCotangent:
            self.parts.setdefault(number, []).append(cotangent)
        elif kind is ItemCotangent:
            self.items.setdefault(number, {}).setdefault(cotangent.k, []).append(cotangent.z_bar)
        else:
            # A rule may have multiplied by an array of doubles.
            type_ = self.tape.instructions[number].type
            if kind is TrackedArray and isinstance(type_, ValueType) and cotangent.type.dtype is not type_.dtype:
                cotangent = _in_precision_of(type_, cotangent)
            self.dense.setdefault(number, []).append(cotangent)
            if quality == NONZERO:
                self.nonzero.add(number)
        if quality == MAYBE_DISCARDED:
            self.maybe_discarded.add(number)
        elif quality == NOT_YET_SEEDED:
            self.not_yet_seeded.add(number)

    def total(self, number: int) -> tuple[Operand, int]:
        """The cotangent of a value, and its quality."""
        total, quality = self.total_or_chosen(number)
        return total.selected() if isinstance(total, Chosen) else total, quality

    def total_or_chosen(self, number: int) -> tuple[Operand | Chosen, int]:
        dense = self.dense.pop(number, [])
        dense += self._assembled(number, self.chosen_parts.pop(number, []))
        parts = self.parts.pop(number, None)
        if parts:
            shape = self.tape.instructions[number].type.shape
            regions = [p.region for p in parts]
            dense.append(assemble([p.z_bar for p in parts], regions, shape))
            if number not in self.maybe_discarded and number not in self.not_yet_seeded and cover(regions, shape):
                self.nonzero.add(number)
            else:
                self.maybe_discarded.add(number)
        if not dense:
            return None, ABSENT
        dense = self._joined(number, dense)
        if len(dense) == 1:
            return dense[0], self.quality(number)
        instruction = self.tape.instructions[number]
        loop = instruction.inputs[0] if isinstance(instruction.type, DynamicArrayType) else -1
        return self.sum(dense, loop), self.quality(number)

    def _assembled(self, number: int, parts: Sequence[Chosen]) -> list[Operand | Chosen]:
        """Assemble chosen parts into chosen arrays."""
        shape = self.tape.instructions[number].type.shape
        made: list[Operand | Chosen] = []
        for group in _groups(parts, lambda part: (part.mask._id, part.where)):
            z_bars, regions = [p.cotangent.z_bar for p in group], [p.cotangent.region for p in group]
            made.append(group[0]._replace(cotangent=assemble(z_bars, regions, shape), quality=MAYBE_DISCARDED))
        return made

    def _joined(self, number: int, terms: list[Operand | Chosen]) -> list[Operand | Chosen]:
        """Merge the terms of both sides of one mask into one; into plain arrays if there are other terms."""
        if len(terms) == 1:
            return terms
        groups = _groups([term for term in terms if isinstance(term, Chosen)], lambda term: term.mask._id)
        joined = [self._both_sides(number, group) for group in groups]
        if len(joined) == 1 and len(groups[0]) == len(terms):
            return joined
        plain = [term for term in terms if not isinstance(term, Chosen)]
        return [*plain, *(term.selected() if isinstance(term, Chosen) else term for term in joined)]

    def _both_sides(self, number: int, chosen: Sequence[Chosen]) -> Operand | Chosen:
        sides = [self._side(chosen, where) for where in (True, False) if any(term.where is where for term in chosen)]
        if len(sides) == 1:
            return sides[0]
        if sides[0].quality == sides[1].quality == NONZERO:
            self.nonzero.add(number)
        return SELECT(chosen[0].mask, sides[0].cotangent, sides[1].cotangent)

    def _side(self, chosen: Sequence[Chosen], where: bool) -> Chosen:
        terms = [term for term in chosen if term.where is where]
        qualities = {term.quality for term in terms}
        return terms[0]._replace(
            cotangent=self.sum([term.cotangent for term in terms]), quality=NONZERO if NONZERO in qualities else max(qualities)
        )

    def quality(self, number: int) -> int:
        """Return the quality of a sum: an exact zero from discarding only if all its terms are."""
        if number in self.nonzero:
            return NONZERO
        if number in self.maybe_discarded:
            return MAYBE_DISCARDED
        return NOT_YET_SEEDED if number in self.not_yet_seeded else NONZERO

    def sum(self, terms: Sequence[Operand], loop: int = -1) -> Operand:
        """Sum cotangents; dynamic arrays are items of a loop."""
        total = terms[0]
        for term in terms[1:]:
            total = total + term if loop < 0 else self._stacks_added(loop, total, term)
        return total

    def _stacks_added(self, number: int, x: Operand, y: Operand) -> Operand:
        """Add two cotangents of a dynamic array, with the length that its loop knows."""
        loop = self.tape.instructions[number]
        callee, form = loop.params
        count = loop.inputs[form.leading - 1]
        if form.stops:
            count_item = len(callee.out_types) - 1
            counted = GET(self.value(number), k=count_item)
        else:
            counted = self.value(count)
        adder = callee.adder(x.type.item)
        returned = LOOP(counted, x, y, callee=adder, form=LoopForm(0, 2, 0, None))
        return GET(returned, k=0)


def _groups(terms: Sequence[Chosen], key: Callable[[Chosen], Hashable]) -> list[list[Chosen]]:
    """Group terms by key, in the order of their first occurrence."""
    found: dict[Hashable, list[Chosen]] = {}
    for term in terms:
        found.setdefault(key(term), []).append(term)
    return list(found.values())
