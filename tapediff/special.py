"""scipy.special's names for tracked and plain arrays, including the plain Python functions that cannot be intercepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .ir.instruction import Operand, is_tracked
from .numpy_api.composed.special_functions import COMPOSITIONS
from .numpy_api.composed.special_functions import polygamma as _polygamma
from .numpy_api.joining import as_value
from .ops import BY_SCIPY_NAME
from .ops.elementwise import special as _ops
from .ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from .ops.elementwise.special import evaluated_by
from .ops.elementwise.structure import STOP_GRADIENT

gammaln = _ops.GAMMALN
digamma = psi = _ops.DIGAMMA
zeta, gamma = _ops.ZETA, _ops.GAMMA
erf, erfc, erfinv = _ops.ERF, _ops.ERFC, _ops.ERFINV
ndtr, log_ndtr, ndtri = _ops.NDTR, _ops.LOG_NDTR, _ops.NDTRI
xlogy, xlog1py, betaln, logit = _ops.XLOGY, _ops.XLOG1PY, _ops.BETALN, _ops.LOGIT
expit, log_expit = BY_SCIPY_NAME["expit"], BY_SCIPY_NAME["log_expit"]

# Every other function that tracked arrays answer, by SciPy's name.
OTHERS = {name for name in (*BY_SCIPY_NAME, *COMPOSITIONS) if name not in {*globals(), "exp2", "cbrt", "log1p", "expm1"}}


def __getattr__(name: str) -> Callable[..., Operand]:
    """A function by SciPy's name: for plain arguments SciPy's own."""
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


def logsumexp(
    a: Operand, axis: int | Sequence[int] | None = None, b: Operand = None, keepdims: bool = False, return_sign: bool = False
) -> Operand:
    """log(sum(b * exp(a))) without overflow; signature and shapes as scipy.special.logsumexp.

    Args:
        a: array of any shape.
        axis: int, tuple or None for all axes.
        b: weights that broadcast to a; where the sum is negative, the result is NaN unless its sign is asked for.
        keepdims: keep reduced axes with length 1.
        return_sign: give the logarithm of the sum's absolute value, and its sign.

    Returns:
        The reduced array; -inf where every term is zero, with derivative 0 there. With return_sign a pair, of which the second is the sign.
    """
    a = _array(a)
    top = np.max(a, axis=axis, keepdims=True)
    # The shift is a constant of the mathematics: its derivative cancels, so none is taken.
    shift = STOP_GRADIENT(SELECT(np.isfinite(top), top, 0.0))
    terms = np.exp(a - shift)
    if b is not None:
        terms = terms * _array(b)
    total = np.sum(terms, axis=axis, keepdims=True)
    sign = np.sign(total) if return_sign else None
    total = np.abs(total) if return_sign else total
    empty = EQUAL(total, 0.0)
    result = SELECT(empty, -np.inf, np.log(SELECT(empty, 1.0, total))) + shift
    infinite = LOGICAL_AND(np.isinf(top), top > 0)
    results = (SELECT(infinite, top, result), *(() if sign is None else (sign,)))
    results = results if keepdims else tuple(np.squeeze(value, axis=axis)[()] for value in results)
    return results if return_sign else results[0]


def softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; as scipy.special.softmax."""
    x = _array(x)
    terms = np.exp(x - STOP_GRADIENT(np.max(x, axis=axis, keepdims=True)))
    return terms / np.sum(terms, axis=axis, keepdims=True)


def log_softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """log(softmax(x)) without loss of precision; as scipy.special.log_softmax."""
    x = _array(x)
    shifted = x - STOP_GRADIENT(np.max(x, axis=axis, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def multigammaln(a: Operand, d: int) -> Operand:
    """Log of the multivariate gamma function of dimension d; as scipy.special.multigammaln."""
    offsets = 0.5 * (1.0 - np.arange(1, d + 1))
    return d * (d - 1) * 0.25 * np.log(np.pi) + np.sum(gammaln(np.expand_dims(_array(a), -1) + offsets), axis=-1)


def polygamma(n: Operand, x: Operand) -> Operand:
    """The n-th derivative of digamma at x, n whole numbers; as scipy.special.polygamma."""
    return _polygamma(n, _array(x))


def factorial(n: Operand) -> Operand:
    """gamma(n + 1), and 0 for negative n; as scipy.special.factorial with exact=False."""
    n = _array(n)
    return SELECT(n < 0.0, 0.0, gamma(SELECT(n < 0.0, 0.0, n) + 1.0))


def comb(N: Operand, k: Operand) -> Operand:
    """The number of ways to choose k of N, 0 for k > N or negative ones; as scipy.special.comb with exact=False."""
    is_possible, n, k = _possible(N, k)
    return SELECT(is_possible, BY_SCIPY_NAME["binom"](n, k), 0.0)


def perm(N: Operand, k: Operand) -> Operand:
    """The number of ordered choices of k of N, 0 for k > N or negative ones; as scipy.special.perm with exact=False."""
    is_possible, n, k = _possible(N, k)
    return SELECT(is_possible, BY_SCIPY_NAME["poch"](n - k + 1.0, k), 0.0)


def _possible(n: Operand, k: Operand) -> tuple[Operand, Operand, Operand]:
    """Whether k of n can be chosen, and the numbers, harmless ones where they cannot."""
    n, k = _array(n), _array(k)
    is_possible = LOGICAL_AND(LOGICAL_AND(n >= k, n >= 0.0), k >= 0.0)
    return is_possible, SELECT(is_possible, n, 1.0), SELECT(is_possible, k, 0.0)


def _array(value: Operand) -> Operand:
    if is_tracked(value):
        return value
    array = as_value(value)
    return array if is_tracked(array) else np.asarray(array, dtype=float)[()]
