"""Writes to arrays in branches on data, in plain Python: those that merge, and traps."""

import numpy as np

import tapediff as td

# What merges


def writes_an_array(x):
    y = td.zeros(6)
    for i in range(6):
        if x[i] > 0:
            y[i] = x[i] * 2
        else:
            y[i] = -x[i]
    return np.sum(y**2)


def adds_to_entries(x):
    y = x * 1.0
    for i in range(1, 6):
        if y[i] > y[i - 1]:
            y[i] += 0.5 * y[i - 1]
            if y[i] > 1.5:
                y[i - 1] = 0
        elif x[i] < -0.5:
            y[i] *= x[0]
    return np.sum(y * np.arange(6.0))


def swaps(x):
    y = x.copy()
    for k in range(5):
        for i in range(5 - k):
            if y[i] > y[i + 1]:
                y[i], y[i + 1] = y[i + 1], y[i]
    return np.sum(y * np.arange(6.0) ** 2)


def views_see_it(x):
    y = x * 1.0
    tail, table = y[3:], y.reshape(2, 3)
    for i in range(3):
        if x[i] > 0:
            tail[i] = x[i] * x[i]
        if table[1, i] > 0.5:
            table[0, i] = table[0, i] - 1.0
    return np.sum(y**2) + tail[0] * table[0, 1]


def until_a_break(x):
    y = x * 1.0
    for i in range(6):
        if y[i] > 1.0:
            break
        y[i] = y[i] * 3.0 if y[i] < 0 else 1.0
    return np.sum(y * x)


def signed_zeros(x):
    y = np.array([0.0, -0.0, np.nan, 1.0]) * np.ones_like(x[:4])
    for i in range(4):
        if x[i] > 0:
            y[i] = -0.0
    return np.sum(np.copysign(1.0, y)) * x[0] + x[1]


def discarded_infinities_in_an_array(x):
    y = x * 1.0
    for i in range(6):
        if x[i] > 0:
            y[i] = np.log(x[i]) + np.sqrt(x[i])
    return np.sum(y)


def sorts_an_array(x):
    a = x.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return np.sum(a * np.arange(1.0, n + 1))


def sorts_a_list(x):
    a = list(x)
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return sum(k * v for k, v in enumerate(a))


def bounces_between_walls(x):
    at, speed = x[:3].copy(), x[3:] * 1.0
    for _ in range(5):
        for i in range(3):
            at[i] += 0.3 * speed[i]
            if at[i] < -0.5:
                at[i] = -1.0 - at[i]
                speed[i] = -speed[i]
    return np.sum(at * speed)


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


MERGE = [sorts_an_array, sorts_a_list, bounces_between_walls, writes_an_array, adds_to_entries, swaps, views_see_it, until_a_break, signed_zeros, discarded_infinities_in_an_array]


# Traps


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


TRAPS = [
    writes_a_plain_number_to_a_list, writes_an_int_to_a_list, writes_to_a_list_with_another_name,
    writes_to_a_list_in_a_list, writes_arrays_to_a_list, writes_an_array_without_axes_to_a_list, writes_float32_to_a_list,
    two_names_for_an_array, reads_a_view, the_same_entry_twice, writes_a_list, writes_a_plain_array, writes_where_it_found_something,
    writes_rows, a_sum_while_it_is_written, beyond_the_end, divides_by_what_it_wrote, writes_in_a_helper,
]  # fmt: skip
