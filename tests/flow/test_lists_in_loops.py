"""Lists that become longer and shorter in loops that data end: queues, stacks, and what is taken from them."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from .one_tape import POINTS, recordings


def served(x):
    """A queue whose first entries leave when they have waited for too long."""
    queue, clock, total, left = [], 0.0, 0.0, 0
    for v in x:
        if v > -0.5:
            queue.append(clock + 0.1 * v)
        while queue and clock - queue[0] > 0.8 + 0.2 * x[2]:
            queue.pop(0)
            left += 1
        if queue and v < 0.6:
            total += (clock - queue.pop(0)) ** 2
        clock += 0.5 + 0.1 * abs(v)
    return total + 0.5 * left + len(queue) * 0.3 + clock


def breadth_first(x):
    queue, total = collections.deque((v, 0) for v in x[:3]), 0.0
    while queue:
        v, depth = queue.popleft()
        total += abs(v) * 0.5**depth
        if abs(v) > 0.8 and depth < 2:
            queue.append((0.5 * v, depth + 1))
            queue.append((0.4 * v, depth + 1))
    return total


def collected(x):
    hand, total, k = [], 0.0, 0
    while total < 2.0 and k < 6:
        hand.append(0.5 + abs(x[k]))
        total += hand[-1]
        k += 1
    return total * (1.5 if len(hand) == 2 else 1.0) + sum((k + 1) * v for k, v in enumerate(hand))


def sold_by_age(x):
    """The entries are lists that are written to."""
    lots, total = [], 0.0
    for day, v in enumerate(x):
        if v < 0.2:
            lots.append([1.0 + 0.2 * abs(v), day])
            continue
        wanted = 1.5 * v
        while wanted > 0.0 and lots:
            amount, bought = lots[0]
            sold = min(amount, wanted)
            total += sold * (day - bought + 1) * x[1]
            wanted -= sold
            if sold == amount:
                lots.pop(0)
            else:
                lots[0][0] = amount - sold
    return total + sum(lot[0] for lot in lots)


def nearest_first(x):
    """Two lists in a loop in a loop; variables of some iterations only hold new lists."""
    calls = sorted((2.0 * abs(a), b) for a, b in zip(x[:3], x[3:]))
    clock, position, waiting, waits = 0.0, 0.0, [], []
    while calls or waiting:
        while calls and calls[0][0] <= clock:
            waiting.append(calls.pop(0))
        if not waiting:
            clock = calls[0][0]
            continue
        ahead = [c for c in waiting if c[1] >= position]
        if not ahead:
            position -= 1.5
            continue
        target = min(ahead, key=lambda c: abs(c[1] - position))
        clock += 0.3 * abs(target[1] - position) + 0.2
        position = target[1]
        waiting.remove(target)
        waits.append(clock - target[0])
    return sum(w * w for w in waits) / len(waits) + position


def left_by_an_error(x):
    """There are two texts of it, by data."""
    values, total = [x[0], x[1], x[2]], 0.0
    try:
        while total < 9.0:
            total += abs(values.pop() if total < 1.0 else values.pop(1))
            if total < x[3]:
                values.append(0.5 * abs(total))
                total += 1.0
    except IndexError:
        total += 10.0
    return total + sum(values)


def monotone(x):
    """The nearest increasing numbers, from blocks of equal ones."""
    blocks, fit = [], []
    for v in x:
        blocks.append((v, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (v2, n2), (v1, n1) = blocks.pop(), blocks.pop()
            blocks.append(((v1 * n1 + v2 * n2) / (n1 + n2), n1 + n2))
    for v, n in blocks:
        fit += [v] * n
    return sum((a - b) ** 2 for a, b in zip(fit, x)) + fit[0]


def powers(x):
    """Python's own: they may be too large, or complex, which is a path of its own."""
    y, n = abs(float(x[0])), 0
    while y > 0.1:
        y = (0.5 * y) ** 1.1 - 0.1 * 0.5**n
        n += 1
    return y * x[1] + n


PROGRAMS = [monotone, powers, served, breadth_first, collected, sold_by_age, nearest_first, left_by_an_error]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_every_order_of_changes(program):
    """Value and gradient are those of plain Python at each point."""
    assert recordings(program) == 1


@pytest.mark.slow
def test_a_list_that_becomes_longer_than_there_is_room_for_has_tapes_of_its_own():
    """Each doubling of the room is another one, also where the list is one of an inner loop."""

    def program(x):
        total, n = 0.0, 0
        while n < 3:
            values = [x[1]]
            while values[-1] < 4.0 * abs(x[0]):
                values.append(values[-1] + 0.1 * n + 0.12)
            total = 0.9 * total + values[len(values) // 2]
            n += 1
        return total + len(values)

    points = [np.array([a, b]) for a in (0.2, 0.8, 0.3, 1.6, 0.8, 0.2) for b in (0.5, -0.5)]
    assert recordings(program, points) <= 4


@pytest.mark.slow
def test_a_list_that_is_too_long_is_recorded_by_guards():
    """It has more entries than any room."""

    def program(x):
        values = [x[0]]
        while values[-1] < 3.0:
            values.append(values[-1] + 0.02)
        return sum(values) * x[1]

    assert recordings(program, [p for p in POINTS if p[0] < 3.0][:2]) <= 2
