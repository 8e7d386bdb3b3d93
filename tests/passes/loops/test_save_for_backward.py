"""What the reverse pass of a loop needs of an iteration is kept where computing it again takes longer."""

import numpy as np
import pytest
from support.agreement import agree, hessian_agrees
from support.passes import without

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees.rolled_loop import prepared
from tapediff.ir.interpreter import run
from tapediff.ops.control.calls import GET, LOOP
from tapediff.passes.loops import save_or_recompute as kept_choice
from tapediff.passes.loops.save_for_backward import save_for_backward
from tapediff.passes.pipeline import PIPELINE, run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import hvp_tape
from tapediff.transforms.reverse import reverse

RNG = np.random.default_rng(3)
DATA, ROWS = 0.5 * RNG.normal(size=40), 0.5 * RNG.normal(size=(24, 20))


def slopes(x):
    """A Runge-Kutta step: long chains of cheap operations."""

    def body(c, t):
        u, v = c
        for _ in range(3):
            u, v = u + 0.05 * u * (x[0] - x[1] * v), v + 0.05 * v * (x[1] * u - x[2])
        return (u, v), (u - t) ** 2 + v * t

    _, misfits = td.scan(body, (np.exp(x[2]), 1.0 + x[0] ** 2), DATA)
    return np.sum(misfits)


def costly(x):
    """exp, a quotient and a root of the carry."""

    def body(c, t):
        w = np.exp(-c) / (1.0 + c * c)
        return np.sqrt(w + t * t) * x[0] + np.log(1.0 + w) * x[1], w

    c, ws = td.scan(body, 0.3 + 0.0 * x[2], DATA, reverse=True)
    return c * x[2] + np.sum(ws)


def matrices(x):
    """Arrays in the carry; products, sums and masks among what is needed."""
    a = np.reshape(x[:9], (3, 3))

    def body(c, t):
        s = np.sum(c * c)
        y = np.tanh(a @ c) / np.sqrt(1.0 + s)
        return np.where(y > 0, y * t, y - 0.1), s

    c, ss = td.scan(body, x[9:12], DATA)
    return np.sum(c**2) + np.sum(ss)


def nested(x):
    """A loop in a loop: the inner one's values are kept for all iterations of the outer one."""

    def outer(c, row):
        d, ys = td.scan(lambda d, t: (np.tanh(d * x[0]) + t, np.exp(-d * d)), c * x[1], row)
        return d, np.sum(ys) * d

    c, ys = td.scan(outer, x[2], ROWS)
    return c + np.sum(ys**2)


def python_loops(x):
    c, total = x[2], 0.0
    for row in ROWS:
        for t in row:
            c = np.sin(c * x[0]) + t * np.exp(-c * c)
        total = total + c * x[1]
    return total


def one_number(x):
    """A single value is worth keeping, and a stream is no longer read."""
    c, _ = td.scan(lambda c, t: (np.exp(-c * c) * x[0] + t * x[1], None), x[2], DATA)
    return c


def until(x):
    """A number of turns that the values decide: more than dynamic arrays first have room for."""
    turn = lambda a: (np.sin(a[0] * x[0]) + 0.3 * np.exp(-a[0] * a[0]), a[1] + 0.01 + x[2] * 1e-4)
    last, end = td.while_loop(lambda a: a[1] < 1.0, turn, (x[2], x[1] * 1e-3))
    return last * x[1] + end


FUNCTIONS = pytest.mark.parametrize(
    ("f", "size"), [(slopes, 3), (costly, 3), (matrices, 12), (nested, 3), (python_loops, 3), (one_number, 3), (until, 3)]
)


def loops(tape):
    return [i for i in tape.instructions if i.op is LOOP]


def operations(tape):
    """The names of all operations in loops, and in loops in them."""
    found = []
    for loop in loops(tape):
        body = loop.params[0].variant_tape(0)
        found.append([i.op.name for i in body.instructions])
        found += operations(body)
    return found


@FUNCTIONS
def test_values_and_derivatives_stay(f, size):
    """Recorded at one point and evaluated at others; gradients are those of differences, Hessians differences of gradients."""
    points = 0.4 * np.random.default_rng(size).normal(size=(3, size))
    tape = agree(f, *points, rtol=1e-5)
    hessian_agrees(tape, points[1])
    hvp_tape(tape, (0,)).check()


@FUNCTIONS
def test_the_tape_without_the_pass_gives_the_same(f, size):
    """By NumPy and natively."""
    x = 0.4 * np.random.default_rng(size + 1).normal(size=size)
    tape = td.record(f, x)
    joint = reverse(prepared(tape), (0,))
    less = [s for s in PIPELINE if s.run is not save_for_backward]
    for each in (gradient_tape(tape, (0,)), joint, run_passes(joint, less, check=True)):
        each.check()
        for a, b in zip(run(joint, [x]), run(each, [x])):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@FUNCTIONS
def test_flat_and_rolled_code_give_the_same(f, size):
    x = 0.4 * np.random.default_rng(size + 1).normal(size=size)
    on = td.value_and_gradient(td.compile(f, x), x)
    off = without(["reroll"], lambda: td.value_and_gradient(td.compile(td.record(f, x)), x))
    np.testing.assert_allclose(on[0], off[0], rtol=1e-11)
    np.testing.assert_allclose(on[1], off[1], rtol=1e-9, atol=1e-11)


@pytest.mark.skipif("save_for_backward" in settings.left_out, reason="the pass is left out")
@pytest.mark.parametrize("f", [costly, one_number, nested, python_loops, until])
def test_costly_functions_of_the_carry_are_computed_once(f):
    """exp, tanh and sin are in the loops that go forward, and not in those that come back."""
    tape = gradient_tape(td.record(f, np.full(3, 0.3)), (0,))
    back = [i.params[0].variant_tape(0) for i in loops(tape) if "pullback" in i.params[0].name]
    assert back
    for body in back:
        found = {i.op.name for i in body.instructions}.union(*operations(body))
        assert not found & {"exp", "tanh", "sin"}


@pytest.mark.skipif("save_for_backward" in settings.left_out, reason="the pass is left out")
def test_numbers_are_kept_in_one_array():
    tape = gradient_tape(td.record(slopes, np.full(3, 0.3)), (0,))
    forward = loops(tape)[0]
    items = [i for i in tape.instructions if i.op is GET and tape.instructions[i.inputs[0]] is forward]
    packed = [i for i in items if len(i.type.shape) == 2]
    assert [i.type.shape[1] > 5 for i in packed] == [True]


def test_a_cheap_value_is_computed_again():
    """x + t takes as long as loading it."""
    f = lambda x: td.scan(lambda c, t: ((c + t) * (c + t), None), x, 0.1 * DATA)[0]
    (forward, _) = loops(gradient_tape(td.record(f, 0.3), (0,)))
    assert len(forward.params[0].out_types) == 1


def test_no_more_is_kept_than_fits(monkeypatch):
    """Without room the tape computes everything again, and gives the same."""
    x = np.array([0.3, 0.2, 0.1])
    expected = td.gradient(td.compile(costly, x), x)
    monkeypatch.setattr(kept_choice, "LARGEST_SAVED", 8 * 40)
    fresh = lambda x: costly(x) + 0.0 * len(x)
    tape = td.record(lambda x: td.scan(lambda c, t: (np.exp(-c) * x[0] + t, None), x[1], DATA)[0], x)
    (forward, _) = loops(gradient_tape(tape, (0,)))
    assert len(forward.params[0].out_types) == 1
    np.testing.assert_allclose(td.gradient(td.compile(fresh, x), x), expected, rtol=1e-12)


def test_a_checkpointed_loop_computes_again():
    """Its outer loop returns the carries alone; what happens inside a block is computed once more."""

    def f(x):
        return td.scan(lambda c, t: (np.sin(c * x[0]) + t, None), x[1], np.tile(DATA, 10), checkpoint="sqrt")[0]

    x = np.array([0.5, 0.2])
    tape = agree(f, x, np.array([0.9, -0.3]))
    outer = next(i for i in loops(gradient_tape(tape, (0,))) if loops(i.params[0].variant_tape(0)))
    assert len(outer.params[0].out_types) == 1


def test_a_loop_that_branches_computes_again():
    def body(x):
        def step(c, t):
            return (np.exp(-c) if c > t else np.sin(c) * x[0]), c

        return step

    def f(x):
        c, cs = td.scan(body(x), x[1], DATA)
        return c + np.sum(cs**2)

    hessian_agrees(agree(f, np.array([0.5, 0.2]), np.array([0.9, -0.3]), rtol=1e-5), np.array([0.5, 0.2]))


def test_nan_and_infinity_come_out_as_without_the_pass():
    """The same values meet the same operations."""
    f = lambda x: td.scan(lambda c, t: (np.log(c) * x[0] + t, None), x[1], DATA)[0]
    tape = td.record(f, np.array([1.5, 0.2]))
    compiled = td.compile(tape)
    joint = reverse(prepared(tape), (0,))
    for x in (np.array([1.5, 0.0]), np.array([np.nan, 1.0]), np.array([np.inf, 2.0]), np.array([-1.0, -0.0])):
        value, gradient = run(joint, [x])
        got = td.value_and_gradient(compiled, x)
        np.testing.assert_equal(np.isfinite(got[0]), np.isfinite(value))
        np.testing.assert_equal(np.isnan(got[1]), np.isnan(gradient))


def test_two_readers_of_one_loop_agree():
    """A second derivative reads what the first one kept, and keeps more."""
    f = lambda x: td.scan(lambda c, t: (np.exp(-c * x[0]) + t * x[1], None), x[2], DATA)[0]
    x = np.array([0.5, 0.3, 0.2])
    hessian_agrees(agree(f, x, 2.0 * x), 2.0 * x)
    third = lambda x: np.sum(td.grad(lambda y: np.sum(td.grad(f)(y) ** 2))(x) * x)
    td.testing.check_gradient(td.record(third, x), third, x, rtol=1e-5)


@pytest.mark.parametrize("rate", [np.sqrt, lambda x: np.exp(-x), lambda x: 1.0 / (1.0 + x), np.tanh])
@pytest.mark.parametrize("end", [lambda t, x: np.where(x > t, x, t), np.logaddexp])
def test_a_loop_that_reads_and_is_read_keeps_the_right_values(rate, end):
    """In second derivatives the reverse loop reads what the loop saves, and saves what its own reverse loop reads."""
    noise = np.random.default_rng(0).normal(size=20)

    def f(p):
        x, t = p[0], 0.0
        for e in noise:
            x = x + p[1] * (p[2] - x) * 0.02 + 0.1 * rate(x) * e
            t = end(t, x)
        return t

    x = np.array([0.35, 0.82, 0.33])
    steps = 1e-5 * np.eye(3)
    differences = [(td.gradient(f, x + e) - td.gradient(f, x - e)) / 2e-5 for e in steps]
    # Central differences are right to the square of the step.
    np.testing.assert_allclose(td.hessian(f, x), differences, atol=1e-7)
    v, w = np.array([0.3, -0.5, 0.7]), np.array([1.0, 2.0, -1.0])
    third = td.gradient(lambda y: td.hvp(f, y, v) @ w, x)
    np.testing.assert_allclose(third, [(td.hvp(f, x + e, v) - td.hvp(f, x - e, v)) @ w / 2e-5 for e in steps], atol=1e-6)


def test_short_loops_in_loops_compute_nothing_again():
    """Each level of the reverse pass would else run all levels inside once more: 2 ** 4 times the innermost body."""

    def nested(depth):
        if depth == 0:
            return lambda c: np.sin(c) * 0.9 + 0.1 * c
        inner = nested(depth - 1)
        return lambda c: td.scan(lambda c, _: (inner(c), None), c, None, length=4)[0]

    def operations(tape):
        inner = [i.params[0].only_tape() for i in tape.instructions if i.op.name == "loop"]
        return [i.op.name for i in tape.instructions] + [name for body in inner for name in operations(body)]

    f = nested(4)
    tape = run_passes(gradient_tape(td.record(f, 0.3), (0,)))
    found = operations(tape)
    assert (found.count("sin"), found.count("cos")) == (1, 1), tape
    c, slope = 0.3, 1.0
    for _ in range(4**4):
        c, slope = np.sin(c) * 0.9 + 0.1 * c, slope * (np.cos(c) * 0.9 + 0.1)
    np.testing.assert_allclose(tape(0.3), (c, slope), rtol=1e-12)


def recurrence_that_looks_itself_up(u):
    """A position made of the carry, before and behind floats that are kept, too: numbers of two dtypes."""
    knots, table, c, total = np.linspace(-2.0, 2.0, 9), np.sin(np.arange(9.0) * u[1]), u[0], 0.0
    for shock in np.cos(np.arange(15.0)):
        place = np.searchsorted(knots, c)
        weight = np.exp(-c * c)
        c = table[np.minimum(place, 8)] * weight + 0.5 * c + u[2] * shock
        total = total + c * weight
    return total


def resampled_rows(u):
    """Positions of all rows, each of which is searched for."""
    wanted, h, total = np.linspace(0.05, 0.95, 30), np.sin(np.arange(30.0)) * u[0], 0.0
    for shock in np.random.default_rng(3).normal(size=(12, 30)):
        weight = np.exp(-((h * u[0]) ** 2))
        h = h[np.minimum(np.searchsorted(np.cumsum(weight) / np.sum(weight), wanted), 29)] + u[1] * shock + u[2]
        total = total + np.sum(weight)
    return total


@pytest.mark.parametrize("f", [recurrence_that_looks_itself_up, resampled_rows])
def test_positions_are_kept_apart_from_floats(f):
    """Whole numbers are saved as floats are, in arrays of their own: the reverse loop does not search again."""
    u = np.array([0.7, 0.3, 0.4])
    compiled = td.compile(f, u)
    bodies = [i.params[0].only_tape() for i in compiled.kernel((0,)).tape.instructions if i.op is LOOP]
    searches = [sum(i.op.name == "searchsorted" for i in body.instructions) for body in bodies]
    assert (len(searches), sum(searches)) == (2, 1)
    for at in (u, 1.1 * u, -u):
        value, gradient = td.value_and_gradient(compiled, at)
        np.testing.assert_allclose(value, f(at), rtol=1e-12)  # sums in another order
        np.testing.assert_allclose(gradient, td.gradient(compiled.tape, at), rtol=1e-11, atol=1e-12)
    differences = [(f(u + 1e-6 * e) - f(u - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(td.gradient(compiled, u), differences, rtol=1e-6)  # central differences of an exact function


def loads_in_a_loop(x):
    """Stacks and queues whose lengths data decide, in a loop within a long one."""
    loads, cost = [], 0.0
    for k in range(400):
        d = 1.0 + np.sin(2.0 * k)
        if d > x[0]:
            if len(loads) < 12:
                loads.append((d, 1.0 + d * x[1]))
        else:
            left = d
            while left > 0 and loads:
                load, price = loads.pop()
                used = min(load, left)
                cost, left = cost + used * price * price, left - used
                if load > used:
                    loads.append((load - used, price))
    return cost * x[2] / 100


@pytest.mark.slow
def test_the_number_of_iterations_behind_what_an_inner_loop_saves():
    """Second derivatives add results to the inner loop, before its number of iterations."""
    x, v = np.array([0.7, 0.9, 1.1]), np.array([0.3, -0.2, 0.5])
    for target in (td.GuardedTape(loads_in_a_loop), td.record(loads_in_a_loop, x, merge=True)):
        product = td.hvp(target, x, v)
        differences = (td.gradient(target, x + 1e-5 * v) - td.gradient(target, x - 1e-5 * v)) / 2e-5
        np.testing.assert_allclose(product, differences, rtol=1e-5, atol=1e-6)  # central differences
        hessian_agrees(target, x)
