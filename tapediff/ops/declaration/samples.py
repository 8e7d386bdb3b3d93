"""Domains from which the tests draw the operands of an op."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Domain:
    """An interval that tests draw from; integers for kind "i", a mask for kind "b"."""

    low: float
    high: float
    kind: str = "f"

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.kind == "i":
            return np.asarray(rng.integers(int(self.low), int(self.high), shape))
        return np.asarray(rng.random(shape) < 0.5 if self.kind == "b" else rng.uniform(self.low, self.high, shape))


MASK = Domain(0.0, 1.0, "b")
WHOLE = Domain(-100, 100, "i")
WORD = Domain(0, 2**32, "i")
COUNTER = Domain(0, 2**40, "i")
REAL = Domain(-3.0, 3.0)
NONZERO = Domain(0.3, 3.0)
POSITIVE = Domain(0.1, 5.0)
UNIT = Domain(-0.9, 0.9)
PROBABILITY = Domain(0.05, 0.95)
ABOVE_ONE = Domain(1.1, 5.0)
