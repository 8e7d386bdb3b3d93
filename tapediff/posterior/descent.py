"""A quasi-Newton method for log densities, which may reject points."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ..ir.instruction import Tree
from .transforms import Array

# It is begun again so often.
RUNS = 30


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
