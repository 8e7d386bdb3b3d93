"""scipy.special's names for tracked and plain arrays, including the plain Python functions that cannot be intercepted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .errors import UnsupportedFunction
from .ir.instruction import Operand, is_tracked, of_form
from .numpy_api.composed.special_functions import COMPOSITIONS, polygamma as _polygamma
from .numpy_api.joining import as_value
from .ops import BY_SCIPY_NAME
from .ops.elementwise import special as _ops
from .ops.elementwise.arithmetic import PRODUCT_OR_ZERO
from .ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from .ops.elementwise.special import evaluated_by
from .ops.elementwise.structure import STOP_GRADIENT
from .ops.matrices.given_values import GIVEN

gammaln = _ops.GAMMALN
digamma = psi = _ops.DIGAMMA
zeta, gamma = _ops.ZETA, _ops.GAMMA
erf, erfc, erfinv = _ops.ERF, _ops.ERFC, _ops.ERFINV
ndtr, log_ndtr, ndtri = _ops.NDTR, _ops.LOG_NDTR, _ops.NDTRI
xlogy, xlog1py, betaln, logit = _ops.XLOGY, _ops.XLOG1PY, _ops.BETALN, _ops.LOGIT
expit, log_expit = BY_SCIPY_NAME["expit"], BY_SCIPY_NAME["log_expit"]

# All other functions for tracked arrays, by SciPy's name.
OTHERS = {name for name in (*BY_SCIPY_NAME, *COMPOSITIONS) if name not in {*globals(), "exp2", "cbrt", "log1p", "expm1"}}


def __getattr__(name: str) -> Callable[..., Operand]:
    """Look up a function by SciPy's name: for plain arguments SciPy's own."""
    if name not in OTHERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    answer = COMPOSITIONS.get(name) or BY_SCIPY_NAME[name]

    def function(*args: Operand) -> Operand:
        args = tuple(map(_array, args))
        return answer(*args) if any(map(is_tracked, args)) else evaluated_by(name)(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name} for tracked and plain arrays."
    found = globals()[name] = function
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *OTHERS})


@of_form("logsumexp")
def logsumexp(
    a: Operand, axis: int | Sequence[int] | None = None, b: Operand = None, keepdims: bool = False, return_sign: bool = False
) -> Operand:
    """log(sum(b * exp(a))) without overflow; signature and shapes as scipy.special.logsumexp.

    Args:
        a: array of any shape.
        axis: int, tuple or None for all axes.
        b: weights that broadcast to a; if the sum is negative, the result is NaN unless return_sign is given.
        keepdims: keep reduced axes with length 1.
        return_sign: return the logarithm of the sum's absolute value, and its sign.

    Returns:
        The reduced array; -inf where every term is zero, with derivative 0 there. With return_sign the pair (logarithm, sign).
    """
    a = _array(a)
    b = None if b is None else _array(b)
    # Entries of weight 0 are dropped, even if infinite or NaN.
    kept = a if b is None or not (is_tracked(b) or np.any(b == 0.0)) else SELECT(b == 0.0, -np.inf, a)
    top = np.max(kept, axis=axis, keepdims=True) if np.size(kept) else np.max(kept, axis=axis, keepdims=True, initial=-np.inf)
    # The shift cancels in the derivative, so it is treated as a constant.
    shift = STOP_GRADIENT(SELECT(np.isfinite(top), top, 0.0))
    if b is None:
        terms = np.exp(a - shift)
    else:
        # The derivative by a tracked weight at 0 is the exponential, which may be infinite.
        terms = PRODUCT_OR_ZERO(b, np.exp(a - shift)) if is_tracked(b) else b * np.exp(kept - shift)
    total = np.sum(terms, axis=axis, keepdims=True)
    sign = np.sign(total) if return_sign else None
    total = np.abs(total) if return_sign else total
    empty = EQUAL(total, 0.0)
    result = SELECT(empty, -np.inf, np.log(SELECT(empty, 1.0, total))) + shift
    infinite = LOGICAL_AND(EQUAL(top, np.inf), total > 0.0)
    results = (SELECT(infinite, top, result), *(() if sign is None else (sign,)))
    results = results if keepdims else tuple(np.squeeze(value, axis=axis)[()] for value in results)
    return results if return_sign else results[0]


def _below_largest(x: Operand, axis: int | Sequence[int] | None) -> tuple[Operand, Operand, Operand]:
    """x minus its largest entry; True where that entry is unique; and the sum of the exponentials of the others.

    A unique largest entry becomes 0 and is left out of the sum, so that 1 - softmax does not cancel in its derivatives.
    """
    largest = STOP_GRADIENT(np.max(x, axis=axis, keepdims=True))
    is_largest = EQUAL(x, largest)
    is_one = EQUAL(np.sum(is_largest, axis=axis, keepdims=True), 1)
    is_one = LOGICAL_AND(is_one, np.isfinite(largest))
    is_apart = LOGICAL_AND(is_largest, is_one)
    shift = SELECT(is_one, np.sum(SELECT(is_apart, x, 0.0), axis=axis, keepdims=True), largest)
    below = SELECT(is_apart, 0.0, x - shift)
    return below, is_one, np.sum(SELECT(is_apart, 0.0, np.exp(below)), axis=axis, keepdims=True)


@of_form("softmax")
def softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; as scipy.special.softmax."""
    below, is_one, rest = _below_largest(_array(x), axis)
    return np.exp(below) / SELECT(is_one, 1.0 + rest, rest)


@of_form("softmax")
def log_softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """log(softmax(x)) without loss of precision; as scipy.special.log_softmax."""
    below, is_one, rest = _below_largest(_array(x), axis)
    return below - SELECT(is_one, np.log1p(rest), np.log(SELECT(is_one, 1.0, rest)))


def multigammaln(a: Operand, d: int) -> Operand:
    """Log of the multivariate gamma function of dimension d; as scipy.special.multigammaln."""
    offsets = 0.5 * (1.0 - np.arange(1, d + 1))
    return d * (d - 1) * 0.25 * np.log(np.pi) + np.sum(gammaln(np.expand_dims(_array(a), -1) + offsets), axis=-1)


@of_form("entries")
def polygamma(n: Operand, x: Operand) -> Operand:
    """The n-th derivative of digamma at x, n integers; as scipy.special.polygamma."""
    return _polygamma(n, _array(x))


@of_form("entries")
def factorial(n: Operand) -> Operand:
    """gamma(n + 1), and 0 for negative n; as scipy.special.factorial with exact=False."""
    n = _array(n)
    return SELECT(n < 0.0, 0.0, gamma(SELECT(n < 0.0, 0.0, n) + 1.0))


def comb(N: Operand, k: Operand) -> Operand:
    """The number of ways to choose k of N, 0 for k > N or negative arguments; as scipy.special.comb with exact=False."""
    is_possible, n, k = _possible(N, k)
    return SELECT(is_possible, BY_SCIPY_NAME["binom"](n, k), 0.0)


def perm(N: Operand, k: Operand) -> Operand:
    """The number of ordered choices of k of N, 0 for k > N or negative arguments; as scipy.special.perm with exact=False."""
    is_possible, n, k = _possible(N, k)
    return SELECT(is_possible, BY_SCIPY_NAME["poch"](n - k + 1.0, k), 0.0)


def softplus(x: Operand) -> Operand:
    """log(1 + exp(x)) without overflow; as scipy.special.softplus."""
    return np.logaddexp(0.0, _array(x))


def lambertw(z: Operand, k: int = 0, tol: float = 1e-8) -> Operand:
    """The real w with w exp(w) = z, of the branch k = 0 (z >= -1/e) or k = -1 (-1/e <= z < 0); NaN elsewhere.

    SciPy returns complex numbers; these are their real parts where the imaginary ones are zero, also for plain arguments. `tol` has
    no effect.
    """
    z = _array(z)
    if not is_tracked(z):
        return evaluated_by("lambertw")(z, k, tol)
    if k not in (0, -1):
        raise UnsupportedFunction(f"lambertw of the branch k={k}, which is complex", fix="use k=0 or k=-1")
    fixed = STOP_GRADIENT(z)
    return GIVEN(_lambert(fixed, k), z, rule=_lambert_rule)


def _lambert_rule(w_bar: Operand, w: Operand, z: Operand) -> tuple[Operand]:
    """exp(-w) / (1 + w)."""
    return (w_bar * np.exp(-w) / (1.0 + w),)


def _lambert(z: Operand, k: int) -> Operand:
    """Halley's iteration, cubic, from a start within a few percent; near -1/e by the series there. Source: Corless et al. (1996)."""
    is_inside = LOGICAL_AND(z >= -np.exp(-1.0), LOGICAL_AND(z < np.inf, z == z if k == 0 else z < 0.0))
    x = SELECT(is_inside, z, 1.0 if k == 0 else -0.25)
    p = np.sqrt(np.clip(2.0 * (np.e * x + 1.0), 0.0, 2.0)) * (1.0 if k == 0 else -1.0)
    near = -1.0 + p * (1.0 + p * (-1.0 / 3.0 + p * (11.0 / 72.0)))
    if k == 0:
        size = np.log1p(np.maximum(x, -0.3))
        w = SELECT(x < -0.2, near, size * (1.0 - np.log1p(np.maximum(size, -0.5)) / (2.0 + size)))
    else:
        size = np.log(np.minimum(-x, 0.3))
        w = SELECT(x < -0.25, near, size - np.log(-size) * (1.0 - 1.0 / size))
    for _ in range(4):
        # Divided by exp(w), which may overflow.
        excess, more = w - x * np.exp(-w), w + 1.0
        is_end = EQUAL(more, 0.0)
        w = w - SELECT(is_end, 0.0, excess / SELECT(is_end, 1.0, more - (w + 2.0) * excess / (2.0 * SELECT(is_end, 1.0, more))))
    outside = SELECT(EQUAL(z, np.inf), np.inf, np.nan) if k == 0 else SELECT(EQUAL(z, 0.0), -np.inf, np.nan)
    return SELECT(is_inside, w, outside)


@dataclass(frozen=True)
class _SphericalRule:
    """The derivative of a spherical Bessel function of order n, from the neighbouring orders."""

    name: str
    n: int

    def __call__(self, z_bar: Operand, z: Operand, x: Operand) -> tuple[Operand]:
        return (z_bar * _spherical_slope(self.name, self.n, x),)


# The Bessel function it is a multiple of, and the signs of its neighbours in (2 n + 1) f' = n f(n - 1) + (n + 1) f(n + 1).
_SPHERICAL = {"spherical_jn": ("jv", 1.0, -1.0), "spherical_yn": ("yv", 1.0, -1.0), "spherical_in": ("iv", 1.0, 1.0),
              "spherical_kn": ("kv", -1.0, -1.0)}  # fmt: skip


def _spherical_slope(name: str, n: int, x: Operand) -> Operand:
    _, below, above = _SPHERICAL[name]
    total = (above * (n + 1) / (2 * n + 1)) * _spherical(name, n + 1, x)
    return total if n == 0 else total + (below * n / (2 * n + 1)) * _spherical(name, n - 1, x)


def _spherical(name: str, n: int, x: Operand) -> Operand:
    fixed = STOP_GRADIENT(x)
    has_zero = name in ("spherical_jn", "spherical_in")
    is_zero = EQUAL(fixed, 0.0)
    size = SELECT(is_zero, 1.0, np.abs(fixed)) if has_zero else np.abs(fixed)
    value = np.sqrt(0.5 * np.pi / size) * BY_SCIPY_NAME[_SPHERICAL[name][0]](n + 0.5, size)
    is_left = fixed < 0.0
    if name == "spherical_kn":  # neither even nor odd: its closed form
        y = SELECT(is_left, fixed, -1.0)
        terms = [math.comb(n + k, k) * math.perm(n, k) / (2.0 * y) ** k for k in range(n + 1)]
        value = SELECT(is_left, 0.5 * np.pi * np.exp(-y) / y * sum(terms), value)
    elif (n % 2 == 0) == (name == "spherical_yn"):  # odd
        value = SELECT(is_left, -value, value)
    if has_zero:
        value = SELECT(is_zero, 1.0 if n == 0 else 0.0, value)
    return GIVEN(value, x, rule=_SphericalRule(name, n))


def _spherical_function(name: str) -> Callable[..., Operand]:
    def function(n: Operand, z: Operand, derivative: bool = False) -> Operand:
        z = _array(z)
        if not (is_tracked(z) or is_tracked(n)):
            return evaluated_by(name)(n, z, derivative)
        if is_tracked(n) or np.ndim(n) or n != int(n) or n < 0:
            raise UnsupportedFunction(f"{name} of an order that is not a plain integer", got=repr(n), fix="use n = 0, 1, 2, ...")
        return (_spherical_slope if derivative else _spherical)(name, int(n), z)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name} of real arguments and a whole order."
    return function


spherical_jn, spherical_yn = _spherical_function("spherical_jn"), _spherical_function("spherical_yn")
spherical_in, spherical_kn = _spherical_function("spherical_in"), _spherical_function("spherical_kn")


def _possible(n: Operand, k: Operand) -> tuple[Operand, Operand, Operand]:
    """A mask where k of n can be chosen, and both numbers, replaced by harmless ones elsewhere."""
    n, k = _array(n), _array(k)
    is_possible = LOGICAL_AND(LOGICAL_AND(n >= k, n >= 0.0), k >= 0.0)
    return is_possible, SELECT(is_possible, n, 1.0), SELECT(is_possible, k, 0.0)


def _array(value: Operand) -> Operand:
    if is_tracked(value):
        return value
    array = as_value(value)
    return array if is_tracked(array) else np.asarray(array, dtype=float)[()]
