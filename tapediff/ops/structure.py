"""Ops about differentiation itself."""

from __future__ import annotations

from .declaration import REAL, elementwise

# Not the same as a constant: a replay recomputes the value, only its derivative is dropped.
STOP_GRADIENT = elementwise(
    "stop_gradient", lambda x: x, "x", (None,), floats_only=False, linear=True, samples=(REAL,), not_differentiated=(0,)
)

OPS = (STOP_GRADIENT,)
