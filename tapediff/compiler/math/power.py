"""Powers and roots over lanes, branch-free."""

from __future__ import annotations

from .exponential import exp_of_sum, horner
from .logarithmic import LN2, LN2_LOW, split
from .simd import Value, as_values, bits, constant, copysign, fabs, fma, from_bits, rint, select, sqrt

_INF = float("inf")
_NAN = float("nan")
_TWO_52 = 2.0**52
_TWO_52_BITS = (1023 + 52) << 52
_LARGEST_MULTIPLIED = 32
# log((1 + s) / (1 - s)) = 2 s + s**3 (2/3 + s**2 P(s**2)): minimax, relative error 2**-66 of the whole.
_TWO_THIRDS = 2.0 / 3.0
_TWO_THIRDS_LOW = 3.700743415417188e-17
_LOG_TAIL = (
    0.3999999999999998,
    0.28571428571445123,
    0.22222222217534057,
    0.18181818870615477,
    0.15384556850114872,
    0.13336318235360692,
    0.1167480169657222,
    0.11989154976214518,
)
# The bit pattern of x**(-1/3) starts from 4/3 of the pattern of 1.0, less a constant that makes the error of the guess symmetric (3.4 %),
# without the 12 lowest bits.
_INVERSE_ROOT_BITS = float(0x553EF1A9FBE76C8C >> 12)


def integer_power(x: Value, n: int) -> Value:
    """x**n for a Python integer n, by repeated squaring; 1 at n = 0 for any x.

    Error: at most |n| / 2 + 1 ulp up to |n| = 32, where `power` takes over with at most 2. For negative n the power
    of x is inverted last, so a result below 1e-308 is 0.
    """
    n = int(n)
    if n == 0:
        return constant(x.code, 1, x.kind, x.width)
    if n < 0:
        return 1.0 / integer_power(x, -n) if n >= -_LARGEST_MULTIPLIED else power(x, float(n))
    if n > _LARGEST_MULTIPLIED and x.kind == "f64":
        return power(x, float(n))
    result, factor = None, x
    while n:
        if n & 1:
            result = factor if result is None else result * factor
        n >>= 1
        if n:
            factor = factor * factor
    assert result is not None
    return result


def cbrt(x: Value) -> Value:
    """The cube root, negative for negative x.

    Error: at most 1 ulp (measured 0.64). Cost: 41 operations, none a division.
    Method: x**(-1/3) from a third of the bit pattern (Kahan 1991), two steps of Householder's iteration of order five
    and three, then one Newton step for the cube root itself with the exact residual.
    """
    magnitude = fabs(x)
    subnormal = magnitude < 2.0**-1022
    a = select(subnormal, magnitude * 2.0**54, magnitude)
    pattern = from_bits(bits(a).lshr(12) | _TWO_52_BITS) - _TWO_52
    y = from_bits(bits(fma(pattern, -1.0 / 3.0, _TWO_52 + _INVERSE_ROOT_BITS)) << 12)
    y = _inverse_cbrt_step(a, y, (1 / 3, 2 / 9, 14 / 81, 35 / 243))
    y = _inverse_cbrt_step(a, y, (1 / 3, 2 / 9))
    square = y * y
    root = a * square
    squared = root * root
    residual = fma(-squared, root, a) - root * fma(root, root, -squared)
    root = fma(residual, square * (1 / 3), root)
    root = copysign(select(subnormal, root * 2.0**-18, root), x)
    return select((magnitude > 0.0) & (magnitude < _INF), root, x)


def _inverse_cbrt_step(a: Value, y: Value, coefficients: tuple[float, ...]) -> Value:
    error = fma(-(a * y), y * y, 1.0)
    return fma(y, error * horner(error, coefficients), y)


def hypot(x, y) -> Value:
    """sqrt(x**2 + y**2) without overflow or underflow; infinite if either is, even if the other is NaN.

    Error: at most 1.1 ulp (measured 0.95). Cost: 22 operations, one of them a square root.
    """
    x, y = as_values(x, y)
    a, b = fabs(x), fabs(y)
    larger, smaller = select(b > a, b, a), select(b > a, a, b)
    huge, tiny = larger > 2.0**510, larger < 2.0**-450
    down = select(huge, 2.0**-600, select(tiny, 2.0**600, 1.0))
    up = select(huge, 2.0**600, select(tiny, 2.0**-600, 1.0))
    larger, smaller = larger * down, smaller * down
    root = sqrt(fma(larger, larger, smaller * smaller)) * up
    return select(a.eq(_INF) | b.eq(_INF), _INF, root)


def power(x, y) -> Value:
    """x**y with the results of C's pow at zeros, infinities, NaN and for negative x.

    Error: at most 1.5 ulp (measured 1.15). Cost: 123 operations, one of them a division.
    Method: log |x| as an unevaluated sum with 2**-68 relative error (s = f / (2 + f) and the first two terms of its
    series in double-double arithmetic, Dekker 1971), times y, then exp with the low part added to the reduced argument.
    """
    x, y = as_values(x, y)
    magnitude = fabs(x)
    high, low = _log_double(magnitude)
    exponent = y * high
    rest = fma(y, high, -exponent) + y * low
    result = exp_of_sum(exponent, select(fabs(exponent) < 800.0, rest, 0.0))
    result = select(magnitude.eq(1.0), 1.0, result)
    half = y * 0.5
    whole = rint(y).eq(y)
    odd = whole & rint(half).ne(half)
    signed = select(odd, copysign(result, x), result)
    defined = (x >= 0.0) | whole | magnitude.eq(_INF) | x.ne(x)
    return select(y.eq(0.0) | x.eq(1.0), 1.0, select(defined, signed, _NAN))


def _log_double(x: Value) -> tuple[Value, Value]:
    """log(x) as high + low; (-inf, 0) at 0, (inf, 0) at inf and NaN at NaN."""
    k, f = split(x)
    total = 2.0 + f
    total_low = f - (total - 2.0)
    inverse = 1.0 / total
    s = f * inverse
    s_low = (fma(-s, total, f) - s * total_low) * inverse
    z = s * s
    z_low = fma(s, s, -z) + (s + s) * s_low
    tail = fma(z, horner(z, _LOG_TAIL), _TWO_THIRDS_LOW)
    w = _TWO_THIRDS + tail
    w_low = (_TWO_THIRDS - w) + tail
    p = z * w
    p_low = fma(z, w, -p) + fma(z, w_low, z_low * w)
    m = s * p
    m_low = fma(s, p, -m) + fma(s, p_low, s_low * p)
    double = s + s
    high = double + m
    low = ((double - high) + m) + (fma(2.0, s_low, m_low))
    whole = k * LN2
    whole_low = fma(k, LN2_LOW, fma(k, LN2, -whole))
    sum_high = whole + high
    sum_low = ((whole - sum_high) + high) + (whole_low + low)
    regular = (x > 0.0) & (x < _INF)
    return select(regular, sum_high, select(x.eq(0.0), -_INF, x)), select(regular, sum_low, 0.0)
