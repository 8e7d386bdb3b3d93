"""Equal values of a recording: those that the same operations compute from the same values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...ir.instruction import Instruction, Primitive
from ...ops.elementwise.comparison import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from ...ops.value_keys import value_key
from .tracked import TrackedArray

_MIRRORED: dict[Primitive, Primitive] = {LESS: GREATER, LESS_EQUAL: GREATER_EQUAL}


class EqualValues:
    """By instruction, the first one equal to it; found for those that are asked for.

    Cost: each instruction is visited once.
    """

    __slots__ = ("_by_key", "_firsts")

    def __init__(self) -> None:
        self._firsts: dict[int, int] = {}
        self._by_key: dict[Hashable, int] = {}

    def first(self, instructions: Sequence[Instruction], number: int) -> int:
        """The number of the first instruction equal to one."""
        firsts, pending = self._firsts, [number]
        while pending:
            one = pending[-1]
            op, inputs, params, *_ = instructions[one]
            missing = [k for k in inputs if k not in firsts]
            if missing:
                pending += missing
                continue
            pending.pop()
            operands = tuple([firsts[k] for k in inputs])
            if op in _MIRRORED:
                op, operands = _MIRRORED[op], operands[::-1]
            key = value_key(op, operands, params)
            firsts[one] = one if key is None else self._by_key.setdefault(key, one)
        return firsts[number]


def first_equal(value: TrackedArray) -> TrackedArray:
    """The first value of the recording that is equal to one."""
    recorder, number = value._recorder, value._id
    found = recorder.equal_values.first(recorder.instructions, number)
    return value if found == number else TrackedArray(recorder, found, value._value, value.type)


def are_equal(a: TrackedArray, b: TrackedArray) -> bool:
    """True if two values are known to be equal."""
    return a._recorder is b._recorder and first_equal(a)._id == first_equal(b)._id
