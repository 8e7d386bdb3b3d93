"""A program: the text of a function `f(x) -> float` of one float64 vector, and points on several of its paths."""

import dataclasses

import numpy as np

POINTS = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """Plain Python whose function `f` maps a float64 vector to a float.

    Args:
        name: what the program computes.
        spelling: how its loop and its state are written.
        source: text of a module that defines `f`.
        points: float64 vectors of one length, which take different paths.
    """

    name: str
    spelling: str
    source: str
    points: tuple[np.ndarray, ...]

    @property
    def title(self):
        """Name and spelling, unique among all programs."""
        return f"{self.name}/{self.spelling}"


def points_of(name, draw):
    """Draw the points of a program from a generator that its name seeds.

    Args:
        name: seeds the generator.
        draw: function of a `numpy.random.Generator` that returns one vector.

    Returns:
        Tuple of `POINTS` float64 vectors.
    """
    rng = np.random.default_rng(list(name.encode()))
    return tuple(np.asarray(draw(rng), dtype=np.float64) for _ in range(POINTS))
