"""What a sub-tape closes over: tracked values are arguments, all else is taken as it was at the call, or is an error."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td

RATE, DATA = 2.0, np.ones(3)


def test_closed_over_tracked_values_are_arguments():
    """Also on a path that is recorded when the caller's recording has long ended."""

    def f(x):
        a, parts = x[0] * 2, {"b": x[1], "list": [x[2], 3.0]}

        @td.subtape
        def inner(v):
            return v * a if v > 0 else parts["b"] * parts["list"][0] * v + parts["list"][1]

        return inner(x[2]) + inner(-x[2])

    tape = agree(f, np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, -3.0]))
    hessian_agrees(tape, np.array([1.0, 2.0, 3.0]))
    only_one = td.compile(lambda x: td.subtape(lambda v: v * x[0] if v > 0 else v * x[1])(x[2]), np.array([2.0, 3.0, 1.0]))
    np.testing.assert_allclose(td.gradient(only_one, np.array([2.0, 3.0, -1.0])), [0.0, -1.0, 3.0])


def test_a_variable_of_the_enclosing_function_is_taken_as_it_was_at_the_call():
    """A loop variable that the sub-tape closes over; its paths are recorded later."""

    def f(x):
        total = 0.0
        for k in range(1, 4):
            inner = td.subtape(lambda v: v * k if v > 0 else v * v * k)
            total = total + inner(x[k - 1])
        return total

    compiled = td.compile(f, np.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(td.gradient(compiled, np.array([-1.0, -2.0, -3.0])), [-2.0, -8.0, -18.0])
    wrapped = td.subtape(lambda v: v * scale)
    scale = 2.0
    first = td.record(lambda x: wrapped(x), 1.0)
    scale = 5.0
    assert (td.gradient(td.record(lambda x: wrapped(x), 1.0), 1.0), td.gradient(first, 1.0)) == (5.0, 2.0)


def test_a_path_that_is_recorded_late_refuses_a_changed_global(monkeypatch):
    """The tapes of one sub-tape are never made of different values of a global number or array."""
    leaf = td.subtape(lambda v: v * RATE * np.sum(DATA) if v > 0 else -v * RATE, merge=False)
    compiled = td.compile(lambda x: leaf(x), 1.0, frozen=True)
    monkeypatch.setitem(globals(), "RATE", 100.0)
    assert td.gradient(compiled, 1.0) == 6.0
    with pytest.raises(td.StaleTape, match=r"RATE was 2\.0 and is 100\.0"):
        td.gradient(compiled, -1.0)
    assert td.gradient(td.compile(lambda x: leaf(x), 1.0), -1.0) == -100.0
    monkeypatch.setitem(globals(), "RATE", 2.0)
    assert td.gradient(compiled, -1.0) == -2.0
    changed = td.compile(lambda x: leaf(x * 1.0), 1.0, frozen=True)
    monkeypatch.setitem(globals(), "DATA", np.zeros(3))
    assert td.gradient(changed, 1.0) == 6.0


def test_counters_of_the_enclosing_function_count():
    """A list that the sub-tape appends to, and a variable that it assigns to, are those of the enclosing function."""
    calls, count = [], 0

    @td.subtape(merge=False)
    def f(v):
        nonlocal count
        count += 1
        calls.append(count)
        return v**2 if v > 0 else -v

    compiled = td.compile(lambda x: f(x) + f(x * 2), 1.0)
    assert td.gradient(compiled, 1.0) == 10.0
    assert (calls, count) == ([1], 1)
    assert td.gradient(compiled, -1.0) == -3.0
    assert (calls, count) == ([1, 2], 2)


def test_what_a_container_or_object_holds_is_taken_as_it_was_at_the_call():
    """Between two calls, and on a path that is recorded when it has changed again."""

    class Box:
        pass

    def f(x):
        held, listed, box, total, names = {}, [0.0], Box(), 0.0, {1}
        g = td.subtape(lambda v: v * held["k"] * listed[0] * len(names) if v > 0 else v * box.k)
        for k in range(1, 4):
            held["k"], listed[0], box.k = float(k), 2.0 * k, 3.0 * k
            names.add(k)
            total = total + g(x[0]) + td.cond(x[1] > 0, lambda v: v * listed[0], lambda v: v * box.k, x[1])
        return total

    agree(f, np.array([0.7, 0.2]), np.array([-0.7, 0.2]), np.array([0.7, -0.2]), np.array([-0.7, -0.2]))


def test_a_large_array_that_is_filled_anew_between_two_calls():
    def f(x):
        big, total = np.zeros(20_000), 0.0
        g = td.subtape(lambda v: v * big[0] * np.sum(big) / big.size)
        for k in range(1, 4):
            big[:] = k
            total = total + g(x[0])
        return total

    assert td.gradient(f, np.array([2.0])).tolist() == [14.0]


def helper(v):
    return v**2


def test_a_global_function_that_is_redefined_is_another_one(monkeypatch):
    """As in a notebook whose cell is run again: a fresh recording sees the new one."""

    def model(x):
        return td.scan(lambda c, t: (c + helper(t), None), 0.0, x)[0]

    x = np.array([1.0, 2.0])
    assert td.gradient(model, x).tolist() == [2.0, 4.0]
    monkeypatch.setitem(globals(), "helper", lambda v: v**3)
    assert td.gradient(model, x).tolist() == [3.0, 12.0]


def test_closures_of_methods_and_attributes_that_are_set():
    def f(x):
        class A:
            def g(self, v):
                return v * x[0] if v > 0 else v

        return td.subtape(A().g)(x[1])

    agree(f, np.array([0.7, -0.3]), np.array([0.7, 0.3]))

    class Keeper:
        def __init__(self, w):
            self.w = w

        def step(self, v):
            self.last = v
            return v * self.w

    with pytest.raises(td.UnsupportedFunction, match="changes a list, dict or object that it closes over"):
        td.record(lambda x: td.subtape(Keeper(x[0]).step)(x[1]), np.ones(2))


def test_an_array_of_the_enclosing_function_is_copied():
    data = np.array([2.0, 3.0])
    inner = td.subtape(lambda v: np.sum(data * v) if v > 0 else np.sum(data) * v * 10)
    compiled = td.compile(lambda x: inner(x), 1.0, frozen=True)
    data[:] = 100.0
    assert (td.gradient(compiled, 1.0), td.gradient(compiled, -1.0)) == (5.0, 50.0)


def test_methods_can_be_sub_tapes():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @td.subtape
        def step(self, v):
            return v * self.scale if v > 0 else v

    model = Model(3.0)
    agree(lambda x: model.step(x[0]) + Model(5.0).step(x[0]), np.array([1.0]), np.array([-1.0]))


def test_a_guard_may_close_over_tracked_values():
    def f(x):
        t = x[0] * 2
        g = td.subtape(lambda v, *, w: v * w if v > 0 else v, guard=lambda v, *, w: bool(t > 1))
        return g(x[1], w=2.0) + x[2]

    agree(f, np.array([0.1, 2.0, 1.0]), np.array([3.0, 2.0, 1.0]), np.array([3.0, -2.0, 1.0]))


def test_methods_of_objects_that_hold_tracked_values():
    class Model:
        def __init__(self, weight):
            self.weight = weight

        @td.subtape
        def step(self, v):
            return v * self.weight if v > 0 else v - self.weight**2

    agree(lambda x: Model(x[0]).step(x[1]), np.array([2.0, 1.0]), np.array([2.0, -1.0]))
