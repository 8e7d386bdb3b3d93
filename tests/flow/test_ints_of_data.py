"""Ints that data decide where Python wants a plain one: keys, positions, ends of slices and ranges, arguments of native functions."""

from __future__ import annotations

import bisect
import enum
import math
from collections import Counter, OrderedDict, deque

import numpy as np
import pytest

from flow.one_tape import POINTS, recordings

# Keys of dicts


def histogram(x):
    counts = {}
    for v in x:
        k = math.floor(2 * v)
        counts[k] = counts.get(k, 0.0) + v
    return sum(w * w for w in counts.values()) + len(counts) * x[0] + counts.get(0, 1.0) + (3.0 if -1 in counts else x[1])


def cells(x):
    visited, i, j, total = {}, 0, 0, 0.0
    for v in x:
        if v > 0.3:
            i += 1
        elif v < -0.3:
            j -= 1
        else:
            i -= 1
        if (i, j) in visited:
            total += visited[i, j] * v
        else:
            visited[i, j] = v * v
    return total + len(visited) * x[0]


def counted(x):
    counts = Counter(math.floor(v) for v in x)
    counts.update(round(v) for v in x[:2])
    common, n = counts.most_common(1)[0]
    best = max(counts, key=counts.get)
    return common * x[0] + n * x[1] + counts[0] * x[2] + best + sum(n * n for n in counts.values())


def popped_keys(x):
    shares = {k: x[k] for k in range(5)}
    total = 0.0
    for v in x:
        total = 0.5 * total + shares.pop(int(abs(v) * 3) % 5, 0.1)
    return total + sum(shares.values()) + len(shares) * x[0]


def names_as_keys(x):
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    load = {}
    for v in x:
        day = names[int(abs(v) * 10) % 7]
        load[day] = load.get(day, 0.0) + v
    return max(load.values()) + 0.1 * load.get("sun", x[0])


def displays(x):
    k = int(abs(x[0]) * 2) % 3
    shares = {k: x[1], 1: x[2]}
    return shares[1] + len(shares) * x[3] + (shares[2] if 2 in shares else 0.0) + len({k, 1, 2})


# Sets


def occupied(x):
    a, b = {math.floor(v) for v in x[:3]}, set(map(math.floor, x[3:]))
    both = len(a & b) * x[0] + len(a | b) * x[1] + len(a - b)
    a.add(math.floor(x[4]))
    b.discard(0)
    return both + (x[2] if a <= b else 0.0) + (1.0 if 0 in a else x[3]) + len(a ^ b)


def switches(x):
    on = set()
    for v in x:
        if v > 0.5:
            on.add("heat")
        elif v < -0.5:
            on.discard("heat")
            on.add("vent")
        if v > 1 and "vent" in on:
            on.remove("vent")
    return (x[0] if "heat" in on else x[1]) + (x[2] if "vent" in on else 0.0) + len(on)


def frozen(x):
    """Guards tell which members it has; the rest is merged."""
    seats, total = frozenset(k for k, v in enumerate(x[:2]) if v > 0), 0.0
    for v in x[2:]:
        total += v if v > 0 else v * v
    return total + len(seats) * x[0] + (x[1] if 1 in seats else 2.0) + sum(seats)


# Ranges


def listed(x):
    numbers = []
    for k in range(int(abs(x[0]) * 3)):
        numbers.append(x[1] * k)
    return sum(numbers) + (numbers[-1] if numbers else 7.0)


def listed_on_a_side(x):
    """More numbers than it is made for at first."""
    n, total = int(abs(x[0]) * 20), x[1]
    if x[2] > 0:
        values = list(range(n))
        total += sum(values) + len(values) * x[3]
    return total


def listed_in_iterations(x):
    total, s = x[1], 0.0
    while s < 1.5:
        total += sum(list(range(int(s * 20)))[::-1])
        s += abs(x[2]) + 0.3
    return total


def members_of_long_ranges(x):
    a, b = int(abs(x[0]) * 2), int(abs(x[1]) * 1000)
    return (x[2] if 8 in range(a, b, 3) else x[3]) + (x[4] if 12 in range(b, a, -4) else 0.0) + (x[5] if 7 in range(a, b, 2) else 1.0)


# Positions


def grid(x):
    fields, i, j = [[0.0] * 4 for _ in range(3)], 0, 0
    for v in x:
        if v > 0.3:
            i = min(i + 1, 2)
        elif v < -0.3:
            j = (j + 1) % 4
        else:
            i = max(i - 1, 0)
        fields[i][j] += v
    return sum(sum(row) * (k + 1) for k, row in enumerate(fields)) + fields[1][2] * 3


def outside(x):
    values = [v * v for v in x]
    try:
        return values[int(x[0] * 6)] + "abcdef"[int(x[1] * 6) :].count("e")
    except IndexError:
        return x[2]


def searched(x):
    edges, labels = [-1.0, -0.3, 0.4, 1.2], ["a", "b", "c", "d", "e"]
    shares = dict(zip(labels, x))
    total = sum(shares[labels[bisect.bisect(edges, v)]] * v for v in x)
    least = int(np.argmin(x))
    return total + edges[min(np.searchsorted(np.array(edges), x[0]), 3)] + sum(list(x)[:least])


def taken_out(x):
    values, ring, total = list(x), deque(x), 0.0
    for _ in range(4):
        total = 0.7 * total + values.pop(int(abs(values[0]) * 10) % len(values))
    ring.rotate(int(x[0] * 3))
    ring[int(abs(x[1]) * 3) % 6] += 1.0
    return total + sum(values) + sum((k + 1) * v for k, v in enumerate(ring))


def oldest_first(x):
    """Python's own method, which needs to know the keys."""
    seen, total = OrderedDict(), 0.0
    for k, v in enumerate(x[:3]):
        seen[int(v > 0)] = v * (k + 1)
    while seen:
        total = 0.5 * total + seen.popitem(last=False)[1]
    return total


# Slices


def read_where_it_is_inside(x):
    """On the sides that are not taken the position is outside: an array, a list, a row, and several positions."""
    k, rows, total = int(x[0] * 8), np.arange(8.0).reshape(4, 2), 0.0
    if 0 <= k < 6:
        total += x[k] + list(x)[k] * 2.0
    if k < 4 and k >= -4:
        total += rows[k, 1] * x[1] + rows[k] @ x[:2]
        total += (x[np.array([k, 0]) + 1] if k > 0 else x[:2]) @ x[2:4]
    while k < 5:
        total += x[k] if k >= 0 else x[1]
        k += 1
    return total


# Iterators


def supplies(x):
    supply, total = iter(x), 0.0
    while total < 1.0:
        total += 0.3 * abs(next(supply, 5.0))
    for v in supply:
        if v > 0.5:
            break
        total += v
    return total + sum(0.5 * v for v in supply) + next(supply, 3.0)


def pairs_until_the_end(x):
    supply, total = iter([2 * v for v in x]), 0.0
    try:
        while True:
            v = next(supply)
            if v > 0:
                v += next(supply)
            total = 0.7 * total + v
    except StopIteration:
        total += 10.0
    return total + sum(a * b for a, b in zip(*[iter(x)] * 2))


# Native functions and texts


class Colour(enum.Enum):
    RED, GREEN, BLUE = range(3)


def native_functions(x):
    n = int(abs(x[0]) * 2) % 4
    weights = {Colour.RED: x[1], Colour.GREEN: x[2], Colour.BLUE: x[3]}
    return len(np.zeros(n + 1)) * x[4] + np.linspace(0, 1, n + 1).mean() + math.comb(5, n) * x[5] + weights[Colour(min(n, 2))]


def texts(x):
    k = int(abs(x[0]) * 3) % 4
    shares = {"room00": 1.0, "room01": x[1], "room02": x[2], "room03": x[3]}
    return shares[f"room{k:02d}"] * x[4] + len("*" * k) + sum([x[5]] * k) + (x[2] if str(k) == "2" else 0.0)


def calendar(x):
    days, names = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], "jan feb mar apr may jun jul aug sep oct nov dec".split()
    day, month = int(abs(x[0]) * 150) % 365, 0
    while day >= days[month]:
        day -= days[month]
        month += 1
    hours, minutes = divmod(int(abs(x[1]) * 1000), 60)
    price = {"jan": 1.0, "feb": 2.0, "mar": 1.5}.get(names[month], x[1])
    return price * x[2] + 0.01 * day + hours % 24 * x[3] + minutes


def sets_of_bits(x):
    bits, seen, at, length = 0, 0, 0, 0.0
    for k, v in enumerate(x):
        if v > 0:
            bits |= 1 << k
    while seen != 0b1111:
        seen |= 1 << at
        nearest, there = 1e9, at
        for k in range(4):
            if not seen >> k & 1 and abs(x[at] - x[k]) < nearest:
                nearest, there = abs(x[at] - x[k]), k
        if there == at:
            break
        length, at = length + nearest, there
    return length + x[0] * (bits & 5) + (~bits & 7) + (bits ^ 9) * x[1] + (-bits | 4) + (x[2] > 0 | (x[3] > 0)) * x[4] + (True & bits)


def ones(x):
    count, n = 0, int(abs(x[0]) * 300)
    while n:
        n &= n - 1
        count += 1
    return count * x[1]


PROGRAMS = {
    sets_of_bits: 1, ones: 1, histogram: 1, cells: 1, counted: 1, popped_keys: 1, oldest_first: 1, names_as_keys: 1, displays: 1,
    occupied: 1, switches: 1, frozen: 4, grid: 1, outside: 1, searched: 1, taken_out: 1, read_where_it_is_inside: 1, supplies: 1,
    pairs_until_the_end: 1, native_functions: 1, texts: 1, calendar: 1, listed: 1, members_of_long_ranges: 1, listed_on_a_side: 4,
    listed_in_iterations: 7,
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_ints_of_data_need_few_recordings(program):
    """Values and gradients are those of plain Python and of a tape of each point."""
    assert recordings(program) == PROGRAMS[program]


def beyond_64_bits(x):
    n = int(abs(x[0]) * 1e9) * 2_000_000_000
    return x[1] * float((n ^ 1) + (1 << 62) - 1)


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_bits_of_ints_that_become_too_large_are_pythons():
    """Each point has a tape of its own, on which the int is Python's."""
    assert recordings(beyond_64_bits, POINTS[:4]) == 4
