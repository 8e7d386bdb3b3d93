"""Programs with long loops in long loops: tables that are filled cell by cell, and rows that one turn hands to the next one."""

from __future__ import annotations

import numpy as np

ROWS, CELLS = 24, 26
HEIGHTS = np.sin(np.arange(ROWS) * 0.7) + 1.2
TIMES = np.linspace(0.1, 1.0, CELLS)
COSTS = (HEIGHTS[:, None] - TIMES[None, :]) ** 2


def alignment(p):
    scores = np.zeros((ROWS + 1, CELLS + 1))
    for i in range(ROWS + 1):
        scores[i, 0] = -p[0] * i
    for j in range(CELLS + 1):
        scores[0, j] = -p[0] * j
    for i in range(1, ROWS + 1):
        for j in range(1, CELLS + 1):
            matched = scores[i - 1, j - 1] - p[1] * COSTS[i - 1, j - 1]
            scores[i, j] = np.logaddexp(np.logaddexp(matched, scores[i - 1, j] - p[0]), scores[i, j - 1] - p[0])
    return scores[ROWS, CELLS]


def alignment_with_affine_gaps(p):
    match, above, left = (np.full((ROWS + 1, CELLS + 1), -50.0) for _ in range(3))
    match[0, 0] = 0.0
    for i in range(1, ROWS + 1):
        for j in range(1, CELLS + 1):
            best = np.logaddexp(np.logaddexp(match[i - 1, j - 1], above[i - 1, j - 1]), left[i - 1, j - 1])
            match[i, j] = best - p[1] * COSTS[i - 1, j - 1]
            above[i, j] = np.logaddexp(match[i - 1, j] - p[0], above[i - 1, j] - 0.3)
            left[i, j] = np.logaddexp(match[i, j - 1] - p[0], left[i, j - 1] - 0.3)
    return np.logaddexp(match[ROWS, CELLS], np.logaddexp(above[ROWS, CELLS], left[ROWS, CELLS]))


def time_warping_of_lists(p):
    above = [0.0] + [1e10] * CELLS
    for i in range(ROWS):
        row = [1e10]
        for j in range(CELLS):
            least = np.minimum(np.minimum(above[j], above[j + 1]), row[j])
            soft = least - np.log(np.exp(least - above[j]) + np.exp(least - above[j + 1]) + np.exp(least - row[j]))
            row.append((p[0] * HEIGHTS[i] - p[1] * TIMES[j]) ** 2 + soft)
        above = row
    return above[CELLS]


def two_rows(p):
    before = np.zeros(CELLS + 1)
    for i in range(ROWS):
        row = np.zeros(CELLS + 1)
        row[0] = p[0] * i
        for j in range(1, CELLS + 1):
            row[j] = np.minimum(np.minimum(before[j] + p[0], row[j - 1] + p[0]), before[j - 1] + p[1] * COSTS[i, j - 1])
        before = row
    return before[CELLS]


def takes_one_of_two(p):
    lengths = np.zeros((ROWS + 1, CELLS + 1))
    for i in range(1, ROWS + 1):
        for j in range(1, CELLS + 1):
            if COSTS[i - 1, j - 1] < 0.1 + 0.01 * p[0]:
                lengths[i, j] = lengths[i - 1, j - 1] + p[0]
            else:
                lengths[i, j] = p[1] * np.maximum(lengths[i - 1, j], lengths[i, j - 1])
    return lengths[ROWS, CELLS]


def the_best_anywhere(p):
    scores, best = np.zeros((ROWS + 1, CELLS + 1)), 0.0
    for i in range(1, ROWS + 1):
        for j in range(1, CELLS + 1):
            score = np.maximum(0.0, scores[i - 1, j - 1] + p[0] - p[1] * COSTS[i - 1, j - 1])
            scores[i, j] = np.maximum(score, scores[i, j - 1] - 0.2)
            best = best + 0.1 * scores[i, j] ** 2
    return best


def heat(p):
    u = np.zeros((ROWS, CELLS))
    u[0] = np.sin(np.arange(CELLS) * p[1])
    for t in range(1, ROWS):
        for i in range(1, CELLS - 1):
            u[t, i] = u[t - 1, i] + p[0] * 0.1 * (u[t - 1, i - 1] - 2.0 * u[t - 1, i] + u[t - 1, i + 1])
    return np.sum(u[ROWS - 1] ** 2)


def around_a_ring(p):
    u = np.zeros((ROWS, CELLS))
    u[0] = p[0] * TIMES
    for i in range(1, ROWS):
        for j in range(CELLS):
            left, right = u[i - 1, j - 1], u[i - 1, (j + 1) % CELLS]
            u[i, j] = u[i - 1, j] + 0.1 * p[1] * (left - 2.0 * u[i - 1, j] + right)
    return np.sum(u[ROWS - 1] * TIMES)


def borders_behind_the_row(p):
    table, seen = np.zeros((ROWS + 1, CELLS + 1)), []
    for i in range(1, ROWS + 1):
        for j in range(1, CELLS + 1):
            table[i, j] = np.tanh(table[i - 1, j] + p[0] * table[i, j - 1]) + p[1] * TIMES[j - 1]
        seen.append(table[i, CELLS])
        table[i, 0] = table[i, CELLS]
    return sum(seen) + table[ROWS, 0]


def there_and_back(p):
    table, product = np.zeros((ROWS, CELLS)), 1.0
    for i in range(ROWS):
        total = 0.0
        for j in range(CELLS):
            total += p[0] * TIMES[j]
            table[i, j] = total
        for j in range(CELLS - 2, -1, -1):
            table[i, j] = 0.5 * table[i, j + 1] + table[i, j] * p[1]
        product = product * (1.0 + 0.01 * table[i, 0])
    return product + np.sum(table)


def rows_that_sum_to_one(p):
    weights = np.zeros((ROWS, CELLS))
    for i in range(ROWS):
        for j in range(CELLS):
            weights[i, j] = np.exp(p[0] * HEIGHTS[i] * TIMES[j])
        weights[i] /= np.sum(weights[i])
    return np.sum(weights[:, 2] * p[1])


def a_new_array_each_turn(p):
    u = np.full(CELLS, p[0])
    for _ in range(ROWS):
        v = np.empty_like(u)
        v[0], v[-1] = u[0] * p[1], u[-1]
        for j in range(1, CELLS - 1):
            v[j] = u[j] + 0.2 * (u[j - 1] - 2 * u[j] + u[j + 1]) + p[1] * TIMES[j] * 0.01
        u = v
    return np.sum(u**2)


def hidden_states(p):
    alpha = np.zeros((ROWS * 4, 3))
    for k in range(3):
        alpha[0, k] = p[0] * k
    for t in range(1, ROWS * 4):
        for k in range(3):
            total = -1e3
            for j in range(3):
                total = np.logaddexp(total, alpha[t - 1, j] - p[1] * (j - k) ** 2)
            alpha[t, k] = total - 0.5 * (HEIGHTS[t % ROWS] - k) ** 2
    return np.log(np.sum(np.exp(alpha[ROWS * 4 - 1])))


def hidden_states_in_lists(p):
    alpha = [p[0] * k for k in range(3)]
    for t in range(1, ROWS * 4):
        new = []
        for k in range(3):
            total = -1e3
            for j in range(3):
                total = np.logaddexp(total, alpha[j] - p[1] * (j - k) ** 2)
            new.append(total - 0.5 * (HEIGHTS[t % ROWS] - k) ** 2)
        alpha = new
    return np.logaddexp(np.logaddexp(alpha[0], alpha[1]), alpha[2])


def two_lists(p):
    healthy, ill = [1.0] * CELLS, [0.01 * k for k in range(CELLS)]
    for _ in range(ROWS):
        stay, fall = [], []
        for k in range(CELLS):
            flow = p[0] * ill[k] * healthy[k] * 0.1
            stay.append(healthy[k] - flow)
            fall.append(ill[k] + flow - 0.05 * p[1] * ill[k])
        healthy, ill = stay, fall
    return sum(ill) * healthy[3]


def the_row_before_the_last_one(p):
    before, older = [0.1] * CELLS, [0.2] * CELLS
    for i in range(ROWS):
        new = [before[0] + p[0] * HEIGHTS[i]]
        for j in range(1, CELLS):
            new.append(0.5 * new[j - 1] + p[1] * before[j] + 0.1 * older[j])
        older = before
        before = new
    return sum(before) + sum(older)


def neighbours_in_a_list(p):
    before = [p[0] * k for k in range(CELLS)]
    for i in range(ROWS):
        new = []
        for value, other in zip(before, before[1:] + before[:1]):
            new.append(0.5 * value + 0.4 * np.sin(other) + p[1] * HEIGHTS[i])
        before = new
    return sum(before)


def plain_numbers_in_a_list(p):
    before = [1] * CELLS
    for _ in range(ROWS):
        new = [0]
        for j in range(1, CELLS):
            new.append(new[j - 1] / 2 + before[j] * p[0] + p[1])
        before = new
    return sum(before) / before[-1]


def appends_one_of_two(p):
    before = [p[0]] * CELLS
    for _ in range(ROWS):
        new = []
        for j in range(CELLS):
            if before[j] > 0.3:
                new.append(before[j] * 0.5)
            else:
                new.append(before[j] + p[1])
        before = new
    return sum(before)


def a_double_sum(p):
    total = 0.0
    for i in range(ROWS):
        for j in range(CELLS):
            total += np.exp(-(p[0] ** 2) * (HEIGHTS[i] - p[1] * TIMES[j]) ** 2)
    return total


ONE_TURN = (
    alignment, alignment_with_affine_gaps, time_warping_of_lists, two_rows, takes_one_of_two, the_best_anywhere, heat, around_a_ring,
    borders_behind_the_row, there_and_back, rows_that_sum_to_one, a_new_array_each_turn, hidden_states, hidden_states_in_lists, two_lists,
    the_row_before_the_last_one, neighbours_in_a_list, plain_numbers_in_a_list, appends_one_of_two, a_double_sum,
)  # fmt: skip


def another_name_of_the_table(p):
    table, total = np.zeros((ROWS, CELLS)), 0.0
    for i in range(ROWS):
        same = table
        same[i, 0] = p[0] * HEIGHTS[i]
        total += same[i, 0] * p[1]
        for j in range(1, CELLS):
            total += 0.01 * TIMES[j] * p[0]
    return total + np.sum(table)


def a_view_of_a_row(p):
    table, total = np.zeros((ROWS, CELLS)), 0.0
    for i in range(ROWS):
        row = table[i]
        for j in range(CELLS):
            row[j] = p[0] * HEIGHTS[i] + TIMES[j] * p[1]
        total += row[3]
    return total + np.sum(table**2)


def an_entry_of_a_view(p):
    table, total = np.zeros((ROWS, CELLS)), 0.0
    for i in range(ROWS):
        row = table[i]
        row[2] = p[0] * HEIGHTS[i]
        for j in range(CELLS):
            total += TIMES[j] * p[1]
    return total + np.sum(table**2)


def a_list_in_a_list(p):
    rows, total = [[] for _ in range(ROWS)], 0.0
    for i in range(ROWS):
        row = rows[i]
        for j in range(CELLS):
            row.append(p[0] * HEIGHTS[i] + TIMES[j] * p[1])
        total += row[3]
    return total + sum(rows[4])


def a_list_by_another_name(p):
    shared, total = [], 0.0
    for i in range(ROWS):
        row = shared
        for j in range(CELLS):
            row.append(p[0] * HEIGHTS[i] + TIMES[j] * p[1])
        total += row[3]
    return total + sum(shared)


def changes_what_was_handed_on(p):
    first = np.zeros(CELLS)
    before = first
    for _ in range(ROWS):
        row = before
        row[0] += p[0]
        for j in range(1, CELLS):
            row[j] = 0.5 * row[j - 1] + p[1] * TIMES[j]
        before = row
    return np.sum(first**2) + np.sum(before)


def changes_the_first_array(p):
    first = np.zeros(CELLS) + p[0]
    before = first
    for i in range(ROWS):
        row = before
        row[0] = row[0] * 0.9 + p[1] * HEIGHTS[i]
        before = row
        for j in range(CELLS):
            before = before + 0.001 * TIMES[j]
    return np.sum(first**2) + np.sum(before)


def changes_a_list_that_was_handed_on(p):
    before = [0.1] * CELLS
    first = before
    for i in range(ROWS):
        before[0] = p[0] * HEIGHTS[i]
        new = [before[0]]
        for j in range(1, CELLS):
            new.append(0.5 * new[j - 1] + p[1] * before[j])
        before = new
    return sum(before) + sum(first)


def hands_on_a_list_twice(p):
    before = [0.1] * CELLS
    for i in range(ROWS):
        new = [before[0] + p[0] * HEIGHTS[i]]
        for j in range(1, CELLS):
            new.append(0.5 * new[j - 1] + p[1] * before[j])
        before = new
        kept = before
    kept.append(3.0 * p[0])
    return sum(before) + len(kept)


ALL_TURNS = (
    another_name_of_the_table, a_view_of_a_row, an_entry_of_a_view, a_list_in_a_list, a_list_by_another_name, changes_what_was_handed_on,
    changes_the_first_array, changes_a_list_that_was_handed_on, hands_on_a_list_twice,
)  # fmt: skip


def one_row_by_two_indices(p):
    table, i, total = np.zeros((1, CELLS)), 0, 0.0
    for j in range(1, CELLS):
        table[i, j] = p[0] * table[i - 1, j - 1] + TIMES[j]
        total += p[1] * table[i, j] * TIMES[j]
    return total + np.sum(table)


def two_rows_by_three_indices(p):
    table, total = np.zeros((2, CELLS)), 0.0
    for i in range(2):
        for j in range(1, CELLS):
            table[i, j] = p[0] * table[i - 2, j - 1] + TIMES[j] + table[i - 1, j]
            total += p[1] * table[i, j] * TIMES[j]
    return total + np.sum(table)


SAME_ROWS = (one_row_by_two_indices, two_rows_by_three_indices)
