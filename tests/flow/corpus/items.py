"""Rolled loops over records: tuples, dicts, objects, strings, and look-ups by them."""

from __future__ import annotations

import numpy as np

from . import TWO

POINTS = TWO
rng = np.random.default_rng(20261127)
STEPS, COUNT, ONE = 400, 6, 1
NUMBERS = [float(v) for v in rng.normal(size=STEPS)]
LISTED = [[float(a), np.float64(b)] for a, b in rng.normal(size=(STEPS, 2))]
RECORDS = [
    {"time": 0.01 * k, "level": float(v), "group": int(g)}
    for k, (v, g) in enumerate(zip(NUMBERS, rng.integers(0, COUNT, STEPS)))
]
FLAGGED = [(float(v), bool(v > 0.3), None, "kg") for v in rng.normal(size=STEPS)]
BY_PAIR = {(a, 100 * b): float(v) for a in range(20) for b in range(20) for v in [rng.normal()]}
COUNTS = [int(v) for v in rng.integers(0, COUNT, STEPS)]
VECTORS = [rng.normal(size=2) for _ in range(STEPS)]
LENGTHS = [int(n) for n in rng.integers(3, 9, STEPS)]
RESPONSES = [rng.normal(size=n) for n in LENGTHS]
DESIGNS = [rng.normal(size=(n, 2)) for n in LENGTHS]
LISTS = [[float(v) for v in y] for y in RESPONSES]
TOGETHER = [(y, x, int(g)) for y, x, g in zip(RESPONSES, DESIGNS, rng.integers(0, COUNT, STEPS))]
AS_DICTS = [{"y": y, "g": g} for y, _, g in TOGETHER]
EVENTS = [("dose" if v < -0.2 else "sample" if v < 1.0 else "rest", float(v)) for v in NUMBERS]


def huber(r):
    return r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0


def spread(p):
    """Six numbers of two."""
    return np.concatenate([p, p * p, np.sin(p)])


def lists(p):
    s = p[1]
    for row in LISTED:
        s = s + 0.1 * (huber(sum(row) / len(row) - p[0]) - s)
    return s


def dicts(p):
    x, s = spread(p), 0.0
    for record in RECORDS:
        s += huber(record["level"] - x[record["group"]] * record["time"])
    return s


def items_of_a_dict(p):
    x, s = spread(p), 0.0
    for (i, j), v in BY_PAIR.items():
        s += huber(v - x[i % COUNT] * x[j % COUNT])
    return s


def asks_for_one(p):
    s = 0.0
    for k in COUNTS:
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 1.0 if k is ONE else 2.0
    return s


def inverts_a_bool(p):
    s = 0.0
    for v, is_up, _, _ in FLAGGED:
        s += huber(p[0] * v - p[1])
        if p[0] > 5.0:
            s += ~int(is_up) + ~is_up
    return s


# Look-ups


def vectors_looked_up(p):
    s = 0.0
    for i in range(len(VECTORS)):
        s += huber(VECTORS[i] @ p) + VECTORS[i][0] * p[1]
    return s


def of_a_list_made_before(p):
    data = [(0.01 * k, {"level": v}, [v, k]) for k, v in enumerate(NUMBERS)]
    s = 0.0
    for i in range(len(data)):
        t, at, (v, k) = data[i]
        s += huber(at["level"] - p[0] * t) + 0.01 * k * v * p[1]
    return s


def changes_a_list_of_its_iteration(p):
    s = 0.0
    for i in range(STEPS):
        own = [1.0, 2.0]
        own.append(3.0)
        before = own[i % 3]
        own.append(4.0)
        s += huber(own[i % 4] * p[0] - before * p[1])
    return s


def of_closure(make, read):
    data = [make(float(v)) for v in np.sin(np.arange(STEPS))]

    def f(p):
        s = 0.0
        for i in range(len(data)):
            s += huber(read(data[i]) - p[0])
            if s > 5.0 * p[1]:
                s = s - 0.1 * read(data[i - 3]) * (s if p[1] > 0.0 else p[0])
        return s

    return f


def of_default(make, read):
    def f(p, data=[make(float(v)) for v in np.sin(np.arange(STEPS))]):  # noqa: B006, B008 -- a default is what is read
        s = 0.0
        for i in range(len(data)):
            s += huber(read(data[i]) - p[0])
            if p[1] > 0.0:
                s = s - 0.1 * read(data[i - 3]) * p[1]
        return s

    return f


# What a list holds, and how an item is read
ITEMS = {
    "number": (lambda v: v, lambda item: item),
    "tuple": (lambda v: (0.5, v), lambda item: item[1]),
    "list": (lambda v: [0.5, v], lambda item: item[1]),
    "dict": (lambda v: {"t": 0.5, "y": v}, lambda item: item["y"]),
    "array": (lambda v: np.array([0.5, v]), lambda item: item[1]),
    "deep": (lambda v: (0.5, [{"y": v}]), lambda item: item[1][0]["y"]),
}
OF_ITEMS = {
    f"{form.__name__}.{kind}": form(make, read)
    for form in (of_closure, of_default)
    for kind, (make, read) in ITEMS.items()
}


# Items that differ in length and kind


def sums_of_groups(p):
    s = 0.0
    for y in RESPONSES:
        s += huber(np.sum(y) * p[0] - p[1])
    return s


def hierarchy(p):
    a, s = spread(p), 0.0
    for y, x, g in TOGETHER:
        r = y - x @ p - a[g]
        s += 0.5 * r @ r + np.log(1.0 + a[g] ** 2) * len(y)
    return s


def dicts_of_vectors(p):
    a, s = spread(p), 0.0
    for each in AS_DICTS:
        s -= np.sum(each["y"] * a[each["g"]]) + a[each["g"]] ** 2
    return s


def sums_of_arrays(p):
    g = np.zeros(2)
    for y, x in zip(RESPONSES, DESIGNS):
        g = g + x.T @ (y - x @ p)
    return g @ g


def strings_that_decide(p):
    s = 0.0
    for kind, v in EVENTS:
        if kind == "dose":
            s += huber(v - p[0])
        elif kind in ("sample", "none"):
            s += huber(v - p[1])
        else:
            s += 0.1
    return s


def exchanges_its_sums(p):
    s, t = p[0], p[1]
    for y in RESPONSES:
        s, t = t + np.sum(y), s - 0.5
    return s - 2.0 * t


def asks_for_the_length(p):
    s = 0.0
    for y in LISTS:
        s += huber(p[0] - y[-1])
        if p[0] > 5.0:
            s += len(y) * p[1] + (1.0 if isinstance(y[0], float) else 2.0)
    return s


PROGRAMS = [
    lists, dicts, items_of_a_dict, asks_for_one, inverts_a_bool, vectors_looked_up, of_a_list_made_before, changes_a_list_of_its_iteration,
    sums_of_groups, hierarchy, dicts_of_vectors, sums_of_arrays, strings_that_decide, exchanges_its_sums, asks_for_the_length,
]  # fmt: skip
CASES = {
    **OF_ITEMS,
}  # fmt: skip
