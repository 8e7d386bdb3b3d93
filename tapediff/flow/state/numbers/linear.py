"""Linear forms of ints: a constant and multiples of ints that are no sums, by which sizes such as n - 1 and 2 + (n - 3) are compared."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from ....ir.instruction import CONSTANT, GUARD, INPUT
from ...anything import Object

# Maximum depth of a sum, and of what its terms are made of; maximum number of operands there.
_MOST_DEEP = 8
_MOST_OPERANDS = 4


class Linear(NamedTuple):
    """An int as a sum.

    Attributes:
        terms: by key, equal for equal ints: the factor, and the recording and number of the int.
    """

    constant: int
    terms: dict[Hashable, tuple[int, Object, int]]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for key, (times, recorder, number) in other.terms.items():
            total = factor * times + (terms[key][0] if key in terms else 0)
            terms[key] = total, recorder, number
            if not total:
                del terms[key]
        return Linear(self.constant + factor * other.constant, terms)

    def is_multiple_of(self, number: int) -> bool:
        return self.constant % number == 0 and all(times % number == 0 for times, *_ in self.terms.values())

    def divided(self, by: int) -> Linear:
        terms = {key: (times // by, recorder, number) for key, (times, recorder, number) in self.terms.items()}
        return Linear(self.constant // by, terms)


def linear(value: Object) -> Linear:
    """The linear form of an int, tracked or not."""
    return Linear(int(value), {}) if type(value) is int else _linear(value._recorder, value._id, _MOST_DEEP)


def linear_of(recorder: Object, number: int) -> Linear:
    """The linear form of an instruction's int."""
    return _linear(recorder, number, _MOST_DEEP)


def _linear(recorder: Object, number: int, left: int) -> Linear:
    recorder, number = _outermost(recorder, number)
    found = _sum(recorder, number, left)
    return Linear(0, {_key(recorder, number, left): (1, recorder, number)}) if found is None else found


def _sum(recorder: Object, number: int, left: int) -> Linear | None:
    """The linear form of an instruction that is a sum, a multiple, or a quotient without remainder; None for others."""
    op, inputs, params, type_, *_ = recorder.instructions[number]
    if type_.shape or type_.dtype.kind != "i" or not (left or op is CONSTANT):
        return None
    if op is CONSTANT:
        return Linear(int(params[0]), {})
    if op.name == "negative":
        return Linear(0, {}).plus(_linear(recorder, inputs[0], left - 1), -1)
    is_sum = op.name == "add" or op.name == "subtract"
    is_quotient = op.name == "floor_divide" or op.name == "remainder"
    if not is_sum and not is_quotient and op.name != "multiply":
        return None
    a, b = (_linear(recorder, k, left - 1) for k in inputs)
    if is_sum:
        return a.plus(b, 1 if op.name == "add" else -1)
    a, b = (b, a) if op.name == "multiply" and b.terms else (a, b)
    by = 0 if b.terms else b.constant
    if op.name == "multiply":
        return None if b.terms else Linear(0, {}).plus(a, by)
    if by < 1 or not a.is_multiple_of(by):
        return None
    return a.divided(by) if op.name == "floor_divide" else Linear(0, {})


def _outermost(recorder: Object, number: int) -> tuple[Object, int]:
    """The value of an outer recording that a captured one is."""
    while (origin := recorder.origins.get(number)) is not None:
        recorder, number = origin._recorder, origin._id
    return recorder, number


def _key(recorder: Object, number: int, left: int) -> Hashable:
    """Equal for values that the same operations compute from the same values."""
    recorder, number = _outermost(recorder, number)
    op, inputs, params, type_, *_ = recorder.instructions[number]
    if op is CONSTANT:
        return type_, np.asarray(params[0]).tobytes()
    if not left or op in (INPUT, GUARD) or not 0 < len(inputs) <= _MOST_OPERANDS:
        return id(recorder), number
    if (form := _sum(recorder, number, left - 1)) is not None:
        return form.constant, frozenset((key, times) for key, (times, *_) in form.terms.items())
    return op.name, params, tuple(_key(recorder, k, left - 1) for k in inputs)
