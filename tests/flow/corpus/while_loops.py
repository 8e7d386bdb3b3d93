"""Rolled `while` loops and loops that data ends."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261124)
STEPS = 400
TIMES, HEIGHTS = rng.normal(size=(2, STEPS))
STEP = 0.05
TURN = np.array([[0.9, 0.2], [-0.2, 0.9]])
N = 230
T = np.sin(np.arange(N) * 0.3)


def returns_from_it(p):
    state = p[0]
    for y in HEIGHTS:
        state = state + 0.01 * (1.0 + 0.1 * y) * p[1] ** 2
        if state > 2.0:
            return state * p[0] ** 2
    return state * p[1]


def the_iteration_that_it_left_in(p):
    total, state = 0.0, 0.0
    for t in range(STEPS):
        state += 0.01 * (1.0 + p[0] ** 2)
        if state > 3.5 + p[1] ** 2:
            break
        total += state * TIMES[t]
    return total / (t + 1) + state * p[1] * t


def counts_by_a_variable(p):
    by, k, total = 2, 1, 0.0
    while k <= 2 * STEPS - 2:
        total += np.sin(TIMES[k // 2] * p[0]) * p[1]
        k += by
    return total * k


def leaves_without_reading_its_counts(p):
    state, time, k = np.zeros(STEPS + 2), 0.0, 0
    state[0] = p[0]
    while time < STEPS * STEP:
        state[k + 1] = state[k] + STEP * (np.cos(time) - state[k] * p[1] ** 2)
        if state[k + 1] > 3.0 + p[0]:
            break
        k += 1
        time += STEP
    return np.mean(state**2)


def leaves_after_writing_rows(p):
    state = np.ones((STEPS, 2)) * p[0]
    state[0] = p
    for t in range(1, STEPS):
        state[t] = TURN @ state[t - 1] + 0.1 * TIMES[t] * p
        if np.sum(state[t]) > 1.0 + p[1] ** 2:
            break
        state[t] *= 1.0 + 0.01 * np.sum(state[t] ** 2) * p[1] ** 2
        if np.sum(state[t] ** 2) > 50.0:
            break
    return np.sum(state**2) + 0.1 * p[1] * t


def until_it_is_small_or_the_end(p):
    state, t = 1.0 + p[0] ** 2, 0
    while state > 0.05 and t < STEPS:
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1])) + 1e-4 * TIMES[t]
        t += 1
    return state


def ends_early_among_very_many(p):
    state = 1.0 + p[0] ** 2
    for _ in range(10**12):
        state = state * (1.0 - 0.01 * np.exp(-0.1 * p[1]))
        if state < 0.05:
            break
    return state


def fails_for_some_states(p):
    state, total = p * 1.0, 0.0
    for y in HEIGHTS:
        state = TURN @ state + 0.1 * y * p
        if np.sum(state) > 1e3:
            break
        if state[0] < -1e3:
            raise ValueError("out of range")
        total += np.sum(state**2)
    return total


def counts_in_a_try(p):
    total, t = 0.0, 0
    try:
        while t < STEPS:
            total += p[0] * TIMES[t] + p[1] ** 2
            if total > 1e6:
                break
            t += 1
        else:
            total = total * p[0]
    except ZeroDivisionError:
        total = p[0]
    return total + t


def leaves_what_reads_the_last_values(p):
    state, t = p[0], 3
    while t < STEPS:
        state = 0.8 * state + p[1] * np.mean(TIMES[t - 3 : t])
        if state > 1e3:
            break
        t += 1
    return state / t


def ends_where_an_iteration_says(p):
    state, t, end = p[0], 0, 300
    while t < end:
        state = 0.9 * state + 0.01 * p[1]
        if state > 40.0:
            break
        if state < -30.0:
            end = 200
        t += 1
    return state


# The iteration's number at the end


dt = 0.01


def cond_and_break(p):
    x = p[0]
    tot = 0.0
    for t in range(N):
        x = x * 0.99 + dt * T[t] * p[1]
        if t > 100 and x < 0.15:
            break
        if t % 10 == 0:
            tot += x
    return tot + t


def masks(p):
    x = np.zeros(3)
    x[0] = p[0]
    for t in range(N):
        x[1] = 0.9 * x[1] + x[0] * T[t]
        if x[1] > 2.5:
            break
        x[2] = x[2] + p[1] * x[1]
        if t % 7 == 2:
            x[0] *= 0.99
    return np.sum(x) * t


PROGRAMS = [
    returns_from_it, the_iteration_that_it_left_in, counts_by_a_variable, leaves_without_reading_its_counts, leaves_after_writing_rows,
    until_it_is_small_or_the_end, ends_early_among_very_many, fails_for_some_states, counts_in_a_try, leaves_what_reads_the_last_values,
    ends_where_an_iteration_says, cond_and_break, masks,
]  # fmt: skip
