"""A function that branches as a partial, a method, an object or a lambda."""

from functools import partial

import numpy as np


def hinges(x, knots, scale=1.0):
    total = 0.0
    for knot, value in zip(knots, x):
        if value > knot:
            total = total + scale * (value - knot) ** 2
        else:
            total = total - value
    return total


KNOTS = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])


class Hinges:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return hinges(x, KNOTS, self.scale)

    def method(self, x):
        total = 0.0
        for knot, value in zip(KNOTS, x):
            total = total + (self.scale * (value - knot) ** 2 if value > knot else -value)
        return total


FORMS = {
    "partial": partial(hinges, knots=KNOTS, scale=2.0),
    "partial of a partial": partial(partial(hinges, knots=KNOTS), scale=2.0),
    "method": Hinges(2.0).method,
    "partial of a method": partial(Hinges(2.0).method),
    "object": Hinges(2.0),
    "partial of an object": partial(Hinges(2.0)),
    "lambda": lambda x: hinges(x, KNOTS, 2.0),
}


PROGRAMS = []
