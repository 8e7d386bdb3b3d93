"""Functions of scipy.special that are compositions of ops: distribution functions by their old names, loss functions, and the like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand, is_tracked
from ...ops.elementwise.arithmetic import ABSOLUTE, FLOOR, REMAINDER, SQUARE, TRUNC
from ...ops.elementwise.bessel import JV, KV, YV
from ...ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from ...ops.elementwise.elliptic import ELLIPKM1
from ...ops.elementwise.incomplete import (
    BETAINC,
    BETAINCC,
    BETAINCCINV,
    BETAINCINV,
    GAMMAINC,
    GAMMAINCC,
    GAMMAINCCINV,
    GAMMAINCINV,
)
from ...ops.elementwise.special import DIGAMMA, GAMMALN, NDTRI, ZETA
from ...ops.elementwise.special_integrals import DEGREE, EXPN, SEVERAL, near_zero
from ..joining import as_value
from .polynomials import POLYNOMIALS

_EXPREL_SERIES = tuple(1.0 / math.factorial(k + 1) for k in range(14))


def loggamma(z: Operand) -> Operand:
    """As gammaln, but NaN below zero, where the value is complex."""
    return SELECT(z < 0.0, np.nan, GAMMALN(SELECT(z < 0.0, 1.0, z)))


def gammasgn(x: Operand) -> Operand:
    x = as_value(x)
    whole = FLOOR(x)
    below = SELECT(EQUAL(x, whole), np.nan, 1.0 - 2.0 * REMAINDER(whole, 2.0))
    return SELECT(x > 0.0, 1.0, SELECT(EQUAL(x, 0.0), np.copysign(1.0, x), below))


def polygamma(n: Operand, x: Operand) -> Operand:
    """The n-th derivative of digamma for plain integers n, as scipy.special.polygamma."""
    if is_tracked(n) or np.ndim(n):
        n = np.asarray(n, dtype=float) if not is_tracked(n) else n
        order = n + 1.0
        higher = SELECT(EQUAL(n % 2.0, 0.0), -1.0, 1.0) * np.exp(GAMMALN(order)) * ZETA(SELECT(n > 0.0, order, 2.0), x)
        return SELECT(EQUAL(n, 0.0), DIGAMMA(x), higher)
    if n == 0:
        return DIGAMMA(x)
    return float((-1) ** (int(n) + 1) * math.factorial(int(n))) * ZETA(float(n) + 1.0, x)


def exprel(x: Operand) -> Operand:
    """(exp(x) - 1) / x."""
    return near_zero(x, 0.1, _EXPREL_SERIES, lambda t: np.expm1(t) / t)


def huber(delta: Operand, r: Operand) -> Operand:
    """Quadratic near zero, linear beyond delta; infinite for negative delta, as in SciPy."""
    distance = ABSOLUTE(r)
    value = SELECT(distance <= delta, 0.5 * SQUARE(r), delta * (distance - 0.5 * delta))
    return SELECT(delta < 0.0, np.inf, value)


def pseudo_huber(delta: Operand, r: Operand) -> Operand:
    """delta**2 (sqrt(1 + (r / delta)**2) - 1), without cancellation."""
    is_inside = delta > 0.0
    u = SELECT(is_inside, r, 0.0) / SELECT(is_inside, delta, 1.0)
    value = SQUARE(SELECT(is_inside, r, 0.0)) / (1.0 + np.sqrt(1.0 + SQUARE(u)))
    return SELECT(delta < 0.0, np.inf, value)


def _last(k: Operand) -> Operand:
    """The integer up to which a distribution function sums."""
    return FLOOR(as_value(k) * 1.0)


def _inside(value: Operand, *conditions: Operand) -> Operand:
    """The value where all conditions hold, NaN elsewhere."""
    for condition in conditions:
        value = SELECT(condition, value, np.nan)
    return value


def _is_share(p: Operand) -> Operand:
    return ABSOLUTE(p - 0.5) <= 0.5


def _binomial(k: Operand, n: Operand, p: Operand, complement: bool) -> Operand:
    """P(X <= floor(k)) for n trials, or its complement."""
    k, n = _last(k), _whole(n)
    rest = n - k
    known = LOGICAL_AND(k >= 0.0, rest > 0.0)
    function = BETAINC if complement else BETAINCC
    value = function(SELECT(known, k, 0.0) + 1.0, SELECT(known, rest, 1.0), p)
    value = SELECT(EQUAL(rest, 0.0), 0.0 if complement else 1.0, value)
    # For k < 0 SciPy defines the complement, but not the distribution function.
    value = SELECT(k < 0.0, 1.0 if complement else np.nan, value)
    return _inside(value, _is_share(p), rest >= 0.0, n < np.inf)


def _negative_binomial(k: Operand, n: Operand, p: Operand, function: Callable[..., Operand]) -> Operand:
    """P(at most k failures before the n-th success), its complement or inverse."""
    k, n = _whole(k), _whole(n)
    return _inside(function(n, k + 1.0, p), _is_share(p), k >= 0.0, n >= 1.0, n < np.inf)


def _poisson(k: Operand, m: Operand, function: Callable[..., Operand]) -> Operand:
    return _inside(function(_last(k) + 1.0, m), k >= 0.0, m >= 0.0)


def _f_distribution(dfn: Operand, dfd: Operand, x: Operand, complement: bool) -> Operand:
    total = dfd + dfn * x
    value = BETAINC(0.5 * dfd, 0.5 * dfn, dfd / total) if complement else BETAINC(0.5 * dfn, 0.5 * dfd, dfn * x / total)
    return _inside(SELECT(EQUAL(x, np.inf), 0.0 if complement else 1.0, value), dfn > 0.0, dfd > 0.0, x >= 0.0)


def _whole(n: Operand) -> Operand:
    """An order, truncated as in SciPy."""
    return TRUNC(as_value(n) * 1.0)


def agm(a: Operand, b: Operand) -> Operand:
    """The arithmetic-geometric mean, by Gauss's relation to the complete elliptic integral; NaN for numbers of different signs."""
    total = a + b
    is_zero = EQUAL(total, 0.0)
    size = SELECT(is_zero, 1.0, total)
    mean = 0.25 * np.pi * total / ELLIPKM1(4.0 * a * b / (size * size))
    return SELECT(a * b < 0.0, np.nan, SELECT(EQUAL(a * b, 0.0), 0.0, mean))


def _powm1(x: Operand, y: Operand) -> Operand:
    """x**y - 1, also for negative x and integer y."""
    is_positive = x > 0.0
    small = np.expm1(y * np.log(SELECT(is_positive, x, 1.0)))
    return SELECT(is_positive, small, np.power(SELECT(is_positive, 1.0, x), y) - 1.0)


COMPOSITIONS: dict[str, Callable[..., Operand]] = {
    "loggamma": loggamma, "gammasgn": gammasgn, "exprel": exprel, "huber": huber, "pseudo_huber": pseudo_huber,
    "cosm1": lambda x: -2.0 * SQUARE(np.sin(0.5 * x)), "powm1": _powm1,
    "gdtr": lambda a, b, x: _inside(GAMMAINC(b, a * x), x >= 0.0), "gdtrc": lambda a, b, x: _inside(GAMMAINCC(b, a * x), x >= 0.0),
    "gdtrix": lambda a, b, p: GAMMAINCINV(b, p) / a,
    "chdtr": lambda v, x: GAMMAINC(0.5 * v, 0.5 * x), "chdtrc": lambda v, x: GAMMAINCC(0.5 * v, 0.5 * x),
    "chdtri": lambda v, p: 2.0 * GAMMAINCCINV(0.5 * v, p),
    "pdtr": lambda k, m: _poisson(k, m, GAMMAINCC), "pdtrc": lambda k, m: _poisson(k, m, GAMMAINC),
    "bdtr": lambda k, n, p: _binomial(k, n, p, complement=False), "bdtrc": lambda k, n, p: _binomial(k, n, p, complement=True),
    "nbdtr": lambda k, n, p: _negative_binomial(k, n, p, BETAINC),
    "nbdtrc": lambda k, n, p: _negative_binomial(k, n, p, BETAINCC),
    "fdtr": lambda dfn, dfd, x: _f_distribution(dfn, dfd, x, complement=False),
    "fdtrc": lambda dfn, dfd, x: _f_distribution(dfn, dfd, x, complement=True),
    **{name: lambda x, ops=ops: tuple(op(x) for op in ops) for name, ops in SEVERAL.items()},
    **POLYNOMIALS, "agm": agm, "jve": JV, "yve": YV, "jn": JV, "round": lambda x: np.rint(x),
    "radian": lambda d, m, s: DEGREE * (d + m / 60.0 + s / 3600.0),
    "pdtri": lambda k, y: _inside(GAMMAINCCINV(_whole(k) + 1.0, y), _whole(k) >= 0.0, y < 1.0),
    "gdtria": lambda p, b, x: GAMMAINCINV(b, p) / x,
    "bdtri": lambda k, n, y: _inside(BETAINCCINV(_last(k) + 1.0, _whole(n) - _last(k), y), _last(k) >= 0.0, _whole(n) < np.inf),
    "nbdtri": lambda k, n, y: _negative_binomial(k, n, y, BETAINCINV),
    "fdtri": lambda dfn, dfd, p: dfd * BETAINCINV(0.5 * dfn, 0.5 * dfd, p) / (dfn * BETAINCCINV(0.5 * dfd, 0.5 * dfn, p)),
    "nrdtrimn": lambda p, std, x: x - std * NDTRI(p), "nrdtrisd": lambda mn, p, x: (x - mn) / NDTRI(p),
    "kn": lambda n, x: KV(_whole(n), x), "yn": lambda n, x: YV(_whole(n), x), "expn": lambda n, x: EXPN(_whole(n), x),
}  # fmt: skip
