"""The last row of what a loop gives at every turn is what its last turn hands on; programs give the same."""

from dataclasses import replace

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.last_iterations.last_rows import last_rows

DATA = np.sin(np.arange(20) * 0.4)
POINT, OTHER = np.array([0.4, 0.8, 1.1]), np.array([0.7, -0.3, 0.6])


def rows(p, reverse=False):
    def step(x, y):
        made = np.tanh(0.5 * x + y * p)
        return made, made

    return td.scan(step, p * 1.0, DATA, reverse=reverse)


def an_entry_of_the_last_row(p):
    return rows(p)[1][-1, 1]


def the_last_row(p):
    return np.sum(rows(p)[1][len(DATA) - 1] ** 2)


def a_part_of_it(p):
    return np.sum(rows(p)[1][-1, 1:] * p[1:])


def the_first_row_of_a_loop_backwards(p):
    return np.sum(rows(p, reverse=True)[1][0] ** 2)


def numbers(p):
    def step(x, y):
        made = np.sin(x * p[0]) + y
        return made, (made, x)

    _, (seen, before) = td.scan(step, p[1], DATA)
    return seen[-1] * p[2] + np.sum(before)


CASES = {an_entry_of_the_last_row: 0, the_last_row: 0, a_part_of_it: 0, the_first_row_of_a_loop_backwards: 0, numbers: 1}


def another_row(p):
    return np.sum(rows(p)[1][-2])


def the_last_row_of_a_loop_backwards(p):
    return np.sum(rows(p, reverse=True)[1][-1])


def another_row_as_well(p):
    found = rows(p)[1]
    return np.sum(found[-1] * found[3])


def something_else_than_is_handed_on(p):
    return np.sum(td.scan(lambda x, y: (np.tanh(0.5 * x + y * p), x), p * 1.0, DATA)[1][-1])


def given(tape):
    """How many results of every turn the loops of a tape give."""
    found = [i.params for i in tape.instructions if i.op is LOOP]
    return sum(len(callee.out_types) - form.carries for callee, form in found)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_it_is_taken_from_what_is_handed_on(f):
    tape = td.record(f, POINT)
    made = last_rows(tape)
    assert given(made) == CASES[f] < given(tape)
    made.check()
    assert given(rolled(tape)) == CASES[f]
    for p in (POINT, OTHER):
        np.testing.assert_allclose(made(p), tape(p), rtol=1e-14)
    agree(f, POINT, OTHER)
    hessian_agrees(td.compile(f, POINT), POINT)


@pytest.mark.parametrize("f", [another_row, the_last_row_of_a_loop_backwards, something_else_than_is_handed_on], ids=lambda f: f.__name__)
def test_other_rows_stay(f):
    tape = td.record(f, POINT)
    assert last_rows(tape) is tape
    agree(f, POINT, OTHER)


def test_rows_that_are_read_besides_stay():
    tape = td.record(another_row_as_well, POINT)
    made = last_rows(tape)
    assert given(made) == given(tape) == 1
    np.testing.assert_allclose(made(OTHER), tape(OTHER), rtol=1e-14)
    agree(another_row_as_well, POINT, OTHER)


@pytest.mark.parametrize("special", [{"stops": True}, {"variant_given": True}, {"saves_carries": True}, {"length": None}], ids=lambda special: next(iter(special)))
def test_rows_of_loops_that_may_stop_earlier_or_give_more_stay(special):
    """Their last row need not be of the last iteration, or has another number among the results."""
    tape = td.record(next(iter(CASES)), POINT)
    instructions = [i._replace(params=(i.params[0], replace(i.params[1], **special))) if i.op is LOOP else i for i in tape.instructions]
    changed = replace(tape, instructions=tuple(instructions))
    assert last_rows(tape) is not tape
    assert last_rows(changed) is changed
