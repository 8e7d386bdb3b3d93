"""Turns of long loops may write to an array that they have made of the one before: one turn is recorded, with the answers of all."""

from __future__ import annotations

import numpy as np

TURNS = 300
TIMES = np.random.default_rng(20261129).normal(size=TURNS)
POINTS = np.array([[0.4, 0.8], [0.9, 0.3], [-1.4, 0.95]])


def the_one_before(p):
    now, total = np.zeros(3), 0.0
    before = now
    for t in TIMES:
        before = now
        now = now * 0.5
        now[0] += p[0] * t
        now[1:] += before[:-1] * p[1]
        total += before[2] * now[1]
    return total + before[0] + now[1]


def bound_in_the_loop(p):
    now, total = np.zeros(3), 0.0
    for t in TIMES:
        before = now
        now = 0.5 * now + p[1]
        now[0] = p[0] * t
        total += before[2] * now[1]
    return total


def in_a_branch(p):
    now, total = np.zeros(3), 0.0
    for i, t in enumerate(TIMES):
        total += now[0] * now[2]
        now = np.tanh(now)
        if i % 7 == 0:
            now[0] = p[0] * t
        now[1] = now[0] * p[1]
        now[2] += t
    return total


def with_another_name_in_the_turn(p):
    now, total = np.ones(3), 0.0
    for t in TIMES:
        now = now * p[1]
        same = now
        now[0] += p[0] * t
        total += same[0] * t
        now[1] -= same[0]
    return total + now[1]


def with_a_view_of_it(p):
    now, total = np.ones(3), 0.0
    part = now[:2]
    for t in TIMES:
        total += part[0] * p[1]
        now = now * 0.7
        part = now[:2]
        now[0] += p[0] * t
        now[2] += part[0]
    return total + now[2]


def keeps_it(p):
    now, kept = np.ones(3), []
    for t in TIMES:
        now = now * 0.7
        now[0] += p[0] * t
        now[2] += now[0] * p[1]
        kept.append(now)
    return np.sum(np.array(kept) ** 2)


ONE_TURN = (the_one_before, bound_in_the_loop, in_a_branch, with_another_name_in_the_turn)


def keeps_it_before_it_writes(p):
    now, kept = np.ones(3), []
    for t in TIMES:
        now = now * 0.7
        kept.append(now)
        now[0] += p[0] * t
        now[2] += now[0] * p[1]
    return np.sum(np.array(kept) ** 2)


def writes_to_the_one_before(p):
    now, total = np.ones(3), 0.0
    before = now
    for t in TIMES:
        total += before[1] * now[1]
        before = now
        now = now * 0.5
        now[0] += p[0] * t
        before[1] = t * p[1]
    return total + before[1]


def writes_before_it_makes(p):
    now, total = np.ones(3), 0.0
    first = now
    for t in TIMES:
        now[1] += t * p[1]
        now = now * 0.5
        now[0] += p[0] * t
        total += now[0]
    return total + first[1]


def writes_afterwards(p):
    now = np.ones(3)
    before = now
    for t in TIMES:
        before = now
        now = now * 0.5
        now[0] += p[0] * t
        now[1] += before[0] * p[1]
    before[0] = 1.0
    now[2] = p[0]
    return now.sum() + before.sum()


def leaves(p):
    now, total = np.ones(3), 0.0
    for t in TIMES:
        before = now
        now = now * 0.9
        now[0] += p[0] * t * t * 0.1
        if now[0] > 3.0:
            break
        total += before[0] * p[1]
    return total + now[0]


def seen_by_a_function(p):
    now, total = np.ones(3), 0.0

    def first():
        return now[0]

    for t in TIMES:
        now = now * 0.9
        now[0] += p[0] * t
        total += first() * p[1]
    return total


def in_a_list_before(p):
    now, total = np.ones(3), 0.0
    others = [now, now]
    for t in TIMES:
        others[0] = now
        now = now * 0.9
        now[0] += p[0] * t
        total += others[0][0] * p[1] + others[1][0]
    return total


OTHERS = (
    with_a_view_of_it, keeps_it, keeps_it_before_it_writes, writes_to_the_one_before, writes_before_it_makes, writes_afterwards,
    leaves, seen_by_a_function, in_a_list_before,
)  # fmt: skip


PROGRAMS = [
    the_one_before,
    bound_in_the_loop,
    in_a_branch,
    with_another_name_in_the_turn,
    with_a_view_of_it,
    keeps_it,
    keeps_it_before_it_writes,
    writes_to_the_one_before,
    writes_before_it_makes,
    writes_afterwards,
    leaves,
    seen_by_a_function,
    in_a_list_before,
]
