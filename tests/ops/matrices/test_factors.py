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


DECOMPOSITIONS = {
    "svd": lambda x: np.linalg.svd(x, full_matrices=False), "full svd": np.linalg.svd, "singular values": lambda x: (np.linalg.svd(x, compute_uv=False),),
    "qr": np.linalg.qr, "complete qr": lambda x: np.linalg.qr(x, mode="complete"), "pinv": lambda x: (np.linalg.pinv(x),),
    "norm": lambda x: (np.linalg.norm(x, 2, axis=(-2, -1)),),
}  # fmt: skip
OF_SQUARES = {
    "eigh": np.linalg.eigh, "eigenvalues": lambda x: (np.linalg.eigvalsh(x),), "cholesky": lambda x: (np.linalg.cholesky(x),), "inv": lambda x: (np.linalg.inv(x),),
    "det": lambda x: (np.linalg.det(x),), "slogdet": np.linalg.slogdet, "solve": lambda x: (np.linalg.solve(x, x),),
}  # fmt: skip


@pytest.mark.parametrize("stack", [(0,), (2, 0), (0, 2), (3,)])
@pytest.mark.parametrize("name", [*DECOMPOSITIONS, *OF_SQUARES])
def test_stacks_of_no_matrices_have_gradients_of_their_shape(name, stack):
    """Beside stacks of some, for wide, tall and square ones, and of one row or column."""
    f = {**DECOMPOSITIONS, **OF_SQUARES}[name]
    for m, n in ((3, 3), (1, 1)) if name in OF_SQUARES else ((3, 3), (3, 2), (2, 3), (4, 1), (1, 2)):
        x = np.broadcast_to(np.diag([3.0, 2.0, 1.0, 0.5])[:m, :n] + 0.1, (*stack, m, n))
        total = lambda x: sum(np.sum(part) for part in f(x))
        if name in ("full svd", "complete qr"):  # of vectors that complete a basis, where it does not matter which they are
            total = lambda x: np.sum(f(x)[1]) + np.sum(f(x)[0][..., : min(m, n)])
        gradient = td.gradient(td.record(total, x), x)
        assert gradient.shape == x.shape
        np.testing.assert_array_equal(td.gradient(td.compile(total, x), x).shape, x.shape)
        assert np.isfinite(gradient).all()
