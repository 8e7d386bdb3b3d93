"""Writes of rows and slices in branches on data, in plain Python: those that merge, and traps."""

import numpy as np

import tapediff as td

# What merges


def rows(x):
    y = np.zeros((6, 2))
    y[0] = x[:2]
    for i in range(1, 6):
        if x[i] > 0:
            y[i, :] = 0.5 * y[i - 1, ::-1] + x[i]
        else:
            y[i] = y[i - 1]
            y[i, 1] += x[i]
    return np.sum(y * np.arange(12.0).reshape(6, 2))


def slices_that_overlap(x):
    u = x * 1.0
    edge = u[:2]
    for k in range(1, 5):
        if x[k] > 0.2:
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
            u[0] = x[k]
        elif x[k] < -0.5:
            u[k:] *= 0.5
    return np.sum(u * np.arange(6.0)) + edge[0] * edge[1]


def first_row_in_a_branch(x):
    means = np.zeros((6, 2))
    m = np.array([0.5, 1.0])
    for t in range(6):
        if abs(x[t] - m[0]) < 0.8:
            means[t] = m + np.array([0.3, 0.1]) * x[t]
        else:
            means[t] = m
        m = means[t].copy()
    return np.sum(means**2) + m[0]


def loops_in_a_branch(x):
    y = td.zeros((3, 3))
    for k in range(3):
        if x[k] > x[k + 1]:
            for i in range(3):
                for j in range(i, 3):
                    y[i, j] += x[i] * x[j + k]
        elif np.sum(y) < 3.0:
            y[k, :], y[:, k] = y[:, k] * 0.5, x[:3]
    return np.sum(y * y.T) + x[0]


def two_arrays(x):
    y, z = x[:3] * 1.0, x[3:] * 1.0
    for k in range(3):
        if y[k] > z[k]:
            y[:], z[k:] = y * 0.5 + z, y[k:]
            z[0] = 3
    return np.sum(y * z) + y[0]


MERGE = [rows, slices_that_overlap, first_row_in_a_branch, loops_in_a_branch, two_arrays]

# Traps


def reads_a_row_by_another_name(x):
    y = td.zeros((3, 2))
    first, total = y[0], 0.0
    for k in range(3):
        if x[k] > 0:
            y[:, 1] = x[:3]
            y[0] = x[k : k + 2]
            total = total + first[1]
    return total + np.sum(y**2)


def reads_it_in_a_tuple(x):
    y = td.zeros((3, 2))
    box, total = (1.0, [y]), 0.0
    for k in range(3):
        if x[k] > 0:
            y[:, 1] = x[:3]
            total = total + box[1][0][k, 1]
    return total + np.sum(y**2)


def reads_it_in_a_function(x):
    y, total = td.zeros((3, 2)), 0.0
    read = lambda k: y[k, 1]
    for k in range(3):
        if x[k] > 0:
            y[:, 1] = x[:3]
            total = total + read(k)
    return total + np.sum(y**2)


class Holder:
    def __init__(self, y):
        self.y = [y]


def reads_it_in_an_object(x):
    y, total = td.zeros((3, 2)), 0.0
    (holder,) = [Holder(y)]
    for k in range(3):
        if x[k] > 0:
            y[:, 1] = x[:3]
            total = total + holder.y[0][k, 1]
    return total + np.sum(y**2)


def writes_it_by_two_names(x):
    y = x * 1.0
    z = y[1:]
    for k in range(3):
        if x[k] > 0:
            y[1:3] = x[k]
            z[:2] = z[1:3] * 0.5
    return np.sum(y * np.arange(6.0)) + z[0]


def in_single_precision(x):
    y = np.zeros(6, np.float32)
    for k in range(3):
        if x[k] > 0:
            y[k:] = x[k]
    return np.sum(y) * x[0]


def beyond_the_end(x):
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


def another_array_at_times(x):
    y, z = x * 1.0, x * 2.0
    for k in range(3):
        if x[k] > 0:
            y[:2] = x[k]
            y = z
    return np.sum(y * z)


PLAIN = np.zeros(3)


def in_an_array_that_stays(x):
    PLAIN[:] = 0.0
    total = 0.0
    for k in range(3):
        if x[k] > 0:
            PLAIN[k:] = k + 1.0
        total = total + np.sum(PLAIN) * x[k]
    return total


def ints_in_a_row(x):
    n, s = np.arange(4), 0.0
    for k in range(3):
        if x[k] > 0:
            n[k:] = k
        s = s + x[n[3]]
    return s


TRAPS = [
    reads_a_row_by_another_name, reads_it_in_a_tuple, reads_it_in_a_function, reads_it_in_an_object, writes_it_by_two_names, in_single_precision,
    beyond_the_end, at_an_index_of_data, another_array_at_times, in_an_array_that_stays, ints_in_a_row,
]  # fmt: skip
