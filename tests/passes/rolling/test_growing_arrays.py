"""Arrays that are stacked again at every turn of a loop begin with the one before."""

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.rolling.growing_arrays import growing_arrays
from tapediff.targets.tapes.gradient_tape import gradient_tape


def attention(steps, stack=np.stack, skipped=()):
    """A state that attends to all earlier ones."""

    def f(x):
        states, h, total = [x[:3]], x[:3], 0.0
        for t in range(steps):
            if t not in skipped:
                past = stack(states)
                weights = np.exp(0.1 * (past @ h))
                h = np.tanh((weights @ past) / np.sum(weights) + x[3] * h + 0.1 * t)
                total = total + h @ h
            states.append(h * x[t % 4])
        return total

    return f, np.array([0.3, -0.2, 0.5, 0.7])


def numbers(steps):
    """A list of numbers that becomes an array at every turn."""

    def f(x):
        values = [x[0], x[1]]
        for t in range(steps):
            values.append(np.sin(np.sum(np.array(values) * x[2])) + 0.1 * t * values[-2])
        return np.sum(np.array(values) ** 2)

    return f, np.array([0.3, 0.2, 0.4])


PROGRAMS = {
    "stacked": attention(12), "some turns without": attention(14, skipped=(5, 6, 9)), "concatenated": attention(11, np.vstack), "numbers": numbers(15),
    "an array": attention(12, lambda rows: np.array(rows)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_plain_function(name):
    """Kernel, differences, and the operations as they were recorded."""
    f, x = PROGRAMS[name]
    tape = td.record(f, x)
    made = growing_arrays(tape)
    made.check()
    td.testing.check_gradient(td.compile(tape), f, x)
    expected = td.value_and_gradient(td.record(f, x), x + 0.1)
    found = td.value_and_gradient(td.compile(tape), x + 0.1)
    # Cotangents are added in another order.
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


@pytest.mark.parametrize("program", [attention, numbers])
def test_what_is_differentiated_grows_with_the_turns(program):
    """Not with their square: operands of the joint tape of three times as many turns."""
    few, many = (sum(len(i.inputs) for i in gradient_tape(td.record(*program(turns)), (0,)).instructions) for turns in (20, 60))
    assert many < 3.4 * few


def test_other_arrays_stay_as_they_are():
    """Arrays with another beginning, of which none grows, and short ones."""

    def f(x):
        a, b = np.stack([x[k] * x[0] for k in range(6)]), np.stack([x[k] * x[1] for k in range(7)])
        return np.sum(a) * np.sum(b) + np.sum(np.stack([x[0] * 2.0, x[1]]) * np.stack([x[0] * 2.0, x[1] ** 2]))

    tape = td.record(f, np.arange(1.0, 9.0))
    assert growing_arrays(tape) is tape or len(growing_arrays(tape)) == len(tape)
    made = [i for i in growing_arrays(tape).instructions if i.op.name == "assemble"]
    assert sorted(len(i.inputs) for i in made) == [2, 2, 6, 7]
