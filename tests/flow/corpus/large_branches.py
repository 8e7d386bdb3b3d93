"""Branches with loops, calls and arrays on one side: what both sides may see and change."""

from __future__ import annotations

import numpy as np

KNOTS = np.linspace(-2.0, 2.0, 9)
COEFFICIENTS = np.random.default_rng(1).normal(size=(8, 4))
PAIRS = []


def cubic(k, t):
    if k < 4:
        c = COEFFICIENTS[k]
        return c[0] + t * (c[1] + t * (c[2] + t * c[3]))
    c = COEFFICIENTS[k]
    return c[0] - t * c[1]


def spline(x):
    """Finds each interval by bisection, on ints."""
    s = 0.0
    for v in x:
        t = 1.9 * np.tanh(v)
        low, high = 0, 8
        while high - low > 1:
            middle = (low + high) // 2
            if t >= KNOTS[middle]:
                low = middle
            else:
                high = middle
        s = s + cubic(low, t - KNOTS[low])
    return s


def arrays_from_both_sides(x):
    y = x[:3] * 2.0
    for k in range(3):
        if x[k] > 0.2:
            y = y * np.cos(x[3:]) + x[k]
        else:
            y = np.concatenate([y[1:], y[:1]])
    return np.sum(y**2)


def long_sine(v):
    """Too long for a select."""
    for _ in range(6):
        v = np.sin(np.exp(-(v**2))) + 0.1 * v
    return v


class Meter:
    def __init__(self):
        self.asked = 0
        self.gain = 1.0

    @property
    def reading(self):
        self.asked += 1
        return float(self.asked)

    def scaled(self, v):
        return v * self.gain

    def counted(self, v):
        self.asked += 1
        return v * self.asked


def calls_a_method_with_state(x):
    (meter,), s = [Meter()], 0.0
    for v in x:
        if v > 0:
            s = s + meter.counted(long_sine(v))
    return s + x[0]


def calls_a_method_of_an_object_that_changes(x):
    meter, s = Meter(), 0.0
    for k in range(6):
        meter.gain = 1.0 + k
        if x[k] > 0:
            s = s + meter.scaled(long_sine(x[k]))
    return s + x[0]


class Number:
    def __init__(self):
        self.uses = 0

    def __mul__(self, other):
        self.uses += 1
        return other * self.uses

    __rmul__ = __mul__

    def __bool__(self):
        self.uses += 1
        return self.uses % 2 == 0

    def __iter__(self):
        self.uses += 1
        return iter([1.0] * self.uses)

    def __lt__(self, other):
        self.uses += 1
        return self.uses < 3

    def __getitem__(self, k):
        self.uses += 1
        return self.uses


NUMBER = Number()


class Box:
    """Holds an object that no recording looks into."""

    def __init__(self):
        self.number = Number()

    def product(self, v):
        return v * self.number

    def chosen(self, v):
        return v if self.number else 2.0 * v

    def repeated(self, v):
        return sum([v for _ in self.number])

    def compared(self, v):
        return v if self.number < 2 else 2.0 * v

    def unpacked(self, v):
        (factor,) = self.number
        return v * factor

    def looked_up(self, v):
        return v * self.number[0]


def multiplies_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.product(v))
    return s + x[0]


def asks_for_truth_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.chosen(v))
    return s + x[0]


def goes_through_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.repeated(v))
    return s + x[0]


def unpacks_in_a_method(x):
    s = 0.0
    for v in x:
        box = Box()
        if v > 0:
            s = s + long_sine(box.unpacked(v)) * box.number.uses
    return s + x[0]


def compares_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.compared(v))
    return s + x[0]


def looks_up_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.looked_up(v))
    return s + x[0]


def compares_an_object(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + (long_sine(v) if NUMBER < 2 else v)
    return s + x[0]


def goes_on_with_a_global_iterator(x):
    global PAIRS
    PAIRS, s = zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0] * 6), 0.0
    for v in x:
        if v > 0:
            for a, b in PAIRS:
                s = s + long_sine(v) * a * b
    return s + x[0]


def changes_a_list_in_place(x):
    y = []
    z = y
    for v in x:
        if v > 0:
            y += [long_sine(v)]
    return sum(z) * x[0]


def a_string_as_state(x):
    mode, s = "slow", 0.0
    for v in x:
        if v > 0.5:
            mode, s = "fast", s + long_sine(v)
        s = s + (v if mode == "slow" else v**2)
    return s


def has_many_constants(x):
    s = 0.0
    for k in range(36):
        if x[k % 6] > 0.01 * k:
            s = s + long_sine(x[k % 6]) ** (1 + k % 37)
    return s


def has_many_paths(x):
    s = 0.0
    if x[0] > -10.0:
        for k in range(6):
            for v in x:
                s = s + (np.sum(x[:2]) if v > 0.1 * k else 1.0)
    return s * x[0]


PROGRAMS = [spline, arrays_from_both_sides]
# What a careless join of both sides gets wrong.
TRAPS = [
    calls_a_method_with_state, calls_a_method_of_an_object_that_changes, multiplies_in_a_method, asks_for_truth_in_a_method,
    goes_through_in_a_method, unpacks_in_a_method, compares_in_a_method, looks_up_in_a_method, compares_an_object,
    goes_on_with_a_global_iterator, changes_a_list_in_place, a_string_as_state, has_many_constants, has_many_paths,
]  # fmt: skip
