"""Lists of what passes a test on data, of which the sum, length and the like are asked: no path for each set of entries."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261127)
E, Y = rng.normal(size=40), rng.normal(size=40)
POINTS = np.array([0.43, 0.27, -0.16]) + 0.2 * rng.normal(size=(9, 3))


def gains_and_losses(p):
    z = p[0] * E + p[1]
    gains = [v for v in z if v > 0]
    lost = [-v for v in z if v < 0]
    losses = sum(lost)
    return sum(gains) / max(losses, 1e-3) + len(gains) * p[2]


def neighbours(p):
    total = 0.0
    for k in range(5):
        near = [(E[i] - 0.3 * k) * p[0] for i in range(40) if abs(p[0] * E[i] - 0.2 * k * p[1]) < 0.5]
        if near:
            total += sum(near) / len(near)
    return total


def two_tests(p):
    z = p[0] * E + p[1]
    some = [v for v in z if v > 0.1 if v < 1]
    return np.mean(some) + max(some) * p[2] + np.sum(np.array(some) ** 2)


def pairs(p):
    points = [(p[0] * a, p[1] * b) for a, b in zip(E, Y)]
    x = 0.5
    inside = [x * y for x, y in points if x * x + y * y < 0.1]
    return sum(inside) + len(inside) * p[2] * x


def made_of_itself(p):
    values = [p[0] * e + p[1] for e in E]
    values = [v for v in values if v > 0]
    values = [v * p[2] for v in values if v < 1]
    return sum(v * v for v in values)


def positions(p):
    z = p[0] * E + p[1]
    at = [i for i in range(40) if z[i] > 0.2]
    return sum(z[i] * Y[i] for i in at) + len(at) * p[2]


def largest_of_a_filtered_list(p):
    large = [v for v in p[0] * E if v > p[1]]
    return max(large) * p[2]


PROGRAMS = [gains_and_losses, neighbours, two_tests, pairs, made_of_itself, positions, largest_of_a_filtered_list]
