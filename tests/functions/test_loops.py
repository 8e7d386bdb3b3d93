"""Structured control flow: recorded once, differentiated to any order, the same inside and outside recordings."""


import numpy as np
import pytest
from support.agreement import agree, hessian_agrees, recordings_of
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.ir.instruction import CONSTANT

RNG = np.random.default_rng(0)


def recurrence(x):
    def body(carry, entry):
        h, n = carry
        h = np.tanh(h * x[0] + entry * x[1])
        return (h, n + 1), {"square": h * h, "pair": (entry, h)}

    (h, n), ys = td.scan(body, (x[2], 0), np.arange(5.0) * x[3])
    return np.sum(ys["square"] * np.arange(5)) + h * n + ys["pair"][0][2] * ys["pair"][1][-1]


def test_scan_with_tuples_and_dicts():
    tape = agree(recurrence, *RNG.normal(size=(4, 4)))
    hessian_agrees(tape, *RNG.normal(size=(3, 4)))


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: td.scan(lambda c, t: (np.sin(c * x) + t, c), x, np.arange(4.0))[0], 0.7),
    (lambda x: td.while_loop(lambda c: c < 10, lambda c: c * x + np.sin(x), x), 1.7),
], ids=["scan", "while_loop"])  # fmt: skip
def test_loops_are_differentiated_three_times(f, x):
    derivative, step = f, 1e-4
    for order in range(1, 4):
        previous, derivative = derivative, td.grad(derivative)
        expected = (previous(x + step) - previous(x - step)) / (2 * step)
        assert derivative(x) == pytest.approx(expected, rel=1e-5), order


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [None, "sqrt"])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 9, 30])
def test_scan_in_both_directions_and_any_length(reverse, checkpoint, length):
    def f(x):
        c, ys = td.scan(lambda c, t: (np.sin(c * x[0]) + t, c * t), x[1], x[2:], reverse=reverse, checkpoint=checkpoint)
        return c + (np.sum(ys**2 * np.arange(length)) if length else 0.0)

    tape = agree(f, *(0.6 * RNG.normal(size=(3, length + 2))))
    if length:
        hessian_agrees(tape, 0.6 * RNG.normal(size=length + 2))


def test_a_scan_body_serves_every_length():
    """The example of a recurrence over lengths 5, 3 and 10: the body is recorded once for one size, and once for all."""
    recorded = []

    def body(s, entry):
        i, x = entry
        recorded.append(1)
        return s + i * x, None

    def f(x):
        return td.scan(body, 0.0, (np.arange(len(x), dtype=float), x))[0] ** 2

    safe = td.GuardedTape(f)
    for n in (5, 3, 10, 3):
        x = RNG.normal(size=n)
        expected = 2 * np.sum(np.arange(n) * x) * np.arange(n)
        np.testing.assert_allclose(td.gradient(safe, x), expected, rtol=1e-13)
    assert len(recorded) == 2
    # Recording all turns would take hundreds of times as long as recording one.
    assert times_as_long(lambda: td.record(f, np.ones(10_000)), lambda: td.record(f, np.ones(2)), limit=20) < 20
    assert len(recorded) == 2


def test_arrays_in_the_carry_and_matrices_among_the_constants():
    """A filter: 3-vector state, a matrix that is differentiated, and one entry of data per step."""
    data = RNG.normal(size=(20, 3))

    def f(x):
        matrix = x.reshape(3, 3)

        def body(state, row):
            state = np.tanh(matrix @ state) + 0.1 * row
            return state, np.sum(state**2)

        state, squares = td.scan(body, np.zeros(3), data)
        return np.sum(squares) + state[0]

    points = 0.5 * RNG.normal(size=(3, 9))
    tape = agree(f, *points)
    hessian_agrees(tape, points[0])


def test_a_body_may_branch_and_call_sub_tapes():
    bump = td.subtape(lambda v: v * 0.5 if v > 1 else np.exp(v) - 1)

    def f(x):
        def body(c, t):
            if c * t > 0.2:
                c = c * x[0] - t
            return bump(c) + x[1] * t, c

        c, ys = td.scan(body, x[0], np.sin(np.arange(30.0)))
        return c + np.sum(ys)

    points = RNG.normal(size=(8, 2))
    tape = agree(f, *points, rtol=1e-5)
    hessian_agrees(tape, points[0])
    assert max(recordings_of(tape)) == 1  # merged at the second path


def test_a_body_may_write_into_its_carry():
    def f(x):
        def body(c, t):
            c[0] = c[1] * t
            c[1:] += x[0] * c[0]
            return c, c[2]

        c, ys = td.scan(body, x * 1.0, np.linspace(0.1, 1, 6))
        return np.sum(c) + np.sum(ys**2)

    agree(f, *RNG.normal(size=(3, 4)))
    start = np.zeros(3)
    td.scan(lambda c, t: (c.__iadd__(t), None), start, np.ones(2))
    np.testing.assert_array_equal(start, 0.0)


def test_scans_inside_scans():
    def f(x):
        def inner(c, t):
            return np.sin(c + t * x[0]), c

        def outer(c, row):
            c, ys = td.scan(inner, c, row)
            return c, np.sum(ys)

        c, ys = td.scan(outer, x[1], np.arange(12.0).reshape(4, 3))
        return c * np.sum(ys**2)

    tape = agree(f, *RNG.normal(size=(3, 2)))
    hessian_agrees(tape, RNG.normal(size=2))


def test_fori_loop():
    def f(x):
        return td.fori_loop(1, 6, lambda i, s: s * np.sin(x[0] * i) + i, x[1])

    tape = agree(f, *RNG.normal(size=(3, 2)))
    hessian_agrees(tape, RNG.normal(size=2))
    assert td.fori_loop(0, 4, lambda i, s: s + i, 0) == 6
    assert td.fori_loop(4, 0, lambda i, s: s + i, 7) == 7


def test_fori_loop_with_bounds_known_at_run_time():
    def f(x):
        count = np.sum(x > 0)
        return td.fori_loop(0, count, lambda i, s: s * np.sin(x[i]) + i * x[0], x[1])

    tape = agree(f, np.array([1.5, 1.0, 2.0]), np.array([1.2, -0.5, 0.3]), np.array([-1.2, -0.5, -60.0]))
    hessian_agrees(tape, np.array([1.5, 1.0, 2.0]), np.array([1.2, -0.5, 0.3]))
    assert not tape.guards


def growing(x):
    def body(carry):
        s, k = carry
        return s * x[0] + x[1] * s**2 * 0.1, k + 1

    s, k = td.while_loop(lambda carry: carry[0] < 50, body, (x[2], 0))
    return s * k + x[0] * s


def test_while_loop_runs_as_often_as_it_must():
    """The number of iterations is decided at run time: 4, 12, 0 and hundreds; a kernel recorded at one serves all."""
    points = [np.array(p) for p in ([1.5, 1.0, 2.0], [1.2, 0.5, 0.3], [1.2, 0.5, 60.0], [1.01, 0.001, 0.5])]
    tape = agree(growing, *points, rtol=1e-5)
    hessian_agrees(tape, *points[:3])
    assert not tape.guards


def test_a_while_loop_with_and_in_its_test():
    """Python looks at both sides of `and`: inside the test that is no guard of the caller."""
    f = lambda x: td.while_loop(lambda c: c[0] < 10 and c[1] > 0, lambda c: (c[0] * 1.5, c[1] - x[1]), (x[0], 3.0))[0]
    tape = agree(f, np.array([1.0, 0.1]), np.array([1.0, 2.0]), np.array([20.0, 1.0]), np.array([1.0, 1.4]))
    assert not tape.guards


def test_bodies_that_write_leave_the_callers_arrays_alone():
    """Inside and outside recordings: a loop works on copies of its first carry and of its entries."""

    def doubled(i, v):
        v[0] = v[0] * 2
        return v

    def body(c, t):
        t[0] = t[0] * 2
        return c + t[0], None

    functions = (
        lambda a: a[0] + td.fori_loop(0, 3, doubled, a)[1] + a[0],
        lambda a: a[0] + td.while_loop(lambda v: v[0] < 20, lambda v: doubled(0, v), a)[0] + a[0],
        lambda a: td.scan(body, 0.0, a.reshape(2, 1))[0] + a[0],
    )
    for f in functions:
        agree(lambda x, f=f: f(x * 1.0), np.array([1.0, 2.0]), np.array([1.5, 2.0]))


def test_outside_recordings_they_just_run():
    _, ys = td.scan(lambda c, t: (c + t, c * t), 1.0, np.zeros(0))
    assert ys.shape == (0,)
    assert td.cond(True, lambda v: v + 1, lambda v: v - 1, 2) == 3
    c, ys = td.scan(lambda c, t: (c + t, c * t), 0.0, np.arange(4.0))
    assert c == 6.0
    np.testing.assert_array_equal(ys, [0.0, 0.0, 2.0, 9.0])
    assert td.while_loop(lambda c: c < 10, lambda c: c * 2, 1) == 16
    _, ys = td.scan(lambda c, _: (c, c), 1.0, length=3)
    np.testing.assert_array_equal(ys, 1.0)


def test_integers_in_the_carry_become_what_the_body_makes_of_them():
    f = lambda x: td.scan(lambda c, t: (c + t * x, None), 0, np.arange(3.0))[0]
    agree(lambda x: f(x[0]), np.array([2.0]))


def test_clear_errors():
    x = np.ones(3)
    with pytest.raises(td.ArgumentMismatch, match="must return \\(carry, y\\)"):
        td.record(lambda x: td.scan(lambda c, t: c, x[0], x)[0], x)
    with pytest.raises(td.ArgumentMismatch, match="changed its structure"):
        td.record(lambda x: td.scan(lambda c, t: ((c, c), None), x[0], x)[0], x)
    with pytest.raises(td.ShapeMismatch, match="changed its type"):
        td.record(lambda x: td.scan(lambda c, t: (c + x, None), x[0], x)[0], x)
    with pytest.raises(td.ArgumentMismatch, match="xs of one length"):
        td.record(lambda x: td.scan(lambda c, t: (c, None), x[0], (x, x[:2]))[0], x)
    with pytest.raises(td.ArgumentMismatch, match="must be integers"):
        td.record(lambda x: td.fori_loop(0, x[0], lambda i, c: c, x[0]), x)
    with pytest.raises(td.ArgumentMismatch, match="cannot be negative"):
        td.record(lambda x: td.scan(lambda c, t: (c, None), x[0], length=-1)[0], x)
    with pytest.raises(td.ArgumentMismatch, match="must be a bool, or an array of one element"):
        td.record(lambda x: td.while_loop(lambda c: c > 0, lambda c: c - 1, x).sum(), x)
    assert not td.is_recording()


def test_an_error_in_a_body_loses_nothing():
    def f(x):
        def body(c, t):
            if c > 2:
                raise ValueError("too large")
            return c * x, None

        return td.scan(body, x, np.zeros(5))[0]

    compiled = td.compile(f, 1.1)
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            td.gradient(compiled, 1.5)
        assert td.gradient(compiled, 1.05) == pytest.approx(6 * 1.05**5)


def test_checkpointed_scans_keep_few_carries():
    """Bytes of workspace of the gradient: about 2 sqrt(n) carries instead of n."""

    def f(x, checkpoint):
        body = lambda c, t: (np.sin(c) * t + c, None)
        return np.sum(td.scan(body, x, np.linspace(0, 1, 900), checkpoint=checkpoint)[0])

    x = np.linspace(0.0, 1.0, 50)
    stored = td.compile(lambda x: f(x, None), x)
    few = td.compile(lambda x: f(x, "sqrt"), x)
    np.testing.assert_allclose(td.gradient(stored, x), td.gradient(few, x), rtol=1e-9)
    assert stored.kernel((0,)).workspace_bytes > 900 * 50 * 8
    assert few.kernel((0,)).workspace_bytes < 0.15 * stored.kernel((0,)).workspace_bytes


SCAN_BODIES = {
    # name: (the body, whether the reverse pass reads its carries)
    "linear": (lambda p: lambda u, t: (0.5 * (np.roll(u, 1) + np.roll(u, -1)) * t, None), False),
    "a parameter beside": (lambda p: lambda u, t: (np.roll(u, 1) + p[0] * t, None), False),
    "sums as results": (lambda p: lambda u, t: (np.concatenate([u[:1], 0.5 * u[1:] + 0.2 * u[:-1]]), np.sum(u)), False),
    "selected by data": (lambda p: lambda u, t: (np.where(t > 0.5, np.roll(u, 1), 0.9 * u), None), False),
    "a parameter before": (lambda p: lambda u, t: (np.roll(u, 1) * p[0], None), True),
    "a sine": (lambda p: lambda u, t: (np.sin(u) + t, None), True),
    "squares as results": (lambda p: lambda u, t: (0.5 * np.roll(u, 1), np.sum(u * u)), True),
    "selected by itself": (lambda p: lambda u, t: (np.where(u > 0.137, np.roll(u, 1), 0.9 * u), None), True),
    "branches": (lambda p: lambda u, t: (td.cond(np.sum(u) > t, lambda v: np.roll(v, 1), lambda v: 0.9 * v, u), None), True),
}


@pytest.mark.parametrize("name", SCAN_BODIES)
def test_carries_are_computed_again_only_where_the_reverse_pass_reads_them(name, monkeypatch):
    monkeypatch.setattr("tapediff.functions.loops.LARGEST_TRAJECTORY", 1000)
    body, is_read = SCAN_BODIES[name]

    def f(x):
        u, ys = td.scan(body(x), x[1:], np.linspace(0.2, 0.9, 30))
        return np.sum(u * u) if ys is None else np.sum(u * u) + np.sum(np.sin(ys))

    x = np.linspace(0.9, -0.7, 21)
    compiled = td.compile(f, x)
    td.testing.check_gradient(compiled, f, x, rtol=1e-5)
    assert ("scan of block" in str([i.params for i in compiled.tape.instructions])) == is_read


def test_a_trajectory_that_would_not_fit_is_computed_in_pieces():
    """4000 carries of 5000 numbers would take 160 MB; in pieces it is a few."""

    def f(x):
        def body(i, y):
            y[i] = np.sin(x[i])
            return y

        return np.sum(td.fori_loop(0, 4000, body, np.zeros(5000)) ** 2)

    x = np.linspace(0.0, 1.0, 4000)
    compiled = td.compile(f, x)
    assert compiled.kernel((0,)).workspace_bytes < 3e7
    np.testing.assert_allclose(td.gradient(compiled, x), np.sin(2 * x), rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_body_that_looks_at_an_array_finds_its_variants(reverse):
    """The iteration that met a new pattern is run once more to tell which; what that writes goes nowhere."""

    def f(x):
        def body(c, row):
            v = c * 0.5 + row * x[0]
            return np.where(v > 0, v, v * 0.3), np.sum(v[v > 0] ** 2) * x[1]

        c, ys = td.scan(body, x[:3], np.cos(np.arange(120.0)).reshape(40, 3), reverse=reverse)
        return np.sum(ys) + np.sum(c)

    agree(f, np.array([0.5, 0.2, 0.3]), np.array([0.1, -0.2, 0.6]))


def test_a_long_loop_makes_no_array_of_its_counters(monkeypatch):
    """Its values are computed again in pieces; the counters are numbers of the body, also from a negative one, and in an empty range."""
    monkeypatch.setattr("tapediff.functions.loops.LARGEST_TRAJECTORY", 64)

    def f(x, n):
        return td.fori_loop(-3, n, lambda i, v: v * (1 + 0.01 * i) + 0.001 * i, x[0]) + x[1]

    x = np.array([1.5, 2.5])
    for n in (40, -3, -7):
        compiled = td.compile(lambda x, n=n: f(x, n), x)
        slope = np.prod(1 + 0.01 * np.arange(-3, max(n, -3)))
        assert all(np.size(i.params[0]) <= 8 for i in compiled.tape.instructions if i.op is CONSTANT)
        value, gradient = td.value_and_gradient(compiled, x)
        # The same 43 steps, and their product in another order: 1e-16 for each.
        np.testing.assert_allclose(value, f(x, n), rtol=1e-14)
        np.testing.assert_allclose(gradient, [slope, 1.0], rtol=1e-13)


def test_loops_and_branches_carry_any_number_of_values():
    """A scan with as many streams and stacked results, a while_loop and a cond of 33."""

    def f(x):
        start = tuple(x)

        def step(carry, streams):
            return tuple(v + 0.5 * carry[k - 1] for k, v in enumerate(carry)), tuple(v * s for v, s in zip(carry, streams))

        scanned, stacked = td.scan(step, start, tuple(np.stack([v, 2 * v]) for v in start))
        grown = td.while_loop(lambda carry: carry[0] < 50.0, lambda carry: tuple(v * 1.5 + 1 for v in carry), scanned)
        chosen = td.cond(x[1] > 0, lambda *v: tuple(w * 2 for w in v), lambda *v: tuple(w * w for w in v), *grown)
        return sum(chosen) + sum(np.sum(v) for v in stacked)

    # Not below -2, from where the while_loop would never end.
    points = np.random.default_rng(0).uniform(-0.3, 1.0, size=(2, 33))
    points[0, 1], points[1, 1] = 1.0, -1.0
    agree(f, *points)


def test_a_loop_of_a_hundred_carries_is_compiled():
    """Its value and gradient are those of the same loop in Python."""

    def step(carry):
        return tuple(0.9 * v + 0.5 * carry[k - 1] * v for k, v in enumerate(carry))

    def plain(x):
        carry = tuple(x)
        for _ in range(3):
            carry = step(carry)
        return sum(carry)

    x = np.linspace(0.1, 1.0, 100)
    compiled = td.compile(lambda x: sum(td.scan(lambda c, _: (step(c), None), tuple(x), None, length=3)[0]), x)
    # The same operations; sums of 100 and of a few terms, which may be added in another order.
    for got, wanted in zip(td.value_and_gradient(compiled, x), td.value_and_gradient(plain, x)):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
