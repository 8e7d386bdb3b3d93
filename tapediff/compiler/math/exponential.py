"""exp, expm1, the hyperbolic functions and the logistic function over lanes, branch-free.

All share one reduction, x = n ln 2 + r with |r| <= ln(2)/2 (Cody and Waite 1980; exact, because n times the leading
part of ln 2 stays inside one fused multiply-add), and one pair of minimax polynomials, for cosh r - 1 and sinh r - r in
r**2 (Remez, relative errors 2**-58 and 2**-61). Evaluating the even and the odd half side by side halves the latency of
Horner's scheme at the price of one multiplication, and gives exp(r) and exp(-r) from the same two halves.
"""

from __future__ import annotations

from ...ops.elementwise.elementary import TANH_FAR
from .simd import Value, as_values, bits, copysign, fabs, fma, from_bits, rint, scaled, select, splat, unlikely

_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN2_LOW = float.fromhex("0x1.abc9e3b39803fp-56")
# Adding this number to an integer puts it into the low bits of the sum. Every instruction set does that faster than a conversion between
# float and 64-bit integer lanes.
_ROUNDER = 1.5 * 2.0**52
_ONE_BITS = 1023 << 52
_COSH = (
    0.5000000000000013,
    0.04166666666651047,
    0.0013888888948351572,
    2.480148851434307e-05,
    2.763180065507483e-07,
)
_SINH = (
    0.16666666666666677,
    0.008333333333321386,
    0.00019841269886812168,
    2.7557243459048e-06,
    2.5109314202080006e-08,
)


def horner(x: Value, coefficients: tuple[float, ...]) -> Value:
    """The polynomial with these coefficients, lowest power first, by Horner's scheme with fused multiply-adds."""
    last = len(coefficients) - 1
    total = fma(x, coefficients[last], coefficients[last - 1])
    for k in range(last - 2, -1, -1):
        total = fma(total, x, coefficients[k])
    return total


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """horner for long polynomials: four interleaved ones in x**4, with a third of the latency."""
    square = x * x
    parts = [horner(square * square, coefficients[k::4]) for k in range(4)]
    return fma(square, fma(x, parts[3], parts[2]), fma(x, parts[1], parts[0]))


def shifted_bits(n: Value) -> Value:
    """An i64 whose low 51 bits are those of an integer-valued f64."""
    return bits(n + _ROUNDER)


def exp(x: Value) -> Value:
    """e**x; accurate for all subnormal results.

    Error: at most 1.1 ulp (measured 1.00). Cost: 28 operations.
    """
    clamped = select(x > 710.0, 710.0, x)
    return exp_below_overflow(clamped)


def exp2(x: Value) -> Value:
    """2**x; exact at integers.

    Error: at most 1.2 ulp (measured 1.06). Cost: 28 operations.
    """
    clamped = select(x > 1025.0, 1025.0, x)
    clamped = select(clamped < -1076.0, -1076.0, clamped)
    n = rint(clamped)
    r = (clamped - n) * _LN2
    return _scaled(1.0 + _expm1_reduced(r), n)


def expm1(x: Value) -> Value:
    """e**x - 1 without cancellation near 0.

    Error: at most 1.5 ulp (measured 1.26). Cost: 31 operations.
    Method: see _expm1_scaled; at half scale, so that n = 1024 does not overflow; x itself where |x| < 2**-54.
    """
    clamped = select(x > 710.0, 710.0, x)
    clamped = select(clamped < -45.0, -45.0, clamped)
    total = _expm1_scaled(clamped, 0.5)
    return select(fabs(x) < 2.0**-54, x, total + total)


def sinh(x: Value) -> Value:
    """The hyperbolic sine.

    Error: at most 2 ulp (measured 1.65). Cost: 34 operations.
    Method: sinh(n ln 2 + r) = cosh r (2**n - 2**-n) / 2 + sinh r (2**n + 2**-n) / 2, the exact part summed last.
    """
    magnitude = fabs(x)
    clamped = select(magnitude > 710.5, 710.5, magnitude)
    cosh_tail, sinh_r, grow, shrink = _hyperbolic_parts(clamped)
    difference = grow - shrink
    total = difference + fma(sinh_r, grow + shrink, cosh_tail * difference)
    return select(magnitude < 2.0**-28, x, copysign(total + total, x))


def cosh(x: Value) -> Value:
    """The hyperbolic cosine.

    Error: at most 1.5 ulp (measured 1.17). Cost: 31 operations. Method: as sinh.
    """
    magnitude = fabs(x)
    clamped = select(magnitude > 710.5, 710.5, magnitude)
    cosh_tail, sinh_r, grow, shrink = _hyperbolic_parts(clamped)
    total = grow + shrink
    total = total + fma(sinh_r, grow - shrink, cosh_tail * total)
    return total + total


def tanh(x: Value) -> Value:
    """The hyperbolic tangent.

    Error: at most 2 ulp (measured 1.73). Cost: 35 operations, one of them a division.
    Method: q = E / (E + 2) with E = expm1(2 |x|), which has no cancellation; 1 beyond |x| = 20. For small E the equal
    E/2 (1 - q) multiplies the rounding errors of q by q, at no cost except the division.
    """
    magnitude = fabs(x)
    clamped = select(magnitude > 20.0, 20.0, magnitude)
    grown = _expm1_scaled(clamped + clamped, 1.0)
    quotient = grown / (grown + 2.0)
    half = grown * 0.5
    return copysign(select(half < 0.5, fma(-half, quotient, half), quotient), x)


def tanh_slope(x, y) -> Value:
    """1 - x**2 for x = tanh(y), as 4 e / (1 + e)**2 with e = exp(-2 |y|) where that difference loses digits; 0 where it is below 2e-307.

    Cost: 4 operations and a predicted branch; 35 more, one of them a division, where it is taken.
    """
    x, y = as_values(x, y)
    x, y = splat(x, max(x.width, y.width)), splat(y, max(x.width, y.width))
    magnitude = fabs(y)
    is_far, near = magnitude > TANH_FAR, 1.0 - x * x

    def far() -> Value:
        decayed = exp_below_overflow(-2.0 * magnitude)
        inverse = 1.0 / (1.0 + decayed)
        return select(is_far, select(decayed < 2.0**-1021, 0.0, 4.0 * decayed * inverse * inverse), near)

    return unlikely(is_far, near, far)


def expit(x: Value) -> Value:
    """The logistic function 1 / (1 + e**-x); for very negative x accurate for all subnormal results.

    Error: at most 2 ulp (measured 1.61). Cost: 34 operations, one of them a division.
    Method: with e = exp(-|x|) and q = e / (1 + e) it is 1 - q or e (1 - q), which multiplies the errors of q by q.
    """
    decayed = exp_below_overflow(-fabs(x))
    quotient = decayed / (1.0 + decayed)
    largest = select(x < 0.0, decayed, 1.0)
    return fma(-largest, quotient, largest)


def exp_below_overflow(x: Value) -> Value:
    """e**x for x <= 710 or NaN."""
    clamped = select(x < -746.0, -746.0, x)
    n, r = _reduce(clamped)
    return _scaled(1.0 + _expm1_reduced(r), n)


def exp_of_sum(high: Value, low: Value) -> Value:
    """e**(high + low), low much smaller than high; high may be anything, low is finite."""
    clamped = select(high > 710.0, 710.0, high)
    clamped = select(clamped < -746.0, -746.0, clamped)
    n, r = _reduce(clamped)
    return _scaled(1.0 + _expm1_reduced(r + low), n)


def _reduce(x: Value) -> tuple[Value, Value]:
    """The integer n and r with x = n ln 2 + r."""
    n = rint(x * _LOG2_E)
    return n, fma(n, -_LN2_LOW, fma(n, -_LN2, x))


def _expm1_reduced(r: Value) -> Value:
    """e**r - 1 for |r| <= ln(2)/2."""
    square = r * r
    even, odd = horner(square, _COSH), horner(square, _SINH)
    return fma(square, fma(r, odd, even), r)


def _expm1_scaled(x: Value, scale: float) -> Value:
    """scale (e**x - 1) = s (h + t) + (s - scale), s = scale 2**n, where h is the part of r that is exact.

    Adding the rounded r instead would cost 1 ulp between ln(2)/2 and 1, where s (1 + r) - scale cancels.
    """
    n = rint(x * _LOG2_E)
    exact = fma(n, -_LN2, x)
    correction = n * _LN2_LOW
    r = exact - correction
    square = r * r
    even, odd = horner(square, _COSH), horner(square, _SINH)
    tail = fma(square, fma(r, odd, even), -correction)
    power = from_bits((shifted_bits(n) << 52) + (_ONE_BITS if scale == 1.0 else _ONE_BITS - (1 << 52)))
    return fma(power, tail, fma(power, exact, power - scale))


def _scaled(y: Value, n: Value) -> Value:
    """y 2**n with one rounding, correct for subnormal results. Without an instruction for it: multiply by two powers of two, each with half
    the exponent.
    """

    def in_two_steps() -> Value:
        half = shifted_bits(rint(n * 0.5)) << 52
        rest = (shifted_bits(n) << 52) - half
        return from_bits(bits(y) + half) * from_bits(rest + _ONE_BITS)

    return scaled(y, n, in_two_steps)


def _hyperbolic_parts(x: Value) -> tuple[Value, Value, Value, Value]:
    """cosh r - 1, sinh r, 2**n / 4 and 2**-n / 4, for 0 <= x <= 710.5."""
    n, r = _reduce(x)
    square = r * r
    exponent = shifted_bits(n) << 52
    grow = from_bits(exponent + (_ONE_BITS - (2 << 52)))
    # From n = 1021 on the second power is below the normal range, but negligible long before.
    shrink = select(x > 100.0, 0.0, from_bits((_ONE_BITS - (2 << 52)) - exponent))
    return square * horner(square, _COSH), fma(r * square, horner(square, _SINH), r), grow, shrink
