"""Divisions by zero: errors of Python's numbers, where data say so."""

from __future__ import annotations

import operator

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.fork import exclude
from ..state.numbers.python_numbers import is_python
from ..state.values import Unjoinable, both


def check_division(name: str, a: Object, b: Object) -> None:
    """Raise the error of a division, or power, of two numbers where Python raises one."""
    if name == "pow":
        zero, other = a, b
        _check_power(a, b)
    else:
        zero, other = b, a
    if type(zero) is not TrackedArray and (type(zero) not in (int, float, bool) or zero != 0):
        return
    kinds = is_python(zero), is_python(other)
    if any(kind is False for kind in kinds):
        return
    is_unknown = any(kind is None for kind in kinds)
    fails = zero == 0 if is_unknown else both(both(*kinds), zero == 0)
    if name == "pow":
        fails = both(fails, other < 0)

    def error() -> BaseException:
        if is_unknown:
            return Unjoinable(
                "a divisor may be zero, and whether Python's numbers or NumPy's are divided depends on data", "convert it with float()"
            )
        one, nothing = (float if _is_float(v) else int for v in (other, zero))
        try:
            getattr(operator, name)(*((nothing(0), one(-1)) if name == "pow" else (one(1), nothing(0))))
        except ZeroDivisionError as found:
            return found.with_traceback(None)
        raise AssertionError(name)

    exclude(fails, error)


@np.errstate(all="ignore")
def _size_of_power(base: Object, exponent: Object) -> Object:
    return np.abs(base) ** exponent


def _check_power(a: Object, b: Object) -> None:
    """Record a single path where the power of two floats of Python's is complex, or an error as it is too large."""
    kinds = is_python(a), is_python(b)
    if any(kind is False for kind in kinds) or not (_is_float(a) or _is_float(b)) or (type(b) is int and 0 <= b < 2):
        return
    base, exponent = (v * 1.0 for v in (a, b))
    size = _size_of_power(base, exponent)
    fails = (base != 0) & (size == np.inf) & (np.abs(base) < np.inf) & (np.abs(exponent) < np.inf)
    fails = fails | ((base < 0) & (np.floor(exponent) != exponent))
    if not any(kind is None for kind in kinds):
        fails = both(both(*kinds), fails)
    exclude(fails, lambda: Unjoinable(
        "a power of floats may be complex or too large", "use np.power, or np.maximum(base, 0.0) ** exponent"
    ))


def _is_float(value: Object) -> bool:
    return value.type.dtype.kind == "f" if type(value) is TrackedArray else type(value) is float or isinstance(value, np.floating)
