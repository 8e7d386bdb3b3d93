"""Arrays of constants that branches write to: tracked where NumPy makes them by a name, else a path of their own."""

from __future__ import annotations

import numpy as np
import pytest

from flow.one_tape import recordings

TABLE = np.array([3, 1, 2])


def ints_of_a_list(x):
    a = np.array([1, 2, 3])
    if x[0] > 0:
        a[1] = 5
    return a.sum() * x[1]


def ints_of_a_range(x):
    a = np.arange(4)
    if x[0] > 0:
        a[1] = 5
    return a[1] * x[1]


def views_in_place(x):
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    b = np.array([1.0, 2.0, 3.0])[1:]
    for v in x:
        if v > 0:
            a[0] *= 2
            b += 1
    return a[0] @ a[1] * x[1] + b.sum() * x[2]


def data_written_into_it(x):
    a = np.arange(4.0)
    for k in range(4):
        if x[k] > 0:
            a[k] = x[k]
    return a.sum() * x[0]


def flags(x):
    a = np.full(4, False)
    for k in range(4):
        if x[k] > 0:
            a[k] = True
    return a.sum() * x[0]


def sorted_and_filled(x):
    a, b = np.array([3, 1, 2]), np.array([0, 0, 0])
    if x[0] > 0:
        a.sort()
        b.fill(1)
    return x[a[0]] * x[b[1]]


def narrow_ints(x):
    a = np.zeros(4, dtype=np.int8)
    if x[0] > 0:
        a[1] = 100
        a[1] -= 3
    return float(a[1]) * x[1]


def from_a_generator(x):
    a = np.random.default_rng(0).permutation(4)
    if x[0] > 0:
        a[0], a[1] = a[1], a[0]
    return x[a[0]] * 2 + x[a[1]]


def of_the_caller(x):
    TABLE[:] = 3, 1, 2
    if x[0] > 0:
        TABLE[0] = 4
    return x[TABLE[0]] * TABLE[1]


def refused_where_ints_are_tracked(x):
    n = np.zeros(8, int)
    n[0] = 1
    TABLE[:] = 3, 1, 2
    TABLE[int(x[0] > 0)] = 4
    return x[0] * TABLE[1] * int(np.packbits(n)[0])


def refused_before_a_write(x):
    n = np.zeros(8, int)
    n[0] = 1
    bits = int(np.packbits(n)[0])
    TABLE[:] = 3, 1, 2
    TABLE[int(x[0] > 0)] = 4
    return x[0] * TABLE[1] * bits


ONE = [ints_of_a_list, ints_of_a_range, views_in_place, data_written_into_it, flags, sorted_and_filled]
# For each path; they are made again where more arrays are tracked.
FEW = [narrow_ints, from_a_generator, of_the_caller, refused_where_ints_are_tracked, refused_before_a_write]


@pytest.mark.parametrize(("f", "most"), [*((f, 1) for f in ONE), *((f, 4) for f in FEW)], ids=lambda f: getattr(f, "__name__", f))
def test_plain_arrays_may_be_written_to_on_a_side(f, most):
    """Values and gradients are those of Python, by one recording, or one for each path."""
    assert recordings(f) <= most
