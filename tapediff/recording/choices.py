"""Choices of numbers, each recorded as one instruction of a known type, without a search for the types of its operands."""

from __future__ import annotations

import sys

import numpy as np

from ..base.current_recording import current_recorder
from ..ir.instruction import BOOL_SCALAR, FLOAT64, FLOAT_SCALAR, Operand, ValueType
from ..ops.elementwise.comparison import SELECT
from .arrays.tracked import TrackedArray
from .recorder import Recorder

_BOOLS = tuple(map(np.array, (False, True)))


def select(test: TrackedArray, yes: Operand, no: Operand) -> Operand:
    """np.where(test, yes, no) of numbers, mostly for user code three calls up."""
    recorder = test._recorder
    is_float = isinstance(yes, float) if type(yes) is not TrackedArray else yes.type[1] is FLOAT64
    type_ = FLOAT_SCALAR if is_float else BOOL_SCALAR
    first, second = _operand(recorder, yes, type_), _operand(recorder, no, type_)
    if first is None or second is None or current_recorder() is not recorder:
        return SELECT(test, yes, no)
    number = recorder.append_below(SELECT, (test._id, first[0], second[0]), type_, sys._getframe(3))
    value = None if not recorder.concrete else first[1] if test._value else second[1]
    return TrackedArray(recorder, number, value, type_)


def _operand(recorder: Recorder, value: Operand, type_: ValueType) -> tuple[int, Operand] | None:
    """The value number and the value of an operand; None if its recording or type differs."""
    kind = type(value)
    if kind is TrackedArray:
        is_usual = value._recorder is recorder and value._view is None and (value.type is type_ or value.type == type_)
        return (value._id, value._value) if is_usual else None
    if type_ is FLOAT_SCALAR and (kind is float or kind is np.float64):
        return recorder.float_constant(value), np.float64(value)
    if type_ is BOOL_SCALAR and (kind is bool or kind is np.bool_):
        return recorder.constant(_BOOLS[bool(value)]), np.bool_(value)
    return None
