"""Methods in the user's code that builtins call, and objects that set their attributes themselves: as Python does, on sides as well."""

from __future__ import annotations

import collections
import dataclasses
import math

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings


class Counting:
    """An object that counts its uses."""

    def __init__(self):
        self.uses = 0

    def used(self, *_):
        self.uses += 1
        return 0.1 * self.uses

    __abs__ = __float__ = __round__ = used

    def __index__(self):
        self.uses += 1
        return self.uses % 3

    def __iter__(self):
        return iter([self.used()])


def counts_in_builtins(x):
    o, s = Counting(), 0.0
    for v in x:
        if v > 0:
            s += abs(o) + float(o) * v + round(o)
        if v > 1:
            s += [1.0, 2.0, 3.0][o] * v + sum(o) + max(list(o))
    return s * x[0]


def test_builtins_without_arguments_are_pythons():
    def f(x):
        s = x[0]
        if x[1] > 0:
            for kind in (int, float, str, complex, bool):
                s += 1.0 if kind() else x[2]
        try:
            return s + abs() if x[3] > 0 else s
        except TypeError:
            return s * 2

    assert recordings(f) == 1


@pytest.mark.parametrize(
    "builtin", [sum, list, tuple, set, frozenset, sorted, min, max, any, all, math.fsum, math.prod, enumerate, zip, iter], ids=lambda f: f.__name__
)
def test_builtins_ask_an_object_for_its_items_where_they_are_called(builtin):
    def f(x):
        o, s = Counting(), 0.0
        for v in x[:3]:
            if v > 0:
                found = builtin(o)
                s += v * o.uses + (found if isinstance(found, (int, float)) else len(list(found)))
        return s

    assert recordings(f, POINTS[:8]) == 1 or builtin not in (sum, list, tuple, sorted, min, max, math.prod, iter)


def test_functions_of_the_math_module_ask_an_object_for_its_items_once():
    def f(x):
        o, s = Counting(), 0.0
        for v in x[:3]:
            if v > 0:
                s += v * o.uses + math.fsum(o) + math.dist(o, [v]) + math.prod(o)
        return s + o.uses

    # One for each number of positive entries.
    assert recordings(f, POINTS[:8]) == 4


class Doubling:
    def __init__(self, gain):
        self.gain = gain

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class Adding(Doubling):
    def __setattr__(self, name, value):
        super().__setattr__(name, value + 1)


def sets_attributes_by_itself(x):
    a, b = Doubling(0.5), Adding(1.0)
    for v in x:
        if v > 0:
            a.gain = b.gain = v
    return a.gain * b.gain


@pytest.mark.parametrize(
    "f", [counts_in_builtins, sets_attributes_by_itself], ids=lambda f: f.__name__
)
def test_methods_run_as_in_python(f):
    """Their effects belong to the side that calls them."""
    assert recordings(f) == 1


def powers_of_floats(x):
    h = 0.25 if x[0] > 0 else -0.25
    try:
        return (10.0 if x[1] > 0 else 1e70) ** 5.5 * x[2] + abs(h**0.5)
    except OverflowError:
        return x[3]


NARROW = np.array([0.1, 0.7, -0.3], np.float32)


def beside_float32(x):
    h = 0.25 if x[0] > 0 else -0.3
    return float(np.sum(h * NARROW)) * x[1]


class Unaddable:
    def __add__(self, other):
        return NotImplemented

    __iadd__ = __add__


def test_operators_that_a_class_leaves_raise_pythons_error():
    """With the symbol of the statement."""

    def f(x):
        holder = Unaddable()
        try:
            holder += 1.0
        except TypeError as error:
            return x[0] * len(str(error)) * (2.0 if x[1] > 0 else 1.0)
        return x[1]

    assert recordings(f) == 1


@pytest.mark.parametrize("f", [powers_of_floats, beside_float32], ids=lambda f: f.__name__)
def test_numbers_of_python_are_its_own(f):
    """Complex powers, too large ones, and floats that do not widen arrays are recorded for each path."""
    recordings(f)


def rows_are_views(x):
    table = np.arange(10.0).reshape(5, 2) * x[1]
    row = table[np.argmax(x[:5])]
    other = table[np.argmin(x[:5])]
    table *= 1.5
    row *= 3.0
    other[0] = x[2]
    return row.sum() * x[0] + other.sum() + table.sum()


def rows_of_plain_arrays(x):
    table = np.arange(10.0).reshape(5, 2)
    row = table[np.argmax(x[:5])]
    table *= 1.5
    return row.sum() * x[0] + table[np.argmin(x[:5]), 1:].sum()


@pytest.mark.parametrize(("f", "count"), [(rows_are_views, 1), (rows_of_plain_arrays, 21)], ids=["tracked", "plain"])
def test_parts_that_data_choose_share_memory(f, count):
    """Plain arrays that are written to are recorded for each path."""
    assert recordings(f) <= count


USES = Counting()
TALLY = {"hits": 0, "flags": [False]}


def counts_in_objects_of_the_caller(x):
    USES.uses, TALLY["hits"], TALLY["flags"][0] = 0, 0, False
    for v in x:
        if v > 0:
            USES.used()
            TALLY["hits"] += 2
            TALLY["flags"][0] = True
    return USES.uses * x[0] + TALLY["hits"]


def test_objects_of_the_caller_have_plain_ints_afterwards():
    """Recording leaves what plain Python leaves."""
    counts_in_objects_of_the_caller(POINTS[0].copy())
    expected = USES.uses, dict(TALLY)
    td.gradient(td.GuardedTape(counts_in_objects_of_the_caller, on_new_tape="interpret"), POINTS[0])
    assert (USES.uses, TALLY) == expected
    assert [type(value) for value in (USES.uses, TALLY["hits"], TALLY["flags"][0])] == [int, int, bool]


SHARED, RECENT = {"hits": 0}, [1.0]


def test_objects_that_only_inner_functions_name_are_the_callers():
    """Ints in them are plain afterwards, and one tape holds the sides that write to them."""

    def f(x):
        def count(k):
            SHARED["hits"] += k

        def put(value):
            RECENT[0] = value

        count(len([v for v in x if v > 0]))
        put(1.0)
        if x[0] > 0:
            put(2.0)
        return x[1] * (lambda: RECENT[0])()

    recordings(f)
    assert type(SHARED["hits"]) is int


class Tagged(list):
    def __new__(cls, entries, tag=0.0):
        made = list.__new__(cls)
        made.tag = tag * 2
        return made

    __init__ = list.__init__


class Marked(dict):
    def __new__(cls, *args, **named):
        made = dict.__new__(cls)
        made.mark = 3.0
        return made


def made_by_new(x):
    tagged, marked = Tagged([x[0], x[1]]), Marked(a=x[2], b=x[3])
    if x[0] > 0:
        tagged.append(x[4])
        marked["a"] = x[5]
    return sum(tagged) * (1 + tagged.tag) + marked["a"] * marked["b"] * marked.mark


def test_a_container_with_a_new_of_its_own_is_filled_by_its_base():
    """Python calls the __init__ of the base."""
    assert recordings(made_by_new) == 1


# Containers of the user's that derive from Python's, and those that collections has in Python


def near(v):
    return min(3, max(0, int(v * 2 + 1)))


class Scaled(dict):
    """A dict whose methods go on to those of its base."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)

    def __delitem__(self, key):
        if key in self:
            super().__delitem__(key)

    def __missing__(self, key):
        return 0.25 * key


class Reversed(list):
    def append(self, value):
        list.insert(self, 0, value)

    def __setitem__(self, position, value):
        super().__setitem__(position, -value)

    def __delitem__(self, position):
        super().__delitem__(position)


class Stack(collections.UserList):
    def push(self, value):
        self.append(value)
        return self


class Lower(collections.UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


def base_of_a_dict(x):
    d = Scaled({1: x[0], 2: 0.5})
    if x[1] > 0:
        d[1] = x[2]
        del d[2]
    for k, v in enumerate(x):
        if v > 1:
            del d[k]
    return sum(d.values()) + 10 * len(d) + d[2]


def base_of_a_dict_with_keys_by_data(x):
    d = Scaled({1: x[0], 2: 0.5})
    d[near(x[1])] += x[2]
    del d[near(x[3])]
    return sum(d.values()) + 10 * len(d) + d[near(x[4])] + d.pop(1, 0.0)


def base_of_a_list(x):
    values = Reversed([1.0, x[0]])
    for v in x:
        if v > 0:
            values.append(v)
            values[1] = v * 2
        elif len(values) > 2:
            del values[0]
    return sum(k * v for k, v in enumerate(values))


class Checked(list):
    def __getitem__(self, position):
        return super().__getitem__(position) * 2

    def __setitem__(self, position, value):
        super().__setitem__(position, value if value < 1 else 1.0)


def base_of_a_list_at_places_by_data(x):
    values = Checked([1.0, x[0], 0.25, 0.5])
    values[near(x[1])] = x[2]
    if x[3] > 0:
        values[near(x[4])] += x[5]
    return values[near(x[2])] + list.__getitem__(values, near(x[5])) + sum(values)


def methods_of_classes(x):
    d, values = {1: x[0], 2: x[1]}, [0.5]
    if x[2] > 0:
        dict.__setitem__(d, 3, x[3])
        list.append(values, x[4])
        values.__setitem__(0, x[5])
    return dict.pop(d, near(x[0]), 0.25) + sum(d.values()) + sum(k * v for k, v in enumerate(values))


def lists_in_python(x):
    stack = Stack()
    for v in x:
        if v > 0:
            stack.push(v)
    return sum(stack) + len(stack)


def dicts_in_python(x):
    d, layers = Lower(), collections.ChainMap({}, {"a": 1.0, "b": 2.0})
    for k, v in zip("aAbBcC", x):
        if v > 0:
            d[k] = v
            layers["a"] = v * 2
    return d.get("a", 0.0) + len(d) + layers["a"] * layers["b"]


def counters_by_words(x):
    votes = collections.Counter()
    for v in x:
        votes["abc"[near(v) % 3]] += v
    (first, most), *others = votes.most_common()
    return most + (0.1 if first == "a" else 0.2) - sum(v for _, v in others)


@dataclasses.dataclass(frozen=True)
class Account:
    amount: float
    moves: int = 0


def replaced_dataclasses(x):
    account = Account(x[0])
    for v in x[1:]:
        if v > 0:
            account = dataclasses.replace(account, amount=account.amount + v, moves=account.moves + 1)
    return account.amount * 2 + account.moves


CONTAINERS = [
    base_of_a_dict, base_of_a_dict_with_keys_by_data, base_of_a_list, base_of_a_list_at_places_by_data, methods_of_classes,
    counters_by_words, replaced_dataclasses,
]  # fmt: skip


@pytest.mark.parametrize("program", CONTAINERS)
def test_methods_of_a_base_are_the_operations_of_its_containers(program):
    assert recordings(program) == 1


@pytest.mark.parametrize("program", [lists_in_python, dicts_in_python])
def test_containers_that_python_keeps_in_others_are_undone_on_sides(program):
    """Their lengths are still guards."""
    assert recordings(program) <= len(POINTS)
