"""SciPy's special functions, elementwise. SciPy is imported when one is first evaluated, as `import tapediff` must stay fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from ..errors import UnsupportedFunction
from .arithmetic import QUOTIENT_OR_ZERO
from .comparison import SELECT
from .declaration import ABOVE_ONE, POSITIVE, PROBABILITY, REAL, UNIT, elementwise

TWO_OVER_SQRT_PI = float(2.0 / np.sqrt(np.pi))
SQRT_TWO_PI = float(np.sqrt(2.0 * np.pi))


@lru_cache
def scipy_ufunc(name: str) -> Any:
    return getattr(importlib.import_module("scipy.special"), name)


def _evaluated_by(name: str) -> Callable[..., Any]:
    return lambda *args: scipy_ufunc(name)(*args)


GAMMALN = elementwise(
    "gammaln",
    _evaluated_by("gammaln"),
    "gammaln(x)",
    (lambda z_bar, z, x: z_bar * DIGAMMA(x),),
    samples=(POSITIVE,),
    by_element=True,
)
DIGAMMA = elementwise(
    "digamma",
    _evaluated_by("digamma"),
    "digamma(x)",
    (lambda z_bar, z, x: z_bar * ZETA(2.0, x),),
    samples=(POSITIVE,),
    by_element=True,
)


def _zeta_rule(z_bar: Any, z: Any, order: Any, x: Any) -> Any:
    """Of the Hurwitz zeta function in its second argument; the polygamma functions are its multiples."""
    return -z_bar * order * ZETA(order + 1.0, x)


def _zeta_order_rule(z_bar: Any, z: Any, order: Any, x: Any) -> NoReturn:
    raise UnsupportedFunction(
        "the derivative of zeta in its first argument is not known", fix="td.stop_gradient(order) if none is meant"
    )


ZETA = elementwise(
    "zeta",
    _evaluated_by("zeta"),
    "zeta(x, y)",
    (_zeta_order_rule, _zeta_rule),
    samples=(ABOVE_ONE, POSITIVE),
    not_differentiated=(0,),
    by_element=True,
)
GAMMA = elementwise(
    "gamma",
    _evaluated_by("gamma"),
    "gamma(x)",
    (lambda z_bar, z, x: z_bar * z * DIGAMMA(x),),
    samples=(POSITIVE,),
    by_element=True,
)
ERF = elementwise(
    "erf",
    _evaluated_by("erf"),
    "erf(x)",
    (lambda z_bar, z, x: z_bar * (TWO_OVER_SQRT_PI * np.exp(-x * x)),),
    samples=(REAL,),
    by_element=True,
)
ERFC = elementwise(
    "erfc",
    _evaluated_by("erfc"),
    "erfc(x)",
    (lambda z_bar, z, x: z_bar * (-TWO_OVER_SQRT_PI * np.exp(-x * x)),),
    samples=(REAL,),
    by_element=True,
)
NDTR = elementwise(
    "ndtr",
    _evaluated_by("ndtr"),
    "ndtr(x)",
    (lambda z_bar, z, x: z_bar * (np.exp(-0.5 * x * x) / SQRT_TWO_PI),),
    samples=(REAL,),
    by_element=True,
)
# Below this, both terms of the exponent of the derivative of log_ndtr are so large that their rounding shows.
FAR_BELOW = -30.0


def _hazard_far_above(x: Any) -> Any:
    """The normal density over the normal tail beyond x: the first terms of its asymptotic series, relative error 1e-14 from 30 on."""
    u = 1.0 / (x * x)
    return x + (1.0 + u * (-2.0 + u * (10.0 + u * (-74.0 + 706.0 * u)))) / x


LOG_NDTR = elementwise(
    "log_ndtr",
    _evaluated_by("log_ndtr"),
    "log_ndtr(x)",
    (lambda z_bar, z, x: z_bar * SELECT(x < FAR_BELOW, _hazard_far_above(-x), np.exp(-0.5 * x * x - z) / SQRT_TWO_PI),),
    samples=(REAL,),
    by_element=True,
)
NDTRI = elementwise(
    "ndtri",
    _evaluated_by("ndtri"),
    "ndtri(x)",
    (lambda z_bar, z, x: z_bar * (SQRT_TWO_PI * np.exp(0.5 * z * z)),),
    samples=(PROBABILITY,),
    by_element=True,
)
ERFINV = elementwise(
    "erfinv",
    _evaluated_by("erfinv"),
    "erfinv(x)",
    (lambda z_bar, z, x: z_bar * (np.exp(z * z) / TWO_OVER_SQRT_PI),),
    samples=(UNIT,),
    by_element=True,
)
LOGIT = elementwise(
    "logit", _evaluated_by("logit"), "logit(x)", (lambda z_bar, z, x: z_bar / (x * (1.0 - x)),), samples=(PROBABILITY,)
)


def _xlogy_first(z_bar: Any, z: Any, x: Any, y: Any) -> Any:
    """log y, also at x = 0, unless y = 0 too, where the function is constantly 0 along x only for y > 0."""
    return z_bar * np.log(y)


XLOGY = elementwise(
    "xlogy", _evaluated_by("xlogy"), "xlogy(x, y)",
    (_xlogy_first, lambda z_bar, z, x, y: z_bar * QUOTIENT_OR_ZERO(x, y)),
    samples=(POSITIVE, POSITIVE),
)  # fmt: skip
XLOG1PY = elementwise(
    "xlog1py", _evaluated_by("xlog1py"), "xlog1py(x, y)",
    (lambda z_bar, z, x, y: z_bar * np.log1p(y), lambda z_bar, z, x, y: z_bar * QUOTIENT_OR_ZERO(x, 1.0 + y)),
    samples=(POSITIVE, POSITIVE),
)  # fmt: skip
BETALN = elementwise(
    "betaln", _evaluated_by("betaln"), "betaln(x, y)",
    (lambda z_bar, z, x, y: z_bar * (DIGAMMA(x) - DIGAMMA(x + y)), lambda z_bar, z, x, y: z_bar * (DIGAMMA(y) - DIGAMMA(x + y))),
    samples=(POSITIVE, POSITIVE), by_element=True,
)  # fmt: skip

OPS = (
    GAMMALN, DIGAMMA, ZETA, GAMMA, ERF, ERFC, NDTR, LOG_NDTR, NDTRI, ERFINV, LOGIT, XLOGY, XLOG1PY, BETALN,
)  # fmt: skip
