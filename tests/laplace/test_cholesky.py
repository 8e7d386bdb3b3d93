"""Sparse Cholesky factorisation: against dense algebra, in every order of elimination, and in time and memory that grow with the fill."""

import numpy as np
import pytest
import scipy.sparse

import tapediff as td
from tapediff.sparse.arrays import Pattern
from tapediff.sparse.cholesky import Cholesky
from tapediff.sparse.order import _ORDERS, _Counted, analysed


def chain(n):
    return scipy.sparse.diags_array([-1.0, 2.3, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()


def lattice(rows, columns):
    one, other = chain(rows), chain(columns)
    return (scipy.sparse.kron(one, scipy.sparse.eye_array(columns)) + scipy.sparse.kron(scipy.sparse.eye_array(rows), other)).tocsr()


def arrow(n, first):
    """A diagonal with one full row, which is the first or the last."""
    head, tail, row = [[float(n)]], scipy.sparse.eye_array(n - 1), np.full((1, n - 1), 0.5)
    return scipy.sparse.csr_array(scipy.sparse.block_array([[head, row], [row.T, tail]] if first else [[tail, row.T], [row, head]]))


def tree(n, rng):
    """A random tree: each node has an edge to one before it, and the nodes are shuffled."""
    edges = np.array([(k, rng.integers(k)) for k in range(1, n)])
    incidence = scipy.sparse.coo_array((np.tile([1.0, -1.0], (n - 1, 1)).ravel(), (np.repeat(np.arange(n - 1), 2), edges.ravel())), shape=(n - 1, n))
    at = rng.permutation(n)
    return ((incidence.T @ incidence + scipy.sparse.eye_array(n)).tocsr()[at][:, at]).tocsr()


def random_matrix(n, rng):
    a = np.where(rng.random((n, n)) < 0.15, rng.normal(size=(n, n)), 0.0)
    return scipy.sparse.csr_array(a @ a.T + np.diag(rng.uniform(0.1, 2.0, n)))


RNG = np.random.default_rng(3)
MATRICES = {
    "chain": chain(17), "lattice": lattice(4, 5), "arrow, first": arrow(9, True), "arrow, last": arrow(9, False), "tree": tree(19, RNG),
    "random": random_matrix(18, RNG), "dense": scipy.sparse.csr_array(np.full((6, 6), 0.5) + np.eye(6)), "one": scipy.sparse.csr_array([[2.5]]),
    "diagonal": scipy.sparse.diags_array(np.arange(1.0, 8.0)).tocsr(), "two parts": scipy.sparse.block_diag([chain(4), lattice(2, 3)]).tocsr(),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("order", [*_ORDERS, "chosen"])
def test_factors_agree_with_dense_algebra(name, order):
    """Solutions, determinant and inverse, for each order; 1e-12 is a hundred roundings for these condition numbers below 100."""
    a = MATRICES[name]
    pattern = Pattern(a.indices, a.indptr, a.shape)
    if order == "chosen":
        factor = td.sparse.cholesky(a)
    else:
        counted = _Counted(pattern, order, _ORDERS[order](pattern))
        assert counted.count(10**9)
        factor = Cholesky(counted.analysis(), a.data)
    dense, n = a.toarray(), a.shape[0]
    one, many = RNG.normal(size=n), RNG.normal(size=(n, 3))
    np.testing.assert_allclose(factor.solve(one), np.linalg.solve(dense, one), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(factor.solve(many), np.linalg.solve(dense, many), rtol=1e-12, atol=1e-12)
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-12)
    inverse, found = np.linalg.inv(dense), factor.inverse_entries()
    rows, columns = pattern.rows, pattern.columns
    np.testing.assert_allclose(found.toarray()[rows, columns], inverse[rows, columns], rtol=1e-11, atol=1e-13)
    assert found.nnz == a.nnz
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(inverse), rtol=1e-11)
    np.testing.assert_allclose(np.sum(factor.half_solve(many.T) ** 2, axis=1), np.diag(many.T @ inverse @ many), rtol=1e-11)
    assert sorted(factor.order) == list(range(n))


@pytest.mark.parametrize("order", _ORDERS)
def test_counted_entries_are_those_of_the_dense_factor(order):
    """The fill is that of numpy's factor of the permuted matrix, whose entries are not zero by chance."""
    a = MATRICES["lattice"]
    pattern = Pattern(a.indices, a.indptr, a.shape)
    counted = _Counted(pattern, order, _ORDERS[order](pattern))
    permuted = a.toarray()[counted.order][:, counted.order]
    expected = np.count_nonzero(np.tril(np.abs(np.linalg.cholesky(permuted)) > 1e-14, -1))
    assert counted.count(expected)
    assert counted.total == expected
    assert not counted.count(expected - 1)


def test_samples_have_the_inverse_as_covariance():
    """Of 200,000 draws: the standard error of a variance of about 1 is 0.003, and five of these are allowed."""
    a = MATRICES["lattice"]
    drawn = td.sparse.cholesky(a).sample(np.random.default_rng(1), 200_000)
    inverse = np.linalg.inv(a.toarray())
    assert np.max(np.abs(np.cov(drawn.T) - inverse)) < 0.016 * np.max(inverse)
    assert td.sparse.cholesky(a).sample(np.random.default_rng(1)).shape == (20,)


def test_trees_bands_and_arrows_fill_nothing_in():
    """So time and memory are linear in n: 100,000 nodes; the orders that fill are not even counted to their end."""
    rng = np.random.default_rng(2)
    n = 100_000
    for a in (chain(n), arrow(n, True), arrow(n, False), tree(20_000, rng)):
        factor = td.sparse.cholesky(a)
        assert factor.fill == 0
        b = rng.normal(size=a.shape[0])
        assert np.max(np.abs(a @ factor.solve(b) - b)) < 1e-8


def test_a_lattice_is_ordered_by_minimum_degree():
    """100 x 100: less than a quarter of the band's entries, which the lattice's own order has."""
    factor = td.sparse.cholesky(lattice(100, 100))
    assert factor.method == "minimum degree"
    assert factor.fill < 200_000


def test_the_matrix_stays_as_it_is_and_formats_do_not_matter():
    """Repeated positions add up, both triangles are read, and SciPy's arrays are not sorted in place."""
    dense = MATRICES["random"].toarray()
    expected = np.linalg.slogdet(dense)[1]
    for kind in ("csr_array", "csc_array", "coo_array", "csr_matrix", "dia_array"):
        assert td.sparse.cholesky(getattr(scipy.sparse, kind)(dense)).logdet() == pytest.approx(expected, rel=1e-12), kind
    a = scipy.sparse.csr_array((np.array([1.0, 3.0, 2.0, 1.0, 5.0]), np.array([1, 0, 0, 0, 1]), np.array([0, 3, 5])), shape=(2, 2))
    before = a.data.copy(), a.indices.copy()
    assert td.sparse.cholesky(a).logdet() == pytest.approx(np.log(24.0))
    assert all(np.array_equal(one, other) for one, other in zip(before, (a.data, a.indices)))
    assert td.sparse.cholesky(td.sparse.csr_array(MATRICES["chain"])).logdet() == pytest.approx(np.linalg.slogdet(chain(17).toarray())[1])


def test_errors_name_the_row():
    """Of the user's matrix, not of the order; NaN is no pivot."""
    bad = lattice(4, 5).tolil()
    bad[7, 7] = -1.0
    with pytest.raises(td.NotPositiveDefinite, match="in row") as caught:
        td.sparse.cholesky(bad.tocsr())
    assert isinstance(caught.value, np.linalg.LinAlgError)
    diagonal = np.ones(5)
    for value in (-2.0, 0.0, np.nan):
        diagonal[3] = value
        with pytest.raises(td.NotPositiveDefinite) as caught:
            td.sparse.cholesky(scipy.sparse.diags_array(diagonal))
        assert caught.value.index == 3
    with pytest.raises(td.ArgumentMismatch, match="symmetric"):
        td.sparse.cholesky(scipy.sparse.csr_array(np.triu(np.ones((3, 3)))))
    with pytest.raises(td.ShapeMismatch, match="square"):
        td.sparse.cholesky(scipy.sparse.csr_array(np.ones((3, 2))))
    with pytest.raises(td.ShapeMismatch, match="right-hand side"):
        td.sparse.cholesky(chain(3)).solve(np.ones(4))
    with pytest.raises(td.TrackedValueEscaped, match="spsolve"):
        td.record(lambda e: td.sparse.cholesky(td.sparse.csr_array((e, np.arange(3), np.arange(4)))).logdet(), np.ones(3))


def test_patterns_are_analysed_once_for_many_matrices():
    """Other entries with the same analysis; a shift is added to the diagonal, also where the pattern has none."""
    a = MATRICES["lattice"]
    analysis = analysed(Pattern(a.indices, a.indptr, a.shape))
    other = Cholesky(analysis, 3.0 * a.data, 0.5)
    assert other.logdet() == pytest.approx(np.linalg.slogdet(3.0 * a.toarray() + 0.5 * np.eye(20))[1], rel=1e-12)
    empty = Cholesky(analysed(Pattern(np.array([1, 0]), np.array([0, 1, 2]), (2, 2))), np.array([0.5, 0.5]), 2.0)
    assert empty.logdet() == pytest.approx(np.log(3.75))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda F: td.sparse.cholesky(np.eye(3)), td.ArgumentMismatch, "takes a sparse matrix"),
        (lambda F: td.sparse.spsolve(np.eye(3), np.ones(3)), td.ArgumentMismatch, "takes a sparse matrix"),
        (lambda F: td.sparse.cholesky(scipy.sparse.diags_array([1.0, np.nan])), td.NotPositiveDefinite, "made entries infinite or NaN"),
        (lambda F: F.solve(np.ones(3) * 1j), td.DtypeMismatch, "complex128"),
        (lambda F: F.solve(scipy.sparse.eye_array(3)), td.DtypeMismatch, "toarray"),
        (lambda F: td.gradient(lambda x: np.sum(F.solve(x)), np.ones(3)), td.TrackedValueEscaped, "spsolve"),
        (lambda F: F.sample(7), td.ArgumentMismatch, "default_rng"),
        (lambda F: F.sample(np.random.default_rng(0), -1), td.ArgumentMismatch, "size=-1"),
    ],
)
def test_what_does_not_fit_a_factorisation_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(td.sparse.cholesky(scipy.sparse.eye_array(3)))


def test_a_matrix_without_rows_has_determinant_one():
    assert td.sparse.cholesky(scipy.sparse.csr_array((0, 0))).logdet() == 0.0
