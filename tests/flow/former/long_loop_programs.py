"""Programs with loops that are long: of some one turn is recorded, of others all are."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261124)
TURNS = 400
TIMES, HEIGHTS = rng.normal(size=(2, TURNS))
ROWS = rng.normal(size=(TURNS, 2))
FLOATS = [float(v) for v in TIMES]
COUNTS = rng.integers(0, 9, size=TURNS)
ORDER = rng.permutation(TURNS)


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


def likelihood_beside_writes(p):
    variance, total = np.zeros(TURNS), 0.0
    variance[0] = p[0] ** 2 + 0.1
    for t in range(1, TURNS):
        variance[t] = 0.1 + 0.3 * variance[t - 1] * p[1] ** 2 + 0.1 * p[0] ** 2 * HEIGHTS[t - 1] ** 2
        total = total - 0.5 * np.log(variance[t]) - 0.5 * HEIGHTS[t] ** 2 / variance[t]
    return total / TURNS + variance[-1]


def writes_from_the_end(p):
    value = np.zeros(TURNS + 1)
    for t in range(TURNS - 1, -1, -1):
        value[t] = TIMES[t] * p[0] + 0.8 * value[t + 1] * p[1]
    return value[0] + np.sum(value**2)


def writes_ahead(p):
    path = np.empty(TURNS + 1)
    path[0] = p[0]
    for t in range(TURNS):
        path[t + 1] = path[t] - 0.1 * (path[t] - p[1] * TIMES[t])
    return np.mean(path**2)


def columns_of_a_table(p):
    table = np.zeros((TURNS, 3))
    table[0, 0], table[0, 1] = p
    for t in range(1, TURNS):
        table[t, 0] = 0.9 * table[t - 1, 0] + 0.1 * table[t - 1, 1] * p[0]
        table[t, 1] = 0.5 * table[t - 1, 1] + TIMES[t] * table[t, 0]
    return np.sum(table**2)


def rows_of_a_table(p):
    rotation = np.array([[0.8, 0.3], [-0.3, 0.8]])
    table = np.zeros((TURNS, 2))
    table[0] = p
    for t in range(1, TURNS):
        table[t, :] = rotation @ table[t - 1] + 0.1 * table[t - 1, 0] * TIMES[t]
    return np.sum(table * ROWS)


def rows_beside_a_sum(p):
    rotation = np.array([[0.8, 0.3], [-0.3, 0.8]])
    table, total, kept = np.zeros((TURNS, 2)), 0.0, []
    table[0] = p
    for t in range(1, TURNS):
        mean = rotation @ table[t - 1]
        rest = HEIGHTS[t] - mean[0] * p[1]
        total += np.log1p(rest * rest)
        table[t] = mean + np.array([0.3, 0.1]) * rest
        kept.append(np.tanh(table[t]))
    total += np.sum(table**2)
    return total + np.sum(np.array(kept)[:, 1])


def changes_what_was_there(p):
    filtered = HEIGHTS * p[1]
    for t in range(1, TURNS):
        filtered[t] += 0.5 * filtered[t - 1] * p[0]
    return np.sum(filtered**2)


def smooths_towards_both_sides(p):
    values = TIMES * p[0]
    for t in range(1, TURNS - 1):
        values[t] = 0.25 * values[t - 1] + 0.5 * values[t] + 0.25 * values[t + 1] + 0.01 * p[1]
    return np.sum(values**2)


def begins_at_the_end_of_the_array(p):
    state = np.zeros(TURNS)
    state[-1] = p[0]
    for t in range(TURNS):
        state[t] = 0.5 * state[t - 1] + 0.2 * state[t - 2] + p[1] * TIMES[t]
    return state @ HEIGHTS


def writes_on_one_side(p):
    kept = np.full(TURNS, 0.3)
    for t, y in enumerate(HEIGHTS):
        rest = y - p[0]
        if rest > 0.0:
            kept[t] = rest * p[1]
    return np.sum(kept**2)


def writes_on_both_sides(p):
    regime = np.zeros(TURNS)
    regime[0] = p[0]
    for t in range(1, TURNS):
        if regime[t - 1] > 0.1:
            regime[t] = 0.5 * regime[t - 1] + p[1] * TIMES[t]
        else:
            regime[t] = -0.3 * regime[t - 1] + TIMES[t]
    return np.sum(regime**2)


def writes_constants(p):
    marks = np.zeros(TURNS)
    for t in range(TURNS):
        marks[t] = 2
        marks[t] = marks[t] * TIMES[t] * p[0]
    return marks @ HEIGHTS * p[1]


def appends_to_what_it_reads(p):
    path = [p[0], p[1]]
    for t in TIMES:
        path.append(0.6 * path[-1] - 0.2 * path[-2] + 0.1 * t)
    return np.sum(np.array(path[10:]) ** 2) + path[5] * path[-1] + sum(path[:7]) + len(path)


def appends_and_reads_by_number(p):
    errors, spread = [0.0 * p[0]], [p[0] ** 2]
    for t in range(1, TURNS):
        spread.append(0.1 + 0.3 * spread[t - 1] * p[1] ** 2 + 0.1 * errors[t - 1] ** 2)
        errors.append(HEIGHTS[t] - 0.1 * spread[t])
    return np.sum(spread) / TURNS + np.mean(np.asarray(errors)) + spread[7]


def appends_rows(p):
    rows, row = [], p * 1.0
    for t in TIMES:
        row = 0.9 * row + 0.1 * t * p[::-1]
        rows.append(row)
    return np.sum(np.array(rows) * ROWS) + rows[3][0]


def writes_through_a_view_afterwards(p):
    state = np.zeros(TURNS)
    part = state[5:]
    for t in range(1, TURNS):
        state[t] = 0.5 * state[t - 1] + p[0] * TIMES[t]
    part[0] = p[1]
    return np.sum(state**2) + part[3]


def _simulated(p, scale):
    path = np.zeros(TURNS)
    for t in range(1, TURNS):
        path[t] = 0.7 * path[t - 1] + scale * TIMES[t] * p[0]
    return path


def writes_in_a_function(p):
    return np.sum(_simulated(p, 1.0) * _simulated(p, p[1]))


def inner_loops_write(p):
    total = 0.0
    for scale in (0.5, 1.0, 2.0):
        path, kept = np.zeros(TURNS), []
        for t in range(1, TURNS):
            path[t] = 0.7 * path[t - 1] + scale * TIMES[t] * p[0]
            kept.append(path[t] * p[1])
        total += path[-1] + np.sum(np.array(kept) ** 2)
    return total


def sums_a_comprehension(p):
    t = 2.0
    total = p[1] + sum([np.log1p(np.exp(-t * p[0])) for t in TIMES])
    return total * t


def sums_a_generator(p):
    return sum(np.tanh(y * p[0] - t * p[1]) ** 2 for t, y in zip(TIMES, HEIGHTS)) / TURNS + p[0]


def lists_of_comprehensions(p):
    terms = [p[1] * y * np.exp(-p[0] * t) if y > 0.0 else y * p[0] for t, y in zip(FLOATS, HEIGHTS)]
    total = np.sum(np.array([k * np.sin(TIMES[k] * p[0]) for k in range(TURNS)]))
    return total + np.mean(terms) + terms[5]


def sums_of_lists(p):
    errors, spread = [0.0], [p[0] ** 2]
    for t in range(1, TURNS):
        spread.append(0.1 + 0.3 * p[1] * spread[t - 1] + 0.1 * errors[t - 1] ** 2)
        errors.append(TIMES[t] - 0.1 * spread[t])
    return sum(spread) / TURNS + sum(errors) ** 2


def sums_of_lists_of_rows(p):
    rows = [p * 1.0]
    for t in range(1, TURNS):
        rows.append(0.5 * rows[t - 1] + p * TIMES[t])
    return np.sum(sum(rows) ** 2)


def counts_for_itself(p):
    total, k = 0.0, 0
    for t in TIMES:
        k += 1
        if k % 3 == 0:
            total += p[0] * t * t
        else:
            total -= p[1] * t
    return total / k


def sums_within_a_table(p):
    bins = np.zeros(9)
    for t, k in zip(TIMES, COUNTS):
        bins[k] += t * p[0] + p[1]
    return np.sum(bins**2)


def filters(p):
    return sum(p[0] * t * t + p[1] for t in TIMES if t > 0.0)


def appends_sometimes(p):
    kept = []
    for t in TIMES:
        if t > 0.0:
            kept.append(t * p[0] + p[1])
    return np.sum(np.array(kept) ** 2)


ONE_TURN = (
    zipped, by_position, backwards, in_inner_functions, data_decides, variables_of_the_last_turn, loop_in_loop, one_after_the_other,
    arrays_handed_on, arrays_changed_in_place, rows_and_lists, Model(ROWS), writes, likelihood_beside_writes, writes_from_the_end,
    writes_ahead, rows_beside_a_sum, columns_of_a_table, rows_of_a_table, changes_what_was_there, smooths_towards_both_sides,
    begins_at_the_end_of_the_array,
    writes_on_one_side, writes_on_both_sides, writes_constants, writes_through_a_view_afterwards, writes_in_a_function, appends,
    appends_to_what_it_reads, appends_and_reads_by_number, appends_rows, inner_loops_write, sums_a_comprehension,
    sums_a_generator, lists_of_comprehensions, sums_of_lists, counts_for_itself, sums_within_a_table,
    filters, appends_sometimes,
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


def reads_by_another_name(p):
    state = np.zeros(TURNS)
    same = state
    for t in range(1, TURNS):
        state[t] = 0.5 * same[t - 1] + p[0] * TIMES[t] * p[1]
    return np.sum(state**2)


def reads_by_a_view(p):
    state = np.zeros(TURNS)
    later = state[1:]
    for t in range(2, TURNS):
        state[t] = 0.5 * later[t - 2] + p[0] * TIMES[t] * p[1]
    return np.sum(state**2)


def a_function_reads(p):
    state = np.zeros(TURNS)

    def before(t):
        return state[t - 1]

    for t in range(1, TURNS):
        state[t] = 0.5 * before(t) + p[0] * TIMES[t] * p[1]
    return np.sum(state**2)


def reads_a_list_by_another_name(p):
    kept = [p[0]]
    same = {"list": kept}
    for t in TIMES:
        kept.append(0.5 * same["list"][-1] + p[1] * t)
    return np.sum(np.array(kept) ** 2)


def writes_two_entries(p):
    state = np.zeros(TURNS + 1)
    for t in range(TURNS):
        state[t] = state[t] + p[0] * TIMES[t]
        state[t + 1] = 0.5 * state[t] * p[1]
    return np.sum(state**2)


def writes_parts_of_rows(p):
    table = np.zeros((TURNS, 2))
    for t in range(1, TURNS):
        table[t] = 0.5 * table[t - 1] + p
        table[t, 0] = TIMES[t] * p[1]
    return np.sum(table**2)


def changes_rows_in_place(p):
    table = np.zeros((TURNS, 2))
    for t in range(1, TURNS):
        row = table[t - 1]
        row += 0.1 * p
        table[t] = 0.5 * row + TIMES[t]
    return np.sum(table**2)


def changes_appended_rows_in_place(p):
    kept, row = [], p * 1.0
    for t in TIMES:
        kept.append(row)
        same = kept[-1]
        same += 0.01 * t * p
    return np.sum(np.array(kept) ** 2)


def appends_twice(p):
    kept = []
    for t in TIMES:
        kept.append(t * p[0])
        kept.append(t * p[1])
    return np.sum(np.array(kept) ** 2)


def asks_for_lengths(p):
    kept = [p[0]]
    for t in TIMES:
        kept.append(kept[len(kept) - 1] * 0.5 + p[1] * t)
    return np.sum(np.array(kept) ** 2)


def every_second_entry(p):
    state = np.zeros(2 * TURNS)
    for t in range(2, 2 * TURNS, 2):
        state[t] = 0.5 * state[t - 2] + p[0] * TIMES[t // 2] * p[1]
    return np.sum(state**2)


def positions_in_a_table(p):
    state = np.zeros(TURNS)
    for t in ORDER:
        state[t] = p[0] * TIMES[t] + p[1] * state[0]
    return np.sum(state**2)


def one_of_two(p):
    return sum([p[0] * t + p[1] * t * t for t in TIMES]) if len(TIMES) > 3 else p[0]


def names_its_values(p):
    return sum([(last := p[0] * t + p[1]) * last for t in TIMES])


def changes_a_list_in_a_comprehension(p):
    seen = []
    return sum([p[0] * t + (seen.append(t) or p[1] * len(seen)) for t in TIMES])


ALL_TURNS = (
    reads_by_another_name, reads_by_a_view, a_function_reads, reads_a_list_by_another_name, writes_two_entries, writes_parts_of_rows,
    changes_rows_in_place, changes_appended_rows_in_place, appends_twice, asks_for_lengths, every_second_entry,
    positions_in_a_table,
    one_of_two, names_its_values, changes_a_list_in_a_comprehension,
    counts_its_turns, asks_for_types, Changing(),
)  # fmt: skip


def takes_the_next(p, items):
    total = 0.0
    for _ in range(TURNS):
        total += p[0] * next(items) + p[1]
    return total
