"""Pathfinder: normal distributions along the path of a quasi-Newton method to a mode; the best one gives draws.

Source: Zhang, Carpenter, Gelman and Vehtari (2022), J. Machine Learning Research 23(306): algorithms 1 to 4, with importance resampling by
truncated weights (Ionides 2008, J. Computational and Graphical Statistics 17) in place of smoothed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..adapters.samplers import LogDensity
from ..errors import NoMode
from .density import NamedDensity
from .progress import with_progress
from .starts import ATTEMPTS, minimized
from .transforms import Array

# The number of steps for an estimate of the Hessian, and of draws for an estimate of a divergence; as in the paper.
HISTORY, DRAWS_TO_COMPARE = 6, 5
MOST_STEPS = 1000
# A step shows the curvature if its product with the gradient's change is above this part of the latter's square.
CURVATURE = 1e-12


@dataclass(frozen=True, slots=True)
class PathDraws:
    """Draws by Pathfinder.

    Attributes:
        u: the unconstrained points, shape (draws, param_unc_num()); the first ones are starting points for samplers.
        values: the parameters there, each of shape (draws, *shape).
        elbos: for each path, the lower bound of the log evidence from its best normal distribution. If they differ by more than
            some units, paths have ended in different places.
        efficiency: of the importance weights, between 0 and 1; below 0.1 the draws are far from the posterior's.
    """

    u: Array
    values: dict[str, Array]
    elbos: Array
    efficiency: float


@dataclass(frozen=True, slots=True)
class _Normal:
    """A normal distribution with a diagonal plus low-rank covariance.

    Attributes:
        mean: the mean.
        scale: square roots of the diagonal part.
        basis, factor: of the low-rank part: scale * (1 + basis (factor - 1) basis.T) maps standard normal vectors to deviations.
        log_determinant: of the covariance.
    """

    mean: Array
    scale: Array
    basis: Array
    factor: Array
    log_determinant: float

    def draws(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws and the logarithms of their densities."""
        z = rng.normal(size=(count, self.mean.size))
        inside = z @ self.basis
        deviations = self.scale * (z + (inside @ self.factor.T - inside) @ self.basis.T)
        logs = -0.5 * (self.log_determinant + np.sum(z**2, axis=1) + self.mean.size * np.log(2.0 * np.pi))
        return self.mean + deviations, logs


def pathfinder(posterior: NamedDensity, draws: int, paths: int, seed: int) -> PathDraws:
    """Draws from the best normal distributions of several paths, resampled by their importance weights."""
    rng, density = np.random.default_rng(seed), LogDensity(posterior)
    ways = with_progress(range(paths), paths, "pathfinder")
    u, log_weights, elbos = zip(*(_one_path(density, posterior.param_unc_num(), draws, rng) for _ in ways))
    weights = np.concatenate(log_weights)
    if not np.any(np.isfinite(weights)):
        raise NoMode("no path of Pathfinder has found points with a finite log density", got=f"{paths} paths", fix="look at check()")
    weights = np.exp(weights - np.max(weights))
    weights = np.minimum(weights, np.mean(weights) * np.sqrt(weights.size))
    weights /= np.sum(weights)
    chosen = np.concatenate(u)[rng.choice(weights.size, size=draws, p=weights)]
    return PathDraws(chosen, posterior.constrain(chosen), np.array(elbos), float(1.0 / (weights.size * np.sum(weights**2))))


def _one_path(density: LogDensity, size: int, draws: int, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Draws, the logarithms of their importance weights, and the best bound."""
    best, elbo = None, -np.inf
    for normal in _normals(_path(density, size, rng)):
        u, logs = normal.draws(DRAWS_TO_COMPARE, rng)
        found = float(np.mean(density.rows(u) - logs))
        if best is None or found > elbo:
            best, elbo = normal, found
    if best is None:
        return np.zeros((draws, size)), np.full(draws, -np.inf), elbo
    u, logs = best.draws(draws, rng)
    return u, density.rows(u) - logs, elbo


def _path(density: LogDensity, size: int, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """Points and gradients of the log density on the path to a mode."""
    start = next((u for u in rng.uniform(-2.0, 2.0, size=(ATTEMPTS, size)) if np.isfinite(density(u))), None)
    if start is None:
        raise NoMode(f"the log density is not finite at {ATTEMPTS} points between -2 and 2", fix="look at check()")
    asked: dict[bytes, tuple[Array, Array]] = {}

    def falling(u: Array) -> tuple[float, Array]:
        value, gradient = density.value_and_gradient(u)
        asked[u.tobytes()] = u.copy(), gradient
        return -value, -gradient

    falling(start)
    visited = [start.tobytes()]
    record: Callable[[Array], None] = lambda u: visited.append(u.tobytes())  # noqa: E731 -- its type is told to the checker
    options = {"maxiter": MOST_STEPS, "maxcor": HISTORY, "ftol": 1e-12}
    minimized(falling, start, options, record)
    return [asked[point] for point in visited if point in asked]


def _normals(path: list[tuple[Array, Array]]) -> list[_Normal]:
    """For each point of a path but the first, the normal distribution from its last steps."""
    found: list[_Normal] = []
    diagonal, steps, changes = np.ones(path[0][0].size), [], []
    for (before, slope), (u, gradient) in pairwise(path):
        s, z = u - before, slope - gradient  # z: the change of the gradient of minus the log density
        if s @ z > CURVATURE * (z @ z):
            diagonal = _diagonal(diagonal, s, z)
            steps, changes = [*steps, s][-HISTORY:], [*changes, z][-HISTORY:]
        normal = _normal(u, gradient, diagonal, np.array(steps).T, np.array(changes).T) if steps else None
        if normal is not None:
            found.append(normal)
    return found


def _diagonal(d: Array, s: Array, z: Array) -> Array:
    """The diagonal estimate of the inverse Hessian after one more step."""
    a, b, c = z @ (d * z), z @ s, s @ (s / d)
    return 1.0 / (a / (b * d) + z**2 / b - a * s**2 / (b * c * d**2))


def _normal(u: Array, gradient: Array, d: Array, s: Array, z: Array) -> _Normal | None:
    """The normal distribution with the inverse Hessian of L-BFGS (Byrd, Nocedal and Schnabel 1994, Mathematical Programming 63); None if
    it is singular."""
    try:
        inverse = np.linalg.inv(np.triu(s.T @ z))
        outer, zero = np.concatenate([d[:, None] * z, s], axis=1), np.zeros_like(inverse)
        corner = inverse.T @ (np.diag(np.diagonal(s.T @ z)) + z.T @ (d[:, None] * z)) @ inverse
        middle = np.block([[zero, -inverse], [-inverse.T, corner]])
        scale = np.sqrt(d)
        basis, r = np.linalg.qr(outer / scale[:, None])
        factor = np.linalg.cholesky(np.eye(len(r)) + r @ middle @ r.T)
    except np.linalg.LinAlgError:
        return None
    mean = u + d * gradient + outer @ (middle @ (outer.T @ gradient))
    return _Normal(mean, scale, basis, factor, float(np.sum(np.log(d)) + 2.0 * np.sum(np.log(np.diagonal(factor)))))
