"""Ints that rolled loops count, store and index with."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261127)
STEPS = 400
TIMES = rng.normal(size=STEPS)
WAVES = np.sin(0.37 * np.arange(STEPS)) + 0.3 * rng.normal(size=STEPS)
LEVELS = np.array([-0.7, 0.1, 0.8])
CODES = rng.integers(0, 3, size=STEPS)
SLOPES = np.array([[0.3, -0.2, 0.1], [0.1, 0.4, -0.3], [-0.2, 0.1, 0.5]])
HEIGHTS = np.sin(0.37 * np.arange(STEPS)) + 1.4837
THRESHOLDS = np.array([0.1, 0.2, 0.3])


def in_nested_loops(p):
    n, total = 0, 0.0
    for t in TIMES[:60]:
        for u in TIMES[60:130]:
            if t * u > p[0]:
                n += 1
            total += t * u * p[1]
    return total + n * p[0] * 0.01


# Arrays of ints and bools


def visits_once(p):
    visited, s = np.zeros(3, dtype=bool), p[1]
    for i in range(STEPS):
        s = 0.9 * s + WAVES[i] * p[0]
        k = np.argmin((s - LEVELS) ** 2)
        s = s if visited[k] else s + p[1]
        visited[k] = True
    return s + p[0] * np.sum(visited)


def flags_of_iterations(p):
    flags, s = np.empty(STEPS, dtype=bool), p[1]
    for i in range(STEPS):
        s = 0.9 * s + WAVES[i] * p[0]
        flags[i] = s > 0.1
        s = s + 0.01 * flags[i]
    return s * np.count_nonzero(flags)


def halves_them(p):
    counts, s = np.full(2, 1000), p[1]
    for i in range(STEPS):
        s = 0.9 * s + WAVES[i] * p[0]
        counts[1] /= 1.01 if s > 0 else 1.0
    return s + p[0] * counts[1]


def both_at_once(p):
    counts, floats, s = np.zeros(2, dtype=int), np.zeros(2), p[1]
    for i in range(STEPS):
        s = 0.9 * s + WAVES[i] * p[0]
        if s > 0.2:
            counts[0], floats[0] = counts[0] + 1, floats[0] + 0.5
    return s + p[0] * counts[0] + p[1] * floats[0]


def first_of_equal_numbers(x):
    counts, total = np.zeros(3, dtype=int), 0.0
    for t in range(STEPS):
        k = int(np.argmax(np.round(x * WAVES[t])))
        counts[k] += 1
        total += x[k] * WAVES[t]
    return total + x[0] * counts[0] - x[2] * counts[2]


# Lists of ints


def viterbi_backwards(p):
    moves, shown = SLOPES * p[0] + 0.1 * p[1], np.outer(LEVELS, [1.0, -0.5, 0.2]) * p[1]
    delta, back = shown[:, CODES[0]], np.zeros((STEPS, 3), dtype=int)
    for t in range(1, STEPS):
        scores = delta[:, None] + moves
        back[t] = np.argmax(scores, axis=0)
        delta = np.max(scores, axis=0) + shown[:, CODES[t]]
    state = int(np.argmax(delta))
    path = [state]
    for t in range(STEPS - 1, 0, -1):
        state = int(back[t, state])
        path.append(state)
    path.reverse()
    total = shown[path[0], CODES[0]]
    for t in range(1, STEPS):
        total += moves[path[t - 1], path[t]] + shown[path[t], CODES[t]]
    return total


def counts_with_them(p):
    found, s = [], p[0]
    for t in WAVES:
        s = 0.9 * s + t * p[1]
        found.append(int(np.argmin((s - LEVELS) ** 2)))
    for _ in range(found[-1]):
        s = np.sin(s)
    return s + p[0] * found.count(1) + p[1] * max(found) + [p[0], p[1], 0.3][found[0]] + sum(found) % 7


def strings_of_them(p):
    found, s = [], p[0]
    for t in WAVES:
        s = 0.9 * s + t * p[1]
        found.append(1 if s > 0.1 else 0)
    return s + p[0] * int("".join(map(str, found[:10])), 2)


# Positions that data decides


def as_many_as_there_are(p):
    k, s, levels = 0, p[1], THRESHOLDS * p[0]
    for t in HEIGHTS:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k = min(k + 1, 2)
        else:
            k = 0
    return s


def transitions(p):
    before, total, chances = 0, 0.0, np.array([[0.9, 0.1], [0.2, 0.8]]) + 0.1 * p[0]
    for t in HEIGHTS:
        now = 1 if t > 1.5 + 0.1 * p[1] else 0
        total += np.log(chances[before, now])
        before = now
    return total


def a_bool_is_no_position(p):
    k, s, levels = False, p[1], THRESHOLDS * p[0]
    for t in HEIGHTS:
        s = s + 0.1 * (np.sum(levels[k]) * t - s)
        k = not k if s > 0.2 else k
    return s


PROGRAMS = [
    in_nested_loops, visits_once, flags_of_iterations, halves_them, both_at_once, first_of_equal_numbers, viterbi_backwards,
    counts_with_them, strings_of_them, as_many_as_there_are, transitions, a_bool_is_no_position,
]  # fmt: skip
