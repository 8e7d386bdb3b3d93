"""The pseudoinverse's derivative: right for every shape and rank, and by no product larger than the matrix."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.matrices.products import MATMUL
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.testing import central_difference

RNG = np.random.default_rng(12)


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (4, 4), (2, 6, 3), (2, 3, 6)])
def test_the_gradient_is_that_of_differences(shape):
    weights = RNG.normal(size=(*shape[:-2], shape[-1], shape[-2]))
    x = RNG.normal(size=shape) + 4.0 * np.eye(*shape[-2:])  # of condition below 10

    def f(x):
        return np.sum(np.sin(np.linalg.pinv(x)) * weights)

    slope = td.gradient(td.compile(f, x), x)
    # Differences lose half the digits, and condition numbers of 10 another two.
    np.testing.assert_allclose(slope, central_difference(f, x, 1e-5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6)])
def test_of_matrices_of_lower_rank_the_derivative_is_along_matrices_of_that_rank(shape):
    """Products of two vectors stay of rank one."""
    m, n = shape
    weights, x = RNG.normal(size=(n, m)), RNG.normal(size=m + n)

    def f(x):
        return np.sum(np.linalg.pinv(np.outer(x[:m], x[m:]), 1e-10) * weights)

    np.testing.assert_allclose(td.gradient(td.compile(f, x), x), central_difference(f, x, 1e-5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(60, 5), (5, 60)])
def test_no_product_is_larger_than_the_matrix(shape):
    """A projection on 60 dimensions would take twelve times the work of all others."""
    tape = gradient_tape(td.record(lambda x: np.sum(np.linalg.pinv(x) ** 2), RNG.normal(size=shape)), (0,))
    products = [i.type.size for i in tape.instructions if i.op is MATMUL]
    assert products
    assert max(products) <= 300
