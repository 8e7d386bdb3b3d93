"""Long loops over what is known, as one instruction: what is gone over, what iterations change, exits, and what cannot be one."""

from __future__ import annotations

from collections import deque
from itertools import count

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.flow.blocks import iterations, loops
from tapediff.flow.state import values

N = 40
SERIES = np.sin(np.arange(N) * 0.9)
NUMBERS = [float(v) for v in SERIES]
MARKED = [("up" if k % 3 else "down", float(v)) for k, v in enumerate(SERIES)]
ROWS = np.cos(np.arange(2 * N)).reshape(N, 2)
ORDER = [k * 7 % 3 for k in range(N)]
TABLE = {k: float(v) for k, v in enumerate(SERIES)}


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, dx, dy):
        return Vector(self.x + dx, self.y + dy)


class Filter:
    def __init__(self, gain):
        self.gain, self.level, self.mode, self.log = gain, 0.0, "rising", []

    def step(self, v):
        self.level += self.gain * (v - self.level) if self.mode == "rising" else -0.2
        self.mode = "falling" if self.level > 0.3 else "rising"
        self.log.append(self.level)
        return self.level


def huber(x):
    s = 0.0
    for v in SERIES:
        r = v - x[0]
        s += 0.5 * r * r if abs(r) < abs(x[1]) else abs(r) - 0.5
    return s


def marked_pairs(x):
    s, n = x[0], 0
    for k, (mark, v) in enumerate(MARKED):  # noqa: B007 -- read behind the loop
        if mark == "up":
            s = s * 0.9 + v * x[1]
        elif s > v:
            n += 1
    return s + 0.1 * n + 0.01 * k + v


def an_object(x):
    f, total = Filter(abs(x[0])), 0.0
    for v in NUMBERS:
        total += f.step(v + x[1])
    return total + f.log[3] * x[2] + sum(f.log[-3:]) + len(f.log)


def objects_made_anew(x):
    p = Vector(x[0], 0.0)
    for v in NUMBERS:
        p = p.moved(0.1 * v, x[1] * 0.1) if p.x < 1 else p.moved(-1.0, 0.0)
    return p.x * p.y


def left_by_break(x):
    s = 0.0
    for i, v in enumerate(NUMBERS):  # noqa: B007 -- read behind the loop
        s += abs(v * x[0])
        if s > 5:
            break
    else:
        s = 1.0
    return s * x[1] + i * 0.01


def left_by_return(x):
    s = 0.0
    for v, row in zip(NUMBERS, ROWS):
        s += v * x[0] + row[0] * row[1] * x[2]
        if s > 2.5:
            return s * 2
    return s * x[1]


def tracked_rows_and_temporaries(x):
    y, total, wins = np.tanh(np.outer(SERIES, x)), 0.0, 0
    for row, v in zip(y, NUMBERS):
        pair = [row[0], v]
        if pair[0] > pair[1]:
            total = total * 0.5 + row.sum()
        else:
            wins += 1
    return total + wins


def entries_written(x):
    u = np.zeros(N + 1) + 0 * x[0]
    u[0] = x[0]
    for k in range(N):
        if u[k] > 1:
            u[k + 1] = u[k] * 0.9 + 0.1 * NUMBERS[k]
        else:
            u[k + 1] = u[k] + 0.1 * x[1] ** 2
    return u[-1] + u.mean() * x[2]


def counted_by_while(x):
    k, s = 0, x[0]
    while k < N:
        if s > 1:
            s = s * 0.5
        s, k = s + 0.1 * abs(x[1]) + NUMBERS[k] * 0.1, k + 1
    return s * k


def loops_in_loops(x):
    total = 0.0
    for a in NUMBERS:
        level = x[0] * a
        for b in range(12):
            level = level * 0.9 + 0.01 * b if level < x[1] else level - 0.3
        total += level
    return total


def an_error_in_an_iteration(x):
    s = x[0]
    for _ in range(N):
        if s > 30:
            raise ValueError("too large")
        s += abs(x[1]) * 0.1
    return s


def bound_in_some_iterations(x):
    s = 0.0
    for k, v in enumerate(NUMBERS):
        if v * x[0] > 0.9:
            last = k
        s += v * x[0]
    try:
        return s + last
    except UnboundLocalError:
        return s - 100


def lists_that_are_read(x):
    y = [x[0]]
    for v in NUMBERS:
        y.append(y[-1] * 0.9 + v if y[-1] > 0 else v * x[1])
    return y[-1] + y[5]


def queues(x):
    queue, served, lost = deque([1.0, x[0]]), 0.0, 0
    for v in SERIES:
        if v > 0.2 * x[1]:
            queue.append((v - x[2]) ** 2)
        if v < x[3] and queue:
            served += queue.popleft() * 0.5
        if len(queue) > 4:
            queue.pop()
            lost += 1
    return served + sum(queue) + lost * x[4]


def shares_of_a_list(x):
    """A number of Python's divides, which fails where the list is empty."""
    kept, total = [x[0]], 0.0
    for v in SERIES:
        if v > 0.3 * x[1]:
            kept.append(v)
        elif kept:
            kept.pop()
        try:
            total += 1.0 / len(kept)
        except ZeroDivisionError:
            total += x[2]
    return total


def stacks(x):
    stack, total = [(x[0], 0)], 0.0
    for v in SERIES:
        if v > 0.5 * x[1]:
            stack.append((v * x[2], len(stack)))
        while stack and stack[-1][0] > x[3] + v:
            height, depth = stack.pop()
            total += height * (depth + 1)
    return total + sum(height for height, _ in stack)


def unequal_lengths(x):
    s = 0.0
    for v, row, w in zip(NUMBERS, ROWS[:25], SERIES):  # noqa: B007 -- read behind the loop
        s = s * x[0] + v if s < x[1] else s - row[0]
    return s + v * x[2] + row[1] + w


def ints_between_bounds(x):
    s = x[0]
    for k in ORDER:
        if k >= 0:
            s = s * 0.5 + x[1] if s < 1 else s - 1
        else:
            s = [s]
    return s


WHOLE = [unequal_lengths, huber, marked_pairs, an_object, objects_made_anew, left_by_break, left_by_return, tracked_rows_and_temporaries, entries_written]
WHOLE += [lists_that_are_read, queues, shares_of_a_list, counted_by_while, loops_in_loops, an_error_in_an_iteration, bound_in_some_iterations]


@pytest.fixture
def recorded(monkeypatch):
    """The loops that were recorded as one instruction."""
    found, record = [], iterations.Loop.record
    monkeypatch.setattr(loops, "LONG", 20)

    def noted(self, first):
        record(self, first)
        found.append(self)

    monkeypatch.setattr(iterations.Loop, "record", noted)
    return found


@pytest.mark.parametrize("program", WHOLE, ids=lambda f: f.__name__)
def test_a_long_loop_is_one_instruction(program, recorded):
    """Value and gradient are those of plain Python at 24 points, by one recording."""
    assert recordings(program) == 1
    assert recorded


@pytest.mark.slow
def test_a_list_that_becomes_longer_than_there_is_room_for_has_a_tape_with_more(recorded, monkeypatch):
    """A guard tells of it."""
    monkeypatch.setattr(values, "FIRST_ROOM", 16)
    assert recordings(stacks) == 2
    assert recorded


def test_a_loop_that_cannot_be_one_instruction_is_recorded_iteration_by_iteration(recorded, monkeypatch):
    """An iteration reads the list that it makes longer, and the list becomes too long."""
    monkeypatch.setattr(iterations, "_MOST_ROOM", 64)

    def program(x):
        y = [x[0]]
        for v in np.tile(SERIES, 5):
            y.append(y[-1] * 0.9 + v if y[-1] > 0 else v * x[1])
        return y[-1] + y[5]

    assert recordings(program) == 1
    assert not recorded


def test_an_iteration_that_writes_to_what_it_goes_over_is_not_one_of_many(recorded):
    """The rows are written to, and plain Python's are, too."""

    def program(x):
        y = np.outer(SERIES, x)
        for row in y:
            row[0] = row[1] if row[0] > 0 else row[0] * x[2]
        return y.sum()

    assert recordings(program) == 1


def test_the_recording_does_not_grow_with_the_iterations(recorded):
    """It is as long for ten times as many."""

    def program(x, n):
        s = x[0]
        for k in range(n):
            s = s * 0.5 + x[1] if s > 0 else s + 0.1 * k
        return s

    short, long = (len(td.record(lambda x, n=n: program(x, n), np.ones(3), merge=True)) for n in (100, 1000))
    assert short == long


def test_an_iteration_knows_bounds_of_the_ints_that_it_goes_over(recorded):
    """A branch that none of them takes is none."""
    assert recordings(ints_between_bounds, POINTS[:3]) == 1
    assert len(td.record(ints_between_bounds, POINTS[0], merge=True).instructions) < 2 * N


@pytest.mark.slow
def test_a_choice_of_arrays_that_iterations_make_has_one_name_for_each(recorded):
    """An array from before the loop is written to after it only where no iteration has made another."""

    def program(x):
        a = np.zeros(3) + x[0]
        b = a
        for v in SERIES:
            if v > x[1]:
                a = a * 0.5 + v
            b = a
        b[0] = 2.0
        return a.sum() + b[1]

    assert recordings(program) <= 4


def test_iterators_stay_where_they_are(recorded):
    """An iterator that others hold is at its end after the loop."""

    def program(x):
        numbers, s = iter(NUMBERS), x[0]
        for v in numbers:
            s = s * 0.9 + v if s > 0 else s + x[1]
        return s + len(list(numbers))

    assert recordings(program) == 1


def test_numbers_from_before_a_loop_keep_their_types_in_it(recorded):
    """Those of Python's cannot be divided by where they are zero; those of NumPy's can."""

    def program(x):
        n, d, m = 2 if x[0] > 0 else 3, 0.5 if x[1] > 0 else 2.0, np.abs(x[2]) + 1
        s = 0.0
        for v in np.tile(SERIES, 3):
            s = (s / d + v / n) / m if s < 3 else s % n - d
        return s

    assert recordings(program) == 1
    assert recorded


KINDS = [float, int, bool, np.float64, np.int64]
ITEMS = {
    "python": [1.5, 2, True], "floats": [1.5, np.float64(2.5)], "ints": [2, np.int64(3)], "bools": [2, True], "numpy": [np.int64(2), np.float64(0.5)],
}  # fmt: skip
MADE = {
    "int or float": lambda s, k: 1.0 if s > 0 else 2, "float": lambda s, k: float(s), "int": lambda s, k: k, "of an int": lambda s, k: k + 0.5,
}  # fmt: skip


@pytest.mark.parametrize("given", [*ITEMS.values(), *MADE.values()], ids=[*ITEMS, *MADE])
@pytest.mark.parametrize("last", [None, N - 2])
def test_items_of_a_long_loop_have_their_types(given, last, recorded):
    """Some of Python and some of NumPy, some ints and some floats; made by a loop before, or known."""

    def program(x):
        made, s, total = [], x[0], 0
        for k, v in enumerate(SERIES):
            s = s * 0.5 + v * x[1] if s < x[2] else s - 1
            made.append(given(s, k) if callable(given) else given[k % len(given)])
        item = None
        for item, _ in zip(made, range(last or N)):
            total += KINDS.index(type(item)) * (s * 0.5 + item)
            s = s * 0.9 + item if s < x[1] else s - 1
        return total + s + KINDS.index(type(item))

    recordings(program, POINTS[:3])


@pytest.mark.parametrize("made", [lambda s: 1.0 if s > 0 else 2, lambda s: s if s > 0 else 2.0, lambda s: 2 * (s < 1e8) + s - s], ids=["python", "either", "numpy"])
def test_zeros_of_items_raise_errors_if_they_are_pythons(made, recorded):
    """Those of NumPy give inf."""

    def program(x):
        items, s = [], x[0]
        for k, v in enumerate(SERIES):
            s = s * 0.5 + v * x[1] if s < x[2] else s - 1
            items.append(made(s if k > 5 else s + 1e9))
        try:
            for item in items:
                s = s * 0.5 + min(1.0 / (item - 2), 3.0)
        except ZeroDivisionError:
            s = 7.0 * x[1]
        return s

    with np.errstate(divide="ignore"):
        recordings(program, POINTS[:6])


def test_zeros_of_pythons_from_before_a_loop_raise_errors_in_it(recorded):
    def program(x):
        d, s = 0.0 if x[1] > 0.5 else 2.0, 0.0
        try:
            for v in np.tile(SERIES, 3):
                s = float(v) / d + 0.5 * s if s < x[2] else 0.25 * s
        except ZeroDivisionError:
            s = x[3]
        return s

    assert recordings(program) == 1
    assert recorded


def test_a_loop_over_data_has_their_gradients(recorded):
    def program(x):
        s = 0.0
        for v, k in zip(np.tile(x, 40), range(240)):
            s = s * 0.9 + v * v if v > s else s + k * 0.01 * v
        return s

    assert recordings(program) == 1
    assert recorded


def ints_of_numpy_and_floats(x):
    t, u = np.arange(3), np.int64(2)
    for k in range(600):
        t, u = t * 0.5 + x[k % 6], np.int64(3) if x[k % 6] > 0.5 else u * 0.5
    return t.sum() + u


def items_of_several_types(x):
    s = 0.0
    for v in [1.5, np.int64(2), np.float64(3), 4, int(x[0] * 3)] * 100:
        s = 0.9 * s + v * x[1] if s < 10 else s / 2
    for v in [np.arange(2), np.ones(2), np.arange(2) + x[1]] * 100:
        s = 0.9 * s + v.sum() * x[0]
    return s


@pytest.mark.parametrize(
    "program",
    [ints_of_numpy_and_floats, items_of_several_types],
    ids=lambda f: f.__name__,
)
def test_ints_become_floats_in_a_loop_as_in_python(program):
    assert recordings(program, POINTS[:8]) == 1


def test_endless_iterators_are_gone_over_one_by_one(recorded):
    """Nothing is taken from them in advance."""

    def program(x):
        s, numbers = x[0], count()
        for k in numbers:
            if k > 30:
                break
            s = s * 0.9 + k if s > 0 else s + x[1]
        return s + next(numbers)

    assert recordings(program) == 1


MANY = [float(k % 7) - 3.0 for k in range(3000)]


def from_the_end(x):
    s = x[0]
    for w in reversed(MANY):
        s = 0.9 * s + w * x[1] * (1.0 if s > 0 else 0.5)
    return s


def from_the_end_side_by_side(x):
    s = x[0]
    for k, (w, v) in enumerate(zip(reversed(MANY), MANY)):
        s = 0.9 * s + w * x[1] * (1.0 if s > 0 else 0.5) + (v + k) * 1e-5
    return s


def lists_of_constants(x):
    s, steps, places = x[0], [], []
    for _ in range(3000):
        s = 0.9 * s + (1.0 if s > 0 else 0.5) * x[1]
        steps.append("step")
        places.append(None)
    return s * len(steps) + (steps[5] == "step") * x[2] + (places[-1] is None) * x[3]


@pytest.mark.parametrize("program", [from_the_end, from_the_end_side_by_side, lists_of_constants])
def test_lists_from_the_end_and_of_constants_belong_to_loops(program):
    assert recordings(program, POINTS[:4]) == 1
    safe = td.GuardedTape(program)
    safe(POINTS[0])
    (tape,) = safe._cache.all()
    assert len(tape.program.tape.instructions) < 100


@pytest.mark.slow
def test_loops_that_data_end_are_loops_in_iterations():
    """Run to their ends, they would take all of their iterations at each of the outer loop's."""

    def f(x):
        total = 0.0
        for k in range(200):
            y, target = 1.0, 2.0 + x[k % 6] ** 2 + 0.01 * k
            for _ in range(60):
                slope = 3.0 * y**2 + 1.0 + 0.1 * np.sin(y) + 0.05 * np.cos(2 * y)
                step = (y**3 + y + 0.1 * np.cos(y) + 0.02 * np.sin(2 * y) - target) / slope
                y = y - step
                if abs(step) < 1e-10:
                    break
            total += y
        return total

    assert recordings(f, POINTS[:4]) == 1
    safe = td.GuardedTape(f)
    safe(POINTS[0])
    merged = safe.explain(as_dict=True)["tapes"][0]["report"]["merged"]
    assert [(each["form"], each["iterations"]) for each in merged if each["form"].startswith("loop")] == [("loop", 198), ("loop", None)]
