"""Sorting, heaps, filtered lists and reads at positions by data."""

from __future__ import annotations

import heapq
from heapq import heappop, heappush

import numpy as np

POINTS = np.array([0.43, 0.27, -0.16]) + 0.2 * np.random.default_rng(20261127).normal(size=(9, 3))
rng = np.random.default_rng(20261127)
E, Y = rng.normal(size=60), rng.normal(size=60)
VALUES, ROWS, LABELS, IS_LARGE = rng.normal(size=40), rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) % 5 > 2


def by_their_names(p):
    held, total = [0.5, 0.5, 0.5, 0.5], 0.0
    for e in E:
        least = heappop(held)
        total += least * p[2]
        heappush(held, least + abs(p[0] * e) + 0.1)
    return total + sum(held)


def three_largest(p):
    best = [-9.0] * 3
    for e, y in zip(E, Y):
        value = p[0] * e + p[1] * y
        if value > best[2]:
            best[2] = value
            best.sort(reverse=True)
    return best[0] + 2 * best[1] + 3 * best[2] * p[2]


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


def reads_the_second_of_a_heap(p):
    held = [0.0] * 3
    for e in E:
        heapq.heapreplace(held, abs(p[0] * e) + held[1])
    return held[1] + held[2] * p[1]


def of_many(p):
    held = [0.0] * 9
    for e in E:
        held.sort()
        held[0] += abs(p[0] * e)
    return held[4] + p[1]


# Filtered lists


def gains_and_losses(p):
    z = p[0] * E + p[1]
    gains = [v for v in z if v > 0]
    lost = [-v for v in z if v < 0]
    losses = sum(lost)
    return sum(gains) / max(losses, 1e-3) + len(gains) * p[2]


def two_tests(p):
    z = p[0] * E + p[1]
    some = [v for v in z if v > 0.1 if v < 1]
    return np.mean(some) + max(some) * p[2] + np.sum(np.array(some) ** 2)


def pairs(p):
    points = [(p[0] * a, p[1] * b) for a, b in zip(E, Y)]
    x = 0.5
    inside = [x * y for x, y in points if x * x + y * y < 0.1]
    return sum(inside) + len(inside) * p[2] * x


# Plain arrays read at positions that data decides


def labels_and_masks(p):
    values = ROWS @ p
    order = np.argsort(values)
    return np.sum(np.where(LABELS[order] == 2, values, 0.0) * np.arange(40)) + np.sum(
        np.where(IS_LARGE[order], values, p[1])
    )


def interpolated(p):
    at = np.clip(ROWS @ p * 3 + 20, 0, 38)
    k = np.floor(at).astype(int)
    return np.sum((1 - (at - k)) * VALUES[k] + (at - k) * VALUES[k + 1]) * p[0]


def adds_to_the_table(x):
    table = np.arange(10.0).reshape(5, 2)
    row = table[np.argmax(x)]
    table += np.where(table > 8.5, 1.0, 0.0)
    return row.sum() * x[0]


def keeps_rows(x):
    table = np.arange(10.0).reshape(5, 2)
    rows = [table[np.argmax(x)], table[np.argmin(x), 1:]]
    table *= 1.5
    return rows[0].sum() * x[0] + rows[1].sum()


def fills_a_row(x):
    table = np.arange(10.0).reshape(5, 2)
    table[np.argmax(x)].fill(7.0)
    return table.sum() * x[0]


def gives_out_a_row(x):
    table = np.arange(10.0).reshape(5, 2)
    row = table[np.argmax(x)]
    np.multiply(row, 3, out=row)
    return table.sum() * x[0]


def conversions_that_copy_nothing(x):
    y = x * 1.0
    same = y.astype(float, copy=False)
    same *= 2
    return y.sum()


def counts_of_bins(x):
    return np.sum(np.bincount(x > 0.1, minlength=2) * np.array([1.0, 3.0])) * x[0]


PROGRAMS = [
    by_their_names, three_largest, grows, pops_under_a_condition, reads_the_second_of_a_heap, of_many, gains_and_losses, two_tests,
    pairs, labels_and_masks, interpolated, adds_to_the_table, keeps_rows, fills_a_row, gives_out_a_row, conversions_that_copy_nothing,
    counts_of_bins,
]  # fmt: skip
