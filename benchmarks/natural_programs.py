"""Programs as people write them who think of no compiler: recurrences over cells, bands, trees and histories, in Python loops.

Each takes a size n and gives a function, with the point where it is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], np.ndarray]


def _normal(n: int, seed: int, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(seed).normal(size=n)


def thomas(n: int) -> Program:
    """A tridiagonal system, by elimination and back substitution over n rows."""

    def f(x):
        lower, diagonal, upper, right = x[:n], 4.0 + x[n : 2 * n] ** 2, x[2 * n : 3 * n], x[3 * n :]
        c, d = np.zeros(n), np.zeros(n)
        c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
        for i in range(1, n):
            pivot = diagonal[i] - lower[i] * c[i - 1]
            c[i] = upper[i] / pivot
            d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
        y = np.zeros(n)
        y[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            y[i] = d[i] - c[i] * y[i + 1]
        return np.sum(y**2)

    return f, _normal(4 * n, 1)


def implicit_heat(n: int) -> Program:
    """Ten implicit steps of a rod of n cells, each a tridiagonal system in lists."""

    def f(x):
        u = [x[i] for i in range(n)]
        for _ in range(10):
            c, d = [0.0] * n, [0.0] * n
            for i in range(n):
                left = 0.5 if i > 0 else 0.0
                pivot = 2.0 + x[n + i] ** 2 - left * c[i - 1]
                c[i] = 0.5 / pivot
                d[i] = (u[i] + left * d[i - 1]) / pivot
            u[n - 1] = d[n - 1]
            for i in reversed(range(n - 1)):
                u[i] = d[i] + c[i] * u[i + 1]
        return sum(v * v for v in u)

    return f, _normal(2 * n, 2)


def gauss_seidel(n: int) -> Program:
    """Two sweeps over the cells of a grid of m x m, in place, with m² about 4 n."""
    m = max(4, round((4 * n) ** 0.5))

    def f(x):
        source = np.reshape(x, (m, m))
        u = np.zeros((m, m))
        for _ in range(2):
            for i in range(1, m - 1):
                for j in range(1, m - 1):
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] + source[i, j])
        return np.sum(u**2)

    return f, _normal(m * m, 3)


def alignment(n: int) -> Program:
    """Smith and Waterman's alignment with soft maxima, of two sequences of m letters, m² about 10 n."""
    m = max(3, round((10 * n) ** 0.5))
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 4, m), rng.integers(0, 4, m)

    def f(x):
        score, gap = np.reshape(x[:16], (4, 4)), x[16]
        h = np.zeros((m + 1, m + 1))
        for i in range(1, m + 1):
            for j in range(1, m + 1):
                match = h[i - 1, j - 1] + score[a[i - 1], b[j - 1]]
                h[i, j] = np.logaddexp(np.logaddexp(match, h[i - 1, j] - gap), np.logaddexp(h[i, j - 1] - gap, 0.0))
        return h[m, m]

    return f, np.concatenate([_normal(16, 4), [0.5]])


def filter_bank(n: int) -> Program:
    """Four recursive filters of second order over a signal of n samples, one after the other in each sample."""
    signal = _normal(n, 5)

    def f(x):
        state = np.zeros((4, 2))
        energy = 0.0
        for value in signal:
            for k in range(4):
                y = x[5 * k] * value + state[k, 0]
                state[k, 0] = x[5 * k + 1] * value - x[5 * k + 2] * y + state[k, 1]
                state[k, 1] = x[5 * k + 3] * value - x[5 * k + 4] * y
                value = np.tanh(y)
            energy = energy + value**2
        return energy

    return f, _normal(20, 6, 0.3)


def spline(n: int) -> Program:
    """A natural cubic spline through n points by bands, and its curvature at three places of each interval."""
    knots = np.cumsum(0.5 + np.random.default_rng(7).random(n + 2))
    h = np.diff(knots)

    def f(y):
        m = len(y) - 2
        right = [6.0 * ((y[i + 2] - y[i + 1]) / h[i + 1] - (y[i + 1] - y[i]) / h[i]) for i in range(m)]
        pivot = [2.0 * (h[0] + h[1])]
        for i in range(1, m):
            factor = h[i] / pivot[i - 1]
            pivot.append(2.0 * (h[i] + h[i + 1]) - factor * h[i])
            right[i] = right[i] - factor * right[i - 1]
        curvature = [0.0] * (m + 2)
        for i in range(m - 1, -1, -1):
            curvature[i + 1] = (right[i] - h[i + 1] * curvature[i + 2]) / pivot[i]
        total = 0.0
        for i in range(m + 1):
            for part in (0.25, 0.5, 0.75):
                bend = (1 - part) * curvature[i] + part * curvature[i + 1]
                total = total + bend**2
        return total

    return f, _normal(n + 2, 8)


def ewald(n: int) -> Program:
    """The energy of n / 5 charges in a periodic box: pairs in real space, waves in reciprocal space."""
    count = max(3, n // 5)
    charges = np.where(np.arange(count) % 2, 1.0, -1.0)
    waves = [(a, b, c) for a in range(-1, 2) for b in range(-1, 2) for c in range(2) if (a, b, c) != (0, 0, 0)]

    def f(x):
        place = np.reshape(x, (count, 3))
        energy = 0.0
        for i in range(count):
            for j in range(i):
                apart = place[i] - place[j]
                apart = apart - np.round(apart)
                distance = np.sqrt(np.sum(apart**2) + 0.01)
                energy = energy + charges[i] * charges[j] * np.exp(-2.0 * distance) / distance
        for wave in waves:
            phase = 2.0 * np.pi * (place @ np.array(wave, float))
            real, imaginary = np.sum(charges * np.cos(phase)), np.sum(charges * np.sin(phase))
            squared = float(wave[0] ** 2 + wave[1] ** 2 + wave[2] ** 2)
            energy = energy + np.exp(-squared) / squared * (real**2 + imaginary**2)
        return energy

    return f, np.random.default_rng(9).random(3 * count)


def beliefs(n: int) -> Program:
    """Messages up a random tree of n nodes with three states, given by an array of parents."""
    rng = np.random.default_rng(10)
    parents = [-1] + [int(rng.integers(max(0, k - 10), k)) for k in range(1, n)]

    def f(x):
        pairs, own = np.exp(np.reshape(x[:9], (3, 3))), np.exp(np.reshape(x[9:], (n, 3)))
        belief = own.copy()
        log = 0.0
        for k in range(n - 1, 0, -1):
            scale = np.sum(belief[k])
            log = log + np.log(scale)
            belief[parents[k]] = belief[parents[k]] * (pairs @ (belief[k] / scale))
        return log + np.log(np.sum(belief[0]))

    return f, _normal(9 + 3 * n, 11, 0.5)


def givens(n: int) -> Program:
    """The triangular factor of an m x m matrix by rotations of two rows, with m³ about 10 n."""
    m = max(3, round((10 * n) ** (1 / 3)))

    def f(x):
        r = np.reshape(x, (m, m)).copy()
        for j in range(m):
            for i in range(m - 1, j, -1):
                a, b = r[i - 1, j], r[i, j]
                length = np.sqrt(a**2 + b**2)
                c, s = a / length, b / length
                upper, lower = r[i - 1].copy(), r[i].copy()
                r[i - 1] = c * upper + s * lower
                r[i] = c * lower - s * upper
        return np.sum(np.log(np.abs(np.diag(r)))) + np.sum(r[0])

    return f, _normal(m * m, 12)


def history(n: int) -> Program:
    """A recurrent network that attends to all of its earlier states, n / 3 steps."""
    steps, size = max(3, n // 3), 4
    inputs = _normal(steps * size, 13).reshape(steps, size)

    def f(x):
        W, U = np.reshape(x[:16], (4, 4)), np.reshape(x[16:], (4, 4))
        h, states = np.zeros(size), []
        loss = 0.0
        for t in range(steps):
            if states:
                past = np.stack(states)
                weights = np.exp(past @ h)
                context = (weights @ past) / np.sum(weights)
            else:
                context = np.zeros(size)
            h = np.tanh(W @ h + U @ context + inputs[t])
            states.append(h)
            loss = loss + h @ h
        return loss

    return f, _normal(32, 14, 0.5)


def oscillators(n: int) -> Program:
    """Five steps of n oscillators, each pulled by the neighbours of its list."""
    rng = np.random.default_rng(15)
    neighbours = [sorted({int(v) for v in rng.integers(0, n, rng.integers(1, 5))}) for _ in range(n)]

    def f(x):
        phase, rate = x[:n], x[n:]
        for _ in range(5):
            change = np.zeros(n)
            for i in range(n):
                for j in neighbours[i]:
                    change[i] += np.sin(phase[j] - phase[i])
            phase = phase + 0.1 * (rate + change)
        return np.sum(np.cos(phase))

    return f, _normal(2 * n, 16)


def levinson(n: int) -> Program:
    """Levinson and Durbin's recursion of order m, with m² about 10 n."""
    m = max(3, round((10 * n) ** 0.5))

    def f(x):
        a = np.zeros(m + 1)
        a[0] = 1.0
        error = 2.0 + x[0] ** 2
        for k in range(1, m + 1):
            total = x[k]
            for j in range(1, k):
                total = total + a[j] * x[k - j]
            reflection = -total / error
            before = a.copy()
            for j in range(1, k):
                a[j] = before[j] + reflection * before[k - j]
            a[k] = reflection
            error = error * (1.0 - reflection**2)
        return np.log(error**2) + np.sum(a**2)

    return f, _normal(m + 1, 17, 0.1)


def fractions(n: int) -> Program:
    """Twenty continued fractions of n / 2 terms, from the last term to the first."""
    terms = max(3, n // 2)

    def f(x):
        total = 0.0
        for z in x[:20]:
            value = 0.0
            for k in range(terms, 0, -1):
                value = k * z / (2.0 + k * x[20] ** 2 + value)
            total = total + value
        return total

    return f, 0.5 + np.random.default_rng(18).random(21)


def lu(n: int) -> Program:
    """The determinant of an m x m matrix without pivots, by three loops, with m³ about 30 n."""
    m = max(3, round((30 * n) ** (1 / 3)))

    def f(x):
        a = np.reshape(x, (m, m)) + 4.0 * np.eye(m)
        for k in range(m):
            for i in range(k + 1, m):
                factor = a[i, k] / a[k, k]
                for j in range(k + 1, m):
                    a[i, j] -= factor * a[k, j]
        return sum(np.log(np.abs(a[k, k])) for k in range(m))

    return f, _normal(m * m, 19, 0.5)


def waves(n: int) -> Program:
    """The wave equation in n steps on 20 x 20 points with absorbing borders, by slices."""

    def f(x):
        before = np.reshape(x, (20, 20))
        u = before.copy()
        for _ in range(n):
            after = 1.9 * u - 0.9 * before
            after[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
            after[0, :] = u[1, :] - 0.3 * (after[1, :] - u[0, :])
            after[-1, :] = u[-2, :] - 0.3 * (after[-2, :] - u[-1, :])
            after[:, 0] = u[:, 1] - 0.3 * (after[:, 1] - u[:, 0])
            after[:, -1] = u[:, -2] - 0.3 * (after[:, -2] - u[:, -1])
            before, u = u, after
        return np.sum(u**2)

    return f, _normal(400, 20, 0.1)


def wave_cells(n: int) -> Program:
    """The same cell by cell, four steps on m x m cells, m² about 2 n."""
    m = max(4, round((2 * n) ** 0.5))

    def f(x):
        before = np.reshape(x, (m, m))
        u = before
        for _ in range(4):
            after = np.zeros((m, m))
            for i in range(m):
                for j in range(m):
                    if i == 0 or j == 0 or i == m - 1 or j == m - 1:
                        inner = u[min(max(i, 1), m - 2), min(max(j, 1), m - 2)]
                        after[i, j] = 0.7 * inner + 0.3 * u[i, j]
                    else:
                        around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                        after[i, j] = 2.0 * u[i, j] - before[i, j] + 0.2 * around
            before, u = u, after
        return np.sum(u**2)

    return f, _normal(m * m, 21, 0.1)


def cholesky(n: int) -> Program:
    """The log determinant of a covariance of m points by loops over its rows, with m³ about 30 n."""
    m = max(3, round((30 * n) ** (1 / 3)))
    where = np.sort(np.random.default_rng(22).random(m)) * 3.0

    def f(x):
        L = np.zeros((m, m))
        for i in range(m):
            for j in range(i + 1):
                entry = x[0] ** 2 * np.exp(-(x[1] * (where[i] - where[j])) ** 2) + (x[2] ** 2 + 0.1) * (i == j)
                entry = entry - sum(L[i, k] * L[j, k] for k in range(j))
                L[i, j] = np.sqrt(entry) if i == j else entry / L[j, j]
        return sum(np.log(L[i, i]) for i in range(m))

    return f, np.array([1.0, 0.8, 0.5])


def annuities(n: int) -> Program:
    """Twenty contracts over n / 5 months with different rates, lapses and one guarantee that may bind."""
    months = max(3, n // 5)
    ages = np.linspace(30.0, 60.0, 20)

    def f(x):
        total = 0.0
        for age in ages:
            fund, alive, discount = 100.0, 1.0, 1.0
            for t in range(months):
                death = 1e-4 * np.exp(x[0] * (age + t / 12.0) / 10.0)
                fund = fund * (1.0 + x[1] / 12.0) - 0.1
                pay = fund + max(0.0, 100.0 * (1.0 + x[2]) - fund)
                discount = discount / (1.0 + x[3] / 12.0)
                total = total + alive * death * pay * discount
                alive = alive * (1.0 - death)
            total = total + alive * fund * discount
        return total

    return f, np.array([0.9, 0.04, 0.01, 0.02])


PROGRAMS = (
    thomas, implicit_heat, gauss_seidel, alignment, filter_bank, spline, ewald, beliefs, givens, history, oscillators, levinson, fractions,
    lu, waves, wave_cells, cholesky, annuities,
)  # fmt: skip
