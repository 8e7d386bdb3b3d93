"""Iterations that need nothing of each other are done for all at once; what they add up is a sum of an array."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees
from support.passes import without

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops import Elementwise
from tapediff.ops.control.calls import LOOP
from tapediff.passes.loops.distribution import independent_iterations as independent

RNG = np.random.default_rng(5)
TERMS, TERM_ROWS = RNG.normal(size=40), RNG.normal(size=(40, 3))


def broadcast_numbers(x):
    return np.sum(td.scan(lambda s, d: (s + np.broadcast_to(d * x[0], (3,)), None), x[:3], TERMS)[0] ** 2)


def without_carries(x):
    return np.sum(td.scan(lambda _, d: (None, np.exp(x[0] * d) * x[1]), None, TERMS)[1] * TERMS)


def beside_a_recurrence(x):
    def step(carry, d):
        h, s = carry
        return (np.tanh(h * x[0] + d), s + np.exp(0.1 * d * x[1])), h

    (h, s), found = td.scan(step, (x[2], 0.0), TERMS)
    return h * s + np.sum(found)


def a_sum_of_a_recurrence(x):
    step = lambda c, d: ((np.tanh(c[0] * x[0] + d), c[1] + np.exp(0.1 * c[0])), None)
    return td.scan(step, (x[1], x[2]), TERMS)[0][1]


def logarithms_of_a_recurrence(x):
    """What the next iteration needs is computed from what is taken out, too; rows of results; a carry as it was."""

    def step(carry, d):
        h, total = carry
        new = 0.1 + 0.3 * h * x[0] ** 2 + 0.1 * d * d
        size = np.exp(-new)
        return (new + 0.01 * size, total - 0.5 * np.log(new) - d * d / new), (np.exp(-h), size * x[1], d)

    (h, total), (first, second, third) = td.scan(step, (x[2] ** 2, x[1]), TERMS)
    return total * h + np.sum(first * second) + third @ first


def logarithms_from_the_end(x):
    step = lambda c, d: ((0.5 * c[0] + x[0] * d, c[1] + np.log1p(c[0] ** 2)), np.exp(c[0]))
    (h, total), found = td.scan(step, (x[1], 0.0), TERMS, reverse=True)
    return h + total + found @ TERMS


def small_vectors(x):
    step = lambda c, row: ((0.5 * c[0] + x[:3] * row, c[1] + np.sum(np.exp(-(c[0] ** 2)))), None)
    (h, total), _ = td.scan(step, (x[3:], 0.0), TERM_ROWS)
    return np.sum(h) * total


def a_choice_of_two_sums(x):
    """Each may become the other."""
    step = lambda c, d: ((np.where(d > 0, c[0] + d * x[0], c[1]), np.where(d > 0.5, c[0], c[1] + x[1])), None)
    first, second = td.scan(step, (x[2], x[3]), TERMS)[0]
    return first * second


def a_choice_by_the_sum(x):
    return td.scan(lambda s, d: (np.where(s > 0.0, s - d * d * x[0], s + x[1] ** 2), None), x[2], TERMS)[0]


def a_choice_of_a_sum_and_another_value(x):
    """One begins again at some terms, one takes over another sum."""
    step = lambda c, d: ((np.where(d > 0, c[0] + d * x[0], x[1]), np.where(d > 0.5, c[1] - d, c[2]), c[2] + d * d), None)
    return np.prod(np.stack(td.scan(step, (x[2], x[3], x[4]), TERMS)[0]))


def taken_from_a_term(x):
    return td.scan(lambda s, d: (np.exp(0.1 * d * x[0]) - s, None), x[1], TERMS)[0]


APART = (broadcast_numbers, without_carries)
RECURRENCES = (
    beside_a_recurrence, a_sum_of_a_recurrence, logarithms_of_a_recurrence, logarithms_from_the_end, small_vectors,
)  # fmt: skip
LEFT = (
    taken_from_a_term, a_choice_of_two_sums, a_choice_by_the_sum, a_choice_of_a_sum_and_another_value,
)  # fmt: skip
POINTS = (np.array([0.3, -0.5, 0.8, 0.2, -0.1, 0.4]), np.array([-1.2, 0.1, 0.6, 2.0, 0.9, -0.3]))


def loops(tape):
    return [i for i in rolled(tape).instructions if i.op is LOOP]


@pytest.mark.parametrize("function", [*APART, *RECURRENCES, *LEFT])
def test_values_and_derivatives_are_those_of_the_replay(function):
    """At the point of the recording and at another; so are second derivatives."""
    hessian_agrees(agree(function, *POINTS), POINTS[0])


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("function", APART)
def test_nothing_is_left_of_a_loop_of_independent_iterations(function):
    """It is operations on arrays."""
    assert loops(td.record(function, POINTS[0])) == []


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("function", RECURRENCES)
def test_of_a_recurrence_only_that_is_left(function):
    """No iteration of the loop computes a sum, nor a costly function that only sums and results need."""
    (loop,) = loops(td.record(function, POINTS[0]))
    callee, form = loop.params
    assert form.carries == 1
    body = callee.variant_tape(0)
    costly = [i.op.name for i in body.instructions if isinstance(i.op, Elementwise) and i.op.is_costly]
    assert costly == {beside_a_recurrence: ["tanh"], a_sum_of_a_recurrence: ["tanh"], logarithms_of_a_recurrence: ["exp"]}.get(function, [])


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("function", LEFT)
def test_loops_that_read_what_they_add_up_are_left_alone(function):
    """Their tapes are those without the pass."""
    with_pass = rolled(td.record(function, POINTS[0]))
    assert str(with_pass) == without(["independent_iterations"], lambda: str(rolled(td.record(function, POINTS[0]))))


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize(("size", "count"), [(independent.LARGEST_VALUE, 0), (independent.LARGEST_VALUE + 1, 1)])
def test_iterations_over_large_rows_stay_a_loop(size, count):
    """Also where they begin with what is the same in all of them."""
    rows = RNG.normal(size=(10, size))

    def function(x):
        return td.scan(lambda s, row: (s + np.sum(np.exp(0.1 * (x[0] * row))), None), x[1], rows)[0]

    assert len(loops(td.record(function, POINTS[0]))) == count


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
def test_a_scan_rounds_as_the_same_loop_in_python():
    """The sums of both have the accumulators of a sum of an array."""
    data = RNG.normal(size=1000)

    def scanned(x):
        return td.scan(lambda s, d: (s + np.exp(d * x), None), 0.0, data)[0]

    def looped(x):
        s = 0.0
        for d in data:
            s = s + np.exp(d * x)
        return s

    results = [td.value_and_gradient(td.compile(f, np.float64(0.7)), np.float64(0.7)) for f in (scanned, looped)]
    assert results[0] == results[1]


def test_short_loops_and_large_iterations_are_left_alone():
    """Few iterations fill no lanes, and an array of 1000 numbers fills them by itself."""
    few = td.record(lambda x: td.scan(lambda s, d: (s + np.exp(d * x), None), 0.0, TERMS[:4])[0], np.float64(0.3))
    wide = td.record(lambda x: td.scan(lambda s, d: (s + np.exp(d * x), None), x[0] + 0 * x, TERMS)[0].sum(), np.ones(1000))
    assert [len(loops(tape)) for tape in (few, wide)] == [1, 1]


@pytest.mark.skipif("independent_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.slow
def test_nests_are_arrays_of_both_iterations():
    """Sums over all pairs need no loop, also of many in plain Python; of a recurrence of rows the loop within is a sum."""
    xs, many = np.linspace(-1.0, 1.0, 20), np.linspace(-1.0, 1.0, independent.LARGEST_VALUE + 1)

    def row(total, x):
        return td.scan(lambda total, y: (total + np.exp(-((x - y) ** 2)) * x, None), total, xs)[0]

    def pairs(p):
        return td.scan(lambda total, x: (row(total, p[0] * x), None), p[1], xs)[0]

    def many_pairs(p):
        total = p[1]
        for i in range(len(many)):
            for j in range(len(many)):
                total = total + np.exp(-p[0] * (many[i] - many[j]) ** 2) / many.size
        return total

    def recurrence(p):
        return td.scan(lambda h, x: (np.sin(p[0] * h + row(0.0, 0.1 * h + x) / 20), None), p[1], xs)[0]

    for f in (pairs, many_pairs):
        assert LOOP not in rolled(td.record(f, POINTS[0])).ops
    (loop,) = [i for i in rolled(td.record(recurrence, POINTS[0])).instructions if i.op is LOOP]
    assert LOOP not in loop.params[0].only_tape().ops
    for f in (pairs, many_pairs, recurrence):
        agree(f, *POINTS)
