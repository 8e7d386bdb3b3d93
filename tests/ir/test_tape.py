"""The tape: its check, its listing, its replay."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import ValueType
from tapediff.ir.tape import kept_with_tape
from tapediff.ops.arrays.reductions import SUM
from tapediff.ops.elementwise.arithmetic import ADD

X = np.array([1.0, 2.0, 3.0])
TAPE = td.record(lambda x: np.sum(np.exp(x) * 2.0), X)


def branching(x):
    if x[0] > 0:
        return np.sum(x) * int(x[1])
    return x[0]


def changed(tape, number, **fields):
    instructions = list(tape.instructions)
    instructions[number] = instructions[number]._replace(**fields)
    return replace(tape, instructions=tuple(instructions))


BROKEN = {
    "a value used before it is defined": (changed(TAPE, 1, inputs=(3,)), "v1 reads a value that is not defined before it"),
    "a wrong shape": (changed(TAPE, 1, type=ValueType((4,), X.dtype)), "v1 = exp should be float64[3]"),
    "a wrong dtype": (changed(TAPE, 3, type=ValueType((3,), np.dtype(bool))), "v3 = multiply should be float64[3]"),
    "a constant of another type": (changed(TAPE, 2, params=(np.ones(2),)), "v2 is a constant of another type than stated"),
    "an output that does not exist": (replace(TAPE, outputs=(9,)), "an output of the tape is not one of its values"),
    "an input that does not exist": (replace(TAPE, inputs=(-1,)), "an input of the tape is not one of its values"),
}


@pytest.mark.parametrize(("tape", "message"), BROKEN.values(), ids=BROKEN)
def test_the_check_finds(tape, message):
    """Every rule of the tape, broken by hand, is reported with the instruction at fault."""
    with pytest.raises(td.InvalidTape) as raised:
        tape.check()
    assert raised.value.what == message


def test_the_check_finds_guards_out_of_order_and_their_results_read():
    tape = td.record(branching, X)
    tape.check()
    guards = [k for k, i in enumerate(tape.instructions) if i.op.name == "guard"]
    first = tape.instructions[guards[0]]
    with pytest.raises(td.InvalidTape, match="guard out of order"):
        changed(tape, guards[0], params=(*first.params[:2], 7)).check()
    total = next(k for k, i in enumerate(tape.instructions) if i.op is SUM)
    assert total > guards[0]
    with pytest.raises(td.InvalidTape, match="reads the result of a guard"):
        changed(tape, total, op=ADD, inputs=(guards[0], 0)).check()


def test_the_listing_has_one_line_an_instruction():
    lines = str(TAPE).splitlines()
    assert lines[0] == "tape of <lambda>, 5 instructions, 0 guards"
    assert lines[1] == "  v0: float64[3] = input(0)"
    assert lines[2].split("#")[0].rstrip() == "  v1: float64[3] = exp(v0)"
    assert lines[2].endswith("in <lambda>")
    assert lines[3] == "  v2: float64[] = constant 2.0"
    assert lines[-1] == "return v4"
    assert repr(TAPE) == "<Tape of <lambda>: 5 instructions, 0 guards>"


def test_the_listing_of_a_long_tape_is_cut_in_the_middle():
    def loop(x):
        for _ in range(1500):
            x = x * 1.5 + 0.5
        return x

    lines = str(td.record(loop, 1.0)).splitlines()
    assert len(lines) < 2010
    assert any("instructions ..." in line for line in lines)


def test_a_tape_with_other_outputs_has_derivatives_of_its_own():
    """dataclasses.replace copies no cache, whatever was asked of the first tape before."""
    two = td.record(lambda x: (np.sum(x**2), np.sum(x**3)), X)
    first, second = (replace(two, outputs=two.outputs[k : k + 1], returns_tuple=False) for k in (0, 1))
    for tape, expected, curvature in ((first, 2 * X, 2 + 0 * X), (second, 3 * X**2, 6 * X)):
        again = replace(tape, name="again")
        for target in (tape, again, td.compile(tape), td.compile(again)):
            np.testing.assert_allclose(td.gradient(target, X), expected, rtol=1e-15)
            np.testing.assert_allclose(td.jacobian(target, X), expected, rtol=1e-15)
            np.testing.assert_allclose(td.hessian(target, X), np.diag(curvature), rtol=1e-15)
    turned = replace(first, outputs=second.outputs)
    assert np.array_equal(td.gradient(turned, X), 3 * X**2)
    with pytest.raises((ValueError, TypeError), match="derived"):  # the latter from Python 3.13 on
        replace(first, derived=first.derived)


def test_what_is_derived_from_a_tape_is_made_once_for_each_choice_of_arguments():
    """Defaults count as given; another tape has results of its own."""
    made = []

    @kept_with_tape
    def derive(tape, wrt, keep=False, mode=None):
        made.append((wrt, keep, mode))
        return [*made[-1]]

    tape, other = (td.record(lambda x: x.sum(), np.ones(2)) for _ in range(2))
    assert derive(tape, (0,)) is derive(tape, (0,), False) is derive(tape, (0,), False, None)
    assert [derive(tape, (0,), True), derive(tape, (0,), keep=True), derive(tape, (1,)), derive(tape, (0,), False, "reverse")] == [
        [(0,), True, None], [(0,), True, None], [(1,), False, None], [(0,), False, "reverse"],
    ]  # fmt: skip
    assert derive(other, (0,)) is not derive(tape, (0,))
    assert len(made) == 6


def test_guards_are_listed_with_line_and_outcome():
    tape = td.record(branching, X)
    line = branching.__code__.co_firstlineno
    assert [str(g) for g in tape.guards] == [
        f"test_tape.py:{line + 1} in branching → True", f"test_tape.py:{line + 2} in branching → 2"
    ]  # fmt: skip
    assert f"guard v{tape.guards[0].value} is True" in str(tape)


def test_a_replay_off_the_recorded_path_says_where():
    tape = td.record(branching, X)
    assert tape(np.array([5.0, 2.9, 1.0])) == pytest.approx(8.9 * 2)
    with pytest.raises(td.GuardFailed) as raised:
        tape(-X)
    assert (raised.value.ordinal, raised.value.recorded, raised.value.outcome) == (0, True, False)
    with pytest.raises(td.GuardFailed) as raised:
        tape(np.array([5.0, 3.0, 1.0]))
    assert (raised.value.ordinal, raised.value.recorded, raised.value.outcome) == (1, 2, 3)


def test_a_replay_takes_and_gives_what_the_function_does():
    """A tuple for a tuple; NumPy floats for scalars; arguments of any layout, unchanged."""
    tape = td.record(lambda x, y: (x * y, np.sum(x)), X, 2.0)
    x = np.repeat(X, 2)[::2]
    product, total = tape(x, 3.0)
    assert np.array_equal(product, 3 * X)
    assert total == 6.0
    assert np.array_equal(x, X)
    with pytest.raises(td.ShapeMismatch):
        tape(np.ones(4), 1.0)
    with pytest.raises(td.ArgumentMismatch):
        tape(X)


def test_a_replay_makes_no_warnings():
    """Overflow, division by zero and NaN are values; warnings were the recording's."""
    tape = td.record(lambda x: np.sum(np.log(x) / x + np.exp(x)), X)
    assert np.isnan(tape(np.array([0.0, -1.0, 1e4])))


def test_a_tape_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        TAPE.outputs = (0,)
    with pytest.raises(ValueError, match="read-only"):
        TAPE.instructions[2].params[0][...] = 1.0
    assert len(TAPE) == len(TAPE.instructions) == 5


def test_results_of_a_replay_are_not_the_tapes_own():
    """Writing into a returned array changes neither the argument nor a constant of the tape."""
    tape = td.record(lambda x: (x, np.ones(3), x[::2], x.reshape(3, 1)), X)
    x = X.copy()
    for value in tape(x):
        value[...] = 9.0
    assert np.array_equal(x, X)
    assert np.array_equal(tape(x)[1], np.ones(3))


def test_a_notebook_shows_the_listing_of_a_tape_escaped_and_short():
    """Also of a name with markup in it; of a long tape, both ends."""
    f = lambda x: np.sum(x * 2.0)
    f.__name__ = "<b>&"
    shown = td.record(f, np.ones(2))._repr_html_()
    assert shown.startswith("<pre")
    assert "tape of &lt;b&gt;&amp;, " in shown
    assert "<b>" not in shown
    tape = td.record(lambda x: sum(np.sin(x[k % 5]) * k for k in range(300)), np.ones(5), merge=False)
    assert len(tape) > 400
    lines = tape._repr_html_().splitlines()
    assert 100 <= len(lines) <= 110
    assert any(line.startswith("  ... ") for line in lines)
