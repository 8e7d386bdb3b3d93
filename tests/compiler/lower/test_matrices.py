"""Matrix ops in kernels: which routine, in which layout, and what a listing says of it."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import LoopNest
from tapediff.compiler.lower import matrices as lower_matrices

RNG = np.random.default_rng(21)


def gaussian_process(n):
    x, y = np.linspace(0.0, 3.0, n), RNG.normal(size=n)

    def log_likelihood(u):
        covariance = np.exp(-0.5 * ((x[:, None] - x) / np.exp(u[0])) ** 2) + np.exp(u[1]) * np.eye(n)
        factor = np.linalg.cholesky(covariance)
        white = td.linalg.solve_triangular(factor, y, lower=True)
        return -0.5 * np.sum(white**2) - np.sum(np.log(np.diagonal(factor)))

    return log_likelihood


@pytest.mark.parametrize("n", [5, 64, 150])
def test_a_gaussian_process_calls_no_routine_that_has_threads(n):
    """BLAS wakes its threads for matrices of 100 rows, and waits for them as long as other work keeps the cores."""
    f = gaussian_process(n)
    compiled = td.compile(f, np.array([-1.0, -2.0]))
    td.testing.check_gradient(compiled, f, np.array([-0.9, -2.2]))
    assert "tapediff_dense_cholesky_pullback" in compiled.kernel((0,)).llvm
    assert "tapediff_blas" not in compiled.kernel((0,)).llvm
    assert "tapediff_lapack" not in compiled.kernel((0,)).llvm


LAYOUTS = {
    "as they are": lambda x: x[:15, :20] @ x[:20, :25],
    "transposed": lambda x: x[:20, :15].T @ x[:25, :20].T,
    "every other row": lambda x: x[:30:2, :20] @ x[:20, :25],
    "every other column": lambda x: x[:15, :40:2] @ x[:40:2, :50:2],
    "backwards": lambda x: x[14::-1, 19::-1] @ x[:20, 24::-1],
    "one number, repeated": lambda x: np.broadcast_to(x[0, 0], (15, 20)) @ np.broadcast_to(x[1, 1], (20, 25)),
    "one row, repeated": lambda x: np.broadcast_to(x[0, :20], (15, 20)) @ np.broadcast_to(x[1, :25], (20, 25)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("largest", [2**25, 0])
def test_products_take_every_layout(name, largest, monkeypatch):
    """By the package's own routine and by BLAS, in kernels and listings; 20 terms a sum, so to some ulp."""
    monkeypatch.setattr(lower_matrices, "LARGEST_PRODUCT", largest)
    f, x = LAYOUTS[name], RNG.normal(size=(40, 50))
    compiled = td.compile(f, x)
    assert ("tapediff_blas_dgemm" in compiled.kernel(None).llvm) == (largest == 0)
    y = RNG.normal(size=x.shape)
    np.testing.assert_allclose(compiled(y), f(y), rtol=1e-12, atol=1e-12)
    listed = [np.empty(15 * 25)]
    run_listing(compiled.kernel(None).program, [y], listed)
    np.testing.assert_allclose(listed[0].reshape(15, 25), f(y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("inner", [2, 3, 4, 5])
@pytest.mark.parametrize("shapes", [((7,), ()), ((), (6,)), ((5, 7), (5,)), ((2, 1, 7), (3,)), ((3000,), ())])
def test_products_with_short_sums_are_numpys(inner, shapes):
    """Written out at each element up to a length of 4; rows, stacks and broadcast stacks; zeros, infinities and NaN."""
    before, batch = shapes
    left, right = (*before, inner), (*batch, inner, 2)
    compiled = td.compile(np.matmul, RNG.normal(size=left), RNG.normal(size=right))
    for choices in ([1.0, -2.0, 0.0, -0.0], [1.0, np.inf, -0.0, np.nan]):
        x, y = RNG.choice(choices, left), RNG.choice(choices, right)
        with np.errstate(invalid="ignore"):
            expected = np.matmul(x, y)
        np.testing.assert_array_equal(compiled(x, y), expected)
        if not np.isnan(expected).any():
            # Sums begin at zero, so none of products that are all -0.0 is negative.
            assert not np.signbit(compiled(x, y)[expected == 0.0]).any()


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (3, 1), (8, 8), (3, 16), (16, 3), (20, 2)])
@pytest.mark.parametrize("x_transposed", [False, True])
@pytest.mark.parametrize("y_transposed", [False, True])
def test_products_with_long_sums_for_a_few_elements_are_numpys(shape, x_transposed, y_transposed):
    """By rows, by columns and by elements, in kernels and listings. Sums in another order: some ulp of the terms."""
    m, n = shape

    def f(x, y):
        return (x.T if x_transposed else x) @ (y.T if y_transposed else y)

    x = RNG.normal(size=(300, m) if x_transposed else (m, 300))
    y = RNG.normal(size=(n, 300) if y_transposed else (300, n))
    compiled = td.compile(f, x, y)
    np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-12, atol=1e-12)
    listed = [np.empty(m * n)]
    run_listing(compiled.kernel(None).program, [x, y], listed)
    np.testing.assert_allclose(listed[0].reshape(m, n), f(x, y), rtol=1e-12, atol=1e-12)


def test_a_regression_with_a_few_outputs_takes_one_loop():
    """Products with the weights, their squares, and the weights' cotangents: what is read is read once."""
    x = RNG.normal(size=(500, 3))
    f = lambda w: np.sum((x @ w) ** 2)
    compiled = td.compile(f, RNG.normal(size=(3, 2)))
    td.testing.check_gradient(compiled, f, RNG.normal(size=(3, 2)))
    assert [g.domain for g in compiled.kernel((0,)).program.groups if (g.domain or (0,))[0] == 500] == [(500, 2)]


def test_a_short_product_shares_its_loop_with_what_surrounds_it():
    """One nest computes exponentials, which the other reads in whole rows: products, sines, squares and the sum."""
    y = RNG.normal(size=(3, 3))
    compiled = td.compile(lambda x: np.sum(np.sin(np.exp(x) @ y) ** 2), RNG.normal(size=(50, 3)))
    nests = [g for g in compiled.kernel(None).program.groups if isinstance(g, LoopNest)]
    assert [g.domain for g in nests] == [(50, 3), (50, 3)]


@pytest.mark.parametrize("largest", [2**25, 0])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("view", [False, True])
def test_triangles_are_solved_in_every_layout(largest, lower, view, monkeypatch):
    """By the package's own routine and by BLAS, of a matrix and of a transposed view of one, in kernels and listings."""
    monkeypatch.setattr(lower_matrices, "LARGEST_PRODUCT", largest)
    a, b = RNG.normal(size=(13, 13)) + 5.0 * np.eye(13), RNG.normal(size=(13, 3))
    for trans in (0, 1):

        def f(a, b, trans=trans):
            return td.linalg.solve_triangular(np.transpose(a) if view else a, b, trans=trans, lower=lower)

        compiled = td.compile(f, a, b)
        assert ("tapediff_blas_dtrsm" in compiled.kernel(None).llvm) == (largest == 0)
        np.testing.assert_allclose(compiled(a, b), f(a, b), rtol=1e-12, atol=1e-12)
        listed = [np.empty(39)]
        run_listing(compiled.kernel(None).program, [a, b], listed)
        np.testing.assert_allclose(listed[0].reshape(13, 3), f(a, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("largest", [1024, 0])
def test_a_factor_and_its_pullback_are_the_same_in_listings(largest, monkeypatch):
    """By the package's own routine and by LAPACK; NumPy's in the listing."""
    monkeypatch.setattr(lower_matrices, "LARGEST_FACTOR", largest)
    a = RNG.normal(size=(9, 9))
    a = a @ a.T + np.eye(9)

    def f(a):
        return np.sum(np.sin(np.linalg.cholesky(a)))

    compiled = td.compile(f, a)
    td.testing.check_gradient(compiled, f, a)
    kernel = compiled.kernel((0,))
    assert ("tapediff_lapack_dpotrf" in kernel.llvm) == (largest == 0)
    _, gradient = td.value_and_gradient(compiled, a)
    listed = [np.empty(s.size) for s in kernel.program.storages if s.home == "output"]
    run_listing(kernel.program, [a], listed)
    np.testing.assert_allclose(listed[-1].reshape(9, 9), gradient, rtol=1e-11, atol=1e-11)
