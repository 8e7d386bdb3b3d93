"""Sub-tapes, loops, primitives and guards by numba: the same answers as by NumPy's replay, on paths that were compiled and on new ones."""

import numpy as np
import pytest

import tapediff as td
from tapediff.errors import LoopTooLong

POINTS = [np.array([0.3, 0.4, 1.2]), np.array([-0.7, 0.2, 0.1]), np.array([2.0, -1.0, 0.5])]


def agree(f, points=POINTS, **options):
    """At every point as the plain function."""
    safe = td.GuardedTape(f, backend="numba", **options)
    for x in points:
        value, gradient = td.value_and_gradient(safe, x)
        expected, expected_gradient = td.value_and_gradient(f, x)
        # A few hundred operations in another order.
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-11, atol=1e-13)
    return safe


@td.subtape
def leaf(a, b):
    if a > b:
        return a * b
    return np.sin(a) + b


@td.primitive
def in_python(a):
    return np.sin(a), a


@in_python.backward
def _(saved, bar):
    return bar * np.cos(saved)


@td.primitive(compiled=True)
def by_numba(a, b):
    return a * a + b, a


@by_numba.backward
def _(saved, bars):
    return bars * 2.0 * saved, np.sum(bars)


@pytest.mark.slow
def test_calls_conds_and_primitives_agree():
    def f(x):
        y = leaf(x[0], x[1])
        z = td.cond(y > 0, lambda a: a**2, np.exp, x[2])
        return y * z + np.sum(by_numba(x, y))

    agree(f)


def test_primitives_without_numba_are_answered_by_python():
    agree(lambda x: np.sum(in_python(x) * x), POINTS[:1])


@pytest.mark.slow
def test_loops_of_all_kinds_agree():
    def f(x):
        def body(c, u):
            c = c * 0.5 if c > 0.5 else c + u
            return c, c * x[0]

        c, ys = td.scan(body, x[1], np.linspace(0.0, 1.0, 12) * x[2])
        a, b = td.while_loop(lambda c: c[0] < 10.0, lambda c: (c[0] * 1.5 + 1.0, c[1] * x[1]), (np.abs(x[0]) + 0.1, x[2]))
        return c + np.sum(ys**2) + a * b + td.fori_loop(0, 20, lambda i, c: c * 0.9 + x[0] * np.sin(c), x[1])

    agree(f)


def test_functions_that_call_themselves_agree_however_deep_they_go():
    @td.subtape
    def falling(a, n):
        if n < 1.0:
            return a
        return a * falling(a * 0.9, n - 1.0)

    safe = agree(lambda x: falling(x[0], 4.0 + x[1]))
    # The product of 1805 powers of 0.9 is 0 by far.
    assert td.value_and_gradient(safe, np.array([1.0, 1800.0, 0.0]))[0] == 0.0


def test_a_loop_that_does_not_end_is_refused():
    compiled = td.compile(
        lambda x: td.while_loop(lambda c: c > 0.5, lambda c: c * x[0], x[1], max_steps=50), np.array([0.5, 1.0]), backend="numba"
    )
    with pytest.raises(LoopTooLong, match="max_steps=50"):
        td.gradient(compiled, np.array([1.0, 1.0]))
    assert td.value_and_gradient(compiled, np.array([0.25, 1.0]))[0] == 0.25


def test_exceptions_of_python_code_that_a_program_calls_come_out():
    class Refused(Exception):
        pass

    @td.primitive
    def picky(a):
        if a[0] < 0.0:
            raise Refused(a[0])
        return np.sum(a), a

    @picky.backward
    def _(saved, bar):
        return bar * np.ones(saved.shape)

    compiled = td.compile(picky, np.ones(2), backend="numba")
    with pytest.raises(Refused):
        td.gradient(compiled, -np.ones(2))
    np.testing.assert_array_equal(td.gradient(compiled, 2.0 * np.ones(2)), 1.0)


# Guards


def branching(x):
    """A test, an int and a mask that Python looks at."""
    if x[0] > 1.0:
        x = x * 0.5
    for _ in range(int(x[1])):
        x = np.sin(x)
    return np.sum(np.kron(x[x > 0.0], 1.0) ** 2)


OTHERS = {"bool": np.array([2.0, 1.5, 0.3]), "int": np.array([0.5, 2.5, 0.3]), "array": np.array([0.5, 1.5, -0.3])}


@pytest.fixture(scope="module")
def compiled():
    x = np.array([0.5, 1.5, 0.3])
    return td.compile(branching, x, backend="numba", merge=False), td.compile(branching, x, merge=False)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_guard_that_fails_is_told_as_by_the_native_kernel(compiled, kind):
    """The whole text, and the gradient's array is left as it was."""
    texts, out = [], np.full(3, 7.0)
    for target in compiled:
        with pytest.raises(td.GuardFailed) as raised:
            td.value_and_gradient(target, OTHERS[kind], out=out)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
    np.testing.assert_array_equal(out, 7.0)


def test_a_guarded_tape_follows_branches():
    x = np.array([0.5, 1.5, 0.3])
    safe = agree(branching, [x, *OTHERS.values()], merge=False)
    assert safe.backend == "numba"
    assert safe.stats.recordings == 4


def test_a_guard_in_every_iteration_tells_which_one_failed():
    def f(x):
        total = 0.0
        for k in range(40):
            total = total + (x[k] if x[k] > 0.0 else 2.0 * x[k])
        return total * total

    x = np.linspace(0.1, 1.0, 40)
    texts = []
    for backend in ("numba", "native"):
        with pytest.raises(td.GuardFailed) as raised:
            td.gradient(td.compile(f, x, backend=backend), np.where(np.arange(40) == 23, -x, x))
        texts.append(str(raised.value))
    assert texts[0] == texts[1]
    assert "time 24 of 40" in texts[0]


def test_a_factorisation_that_fails_raises_what_numpy_raises():
    compiled = td.compile(lambda a: np.sum(np.linalg.cholesky(a)), np.eye(3), backend="numba")
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        td.gradient(compiled, -np.eye(3))
    np.testing.assert_allclose(td.gradient(compiled, 4.0 * np.eye(3)), td.gradient(lambda a: np.sum(np.linalg.cholesky(a)), 4.0 * np.eye(3)))


# What it takes and refuses


@pytest.mark.parametrize("make", [lambda f, x: td.compile(f, x, backend="numba"), lambda f, x: td.GuardedTape(f, backend="numba")])
def test_calls_from_compiled_code_and_of_many_rows_give_the_same(make):
    f, x, g = lambda x: np.sum(np.exp(x) * x), np.array([0.5, 1.0]), np.empty(2)
    target = make(f, x)
    expected, gradient = td.value_and_gradient(target, x)
    assert target.bind(x, g)() == expected
    np.testing.assert_array_equal(g, gradient)
    assert target.as_numba()(x, g[:]) == expected
    # Rows are computed together, by the native kernel of a loop over them.
    values, gradients = target.batch(np.stack([x, -x]))
    assert values[0] == pytest.approx(expected, rel=1e-15)
    np.testing.assert_allclose(gradients[0], gradient, rtol=1e-15)


@pytest.mark.parametrize("make", [lambda: td.compile(np.sum, np.ones(2), backend="jax"), lambda: td.GuardedTape(np.sum, backend="jax")])
def test_other_names_of_backends_are_refused(make):
    with pytest.raises(td.ArgumentMismatch, match=r"no such backend\n  at:.*\n  got: 'jax'\n  fix: backend='native', the default"):
        make()


def test_arrays_of_other_layouts_lists_and_overlapping_results_are_copied():
    f = lambda x: np.sum(x**3)
    tape, x = td.compile(f, np.ones(4), backend="numba"), np.arange(1.0, 5.0)
    strided = np.repeat(x, 2)[::2]
    read_only = x.copy()
    read_only.flags.writeable = False
    for given in (x, strided, read_only, list(x)):
        np.testing.assert_array_equal(td.gradient(tape, given), 3.0 * x**2)
    both = x.copy()
    assert td.value_and_gradient(tape, both, out=both)[0] == 100.0
    np.testing.assert_array_equal(both, 3.0 * x**2)
