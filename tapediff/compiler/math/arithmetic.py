"""Comparisons, extrema, remainders and tests of floats over lanes; same results as NumPy at NaN, inf and zero."""

from __future__ import annotations

from ..llvm.values import TYPES, widest
from .simd import (
    Value,
    as_values,
    bits,
    call_rarely,
    constant,
    copysign,
    fabs,
    floor,
    fma,
    integer_quotient,
    is_nan,
    select,
    splat,
    to_f64,
    unlikely,
)

_INF = float("inf")


def equal(x, y) -> Value:
    """x == y, false where either is NaN."""
    return x.eq(y) if isinstance(x, Value) else y.eq(x)


def not_equal(x, y) -> Value:
    """x != y, true where either is NaN."""
    return x.ne(y) if isinstance(x, Value) else y.ne(x)


def maximum(x, y) -> Value:
    """The larger; NaN when either is NaN."""
    x, y = as_values(x, y)
    return _unless_nan(x, select(x > y, x, y), x)


def minimum(x, y) -> Value:
    """The smaller; NaN when either is NaN."""
    x, y = as_values(x, y)
    return _unless_nan(x, select(x < y, x, y), x)


def fmax(x, y) -> Value:
    """The larger; the other one when one is NaN."""
    x, y = as_values(x, y)
    return _unless_nan(y, select(x > y, x, y), x)


def fmin(x, y) -> Value:
    """The smaller; the other one when one is NaN."""
    x, y = as_values(x, y)
    return _unless_nan(y, select(x < y, x, y), x)


def _unless_nan(tested: Value, chosen: Value, otherwise: Value) -> Value:
    return chosen if tested.kind == "i64" else select(is_nan(tested), otherwise, chosen)


def absolute(x: Value) -> Value:
    """The magnitude."""
    return fabs(x) if x.kind == "f64" else select(x < 0, -x, x)


def sign(x: Value) -> Value:
    """-1, 0 or 1; 0 at -0.0 too, and NaN at NaN."""
    if x.kind == "i64":
        return select(x > 0, constant(x.code, 1, "i64", x.width), select(x < 0, constant(x.code, -1, "i64"), x))
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, x + 0.0))


def square(x: Value) -> Value:
    """x * x."""
    return x * x


def reciprocal(x: Value) -> Value:
    """1 / x."""
    return 1.0 / x


def isnan(x: Value) -> Value:
    """True where x is NaN."""
    return is_nan(x)


def isinf(x: Value) -> Value:
    """True where x is an infinity of either sign."""
    return fabs(x).eq(_INF)


def isfinite(x: Value) -> Value:
    """True where x is neither infinite nor NaN."""
    return fabs(x) < _INF


def zero_where_discarded(x, y, w) -> Value:
    """x, or 0 where w marks a discarded entry (NaN), x is NaN and y is 0. A rarely taken branch on w alone."""
    code, width = widest((x, y, w))
    x, y, w = (splat(v if isinstance(v, Value) else constant(code, v, "f64"), width) for v in (x, y, w))
    # A mark is 0 or NaN. Testing its bits takes one instruction, and many branches test the same one.
    is_marked = (bits(w) << 1).ne(0)
    return unlikely(is_marked, x, lambda: select(is_nan(w) & equal(y, 0.0) & is_nan(x), 0.0, x), stays=True)


def signbit(x: Value) -> Value:
    """True where the sign bit is set, -0.0 and negative NaN included."""
    return bits(x) < 0


def fmod(x, y) -> Value:
    """The remainder of x / y that has the sign of x, exact; NaN at y = 0 or infinite x.

    Cost: 17 operations, one of them a division; a call of libm's fmod per lane where |x / y| >= 2**53.
    """
    x, y = as_values(x, y)
    dividend, divisor = fabs(x), fabs(y)
    ratio = dividend / divisor
    # The quotient may have been rounded up to an integer, never down below one; the difference is exact either way.
    rest = fma(-floor(ratio), divisor, dividend)
    rest = select(rest < 0.0, rest + divisor, rest)
    usual = copysign(select(divisor > dividend, dividend, rest), x)
    return call_rarely("fmod", ratio >= 2.0**53, usual, x, y)


def mod(x, y) -> Value:
    """The remainder of x / y that has the sign of y, Python's %; NaN at y = 0."""
    x, y = as_values(x, y)
    rest = fmod(x, y)
    return select(rest.eq(0.0), copysign(0.0, y), _towards(rest, y, rest + y))


def floor_divide(x, y) -> Value:
    """The floor of x / y, consistent with mod; x / y at y = 0."""
    x, y = as_values(x, y)
    rest = fmod(x, y)
    quotient = (x - rest) / y
    quotient = select(rest.eq(0.0), quotient, _towards(rest, y, quotient - 1.0, quotient))
    whole = floor(quotient)
    whole = whole + to_f64(quotient - whole > 0.5)
    ratio = x / y
    return select(y.eq(0.0), ratio, select(quotient.eq(0.0), copysign(0.0, ratio), whole))


def integer_floor_divide(x, y) -> Value:
    """The floor of x / y, exact for all i64; 0 at y = 0, and -2**63 wraps around at y = -1."""
    x, y = as_values(x, y)
    quotient, rest, is_special = _divided(x, y)
    usual = select(_is_between(rest, y), quotient - 1, quotient)
    return select(is_special, select(y < 0, 0 - x, constant(x.code, 0, "i64")), usual)


def integer_mod(x, y) -> Value:
    """The remainder of x / y that has the sign of y, Python's %, exact for all i64; 0 at y = 0."""
    x, y = as_values(x, y)
    _, rest, is_special = _divided(x, y)
    return select(is_special, constant(x.code, 0, "i64"), select(_is_between(rest, y), rest + y, rest))


def _divided(x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Quotient and remainder rounded towards zero; and a mask of y = 0 and y = -1, where processors fault and both are meaningless."""
    is_special = y.eq(0) | y.eq(-1)
    divisor = select(is_special, constant(x.code, 1, "i64"), y)
    quotient = integer_quotient(x, divisor)
    return quotient, x - quotient * divisor, is_special


def _is_between(rest: Value, y: Value) -> Value:
    """True where rounding towards zero rounded up: the exact quotient is negative and not an integer."""
    return rest.ne(0) & ((rest < 0) ^ (y < 0))


def _towards(rest: Value, y: Value, opposite: Value, same: Value | None = None) -> Value:
    """`opposite` where rest and y have different signs, else `same`, by default rest."""
    return select((rest < 0.0) ^ (y < 0.0), opposite, rest if same is None else same)


def round_to_float32(x: Value) -> Value:
    """The nearest float32, as f64: float32 arithmetic is f64 arithmetic, then this rounding."""
    code, wide = x.code, TYPES["f64", x.width]
    narrow = wide.replace("double", "float")
    rounded = code.emit(f"fptrunc {wide} {x.ref} to {narrow}")
    return Value(code, code.emit(f"fpext {narrow} {rounded} to {wide}"), "f64", x.width)
