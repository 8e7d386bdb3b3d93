"""Plain arrays read at arrays of positions that data decides on, as y[np.argsort(x)[:3]]: gathered, and no path for each order."""

from __future__ import annotations

import numpy as np

import tapediff as td

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


def reads_at(p, k):
    return np.sum(Y[k] * p)


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


def conversions_that_copy_nothing(x):
    y = x * 1.0
    same = y.astype(float, copy=False)
    same *= 2
    return y.sum()


def counts_of_bins(x):
    return np.sum(np.bincount(x > 0.1, minlength=2) * np.array([1.0, 3.0])) * x[0]


OF_GIVEN_INTS = {"reads_at": lambda p: reads_at(p, np.array([0, -40, 7]))}


PROGRAMS = [
    nearest,
    by_a_helper,
    rows_and_columns,
    labels_and_masks,
    interpolated,
    from_the_end,
    beside_a_branch,
    written_where_read,
    in_a_scan,
    adds_to_the_table,
    keeps_rows,
    changes_a_row_in_a_function,
    fills_a_row,
    gives_out_a_row,
    conversions_that_copy_nothing,
    counts_of_bins,
]
