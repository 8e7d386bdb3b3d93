"""Equal tests: a test of the same operations on the same values as an earlier one is the earlier one, whose outcome may be known."""

from __future__ import annotations

from collections.abc import Hashable

from ....ir.instruction import CONSTANT, INPUT
from ....ops.control.calls import TupleOp
from ....ops.elementwise.comparison import GREATER, GREATER_EQUAL, LESS, LESS_EQUAL
from ....recording.arrays.tracked import TrackedArray
from ...anything import Object
from ..values import state

_MIRRORED = {LESS: GREATER, LESS_EQUAL: GREATER_EQUAL}


def first_equal(test: TrackedArray) -> TrackedArray:
    """The first test in the recording with the same operations on the same values."""
    recorder, number = test._recorder, test._id
    found = _first(recorder, number)
    return test if found == number else TrackedArray(recorder, found, test._value, test.type)


def _first(recorder: Object, number: int) -> int:
    """The first instruction equal to one."""
    firsts, by_key = state.equal.setdefault(id(recorder), ({}, {}))
    if (found := firsts.get(number)) is not None:
        return found
    instructions, pending = recorder.instructions, [number]
    while pending:
        one = pending[-1]
        op, inputs, params, *_ = instructions[one]
        missing = [k for k in inputs if k not in firsts]
        if missing and op is not INPUT:
            pending += missing
            continue
        pending.pop()
        firsts[one] = by_key.setdefault(_key(op, [firsts[k] for k in inputs], params) or one, one)
    return firsts[number]


def _key(op: Object, inputs: list[int], params: tuple[Object, ...]) -> Hashable:
    """A key that equal instructions share; None for one that equals no other."""
    if op is CONSTANT:
        value = params[0]
        return (value.dtype.char, value.tobytes()) if not value.shape else None
    if op is INPUT or isinstance(op, TupleOp):
        return None
    if op in _MIRRORED:
        return _MIRRORED[op], *inputs[::-1], params
    return op, *inputs, params
