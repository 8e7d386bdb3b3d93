"""Products with diagonal matrices become scalings, and no others do."""

import numpy as np
import pytest

import tapediff as td
from tapediff.passes.simplify.diagonal_products import diagonal_products

RNG = np.random.default_rng(0)
M, X = RNG.normal(size=(4, 4)), RNG.normal(size=4)
EYE, SCALED = np.eye(4), np.diag([1.0, 2.0, 0.0, 4.0])


def products(tape):
    return sum(i.op.name == "matmul" for i in tape.instructions)


@pytest.mark.parametrize("f", [
    lambda x: EYE @ np.outer(x, x),
    lambda x: np.outer(x, x) @ EYE,
    lambda x: (EYE * x) @ M,
    lambda x: M @ (x[:, None] * EYE),
    lambda x: (-(EYE * x)).T @ M,
    lambda x: (SCALED / np.exp(x)) @ np.outer(x, x),
    lambda x: SCALED @ np.outer(x, x),
])  # fmt: skip
def test_a_product_with_a_diagonal_matrix_is_a_scaling(f):
    """The same values, to rounding: a product adds zeros to its terms."""
    tape = td.record(f, X)
    made = diagonal_products(tape)
    made.check()
    assert products(made) == 0
    np.testing.assert_allclose(made(X * 1.5), f(X * 1.5), rtol=1e-15)


@pytest.mark.parametrize("f", [
    lambda x: (EYE + x) @ M,
    lambda x: (x / (1.0 + EYE)) @ M,
    lambda x: M @ np.outer(x, x),
    lambda x: EYE @ x,
    lambda x: np.eye(4, k=1) @ np.outer(x, x),
    lambda x: np.eye(3, 4) @ np.outer(x, x),
])  # fmt: skip
def test_other_products_stay(f):
    """Also those with vectors, which take no longer than the scaling."""
    tape = td.record(f, X)
    assert products(diagonal_products(tape)) == 1
