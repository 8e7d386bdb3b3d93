"""Trigonometric functions and their inverses over lanes.

sin and cos subtract the nearest multiple of pi (cos: odd multiple of pi/2) in three parts (Cody and Waite 1980); with
fused multiply-adds the first subtraction is exact, so the reduced argument is accurate to half an ulp, however close to a zero. One minimax
polynomial on [-pi/2, pi/2] (Remez, relative error 2**-60) then costs less than the usual two on [-pi/4, pi/4] and a select. Where
|x| > 2**30 libm is called, in a rarely taken branch.
"""

from __future__ import annotations

from .exponential import horner, shifted_bits
from .simd import (
    Value,
    as_values,
    bits,
    call_rarely,
    copysign,
    fabs,
    fma,
    from_bits,
    is_nan,
    rint,
    select,
    sqrt,
)

_INF = float("inf")
_NAN = float("nan")
_SIGN = -(1 << 63)
_LARGE = 2.0**30
# All positive, so the second is rounded down: otherwise reducing -0.0 would give 0.0.
_PI = tuple(map(float.fromhex, ("0x1.921fb54442d18p+1", "0x1.1a62633145c06p-53", "0x1.c1cd129024e09p-106")))
_HALF_PI = tuple(part / 2 for part in _PI)
_QUARTER_PI = tuple(part / 4 for part in _PI)
_TAN_PI_8 = 0.41421356237309503
_SIN = (
    -0.16666666666666666,
    0.008333333333333212,
    -0.00019841269841215252,
    2.7557319212126546e-06,
    -2.505210695971185e-08,
    1.605894382260766e-10,
    -7.643089108837087e-13,
    2.7220703451770914e-15,
)
_SIN_QUARTER = (
    -0.16666666666666632,
    0.008333333333322486,
    -0.00019841269829853388,
    2.7557313705093546e-06,
    -2.505075989945751e-08,
    1.589688748312424e-10,
)
_COS_QUARTER = (
    -0.5,
    0.0416666666666666,
    -0.0013888888888874472,
    2.480158728966899e-05,
    -2.755731439998878e-07,
    2.087572910208436e-09,
    -1.1359923183611535e-11,
)
_ARCTAN = (
    -0.333333333333332,
    0.19999999999954002,
    -0.14285714280239767,
    0.11111110785677158,
    -0.09090897822631243,
    0.07692061382476582,
    -0.06663117399592179,
    0.05847986608016226,
    -0.050397425305072234,
    0.03807564627653648,
    -0.017919290384558872,
)
_ARCSIN = (
    0.16666666666665375,
    0.0750000000034496,
    0.044642856821899286,
    0.030381959396862186,
    0.02237175187829768,
    0.01735979786133164,
    0.013884309349013397,
    0.01217536144052349,
    0.006501013108391784,
    0.01960314592162294,
    -0.016343540685759217,
    0.03199526917001687,
)


def sin(x: Value) -> Value:
    """The sine, of any argument.

    Error: at most 2 ulp (measured 1.53). Cost: 28 operations and a predicted branch.
    """
    n = rint(fma(x, 1.0 / _PI[0], 0.0))  # never -0.0, which would reduce -0.0 to 0.0
    usual = _signed_sine(_reduce(x, n, _PI), n)
    return call_rarely("sin", fabs(x) > _LARGE, usual, x)


def cos(x: Value) -> Value:
    """The cosine, of any argument.

    Error: at most 2 ulp (measured 1.51). Cost: 31 operations and a predicted branch.
    Method: cos(x) = -sin(x - pi/2), with n + 1/2 as the multiple of pi to subtract.
    """
    n = rint(fma(x, 1.0 / _PI[0], -0.5))
    usual = _signed_sine(-_reduce(x, n + 0.5, _PI), n)
    return call_rarely("cos", fabs(x) > _LARGE, usual, x)


def tan(x: Value) -> Value:
    """The tangent, of any argument.

    Error: at most 3.5 ulp (measured 3.05). Cost: 34 operations, one of them a division, and a predicted branch.
    Method: sin / cos or -cos / sin of x less the nearest multiple of pi/2.
    """
    n = rint(x * (1.0 / _HALF_PI[0]))
    r = _reduce(x, n, _HALF_PI)
    square = r * r
    sine = fma(r * square, horner(square, _SIN_QUARTER), r)
    cosine = fma(square, horner(square, _COS_QUARTER), 1.0)
    odd = (shifted_bits(n) & 1).ne(0)
    usual = select(odd, -cosine, sine) / select(odd, sine, cosine)
    return call_rarely("tan", fabs(x) > _LARGE, select(x.eq(0.0), x, usual), x)


def arctan(x: Value) -> Value:
    """The inverse tangent.

    Error: at most 2 ulp (measured 1.76). Cost: 31 operations, one of them a division.
    Method: the argument is reduced to [-tan(pi/8), tan(pi/8)] by t, (t - 1) / (t + 1) or -1 / t (Cephes atan.c,
    Moshier 1989), where a minimax polynomial (Remez, relative error 2**-58) holds.
    """
    t = fabs(x)
    beyond, middle = t > 1.0 / _TAN_PI_8, t > _TAN_PI_8
    above = select(beyond, -1.0, select(middle, t - 1.0, t))
    below = select(beyond, t, select(middle, t + 1.0, 1.0))
    offset = select(beyond, _HALF_PI[0], select(middle, _QUARTER_PI[0], 0.0))
    offset_low = select(beyond, _HALF_PI[1], select(middle, _QUARTER_PI[1], 0.0))
    return copysign(offset + _arctan_small(above / below, offset_low), x)


def arctan2(y, x) -> Value:
    """The angle of the point (x, y) from the positive x axis, in [-pi, pi]; same results as C at zeros and infinities.

    Error: at most 2 ulp (measured 1.81). Cost: 53 operations, one of them a division.
    Method: arctan of the smaller over the larger magnitude, reduced as in arctan without a second division.
    """
    y, x = as_values(y, x)
    a, b = fabs(x), fabs(y)
    steep, both_infinite = b > a, a.eq(_INF) & b.eq(_INF)
    # Halves: the sum below must not overflow. Below 2**-1000 the halves of subnormals would lose bits.
    scale = select((a > 2.0**1000) | (b > 2.0**1000), 0.5, 1.0)
    larger, smaller = select(steep, b, a) * scale, select(steep, a, b) * scale
    larger, smaller = select(both_infinite, 1.0, larger), select(both_infinite, 1.0, smaller)
    middle = smaller > larger * _TAN_PI_8
    above = select(middle, smaller - larger, smaller)
    below = select(middle, smaller + larger, select(larger.eq(0.0), 1.0, larger))
    angle = _arctan_small(above / below, select(middle, _QUARTER_PI[1], 0.0))
    angle = select(middle, _QUARTER_PI[0], 0.0) + angle
    angle = select(steep, _HALF_PI[0] - (angle - _HALF_PI[1]), angle)
    angle = select(bits(x) < 0, _PI[0] - (angle - _PI[1]), angle)
    return select(is_nan(x), x, copysign(angle, y))


def arcsin(x: Value) -> Value:
    """The inverse sine; NaN outside [-1, 1].

    Error: at most 1.5 ulp (measured 1.29). Cost: 28 operations, one of them a square root.
    Method: s + s**3 P(s**2) up to 1/2 (Remez, relative error 2**-56), beyond that by arcsin(x) = pi/2 - 2 arcsin(s)
    with s = sqrt((1 - x) / 2) (Sun's e_asin.c, 1993).
    """
    a = fabs(x)
    large = a > 0.5
    s, tail = _arcsine_parts(a, large)
    # pi/2 as twice pi/4, as in e_asin.c: where the result is below 1 the first difference is then exact.
    beyond = _QUARTER_PI[0] + (fma(s, -2.0, _QUARTER_PI[0]) + fma(tail, -2.0, _HALF_PI[1]))
    return copysign(select(large, beyond, s + tail), x)


def arccos(x: Value) -> Value:
    """The inverse cosine; NaN outside [-1, 1].

    Error: at most 1.5 ulp (measured 1.14). Cost: 31 operations, one of them a square root. Method: as arcsin.
    """
    a = fabs(x)
    large = a > 0.5
    s, tail = _arcsine_parts(a, large)
    half = copysign(s + tail, x)
    near_one = half + half
    far = select(x < 0.0, _PI[0] + (near_one + _PI[1]), near_one)
    return select(large, far, _HALF_PI[0] - (half - _HALF_PI[1]))


def _reduce(x: Value, n: Value, parts: tuple[float, ...]) -> Value:
    """x - n (parts[0] + parts[1] + parts[2])."""
    return fma(n, -parts[2], fma(n, -parts[1], fma(n, -parts[0], x)))


def _signed_sine(r: Value, n: Value) -> Value:
    """sin(r) for |r| <= pi/2, negated where the integer n is odd; never beyond 1.

    The polynomial sees |r| and the sign is set last, which keeps -0.0.
    """
    a = fabs(r)
    square = a * a
    sine = fma(a * square, horner(square, _SIN), a)
    sign = (bits(r) & _SIGN) ^ (shifted_bits(n) << 63)
    return from_bits(bits(select(sine > 1.0, 1.0, sine)) ^ sign)


def _arctan_small(t: Value, offset_low: Value) -> Value:
    """arctan(t) + offset_low for |t| <= tan(pi/8)."""
    square = t * t
    return t + fma(t * square, horner(square, _ARCTAN), offset_low)


def _arcsine_parts(a: Value, large: Value) -> tuple[Value, Value]:
    """s and arcsin(s) - s, where s is a up to 1/2 and sqrt((1 - a) / 2) beyond."""
    square = select(large, fma(a, -0.5, 0.5), a * a)
    s = select(large, sqrt(square), a)
    return s, s * square * horner(square, _ARCSIN)
