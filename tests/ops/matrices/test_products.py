"""Products of matrices of integers, and of windows."""

import re

import numpy as np
import pytest
import scipy.linalg

import tapediff as td

RNG = np.random.default_rng(4)


def test_products_of_integers_are_integers_to_the_bit():
    """Also where floats would not hold them; those of masks are masks."""
    a, b = np.array([[3**33, 1], [2, -5]]), np.array([[1, 2], [3, 4]])
    mask = np.array([[True, False], [True, True]])
    tape = td.record(lambda x, a, b, mask: (x, a @ b, a @ b[0], mask @ mask), 1.5, td.Constant(a), td.Constant(b), td.Constant(mask))
    for found, expected in zip(tape(1.5, a, b, mask)[1:], (a @ b, a @ b[0], mask @ mask), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


WIDTHS = [(500, 3), (500, 40), (500, 470), (60, 60)]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "k"), WIDTHS)
def test_convolutions_read_windows_in_place(n, k, mode):
    """Memory is that of a few vectors, on the tape and in the kernel; values, gradients and products at another point than recorded."""
    x, v, y, w = RNG.normal(size=n), RNG.normal(size=k), RNG.normal(size=n), RNG.normal(size=k)

    def f(x, v):
        return np.sum(np.sin(np.convolve(x, v, mode)))

    of_weights, of_signal = (lambda v: f(x, v)), (lambda x: f(x, v))
    for plain, at, args in ((f, (x, v), (y, w)), (of_weights, (v,), (w,)), (of_signal, (x,), (y,))):
        tape = td.record(plain, *at)
        compiled = td.compile(tape)
        for target in (tape, compiled):
            assert target(*args) == pytest.approx(plain(*args), rel=1e-12)
            td.testing.check_gradient(target, plain, *args)
        step, (a, *rest) = 1e-5, args
        difference = (td.gradient(plain, a + step * a, *rest) - td.gradient(plain, a - step * a, *rest)) / (2 * step)
        product = td.hvp(compiled, a, a, *rest)
        np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max())  # the square of the step
        assert max(i.type.size for i in tape.instructions) <= n + 2 * k
        assert int((re.search(r"workspace: (\d+) bytes", compiled.source) or [0, 0])[1]) <= 8 * 16 * (n + 2 * k)


@pytest.mark.parametrize("target", [td.record, td.compile])
def test_jacobians_of_convolutions_are_their_matrices(target):
    """Row by row without a loop for the signal, and sparse."""
    v = RNG.normal(size=9)
    tape = target(lambda x: np.convolve(x, v, "same"), np.ones(50))
    expected = scipy.linalg.convolution_matrix(v, 50, "same")
    np.testing.assert_allclose(td.jacobian(tape, np.ones(50)), expected, rtol=1e-13)
    sparse = td.sparse_jacobian(tape, np.ones(50))
    assert sparse.nnz <= 9 * 50
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-13)
    kernel = target(lambda v: np.convolve(np.linspace(0.0, 1.0, 50), v), v)
    np.testing.assert_allclose(td.jacobian(kernel, v), scipy.linalg.convolution_matrix(np.linspace(0.0, 1.0, 50), 9), rtol=1e-13)


def test_convolutions_of_rows_in_a_loop():
    """Rolled; in a scan; and of integers."""
    rows, v = RNG.normal(size=(30, 20)), RNG.normal(size=5)

    def f(rows, v):
        return sum(np.sum(np.convolve(row, v, "same") ** 2) for row in rows)

    compiled = td.compile(f, rows, v)
    assert compiled(2.0 * rows, v) == pytest.approx(f(2.0 * rows, v), rel=1e-13)
    td.testing.check_gradient(compiled, f, 2.0 * rows, v)
    k = np.array([3, -1, 2])
    counted = td.record(lambda x, k: np.convolve(k, np.arange(5)) * x, 1.0, td.Constant(k))
    assert np.array_equal(counted(2.0, 2 * k), 2.0 * np.convolve(2 * k, np.arange(5)))
