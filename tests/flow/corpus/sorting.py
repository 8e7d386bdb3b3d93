"""Sorting, heaps, filtered lists and reads at positions by data."""

from __future__ import annotations

import numpy as np

POINTS = np.array([0.43, 0.27, -0.16]) + 0.2 * np.random.default_rng(20261127).normal(size=(9, 3))
rng = np.random.default_rng(20261127)
E, Y = rng.normal(size=60), rng.normal(size=60)
VALUES, ROWS, LABELS, IS_LARGE = rng.normal(size=40), rng.normal(size=(40, 3)), np.arange(40) % 3, np.arange(40) % 5 > 2


# Filtered lists


def gains_and_losses(p):
    z = p[0] * E + p[1]
    gains = [v for v in z if v > 0]
    lost = [-v for v in z if v < 0]
    losses = sum(lost)
    return sum(gains) / max(losses, 1e-3) + len(gains) * p[2]


# Plain arrays read at positions that data decides


def labels_and_masks(p):
    values = ROWS @ p
    order = np.argsort(values)
    return np.sum(np.where(LABELS[order] == 2, values, 0.0) * np.arange(40)) + np.sum(
        np.where(IS_LARGE[order], values, p[1])
    )


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


PROGRAMS = [
    gains_and_losses, labels_and_masks, adds_to_the_table, keeps_rows, fills_a_row, gives_out_a_row, conversions_that_copy_nothing,
    counts_of_bins,
]  # fmt: skip
