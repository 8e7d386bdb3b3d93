"""Ops about differentiation itself."""

from __future__ import annotations

from ..declaration.op import Elementwise
from ..declaration.samples import REAL

# Unlike a constant, the value is recomputed at a replay; only its derivative is dropped.
STOP_GRADIENT = Elementwise(
    "stop_gradient", lambda x: x, "x", vjp=(None,),
    floats_only=False, linear=True, samples=(REAL,), not_differentiated=(0,),
)

OPS = (STOP_GRADIENT,)
