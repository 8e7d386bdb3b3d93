"""Iterators and containers of the user's classes, and endless iterators, where data decide how far they are advanced."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections import UserDict
from collections.abc import MutableMapping, Sequence

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings, translated_result


class Walk:
    """An iterator that data end."""

    def __init__(self, x):
        self.x, self.number, self.rest = x, 0, 3.0

    def __iter__(self):
        return self

    def __next__(self):
        self.rest -= abs(self.x[self.number % 3]) + 0.05
        if self.rest < 0:
            raise StopIteration
        self.number += 1
        return self.rest


class Tree:
    """Its iterator is a generator with branches."""

    def __init__(self, value, *parts):
        self.value, self.parts = value, parts

    def __iter__(self):
        yield self.value
        for part in self.parts:
            if self.value > 0:
                yield from part


class Rows:
    """Iterated by position, to an end that data decide."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, k):
        if k >= (2 if self.x[0] > 0 else 4):
            raise IndexError
        return self.x[k] if self.x[k] > 0 else -2 * self.x[k]


def looped(x):
    total = 0.0
    for v in Walk(x):
        total += v * v
    else:
        total *= x[3]
    return total


def stepped(x):
    walk, total = iter(Walk(x)), 0.0
    while True:
        try:
            v = next(walk)
        except StopIteration:
            break
        total += v
        if total > 4:
            break
    return total + sum(walk)


def with_default(x):
    walk = Walk(x)
    return next(walk, 1.0) * next(walk, x[4]) + sum(walk)


def by_position(x):
    return sum(Rows(x)) + functools.reduce(lambda a, b: a * b, Rows(x)) + sum(heapq.nlargest(2, Rows(x)))


def nodes(x):
    tree = Tree(x[0], Tree(x[1], Tree(x[2])), Tree(x[2] * x[1]))
    return sum(v * v for v in tree) + len(list(tree))


class Store(MutableMapping):
    """Its other methods are those of the standard library."""

    def __init__(self):
        self.values_by_name = {}

    def __getitem__(self, name):
        return self.values_by_name[name]

    def __setitem__(self, name, value):
        self.values_by_name[name] = value

    def __delitem__(self, name):
        del self.values_by_name[name]

    def __iter__(self):
        return iter(self.values_by_name)

    def __len__(self):
        return len(self.values_by_name)


def kept_in_a_mapping(x):
    store, bag = Store(), UserDict()
    store["a"] = x[0]
    for name, v in zip("bca", x[1:]):
        if v > 0:
            store[name] = v
            bag[name] = bag.get(name, 0.5) + v
    found = store.get("b", 0.5) + store.setdefault("d", x[0]) * store.pop("c", 2.0)
    return found + sum(store.values()) + len(store) + sum(bag.values())


def found_in_a_sequence(x):
    class Row(Sequence):
        def __getitem__(self, k):
            return (x[0], x[1] if x[1] > 0 else -1.0, x[2])[k]

        def __len__(self):
            return 3

    return sum(Row()) + Row().count(-1.0) + sum(v * k for k, v in enumerate(reversed(Row())))


def spelled(x):
    signs = "".join("u" if v > 0 else "d" for v in x[:3])
    places = ",".join([str(k) for k, v in enumerate(x[3:]) if v > 1])
    return {"uuu": 1.0, "ddd": -1.0}.get(signs, 0.5) * x[0] + len(places) * x[1] + (places == "0,2")


def counted(x):
    for time in itertools.count(0.5, 0.25):
        if abs(x[0]) * time + 0.1 * time * time > 4:
            return time * x[1]


def repeated(x):
    left = 5.0
    for share in itertools.repeat(abs(x[0]) + 0.1):
        left -= share
        if left < 0:
            return left


def taken_while(x):
    times = itertools.takewhile(lambda t: t < 2 + 2 * abs(x[0]), itertools.count(0.0, 0.25))
    return sum(math.exp(-t) * x[1] for t in times)


def raising_in_a_consumer(x):
    def around():
        while True:
            yield from x

    left = 9.0
    try:
        for v in around():
            left -= abs(v)
            if left < 0:
                raise OverflowError
            if left < abs(x[0]):
                break
    except OverflowError:
        return -2 * left
    return left


PROGRAMS = [
    kept_in_a_mapping, found_in_a_sequence, spelled, looped, stepped, with_default, by_position, nodes, counted, repeated, taken_while,
    raising_in_a_consumer,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_recording_serves_all_points(program):
    assert recordings(program) <= (2 if program is taken_while else 1)


def written(x):
    items, total = x.copy(), 0.0
    for n, v in enumerate(itertools.cycle(items)):
        total += abs(v) + 0.1
        items[5] = 1.0
        if total > 4:
            return total + n * items[5]


@pytest.mark.parametrize("program", [written], ids=lambda f: f.__name__)
def test_cycle_keeps_the_items_that_it_has_read(program):
    recordings(program, POINTS[:8])


def without_data():
    numbers, letters = itertools.count(10, -3), itertools.cycle("abc")
    pairs = list(itertools.islice(zip(numbers, letters), 5))
    empty = list(itertools.cycle([]))
    same = list(zip(itertools.repeat(4), range(3)))
    uneven = list(zip(numbers, [1, 2])), next(numbers), next(letters)
    return pairs, empty, same, uneven, list(itertools.islice(itertools.count(0.1, 0.1), 4)), list(map(pow, itertools.count(), (2, 2, 2)))


def test_endless_iterators_give_what_pythons_do():
    found, expected = translated_result(without_data)
    assert repr(found) == repr(expected)


def test_an_item_of_the_wrong_kind_is_pythons_error():
    class NotIterable:
        def __iter__(self):
            return 3

    def program(x):
        return x[0] * len([v for v in NotIterable() if x[1] > 0])

    with pytest.raises(TypeError, match="iter\\(\\) returned non-iterator of type 'int'"):
        td.GuardedTape(program)(np.ones(2))
