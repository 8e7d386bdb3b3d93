"""Branches with loops, calls and arrays on one side: what both sides may see and change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

KNOTS = np.linspace(-2.0, 2.0, 9)
COEFFICIENTS = np.random.default_rng(1).normal(size=(8, 4))
ADDED = [0]
PAIRS = []
CALLS = [0]
GAIN = 1.0


def solves_on_one_side(x):
    a = np.eye(3) * 3.0 + np.outer(x[:3], x[3:])
    if x[0] + x[1] > 0.3:
        y = np.linalg.solve(a, x[:3])
    else:
        y = x[:3] * 2.0 - x[3:]
    if np.sum(y) > 0:
        z = np.linalg.solve(a, y)
    else:
        z = np.exp(-(y**2))
    return np.sum(y * z)


def cubic(k, t):
    if k < 4:
        c = COEFFICIENTS[k]
        return c[0] + t * (c[1] + t * (c[2] + t * c[3]))
    c = COEFFICIENTS[k]
    return c[0] - t * c[1]


def spline(x):
    """Finds each interval by bisection, on ints."""
    s = 0.0
    for v in x:
        t = 1.9 * np.tanh(v)
        low, high = 0, 8
        while high - low > 1:
            middle = (low + high) // 2
            if t >= KNOTS[middle]:
                low = middle
            else:
                high = middle
        s = s + cubic(low, t - KNOTS[low])
    return s


def arrays_from_both_sides(x):
    y = x[:3] * 2.0
    for k in range(3):
        if x[k] > 0.2:
            y = y * np.cos(x[3:]) + x[k]
        else:
            y = np.concatenate([y[1:], y[:1]])
    return np.sum(y**2)


def long_sine(v):
    """Too long for a select."""
    for _ in range(6):
        v = np.sin(np.exp(-(v**2))) + 0.1 * v
    return v


class Meter:
    def __init__(self):
        self.asked = 0
        self.gain = 1.0

    @property
    def reading(self):
        self.asked += 1
        return float(self.asked)

    def scaled(self, v):
        return v * self.gain

    def counted(self, v):
        self.asked += 1
        return v * self.asked


def asks_a_property(x):
    (meter,), s = [Meter()], 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * meter.reading
    return s + x[0]


def calls_a_method_with_state(x):
    (meter,), s = [Meter()], 0.0
    for v in x:
        if v > 0:
            s = s + meter.counted(long_sine(v))
    return s + x[0]


def calls_a_method_of_an_object_that_changes(x):
    meter, s = Meter(), 0.0
    for k in range(6):
        meter.gain = 1.0 + k
        if x[k] > 0:
            s = s + meter.scaled(long_sine(x[k]))
    return s + x[0]


class Number:
    def __init__(self):
        self.uses = 0

    def __mul__(self, other):
        self.uses += 1
        return other * self.uses

    __rmul__ = __mul__

    def __bool__(self):
        self.uses += 1
        return self.uses % 2 == 0

    def __iter__(self):
        self.uses += 1
        return iter([1.0] * self.uses)

    def __lt__(self, other):
        self.uses += 1
        return self.uses < 3

    def __getitem__(self, k):
        self.uses += 1
        return self.uses


NUMBER = Number()


def multiplies_an_object(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * NUMBER
    return s + x[0]


class Box:
    """Holds an object that no recording looks into."""

    def __init__(self):
        self.number = Number()

    def product(self, v):
        return v * self.number

    def chosen(self, v):
        return v if self.number else 2.0 * v

    def repeated(self, v):
        return sum([v for _ in self.number])

    def compared(self, v):
        return v if self.number < 2 else 2.0 * v

    def unpacked(self, v):
        (factor,) = self.number
        return v * factor

    def looked_up(self, v):
        return v * self.number[0]


def multiplies_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.product(v))
    return s + x[0]


def asks_for_truth_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.chosen(v))
    return s + x[0]


def goes_through_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.repeated(v))
    return s + x[0]


def unpacks_in_a_method(x):
    s = 0.0
    for v in x:
        box = Box()
        if v > 0:
            s = s + long_sine(box.unpacked(v)) * box.number.uses
    return s + x[0]


def adds_to_a_list_by_another_name(x):
    y, s = [], 0.0
    z = y
    if x[0] > 0:
        s = long_sine(x[1])
        y += [1.0]
    return s + len(z) * x[2]


class Pair(NamedTuple):
    a: float
    b: float

    def __add__(self, other):
        ADDED[0] += 1
        return self.a * other * ADDED[0]


def adds_a_named_tuple(x):
    ADDED[0], s = 0, 0.0
    pair = Pair(0.5, 2.0)
    for v in x:
        if v > 0:
            s = s + long_sine(v) * (pair + v)
    return s + x[0]


def compares_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.compared(v))
    return s + x[0]


def looks_up_in_a_method(x):
    box, s = Box(), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(box.looked_up(v))
    return s + x[0]


def asks_whether_an_object_is_true(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + (long_sine(v) if NUMBER else v)
    return s + x[0]


def goes_through_an_object(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            for w in NUMBER:
                s = s + long_sine(v) * w
    return s + x[0]


def compares_an_object(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + (long_sine(v) if NUMBER < 2 else v)
    return s + x[0]


def looks_up_an_entry_of_an_object(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * NUMBER[0]
    return s + x[0]


def sums_a_list_of_objects(x):
    NUMBER.uses, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * len([n for n in [NUMBER, NUMBER] if n])
    return s + x[0]


def goes_on_with_an_iterator(x):
    items, s = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), 0.0
    for v in x:
        if v > 0:
            for item in items:
                s = s + long_sine(v) * item
                if item > 0:
                    break
    return s + x[0]


def goes_on_with_a_global_iterator(x):
    global PAIRS
    PAIRS, s = zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0] * 6), 0.0
    for v in x:
        if v > 0:
            for a, b in PAIRS:
                s = s + long_sine(v) * a * b
    return s + x[0]


def draws(x):
    rng, s = np.random.default_rng(1), 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * rng.normal()
    return s + x[0]


def counting(v):
    CALLS[0] += 1
    return long_sine(v) * CALLS[0]


def calls_a_function_that_counts(x):
    CALLS[0], s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + counting(v)
    return s + x[0]


def counting_by_default(v, seen=[0]):  # noqa: B006 -- that is the trap
    seen[0] += 1
    return long_sine(v) * seen[0]


def calls_a_function_that_counts_by_default(x):
    counting_by_default.__defaults__[0][0] = 0
    s = 0.0
    for v in x:
        if v > 0:
            s = s + counting_by_default(v)
    return s + x[0]


def calls_a_closure_that_counts(x):
    n, s = 0, 0.0

    def counted(v):
        nonlocal n
        n += 1
        return long_sine(v) * n

    for v in x:
        if v > 0:
            s = s + counted(v)
    return s + x[0]


def changes_an_array_in_place(x):
    y = x[:3] * 1.0
    z = y
    for v in x:
        if v > 0:
            y += long_sine(v)
    return np.sum(z**2)


def changes_a_list_in_place(x):
    y = []
    z = y
    for v in x:
        if v > 0:
            y += [long_sine(v)]
    return sum(z) * x[0]


def adding_in_place(y, v):
    y += long_sine(v)
    return y


def calls_a_function_that_changes_its_argument(x):
    y, s = x[:3] * 1.0, 0.0
    for v in x:
        if v > 0:
            s = s + np.sum(adding_in_place(y, v))
    return s + np.sum(y)


def hands_an_array_through(x):
    y = x[:3] * 1.0
    z = y * 2.0
    w = z
    if x[3] > 0:
        w = y
        z = np.cumsum(y)
    w[0] = 5.0
    return np.sum(y**2) + np.sum(z * np.arange(3.0)) + np.sum(w)


def one_array_by_two_names(x):
    a, b = x[:3] * 1.0, x[3:] * 1.0
    if x[0] > 0:
        a = b = np.cumsum(x[:3])
    a[0] = 7.0
    return np.sum(a * x[3:]) + np.sum(b * x[:3])


def gives_a_view(x):
    y = x * 1.0
    tail = y[:2]
    if x[0] > 0:
        tail = y[3:]
    tail[0] = 4.0
    return np.sum(y**2)


def asks_which_tuple_it_is(x):
    old = (x[0], x[1])
    new = (x[1], long_sine(x[0]))
    state = old
    if x[2] > 0:
        state = new
    return state[0] * (2.0 if state is old else 3.0) + state[1]


def uses_an_int_as_an_index(x):
    k = 0
    if x[0] > 0:
        k = 3
        y = np.cumsum(x)
    else:
        y = x[::-1]
    return y[k] * [1.0, 2.0, 3.0, 4.0][k] + (k // 2) + 2**k


def adds_bools(x):
    a, b = True, False
    if x[0] > 0:
        b = True
        y = np.cumsum(x)
    else:
        y = x[::-1]
    return y[1] * (a + b)


def none_until_found(x):
    best = None
    for v in x:
        if v > 0.3 and (best is None or long_sine(v) > long_sine(best)):
            best = v
    return x[0] if best is None else best * x[1]


def a_string_as_state(x):
    mode, s = "slow", 0.0
    for v in x:
        if v > 0.5:
            mode, s = "fast", s + long_sine(v)
        s = s + (v if mode == "slow" else v**2)
    return s


def asks_for_the_type_of_a_number(x):
    n, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + (long_sine(v) if isinstance(n, int) else 100.0)
            n = n + 1
    return s + n * x[0]


def divides_by_a_count(x):
    n, s = 0, 0.0
    for v in x:
        if v > 0:
            s = s + long_sine(v) * (1 / (n + 1))
            n = n + 1
    return s * x[0]


def an_entry_beyond_the_end(x):
    s = 0.0
    for i in range(6):
        if i < 5 and x[i + 1] > x[i]:
            s = s + long_sine(x[i + 1])
    return s * x[0]


def reads_a_list_that_changes(x):
    window, s = [0.0, 1.0], 0.0
    for v in x:
        window[0] = window[1]
        window[1] = window[1] + 1.0
        if v > 0:
            s = s + long_sine(v) * sum(window)
    return s + x[0]


def keeps_the_latest(x):
    window, s = [x[0], x[1]], 0.0
    for v in x:
        window = [window[1], v]
        if v > 0:
            s = s + long_sine(v) * sum(window)
    return s + x[0]


def scaled_by_a_global(v):
    return long_sine(v) * GAIN


def changes_a_global_between(x):
    global GAIN
    GAIN, s = 1.0, 0.0
    for v in x:
        GAIN = GAIN + 1.0
        if v > 0:
            s = s + scaled_by_a_global(v)
    return s + x[0]


def computes_in_float32(x):
    s = np.float32(0.0)
    for v in x.astype(np.float32):
        if v > 0:
            s = s + long_sine(v)
    return s * x[0]


def multiplies_float32_by_a_float(x):
    s, c = 0.0, 0.1
    for v in x.astype(np.float32):
        c = c + 0.1
        if v > 0:
            s = s + long_sine(c * v)
    return s * x[0]


def makes_float32_inside(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = long_sine(v).astype(np.float32)
        else:
            s = 0.25
    return s * (x[0] * 0.0 + 3.3).astype(np.float32)


def shapes_differ(x):
    if x[0] > 0:
        y = np.cumsum(x)
    else:
        y = np.cumsum(x[:2])
    return np.sum(y) * len(y)


def has_many_constants(x):
    s = 0.0
    for k in range(36):
        if x[k % 6] > 0.01 * k:
            s = s + long_sine(x[k % 6]) ** (1 + k % 37)
    return s


def has_many_paths(x):
    s = 0.0
    if x[0] > -10.0:
        for k in range(6):
            for v in x:
                s = s + (np.sum(x[:2]) if v > 0.1 * k else 1.0)
    return s * x[0]


def writes_to_a_list(x):
    best, s = [0.0], 0.0
    also = [best]
    for v in x:
        if v > 0.5:
            best[0] = best[0] + 1.0
            s = long_sine(v)
    return also[0][0] * x[0] + s


def appends(x):
    kept, s = [], 0.0
    for v in x:
        if v > 0.5:
            kept.append(v)
            s = long_sine(v)
    return sum(kept) * x[0] + s


def stores_on_an_object(x):
    meter, s = Meter(), 0.0
    also = [meter]
    for v in x:
        if v > 0:
            also[0].gain = 2.0 * meter.gain
            s = s + long_sine(v)
        s = s + v * meter.gain
    return s


def sorts_in_place(x):
    y = x[:3] * 1.0
    z = y
    if x[0] > 0:
        y.sort()
        w = np.cumsum(y)
    else:
        w = y
    return np.sum(z * np.arange(3.0)) + w[0]


def late_binding(x):
    k = 1.0
    later = lambda v: v * k
    if x[0] > 0:
        k = long_sine(x[1])
    return later(x[1]) + k * x[2]


PROGRAMS = [solves_on_one_side, spline, arrays_from_both_sides]
# What a careless join of both sides gets wrong.
TRAPS = [
    asks_a_property, calls_a_method_with_state, calls_a_method_of_an_object_that_changes, multiplies_an_object, multiplies_in_a_method,
    asks_for_truth_in_a_method, goes_through_in_a_method, unpacks_in_a_method, adds_to_a_list_by_another_name, adds_a_named_tuple,
    compares_in_a_method, looks_up_in_a_method, asks_whether_an_object_is_true, goes_through_an_object, compares_an_object,
    looks_up_an_entry_of_an_object, sums_a_list_of_objects, goes_on_with_an_iterator, goes_on_with_a_global_iterator, draws,
    calls_a_function_that_counts, calls_a_function_that_counts_by_default, calls_a_closure_that_counts, changes_an_array_in_place,
    changes_a_list_in_place, calls_a_function_that_changes_its_argument, hands_an_array_through, one_array_by_two_names, gives_a_view,
    asks_which_tuple_it_is, uses_an_int_as_an_index, adds_bools, none_until_found, a_string_as_state, asks_for_the_type_of_a_number,
    divides_by_a_count, an_entry_beyond_the_end, reads_a_list_that_changes, keeps_the_latest, changes_a_global_between,
    computes_in_float32, multiplies_float32_by_a_float, makes_float32_inside, shapes_differ, has_many_constants, has_many_paths,
    writes_to_a_list, appends, stores_on_an_object, sorts_in_place, late_binding,
]  # fmt: skip
