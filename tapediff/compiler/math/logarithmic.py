"""Logarithms, and the inverse hyperbolic and log-domain functions built on them, over lanes, branch-free.

The core is FreeBSD's e_log.c (Sun 1993): x = 2**k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), s = f / (2 + f), and
log(1 + f) = f - (f**2/2 - s (f**2/2 + s**2 P(s**2))), P minimax (Remez, error 2**-58). log1p(h + low) adds the rounding error of 1 + h to
f, so that all functions here keep their relative accuracy where the argument of the logarithm is near 1.
"""

from __future__ import annotations

from .exponential import exp2, exp_below_overflow, horner
from .simd import Value, as_values, bits, copysign, fabs, fma, from_bits, is_nan, select, sqrt, to_f64

_INF = float("inf")
_NAN = float("nan")
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
LN2_LOW = float.fromhex("0x1.abc9e3b39803fp-56")
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_LOG2_E_LOW = float.fromhex("0x1.777d0ffda0d24p-56")
_LOG10_E = float.fromhex("0x1.bcb7b1526e50ep-2")
_LOG10_E_LOW = float.fromhex("0x1.95355baaafad3p-57")
_LOG10_2 = float.fromhex("0x1.34413509f79ffp-2")
_LOG10_2_LOW = float.fromhex("-0x1.9dc1da994fd21p-59")
_TWO_52 = 2.0**52
_TWO_52_BITS = (1023 + 52) << 52
_MANTISSA = (1 << 52) - 1
_EXPONENT = 2047 << 52
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
_TO_BIASED = (1023 << 52) - _ROOT_HALF_BITS
_LOG = (
    0.6666666666666734,
    0.39999999999416397,
    0.2857142874211934,
    0.2222219859295276,
    0.18183563582671922,
    0.15314064197567248,
    0.14795857381011027,
)


def log(x: Value) -> Value:
    """The natural logarithm; -inf at 0, NaN below.

    Error: at most 1 ulp (measured 0.80). Cost: 34 operations, one of them a division.
    """
    k, f = split(x)
    return _on_domain(x, 0.0, _log_core(k, f))


def log2(x: Value) -> Value:
    """The logarithm to base 2; exact at powers of two.

    Error: at most 1 ulp (measured 0.63). Cost: 46 operations, one of them a division.
    """
    k, f = split(x)
    high, low = _log_parts(f)
    product = high * _LOG2_E
    rest = fma(low, _LOG2_E, fma(high, _LOG2_E_LOW, fma(high, _LOG2_E, -product)))
    total = k + product
    return _on_domain(x, 0.0, total + (((k - total) + product) + rest))


def log10(x: Value) -> Value:
    """The logarithm to base 10.

    Error: at most 1 ulp (measured 0.61). Cost: 51 operations, one of them a division.
    """
    k, f = split(x)
    high, low = _log_parts(f)
    product = high * _LOG10_E
    rest = fma(low, _LOG10_E, fma(high, _LOG10_E_LOW, fma(high, _LOG10_E, -product)))
    whole = k * _LOG10_2
    rest = rest + fma(k, _LOG10_2_LOW, fma(k, _LOG10_2, -whole))
    total = whole + product
    return _on_domain(x, 0.0, total + (((whole - total) + product) + rest))


def log1p(x: Value) -> Value:
    """log(1 + x), accurate for small x; -inf at -1, NaN below.

    Error: at most 1.5 ulp (measured 1.34). Cost: 41 operations, one of them a division.
    """
    total = _one_plus(x, fabs(x))
    kept = total - 1.0
    lost = (1.0 - (total - kept)) + (x - kept)
    return copysign(_on_domain(x, -1.0, _log_sum(total, lost)), x)


def arcsinh(x: Value) -> Value:
    """The inverse hyperbolic sine.

    Error: at most 2 ulp (measured 1.47). Cost: 54 operations, among them two divisions and a square root.
    Method: log1p(a + a**2 / (1 + sqrt(1 + a**2))); beyond 2**28 log(a) + ln 2.
    """
    magnitude = fabs(x)
    large = magnitude > 2.0**28
    bounded = select(large, 1.0, magnitude)
    square = bounded * bounded
    step = square / (1.0 + sqrt(1.0 + square))
    return copysign(_log_of_shifted(magnitude, large, bounded, step), x)


def arccosh(x: Value) -> Value:
    """The inverse hyperbolic cosine; NaN below 1.

    Error: at most 2.2 ulp (measured 1.88). Cost: 53 operations, among them a division and a square root.
    Method: log1p(t + sqrt(2 t + t**2)) with t = x - 1; beyond 2**28 log(x) + ln 2.
    """
    large = x > 2.0**28
    offset = select(large, 1.0, x - 1.0)
    root = sqrt(fma(offset, offset, offset + offset))
    return select(x < 1.0, _NAN, _log_of_shifted(x, large, root, offset))


def arctanh(x: Value) -> Value:
    """The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.

    Error: at most 2 ulp (measured 1.46). Cost: 53 operations, among them two divisions.
    Method: log1p(2 a + 2 a**2 / (1 - a)) / 2.
    """
    magnitude = fabs(x)
    double = magnitude + magnitude
    half = 0.5 * _log1p_of_sum(double, double * magnitude / (1.0 - magnitude))
    edge = select(magnitude.eq(1.0), _INF, _NAN)
    return copysign(select(magnitude < 1.0, half, edge), x)


def softplus(x: Value) -> Value:
    """log(1 + e**x) without overflow.

    Error: at most 2 ulp (measured 1.56). Cost: 63 operations.
    """
    return select(x > 0.0, x, 0.0) + _log1p_of_decay(exp_below_overflow(-fabs(x)))


def log_expit(x: Value) -> Value:
    """The logarithm of the logistic function, -log(1 + e**-x).

    Error: at most 2 ulp (measured 1.53). Cost: 63 operations.
    """
    return select(x < 0.0, x, -0.0) - _log1p_of_decay(exp_below_overflow(-fabs(x)))


def logaddexp(x, y) -> Value:
    """log(e**x + e**y) without overflow; equal infinities give that infinity.

    Error: at most 2 ulp of the larger of the arguments and the result. Cost: 68 operations.
    """
    larger, distance = _larger_and_distance(x, y)
    return larger + _log1p_of_decay(exp_below_overflow(distance))


def logaddexp2(x, y) -> Value:
    """log2(2**x + 2**y) without overflow; equal infinities give that infinity.

    Error: at most 3 ulp of the larger of the arguments and the result. Cost: 69 operations.
    """
    larger, distance = _larger_and_distance(x, y)
    return larger + _log1p_of_decay(exp2(distance)) * _LOG2_E


def logit(p: Value) -> Value:
    """log(p / (1 - p)); -inf at 0, inf at 1, NaN outside.

    Error: at most 3 ulp (measured 2.54). Cost: 50 operations, among them two divisions.
    Method: from 1/4 to 3/4 log1p((2 p - 1) / (1 - p)), whose numerator is exact; outside the logarithm of the ratio.
    """
    middle = fabs(p - 0.5) < 0.25
    ratio = select(middle, (p - 0.5) + (p - 0.5), p) / (1.0 - p)
    total = 1.0 + ratio
    argument = select(middle, total, ratio)
    k, f = split(argument, select(middle, ratio - (total - 1.0), 0.0))
    return _on_domain(argument, 0.0, _log_core(k, f))


def xlogy(x, y) -> Value:
    """x log(y), and 0 at x = 0 unless y is NaN."""
    x, y = as_values(x, y)
    return select(x.eq(0.0) & y.eq(y), 0.0, x * log(y))


def xlog1py(x, y) -> Value:
    """x log(1 + y), and 0 at x = 0 unless y is NaN."""
    x, y = as_values(x, y)
    return select(x.eq(0.0) & y.eq(y), 0.0, x * log1p(y))


def split(x: Value, lost: Value | None = None) -> tuple[Value, Value]:
    """k and f of x + lost, for positive finite x (also subnormal) and a lost much smaller than x."""
    subnormal = x < 2.0**-1022
    normal = select(subnormal, x * 2.0**54, x)
    biased = bits(normal) + _TO_BIASED
    k = from_bits(biased.lshr(52) | _TWO_52_BITS) - select(subnormal, _TWO_52 + 1023 + 54, _TWO_52 + 1023)
    return k, _fraction(biased, lost)


def _fraction(biased: Value, lost: Value | None) -> Value:
    """f from the bits of x divided by sqrt(1/2), corrected for lost."""
    f = from_bits((biased & _MANTISSA) + _ROOT_HALF_BITS) - 1.0
    if lost is None:
        return f
    # 2**(1 - k): the complement of the exponent field is a valid exponent for every k, the exact inverse is not.
    double_inverse = from_bits(~biased & _EXPONENT)
    return fma(lost * double_inverse, 0.5, f)


def _on_domain(x: Value, pole: float, y: Value) -> Value:
    """y on (pole, inf); -inf at the pole, inf at inf, NaN elsewhere."""
    edge = select(x.eq(pole), -_INF, _NAN)
    return select(x > pole, select(x < _INF, y, x), edge)


def _log_core(k: Value, f: Value) -> Value:
    """k ln 2 + log(1 + f)."""
    s = f / (2.0 + f)
    square = s * s
    half = f * (f * 0.5)
    tail = fma(s, fma(square, horner(square, _LOG), half), k * LN2_LOW)
    return fma(k, LN2, f - (half - tail))


def _log_parts(f: Value) -> tuple[Value, Value]:
    """log(1 + f) as an unevaluated sum of a double and its correction."""
    s = f / (2.0 + f)
    square = s * s
    half = f * (f * 0.5)
    high = f - half
    lost = fma(f * -0.5, f, half)
    return high, ((f - high) - half) + fma(s, fma(square, horner(square, _LOG), half), lost)


def _log_sum(total: Value, lost: Value) -> Value:
    """log(total + lost) for normal positive total and much smaller lost."""
    biased = bits(total) + _TO_BIASED
    k = from_bits(biased.lshr(52) | _TWO_52_BITS) - (_TWO_52 + 1023)
    return _log_core(k, _fraction(biased, lost))


def _one_plus(x: Value, size: Value) -> Value:
    """1 + x, and 1 if |x| is so small that only another rounding mode would change a 1."""
    return select(size < 2.0**-54, 1.0, 1.0 + x)


def _log1p_of_sum(high: Value, low: Value) -> Value:
    """log(1 + high + low) for finite non-negative high and low."""
    step = high + low
    rest = select(high > low, (high - step) + low, (low - step) + high)
    total = _one_plus(step, step)
    kept = total - 1.0
    lost = (1.0 - (total - kept)) + (step - kept)
    return _log_sum(total, lost + rest)


def _larger_and_distance(x, y) -> tuple[Value, Value]:
    """The larger argument, and minus its difference from the other one; -inf for two equal infinities."""
    x, y = as_values(x, y)
    difference = x - y
    equal_infinities = is_nan(difference) & x.eq(y)
    return select(y > x, y, x), select(equal_infinities, -_INF, -fabs(difference))


def _log1p_of_decay(decayed: Value) -> Value:
    """log(1 + decayed) for 0 <= decayed <= 1."""
    total = _one_plus(decayed, decayed)
    return _log_sum(total, decayed - (total - 1.0))


def _log_of_shifted(x: Value, large: Value, high: Value, low: Value) -> Value:
    """log(1 + high + low), or log(2 x) where x is large; infinity and NaN are returned as they are."""
    step = high + low
    total = select(large, x, _one_plus(step, step))
    kept = total - 1.0
    lost = (1.0 - (total - kept)) + (step - kept) + ((high - step) + low)
    logarithm = _log_sum(total, select(large, 0.0, lost))
    return select(x < _INF, logarithm + to_f64(large) * LN2, x)
