"""SciPy's special functions, elementwise. SciPy is imported when one is first evaluated, as `import tapediff` must stay fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NoReturn

import numpy as np

from ...errors import UnsupportedFunction
from ...ir.instruction import Operand
from ..declaration.op import Elementwise, Rule
from ..declaration.samples import ABOVE_ONE, POSITIVE, PROBABILITY, REAL, UNIT, Domain
from .arithmetic import QUOTIENT_OR_ZERO
from .comparison import EQUAL, IS_INF, SELECT

TWO_OVER_SQRT_PI = float(2.0 / np.sqrt(np.pi))
SQRT_TWO_PI = float(np.sqrt(2.0 * np.pi))


@lru_cache
def scipy_ufunc(name: str) -> Callable[..., Operand]:
    return getattr(importlib.import_module("scipy.special"), name)


def evaluated_by(name: str) -> Callable[..., Operand]:
    return lambda *args: scipy_ufunc(name)(*args)


def polynomial(coefficients: Sequence[float], x: Operand) -> Operand:
    """Evaluate a polynomial by Horner's rule; the constant term is first."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def function_of_one(name: str, rule: Rule, domain: Domain) -> Elementwise:
    """Declare the op of a function of scipy.special of one argument, under its name."""
    return Elementwise(name, evaluated_by(name), f"{name}(x)", vjp=(rule,), samples=(domain,))


def function_of_two(name: str, first: Rule, second: Rule, domains: tuple[Domain, Domain], fixed: tuple[int, ...] = ()) -> Elementwise:
    """Declare the op of a function of two arguments; derivatives at the positions `fixed` are not known."""
    return Elementwise(name, evaluated_by(name), f"{name}(x, y)", vjp=(first, second), samples=domains, not_differentiated=fixed)


def unknown_derivative(name: str, argument: str) -> Callable[..., NoReturn]:
    """The rule for an argument without a known derivative."""

    def rule(*_: Operand) -> NoReturn:
        raise UnsupportedFunction(
            f"the derivative of {name} in its {argument} is not known", fix=f"td.stop_gradient({argument}) if none is meant"
        )

    return rule


GAMMALN = function_of_one("gammaln", lambda z_bar, z, x: z_bar * DIGAMMA(x), POSITIVE)
DIGAMMA = function_of_one("digamma", lambda z_bar, z, x: z_bar * ZETA(2.0, x), POSITIVE)


def _zeta_rule(z_bar: Operand, z: Operand, order: Operand, x: Operand) -> Operand:
    """The derivative of the Hurwitz zeta function in its second argument; the polygamma functions are its multiples."""
    return -z_bar * order * ZETA(order + 1.0, x)


ZETA = Elementwise(
    "zeta", evaluated_by("zeta"), "zeta(x, y)", vjp=(unknown_derivative("zeta", "order"), _zeta_rule),
    samples=(ABOVE_ONE, POSITIVE), not_differentiated=(0,),
)
GAMMA = function_of_one("gamma", lambda z_bar, z, x: z_bar * z * DIGAMMA(x), POSITIVE)


def _bell(x: Operand, rate: float) -> Operand:
    """exp(-rate x**2), with derivatives of 0 at infinity to every order, where its parts would give 0 times infinity."""
    x = SELECT(IS_INF(x), _ZERO_FROM, x)
    return np.exp(-rate * x * x)


# A number at which a normal density is 0 in floats of any precision.
_ZERO_FROM = 1e3
ERF = function_of_one("erf", lambda z_bar, z, x: z_bar * (TWO_OVER_SQRT_PI * _bell(x, 1.0)), REAL)
ERFC = function_of_one("erfc", lambda z_bar, z, x: z_bar * (-TWO_OVER_SQRT_PI * _bell(x, 1.0)), REAL)
NDTR = function_of_one("ndtr", lambda z_bar, z, x: z_bar * (_bell(x, 0.5) / SQRT_TWO_PI), REAL)
# Below this the asymptotic series is exact to rounding; both terms in the exponent of log_ndtr's derivative are large there.
FAR_BELOW = -12.0


def _hazard_series(count: int) -> list[float]:
    """Coefficients b of g = h - x for the hazard rate h of the normal distribution, in odd powers of 1 / x, from 1 + g' = (x + g) g."""
    b = [1]
    for m in range(count - 1):
        b.append(-(2 * m + 1) * b[m] - sum(b[k] * b[m - k] for k in range(m + 1)))
    return [float(c) for c in b]


_HAZARD = _hazard_series(18)


def _hazard_far_above(x: Operand) -> Operand:
    """The normal density over the normal tail beyond x, for large x."""
    return x + polynomial(_HAZARD, 1.0 / (x * x)) / x


def log_ndtr_slope(z: Operand, x: Operand) -> Operand:
    """The derivative of log_ndtr at x, where its value is z."""
    above = SELECT(EQUAL(x, np.inf), _ZERO_FROM, x)  # as in _bell
    return SELECT(x < FAR_BELOW, _hazard_far_above(-x), np.exp(-0.5 * above * above - z) / SQRT_TWO_PI)


LOG_NDTR = function_of_one("log_ndtr", lambda z_bar, z, x: z_bar * log_ndtr_slope(z, x), REAL)
NDTRI = function_of_one("ndtri", lambda z_bar, z, x: z_bar * (SQRT_TWO_PI * np.exp(0.5 * z * z)), PROBABILITY)
ERFINV = function_of_one("erfinv", lambda z_bar, z, x: z_bar * (np.exp(z * z) / TWO_OVER_SQRT_PI), UNIT)
LOGIT = function_of_one("logit", lambda z_bar, z, x: z_bar / (x * (1.0 - x)), PROBABILITY)


def _xlogy_first(z_bar: Operand, z: Operand, x: Operand, y: Operand) -> Operand:
    """log y, also at x = 0; infinite at y = 0."""
    return z_bar * np.log(y)


XLOGY = Elementwise(
    "xlogy", evaluated_by("xlogy"), "xlogy(x, y)", vjp=(_xlogy_first, lambda z_bar, z, x, y: z_bar * QUOTIENT_OR_ZERO(x, y)),
    samples=(POSITIVE, POSITIVE),
)
XLOG1PY = Elementwise(
    "xlog1py", evaluated_by("xlog1py"), "xlog1py(x, y)",
    vjp=(lambda z_bar, z, x, y: z_bar * np.log1p(y), lambda z_bar, z, x, y: z_bar * QUOTIENT_OR_ZERO(x, 1.0 + y)),
    samples=(POSITIVE, POSITIVE),
)
BETALN = Elementwise(
    "betaln", evaluated_by("betaln"), "betaln(x, y)",
    vjp=(lambda z_bar, z, x, y: z_bar * (DIGAMMA(x) - DIGAMMA(x + y)), lambda z_bar, z, x, y: z_bar * (DIGAMMA(y) - DIGAMMA(x + y))),
    samples=(POSITIVE, POSITIVE),
)

OPS = (
    GAMMALN, DIGAMMA, ZETA, GAMMA, ERF, ERFC, NDTR, LOG_NDTR, NDTRI, ERFINV, LOGIT, XLOGY, XLOG1PY, BETALN,
)  # fmt: skip
