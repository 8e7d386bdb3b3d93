"""Programs with loops that are long: of some one turn is recorded, of others all are."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261124)
TURNS = 400
TIMES, HEIGHTS = rng.normal(size=(2, TURNS))
ROWS = rng.normal(size=(TURNS, 2))
FLOATS = [float(v) for v in TIMES]
COUNTS = rng.integers(0, 9, size=TURNS)


def zipped(p):
    total = mean = 0.0
    for t, y in zip(TIMES, HEIGHTS):
        mean = 0.9 * mean + p[0] * t
        rest = y - p[1] * mean
        total = total + rest * rest
    return total


def by_position(p):
    total, mean = 0.0, 0.0
    for i in range(TURNS):
        mean = 0.9 * mean + p[0] * TIMES[i]
        total += np.log1p((HEIGHTS[i] - p[1] * mean) ** 2)
    return total / TURNS


def backwards(p):
    state = p[0]
    for i in range(TURNS - 1, 0, -1):
        state = 0.5 * state + p[1] * np.sin(TIMES[i] - HEIGHTS[i - 1])
    return state**2


def _smoothed(p, value, mean):
    return 0.9 * mean + p[0] * value


def in_inner_functions(p):
    def likelihood(p):
        total = mean = 0.0
        for i, (t, y) in enumerate(zip(TIMES, HEIGHTS)):
            mean = _smoothed(p, t, mean)
            if y > 0:
                total += (y - p[1] * mean) ** 2 / (1 + i)
            else:
                total += abs(y - p[1] * mean)
        return total, mean

    total, mean = likelihood(p)
    return total + mean


def data_decides(p):
    total = mean = 0.0
    for t, y in zip(TIMES, HEIGHTS):
        mean = 0.8 * mean + p[0] * t
        rest = abs(y - p[1] * mean)
        if rest < 1.0:
            total += 0.5 * rest**2
        else:
            total += rest - 0.5
    return total


def variables_of_the_last_turn(p):
    for t in TIMES:
        slope = p[0] * t + p[1]
        slope = slope * slope + 1.0
    return slope * t


def loop_in_loop(p):
    total = 0.0
    for i in range(300):
        inner = p[0]
        for j in range(300):
            inner = 0.99 * inner + p[1] * TIMES[j] * HEIGHTS[i] * 0.01
        total += inner * inner
    return total


def one_after_the_other(p):
    first, second = 0.0, 1.0
    for t in TIMES:
        first += (t - p[0]) ** 2
    for y in HEIGHTS:
        second = 0.5 * second + (y - p[1]) ** 2 * 1e-3
    return first * second


def arrays_handed_on(p):
    transition = np.array([[0.9, 0.1], [0.0, 0.8]])
    mean, total = np.zeros(2), 0.0
    for y in HEIGHTS:
        mean = transition @ mean + p * 0.1
        total += (y - mean[0]) ** 2
    return total + mean[1]


def arrays_changed_in_place(p):
    speed = p * 1.0
    for t in TIMES:
        speed += 0.1 * t * p
        squared = speed * speed
    return np.sum(speed) + np.sum(squared)


def rows_and_lists(p):
    total = 0.0
    for row, value, back in zip(ROWS, FLOATS, reversed(COUNTS)):
        total += np.log1p(np.exp(-value * (row @ p))) * back
    return total


class Model:
    def __init__(self, data):
        self.data = data

    def likelihood(self, p):
        total = np.float64(0.0)
        for row in self.data:
            total += np.tanh(row[0] * p[0] - row[1] * p[1])
        return total

    def __call__(self, p):
        return self.likelihood(p) ** 2


ONE_TURN = (
    zipped, by_position, backwards, in_inner_functions, data_decides, variables_of_the_last_turn, loop_in_loop, one_after_the_other,
    arrays_handed_on, arrays_changed_in_place, rows_and_lists, Model(ROWS),
)  # fmt: skip


def of_entries(x):
    total = state = 0.0
    for v in x:
        state = 0.5 * state + np.tanh(v)
        total += state * state
    return total


# All turns are recorded.

calls = [0]


def counts_its_turns(p):
    total = 0.0
    for t in TIMES:
        calls[0] += 1
        total += np.sin(t * p[0]) * p[1]
    return total


def appends(p):
    kept, state = [], 0.0
    for t in TIMES:
        state = 0.5 * state + p[0] * t + p[1] * 0.1
        kept.append(state)
    return np.sum(np.array(kept) ** 2)


def writes(p):
    state = np.empty(TURNS)
    state[0] = p[0]
    for i in range(1, TURNS):
        state[i] = 0.5 * state[i - 1] + p[1] * TIMES[i]
    return np.sum(state * state)


def counts_for_itself(p):
    total, k = 0.0, 0
    for t in TIMES:
        k += 1
        if k % 3 == 0:
            total += p[0] * t * t
        else:
            total -= p[1] * t
    return total / k


def first_turn_is_another(p):
    total = 0.0
    for i in range(TURNS):
        total = total * 0.5 + (p[0] if i == 0 else p[1] * TIMES[i])
    return total


def leaves(p):
    total = 0.0
    for t in TIMES:
        total += p[0] * t * t + p[1]
        if t > 100.0:
            break
    return total


def slices(p):
    speed, total = np.zeros(2), 0.0
    for k in range(TURNS - 1):
        speed = 0.9 * speed + p * TIMES[k : k + 1]
        total += speed @ speed + p[0] * speed[1]
    return total


def asks_for_types(p):
    total = 0.0
    for v in [*FLOATS[:-1], np.float64(FLOATS[-1])]:
        total += p[0] * v * (2.0 if type(v) is float else 3.0) + p[1] * p[0]
    return total


class Changing:
    def __call__(self, p):
        self.total = 0.0
        for t in TIMES:
            self.total += p[0] * t * t + p[1]
        return self.total


ALL_TURNS = (
    counts_its_turns, appends, writes, counts_for_itself, first_turn_is_another, leaves, slices, asks_for_types, Changing(),
)  # fmt: skip


def takes_the_next(p, items):
    total = 0.0
    for _ in range(TURNS):
        total += p[0] * next(items) + p[1]
    return total
