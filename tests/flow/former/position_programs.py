"""Programs with long loops that read and write entries at ints which their turns choose by data, and hand on."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261126)
TURNS = 400
TIMES = np.sin(0.37 * np.arange(TURNS)) + 1.4837
LEVELS = np.array([0.1, 0.2, 0.3])
RATES = [0.4, 0.5, 0.7]


def regimes_of_a_tracked_array(p):
    k, s, levels = 0, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        k = 1 if s > 0.2 else 2
    return s


def cycles_through_a_tracked_array(p):
    k, s, levels = 0, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        else:
            k = 0
    return s


def a_ternary_in_a_branch(p):
    k, s, levels = 0, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k = k + 1 if k < 2 else 0
        else:
            k = 0
    return s


def as_many_as_there_are(p):
    k, s, levels = 0, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k = min(k + 1, 2)
        else:
            k = 0
    return s


def counts_from_the_end(p):
    k, s, levels = -1, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k = -1 - ((-k) % 3)
    return s


def regimes_of_plain_and_tracked_lists(p):
    k, total, means = 0, 0.0, [p[0], p[1], p[0] * p[1]]
    for t in TIMES:
        off = t - means[k]
        total -= (off / RATES[k]) ** 2
        if off > 0.8:
            k = 1
        elif off < 0.5:
            k = 2
    return total


def transitions(p):
    before, total, chances = 0, 0.0, np.array([[0.9, 0.1], [0.2, 0.8]]) + 0.1 * p[0]
    for t in TIMES:
        now = 1 if t > 1.5 + 0.1 * p[1] else 0
        total += np.log(chances[before, now])
        before = now
    return total


def one_index_is_the_turn(p):
    k, s, costs = 0, p[1], np.cos(np.arange(3.0 * TURNS)).reshape(TURNS, 3)
    for i in range(TURNS):
        s = s + 0.1 * (p[0] * costs[i, k] - s)
        k = 1 if s > 0.0 else 2
    return s


def last_that_was_large(p):
    last, s = 0, p[1]
    for i in range(TURNS):
        s = s + 0.1 * (p[0] * TIMES[i] - s)
        if s > 0.5:
            last = i
        s = s + 1e-2 * (TIMES[i] - TIMES[last])
    return s


def sums_by_state(p):
    k, s, sums = 0, p[1], np.zeros(3)
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        sums[k] += s
    return np.sum(sums**2)


def latest_by_state_in_rows(p):
    k, s, latest = 0, p[1], np.zeros((3, 2))
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s) + 0.01 * latest[k, 1]
        if s > 0.2:
            k = (k + 1) % 3
        latest[k, 0] += s
        latest[k, 1] = 0.5 * s
    return np.sum(latest**2)


def runs_off_the_end(p):
    k, s, levels = 0, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        if s > 0.2:
            k += 1
    return s


def writes_to_a_large_array(p):
    k, s, sums = 0, p[1], np.zeros(300)
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 300
        sums[k] += s
    return np.sum(sums**2)


def writes_to_a_dict(p):
    k, s, sums = 0, p[1], {0: 0.0, 1: 0.0, 2: 0.0}
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        sums[k] += s
    return sums[0] * sums[1] + sums[2]


def makes_keys(p):
    k, s, sums = 0, p[1], {}
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        sums[k] = s
    return s + sum(sums.values())


def writes_to_a_list(p):
    k, s, sums = 0, p[1], [0.0, 0.0, 0.0]
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        sums[k] += s
    return sums[0] * sums[1] + sums[2]


def writes_to_lists_of_rows(p):
    k, s, rows = 0, p[1], [np.zeros(2), np.ones(2)]
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 2
        rows[k][0] += s
    return rows[0][0] * rows[1][0]


def writes_beside_an_alias(p):
    k, s, sums = 0, p[1], np.zeros(3)
    same = sums
    for t in TIMES:
        s = s + 0.1 * (p[0] * t - s)
        if s > 0.2:
            k = (k + 1) % 3
        sums[k] += s
        s = s + 1e-3 * same[0]
    return np.sum(same)


def leaves_its_first_state_elsewhere(p):
    state, s = 0, p[1]
    for t in TIMES:
        if state == 0:
            s = np.tanh(0.5 * p[0] - 0.2 * s)
            if s > 0.05:
                state = 1
        elif state == 1:
            s = 0.9 * s + 0.05 * t
            if t > 2.2:
                state = 2
        elif s < 0.6:
            state = 0
        else:
            s = 0.8 * s
    return s + 0.1 * (state == 1)


def a_bool_is_no_position(p):
    k, s, levels = False, p[1], LEVELS * p[0]
    for t in TIMES:
        s = s + 0.1 * (np.sum(levels[k]) * t - s)
        k = not k if s > 0.2 else k
    return s


def is_looked_up_in_a_dict(p):
    k, s, levels = 0, p[1], {0: p[0], 1: p[1], 2: 0.3}
    for t in TIMES:
        s = s + 0.1 * (levels[k] * t - s)
        k = 1 if s > 0.4 else 2
    return s


def chooses_a_function(p):
    k, s = 0, p[1]
    for t in TIMES:
        s = s + 0.1 * ((np.sin, np.cos)[k](p[0]) * t - s)
        k = 1 if s > 0.4 else 0
    return s


ONE_TURN = (
    regimes_of_a_tracked_array, cycles_through_a_tracked_array, a_ternary_in_a_branch, as_many_as_there_are, counts_from_the_end,
    regimes_of_plain_and_tracked_lists, transitions, last_that_was_large, sums_by_state, latest_by_state_in_rows,
)  # fmt: skip

# Recorded in one way or the other.
OTHERS = (
    one_index_is_the_turn, writes_to_a_large_array, writes_to_a_dict, makes_keys, writes_to_a_list, writes_to_lists_of_rows,
    writes_beside_an_alias, a_bool_is_no_position, is_looked_up_in_a_dict, chooses_a_function,
)  # fmt: skip
