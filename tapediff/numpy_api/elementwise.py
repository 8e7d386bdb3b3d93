"""Elementwise NumPy functions that are compositions: clip, where, around, masks, and the like."""

from __future__ import annotations

import numpy as np
from numpy import asarray  # NumPy's own; see numpy_namespace.py

from ..errors import UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, Operand, is_tracked
from ..ops import Op
from ..ops.elementwise.arithmetic import ABSOLUTE, MAXIMUM, MINIMUM, RINT, power
from ..ops.elementwise.bessel import I0
from ..ops.elementwise.comparison import IS_FINITE, IS_NAN, LOGICAL_AND, LOGICAL_OR, NOT_EQUAL, SELECT
from ..ops.elementwise.elementary import LN2
from ..ops.elementwise.special_integrals import sine_over
from .joining import as_value
from .kinds import as_floats, common_floats, converted
from .shaping import copy as new_copy


def as_mask(value: Operand) -> Operand:
    """Numbers as masks, as in NumPy's logic functions: True where not zero."""
    if is_tracked(value):
        return value if value.dtype == BOOL else NOT_EQUAL(value, 0)
    array = as_value(value)
    return as_mask(array) if is_tracked(array) else array.astype(bool, copy=False)


def bit_operation(on_masks: Op, on_integers: Op | None, *operands: Operand) -> Operand:
    """`&`, `|`, `^`, `~`: logic on masks, and on the bits of integers."""
    kinds = {(o.dtype if is_tracked(o) else asarray(o).dtype).kind for o in operands}
    if kinds == {"b"}:
        return on_masks(*operands)
    if on_integers is None or not kinds <= {"b", "i"}:
        raise UnsupportedFunction(
            f"np.{on_masks.name.replace('logical', 'bitwise')} on tracked numbers", got="operands that are neither masks nor integers",
            fix="combine comparisons, e.g. (x > 0) & (x < 1)",
        )  # fmt: skip
    return on_integers(*operands)


def where(condition: Operand, x: Operand = None, y: Operand = None) -> Operand:
    if (x is None) != (y is None):
        raise ValueError("either both or neither of x and y should be given")
    if x is None:
        return np.nonzero(condition)
    return SELECT(as_mask(condition), x, y)


def clip(
    a: Operand, a_min: Operand = np._NoValue, a_max: Operand = np._NoValue, *, min: Operand = np._NoValue, max: Operand = np._NoValue
) -> Operand:
    if a_min is a_max is np._NoValue:
        return clipped(a, *(None if bound is np._NoValue else bound for bound in (min, max)))
    missing = [name for name, bound in (("a_min", a_min), ("a_max", a_max)) if bound is np._NoValue]
    if missing:
        raise TypeError(f"clip() missing 1 required positional argument: '{missing[0]}'")
    if min is not np._NoValue or max is not np._NoValue:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    return clipped(a, a_min, a_max)


def clipped(a: Operand, min: Operand = None, max: Operand = None) -> Operand:
    """The method clip of arrays."""
    result = +a if min is None else MAXIMUM(a, min)
    return result if max is None else MINIMUM(result, max)


def around(a: Operand, decimals: int = 0) -> Operand:
    if a.dtype.kind == "i":
        if decimals < 0:
            raise UnsupportedFunction("rounding integers to tens", fix="divide by the power of ten first")
        return new_copy(a)
    if a.dtype == BOOL and decimals:
        raise TypeError("masks are not rounded to decimals")
    a = as_floats(a)
    if decimals == 0:
        return RINT(a)
    scale = 10.0**decimals
    return RINT(a * scale) / scale


def nan_to_num(
    x: Operand, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Operand:
    if x.dtype.kind != "f":
        return new_copy(x) if copy else x
    limits = np.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    finite_or_limit = SELECT(IS_FINITE(x), x, SELECT(x > 0, high, low))
    result = SELECT(IS_NAN(x), nan, finite_or_limit)
    if copy or not (x.ndim or x._view is not None):
        return result
    x[...] = result
    return x


def sinc(x: Operand) -> Operand:
    """sin(pi x) / (pi x); near 0 its series, so that derivatives of every order are right there, too."""
    return sine_over(np.pi * x)


def i0(x: Operand) -> Operand:
    """A single formula: NumPy computes with |x|, whose kink at 0 would make derivatives wrong."""
    return I0(as_floats(as_value(x)))


def heaviside(x: Operand, at_zero: Operand) -> Operand:
    x, at_zero = common_floats(_kept(x), _kept(at_zero))
    return SELECT(IS_NAN(x), np.nan, SELECT(x > 0, 1.0, SELECT(x < 0, 0.0, at_zero)))


def logaddexp2(x: Operand, y: Operand) -> Operand:
    x, y = common_floats(_kept(x), _kept(y))
    return np.logaddexp(x * LN2, y * LN2) / LN2


def _kept(x: Operand) -> Operand:
    """Leave Python scalars unchanged: they do not decide the precision."""
    return x if type(x) in (int, float, bool) else as_value(x)


def fabs(x: Operand) -> Operand:
    return ABSOLUTE(as_floats(x))


def float_power(x: Operand, y: Operand) -> Operand:
    x, y = (converted(v, FLOAT64) if is_tracked(v) else v for v in (as_value(x), y))
    return power(x, y)


def positive(x: Operand) -> Operand:
    if x.dtype == BOOL:
        raise TypeError("ufunc 'positive' did not contain a loop with signature matching types <class 'numpy.dtypes.BoolDType'> -> None")
    return new_copy(x)


def deg2rad(x: Operand) -> Operand:
    return x * (np.pi / 180.0)


def rad2deg(x: Operand) -> Operand:
    return x * (180.0 / np.pi)


def isclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Operand:
    a, b = as_floats(as_value(a)), as_floats(as_value(b))
    close = (abs(a - b) <= atol + rtol * np.absolute(b)) & IS_FINITE(b)
    close = LOGICAL_OR(close, a == b)
    if equal_nan:
        close = LOGICAL_OR(close, LOGICAL_AND(IS_NAN(a), IS_NAN(b)))
    return close


def allclose(a: Operand, b: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """np.allclose; returns a Python bool, as NumPy does, so it is a guard."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))
