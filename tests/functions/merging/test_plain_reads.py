"""Plain arrays read at arrays of positions that data decides on, as y[np.argsort(x)[:3]]: gathered, and no path for each order."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import tapediff as td

from .long_loops_agree import agree, differences, name_of, no_path_is_new

rng = np.random.default_rng(20261127)
Y, ROWS, LABELS, IS_LARGE = rng.normal(size=40), rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) % 5 > 2
POINTS = np.array([0.43, 0.27, -0.16]) + 0.4 * rng.normal(size=(8, 3))


def nearest(p):
    total = 0.0
    for k in range(6):
        distances = np.sum((ROWS * p - ROWS[k] * p) ** 2, axis=1)
        near = np.argsort(distances)[1:4]
        total += (Y[k] * p[1] - np.mean(Y[near])) ** 2 + distances[near].sum()
    return total


def in_order(values):
    return Y[np.argsort(values)]


def by_a_helper(p):
    return np.sum(in_order(ROWS @ p) * (ROWS @ p) ** 2 * np.arange(40))


def rows_and_columns(p):
    order = np.argsort(-(ROWS @ p))[:5]
    return np.sum(ROWS[order] @ p * np.arange(5)) + np.sum(ROWS[order, LABELS[order]] * p[0]) + np.sum(ROWS[order, 1:] * p[1])


def labels_and_masks(p):
    values = ROWS @ p
    order = np.argsort(values)
    return np.sum(np.where(LABELS[order] == 2, values, 0.0) * np.arange(40)) + np.sum(np.where(IS_LARGE[order], values, p[1]))


def interpolated(p):
    at = np.clip(ROWS @ p * 3 + 20, 0, 38)
    k = np.floor(at).astype(int)
    return np.sum((1 - (at - k)) * Y[k] + (at - k) * Y[k + 1]) * p[0]


def from_the_end(p):
    return np.sum(Y[np.argsort(ROWS @ p)[:3] - 40] * p)


def beside_a_branch(p):
    order = np.argsort(ROWS @ p)
    if p[0] > 0.4:
        return np.sum(Y[order[:5]] * p[0])
    return np.sum(Y[order[:3]] * p)


def written_where_read(p):
    filled = np.zeros(40)
    order = np.argsort(ROWS @ p)
    filled[order[:3]] += Y[order[3:6]]
    return np.sum(filled * np.arange(40)) * p[1]


def in_a_scan(p):
    def body(total, k):
        values = ROWS @ p * k
        return total + np.sum(Y[np.argsort(values * np.cos(values))[:3]] * p), None

    return td.scan(body, 0.0, np.arange(1.0, 6.0))[0]


FUNCTIONS = [
    nearest, by_a_helper, rows_and_columns, labels_and_masks, interpolated, from_the_end, beside_a_branch, written_where_read, in_a_scan,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=name_of)
def test_positions_are_data(f):
    """Neither a call of a GuardedTape nor a compiled tape needs another path for another order; but for the branch."""
    if f is beside_a_branch:
        agree(f, POINTS, td.GuardedTape(f), rtol=1e-5)
    else:
        no_path_is_new(f, POINTS)
        agree(f, POINTS, td.compile(f, POINTS[0]), rtol=1e-5)


def test_without_merging_the_order_is_guarded():
    tape = td.compile(from_the_end, POINTS[0], merge=False)
    assert td.gradient(tape, POINTS[0]) == pytest.approx(differences(from_the_end, POINTS[0]), rel=1e-6)
    with pytest.raises(td.GuardFailed, match="from_the_end"):
        td.gradient(tape, -POINTS[0])


def test_a_position_that_is_not_there_raises_as_in_numpy():
    def f(p, k):
        return np.sum(Y[k] * p)

    compiled = td.compile(f, POINTS[0], np.array([1, 5, 39]))
    assert compiled(POINTS[0], np.array([0, -40, 7])) == pytest.approx(f(POINTS[0], np.array([0, -40, 7])), rel=1e-13)
    guarded = td.GuardedTape(f)
    guarded(POINTS[0], np.array([1, 5, 39]))
    for positions in (np.array([0, 1, 40]), np.array([-41, 0, 0])):
        with pytest.raises(IndexError):
            guarded(POINTS[0], positions)
        with pytest.raises(td.GuardFailed):
            compiled(POINTS[0], positions)
    assert guarded(POINTS[0], np.array([2, 3, 4])) == pytest.approx(f(POINTS[0], np.array([2, 3, 4])), rel=1e-13)


def test_a_function_that_changes_more_than_its_result_is_run_once():
    seen = []

    def f(p):
        seen.append(1)
        return np.sum(Y[np.argsort(ROWS @ p)[:3]] * p)

    td.record(f, POINTS[0])
    assert len(seen) == 1


def test_a_plain_array_is_still_not_written_to():
    kept = np.zeros(40)

    def f(p):
        kept[np.argsort(ROWS @ p)[:3]] = p
        return np.sum(kept)

    for recorded in (td.GuardedTape(f), partial(td.record, f)):
        with pytest.raises(td.TrackedValueEscaped):
            recorded(POINTS[0])
    assert not kept.any()


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


def doubled(row):
    row *= 2.0
    return row


def changes_a_row_in_a_function(x):
    table = np.arange(10.0).reshape(5, 2)
    return doubled(table[np.argmax(x)]).sum() * x[0] + table.sum()


def fills_a_row(x):
    table = np.arange(10.0).reshape(5, 2)
    table[np.argmax(x)].fill(7.0)
    return table.sum() * x[0]


def gives_out_a_row(x):
    table = np.arange(10.0).reshape(5, 2)
    row = table[np.argmax(x)]
    np.multiply(row, 3, out=row)
    return table.sum() * x[0]


@pytest.mark.parametrize(
    "f", [adds_to_the_table, keeps_rows, changes_a_row_in_a_function, fills_a_row, gives_out_a_row], ids=name_of
)
def test_rows_are_views(f):
    """What is wrong, if something is, shows in late calls: the first ones are compared with the plain function."""
    early = [0.1 * np.roll(np.arange(5.0), k) + np.array([0, 0, 0, 0, -9.0]) for k in range(12)]
    late = [0.1 * np.roll(np.arange(5.0), k) + np.array([0, 0, 0, 0, 9.0]) for k in range(5)]
    guarded = td.GuardedTape(f)
    for x in [*early, *late]:
        assert guarded(x) == pytest.approx(f(x), rel=1e-13)


def test_conversions_that_copy_nothing():
    def f(x):
        y = x * 1.0
        same = y.astype(float, copy=False)
        same *= 2
        return y.sum()

    assert td.GuardedTape(f)(POINTS[0]) == pytest.approx(f(POINTS[0]), rel=1e-13)


def test_counts_of_bins():
    def f(x):
        return np.sum(np.bincount(x > 0.1, minlength=2) * np.array([1.0, 3.0])) * x[0]

    guarded = td.GuardedTape(f)
    for point in POINTS:
        assert guarded(point) == pytest.approx(f(point), rel=1e-13)
    with pytest.raises(ValueError, match="minlength"):
        td.GuardedTape(lambda x: np.sum(np.bincount((x > 0).astype(int), minlength=-1)) * x[0])(POINTS[0])
