"""Functions of arrays of many lengths, each with a function that draws their data: one tape serves all lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import logsumexp

import tapediff as td

Data = Callable[[np.random.Generator, int], tuple[Any, ...]]


def series(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (rng.normal(size=n),)


def rows(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=(n, 3)), rng.normal(size=n)


def labelled(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=(n, 3)), (rng.random(n) < 0.5).astype(float)


def groups(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), rng.integers(0, 3, n)


def edges(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.integers(0, 3, n), rng.integers(0, 3, n), rng.random(n)


def columns(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return ({"x": rng.normal(size=n), "y": rng.normal(size=n)},)


def of_several_lengths(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return ([rng.normal(size=n), rng.normal(size=n + 3), rng.normal(size=7)],)


def of_two_lengths(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), rng.normal(size=n + 2)


def points(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return np.sort(rng.normal(size=n)) + 0.01 * np.arange(n), rng.normal(size=n)


def square(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (rng.normal(size=(n, n)),)


# Regressions


def logistic(t, x, y):
    z = x @ t
    return np.sum(np.logaddexp(0.0, z) - y * z) / len(y) + 0.5 * np.sum(t**2)


def least_squares(t, x, y):
    b = np.linalg.solve(x.T @ x + np.exp(t[0]) * np.eye(3), x.T @ y)
    return np.sum((y - x @ b) ** 2)


def network(t, x, y):
    return np.mean((np.tanh(x @ t.reshape(3, 1))[:, 0] - y) ** 2)


def covariance(t, x, _):
    centred = x - x.mean(axis=0)
    return np.linalg.slogdet(centred.T @ centred / (len(x) - 1) + np.eye(3) * np.exp(t[0]))[1]


def row_by_row(t, x, y):
    s = 0.0
    for row, b in zip(x, y):
        s = s + (row @ t - b) ** 2
    return s


def densities(t, r):
    return -np.sum(td.stats.norm.logpdf(r, t[0], np.exp(t[1]))) - td.stats.t.logpdf(r, 4.0, t[2]).mean()


def categories(t, x, _):
    z = x * t
    return np.sum(logsumexp(z, axis=1)) + np.log(np.sum(np.exp(z), axis=1)).sum() + logsumexp(z[:, 0])


def mixture(t, r):
    parts = np.stack([-((r - t[k]) ** 2) for k in range(3)])
    top = parts.max(axis=0)
    return -np.sum(top + np.log(np.exp(parts - top).sum(axis=0)))


def by_group(t, r, g):
    return sum(np.sum((r[g == k] - t[k]) ** 2) for k in range(3))


def of_edges(t, i, j, w):
    return np.sum(w * (t[i] - t[j]) ** 2)


def of_a_dict(t, d):
    return np.sum((d["y"] - t[0] - t[1] * d["x"]) ** 2)


def of_a_list(t, parts):
    return sum(np.sum((r - t[k]) ** 2) * len(r) for k, r in enumerate(parts))


# Time series


def garch(t, r):
    w, a, b = np.exp(t)
    s, total = w, 0.0
    for v in r:
        total = total + np.log(s) + v**2 / s
        s = w + a * v**2 + b * s
    return 0.5 * total


def garch_by_position(t, r):
    w, a, b = np.exp(t)
    s, total = w, 0.0
    for k in range(len(r)):
        total = total + np.log(s) + r[k] ** 2 / s
        s = w + a * r[k] ** 2 + b * s
    return total


def scanned(t, r):
    w, a, b = np.exp(t)
    _, out = td.scan(lambda s, v: (w + a * v**2 + b * s, np.log(s) + v**2 / s), w, r)
    return np.sum(out)


def scanned_of_pairs(t, r):
    def body(carry, given):
        x, (k, y) = carry[0], given
        return (0.5 * x + t[0] * y, carry[1] + k), x * t[1]

    (x, total), out = td.scan(body, (t[2], 0.0), (np.arange(len(r)), r), reverse=True)
    return x + total + np.sum(out**2) + out[0]


def hidden_states(t, r):
    a = np.array([[0.9, 0.1], [0.2, 0.8]])
    p = np.log(np.array([0.5, 0.5]))
    for k in range(len(r)):
        top = p.max()
        p = np.log(np.exp(p - top) @ a) + top - 0.5 * (r[k] - t[:2]) ** 2
    return np.log(np.sum(np.exp(p)))


def kalman(t, r):
    m, p, total = np.zeros(2), np.eye(2), 0.0
    f, q, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.exp(t[0]) * np.eye(2), np.array([1.0, 0.0])
    for y in r:
        m, p = f @ m, f @ p @ f.T + q
        s = h @ p @ h + np.exp(t[1])
        k, e = p @ h / s, y - h @ m
        m, p = m + k * e, p - np.outer(k, h @ p)
        total = total - 0.5 * (np.log(s) + e * e / s)
    return total


def autoregression(t, r):
    e = r[1:] - t[0] * r[:-1] - t[1]
    return np.sum(e**2) * np.exp(-t[2]) + len(e) * t[2]


def differences(t, r):
    s = 0.0
    for k in range(1, len(r)):
        s = s + t[0] / (r[k] - r[k - 1]) ** 2 + np.sum(t[1] / np.diff(r))
    return s


def windows(t, r):
    s = 0.0
    for k in range(2, len(r)):
        s = s + np.sum(r[k - 2 : k + 1]) ** 2 * t[0]
    return s


def pairs(t, r):
    s = 0.0
    for i in range(len(r)):
        for j in range(i):
            s = s + np.exp(-((r[i] - r[j]) ** 2) * t[0])
    return s


def backwards(t, r):
    s = 0.0
    for v in reversed(r):
        s = s * t[0] + v
    for v in r[::-1]:
        s = s * t[1] + v
    return s


def every_other(t, r):
    s = 0.0
    for k in range(0, len(r), 2):
        s = s * t[0] + r[k]
    return s


def side_by_side(t, r):
    s = sum(t[0] * a * b for a, b in zip(r[1:], r[:-1]))
    for k, (a, b) in enumerate(zip(r, r * r)):
        s = s * t[1] + a * b * k if a > b else s + t[2] * b
    return s


def previous(t, r):
    last, s = None, 0.0
    for v in r:
        s = s if last is None else s + t[0] * (v - last) ** 2
        last = v
    return s


def filled(t, r):
    out = np.zeros_like(r)
    s = 0.0
    for k, v in enumerate(r):
        s = t[0] * s + v
        out[k] = s
    return out @ out + np.var(out) * t[1]


def filled_from_before(t, r):
    out = np.empty(len(r))
    out[0] = t[0]
    for k in range(1, len(r)):
        out[k] = t[1] * out[k - 1] + r[k]
    return np.sum((out - r) ** 2)


def filled_by_rows(t, r):
    m = np.zeros((len(r), 2))
    m[0] = t[:2]
    for k in range(1, len(r)):
        m[k] = t[0] * m[k - 1, ::-1] + np.array([r[k], r[k - 1]])
    return np.sum(m[:, 0] * m[:, 1])


def filled_after_a_start(t, r):
    h = np.zeros(len(r) + 1)
    h[0] = t[0]
    for k in range(len(r)):
        h[k + 1] = t[1] * h[k] + r[k]
    return np.sum(h**2) + h[-1] * t[2]


def filled_from_one(t, r):
    h = np.zeros(len(r) + 1)
    for k in range(1, len(r) + 1):
        h[k] = t[1] * h[k - 1] + r[k - 1] * t[0]
    return np.sum(h**2) * t[2]


def filled_from_behind(t, r):
    h = np.zeros(len(r))
    h[-1] = t[0]
    for k in range(len(r) - 2, -1, -1):
        h[k] = t[1] * h[k + 1] + r[k]
    return np.sum(h**2) * t[2]


def filled_by_columns(t, r):
    out = np.zeros((len(r), 2))
    out[0, 0], a = t[1], t[2]
    for k in range(1, len(r)):
        a = 0.5 * a + r[k]
        out[k, 0] = t[0] * out[k - 1, 0] + a
        if r[k] > 0:
            out[k, 1] = np.sin(out[k, 0])
    return np.sum(out**2)


def filled_columns(t, r):
    out, a = np.zeros((2, len(r))), t[2]
    for k in range(len(r)):
        a = t[0] * a + r[k]
        out[0, k] = a
        out[1, k] = a * a * t[1]
    return np.sum(out**2)


def table(t, x, y):
    d = np.zeros((len(x) + 1, len(y) + 1))
    for i in range(len(x)):
        for j in range(1, len(y) + 1):
            d[i + 1, j] = t[0] * d[i, j] + t[1] * d[i + 1, j - 1] + np.exp(t[2] * x[i] * y[j - 1])
    return np.sum(d**2)


def every_pair(t, r):
    total = t[2]
    for i in range(len(r)):
        for j in range(len(r)):
            total = total + np.exp(-t[0] * (r[i] - r[j]) ** 2) * t[1]
    return total


def down_a_range(t, r):
    s = 0.0
    for k in reversed(range(1, len(r) - 1)):
        s = s * t[0] + r[k] * r[k + 1] - r[k - 1] * k
    return s


def left_early(t, r):
    s = 0.0
    for k in range(len(r)):
        s = s + t[0] * r[k] ** 2
        if s > 1.5:
            return s * t[2] + k
    return s * t[1]


def after_the_loop(t, r):
    for k in range(len(r)):
        v = r[k]
    return k * t[0] + v * t[1]


def appended(t, r):
    out, s = [], t[1]
    for v in r:
        s = 0.5 * s + v * t[0]
        out.append(s)
    return np.sum(np.array(out) ** 2) + np.mean([np.exp(-t[0] * v) for v in r])


def appended_where(t, r):
    return np.sum([t[0] * v for v in r if v > 0]) + np.prod([1 + 0.1 * t[1] * v for v in r]) + max(np.exp(v * t[2]) for v in r)


# Functions of arrays


def standardised(t, r):
    z = (r - r.mean()) / r.std()
    return np.sum(np.exp(t[0] * z)) + r.max() * t[1] + np.median(r) * t[2]


def in_order(t, r):
    z = np.sort(r * t[0])
    return np.sum(z * np.arange(1, len(r) + 1)) + np.sum(r[np.argsort(r)] * np.linspace(0.0, t[1], len(r)))


def neighbours(t, r):
    return np.sum(np.roll(r, 1) * r * t[0]) + np.trapezoid(np.sin(r * t[1]), dx=0.1) + np.sum(np.convolve(r, t) ** 2)


def polynomial(t, r):
    return np.sum((np.column_stack([np.ones(len(r)), r, r**2]) @ t) ** 2) + np.sum((r.reshape(-1, 1) * t[None, :]) ** 2)


def in_bins(t, r):
    return np.sum(t[np.minimum(np.digitize(r, [-1.0, 0.0, 1.0]), 2)] * r) + np.sum(np.where(r > t[0], r * t[1], -r))


def kernel(t, r):
    return np.sum(np.exp(-((r[:, None] - r[None, :]) ** 2) * t[0])) + np.sum(np.subtract.outer(r, r) ** 2) * t[1]


def gaussian_process(t, x, y):
    k = np.exp(t[0]) * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 * np.exp(t[1])) + np.exp(t[2]) * np.eye(len(x))
    factor = np.linalg.cholesky(k)
    z = td.linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * z @ z + np.sum(np.log(np.diag(factor)))


def gaussian_process_by_scipy(t, x, y):
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 * np.exp(t[1])) + (0.1 + np.exp(t[2])) * np.eye(len(x))
    return 0.5 * y @ cho_solve(cho_factor(k, lower=True), y) + 0.5 * np.linalg.slogdet(k)[1] + np.sum(np.tril(k)) * t[0]


def covariance_of(t, x):
    return np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 * np.exp(t[1])) + np.exp(t[2]) * np.eye(len(x))


def inverses(t, r):
    k = covariance_of(t, r)
    return np.sum(np.linalg.inv(k) @ r) * t[0] + np.trace(np.linalg.inv(k))


def determinants(t, r):
    k = covariance_of(t, r)
    return np.log(np.linalg.det(k / np.exp(t[2]))) * t[0] + np.linalg.slogdet(k + np.outer(np.sin(r), r))[1]


def systems(t, x, y):
    k, other = covariance_of(t, x), np.exp(-0.5 * (x[:, None] - y[None, :]) ** 2 * np.exp(t[1]))
    s = np.linalg.solve(k, other)
    return np.sum(other * s) * t[0] + np.sum(s**2)


def triangles(t, r):
    l = np.linalg.cholesky(covariance_of(t, r))
    u, a = solve_triangular(l.T, r, lower=False), solve_triangular(l, covariance_of(t, r) * t[0], lower=True)
    return u @ u + np.sum(a**2) + np.sum(np.log(np.diag(l))) + np.sum(np.exp(0.1 * l @ np.sin(r))) + np.sum(l @ l.T * t[1])


def chained(t, r):
    k = covariance_of(t, r)
    m = k @ k.T @ np.outer(r, r) / len(r) ** 2
    return np.sum(m**2) * t[0] + np.sum(m @ r)


def shrunk(t, r):
    k = covariance_of(t, r)[1:, 1:]
    return np.linalg.slogdet(k)[1] + r[1:] @ np.linalg.solve(k, r[1:]) * t[0]


def gram(t, x, _):
    k = np.exp(t[0]) * x @ x.T / x.shape[1] + np.eye(len(x)) * np.exp(t[1])
    return np.linalg.slogdet(k)[1] + np.sum(k) * t[2]


def of_a_matrix(t, m):
    s = m @ m.T + np.exp(t[0]) * np.eye(len(m))
    return np.linalg.slogdet(s)[1] * t[1] + np.sum(np.linalg.cholesky(s)) * t[2]


def up_to_the_shorter(t, x, y):
    s = 0.0
    for a, b in zip(x, y):
        s = s + a * b * t[0]
    for b, a in zip(y, x):
        s = t[1] * s + a - b
    return s + sum(a * b for b, a in zip(y, x)) * t[2]


def of_other_dtypes(t, r):
    counts, chosen = np.ones(len(r), dtype=np.int64), np.zeros(len(r), dtype=bool)
    return np.sum(counts) // 2 * t[0] + np.sum(np.where(~chosen, r, np.full(len(r), 2.0))) * t[1] + np.sum(r / (counts + counts))


PROGRAMS: dict[str, tuple[Callable[..., Any], Data]] = {
    f.__name__: (f, data)
    for data, functions in (
        (rows, (least_squares, network, covariance, row_by_row, categories, gram)), (square, (of_a_matrix,)), (labelled, (logistic,)), (groups, (by_group,)),
        (edges, (of_edges,)), (columns, (of_a_dict,)), (of_several_lengths, (of_a_list,)),
        (of_two_lengths, (up_to_the_shorter, systems, table)),
        (points, (gaussian_process, gaussian_process_by_scipy)),
        (series, (
            densities, mixture, garch, garch_by_position, scanned, scanned_of_pairs, hidden_states, kalman, autoregression, differences,
            windows, pairs, backwards, every_other, side_by_side, previous, filled, filled_from_before, filled_by_rows,
            filled_after_a_start, filled_from_one, filled_from_behind, filled_by_columns, filled_columns, every_pair, down_a_range,
            left_early, after_the_loop, appended, appended_where, standardised, in_order, neighbours, polynomial, in_bins, kernel,
            of_other_dtypes, inverses, determinants, triangles, chained, shrunk,
        )),
    )
    for f in functions
}  # fmt: skip
