"""Custom rules: run again at every replay, in Python or compiled, and checked."""

import numba
import numpy as np
import pytest

import tapediff as td


def make(compiled):
    def forward(x, y):
        return (x * y, np.sum(x)), (x, y)

    def backward(saved, cotangents):
        x, y = saved
        a, b = cotangents
        return a * y + b, np.sum(a * x)

    return td.primitive(forward, backward, name="scaled", compiled=compiled)


EITHER = pytest.mark.parametrize("compiled", [False, True])


@EITHER
def test_a_rule_is_used_in_replays_and_kernels(compiled):
    f = make(compiled)

    def g(z):
        products, total = f(z, z[0])
        return np.sum(products**2) * total

    x = np.array([1.0, 2.0, 3.0])
    tape = td.record(g, x)
    for target in (tape, td.compile(tape), td.GuardedTape(g)):
        for point in (x, -x, x**2):
            td.testing.check_gradient(target, g, point)
    td.testing.check_rule(f, x, 2.0)


def test_nothing_is_frozen():
    """Forward and backward run at every replay: what they read elsewhere may change."""
    state = {"scale": 2.0}
    f = td.primitive(lambda x: (x * state["scale"], None), lambda saved, bar: bar * state["scale"])
    tape = td.record(lambda x: f(x) ** 2, 3.0)
    for target in (tape, td.compile(tape)):
        for scale in (2.0, 5.0, -1.0):
            state["scale"] = scale
            assert td.value_and_gradient(target, 3.0) == (9 * scale**2, 6 * scale**2)


def test_each_call_runs():
    """Equal calls of something that need not give equal results are not made one."""
    calls = []
    f = td.primitive(lambda x: (x + len(calls), calls.append(1)), lambda saved, bar: bar)
    compiled = td.compile(lambda x: f(x) + f(x), 1.0)
    before = len(calls)
    td.gradient(compiled, 1.0)
    assert len(calls) == before + 2


@pytest.mark.slow
def test_numba_functions_are_called_without_python():
    @numba.njit
    def forward(x):
        total = 0.0
        for k in range(x.size):
            total += x[k] ** 3
        return total, x

    @numba.njit
    def backward(saved, bar):
        return 3 * saved**2 * bar

    f = td.primitive(forward, backward)
    assert f.is_compiled
    compiled = td.compile(lambda x: f(x) * f(x * 2), np.ones(4))
    x = np.array([1.0, -2.0, 0.5, 3.0])
    td.testing.check_gradient(compiled, lambda x: np.sum(x**3) * np.sum((2 * x) ** 3), x)
    td.testing.check_rule(f, x)


@EITHER
def test_structures_integers_and_arguments_without_derivative(compiled):
    def forward(x, k):
        return x * k, (x, k)

    def backward(saved, bar):
        _, k = saved
        return bar * k, 0 * k

    f = td.primitive(forward, backward, compiled=compiled)
    compiled_tape = td.compile(lambda x: np.sum(f(x, 3)), np.ones(2))
    np.testing.assert_array_equal(td.gradient(compiled_tape, np.array([1.0, 5.0])), 3.0)


def test_none_stands_for_no_derivative():
    f = td.primitive(lambda x, y: ((x * y, x), y), lambda y, bars: (bars[0] * y + bars[1], None))
    tape = td.record(lambda x: f(x, x)[0] + f(x, 2 * x)[1], 3.0)
    assert td.gradient(tape, 3.0) == td.gradient(td.compile(tape), 3.0) == 4.0


def test_a_rule_in_a_scan_and_a_sub_tape():
    cube = td.primitive(lambda x: (x**3, x), lambda x, bar: 3 * x**2 * bar)
    step = td.subtape(lambda c, t: cube(c) * t if c > 0 else cube(-c))
    f = lambda x: td.scan(lambda c, t: (step(c, t) * 0.5 + x * 0.3, None), x, np.cos(np.arange(6.0)))[0]
    tape = td.record(f, 0.5)
    for x in (0.5, -0.5, 0.9):
        td.testing.check_gradient(tape, f, x)
        assert td.gradient(td.compile(tape), x) == pytest.approx(td.gradient(tape, x), rel=1e-12)


@EITHER
def test_wrong_results_name_the_rule(compiled):
    short = td.primitive(lambda x: (x * 2, None), lambda saved, bar: bar[:1] * 2, name="short", compiled=compiled)
    with pytest.raises(td.InvalidRule, match="the rule of short returned a cotangent of another shape than argument 0") as caught:
        td.gradient(lambda x: np.sum(short(x)), np.ones(3))
    assert "got: (1,) for (3,)" in str(caught.value)


def test_wrong_counts_and_structures_name_the_rule():
    few = td.primitive(lambda x, y: (x * y, None), lambda saved, bar: bar, name="few")
    with pytest.raises(td.InvalidRule, match="the rule of few must return one cotangent for each of the 2 arguments"):
        td.gradient(lambda x: few(x, x), 1.0)
    with pytest.raises(td.InvalidRule, match="single must return \\(outputs, saved\\)"):
        td.gradient(td.primitive(lambda x: x, lambda saved, bar: bar, name="single"), 1.0)
    changing = td.primitive(lambda x: (x[: int(x[0])], None), lambda saved, bar: bar, name="changing")
    tape = td.record(lambda x: np.sum(changing(x)), np.array([1.0, 2.0]))
    for target in (tape, td.compile(tape)):
        with pytest.raises(td.InvalidRule, match="changing returned results of other types than before"):
            target(np.array([2.0, 2.0]))
        with pytest.raises(td.InvalidRule, match="changing returned"):  # whether the gradient needs the results or the cotangents alone
            td.gradient(target, np.array([2.0, 2.0]))
    with pytest.raises(td.InvalidRule, match="lonely has no derivative rule"):
        td.gradient(td.primitive(lambda x: (x, None), name="lonely"), 1.0)


def test_check_rule_finds_a_wrong_rule():
    wrong = td.primitive(lambda x, y: (x * y, (x, y)), lambda saved, bar: (bar * saved[1], bar * saved[1]))
    with pytest.raises(AssertionError, match="argument 1 of"):
        td.testing.check_rule(wrong, 2.0, 3.0)


def test_second_derivatives_say_that_there_are_none():
    cube = td.primitive(lambda x: (x**3, x), lambda x, bar: 3 * x**2 * bar, name="cube")
    with pytest.raises(td.UnsupportedFunction, match=r"td\.jvp or a second derivative through the rule of cube"):
        td.hessian(lambda x: cube(x[0]), np.ones(1))
    np.testing.assert_allclose(td.jacobian(lambda x: np.stack([cube(x[0])] * 3), np.array([2.0])), [[12.0]] * 3)


def test_an_exception_in_a_rule_comes_through():
    def refuse(saved, bar):
        raise RuntimeError("no derivative here")

    f = td.primitive(lambda x: (x, None), refuse)
    compiled = td.compile(lambda x: f(x) * 2, 1.0)
    with pytest.raises(RuntimeError, match="no derivative here"):
        td.gradient(compiled, 1.0)
    assert compiled(3.0) == 6.0


def test_stop_gradient_keeps_the_value():
    f = lambda x: td.stop_gradient(x**2) * x
    compiled = td.compile(f, 2.0)
    assert td.value_and_gradient(compiled, 3.0) == (27.0, 9.0)
