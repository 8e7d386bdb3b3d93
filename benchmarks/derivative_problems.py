"""Problems whose Hessians, Jacobians and Hessian-vector products are timed: one function in plain NumPy each, and one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy

from .array_problems import rosenbrock
from .loop_problems import PROBLEMS as LOOP_PROBLEMS
from .problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class DerivativeProblem:
    """A derivative of a function at a point.

    Attributes:
        operator: "hessian", "hvp", "jacobian", "sparse_jacobian" or "sparse_hessian".
        problem: function, point and names.
        blocks: of a sparse Jacobian made of dense blocks, what JAX is given.
        small: leave everything else out of tests.
    """

    operator: str
    problem: Problem
    blocks: Blocks | None = None
    small: bool = False
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.operator}_{self.problem.name}")

    @property
    def title(self) -> str:
        return f"{self.operator}: {self.problem.title}"

    @property
    def point(self) -> numpy.ndarray:
        return self.problem.points[0]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A Jacobian made of dense blocks.

    Attributes:
        function: function(parameters, np) of one block.
        columns: for each block, which entries of the point it takes.
        rows: for each block, which results it makes.
    """

    function: Callable[..., Any]
    columns: numpy.ndarray
    rows: numpy.ndarray


_rng = numpy.random.default_rng(20261122)


# Scalar functions


def logistic(rows, columns):
    """Negative log density of a logistic regression with a standard normal prior."""
    design = _rng.normal(size=(rows, columns)) / numpy.sqrt(columns)
    outcome = (_rng.random(rows) < 0.5).astype(float)

    def negative_log_density(beta, np=numpy):
        logits = design @ beta
        return np.sum(np.logaddexp(0.0, logits) - outcome * logits) + 0.5 * np.sum(beta * beta)

    return negative_log_density


def gaussian_process(n):
    """Negative log marginal likelihood: amplitude, inverse squared length and noise, all as logarithms."""
    t = numpy.linspace(0.0, 1.0, n)
    y = numpy.sin(6.0 * t)
    squares = numpy.subtract.outer(t, t) ** 2

    def negative_log_likelihood(u, np=numpy):
        covariance = np.exp(u[0]) * np.exp(-0.5 * squares * np.exp(u[1])) + (np.exp(u[2]) + 1e-3) * numpy.eye(n)
        lower = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(lower, y)
        return 0.5 * np.sum(whitened**2) + np.sum(np.log(np.diagonal(lower)))

    return negative_log_likelihood


NETWORK_INPUTS, NETWORK_OUTPUTS = _rng.normal(size=(20, 4)), _rng.normal(size=20)


def network(w, np=numpy):
    """A perceptron of 144 weights with squared loss on 20 points."""
    hidden = np.tanh(NETWORK_INPUTS @ w[:64].reshape(4, 16) + w[64:80])
    return np.sum((np.sum(np.tanh(hidden @ w[80:].reshape(16, 4)), axis=1) - NETWORK_OUTPUTS) ** 2)


def lotka_volterra_euler(p, np=numpy):
    """Lotka-Volterra, 20 Euler steps as a Python loop: four rates and the state at the start."""
    u, v, loss = p[4], p[5], 0.0
    for _ in range(20):
        u, v = u + 0.05 * (p[0] * u - p[1] * u * v), v + 0.05 * (p[3] * u * v - p[2] * v)
        loss = loss + (u - 1.0) ** 2 + (v - 0.5) ** 2
    return loss


# Functions with array results


def tanh_layer(rows, columns):
    matrix = _rng.normal(size=(rows, columns)) / numpy.sqrt(columns)
    return lambda x, np=numpy: np.tanh(matrix @ x)


def neighbours(x, np=numpy):
    """Each result depends on two neighbours."""
    return x[1:] * np.sin(x[:-1])


TIMES = numpy.linspace(0.0, 1.0, 10_000)


def damped_wave(p, np=numpy):
    return p[0] * np.exp(-p[1] * TIMES) * np.sin(p[2] * TIMES + p[3]) + p[4]


VERTICES, BLEND = _rng.normal(size=(100, 8)), _rng.normal(size=(8, 26))


def hand(x, np=numpy):
    """Positions of 100 vertices of a hand from 26 pose parameters, after the hand tracking of ADBench (Srajer et al. 2018), made small."""
    vertices = VERTICES * np.tanh(BLEND @ x)
    c, s = np.cos(x[:3]), np.sin(x[:3])
    first = vertices[:, 0] * c[0] - vertices[:, 1] * s[0] + x[3]
    second = vertices[:, 2] * c[1] + vertices[:, 3] * s[1] + x[4]
    third = np.sum(vertices[:, 4:], axis=1) * c[2] + x[5]
    return np.reshape(np.stack([first, second, third], axis=1), (-1,))


def reprojected(camera, point, weight, np=numpy):
    """Two residuals of an observation: rotation, centre, focal length, principal point and distortion of a camera, a point, a weight."""
    r = [camera[..., k] for k in range(3)]
    moved = [point[..., k] - camera[..., 3 + k] for k in range(3)]
    angle = np.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2)
    c, s = np.cos(angle), np.sin(angle)
    axis = [component / angle for component in r]
    along = (axis[0] * moved[0] + axis[1] * moved[1] + axis[2] * moved[2]) * (1.0 - c)
    crossed = [axis[(k + 1) % 3] * moved[(k + 2) % 3] - axis[(k + 2) % 3] * moved[(k + 1) % 3] for k in range(3)]
    turned = [moved[k] * c + crossed[k] * s + axis[k] * along for k in range(3)]
    x, y = turned[0] / turned[2], turned[1] / turned[2]
    square = x**2 + y**2
    distortion = (1.0 + camera[..., 9] * square + camera[..., 10] * square**2) * camera[..., 6]
    return np.stack([weight * (x * distortion + camera[..., 7]), weight * (y * distortion + camera[..., 8])], axis=-1)


def bundle_adjustment(cameras, points, observations):
    """Residuals of all observations by all parameters, after the bundle adjustment of ADBench: each depends on 15 of them."""
    camera = _rng.integers(cameras, size=observations)
    point = _rng.integers(points, size=observations)
    split = numpy.cumsum([11 * cameras, 3 * points])
    weights = split[1] + numpy.arange(observations)
    columns = numpy.concatenate(
        [11 * camera[:, None] + numpy.arange(11), split[0] + 3 * point[:, None] + numpy.arange(3), weights[:, None]], axis=1
    )

    def residuals(u, np=numpy):
        every_camera, every_point = u[: split[0]].reshape(cameras, 11), u[split[0] : split[1]].reshape(points, 3)
        return np.reshape(reprojected(every_camera[camera], every_point[point], u[split[1] :], np), (-1,))

    one = lambda u, np=numpy: reprojected(u[:11], u[11:14], u[14], np)  # noqa: E731
    start = numpy.concatenate([
        0.3 * _rng.normal(size=(cameras, 11)).ravel(), (_rng.normal(size=(points, 3)) + [0.0, 0.0, 6.0]).ravel(),
        _rng.uniform(0.5, 1.5, observations),
    ])  # fmt: skip
    return residuals, start, Blocks(one, columns, numpy.arange(2 * observations).reshape(-1, 2))


# The lists

def _problem(name, title, function, size, scale=0.3):
    return Problem(name, title, function, (scale * numpy.random.default_rng(size).normal(size=size),))


SCALARS = (
    *(_problem(f"rosenbrock_{n}", f"Rosenbrock, n = {n}", rosenbrock, n) for n in (10, 100, 1000)),
    *(_problem(f"logistic_{n}_{d}", f"logistic regression, {n} × {d}", logistic(n, d), d)
      for n, d in ((500, 10), (500, 100), (500, 1000), (2000, 25))),
    *(_problem(f"gp_{n}", f"Gaussian process, n = {n}", gaussian_process(n), 3) for n in (50, 60)),
    _problem("network_144", "perceptron, 144 weights", network, 144),
    _problem("lotka_volterra_euler", "Lotka-Volterra, 20 Euler steps", lotka_volterra_euler, 6),
)  # fmt: skip
VECTORS = (
    *(_problem(f"tanh_{m}_{n}", f"tanh(A @ x), {m} × {n}", tanh_layer(m, n), n)
      for m, n in ((10, 10), (50, 50), (100, 100), (1000, 1000), (1000, 3), (3, 1000))),
    _problem("bidiagonal", "bidiagonal, 999 × 1000", neighbours, 1000),
    _problem("curve_fit", "curve fit, 10 000 × 5", damped_wave, 5),
    _problem("hand", "hand tracking, 300 × 26", hand, 26),
)  # fmt: skip
# Python loops that are rolled up, and a scan.
_ROLLED_NAMES = {"rosenbrock_loop_1000", "volatility", "lotka_volterra", "hidden_markov", "bouncing_ball_scan"}
ROLLED = tuple(p for p in LOOP_PROBLEMS if p.name in _ROLLED_NAMES)
# Those that compile and run in a moment.
SMALL = {
    "rosenbrock_10", "rosenbrock_100", "logistic_500_10", "gp_50", "lotka_volterra_euler", "tanh_10_10", "tanh_50_50", "bidiagonal", "hand",
}  # fmt: skip


def _sparse():
    residuals, start, blocks = bundle_adjustment(cameras=20, points=300, observations=1000)
    adjusted = Problem("bundle_adjustment", "bundle adjustment, 1000 blocks of 2 × 15", residuals, (start,))
    yield DerivativeProblem("sparse_jacobian", adjusted, blocks, small=True)
    yield DerivativeProblem("sparse_hessian", _problem("rosenbrock_100000", "Rosenbrock, n = 100 000", rosenbrock, 100_000))


DERIVATIVE_PROBLEMS = (
    *(DerivativeProblem("hessian", p, small=p.name in SMALL) for p in SCALARS),
    *(DerivativeProblem("jacobian", p, small=p.name in SMALL) for p in VECTORS),
    *(DerivativeProblem("hvp", p, small=p.name in SMALL) for p in (*SCALARS, *ROLLED)),
    *_sparse(),
)
BY_NAME = {problem.name: problem for problem in DERIVATIVE_PROBLEMS}
