"""Sub-tapes: one instruction of the caller, with variants of their own that are found at every call."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.agreement import agree, by_numpy, hessian_agrees, recordings_of

import tapediff as td


def piecewise(v):
    return v**3 if v > 1 else v**2


def calls_in(tape):
    return [i for i in tape.instructions if i.op.name == "call"]


def test_plain_arrays_are_given_to_the_function_itself():
    seen = []
    wrapped = td.subtape(lambda x: seen.append(type(x)) or x * 2)
    assert wrapped(2.0) == 4.0
    assert seen == [float]


def test_a_call_is_one_instruction_and_a_new_path_does_not_touch_the_caller():
    """Record at 0.1; evaluate on the other side of the branch, at the threshold, and at NaN."""
    step = td.subtape(piecewise)
    f = lambda x: step(x[0]) * x[1]
    tape = agree(f, np.array([0.1, 2.0]), np.array([1.1, 2.0]), np.array([0.5, 3.0]))
    assert len(calls_in(tape)) == 1
    assert step.recordings == 2
    assert not tape.guards
    np.testing.assert_array_equal(td.gradient(td.compile(tape), np.array([1.0, -1.0])), [-2.0, 1.0])
    value, gradient = td.value_and_gradient(td.compile(tape), np.array([np.nan, 1.0]))
    assert np.isnan(value)
    assert step.recordings == 2  # a comparison with NaN is false, as at 0.5
    assert np.isnan(gradient).all()


def test_what_a_sub_tape_does_to_a_list_is_seen_or_an_error():
    seen = []

    def f(x):
        kept, total = [x[0]], 0.0

        @td.subtape
        def inner(v):
            seen.append(1)
            return v * kept[0]

        @td.subtape
        def outer(v):
            kept.append(v)
            return v

        total = total + inner(x[1])
        return total + outer(x[0]) if len(x) > 2 else total

    assert td.gradient(f, np.array([2.0, 3.0])).tolist() == [3.0, 2.0]
    assert seen == [1]
    with pytest.raises(td.UnsupportedFunction, match="outer changes a list, dict or object that it closes over"):
        td.record(f, np.ones(3))


def test_a_function_with_an_if_per_element_ends_with_two_variants():
    """However the elements fall, and with one recording of the caller."""
    step, recordings = td.subtape(piecewise), []

    def f(x):
        recordings.append(1)
        total = 0.0
        for k in range(len(x)):
            total = total + step(x[k]) * (k + 1)
        return total

    compiled = td.compile(f, np.zeros(40))
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.normal(1.0, 1.0, 40)
        weights = np.arange(1, 41)
        expected = np.where(x > 1, 3 * x**2, 2 * x) * weights
        np.testing.assert_allclose(td.gradient(compiled, x), expected, rtol=1e-13)
    assert (step.recordings, len(recordings)) == (2, 1)


def test_a_user_guard_names_the_variants():
    """The first example: three calls, two variants, three right answers."""
    f = td.subtape(lambda x: x[0] ** 3 if x[0] > 1 else x[0] ** 2, guard=lambda x: x[0] > 1)
    compiled = td.compile(lambda x: f(x), np.array([0.1]))
    assert [td.gradient(compiled, np.array([x]))[0] for x in (0.1, 1.1, 0.5)] == pytest.approx([0.2, 3.63, 1.0], rel=1e-14)
    assert f.recordings == 2


def test_a_user_guard_on_something_else_than_the_arguments_is_asked_at_every_call():
    mode = ["square"]
    f = td.subtape(lambda x: x**2 if mode[0] == "square" else x**3, guard=lambda x: mode[0])
    compiled = td.compile(lambda x: f(x) * 2, 3.0)
    assert td.gradient(compiled, 3.0) == 12.0
    mode[0] = "cube"
    assert td.gradient(compiled, 3.0) == 54.0
    mode[0] = "square"
    assert td.gradient(compiled, 3.0) == 12.0


def test_a_branch_on_a_sum_inside_a_compiled_tape():
    g = td.subtape(lambda x: np.sum(x) ** 3 if np.sum(x) > 1 else np.sum(x) ** 2)
    agree(lambda x: g(x * 2.0) + x[0], np.array([0.1, 0.2]), np.array([1.0, 0.2]), np.array([-3.0, 1.0]))


def test_several_arguments_and_results_of_any_shape():
    """Tuples, dicts, scalars, matrices, integers and masks, in and out."""

    @td.subtape
    def f(state, scale, *, options):
        rotation, position = state["rotation"], state["position"]
        moved = rotation @ position * scale + options[0]
        positive = moved > 0
        return {"moved": moved, "count": np.sum(positive)}, (positive, np.outer(moved, moved))

    def g(x):
        state = {"rotation": x[:4].reshape(2, 2), "position": x[4:6]}
        first, (positive, outer) = f(state, x[6], options=[x[0], 3])
        return np.sum(np.where(positive, first["moved"], 0.1 * first["moved"])) * first["count"] + np.sum(outer**2)

    rng = np.random.default_rng(3)
    tape = agree(g, *rng.normal(size=(4, 7)))
    hessian_agrees(tape, rng.normal(size=7))


def test_a_new_shape_is_a_new_variant():
    norm = td.subtape(lambda x: np.sqrt(np.sum(x**2)) if x[0] > 0 else np.sum(x))
    agree(lambda x: norm(x[:2]) + norm(x), np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0]))
    assert norm.recordings == 4


def test_sub_tapes_inside_sub_tapes():
    inner = td.subtape(lambda v: np.sin(v) if v > 0 else v * v)
    outer = td.subtape(lambda v, w: inner(v) * w + inner(w) if v > w else inner(v - w))
    f = lambda x: outer(x[0], x[1]) * outer(x[1], x[2])
    points = np.random.default_rng(1).normal(size=(12, 3))
    tape = agree(f, *points)
    hessian_agrees(tape, *points[:4])
    assert (outer.recordings, inner.recordings) == (2, 2)


def test_a_sub_tape_may_call_itself():
    @td.subtape
    def halved(v):
        return v * np.sin(v) if v < 1 else halved(v / 2) * 1.1

    agree(lambda x: halved(x[0]) * x[1], np.array([0.5, 1.0]), np.array([7.0, 2.0]), np.array([1e5, 2.0]))


@pytest.mark.parametrize("inner_compiled", [False, True])
def test_compiled_and_uncompiled_in_each_other(inner_compiled):
    step = td.subtape(piecewise, compiled=inner_compiled)
    f = lambda x: step(x[0]) * step(x[1]) + x[0]
    tape = agree(f, np.array([0.5, 2.0]), np.array([2.0, 0.5]), np.array([3.0, 3.0]))
    hessian_agrees(tape, np.array([2.0, 0.5]))
    np.testing.assert_allclose(td.jacobian(lambda x: np.stack([step(x[0]), step(x[1])]), np.array([0.5, 2.0])), [[1, 0], [0, 12]])


def test_nested_grad_through_a_sub_tape():
    step = td.subtape(piecewise)
    second = td.grad(td.grad(lambda x: step(x)))
    assert [second(x) for x in (0.5, 2.0, 0.7)] == pytest.approx([2.0, 12.0, 2.0], rel=1e-14)
    third = td.grad(second)
    assert [third(x) for x in (0.5, 2.0)] == pytest.approx([0.0, 6.0], abs=1e-14)


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


RATE, DATA = 2.0, np.ones(3)


def test_a_path_that_is_recorded_late_refuses_a_changed_global(monkeypatch):
    """The tapes of one sub-tape are never made of different values of a global number or array."""
    leaf = td.subtape(lambda v: v * RATE * np.sum(DATA) if v > 0 else -v * RATE)
    compiled = td.compile(lambda x: leaf(x), 1.0)
    monkeypatch.setitem(globals(), "RATE", 100.0)
    assert td.gradient(compiled, 1.0) == 6.0
    with pytest.raises(td.StaleTape, match=r"RATE was 2\.0 and is 100\.0"):
        td.gradient(compiled, -1.0)
    assert td.gradient(td.compile(lambda x: leaf(x), 1.0), -1.0) == -100.0
    monkeypatch.setitem(globals(), "RATE", 2.0)
    assert td.gradient(compiled, -1.0) == -2.0
    changed = td.compile(lambda x: leaf(x * 1.0), 1.0)
    monkeypatch.setitem(globals(), "DATA", np.zeros(3))
    assert td.gradient(changed, 1.0) == 6.0


def test_counters_of_the_enclosing_function_count():
    """A list that the sub-tape appends to, and a variable that it assigns to, are those of the enclosing function."""
    calls, count = [], 0

    @td.subtape
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


def test_run_time_data_reaches_sub_tapes():
    f = td.subtape(lambda v, w: np.sum(v * w))
    assert td.gradient(lambda x: f(x, td.Constant(np.array([2.0, 3.0]))), np.ones(2)).tolist() == [2.0, 3.0]
    assert f(np.ones(2), td.Constant(np.array([2.0, 3.0]))) == 5.0


def test_an_array_of_the_enclosing_function_is_copied():
    data = np.array([2.0, 3.0])
    inner = td.subtape(lambda v: np.sum(data * v) if v > 0 else np.sum(data) * v * 10)
    compiled = td.compile(lambda x: inner(x), 1.0)
    data[:] = 100.0
    assert (td.gradient(compiled, 1.0), td.gradient(compiled, -1.0)) == (5.0, 50.0)


def test_writing_into_an_argument_is_an_error():
    @td.subtape
    def f(v):
        v[0] = 0.0
        return np.sum(v)

    with pytest.raises(td.UnsupportedFunction, match=r"f writes into an array that it was given") as caught:
        td.record(lambda x: f(x), np.ones(3))
    assert "fix: write into a copy" in str(caught.value)
    assert not td.is_recording()

    def g(x):
        y = x * 1.0

        @td.subtape
        def inner(v):
            y[0] = v
            return v

        return inner(x[0]) + y[0]

    with pytest.raises(td.UnsupportedFunction, match="inner writes into"):
        td.record(g, np.ones(3))


def test_paths_must_return_the_same_types():
    f = td.subtape(lambda v: v[:2] if v[0] > 0 else v)
    tape = td.record(lambda x: np.sum(f(x)), np.array([1.0, 2.0, 3.0]))
    for target in (tape, td.compile(tape)):
        with pytest.raises(td.ShapeMismatch, match="returned other types than on another path"):
            td.gradient(target, np.array([-1.0, 2.0, 3.0]))
    h = td.subtape(lambda v: (v, v) if v > 0 else v)
    compiled = td.compile(lambda x: h(x)[0], 1.0)
    with pytest.raises(td.ArgumentMismatch, match="another structure than on another path"):
        td.gradient(compiled, -1.0)
    assert td.gradient(compiled, 2.0) == 1.0  # nothing was lost


def test_a_result_that_is_an_argument_cannot_be_written_to():
    """In NumPy both would change; also where it is one on a path that is taken later, or a view, or one array twice."""
    same = td.subtape(lambda a: a)
    part = td.subtape(lambda a: (a[1:], a[0] * 2))
    twice = td.subtape(lambda a: (lambda b: (b, b))(a * 2.0))
    later = td.subtape(lambda a: a if a[0] > 0 else a * 2.0)

    def writes(f, into_result):
        def g(x):
            a = x * 1.0
            b = f(a)
            b = b[0] if type(b) is tuple else b
            if into_result:
                b[0] = 5.0
            else:
                a[-1] = 5.0
            return np.sum(b) + np.sum(a)

        return g

    for f in (same, part, twice):
        with pytest.raises(td.UnsupportedFunction, match="one of the two was written to afterwards") as caught:
            td.record(writes(f, True), np.ones(3))
        assert "fix: return a copy" in str(caught.value)
    for f in (same, part):
        with pytest.raises(td.UnsupportedFunction, match="written to afterwards"):
            td.record(writes(f, False), np.ones(3))
    compiled = td.compile(writes(later, True), -np.ones(3))
    with pytest.raises(td.UnsupportedFunction, match="written to afterwards"):
        td.gradient(compiled, np.ones(3))
    assert td.gradient(compiled, -2 * np.ones(3)).tolist() == [1.0, 3.0, 3.0]
    fresh = td.subtape(lambda a: a * 2.0)
    agree(writes(fresh, True), np.array([1.0, 2.0]))
    agree(lambda x: np.sum(same(x) * same(x)[::-1]), np.array([1.0, 2.0, 4.0]))


def test_a_call_whose_results_are_not_used_still_holds_the_caller_to_its_path():
    """How many results there are is all that the caller looks at."""

    @td.subtape
    def f(v):
        if v[0] > 0:
            return v, v
        return {"a": v}

    compiled = td.compile(lambda x: np.sum(x) * len(f(x)), np.ones(2))
    assert td.gradient(compiled, np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(td.ArgumentMismatch, match="another structure"):
        td.gradient(compiled, -np.ones(2))


def test_an_error_on_a_new_path_leaves_everything_as_it_was():
    @td.subtape
    def f(v):
        if v < 0:
            raise ValueError("negative")
        return v * 2

    compiled = td.compile(lambda x: f(x[0]) * x[1], np.array([1.0, 2.0]))
    out = np.array([7.0, 7.0])
    for _ in range(3):
        with pytest.raises(ValueError, match="negative"):
            td.gradient(compiled, np.array([-1.0, 2.0]), out=out)
        np.testing.assert_array_equal(out, [7.0, 7.0])
        np.testing.assert_allclose(td.gradient(compiled, np.array([1.0, 2.0])), [4.0, 2.0])
    assert f.recordings == 1
    assert not td.is_recording()


def test_linear_algebra_errors_come_through():
    solve = td.subtape(lambda a: np.sum(np.linalg.cholesky(a)))
    compiled = td.compile(lambda x: solve(x.reshape(2, 2)), np.array([2.0, 0.0, 0.0, 2.0]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        td.gradient(compiled, -np.eye(2).ravel())
    assert np.isfinite(td.gradient(compiled, np.array([3.0, 0.0, 0.0, 2.0]))).all()


def test_a_guard_of_the_caller_on_a_result():
    """The caller's own branch is its own; inside a GuardedTape it is a path of that."""
    step = td.subtape(piecewise)
    f = lambda x: x if step(x) > 4 else -x
    compiled = td.compile(f, 1.0)
    assert td.gradient(compiled, 1.1) == -1.0
    with pytest.raises(td.GuardFailed):
        td.gradient(compiled, 3.0)
    safe = td.GuardedTape(f)
    assert [td.gradient(safe, x) for x in (0.5, 1.5, 3.0, 0.5, -3.0)] == [-1.0, -1.0, 1.0, -1.0, 1.0]
    assert safe.stats.recordings == 2


def test_too_many_paths_warn_and_are_answered_all_the_same():
    f = td.subtape(lambda v: v ** int(v), max_tapes=4)
    compiled = td.compile(lambda x: f(x), 1.5)
    points = np.arange(1, 20) + 0.5
    with pytest.warns(td.GuardWarning, match=r"took more than 4 paths.*\n.*test_subtape.py"):
        answers = [td.gradient(compiled, x) for x in points]
    assert answers == pytest.approx([int(x) * x ** (int(x) - 1) for x in points], rel=1e-12)
    again = [td.gradient(compiled, x) for x in points[::-1]]
    assert again[::-1] == pytest.approx(answers, rel=1e-14)


def test_python_numbers_are_data_and_flags_are_static():
    """A counter of a Python loop makes no variants of its own; a flag and a string do."""

    @td.subtape
    def f(v, k, flag, name):
        v = v * k if flag is True else v + k
        return np.sin(v) if name == "sin" else v

    def g(x):
        return sum(f(x, k, k % 2 == 0, "sin" if k < 5 else "id") for k in range(10))

    agree(lambda x: g(x[0]), np.array([0.3]), np.array([-2.0]))
    assert f.recordings == 4


def test_a_python_integer_is_one():
    """Also where it is looked up, counted with, or asked for its type; a list of them indexes as in NumPy."""

    @td.subtape
    def f(v, k, places):
        assert isinstance(k, int)
        total = np.sum(v[places]) + v[k] * k + v.reshape(k, -1)[0, 0]
        for j in range(k):
            total = total + v[-j] * j
        return total

    agree(lambda x: f(x, 2, [0, 3]) + f(x, 1, [1, 1]), np.array([1.0, 2.0, 3.0, 5.0]), np.array([-1.0, 2.0, 3.0, 5.0]))


def test_static_arguments_of_sub_tapes():
    @td.subtape(static=td.static(argnames="order"))
    def power(v, order):
        return v**order

    f = lambda x: power(x, 2) + power(x, order=3) + power(x, 2)
    compiled = td.compile(f, 2.0)
    assert td.gradient(compiled, 2.0) == pytest.approx(2 * 4.0 + 12.0)
    assert power.recordings == 2
    by_value = td.GuardedTape(lambda x, n: power(x, np.argmax(n) + 1))
    n = np.array([0.0, 1.0, 0.5])
    assert td.gradient(by_value, 3.0, n) == 6.0
    assert td.gradient(by_value, 3.0, n[::-1].copy()) == 6.0
    assert td.gradient(by_value, 3.0, np.sort(n)) == 27.0


def test_methods_can_be_sub_tapes():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @td.subtape
        def step(self, v):
            return v * self.scale if v > 0 else v

    model = Model(3.0)
    agree(lambda x: model.step(x[0]) + Model(5.0).step(x[0]), np.array([1.0]), np.array([-1.0]))


def test_threads_share_the_variants():
    step = td.subtape(piecewise)

    def f(x):
        total = 0.0
        for k in range(8):
            total = total + step(x[k])
        return total

    compiled = td.compile(f, np.zeros(8))
    rng = np.random.default_rng(0)
    points = rng.normal(1.0, 1.0, (4, 100, 8))
    wrong = []

    def work(rows):
        for x in rows:
            if not np.allclose(td.gradient(compiled, x), np.where(x > 1, 3 * x**2, 2 * x), rtol=1e-12):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in points]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert step.recordings == 2


def test_an_exception_that_the_caller_catches_is_refused():
    """What decided it was looked at in a recording that is gone, so the caller's tape could not be guarded."""

    @td.subtape
    def f(v):
        if v > 1:
            raise KeyError("too big")
        return v * v

    def g(x):
        try:
            return f(x[0]) + f(x[1])
        except KeyError:
            return x[0]

    with pytest.raises(td.UnsupportedFunction, match="g caught the error of f"):
        td.record(g, np.array([0.5, 2.0]))
    assert td.gradient(g, np.array([0.5, 0.2])).tolist() == [1.0, 0.4]


def test_an_exception_is_a_path_where_the_caller_would_catch_factorisations_that_fail_too():
    """LinAlgError is a ValueError: such calls are recorded into the caller, so that what decided is guarded there."""

    @td.subtape
    def f(v):
        if v > 1:
            raise ValueError("too big")
        return v * v

    def g(x):
        try:
            return f(x[0]) + f(x[1])
        except ValueError:
            return x[0]

    guarded = td.GuardedTape(g)
    for x, want in (([0.5, 2.0], [1.0, 0.0]), ([0.5, 0.25], [1.0, 0.5]), ([3.0, 0.25], [1.0, 0.0])):
        assert td.gradient(guarded, np.array(x)).tolist() == want


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


def test_a_discarded_infinity_stays_out_of_the_gradient():
    """The path that does not use log(x) hands back a cotangent of exactly 0, and 0 times infinity must not be NaN."""
    pick = td.subtape(lambda x, y: y if x > 0 else x)
    f = lambda x: pick(x[0], np.log(x[1]))
    for target in (td.record(f, np.array([1.0, 2.0])), td.compile(f, np.array([1.0, 2.0]))):
        np.testing.assert_array_equal(td.gradient(target, np.array([-1.0, 0.0])), [1.0, 0.0])


def test_checkpoint_stores_inputs_only():
    """The workspace of the gradient of a chain of blocks, with and without."""

    def block(v):
        for _ in range(20):
            v = np.sin(v - np.mean(v)) * 1.1 + v**2 * 0.01
        return v

    def chain(each):
        def f(x):
            for _ in range(10):
                x = each(x)
            return np.sum(x)

        return f

    x = np.linspace(0.1, 1.0, 500)
    stored, recomputed = td.compile(chain(block), x), td.compile(chain(td.checkpoint(block)), x)
    np.testing.assert_allclose(td.gradient(stored, x), td.gradient(recomputed, x), rtol=1e-11)
    assert recomputed.kernel((0,)).workspace_bytes < 0.25 * stored.kernel((0,)).workspace_bytes


def test_the_text_about_a_sub_tape_names_lines():
    step = td.subtape(piecewise)
    by_numpy(lambda: [td.gradient(lambda x: step(x), x) for x in (0.5, 2.0)])
    text = step.explain()
    assert "2 variants recorded" in text
    assert "in piecewise → False" in text
    assert "in piecewise → True" in text
    assert recordings_of(td.record(lambda x: step(x), 0.5)) == [2]


@pytest.mark.parametrize("plain", [0, 3, True, 1.5, np.int32(2)], ids=repr)
def test_a_path_may_return_a_plain_number(plain):
    """It takes the type of the paths before it; `return 0` where these return floats has no gradient."""
    part = td.subtape(lambda v: v**2 if v > 0 else plain)

    def f(x):
        return part(x[0]) * x[1]

    safe = td.GuardedTape(f)
    for first in (2.0, -1.0, 3.0, -2.0):
        x = np.array([first, 0.5])
        value, gradient = td.value_and_gradient(safe, x)
        assert value == (first**2 if first > 0 else plain) * 0.5
        assert np.array_equal(gradient, [first, first**2] if first > 0 else [0.0, plain])


def test_a_plain_integer_of_the_first_path_is_an_integer():
    """It may be an index; a float on a later path is refused with what to write."""
    choice = td.subtape(lambda v: 1 if v > 0 else 2)
    safe = td.GuardedTape(lambda x: x[choice(x[0])] ** 2)
    assert np.array_equal(td.gradient(safe, np.array([1.0, 2.0, 3.0])), [0.0, 4.0, 0.0])
    assert np.array_equal(td.gradient(safe, np.array([-1.0, 2.0, 3.0])), [0.0, 0.0, 6.0])
    part = td.subtape(lambda v: v**2 if v > 0 else 0)
    mixed = td.GuardedTape(lambda x: part(x[0]) * x[1])
    assert np.array_equal(td.gradient(mixed, np.array([-1.0, 2.0])), [0.0, 0.0])
    with pytest.raises(td.ShapeMismatch, match=r"0\.0 instead of 0"):
        td.gradient(mixed, np.array([1.0, 2.0]))


@pytest.mark.parametrize("x", [2.0, -2.0])
def test_branches_of_cond_may_return_plain_numbers(x):
    for other in (0, True, 1.5):
        gradient = td.gradient(lambda x, other=other: td.cond(x[0] > 0, lambda: x[0] * x[1], lambda: other), np.array([x, 3.0]))
        assert np.array_equal(gradient, [3.0, 2.0] if x > 0 else [0.0, 0.0])


def test_recursion_that_is_too_deep_says_what_gives_it_room():
    """An error in four parts at a depth of 200, which is also a RecursionError; with room, 1,000 calls deep is as right as 10.

    Since 3.12 the recursion limit does not give that room; then the error says so, and paths that are known need none.
    """
    program = """
import sys
import numpy as np
import tapediff as td

@td.subtape
def down(n, a):
    return a * 1.5 if n == 0 else down(n - 1, a) * 0.999

def f(a):
    return down(depth, a) + a

depth = 200
try:
    td.record(f, 2.0)
except RecursionError as error:
    print(*str(error).splitlines(), type(error).__mro__[1].__name__, td.is_recording(), sep="\\n")
sys.setrecursionlimit(40_000)
if sys.version_info >= (3, 12):
    depth = 1500
    try:
        td.record(f, 2.0)
    except RecursionError as error:
        print(*str(error).splitlines()[2:], td.is_recording(), sep="\\n")
for depth in (10, 1000) if sys.version_info >= (3, 12) else (1000, 10):
    compiled = td.compile(f, 2.0)
    # The powers are products in another order: 1e-16 for each factor.
    value, gradient = td.value_and_gradient(compiled, 3.0)
    want = 1.5 * 0.999**depth + 1
    print(abs(value - 3.0 * want) < 1e-12 and abs(gradient - want) < 1e-12)
"""
    lines = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=True
    ).stdout.splitlines()
    in_c = (
        f"  got: what Python 3.{sys.version_info[1]} has room for, whatever the recursion limit",
        "  fix: call it less deep first, as it is new paths that need room; or write the recursion as td.while_loop",
        "False",
    )
    assert lines == [
        "calls of down stand too deep in each other",
        "  at:  <string>:8 in down",
        "  got: a recursion limit of 1000",
        "  fix: make room with sys.setrecursionlimit, 20 for each call while a path is new; or write the recursion as td.while_loop",
        "TapediffError",
        "False",
        *(in_c if sys.version_info >= (3, 12) else ()),
        "True",
        "True",
    ]


@pytest.mark.parametrize("count", [33, 100])
def test_a_subtape_takes_and_gives_any_number_of_arrays(count):
    """As arguments and results, as a dict, and as tracked values that it closes over; with a branch inside."""

    @td.subtape
    def turned(*values):
        if values[0] > 0:
            return tuple(v * w * (k + 1) for k, (v, w) in enumerate(itertools.pairwise(values)))
        return tuple(v**2 for v in values[1:])

    halved = td.subtape(lambda named: {name: v / 2 for name, v in named.items()})

    def f(x):
        values = list(x)
        weighted = td.subtape(lambda t: sum(v * t * v for v in values))
        return sum(turned(*values)) + sum(halved({f"v{k}": v for k, v in enumerate(values)}).values()) + weighted(x[1])

    points = np.random.default_rng(count).normal(size=(2, count))
    points[0, 0], points[1, 0] = 1.0, -1.0
    agree(f, *points)
