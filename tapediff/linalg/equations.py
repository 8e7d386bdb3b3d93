"""Matrix equations: Sylvester's, Lyapunov's and Riccati's."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ..ir.instruction import Operand, ValueType
from ..ops.matrices.stacks import turned
from .calls import computed, doubles, given, like, refuse, scipys, square
from .systems import inv, solve


def _solved(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    return import_module("scipy.linalg").solve_sylvester(a, b, q)


def _last(*operands: Operand) -> ValueType:
    return like(operands[-1])


def _sylvester_rule(z_bar: Operand, z: Operand, a: Operand, b: Operand, q: Operand) -> tuple[Operand, ...]:
    """With s such that a^T s + s b^T = z_bar: s for q, -s z^T for a, -z^T s for b."""
    q_bar = sylvester(turned(a), turned(b), z_bar)
    return -(q_bar @ turned(z)), -(turned(z) @ q_bar), q_bar


def sylvester(a: Operand, b: Operand, q: Operand) -> Operand:
    """The x with a x + x b = q."""
    return given(computed(_solved, _last, a, b, q), a, b, q, rule=_sylvester_rule)


@scipys
def solve_sylvester(a: Operand, b: Operand, q: Operand) -> Operand:
    """The x with a x + x b = q, by SciPy's routine, which kernels call through Python. Cost: 25 n^3 and more."""
    return sylvester(doubles(a), doubles(b), doubles(q))


@scipys
def solve_continuous_lyapunov(a: Operand, q: Operand) -> Operand:
    """The x with a x + x a^T = q."""
    a, q = doubles(square(a)), doubles(square(q))
    if a.shape[-1] != q.shape[-1]:
        raise ValueError("Matrix a and q should have the same shape.")
    return sylvester(a, turned(a), q)


solve_lyapunov = solve_continuous_lyapunov


@scipys
def solve_discrete_lyapunov(a: Operand, q: Operand, method: str | None = None) -> Operand:
    """The x with a x a^T - x + q = 0: below 10 rows by the linear system of its entries, else by a bilinear transformation."""
    a, q = doubles(square(a)), doubles(square(q))
    n = a.shape[-1]
    if method not in (None, "direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    if method == "direct" or (method is None and n < 10):
        return np.reshape(solve(np.eye(n * n) - np.kron(a, a), np.reshape(q, (-1,))), (n, n))
    inverse = inv(a.T + np.eye(n))
    b = (a.T - np.eye(n)) @ inverse
    return solve_continuous_lyapunov(b.T, -2.0 * inv(a + np.eye(n)) @ q @ inverse)


def _continuous_rule(z_bar: Operand, z: Operand, a: Operand, b: Operand, q: Operand, r: Operand) -> tuple[Operand, ...]:
    """The differential is a Lyapunov equation in the closed loop c = a - b k with the gain k = r^-1 b^T z."""
    gain = solve(r, turned(b) @ z)
    closed = a - b @ gain
    s = sylvester(closed, turned(closed), -0.5 * (z_bar + turned(z_bar)))
    return 2.0 * (z @ s), -2.0 * (z @ s @ turned(gain)), s, gain @ s @ turned(gain)


def _discrete_rule(z_bar: Operand, z: Operand, a: Operand, b: Operand, q: Operand, r: Operand) -> tuple[Operand, ...]:
    """As in continuous time, with the gain (r + b^T z b)^-1 b^T z a."""
    gain = solve(r + turned(b) @ z @ b, turned(b) @ z @ a)
    closed = a - b @ gain
    s = solve_discrete_lyapunov(closed, 0.5 * (z_bar + turned(z_bar)))
    return 2.0 * (z @ closed @ s), -2.0 * (z @ closed @ s @ turned(gain)), s, gain @ s @ turned(gain)


def _continuous(a: np.ndarray, b: np.ndarray, q: np.ndarray, r: np.ndarray, balanced: bool) -> np.ndarray:
    return import_module("scipy.linalg").solve_continuous_are(a, b, q, r, balanced=balanced)


def _discrete(a: np.ndarray, b: np.ndarray, q: np.ndarray, r: np.ndarray, balanced: bool) -> np.ndarray:
    return import_module("scipy.linalg").solve_discrete_are(a, b, q, r, balanced=balanced)


def _first(a: Operand, *_: Operand, balanced: bool) -> ValueType:
    return like(a)


def _riccati(function: Operand, rule: Operand, operands: tuple[Operand, ...], e: Operand, s: Operand, balanced: bool) -> Operand:
    if e is not None or s is not None:
        raise refuse(f"solve{function.__name__}_are", "takes no e and s for tracked arrays",
                     "use inv(e) @ a and inv(e) @ b, and complete the square for s")  # fmt: skip
    a, b, q, r = map(doubles, operands)
    q, r = 0.5 * (q + turned(q)), 0.5 * (r + turned(r))
    return given(computed(function, _first, a, b, q, r, balanced=balanced), a, b, q, r, rule=rule)


@scipys
def solve_continuous_are(
    a: Operand, b: Operand, q: Operand, r: Operand, e: Operand = None, s: Operand = None, balanced: bool = True
) -> Operand:
    """The stabilising x with a^T x + x a - x b r^-1 b^T x + q = 0; q and r are symmetric."""
    return _riccati(_continuous, _continuous_rule, (a, b, q, r), e, s, balanced)


@scipys
def solve_discrete_are(
    a: Operand, b: Operand, q: Operand, r: Operand, e: Operand = None, s: Operand = None, balanced: bool = True
) -> Operand:
    """The stabilising x with a^T x a - x - (a^T x b) (r + b^T x b)^-1 (b^T x a) + q = 0; q and r are symmetric."""
    return _riccati(_discrete, _discrete_rule, (a, b, q, r), e, s, balanced)
