"""Jumps of a log density at branches, which gradients do not show: where, how high, by which parameters, and how often crossed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import is_recoverable
from ...targets.margins import Margin
from ..density import NamedDensity
from ..transforms import Array

# The number of random directions to try from a point, for the nearest line and for others, and of secant steps along each: those of a
# comparison that nothing reaches, as of a probability with 0, would take all.
WAYS, WAYS_OF_OTHERS, STEPS = 8, 2, 15
# The distance on either side of the branch at which the log density is evaluated, and the difference that exceeds a slope's.
BESIDE, SMOOTH = 1e-7, 1e-4
# Lines that are looked at, the nearest first, and points from which each is tried.
MOST_LINES, MOST_POINTS = 20, 2
# The step that tells whether a parameter moves a comparison.
NUDGE = 1e-4


@dataclass(frozen=True, slots=True)
class Branch:
    """A line on which a comparison of parameters decides.

    Attributes:
        at: the line.
        comparison: the nearest one there, as `greater(5.1, 5.0)`.
        jump: the largest change of the log density that was found across it: 0 if it is continuous; None if no other side was reached.
        parameters: those that move it.
        crossed: how many of the steps between draws cross it.
        steps: the number of these; 0 without draws.
    """

    at: str
    comparison: str
    jump: float | None
    parameters: tuple[str, ...]
    crossed: int = 0
    steps: int = 0

    def __str__(self) -> str:
        often = f"; {self.crossed} of {self.steps} steps between draws cross it" if self.steps else ""
        cross = "crosses" if len(self.parameters) == 1 else "cross"
        return f"jumps by {self.jump or 0.0:.2g} where {', '.join(self.parameters)} {cross} {self.at}{often}"


class Looking:
    """A posterior, and the comparisons at its points, for which each path is recorded once."""

    def __init__(self, posterior: NamedDensity) -> None:
        self.posterior, self._margins = posterior, posterior.tape.margins_of_many()

    def margins(self, u: Array) -> list[Margin]:
        return self._margins(u, self.posterior.constants)


def branches_of(
    at_points: Looking, points: Sequence[Array], pairs: Sequence[tuple[Array, Array]], rng: np.random.Generator
) -> list[Branch]:
    """The lines with comparisons that move, the nearest first.

    Args:
        points: where they are looked for.
        pairs: of consecutive draws.
    """
    seen = [(u, found) for u in points if (found := _deciding(at_points, u)) is not None]
    near: dict[str, list[tuple[float, int, Margin]]] = {}
    for k, (_, found) in enumerate(seen):
        for at, margin in _nearest_by_line(found).items():
            near.setdefault(at, []).append((abs(margin.margin), k, margin))
    lines = sorted(near, key=lambda at: min(near[at], key=lambda each: each[:2])[0])[:MOST_LINES]
    sides = [(_sides(at_points, u), _sides(at_points, v)) for u, v in pairs] if lines else []
    branches: list[Branch] = []
    nearest = next((at for at in lines if near[at][0][2].kind == "guard"), None)
    for at in lines:
        places = sorted(near[at], key=lambda each: each[:2])[:MOST_POINTS]
        starts = [(seen[k][0], (at, _number(seen[k][1], margin))) for _, k, margin in places]
        ways = WAYS if at == nearest else WAYS_OF_OTHERS
        found = [jump for u, number in starts if (jump := _jump(at_points, u, number, ways, rng)) is not None]
        crossed = sum(one.get(at) != other.get(at) for one, other in sides)
        branches.append(Branch(at, str(places[0][2]).split(", margin")[0], max(found, default=None),
                               _parameters(at_points, *starts[0], rng), crossed, len(sides)))  # fmt: skip
    return branches


def _deciding(at_points: Looking, u: Array) -> list[Margin] | None:
    """The comparisons that decide between branches or entries, and move; None where there is no value."""
    try:
        found = at_points.margins(u)
    except Exception as error:
        if not is_recoverable(error):
            raise
        return None
    return [m for m in found if m.kind in ("guard", "where") and m.moves and np.isfinite(m.margin)]


def _nearest_by_line(found: Sequence[Margin]) -> dict[str, Margin]:
    nearest: dict[str, Margin] = {}
    for margin in found:
        if margin.at not in nearest or abs(margin.margin) < abs(nearest[margin.at].margin):
            nearest[margin.at] = margin
    return nearest


def _sides(at_points: Looking, u: Array) -> dict[str, tuple[float, ...]]:
    """For each line, how many elements of each comparison hold."""
    sides: dict[str, tuple[float, ...]] = {}
    for margin in _deciding(at_points, u) or ():
        sides[margin.at] = (*sides.get(margin.at, ()), margin.count)
    return sides


def _number(found: Sequence[Margin], margin: Margin) -> int:
    """The index of a comparison among those of its line."""
    return next(k for k, other in enumerate(m for m in found if m.at == margin.at) if other is margin)


def _parameters(at_points: Looking, u: Array, number: tuple[str, int], rng: np.random.Generator) -> tuple[str, ...]:
    here, names = _margin(at_points, u, number), list[str]()
    for block in at_points.posterior.layout.blocks:
        moved = u.copy()
        moved[block.part] += NUDGE * rng.normal(size=moved[block.part].shape)
        if _margin(at_points, moved, number) != here:
            names.append(block.name)
    return tuple(names)


def _jump(at_points: Looking, u: Array, number: tuple[str, int], ways: int, rng: np.random.Generator) -> float | None:
    """The change of the log density at a comparison near a point: 0 if it is continuous; None if its other side was not reached."""
    here = _margin(at_points, u, number)
    try:
        for _ in range(ways):
            direction = rng.normal(size=u.size)
            found = _crossing(at_points, u, direction / np.linalg.norm(direction), number, here)
            if found is not None:
                before, after = (at_points.posterior.plain_log_density(point) for point in found)
                change = abs(after - before)
                return 0.0 if change <= SMOOTH * max(1.0, min(abs(before), abs(after))) else float(change)
    except Exception as error:
        if not is_recoverable(error):
            raise
    return None


def _crossing(
    at_points: Looking, u: Array, direction: Array, number: tuple[str, int], here: float | None
) -> tuple[Array, Array] | None:
    """Two close points on both sides of a comparison, on a line through u; None if the line does not cross it."""
    t, margin = 0.0, here
    other, there = 1e-3, _margin(at_points, u + 1e-3 * direction, number)
    for _ in range(STEPS):
        if margin is None or there is None or there == margin or abs(other) > 20.0:
            return None
        t, other = other, other - there * (other - t) / (there - margin)
        margin, there = there, _margin(at_points, u + other * direction, number)
        if there is not None and abs(other - t) < BESIDE / 10:
            break
    sides = u + (other - BESIDE) * direction, u + (other + BESIDE) * direction
    margins = [_margin(at_points, side, number) for side in sides]
    is_between = None not in margins and np.sign(margins[0]) != np.sign(margins[1])  # type: ignore[arg-type]
    return sides if is_between else None


def _margin(at_points: Looking, u: Array, number: tuple[str, int]) -> float | None:
    at, k = number
    found = [m.margin for m in _deciding(at_points, u) or () if m.at == at]
    return found[k] if k < len(found) else None
