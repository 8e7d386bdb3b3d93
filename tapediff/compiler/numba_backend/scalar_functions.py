"""The vocabulary of scalar expressions for numba: NumPy's functions, Python's operators, functions written here, and SciPy's by address.

A name means what it means in compiler.math.function_table. A program gets copies of the definitions that it uses, so these need no other
module of this package but those in program_text.LIBRARY.
"""

# ruff: noqa: F401 -- expressions call these functions by name
import ctypes
import math
from operator import (
    add as add,
    and_ as logical_and,
    eq as equal,
    ge as greater_equal,
    gt as greater,
    le as less_equal,
    lt as less,
    mul as multiply,
    ne as not_equal,
    neg as negative,
    not_ as logical_not,
    or_ as logical_or,
    pos as positive,
    sub as subtract,
    truediv as divide,
    xor as logical_xor,
)

import numpy as np
from numba import njit
from numba.extending import get_cython_function_address
from numpy import (
    absolute,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cbrt,
    ceil,
    copysign,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    floor,
    fmax,
    fmin,
    fmod,
    hypot,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    maximum,
    minimum,
    power,
    reciprocal,
    rint,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)
from scipy import LowLevelCallable
from scipy.special import cython_special

from ...ops.elementwise.elementary import TANH_FAR

# Division by zero gives what NumPy gives, and sums are taken in the order in which they are written.
jit = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # numba lists not all options

# For functions that only compiled code calls: without wrappers for Python they compile in little more than half the time.
inner = njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)  # type: ignore[call-overload]


@inner
def fma(x, y, z):
    return x * y + z


@inner
def select(condition, x, y):
    return x if condition else y


@inner
def select_by_jump(condition, x, y):
    return x if condition else y


@inner
def zero_where_discarded(x, y, w):
    return 0.0 if y == 0.0 and isnan(w) and isnan(x) else x


@inner
def to_f64(x):
    return np.float64(x)


@inner
def to_i64(x):
    return np.int64(x)


@inner
def round_to_float32(x):
    return np.float64(np.float32(x))


# Remainders


@inner
def mod(x, y):
    """The remainder that has the sign of y."""
    rest = np.fmod(x, y)
    if rest == 0.0:
        return math.copysign(0.0, y) if y == y else rest
    return rest + y if (rest < 0.0) != (y < 0.0) else rest


@inner
def floor_divide(x, y):
    """The largest integer that is not above x / y, consistent with mod; x / y at y = 0."""
    if y == 0.0:
        return x / y
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0.0 and (rest < 0.0) != (y < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return math.copysign(0.0, x / y)
    whole = np.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


@inner
def integer_floor_divide(x, y):
    """Exact for all integers; 0 at y = 0, and -2**63 wraps around at y = -1."""
    if y == 0:
        return np.int64(0)
    if y == -1:
        return np.int64(0) - np.int64(x)
    return np.int64(x) // np.int64(y)


@inner
def integer_mod(x, y):
    return np.int64(0) if y == 0 or y == -1 else np.int64(x) % np.int64(y)


# Random bits


@inner
def random_bits(first, second, counter):
    """Threefry-2x32 of 20 rounds, as in ops/elementwise/counter_based.py; sums are in 64 bits, of which 32 are kept."""
    mask = np.uint64(0xFFFFFFFF)
    key0, key1 = np.uint64(first) & mask, np.uint64(second) & mask
    keys = (key0, key1, np.uint64(0x1BD11BDA) ^ key0 ^ key1)
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    x = ((np.uint64(counter) & mask) + key0) & mask
    y = ((np.uint64(counter) >> np.uint64(32)) + key1) & mask
    for block in range(5):
        for k in range(4):
            turn = np.uint64(rotations[block % 2][k])
            x = (x + y) & mask
            y = (((y << turn) | (y >> (np.uint64(32) - turn))) & mask) ^ x
        x = (x + keys[(block + 1) % 3]) & mask
        y = (y + keys[(block + 2) % 3] + np.uint64(block + 1)) & mask
    return np.int64((x << np.uint64(32)) | y)


@inner
def random_unit(first, second, counter):
    """An odd multiple of 2**-53 in (0, 1)."""
    return (np.float64(np.uint64(random_bits(first, second, counter)) >> np.uint64(12)) + 0.5) * 2.0**-52


# Logistic functions and their like


@inner
def expit(x):
    """1 / (1 + e**-x), right to the last subnormal for very negative x."""
    decayed = math.exp(-abs(x))
    return decayed / (1.0 + decayed) if x < 0.0 else 1.0 / (1.0 + decayed)


@inner
def tanh_slope(x, y):
    """1 - x**2 for x = tanh(y): far out 4 times the derivative of expit at 2 y; 0 where it is below 2e-307."""
    if abs(y) > TANH_FAR:
        decayed = math.exp(-2.0 * abs(y))
        return 0.0 if decayed < 2.0**-1021 else 4.0 * decayed / (1.0 + decayed) ** 2
    return 1.0 - x * x


@inner
def log_expit(x):
    return (x if x < 0.0 else -0.0) - math.log1p(math.exp(-abs(x)))


@inner
def softplus(x):
    """log(1 + e**x) without overflow."""
    return (x if x > 0.0 else 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x


@inner
def logit(p):
    """log(p / (1 - p)); the difference to 1/2 is exact near it."""
    if abs(p - 0.5) < 0.25:
        return np.log1p((2.0 * (p - 0.5)) / (1.0 - p))
    return np.log(p / (1.0 - p))


@inner
def xlogy(x, y):
    return 0.0 if x == 0.0 and y == y else x * np.log(y)


@inner
def xlog1py(x, y):
    return 0.0 if x == 0.0 and y == y else x * np.log1p(y)


# Special functions


def special(name):
    """A function of doubles that SciPy's Cython modules export, to be called by address; its last argument is ignored."""
    for symbol in (name, *(f"__pyx_fuse_{k}{name}" for k in range(4))):
        if symbol in cython_special.__pyx_capi__:
            signature = LowLevelCallable.from_cython(cython_special, symbol).signature
            arguments = signature.removesuffix("int __pyx_skip_dispatch)").removeprefix("double (")
            count = arguments.count("double, ")
            if count and arguments == "double, " * count:
                prototype = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * count, ctypes.c_int)
                return prototype(get_cython_function_address("scipy.special.cython_special", symbol))
    raise LookupError(f"scipy.special exports no {name} of doubles")


def special_results(name, count):
    """A function of one double with several results, which it writes to pointers."""
    wanted = "void (double" + ", double *" * count + ")"
    for symbol in (f"__pyx_fuse_{k}{name}" for k in range(4)):
        if symbol in cython_special.__pyx_capi__ and LowLevelCallable.from_cython(cython_special, symbol).signature == wanted:
            prototype = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * count)
            return prototype(get_cython_function_address("scipy.special.cython_special", symbol))
    raise LookupError(f"scipy.special exports no {name} of doubles with {count} results")


_digamma = special("psi")


@inner
def digamma(x):
    return _digamma(x, 0)


@inner
def polygamma(n, x):
    """The n-th derivative of digamma."""
    factor = -1.0
    for k in range(1, n + 1):
        factor *= -k
    return digamma(x) if n == 0 else factor * zeta(n + 1.0, x)


# B(2j) / (2j)!, of the Euler-Maclaurin formula.
BERNOULLI = (
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
)


@inner
def zeta(s, q):
    """The Hurwitz zeta function, the sum of (q + k)**-s over k >= 0; NaN for s < 1 and for q < -1e5.

    Source: Euler-Maclaurin formula, as in Cephes zeta.c (Moshier 1989).
    """
    if not (s >= 1.0 and q >= -1e5):
        return np.nan
    if s == 1.0 or (q <= 0.0 and np.floor(q) == q):
        return np.inf
    total, a = 0.0, q
    while a < min(s, 1000.0) + 10.0:
        total += np.power(a, -s)
        a += 1.0
    return total + zeta_remainder(s, a)


@inner
def zeta_remainder(s, a):
    """The sum of (a + k)**-s over k >= 0, for a that is large compared with s."""
    bounded = min(s, 1000.0)
    squared = 1.0 / (a * a)
    factor, total = bounded / a, 0.5
    for j in range(8):
        total = BERNOULLI[j] * factor + total
        factor = factor * ((bounded + (2.0 * j + 1.0)) * (bounded + (2.0 * j + 2.0))) * squared
    mean = 1.0 / (bounded - 1.0) + total / a
    # a**-s alone would underflow for huge a.
    return np.power(a, 1.0 - s) * mean if a > 1e8 else np.power(a, -s) * (mean * a)
