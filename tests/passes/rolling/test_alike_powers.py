"""Powers by many whole numbers are one operation, by few they stay products."""

import numpy as np
import pytest
from support.passes import without

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ir.instruction import columns_of
from tapediff.ops.elementwise.arithmetic import INTEGER_POWER, POWER
from tapediff.passes.rolling.alike.alike_powers import FEWEST_EXPONENTS, alike_powers

from .both_ways import agree


def polynomial(p):
    return sum(p[0] * p[1] ** k / (k + 1) for k in range(20))


def negative_powers(p):
    return sum(p[0] * p[1] ** -k for k in range(20))


def powers_of_arrays(p):
    x, total = p * np.arange(1.0, 3.0), 0.0
    for k in range(30):
        total = total + np.sum(x**k) / (k + 1.0)
    return total


def binomial_tree(p):
    u, d, q = np.exp(0.1 * p[0]), np.exp(-0.1 * p[0]), 0.5 + 0.01 * p[1]
    v = [np.maximum(1.0 - u**j * d ** (40 - j), 0) for j in range(41)]
    for i in range(39, -1, -1):
        v = [0.99 * (q * v[j + 1] + (1 - q) * v[j]) for j in range(i + 1)]
    return v[0]


def long_recording(p):
    total = 0.0
    for n in range(60):
        for k in range(n):
            total = total + p[0] * p[1] ** k * (1 - p[1]) ** (n - k)
    return total


PROGRAMS = [polynomial, negative_powers, powers_of_arrays, binomial_tree, long_recording]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.slow
def test_answers_are_those_of_the_products(f):
    points = [np.array([0.7, 0.8]), np.array([0.3, -0.6])]
    if f is not negative_powers:
        points.append(np.array([0.3, 0.0]))
    agree(f, *points, hessian=f in (polynomial, negative_powers, powers_of_arrays))
    tape = td.record(f, points[0])
    made = alike_powers(tape)
    made.check()
    assert INTEGER_POWER in tape.ops
    assert INTEGER_POWER not in made.ops
    assert POWER in made.ops
    for x in points:
        np.testing.assert_allclose(made(x), f(x), rtol=1e-12)


def test_both_kinds_of_tapes_are_changed():
    kinds = [columns_of(td.record(f, np.array([0.7, 0.8])).instructions) is None for f in PROGRAMS]
    assert len({*kinds}) == 2


def test_a_few_powers_stay_as_they_are():
    def f(p):
        return sum(p[0] ** k for k in range(2, FEWEST_EXPONENTS + 1))

    tape = td.record(f, np.array([0.7]))
    assert alike_powers(tape) is tape


def test_the_leaves_of_a_tree_are_one_operation():
    tape = rolled(td.record(binomial_tree, np.array([0.7, 0.8])))
    assert sum(i.op is POWER for i in tape.instructions) < 20


def test_the_pass_can_be_left_out():
    assert INTEGER_POWER in without(["alike_powers"], lambda: rolled(td.record(polynomial, np.array([0.7, 0.8])))).ops
