"""Functions with derivatives in closed form: what every operator of every target is tried on.

A scenario is recorded or compiled at `first` and evaluated at `points`, so that a derivative which only holds where it was recorded
is found out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapediff as td


@dataclass(frozen=True)
class Scenario:
    """A function from an array to an array.

    Attributes:
        f: the function.
        first: where it is recorded.
        points: where it is evaluated, on the same path.
        jacobian: (x) -> array of shape (*f(x).shape, *x.shape).
        hessian: of a scalar function, (x) -> array of shape (*x.shape, *x.shape).
        other_path: a point whose path is another one.
    """

    name: str
    f: Callable[[Any], Any]
    first: Any
    points: tuple[Any, ...]
    jacobian: Callable[[Any], Any]
    hessian: Callable[[Any], Any] | None = None
    other_path: Any = None


RNG = np.random.default_rng(5)
A = RNG.normal(size=(4, 3))
S = A.T @ A
VECTORS = (np.array([0.4, -1.2, 2.0]), np.zeros(3), np.array([-3.0, 0.1, 0.7]))


def _diagonal(values: Any) -> Any:
    shape = np.shape(values)
    return np.diag(np.ravel(values)).reshape(*shape, *shape)


def _chain(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _chain_gradient(x):
    g = np.zeros(len(x))
    g[:-1] = -400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
    return g


def _chain_hessian(x):
    h = np.diag(np.concatenate([1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0, [0.0]]))
    h += np.diag(np.concatenate([[0.0], np.full(len(x) - 1, 200.0)]))
    return h - np.diag(400.0 * x[:-1], 1) - np.diag(400.0 * x[:-1], -1)


def _arrow(x):
    return np.sum(x[0] ** 2 * x[1:] ** 2)


def _arrow_hessian(x):
    h = np.zeros((len(x), len(x)))
    h[0, 0] = 2.0 * np.sum(x[1:] ** 2)
    h[0, 1:] = h[1:, 0] = 4.0 * x[0] * x[1:]
    h[np.arange(1, len(x)), np.arange(1, len(x))] = 2.0 * x[0] ** 2
    return h


def _branching(x):
    return np.sum(x**3) if x[0] > 0 else np.sum(x**2)


_power = td.subtape(lambda v: v**3 if v > 0 else v**2)


def _by_subtape(x):
    return sum(_power(v) for v in x)


def _scanned(x):
    return td.scan(lambda c, v: (c * v, c * v), 1.0, x)[1]


def _scanned_jacobian(x):
    n = len(x)
    return np.array([[np.prod(np.delete(x[: t + 1], s)) if s <= t else 0.0 for s in range(n)] for t in range(n)])


def _squared_until_large(x):
    return td.while_loop(lambda v: np.sum(v) < 100.0, lambda v: v * 2.0, x)


def _doublings(x):
    count = 0
    while np.sum(x) * 2.0**count < 100.0:
        count += 1
    return 2.0**count * np.eye(len(x))


POSITIVE = (np.array([0.4, 1.2, 2.0]), np.array([3.0, 0.1, 0.7]))

SCENARIOS = (
    Scenario("a number to a number", lambda x: np.sin(x) * x, 0.3, (1.1, -2.0), lambda x: np.cos(x) * x + np.sin(x),
             lambda x: 2.0 * np.cos(x) - np.sin(x) * x),
    Scenario("a number to an array", lambda x: np.stack([x, x**2, np.exp(x)]), 0.3, (1.1, -2.0), lambda x: np.array([1.0, 2 * x, np.exp(x)])),
    Scenario("entries alone", lambda x: np.exp(x) * x, VECTORS[0], VECTORS[1:], lambda x: _diagonal(np.exp(x) * (x + 1.0))),
    Scenario("a matrix to a matrix", lambda x: x**3, np.ones((2, 3)), (np.arange(6.0).reshape(2, 3),), lambda x: _diagonal(3.0 * x**2)),
    Scenario("a linear map", lambda x: A @ x, VECTORS[0], VECTORS[1:], lambda x: A),
    Scenario("more arguments than results", lambda x: A.T @ x, np.ones(4), (np.arange(4.0),), lambda x: A.T),
    Scenario("a dense sum", lambda x: np.sum(np.tanh(A @ x)), VECTORS[0], VECTORS[1:], lambda x: (1 - np.tanh(A @ x) ** 2) @ A,
             lambda x: A.T @ np.diag(-2.0 * np.tanh(A @ x) * (1 - np.tanh(A @ x) ** 2)) @ A),
    Scenario("a quadratic form", lambda x: x @ S @ x, VECTORS[0], VECTORS[1:], lambda x: 2.0 * S @ x, lambda x: 2.0 * S),
    Scenario("a chain", _chain, np.full(9, 0.3), (np.linspace(-1, 1, 9), np.ones(9)), _chain_gradient, _chain_hessian),
    Scenario("an arrow", _arrow, np.full(8, 0.3), (np.linspace(-1, 1, 8),), lambda x: np.concatenate(
             [[2.0 * x[0] * np.sum(x[1:] ** 2)], 2.0 * x[0] ** 2 * x[1:]]), _arrow_hessian),
    Scenario("a log-determinant", lambda x: np.linalg.slogdet(x)[1], np.eye(3) + 0.1, (S + np.eye(3),), lambda x: np.linalg.inv(x).T,
             lambda x: -np.einsum("li,jk->ijkl", np.linalg.inv(x), np.linalg.inv(x))),
    Scenario("a branch", _branching, VECTORS[0], (np.array([2.0, -1.0, 0.5]),), lambda x: 3.0 * x**2 if x[0] > 0 else 2.0 * x,
             lambda x: np.diag(6.0 * x if x[0] > 0 else np.full(3, 2.0)), -VECTORS[0]),
    Scenario("a sub-tape with branches", _by_subtape, VECTORS[0], VECTORS[2:], lambda x: np.where(x > 0, 3.0 * x**2, 2.0 * x),
             lambda x: np.diag(np.where(x > 0, 6.0 * x, 2.0))),
    Scenario("a scan", _scanned, POSITIVE[0], POSITIVE[1:], _scanned_jacobian),
    Scenario("a while loop", _squared_until_large, POSITIVE[0], POSITIVE[1:], _doublings),
)  # fmt: skip

SCALAR = tuple(s for s in SCENARIOS if s.hessian is not None)


def targets_of(f: Callable[..., Any], *first: Any) -> dict[str, Any]:
    """Every kind of target, recorded and compiled at `first`, and warmed up there."""
    guarded = td.GuardedTape(f)
    guarded(*first)
    return {"function": f, "tape": td.record(f, *first), "compiled": td.compile(f, *first), "guarded": guarded}
