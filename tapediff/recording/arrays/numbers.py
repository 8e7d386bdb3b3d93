"""Operations on numbers, which loops in Python are made of: one instruction of a known type each, without a search for types.

A number here is a float64 of the current recording that is no view of an array, or a plain one. With anything else, and where an operation
fails, it is `Recorder.apply` that records; of numbers it would record the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from ...base.current_recording import Recording, current_recorder
from ...ir.instruction import BOOL, BOOL_SCALAR, FLOAT64, FLOAT_SCALAR, Operand, ValueType
from ...numpy_api.indexing import region_of
from ...numpy_api.kinds import is_foreign, plain_data
from ...ops import Op
from ...ops.arrays.indexing import INDEX
from ...ops.declaration.op import Elementwise
from ...ops.elementwise.comparison import MASK_OPS
from .views import Versioned


def binary(op: Op) -> tuple[Callable[..., Operand], Callable[..., Operand]]:
    """An operator, and the same with its operands the other way round."""
    type_, evaluate = _result_type(op), op.evaluate

    def forward(self: Versioned, other: Operand) -> Operand:
        # type() and not isinstance() for the usual operands: the __class__ property of tracked arrays is slow to ask.
        kind, recorder = type(other), self._recorder
        if type_ is not None and _is_number(self):
            # Of numbers, which loops in Python are made of: what Recorder.apply does, without a search for the operands' types.
            known = _number(recorder, other, kind)
            if known is not None:
                try:
                    value = evaluate(self._value, known[1]) if recorder.concrete else None
                except _FAILURES:
                    return recorder.apply(op, (self, other))
                return type(self)(recorder, recorder._append(op, (self._id, known[0]), (), type_), value, type_)
        if issubclass(kind, Versioned):
            return recorder.apply(op, (self, other)) if other._recorder is recorder else op(self, other)
        if kind is float or isinstance(other, _OPERANDS):
            return recorder.apply(op, (self, other))
        return recorder.apply(op, (self, plain_data(other))) if is_foreign(other) else NotImplemented

    def reflected(self: Versioned, other: Operand) -> Operand:
        recorder = self._recorder
        if type_ is not None and _is_number(self):
            known = _number(recorder, other, type(other))
            if known is not None:
                try:
                    value = evaluate(known[1], self._value) if recorder.concrete else None
                except _FAILURES:
                    return recorder.apply(op, (other, self))
                return type(self)(recorder, recorder._append(op, (known[0], self._id), (), type_), value, type_)
        if isinstance(other, _OPERANDS):
            return recorder.apply(op, (other, self))
        return recorder.apply(op, (plain_data(other), self)) if is_foreign(other) else NotImplemented

    REFLECTED[op] = reflected
    return forward, reflected


# What operations on numbers raise; Recorder.apply notes it.
_FAILURES = ArithmeticError, RuntimeWarning

# By operation: NumPy's own numbers call the ufunc in place of the operator.
REFLECTED: dict[Op, Callable[..., Operand]] = {}


def unary(self: Versioned, op: Op) -> Operand:
    type_, recorder = _result_type(op), self._recorder
    if type_ is None or not recorder.concrete or not _is_number(self):
        return recorder.apply(op, (self,))
    try:
        value = op.evaluate(self._value)
    except _FAILURES:
        return recorder.apply(op, (self,))
    if type(value) is not type_.dtype.type:
        return recorder.apply(op, (self,))
    return type(self)(recorder, recorder._append(op, (self._id,), (), type_), value, type_)


@cache
def _result_type(op: Op) -> ValueType | None:
    """The type of what an operation makes of numbers; None where Recorder.apply has to find it."""
    if not isinstance(op, Elementwise) or op.promote is not None or op in MASK_OPS:
        return None
    return FLOAT_SCALAR if op.result is None else BOOL_SCALAR if op.result == BOOL else None


def _is_number(array: Versioned) -> bool:
    """Whether it is a float64 of the current recording, and no view of an array."""
    return array.type is FLOAT_SCALAR and array._view is None and current_recorder() is array._recorder


def _number(recorder: Recording, other: Operand, kind: type) -> tuple[int, Operand] | None:
    """The instruction and the value of an operand that is a number, too."""
    if issubclass(kind, Versioned):
        is_number = other._recorder is recorder and other.type is FLOAT_SCALAR and other._view is None
        return (other._id, other._value) if is_number else None
    if kind is float or kind is np.float64:
        return recorder.float_constant(other), other
    if kind is int:
        value = float(other)
        return recorder.float_constant(value), value
    return None


def entry_of(array: Versioned, index: Operand) -> Versioned | None:
    """array[index] where it is a number."""
    is_entry = type(index) is int or (type(index) is tuple and {*map(type, index)} == _ALL_INTS)
    recorder = array._recorder
    if not is_entry or array.type.dtype is not FLOAT64 or current_recorder() is not recorder or not recorder.concrete:
        return None
    if array._view is not None:
        array._refresh()
    region = _entry_region(index, array.type.shape)
    if region.shape:
        return None
    value = array._value[region.starts]
    return type(array)(recorder, recorder._append(INDEX, (array._id,), (region,), FLOAT_SCALAR), value, FLOAT_SCALAR)


_OPERANDS = (Versioned, int, float, complex, np.ndarray, np.generic, list, tuple)
_ALL_INTS = {int}
_entry_region = lru_cache(maxsize=4096)(region_of)
