"""In the body of a while loop, what has to hold for an iteration to begin is a constant."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ir.instruction import BOOL_SCALAR
from tapediff.ops.control.calls import LOOP

POINTS = [np.array(p) for p in ([1.3, 0.4], [-0.6, 0.9], [0.2, 3.1], [5.0, 0.1])]


def broken(x):
    """`broken` is False at the start of every iteration, and tells behind the loop how it ended."""

    def turn(state):
        is_broken, k, s = state
        s = s * 0.7 + x[1]
        return np.logical_or(is_broken, s > 2.0 * x[0]), k + 1.0, s

    is_broken, k, s = td.while_loop(lambda s: np.logical_and(np.logical_not(s[0]), s[1] < 9.0), turn, (False, 0.0, x[0]))
    return np.where(is_broken, s * k, -s)


def chosen_before(x):
    """Whether there is an iteration is decided before, and constant inside."""
    is_small = x[0] < 1.0
    body = lambda s: (s[0] + 1.0, np.where(is_small, s[1] * x[1], s[1] + 100.0))
    return td.while_loop(lambda s: np.logical_and(is_small, s[0] < 4.0), body, (0.0, x[0]))[1]


def begun_otherwise(x):
    """The flag is True at the start of the first iteration alone: no constant."""

    def turn(state):
        _, k, s = state
        return s * k > 3.0, k + 1.0, np.where(state[0], 0.5 * s, s * x[1] + x[0])

    first = (x[0] > 0.0, 0.0, x[1])
    return td.while_loop(lambda s: np.logical_or(s[0], s[1] < 5.0), turn, first)[2]


def flag_that_may_be_either(x):
    """The test reads another bool than the body."""

    def turn(state):
        even, k, s = state
        return np.logical_not(even), k + 1.0, np.where(even, s * x[1], s + x[0])

    return td.while_loop(lambda s: s[1] < 5.0, turn, (True, 0.0, x[0]))[2]


def told_by_the_last_turn(x):
    """Two flags are one from the second iteration on; the test reads the one that is true at the first, too."""

    def turn(state):
        _, was_small, k, s = state
        s = np.where(was_small, 0.7 * s + x[1], 0.5 * s - x[0])
        is_small = np.logical_and(s < 4.0 * x[1], k < 9.0)
        return is_small, is_small, k + 1.0, s

    return td.while_loop(lambda s: s[0], turn, (x[0] < 10.0, x[0] > 10.0, 0.0, x[0]))[3]


@pytest.mark.parametrize("f", [broken, chosen_before, begun_otherwise, flag_that_may_be_either, told_by_the_last_turn])
def test_values_and_derivatives_stay(f):
    """Loops that end in each way, and do not begin."""
    tape = agree(f, *POINTS)
    hessian_agrees(tape, POINTS[0])


def _bools_read(f):
    """How many bools the bodies of its loops read."""
    tape = rolled(td.record(f, POINTS[1]))
    (body,) = [i.params[0].variant_tape(0) for i in tape.instructions if i.op is LOOP]
    read = {i for instruction in body.instructions for i in instruction.inputs}
    return sum(body.instructions[number].type == BOOL_SCALAR and number in read for number in body.inputs)


@pytest.mark.parametrize(
    ("f", "count"), [(broken, 0), (chosen_before, 0), (begun_otherwise, 1), (flag_that_may_be_either, 1), (told_by_the_last_turn, 1)]
)
def test_what_holds_at_every_iteration_is_not_read(f, count):
    """Only what both the test and the first test say is taken for known."""
    assert _bools_read(f) == count
