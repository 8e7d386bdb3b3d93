"""Code of the standard library that calls the user's functions or keeps their values: caches, dispatch by type, orders, counters, ordered dicts."""

from __future__ import annotations

import functools
import heapq
import importlib
import math
from collections import Counter, OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import recordings, translated_result


@functools.cache
def table(k):
    return [math.sin(k * i) for i in range(4)]


@functools.lru_cache(maxsize=8)
def fibonacci(k):
    return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)


def caches_of_the_module(x):
    s = 0.0
    for i, v in enumerate(x):
        if v > 0:
            s += v * table(i % 3)[1]
        else:
            s -= v * v * fibonacci(i + 3)
    return s


def recursion_with_a_cache(x):
    @functools.cache
    def best(k):
        if k < 2:
            return x[k]
        if x[k] > 0:
            return best(k - 1) * 0.9 + x[k]
        return best(k - 2) - x[k] * 0.5

    return best(5) + best(4)


def cache_with_names_and_types(x):
    @functools.lru_cache(maxsize=None, typed=True)
    def scaled(k, *, by=1.0):
        return x[int(k)] * by

    s = scaled(1) + scaled(1.0) + scaled(True) + scaled(1, by=2.0)
    if x[0] > 0:
        s = s + scaled(1, by=3.0) * scaled(2)
    return s + scaled(2)


def cache_of_what_changes(x):
    state = [1.0]

    @functools.cache
    def read(k):
        return state[0] * k

    if x[0] > 0:
        first = read(2)  # kept: what follows does not change it
        state[0] = x[1]
    else:
        state[0] = x[2]
        first = 0.5
    return first + read(2) * x[3] + read(3)


@functools.singledispatch
def payoff(option, x):
    return x


class Call:
    strike = 0.3


class Put:
    strike = 0.1


@payoff.register
def _(option: Call, x):
    return max(x - option.strike, 0.0)


@payoff.register
def _(option: Put, x):
    return max(option.strike - x, 0.0)


def dispatch_on_a_type_by_data(x):
    s = 0.0
    for v in x:
        s += payoff(Call() if v > 0 else Put(), v) * 1.5
    return s + payoff(3.0, x[0])


@functools.total_ordering
class Job:
    def __init__(self, due, work):
        self.due, self.work = due, work

    def __eq__(self, other):
        return self.due == other.due

    def __lt__(self, other):
        return self.due < other.due


def total_orders(x):
    jobs = [Job(x[i], abs(x[i + 1])) for i in range(0, 6, 2)]
    jobs.sort()
    worst = max(jobs)
    return jobs[0].work + 0.1 * worst.work + (1.0 if jobs[0] >= jobs[1] else 0.0) + (x[0] if jobs[0] != jobs[2] else x[1])


def sums_of_counters(x):
    c = Counter("a" if v > 0 else "b" for v in x)
    d = c + Counter({"a": 2})
    d -= Counter({"b": 1})
    return d["a"] * x[0] + d["b"] * x[1] + sum((c & d).values()) * x[2] + (x[3] if c == Counter({"a": 3, "b": 3}) else 0.0)


def moved_to_the_front(x):
    d = OrderedDict((k, v) for k, v in enumerate(x[:3]))
    if x[3] > 0:
        d.move_to_end(1, last=False)
    if x[4] > 0:
        d.move_to_end(0)
    return sum((k + 1) * v for k, v in enumerate(d.values()))


PROGRAMS = [
    caches_of_the_module, recursion_with_a_cache, cache_with_names_and_types, cache_of_what_changes, dispatch_on_a_type_by_data,
    total_orders, sums_of_counters, moved_to_the_front,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_recording_gives_what_python_gives_at_every_point(f):
    assert recordings(f) == 1


def test_a_cache_with_side_effects_runs_them_as_python_does():
    """Where the branch is not taken, the cached function must leave no trace."""
    log = []

    @functools.cache
    def noted(k):
        log.append(k)
        return 2.0 * k

    def f(x):
        return x[0] * noted(3) if x[0] > 0 else x[1] * noted(4)

    g = td.GuardedTape(f)
    assert g(np.array([1.0, 2.0])) == 6.0
    assert log == [3]
    assert g(np.array([-1.0, 2.0])) == 16.0
    assert log == [3, 4]


def test_a_full_cache_drops_what_was_not_used_for_longest():
    """The third key makes a cache of two forget the first one, which is computed anew."""

    def f(x):
        log = []

        @functools.lru_cache(maxsize=2)
        def noted(k):
            log.append(k)
            return x[k]

        s = noted(0) + noted(1) + noted(0) + noted(2)
        if x[3] > 0:
            s = s + noted(1) * 3.0
        return s + len(log)

    assert recordings(f) <= 2


def test_counts_of_a_cache():
    def f():
        @functools.lru_cache
        def square(k):
            return k * k

        square(2), square(2), square(3)
        return tuple(square.cache_info())[:2], square.cache_info().currsize, square.cache_parameters(), square.__wrapped__(4), square.__name__

    ours, theirs = translated_result(f)
    assert ours == theirs


WORDS = {"ppp": 1.0, "qqq": 2.0}


def texts(x):
    names = ["low" if v < -0.5 else "high" if v > 0.5 else "mid" for v in x[:3]]
    text = "-".join(names)
    return x[3] * text.count("low") + (x[4] if text.startswith("mid") else 0.5) + len(text.replace("high", "")) * x[5]


def formats(x):
    a, b = "p" if x[0] > 0 else "q", "r" if x[1] > 0 else "s"
    t = {"p/r": 1.0, "p/s": 2.0, "q/r": 3.0, "q/s": x[3]}
    by_percent = t["%s/%s" % (a, b)]  # noqa: UP031 -- an operator of texts
    return t["{}/{}".format(a, b)] * x[2] + t[f"{a}/{b}"] + by_percent + t["/".join((a, b))] * 0.5  # noqa: UP032 -- a method


def a_word_of_many(x):
    word = ""
    for v in x[:5]:
        word += "u" if v > 0 else "d"
    return x[5] * word.count("ud") + (x[0] if word.endswith("dd") else 0.0) + word.find("u") * x[1] + (word < "du") * x[2]


def arrays_joined(x):
    parts = [np.array([v, 1.0]) if v > 0 else np.array([0.5, v, 2.0]) for v in x[:3]]
    return np.sum(np.concatenate(parts) ** 2)


@pytest.mark.parametrize("f", [texts, formats, a_word_of_many, arrays_joined], ids=lambda f: f.__name__)
def test_texts_by_data(f):
    assert recordings(f) == 1


def test_an_operation_that_fails_for_an_option_of_a_choice_fails_where_python_does():
    def f(x):
        text = "3" if x[0] > 0 else "4" if x[1] > 0 else "five"
        try:
            return int(text) * x[2]
        except ValueError:
            return x[3]

    assert recordings(f) == 1


PACKAGE = '''
class Tank:
    def __init__(self, level):
        self.level = level

    def fill(self, v):
        self.level = self.level + v if v > 0 else 0.5 * self.level


def model(x):
    tank = Tank(x[0])
    for v in x[1:]:
        tank.fill(v)
    return tank.level


class Model:
    def __call__(self, x):
        return model(x)

    def density(self, x):
        return 2.0 * model(x)
'''


@pytest.mark.parametrize("part", ["model", "Model()", "Model().density", "functools.partial(model)"])
def test_an_installed_package_is_the_users_code_where_its_function_is_recorded(part, tmp_path, monkeypatch):
    name = f"installed_{abs(hash(part))}"
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / f"{name}.py").write_text("import functools\n" + PACKAGE)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    module = importlib.import_module(name)
    assert recordings(eval(part, vars(module))) == 1


@dataclass(frozen=True)
class Vector:
    x: float
    y: float = 0.0
    tag: str = "a"

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.tag)

    def norm(self):
        return math.hypot(self.x, self.y)


@dataclass(order=True)
class Event:
    at: float
    kind: str = field(compare=False)
    weight: float = 0.0


def replaced_on_each_side(x):
    v = Vector(x[0], x[1])
    for u in x[2:]:
        v = v + Vector(u, 1.0) if u > 0 else replace(v, y=v.y * 0.5, tag="b")
    return v.norm() + (x[0] if v.tag == "a" else x[1]) * (v == Vector(v.x, v.y, "b"))


def identity_of_frozen(x):
    best, seen = None, []
    for u, w in zip(x[::2], x[1::2]):
        v = Vector(u, w)
        seen.append(v)
        if best is None or v.norm() > best.norm():
            best = v
    return best.x + seen.index(best) * x[0] + (best is seen[0]) * x[1]


def frozen_as_keys(x):
    d = {Vector(1.0, 2.0): x[0], Vector(0.0): x[1]}
    return d[Vector(1.0, 2.0) if x[2] > 0 else Vector(0.0)] * x[3]


def an_event_queue(x):
    queue = [Event(abs(v), "a" if i % 2 else "b", v) for i, v in enumerate(x[:4])]
    heapq.heapify(queue)
    s = 0.0
    while queue:
        e = heapq.heappop(queue)
        s += e.at * e.weight if e.kind == "a" else e.weight
        if e.kind == "a" and e.weight > 0.5:
            heapq.heappush(queue, Event(e.at + 1, "b", e.weight * 0.5))
    return s


def orders_of_events(x):
    a, b = Event(x[0], "a", x[1]), Event(x[2], "b", x[3])
    first, *_ = sorted([a, b, Event(x[4], "c", 1.0)])
    return first.weight + (x[5] if a < b else x[0]) + (a == b) + (a != first) * x[1] + max(a, b).at


class Level:
    calls = 0

    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        self.calls += 1
        return self.v < other.v

    def __call__(self, w):
        return self.v * w

    def twice(self):
        return 2.0 * self.v


class Raised(Level):
    def twice(self):
        return super().twice() + 1.0


def methods_of_a_choice(x):
    a, b, c = Level(x[0]), Level(x[1]), Raised(x[2])
    one = a if x[3] > 0 else b
    other = b if x[4] > 0 else c
    s = one(x[5]) + other.twice() + (1.0 if one < other else 2.0)
    return s + a.calls * x[0] + b.calls + one.calls * other.v


@pytest.mark.parametrize(
    "f", [
        replaced_on_each_side, identity_of_frozen, frozen_as_keys, an_event_queue, orders_of_events, methods_of_a_choice,
    ], ids=lambda f: f.__name__,
)  # fmt: skip
def test_dataclasses_and_choices_of_objects(f):
    assert recordings(f) == 1


def a_stack_of_numbers_and_bools(x):
    stack, k = [], 0
    program = ["0", "1", "+", ">", "?", "2", "*"]
    while k < len(program):
        if program[k] == "+":
            stack.append(stack.pop() + stack.pop())
        elif program[k] == "*":
            stack.append(stack.pop() * 3.0)
        elif program[k] == ">":
            stack.append(stack[-1] > 0)
        elif program[k] == "?":
            k += 0 if stack.pop() else 1
        else:
            stack.append(x[int(program[k])])
        k += 1
    return stack.pop()


@pytest.mark.slow
def test_numbers_and_bools_share_a_list_of_a_loop():
    """No form holds both: they are options."""
    assert recordings(a_stack_of_numbers_and_bools) <= 3


def not_a_number_in_a_field(x):
    nan = float("nan")
    a, b = Event(nan, "a", x[0]), Event(nan, "b", x[0])
    c = a if x[1] > 0 else Event(x[2], "c", x[0])
    return x[3] * (a == b) + x[4] * (c == a) + x[5] * (c in [a]) + (c != b)


def test_equality_of_fields_that_are_not_numbers():
    """By identity first up to Python 3.12, by value later."""
    assert recordings(not_a_number_in_a_field) <= 2
