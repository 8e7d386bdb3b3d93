"""Exponentials, logarithms, trigonometric and hyperbolic functions, elementwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from .comparison import EQUAL, IS_INF, LOGICAL_AND, SELECT
from .declaration import ABOVE_ONE, POSITIVE, REAL, UNIT, elementwise

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))

EXP = elementwise("exp", np.exp, "exp(x)", (lambda z_bar, z, x: z_bar * z,), answers=(np.exp,), samples=(REAL,))
EXP2 = elementwise(
    "exp2", np.exp2, "exp2(x)", (lambda z_bar, z, x: z_bar * (LN2 * z),), answers=(np.exp2,), samples=(REAL,)
)
EXPM1 = elementwise(
    "expm1", np.expm1, "expm1(x)", (lambda z_bar, z, x: z_bar * (z + 1.0),), answers=(np.expm1,), samples=(REAL,)
)
LOG = elementwise("log", np.log, "log(x)", (lambda z_bar, z, x: z_bar / x,), answers=(np.log,), samples=(POSITIVE,))
LOG2 = elementwise(
    "log2", np.log2, "log2(x)", (lambda z_bar, z, x: z_bar / (LN2 * x),), answers=(np.log2,), samples=(POSITIVE,)
)
LOG10 = elementwise(
    "log10", np.log10, "log10(x)", (lambda z_bar, z, x: z_bar / (LN10 * x),), answers=(np.log10,), samples=(POSITIVE,)
)
LOG1P = elementwise(
    "log1p", np.log1p, "log1p(x)", (lambda z_bar, z, x: z_bar / (1.0 + x),), answers=(np.log1p,), samples=(POSITIVE,)
)
SIN = elementwise("sin", np.sin, "sin(x)", (lambda z_bar, z, x: z_bar * np.cos(x),), answers=(np.sin,), samples=(REAL,))
COS = elementwise(
    "cos", np.cos, "cos(x)", (lambda z_bar, z, x: -z_bar * np.sin(x),), answers=(np.cos,), samples=(REAL,)
)
TAN = elementwise(
    "tan", np.tan, "tan(x)", (lambda z_bar, z, x: z_bar * (1.0 + z * z),), answers=(np.tan,), samples=(UNIT,)
)
ARCSIN = elementwise(
    "arcsin",
    np.arcsin,
    "arcsin(x)",
    (lambda z_bar, z, x: z_bar / np.sqrt((1.0 - x) * (1.0 + x)),),
    answers=(np.arcsin,),
    samples=(UNIT,),
)
ARCCOS = elementwise(
    "arccos",
    np.arccos,
    "arccos(x)",
    (lambda z_bar, z, x: -z_bar / np.sqrt((1.0 - x) * (1.0 + x)),),
    answers=(np.arccos,),
    samples=(UNIT,),
)
ARCTAN = elementwise(
    "arctan",
    np.arctan,
    "arctan(x)",
    (lambda z_bar, z, x: z_bar / (1.0 + x * x),),
    answers=(np.arctan,),
    samples=(REAL,),
)
SINH = elementwise(
    "sinh", np.sinh, "sinh(x)", (lambda z_bar, z, x: z_bar * np.cosh(x),), answers=(np.sinh,), samples=(REAL,)
)
COSH = elementwise(
    "cosh", np.cosh, "cosh(x)", (lambda z_bar, z, x: z_bar * np.sinh(x),), answers=(np.cosh,), samples=(REAL,)
)
TANH = elementwise(
    "tanh", np.tanh, "tanh(x)", (lambda z_bar, z, x: z_bar * (1.0 - z * z),), answers=(np.tanh,), samples=(REAL,)
)
ARCSINH = elementwise(
    "arcsinh",
    np.arcsinh,
    "arcsinh(x)",
    (lambda z_bar, z, x: z_bar / np.sqrt(x * x + 1.0),),
    answers=(np.arcsinh,),
    samples=(REAL,),
)
ARCCOSH = elementwise(
    "arccosh",
    np.arccosh,
    "arccosh(x)",
    (lambda z_bar, z, x: z_bar / np.sqrt((x - 1.0) * (x + 1.0)),),
    answers=(np.arccosh,),
    samples=(ABOVE_ONE,),
)
ARCTANH = elementwise(
    "arctanh",
    np.arctanh,
    "arctanh(x)",
    (lambda z_bar, z, x: z_bar / ((1.0 - x) * (1.0 + x)),),
    answers=(np.arctanh,),
    samples=(UNIT,),
)
CBRT = elementwise(
    "cbrt", np.cbrt, "cbrt(x)", (lambda z_bar, z, x: z_bar / (3.0 * z * z),), answers=(np.cbrt,), samples=(POSITIVE,)
)


def _arctan2_first(z_bar: Any, z: Any, x: Any, y: Any) -> Any:
    return z_bar * y / (x * x + y * y)


ARCTAN2 = elementwise(
    "arctan2", np.arctan2, "arctan2(x, y)",
    (_arctan2_first, lambda z_bar, z, x, y: -z_bar * x / (x * x + y * y)),
    answers=(np.arctan2,), samples=(REAL, POSITIVE),
)  # fmt: skip


def _hypot_rule(z_bar: Any, z: Any, x: Any) -> Any:
    """x / hypot(x, y), and 0 at the origin, as for every norm."""
    at_origin = EQUAL(z, 0.0)
    return SELECT(at_origin, 0.0, z_bar * x / SELECT(at_origin, 1.0, z))


HYPOT = elementwise(
    "hypot", np.hypot, "hypot(x, y)",
    (lambda z_bar, z, x, y: _hypot_rule(z_bar, z, x), lambda z_bar, z, x, y: _hypot_rule(z_bar, z, y)),
    answers=(np.hypot,), samples=(POSITIVE, POSITIVE),
    squared=(lambda square_bar, z, x, y: square_bar * (2.0 * x), lambda square_bar, z, x, y: square_bar * (2.0 * y)),
)  # fmt: skip


LOGADDEXP = elementwise(
    "logaddexp", np.logaddexp, "logaddexp(x, y)",
    (lambda z_bar, z, x, y: _logaddexp_part(z_bar, x, y), lambda z_bar, z, x, y: _logaddexp_part(z_bar, y, x)),
    answers=(np.logaddexp,), samples=(REAL, REAL),
)  # fmt: skip


def _logaddexp_part(z_bar: Any, x: Any, y: Any) -> Any:
    """The logistic of x - y: 1 where y is -inf and adds nothing, 1/2 where both are +inf."""
    both_infinite = LOGICAL_AND(EQUAL(x, y), IS_INF(x))
    share = EXPIT(SELECT(both_infinite, 0.0, x - y))
    return z_bar * SELECT(EQUAL(y, -np.inf), 1.0, share)


def _expit(x: Any) -> Any:
    """1 / (1 + exp(-x)) without overflow warnings; SciPy's own is imported only where SciPy is needed anyway."""
    e = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1.0 / (1.0 + e), e / (1.0 + e))[()]


EXPIT = elementwise("expit", _expit, "expit(x)", (lambda z_bar, z, x: z_bar * z * EXPIT(-x),), samples=(REAL,))
LOG_EXPIT = elementwise(
    "log_expit",
    lambda x: -np.logaddexp(0.0, -x),
    "log_expit(x)",
    (lambda z_bar, z, x: z_bar * EXPIT(-x),),
    samples=(REAL,),
)
SOFTPLUS = elementwise(
    "softplus", lambda x: np.logaddexp(0.0, x), "softplus(x)", (lambda z_bar, z, x: z_bar * EXPIT(x),), samples=(REAL,)
)

OPS = (
    SOFTPLUS, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, SINH, COSH, TANH, ARCSINH, ARCCOSH,
    ARCTANH, CBRT, ARCTAN2, HYPOT, LOGADDEXP, EXPIT, LOG_EXPIT,
)  # fmt: skip
