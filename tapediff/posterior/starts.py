"""Points with a finite log density, to start recordings, optimisers and samplers; and the path from there to a mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import numpy as np

from ..errors import is_recoverable
from ..ir.instruction import Tree
from .transforms import Array

# The number of points to try, uniform in (-2, 2), where Stan's samplers begin, too.
ATTEMPTS = 100
# The most restarts of SciPy's method.
RUNS = 30


def points_with_a_value(log_density: Callable[[Array], float], size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield points with a finite log density: u = 0, then random points.

    Args:
        log_density: of an unconstrained point; plain Python, as a recording takes several times as long and may be useless.
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
    """Minimise with SciPy's L-BFGS-B, and return the last point.

    Args:
        falling: returns value and gradient; an infinite value if a point is rejected.
        record: called with each point of the path after `start`.

    If its line search meets an infinite value, SciPy (1.17 and 1.18) shortens the step so much that it takes the next one for
    convergence. It is restarted there, with a short first step, as long as the value falls.
    """
    # On demand: importing SciPy takes longer than importing tapediff.
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
