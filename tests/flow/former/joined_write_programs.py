"""Branches in loops that end in writes to one entry, or in appends to one list, in the words of dynamic programs, trees and filters."""

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261127)
E, Y = rng.normal(size=60), rng.normal(size=60)
POINTS = np.array([0.43, 0.27, -0.16]) + 0.15 * rng.normal(size=(9, 3))


def american_put(p):
    steps = 12
    up = np.exp((0.1 + abs(p[0])) * 0.3)
    q, strike, spot = (1.01 - 1 / up) / (up - 1 / up), 1.0 + p[2], 1.0 + 0.3 * p[1]
    values = [max(strike - spot * up ** (2 * j - steps), 0.0) for j in range(steps + 1)]
    for s in range(steps - 1, -1, -1):
        for j in range(s + 1):
            values[j] = 0.99 * (q * values[j + 1] + (1 - q) * values[j])
            exercised = strike - spot * up ** (2 * j - s)
            if exercised > values[j]:
                values[j] = exercised
    return values[0]


def american_put_by_appends(p):
    steps, q = 12, 0.5 + 0.1 * np.tanh(p[0])
    values = []
    for j in range(steps + 1):
        x = p[1] + 0.1 * j - 0.6
        values.append(x if x > 0 else 0.0)
    for s in range(steps - 1, -1, -1):
        earlier = []
        for j in range(s + 1):
            kept, exercised = 0.99 * (q * values[j + 1] + (1 - q) * values[j]), p[2] + 0.05 * j - 0.2
            if exercised > kept:
                earlier.append(exercised)
            else:
                earlier.append(kept)
        values = earlier
    return values[0]


def edit_distance(p):
    previous = [abs(p[0]) * j for j in range(11)]
    for i in range(1, 11):
        current = [abs(p[0]) * i]
        for j in range(1, 11):
            cost = previous[j - 1] + (E[i] - Y[j]) ** 2 * p[1]
            deleted, inserted = previous[j] + abs(p[0]), current[j - 1] + abs(p[0])
            if deleted < cost:
                cost = deleted
            if inserted < cost:
                current.append(inserted)
            else:
                current.append(cost)
        previous = current
    return previous[-1]


def knapsack(p):
    weights, best = [1 + abs(int(4 * e)) for e in E[:12]], [0.0] * 21
    for weight, y in zip(weights, Y):
        for room in range(20, weight - 1, -1):
            worth = best[room - weight] + abs(p[0] * y + p[1])
            if worth > best[room]:
                best[room] = worth
    return best[20] * p[2]


def shortest_paths(p):
    lengths = np.abs(p[0] * E[:36].reshape(6, 6) + p[1]) + 0.1
    for k in range(6):
        for i in range(6):
            for j in range(6):
                if lengths[i, k] + lengths[k, j] < lengths[i, j]:
                    lengths[i, j] = lengths[i, k] + lengths[k, j]
    return lengths.sum()


def levels(p):
    held = [0.0] * 5
    for i, e in enumerate(E):
        k = i % 5
        held[k] = 0.9 * held[k] + p[0] * e
        if held[k] < -0.2:
            held[k] *= p[1]
        elif held[k] < 0.1:
            pass
        else:
            held[k] -= 0.5 * p[2]
    return sum(held) + held[3] * p[2]


def one_list_by_two_names(p):
    first = [0.1] * 4
    second = first
    for i, e in enumerate(E[:30]):
        second[i % 4] = 0.5 * second[i % 4] + p[0] * e
        if second[i % 4] > 0.3:
            second[i % 4] = p[1]
    return sum(first) + first[1] * second[2] * p[2]


def walk(p):
    path = [p[0]]
    for e in E:
        if path[-1] > 0.5:
            path.append(0.8 * path[-1] + p[1] * e)
        elif path[-1] < -0.5:
            path.append(0.9 * path[-1] - p[2] * e)
        else:
            path.append(path[-1] + 0.3 * e)
    return sum(v * v for v in path)


MERGED = [american_put, american_put_by_appends, edit_distance, knapsack, shortest_paths, levels, one_list_by_two_names, walk]


def grows_on_one_side(p):
    kept = [p[0]]
    for e in E[:20]:
        if p[1] * e > 0.1:
            kept.append(p[1] * e)
    return kept[-1] * len(kept)


def changes_the_index(p):
    held, k = [p[0], p[1], p[2], 0.5], 0
    for e in E[:20]:
        held[k] = held[k] + 0.1 * e
        if held[k] > 0.3:
            k = (k + 1) % 4
            held[k] = 0.5 * held[k]
    return sum(v * v for v in held)


def leaves_the_loop(p):
    held = [p[0], p[1]]
    for e in E:
        held[0] += 0.1 * e
        if held[0] > 0.9 + p[2]:
            held[0] = 2.0 * held[1]
            break
    return held[0] ** 2


def writes_what_may_not_be_there(p):
    held = {}
    for i, e in enumerate(E[:12]):
        if p[0] * e > 0.1:
            held[i] = p[1] * e
    return sum(held.values()) + len(held)


def two_pointers(p):
    first, second = np.cumsum(np.abs(E[:30]) * abs(p[0])), np.cumsum(np.abs(Y[:30]) * abs(p[1]) * 2)
    i = j = 0
    total = 0.0
    while i < 30 and j < 30:
        if first[i] < second[j]:
            total += first[i] * p[2]
            i += 1
        else:
            total += second[j]
            j += 1
    return total


def one_list_bound_twice(p):
    held = other = [0.1] * 3
    for i, e in enumerate(E[:20]):
        held[i % 3] = 0.5 * held[i % 3] + p[0] * e
        if held[i % 3] > 0.2:
            held[i % 3] = p[1]
    return sum(other) * p[2] + held[1]


STEPS = np.random.default_rng(1).normal(size=60)


def reads_a_list_that_grows(p):
    held, out = p[0] * np.arange(3) * 0.1, []
    for i in range(26):
        k = i % 3
        if held[k] > p[1] * 0.3:
            held[k - 1] = -held[k]
        if len(out) > 3 and held[k] > 0.1:
            last = 0.0
        elif p[0] * STEPS[i] > 0.2:
            last = 0.5 * held[k]
        else:
            last = out[-1] * 0.2 if out else 1.0
        out.append(last)
    return sum(v * v for v in held) + max(out)


def begins_with_constants(p):
    first = [0.1] * 8
    held, out = first, [0.0]
    for i in range(13):
        k = i % 8
        if held[k] < 0:
            held[k] += E[i] * p[0]
        elif E[i] * p[1] < held[k]:
            held[k] = out[-1] * 0.2 if out else 1.0
        else:
            held[k] -= E[i] * p[0]
    return sum(held) + len(out) * p[2] + sum(first)


PROGRAMS = [
    american_put,
    american_put_by_appends,
    edit_distance,
    knapsack,
    shortest_paths,
    levels,
    one_list_by_two_names,
    walk,
    grows_on_one_side,
    changes_the_index,
    leaves_the_loop,
    writes_what_may_not_be_there,
    two_pointers,
    one_list_bound_twice,
    reads_a_list_that_grows,
    begins_with_constants,
]
