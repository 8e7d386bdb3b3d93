"""Stores on a side of a branch, into objects other than lists, dicts, sets and arrays: each is undone, or has a guard."""

import array
import collections
import ctypes
import functools
import weakref

import numpy as np
import pytest
import scipy.sparse

from flow.one_tape import POINTS, recordings


def flat_of_a_plain_array(x):
    a = np.array([[1.0, 2], [3, 4]])
    if x[0] > 0:
        a.flat[1] = 7.0
    if x[1] > 0:
        a.flat = 2.0
    return a.sum() * x[2]


def flat_is_read_while_it_is_written(x):
    a, s = np.outer(x[:2], x[2:]), 0.0
    for k, v in enumerate(a.T.flat):
        a.flat[(k + 1) % 8] = 2 * v
        s += v
    for (i, j), v in np.ndenumerate(a):
        if v > 0:
            a[i - 1, j - 1] = v * s
    return (a * np.arange(8).reshape(2, 4)).sum()


def methods_of_arrays(x):
    a, b = np.array([3.0, 1, 2]), np.zeros(3)
    if x[0] > 0:
        a.__iadd__(1)
    if x[1] > 0:
        a.__setitem__(0, 9)
    if x[2] > 0:
        np.cumsum(a, 0, None, b)
    if x[3] > 0:
        a.cumsum(out=b)
    if x[4] > 0:
        np.add(a, 1.0, b)
    return (a * np.arange(3)).sum() * x[0] + b.sum() * x[1]


def functions_that_write(x):
    a, b = x * 1.0, np.zeros(6)
    if x[0] > 0:
        np.putmask(a, a < 1, [4.0])
    if x[1] > 0:
        np.putmask(b, b < 1, [2.0])
    if x[2] > 0:
        np.multiply(a, 2, a)
    if x[3] > 0:
        np.clip(b, 0.5, 1.5, b)
    if x[4] > 0:
        a.cumsum(0, None, a)
    return (a * b + a + b).sum()


def shapes_and_flags(x):
    a, b = np.array([1.0, 2, 3]), np.array([[1.0, 2, 3], [4, 5, 6]])
    if x[0] > 0:
        a.resize(5, refcheck=False)
    if x[1] > 0:
        b.shape = (3, 2)
    if x[2] > 0:
        a.flags.writeable = False
    try:
        a[0] = 2
    except ValueError:
        return len(a) * x[3]
    return b[1].sum() * x[4]


def buffers(x):
    numbers, text = np.array([1.0, 2, 3]), bytearray(3)
    if x[0] > 0:
        memoryview(numbers)[1] = 7.0
    if x[1] > 0:
        memoryview(text)[1] = 7
    return numbers.sum() * x[2] + sum(text) * x[3]


def arrays_of_python_and_c(x):
    a, c = array.array("d", [1, 2, 3]), (ctypes.c_double * 3)(1, 2, 3)
    if x[0] > 0:
        a[0] = 5.0
    if x[1] > 0:
        a += array.array("d", [4.0])
    if x[2] > 0:
        c[1] = 7.0
    return sum(a) * x[3] + sum(c) * x[4]


class Point(ctypes.Structure):
    """A structure of C."""

    _fields_ = (("a", ctypes.c_double),)


def attributes_of_c(x):
    point = Point(1.0)

    def scaled(v, k=2.0):
        return v * k

    if x[0] > 0:
        point.a = 4.0
    if x[1] > 0:
        scaled.__defaults__ = (3.0,)
    return point.a * x[2] + scaled(x[3])


def records(x):
    a = np.zeros(2, [("p", "f8"), ("n", "i4")])
    b = np.rec.array([(1.0, 2), (3.0, 4)], dtype=[("p", "f8"), ("n", "i4")])
    if x[0] > 0:
        a[0]["n"] = 3
    if x[1] > 0:
        b.n = 5
    return (a["n"].sum() + b.n.sum()) * x[2]


def masked_arrays(x):
    a = np.ma.array([1.0, 2, 3])
    if x[0] > 0:
        a[1] = np.ma.masked
    return float(a.sum()) * x[1] + a.count() * x[2]


def sparse_matrices(x):
    m = scipy.sparse.lil_matrix((2, 2))
    if x[0] > 0:
        m[0, 1] = 3.0
    return m.sum() * x[1]


class Thing:
    """Can be referred to weakly."""


def mappings_of_libraries(x):
    thing, known, held = Thing(), weakref.WeakValueDictionary(), collections.UserDict(a=1.0)
    if x[0] > 0:
        known["a"] = thing
    if x[1] > 0:
        held["b"] = 2.0
    return len(known) * x[2] + sum(held.values()) * x[3]


def caches_and_errors(x):
    calls = []

    @functools.lru_cache
    def entry(k):
        calls.append(k)
        return x[k]

    s = entry(1)
    if x[0] > 0:
        entry.cache_clear()
    s += entry(1) + len(calls) * x[2]
    try:
        try:
            raise ValueError
        except ValueError as error:
            if x[1] > 0:
                error.add_note("low")
            raise
    except ValueError as error:
        return s * (1 + len(getattr(error, "__notes__", ())))


def sets_of_the_keys_of_a_dict(x):
    d = {"a": 1.0}
    known = d.keys()
    if x[0] > 0:
        d["b"] = x[1]
    return len(known & {"b"}) * x[2] + (known == {"a", "b"}) * x[3] + len({"a", "z"} ^ d.keys()) + ({"b"} <= d.keys()) * x[4]


def lists_in_an_array_of_objects(x):
    a = np.empty(3, object)
    for i in range(3):
        a[i] = []
    for v in x:
        a[int(v > 0) + int(v > 1)].append(v)
    return sum(len(part) * sum(part) for part in a)


PROGRAMS = {
    flat_of_a_plain_array: 2, flat_is_read_while_it_is_written: 1, methods_of_arrays: 1, functions_that_write: 1, shapes_and_flags: 8,
    buffers: 4, arrays_of_python_and_c: 8, attributes_of_c: 4, records: 4, masked_arrays: 2, sparse_matrices: 2, mappings_of_libraries: 4,
    caches_and_errors: 2, sets_of_the_keys_of_a_dict: 2, lists_in_an_array_of_objects: 1,
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_branch_stores_is_pythons(program):
    """Recorded at the first point; the value and gradient of each other one, where the store may not take place."""
    assert recordings(program, POINTS[:12]) <= PROGRAMS[program]
