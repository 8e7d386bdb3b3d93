"""Loops of independent iterations around recurrences, as recurrences over all iterations at once."""

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ops.control.calls import LOOP
from tapediff.transforms.lanes import exchange_loops

COUNT, STEPS = 9, 40
SHOCKS = np.random.default_rng(5).normal(size=(COUNT, STEPS))
POINTS = np.random.default_rng(6).uniform(0.6, 1.4, size=(2, 4))


def lanes(tape):
    """The extents of what the loops of a tape carry."""
    return [shape for i in rolled(tape).instructions if i.op is LOOP for shape in (t.shape for t in i.params[0].in_types[: i.params[1].carries])]


def plain_recurrences(p):
    total = 0.0
    for k in range(COUNT):
        price, alive = p[0], 1.0
        for t in range(STEPS):
            price = price * (1.0 + 0.05 * p[1] * SHOCKS[k, t])
            alive = np.where(price < 0.6, 0.0, alive)
        total = total + alive * np.sqrt(price + p[2])
    return total


def scans_with_results_of_each_step(p):
    """What is carried at first is the same for all; a stream is another array for each, and one is the same."""
    weights = np.linspace(0.5, 1.5, STEPS) * p[3]
    total = 0.0
    for k in range(COUNT):
        last, path = td.scan(lambda c, x: (0.9 * c + np.sin(x[0] * p[1]) * x[1], c * p[2]), p[0], (SHOCKS[k], weights))
        total = total + last * path[3] + np.sum(path**2)
    return total


def counters_flags_and_small_arrays(p):
    total = 0.0
    for k in range(COUNT):
        def step(carry, x):
            count, seen, pair = carry
            seen = np.logical_or(seen, x > p[2])
            return (count + np.where(seen, 1, 0), seen, 0.5 * pair[::-1] + np.where(seen, p[:2], x)), None

        (count, seen, pair), _ = td.scan(step, (0, False, p[:2] * SHOCKS[k, 0]), SHOCKS[k])
        total = total + count * pair[0] * pair[1] + np.where(seen, p[3], 0.0)
    return total


def sums_over_loops_in_a_loop(p):
    """The loops do not depend on what is carried around them, backwards: a sum, and a recurrence of their results."""

    def path(carry, x):
        def step(state, shock):
            price, alive = state
            price = price * (1.0 + 0.05 * p[1] * shock)
            return (price, np.where(price < 0.6, 0.0, alive)), price * p[2]

        (last, alive), prices = td.scan(step, (p[0], 1.0), x[0])
        memory = 0.5 * carry[1] + last * x[1]
        return (carry[0] + alive * np.sqrt(last), memory), (prices[3] * memory, last, x[1], carry[0])

    (total, memory), found = td.scan(path, (0.0, p[3]), (SHOCKS, np.linspace(0.5, 1.5, COUNT)), reverse=True)
    return total * memory + np.sum(found[0] * found[1] * found[2] + found[3])


def what_is_masked_overflows(p):
    total = 0.0
    for k in range(COUNT):
        x = p[0]
        for t in range(STEPS):
            x = np.where(SHOCKS[k, t] * p[3] > 0.2, x * p[1] ** 0.1, np.where(x < 40.0, x, np.exp(1e4 * p[2]) * np.sqrt(x - 50.0)))
        total = total + x
    return total


EXCHANGED = [plain_recurrences, scans_with_results_of_each_step, counters_flags_and_small_arrays, sums_over_loops_in_a_loop, what_is_masked_overflows]


@pytest.mark.parametrize("f", EXCHANGED, ids=lambda f: f.__name__)
def test_the_answers_are_those_of_the_loops_as_they_are_written(f, monkeypatch):
    with np.errstate(all="ignore"):
        tape = td.record(f, POINTS[0])
        assert any(shape[:1] in ((COUNT,), (COUNT - 1,)) for shape in lanes(tape)), lanes(tape)
        compiled = td.compile(tape)
        monkeypatch.setattr(exchange_loops, "MOST_ENTRIES", 0)
        unchanged = td.record(f, POINTS[0])
        assert not any(shape[:1] in ((COUNT,), (COUNT - 1,)) for shape in lanes(unchanged))
        reference = td.compile(unchanged)
        for x in POINTS:
            value, gradient = td.value_and_gradient(compiled, x)
            # The same operations; only the sums of cotangents over the iterations are in another order.
            np.testing.assert_allclose(value, f(x), rtol=1e-13)
            np.testing.assert_allclose(value, tape(x), rtol=1e-13)
            np.testing.assert_allclose(gradient, td.gradient(tape, x), rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(gradient, td.gradient(reference, x), rtol=1e-11, atol=1e-13)


def test_second_derivatives_go_through_loops_that_were_exchanged():
    compiled = td.compile(plain_recurrences, POINTS[0])
    x, h = POINTS[1], 1e-6
    differences = [(td.gradient(compiled, x + h * e) - td.gradient(compiled, x - h * e)) / (2 * h) for e in np.eye(4)]
    # Differences of gradients, which are exact to about 1e-10 / h.
    np.testing.assert_allclose(td.hessian(compiled, x), differences, rtol=1e-6, atol=1e-6)


def reads_the_iteration_before(p):
    total, x = 0.0, p[0]
    for k in range(COUNT):
        x = x * 0.9
        for t in range(STEPS):
            x = np.sin(x + SHOCKS[k, t] * p[1])
        total = total + x
    return total


def ends_where_data_says(p):
    total = 0.0
    for k in range(COUNT):
        total = total + td.while_loop(lambda x: x < 3.0, lambda x: x * (1.5 + 0.1 * p[1]), p[0] + 0.1 * SHOCKS[k, 0] ** 2)
    return total


def branches_in_a_step(p):
    total = 0.0
    for k in range(COUNT):
        last, _ = td.scan(lambda c, x: (c * 1.1 if x > 0.0 else c * p[1], None), p[0], SHOCKS[k])
        total = total + last
    return total


def sums_of_long_arrays(p):
    total = 0.0
    for k in range(COUNT):
        last, _ = td.scan(lambda c, x: (np.tanh(c * p[1]) + x, None), p[0] * np.ones(16), SHOCKS[k])
        total = total + np.sum(last)
    return total


@pytest.mark.parametrize("f", [reads_the_iteration_before, ends_where_data_says, branches_in_a_step, sums_of_long_arrays])
def test_other_loops_stay_as_they_are(f):
    guarded = td.GuardedTape(f)
    for x in POINTS:
        value, gradient = td.value_and_gradient(guarded, x)
        own = td.record(f, x)
        assert not any(shape[:1] in ((COUNT,), (COUNT - 1,)) for shape in lanes(own))
        np.testing.assert_allclose(value, f(x), rtol=1e-13)
        np.testing.assert_allclose(gradient, td.gradient(own, x), rtol=1e-11)
