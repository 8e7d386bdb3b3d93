"""The truth of a value: a bool, tracked if data-dependent."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import BOOL
from ...recording.arrays.equal_values import first_equal
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.values import CHOICES, Lazy, has_maybes, is_nonempty
from ..users_code import users_method
from .callables import call

_PLAIN = {int, float, str, bytes, list, tuple, dict, set, frozenset, range, type(None), np.bool_, np.float64, np.int64}


def truth(value: Object) -> Object:
    """bool(value)"""
    kind = type(value)
    if kind is bool:
        return value
    if kind in _PLAIN:
        return _by_entries(value)
    if kind is TrackedArray:
        if value.type.size != 1:
            return bool(value)  # raises
        number = value.reshape(()) if value.type.shape else value
        return first_equal(number if number.type.dtype == BOOL else number != 0)
    if isinstance(value, Lazy):
        return truth(value.truth())
    if kind in CHOICES:
        return CHOICES[kind].truth(value)
    if (method := users_method(kind, "__bool__")) is not None:
        result = call(method, value)
        if type(result) is not bool and type(result) is not TrackedArray and type(result) not in CHOICES:
            # Python's message differs between versions.
            named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__bool__": lambda _: result}
            return bool(type(kind.__name__, (), named)())
        return truth(result)
    if getattr(kind, "__bool__", None) is None and (method := users_method(kind, "__len__")) is not None:
        return truth(call(method, value))
    return _by_entries(value)


def _by_entries(value: Object) -> Object:
    if has_maybes(value):
        return is_nonempty(value.values() if isinstance(value, dict) else value)
    return bool(value)


def concrete(value: Object) -> bool:
    """The truth of a value, as a Python bool."""
    t = truth(value)
    return t if type(t) is bool else bool(t)
