"""Functions that read globals, closures, defaults and attributes that change during the call."""

from __future__ import annotations

import types

import numpy as np

TABLE = {"rate": 1.0}
settings = types.ModuleType("settings_of_the_user")
settings.rate, settings.table, settings.array = 1.0, [1.0], np.ones(3)


class Rates:
    rate, table = 1.0, [1.0]

    def read(self, v):
        return v * self.rate

    def entry(self, v):
        return v * self.table[0]


class Slotted:
    __slots__ = ("rate",)

    def read(self, v):
        return v * self.rate


class Nested:
    def __init__(self, depth):
        self.rate, self.inner = 1.0, Nested(depth - 1) if depth else None

    def read(self, v):
        return v * self.inner.inner.inner.inner.inner.rate


RATES, SLOTTED, NESTED, LISTS, PAIR, LARGE = (
    Rates(),
    Slotted(),
    Nested(5),
    [[[[[[1.0]]]]]],
    ([1.0], 2.0),
    np.ones(100_000),
)


def attribute_of_module(v):
    return v * settings.rate


def list_of_module(v):
    return v * settings.table[0]


def array_of_module(v):
    return v * np.sum(settings.array)


def attribute_of_class(v):
    return RATES.read(v)


def list_of_class(v):
    return RATES.entry(v)


def slot(v):
    return SLOTTED.read(v)


def deep_in_objects(v):
    return NESTED.read(v)


def deep_in_lists(v):
    return v * LISTS[0][0][0][0][0][0]


def list_in_a_tuple(v):
    return v * PAIR[0][0]


def entry_of_a_dict(v):
    return v * TABLE["rate"]


def with_rates(v, rates=[1.0]):  # noqa: B006 -- that is the trap
    return v * rates[0]


def list_by_default(v):
    return with_rates(v)


def large_array(v):
    return v * np.mean(LARGE)


def counter(rate):
    def read(v):
        return v * rate

    def change(value):
        nonlocal rate
        rate = value

    return read, change


with_rate, change_the_variable = counter(1.0)


def variable_of_a_closure(v):
    return with_rate(v)


def replaced(v):
    return chosen(v)


def chosen(v):
    return v


def twice(v):
    return v * 2.0


def change_the_function(value):
    global chosen
    chosen = twice if value > 1.5 else abs


def change_large(value):
    LARGE[1] = 1e5 * value


# What a helper reads, and how it is changed
STATES = {
    attribute_of_module: lambda value: setattr(settings, "rate", value),
    list_of_module: lambda value: settings.table.__setitem__(0, value),
    array_of_module: lambda value: settings.array.__setitem__(0, value),
    attribute_of_class: lambda value: setattr(Rates, "rate", value),
    list_of_class: lambda value: Rates.table.__setitem__(0, value),
    slot: lambda value: setattr(SLOTTED, "rate", value),
    deep_in_objects: lambda value: setattr(NESTED.inner.inner.inner.inner.inner, "rate", value),
    deep_in_lists: lambda value: LISTS[0][0][0][0][0].__setitem__(0, value),
    list_in_a_tuple: lambda value: PAIR[0].__setitem__(0, value),
    entry_of_a_dict: lambda value: TABLE.__setitem__("rate", value),
    list_by_default: lambda value: with_rates.__defaults__[0].__setitem__(0, value),
    variable_of_a_closure: change_the_variable,
    replaced: change_the_function,
    large_array: change_large,
}


def long_sine(v):
    for k in range(4):
        v = np.sin(v) + 0.1 * k * v
    return v


def in_iterations(read, change):
    """Each iteration has a branch, and another state."""

    def f(x):
        change(1.0)
        s = 0.0
        for k in range(3):
            if x[k] > 0:
                s = s + read(long_sine(x[k]))
            else:
                s = s + long_sine(x[k + 1])
            change(2.0 + k)
        return s

    return f


def afterwards(read, change):
    """The second branch runs when the state has changed."""

    def f(x):
        change(1.0)
        s = long_sine(x[0])
        if x[1] > 0:
            s = s + read(long_sine(x[2]))
        else:
            s = s * 0.5
        change(3.0)
        return s * x[3]

    return f


def in_a_while(read, change):
    """Runs one loop twice, with other states."""

    def f(x):
        s = 0.0
        for k in range(2):
            change(1.0 + k)
            v = abs(x[k]) + 0.1
            while v < 3.0:
                v = v + abs(read(v)) * 0.5
            s = s + v * x[k + 1]
        return s

    return f


def late_in_a_while(read, change):
    """A side of a branch in a `while`, taken when the state has changed."""

    def f(x):
        change(1.0)
        v = abs(x[0]) + 0.1
        while v < 3.0:
            if x[1] > 0.05 * v:
                v = v + abs(read(long_sine(v))) + 0.2
            else:
                v = v + long_sine(v) ** 2 + 0.2
        change(2.0)
        return v * x[2]

    return f


FORMS = (in_iterations, afterwards, in_a_while, late_in_a_while)
CASES = {f"{form.__name__}.{read.__name__}": form(read, change) for form in FORMS for read, change in STATES.items()}


PROGRAMS = [slot]
