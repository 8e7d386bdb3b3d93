"""Ints that data decide where Python wants a plain one: keys, positions, ends of slices and ranges, arguments of native functions."""

from __future__ import annotations

import bisect
import enum
import math
from collections import Counter, OrderedDict, defaultdict, deque

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


def order_of_keys(x):
    latest = {}
    for v in x:
        k = int(abs(v) * 5) % 3
        if k in latest:
            del latest[k]
        else:
            latest[k] = v
    total = 0.0
    for k, v in latest.items():
        total = 0.5 * total + v * (k + 1)
    return total


def order_of_many_keys(x):
    seen = {}
    for v in x:
        k = math.floor(2 * v)
        seen[k] = seen[k] + v if k in seen else v * v
        if len(seen) > 3:
            seen.pop(k)
    total = 0.0
    for k in seen:
        total = 0.5 * total + seen[k] * (k + 1)
    return total


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


def grouped(x):
    groups, others = defaultdict(list), {}
    for v in x:
        groups[int(abs(v) * 2) % 3].append(v)
        others.setdefault(math.floor(v), []).append(v)
    return sum(max(vs) * len(vs) for vs in groups.values()) + sum(min(vs) for vs in others.values())


def popped_keys(x):
    shares = {k: x[k] for k in range(5)}
    total = 0.0
    for v in x:
        total = 0.5 * total + shares.pop(int(abs(v) * 3) % 5, 0.1)
    return total + sum(shares.values()) + len(shares) * x[0]


def missing_key(x):
    shares = {0: x[0], 1: x[1]}
    try:
        return shares[int(abs(x[2]) * 3)] * 2
    except KeyError as error:
        return x[3] * len(error.args)


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


def nearest_neighbours(x):
    left, here, total = set(range(5)), 0.0, 0.0
    while left:
        k = min(sorted(left), key=lambda i: abs(here - x[i]))
        total = 1.1 * total + abs(here - x[k])
        here = x[k]
        left.remove(k)
    return total


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


def members_in_order(x):
    seats = set()
    for v in x:
        seats.add(int(abs(v) * 3) % 6)
    total = 0.0
    for k in seats:
        total = 0.5 * total + x[k]
    return total


def frozen(x):
    """Guards tell which members it has; the rest is merged."""
    seats, total = frozenset(k for k, v in enumerate(x[:2]) if v > 0), 0.0
    for v in x[2:]:
        total += v if v > 0 else v * v
    return total + len(seats) * x[0] + (x[1] if 1 in seats else 2.0) + sum(seats)


# Ranges


def as_many(x):
    total = 0.0
    for k in range(int(abs(x[0]) * 3)):
        total += x[1] * k + 1
    return total


def downwards(x):
    count = 0
    for v in x:
        if v > 0:
            count += 1
    total = 0.0
    for k in range(count - 1, -1, -1):
        total = 0.5 * total + x[k]
    return total


def left_early(x):
    total = 0.0
    for k in range(int(abs(x[0]) * 2), int(abs(x[1]) * 4)):
        if k == 3:
            continue
        if total > 5:
            break
        total += k * abs(x[2])
    else:
        total += 100
    return total


def steps(x):
    a, b = int(abs(x[0]) * 2), int(abs(x[1]) * 6)
    return sum(k * x[2] for k in range(b, a, -2)) + len(range(a, b, 3)) * x[3] + (x[4] if 2 in range(b) else 0.0)


def listed(x):
    numbers = []
    for k in range(int(abs(x[0]) * 3)):
        numbers.append(x[1] * k)
    return sum(numbers) + (numbers[-1] if numbers else 7.0)


def steps_from_few(x):
    a, total = int(abs(x[0]) * 2) % 3, 0.0
    for k in range(a, 9, 2):
        total = 0.5 * total + k * x[1]
    for k in range(9, a, -2):
        total = 0.5 * total + k * x[2]
    return total


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


def board(x):
    fields, here = [0.0] * 12, 0
    for v in x:
        here = (here + 1 + int(abs(v) * 2) % 6) % 12
        fields[here] += v
        if here == 5:
            here = 2
    return sum(f * f * (k + 1) for k, f in enumerate(fields))


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


def rows_of_arrays(x):
    matrix = x.reshape(2, 3) * 1.0
    i, j = int(abs(x[0]) * 3) % 2, int(abs(x[1]) * 3) % 3
    row = matrix[i]
    row[1] += 2 * x[2]
    return (matrix * matrix).sum() + matrix[i, j] + np.arange(6.0).reshape(2, 3)[i, j]


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


def parts_replaced(x):
    values, a, b = list(x), int(x[0] * 4), int(x[1] * 4)
    values[a:b] = [1.0, x[2]]
    values[:b] = [x[3]] * 2
    return sum((i + 1) * v for i, v in enumerate(values)) + len(values)


# Slices


def halves(x):
    k = int(min(max(x[0] + 2, 0), 6))
    values = [2 * v for v in x]
    return sum(values[:k]) - 0.5 * sum(values[k:]) + len(values[k:]) * x[1] + x[:k].sum() - np.sum(x[k:] ** 2)


def from_the_end(x):
    k, values = int(x[0] * 3), list(x)
    return sum(values[k:]) - 2 * sum(values[:k]) + len(values[-3:k]) * x[1] + sum(values[::-1][k : k + 2])


def cut_and_replaced(x):
    values = list(x)
    k, m = int(abs(x[0]) * 3) % 7, int(abs(x[1]) * 3) % 7
    values[k:m] = [1.0, x[2]]
    del values[k : k + 2]
    values.insert(int(x[0] * 4), 9.0)
    return sum((i + 1) * v for i, v in enumerate(values)) + len(values)


def parts_of_text(x):
    text, k = "hello world", int(abs(x[0]) * 4)
    part = text[k:]
    return len(part) * x[1] + part.count("o") + (x[2] if part.startswith("w") else 0.0)


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


def generator_of_numbers(x):
    seed, total = int(abs(x[0]) * 1000) % 10_000, 0.0
    while total < 5:
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        total += (abs(x[1]) + 0.2) * (seed >> 16) / 32768
    return total * x[2]


def ones(x):
    count, n = 0, int(abs(x[0]) * 300)
    while n:
        n &= n - 1
        count += 1
    return count * x[1]


PROGRAMS = {
    sets_of_bits: 1, generator_of_numbers: 1, ones: 1,
    histogram: 1, order_of_keys: 1, order_of_many_keys: 1, cells: 1, counted: 1, grouped: 1, popped_keys: 1,
    oldest_first: 1, missing_key: 1, names_as_keys: 1,
    displays: 1, nearest_neighbours: 1, occupied: 1, switches: 1, members_in_order: 1, frozen: 4, as_many: 1, downwards: 1, left_early: 1, steps: 1,
    board: 1, grid: 1, outside: 1, rows_of_arrays: 1, searched: 1, taken_out: 1, halves: 1, from_the_end: 1, cut_and_replaced: 1, parts_replaced: 1,
    read_where_it_is_inside: 1,
    parts_of_text: 1, supplies: 1, pairs_until_the_end: 1, native_functions: 1, texts: 1, calendar: 1,
    listed: 1, steps_from_few: 1, members_of_long_ranges: 1, listed_on_a_side: 4, listed_in_iterations: 7,
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
