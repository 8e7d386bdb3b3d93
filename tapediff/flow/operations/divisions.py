"""Operations that depend on number types: division by zero, signed zeros, and shifts of Python ints."""

from __future__ import annotations

import functools
import operator

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.fork import exclude
from ..state.numbers.python_numbers import Kind, is_int, is_python, note_kind
from ..state.values import Unjoinable, both


def check_division(name: str, a: Object, b: Object) -> None:
    """Raise Python's error of a division or power of two numbers."""
    if name in ("mul", "lshift", "rshift"):
        return
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
    """Record a single path if a power of Python floats is complex or overflows."""
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


# Integer zeros are unsigned


# Names of operators and of NumPy's functions.
_OF_SIGNED_ZEROS = frozenset("neg mul floordiv mod negative multiply floor_divide remainder".split())


def may_be_zero_of_ints(name: str, *operands: Object) -> bool:
    """True for an operation that may have a zero result of ints stored as floats, with a sign."""
    if name not in _OF_SIGNED_ZEROS:
        return False
    is_signed, is_mixed = len(operands) == 1, False
    for value in operands:
        whole = is_int(value)
        if whole is False:
            return False
        is_mixed = is_mixed or (type(value) is TrackedArray and value.type.dtype.kind == "f")
        is_signed = is_signed or type(value) is TrackedArray or value < 0
    return is_mixed and is_signed


def zero_of_ints(result: Object, *operands: Object) -> Object:
    """Make a zero product, quotient or negation positive where the operands are ints."""
    wholes = [is_int(value) for value in operands]
    if any(whole is None for whole in wholes):
        is_negative = both(result == 0, np.signbit(result))
        exclude(is_negative, lambda: Unjoinable("a zero may be one of ints or of floats, which have signs", "convert it with float()"))
        return result
    is_zero = result == 0
    return note_kind(np.where(both(functools.reduce(both, wholes), is_zero), 0.0, result), (True, result, result))


# Python ints never lose their upper bits


def is_of_ints(name: str, a: Object, b: Object) -> bool:
    """True for shifts of possible Python ints, and powers with a data-dependent exponent."""
    if name not in ("lshift", "rshift") and not (name == "pow" and (type(b) is TrackedArray or (type(b) is int and b < 0))):
        return False
    return all(_is_whole(value) and is_python(value) is not False for value in (a, b))


def _is_whole(value: Object) -> bool:
    return value.type.dtype.kind == "i" if type(value) is TrackedArray else type(value) is int


def of_ints(name: str, a: Object, b: Object) -> Object:
    """A power of ints; a left shift as a product, a right shift as two quotients, as 2**63 is no int64."""
    if name == "pow":
        is_float = b < 0
        what = "an int to the power of a negative int is a float", "write the base as a float"
        exclude(is_float if type(is_float) is TrackedArray else bool(is_float), lambda: Unjoinable(*what))
        return note_kind(a**b, Kind(True if is_python(a) is is_python(b) is True else None, True))

    def error() -> BaseException:
        return ValueError("negative shift count")

    is_negative = b < 0
    exclude(is_negative if type(is_negative) is TrackedArray else bool(is_negative), error)
    if name == "lshift":
        return a * _power_of_two(b)
    half = b // 2
    return a // _power_of_two(half) // _power_of_two(b - half)


def _power_of_two(exponent: Object) -> Object:
    return of_ints("pow", 2, exponent) if type(exponent) is TrackedArray else 2**exponent
