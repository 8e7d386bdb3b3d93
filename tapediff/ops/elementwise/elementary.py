"""Exponentials, logarithms, trigonometric and hyperbolic functions, elementwise."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise, Rule
from ..declaration.samples import ABOVE_ONE, POSITIVE, REAL, UNIT, Domain
from .comparison import EQUAL, IS_INF, LOGICAL_AND, SELECT

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))


def _function(function: np.ufunc, rule: Rule, domain: Domain) -> Elementwise:
    """Declare the op of a NumPy function of one argument, under its name."""
    name = function.__name__
    return Elementwise(name, function, f"{name}(x)", vjp=(rule,), answers=(function,), samples=(domain,))


EXP = _function(np.exp, lambda z_bar, z, x: z_bar * z, REAL)
EXP2 = _function(np.exp2, lambda z_bar, z, x: z_bar * (LN2 * z), REAL)
EXPM1 = _function(np.expm1, lambda z_bar, z, x: z_bar * (z + 1.0), REAL)
LOG = _function(np.log, lambda z_bar, z, x: z_bar / x, POSITIVE)
LOG2 = _function(np.log2, lambda z_bar, z, x: z_bar / (LN2 * x), POSITIVE)
LOG10 = _function(np.log10, lambda z_bar, z, x: z_bar / (LN10 * x), POSITIVE)
LOG1P = _function(np.log1p, lambda z_bar, z, x: z_bar / (1.0 + x), POSITIVE)
SIN = _function(np.sin, lambda z_bar, z, x: z_bar * np.cos(x), REAL)
COS = _function(np.cos, lambda z_bar, z, x: -z_bar * np.sin(x), REAL)
TAN = _function(np.tan, lambda z_bar, z, x: z_bar * (1.0 + z * z), UNIT)
ARCSIN = _function(np.arcsin, lambda z_bar, z, x: z_bar / np.sqrt((1.0 - x) * (1.0 + x)), UNIT)
ARCCOS = _function(np.arccos, lambda z_bar, z, x: -z_bar / np.sqrt((1.0 - x) * (1.0 + x)), UNIT)


# By bytes: numbers whose squares are infinite.
_LARGE = {4: 1e20, 8: 1e160}


def _finite(x: Operand) -> Operand:
    """x, or where it is infinite a number whose square is: derivatives of 1 / x**2 are 0 there, not 0 times infinity."""
    return SELECT(IS_INF(x), _LARGE[np.dtype(x.dtype).itemsize], x)


def _arctan_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    x = _finite(x)
    return z_bar / (1.0 + x * x)


ARCTAN = _function(np.arctan, _arctan_rule, REAL)
SINH = _function(np.sinh, lambda z_bar, z, x: z_bar * np.cosh(x), REAL)
COSH = _function(np.cosh, lambda z_bar, z, x: z_bar * np.sinh(x), REAL)
TANH = _function(np.tanh, lambda z_bar, z, x: z_bar * (1.0 - z * z), REAL)
ARCSINH = _function(np.arcsinh, lambda z_bar, z, x: z_bar / np.sqrt(x * x + 1.0), REAL)
ARCCOSH = _function(np.arccosh, lambda z_bar, z, x: z_bar / np.sqrt((x - 1.0) * (x + 1.0)), ABOVE_ONE)
ARCTANH = _function(np.arctanh, lambda z_bar, z, x: z_bar / ((1.0 - x) * (1.0 + x)), UNIT)
CBRT = _function(np.cbrt, lambda z_bar, z, x: z_bar / (3.0 * z * z), POSITIVE)


def _arctan2_part(z_bar: Operand, x: Operand, y: Operand) -> Operand:
    """y / (x**2 + y**2), and 0 where one of them is infinite."""
    x, y = _finite(x), _finite(y)
    return z_bar * y / (x * x + y * y)


ARCTAN2 = Elementwise(
    "arctan2", np.arctan2, "arctan2(x, y)",
    vjp=(lambda z_bar, z, x, y: _arctan2_part(z_bar, x, y), lambda z_bar, z, x, y: -_arctan2_part(z_bar, y, x)),
    answers=(np.arctan2,), samples=(REAL, POSITIVE),
)


def _hypot_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """x / hypot(x, y), and 0 at the origin, as for every norm."""
    at_origin = EQUAL(z, 0.0)
    return SELECT(at_origin, 0.0, z_bar * x / SELECT(at_origin, 1.0, z))


HYPOT = Elementwise(
    "hypot", np.hypot, "hypot(x, y)",
    vjp=(lambda z_bar, z, x, y: _hypot_rule(z_bar, z, x), lambda z_bar, z, x, y: _hypot_rule(z_bar, z, y)),
    answers=(np.hypot,), samples=(POSITIVE, POSITIVE),
    squared=(lambda square_bar, z, x, y: square_bar * (2.0 * x), lambda square_bar, z, x, y: square_bar * (2.0 * y)),
)


LOGADDEXP = Elementwise(
    "logaddexp", np.logaddexp, "logaddexp(x, y)",
    vjp=(lambda z_bar, z, x, y: _logaddexp_part(z_bar, x, y), lambda z_bar, z, x, y: _logaddexp_part(z_bar, y, x)),
    answers=(np.logaddexp,), samples=(REAL, REAL),
)


def _logaddexp_part(z_bar: Operand, x: Operand, y: Operand) -> Operand:
    """The logistic of x - y: 1 where y is -inf and adds nothing, 1/2 where both are +inf."""
    both_infinite = LOGICAL_AND(EQUAL(x, y), IS_INF(x))
    share = EXPIT(SELECT(both_infinite, 0.0, x - y))
    return z_bar * SELECT(EQUAL(y, -np.inf), 1.0, share)


def _expit(x: Operand) -> Operand:
    """1 / (1 + exp(-x)) without overflow warnings; SciPy's own is imported only where SciPy is needed anyway."""
    e = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1.0 / (1.0 + e), e / (1.0 + e))[()]


EXPIT = Elementwise("expit", _expit, "expit(x)", vjp=(lambda z_bar, z, x: z_bar * z * EXPIT(-x),), samples=(REAL,))
LOG_EXPIT = Elementwise(
    "log_expit", lambda x: -np.logaddexp(0.0, -x), "log_expit(x)", vjp=(lambda z_bar, z, x: z_bar * EXPIT(-x),), samples=(REAL,)
)
SOFTPLUS = Elementwise(
    "softplus", lambda x: np.logaddexp(0.0, x), "softplus(x)", vjp=(lambda z_bar, z, x: z_bar * EXPIT(x),), samples=(REAL,)
)

OPS = (
    SOFTPLUS, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, SINH, COSH, TANH, ARCSINH, ARCCOSH,
    ARCTANH, CBRT, ARCTAN2, HYPOT, LOGADDEXP, EXPIT, LOG_EXPIT,
)  # fmt: skip
