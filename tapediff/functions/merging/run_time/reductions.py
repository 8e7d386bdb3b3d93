"""Sums, largest and smallest values, and any and all, over elements of which conditions on data choose some."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from ....ir.instruction import FLOAT64, Operand, is_tracked
from ....ops.elementwise.comparison import SELECT
from ..rules import Place

# Of more values each comparison is asked for by Python.
MOST_COMPARED = 64

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


def least_at(values: Sequence[Operand], function: Callable[..., Operand], is_last: bool = False) -> int:
    """values.index(function(values)), for min or max: the first position of the least or largest value, with one guard that asks for it.

    Args:
        is_last: the last of equal values instead; only for max.

    Python compares one after the other with the best so far, which is another order than that of NumPy where some are NaN.
    """
    is_short = type(values) in (list, tuple) and len(values) <= MOST_COMPARED
    if not (is_short and any(map(is_tracked, values)) and all(map(_is_number, values))):
        return function((value, k) for k, value in enumerate(values))[1] if is_last else values.index(function(values))
    best, at = values[0], 0
    for number, value in enumerate(values[1:], 1):
        is_next = value < best if function is min else value >= best if is_last else value > best
        if is_tracked(is_next):
            best, at = SELECT(is_next, value, best), SELECT(is_next, np.int64(number), at if is_tracked(at) else np.int64(at))
        elif is_next:
            best, at = value, number
    return int(at)


def _is_number(value: Operand) -> bool:
    if is_tracked(value):
        return not value.shape and value.dtype == FLOAT64
    return type(value) in (float, np.float64)


def among(chooses: Choosing, place: Place, elements: Sequence[Element], is_any: bool) -> Operand:
    """any or all of the elements that count."""
    if is_any:
        return chooses.some(place, *(chooses.every(place, counts, value) for counts, value in elements))
    return chooses.every(place, *(chooses.some(place, chooses.negated(place, counts), value) for counts, value in elements))
