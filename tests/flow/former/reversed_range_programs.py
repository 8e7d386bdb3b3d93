"""Long loops that go backwards over a range are such over a range: one turn is recorded, also where turns write and read entries."""

from __future__ import annotations

import numpy as np

TURNS = 300
TIMES = np.random.default_rng(20261128).normal(size=TURNS)
POINTS = np.array([[0.4, 0.8], [0.9, 0.3], [-1.4, 0.95]])


def writes_what_data_decides(p):
    g = np.zeros(TURNS + 1)
    for t in reversed(range(TURNS)):
        g[t] = TIMES[t] * p[0] + p[1] * 0.9 * g[t + 1] if g[t + 1] < 0.4 else TIMES[t] * p[1]
    return g[0] + g.mean()


def between_two_ends(p):
    g, first = np.zeros(len(TIMES)), 3
    for t in reversed(range(first, len(TIMES) - 1)):
        g[t] = TIMES[t] * p[0] + p[1] * 0.5 * g[t + 1]
    return g @ g + t * p[0] + g[first]


def keeps_its_number(p):
    last, total = 0, 0.0
    for t in reversed(range(TURNS)):
        if TIMES[t] > 0.5 * p[0]:
            last = t
        total += p[1] * TIMES[t] * p[0]
    return total + last * p[1]


def without_turns(p):
    g, count = np.zeros(TURNS), 0
    for t in range(TURNS):
        g[t] = TIMES[t] * p[0] * p[1] + np.sin(p[0])
        for u in reversed(range(5, 3)):
            g[u] += p[0]
            count += 1
    for t in reversed(range(0)):
        g[t] = 0.0
    return g.sum() + count


class Backwards:
    """A range of which the ends are asked for one after the other."""

    def __init__(self):
        self.asked = []

    def end(self, value):
        self.asked.append(value)
        return value

    def __call__(self, p):
        total, self.asked = 0.0, []
        for t in reversed(range(self.end(0), self.end(TURNS))):
            total = 0.9 * total + np.sin(TIMES[t] * p[0]) * p[1]
        return total * (2.0 if self.asked == [0, TURNS] else 3.0)


PROGRAMS = [writes_what_data_decides, between_two_ends, keeps_its_number, without_turns]
METHODS = {"Backwards": Backwards()}
