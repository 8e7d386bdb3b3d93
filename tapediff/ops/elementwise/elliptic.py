"""Elliptic integrals: complete, incomplete, and the arithmetic-geometric mean that follows from them."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Elementwise
from ..declaration.samples import PROBABILITY, REAL, UNIT
from .comparison import EQUAL, LOGICAL_AND, SELECT
from .incomplete import gauss_rule
from .special import evaluated_by, function_of_one, function_of_two
from .special_integrals import near_zero

_SQUARES = np.cumprod([1.0, *(((2 * k - 1) / (2 * k)) ** 2 for k in range(1, 21))]) * (0.5 * np.pi)
_K_SLOPE = tuple(float(k * _SQUARES[k]) for k in range(1, 21))
_E_SLOPE = tuple(float(-k * _SQUARES[k] / (2 * k - 1)) for k in range(1, 21))
# Below this the series of 20 terms is exact to the last digit, where the formulas lose a digit or two.
NEAR = 0.15


def _k_slope(m: Operand) -> Operand:
    return near_zero(m, NEAR, _K_SLOPE, lambda m: (ELLIPE(m) / (1.0 - m) - ELLIPK(m)) / (2.0 * m))


def _e_slope(m: Operand) -> Operand:
    return near_zero(m, NEAR, _E_SLOPE, lambda m: (ELLIPE(m) - ELLIPK(m)) / (2.0 * m))


def _k_slope_near_one(p: Operand) -> Operand:
    """The derivative of ellipk(1 - p) in p."""
    return -(ELLIPEM1(p) / p - ELLIPKM1(p)) / (2.0 * (1.0 - p))


ELLIPK = function_of_one("ellipk", lambda z_bar, z, x: z_bar * _k_slope(x), UNIT)
ELLIPE = function_of_one("ellipe", lambda z_bar, z, x: z_bar * _e_slope(x), UNIT)
# ellipe(1 - p), whose derivative for small p is like that of ellipkm1.
ELLIPEM1 = Elementwise(
    "ellipem1", lambda p: evaluated_by("ellipe")(1.0 - p), "ellipe(1.0 - x)",
    vjp=(lambda z_bar, z, p: z_bar * SELECT(p > 0.5, -_e_slope(1.0 - p), (ELLIPKM1(p) - z) / (2.0 * (1.0 - p))),), samples=(PROBABILITY,),
)  # fmt: skip
ELLIPKM1 = function_of_one("ellipkm1", lambda z_bar, z, x: z_bar * SELECT(x > 0.5, -_k_slope(1.0 - x), _k_slope_near_one(x)), PROBABILITY)


def _turns(phi: Operand) -> tuple[Operand, Operand]:
    """The number of half turns in an angle, and the remainder."""
    turns = np.rint(phi / np.pi)
    return turns, phi - np.pi * turns


def _mean(integrand: Operand, end: Operand, count: int = 32) -> Operand:
    """The integral from 0 to the end by Gauss's rule."""
    nodes, weights = (part.astype(end.dtype) for part in gauss_rule(count))
    return end * np.sum(integrand(np.expand_dims(end, -1) * nodes) * weights, axis=-1)


def _first_kind_slope(r: Operand, m: Operand) -> Operand:
    """The derivative in m, for |r| <= pi / 2: half of the integral of sin^2 / (1 - m sin^2)^1.5.

    The formula loses digits for small angles, where the integrand is smooth, and where 1 - m is smaller than cos(r)^2, where it is smooth
    in v with tanh(v) = sin(angle).
    """
    sine, rest = np.sin(r), np.square(np.cos(r))
    share = m * sine * sine
    is_short = np.abs(share) < 0.5
    is_steep = LOGICAL_AND(rest > 1.0 - m, share >= 0.5)
    short, short_m = SELECT(is_short, r, 0.0), np.expand_dims(SELECT(is_short, m, 0.0), -1)
    steep, steep_m = np.arctanh(SELECT(is_steep, sine, 0.0)), np.expand_dims(SELECT(is_steep, m, 0.0), -1)
    is_usual = SELECT(is_short, 0.0, SELECT(is_steep, 0.0, 1.0)) > 0.0
    r_, m_ = SELECT(is_usual, r, 0.5 * np.pi), SELECT(is_usual, m, 0.5)
    near = _mean(lambda t: 0.5 * np.square(np.sin(t)) * (1.0 - short_m * np.square(np.sin(t))) ** -1.5, short)

    def in_v(v: Operand) -> Operand:
        return 0.5 * np.square(np.tanh(v)) / np.cosh(v) * (1.0 / np.square(np.cosh(v)) + (1.0 - steep_m) * np.square(np.tanh(v))) ** -1.5

    root = np.sqrt(1.0 - m_ * np.square(np.sin(r_)))
    formula = (ELLIPEINC(r_, m_) / m_ - 0.5 * np.sin(2.0 * r_) / root) / (2.0 * (1.0 - m_)) - ELLIPKINC(r_, m_) / (2.0 * m_)
    return SELECT(is_short, near, SELECT(is_steep, _mean(in_v, steep, 48), formula))


def _second_kind_slope(r: Operand, m: Operand) -> Operand:
    """The derivative in m: minus half of the integral of sin^2 / sqrt(1 - m sin^2)."""
    is_short = np.abs(m * np.square(np.sin(r))) < 0.5
    short, short_m = SELECT(is_short, r, 0.0), np.expand_dims(SELECT(is_short, m, 0.0), -1)
    near = _mean(lambda t: -0.5 * np.square(np.sin(t)) / np.sqrt(1.0 - short_m * np.square(np.sin(t))), short)
    r_, m_ = SELECT(is_short, 0.5 * np.pi, r), SELECT(is_short, 0.5, m)
    return SELECT(is_short, near, (ELLIPEINC(r_, m_) - ELLIPKINC(r_, m_)) / (2.0 * m_))


def _in_m(slope: Operand, whole: Operand, phi: Operand, m: Operand) -> Operand:
    """The derivative in m at any angle: adds twice the complete integral's derivative for each half turn."""
    turns, rest = _turns(phi)
    is_less = EQUAL(turns, 0.0)
    return slope(rest, m) + SELECT(is_less, 0.0, 2.0 * turns * whole(SELECT(is_less, 0.0, m)))


ELLIPKINC = function_of_two(
    "ellipkinc", lambda z_bar, z, phi, m: z_bar / np.sqrt(1.0 - m * np.square(np.sin(phi))),
    lambda z_bar, z, phi, m: z_bar * _in_m(_first_kind_slope, _k_slope, phi, m), (REAL, UNIT),
)  # fmt: skip
ELLIPEINC = function_of_two(
    "ellipeinc", lambda z_bar, z, phi, m: z_bar * np.sqrt(1.0 - m * np.square(np.sin(phi))),
    lambda z_bar, z, phi, m: z_bar * _in_m(_second_kind_slope, _e_slope, phi, m), (REAL, UNIT),
)  # fmt: skip

OPS = (ELLIPK, ELLIPE, ELLIPEM1, ELLIPKM1, ELLIPKINC, ELLIPEINC)
