"""Programs with long loops over lists and dicts of numbers, arrays, tuples, lists, dicts and named tuples."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np

rng = np.random.default_rng(20261127)
TURNS, COUNT, ONE = 400, 6, 1


class Visit(NamedTuple):
    time: float
    level: float
    group: int

    @property
    def scaled(self):
        return 0.1 * self.level * self.time


Row = namedtuple("Row", "pair weight")

PAIRS = [(int(a), int(b)) for a, b in rng.integers(0, COUNT, (TURNS, 2))]
NUMPYS = [(a, b) for a, b in rng.integers(0, COUNT, (TURNS, 2))]
MIXED = [PAIRS[k] if k % 3 else NUMPYS[k] for k in range(TURNS)]
NUMBERS = [float(v) for v in rng.normal(size=TURNS)]
TIMED = [(0.01 * k, float(v)) for k, v in enumerate(rng.normal(size=TURNS))]
LISTED = [[float(a), np.float64(b)] for a, b in rng.normal(size=(TURNS, 2))]
VECTORS = [rng.normal(size=2) for _ in range(TURNS)]
MATRICES = [0.3 * rng.normal(size=(2, 2)) for _ in range(TURNS)]
VISITS = [Visit(0.01 * k, float(v), int(g)) for k, (v, g) in enumerate(zip(rng.normal(size=TURNS), rng.integers(0, COUNT, TURNS)))]
ROWS = [Row((int(a), int(b)), float(w)) for (a, b), w in zip(rng.integers(0, COUNT, (TURNS, 2)), rng.random(TURNS))]
RECORDS = [{"time": 0.01 * k, "level": float(v), "group": int(g)} for k, (v, g) in enumerate(zip(NUMBERS, rng.integers(0, COUNT, TURNS)))]
FLAGGED = [(float(v), bool(v > 0.3), None, "kg") for v in rng.normal(size=TURNS)]
BY_PAIR = {(a, 100 * b): float(v) for a in range(20) for b in range(20) for v in [rng.normal()]}
NAMED = [("low" if v < 0 else "high", float(v)) for v in rng.normal(size=TURNS)]
RAGGED = [rng.normal(size=n) for n in rng.integers(1, 4, TURNS)]
COUNTS = [int(v) for v in rng.integers(0, COUNT, TURNS)]


def huber(r):
    return r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0


def spread(p):
    """Six numbers of two."""
    return np.concatenate([p, p * p, np.sin(p)])


def pairs(p):
    x, s = spread(p), 0.0
    for i, j in PAIRS:
        s += huber(x[i] - 2.0 * x[j])
    return s


def numpys_pairs(p):
    x, s = spread(p), 0.0
    for i, j in NUMPYS:
        s += huber(x[i] - 2.0 * x[j])
    return s


def mixed_pairs(p):
    x, s = spread(p), 0.0
    for pair in MIXED:
        s += huber(x[pair[0]] - 2.0 * x[pair[1]])
    return s


def pairs_beside_numbers_and_vectors(p):
    x, s = spread(p), 0.0
    for k, ((i, j), number, v) in enumerate(zip(PAIRS, NUMBERS, VECTORS)):
        r = p * x[i] - v + 0.001 * k
        s += huber(r @ r - number * x[j])
    return s


def rows_of_a_matrix(p):
    x, s = np.outer(spread(p), spread(p)), 0.0
    for i, j in PAIRS:
        r = x[i, 2:] - x[j, :4]
        e = x[i, :2] + x[j, 1:3]
        s += huber(r @ r - e @ e)
    return s


def times(p):
    s = p[1]
    for t, y in TIMED:
        s = s + 0.1 * (huber(y - p[0] * np.sin(t)) - s)
    return s


def lists(p):
    s = p[1]
    for row in LISTED:
        s = s + 0.1 * (huber(sum(row) / len(row) - p[0]) - s)
    return s


def vectors(p):
    s = 0.0
    for v in VECTORS:
        s += huber(v @ p)
    return s


def matrices(p):
    s = p
    for a in MATRICES:
        s = np.tanh(a @ s) + 0.1 * (p if s[0] > 0.0 else -p)
    return s @ s


def named_tuples(p):
    x, s = spread(p), 0.0
    for visit in VISITS:
        s += huber(visit.level - x[visit.group] * visit.time) + visit.scaled * p[0]
    return s


def named_tuples_of_tuples(p):
    x, s = spread(p), 0.0
    for (i, j), weight in ROWS:
        s += weight * huber(x[i] - x[j])
    return s


def dicts(p):
    x, s = spread(p), 0.0
    for record in RECORDS:
        s += huber(record["level"] - x[record["group"]] * record["time"])
    return s


def items_of_a_dict(p):
    x, s = spread(p), 0.0
    for (i, j), v in BY_PAIR.items():
        s += huber(v - x[i % COUNT] * x[j % COUNT])
    return s


def values_of_a_dict(p):
    s = 0.0
    for v in BY_PAIR.values():
        s += huber(v - p[0]) * p[1]
    return s


def bools_beside_constants(p):
    s = p[1]
    for v, is_up, nothing, unit in FLAGGED:
        if is_up:
            s = s + 0.1 * (huber(v - p[0]) - s)
        elif nothing is None and unit == "kg":
            s = s - 0.05 * s * p[0]
    return s


def backwards(p):
    x, s = spread(p), p[1]
    for i, j in reversed(PAIRS):
        s = 0.9 * s + huber(x[i] - x[j])
    return s


def swaps(p):
    x, s = spread(p), 0.0
    for i, j in PAIRS:
        if i > j:
            i, j = j, i
        s += huber(x[i] - 2.0 * x[j])
    return s


ONE_TURN = [
    pairs, numpys_pairs, mixed_pairs, pairs_beside_numbers_and_vectors, rows_of_a_matrix, times, lists, vectors, matrices, named_tuples,
    named_tuples_of_tuples, dicts, items_of_a_dict, values_of_a_dict, bools_beside_constants, backwards, swaps,
]  # fmt: skip


# Others are recorded turn by turn.


def strings(p):
    s = 0.0
    for name, v in NAMED:
        s += huber(v - p[0]) if name == "low" else huber(v - p[1])
    return s


def arrays_of_several_lengths(p):
    s = 0.0
    for v in RAGGED:
        s += huber(np.sum(v * p[0]) - p[1])
    return s


def keeps_the_last_item(p):
    x, s, last = spread(p), 0.0, (0, 1)
    for pair in PAIRS:
        s += huber(x[pair[0]] - x[last[1]])
        last = pair
    return s + x[last[0]]


def looks_items_up(p):
    s = 0.0
    for pair in BY_PAIR:
        s += huber(p[0] - BY_PAIR[pair] * p[1])
    return s


def the_same_in_all_turns(p):
    s = p[1]
    for unit, nothing in zip(["kg"] * TURNS, [None] * TURNS):
        s = s + 0.1 * (huber(s - p[0]) if unit == "kg" and nothing is None else p[1])
    return s


OTHERS = [the_same_in_all_turns, strings, arrays_of_several_lengths, keeps_the_last_item, looks_items_up]


# What data cannot tell is asked only where p[0] > 5, on a side that the first recordings do not take.


def asks_for_an_int(p):
    s = 0.0
    for k in range(TURNS):
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 1.0 if isinstance(k, int) else 2.0
    return s


def asks_for_an_int_before(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        extra = 1.0 if isinstance(k, int) else 2.0
        if p[0] > 5.0:
            s += extra
    return s


def asks_for_a_type(p):
    s = 0.0
    for k, _ in PAIRS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 1.0 if type(k) is int else 2.0
    return s


def asks_for_a_bool(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += 1.0 if isinstance(is_up, bool) else 2.0
    return s


def asks_for_one(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 1.0 if k is ONE else 2.0
    return s


def asks_for_true(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += 1.0 if is_up is True else 2.0
    return s


def asks_that_it_is_not_true(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += 1.0 if is_up is not True else 2.0
    return s


def repeats_a_list(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += len([0.0, 1.0] * k)
    return s


def repeats_a_string(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += len(k * "ab")
    return s


def inverts_a_bool(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += ~int(is_up) + ~is_up
    return s


def _told(k):
    return 1.0 if isinstance(k, int) else 2.0


def asks_in_a_function(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += _told(k)
    return s


def asks_behind_the_loop(p):
    s, k = 0.0, 0
    for v in NUMBERS:
        s += huber(p[0] * v - p[1])
        k += 1
    if p[0] > 5.0:
        s += 1.0 if isinstance(k, int) else 2.0
    return s


def negates_a_bool(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += -is_up + is_up**2
    return s


def takes_an_int_to_a_negative_power(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += (k + 1) ** -1 + 2**-k
    return s


ASKING = [
    negates_a_bool, takes_an_int_to_a_negative_power,
    asks_for_an_int, asks_for_an_int_before, asks_for_a_type, asks_for_a_bool, asks_for_one, asks_for_true, asks_that_it_is_not_true,
    repeats_a_list, repeats_a_string, inverts_a_bool, asks_in_a_function, asks_behind_the_loop,
]  # fmt: skip


# Python has errors for these, where p[0] > 5.


def remainder_by_zero(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 5 % k
    return s


def remainder_by_what_becomes_zero(p):
    s = 0.0
    for k in range(TURNS):
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += k % (k - 7)
    return s


def turn_by_a_count(p):
    s, n = 0.0, 0
    for k in range(TURNS):
        if p[0] < 5.0:
            n += 1
        s += huber(p[k % 2]) * (k / n)
    return s


def decides_by_a_turn_by_a_count(p):
    s, n = 0.0, 0
    for k in COUNTS:
        if p[0] < 5.0:
            n += 1
        s += huber(p[k % 2]) if (k + 1) / n < 0.01 else p[1]
    return s


BY_ZERO = [remainder_by_zero, remainder_by_what_becomes_zero, turn_by_a_count, decides_by_a_turn_by_a_count]


# NumPy has none for these: the dividend, or the divisor, is none of Python's.


def data_by_zero(p):
    s = 0.0
    for k in COUNTS:
        s += np.exp(-abs(p[0]) / k) + huber(p[1])
    return s


def numpys_by_zero(p):
    s = 0.0
    for k in np.array(COUNTS):
        s += huber(p[0]) + np.exp(-1.0 / k)
    return s


def by_no_zero(p):
    s = 0.0
    for k in range(TURNS):
        s += huber(p[0]) / (k + 1) + 1.0 / (k + 1) + 7 % (2 * k + 1)
    return s


BY_OTHERS = [data_by_zero, numpys_by_zero, by_no_zero]


def roots_of_negative_numbers(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += math.sqrt(p[1] - k)
    return s
