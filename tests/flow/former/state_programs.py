"""Variables in plain Python that hold names of states or None: those that merge, and traps."""

import numpy as np

NOISE = np.random.default_rng(2).normal(size=12)


# What merges


def a_string_as_state(x):
    mode, s = "slow", 0.0
    for v in x:
        if v > 0.5:
            mode = "fast"
        s = s + (v if mode == "slow" else v**2)
    return s


def states_of_a_machine(x):
    mode: str = "idle"
    level = x[0]
    for z in NOISE:
        if mode == "idle":
            level = level + 0.5 * z
            if level > x[1]:
                mode = "up"
        elif mode in ("up", "high"):
            level = level * 1.1 - 0.1
            if level > 2.0:
                mode = "high"
            elif z < -0.5:
                mode, level = None, level - 1.0
        elif mode is None:
            mode = "idle"
    return level + (0.5 if "high" == mode else x[2] if mode not in ["idle", None] else x[3])


def a_state_ends_a_while(x):
    mode, t, y = "start", 0.0, abs(x[0]) + 0.1
    while mode != "done":
        t = t + 0.25
        y = y * 1.3 + 0.05
        if y > 2.0:
            mode = "done"
        elif y > 1.0 and mode == "start":
            mode, y = "late", y + 0.3 * x[1] ** 2
    return y * x[1] + t


def none_until_found(x):
    best = None
    for v in x:
        if v > 0.3 and (best is None or v > best):
            best = v
    return x[0] if best is None else best * x[1]


def the_two_largest(x):
    first, second = None, None
    for v in x:
        if first is None or v > first:
            first, second = v, first
        elif second is None or v > second:
            second = v
    if second is not None:
        return first - second * 0.5
    return x[0]


def last_above(x):
    seen = None
    s = 0.0
    for v in x:
        if seen is not None:
            s = s + seen * v
        if v > 0.5:
            seen = v
        elif v < -0.8:
            seen = None
    return s + x[0]


def first_found(x):
    found = None
    for v in x:
        if v > 0.4:
            found = v * 2.0
            break
    if found is None:
        return x[0]
    return found + x[1]


MERGE = [a_string_as_state, states_of_a_machine, a_state_ends_a_while, none_until_found, the_two_largest, last_above, first_found]


# Traps


def returns_the_state(x):
    mode = "low"
    if x[0] > 0:
        mode = "high"
    return x[1] * len(mode) + {"low": 1.0, "high": 2.0}[mode] * x[2]


def compares_equal_states(x):
    mode = True
    for v in x:
        if v > 0.5:
            mode = "1"
        elif v < -0.5:
            mode = None
    s = 0.0
    if mode == 1:
        s = s + x[0]
    if mode is True:
        s = s + x[1] ** 2
    if mode in ("1", 1.0):
        s = s + x[2] ** 2
    if mode != "1":
        s = s - x[3]
    if mode == "none":
        s = s * 2.0
    return s


def returns_none_at_times(x):
    best = None
    for v in x:
        if v > 0.7:
            best = v
    found = [best]
    return x[0] if found[0] is None else found[0] * x[1]


def keeps_a_function_of_it(x):
    best = None
    ask = lambda: best is None
    for v in x:
        if v > 0.7:
            best = v
    return x[0] if ask() else best * x[1]


def none_from_a_list(x):
    best, options = None, [None, x[1], None, x[2], x[3], None]
    s = 0.0
    for v, option in zip(x, options):
        if v > 0.2:
            best = option
        if best is not None:
            s = s + best * v
        else:
            s = s - 1.0
    return s


def an_index_of_the_best(x):
    best = None
    for i in range(6):
        if best is None or x[i] > x[best]:
            best = i
    return x[best] * (best + 1)


def a_state_of_another_function(x):
    mode = "a"

    def turn(v):
        nonlocal mode
        mode = "b" if mode == "a" else "a"
        return v if mode == "a" else 2.0 * v

    s = 0.0
    for v in x:
        if v > 0:
            s = s + turn(v)
    return s * x[0] if mode == "a" else s


def none_again_in_a_branch(x):
    best, s = x[0], 0.0
    for v in x:
        if best is not None:
            if v < 0:
                best = None
            s = s + (v if best is None else best * v)
        elif v > 0.5:
            best = v
    return s


def a_loop_changes_it(x):
    best, s = x[0], 0.0
    if best is not None:
        for v in x:
            s = s + (0.5 if best is None else best)
            best = None if v > 0.6 else v * 1.0
    return s if best is None else s * best


def a_number_that_is_zero(x):
    best = None
    for v in x:
        if v > 0.5:
            best = 0.0
    return x[0] if not best else x[1]


def asks_for_the_truth_of_numbers(x):
    s = 1.0
    for v in x:
        if v and not (v - 0.5):
            s = s + 2.0 * v
        s = s * 1.5
    return s * x[0]


TRAPS = [
    asks_for_the_truth_of_numbers,
    returns_the_state, compares_equal_states, returns_none_at_times, keeps_a_function_of_it, none_from_a_list, an_index_of_the_best,
    a_state_of_another_function, none_again_in_a_branch, a_loop_changes_it, a_number_that_is_zero,
]  # fmt: skip


def computes_with_none(x):
    best = None
    for v in x:
        if v > 0.7:
            best = v
    return best * x[0]


def compares_with_none(x):
    best, s = None, 0.0
    for v in x:
        if v > 0.7:
            best = v
        if v < -0.7 and best > v:
            s = s + v
    return s * x[0]


# They have errors of their own at some points.
FAIL = [computes_with_none, compares_with_none]
