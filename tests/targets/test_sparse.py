"""Sparse Jacobians and Hessians against the dense ones, and how few products they take."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tapediff as td
from tapediff.targets.tapes.matrix_tapes import hessian_sweeps, jacobian_sweeps
from tests.support.scenarios import SCALAR, SCENARIOS, targets_of

CLOSE = {"rtol": 1e-11, "atol": 1e-11}
ARRAYS = [s for s in SCENARIOS if np.ndim(s.first)]


@pytest.mark.parametrize("kind", ["function", "tape", "compiled", "guarded"])
@pytest.mark.parametrize("scenario", ARRAYS, ids=lambda s: s.name)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_matrices_are_the_dense_ones(scenario, kind, format):
    """At other points than the recorded one, on the other path, twice."""
    target = targets_of(scenario.f, scenario.first)[kind]
    points = scenario.points
    if scenario.other_path is not None and kind in ("function", "guarded"):
        points = (*points, scenario.other_path)
    for x in points:
        for _ in range(2):
            found = td.sparse_jacobian(target, x, format=format)
            assert found.format == format
            np.testing.assert_allclose(found.toarray(), np.reshape(scenario.jacobian(x), (-1, x.size)), **CLOSE)
            if scenario.hessian is not None:
                found = td.sparse_hessian(target, x, format=format)
                np.testing.assert_allclose(found.toarray(), np.reshape(scenario.hessian(x), (x.size, x.size)), **CLOSE)


def test_further_arguments_may_be_given_by_name():
    """For functions, tapes, compiled and guarded tapes."""
    f = lambda x, s: np.sum(s * x**3)
    x, s = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    for target in targets_of(f, x, s).values():
        np.testing.assert_allclose(td.sparse_hessian(target, x, s=s).toarray(), np.diag(6.0 * s * x))
        np.testing.assert_allclose(td.sparse_jacobian(target, x, s=s).toarray(), [3.0 * s * x**2])


def test_what_is_done_to_a_result_does_not_reach_the_next():
    """The values are its own. The indices are shared, and so read-only; those of a copy are not."""
    chain = next(s for s in SCALAR if s.name == "a chain")
    compiled = td.compile(chain.f, chain.first)
    first = td.sparse_hessian(compiled, chain.first)
    expected = first.toarray()
    first.data[:] = 0.0
    for change in (lambda: first.indices.__setitem__(0, 1), lambda: first.indptr.__setitem__(0, 1), first.eliminate_zeros):
        with pytest.raises(ValueError, match="read-only"):
            change()
    copied = first.copy()
    copied.eliminate_zeros()
    assert copied.nnz == 0
    assert np.array_equal(td.sparse_hessian(compiled, chain.first).toarray(), expected)


@pytest.mark.parametrize(("f", "count"), [
    (lambda x: np.sum(np.sin(x)), 1),
    (lambda x: np.sum(x[1:] * x[:-1]), 3),
    (lambda x: np.sum(x[2:] * x[:-2] * x[1:-1]), 5),
    (lambda x: np.sum(x[1:] ** 2) * np.exp(x[0]), 2),
    (lambda x: np.sum(x.reshape(-1, 4).sum(axis=1) ** 2), 4),
])  # fmt: skip
def test_the_number_of_products_does_not_grow_with_the_size(f, count):
    """Diagonal, chain, band, arrow, blocks."""
    for n in (40, 400):
        tape = td.record(f, np.linspace(0.1, 1.0, n))
        assert hessian_sweeps(tape, (0,)).count == count


def test_rows_are_compressed_where_columns_cannot_be():
    """A full column has entries in all rows."""
    tape = td.record(lambda x: x[1:] * x[0], np.ones(50))
    sweeps = jacobian_sweeps(tape, (0,), None)
    assert (sweeps.count, sweeps.forward) == (2, True)
    tape = td.record(lambda x: np.concatenate([x**2, [np.sum(x)]]), np.ones(50))
    sweeps = jacobian_sweeps(tape, (0,), None)
    assert (sweeps.count, sweeps.forward) == (2, False)


def test_a_linear_operator_solves_least_squares():
    """By products alone; of vectors and of matrices."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(9, 4))
    f = lambda x: np.sin(a @ x)
    x = rng.normal(size=4)
    jacobian = np.cos(a @ x)[:, None] * a
    for target in targets_of(f, x).values():
        operator = td.linear_operator(target, x)
        assert operator.shape == (9, 4)
        m, w = rng.normal(size=(4, 3)), rng.normal(size=(9, 2))
        np.testing.assert_allclose(operator @ m[:, 0], jacobian @ m[:, 0], **CLOSE)
        np.testing.assert_allclose(operator.matmat(m), jacobian @ m, **CLOSE)
        np.testing.assert_allclose(operator.rmatvec(w[:, 0]), w[:, 0] @ jacobian, **CLOSE)
        np.testing.assert_allclose(operator.rmatmat(w), jacobian.T @ w, **CLOSE)
        b = rng.normal(size=9)
        found = scipy.sparse.linalg.lsqr(operator, b, atol=1e-14, btol=1e-14)[0]
        np.testing.assert_allclose(found, np.linalg.lstsq(jacobian, b)[0], rtol=1e-8)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: td.sparse_jacobian(lambda x: (x, x), np.ones(2)), "one result"),
    (lambda: td.sparse_jacobian(np.sin, np.ones(2), format="coo"), "format of a sparse array"),
    (lambda: td.sparse_hessian(np.sin, np.ones(2)), "returned an array"),
    (lambda: td.sparse_jacobian(np.sin, np.ones(2), argnums=(0,)), "by one argument"),
    (lambda: td.gradient(lambda x: np.sum(td.sparse_jacobian(np.sin, x) @ x), np.ones(2)), "cannot hold tracked values"),
])  # fmt: skip
def test_what_cannot_be_sparse_is_refused(call, said):
    """With a way round."""
    with pytest.raises(td.TapediffError, match=said):
        call()
    assert not td.is_recording()


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: x**2, np.zeros(0)), (lambda x: np.sum(np.sin(x), axis=0), np.zeros((0, 3))), (lambda x: x[:0], np.ones(3)),
], ids=["no arguments", "no terms", "no results"])  # fmt: skip
def test_arrays_without_elements_have_matrices_without_entries(f, x):
    """Sparse, and as operators, whose products have the right shapes."""
    for target in targets_of(f, x).values():
        shape = (f(x).size, x.size)
        assert td.sparse_jacobian(target, x).shape == shape
        operator = td.linear_operator(target, x)
        assert (operator @ np.ones((shape[1], 4))).shape == (shape[0], 4)
        assert operator.rmatmat(np.ones((shape[0], 4))).shape == (shape[1], 4)
        assert (operator @ np.ones(shape[1])).shape == (shape[0],)
