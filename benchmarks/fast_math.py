"""exp, log1p, tanh, sin and cos for hand-written gradients: branch-free polynomials, so that LLVM vectorises the loops that hold
them. numba's own are scalar calls and several times slower.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LOG2_E = 1.4426950408889634
# ln 2 in two parts: the high one has its last 32 bits zero, so that n * LN2_HIGH is exact (Cody and Waite 1980).
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
# pi / 2 in three parts, the first two of 33 bits: n * part is exact for |n| < 2**20 (fdlibm's e_rem_pio2.c).
HALF_PI = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
HALF_PI_1, HALF_PI_2, HALF_PI_3 = HALF_PI
TWO_OVER_PI = 0.6366197723675814


@intrinsic
def fma(typing_context, a, b, c):
    """a * b + c with one rounding."""

    def emit(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


@intrinsic
def nearest(typing_context, x):
    """x rounded to the nearest integer, as a float."""

    def emit(context, builder, signature, arguments):
        rint = builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()])
        return builder.call(rint, arguments)

    return types.float64(types.float64), emit


@intrinsic
def power_of_two(typing_context, n):
    """2.0**n for an integer-valued float n between -1022 and 1023, by its exponent bits."""

    def emit(context, builder, signature, arguments):
        bits = ir.IntType(64)
        exponent = builder.add(builder.fptosi(arguments[0], bits), bits(1023))
        return builder.bitcast(builder.shl(exponent, bits(52)), ir.DoubleType())

    return types.float64(types.float64), emit


@njit(inline="always", error_model="numpy")
def exp_parts(x):
    """n and expm1(r) with x = n ln 2 + r, |r| <= ln 2 / 2."""
    n = nearest(x * LOG2_E)
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    p = 1.6059043836821613e-10  # 1 / 13!, and so on up to 1 / 2!
    p = fma(p, r, 2.08767569878681e-09)
    p = fma(p, r, 2.505210838544172e-08)
    p = fma(p, r, 2.755731922398589e-07)
    p = fma(p, r, 2.7557319223985893e-06)
    p = fma(p, r, 2.48015873015873e-05)
    p = fma(p, r, 0.0001984126984126984)
    p = fma(p, r, 0.001388888888888889)
    p = fma(p, r, 0.008333333333333333)
    p = fma(p, r, 0.041666666666666664)
    p = fma(p, r, 0.16666666666666666)
    p = fma(p, r, 0.5)
    return n, fma(p, r * r, r)


@njit(inline="always", error_model="numpy")
def exp(x):
    n, p = exp_parts(x if x > -708.0 else -708.0)
    scale = power_of_two(n)
    return fma(scale, p, scale)


@njit(inline="always", error_model="numpy")
def tanh(x):
    magnitude = -2.0 * abs(x)
    n, p = exp_parts(magnitude if magnitude > -50.0 else -50.0)
    scale = power_of_two(n)
    below = fma(scale, p, scale - 1.0)  # expm1(-2 |x|)
    result = -below / (below + 2.0)
    return result if x >= 0.0 else -result


@njit(inline="always", error_model="numpy")
def log1p_unit(x):
    """log(1 + x) for 0 <= x <= 1: twice the series of artanh(s), from (1 + x) / 2 where x is large."""
    large = x > 0.41421356237309503
    s = (x - 1.0) / (x + 3.0) if large else x / (x + 2.0)
    t = s * s
    p = 1.0 / 19.0
    p = fma(p, t, 1.0 / 17.0)
    p = fma(p, t, 1.0 / 15.0)
    p = fma(p, t, 1.0 / 13.0)
    p = fma(p, t, 1.0 / 11.0)
    p = fma(p, t, 1.0 / 9.0)
    p = fma(p, t, 1.0 / 7.0)
    p = fma(p, t, 1.0 / 5.0)
    p = fma(p, t, 1.0 / 3.0)
    result = 2.0 * fma(p * t, s, s)
    return result + 0.6931471805599453 if large else result


@njit(inline="always", error_model="numpy")
def sin_cos(x):
    """sin x and cos x for |x| < 1e6, by Taylor polynomials on [-pi / 4, pi / 4]."""
    n = nearest(x * TWO_OVER_PI)
    r = fma(n, -HALF_PI_3, fma(n, -HALF_PI_2, fma(n, -HALF_PI_1, x)))
    t = r * r
    s = fma(2.8114572543455206e-15, t, -7.647163731819816e-13)  # 1 / 17!, -1 / 15!, and so on
    s = fma(s, t, 1.6059043836821613e-10)
    s = fma(s, t, -2.505210838544172e-08)
    s = fma(s, t, 2.7557319223985893e-06)
    s = fma(s, t, -0.0001984126984126984)
    s = fma(s, t, 0.008333333333333333)
    s = fma(s, t, -0.16666666666666666)
    s = fma(s * t, r, r)
    c = fma(4.779477332387385e-14, t, -1.1470745597729725e-11)  # 1 / 16!, -1 / 14!, and so on
    c = fma(c, t, 2.08767569878681e-09)
    c = fma(c, t, -2.755731922398589e-07)
    c = fma(c, t, 2.48015873015873e-05)
    c = fma(c, t, -0.001388888888888889)
    c = fma(c, t, 0.041666666666666664)
    c = fma(c, t, -0.5)
    c = fma(c, t, 1.0)
    quarter = int(n) & 3
    odd = (quarter & 1) == 1
    sine, cosine = (c, s) if odd else (s, c)
    if quarter >= 2:
        sine = -sine
    if quarter == 1 or quarter == 2:
        cosine = -cosine
    return sine, cosine
