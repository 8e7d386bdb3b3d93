"""Entries of plain arrays at positions that are data are gathered, where Python would ask for each position."""

import numpy as np

import tapediff as td

RNG = np.random.default_rng(5)
DATA, TABLE, NAMES = RNG.normal(size=50), RNG.normal(size=(50, 3)), ["up", "down"] * 25
ORDER, MASK, FLOATS, INTS = RNG.permutation(50), DATA > 0, DATA.tolist(), RNG.permutation(50).tolist()
POINTS = 0.5 * RNG.normal(size=(4, 2))


def entries(x):
    return td.fori_loop(0, 50, lambda k, s: 0.9 * s + DATA[k] * x[0], x[1])


def entries_of_a_list(x):
    return td.fori_loop(0, 50, lambda k, s: 0.9 * s + FLOATS[k] * x[0], x[1])


def entries_by_a_table(x):
    return td.fori_loop(0, 50, lambda k, s: 0.9 * s + TABLE[ORDER[k], 1] * x[0] + (x[1] if MASK[k] else 0.0), 0.0)


def rows(x):
    def step(k, s):
        row = TABLE[k]
        s += np.sum(np.sin(row * x[0])) * row[1]
        s += TABLE[k, :2] @ x
        return s

    return td.fori_loop(0, 50, step, 0.0)


def planes(x):
    boxes = TABLE.reshape(10, 5, 3)
    return td.fori_loop(0, 10, lambda k, s: s + np.sum(boxes[k] * x[0]) + boxes[k, 2, 1] + np.sum(boxes[k, :, 0] * x[1]), 0.0)


def from_the_end(x):
    return td.fori_loop(0, 50, lambda k, s: 0.8 * s + DATA[-1 - k] * DATA[k - 25] * x[0], x[1])


def helpers(x):
    return td.fori_loop(0, 50, lambda k, s: s + _twice(k) * x[0] + _twice(49 - k) * x[1], 0.0)


def _twice(k):
    return DATA[k] * 2


def branches(x):
    def step(k, s):
        v = DATA[k]
        if v * x[0] > 0.1:
            return s + v * x[0]
        return s - np.sin(v) * x[1]

    return td.fori_loop(0, 50, step, 0.0)


def order_of_a_scan(x):
    c, found = td.scan(lambda c, k: (0.5 * c + DATA[k] * x[0], TABLE[k, 0] * c), x[1], ORDER)
    return c + np.sum(found)


def while_loops(x):
    body = lambda carry: (carry[0] + 1, carry[1] + x[0] * DATA[carry[0]] * TABLE[carry[0], 1])
    return td.while_loop(lambda carry: carry[0] < 40, body, (0, x[1]))[1]


def places_that_data_decides(x):
    def step(k, c):
        return 0.3 * c + TABLE[k] * x[0] + DATA[np.argmax(c)]

    return np.sum(td.fori_loop(0, 50, step, np.zeros(3) + x[1]))


class Model:
    def __init__(self):
        self.prices, self.tables = DATA.copy(), {"rates": TABLE}

    def __call__(self, x):
        return td.fori_loop(0, 50, lambda k, s: s + self.prices[k] * x[0] + self.tables["rates"][k, 1] * x[1], 0.0)


def method(x):
    return Model()(x)


ONE_PATH = (
    entries, entries_of_a_list, entries_by_a_table, rows, planes, from_the_end, helpers, order_of_a_scan, while_loops,
    places_that_data_decides, branches, method,
)  # fmt: skip


def slices(x):
    return td.fori_loop(0, 45, lambda k, s: s + np.sum(DATA[k : k + 3]) * x[0], x[1])


def names(x):
    return td.fori_loop(0, 50, lambda k, s: s + (x[0] if NAMES[k] == "up" else x[1]), 0.0)


def ints_of_a_list(x):
    return td.fori_loop(0, 50, lambda k, s: s + DATA[INTS[k]] * x[0], x[1])


def plain_numbers(x):
    return td.fori_loop(0, 50, lambda k, s: s + float(DATA[k]) * x[0], x[1])


def positions_that_may_not_exist(x):
    def step(k, s):
        if k < 50 and MASK[k % 50]:
            s = s + DATA[k] * x[0]
        else:
            s = s - x[1] * TABLE[k % 50, 1]
        return s

    return td.fori_loop(0, 60, step, 0.0)


def masks_are_conditions(x):
    def step(k, s):
        if MASK[k]:
            s = s + DATA[k] * x[0]
        return s + (x[1] if not MASK[49 - k] else 0.1 * s)

    return td.fori_loop(0, 50, step, 0.0)


GRID = np.linspace(-2, 2, 50)


def searched_in_a_table(x):
    k = np.searchsorted(GRID, x[0])
    return x[1] * DATA[min(k, 49)] + x[0]


def positions_beside_branches(x):
    k = np.argmax(x)
    s = f"{DATA[k]:.1f}" and 0.0
    for v in x:
        if v > 0:
            s = s + v * x[0]
        else:
            s = s - np.sin(v)
    return s


PROGRAMS = [
    entries,
    entries_of_a_list,
    entries_by_a_table,
    rows,
    planes,
    from_the_end,
    helpers,
    branches,
    order_of_a_scan,
    while_loops,
    places_that_data_decides,
    method,
    slices,
    names,
    ints_of_a_list,
    plain_numbers,
    positions_that_may_not_exist,
    masks_are_conditions,
    searched_in_a_table,
    positions_beside_branches,
]
