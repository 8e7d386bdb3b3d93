"""Programs with long loops over items that are not alike: arrays and lists of several lengths, and strings that decide what a turn does."""

from __future__ import annotations

import numpy as np

from .item_programs import COUNT, NUMBERS, TURNS, huber, spread

rng = np.random.default_rng(20261129)

LENGTHS = [int(n) for n in rng.integers(3, 9, TURNS)]
RESPONSES = [rng.normal(size=n) for n in LENGTHS]
DESIGNS = [rng.normal(size=(n, 2)) for n in LENGTHS]
LISTED = [[float(v) for v in y] for y in RESPONSES]
TOGETHER = [(y, x, int(g)) for y, x, g in zip(RESPONSES, DESIGNS, rng.integers(0, COUNT, TURNS))]
AS_DICTS = [{"y": y, "g": g} for y, _, g in TOGETHER]
EVENTS = [("dose" if v < -0.2 else "sample" if v < 1.0 else "rest", float(v)) for v in NUMBERS]
NAMED = [{"kind": kind, "value": v} for kind, v in EVENTS]
MISSING = [(float(k), None if v > 1.0 else v) for k, v in enumerate(NUMBERS)]


def sums_of_groups(p):
    s = 0.0
    for y in RESPONSES:
        s += huber(np.sum(y) * p[0] - p[1])
    return s


def regressions(p):
    s = 0.0
    for y, x in zip(RESPONSES, DESIGNS):
        s += np.sum((y - x @ p) ** 2)
    return s


def hierarchy(p):
    a, s = spread(p), 0.0
    for y, x, g in TOGETHER:
        r = y - x @ p - a[g]
        s += 0.5 * r @ r + np.log(1.0 + a[g] ** 2) * len(y)
    return s


def dicts(p):
    a, s = spread(p), 0.0
    for each in AS_DICTS:
        s -= np.sum(each["y"] * a[each["g"]]) + a[each["g"]] ** 2
    return s


def numbered(p):
    a, s = np.sin(p[0] * np.arange(TURNS)) + p[1], 0.0
    for g, y in enumerate(RESPONSES):
        s += np.sum((y - a[g]) ** 2)
    return s


def one_number_after_the_other(p):
    s = 0.0
    for y in LISTED:
        for v in y:
            s += huber(v - p[0])
        s += p[1]
    return s


def one_side_of_a_branch(p):
    s = 0.0
    for y in RESPONSES:
        m = np.mean(y) - p[0]
        if m > 0.0:
            s += m * p[1]
        else:
            s = s - m**2
    return s


def two_sums(p):
    s, t = 0.0, p[1]
    for y in RESPONSES:
        s += np.sum(y * p[0])
        t = t + np.sum(np.exp(0.1 * y * p[1]))
    return s * t


def sums_of_arrays(p):
    g = np.zeros(2)
    for y, x in zip(RESPONSES, DESIGNS):
        g = g + x.T @ (y - x @ p)
    return g @ g


def strings(p):
    s = 0.0
    for kind, v in EVENTS:
        if kind == "dose":
            s += huber(v - p[0])
        elif kind in ("sample", "none"):
            s += huber(v - p[1])
        else:
            s += 0.1
    return s


def strings_in_dicts(p):
    s = 0.0
    for event in NAMED:
        s += huber(event["value"] - p[0]) if event["kind"] == "dose" else huber(event["value"] * p[1])
    return s


def strings_as_keys(p):
    s, rates = 0.0, {"dose": p[0], "sample": p[1], "rest": p[0] * p[1]}
    for kind, v in EVENTS:
        s += huber(v - rates[kind])
    return s


def missing_numbers(p):
    s = 0.0
    for t, v in MISSING:
        if v is not None:
            s += huber(v - p[0] * np.sin(t))
        else:
            s += p[1]
    return s


def counts_its_turns(p):
    a, s, k = np.sin(p[0] * np.arange(TURNS)), 0.0, 0
    for y in RESPONSES:
        s += np.sum(y - a[k]) ** 2
        k += 1
    return s + k * p[1]


ONE_TURN = [
    counts_its_turns, sums_of_groups, regressions, hierarchy, dicts, numbered, one_number_after_the_other, one_side_of_a_branch, two_sums, sums_of_arrays,
    strings, strings_in_dicts, strings_as_keys, missing_numbers,
]  # fmt: skip


# The order of the turns makes a difference for these.


def filters(p):
    s = p[1]
    for y in RESPONSES:
        s = 0.9 * s + np.sum((y - p[0]) ** 2) * 0.1
    return s


def doses(p):
    s = amount = p[1] ** 2
    for kind, v in EVENTS:
        amount = 0.9 * amount
        if kind == "dose":
            amount += abs(v) * p[0]
        else:
            s += huber(v - amount)
    return s


def keeps_the_last(p):
    s, last = 0.0, p[0]
    for y in RESPONSES:
        s += np.sum(y) * p[1]
        last = y[0] * p[0]
    return s + last


def appends(p):
    found = []
    for y in RESPONSES:
        found.append(np.sum((y - p[0]) ** 2))
    return np.sum(np.array(found) * np.arange(TURNS)) * p[1]


def grows(p):
    s = p[1]
    for y in RESPONSES:
        s += 1e-4 * s * np.sum(y * p[0])
    return s


def stops(p):
    s = p[1]
    for y in RESPONSES:
        s += np.sum(y * y) * p[0] ** 2
        if s > 20.0:
            break
    return s


def decides_by_its_sum(p):
    s = 0.0
    for y in RESPONSES:
        s += np.sum(y * p[0]) if s < 3.0 else np.sum(y * p[1])
    return s


def adds_two_of_its_sums(p):
    s, t = p[0], p[1]
    for y in RESPONSES:
        s, t = s + np.sum(y), t + 1e-3 * s
    return s * t


def exchanges_its_sums(p):
    s, t = p[0], p[1]
    for y in RESPONSES:
        s, t = t + np.sum(y), s - 0.5
    return s - 2.0 * t


def subtracts_from_it(p):
    s = p[0]
    for y in RESPONSES:
        s = np.sum(y) - s
    return s * p[1]


IN_ORDER = [
    filters, doses, keeps_the_last, appends, grows, decides_by_its_sum, adds_two_of_its_sums, exchanges_its_sums,
    subtracts_from_it,
]  # fmt: skip


def changes_its_items(p):
    s = 0.0
    items = [y.copy() for y in RESPONSES]
    for y in items:
        y *= 2.0
        s += np.sum(y * p[0])
    return s + np.sum(items[3]) * p[1]


def changes_its_items_in_order(p):
    s = p[1]
    items = [y.copy() for y in RESPONSES]
    for y in items:
        y += 1.0
        s = 0.9 * s + np.sum(y * p[0])
    return s + np.sum(items[3]) * p[1]


OTHERS = [stops, changes_its_items, changes_its_items_in_order]


# On a side that is taken only where p[0] > 5.


def decides_by_its_sum_later(p):
    s = p[1]
    for y in RESPONSES:
        s += np.sum(y * p[0])
        if p[0] > 5.0:
            s = 0.5 * s
    return s


def asks_for_the_length(p):
    s = 0.0
    for y in LISTED:
        s += huber(p[0] - y[-1])
        if p[0] > 5.0:
            s += len(y) * p[1] + (1.0 if isinstance(y[0], float) else 2.0)
    return s


def turns_around(p):
    s = p[1]
    for kind, v in EVENTS:
        s = 0.9 * s + huber(v - p[0])
        if p[0] > 5.0:
            s = s + (p[1] if kind == "dose" else -v)
    return s


ASKING = [turns_around, decides_by_its_sum_later, asks_for_the_length]
