"""Programs of which merging by the text was wrong without one of its rules: what has state, raises, or is seen by another name."""

import numpy as np

from tests.random_programs.branching import function_of

from . import traps


class Counting(list):
    """A list that counts how often it is asked for an entry."""

    asked = 0

    def __getitem__(self, k):
        self.asked += 1
        return 0.1 * self.asked

    @property
    def gain(self):
        return self[0]

    def method(self, v):
        return self[0] * v

    def __call__(self, v):
        return self[0] * v


def while_of(added):
    """A loop on data whose turn adds `added`, an expression of v, o (of its own code) and items (an iterator)."""
    return function_of(f"""
import numpy as np
from tests.flow.former.mutation_programs import Counting, added
def f(x):
    v, o = abs(x[0]) + 0.1, Counting()
    vectorized, box = np.vectorize(o.method), ([0.0],)
    while v < 3.0:
        v = v + {added} + 0.5
    return v * x[1]
""")


def uses_entries(x):
    o, s = Counting(), 0.0
    for v in x:
        if v > 0:
            s = s + v * o[0]
    return s


def asks_an_attribute(x):
    o, s = Counting(), 0.0
    for v in x:
        if v > 0:
            s = s + v * o.gain
    return s


def iterates(x):
    v, items = abs(x[0]) + 0.1, iter([0.1, 0.9, 0.2, 0.3])
    while v < 3.0:
        for w in items:
            v = v + w
            break
        v = v + 0.5
    return v


def inverse(v):
    return 1.0 / v


def divides_by_what_a_helper_gives(x):
    return sum(map(inverse, [traps.hz(x[0])]))  # a function that is not rewritten


def unwritten(x):
    y, t = x * 1.0, abs(x[0])
    z = y
    while t < 1.0:
        y = y * 2.0
        t = t + 0.3
    y[0] = 5.0
    return np.sum(z**2) + t


def added(box):
    box[0][0] += 0.1
    return box[0][0]


def new_box():
    return ([0.0],)


def adds_in_a_tuple(x):
    box, v = new_box(), abs(x[0]) + 0.1
    while v < 3.0:
        box[0][0] += 0.1
        v = v + box[0][0]
    return v * x[1]


PROGRAMS = [uses_entries, asks_an_attribute, iterates, divides_by_what_a_helper_gives, unwritten, adds_in_a_tuple]
WHILES = {added: while_of(added) for added in ("o(0.1)", "vectorized(0.1)", "o.method(0.1)", "added(box)")}
