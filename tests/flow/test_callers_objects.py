"""The caller's objects after a recording: what plain Python leaves in them, also where the interpreter gave up in the middle."""

from __future__ import annotations

import collections
import heapq

import numpy as np
import pytest

import tapediff as td
from flow.running import frozen
from tapediff.flow.state import callers

POINT = np.random.default_rng(0).normal(size=6)
NUMBER, SEEN = 0, []


class Slots:
    __slots__ = ("items", "n")


class Thing:
    count = 0

    def __init__(self):
        self.n, self.items, self.level = 0, [1], 0

    @property
    def height(self):
        return self.level

    @height.setter
    def height(self, new):
        self.level = new
        type(self).count += 1

    def __iadd__(self, other):
        self.level += other
        return self


class Other(Thing):
    pass


class World:
    """Objects of the caller's, of many kinds."""

    def __init__(self):
        Thing.count = 0
        self.slots, self.thing, self.other = Slots(), Thing(), Other()
        self.slots.n, self.slots.items = 0, [1]
        self.list, self.deque, self.bytes = [3, 1, 2], collections.deque([1, 2], 3), bytearray(b"ab")
        self.dict, self.lists, self.counts = {"a": {"b": [1, {"c": 2}]}}, collections.defaultdict(list), collections.Counter()
        self.ordered, self.set = collections.OrderedDict(a=1, b=2), {1, 2}
        self.array = np.arange(4)
        self.view = self.array[1:]


def too_large(x):
    """An int that no recording of all paths can have."""
    n = 1
    for v in x:
        n = n * 2**20 + (1 if v > 0 else 0)
    return float(n % 7)


def attributes(w, x):
    w.thing.n += 1
    w.thing.height += 2
    w.thing += 3
    w.slots.n += 1
    w.slots.items.append(2)
    w.thing.more = 1
    del w.thing.items
    setattr(w.thing, "na" + "me", 5)
    w.thing.__dict__["other"] = 6
    w.thing.__dict__.update(further=7)


def namespaces(w, x):
    w.thing.__dict__["other"] = w.thing.__dict__.get("other", 0) + 1
    w.thing.__dict__ |= {"further": getattr(w.thing, "further", 0) + 1}
    getattr(w.other, "__di" + "ct__")["n"] += 1
    w.other.level += 1
    w.other.__dict__ = dict(w.other.__dict__, more=1)
    w.other.level += 1
    w.other.__class__ = Thing if type(w.other) is Other else Other


def lists(w, x):
    w.list.append(0)
    w.list[:2] = [4, 5, 6]
    w.list[0] += 1
    w.list += [8]
    heapq.heapify(w.list)
    heapq.heappush(w.list, -1)
    w.list.sort(reverse=True)
    w.list.insert(1, len(w.list))
    w.list.extend(v for v in (1, 2))
    del w.list[0]
    w.deque.append(3)
    w.deque.append(4)
    w.deque.rotate(1)
    w.bytes.append(99)


def dicts_and_sets(w, x):
    w.dict["a"]["b"][1]["c"] += 1
    w.dict["a"]["b"].append(5)
    w.dict.setdefault("l", []).append(4)
    w.lists["a"].append(1)
    w.counts["k"] += 1
    w.counts.update("abk")
    w.ordered.move_to_end("a")
    del w.ordered["b"]
    w.ordered["c"] = len(w.ordered)
    w.set.add(len(w.set) + 7)
    w.set |= {len(w.set) + 20}


def arrays(w, x):
    w.array[1] += 1
    w.view[0] += 5
    w.view *= 2
    np.copyto(w.array[3:], [1 + w.array[3]])
    np.add(w.array, 1, out=w.array)
    x[0] = x[0] * 2
    x[1:] += 1


def variables(w, x):
    global NUMBER
    NUMBER += 1
    SEEN.append(1)


def in_blocks(w, x):
    try:
        w.thing.n += 1
        w.list.append(1)
        raise KeyError
    except KeyError:
        w.list.append(2)
    finally:
        w.list.append(3)
    with np.errstate(all="ignore"):
        w.slots.n += 1
    for k in range(3):
        w.list.append(k)
    [w.counts.update("k") for _ in range(2)]
    if x[0] > -9:
        w.list.append(5)
        w.thing.level += 1
        w.array[2] += 3


def in_branches(w, x):
    for v in x:
        if v > 0:
            w.thing.n += 1
            w.counts["q"] += 1
            w.counts.update("qr")
            w.list.append(2)
            w.ordered["z"] = w.ordered.get("z", 0) + 1


def own_variables(w, x):
    n = w.thing.n

    def count():
        nonlocal n
        n += 1
        return n

    w.list.append(count())
    w.thing.n = count()


CHANGES = [attributes, namespaces, lists, dicts_and_sets, arrays, variables, in_blocks, in_branches, own_variables]


def left_by(change, record):
    """The objects after a program has changed them."""
    global NUMBER
    w, NUMBER = World(), 0
    SEEN.clear()
    calls = 0

    def program(x):
        nonlocal calls
        calls += 1
        change(w, x)
        return x.sum() * too_large(x)

    value = record(program)(POINT.copy())
    return frozen((vars(w), Thing.count, NUMBER, SEEN, calls)), float(value)


def by_flow(f):
    return td.GuardedTape(f, on_new_tape="interpret")


# What NumPy says of an attempt that is given up.
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_an_attempt_that_is_given_up_leaves_no_changes(change):
    """The path that is recorded in its place begins with the objects as they were."""
    left, value = left_by(change, by_flow)
    expected, expected_value = left_by(change, lambda f: f)
    assert left == expected
    assert value == pytest.approx(expected_value, rel=1e-12)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_also_where_the_caller_has_more_objects_than_are_looked_at(change, monkeypatch):
    monkeypatch.setattr(callers, "_MOST_OBJECTS", 3)
    test_an_attempt_that_is_given_up_leaves_no_changes(change)


def test_an_error_of_a_function_without_branches_comes_once():
    """It is the function's own, and what was done before is done."""
    seen = []

    def f(x):
        seen.append("begun")
        raise ValueError(len(x))

    with pytest.raises(ValueError, match=r"^1$"):
        by_flow(f)(np.ones(1))
    assert seen == ["begun"]


def numbers(w, x):
    w.thing.n = int(x[0] * 3)
    w.thing.items = [int(v * 3) for v in x]
    w.dict["k"], w.dict["flag"] = int(x[1] * 4), bool(x[0] > 0)
    w.list.append(int(x[2] * 3))
    w.thing.pair = int(x[0] * 2), "a"
    made = Thing()
    made.n = int(x[0] * 7)
    w.thing.child = made
    w.deque.append([{"n": int(x[1] * 5)}])
    w.slots.n = int(x[2] * 9)
    if x[0] > 0:
        w.thing.items.append(int(x[1] * 9))


def test_ints_that_were_stored_are_plain_ones():
    """In objects of the caller's and what was put there, on sides of branches and elsewhere."""

    def left(record):
        w = World()

        def f(x):
            numbers(w, x)
            return x[0] * w.thing.n

        record(f)(POINT.copy())
        return frozen(vars(w))

    assert left(by_flow) == left(lambda f: f)


def test_ints_of_a_result_stay_those_of_the_tape():
    """Also where the caller has the object."""
    kept, others, left = {}, {}, {}

    def f(x):
        kept["n"] = int(x[0] * 3)
        left["n"] = int(x[0] * 4)
        kept["row"] = others["row"] = [int(x[0] * 5)]
        return kept

    tape = td.record(f, np.array([1.0]), merge=True)
    result = tape(np.array([2.1]))
    assert int(result["n"]) == 6
    assert type(left["n"]) is int
    assert int(result["row"][0]) == 10


SETTINGS = {"rate": 1.0, "seen": 0, "latest": 0.0, "scaled": 0.0}


def counts_in_settings(x):
    SETTINGS["rate"], SETTINGS["seen"] = 1.0, 0
    for v in x:
        if v > 0:
            SETTINGS["rate"] += 0.5
            SETTINGS["seen"] += 1
            SETTINGS["latest"] = SETTINGS["rate"] * 2.0
    SETTINGS["scaled"] = SETTINGS["rate"] * (x[0] > 0.5)
    return SETTINGS["rate"] * x[0] + SETTINGS["seen"]


def test_floats_that_data_choose_among_constants_are_left_as_floats():
    """Plain Python has numbers there, which code outside of recordings may use."""
    x = np.array([1.0, -1.0, 0.3])
    td.record(counts_in_settings, x, merge=True)
    assert SETTINGS == {"rate": 2.0, "seen": 2, "latest": 4.0, "scaled": 2.0}
    assert all(type(value) in (int, float, np.float64) for value in SETTINGS.values())
