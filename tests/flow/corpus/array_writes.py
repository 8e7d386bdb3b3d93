"""Writes to entries, rows and slices of arrays in branches on data."""

from __future__ import annotations

import numpy as np

import tapediff as td


def signed_zeros(x):
    y = np.array([0.0, -0.0, np.nan, 1.0]) * np.ones_like(x[:4])
    for i in range(4):
        if x[i] > 0:
            y[i] = -0.0
    return np.sum(np.copysign(1.0, y)) * x[0] + x[1]


def writes_an_int_to_a_list(x):
    a = list(x)
    if x[0] > 0.3:
        a[1] = 2
    return sum(range(a[1])) * x[2] if type(a[1]) is int else a[1]


def writes_an_array_without_axes_to_a_list(x):
    a = [(x[0:1] * 1.0).reshape(()), x[1]]
    b = a[0]
    if x[0] > 0.3:
        a[0] = x[2]
    a[0] += 1.0
    return a[0] * a[1] + b


def beyond_the_end(x):
    y = x * 1.0
    for i in range(6):
        if i < 5 and x[i] > 0:
            y[i + 1] = y[i + 1] + x[i]
    return np.sum(y * x)


# Rows and slices


def reads_it_in_a_function(x):
    y, total = td.zeros((3, 2)), 0.0
    read = lambda k: y[k, 1]
    for k in range(3):
        if x[k] > 0:
            y[:, 1] = x[:3]
            total = total + read(k)
    return total + np.sum(y**2)


def row_beyond_the_end(x):
    y = td.zeros((2, 2))
    for k in range(2):
        if x[k] > -9:
            y[k : k + 3] = x[:2]
    return np.sum(y**2)


def at_an_index_of_data(x):
    y, k = td.zeros(6), 0
    for v in x:
        if v > 0.2:
            y[k : k + 2] = v
            k += 1
    return np.sum(y * np.arange(6.0)) + x[0]


def index_that_is_no_int_at_times(x):
    y, e, k = td.zeros(8), abs(x[0]) + 1.0, 0
    while e > 0.3 and k < 6:
        y[k] = e
        e = e * 0.6
        k = k + (1 if e > 0.8 else 2)
    return np.sum(y * np.arange(8.0)) + y[k] * e


def by_another_name_in_a_loop(x):
    y, e, k = td.zeros(6), abs(x[0]) + 1.0, 0
    z = y[1:]
    while e > 0.3 and k < 5:
        y[k + 1] = e
        e = e * 0.5 + 0.1 * z[0] * x[1] - 0.2
        k += 1
    return np.sum(y * np.arange(6.0)) + e


PROGRAMS = [signed_zeros]
# What a careless join of both sides gets wrong.
TRAPS = [
    by_another_name_in_a_loop, writes_an_int_to_a_list, writes_an_array_without_axes_to_a_list, beyond_the_end, reads_it_in_a_function, row_beyond_the_end,
    at_an_index_of_data, index_that_is_no_int_at_times,
]  # fmt: skip
