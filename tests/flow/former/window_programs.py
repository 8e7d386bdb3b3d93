"""Programs with long loops that take slices which go along with their turns."""

from __future__ import annotations

import numpy as np

from .long_loop_programs import HEIGHTS, ROWS, TIMES, TURNS

LAG = 4
FLAT = ROWS.ravel()


def slices(p):
    speed, total = np.zeros(2), 0.0
    for k in range(TURNS - 1):
        speed = 0.9 * speed + p * TIMES[k : k + 1]
        total += speed @ speed + p[0] * speed[1]
    return total


def last_values(p):
    weights, total = np.array([p[0], p[1], p[0] * p[1]]), 0.0
    for t in range(3, TURNS):
        total += np.tanh(TIMES[t - 3 : t] @ weights)
    return total


def of_a_length_with_a_name(p):
    total = 0.0
    for t in range(LAG, TURNS):
        total += np.log1p(np.sum(TIMES[t - LAG : t] * p[0]) ** 2) * p[1]
    return total


def backwards(p):
    total = p[0]
    for t in range(TURNS - 3, -1, -1):
        total = 0.9 * total + np.prod(TIMES[t : t + 2]) * p[1]
    return total


def blocks(p):
    total = 0.0
    for k in range(TURNS):
        total += np.sum(np.sin(FLAT[2 * k : 2 * k + 2] * p[0])) * p[1]
    return total


def blocks_from_a_place(p):
    total = 0.0
    for k in range(1, TURNS):
        total += np.sum(np.sin(FLAT[2 * (k - 1) + 1 : 2 * k + 1] * p[0])) * p[1]
    return total


def wide(p):
    total = 0.0
    for t in range(30, TURNS):
        total += np.tanh(np.mean(TIMES[t - 30 : t]) * p[0]) * p[1]
    return total


def wide_parts_of_rows(p):
    total = 0.0
    for t in range(20, TURNS):
        total += np.tanh(np.mean(ROWS[t - 20 : t, 1:] * p[0])) * p[1]
    return total


def rows_of_a_table(p):
    total = 0.0
    for t in range(2, TURNS):
        total += np.sum(np.sin(ROWS[t - 2 : t] @ p))
    return total


def columns_of_rows(p):
    total = 0.0
    for t in range(2, TURNS):
        total += np.sum(np.sin(ROWS[t - 2 : t, 1] * p[0])) + np.sum(ROWS[t - 1 : t + 1, :1] * p[1] ** 2)
    return total


def beside_values(p):
    total = 0.0
    for k, y in enumerate(HEIGHTS[:-3]):
        total += (y * p[0] - np.sum(TIMES[k + 1 : k + 3] * p[1])) ** 2
    return total


def what_it_wrote(p):
    state = np.zeros(TURNS)
    state[:3] = p[0]
    for t in range(3, TURNS):
        state[t] = 0.2 * np.sum(state[t - 3 : t]) * p[1] + TIMES[t]
    return np.sum(state**2)


def what_it_wrote_backwards(p):
    state, weights = np.zeros(TURNS), np.array([0.3, 0.1]) * p[0]
    for t in range(2, TURNS):
        state[t] = weights @ state[t - 2 : t][::-1] + p[1] * TIMES[t]
    return np.sum(np.tanh(state))


def rows_that_it_wrote(p):
    state = np.zeros((TURNS, 2))
    state[:2] = p
    for t in range(2, TURNS):
        state[t] = 0.3 * np.sum(state[t - 2 : t], axis=0) * p + ROWS[t]
    return np.sum(state**2)


def of_the_argument(p):
    values, total = TIMES * p[0] + p[1] ** 2, 0.0
    for t in range(3, TURNS):
        total += np.prod(values[t - 2 : t + 1])
    return total


ONE_TURN = (
    slices, last_values, of_a_length_with_a_name, backwards, blocks, blocks_from_a_place, wide, wide_parts_of_rows, rows_of_a_table, columns_of_rows,
    beside_values, what_it_wrote, what_it_wrote_backwards, rows_that_it_wrote, of_the_argument,
)  # fmt: skip


# All turns are recorded.


def changes_them_in_place(p):
    values, total = np.array(TIMES), 0.0
    for t in range(2, TURNS):
        part = values[t - 2 : t]
        part *= 0.9
        total += np.sum(part) * p[0] + p[1] ** 2
    return total


def begins_before_the_array(p):
    total = 0.0
    for t in range(TURNS):
        total += np.sum(TIMES[t - 2 : t]) * p[0] + p[1] ** 2
    return total


def ends_behind_the_array(p):
    total = 0.0
    for t in range(TURNS):
        total += np.sum(TIMES[t : t + 3] * p[0]) ** 2 * p[1]
    return total


def gets_longer(p):
    total = 0.0
    for t in range(2, TURNS):
        total += np.mean(TIMES[t // 2 : t]) * p[0] + p[1] ** 2
    return total


def of_a_list(p):
    values, total = TIMES.tolist(), 0.0
    for t in range(2, TURNS):
        total += sum(values[t - 2 : t]) * p[0] ** 2 * p[1]
    return total


ALL_TURNS = (changes_them_in_place, begins_before_the_array, ends_behind_the_array, gets_longer, of_a_list)
