"""Branches on data in plain functions: helpers, early returns, nested `if`, loops that end early."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

KNOTS = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])


def positive_part(v):
    if v > 0:
        return v
    return 0.0


def by_a_helper(x):
    return sum([positive_part(v - 0.2) ** 2 for v in x]) + positive_part(x[0]) * x[1]


def step_sizes(x):
    """Controls a step size by powers of quotients; one operand is an argument."""
    h, t, y = 0.1, 0.0, abs(x[0]) + 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        a = -x[1] * y
        b = -x[1] * (y + h * a)
        error = abs(0.5 * h * (b - a)) + 1e-3
        if error <= 5e-2:
            t, y = t + h, y + 0.5 * h * (a + b)
        h = h * min(2.0, max(0.3, 0.9 * (5e-2 / error) ** 0.5))
    return y


class Counter:
    def __init__(self):
        self.n = 0


def power_of_a_negative_number(x):
    h = 0.25
    if x[0] > 0:
        h = -h
    root = h**0.5
    return x[1] * (root.real + 2.0 * root.imag)


def power_of_zero(x):
    n = 2
    for v in x:
        if v > 0:
            n -= 1
    try:
        return x[0] * n**-1.0
    except ZeroDivisionError:
        return x[1]


def catches_errors(x):
    s = 0.0
    for v in x:
        try:
            if v > 0:
                s = s + 1.0 / int(v)
            else:
                s = s - v
        except ZeroDivisionError:
            s = s + 7.0
    return s * x[0]


def refuses_large_values(x):
    if not isinstance(x, np.ndarray) or x.size > 4:
        raise ValueError("four values at most")
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v
    return s


def doubled_near_one(v):
    return 2.0 * v if math.isclose(v, 1.0) else v


def calls_what_asks_whether_numbers_are_close(x):
    return (doubled_near_one(x[1]) if x[0] > 0 else x[2]) * x[3]


def needs_what_a_mask_selects(x):
    return np.sum(np.diff(x[x > 0]) ** 2)


def solves(x):
    if x[0] > 0:
        y = np.linalg.solve(np.eye(2) * 3.0 + np.outer(x, x), x)
    else:
        y = np.cos(x)
    return np.sum(y)


def unlike_at_last(x):
    if x[0] > 0:
        y = np.sum(np.sin(x))
    elif x[1] > 5:
        y = np.cos(x)  # an array, where the other paths give numbers
    else:
        y = np.sum(x**2)
    return np.sum(y)


def positive(v):
    if v > 0:
        return v
    return 0.0


def larger(v):
    return v if v > 0.1 else 0.0


def fixed_point(p):
    """A `while` whose body has branches."""
    r, k = np.array([1.0, 0.0]), 0
    while k < 300:
        new = np.tanh(0.5 * r + p[:2])
        k += 1
        if np.max(np.abs(new - r)) < 1e-10:
            break
        r = new
    return np.sum(new)


class Ball:
    def __init__(self, y, v, mass=1.0):
        self.y = y
        self.v = v
        self.mass = mass

    def fall(self, dt):
        self.v -= dt
        self.y += self.v * dt
        if self.y < 0.0:
            self.y = -self.y
            self.v = -0.9 * self.v

    @property
    def energy(self):
        return 0.5 * self.mass * self.v**2 + self.mass * self.y


def balls(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3], 2.0), Ball(x[4], x[5])]
    for _ in range(3):
        for b in balls:
            b.fall(0.3)
        for i, b in enumerate(balls[1:]):
            if b.v > balls[i].v:
                b.v, balls[i].v = balls[i].v, b.v * 0.5
    return sum(b.energy for b in balls) + max(b.y for b in balls)


def seen_by_functions_later(x):
    balls, later = [Ball(x[0], x[1]), Ball(x[2], x[3])], []
    for i, b in enumerate(balls):
        if b.y > 0:
            b.y = b.y * 0.5
        later.append(lambda: i + x[4])
    return sum(f() for f in later) * balls[0].y


def counts_its_calls(balls):
    balls[0].v = balls[0].v + 1.0
    return balls[0].v


def given_as_a_whole(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    return counts_its_calls(balls) * balls[0].v + balls[1].v


def asks_no_further_ones(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    is_low = any(b.fall(0.5) or b.y < 0.5 for b in balls)
    return (1.0 if is_low else 2.0) * balls[0].y + balls[1].y * balls[1].v


def until_one_is_found(x):
    balls, found = [Ball(x[0], x[1]), Ball(x[2], x[3]), Ball(x[4], x[5])], 0.0
    for b in balls:
        b.y += 0.1
        if b.y > 0.3:
            found = b.v
            break
    return found + sum(b.y * b.v for b in balls)


# Partials, methods and objects


def hinges(x, knots, scale=1.0):
    total = 0.0
    for knot, value in zip(knots, x):
        if value > knot:
            total = total + scale * (value - knot) ** 2
        else:
            total = total - value
    return total


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


# Several loops, errors and globals


def settles(x, iterations=60):
    values = x
    for _ in range(iterations):
        new = np.stack([0.5 * values[k] + 0.1 * np.sin(values[k - 1]) for k in range(len(x))])
        if np.max(np.abs(new - values)) < 1e-7:
            break
        values = new
    return np.sum(values)


def robust(x, scale=1.0):
    s = 0.0
    for v in x:
        r = abs(v) * scale
        if r < 1.0:
            s += 0.5 * r**2
        else:
            s += r - 0.5
    return s


def three_ways(x):
    s = x[2] * 0.0
    for k in range(2):
        if x[k] > 0:
            s = s + x[k] ** 2
        else:
            s = s - x[k]
    return s


PROGRAMS = [
    robust, three_ways, by_a_helper, step_sizes, refuses_large_values, calls_what_asks_whether_numbers_are_close, needs_what_a_mask_selects, solves,
    unlike_at_last, fixed_point, settles,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    power_of_a_negative_number, power_of_zero, catches_errors, seen_by_functions_later, given_as_a_whole, asks_no_further_ones,
    until_one_is_found,
]  # fmt: skip
CASES = {
    "partial": partial(hinges, knots=KNOTS, scale=2.0),
    "method": Hinges(2.0).method,
    "object": Hinges(2.0),
}  # fmt: skip
