"""States as objects of several classes, of which an iteration replaces one by a new one; and tests of equal values, which agree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings


class Off:
    def next(self, context, v):
        if v > 0.5:
            return On(v)
        context.energy += 0.01 * v * v
        return self


class On:
    def __init__(self, power):
        self.power, self.age = power, 0

    def next(self, context, v):
        context.energy += self.power * v
        self.age += 1
        if self.age > 5 or v < -1.0:
            return Off()
        self.power = 0.9 * self.power + 0.1 * v
        return self


class Context:
    def __init__(self):
        self.state, self.energy = Off(), 0.0

    def feed(self, v):
        self.state = self.state.next(self, v)


def in_an_attribute(x):
    context = Context()
    for v in x:
        context.feed(v)
    return context.energy + (context.state.power if isinstance(context.state, On) else 0.0)


class Slow:
    gain = 0.3

    def __init__(self, y):
        self.y = y

    def step(self, v):
        self.y += self.gain * v * 0.1
        return self.changed(v)

    def changed(self, v):
        return Fast(self.y) if v > 0.6 else self


class Fast(Slow):
    gain = 1.5

    def step(self, v):
        following = super().step(v)
        return Slow(following.y * 0.9) if following.y > 1.0 else following

    def changed(self, v):
        return self


def in_a_variable(x):
    state = Slow(0.2)
    for v in x:
        state = state.step(v)
    return state.y**2


@dataclass
class A:
    x: object


@dataclass
class B:
    x: object


def lists(x):
    state, total = [0.0, 1.0], 0.0
    for v in x:
        if v > 0.3:
            state = [v, state[0]]
        elif v < -0.8:
            state[1] += v
        total += state[0] * state[1]
    return total


def nested(x):
    state, total = A(B(0.2)), 0.0
    for v in x:
        if v > 0.5:
            state = A(B(v))
        elif v > 0:
            state = A(state.x)
        else:
            state.x.x += 0.1 * v
        total += state.x.x**2
    return total


def the_first_comes_back(x):
    first = A(0.5)
    state = first
    for v in x:
        if v > 1:
            state = A(v)
        elif v < -1:
            state = first
        state.x += 0.1 * v
    state.x *= 2
    return first.x**2 + state.x


def states_in_a_list(x):
    state, log = A(0.1), []
    for v in x:
        state = A(state.x * 0.9 + v) if v > 0 else B(v)
        log.append(state)
    return sum(a.x**2 for a in log) + state.x


def lists_of_other_lengths(x):
    best, run = None, []
    for v in x:
        if v > 0:
            run.append(v)
        elif run:
            if best is None or sum(run) > best:
                best = sum(run)
            run = []
    return best if best is not None else x[0]


# In two places at once.


def written_after_it_was_stored(x):
    state, log = A(0.1), []
    for v in x:
        if v > 0:
            state = A(v)
            log.append(state)
        else:
            state.x += 0.1 * v
    return sum(a.x**2 for a in log) + state.x


def row_written_after_it_was_stored(x):
    rows, log = [A(0.1)], []
    for v in x:
        if v > 0.3 and len(rows) < 6:
            rows.append(A(v))
        elif len(rows) > 1:
            rows.pop(0)
        log.append(rows[0])
        rows[0].x += 0.1 * v
    return sum(a.x**2 for a in log)


def the_one_before(x):
    state = before = A(0.1)
    total = 0.0
    for v in x:
        before.x *= 1.01
        total += state.x * before.x
        if v > 0.3:
            before = state
        if v > 0:
            state = A(v)
        elif v > -1:
            state.x += 0.1
    return total


def compared_by_identity(x):
    first = state = A(0.5)
    total = 0.0
    for v in x:
        before = state
        state = A(v) if v > 0.5 else B(v) if v < -0.5 else state
        if state is before:
            total += v
        if state is first:
            total += 0.5
    return total * state.x


def in_a_function(x):
    state, total = A(0.1), 0.0
    read = lambda: state.x
    for v in x:
        if v > 0:
            state = own = A(v * v)
            read = lambda own=own: own.x
        else:
            state.x += v
        total += read()
    return total


def two_at_once(x):
    first, second, total = A(0.1), B(0.2), 0.0
    for v in x:
        if v > 0.5:
            first, second = second, first
        elif v < -0.5:
            first = A(v)
        second.x += 0.1 * v
        total += first.x * second.x
    return total


def made_by_an_outer_iteration(x):
    total = 0.0
    for v in x:
        state = first = [v, 1.0]
        k = 0
        while k < len(x):
            w = x[k]
            if w > 1.0:
                state = [w * v, state[0]]
            state[0] += 0.1 * w
            k += 1 if w > 0 else 2
        total += first[0] * state[0] + state[1]
    return total


STATES = [in_an_attribute, in_a_variable, lists, nested, the_first_comes_back, states_in_a_list]
SHARED = [
    written_after_it_was_stored, row_written_after_it_was_stored, the_one_before, compared_by_identity, in_a_function, two_at_once,
    made_by_an_outer_iteration,
]  # fmt: skip


@pytest.mark.parametrize("program", STATES)
def test_states_take_one_recording(program):
    assert recordings(lambda x: program(np.concatenate([x, x[::-1] * 0.7, x]))) == 1


@pytest.mark.slow
def test_lists_of_other_lengths_keep_a_loop_from_being_one_instruction_at_once():
    """So the attempts take few sides of branches."""
    assert recordings(lambda x: lists_of_other_lengths(np.concatenate([x, x[::-1] * 0.7, x, -x, x + 0.1])), POINTS[:6]) == 1


@pytest.mark.parametrize("program", [in_an_attribute, in_a_variable, lists, nested, the_first_comes_back])
def test_long_loops_carry_states_part_by_part(program):
    long = lambda x: program(np.concatenate([np.tile(x, 250), x[::-1] * 0.7]))
    g = td.GuardedTape(long)
    for p in POINTS[:6]:
        assert np.isclose(g(p), long(p), rtol=1e-9)
    assert g.stats.recordings == 1
    assert "one loop instruction" in str(g.explain())


@pytest.mark.parametrize("program", SHARED)
@pytest.mark.parametrize("count", [3, 30])
def test_states_with_other_names_are_pythons(program, count):
    long = lambda x: program(np.tile(x, count))
    g = td.GuardedTape(long, on_new_tape="interpret", compile_after=1000)
    for p in POINTS[:4]:
        assert np.isclose(g(p), long(p), rtol=1e-9)


# Entries of a list, and other names of them, in loops over many items


def the_last_is_written(x):
    state, log = A(0.1), []
    for v in x:
        state = A(state.x * 0.9 + v)
        log.append(state)
    state.x = 100.0
    return log[-1].x + log[-2].x


def the_last_entry_is_written(x):
    state, log = A(0.1), []
    for v in x:
        state = A(state.x * 0.9 + v)
        log.append((state, v))
    log[-1][0].x = 50.0
    return state.x + (3.0 if log[-1][0] is state else 0.0)


def the_first_is_written(x):
    first = state = A(0.1)
    log = []
    for v in x:
        log.append(state)
        state = A(state.x * 0.9 + v)
    first.x = 50.0
    return log[0].x + state.x


def two_lists(x):
    state, log, other = A(0.1), [], []
    for v in x:
        state = A(state.x * 0.9 + v)
        log.append(state)
        other.append(state)
    log[-1].x += 5.0
    return other[-1].x + (1.0 if other[3] is log[3] else 0.0)


def a_tuple_is_compared(x):
    state, log = (0.1, 2.0), []
    for v in x:
        state = (state[0] * 0.9 + v, state[1] * 0.5 + v)
        log.append(state)
    return state[0] + (3.0 if log[-1] is state else 0.0)


def nothing_is_written(x):
    state, log = A(0.1), []
    for v in x:
        state = A(state.x * 0.9 + v)
        log.append(state)
    return log[-1].x + log[3].x * state.x


@pytest.mark.parametrize(
    "program", [the_last_is_written, the_last_entry_is_written, the_first_is_written, two_lists, a_tuple_is_compared, nothing_is_written]
)
def test_entries_are_the_objects_that_other_names_hold(program):
    long = lambda x: program(np.tile(x, 600))
    g = td.GuardedTape(long, on_new_tape="interpret", compile_after=1000)
    for p in POINTS[:3]:
        assert np.isclose(g(p), long(p), rtol=1e-9)
    assert ("one loop instruction" in str(g.explain())) is (program is nothing_is_written)


# Equal tests


def matched(x):
    """Stable matching; the entries of `partners` are None at first, and indices into an array."""
    first, second = np.outer(x[:3], x[3:]), np.outer(x[3:], x[:3])
    order = [sorted(range(3), key=lambda j, i=i: -first[i, j]) for i in range(3)]
    following, partners, free = [0] * 3, [None] * 3, deque(range(3))
    while free:
        i = free.popleft()
        j = order[i][following[i]]
        following[i] += 1
        if partners[j] is None:
            partners[j] = i
        elif second[j, i] > second[j, partners[j]]:
            free.append(partners[j])
            partners[j] = i
        else:
            free.append(i)
    return sum(first[partners[j], j] * second[j, partners[j]] for j in range(3))


def read_again(x):
    found = [None] * 3
    total = 0.0
    for k, v in enumerate(x):
        j = 0 if v > 0 else 1 if v > -0.5 else 2
        if found[j] is None:
            found[j] = k % 3
        elif x[found[j]] > 0:
            total += x[found[j]] * v
    return total


def same_order_again(x):
    total = 0.0
    for k in range(1, len(x)):
        if x[k] > x[k - 1]:
            root = x[k] - x[k - 1]
        if x[k - 1] < x[k]:
            # Without a value where the first test fails.
            total += root**1.5
    return total


def in_tuples_of_positions(x):
    a, grown = np.outer(x, x), np.outer(x, x[:3])
    i = 1 if x[0] > 0 else 2 if x[1] > 0 else None
    j = slice(0, 2) if x[2] > 0 else 2
    if i is not None:
        grown[i, 1] = x[3] * x[4]
        return a[2, i] * a[i, i] + grown.sum() + a[j, i].sum()
    return a[j, 1].sum() * grown[j, 0].sum()


@pytest.mark.parametrize("program", [matched, read_again, same_order_again, in_tuples_of_positions])
def test_equal_tests_and_positions_take_one_recording(program):
    assert recordings(program) == 1
