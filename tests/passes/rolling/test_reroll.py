"""Python loops become loops again: the same answers from far fewer instructions, and straight-line code stays as it is."""

import numpy as np
import pytest
from support.agreement import by_numpy

import tapediff as td
from tapediff.functions.callees import body as bodies, rolled_loop as rolled
from tapediff.passes.pipeline import run_passes
from tests.passes.rolling.both_ways import TOLERANCE, N, X, Y, agree, answers_of, made, names, with_rolling
from tests.passes.rolling.rolled_programs import CASES, a_recurrence_between_arrays


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_rolled_and_gives_the_same_answers(name):
    """Values, gradients and Hessians, by NumPy and natively, with at most so many instructions."""
    f, instructions, ops = CASES[name]
    tape = made(f, X)
    assert len(tape) <= instructions, str(tape)
    assert set(ops) <= set(names(tape)) | {n for i in tape.instructions if i.op.name == "loop" for n in names(i.params[0].plain_tape(0, None))}
    agree(f, X, 1.0 + 0.5 * Y, hessian="loop" not in names(tape) or name in ("a recurrence", "coupled", "calls in a loop"))


# Python loops in callees


def in_a_scan(x):
    def body(c, row):
        for k in range(N):
            c = np.tanh(c * x[0]) + row[k]
        return c, c * x[1]

    c, ys = td.scan(body, x[2], 0.1 * np.outer(Y[:20], Y))
    return np.sum(ys**2) + c


def in_a_branch(x):
    def long(a):
        for k in range(N):
            a = np.sin(a) * x[1] + 0.1 * Y[k]
        return a

    return td.cond(x[0] > 1.0, long, lambda a: a * a, x[2]) * x[0]


def in_a_scan_that_branches(x):
    def body(c, row):
        for k in range(N):
            c = np.tanh(c * x[0]) + row[k]
        return td.cond(c > 0, lambda c: c * x[1], lambda c: c - x[1], c), c

    c, ys = td.scan(body, x[2], 0.1 * np.outer(Y[:20], Y))
    return np.sum(ys**2) + c


def in_a_sub_tape(x):
    @td.subtape
    def f(a):
        for k in range(N):
            a = np.sin(a) * x[1] + 0.1 * Y[k]
        return a if a > 0 else a * a

    return f(x[0]) + f(x[2]) * x[1]


@pytest.mark.parametrize("f", [in_a_scan, in_a_branch, in_a_scan_that_branches, in_a_sub_tape])
def test_a_loop_in_a_callee_is_rolled(f):
    """Its tapes are as short as the body of the loop, and give what flat ones give."""
    points = (1.0 + 0.3 * X[:3], 0.2 + 0.5 * X[:3])
    answers = {}
    for is_on in (False, True):
        bodies._recent.clear()  # callees keep their tapes as they were made first
        tape = td.record(f, points[0])
        compiled = td.CompiledTape(tape)
        answers[is_on] = with_rolling(is_on, lambda t=tape, c=compiled: [answers_of(t, c, x, True) for x in points])
    for instruction in made(f, points[0]).instructions:
        if instruction.op.name in ("call", "loop"):
            body = instruction.params[0].variant_tape(0)
            assert "loop" in names(body)
            assert len(body) < 40
    for rolled_ones, flat in zip(answers[True], answers[False]):
        for mine, expected in zip(rolled_ones, flat, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE * np.abs(expected).max())
    for x in points:
        td.testing.check_gradient(compiled, f, x)


# What stays as it is


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sum(np.sin(x[i]) * 2.0 for i in range(6)),
        lambda x: np.sum(np.exp(x) * np.cos(x[::-1])),
        lambda x: x[0] * np.sin(x[1]) + np.exp(x[2]) / (1.0 + x[3] ** 2) - np.tanh(x[4] * x[5]),
        lambda x: sum(g(x[i]) for i in range(4) for g in (np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.log, np.arctan, np.abs)),
    ],
)
def test_what_does_not_repeat_often_stays_as_it_is(f):
    """The very same instructions."""
    tape = td.record(f, X)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    assert with_rolling(True, lambda: rolled.rolled(tape)).instructions == straight.instructions


def test_straight_line_code_of_random_operations_stays_as_it_is():
    """Hundreds of operations in no order have no period."""
    rng = np.random.default_rng(5)
    functions = (np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.arctan, np.square, np.negative)

    draws = [(*rng.integers(N + k, size=2), functions[rng.integers(8)], rng.random() < 0.5) for k in range(500)]

    def f(x):
        values = [x[k] for k in range(N)]
        for one, other, function, is_sum in draws:
            values.append(function(np.abs(values[one])) * 0.5 + values[other] if is_sum else values[one] * 0.3)
        return values[-1] + values[-7]

    tape = td.record(f, X)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    assert with_rolling(True, lambda: rolled.rolled(tape)).instructions == straight.instructions


# Sites and costs


def test_an_instruction_keeps_the_line_of_its_first_occurrence():
    tape = made(a_recurrence_between_arrays, X)
    first = a_recurrence_between_arrays.__code__.co_firstlineno
    lines = {i.site.line for i in tape.instructions if i.site is not None}
    assert lines <= set(range(first, first + 8))
    assert all(i.site is not None for i in tape.instructions if i.op.name in ("loop", "sum", "exp"))


def test_sums_have_the_lines_on_which_they_are_added_up():
    """Two that add the same terms, on one line each."""

    def f(x):
        first, second = x[1], x[2]
        for k in range(N):
            term = np.exp(Y[k] * x[0])
            first = first + term
            second = second - term
        return first * second

    lines = {i.op.name: i.site.line - f.__code__.co_firstlineno for i in made(f, X).instructions if i.site is not None}
    assert (lines["exp"], lines["add"], lines["subtract"]) == (3, 4, 5)


def test_the_body_is_in_the_source():
    compiled = with_rolling(True, lambda: td.compile(a_recurrence_between_arrays, X))
    assert "loop" in compiled.source
    assert len(compiled.source.splitlines()) < 120


@pytest.mark.parametrize("f", ["a_sum", "a_chain", "fills"])
def test_tapes_and_kernels_of_loops_do_not_grow_with_their_length(f):
    def a_sum(x):
        return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 for i in range(x.shape[0] - 1))

    def a_chain(x):
        h, total = x[0], 0.0
        for i in range(x.shape[0]):
            h = np.tanh(h) + x[i]
            total = total + h * h
        return total

    def fills(x):
        y = td.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i - 1] + x[i] if i else x[0]
        return np.sum(y * y)

    function = locals()[f]
    sizes = []
    for n in (600, 2000):  # arrays of less than 512 are stored where longer ones are computed again
        x = np.linspace(0.1, 0.5, n)
        compiled = with_rolling(True, lambda x=x: td.compile(function, x))
        value = with_rolling(True, lambda x=x: rolled.rolled(td.record(function, x)))
        sizes.append((len(value), len(compiled.kernel((0,)).tape), len(compiled.source.splitlines())))
    assert sizes[0] == sizes[1]


def test_the_order_of_addition_is_that_of_a_sum():
    """A running sum is as exact as np.sum over the same terms."""
    x = np.array([1e16, 1.0, -1e16] * 40)
    tape = with_rolling(True, lambda: rolled.rolled(td.record(lambda x: sum(x[i] * 1.0 for i in range(120)), x)))
    expected = rolled.rolled(td.record(lambda x: np.sum(x * 1.0), x))(x)
    assert by_numpy(lambda: tape(x)) == expected


def a_row_that_is_the_same_in_every_turn(p):
    u, v = np.full(18, 0.1), np.zeros(18)
    for _ in range(15):
        new, row = u.copy(), np.zeros(18)
        row[0] = v[0]
        for j in range(1, 18):
            new[j] = np.tanh(v[j] + 0.5 * u[j - 1]) * u[j]
            row[j] = np.logaddexp(row[j - 1], p[0]) * 0.5
        u, v = new, row
    return np.sum(u**2) + v[17] + v[0]


def test_the_results_of_a_loop_stay_beside_it_where_it_is_the_same_in_every_turn():
    """Its last row is handed on, and so is no constant, although the loop is one."""
    f, x = a_row_that_is_the_same_in_every_turn, np.array([0.4])
    value, gradient = td.value_and_gradient(td.compile(td.record(f, x, merge=False)), x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-8)


def test_an_entry_that_is_read_in_two_ways_is_one_value():
    """As x[k], of which there are so many that they are looked at together, and as x[..., k]."""

    def f(x):
        total = 0.0
        for k in range(len(x)):
            total = np.sin(total) * x[k] + x[..., k]
        return total

    tape = with_rolling(True, lambda: rolled.rolled(td.record(f, np.linspace(0.1, 1.0, 120))))
    assert names(tape).count("index") == 2  # the entry of the first turn, and those of all others
    assert [i.params[1].streams for i in tape.instructions if i.op.name == "loop"] == [1]
