"""Dicts and sets whose keys are data, in loops that data end: a loop carries them as tables of their items."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings


def visited(x):
    seen, u, s, n = set(), 0, 0.0, 0
    while u not in seen and n < 30:
        seen.add(u)
        u = (u + 1 + int(abs(x[u % 6]) * 3)) % 13
        s += x[u % 6] * n
        n += 1
    return s + len(seen)


def by_name(x):
    spent, t = defaultdict(float), 0.0
    while t < 8:
        who = "a" if math.sin(3 * t) > x[0] else "b" if math.cos(t) > x[1] else "c"
        spent[who] += t * x[2]
        if spent[who] > 10:
            spent[who] = 0.0
        t += 0.5 + 0.1 * abs(x[3])
    return sum(spent.values()) + len(spent)


def removed(x):
    held, t, s = {0: x[0], 3: x[1]}, 0.2, 0.0
    while t < 4:
        k = int(t * 2) % 4
        s += held.pop(k, 0.3)
        held[(k + 1) % 4] = t * x[2]
        if x[3] * t > 0.5 and k in held:
            del held[k]
        t += 0.4 + 0.1 * abs(x[4])
    return s + sum(v * (place + 1) for place, v in enumerate(held.values()))


def discarded(x):
    on, t, s = {1, 2}, 0.0, 0.0
    while t < 5:
        k = int(t * 1.7) % 5
        if k in on:
            on.discard(k)
            s += x[0]
        else:
            on.add(k)
            s -= x[1] * t
        t += 0.35 + abs(x[2])
    return s + len(on)


def shortest(x):
    edges = defaultdict(list)
    for i in range(6):
        for k, j in enumerate((i + 1, i + 2)):
            edges[i].append((min(j, 6), abs(x[(i + k) % 6]) + 0.1 * k))
    dist, heap, seen = {0: 0.0}, [(0.0, 0)], set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in seen:
            continue
        seen.add(u)
        if u == 6:
            return d
        for v, w in edges[u]:
            if v not in dist or d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return math.inf


def caught_within(x):
    known, t, s = {}, 0.1, 0.0
    while t < 5:
        k = int(t * 1.5)
        try:
            s += known[k] * x[0]
        except KeyError:
            known[k] = t * x[1]
            s -= x[2]
        t += 0.3 + 0.1 * abs(x[3])
    return s


def keys_of_several_kinds(x):
    found, t, s = {}, 0.1, 0.0
    while t < 4:
        found[int(t * 3)] = t * x[0]
        s += found.get(1.0 if x[1] > t - 2 else 2, 0.25)
        which = "a" if x[2] > t - 2 else int(t)
        if which in found:
            s += found[which] * 2
        t += 0.2 + 0.1 * abs(x[1])
    return s


PROGRAMS = [keys_of_several_kinds, visited, by_name, removed, discarded, shortest, caught_within]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_loop_carries_the_items_of_a_dict_or_set(program):
    """One recording for all points."""
    assert recordings(program, POINTS[:10]) == 1


def test_a_dict_that_gets_more_items_than_there_is_room_for_has_a_tape_with_more():
    """A guard on its length."""

    def program(x):
        found, t = {}, 0.0
        while t < 20:
            found[int(t * 5)] = t * x[0]
            t += 0.1 + abs(x[1])
        return sum(found.values()) / len(found)

    points = [np.array([0.3, 0.5]), np.array([0.3, 0.1]), np.array([0.5, 0.2])]
    assert recordings(program, points) <= 2


def test_an_object_for_a_new_key_of_data_is_recorded_by_iterations():
    """Each iteration may create a list, which no table has."""

    def program(x):
        groups, t = defaultdict(list), 0.1
        while t < 2:
            groups[int(t * 2)].append(t * x[0])
            t += 0.3 + abs(x[1])
        return sum(max(g) * len(g) for g in groups.values())

    for p in POINTS[:6]:
        assert td.gradient(td.GuardedTape(program), p) == pytest.approx(td.gradient(td.record(program, p), p))


def test_counters_in_an_iteration_are_its_own():
    """A dict that each iteration creates is no carry."""

    def program(x):
        t, s = 0.1, 0.0
        while t < 2:
            groups = defaultdict(list)
            for v in x[:4]:
                groups["up" if v > t - 1 else "down"].append(v)
            s += len(groups["up"]) * x[4] + len(groups)
            s += Counter(v > 0 for v in x[:3])[True] * x[5]
            t += 0.3 + abs(x[1])
        return s

    assert recordings(program, POINTS[:10]) == 1
