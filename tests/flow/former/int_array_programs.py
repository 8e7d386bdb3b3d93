"""Programs whose long loops write to arrays of whole numbers and of bools, which are read afterwards."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261128)
TURNS = 300
TIMES = np.sin(0.37 * np.arange(TURNS)) + 0.3 * rng.normal(size=TURNS)
CODES = rng.integers(0, 3, size=TURNS)
LEVELS = np.array([-0.7, 0.1, 0.8])
SLOPES = np.array([[0.3, -0.2, 0.1], [0.1, 0.4, -0.3], [-0.2, 0.1, 0.5]])


def _chances(p):
    moves = SLOPES * p[0] + 0.1 * p[1]
    return moves, np.outer(LEVELS, [1.0, -0.5, 0.2]) * p[1]


def viterbi(p):
    moves, shown = _chances(p)
    delta = shown[:, CODES[0]]
    back = np.zeros((TURNS, 3), dtype=int)
    for t in range(1, TURNS):
        scores = delta[:, None] + moves
        back[t] = scores.argmax(axis=0)
        delta = scores.max(axis=0) + shown[:, CODES[t]]
    path = np.zeros(TURNS, dtype=int)
    path[TURNS - 1] = delta.argmax()
    for t in range(TURNS - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    total = shown[path[0], CODES[0]]
    for t in range(1, TURNS):
        total += moves[path[t - 1], path[t]] + shown[path[t], CODES[t]]
    return total


def viterbi_with_a_state(p):
    moves, shown = _chances(p)
    delta = shown[:, CODES[0]]
    back = np.zeros((TURNS, 3), int)
    for t in range(1, TURNS):
        scores = delta[:, np.newaxis] + moves
        back[t, :] = np.argmax(scores, axis=0)
        delta = np.max(scores, axis=0) + shown[:, CODES[t]]
    state = int(np.argmax(delta))
    total = shown[state, CODES[TURNS - 1]]
    for t in range(TURNS - 1, 0, -1):
        before = int(back[t, state])
        total = total + moves[before, state] + shown[before, CODES[t - 1]]
        state = before
    return total


def counts_the_nearest(p):
    means, counts, total = LEVELS * p[0] + p[1], np.zeros(3, dtype=int), 0.0
    for t in range(TURNS):
        k = int(np.argmin((TIMES[t] - means) ** 2))
        counts[k] += 1
        total += (TIMES[t] - means[k]) ** 2
    return total + np.sum(counts * means) + p[0] * counts[1]


def running_means(p):
    means, counts = LEVELS * p[0] + p[1], np.ones(3, dtype=np.int64)
    for t in range(TURNS):
        k = np.argmin((TIMES[t] - means) ** 2)
        counts[k] += 1
        means[k] += (TIMES[t] * p[1] - means[k]) / counts[k]
    return np.sum(means**2)


def counts_in_a_branch(p):
    counts, total = np.zeros(2, dtype=int), 0.0
    for t in range(TURNS):
        if TIMES[t] > p[0]:
            counts[1] += 1
            total += TIMES[t] * p[1]
        else:
            counts[0] -= 1
        if counts[1] > 20:
            total += 0.01 * p[0]
    return total + p[1] * counts[0] / (counts[1] + 1)


def counts_by_sign(p):
    counts, s = np.full(3, -1), p[1]
    for t in TIMES:
        s = 0.9 * s + t * p[0]
        k = 0 if s < -0.3 else (1 if s < 0.3 else 2)
        counts[k] += 2
        s += 1e-3 * counts[k]
    return s + p[0] * counts[0] - p[1] * counts[2]


def labels(p):
    label = np.zeros(TURNS, dtype=int)
    for i in range(TURNS):
        label[i] = 1 if TIMES[i] > p[0] else 0
    total = 0.0
    for i in range(TURNS):
        total += (TIMES[i] - p[label[i]]) ** 2
    return total + p[1] * np.sum(label == 1) - p[0] * label.sum()


def labels_in_a_branch(p):
    label, s = np.zeros(TURNS, dtype=int), 0.0
    for i in range(TURNS):
        s = 0.8 * s + TIMES[i] * p[1]
        if s > p[0]:
            label[i] = 1
        elif s < -p[0]:
            label[i] = 2
    return s + p[1] * np.sum(label == 2) + p[0] * np.mean(label)


def labels_of_comparisons(p):
    label, s = np.zeros(TURNS, dtype=int), 0.0
    for i in range(TURNS):
        s = 0.8 * s + TIMES[i] * p[1]
        label[i] = int(s > p[0])
        s += 0.1 * label[i]
    return s + p[1] * np.sum(label)


def what_was_visited(p):
    visited, s = np.zeros(TURNS, dtype=bool), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        if s > 0.4:
            visited[i] = True
    return s * np.sum(visited)


def visits_once(p):
    visited, s = np.zeros(3, dtype=bool), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = np.argmin((s - LEVELS) ** 2)
        s = s if visited[k] else s + p[1]
        visited[k] = True
    return s + p[0] * np.sum(visited)


def flags_of_turns(p):
    flags, s = np.empty(TURNS, dtype=bool), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        flags[i] = s > 0.1
        s = s + 0.01 * flags[i]
    return s * np.count_nonzero(flags)


def the_label_before(p):
    label, s = np.zeros(TURNS, dtype=int), p[1]
    for i in range(1, TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        label[i] = label[i - 1] + 1 if s > 0.1 else 0
        s = s + 1e-2 * label[i]
    return s + p[0] * np.max(label)


def rows_of_labels(p):
    found, s = np.zeros((TURNS, 2), dtype=int), p * 1.0
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[::-1]
        found[i] = s > 0.2
    return np.sum(s * found[-1]) + p[0] * np.sum(found[:, 0] * found[:, 1])


def halves_are_cut_off(p):
    counts, s = np.zeros(TURNS, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        counts[i] = 2.5 * s
        s = s + 1e-2 * counts[i]
    return s + p[1] * np.sum(counts)


def counts_what_it_goes_over(p):
    counts, s = np.zeros(3, dtype=int), 0.0
    for k in CODES:
        counts[k] += 1
        s = 0.9 * s + p[0] * LEVELS[k] / counts[k] + p[1] * counts[0]
    return s


ONE_TURN = (
    viterbi, viterbi_with_a_state, counts_the_nearest, running_means, counts_in_a_branch, counts_by_sign, labels, labels_in_a_branch,
    labels_of_comparisons, what_was_visited, visits_once, flags_of_turns, the_label_before, rows_of_labels, halves_are_cut_off,
    counts_what_it_goes_over,
)  # fmt: skip


def two_names(p):
    first = second = np.zeros(3, dtype=int)
    s = p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        first[k] += 1
        s += 1e-3 * second[0]
    return s + p[0] * np.sum(second**2)


def a_view_shows_it(p):
    counts = np.zeros(4, dtype=int)
    shown, s = counts[1:], p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
        s += 1e-3 * shown[0]
    return s + p[0] * np.sum(shown**2)


def adds_halves(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1.5
        counts[0] -= 0.5 if s > 0.1 else 0.25
    return s + p[0] * np.sum(counts)


def adds_data(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        counts[1] += 3.7 * s
    return s + p[0] * counts[1]


def halves_them(p):
    counts, s = np.full(2, 1000), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        counts[1] /= 1.01 if s > 0 else 1.0
    return s + p[0] * counts[1]


def bools_are_added(p):
    flags, s = np.zeros(3, dtype=bool), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        flags[k] = flags[k] + flags[0] + (s > 0.3)
    return s + p[0] * np.sum(flags)


def bools_of_numbers(p):
    flags, s = np.zeros(TURNS, dtype=bool), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        flags[i] = np.maximum(s, 0.0)
    return s + p[0] * np.sum(flags)


def it_wraps_around(p):
    counts, s = np.ones(2, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        counts[1] = 3 * counts[1] + (1 if s > 0.1 else 0)
    return s + p[0] * (counts[1] % 1000)


def asks_for_dtypes(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
        s += 1e-3 if counts.dtype == np.int64 and isinstance(counts[k], np.integer) else 0.1
    return s + (p[0] if isinstance(counts[0], int) else p[1]) * counts[0]


def asks_whether_it_is_an_int(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
        s += 1e-3 if isinstance(k, int) else 0.1
    return s + p[0] * counts[0]


def repeats_by_counts(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
    for _ in range(counts[1]):
        s = np.sin(s)
    return s


def takes_some_by_a_mask(p):
    visited, s, all_of_them = np.zeros(TURNS, dtype=bool), p[1], TIMES * p[0]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        visited[i] = s > 0.4
    return np.sum(all_of_them[visited])


def rows_of_floats(p):
    found, s = np.zeros((TURNS, 2), dtype=int), p * 1.0
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[::-1]
        found[i] = 3.0 * s
    return np.sum(s) + p[0] * np.sum(found)


def several_targets(p):
    counts, floats, s = np.zeros(2, dtype=int), np.zeros(2), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        if s > 0.2:
            last = counts[0] = floats[0] = 2.7
            s += 0.01 * (last + counts[0] + floats[0])
    return s + p[0] * counts[0] + p[1] * floats[0]


def both_at_once(p):
    counts, floats, s = np.zeros(2, dtype=int), np.zeros(2), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        if s > 0.2:
            counts[0], floats[0] = counts[0] + 1, floats[0] + 0.5
    return s + p[0] * counts[0] + p[1] * floats[0]


def starts_as_an_int(p):
    k, s, means = 0, p[1], LEVELS * p[0]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * means[k]
        k = int(np.argmin((s - LEVELS) ** 2))
    return s + k


def ints_are_computed_with(p):
    s, last = p[1], 0.0
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2)) - 1
        last = (k // 2 + k % 2) * s + k**2 - 2.0**k + abs(k) / 3
        s += 1e-3 * last
    return s + last


def narrow_ints(p):
    counts, s = np.zeros(3, dtype=np.int8), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
    return s + p[0] * np.sum(counts)


# Recorded in one way or the other.
OTHERS = (
    two_names, a_view_shows_it, adds_halves, adds_data, halves_them, bools_are_added, bools_of_numbers, it_wraps_around, asks_for_dtypes,
    asks_whether_it_is_an_int, repeats_by_counts, takes_some_by_a_mask, rows_of_floats, several_targets, both_at_once, starts_as_an_int,
    ints_are_computed_with, narrow_ints,
)  # fmt: skip


def counts_what_is_given(p, kinds):
    counts, s = np.zeros(3, dtype=int), 0.0
    for k in kinds:
        counts[k] += 1
        if k == 1:
            s = 0.9 * s + p[0] / counts[k]
        elif counts[2] > 40 and k > 1:
            s = s - p[1] * k
    return s


def ints_that_are_given(p, kinds):
    s = 0.0
    for i in range(len(kinds)):
        k = int(kinds[i])
        s = 0.9 * s + p[0] * TIMES[i] * LEVELS[k] if k != 1 else s + p[1]
    return s


def divides_by_an_int(p):
    s = p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        s += 1e-3 / k
    return s


def runs_off_the_end(p):
    counts, s = np.zeros(3, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        counts[np.sum(s > LEVELS)] += 1
    return s + counts[0]


def writes_what_is_no_number(p):
    label, s = np.zeros(TURNS, dtype=int), p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        label[i] = np.log(s + 3.0)
    return s + np.sum(label)


def counts_into_an_argument(p, counts):
    s = p[1]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[0]
        k = int(np.argmin((s - LEVELS) ** 2))
        counts[k] += 1
    return s + p[0] * counts[0]


def first_of_equal_numbers(x):
    counts, total = np.zeros(3, dtype=int), 0.0
    for t in range(TURNS):
        k = int(np.argmax(np.round(x * TIMES[t])))
        counts[k] += 1
        total += x[k] * TIMES[t]
    return total + x[0] * counts[0] - x[2] * counts[2]


EDGES = [first_of_equal_numbers]
KINDS = np.random.default_rng(20261129).integers(0, 3, size=TURNS)
OF_GIVEN_INTS = {
    "counts_into_an_argument": lambda x: counts_into_an_argument(x, np.array([7, -2, 0])),
    "counts_what_is_given": lambda x: counts_what_is_given(x, KINDS),
    "ints_that_are_given": lambda x: ints_that_are_given(x, KINDS),
}
