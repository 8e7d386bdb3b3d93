"""Modes, and normal distributions around them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..errors import NoMode, is_recoverable
from .density import NamedDensity
from .layout import Layout
from .progress import with_progress
from .starts import ATTEMPTS, minimized, points_with_a_value
from .transforms import Array

# The number of starting points with a finite log density to try.
STARTS = 6
# Newton's method takes a Hessian a step, seconds beyond this size: there, use gradients alone.
LARGEST_HESSIAN = 500
# An unconstrained number beyond this is diverging to a bound, or to infinity.
FAR = 8.0
# A point is a mode if the gradient is this small relative to its change over one unit.
FLAT = 1e-5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mode.

    Attributes:
        u: the unconstrained point.
        values: the parameters there.
        log_density: there.
        gradient: the remaining gradient there.
    """

    u: Array
    values: dict[str, Array]
    log_density: float
    gradient: Array


@dataclass(frozen=True, slots=True)
class NormalApproximation:
    """A normal distribution of the unconstrained vector, with the log density's mode and Hessian there (Laplace's method).

    Attributes:
        mode: its mean.
        covariance: the inverse of the negative Hessian.
        log_evidence: the logarithm of the integral of the normal distribution, scaled to the density at the mode.
    """

    mode: Estimate
    covariance: Array
    log_evidence: float
    _layout: Layout

    def sample(self, draws: int, *, seed: int = 0) -> dict[str, Array]:
        """Draws of the parameters, each of shape (draws, *shape)."""
        factor = np.linalg.cholesky(self.covariance)
        normal = np.random.default_rng(seed).normal(size=(draws, self.mode.u.size))
        return self._layout.constrain_rows(self.mode.u + normal @ factor.T)


def find_mode(posterior: NamedDensity, start: Array | None, jacobian: bool, seed: int) -> Estimate:
    """Find modes by a quasi-Newton method, then Newton's, and return the highest; from one start, the first."""
    size, rng = posterior.param_unc_num(), np.random.default_rng(seed)
    starts = [start] if start is not None else [*islice(points_with_a_value(posterior.plain_log_density, size, rng), STARTS)]

    def falling(u: Array) -> tuple[float, Array]:
        try:
            value, gradient = posterior.log_density_gradient(u, jacobian=jacobian)
        except Exception as error:
            if is_recoverable(error):
                return np.inf, np.zeros(size)
            raise
        return (-value, -gradient) if np.isfinite(value) and np.all(np.isfinite(gradient)) else (np.inf, np.zeros(size))

    found, ends = [], []
    options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9}
    for point in with_progress(starts, len(starts), "find_map"):
        if np.isfinite(falling(point)[0]):
            ends.append(minimized(falling, point, options, lambda u: None))
            found.append(_sharpened(posterior, ends[-1], jacobian))
            if found[-1] is not None and start is not None:
                break
    modes = [mode for mode in found if mode is not None]
    if not modes:
        if not starts:
            what = f"the log density is not finite at {ATTEMPTS} points between -2 and 2"
            raise NoMode(what, fix="start={...}, values at which it is; or look at check()")
        why, fix = _why(posterior, ends, jacobian)
        raise NoMode(
            f"no mode was found from {len(starts)} starting points, {len(ends)} of them with a finite log density", got=why, fix=fix
        )
    u = max(modes, key=lambda u: _value(posterior, u, jacobian))
    value, gradient = posterior.log_density_gradient(u, jacobian=jacobian)
    return Estimate(u, posterior.constrain(u), float(value), gradient)


def _value(posterior: NamedDensity, u: Array, jacobian: bool) -> float:
    """The log density; -inf at a point that the model rejects."""
    try:
        return posterior.log_density(u, jacobian=jacobian)
    except Exception as error:
        if is_recoverable(error):
            return -np.inf
        raise


def _why(posterior: NamedDensity, ends: list[Array], jacobian: bool) -> tuple[str | None, str]:
    """Say which parameters diverged, and where to, in the run with the highest value; and what to do."""
    if not ends:
        return None, "start={...}, values at which it is finite"
    u = max(ends, key=lambda u: _value(posterior, u, jacobian))
    values, far = posterior.constrain(u), []
    for block in posterior.layout.blocks:
        part = np.abs(np.atleast_1d(u[block.part]))
        if np.max(part, initial=0.0) > FAR:
            value = values[block.name]
            shown = f" to {np.ravel(value)[np.argmax(part)]:.2g}" if value.size == part.size else ""
            far.append(f"{block.name} goes{shown}")
    went = f"it rises as {', '.join(far)}" if far else None
    if jacobian:
        return went, "a prior that keeps it away from there" if far else "start={...}, values near a mode"
    if all(block.parameter.transform.name == "real" for block in posterior.layout.blocks):
        return went, "start={...}, values near a mode; or a prior, where the density rises without end"
    return went, "find_map(jacobian=True), the mode of the unconstrained vector, which exists also where that is at a bound"


def _sharpened(posterior: NamedDensity, u: Array, jacobian: bool) -> Array | None:
    """The mode that Newton's method reaches from nearby; None if it reaches none."""
    if u.size > LARGEST_HESSIAN:
        _, gradient = posterior.log_density_gradient(u, jacobian=jacobian)
        _, step = posterior.log_density_hessian_vector_product(
            u, gradient / max(1e-300, float(np.linalg.norm(gradient))), jacobian=jacobian
        )
        return u if np.linalg.norm(gradient) <= 1e-3 * max(1.0, float(np.linalg.norm(step))) else None
    step = np.full_like(u, np.inf)
    for _ in range(20):
        value, gradient, hessian = posterior.log_density_hessian(u, jacobian=jacobian)
        try:
            factor = np.linalg.cholesky(-hessian)
        except np.linalg.LinAlgError:
            return None
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        if np.max(np.abs(step), initial=0.0) <= FLAT * 1e-3:
            return u
        if not _value(posterior, u + step, jacobian) >= value:
            return u if np.max(np.abs(step)) <= FLAT else None
        u = u + step
    return u if np.max(np.abs(step)) <= FLAT else None


def laplace_approximation(posterior: NamedDensity, mode: Estimate) -> NormalApproximation:
    """The normal distribution at a mode of the unconstrained vector's density."""
    _, _, hessian = posterior.log_density_hessian(mode.u)
    factor = np.linalg.cholesky(-hessian)
    root = np.linalg.inv(factor)
    log_evidence = (
        mode.log_density + 0.5 * mode.u.size * np.log(2.0 * np.pi) - float(np.sum(np.log(np.diagonal(factor))))
    )
    return NormalApproximation(mode, root.T @ root, log_evidence, posterior.layout)
