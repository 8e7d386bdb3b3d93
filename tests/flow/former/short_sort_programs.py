"""Short lists that are sorted, and heaps of as many entries all the time: no path for each order."""

from __future__ import annotations

import heapq
from heapq import heappop, heappush

import numpy as np

rng = np.random.default_rng(20261127)
E, Y = rng.normal(size=60), rng.normal(size=60)
POINTS = np.array([0.43, 0.27, -0.16]) + 0.2 * rng.normal(size=(9, 3))


def servers_as_a_heap(p):
    free, now, waited = [0.0] * 3, 0.0, 0.0
    for e, y in zip(E, Y):
        now += abs(p[0]) * abs(e)
        first = heapq.heappop(free)
        start = now if now > first else first
        waited += start - now
        heapq.heappush(free, start + abs(p[1]) * abs(y) * 3)
    return waited + max(free) * p[2] + free[0]


def servers_replaced(p):
    free, now, waited = [0.0, 0.0], 0.0, 0.0
    for e, y in zip(E, Y):
        now += abs(p[0]) * abs(e)
        start = max(now, free[0])
        waited += start - now
        heapq.heapreplace(free, start + abs(p[1]) * abs(y) * 2)
    return waited


def by_their_names(p):
    held, total = [0.5, 0.5, 0.5, 0.5], 0.0
    for e in E:
        least = heappop(held)
        total += least * p[2]
        heappush(held, least + abs(p[0] * e) + 0.1)
    return total + sum(held)


def sorted_servers(p):
    free, now, waited = [0.0] * 4, 0.0, 0.0
    for e, y in zip(E, Y):
        now += abs(p[0]) * abs(e)
        free.sort()
        start = max(free[0], now)
        waited += start - now
        free[0] = start + abs(p[1]) * abs(y) * 3
    return waited + free[2] * p[2]


def three_largest(p):
    best = [-9.0] * 3
    for e, y in zip(E, Y):
        value = p[0] * e + p[1] * y
        if value > best[2]:
            best[2] = value
            best.sort(reverse=True)
    return best[0] + 2 * best[1] + 3 * best[2] * p[2]


def moving_median(p):
    total = 0.0
    for i in range(2, 60):
        near = [p[0] * E[i] + p[1] * Y[i], p[0] * E[i - 1] + p[1] * Y[i - 1], p[0] * E[i - 2] + p[2] * Y[i - 2]]
        near.sort()
        total += near[1] ** 2
    return total


def six_in_order(p):
    held, total = [p[0], p[1], p[2], 0.5, 0.1, -0.3], 0.0
    for i, e in enumerate(E[:20]):
        held[i % 6] += 0.5 * e
        held.sort()
        total += held[1] * held[4] * p[1]
    return total


MERGED = [six_in_order, servers_as_a_heap, servers_replaced, by_their_names, sorted_servers, three_largest, moving_median]


def seen_by_another_name(p):
    held = [0.0, 0.0, 0.0]
    other = held
    for e in E:
        held.sort()
        other[0] += abs(p[0] * e)
    return held[0] * p[1] + other[2]


def grows(p):
    held = [0.0, 0.0]
    for e in E[:20]:
        held.append(p[0] * e)
        held.sort()
    return held[0] * p[1] + held[3]


def pops_under_a_condition(p):
    held = [0.0] * 3
    for e in E[:20]:
        if p[1] * e > 0.1 and len(held) > 1:
            heapq.heappop(held)
        else:
            heapq.heappush(held, p[0] * e)
    return sum(held) + len(held)


def begins_as_no_heap(p):
    held = [p[0] + 2.0, p[1], p[2]]
    total = 0.0
    for e in E[:6]:
        total += heapq.heappop(held) * e
        heapq.heappush(held, p[0] * e)
    return total


def reads_the_second_of_a_heap(p):
    held = [0.0] * 3
    for e in E:
        heapq.heapreplace(held, abs(p[0] * e) + held[1])
    return held[1] + held[2] * p[1]


def pushes_what_the_heap_lacks(p):
    held, total = [0.0] * 3, 0.0
    for e in E:
        least = heapq.heappop(held)
        heapq.heappush(held, max(least + abs(p[0] * e), held[0] - 0.1))
        total += least * least * p[1]
    return total + len(held)


def of_many(p):
    held = [0.0] * 9
    for e in E:
        held.sort()
        held[0] += abs(p[0] * e)
    return held[4] + p[1]


OTHERS = [
    seen_by_another_name,
    grows,
    pops_under_a_condition,
    begins_as_no_heap,
    reads_the_second_of_a_heap,
    pushes_what_the_heap_lacks,
    of_many,
]


PROGRAMS = [
    servers_as_a_heap,
    servers_replaced,
    by_their_names,
    sorted_servers,
    three_largest,
    moving_median,
    six_in_order,
    seen_by_another_name,
    grows,
    pops_under_a_condition,
    begins_as_no_heap,
    reads_the_second_of_a_heap,
    pushes_what_the_heap_lacks,
    of_many,
]
