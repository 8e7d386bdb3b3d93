"""Cotangents that nobody gave: they are no zeros that meet infinities, and iterations need not look for them."""

import numpy as np
import pytest
from support.agreement import agree, by_numpy, hessian_agrees

import tapediff as td
from tapediff.base.settings import settings
from tapediff.ops.control.calls import LOOP
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(5)
DATA = 0.5 * RNG.normal(size=40)


def seen_before_the_step(x):
    """The carry that the last iteration makes is read by nothing."""

    def body(c, t):
        v, w = c
        return (np.sin(v) * x[0] + t / w, w * np.exp(-x[1]) + v**2), v * w + t

    _, ys = td.scan(body, (x[2], 1.5 + x[3] ** 2), DATA)
    return np.sum(ys**2)


def handed_on(x):
    """It takes three iterations until something is asked of a carry."""

    def body(c, t):
        a, b, d = c
        return (b * x[0], np.tanh(d * a) + t, a * x[1] + d * 0.5), a * t

    _, ys = td.scan(body, (x[2], x[3], x[0]), DATA, reverse=True)
    return np.sum(ys**2)


def only_the_first(x):
    """Of two carries the result needs one, which is made of the other in the last iteration."""

    def body(c, t):
        _, b = c
        return (np.log(1.0 + b * b) * x[0], np.cos(b) * x[1] + t), None

    (a, _), _ = td.scan(body, (x[2], x[3]), DATA)
    return a


def rows(x):
    def body(c, row):
        return np.tanh(c * x[0]) + row[:2], (c[0] * row[2] - c[1], c)

    _, (ys, cs) = td.scan(body, x[2:4], RNG_ROWS)
    return np.sum(ys) + np.sum(cs**2) * x[1]


RNG_ROWS = 0.5 * RNG.normal(size=(30, 3))


def turns(x):
    """Two carries change places, so that each is lacking every other time."""

    def body(c, t):
        a, b = c
        return (b * x[0] + t, np.sin(a) * x[1]), None

    (a, _), _ = td.scan(body, (x[2], x[3]), DATA)
    return a


FUNCTIONS = [seen_before_the_step, handed_on, only_the_first, rows, turns]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_and_derivatives_stay(f):
    points = 0.4 + 0.3 * np.random.default_rng(1).normal(size=(3, 4))
    tape = agree(f, *points)
    hessian_agrees(tape, points[2])


def selections(tape):
    bodies = [i.params[0].variant_tape(0) for i in tape.instructions if i.op is LOOP]
    return sum(i.op.name == "select" for body in bodies for i in body.instructions)


@pytest.mark.skipif("peel_last_iterations" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("f", FUNCTIONS[:4])
def test_loops_do_not_look_for_zeros(f):
    """A selection in an iteration stands in the way of the next one."""
    assert selections(gradient_tape(td.record(f, np.full(4, 0.4)), (0,))) == 0


# Infinite derivatives at the last iterations, or at all but the last: what nobody asked for adds nothing, as in plain Python.


def unread_end(x):
    """c is 0 when the last iteration takes its root, and nothing reads that."""
    _, ys = td.scan(lambda c, t: (np.sqrt(c) * t, c * x[0]), x[1], np.append(np.ones(18), [0.0, 1.0]))
    return np.sum(ys)


def unread_log(x):
    """log(b) at b = 0 goes into a, which only the last iteration's counts of."""

    def body(c, t):
        _, b = c
        return (np.log(b), t * x[0]), None

    (a, _), _ = td.scan(body, (x[1], x[0]), np.append(np.zeros(18), [2.0, 0.0]))
    return a


def unread_entries(x):
    """Entries that no result depends on, of which one is a root of 0."""
    xs = np.sqrt(np.concatenate([x[:1] - x[:1], np.full(19, 2.0) * x[1]]))
    (a, _), _ = td.scan(lambda c, t: ((t * x[1], c[0]), None), (x[0], x[1]), xs)
    return a


def unread_entries_backwards(x):
    xs = np.sqrt(np.concatenate([np.full(19, 2.0) * x[1], x[:1] - x[:1]]))
    a, _ = td.scan(lambda c, t: (t * x[1], None), x[0], xs, reverse=True)
    return a


def counted(x):
    """As unread_log, with a number of iterations that is known only when it runs."""

    def body(i, c):
        _, b = c
        return np.log(b), np.where(i == 18, 2.0, 0.0) * x[0]

    return td.fori_loop(0, (x[1] * 0.0 + 20.0).astype(int), body, (x[1], x[0]))[0]


def whiled(x):
    def body(c):
        i, _, b = c
        return i + 1, np.log(b), np.where(i == 18, 2.0, 0.0) * x[0]

    return td.while_loop(lambda c: c[0] < 20, body, (0, x[1], x[0]))[1]


def chosen(x):
    """What is selected away has an infinite derivative."""

    def body(c, t):
        return c * 0.0 * x[0], np.where(c > 0, np.sqrt(c), 0.0) * t

    _, ys = td.scan(body, x[1], np.ones(20))
    return np.sum(ys)


INFINITE = [
    (unread_end, [2.0, 1.0]), (unread_log, [1.5, 0.5]), (unread_entries, [1.0, 1.5]),
    (unread_entries_backwards, [1.0, 1.5]), (counted, [1.5, 0.5]), (whiled, [1.5, 0.5]), (chosen, [1.5, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), INFINITE, ids=[f.__name__ for f, _ in INFINITE])
def test_what_nobody_asked_for_adds_nothing(f, x):
    """Finite, and the same by NumPy and natively."""
    x = np.array(x)
    tape = td.record(f, x)
    expected = by_numpy(lambda: td.gradient(tape, x))
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(td.gradient(td.compile(tape), x), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (unread_log, [1.5, 0.5], [1 / 1.5, 0.0]),
        (counted, [1.5, 0.5], [1 / 1.5, 0.0]),
        (whiled, [1.5, 0.5], [1 / 1.5, 0.0]),
    ],
)
def test_only_the_last_iteration_counts(f, x, expected):
    """a = log(2 x[0]) in the end, whatever the logarithms before were."""
    tape = td.record(f, np.array(x))
    for target in (tape, td.compile(tape)):
        np.testing.assert_allclose(td.gradient(target, np.array(x)), expected, rtol=1e-12)


def discarded_carry(x):
    """The root of an entry is looked at in the next iteration, and discarded where it is 0."""
    body = lambda c, t: (np.sqrt(t * x[0]), np.where(c > 0, c, 0.0) * x[1])
    c, ys = td.scan(body, x[1], np.array([1.0, 2.0] * 8 + [0.0, 3.0]))
    return np.sum(ys) + c


def discarded_two_iterations_on(x):
    def body(c, t):
        a, b = c
        return (np.sqrt(t * x[0]), a * 2.0), np.maximum(b, 0.5) * x[1]

    (a, b), ys = td.scan(body, (x[1], x[0]), np.array([1.0, 2.0] * 8 + [0.0, 3.0, 2.0]))
    return np.sum(ys) + a + b


def discarded_part(x):
    """Of an array that is carried one element is read, and the others have infinite derivatives."""
    body = lambda c, t: (np.sqrt(t * x[:2]), c[0] * x[1])
    c, ys = td.scan(body, x[:2], np.stack([np.arange(1.0, 21.0), np.append(np.zeros(19), 1.0)], 1))
    return np.sum(ys) + np.sum(c)


@pytest.mark.parametrize("f", [discarded_carry, discarded_two_iterations_on, discarded_part])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_an_iteration_discards_adds_nothing_to_the_one_before(f, compiled):
    """As in code without loops: a central difference has a value where the infinity is discarded."""
    x = np.array([1.5, 0.5])
    target = td.compile(f, x) if compiled else td.record(f, x)
    td.testing.check_gradient(target, f, x)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_branch_that_drops_the_carry_adds_nothing_to_the_iteration_before(compiled):
    def f(x):
        body = lambda c, t: (np.sqrt(t * x[0]), (c if c > 0 else 0.0 * t) * x[1])
        c, ys = td.scan(body, x[1], np.array([1.0, 2.0] * 8 + [0.0, 3.0]))
        return np.sum(ys) + c

    x = np.array([1.5, 0.5])
    target = td.compile(f, x) if compiled else td.record(f, x)
    td.testing.check_gradient(target, f, x)
