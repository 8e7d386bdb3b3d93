"""Plain functions whose loops hold short loops that look at data: searches along a line and for roots; and the same with td.while_loop."""

import numpy as np

import tapediff as td

# A line search

DESCENT_ROUNDS = 4


def descent(p):
    """Where gradient descent with halved steps ends on (x - a)**2 + 3 (x - b)**4."""
    x = 2.0
    for _ in range(DESCENT_ROUNDS):
        value = (x - p[0]) ** 2 + 3.0 * (x - p[1]) ** 4
        slope = 2.0 * (x - p[0]) + 12.0 * (x - p[1]) ** 3
        size = 1.0
        trial = x - size * slope
        while (trial - p[0]) ** 2 + 3.0 * (trial - p[1]) ** 4 > value - 0.1 * size * slope * slope:
            size = 0.5 * size
            trial = x - size * slope
        x = trial
    return x


def descent_of_loops(p):
    def round_of(_, x):
        value = (x - p[0]) ** 2 + 3.0 * (x - p[1]) ** 4
        slope = 2.0 * (x - p[0]) + 12.0 * (x - p[1]) ** 3

        def is_high(state):
            size, trial = state
            return (trial - p[0]) ** 2 + 3.0 * (trial - p[1]) ** 4 > value - 0.1 * size * slope * slope

        def halved(state):
            size = 0.5 * state[0]
            return size, x - size * slope

        return td.while_loop(is_high, halved, (1.0, x - slope))[1]

    return td.fori_loop(0, DESCENT_ROUNDS, round_of, 2.0 + 0.0 * p[0])


# Gradient descent on a valley with a bend, to a tolerance

MOST_ROUNDS, FLAT = 60, 1e-3


def armijo(p):
    """p = (bend, steepness, share of the slope that a step has to gain)."""
    x, y = -0.5, 1.0
    for _ in range(MOST_ROUNDS):
        bent = y - p[0] * x * x
        value = (1.0 - x) ** 2 + p[1] * bent * bent
        gx = -2.0 * (1.0 - x) - 4.0 * p[0] * p[1] * x * bent
        gy = 2.0 * p[1] * bent
        steepness = gx * gx + gy * gy
        if steepness < FLAT:
            break
        size = 1.0
        while True:
            u, v = x - size * gx, y - size * gy
            if (1.0 - u) ** 2 + p[1] * (v - p[0] * u * u) ** 2 <= value - p[2] * size * steepness:
                break
            size = 0.5 * size
        x, y = u, v
    return (1.0 - x) ** 2 + x * y


def armijo_of_loops(p):
    def slopes(x, y):
        bent = y - p[0] * x * x
        return (1.0 - x) ** 2 + p[1] * bent * bent, -2.0 * (1.0 - x) - 4.0 * p[0] * p[1] * x * bent, 2.0 * p[1] * bent

    def is_steep(state):
        x, y, k = state
        _, gx, gy = slopes(x, y)
        return (gx * gx + gy * gy >= FLAT) & (k < MOST_ROUNDS)

    def round_of(state):
        x, y, k = state
        value, gx, gy = slopes(x, y)

        def is_high(size):
            u, v = x - size * gx, y - size * gy
            return (1.0 - u) ** 2 + p[1] * (v - p[0] * u * u) ** 2 > value - p[2] * size * (gx * gx + gy * gy)

        size = td.while_loop(is_high, lambda size: 0.5 * size, 1.0 + 0.0 * x)
        return x - size * gx, y - size * gy, k + 1

    x, y, _ = td.while_loop(is_steep, round_of, (-0.5 + 0.0 * p[0], 1.0 + 0.0 * p[0], 0))
    return (1.0 - x) ** 2 + x * y


# Bisection, of a function that is a root itself

WIDTH, NEWTON_ROUNDS = 1e-8, 20


def bisection(p):
    """Where y with y**3 + y = a x meets b, weighted by its slope there; p = (a, b, right end)."""
    low, high = 0.0, p[2]
    y = 1.0
    while high - low > WIDTH:
        middle = 0.5 * (low + high)
        for _ in range(NEWTON_ROUNDS):
            step = (y * y * y + y - p[0] * middle) / (3.0 * y * y + 1.0)
            y = y - step
            if abs(step) < 1e-9:
                break
        if y > p[1]:
            high = middle
        else:
            low = middle
    return y + high * p[0]


def bisection_of_loops(p):
    def is_wide(state):
        return state[1] - state[0] > WIDTH

    def halved(state):
        low, high, y = state
        middle = 0.5 * (low + high)

        def newton(state):
            y, _, k = state
            step = (y * y * y + y - p[0] * middle) / (3.0 * y * y + 1.0)
            return y - step, step, k + 1

        y, _, _ = td.while_loop(lambda s: (np.abs(s[1]) >= 1e-9) & (s[2] < NEWTON_ROUNDS), newton, (y, 1.0 + 0.0 * y, 0))
        is_above = y > p[1]
        return np.where(is_above, low, middle), np.where(is_above, middle, high), y

    _, high, y = td.while_loop(is_wide, halved, (0.0 * p[2], p[2], 1.0 + 0.0 * p[0]))
    return y + high * p[0]
