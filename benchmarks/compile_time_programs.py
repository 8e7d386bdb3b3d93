"""Programs of any length, for the time to the first gradient: plain NumPy, in kinds that no two passes treat alike.

Each is a function of its length, and gives the function and a point, two parameters. Programs without a pattern are drawn by a generator
with a fixed seed, so that no loop is found in them. Their answers take in results from all over the program, and the parameters come in all
along: a mistake anywhere shows in the answer, and most in the gradient. Rounding does not grow on the way, nor does it decide anything:
choices are continuous where what they compare is equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapediff as td

Program = tuple[Callable[[np.ndarray], Any], np.ndarray]
POINT = np.array([1.3, 0.45])


def array_operations(n: int) -> Program:
    """n operations on arrays of 50 entries, each on two of the last eight results."""
    rng = np.random.default_rng(5)
    code = rng.integers([0, 1, 1], [6, 9, 9], (n, 3)).tolist()

    def f(p):
        results = [p[0] * np.linspace(0, 1, 50) + p[1], p[1] * np.linspace(1, 2, 50)]
        for op, i, j in code:
            a, b = results[-min(i, len(results))], results[-min(j, len(results))]
            if op == 0:
                c = p[1] * (a + b)
            elif op == 1:
                c = a * b * p[0] * 0.1
            elif op == 2:
                c = np.sin(a)
            elif op == 3:
                c = a - 0.5 * b
            elif op == 4:
                c = np.tanh(a + b)
            else:
                c = np.exp(-a * a)
            results.append(c)
        return _total(results)

    return f, POINT


def _total(results: list[Any]) -> Any:
    """Of all parts of a program: each result bounded, and not about zero, where the sum of what has no mean is rounding."""
    return sum(np.sum(np.tanh(each + 0.5)) for each in results[::-20])


def matrix_operations(n: int) -> Program:
    """n operations on 12 x 12 matrices: products, transposes, sums along axes, slices, choices, cumulative sums."""
    rng = np.random.default_rng(11)
    code = rng.integers(0, [14, 6, 6, 5], (n, 4)).tolist()
    matrices = rng.normal(size=(5, 12, 12)) * 0.2

    def f(p):
        results = [p[0] * np.linspace(0, 1, 144).reshape(12, 12) + p[1]] * 2
        for op, i, j, k in code:
            a, b = results[-min(i + 1, len(results))], results[-min(j + 1, len(results))]
            results.append(_matrix_operation(op, a, b, k, matrices[k], p))
        return _total(results)

    return f, POINT


def _matrix_operation(op: int, a: Any, b: Any, k: int, matrix: np.ndarray, p: Any) -> Any:
    operations: tuple[Callable[[], Any], ...] = (
        lambda: p[1] * (a + b),
        lambda: np.tanh(a) * b,
        lambda: np.sin(a.T),
        lambda: a - 0.5 * b[::-1],
        lambda: np.tanh(matrix @ a),
        lambda: np.exp(-a * a),
        lambda: a - a.mean(axis=0),
        lambda: b * np.sum(np.tanh(a)) * 0.02,
        lambda: 0.9 * a + np.tanh(np.sum(b, axis=1))[:, None],
        lambda: np.concatenate([a[k:], b[:k]]),
        lambda: np.where(a > b, a, 0.5 * (a + b)),
        lambda: np.maximum(a, b * 0.9),
        lambda: np.cumsum(a, axis=1) * 0.1,
        lambda: 0.5 * np.roll(a, k, 0) + 0.5 * a[:, ::-1],
    )
    return operations[op]()


def shrinking_slices(n: int) -> Program:
    """A binomial lattice: n arrays, each one entry shorter than the last, of which it reads two slices."""

    def f(p):
        v = np.maximum(p[0] * np.linspace(0.5, 2.0, n + 1) - 1.0, 0.0)
        for _ in range(n):
            v = p[1] * v[1:] + (1.0 - p[1]) * v[:-1]
        return v[0]

    return f, POINT


def kalman(n: int) -> Program:
    """A Kalman filter of two states over n observations."""
    observations = np.random.default_rng(0).normal(size=(n, 2))

    def f(p):
        covariance, total = np.eye(2), 0.0
        for y in observations:
            covariance = 0.9 * covariance @ covariance.T + p[0] * np.eye(2)
            total = total + y @ np.linalg.solve(covariance, y)
            covariance = covariance @ np.linalg.inv(covariance + np.eye(2))
        return total + p[1]

    return f, POINT


def kalman_skipping(n: int) -> Program:
    """The same, which asks at every step whether the observation is missing: a guard on a computed array."""
    observations = np.random.default_rng(0).normal(size=(n, 2))

    def f(p):
        covariance, total = np.eye(2), 0.0
        for y in observations:
            covariance = 0.9 * covariance @ covariance.T + p[0] * np.eye(2)
            if np.isnan(y * p[0]).any():
                continue
            total = total + y @ np.linalg.solve(covariance, y)
            covariance = covariance @ np.linalg.inv(covariance + np.eye(2))
        return total + p[1]

    return f, POINT


def fixed_integrator(n: int) -> Program:
    """n steps of Runge and Kutta's method; the right-hand side stacks two numbers."""

    def f(p):
        def slope(y):
            return np.stack([y[0] * (p[0] - p[1] * y[1]), -y[1] * (p[0] - p[1] * y[0])])

        y, h = np.array([1.0, 0.5]), 0.01
        for _ in range(n):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y[0]

    return f, POINT


def adaptive_integrator(n: int) -> Program:
    """n tries of Heun's method, each accepted or rejected by an `if` on its error."""

    def f(p):
        def slope(y):
            return np.stack([y[1], -p[0] * y[0] - p[1] * y[1]])

        y, h = np.stack([p[0], p[1]]), 0.1
        for _ in range(n):
            k1 = slope(y)
            k2 = slope(y + h * k1)
            if np.max(np.abs(h * (k2 - k1) / 2)) < 1e-3:
                y = y + h * (k1 + k2) / 2
                h = h * 1.1
            else:
                h = h * 0.5
        return y[0]

    return f, POINT


def advection(n: int) -> Program:
    """n semi-Lagrangian steps on a 20 x 20 grid: four gathers of the ravelled field each."""
    size = 20
    rows, columns = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")

    def f(p):
        u, v = np.sin(rows * 0.3) * p[0], np.cos(columns * 0.3) * p[1]
        field = np.exp(-((rows - size / 2) ** 2 + (columns - size / 2) ** 2) / 20.0) * p[0]
        for _ in range(n):
            x, y = rows - 0.5 * u, columns - 0.5 * v
            i, j = np.floor(x).astype(int), np.floor(y).astype(int)
            a, b, flat = x - i, y - j, field.ravel()

            def corner(di, dj, i=i, j=j, flat=flat):
                return flat[((i + di) % size * size + (j + dj) % size).ravel()].reshape(size, size)

            field = (1 - a) * ((1 - b) * corner(0, 0) + b * corner(0, 1)) + a * ((1 - b) * corner(1, 0) + b * corner(1, 1))
        return np.sum(field**2)

    return f, POINT


def many_terms(n: int) -> Program:
    """A sum of n different functions of one array."""
    rng = np.random.default_rng(13)
    factors, chosen = rng.normal(size=n), rng.integers(0, 4, n)
    functions = (np.sin, np.cos, np.tanh, lambda x: x * x)

    def f(p):
        x = p[0] * np.linspace(0, 1, 64) + p[1]
        return sum(np.sum(functions[k](x * factor)) for k, factor in zip(chosen, factors))

    return f, POINT


def scalar_operations(n: int) -> Program:
    """n operations on numbers, each on two of the last twenty results."""
    code = np.random.default_rng(7).integers([0, 1, 1], [5, 21, 21], (n, 3)).tolist()

    def f(p):
        results = [p[0], p[1]]
        for op, i, j in code:
            a, b = results[-min(i, len(results))], results[-min(j, len(results))]
            c = (p[1] * (a + b), a * b * 0.3, a - b * 0.7)[op] if op < 3 else np.sin(a * p[0]) if op == 3 else np.exp(-a * a)
            results.append(c)
        return sum(results[::-20])

    return f, POINT


def subtape_calls(n: int) -> Program:
    """n calls of a td.subtape that branches, with different functions between them."""
    functions = (np.sin, np.cos, np.tanh, lambda x: x * 0.5)
    chosen = np.random.default_rng(16).integers(0, 4, n)

    @td.subtape
    def bent(x):
        return x * 0.5 if x > 0.5 else x * x + 0.1

    def f(p):
        x, total = p[0], 0.0
        for call, k in enumerate(chosen):
            x = bent(functions[k](x) * p[1] + 0.3 * p[0])
            total = total + x if call % 20 == 0 else total
        return total + x

    return f, POINT


def masked_parts(n: int) -> Program:
    """n parts of an array whose lengths are data: joined, reversed, repeated, and beside others of equal lengths."""
    rng = np.random.default_rng(19)
    code, cuts = rng.integers(0, 4, n).tolist(), rng.normal(size=n) * 0.3
    grid = np.linspace(-1.0, 1.0, 40)

    def f(p):
        x, total = grid * p[0] + 0.1 * p[1], 0.0
        for op, cut in zip(code, cuts):
            mask = x > cut
            a, b = x[mask], np.sin(x * p[1])[mask]
            if op == 0:
                c = a * b
            elif op == 1:
                c = np.concatenate([a, b * cut])[::-1] ** 2
            elif op == 2:
                c = np.repeat(b, 2) * 0.5
            else:
                c = (a - np.sum(b) / len(a)) ** 2
            total = total + np.sum(c)
        return total

    return f, POINT
