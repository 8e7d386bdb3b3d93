"""Strings, None, ints and patterns that data chooses."""

from __future__ import annotations

import enum
import math

import numpy as np

NOISE = np.random.default_rng(2).normal(size=12)


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

    def iteration(v):
        nonlocal mode
        mode = "b" if mode == "a" else "a"
        return v if mode == "a" else 2.0 * v

    s = 0.0
    for v in x:
        if v > 0:
            s = s + iteration(v)
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


def compares_with_none(x):
    best, s = None, 0.0
    for v in x:
        if v > 0.7:
            best = v
        if v < -0.7 and best > v:
            s = s + v
    return s * x[0]


# Ints, entries of lists and conditions that compute something


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


def trend(x):
    s, side = 0.0, "flat"
    for k in range(20):
        side = "long" if math.sin(k * x[0]) > x[1] - 0.5 else "short"
        if side == "long":
            s += x[2] * math.sin(k)
        else:
            s -= x[1] * math.cos(k)
    return s


def phases(x):
    phase, s = 0, 0.0
    for k in range(20):
        if x[k % 6] * (k % 5) > 0.3 + 0.01 * k:
            phase = (phase + 1) % 3
        match phase:
            case 0:
                s += x[0]
            case 1 | 2 if k % 2:
                s += x[1] * k
            case _:
                s *= 0.9
    return s


def fifth_powers(x):
    n = 0
    if x[2] > 0:
        n = 3001
    if x[3] > 0:
        n = 2999
    return x[1] * np.sqrt(n**4 * n + 1 - n**5)


def matches_by_binding(x):
    n, s = 0, 0.0
    for v in x:
        if v > 0.5:
            n = (n + 1) % 3
        match n:
            case 2:
                s += v
            case other if other > 0:
                s += other * x[0]
            case _:
                s -= x[1]
    return s


def matches_by_class(x):
    kind, s = 1, 0.0
    for v in x:
        if v > 0.5:
            kind = 2.5
        match kind:
            case int():
                s += v
            case float():
                s -= 2.0 * v
    return s


def members_that_are_ints(x):
    level, s = Level.LOW, 0.0
    for v in x:
        level = Level.HIGH if v > 0.5 else Level.LOW
        s += level * v if level == Level.HIGH else level.value
    return s


def conditions_that_take_from_a_list(x):
    levels, s = [0.1, 0.4, 0.2, 0.9, 0.0, 0.3], 0.0
    for v in x:
        if levels.pop() < v:
            s += v
        else:
            s -= 2.0 * v
    return s + len(levels)


def conditions_that_look_at_values(x):
    s = 0.0
    for v in x:
        if int(abs(v) * 3) % 2 == 0:
            s += v
        else:
            s -= 2.0 * v
    return s


PROGRAMS = [
    states_of_a_machine, a_state_ends_a_while, compares_with_none, trend, phases, fifth_powers, matches_by_binding, matches_by_class,
    members_that_are_ints, conditions_that_take_from_a_list, conditions_that_look_at_values,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    returns_the_state, compares_equal_states, returns_none_at_times, keeps_a_function_of_it, none_from_a_list, an_index_of_the_best,
    a_state_of_another_function, none_again_in_a_branch, a_loop_changes_it, a_number_that_is_zero, asks_for_the_truth_of_numbers,
]  # fmt: skip
