"""Sums, largest and smallest values, and any and all, over elements of which conditions on data choose some."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ....ir.instruction import Operand, is_tracked
from ..rules import Place

# Whether an element counts, and its value.
Element: TypeAlias = tuple[Operand, Operand]


class Choosing(Protocol):
    """What chooses, and checks that it can; see choices.py."""

    def number(self, place: Place, value: Operand) -> Operand: ...
    def every(self, place: Place, *tests: Operand) -> Operand: ...
    def some(self, place: Place, *tests: Operand) -> Operand: ...
    def negated(self, place: Place, test: Operand) -> Operand: ...
    def choose(self, mark: int, place: Place, test: Operand, yes: Operand, no: Operand, flags: int) -> Operand: ...
    def choose_steps(
        self, mark: int, place: Place, test: Operand, flags: int, operators: str, base: Operand, *operands: tuple[Operand, Operand]
    ) -> Operand: ...


def total(chooses: Choosing, mark: int, place: Place, flags: int, elements: Sequence[Element], start: Operand) -> Operand:
    """sum(value for condition, value in elements if condition)."""
    if not any(is_tracked(part) for element in elements for part in element):
        return builtins.sum([value for counts, value in elements if counts], start)
    found = chooses.number(place, start)
    for counts, value in elements:
        value = chooses.number(place, value)
        found = chooses.choose_steps(mark, place, counts, flags, "+", found, (value, None))
    return found


def extreme(
    chooses: Choosing, mark: int, place: Place, flags: int, elements: Sequence[Element], function: Callable[..., Operand], default: Operand
) -> Operand:  # fmt: skip
    """max or min of the elements that count, the first of equal ones. `default`: where none does; None if that is an error."""
    found, has_found = default, False
    for counts, value in elements:
        value = chooses.number(place, value)
        if has_found is False:
            is_next: Operand = True
            found = value if default is None else default
        else:
            is_next = value > found if function is max else value < found
        takes = chooses.every(place, counts, chooses.some(place, chooses.negated(place, has_found), is_next))
        found = chooses.choose(mark, place, takes, value, found, flags)
        has_found = chooses.some(place, has_found, counts)
    if default is None and not has_found:
        return function([])  # Python's own error
    return found


def among(chooses: Choosing, place: Place, elements: Sequence[Element], is_any: bool) -> Operand:
    """any or all of the elements that count."""
    if is_any:
        return chooses.some(place, *(chooses.every(place, counts, value) for counts, value in elements))
    return chooses.every(place, *(chooses.some(place, chooses.negated(place, counts), value) for counts, value in elements))
