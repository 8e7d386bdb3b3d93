"""Points at which a log density has a value: where recordings, optimisers and samplers may begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..errors import is_recoverable
from .transforms import Array

# Points uniform in (-2, 2) that are tried, where Stan's samplers begin, too.
ATTEMPTS = 100


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
        with np.errstate(all="ignore"):
            return bool(np.isfinite(log_density(u)))
    except Exception as error:
        if is_recoverable(error):
            return False
        raise
