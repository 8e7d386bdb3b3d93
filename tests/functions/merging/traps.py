"""Traps of a second kind: loops and branches whose operands, functions and arrays have effects that no syntax shows."""

import collections
import functools

import numpy as np


class Multiplied:
    """Counts its uses in every operator and conversion."""

    def __init__(self):
        self.uses = 0

    def used(self, *_):
        self.uses += 1
        return 0.1 * self.uses

    __mul__ = __rmul__ = __add__ = __radd__ = __float__ = __abs__ = used

    def __len__(self):
        self.used()
        return self.uses

    def __iter__(self):
        return iter([self.used()])

    def __bool__(self):
        self.used()
        return self.uses % 2 == 0

    def __lt__(self, other):
        return bool(self)

    def __index__(self):
        self.used()
        return self.uses % 3


class Float(float):
    """A float that counts how often it is added."""

    def __init__(self, value):
        self.uses = 0

    def __radd__(self, other):
        self.uses += 1
        return other + 0.3 * self.uses


class Pair(collections.namedtuple("Pair", "a b")):
    made = 0

    def __new__(cls, a):
        Pair.made += 1
        return super().__new__(cls, a, Pair.made)


class LikeNumpy:
    """Looks like a function of NumPy's, and counts."""

    def __init__(self):
        functools.update_wrapper(self, np.mean)
        self.uses = 0

    def __call__(self, v):
        self.uses += 1
        return 1.0 * self.uses


LIST = [0.3, 0.5, 0.7]

# What a turn adds, given an object that counts its uses.
EFFECTS = [
    (Multiplied, lambda v, o: v * o), (Multiplied, lambda v, o: 0.1 * len(o)), (Multiplied, lambda v, o: abs(o)),
    (Multiplied, lambda v, o: float(o)), (Multiplied, lambda v, o: sum([w for w in o])), (Multiplied, lambda v, o: sum(o)),  # noqa: C416
    (Multiplied, lambda v, o: 1.0 if o else 2.0), (Multiplied, lambda v, o: 1.0 if not o else 2.0), (Multiplied, lambda v, o: 1.0 if o < 3 else 2.0),
    (Multiplied, lambda v, o: LIST[o]), (Multiplied, lambda v, o: sum([o, 0.1])), (Multiplied, lambda v, o: 1.0 if o and True else 2.0),
    (lambda: Float(2.0), lambda v, o: 0.3 + o),
    (lambda: np.frompyfunc(LikeNumpy(), 1, 1), lambda v, o: 0.2 * o(1.0)), (lambda: np.vectorize(LikeNumpy()), lambda v, o: 0.2 * o(1.0)),
    (LikeNumpy, lambda v, o: 0.2 * o(1.0)), (lambda: Pair, lambda v, o: 0.2 * o(v).b), (lambda: iter([0.1, 1.0, 0.3]), lambda v, o: sum([w for w in o]) + 0.1),  # noqa: C416
]  # fmt: skip


def in_a_while(make, added):
    def f(x):
        Pair.made = 0
        o, v = make(), abs(x[0]) + 0.1
        while v < 4.0:
            v = v + added(v, o)
        return v * x[1]

    return f


def in_a_branch(make, added):
    def f(x):
        Pair.made = 0
        o, s = make(), 0.0
        for v in x:
            if v > 0:
                s = s + added(v, o)
        return s * x[1]

    return f


def index_with_code_of_its_own(x):
    o, s = Multiplied(), 0.0
    for v in x:
        if v > 0:
            s = s + LIST[o] * v
    return s


# Arrays that a loop hands on, and a write after it


def first_is_written(y):
    y[0] += 1.0


def adds_in_place(y):
    y += 1.0


def sorts(y):
    y.sort()


def writes_by_out(y):
    np.multiply(y, 2.0, out=y)


WRITES = [first_is_written, adds_in_place, sorts, writes_by_out]


def grown_then_written(x, write):
    y, t = x * 1.0, abs(x[0])
    z = y
    while t < 1.0:
        y = y * 2.0
        t = t + 0.3
    write(y)
    return np.sum(z**2) + t


def swapped_then_written(x, write):
    y, z, t = x * 1.0, x * 2.0, abs(x[0])
    a = z
    while t < 1.0:
        y, z = z, y
        t = t + 0.3
    write(y)
    return np.sum(z**2) + 2 * np.sum(a**2) + t


def bound_then_written(x, write):
    y, z, t = x * 1.0, x * 2.0, abs(x[0])
    while t < 1.0:
        z = y
        t = t + 0.3
    write(y)
    return np.sum(z**2) + 2 * np.sum(y**2) + t


def an_array_without_axes(x, write):
    a = np.array(abs(x[0]))
    b = a
    while a < 3:
        a += 1.0
    return b * x[1]


def a_view_without_axes(x, write):
    y = x * 1.0
    a = y[2, ...]
    while a < 3:
        a += 1.0
    return y[2] * x[1]


def written_by_a_third_argument(x, write):
    y, v = x * 1.0, abs(x[0])
    while v < 3.0:
        z = np.clip(y, 0, 1, y)
        v = v + 0.5 + 0 * np.sum(z)
    return np.sum(y**2)


ALIASES = [grown_then_written, swapped_then_written, bound_then_written, an_array_without_axes, a_view_without_axes, written_by_a_third_argument]
