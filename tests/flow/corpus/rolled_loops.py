"""Loops of hundreds of iterations over arrays, lists, ranges and tables."""

from __future__ import annotations

import math

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261124)
STEPS = 400
TIMES, HEIGHTS = rng.normal(size=(2, STEPS))
COUNTS = rng.integers(0, 9, size=STEPS)
ORDER = rng.permutation(STEPS)
GAPS = np.random.default_rng(8).normal(size=(40, 30))
SEEN = np.random.default_rng(10).random(130) > 0.2
VALUES = np.random.default_rng(11).normal(size=(130, 2))
ROW_COUNT, CELLS = 24, 26
ROW_HEIGHTS = np.sin(np.arange(ROW_COUNT) * 0.7) + 1.2
CELL_TIMES = np.linspace(0.1, 1.0, CELLS)
COSTS = (ROW_HEIGHTS[:, None] - CELL_TIMES[None, :]) ** 2


def rows_beside_a_sum(p):
    rotation = np.array([[0.8, 0.3], [-0.3, 0.8]])
    table, total, kept = np.zeros((STEPS, 2)), 0.0, []
    table[0] = p
    for t in range(1, STEPS):
        mean = rotation @ table[t - 1]
        rest = HEIGHTS[t] - mean[0] * p[1]
        total += np.log1p(rest * rest)
        table[t] = mean + np.array([0.3, 0.1]) * rest
        kept.append(np.tanh(table[t]))
    total += np.sum(table**2)
    return total + np.sum(np.array(kept)[:, 1])


def sums_within_a_table(p):
    bins = np.zeros(9)
    for t, k in zip(TIMES, COUNTS):
        bins[k] += t * p[0] + p[1]
    return np.sum(bins**2)


def positions_in_a_table(p):
    state = np.zeros(STEPS)
    for t in ORDER:
        state[t] = p[0] * TIMES[t] + p[1] * state[0]
    return np.sum(state**2)


# Filters


GAPS[np.random.default_rng(9).random(GAPS.shape) < 0.1] = np.nan


def filters_of_vectors(p):
    total, step = 0.0, np.array([[1.0, 1.0], [0.0, np.tanh(p[0] - p[1])]])
    for i in range(len(GAPS)):
        m, s = np.zeros(2), 10.0 * np.eye(2)
        for t in range(GAPS.shape[1]):
            m, s = step @ m, step @ s @ step.T + np.exp(p[0]) * np.eye(2)
            if not np.isnan(GAPS[i, t]):
                error, v = GAPS[i, t] - m[0], s[0, 0] + np.exp(p[1])
                m, s = m + s[0] * (error / v), s - np.outer(s[0], s[0]) / v
                total += np.log(v) + error**2 / v
    return total


def filter_of(values, is_seen, gain):
    """A filter of a state of two entries; `gain` is called with its covariance and the noise."""

    def f(p):
        total, m, s = 0.0, np.zeros(2), np.eye(2)
        for t in range(len(values)):
            m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
            if is_seen[t]:
                k, size = gain(s, np.exp(p[1]) * np.eye(2))
                error = values[t] - m
                m, s = m + k @ error, s - k @ s
                total += error @ k @ error + size
        return total

    return f


def by_inverse(s, noise):
    return s @ np.linalg.inv(s + noise), np.linalg.slogdet(s + noise)[1]


def by_entries(s, noise):
    whole = s + noise
    size = whole[0, 0] * whole[1, 1] - whole[0, 1] * whole[1, 0]
    return s @ np.array([[whole[1, 1], -whole[0, 1]], [-whole[1, 0], whole[0, 0]]]) / size, np.log(size)


def filters_that_are_recorded_whole(p):
    """Looks the gain up by a name made of the iteration's number: the loop is unrolled."""
    total = FILTER(p)
    for k in range(6):
        total += p[0] ** 2 if p[0] * k > p[1] else np.sin(p[1] + k)
    return total


def _whole(p):
    gains = {f"at {t}": by_inverse for t in range(130)}
    total, m, s = 0.0, np.zeros(2), np.eye(2)
    for t in range(130):
        m, s = np.array([m[0] + m[1], np.tanh(p[0]) * m[1]]), s + np.exp(p[0]) * np.eye(2)
        if SEEN[t]:
            k, size = gains[f"at {t}"](s, np.exp(p[1]) * np.eye(2))
            m, s = m + k @ (VALUES[t] - m), s - k @ s
            total += m @ m + size
    return total


FILTER = _whole


# Ranges that go backwards


def writes_what_data_decides(p):
    g = np.zeros(STEPS + 1)
    for t in reversed(range(STEPS)):
        g[t] = TIMES[t] * p[0] + p[1] * 0.9 * g[t + 1] if g[t + 1] < 0.4 else TIMES[t] * p[1]
    return g[0] + g.mean()


class Backwards:
    """Loops over a range whose ends are properties."""

    def __init__(self):
        self.asked = []

    def end(self, value):
        self.asked.append(value)
        return value

    def __call__(self, p):
        total, self.asked = 0.0, []
        for t in reversed(range(self.end(0), self.end(STEPS))):
            total = 0.9 * total + np.sin(TIMES[t] * p[0]) * p[1]
        return total * (2.0 if self.asked == [0, STEPS] else 3.0)


# Inner functions with nonlocal


def returns_early(p):
    """Its result tells what happened."""
    s, hits = 0.0, 0

    def step(v, scale):
        """Another text."""
        nonlocal s, hits
        w = v * scale
        if w > 0.5:
            s, hits = s * p[1], hits + 1
            return w
        s = s + w
        return -s

    total = 0.0
    for i in range(STEPS):
        w = 1.5 * np.tanh(step(TIMES[i], p[0])) + p[1]
        total += w * w
    return total / STEPS + s * 0.01 + hits * p[0]


# Tables filled cell by cell


def alignment_with_affine_gaps(p):
    match, above, left = (np.full((ROW_COUNT + 1, CELLS + 1), -50.0) for _ in range(3))
    match[0, 0] = 0.0
    for i in range(1, ROW_COUNT + 1):
        for j in range(1, CELLS + 1):
            best = np.logaddexp(np.logaddexp(match[i - 1, j - 1], above[i - 1, j - 1]), left[i - 1, j - 1])
            match[i, j] = best - p[1] * COSTS[i - 1, j - 1]
            above[i, j] = np.logaddexp(match[i - 1, j] - p[0], above[i - 1, j] - 0.3)
            left[i, j] = np.logaddexp(match[i, j - 1] - p[0], left[i, j - 1] - 0.3)
    return np.logaddexp(match[ROW_COUNT, CELLS], np.logaddexp(above[ROW_COUNT, CELLS], left[ROW_COUNT, CELLS]))


def time_warping_of_lists(p):
    above = [0.0] + [1e10] * CELLS
    for i in range(ROW_COUNT):
        row = [1e10]
        for j in range(CELLS):
            least = np.minimum(np.minimum(above[j], above[j + 1]), row[j])
            soft = least - np.log(np.exp(least - above[j]) + np.exp(least - above[j + 1]) + np.exp(least - row[j]))
            row.append((p[0] * ROW_HEIGHTS[i] - p[1] * CELL_TIMES[j]) ** 2 + soft)
        above = row
    return above[CELLS]


def two_rows(p):
    before = np.zeros(CELLS + 1)
    for i in range(ROW_COUNT):
        row = np.zeros(CELLS + 1)
        row[0] = p[0] * i
        for j in range(1, CELLS + 1):
            row[j] = np.minimum(np.minimum(before[j] + p[0], row[j - 1] + p[0]), before[j - 1] + p[1] * COSTS[i, j - 1])
        before = row
    return before[CELLS]


def takes_one_of_two(p):
    lengths = np.zeros((ROW_COUNT + 1, CELLS + 1))
    for i in range(1, ROW_COUNT + 1):
        for j in range(1, CELLS + 1):
            if COSTS[i - 1, j - 1] < 0.1 + 0.01 * p[0]:
                lengths[i, j] = lengths[i - 1, j - 1] + p[0]
            else:
                lengths[i, j] = p[1] * np.maximum(lengths[i - 1, j], lengths[i, j - 1])
    return lengths[ROW_COUNT, CELLS]


def borders_behind_the_row(p):
    table, seen = np.zeros((ROW_COUNT + 1, CELLS + 1)), []
    for i in range(1, ROW_COUNT + 1):
        for j in range(1, CELLS + 1):
            table[i, j] = np.tanh(table[i - 1, j] + p[0] * table[i, j - 1]) + p[1] * CELL_TIMES[j - 1]
        seen.append(table[i, CELLS])
        table[i, 0] = table[i, CELLS]
    return sum(seen) + table[ROW_COUNT, 0]


def a_new_array_each_iteration(p):
    u = np.full(CELLS, p[0])
    for _ in range(ROW_COUNT):
        v = np.empty_like(u)
        v[0], v[-1] = u[0] * p[1], u[-1]
        for j in range(1, CELLS - 1):
            v[j] = u[j] + 0.2 * (u[j - 1] - 2 * u[j] + u[j + 1]) + p[1] * CELL_TIMES[j] * 0.01
        u = v
    return np.sum(u**2)


# `try` in a loop


def square_roots(p):
    total, count = 0.0, 0
    for v in TIMES:
        try:
            root = math.sqrt(p[0] * v + 0.5) * p[1]
            total += root * root * p[0] - root
        except ValueError:
            count += 1
            continue
        total -= 0.1 * p[1]
    return total / STEPS + count * p[0]


PROGRAMS = [
    rows_beside_a_sum, sums_within_a_table, positions_in_a_table, filters_of_vectors, filters_that_are_recorded_whole,
    writes_what_data_decides, returns_early, alignment_with_affine_gaps, time_warping_of_lists, two_rows, takes_one_of_two,
    borders_behind_the_row, a_new_array_each_iteration, square_roots,
]  # fmt: skip
CASES = {
    "numbers with gaps": filter_of(VALUES, SEEN, by_entries),
    "Backwards": Backwards(),
}  # fmt: skip
