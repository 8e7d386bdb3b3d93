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


# Rows whose entries are written out


def numbers_in_rows(x):
    y, low = np.zeros((6, 2)), 0.0
    for i in range(6):
        if x[i] > 0.3:
            y[i, :] = x[i], low
            low = 0.25
        elif x[i] < -0.5:
            y[i] = [low, x[i] * x[0]]
        else:
            y[i] += np.stack([x[i], low * x[1]])
            low = x[i]
        y[i, 0], y[0, 1] = y[i, 0] + low, low
    return np.sum(y * np.arange(12.0).reshape(6, 2)) + low


def parts_of_rows(x):
    y, n = np.ones((3, 4)), 1
    for j in range(3):
        if x[j] > x[j + 1]:
            y[:, j + 1] = x[j], n, x[j + 2]
            n = n + 1
        else:
            y[j, 1:3] *= np.stack([0.5, x[j]])
            y[j, :2] = [y[j, 1], y[j, 0]]
        y[2] = n, 1.0, low_of(x), y[2, 3]
    return np.sum(y @ y.T * x[:3])


def low_of(x):
    return x[4] * 0.5


# Loops that data ends, which write where it decides


def kept_while_it_falls(x):
    y, e, k = np.zeros(12), abs(x[0]) + 1.0, 0
    while e > 0.3 and k < 12:
        y[k] = e * x[1]
        y[-1 - k] += 0.5
        e = e * (0.5 + 0.2 * np.tanh(x[2]))
        k += 1
    return np.sum(y * np.arange(12.0)) + e


def steps_that_are_taken(x):
    y, t, v, h, n = np.zeros((20, 2)), 0.0, x[0], 0.25, 0
    while t < 1.0 and n < 20:
        w = v - h * v * x[1]
        if abs(w - v) < 0.2 + 0.1 * abs(v):
            t, v = t + h, w
            y[n, 0], y[n, 1] = t, v
            n += 1
            h = 0.3
        else:
            h = 0.5 * h
            y[0, 0] = h
    return np.sum(y * np.arange(40.0).reshape(20, 2)) / 10 + v


def rows_until_a_break(x):
    y, a, b = np.zeros((6, 2)), x[0], x[1]
    for k in range(6):
        if a > 1.5:
            break
        a, b = a + 0.3 * abs(b) + 0.1, b - 0.2 * a
        y[k, :] = a, b
        y[:, 1] = 0.5 * y[:, 1]
    return np.sum(y**2) + a


MERGE = [
    rows, slices_that_overlap, first_row_in_a_branch, loops_in_a_branch, two_arrays, numbers_in_rows, parts_of_rows, kept_while_it_falls,
    steps_that_are_taken, rows_until_a_break,
]  # fmt: skip

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

def too_few_for_a_row(x):
    y = td.zeros((3, 3))
    for k in range(3):
        if x[k] > -9:
            y[k] = [x[k]]
        else:
            y[k, :] = x[0], x[1], x[2]
    return np.sum(y**2)


def rows_of_what_is_whole(x):
    n, s = np.zeros((3, 2), int), 0.5
    for k in range(3):
        if x[k] > 0:
            s = 1.5
        n[k] = s, 2.5
    return np.sum(n) * x[0]


def rows_of_single_precision(x):
    y, s = np.zeros((3, 2), np.float32), 0.1
    for k in range(3):
        if x[k] > 0:
            s = 0.3
        y[k] = s, 0.7
    return np.sum(y) * x[0]


def row_that_shows_itself(x):
    y = td.zeros((2, 2))
    y[1] = x[:2]
    for k in range(2):
        if x[k] > 0:
            y[0], y[1] = y[1], y[0]
            y[0] = y[0, 1], y[0, 0]
    return np.sum(y * np.arange(4.0).reshape(2, 2))


def by_another_name_in_a_loop(x):
    y, e, k = td.zeros(6), abs(x[0]) + 1.0, 0
    z = y[1:]
    while e > 0.3 and k < 5:
        y[k + 1] = e
        e = e * 0.5 + 0.1 * z[0] * x[1] - 0.2
        k += 1
    return np.sum(y * np.arange(6.0)) + e


def from_the_end_and_back(x):
    y, e, k = td.zeros(4), abs(x[0]) + 1.0, 2
    while e > 0.3 and k > -4:
        y[k] = y[k] * 0.5 + e
        e = e * 0.6
        k -= 1
    return np.sum(y * np.arange(4.0)) + e


def index_that_is_no_int_at_times(x):
    y, e, k = td.zeros(8), abs(x[0]) + 1.0, 0
    while e > 0.3 and k < 6:
        y[k] = e
        e = e * 0.6
        k = k + (1 if e > 0.8 else 2)
    return np.sum(y * np.arange(8.0)) + y[k] * e


TRAPS = [
    reads_a_row_by_another_name, reads_it_in_a_tuple, reads_it_in_a_function, reads_it_in_an_object, writes_it_by_two_names, in_single_precision,
    beyond_the_end, at_an_index_of_data, another_array_at_times, in_an_array_that_stays, ints_in_a_row,
    too_few_for_a_row, rows_of_what_is_whole, rows_of_single_precision, row_that_shows_itself, by_another_name_in_a_loop, from_the_end_and_back,
    index_that_is_no_int_at_times,
]  # fmt: skip
