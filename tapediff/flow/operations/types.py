"""Types of tracked numbers in plain Python, which may depend on data."""

from __future__ import annotations

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.fork import select
from ..state.numbers.python_numbers import types_of
from ..state.values import Unjoinable, any_of
from ..users_code import users_method


def type_of(value: Object) -> Object:
    """type(value); a choice of types if data-dependent."""
    types = _types(value)
    if types is None:
        return type(value)
    chosen: Object = types[-1][0]
    for kind, condition in reversed(types[:-1]):
        chosen = kind if condition is True else select(condition, kind, chosen)
    return chosen


def is_instance(value: Object, kinds: Object) -> Object:
    """isinstance(value, kinds): a bool, tracked or not."""
    if type(value) is not TrackedArray or (isinstance(kinds, type) and users_method(type(kinds), "__instancecheck__") is not None):
        return isinstance(value, kinds)
    types = _types(value)
    if types is None:
        return isinstance(value, kinds)
    fitting = [condition for kind, condition in types if issubclass(kind, kinds)]
    return True if len(fitting) == len(types) else any_of(fitting)


def _types(value: Object) -> list[tuple[type, Object]] | None:
    """The possible Python types of a tracked number; None for other values."""
    if type(value) is not TrackedArray or value.type.shape or value._view is not None:
        return None
    types = types_of(value)
    if types is None:
        raise Unjoinable(
            "code needs a number's type, Python's or NumPy's, which depends on data", "convert the number with float() before"
        )
    return types
