"""Points at which a log density has a value, where recordings, optimisers and samplers may begin; and the way from there to a mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import numpy as np

from ..errors import is_recoverable
from ..ir.instruction import Tree
from .transforms import Array

# Points uniform in (-2, 2) that are tried, where Stan's samplers begin, too.
ATTEMPTS = 100
# SciPy's method is begun again so often.
RUNS = 30


def points_with_a_value(log_density: Callable[[Array], float], size: int, rng: np.random.Generator) -> Iterator[Array]:
    """u = 0, then random points: those at which the log density is finite.

    Args:
        log_density: of an unconstrained point; plain Python, as a recording takes several times as long and may be in vain.
        size: of points.
    """
    for attempt in range(ATTEMPTS):
        u = rng.uniform(-2.0, 2.0, size=size) if attempt else np.zeros(size)
        if _has_value(log_density, u):
            yield u


def _has_value(log_density: Callable[[Array], float], u: Array) -> bool:
    try:
        return bool(np.isfinite(np.errstate(all="ignore")(log_density)(u)))
    except Exception as error:
        if is_recoverable(error):
            return False
        raise


def minimized(
    falling: Callable[[Array], tuple[float, Array]], start: Array, options: dict[str, Tree], record: Callable[[Array], None]
) -> Array:  # fmt: skip
    """The point where SciPy's L-BFGS-B ends.

    Args:
        falling: value and gradient; an infinite value where a point is rejected.
        record: called with each point of the path behind `start`.

    Where its line search meets an infinite value, SciPy (1.17 and 1.18) steps back by so much that it takes the next step for
    convergence. It is begun again there, with a short first step, as long as the value falls.
    """
    # When it is needed: importing SciPy takes longer than importing tapediff.
    minimize = import_module("scipy.optimize").minimize
    rejected = 0

    def counted(u: Array) -> tuple[float, Array]:
        nonlocal rejected
        value, gradient = falling(u)
        rejected += not np.isfinite(value)
        return value, gradient

    u, lowest = start, np.inf
    for _ in range(RUNS):
        rejected = 0
        found = minimize(counted, u, jac=True, method="L-BFGS-B", options=options, callback=record)
        is_lower, u, lowest = found.fun < lowest, found.x, found.fun
        if not (rejected and is_lower):
            break
    return u
