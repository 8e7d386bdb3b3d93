"""Exponentials, logarithms, trigonometric and hyperbolic functions, elementwise."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise, Rule
from ..declaration.samples import ABOVE_ONE, POSITIVE, REAL, UNIT, Domain
from .arithmetic import ABSOLUTE, MAXIMUM, QUOTIENT_OR_ZERO, SQUARE
from .comparison import EQUAL, IS_INF, LOGICAL_AND, SELECT
from .structure import STOP_GRADIENT

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))


def _function(function: np.ufunc, rule: Rule, domain: Domain) -> Elementwise:
    """Declare the op of a NumPy function of one argument, under its name."""
    name = function.__name__
    return Elementwise(name, function, f"{name}(x)", vjp=(rule,), answers=(function,), samples=(domain,))


# (1 - x)(1 + x), without cancellation; nor in its derivative, where that of the product would cancel near 0.
ONE_MINUS_SQUARE = Elementwise(
    "one_minus_square", lambda x: (1.0 - x) * (1.0 + x), "(1.0 - x) * (1.0 + x)", vjp=(lambda z_bar, z, x: z_bar * (-2.0 * x),),
    samples=(UNIT,),
)  # fmt: skip
EXP = _function(np.exp, lambda z_bar, z, x: z_bar * z, REAL)
EXP2 = _function(np.exp2, lambda z_bar, z, x: z_bar * (LN2 * z), REAL)
EXPM1 = _function(np.expm1, lambda z_bar, z, x: z_bar * np.exp(x), REAL)
LOG = _function(np.log, lambda z_bar, z, x: z_bar / x, POSITIVE)
LOG2 = _function(np.log2, lambda z_bar, z, x: z_bar / (LN2 * x), POSITIVE)
LOG10 = _function(np.log10, lambda z_bar, z, x: z_bar / (LN10 * x), POSITIVE)
LOG1P = _function(np.log1p, lambda z_bar, z, x: z_bar / (1.0 + x), POSITIVE)
SIN = _function(np.sin, lambda z_bar, z, x: z_bar * np.cos(x), REAL)
COS = _function(np.cos, lambda z_bar, z, x: -z_bar * np.sin(x), REAL)
TAN = _function(np.tan, lambda z_bar, z, x: z_bar * (1.0 + z * z), UNIT)
ARCSIN = _function(np.arcsin, lambda z_bar, z, x: z_bar / np.sqrt(ONE_MINUS_SQUARE(x)), UNIT)
ARCCOS = _function(np.arccos, lambda z_bar, z, x: -z_bar / np.sqrt(ONE_MINUS_SQUARE(x)), UNIT)


# Bytes of the dtype -> a number whose square is infinite.
_LARGE = {4: 1e20, 8: 1e160}


def _finite(x: Operand) -> Operand:
    """x, with infinities replaced by a finite number whose square is infinite: derivatives of 1 / x**2 are then 0, not 0 * inf."""
    return SELECT(IS_INF(x), _LARGE[np.dtype(x.dtype).itemsize], x)


def _arctan_rule(z_bar: Operand, z: Operand, x: Operand) -> Operand:
    x = _finite(x)
    return z_bar / (1.0 + x * x)


ARCTAN = _function(np.arctan, _arctan_rule, REAL)
SINH = _function(np.sinh, lambda z_bar, z, x: z_bar * np.cosh(x), REAL)
COSH = _function(np.cosh, lambda z_bar, z, x: z_bar * np.sinh(x), REAL)
TANH = _function(np.tanh, lambda z_bar, z, x: z_bar * TANH_SLOPE(z, x), REAL)
ARCSINH = _function(np.arcsinh, lambda z_bar, z, x: z_bar / np.hypot(x, 1.0), REAL)
ARCCOSH = _function(np.arccosh, lambda z_bar, z, x: z_bar / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)), ABOVE_ONE)
ARCTANH = _function(np.arctanh, lambda z_bar, z, x: z_bar / ONE_MINUS_SQUARE(x), UNIT)
CBRT = _function(np.cbrt, lambda z_bar, z, x: z_bar / (3.0 * z * z), POSITIVE)


# Up to here the plain formula 1 - tanh(x)**2 has 12 correct digits.
TANH_FAR = 5.0


def tanh_slope(x: Operand, y: Operand) -> Operand:
    """1 - x**2 for x = tanh(y), where the difference would lose all digits for large y; 0 where it is below 2e-307."""
    e = np.exp(-2.0 * np.abs(y))
    far = np.where(e < 2.0**-1021, 0.0, 4.0 * e / np.square(1.0 + e))
    return np.where(np.abs(y) > TANH_FAR, far, 1.0 - x * np.asarray(x))[()]


TANH_SLOPE = Elementwise(
    "tanh_slope", tanh_slope, "tanh_slope(x, y)", vjp=(None, lambda z_bar, z, x, y: z_bar * (-2.0 * z * x)), samples=(UNIT, REAL),
    not_differentiated=(0, 1),
)  # fmt: skip


def _arctan2_part(z_bar: Operand, x: Operand, y: Operand) -> Operand:
    """y / (x**2 + y**2), scaled so that no square over- or underflows, and 0 where one of them is infinite."""
    larger = STOP_GRADIENT(MAXIMUM(ABSOLUTE(x), ABSOLUTE(y)))  # the quotient does not depend on it
    is_far = IS_INF(larger)
    scale = 1.0 / SELECT(is_far, 1.0, larger)
    u, v = x * scale, y * scale
    return z_bar * SELECT(is_far, 0.0, scale * v / (u * u + v * v))


ARCTAN2 = Elementwise(
    "arctan2", np.arctan2, "arctan2(x, y)",
    vjp=(lambda z_bar, z, x, y: _arctan2_part(z_bar, x, y), lambda z_bar, z, x, y: -_arctan2_part(z_bar, y, x)),
    answers=(np.arctan2,), samples=(REAL, POSITIVE),
)


@np.errstate(invalid="ignore")
def _hypot_slope(x: Operand, y: Operand, length: Operand) -> Operand:
    slope, shape = np.where(np.equal(length, 0.0), 0.0, np.divide(x, length)), np.shape(y)
    return np.broadcast_to(slope, np.broadcast_shapes(slope.shape, shape))[()] if shape != slope.shape else slope[()]


# x / hypot(x, y), given the hypot, and 0 at the origin, as for every norm.
HYPOT_SLOPE = Elementwise(
    "hypot_slope", _hypot_slope, "select(equal(w, 0.0), 0.0, x / w)",
    vjp=(
        lambda z_bar, z, x, y, length: QUOTIENT_OR_ZERO(z_bar * SQUARE(HYPOT_SLOPE(y, x, length)), length),
        lambda z_bar, z, x, y, length: QUOTIENT_OR_ZERO(-z_bar * z * HYPOT_SLOPE(y, x, length), length), None,
    ),
    masks=True, samples=(POSITIVE, POSITIVE, POSITIVE), not_differentiated=(0, 1, 2),
)


HYPOT = Elementwise(
    "hypot", np.hypot, "hypot(x, y)",
    vjp=(lambda z_bar, z, x, y: z_bar * HYPOT_SLOPE(x, y, z), lambda z_bar, z, x, y: z_bar * HYPOT_SLOPE(y, x, z)),
    answers=(np.hypot,), samples=(POSITIVE, POSITIVE),
    squared=(lambda square_bar, z, x, y: square_bar * (2.0 * x), lambda square_bar, z, x, y: square_bar * (2.0 * y)),
)


LOGADDEXP = Elementwise(
    "logaddexp", np.logaddexp, "logaddexp(x, y)",
    vjp=(lambda z_bar, z, x, y: _logaddexp_part(z_bar, x, y), lambda z_bar, z, x, y: _logaddexp_part(z_bar, y, x)),
    answers=(np.logaddexp,), samples=(REAL, REAL),
)


def _logaddexp_part(z_bar: Operand, x: Operand, y: Operand) -> Operand:
    """The logistic function of x - y: 1 if y is -inf, 1/2 if both are +inf."""
    both_infinite = LOGICAL_AND(EQUAL(x, y), IS_INF(x))
    share = EXPIT(SELECT(both_infinite, 0.0, x - y))
    return z_bar * SELECT(EQUAL(y, -np.inf), 1.0, share)


def _expit(x: Operand) -> Operand:
    """1 / (1 + exp(-x)) without overflow warnings; SciPy's own is imported only where SciPy is needed anyway."""
    e = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1.0 / (1.0 + e), e / (1.0 + e))[()]


EXPIT = Elementwise("expit", _expit, "expit(x)", vjp=(lambda z_bar, z, x: z_bar * EXPIT_SLOPE(z, x),), samples=(REAL,))


def _expit_difference(x: Operand) -> Operand:
    """expit(-x) - expit(x), by its series near 0, where that cancels."""
    is_near, square = ABSOLUTE(x) < 2.0**-8, x * x
    near = x * (-0.5 + square * (1.0 / 24.0 - square * (1.0 / 240.0)))
    return SELECT(is_near, near, EXPIT(-x) - EXPIT(x))


# expit(y) expit(-y), given x = expit(y); its derivative near 0 is not computed as a difference.
EXPIT_SLOPE = Elementwise(
    "expit_slope", lambda x, y: x * _expit(-np.asarray(y)), "x * expit(-y)",
    vjp=(None, lambda z_bar, z, x, y: z_bar * (z * _expit_difference(y))), samples=(UNIT, REAL), not_differentiated=(0, 1),
)  # fmt: skip
LOG_EXPIT = Elementwise(
    "log_expit", lambda x: -np.logaddexp(0.0, -x), "log_expit(x)", vjp=(lambda z_bar, z, x: z_bar * EXPIT(-x),), samples=(REAL,)
)
SOFTPLUS = Elementwise(
    "softplus", lambda x: np.logaddexp(0.0, x), "softplus(x)", vjp=(lambda z_bar, z, x: z_bar * EXPIT(x),), samples=(REAL,)
)

OPS = (
    SOFTPLUS, ONE_MINUS_SQUARE, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, SINH, COSH, TANH,
    TANH_SLOPE, ARCSINH, ARCCOSH, ARCTANH, CBRT, ARCTAN2, HYPOT, HYPOT_SLOPE, LOGADDEXP, EXPIT, EXPIT_SLOPE, LOG_EXPIT,
)  # fmt: skip
