"""Programs whose long loops put whole numbers, and arrays of them, into lists, which are read afterwards."""

from __future__ import annotations

import numpy as np

from .int_array_programs import CODES, LEVELS, SLOPES, TIMES, TURNS


def appends_chosen_ints(p):
    path, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        k = 1 if s > 0.1 else 0
        path.append(k)
    total = 0.0
    for i in range(1, TURNS):
        total += p[path[i]] * TIMES[i] + p[path[i - 1]] ** 2
    return total + len(path)


def appends_the_nearest(p):
    means, found = LEVELS * p[0] + p[1], []
    for i in range(TURNS):
        found.append(int(np.argmin((TIMES[i] - means) ** 2)))
    total = 0.0
    for i in range(TURNS):
        total += (TIMES[i] - means[found[i]]) ** 2 + 0.01 * found[i]
    return total


def writes_entries(p):
    path, s = [0] * TURNS, p[0]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[1] + 0.01 * np.sin(s) * p[0]
        k = 2 if s > 0.2 else 0
        path[i] = k
    total = 0.0
    for i in range(TURNS):
        total += LEVELS[path[i]] * TIMES[i] * p[0]
    return total + p[1] * sum(path)


def viterbi_in_lists(p):
    moves, shown = SLOPES * p[0] + 0.1 * p[1], np.outer(LEVELS, [1.0, -0.5, 0.2]) * p[1]
    delta, back = shown[:, CODES[0]], []
    for t in range(1, TURNS):
        scores = delta[:, None] + moves
        back.append(scores.argmax(axis=0))
        delta = scores.max(axis=0) + shown[:, CODES[t]]
    state = int(delta.argmax())
    path = [0] * TURNS
    path[TURNS - 1] = state
    for t in range(TURNS - 2, -1, -1):
        state = back[t][state]
        path[t] = state
    total = shown[path[0], CODES[0]]
    for t in range(1, TURNS):
        total += moves[path[t - 1], path[t]] + shown[path[t], CODES[t]]
    return total


def viterbi_backwards(p):
    moves, shown = SLOPES * p[0] + 0.1 * p[1], np.outer(LEVELS, [1.0, -0.5, 0.2]) * p[1]
    delta, back = shown[:, CODES[0]], np.zeros((TURNS, 3), dtype=int)
    for t in range(1, TURNS):
        scores = delta[:, None] + moves
        back[t] = np.argmax(scores, axis=0)
        delta = np.max(scores, axis=0) + shown[:, CODES[t]]
    state = int(np.argmax(delta))
    path = [state]
    for t in range(TURNS - 1, 0, -1):
        state = int(back[t, state])
        path.append(state)
    path.reverse()
    total = shown[path[0], CODES[0]]
    for t in range(1, TURNS):
        total += moves[path[t - 1], path[t]] + shown[path[t], CODES[t]]
    return total


ONE_TURN = (appends_chosen_ints, appends_the_nearest, writes_entries, viterbi_in_lists, viterbi_backwards)


def asks_for_types(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(1 if s > 0.1 else 0)
    return s * (p[0] if isinstance(found[0], int) else p[1]) + found[1]


def counts_with_them(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(int(np.argmin((s - LEVELS) ** 2)))
    for _ in range(found[-1]):
        s = np.sin(s)
    return s + p[0] * found.count(1) + p[1] * max(found) + [p[0], p[1], 0.3][found[0]] + sum(found) % 7


def is_floats_and_ints(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(1 if s > 0.1 else 0.5)
    return s + p[0] * sum(found)


def writes_some_entries(p):
    found, s = [0] * TURNS, p[0]
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[1]
        if s > 0.1:
            found[i] = 1
    return s + p[0] * sum(found)


def one_list_by_two_names(p):
    found, s = [0] * TURNS, p[0]
    same = found
    for i in range(TURNS):
        s = 0.9 * s + TIMES[i] * p[1]
        found[i] = 1 if s > 0.1 else 0
        s += 0.01 * same[0]
    return s + p[0] * sum(same)


def products_of_entries(p):
    found, s, product = [], p[0], 1
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(2 if s > 0.1 else 3)
    for i in range(TURNS):
        product = product * found[i]
    return s + p[0] * (product % 1009)


def keys_of_a_dict(p):
    found, s, seen = [], p[0], {}
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(int(s > 0.1))
    for k in found:
        seen[k] = seen.get(k, 0) + 1
    return s + p[0] * len(seen) + p[1] * seen.get(1, 0)


def strings_of_them(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(1 if s > 0.1 else 0)
    return s + p[0] * int("".join(map(str, found[:10])), 2)


def lists_of_rows_are_changed(p):
    rows, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        rows.append(np.argsort(s * LEVELS))
    rows[3][0] = 7
    total = 0.0
    for i in range(TURNS):
        total += p[1] * rows[i][0] * TIMES[i]
    return total


def divides_by_entries(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(1 if s > 0.1 else 2)
    total = 0.0
    for i in range(TURNS):
        total += TIMES[i] * p[0] / found[i] + (7 // found[i]) * p[1]
    return total


def parts_of_rows(p):
    table = np.outer(TIMES, LEVELS) * p[0]
    rows, turned, s = [table[i, :2] for i in range(TURNS)], [table[i, ::-1] for i in range(TURNS)], p[1]
    for i in range(TURNS):
        s = 0.9 * s + np.sum(rows[i]) * TIMES[i] + turned[i][0]
    return s


# Recorded in one way or the other.
OTHERS = (
    asks_for_types, counts_with_them, is_floats_and_ints, writes_some_entries, one_list_by_two_names, products_of_entries, keys_of_a_dict,
    strings_of_them, lists_of_rows_are_changed, divides_by_entries, parts_of_rows,
)  # fmt: skip


def divides_by_zero(p):
    found, s = [], p[0]
    for t in TIMES:
        s = 0.9 * s + t * p[1]
        found.append(0 if s > 1e3 else 2)
    total = 0.0
    for i in range(TURNS):
        total += 0.1 / found[i]
    return total + s
