"""Loops get the numbers that they read of an array in place of the array; programs give the same."""

import numpy as np

import tapediff as td
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.split_constants import MOST_NUMBERS, split_constants

POINT = np.array([0.5, 0.25, 2.0])


def by_while(p):
    return td.while_loop(lambda c: c[1] < p[2], lambda c: (c[0] * p[0] + p[1], c[1] + p[0]), (p[2], p[1]))[0]


def nested(p):
    def outer(y, x):
        inner = td.scan(lambda z, w: (z * p[1] + w * p[0], z), y, np.arange(3.0))
        return inner[0] + x, inner[1]

    last, rows = td.scan(outer, p[0] * 1.0, np.arange(4.0))
    return last + np.sum(rows)


def whole(p):
    """One array is read as a whole, the other by its entries."""
    other = p * 2.0
    return td.scan(lambda y, x: (y * p[0] + np.sum(other) * x, y), p[1] * 1.0, np.arange(4.0))[0]


def many(p):
    long = np.concatenate([p] * MOST_NUMBERS)
    return td.scan(lambda y, x: (y * 0.5 + sum(long[k] for k in range(MOST_NUMBERS + 1)) * x, y), p[1] * 1.0, np.arange(4.0))[0]


def arrays_of_constants(tape):
    """By loop, loops in bodies first: how many of its constants are arrays."""
    found = []
    for _, inputs, params, *_ in (i for i in tape.instructions if i.op is LOOP):
        callee, form = params
        found += arrays_of_constants(callee.only_tape())
        found.append(sum(len(tape.instructions[i].type.shape) for i in inputs[len(inputs) - form.constants :]))
    return found


def test_arrays_that_are_read_by_their_entries_become_numbers():
    for function, before, after in ((by_while, [1], [0]), (nested, [1, 1], [0, 0]), (whole, [2], [1]), (many, [1], [1])):
        tape = td.record(function, POINT)
        made = split_constants(tape)
        made.check()
        assert arrays_of_constants(tape) == before, function
        assert arrays_of_constants(made) == after, function
        for p in (POINT, np.array([0.75, -1.0, 3.0])):
            assert made(p) == tape(p)
    assert split_constants(tape) is tape


def test_their_gradients_are_those_of_differences():
    for function in (by_while, nested, whole):
        found = td.gradient(td.compile(function, POINT), POINT)
        steps = 1e-6 * np.eye(3)
        central = [(function(POINT + step) - function(POINT - step)) / 2e-6 for step in steps]
        # The differences lose half of the digits.
        assert np.allclose(found, central, rtol=1e-7, atol=1e-7), function
