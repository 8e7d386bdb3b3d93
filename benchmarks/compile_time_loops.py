"""Programs of many numbers, written as Python loops, for the benchmark of how compile time grows: each takes the size and gives the
function and a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapediff as td

Program = tuple[Callable[..., Any], np.ndarray]


def filled_array(n: int) -> Program:
    """`y[i] = ...`, one entry after the other."""

    def f(x: Any) -> Any:
        y = td.zeros(n)
        for i in range(n):
            y[i] = np.sin(x[i]) * x[i]
        return np.sum(y**2)

    return f, np.linspace(0.1, 1.0, n)


def recurrence_in_an_array(n: int) -> Program:
    """An array that is filled from its own earlier entries."""

    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, n):
            y[i] = 0.9 * y[i - 1] + np.tanh(x[i])
        return np.sum(y**2)

    return f, np.linspace(0.1, 1.0, n)


def branches_on_data(n: int) -> Program:
    """`if K[i]` over plain data: the iterations differ, in no order that repeats."""
    K = np.random.default_rng(0).integers(0, 2, n).astype(bool)

    def f(x: Any) -> Any:
        c = x[0]
        for i in range(n):
            c = 0.5 * c + x[i % 50] if K[i] else np.sin(c) - x[i % 50]
        return c

    return f, np.linspace(0.1, 1.0, 50)


def independent_branches_on_data(n: int) -> Program:
    """The same where the iterations do not depend on each other: a sum of three kinds of terms."""
    K = np.random.default_rng(0).integers(0, 3, n)

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(n):
            if K[i] == 0:
                total = total + x[i] ** 2
            elif K[i] == 1:
                total = total + np.exp(-x[i]) * x[i]
            else:
                total = total - np.log(x[i])
        return total

    return f, np.linspace(0.1, 1.0, n)


def decision_tree(n: int) -> Program:
    """A smooth decision tree of n nodes: every node mixes what its children give."""
    rng = np.random.default_rng(0)
    feature, threshold = rng.integers(0, 5, n), rng.normal(size=n)

    def f(x: Any) -> Any:
        def node(k: int) -> Any:
            if k >= n:
                return 0.1 * (k % 7) * x[5]
            p = 1.0 / (1.0 + np.exp(-(x[feature[k]] - threshold[k])))
            return p * node(2 * k + 1) + (1.0 - p) * node(2 * k + 2)

        return node(0)

    return f, np.linspace(0.1, 1.0, 6)


def n_body(n: int) -> Program:
    """n bodies in the plane, every pair of them in two nested loops, three steps."""

    def f(x: Any) -> Any:
        q = [[x[2 * i], x[2 * i + 1]] for i in range(n)]
        v = [[0.0, 0.0] for _ in range(n)]
        for _ in range(3):
            for i in range(n):
                ax, ay = 0.0, 0.0
                for j in range(n):
                    if i != j:
                        dx, dy = q[j][0] - q[i][0], q[j][1] - q[i][1]
                        r = (dx * dx + dy * dy + 0.01) ** 1.5
                        ax, ay = ax + dx / r, ay + dy / r
                v[i] = [v[i][0] + 0.01 * ax, v[i][1] + 0.01 * ay]
            q = [[a[0] + 0.01 * b[0], a[1] + 0.01 * b[1]] for a, b in zip(q, v)]
        return sum(a[0] ** 2 + a[1] ** 2 for a in q)

    return f, np.random.default_rng(0).normal(size=2 * n)


def random_scalars(n: int) -> Program:
    """A program of n operations in which nothing repeats."""
    rng = np.random.default_rng(0)
    ops = rng.integers(0, 5, n).tolist()
    places = rng.integers(0, 30, (n, 2)).tolist()

    def f(x: Any) -> Any:
        live = [x[i] for i in range(30)]
        for k, (a, b) in zip(ops, places):
            u, w = live[a], live[b]
            if k == 0:
                live[a] = 0.5 * u + 0.5 * w
            elif k == 1:
                live[a] = np.sin(u) * w
            elif k == 2:
                live[b] = u - 0.3 * w
            elif k == 3:
                live[b] = np.tanh(u + w)
            else:
                live[a] = u * 0.9
        return sum(live)

    return f, np.linspace(0.1, 1.0, 30)


def stencil_by_cells(n: int) -> Program:
    """Ten steps of diffusion on an n by n grid, cell by cell in nested loops."""

    def f(x: Any) -> Any:
        u = x.reshape(n, n)
        for _ in range(10):
            w = u.copy()
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    w[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
            u = w
        return np.sum(u**2)

    return f, np.random.default_rng(0).normal(size=n * n)


def soft_alignment(n: int) -> Program:
    """The recurrence of soft dynamic time warping over an n by n table, cell by cell."""

    def f(x: Any) -> Any:
        a, b = x[:n], x[n:]
        table = [[0.0 if i == 0 or j == 0 else None for j in range(n + 1)] for i in range(n + 1)]
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                d = (a[i - 1] - b[j - 1]) ** 2
                r = np.exp(-table[i - 1][j]) + np.exp(-table[i][j - 1]) + np.exp(-table[i - 1][j - 1])
                table[i][j] = d - np.log(r)
        return table[n][n]

    return f, np.random.default_rng(0).normal(size=2 * n)


def guards_in_a_loop(n: int) -> Program:
    """A loop that looks at every entry, and at a number that it carries."""

    def f(x: Any) -> Any:
        c, total = 0.0, 0.0
        for v in x:
            if v > 0.0:
                c = 0.5 * c + v * v
            if c > 100.0:
                c = 1.0
            total = total + np.sin(c)
        return total

    return f, np.linspace(0.1, 1.0, n)


def renewal_equation(n: int) -> Program:
    """Each value is a sum over all values before it, in a list."""
    weights = 0.1 * np.exp(-np.arange(n) / 10.0)

    def f(p: Any) -> Any:
        x = [np.exp(p[0])]
        for t in range(1, n):
            x.append(np.exp(0.1 * p[1]) * sum(x[s] * weights[t - s] for s in range(t)))
        return sum((v - 1.0) ** 2 for v in x)

    return f, np.array([0.3, 0.2])


def intensities(n: int) -> Program:
    """The likelihood of events that each make later ones likelier: a loop over what came before, within a loop."""
    times = np.cumsum(np.random.default_rng(5).exponential(size=n))

    def f(p: Any) -> Any:
        total = 0.0
        for i in range(n):
            rate = p[0]
            for j in range(i):
                rate += p[1] * np.exp(-p[2] * (times[i] - times[j]))
            total += np.log(rate)
        return total

    return f, np.array([0.8, 0.3, 0.6])


def binomial_tree(n: int) -> Program:
    """A price on a tree: powers of many orders, then lists that get shorter."""

    def f(p: Any) -> Any:
        u, d, q = np.exp(p[0] / np.sqrt(n)), np.exp(-p[0] / np.sqrt(n)), 0.5 + 0.01 * p[1]
        v = [np.maximum(1.0 - u**j * d ** (n - j), 0.0) for j in range(n + 1)]
        for i in range(n - 1, -1, -1):
            v = [0.999 * (q * v[j + 1] + (1.0 - q) * v[j]) for j in range(i + 1)]
        return v[0]

    return f, np.array([0.3, 0.2])


# The sizes at which the growth is measured.
PROGRAMS: dict[Callable[[int], Program], tuple[int, ...]] = {
    filled_array: (1000, 10_000, 100_000),
    recurrence_in_an_array: (1000, 10_000, 30_000),
    branches_on_data: (100, 1000, 10_000),
    independent_branches_on_data: (100, 1000, 10_000),
    decision_tree: (50, 500, 5000),
    n_body: (5, 16, 50),
    random_scalars: (300, 3000, 30_000, 180_000),
    stencil_by_cells: (6, 20, 40),
    soft_alignment: (5, 16, 50),
    guards_in_a_loop: (100, 1000, 10_000),
    renewal_equation: (30, 100, 300),
    intensities: (30, 100, 300),
    binomial_tree: (15, 60, 200),
}
