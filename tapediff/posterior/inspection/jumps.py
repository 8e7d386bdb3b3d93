"""Detects if a log density jumps at the nearest branch: it has gradients on both sides, which do not show the step."""

from __future__ import annotations

import numpy as np

from ...errors import is_recoverable
from ..density import NamedDensity
from ..transforms import Array

# The number of random directions to try from a point, and of secant steps along each.
WAYS, STEPS = 8, 30
# The distance on either side of the branch at which the log density is evaluated, and the difference that exceeds a slope's.
BESIDE, SMOOTH = 1e-7, 1e-4


def jump_beside(posterior: NamedDensity, u: Array, rng: np.random.Generator) -> float | None:
    """The change of the log density at the branch nearest to a point: 0 if it is continuous; None if none was reached."""
    try:
        for _ in range(WAYS):
            direction = rng.normal(size=u.size)
            found = _crossing(posterior, u, direction / np.linalg.norm(direction))
            if found is not None:
                before, after = (posterior.plain_log_density(point) for point in found)
                change = abs(after - before)
                return 0.0 if change <= SMOOTH * max(1.0, min(abs(before), abs(after))) else float(change)
    except Exception as error:
        if not is_recoverable(error):
            raise
    return None


def _crossing(posterior: NamedDensity, u: Array, direction: Array) -> tuple[Array, Array] | None:
    """Two close points on both sides of the comparison nearest at u, on a line through u; None if the line does not cross it."""
    number = _nearest(posterior, u)
    if number is None:
        return None
    t, margin = 0.0, _margin(posterior, u, number)
    other, there = 1e-3, _margin(posterior, u + 1e-3 * direction, number)
    for _ in range(STEPS):
        if margin is None or there is None or there == margin or abs(other) > 20.0:
            return None
        t, other = other, other - there * (other - t) / (there - margin)
        margin, there = there, _margin(posterior, u + other * direction, number)
        if there is not None and abs(other - t) < BESIDE / 10:
            break
    sides = u + (other - BESIDE) * direction, u + (other + BESIDE) * direction
    margins = [_margin(posterior, side, number) for side in sides]
    is_between = None not in margins and np.sign(margins[0]) != np.sign(margins[1])  # type: ignore[arg-type]
    return sides if is_between else None


def _nearest(posterior: NamedDensity, u: Array) -> tuple[str, int] | None:
    """The line of the nearest comparison, and its index among the comparisons of this line."""
    margins = [m for m in posterior.tape.margins(u, posterior.constants) if m.kind == "guard"]
    moving = [k for k, m in enumerate(margins) if m.moves and np.isfinite(m.margin)]
    if not moving:
        return None
    k = min(moving, key=lambda k: abs(margins[k].margin))
    return margins[k].at, sum(m.at == margins[k].at for m in margins[:k])


def _margin(posterior: NamedDensity, u: Array, number: tuple[str, int]) -> float | None:
    at, k = number
    found = [m.margin for m in posterior.tape.margins(u, posterior.constants) if m.kind == "guard" and m.at == at]
    return found[k] if k < len(found) and np.isfinite(found[k]) else None
