"""Programs as people write them, with arrays as states and Python numbers beside them, and traps for the rules that let these be merged."""

import numpy as np

NARROW = np.array([0.1, 0.7, -0.3], np.float32)
COUNTS = np.array([1, 2, 3])
WIDE = np.array([0.3, -1.2, 0.8])


# Python numbers beside arrays, which are then handed to functions


def searches_a_line(x):
    at = np.array([1.0, -0.5, 0.2])
    f = lambda v: np.sum((v - x[:3]) ** 2) + 0.1 * np.sum(v**4)
    for _ in range(3):
        g = 2 * (at - x[:3]) + 0.4 * at**3
        t = 1.0
        while f(at - t * g) > f(at) - 0.3 * t * np.sum(g * g):
            t *= 0.5
            if t < 1e-6:
                break
        at = at - t * g
    return f(at) + x[3] * at[0]


def length(v):
    return np.sqrt(np.sum(v * v))


def shortens_a_step(x):
    step = 1.0
    if x[0] > 0.2:
        step = 0.5
    elif x[1] > 0.4:
        step = 0.25
    return length(x[:3] * step) + length(step * WIDE) * x[4]


def whole_steps(x):
    n = 1
    for k in range(4):
        if x[k] > 0.1:
            n = n + 1
    return length(x[1:4] * n) + x[5]


def kind(v):
    return 1.0 if isinstance(v, float) else 2.0 if isinstance(v, np.ndarray) else 3.0


def steps_beside_float32(x):
    step = 1.0
    if x[0] > 0.2:
        step = 0.3
    return length(step * NARROW) * x[1]


def steps_beside_what_is_float32_at_times(x):
    step, along = 1.0, WIDE
    total = 0.0
    for k in range(4):
        if x[k] > 0.2:
            step = 0.3
        total = total + length(step * along) * x[1]
        along = NARROW
    return total


def halves(v):
    return v // 2


def whole_steps_beside_ints(x):
    n = 1
    if x[0] > 0.2:
        n = 3
    return np.sum(halves(n * COUNTS)) * x[1]


def steps_beside_plain_numbers(x):
    step, unit = 1.0, 0.5
    if x[0] > 0.2:
        step = 0.25
    return kind(step * unit) * x[1] + kind(unit) * x[2]


def inverse(v):
    return 1.0 / v


def steps_that_are_zero(x):
    step, unit = 1.0, 0.5
    if x[0] > 1.8:
        step = 0.0
    try:
        return inverse(step * unit) * x[1]
    except ZeroDivisionError:
        return x[2] * 3.0


def flags_beside_arrays(x):
    found = False
    if x[0] > 0.2:
        found = True
    return length(found * WIDE) * x[1] + length(WIDE + found)


def large_whole_numbers(x):
    n = 1
    for k in range(4):
        if x[k] > 0.1:
            n = n * 94906267 + 1
    return length(n * WIDE) * x[5] + n % 7


MERGE = [searches_a_line, shortens_a_step, whole_steps]
TRAPS = [
    steps_beside_float32, steps_beside_what_is_float32_at_times, whole_steps_beside_ints, steps_beside_plain_numbers, steps_that_are_zero,
    flags_beside_arrays, large_whole_numbers,
]  # fmt: skip
