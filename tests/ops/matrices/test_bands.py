"""Band matrices: one factorisation for values and derivatives, exchanges of rows, and entries outside the matrix, which are not read."""

import numpy as np
import pytest
import scipy.linalg

import tapediff as td
from tapediff.ops.matrices.bands import BAND_FACTOR, BAND_SOLVE

RNG = np.random.default_rng(3)
# Widths for unrolled and for vector loops; the last matrix has more diagonals than rows.
SHAPES = [(1, 1, 30), (2, 1, 30), (0, 2, 9), (3, 0, 9), (20, 13, 60), (4, 3, 3)]


def dense(ab, lower, upper):
    n = ab.shape[1]
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            a[i, j] = ab[upper + i - j, j]
    return a


def outside(lower, upper, n):
    """A mask of the stored numbers that are no entries of the matrix."""
    rows = np.arange(n) + np.arange(lower + upper + 1)[:, None] - upper
    return (rows < 0) | (rows >= n)


@pytest.mark.parametrize(("lower", "upper", "n"), SHAPES)
@pytest.mark.parametrize("columns", [(), (11,)])
def test_solutions_are_those_of_the_dense_matrix(lower, upper, n, columns):
    """Recorded at a dominant matrix, evaluated at one whose pivots are below the diagonal, with NaN outside."""
    ab, b = RNG.normal(size=(lower + upper + 1, n)), RNG.normal(size=(n, *columns))
    recorded = ab.copy()
    recorded[upper] += 3.0 * (lower + upper + 1)
    ab[outside(lower, upper, n)] = np.nan
    f = lambda ab, b: td.linalg.solve_banded((lower, upper), ab, b)
    tape = td.record(f, recorded, b)
    expected = np.linalg.solve(dense(ab, lower, upper), b)
    gradient_of = lambda t: td.gradient(t, ab, b, argnums=(0, 1))
    loss = td.record(lambda ab, b: np.sum(f(ab, b) ** 2), recorded, b)
    b_bar = np.linalg.solve(dense(ab, lower, upper).T, 2.0 * expected)
    for value in (tape(ab, b), td.compile(tape)(ab, b)):
        np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-9)  # random triangles have conditions of 1e6
    for ab_bar, found in map(gradient_of, (loss, td.compile(loss))):
        np.testing.assert_allclose(found, b_bar, rtol=1e-6, atol=1e-8 * np.abs(b_bar).max())
        matrix_bar = -(b_bar.reshape(n, -1) @ expected.reshape(n, -1).T)
        given = np.where(outside(lower, upper, n), 0.0, ab_bar)
        banded = np.triu(np.tril(matrix_bar, upper), -lower)
        np.testing.assert_allclose(dense(given, lower, upper), banded, rtol=1e-6, atol=1e-8 * np.abs(matrix_bar).max())
        assert np.array_equal(ab_bar[outside(lower, upper, n)], np.zeros(outside(lower, upper, n).sum()))


@pytest.mark.parametrize("definite", [False, True])
def test_value_and_derivatives_share_one_factorisation(definite):
    """Also of several right-hand sides, and outside a loop of steps with one matrix."""

    def f(d, u):
        off = np.full(d.shape, -1.0)
        for _ in range(6):
            if definite:
                u = scipy.linalg.solveh_banded(np.stack([4.0 + d * d, off]), u, lower=True)
            else:
                u = scipy.linalg.solve_banded((1, 1), np.stack([off, 4.0 + d * d, off]), u)
        return np.sum(u**2)

    d, u = RNG.normal(size=40), RNG.normal(size=40)
    compiled = td.compile(f, d, u)
    td.testing.check_gradient(compiled, f, d, u)
    product, step = td.hvp(compiled, d, u, u), 1e-5
    difference = (td.gradient(f, d + step * u, u) - td.gradient(f, d - step * u, u)) / (2 * step)
    np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-8 * np.abs(difference).max())  # the square of the step
    assert compiled.source.count("band_factor") == 1


def test_jacobians_solve_for_all_columns_at_once():
    """By the rows of the identity as columns of one right-hand side; equal to the inverse."""
    ab = RNG.normal(size=(3, 12)) + [[0.0], [6.0], [0.0]]
    tape = td.record(lambda b: td.linalg.solve_banded((1, 1), ab, b), RNG.normal(size=12))
    np.testing.assert_allclose(td.jacobian(td.compile(tape), np.ones(12)), np.linalg.inv(dense(ab, 1, 1)), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("definite", [False, True])
def test_a_singular_matrix_raises_in_kernels_too(definite):
    """Before and after the call that failed, the compiled function answers."""

    def f(d):
        ab = np.stack([np.ones(5), d, np.ones(5)])
        return np.sum(scipy.linalg.solveh_banded(ab[1:], d, lower=True) if definite else scipy.linalg.solve_banded((1, 1), ab, d))

    good, singular = np.full(5, 4.0), np.array([1.0, 1.0, 4.0, 4.0, 4.0]) if definite else np.zeros(5)
    compiled = td.compile(f, good)
    assert compiled(good) == pytest.approx(f(good), rel=1e-12)
    for target in (f, compiled):
        with pytest.raises(np.linalg.LinAlgError):
            target(singular)
    assert compiled(good) == pytest.approx(f(good), rel=1e-12)


def test_stacks_are_refused_and_shapes_compared():
    with pytest.raises(td.UnsupportedFunction, match="not a stack"):
        td.record(lambda ab: td.linalg.solve_banded((1, 1), ab, np.ones(4)), np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="not compatible"):
        td.record(lambda ab: td.linalg.solve_banded((1, 1), ab, np.ones(5)), np.ones((3, 4)))


def test_a_solution_is_two_instructions():
    tape = td.record(lambda ab, b: td.linalg.solve_banded((1, 1), ab, b), np.ones((3, 4)) + [[0.0], [3.0], [0.0]], np.ones(4))
    assert [i.op for i in tape.instructions][-2:] == [BAND_FACTOR, BAND_SOLVE]
