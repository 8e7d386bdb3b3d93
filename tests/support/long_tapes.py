"""A function with a long tape of numbers in which nothing repeats."""

import numpy as np


def without_pattern(count=4000):
    """A function of four numbers: `count` operations on operands chosen at random."""
    draw = np.random.default_rng(1)
    places, numbers = draw.integers(0, 1 << 30, (count, 2)).tolist(), draw.normal(size=count).tolist()

    def function(x):
        values = list(x)
        for k, ((a, b), number) in enumerate(zip(places, numbers)):
            a, b = values[a % len(values)], values[b % len(values)]
            values.append(np.sin(a) * np.cos(b) + number if k % 3 else 0.5 * a + b)
            values = values[-40:]
        return values[-1] * values[-2]

    return function
