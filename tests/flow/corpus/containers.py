"""Lists, dicts and objects that branches on data change, and entries at indices that data decides."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np

MATRIX = np.array([[0.5, -1.0], [2.0, 0.25], [1.5, 0.75]])
KEPT = np.zeros(6)
OTHER = [0] * 6


@dataclass(frozen=True)
class Ball:
    height: float
    speed: float
    hits: int = 0


@dataclass(kw_only=True)
class Named:
    first: float
    second: float = 2.0


class Motor:
    kind = "motor"

    def __init__(self, speed, load=0.5):
        self.speed, self.load = speed, load
        self.starts = 0

    def power(self):
        return self.speed * self.load


def bounces(x):
    ball = Ball(x[0], 0.1)
    for k in range(6):
        speed = ball.speed - 0.2 * x[k]
        height = ball.height + 0.5 * speed
        if height < 0:
            ball = Ball(-height * 0.9, -speed * 0.8, ball.hits + 1)
        else:
            ball = replace(ball, height=height, speed=speed)
    return ball.height + 0.3 * ball.speed + ball.hits * x[1]


def by_keywords(x):
    state = Named(first=x[0])
    while state.first < 2.0:
        state = dataclasses.replace(state, first=state.first + 0.3 + x[1] ** 2, second=state.second * 0.9)
    return state.first * state.second


def two_means(x):
    centres = [x[0], x[1] + 1.0]
    for _ in range(4):
        sums, counts = [0.0, 0.0], [0, 0]
        for v in x:
            j = 0 if (v - centres[0]) ** 2 < (v - centres[1]) ** 2 else 1
            sums[j] += v
            counts[j] = counts[j] + 1
        new = [s / m if m > 0 else c for s, m, c in zip(sums, counts, centres)]
        if abs(new[0] - centres[0]) + abs(new[1] - centres[1]) < 1e-9:
            break
        centres = new
    return centres[0] ** 2 + 3 * centres[1] * x[2]


class Doubling:
    def __init__(self, gain):
        self.gain = gain

    @property
    def level(self):
        return self._level * 2

    @level.setter
    def level(self, value):
        self._level = value


@dataclass
class Shared:
    gain: float
    box: list = dataclasses.field(default_factory=list)


class Inner(Motor):
    @property
    def load(self):
        return 7.0

    @load.setter
    def load(self, value):
        self.speed = value


def with_a_property(x):
    o = Doubling(x[0])
    o.level = 0.0
    for v in x:
        if v > 0:
            o.level = v
    return o.level * o.gain


def with_a_property_of_a_subclass(x):
    o = Inner(0.5)
    for v in x:
        if v > 0:
            o.speed = v
    return o.speed * o.load


def makes_a_list_of_its_own(x):
    o = Shared(0.0)
    for v in x:
        if v > 0:
            o.gain = v
            o.box.append(v)
    return o.gain * len(o.box)


def bump(entries):
    entries[0] = entries[0] + 1.0


def bools_in_a_list(x):
    seen = [False, False]
    for v in x:
        seen[0 if v > 0 else 1] = True
    return (seen[0] + seen[1]) * x[0]


def in_single_precision(x):
    a = [np.float32(0.1), np.float32(0.2)]
    for v in x:
        j = 0 if v > 0 else 1
        a[j] = a[j] * np.float32(1.1)
    return a[0] * 3 + a[1] * x[0]


def starts_with_what_it_had(x):
    kept = [x[0]]
    for k in range(2):
        for v in x:
            if v > kept[-1]:
                kept.append(v)
        kept = [kept[-1], x[k]]
    return max(kept) * len(kept) + kept[-1]


def no_matrix(x):
    k, table, narrow = 0, {(0, 1): 2.0, (1, 1): 3.0}, MATRIX.astype(np.float32)
    if x[0] > 0.2:
        k = 1
    return table[k, 1] * x[1] + narrow[k, 0] * x[2] + np.arange(6).reshape(3, 2)[k, 1] * x[3]


def matrix_that_is_written(x):
    m, k = np.zeros((3, 2)), 0
    for v in x[:4]:
        if v > 0.2:
            k = (k + 1) % 3
        m[1, 1] += m[k, 0] * m[k, 1] + 0.1
        m[k, 0] = v
    return np.sum(m * m) + m[k, 0]


# Numbers stored in arrays, lists and objects


def stored_in_a_list(x):
    kept = [0.0] * 6
    for i in range(6):
        kept[i] = 1.0 if x[i] > 0.2 else x[i]
    return x[0] * sum(2.0 if type(v) is float else 3.0 for v in kept)


def in_a_tuple_in_a_list(x):
    kept = [None] * 6
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        pair = (n, x[i])
        kept[i] = pair
    return sum(("a", "bc", "def")[n].count("b") * v for n, v in kept)


def in_an_array_of_objects(x):
    kept = np.empty(6, dtype=object)
    for i in range(6):
        kept[i] = 1 if x[i] > 0.2 else 2
    return x[0] * sum("ab"[n - 1] == "a" for n in kept)


def negative_zeros(x):
    kept = np.zeros(6)
    for i in range(6):
        n = 1 if x[i] > 0.2 else 0
        kept[i] = -n
    return np.sum(np.copysign(1.0, kept) * x)


def rebound():
    global KEPT
    KEPT = OTHER
    return 0


PROGRAMS = [
    bounces, by_keywords, two_means,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    with_a_property, with_a_property_of_a_subclass, makes_a_list_of_its_own, bools_in_a_list, in_single_precision, starts_with_what_it_had,
    no_matrix, matrix_that_is_written, stored_in_a_list, in_a_tuple_in_a_list, in_an_array_of_objects, negative_zeros,
]  # fmt: skip
