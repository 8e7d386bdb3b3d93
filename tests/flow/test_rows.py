"""Mutable objects in lists: chosen by data-dependent indices, and created in loops that change the length of their list."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.flow.state.fork import all_or_nothing
from tapediff.flow.state.places import Entry, put
from tapediff.flow.state.values import Unjoinable


@dataclass
class Point:
    a: float
    b: float
    c: float

    def moved(self, step):
        self.a = self.a * 0.9 + step
        return self.b

    @property
    def both(self):
        return self.a - self.b


class Slotted:
    __slots__ = ("a", "b", "c")

    def __init__(self, a, b, c):
        self.a, self.b, self.c = a, b, c


def numbers(x):
    return [(v * (k + 1), 0.5 * v + 1.0, float(k)) for k in range(2) for v in x]


def position(v, rows):
    return int(abs(v) * 3) % len(rows)


def entries_of_lists(x):
    rows = [list(row) for row in numbers(x)]
    i, j = position(x[0], rows), position(x[1], rows)
    rows[i][0] += x[2]
    a = rows[j]
    a[1] *= a[0]
    if x[3] > 0:
        rows[i][position(x[4], a) % 3] = x[5]
    p, q, r = rows[-1 - i]
    return sum(u * v + w for u, v, w in rows) + p - q * r + 0.1 * sum(rows[i]) + len(rows[j]) + max(a)


def entries_of_dicts(x):
    rows = [{"a": a, "b": b, "c": c} for a, b, c in numbers(x)]
    i, j = position(x[0], rows), position(x[1], rows)
    rows[i]["a"], rows[j]["b"] = rows[j]["b"], rows[i]["a"]
    if x[2] > 0:
        rows[j]["c"] += 1.5
    return sum(row["a"] * row["b"] + row["c"] * k for k, row in enumerate(rows))


def attributes(x):
    return _attributes(x, Point)


def slots(x):
    return _attributes(x, Slotted)


def _attributes(x, kind):
    rows = [kind(*row) for row in numbers(x)]
    best = max(rows, key=lambda row: row.a)
    best.b -= x[0]
    other = rows[position(x[1], rows)] if x[2] > 0 else best
    other.a = other.a * 0.5 + other.b
    total = 1.0 if other is best else 0.25
    return total + sum(row.a * row.b + row.c * k for k, row in enumerate(rows))


def methods_and_properties(x):
    rows = [Point(*row) for row in numbers(x)]
    total = rows[position(x[0], rows)].moved(x[1]) * rows[position(x[2], rows)].both
    return total + sum(row.a for row in rows)


def moved_rows(x):
    rows = [list(row) for row in numbers(x)]
    i, j = position(x[0], rows), position(x[1], rows)
    rows[i], rows[j] = rows[j], rows[i]
    taken = rows.pop(position(x[2], rows))
    taken[0] -= x[3]
    rows.append(taken)
    rows.sort(key=lambda row: row[1])
    rows[0][2] = x[4]
    return sum(u * v + w * k for k, (u, v, w) in enumerate(rows))


def rows_of_rows(x):
    rows = [[[v, 1.0], [v * k, 2.0]] for k in range(2) for v in x]
    inner = rows[position(x[0], rows)][position(x[1], rows) % 2]
    inner[0] += x[2]
    return sum(a * b * (k + 1) for k, row in enumerate(rows) for a, b in row)


def nothing_or_a_row(x):
    rows = [list(row) for row in numbers(x)]
    found = None
    for row in rows:
        if row[0] > 1.0:
            found = row
            break
    if found is not None:
        found[1] = 3.0
    return sum(u * v for u, v, _ in rows)


def live_iteration(x):
    rows = [list(row) for row in numbers(x)]
    total = 0.0
    for entry in rows[position(x[0], rows)]:
        total = total * 0.5 + entry
        rows[position(x[1], rows)][2] = total
    return total + rows[2][2]


def pooled(x):
    blocks = []
    for v in x:
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            second = blocks.pop()
            first = blocks.pop()
            count = first[1] + second[1]
            blocks.append([(first[0] * first[1] + second[0] * second[1]) / count, count])
    return sum(mean * mean * count for mean, count in blocks)


def lots_first_in_first_out(x):
    lots, cost = deque(), 0.0
    for k, v in enumerate([*x, *x[::-1]]):
        if v > 0:
            lots.append([v, 1.0 + 0.1 * k])
            continue
        need = -v
        while need > 0 and lots:
            lot = lots[0]
            sold = min(need, lot[0])
            cost += sold * lot[1]
            lot[0] -= sold
            need -= sold
            if lot[0] <= 0:
                lots.popleft()
    return cost + sum(size * price for size, price in lots)


def particles_that_split(x):
    things, steps = [Point(x[0], 1.0, 0.0), Point(x[1], 1.0, 1.0)], 0
    while steps < 6 and things[-1].a > -1.0:
        last = things[-1]
        last.a = last.a * 0.7 + x[2]
        if last.a > 0.3:
            things.append(Point(last.a * 0.5, last.b + x[3], 2.0))
        elif len(things) > 1:
            things.pop(0)
        steps += 1
    return sum(one.a * one.b + one.c for one in things)


def objects_that_hold_variables(x):
    """Which the loop reads nowhere else before it writes them."""
    things, total = [Point(x[0], 1.0, 0.0), Point(x[1], 1.0, 0.0)], 0.0
    while total < 3.0:
        if total > x[3]:
            things.append(Point(x[2], total, 0.0))
        total += abs(things[-1].a) + 0.2
    return total + sum(one.a * one.b for one in things)


def dicts_in_a_loop(x):
    tasks, done = [{"left": abs(v), "cost": 1.0} for v in x[:2]], 0.0
    while tasks and done < 4.0:
        task = tasks.pop()
        task["left"] -= 0.5
        task["cost"] *= 1.1
        done += task["cost"]
        if task["left"] > 0.2:
            tasks.append({"left": task["left"], "cost": task["cost"]})
    return done + sum(task["left"] * task["cost"] for task in tasks)


def replaced_lists(x):
    """Once a loop has given up, nothing of it is left: what a list may be is decided by an index, also after the recording."""
    rows, total, v = [[x[0], 1.0], [x[1], x[2]]], 0.2, x[3]
    for k in range(9):
        if total > 3.0:
            break
        if len(rows) > 1:
            total += rows.pop()[0] * 0.1
        total += rows[-1][0] * 0.2
        rows = [row for row in rows if row[0] > -0.8] or [[0.1, v]]
        v = x[k % 6]
    return total


PROGRAMS = [
    entries_of_lists, entries_of_dicts, attributes, slots, methods_and_properties, moved_rows, rows_of_rows, nothing_or_a_row, live_iteration,
    pooled, lots_first_in_first_out, particles_that_split, objects_that_hold_variables, dicts_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_one_recording_serves_all_points(program):
    assert recordings(program) == 1


def another_name_is_read(x):
    rows = [[x[0], 1.0], [x[1], 1.0]]
    first, total = rows[0], 0.0
    while len(rows) < 5 and total < 2.0:
        rows[0][0] += 0.25
        rows.append([x[2], rows[-1][0]])
        total += abs(rows[-1][1]) + 0.1
    return first[0] + total


def another_name_is_written(x):
    rows = [[x[0], 1.0], [x[1], 1.0]]
    first, total = rows[0], 0.0
    while len(rows) < 5 and total < 2.0:
        first[0] += 0.25
        rows.append([x[2], rows[0][0]])
        total += abs(rows[-1][1]) + 0.1
    return rows[0][0] + total


def another_name_is_written_later(x):
    rows, total = [[x[0], 1.0], [x[1], 1.0]], 0.0
    first = rows[0]
    while total < 3.0:
        if total > x[3]:
            rows.append([x[2], total])
        total += abs(rows[-1][0]) + 0.2
    first[0] = 5.0
    return total + sum(a * b for a, b in rows)


def another_attribute_is_set_later(x):
    rows, total = [Point(x[0], 1.0, 0.0), Point(x[1], 1.0, 0.0)], 0.0
    first = rows[0]
    while total < 3.0:
        if total > x[3]:
            rows.append(Point(x[2], total, 0.0))
        total += abs(rows[-1].a) + 0.2
    first.d = 5.0
    return total + sum(getattr(row, "d", row.a) * row.b for row in rows)


def one_row_twice(x):
    rows, total = [[x[0], 1.0]], 0.0
    while len(rows) < 5 and total < 2.0:
        rows.append(rows[0])
        rows.append([x[1], 1.0])
        rows[-2][0] += 0.5
        total += abs(rows[0][0]) + 0.1
    return total + sum(row[0] for row in rows)


def one_row_in_two_lists(x):
    rows, others, total = [[x[0], 1.0]], [], 0.0
    while len(rows) < 5 and total < 2.0:
        made = [x[1], total]
        rows.append(made)
        others.append(made)
        others[-1][0] += 0.5
        total += abs(rows[-1][0]) + 0.1
    rows[-1][1] = 7.0
    return total + sum(row[0] + row[1] for row in (*rows, *others))


def a_row_in_a_variable(x):
    rows, kept, total = [[x[0], 1.0]], [0.0, 0.0], 0.0
    while len(rows) < 5 and total < 2.0:
        rows.append([x[1], total])
        if total > 0.5:
            kept = rows[-1]
        rows[-1][0] += 0.5
        total += abs(rows[-1][0]) + 0.1
    return total + kept[0] + kept[1]


def rows_compared_by_identity(x):
    rows, total = [[x[0], 1.0], [x[1], 1.0]], 0.0
    first = rows[0]
    while total < 3.0:
        if total > x[3]:
            rows.append([x[2], total])
        for row in rows:
            if row is first:
                total += 0.5
        total += abs(rows[-1][0]) + 0.1
    return total + sum(row[0] for row in rows)


class Node:
    def __init__(self, value):
        self.value = value


def objects_found_by_identity(x):
    nodes, total = [Node(x[0]), Node(x[1])], 0.0
    seen = {nodes[0]}
    while total < 3.0:
        if total > x[3]:
            nodes.append(Node(x[2] + total))
        for node in nodes:
            if node in seen:
                total += 0.5
        total += abs(nodes[-1].value) + 0.1
    return total + sum(node.value for node in nodes)


@pytest.mark.parametrize(
    "program",
    [replaced_lists, rows_compared_by_identity, objects_found_by_identity, another_name_is_read, another_name_is_written, another_name_is_written_later,
     another_attribute_is_set_later, one_row_twice, one_row_in_two_lists, a_row_in_a_variable],
    ids=lambda program: program.__name__,
)
def test_other_names_of_a_row_see_its_changes(program):
    recordings(program)


class Keeper:
    def __init__(self):
        self.rows = [[0.5, 1.0] for _ in range(12)]

    def __call__(self, x):
        self.rows[position(x[0], self.rows)][0] += x[1]
        while len(self.rows) < 16 and self.rows[-1][0] < 0.7 + abs(x[2]):
            self.rows.append([self.rows[-1][0] + 0.3, x[3]])
        return sum(a * b for a, b in self.rows)


def test_the_callers_rows_are_written_to():
    x = np.array([0.4, -0.3, 0.8, 1.2])
    one, other = Keeper(), Keeper()
    assert np.isclose(td.GuardedTape(one)(x), other(x))
    assert len(one.rows) == len(other.rows)


@pytest.mark.parametrize("count", [100, 400])
def test_rows_of_long_lists_are_chosen_by_gathers(count):
    def program(x):
        rows = [[v, 1.0] for v in x]
        rows[position(x[0], rows)][0] += x[1]
        rows[position(x[2], rows)][1] *= 2.0
        return sum(a * b for a, b in rows)

    x = np.random.default_rng(count).normal(size=count)
    tape = td.GuardedTape(program)
    for point in (x, -x, x[::-1].copy()):
        assert np.isclose(tape(point), program(point.copy()))
        np.testing.assert_allclose(td.gradient(tape, point), td.gradient(td.record(program, point), point))
    assert tape.stats.recordings == 1


def slices_replaced(x):
    """Neighbours merge in a list, in a loop within a loop: two entries become one."""
    rows = [Point(v, 1.0, 0.0) for v in x[:4]]
    for t in range(3):
        for row in rows:
            row.a += 0.1 * x[t]
        i = 0
        while i < len(rows) - 1:
            p, q = rows[i], rows[i + 1]
            if q.a - p.a < 0.3:
                rows[i : i + 2] = [Point(0.5 * (p.a + q.a), p.b + q.b, 0.1)]
            else:
                i += 1
    return sum(row.a * row.b * (k + 1) for k, row in enumerate(rows))


def slices_of_numbers_replaced(x):
    numbers = list(x[:5])
    for t in range(3):
        numbers = [v * 0.9 + 0.1 * x[t] for v in numbers]
        i = 0
        while i < len(numbers) - 1:
            if numbers[i + 1] - numbers[i] < 0.3:
                numbers[i : i + 2] = [0.5 * (numbers[i] + numbers[i + 1])]
            else:
                i += 1
    return sum(v * (k + 1) for k, v in enumerate(numbers))


@pytest.mark.parametrize("program", [slices_replaced, slices_of_numbers_replaced])
@pytest.mark.slow
def test_slices_are_replaced_in_one_recording(program):
    assert recordings(program, POINTS[:8]) == 1


def test_results_of_a_loop_are_stored_in_all_places_or_in_none():
    holder = {"a": 1, "b": 2}

    @all_or_nothing()
    def store():
        put(Entry(holder, "a"), 3)
        raise Unjoinable("b cannot be stored", "")

    with pytest.raises(Unjoinable):
        store()
    assert holder == {"a": 1, "b": 2}
    with all_or_nothing():
        put(Entry(holder, "a"), 3)
    assert holder == {"a": 3, "b": 2}
