"""Selections that keep discarded cotangents zeros, as jumps: the same bits at zeros, infinities and NaN."""

import itertools

import numpy as np
import pytest

import tapediff as td
from tapediff.ir.instruction import CONSTANT
from tapediff.ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT, ZERO_WHERE_DISCARDED
from tapediff.passes.simplify.discarded_zeros import _needed_from, discarded_zeros

NUMBERS = (0.0, -0.0, 1.5, -2.0, 1e-320, np.inf, -np.inf, np.nan)


def kept(z_bar, product):
    return SELECT(LOGICAL_AND(EQUAL(z_bar, 0.0), IS_NAN(product)), 0.0, product)


def by_one(z_bar, f, _):
    return kept(z_bar, z_bar * f)


def by_one_from_the_left(z_bar, f, _):
    return kept(z_bar, f * z_bar)


def by_two(z_bar, f, g):
    return kept(z_bar, -(-(z_bar * f) * g))


def in_a_row(z_bar, f, g):
    once = kept(z_bar, z_bar * f)
    return kept(once, g * -once)


def by_three(z_bar, f, g):
    return kept(z_bar, z_bar * f * g * g)


def of_a_later_factor(z_bar, f, g):
    """The second factor is made of the first product, so that it has a mark of its own."""
    once = kept(z_bar, z_bar * f)
    return kept(once, once * (once + g))


def of_a_quotient(z_bar, f, _):
    return kept(z_bar, z_bar / f)


def of_another_product(z_bar, f, g):
    return kept(z_bar, f * g)


def jumps(tape):
    return sum(instruction.op is ZERO_WHERE_DISCARDED for instruction in tape.instructions)


@pytest.mark.parametrize(
    ("function", "count"),
    [(by_one, 1), (by_one_from_the_left, 1), (by_two, 1), (in_a_row, 2), (by_three, 1), (of_a_later_factor, 2), (of_a_quotient, 0),
     (of_another_product, 0)],
)
def test_products_of_a_cotangent_are_kept_zero_by_jumps_to_the_bit(function, count):
    tape = td.record(function, 1.5, 2.5, 3.5)
    made = discarded_zeros(tape)
    made.check()
    assert jumps(made) == count
    compiled = td.compile(tape)
    with np.errstate(all="ignore"):
        for point in itertools.product(NUMBERS, repeat=3):
            expected = tape(*point)
            for found in (made(*point), compiled(*point)):
                # NaN has a sign that means nothing.
                assert (found == expected and np.signbit(found) == np.signbit(expected)) or (found != found and expected != expected), point


def test_selections_share_a_mark_of_few_factors():
    """A factor that another one was made of is finite if that one is; no more of them share a mark than fit."""

    def program(z_bar, f):
        factors = [f]
        for _ in range(60):
            factors.append(factors[-1] * 0.5 + 1.0)
        return sum((kept(z_bar, z_bar * g) for g in factors[1:]), 0.0 * f)

    tape = td.record(program, 0.0, 1.0)
    made = discarded_zeros(tape)
    made.check()
    assert jumps(made) == 60
    marks = {i.inputs[2] for i in made.instructions if i.op is ZERO_WHERE_DISCARDED}
    assert len(marks) == 2
    # Each is 0 times the last of its factors.
    assert all(made.instructions[made.instructions[mark].inputs[0]].op is CONSTANT for mark in marks)
    with np.errstate(all="ignore"):
        for point in ((0.0, 2.0), (0.0, np.inf), (1.5, np.nan), (2.0, -3.0)):
            assert np.array_equal(made(*point), tape(*point), equal_nan=True)


def test_a_loop_of_discarded_terms_has_exact_zeros():
    """A carry that is infinite on the side that is not taken, at every turn."""

    def last(x):
        def step(carry):
            y, k = carry
            square = y * y * 1e200
            return np.where(x[0] > 0.0, y * x[0], square * square), k + 1.0

        return td.while_loop(lambda carry: carry[1] < 5.0, step, (x[1], 0.0 * x[0]))[0]

    with np.errstate(all="ignore"):
        compiled = td.compile(last, np.array([0.5, 1.0]))
    for x in ([0.5, 1.0], [0.25, 3.0], [0.5, 0.0]):
        # Powers of two: no rounding.
        assert np.array_equal(td.gradient(compiled, np.array(x)), [5 * x[0] ** 4 * x[1], x[0] ** 5])


def brackets(p):
    total = 0.0
    for rate in (1.0, 2.0):
        for most in (1.0, 2.5, np.inf):
            total += np.where(rate * p[0] > most, most * p[1], rate * p[0])
    return total


def brackets_by_a_scan(p):
    def step(total, most):
        return total + np.where(p[0] > most, most * np.exp(p[1]) * p[1], p[0]), None

    total, _ = td.scan(step, 0.0, np.array([1.0, np.inf, 2.5, np.inf, 3.0] * 4))
    return total


def caps(p):
    total = 0.0
    for rate in (1.0, 2.0):
        for most in (1.0, np.inf, 3.0):
            total += min(rate * p[0], most * p[1])
    return total


def with_nan(p):
    total = 0.0
    for rate in (1.0, 2.0):
        for most in (1.0, np.nan, 3.0):
            total += np.where(most > 2.0, most * p[1] * p[0], rate * p[0])
    return total


@pytest.mark.parametrize("f", [brackets, brackets_by_a_scan, caps, with_nan])
def test_constants_that_are_not_finite_stay_discarded(f):
    """An infinite limit, as of the last bracket of a tax: its product is not taken, and its derivative is exactly zero."""
    for x in np.array([[2.0, 1.0], [0.7, 0.4], [5.0, 2.0]]):
        tape, compiled, guarded = td.record(f, x), td.compile(f, x), td.GuardedTape(f)
        expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        for target in (tape, compiled, guarded, td.compile(tape)):
            np.testing.assert_allclose(td.gradient(target, x), expected, rtol=1e-7)
        np.testing.assert_allclose(td.hessian(compiled, x), td.hessian(tape, x), rtol=1e-12, atol=1e-12)
        assert np.isfinite(td.hessian(compiled, x)).all()


def test_what_values_need_from_a_place_on_is_what_leads_to_them():
    """Of a chain with side branches, for each place to begin at and each value: by a search from the value."""
    tape = td.record(lambda x: np.sin(x[0]) * x[1] + np.exp(x[0] * x[1]) - np.cos(x[1]), np.ones(2))
    instructions = tape.instructions

    def leads(number, first):
        return {number}.union(*(leads(i, first) for i in instructions[number].inputs if i >= first))

    for first in range(len(tape) + 1):
        for value in range(len(tape)):
            assert _needed_from(instructions, first, [value]) == (sorted(leads(value, first)) if value >= first else [])
        assert _needed_from(instructions, first, range(len(tape))) == list(range(first, len(tape)))
