"""Sub-tapes: one instruction of the caller, with variants of their own that are found at every call."""

import itertools

import numpy as np
import pytest
from support.agreement import agree, by_numpy, hessian_agrees, recordings_of
from support.in_threads import in_threads

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
    step = td.subtape(piecewise, merge=False)
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


def test_a_function_with_an_if_per_element_ends_with_two_variants():
    """However the elements fall, and with one recording of the caller."""
    step, recordings = td.subtape(piecewise, merge=False), []

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
    norm = td.subtape(lambda x: np.sqrt(np.sum(x**2)) if x[0] > 0 else np.sum(x), merge=False)
    agree(lambda x: norm(x[:2]) + norm(x), np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0]))
    assert norm.recordings == 4


def test_sub_tapes_inside_sub_tapes():
    inner = td.subtape(lambda v: np.sin(v) if v > 0 else v * v, merge=False)
    outer = td.subtape(lambda v, w: inner(v) * w + inner(w) if v > w else inner(v - w), merge=False)
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
    step = td.subtape(piecewise, merge=False)
    second = td.grad(td.grad(lambda x: step(x)))
    assert [second(x) for x in (0.5, 2.0, 0.7)] == pytest.approx([2.0, 12.0, 2.0], rel=1e-14)
    third = td.grad(second)
    assert [third(x) for x in (0.5, 2.0)] == pytest.approx([0.0, 6.0], abs=1e-14)


def test_run_time_data_reaches_sub_tapes():
    f = td.subtape(lambda v, w: np.sum(v * w))
    assert td.gradient(lambda x: f(x, td.Constant(np.array([2.0, 3.0]))), np.ones(2)).tolist() == [2.0, 3.0]
    assert f(np.ones(2), td.Constant(np.array([2.0, 3.0]))) == 5.0


def test_a_guard_of_the_caller_on_a_result():
    """The caller's own branch is its own; inside a GuardedTape it is a path of that."""
    step = td.subtape(piecewise, merge=False)
    f = lambda x: x if step(x) > 4 else -x
    compiled = td.compile(f, 1.0)
    assert td.gradient(compiled, 1.1) == -1.0
    with pytest.raises(td.GuardFailed):
        td.gradient(compiled, 3.0)
    safe = td.GuardedTape(f, merge=False)
    assert [td.gradient(safe, x) for x in (0.5, 1.5, 3.0, 0.5, -3.0)] == [-1.0, -1.0, 1.0, -1.0, 1.0]
    assert safe.stats.recordings == 2


def test_too_many_paths_warn_and_are_answered_all_the_same():
    f = td.subtape(lambda v: v ** int(v), max_tapes=4, merge=False)
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


def test_threads_share_the_variants():
    step = td.subtape(piecewise, merge=False)

    def f(x):
        total = 0.0
        for k in range(8):
            total = total + step(x[k])
        return total

    compiled = td.compile(f, np.zeros(8))
    rng = np.random.default_rng(0)
    points = rng.normal(1.0, 1.0, (4, 100, 8))

    def work(rows):
        for x in rows:
            assert np.allclose(td.gradient(compiled, x), np.where(x > 1, 3 * x**2, 2 * x), rtol=1e-12)

    in_threads(work, points)
    assert step.recordings == 2


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
    step = td.subtape(piecewise, merge=False)
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
    choice = td.subtape(lambda v: 1 if v > 0 else 2, merge=False)
    safe = td.GuardedTape(lambda x: x[choice(x[0])] ** 2)
    assert np.array_equal(td.gradient(safe, np.array([1.0, 2.0, 3.0])), [0.0, 4.0, 0.0])
    assert np.array_equal(td.gradient(safe, np.array([-1.0, 2.0, 3.0])), [0.0, 0.0, 6.0])
    part = td.subtape(lambda v: v**2 if v > 0 else 0, merge=False)
    mixed = td.GuardedTape(lambda x: part(x[0]) * x[1])
    assert np.array_equal(td.gradient(mixed, np.array([-1.0, 2.0])), [0.0, 0.0])
    with pytest.raises(td.ShapeMismatch, match=r"0\.0 instead of 0"):
        td.gradient(mixed, np.array([1.0, 2.0]))


@pytest.mark.parametrize("x", [2.0, -2.0])
def test_branches_of_cond_may_return_plain_numbers(x):
    for other in (0, True, 1.5):
        gradient = td.gradient(lambda x, other=other: td.cond(x[0] > 0, lambda: x[0] * x[1], lambda: other), np.array([x, 3.0]))
        assert np.array_equal(gradient, [3.0, 2.0] if x > 0 else [0.0, 0.0])


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


def test_a_discarded_maximum_of_nan_stays_out_of_the_gradient():
    """As above, where the path does not use the greater of two numbers that are not defined there."""
    pick = td.subtape(lambda x, y: y if x > 0 else x)
    for of_two in (np.maximum, np.minimum):
        f = lambda x, of_two=of_two: pick(x[0], of_two(np.sqrt(x[1]), x[0]))
        for target in (td.record(f, np.array([1.0, 2.0])), td.compile(f, np.array([1.0, 2.0]))):
            np.testing.assert_array_equal(td.gradient(target, np.array([-1.0, -2.0])), [1.0, 0.0])
