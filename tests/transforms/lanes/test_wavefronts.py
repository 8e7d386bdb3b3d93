"""Tables filled cell by cell, several rows at a time."""

import numpy as np
import pytest
from support.agreement import by_numpy
from support.passes import without

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP

A, B = np.random.default_rng(3).normal(size=(2, 40))
WEIGHTS = np.random.default_rng(4).uniform(0.5, 1.5, size=(30, 20))
POINTS = np.random.default_rng(6).uniform(0.6, 1.4, size=(3, 4))
POINT, OTHER, DIRECTION = POINTS


def softly(*values):
    least = np.minimum(np.minimum(values[0], values[1]), values[2])
    return least - np.log(sum(np.exp(least - v) for v in values))


def both(value):
    return value, value


def python_loops(p):
    """Costs and a parameter that only cells read."""
    above = [0.0] + [20.0 * p[0]] * 24
    for i in range(21):
        row = [20.0 * p[1]]
        for j in range(24):
            row.append(p[2] * (A[i] - B[j] * p[3]) ** 2 + softly(above[j], above[j + 1] + p[0], row[j] + p[1]))
        above = row
    return above[24]


def table_and_sum(p):
    """Every row is a result, and a sum over rows is carried beside them."""

    def row(carry, a):
        above, total = carry
        left = np.concatenate([np.array([1e3]) * p[2], above[:-1]])
        _, cells = td.scan(lambda c, x: both(x[2] * p[0] + softly(x[0], x[1], c)), 1e3 * p[1], (left, above, (a - B[:20] * p[3]) ** 2))
        return (cells, total + cells[-1] * a), cells

    (last, total), table = td.scan(row, (np.linspace(1.0, 2.0, 20) * p[0], 0.0), A[:18])
    return last[-1] + 0.1 * total + 0.01 * np.sum(table**2)


def reading_ahead(p):
    """Each row is two cells behind the one above."""

    def row(above, a):
        right = np.concatenate([above[1:], np.array([0.5]) * p[1]])
        _, cells = td.scan(lambda c, x: both(np.tanh(0.5 * p[1] * c + p[2] * x[0] + 0.3 * x[2] * p[3] + 0.1 * a * x[1])), 0.1, (above, B[:15], right))
        return cells, np.sum(cells**2)

    last, sums = td.scan(row, np.linspace(1.0, 2.0, 15) * p[0], A[:26])
    return last[-1] + np.sum(sums)


def rows_longer_than_their_cells(p):
    """A row has a border before and behind its cells."""

    def row(above, a):
        _, cells = td.scan(lambda c, x: both(np.exp(-p[1] * c * x[0]) + a * x[1] * x[2]), p[2], (above[:-2], above[1:-1], above[2:]))
        return np.concatenate([np.array([0.3]) * p[3], cells, np.array([a])]), None

    return np.sum(td.scan(row, np.linspace(0.1, 1.0, 18) * p[0], 0.1 * A[:17])[0])


def rows_scaled_before_they_are_read(p):
    """What goes to the row below is an operation on the row, whose derivative is infinite at the zeros of idle lanes."""

    def row(above, w):
        _, cells = td.scan(lambda c, x: both(np.exp(-c * x[0]) + x[1] * p[1]), above[0] * p[2], (above, w))
        return np.sqrt(cells) * p[3], np.sum(cells)

    last, sums = td.scan(row, np.linspace(1.0, 2.0, 20) * p[0], WEIGHTS)
    return np.sum(last) + 0.1 * np.sum(sums)


def infinite_in_idle_lanes(p):
    """Zeros in place of streams and cells would give infinities, and NaN for the parameters."""

    def row(above, w):
        def cell(c, x):
            return both(np.log(x[0] * p[0]) + np.sqrt(x[0] * c * c) * p[1] + np.log(c * c * p[3] + x[1] ** 2) + (p[2] / x[0]) ** 0.3)

        return both(td.scan(cell, 0.7, (w, above))[1])

    last, table = td.scan(row, np.ones(20) * p[0], WEIGHTS)
    return np.sum(last) + 0.01 * np.sum(table**2)


def results_infinite_in_idle_lanes(p):
    """Nothing is carried on of these results, so that only selections on the way into a cell keep NaN from parameters and rows."""

    def row(above, w):
        def cell(c, x):
            y = np.tanh(c * p[1] + x[1])
            return y, (y, np.sqrt(c) / (x[0] * p[0]) + p[2] * np.sqrt(x[1] * x[2]), c / (x[2] * p[3]))

        _, (cells, *results) = td.scan(cell, 0.7, (w, above, above**2 * w))
        return np.sqrt(cells), [np.sum(r) for r in results]

    last, results = td.scan(row, np.ones(20) * p[0], WEIGHTS)
    return np.sum(last) + 0.01 * np.sum(results[0]) + 0.02 * np.sum(results[1])


def counts_and_flags(p):
    """Whole numbers and bools are carried along a row, and its last values are results."""

    def row(above, a):
        def cell(carry, x):
            value, count, seen = carry
            seen = np.logical_or(seen, x[0] > x[1])
            value = np.exp(-0.6 * value * p[0]) + np.where(seen, x[0] * p[1], x[1] * p[2])
            return (value, np.where(seen, count + 1, count), seen), value

        (value, count, seen), cells = td.scan(cell, (p[3], 0, False), (above, B[:20] + a))
        return cells, value * count + np.where(seen, p[0], 0.0)

    last, results = td.scan(row, np.ones(20) * p[0], A[:19])
    return np.sum(last) + 0.1 * np.sum(results)


def tables_in_a_loop(p):
    """Several tables, one behind the other."""
    total = 0.0
    for k in range(5):
        total = total + table_of_rows(p, 1.0 + 0.1 * total * p[k % 4], k)
    return total


def table_of_rows(p, start, k):
    rows = td.scan(lambda above, a: both(td.scan(lambda c, x: both(np.tanh(c * p[0] + x + a)), start, above)[1]), np.ones(16) * p[1], A[k : k + 16])
    return np.mean(rows[1])


def gaps_from_above(p):
    """A second row that is computed of the rows above alone, as of alignments with affine gaps."""

    def row(above, a):
        cells, gaps = above
        gaps = np.logaddexp(cells - p[1], gaps - 0.3 * p[2])
        left = np.concatenate([np.array([-5.0]) * p[0], cells[:-1]])
        _, made = td.scan(lambda c, x: both(np.logaddexp(np.logaddexp(x[0] - (a - x[2] * p[3]) ** 2, x[1]), c - p[0])), -5.0, (left, gaps, B[:20]))
        return (made, gaps), None

    cells, gaps = td.scan(row, (np.linspace(-1.0, 0.0, 20) * p[0], np.full(20, -5.0) * p[1]), A[:19])[0]
    return cells[-1] + gaps[-1]


def gaps_scaled_twice(p):
    """Of such a row another one is made, and a number is the same for all of it."""

    def row(above, a):
        cells, gaps = above
        gaps = np.tanh(gaps * 0.9 + cells * p[1])
        _, made = td.scan(lambda c, x: both(np.sin(0.5 * c + x[0] * p[0]) + np.exp(-(x[1] ** 2)) * a), p[2] * 0.1, (gaps, B[:16]))
        return (made, gaps * p[3] + a), None

    cells, gaps = td.scan(row, (np.linspace(-1.0, 0.0, 16) * p[0], np.ones(16) * p[1]), A[:21])[0]
    return np.sum(cells) + gaps[3]


def entries_of_a_given_row(p):
    """The last row is written over another one of which the first entry stays."""

    def row(above, xs):
        a, given = xs
        _, made = td.scan(lambda c, x: both(np.logaddexp(np.logaddexp(x[0], x[1]), c - p[0]) - (a - x[2]) ** 2), given[0], (above[:-1], above[1:], B[:20]))
        given = given.copy()
        given[1:] = made
        return given, None

    borders = np.outer(A[:18], np.ones(21)) * p[1] - 0.1 * p[2]
    return td.scan(row, np.linspace(-1.0, 0.0, 21) * p[3], (A[:18], borders))[0][-1]


PROGRAMS = [
    gaps_from_above, gaps_scaled_twice, entries_of_a_given_row, python_loops, table_and_sum, reading_ahead, rows_longer_than_their_cells,
    rows_scaled_before_they_are_read, infinite_in_idle_lanes, results_infinite_in_idle_lanes, counts_and_flags, tables_in_a_loop,
]  # fmt: skip


def has_lanes(tape):
    """Whether a loop on the tape, or in one, carries a value for each of several rows."""
    for instruction in tape.instructions:
        if instruction.op is LOOP:
            callee, form = instruction.params
            body = callee.only_tape()
            if any(type_.shape in ((4,), (8,)) for type_ in callee.in_types[: form.carries]) or (body is not None and has_lanes(body)):
                return True
    return False


def compiled(function, *, is_left_out, point=POINT):
    return without(["wavefronts"] if is_left_out else [], lambda: td.compile(td.record(function, point)))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.slow
def test_rows_go_together_and_give_what_they_give_one_by_one(function):
    """The value has the same bits, as each cell does the same operations; cotangents of parameters are added in another order."""
    tape = td.record(function, POINT)
    assert has_lanes(rolled(tape))
    together, apart = td.compile(tape), compiled(function, is_left_out=True)
    for point in POINTS:
        value, gradient = td.value_and_gradient(together, point)
        expected, by_rows = td.value_and_gradient(apart, point)
        assert value == expected
        np.testing.assert_allclose(gradient, by_rows, rtol=1e-12)
        np.testing.assert_allclose(value, function(point), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(tape, OTHER), td.gradient(apart, OTHER), rtol=1e-10)
    td.testing.check_gradient(together, function, OTHER)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(function):
    """Those of the operations as they were recorded, by NumPy."""
    tape = td.record(function, POINT)
    np.testing.assert_allclose(td.hvp(td.compile(tape), OTHER, DIRECTION), by_numpy(lambda: td.hvp(tape, OTHER, DIRECTION)), rtol=1e-10)


def test_float32_stays_float32():
    point = OTHER.astype(np.float32)
    value, gradient = td.value_and_gradient(compiled(table_and_sum, is_left_out=False, point=point), point)
    expected, by_rows = td.value_and_gradient(compiled(table_and_sum, is_left_out=True, point=point), point)
    assert gradient.dtype == np.float32
    assert value == expected
    np.testing.assert_allclose(gradient, by_rows, rtol=1e-4)  # of sums over 360 cells in single precision


@pytest.mark.parametrize("rows", [1, 4, 7, 8, 9, 15, 16, 17, 24, 31])
def test_any_number_of_rows(rows):
    """Those that are left over go one by one."""

    def f(p):
        shocks = np.resize(A, rows)
        last, table = td.scan(lambda u, a: both(td.scan(lambda c, x: both(np.exp(-c * x * p[1]) + a), p[2], u)[1]), np.ones(60) * p[0], shocks)
        return np.sum(last) + np.sum(table**2)

    value, gradient = td.value_and_gradient(compiled(f, is_left_out=False), OTHER)
    expected, by_rows = td.value_and_gradient(compiled(f, is_left_out=True), OTHER)
    assert value == expected
    np.testing.assert_allclose(gradient, by_rows, rtol=1e-12)


def reads_the_whole_row_above(p):
    """A cell waits for the last one of the row above."""
    row = lambda above, a: both(td.scan(lambda c, x: both(np.tanh(c * p[0] + x * a)), 0.1, above[::-1])[1])
    return np.sum(td.scan(row, np.linspace(1.0, 2.0, 20) * p[1], A[:20])[0])


def reads_a_sum_of_the_row_above(p):
    row = lambda above, a: both(td.scan(lambda c, x: both(np.tanh(c * p[0] + x * a)), 0.1 * np.sum(above), above)[1])
    return np.sum(td.scan(row, np.linspace(1.0, 2.0, 20) * p[1], A[:20])[0])


def is_cheap(p):
    row = lambda above, a: both(td.scan(lambda c, x: both(0.5 * c * p[0] + x * a), 0.1, above)[1])
    return np.sum(td.scan(row, np.linspace(1.0, 2.0, 20) * p[1], A[:20])[0])


def begins_with_the_last_cell_of_the_row_above(p):
    row = lambda above, a: both(td.scan(lambda c, x: both(np.tanh(c * p[0] + x * a)), above[-1], above)[1])
    return np.sum(td.scan(row, np.linspace(1.0, 2.0, 20) * p[1], A[:20])[0])


def has_a_guard_in_its_cells(p):
    def cell(c, x):
        y = np.tanh(c * p[0] + x)
        return both(2.0 * y if y > -5.0 else y)

    row = lambda above, a: both(td.scan(cell, 0.1, above * a)[1])
    return np.sum(td.scan(row, np.linspace(1.0, 2.0, 20) * p[1], A[:20])[0])


@pytest.mark.parametrize(
    "function",
    [reads_the_whole_row_above, reads_a_sum_of_the_row_above, is_cheap, begins_with_the_last_cell_of_the_row_above, has_a_guard_in_its_cells],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_other_tables_stay_as_they_are(function):
    tape = td.record(function, POINT, merge=False)
    assert not has_lanes(rolled(tape))
    np.testing.assert_allclose(td.value_and_gradient(td.compile(tape), OTHER)[0], function(OTHER), rtol=1e-12)
