"""Entries of plain arrays at positions that are data are gathered, where Python would ask for each position."""

import warnings

import numpy as np
import pytest
from support.agreement import agree

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ops.control.calls import LOOP

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


@pytest.mark.parametrize("f", [*ONE_PATH, slices, names, ints_of_a_list, plain_numbers], ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_the_function(f):
    agree(f, *POINTS)


@pytest.mark.skipif(not settings.roll_loops, reason="bodies are not merged")
@pytest.mark.parametrize("f", ONE_PATH, ids=lambda f: f.__name__)
def test_a_loop_has_one_path_however_many_positions_it_reads(f):
    (loop,) = [i for i in td.record(f, POINTS[0]).instructions if i.op is LOOP]
    assert len(loop.params[0].variants) == 1


def test_thousands_of_positions_take_no_path_each():
    """Each was a variant, and beyond 64 they were replayed with NumPy: 2 s a gradient."""
    data = RNG.normal(size=5_000)
    f = lambda x: td.fori_loop(0, 5_000, lambda k, s: s + np.exp(-((data[k] - x[0]) ** 2)), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = td.compile(f, 0.3 * np.ones(1))
        value, gradient = td.value_and_gradient(fast, np.array([0.7]))
    # Sums of 5,000 terms in another order.
    np.testing.assert_allclose(value, np.sum(np.exp(-((data - 0.7) ** 2))), rtol=1e-12)
    np.testing.assert_allclose(gradient, [np.sum(2 * (data - 0.7) * np.exp(-((data - 0.7) ** 2)))], rtol=1e-12)


@pytest.mark.parametrize("positions", [(0, 51), (-51, 0)])
def test_positions_that_do_not_exist_are_the_programs_error(positions):
    f = lambda x: td.fori_loop(*positions, lambda k, s: s + DATA[k] * x, 0.0 * x)
    for _ in range(2):
        with pytest.raises(IndexError):
            td.gradient(td.GuardedTape(f), 0.5)


def test_a_row_that_is_written_to_is_still_refused():
    """A row of a plain array is a view of it, and arrays that a body closes over are not its own: a copy would hide that."""
    table = np.zeros((4, 2))

    def f(x):
        def step(k, s):
            row = table[k]
            row += 1.0
            return s + table[k, 0] * x

        return td.fori_loop(0, 4, step, 0.0)

    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            td.gradient(f, 0.5)
    assert not table.any()


@pytest.mark.parametrize("last", [49, 60])
def test_positions_on_a_side_that_is_not_taken_may_not_exist(last):
    """Of a list of fifty entries the sixtieth is asked for only where the program gets there."""

    def f(x):
        def step(k, s):
            if k < 50 and MASK[k % 50]:
                s = s + DATA[k] * x[0]
            else:
                s = s - x[1] * TABLE[k % 50, 1]
            return s

        return td.fori_loop(0, last, step, 0.0)

    agree(f, *POINTS)


def test_masks_are_conditions():
    def f(x):
        def step(k, s):
            if MASK[k]:
                s = s + DATA[k] * x[0]
            return s + (x[1] if not MASK[49 - k] else 0.1 * s)

        return td.fori_loop(0, 50, step, 0.0)

    agree(f, *POINTS)
    (loop,) = [i for i in td.record(f, POINTS[0]).instructions if i.op is LOOP]
    assert len(loop.params[0].variants) == 1


def test_a_table_searched_at_data_takes_one_tape():
    grid = np.linspace(-2, 2, 50)

    def f(x):
        k = np.searchsorted(grid, x[0])
        return x[1] * DATA[min(k, 49)] + x[0]

    guarded = td.GuardedTape(f)
    for x in RNG.normal(size=(40, 2)):
        value, gradient = td.value_and_gradient(guarded, x)
        assert value == f(x)
        np.testing.assert_array_equal(gradient, [1.0, DATA[min(np.searchsorted(grid, x[0]), 49)]])
    # Three paths, and the merged form.
    assert guarded.stats.recordings <= 5
    assert "merged, as a look-up" in guarded.explain()


def test_what_a_function_converts_to_an_int_itself_is_no_look_up():
    """It asks for the int, and nothing in it is rewritten."""
    f = lambda x: x[0] * DATA[int(10 * abs(x[1]))]
    guarded = td.GuardedTape(f)
    for x in POINTS:
        np.testing.assert_array_equal(td.gradient(guarded, x), [DATA[int(10 * abs(x[1]))], 0.0])
    assert "look-up" not in guarded.explain()


def test_values_that_are_used_as_plain_numbers_keep_what_was_merged_before():
    """Reading entries in another way is given up first, before the branches."""

    def f(x):
        k = np.argmax(x)
        s = f"{DATA[k]:.1f}" and 0.0
        for v in x:
            if v > 0:
                s = s + v * x[0]
            else:
                s = s - np.sin(v)
        return s

    guarded = td.GuardedTape(f)
    for x in RNG.normal(size=(60, 6)):
        value, gradient = td.value_and_gradient(guarded, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        expected = td.value_and_gradient(td.record(f, x), x)[1]
        np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    # A path for each position of six, and those before merging.
    assert guarded.stats.recordings <= 16


def test_many_paths_by_positions_are_warned_of_with_what_to_write():
    data = RNG.normal(size=200)
    f = lambda x: td.fori_loop(0, 100, lambda k, s: s + np.sum(data[k : k + 3]) * x, 0.0)
    with pytest.warns(td.GuardWarning, match=r"give entries to td\.scan, or read plain arrays by td\.asarray\(array\)\[k\]"):
        td.gradient(f, 0.5)
