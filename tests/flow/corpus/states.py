"""Strings, None, ints and patterns that data chooses."""

from __future__ import annotations

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


def keeps_a_function_of_it(x):
    best = None
    ask = lambda: best is None
    for v in x:
        if v > 0.7:
            best = v
    return x[0] if ask() else best * x[1]


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


# Ints, entries of lists and conditions that compute something


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


PROGRAMS = [
    states_of_a_machine, a_state_ends_a_while, phases,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    compares_equal_states, keeps_a_function_of_it, a_number_that_is_zero, asks_for_the_truth_of_numbers,
]  # fmt: skip
