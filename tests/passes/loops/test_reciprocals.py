"""In the body of a reverse loop cotangents are multiplied by reciprocals, which are worked out apart from them."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.ir.instruction import FLOAT_SCALAR
from tapediff.ir.interpreter import run
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.reciprocals import multiply_by_reciprocals
from tapediff.recording.finish import finished_tape
from tapediff.recording.recorder import Recorder
from tapediff.targets.tapes.gradient_tape import gradient_tape

DATA = np.cos(np.arange(40.0))


def roots(x):
    """The derivative of a root divides by it, in a chain."""
    c, ss = td.scan(lambda c, t: (x[0] + x[1] * np.sqrt(c) ** 2 + 0.1 * t * t, np.sqrt(c)), 1.0 + x[2] ** 2, DATA)
    return np.sum(np.log(ss)) + c


def shares(x):
    def body(c, t):
        size = np.sum(c)
        return (c / size) * np.exp(x[:3] * t), np.log(size)

    c, logs = td.scan(body, np.exp(x[3:]), DATA)
    return np.sum(logs) + np.log(np.sum(c))


@pytest.mark.parametrize(("f", "size"), [(roots, 3), (shares, 6)])
def test_values_and_derivatives_stay(f, size):
    tape = agree(f, np.linspace(0.2, 0.6, size), np.linspace(0.5, 0.1, size))
    hessian_agrees(tape, np.linspace(0.3, 0.5, size))
    back, form = [(i.params[0].variant_tape(0), i.params[1]) for i in gradient_tape(tape, (0,)).instructions if i.op is LOOP][1]
    carried = set(back.inputs[: form.carries])
    for number, instruction in enumerate(back.instructions):
        if carried.intersection(instruction.inputs):
            carried.add(number)
            assert instruction.op.name != "divide"


def test_what_is_carried_is_divided_by_as_before():
    """Only a divisor that depends on no carry is known early, and equal ones have one reciprocal."""

    def divisions(recorder):
        c, x, y = (recorder.input(np.ones(()), active=True) for _ in range(3))
        return finished_tape(recorder, (c / y, x / c, x / y, (c + x) / y))

    tape = Recorder(concrete=False).run(divisions)
    made = multiply_by_reciprocals(tape, 1)
    made.check()
    assert [i.op.name for i in made.instructions].count("reciprocal") == 1
    assert [i.op.name for i in made.instructions].count("divide") == 2
    assert made.input_types == (FLOAT_SCALAR,) * 3
    special = [0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 1e-300]
    for values in np.stack(np.meshgrid(special, special, special), -1).reshape(-1, 3):
        inputs = [np.float64(v) for v in values]
        np.testing.assert_allclose(run(made, inputs), run(tape, inputs), rtol=1e-15)  # one more rounding


def test_a_division_by_zero_is_what_it_was():
    """The value is infinite or nan in the same places as plain NumPy's; so is the gradient with and without loops."""
    tape = td.record(roots, np.array([0.3, 0.4, 0.5]))
    compiled = td.compile(tape)
    for x in ([0.0, 0.0, 0.0], [-2.0, 0.4, 0.5], [np.inf, 0.4, 0.5]):
        with np.errstate(all="ignore"):
            value = roots(np.array(x))
        got, gradient = td.value_and_gradient(compiled, np.array(x))
        np.testing.assert_equal(np.isfinite(got), np.isfinite(value))
        np.testing.assert_allclose(gradient, td.gradient(tape, np.array(x)), rtol=1e-12)
