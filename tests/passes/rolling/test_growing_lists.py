"""Loops over lists to which the loop around them appends: the array of their entries grows from turn to turn."""

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled

from .both_ways import agree

WEIGHTS = 0.3 * np.exp(-np.arange(400) / 9.0)
POINT, OTHER = np.array([0.3, 0.2, -0.4]), np.array([-0.2, 0.5, 0.1])


def renewals(n):
    def f(p):
        x = [np.exp(p[0])]
        for t in range(1, n):
            x.append(np.exp(0.1 * p[1]) * sum(x[s] * WEIGHTS[t - s] for s in range(t)) + p[2])
        return sum(v**2 for v in x)

    return f


def curved(n):
    def f(p):
        x = [p[0]]
        for t in range(1, n):
            x.append(p[1] * np.tanh(0.1 * sum(np.sin(x[s] * p[2]) * WEIGHTS[t - s] for s in range(t))) + 0.1)
        return sum(np.sin(v) for v in x)

    return f


def three_at_a_time(n):
    def f(p):
        x = [p[0], p[1], p[2]]
        for t in range(n // 3):
            total = sum(v * WEIGHTS[k] for k, v in enumerate(x))
            x += [np.sin(total), 0.5 * total, total * p[1] + 0.01 * t]
        return sum(v**2 for v in x)

    return f


def recurrences(n):
    """Within the inner loop, too, each value follows from the one before."""

    def f(p):
        x = [p[0]]
        for t in range(1, n):
            total = 1.0
            for s in range(t):
                total = 0.97 * total + 0.1 * x[s] * p[2]
            x.append(0.1 * total + p[1] / (1 + t))
        return x[-1] + x[n // 2]

    return f


def tables(n):
    """The inside of an interval by those of its parts: rows grow at their ends, columns at their beginnings."""

    def f(p):
        inside = {(i, i): p[0] * WEIGHTS[i] for i in range(n)}
        for length in range(1, n):
            for i in range(n - length):
                j = i + length
                inside[i, j] = p[1] + 0.1 * np.log(sum(np.exp(inside[i, k] + inside[k + 1, j] * p[2]) for k in range(i, j)))
        return inside[0, n - 1]

    return f


def windows(n):
    """These do not grow."""

    def f(p):
        x = [p[0]]
        for t in range(1, n):
            x.append(p[1] * sum(x[s] * WEIGHTS[t - s] for s in range(max(0, t - 40), t)) + p[2])
        return sum(v**2 for v in x)

    return f


def changed_on_the_way(n):
    """What was appended is replaced now and then."""

    def f(p):
        x = [p[0]]
        for t in range(1, n):
            x.append(p[1] * sum(x[s] * WEIGHTS[t - s] for s in range(t)) + p[2])
            if t % 7 == 0:
                x[t // 2] = x[t // 2] * p[0]
        return sum(v**2 for v in x)

    return f


GROWING = [renewals, curved, three_at_a_time]
OTHERS = [recurrences, tables, windows, changed_on_the_way]


@pytest.mark.parametrize("program", [*GROWING, *OTHERS], ids=lambda f: f.__name__)
@pytest.mark.slow
def test_answers_are_those_of_the_tape_as_it_was_recorded(program):
    agree(program(16 if program is tables else 50), POINT, OTHER, hessian=program is renewals)


@pytest.mark.parametrize("program", GROWING, ids=lambda f: f.__name__)
def test_tapes_grow_with_the_turns_and_not_with_their_square(program):
    short, long = (len(rolled(td.record(program(n), POINT, merge=False)).instructions) for n in (90, 150))
    assert long - short < 60 * 16


@pytest.mark.slow
def test_a_list_that_grows_differs_where_a_second_one_reads_it_backwards():
    """The same values in both orders, in one turn."""

    def f(p):
        x = [p[0]]
        for t in range(1, 50):
            forwards = sum(x[s] * WEIGHTS[s] for s in range(t))
            backwards = sum(x[t - 1 - s] * WEIGHTS[s] for s in range(t))
            x.append(p[1] * forwards - p[2] * backwards)
        return sum(v**2 for v in x)

    agree(f, POINT, OTHER, hessian=False)
