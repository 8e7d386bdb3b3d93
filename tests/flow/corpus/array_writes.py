"""Writes to entries, rows and slices of arrays in branches on data."""

from __future__ import annotations

import numpy as np

import tapediff as td

PLAIN = np.zeros(3)


def views_see_it(x):
    y = x * 1.0
    tail, table = y[3:], y.reshape(2, 3)
    for i in range(3):
        if x[i] > 0:
            tail[i] = x[i] * x[i]
        if table[1, i] > 0.5:
            table[0, i] = table[0, i] - 1.0
    return np.sum(y**2) + tail[0] * table[0, 1]


def signed_zeros(x):
    y = np.array([0.0, -0.0, np.nan, 1.0]) * np.ones_like(x[:4])
    for i in range(4):
        if x[i] > 0:
            y[i] = -0.0
    return np.sum(np.copysign(1.0, y)) * x[0] + x[1]


def writes_a_plain_number_to_a_list(x):
    a = list(x)
    if x[0] > 0.3:
        a[1] = 3.0
    return (2.0 if type(a[1]) is float else 1.0) * x[2] + a[1]


def writes_an_int_to_a_list(x):
    a = list(x)
    if x[0] > 0.3:
        a[1] = 2
    return sum(range(a[1])) * x[2] if type(a[1]) is int else a[1]


def writes_to_a_list_with_another_name(x):
    a = list(x)
    b = a
    if x[0] > 0.3:
        a[0] = x[1]
        a[1] = b[0] * 2
    return a[0] + a[1] * 3 + b[1]


def writes_to_a_list_in_a_list(x):
    a = list(x)
    b = [a, a]
    if x[0] > 0.3:
        a[0] = x[2]
        a[1] = b[1][0]
    return a[1] * x[3] + a[0]


def writes_arrays_to_a_list(x):
    y = x * 1.0
    a = [y, y * 2]
    if x[0] > 0.3:
        a[0] = y + 1
    return np.sum(a[0] * a[1])


def writes_an_array_without_axes_to_a_list(x):
    a = [(x[0:1] * 1.0).reshape(()), x[1]]
    b = a[0]
    if x[0] > 0.3:
        a[0] = x[2]
    a[0] += 1.0
    return a[0] * a[1] + b


def writes_float32_to_a_list(x):
    narrow = np.array([1.5, 2.5], np.float32)
    a = list(x)
    if x[0] > 0.3:
        a[1] = narrow[0]
    return a[0] * np.sum(narrow * a[1])


def two_names_for_an_array(x):
    y = x * 1.0
    z = y
    for i in range(5):
        if x[i] > 0:
            y[i] = 2.0
            z[i] = z[i] + x[i] ** 2
    return np.sum(y * x)


def reads_a_view(x):
    y = x * 1.0
    tail, s = y[1:], 0.0
    for i in range(5):
        if x[i] > 0:
            y[i + 1] = 3.0 * x[i]
            s = s + tail[i] * x[i]
    return s + y[2] * x[0]


def the_same_entry_twice(x):
    y, last = x * 1.0, -1
    for i in range(6):
        if x[i] > 0:
            y[5] = 2.0 * x[i]
            y[i] = y[i] + 1.0
            y[last] = y[last] * x[0]
    return np.sum(y * x)


def writes_a_list(x):
    y = [0.0, 1.0, 2.0]
    for i in range(3):
        if x[i] > 0:
            y[i] = x[i]
    return y[0] * y[1] + y[2] * x[0]


def writes_a_plain_array(x):
    y = np.zeros(3, dtype=int)
    for i in range(3):
        if x[i] > 0:
            y[i] = 1.7
    return np.sum(y) * x[0] + x[1] * y[0]


def writes_where_it_found_something(x):
    y, k = x * 1.0, 0
    for i in range(6):
        if x[i] > x[k]:
            k = i
            y[k] = 0.5
    return np.sum(y * x)


def writes_rows(x):
    y = x.reshape(2, 3) * 1.0
    for i in range(2):
        if x[i] > 0:
            y[i] = x[:3] * 2.0
        else:
            y[i, 1:] = 0.5
    return np.sum(y**2)


def a_sum_while_it_is_written(x):
    y, s = x * 1.0, 0.0
    for i in range(6):
        if x[i] > 0:
            y[i] = 2.0
            s = s + np.sum(y)
    return s * x[0]


def beyond_the_end(x):
    y = x * 1.0
    for i in range(6):
        if i < 5 and x[i] > 0:
            y[i + 1] = y[i + 1] + x[i]
    return np.sum(y * x)


def divides_by_what_it_wrote(x):
    y = x * 1.0
    for i in range(6):
        if x[i] > 0.5:
            y[i] = 0
            y[i] = 1.0 / (y[i] + x[i] * 0 + 1) + 3 // 2
    return np.sum(y * x)


def writes_in_a_helper(x):
    y = x * 1.0
    for i in range(5):
        write(y, i)
    return np.sum(y * x)


def write(y, i):
    if y[i] > 0:
        y[i + 1] = y[i] * 0.5


# Rows and slices


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


def another_array_at_times(x):
    y, z = x * 1.0, x * 2.0
    for k in range(3):
        if x[k] > 0:
            y[:2] = x[k]
            y = z
    return np.sum(y * z)


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


PROGRAMS = [views_see_it, signed_zeros, kept_while_it_falls, steps_that_are_taken]
# What a careless join of both sides gets wrong.
TRAPS = [
    writes_a_plain_number_to_a_list, writes_an_int_to_a_list, writes_to_a_list_with_another_name, writes_to_a_list_in_a_list,
    writes_arrays_to_a_list, writes_an_array_without_axes_to_a_list, writes_float32_to_a_list, two_names_for_an_array, reads_a_view,
    the_same_entry_twice, writes_a_list, writes_a_plain_array, writes_where_it_found_something, writes_rows, a_sum_while_it_is_written,
    beyond_the_end, divides_by_what_it_wrote, writes_in_a_helper, reads_a_row_by_another_name, reads_it_in_a_tuple,
    reads_it_in_a_function, reads_it_in_an_object, writes_it_by_two_names, in_single_precision, row_beyond_the_end, at_an_index_of_data,
    another_array_at_times, in_an_array_that_stays, ints_in_a_row, too_few_for_a_row, rows_of_what_is_whole, rows_of_single_precision,
    row_that_shows_itself, by_another_name_in_a_loop, from_the_end_and_back, index_that_is_no_int_at_times,
]  # fmt: skip
