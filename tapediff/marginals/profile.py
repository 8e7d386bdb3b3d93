"""Profile likelihoods: the largest log-likelihood with one parameter fixed, and the intervals in which it is nearly the largest of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import special
from ..errors import ArgumentMismatch, Undetermined, is_recoverable
from ..uncertainty import root_of_inverse

# Of value and gradient, at a vector.
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

# The root of twice the fall of the profile is found to this.
TOLERANCE = 1e-5
MOST_STEPS = 60
# Beyond so many standard errors an interval has no end.
FAR = 50.0
# How far the log-likelihood at the estimate may be from its maximum, by a Newton step, or below a value that is found on the way.
AT_MAXIMUM = 1e-3
# The largest entry of the gradient, in standard errors, at which the other parameters are at their maximum.
FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile likelihood of one parameter.

    Attributes:
        name: of the parameter, as `theta[1]`.
        estimate: at the maximum of the likelihood.
        lower, upper: the ends of the confidence interval; infinite where the likelihood stays above.
        at: values of the parameter at which the profile is known, in order.
        values: of the profile there: the log marginal, maximised by all other parameters.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    at: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Profiles:
    """Profiles of several parameters; prints as a table. `found["theta[1]"]` is one of them.

    Attributes:
        profiles: in the order of td.tree.ravel.
        level: of the confidence intervals.
    """

    profiles: tuple[Profile, ...]
    level: float

    def __getitem__(self, name: str) -> Profile:
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise KeyError(name)

    def __str__(self) -> str:
        width = max(len(profile.name) for profile in self.profiles)
        rows = [f"{'':{width}}  {'estimate':>12}  {'lower':>12}  {'upper':>12}"]
        rows += [f"{p.name:{width}}  {p.estimate:12.5g}  {p.lower:12.5g}  {p.upper:12.5g}" for p in self.profiles]
        return "\n".join([*rows, f"{100 * self.level:g} % intervals, by the profile likelihood"])


def profiled(
    objective: Objective, estimate: np.ndarray, information: np.ndarray, names: Sequence[str], chosen: Sequence[str] | None, level: float
) -> Profiles:
    """Profile each chosen parameter around the maximum of an objective, with minus the Hessian there."""
    if not 0.0 < level < 1.0:
        raise ArgumentMismatch("the level of an interval is a probability", got=f"level={level!r}", fix="level=0.95")
    wanted = names if chosen is None else chosen
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        raise ArgumentMismatch("names= are of numbers of the parameters", got=", ".join(map(str, unknown)) or "none", fix=", ".join(names))
    root, distance = root_of_inverse(information, names), float(special.ndtri(0.5 + 0.5 * level))
    top, slope = objective(estimate)
    promised = 0.5 * float(np.sum((root.T @ slope) ** 2))
    if promised > AT_MAXIMUM:
        raise Undetermined("theta is no maximum of the log marginal", got=f"a step that promises {promised:.3g} more",
                           fix="optimise further: scipy.optimize.minimize with jac=True")  # fmt: skip
    made = (_Along(objective, estimate, root @ root.T, names.index(name), name, top, distance) for name in wanted)
    return Profiles(tuple(along.profile() for along in made), level)


class _Along:
    """The profile along one parameter."""

    def __init__(
        self, objective: Objective, estimate: np.ndarray, covariance: np.ndarray, k: int, name: str, top: float, distance: float
    ) -> None:
        self.objective, self.estimate, self.k, self.name, self.top, self.distance = objective, estimate, k, name, top, distance
        self.rest = np.delete(np.arange(len(estimate)), k)
        self.error = float(np.sqrt(covariance[k, k]))
        self.tilt = covariance[self.rest, k] / covariance[k, k]
        given = covariance[np.ix_(self.rest, self.rest)] - np.outer(self.tilt, covariance[k, self.rest])
        # Of the other parameters given this one.
        self.root = np.linalg.cholesky(given) if self.rest.size else given
        self.found = {float(estimate[k]): top}

    def profile(self) -> Profile:
        lower, upper = self._end(-1.0), self._end(1.0)
        at = np.array(sorted(self.found))
        return Profile(self.name, float(self.estimate[self.k]), lower, upper, at, np.array([self.found[c] for c in at]))

    def _end(self, sign: float) -> float:
        """The value where the root of twice the fall is the quantile: Newton's method, kept between the last points on both sides.

        Source: Venzon and Moolgavkar (1988), Applied Statistics 37(1), for the limits; Bates and Watts (1988), Nonlinear Regression
        Analysis, chapter 6, for the signed root, which is nearly straight.
        """
        inside, outside, others = 0.0, np.inf, self.estimate[self.rest]
        away = self.distance * self.error
        for _ in range(MOST_STEPS):
            value, slope, reached = self._maximum(self.estimate[self.k] + sign * away, others, sign * (away - inside))
            fall = np.sqrt(max(0.0, 2.0 * (self.top - value)))
            if abs(fall - self.distance) <= TOLERANCE:
                break
            if fall < self.distance:
                if away > FAR * self.error:
                    return sign * np.inf
                inside, others = away, reached
            else:
                outside = away
            # The slope of the fall along the parameter, by the envelope theorem.
            rate = -sign * slope / fall if 0.0 < fall < np.inf else 0.0
            step = away + (self.distance - fall) / rate if rate > 0.0 else np.inf
            most = 2.0 * away if outside == np.inf else outside
            away = step if inside < step < most else most if outside == np.inf else 0.5 * (inside + outside)
        return float(self.estimate[self.k] + sign * away)

    def _maximum(self, c: float, others: np.ndarray, moved: float) -> tuple[float, float, np.ndarray]:
        """The maximum by the other parameters: its value, the slope by this one, and where; -inf where nothing has a value."""
        start = others + self.tilt * moved

        def at(z: np.ndarray) -> tuple[float, np.ndarray, float]:
            try:
                value, gradient = self.objective(np.insert(start + self.root @ z, self.k, c))
            except Exception as error:
                if not is_recoverable(error):
                    raise
                return np.inf, np.zeros_like(z), 0.0
            if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
                return np.inf, np.zeros_like(z), 0.0
            return -value, -(self.root.T @ gradient[self.rest]), float(gradient[self.k])

        z = np.zeros(self.rest.size)
        if self.rest.size:
            import scipy.optimize  # late: it is not loaded with this package

            z = scipy.optimize.minimize(lambda z: at(z)[:2], z, jac=True, method="BFGS", options={"gtol": FLAT}).x
        fallen, _, slope = at(z)
        if -fallen > self.top + AT_MAXIMUM:
            raise Undetermined("theta is no maximum of the log marginal", got=f"{-fallen - self.top:.3g} more where {self.name} is {c:.5g}",
                               fix="start the optimiser there")  # fmt: skip
        self.found[float(c)] = -fallen
        return -fallen, slope, start + self.root @ z
