"""Programs with long loops that look items up in lists, tuples and dicts, by the number of the turn or by other positions."""

from __future__ import annotations

import numpy as np

from .item_programs import (
    BY_PAIR,
    COUNT,
    COUNTS,
    FLAGGED,
    LISTED,
    NUMBERS,
    PAIRS,
    RECORDS,
    ROWS,
    TIMED,
    TURNS,
    VECTORS,
    VISITS,
    huber,
    spread,
)

rng = np.random.default_rng(20261129)

ORDER = [int(k) for k in rng.permutation(TURNS)]
POSITIONS = [(int(a), int(b)) for a, b in rng.integers(0, TURNS, (TURNS, 2))]
TREE = [{"parent": int(rng.integers(0, max(k, 1))), "branch": (float(v), [float(v), 2.0])} for k, v in enumerate(NUMBERS)]
BY_NUMBER = {3 * k: (v, k % COUNT) for k, v in enumerate(NUMBERS)}
COLUMNS = {"time": [t for t, _ in TIMED], "level": NUMBERS}
FEW = [(0.3, 1.0), (-0.4, 2.0), (0.9, -0.5)]


def tuples(p):
    s = 0.0
    for i in range(len(TIMED)):
        t, y = TIMED[i]
        s += huber(y - p[0] * np.sin(t))
    return s


def parts_of_tuples(p):
    s = p[1]
    for i in range(len(TIMED)):
        s = s + 0.1 * (huber(TIMED[i][1] - p[0] * TIMED[i][0]) - s)
    return s


def dicts(p):
    x, s = spread(p), 0.0
    for i in range(len(RECORDS)):
        s += huber(RECORDS[i]["level"] - x[RECORDS[i]["group"]] * RECORDS[i]["time"])
    return s


def named_tuples(p):
    x, s = spread(p), 0.0
    for i in range(len(VISITS)):
        visit = VISITS[i]
        s += huber(visit.level - x[visit.group] * visit.time) + VISITS[i].scaled * p[0]
    return s


def vectors(p):
    s = 0.0
    for i in range(len(VECTORS)):
        s += huber(VECTORS[i] @ p) + VECTORS[i][0] * p[1]
    return s


def pairs(p):
    x, s = spread(p), 0.0
    for k in range(len(PAIRS)):
        a, b = PAIRS[k]
        s += huber(x[a] - 2.0 * x[b])
    return s


def rows_with_pairs(p):
    x, s = spread(p), 0.0
    for k in range(len(ROWS)):
        (a, b), w = ROWS[k]
        s += w * huber(x[a] - x[b])
    return s


def previous(p):
    s = 0.0
    for i in range(1, len(TIMED)):
        (t, y), (before, level) = TIMED[i], TIMED[i - 1]
        s += huber(y - level * np.exp(-p[0] ** 2 * (t - before)) - p[1])
    return s


def previous_but_of_the_first(p):
    s = 0.0
    for i in range(len(TIMED)):
        t, y = TIMED[i]
        level = TIMED[i - 1][1] if i > 0 else p[1]
        s += huber(y - p[0] * level * t)
    return s


def next_but_of_the_last(p):
    s, n = 0.0, len(TIMED)
    for i in range(n):
        y = TIMED[i][1]
        if i + 1 < n:
            y = y - p[1] * TIMED[i + 1][1]
        s += huber(y - p[0])
    return s


def backwards(p):
    s, n = p[1], len(TIMED)
    for i in range(n):
        t, y = TIMED[n - 1 - i]
        s = 0.9 * s + huber(y - p[0] * t) + TIMED[-1 - i][0]
    return s


def numbers_by_a_list_of_positions(p):
    s = p[1]
    for i in range(TURNS):
        s = 0.9 * s + huber(NUMBERS[ORDER[i]] - p[0])
    return s


def tuples_by_a_list_of_positions(p):
    s = p[1]
    for k in ORDER:
        t, y = TIMED[k]
        s = 0.9 * s + huber(y - p[0] * t)
    return s


def items_of_items(p):
    x, s = spread(p), 0.0
    for i in range(TURNS):
        j, k = POSITIONS[i]
        (a, b), (t, y) = PAIRS[j], TIMED[k]
        s += huber(y - x[a] * t + x[b] * NUMBERS[POSITIONS[j][0]])
    return s


def parents(p):
    s = 0.0
    for i in range(TURNS):
        node = TREE[i]
        parent = TREE[node["parent"]]
        s += huber(node["branch"][0] - p[0] * parent["branch"][1][0]) * parent["branch"][1][1] + p[1]
    return s


def every_third(p):
    s = 0.0
    for i in range(0, TURNS, 2):
        s += huber(TIMED[i][1] - p[0]) + huber(NUMBERS[i // 2] - p[1]) + COUNTS[(7 * i) % TURNS]
    return s


def beside_what_it_goes_over(p):
    x, s = spread(p), 0.0
    for i, (v, pair) in enumerate(zip(NUMBERS, PAIRS)):
        s += huber(v * x[PAIRS[i][1]] - x[pair[0]] * TIMED[i][1])
    return s


def counted_by_while(p):
    s, i = 0.0, 0
    while i < len(TIMED):
        t, y = TIMED[i]
        s += huber(y - p[0] * t)
        i += 1
    return s + i * p[1]


def on_one_side(p):
    s = p[1]
    for i in range(TURNS):
        if s > 1.0:
            t, y = TIMED[i]
            s = s - 0.1 * huber(y - p[0] * t)
        else:
            s = s + 0.2 * huber(TIMED[ORDER[i]][1] - p[0]) + 0.05
    return s


def bools(p):
    s = p[1]
    for i in range(TURNS):
        v, is_up, nothing, unit = FLAGGED[i]
        if is_up:
            s = s + 0.1 * (huber(v - p[0]) - s)
        elif nothing is None and unit == "kg":
            s = s - 0.05 * s * p[0]
    return s


def dicts_by_numbers(p):
    x, s = spread(p), 0.0
    for i in range(TURNS):
        v, g = BY_NUMBER[3 * i]
        s += huber(v - x[g])
    return s


def dicts_by_pairs(p):
    s = 0.0
    for pair in BY_PAIR:
        s += huber(p[0] - BY_PAIR[pair] * p[1])
    for i, j in BY_PAIR:
        s += huber(p[1] - BY_PAIR[i, j] * p[0])
    return s


def lists_in_a_dict(p):
    s = 0.0
    for i in range(len(COLUMNS["time"])):
        s += huber(COLUMNS["level"][i] - p[0] * COLUMNS["time"][i]) + p[1]
    return s


def _term(i, p):
    t, y = TIMED[i]
    return huber(y - p[0] * t) * NUMBERS[ORDER[i]]


def in_a_function(p):
    s = 0.0
    for i in range(TURNS):
        s += _term(i, p) + p[1]
    return s


def of_a_closure():
    data = list(TIMED)

    def closure(p):
        s = p[1]
        for i in range(len(data)):
            t, y = data[i]
            s = 0.9 * s + huber(y - p[0] * t)
        return s

    return closure


def of_a_list_made_before(p):
    data = [(0.01 * k, {"level": v}, [v, k]) for k, v in enumerate(NUMBERS)]
    s = 0.0
    for i in range(len(data)):
        t, at, (v, k) = data[i]
        s += huber(at["level"] - p[0] * t) + 0.01 * k * v * p[1]
    return s


def one_loop_in_another(p):
    s = 0.0
    for i in range(TURNS):
        t, y = TIMED[i]
        for j in range(len(FEW)):
            w, m = FEW[j]
            s += w * huber(y - p[0] * t - m * p[1])
    return s


def one_long_loop_in_another(p):
    s = 0.0
    for i in range(80):
        t, y = TIMED[i]
        r = p[1]
        for j in range(80):
            r = 0.9 * r + LISTED[j][0] * t * huber(y - TIMED[i][0] * p[0]) + LISTED[i + j][1]
        s += huber(r)
    return s


def writes_what_it_looks_up(p):
    h = np.zeros(TURNS)
    h[0] = p[1]
    for i in range(1, TURNS):
        h[i] = 0.9 * h[i - 1] + huber(TIMED[i][1] - p[0] * TIMED[i - 1][1])
    return h @ h


def keeps_what_it_looks_up(p):
    found = []
    for i in range(TURNS):
        t, y = TIMED[i]
        found.append(huber(y - p[0] * t))
    return np.sum(np.array(found)) + p[1]


def by_the_last_item(p):
    x, s = spread(p), 0.0
    for i in range(TURNS):
        a, b = PAIRS[i]
        s += huber(x[a] - TIMED[i][1] * x[b])
    return s + TIMED[i][0] * p[1]


ONE_TURN = [
    tuples, parts_of_tuples, dicts, named_tuples, vectors, pairs, rows_with_pairs, previous, previous_but_of_the_first,
    next_but_of_the_last, backwards, numbers_by_a_list_of_positions, tuples_by_a_list_of_positions, items_of_items, parents, every_third,
    beside_what_it_goes_over, counted_by_while, on_one_side, bools, dicts_by_numbers, dicts_by_pairs, lists_in_a_dict, in_a_function,
    of_a_closure(), of_a_list_made_before, one_loop_in_another, one_long_loop_in_another, writes_what_it_looks_up, keeps_what_it_looks_up,
    by_the_last_item,
]  # fmt: skip


# Of these some or all loops are recorded turn by turn.


def at_positions_of_data(p):
    s, k = 0.0, 0
    for i in range(TURNS):
        t, y = TIMED[k]
        s += huber(y - p[0] * t)
        if s > 10.0 * (i % 7):
            k += 1
    return s


def appends_to_what_it_looks_up(p):
    data = [(1.0, 2.0)]
    s = 0.0
    for i in range(TURNS):
        a, b = data[i]
        data.append((b, a))
        s += huber(a - p[0])
    return s


def changes_what_it_looks_up(p):
    data = [[v, 0.0] for v in NUMBERS]
    s = 0.0
    for i in range(1, TURNS):
        data[i][1] = data[i - 1][1] + 1.0
        s += huber(data[i][0] * p[0] - data[i][1] * p[1])
    return s


def changes_it_between_loops(p):
    data = [[v, 0.5] for v in NUMBERS]
    s = 0.0
    for i in range(TURNS):
        v, w = data[i]
        s += huber(v - w * p[0])
    data[7][1] = 9.0
    data[8] = [3.0, 4.0]
    for i in range(TURNS):
        v, w = data[i]
        s += huber(v - w * p[0])
    return s


def items_of_data(p):
    data = [(v * p[0], p[1]) for v in NUMBERS]
    s = 0.0
    for i in range(TURNS):
        v, w = data[i]
        s += huber(v - w)
    return s


def other_items(p):
    data, s = [(v, None if k == 70 else v) for k, v in enumerate(NUMBERS)], 0.0
    for i in range(TURNS):
        v, w = data[i]
        s += huber(v - p[0]) if w is None else huber(w - p[1])
    return s


def changes_arrays_that_it_looks_up(p):
    data, s = [np.array([v, 1.0]) for v in NUMBERS], 0.0
    for i in range(1, TURNS):
        v = data[i]
        v *= 2.0
        s += huber(data[i - 1] @ p)
    return s


def changes_arrays_that_it_goes_over(p):
    data, s = [np.array([v, 1.0]) for v in NUMBERS], 0.0
    for v in data:
        v *= 2.0
        s += huber(data[0] @ p)
    return s


def changes_rows_that_it_goes_over(p):
    table, s = np.ones((TURNS, 2)), 0.0
    for v in table:
        v *= 2.0
        s += huber(v @ p)
    for v in table:
        s += huber(v @ p)
    return s


def changes_a_list_of_its_turn(p):
    s = 0.0
    for i in range(TURNS):
        own = [1.0, 2.0]
        own.append(3.0)
        before = own[i % 3]
        own.append(4.0)
        s += huber(own[i % 4] * p[0] - before * p[1])
    return s


OTHERS = [
    changes_arrays_that_it_looks_up, changes_arrays_that_it_goes_over, changes_rows_that_it_goes_over, changes_a_list_of_its_turn,
    at_positions_of_data, appends_to_what_it_looks_up, changes_what_it_looks_up, changes_it_between_loops, items_of_data, other_items,
]  # fmt: skip


# Asked only where p[0] > 5.


def asks_for_an_int(p):
    s = 0.0
    for i in range(TURNS):
        k, _ = PAIRS[i]
        s += huber(p[k % 2])
        if p[0] > 5.0:
            s += 1.0 if isinstance(k, int) else 2.0
    return s


def asks_for_a_float(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0] - TIMED[i][1])
        if p[0] > 5.0:
            s += 1.0 if type(TIMED[i][0]) is float else 2.0
    return s


def looks_up_more(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0])
        if p[0] > 5.0:
            k, _ = PAIRS[ORDER[i]]
            s += k * p[1] + VISITS[i].level
    return s


def negates_a_bool(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0] * NUMBERS[i] - p[1])
        if p[0] > 5.0:
            s += -FLAGGED[i][1] + FLAGGED[i][1] ** 2
    return s


ASKING = [asks_for_an_int, asks_for_a_float, looks_up_more, negates_a_bool]


def remainder_by_zero(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0])
        if p[0] > 5.0:
            s += 5 % PAIRS[i][0]
    return s


def quotient_of_zero(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0])
        if p[0] > 5.0:
            s += 1.0 / FLAGGED[i][1]
    return s


def beyond_the_end(p):
    s = 0.0
    for i in range(TURNS):
        s += huber(p[0])
        if p[0] > 5.0:
            s += TIMED[i + 1][0]
    return s


FAILING = {remainder_by_zero: ZeroDivisionError, quotient_of_zero: ZeroDivisionError, beyond_the_end: IndexError}


def of_closure(make, read):
    data = [make(float(v)) for v in np.sin(np.arange(TURNS))]

    def f(p):
        s = 0.0
        for i in range(len(data)):
            s += huber(read(data[i]) - p[0])
            if s > 5.0 * p[1]:
                s = s - 0.1 * read(data[i - 3]) * (s if p[1] > 0.0 else p[0])
        return s

    return f


def of_default(make, read):
    def f(p, data=[make(float(v)) for v in np.sin(np.arange(TURNS))]):  # noqa: B006, B008 -- a default is what is read
        s = 0.0
        for i in range(len(data)):
            s += huber(read(data[i]) - p[0])
            if p[1] > 0.0:
                s = s - 0.1 * read(data[i - 3]) * p[1]
        return s

    return f


# What a list holds, and how an item of it is read.
ITEMS = {
    "number": (lambda v: v, lambda item: item),
    "tuple": (lambda v: (0.5, v), lambda item: item[1]),
    "list": (lambda v: [0.5, v], lambda item: item[1]),
    "dict": (lambda v: {"t": 0.5, "y": v}, lambda item: item["y"]),
    "array": (lambda v: np.array([0.5, v]), lambda item: item[1]),
    "deep": (lambda v: (0.5, [{"y": v}]), lambda item: item[1][0]["y"]),
}
OF_ITEMS = {f"{form.__name__}.{kind}": form(make, read) for form in (of_closure, of_default) for kind, (make, read) in ITEMS.items()}
