"""A first look at a posterior: is it finite at samplers' starting points, is the gradient right, how near are the branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import PosteriorError, is_recoverable
from ...ir.tape import in_notebook
from ..density import NamedDensity
from ..progress import with_progress
from ..transforms import Array
from .jumps import Branch, Looking, branches_of

# For a gradient against central differences, whose error is about 1e-10 of the value's scale.
TOLERANCE = 1e-5
# The steps of the differences; the best one counts.
STEPS = (1e-4, 1e-5, 1e-6)
# The largest deviation of the value from that of plain NumPy, relative to it, or to 1: float32 rounds to 1e-7.
SAME_VALUE = 1e-5
LARGEST_STEP = max(STEPS)
# With more parameters than this, differences are taken along this many random directions.
DIRECTIONS = 20
# Steps between draws that are looked at for crossings, and points among them at which branches are looked for.
MOST_PAIRS, AT_DRAWS = 100, 5


@dataclass(frozen=True, slots=True)
class Point:
    """The findings at one point.

    Attributes:
        u: the unconstrained point.
        log_density: there; NaN or infinite where it is not defined.
        steepest: the largest entry of the gradient.
        error: of the gradient, relative to its largest entry, or to 1 where that is larger; NaN if it, or every difference, is not finite.
        next_branch: the distance of the nearest comparison of parameters from another outcome; None if there is none.
            Comparisons of data alone, such as of indices with the length of an array, do not count.
        branch: that comparison and its line; "" if there is none.
        at: that line.
        failure: an exception raised instead of a result.
    """

    u: Array
    log_density: float
    steepest: float
    error: float
    next_branch: float | None
    failure: str | None = None
    branch: str = ""
    at: str = ""

    @property
    def is_fine(self) -> bool:
        """True if value and gradient are finite, and the gradient, if compared, agrees with the differences."""
        is_finite = bool(np.isfinite(self.log_density) and np.isfinite(self.steepest))
        return self.failure is None and is_finite and (self.error < TOLERANCE or not self.is_compared)

    @property
    def is_compared(self) -> bool:
        """True if differences test the gradient: not near a branch, which some of their steps cross."""
        return self.next_branch is None or self.next_branch >= LARGEST_STEP


@dataclass(frozen=True, slots=True)
class Report:
    """The findings at all points; prints as a table.

    Attributes:
        points: the findings, in order.
        jump: the change of the log density at the nearest branch: 0 if it is continuous, None if unknown.
        branches: all lines with comparisons of parameters, the nearest first: how high the log density jumps there, if it does, which
            parameters cross them, and with draws, how often.
    """

    points: tuple[Point, ...]
    jump: float | None = None
    branches: tuple[Branch, ...] = ()

    @property
    def is_fine(self) -> bool:
        """True if every point is fine."""
        return all(point.is_fine for point in self.points)

    def _repr_html_(self) -> str:
        return in_notebook(str(self))

    def __str__(self) -> str:
        lines = ["point        log density   largest slope   error of gradient   to the next branch"]
        for k, p in enumerate(self.points):
            name = "u = 0" if k == 0 else f"random {k}"
            if p.failure is not None:
                lines.append(f"{name:9}   {p.failure}   <- look here")
                continue
            branch = "no branches" if p.next_branch is None else f"{p.next_branch:.2g}"
            lines.append(
                f"{name:9}   {p.log_density:12.5g}   {p.steepest:13.4g}   {p.error:17.1e}   {branch:>18}"
                + ("   <- look here" if not p.is_fine else "" if p.is_compared else "   <- on a branch: not compared")
            )
        nearest = _nearest(self.points)
        if nearest is not None:
            lines.append(f"the nearest branch: {nearest.branch}{_told(self.jump)}")
        lines += [str(branch) for branch in self.branches if branch.jump and (branch.steps or branch.jump != self.jump)]
        lines.append(self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        """The summary that the rows support."""
        if not self.is_fine:
            return "not fine at the marked points"
        compared = sum(p.is_compared for p in self.points)
        if compared == len(self.points):
            return f"finite everywhere, and gradients agree with differences to {TOLERANCE:g} of the largest slope, or of 1"
        told = f"agree with differences at {compared} of {len(self.points)} points" if compared else "were not compared"
        which = "the others" if compared else "all points"
        return f"finite everywhere; gradients {told}, as {which} are so near to a branch that differences cross it (it is named above)"


def check_posterior(posterior: NamedDensity, points: int, draws: Mapping[str, Array] | None, seed: int) -> Report:
    """Check at u = 0, and at points uniform in (-2, 2), where Stan's samplers begin; jumps also at draws."""
    if points < 1:
        raise PosteriorError("a check needs a point", got=f"points={points}", fix="points=5")
    rng, size = np.random.default_rng(seed), posterior.param_unc_num()
    starts = [np.zeros(size), *rng.uniform(-2.0, 2.0, size=(max(points - 1, 0), size))]
    looking = Looking(posterior)
    found = tuple(_look_at(looking, u, rng) for u in with_progress(starts, len(starts), "check"))
    pairs = [] if draws is None else _consecutive(posterior, draws)
    at_draws = [u for u, _ in pairs[:: max(1, len(pairs) // AT_DRAWS)]]
    branches = branches_of(looking, [*(p.u for p in found if p.failure is None), *at_draws], pairs, rng)
    nearest = _nearest(found)
    jumps = {branch.at: branch.jump for branch in branches}
    return Report(found, None if nearest is None else jumps.get(nearest.at), tuple(branches))


def _consecutive(posterior: NamedDensity, draws: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """Some pairs of consecutive draws, of all chains."""
    chains, count = next(iter(draws.values())).shape[:2]
    if count < 2:
        raise PosteriorError("steps between draws need two of a chain", got=f"{chains} chains of {count}", fix="draws of one run")
    wanted = np.linspace(0, chains * (count - 1) - 1, min(MOST_PAIRS, chains * (count - 1))).astype(int)
    at = lambda chain, k: posterior.unconstrain({name: draws[name][chain, k] for name in posterior.shapes})  # noqa: E731 -- its name is its use
    return [(at(*divmod(int(n), count - 1)), at(int(n) // (count - 1), int(n) % (count - 1) + 1)) for n in wanted]


def _nearest(points: tuple[Point, ...]) -> Point | None:
    """The point nearest to a branch, but not on it if there are others: at u = 0 an equality may hold by chance."""
    branching = [p for p in points if p.next_branch is not None]
    return min(branching, key=lambda p: p.next_branch or np.inf, default=None)


def _told(jump: float | None) -> str:
    if jump is None:
        return ""
    return f", where the log density jumps by {jump:.2g}" if jump else ", where the log density is continuous"


def _look_at(looking: Looking, u: Array, rng: np.random.Generator) -> Point:
    posterior = looking.posterior
    try:
        value, gradient = posterior.log_density_gradient(u)
    except Exception as error:
        if not is_recoverable(error):
            raise
        return Point(u, np.nan, np.nan, np.nan, None, f"{type(error).__name__}: {error}".splitlines()[0])
    steepest = float(np.max(np.abs(gradient), initial=0.0))
    plain = _plain(posterior, u)
    if np.isfinite(value) and not abs(value - plain) <= SAME_VALUE * max(1.0, abs(value)):
        return Point(u, float(value), steepest, np.nan, None, f"the compiled value is {value:.9g}, that of plain Python {plain:.9g}")
    margins = [
        m
        for m in looking.margins(u)
        if m.kind == "guard" and m.moves and np.isfinite(m.margin)
    ]
    nearest = min(margins, key=lambda m: abs(m.margin), default=None)
    error = _error(posterior, u, gradient, rng) / max(1.0, steepest) if np.isfinite(value) else np.nan
    if nearest is None:
        return Point(u, float(value), steepest, error, None)
    branch = f"{nearest.comparison}({nearest.left:.4g}, {nearest.right:.4g}) in {nearest.at}"
    return Point(u, float(value), steepest, error, abs(nearest.margin), branch=branch, at=nearest.at)


def _error(posterior: NamedDensity, u: Array, gradient: Array, rng: np.random.Generator) -> float:
    """The gradient's deviation from central differences of the plain function: best of three steps, along axes or random directions.

    NaN where there is nothing finite to compare.
    """
    if u.size <= DIRECTIONS:
        directions = np.eye(u.size)
    else:
        directions = rng.normal(size=(DIRECTIONS, u.size))  # not normalised, so that the error of one entry counts in full
    worst = 0.0
    for direction in directions:
        differences = [(_plain(posterior, u + h * direction) - _plain(posterior, u - h * direction)) / (2 * h) for h in STEPS]
        errors = [e for e in (abs(d - gradient @ direction) for d in differences) if np.isfinite(e)]
        if not errors:
            return np.nan
        worst = max(worst, min(errors))
    return float(worst)


def _plain(posterior: NamedDensity, u: Array) -> float:
    """The plain function's value; NaN where it rejects the point."""
    try:
        return np.errstate(all="ignore")(posterior.plain_log_density)(u)
    except Exception as error:
        if is_recoverable(error):
            return np.nan
        raise
