"""Loops stack the rows of arrays that they fill, in place of carrying these; programs give the same."""

from __future__ import annotations

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.arrays.indexing import PUT
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.carries.filled_arrays import filled_arrays
from tapediff.passes.loops.counted_loops import counted_loops

N = 40
DATA = np.sin(np.arange(N) * 0.4)
POINT, OTHER = np.array([0.4, 0.8, 0.3]), np.array([0.7, -0.3, 0.6])


def loop(f, start, first=1, end=N):
    """Record one iteration for all numbers of a range."""
    return td.scan(lambda carry, k: (f(carry, k), None), start, np.arange(first, end))[0]


def put(x, k, value):
    y = x.copy()
    y[k] = value
    return y


def of_rows_before_and_after(p):
    """It reads entries as they were before the loop: the one that it writes, and the next one."""
    start = p[2] * DATA
    return np.sum(loop(lambda out, k: put(out, k, out[k] * p[0] + p[1] * out[k + 1]), start, first=0, end=N - 1) ** 2)


def in_the_middle(p):
    return np.sum(loop(lambda out, k: put(out, k, p[0] * out[k - 1] + k), p[1] * DATA, first=7, end=31) * DATA)


def twice(p):
    def step(out, k):
        out = put(out, k, out[k - 1] * p[0])
        return put(out, k, out[k] + DATA[k] * p[1])

    return np.sum(loop(step, np.zeros(N)) ** 2)


def of_rows(p):
    """Rows of a matrix, of which single entries are read."""

    def step(out, k):
        return put(out, k, np.stack([out[k - 1, 1] * p[0], np.sum(out[k - 1]) * p[1] + DATA[k]]))

    return np.sum(loop(step, np.ones((N, 2))) ** 2)


def beside_a_number(p):
    def step(carry, k):
        out, s = carry
        return put(out, k, p[0] * out[k - 1] + s), 0.5 * s + DATA[k] * p[1]

    out, s = loop(step, (np.zeros(N), p[2]))
    return np.sum(out**2) + s


def of_rows_twice(p):
    """The row before is read between two writes of a row."""

    def step(out, k):
        out = put(out, k, p * out[k - 1] + DATA[k])
        return put(out, k, np.sin(out[k]) + out[k - 1] * p[1])

    return np.sum(loop(step, put(np.zeros((N, 3)), 0, p)) ** 2)


def by_columns(p):
    """Iterations fill columns, of which one entry is read."""

    def step(out, k):
        a = p[0] * out[0, k - 1] + DATA[k]
        return put(out, (slice(None), k), np.stack([a, a * a * p[1]]))

    return np.sum(loop(step, p[2] * np.ones((2, N))) ** 2)


def on_one_side(p):
    """A test chooses between a write and the array before it, twice."""

    def step(out, k):
        out = np.where(DATA[k] > 0, put(out, k, p[0] * out[k - 1] + DATA[k]), out)
        return np.where(DATA[k] > 0, put(out, k, out[k] * p[1]), out)

    return np.sum(loop(step, p[2] * np.ones(N)) ** 2)


FILLED = (
    of_rows_before_and_after, in_the_middle, twice, of_rows, beside_a_number, of_rows_twice, by_columns, on_one_side,
)  # fmt: skip


def downwards(p):
    return np.sum(td.scan(lambda out, k: (put(out, k, p[0] * out[k + 1] + 1), None), np.ones(40), np.arange(38, -1, -1))[0] ** 2)


def one_entry_again(p):
    return np.sum(td.scan(lambda out, k: (put(out, k, p[0] + out[k]), None), np.ones(40), np.zeros(30, np.int64))[0] ** 2)


def with_a_result_between(p):
    """The array of each iteration is a result."""
    return np.sum(td.scan(lambda out, k: (z := put(out, k, p[0] * out[k - 1]), z), np.ones(9), np.arange(1, 9))[1] ** 2)


OTHERS = (downwards, one_entry_again, with_a_result_between)


def carried_arrays(tape):
    """How many loops write entries of a carry."""
    return sum(PUT in i.params[0].only_tape().ops for i in tape.instructions if i.op is LOOP)


@pytest.mark.parametrize("f", FILLED, ids=lambda f: f.__name__)
def test_filled_arrays_become_rows(f):
    """No loop writes to a carry; value, gradient and Hessian are those of the plain function."""
    tape = counted_loops(td.record(f, POINT))
    assert carried_arrays(tape) == 1
    assert carried_arrays(rolled(tape)) == 0
    agree(f, POINT, OTHER)
    hessian_agrees(td.compile(f, POINT), POINT)


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_other_arrays_are_carried(f):
    """A loop that reads or writes other entries stays as it is."""
    assert carried_arrays(filled_arrays(counted_loops(td.record(f, POINT)))) == 1
    agree(f, POINT, OTHER)


@pytest.mark.parametrize("f", FILLED, ids=lambda f: f.__name__)
def test_the_rewritten_tape_computes_the_same(f):
    """Its replay gives the value of the recorded one, to the bit; its types are right."""
    tape = counted_loops(td.record(f, POINT))
    made = filled_arrays(tape)
    made.check()
    assert made(OTHER) == tape(OTHER)
