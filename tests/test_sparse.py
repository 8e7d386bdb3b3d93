"""Sparse matrices: SciPy's as constants and arguments, this package's own with tracked entries, and solves."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tapediff as td

RNG = np.random.default_rng(5)
DENSE = np.where(RNG.random((5, 4)) < 0.4, RNG.normal(size=(5, 4)), 0.0)
X, Y, WIDE = RNG.normal(size=4), RNG.normal(size=5), RNG.normal(size=(4, 3))
FORMATS = [f"{name}_{kind}" for kind in ("array", "matrix") for name in ("csr", "csc", "coo", "dia", "lil", "dok", "bsr")]
SQUARE = np.where(RNG.random((6, 6)) < 0.3, RNG.normal(size=(6, 6)), 0.0) + 4.0 * np.eye(6)


def total(value):
    """The sum of the sines of all entries, of a dense or a sparse array."""
    return np.sum(np.sin(value.toarray() if hasattr(value, "toarray") else value))


# A program, and whether spmatrix, whose `*` is a product of matrices, has it.
PROGRAMS = {
    "A @ x": lambda a, x, y, w: a @ x, "A.T @ y": lambda a, x, y, w: a.T @ y, "y @ A": lambda a, x, y, w: y @ a,
    "A @ W": lambda a, x, y, w: a @ w, "W.T @ A.T": lambda a, x, y, w: w.T @ a.T, "A.dot(x)": lambda a, x, y, w: a.dot(x),
    "A.multiply(x)": lambda a, x, y, w: a.multiply(x), "A.multiply(y[:, None])": lambda a, x, y, w: a.multiply(y[:, None]),
    "A * x[0]": lambda a, x, y, w: a * x[0], "x[0] * A": lambda a, x, y, w: x[0] * a,
    "A.multiply(x).sum(axis=0)": lambda a, x, y, w: a.multiply(x).sum(axis=0),
    "np.sum": lambda a, x, y, w: np.sum(a.multiply(y[:, None])), "(A * y[0]).T @ y": lambda a, x, y, w: (a * y[0]).T @ y,
    "diagonal": lambda a, x, y, w: a.multiply(x).diagonal(-1), "difference": lambda a, x, y, w: (a * x[0] - a).tocsr() @ x,
}  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
def test_programs_with_scipys_matrices_are_recorded_as_they_stand(format_):
    """Value and gradient in every operand are those of the plain program, for all of SciPy's formats."""
    a = getattr(scipy.sparse, format_)(DENSE)
    for name in PROGRAMS if format_ in ("csr_array", "coo_matrix") else ("A @ x", "y @ A", "A.multiply(x)", "A * x[0]"):
        program = PROGRAMS[name]
        point = np.concatenate([X, Y, np.ravel(WIDE)])
        f = lambda p, program=program: total(program(a, p[:4], p[4:9], p[9:].reshape(4, 3)))
        value, gradient = td.value_and_gradient(f, point)
        assert value == pytest.approx(f(point), rel=1e-12), name
        dense = total_of_dense(name, point)
        if dense is not None:
            np.testing.assert_allclose(gradient, td.gradient(dense, point), rtol=1e-12, atol=1e-14, err_msg=name)


def total_of_dense(name, point):
    """The same program with a dense matrix, where NumPy has it."""
    if name in ("A @ x", "A.T @ y", "y @ A", "A @ W", "W.T @ A.T", "A * x[0]", "x[0] * A", "(A * y[0]).T @ y"):
        return lambda p: total(PROGRAMS[name](DENSE, p[:4], p[4:9], p[9:].reshape(4, 3)))
    return None


def test_stars_are_those_of_scipys_classes():
    """csr_matrix * x is a product of matrices, csr_array * x one of entries, from both sides; what would be an np.matrix is refused."""
    matrix, array = scipy.sparse.csr_matrix(DENSE), scipy.sparse.csr_array(DENSE)
    np.testing.assert_allclose(td.record(lambda x: matrix * x, X)(X), DENSE @ X)
    np.testing.assert_allclose(td.record(lambda y: y * matrix, Y)(Y), Y @ DENSE)
    np.testing.assert_allclose(td.record(lambda x: (array * x).toarray(), X)(X), DENSE * X)
    np.testing.assert_allclose(td.record(lambda x: (x * array / x[0]).toarray(), X)(X), DENSE * X / X[0])
    dense = RNG.normal(size=(5, 4))
    np.testing.assert_allclose(td.record(lambda d: array + d, dense)(dense), DENSE + dense)
    np.testing.assert_allclose(td.record(lambda d: d - array, dense)(dense), dense - DENSE)
    for program in (lambda d: matrix + d, lambda d: matrix.multiply(d).todense()):
        with pytest.raises(td.UnsupportedFunction, match=r"would be an np\.matrix"):
            td.record(program, dense)


def test_entries_are_tracked_and_the_pattern_is_fixed():
    """Rows, columns and triplets (with a position twice) as SciPy reads them; derivatives to second order, compiled and not."""
    a, rows, columns = scipy.sparse.csr_array(DENSE), np.array([4, 0, 2, 0]), np.array([1, 3, 2, 3])
    by_columns = scipy.sparse.csc_array(DENSE)
    makers = {
        "csr_array": (a.data, lambda module, e: module.csr_array((e, a.indices, a.indptr), shape=a.shape)),
        "csc_array": (by_columns.data, lambda module, e: module.csc_array((e, by_columns.indices, by_columns.indptr), shape=a.shape)),
        "coo_array": (RNG.normal(size=4), lambda module, e: module.coo_array((e, (rows, columns)), shape=a.shape)),
    }
    for entries, make in makers.values():
        f = lambda e, make=make: np.sum((make(td.sparse, np.exp(e)) @ X) ** 3) + np.sum(make(td.sparse, e).T @ Y)
        plain = lambda e, make=make: np.sum((make(scipy.sparse, np.exp(e)) @ X) ** 3) + np.sum(make(scipy.sparse, e).T @ Y)
        td.testing.check_gradient(f, plain, entries)
        compiled = td.compile(f, entries)
        td.testing.check_gradient(compiled, plain, entries + 0.1)
        v = RNG.normal(size=entries.shape)
        along = lambda t, f=f, e=entries, v=v: np.sum(td.gradient(f, e + t * v) * v)
        expected = (along(1e-5) - along(-1e-5)) / 2e-5
        # A central difference of a gradient, of step 1e-5, has an error of 1e-10 relative, and loses 1e-11 to rounding.
        assert v @ td.hvp(compiled, entries, v) == pytest.approx(expected, rel=1e-8)


def test_matrices_are_arguments_with_other_entries_at_later_calls():
    """td.Constant or not; compiled once, the pattern is part of what a tape is specialised on, and a gradient has the pattern."""
    first, second = scipy.sparse.csr_array(DENSE), 2.0 * scipy.sparse.csr_array(DENSE)
    f = lambda x, a: np.sum(np.exp(a @ x))
    tape = td.GuardedTape(f)
    for matrix in (first, second):
        assert tape(X, td.Constant(matrix)) == pytest.approx(f(X, matrix), rel=1e-13)
    assert tape.stats.recordings == 1
    compiled = td.compile(f, X, td.Constant(first))
    assert compiled(X, td.Constant(second)) == pytest.approx(f(X, second), rel=1e-13)
    gradient = td.gradient(f, X, first, argnums=1)
    expected = np.where(DENSE != 0.0, np.exp(DENSE @ X)[:, None] * X, 0.0)
    np.testing.assert_allclose(gradient.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize("format_", ["csr_array", "csc_array", "coo_array"])
@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_spsolve_solves_for_tracked_entries_and_right_sides(format_, shape):
    """As SciPy's, with derivatives in both to second order, compiled and not; the pattern of other calls is the same."""
    a, b = getattr(scipy.sparse, format_)(SQUARE), RNG.normal(size=shape)
    entries = td.sparse.csr_array(a).data

    def f(p):
        matrix = td.sparse.csr_array(a)
        matrix.data = p[: len(entries)]
        return np.sum(np.sin(td.sparse.spsolve(matrix, p[len(entries) :].reshape(shape))))

    def plain(p):
        matrix = td.sparse.csr_array(a)
        matrix.data = p[: len(entries)]
        return np.sum(np.sin(np.linalg.solve(matrix.toarray(), p[len(entries) :].reshape(shape))))

    point = np.concatenate([entries, np.ravel(b)])
    compiled = td.compile(f, point)
    td.testing.check_gradient(f, plain, point)
    td.testing.check_gradient(compiled, plain, point + 0.01)
    np.testing.assert_allclose(td.hessian(compiled, point), td.hessian(plain, point), rtol=1e-9, atol=1e-11)


def test_scipys_spsolve_is_answered_by_its_own_name():
    """In the namespace of scipy.sparse.linalg; its error names td.sparse.spsolve where it was imported before. The tape can be pickled."""
    a, b = scipy.sparse.csc_array(SQUARE), RNG.normal(size=6)
    f = lambda b: np.sum(scipy.sparse.linalg.spsolve(a, b) ** 2)
    td.testing.check_gradient(f, f, b)
    imported_before = scipy.sparse.linalg.spsolve
    with pytest.raises(td.TrackedValueEscaped, match=r"tapediff\.sparse has .* spsolve"):
        td.record(lambda b: imported_before(a, b), b)
    tape = td.record(f, b)
    assert pickle.loads(pickle.dumps(tape))(2.0 * b) == pytest.approx(4.0 * f(b), rel=1e-12)
    with pytest.raises(RuntimeError, match="singular"):
        td.record(lambda b: td.sparse.spsolve(scipy.sparse.csc_array((6, 6)), b), b)


def test_patterns_of_derivatives_follow_sparse_products():
    """The Hessian of a sum over a sparse product has the pattern of A^T A, and no more; its Jacobian that of A."""
    a = scipy.sparse.diags_array([1.0, -2.0], offsets=[0, 1], shape=(9, 9)).tocsr()
    x = RNG.normal(size=9)
    hessian = td.sparse_hessian(lambda x: np.sum(np.exp(a @ x)), x)
    assert hessian.nnz == (a.T @ a).nnz
    jacobian = td.sparse_jacobian(lambda x: np.sin(a @ x), x)
    assert jacobian.nnz == a.nnz
    np.testing.assert_allclose(jacobian.toarray(), np.cos(a @ x)[:, None] * a.toarray(), rtol=1e-12)


def test_what_does_not_fit_is_refused():
    """Sizes as NumPy would; products of two sparse matrices, complex entries and what needs values, by errors that say what to do."""
    a = scipy.sparse.csr_array(DENSE)
    with pytest.raises(ValueError, match="dimension mismatch"):
        td.record(lambda y: a @ y, Y)
    with pytest.raises(ValueError, match="out of bounds"):
        td.sparse.csr_array((np.ones(1), [7], [0, 1]), shape=(1, 4))
    with pytest.raises(td.UnsupportedFunction, match="two sparse matrices"):
        td.record(lambda x: a.multiply(x) @ a.T, X)
    with pytest.raises(td.UnsupportedFunction, match="complex"):
        td.record(lambda x: (a * 1j) @ x, X)
    with pytest.raises(td.UnsupportedFunction, match="max"):
        td.record(lambda x: a.multiply(x).max(), X)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array, scipy.sparse.csr_matrix])
def test_every_target_gives_gradients_by_a_matrix_of_scipys(make):
    matrix = make(scipy.sparse.diags_array([2.0, -1.0], offsets=[0, 1], shape=(3, 3)))
    x = np.array([0.5, -1.0, 2.0])

    def loss(x, A):
        return np.sum((A @ x) ** 2)

    expected = 2 * np.outer(matrix @ x, x) * (matrix.toarray() != 0)
    compiled = td.compile(loss, x, matrix)
    for target in (loss, td.record(loss, x, matrix), compiled, td.GuardedTape(loss)):
        for _ in range(2):
            np.testing.assert_allclose(td.gradient(target, x, matrix, argnums=1).toarray(), expected, rtol=1e-13)
            by_x, by_matrix = td.value_and_gradient(target, x, matrix, argnums=(0, 1))[1]
            np.testing.assert_allclose(by_matrix.toarray(), expected, rtol=1e-13)
            np.testing.assert_allclose(by_x, 2 * matrix.T @ (matrix @ x), rtol=1e-13)
    for _ in range(3):
        np.testing.assert_allclose(td.grad(loss, argnums=1)(x, matrix).toarray(), expected, rtol=1e-13)
    within = td.gradient(td.GuardedTape(lambda d: loss(d["x"], d["A"])), {"x": x, "A": matrix})
    np.testing.assert_allclose(within["A"].toarray(), expected, rtol=1e-13)
    values, gradients = compiled.batch(np.stack([x, 2 * x]), matrix)
    np.testing.assert_allclose(values, [loss(x, matrix), loss(2 * x, matrix)], rtol=1e-13)
    np.testing.assert_allclose(gradients[1], 4 * matrix.T @ (matrix @ x), rtol=1e-13)


def test_a_matrix_of_another_kind_is_no_gradient_of_one():
    matrix = scipy.sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    compiled = td.compile(lambda x, A: np.sum(A @ x), np.ones(2), matrix)
    for other in (scipy.sparse.csc_array(matrix), scipy.sparse.csr_array(np.array([[1.0, 1.0], [2.0, 3.0]]))):
        with pytest.raises(td.ArgumentMismatch):
            compiled(np.ones(2), other)


# As finite elements are assembled: positions several times, in a row one after the other and apart, no row in the order of its columns.
AT = np.array([0, 5, 2, 2, 1, 3, 4, 4, 0, 2, 5, 1, 3, 0, 0, 0, 0, 0, 0, 0]), np.array([0, 5, 4, 2, 1, 3, 4, 4, 5, 4, 1, 1, 0, 3, 3, 3, 3, 3, 3, 5])
PARTS = np.concatenate([RNG.uniform(3.0, 4.0, 8), RNG.uniform(0.1, 0.3, len(AT[0]) - 8)])


def compressed(along, across):
    order = np.argsort(along, kind="stable")
    return order, across[order], np.searchsorted(along[order], np.arange(7))


ROWWISE, COLUMNWISE = compressed(*AT), compressed(*reversed(AT))
ASSEMBLED = {
    "coo": lambda module, v, as_: module.coo_array((v, (as_(AT[0]), as_(AT[1]))), shape=(6, 6)),
    "csr": lambda module, v, as_: module.csr_array((v[ROWWISE[0]], as_(ROWWISE[1]), as_(ROWWISE[2])), shape=(6, 6)),
    "csc": lambda module, v, as_: module.csc_array((v[COLUMNWISE[0]], as_(COLUMNWISE[1]), as_(COLUMNWISE[2])), shape=(6, 6)),
}
SIDE = RNG.normal(size=(6, 19))
OF_ASSEMBLED = {
    "A @ b": lambda solve, a: a @ SIDE[:, 0], "A @ B": lambda solve, a: a @ SIDE, "A.T @ B": lambda solve, a: a.T @ SIDE,
    "b @ A": lambda solve, a: SIDE[:, 0] @ a, "A.multiply": lambda solve, a: a.multiply(SIDE[:, :6]).sum(axis=0),
    "A + A.T": lambda solve, a: (a + a.T) @ SIDE[:, 1], "diagonal": lambda solve, a: a.diagonal(), "sum": lambda solve, a: a.sum(axis=1),
    "solve b": lambda solve, a: solve(a, SIDE[:, 0]), "solve B": lambda solve, a: solve(a, SIDE[:, :2]), "solve A.T": lambda solve, a: solve(a.T, SIDE[:, 0]),
}  # fmt: skip


def read_only(kind):
    def made(numbers):
        found = numbers.astype(kind)
        found.flags.writeable = False
        return found

    return made


@pytest.mark.parametrize("kind", ["i4", "i8", "u4", "u8", "i2"])
@pytest.mark.parametrize("make", ASSEMBLED)
def test_repeated_and_unsorted_positions_add_up(make, kind):
    """In every operation as in SciPy, to second order, compiled and not; indices of every type, which nobody may write to."""
    for name, program in OF_ASSEMBLED.items() if kind == "i4" else [(name, OF_ASSEMBLED[name]) for name in ("A @ b", "solve b")]:
        f = lambda v, program=program: total(program(td.sparse.spsolve, ASSEMBLED[make](td.sparse, v, read_only(kind))))

        def plain(v, program=program):
            solve = lambda a, b: scipy.sparse.linalg.spsolve(a.tocsc(), b)  # of others it warns
            return total(program(solve, ASSEMBLED[make](scipy.sparse, v, lambda numbers: numbers.astype("i4"))))

        point = PARTS.copy()
        point.flags.writeable = False
        td.testing.check_gradient(f, plain, point)
        compiled = td.compile(f, point)
        td.testing.check_gradient(compiled, plain, point + 0.01)
        v = RNG.normal(size=point.shape)
        along = lambda t, f=f, v=v: td.gradient(f, PARTS + t * v) @ v
        # A central difference of a gradient, of step 1e-5, has an error of 1e-10 relative, and loses 1e-11 to rounding.
        expected = (along(1e-5) - along(-1e-5)) / 2e-5
        assert v @ td.hvp(compiled, point, v) == pytest.approx(expected, rel=1e-7, abs=1e-9), name


@pytest.mark.parametrize("make", ASSEMBLED)
def test_scipys_matrices_with_repeated_positions_are_constants_and_arguments(make):
    """Also those whose arrays nobody may write to, which stay as they are. A gradient by the matrix has each position once."""
    matrix, b = ASSEMBLED[make](scipy.sparse, PARTS, lambda numbers: numbers.astype("i4")), SIDE[:, 0]
    dense = matrix.toarray()
    arrays = [*matrix.coords, matrix.data] if make == "coo" else [matrix.indices, matrix.indptr, matrix.data]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    for solve in (td.sparse.spsolve, lambda a, b: scipy.sparse.linalg.spsolve(a if td.is_recording() else scipy.sparse.csc_array(a, copy=True), b)):
        f = lambda b, solve=solve: np.sum(np.sin(solve(matrix, b))) + np.sum((matrix @ b) ** 2)
        plain = lambda b: np.sum(np.sin(np.linalg.solve(dense, b))) + np.sum((dense @ b) ** 2)
        td.testing.check_gradient(f, plain, b)
        td.testing.check_gradient(td.compile(f, b), plain, b + 0.1)
    of_matrix = lambda a: np.sum(np.sin(td.sparse.spsolve(a, b))) + np.sum((a @ b) ** 2)
    of_dense = lambda a: np.sum(np.sin(np.linalg.solve(a, b))) + np.sum((a @ b) ** 2)
    expected = np.where(dense != 0.0, td.gradient(of_dense, dense), 0.0)
    for target in (of_matrix, td.GuardedTape(of_matrix), td.compile(of_matrix, matrix)):
        gradient = td.gradient(target, matrix)
        np.testing.assert_allclose(gradient.toarray(), expected, rtol=1e-11, atol=1e-13)  # of two factorisations
        tangent = gradient * 1.0
        assert np.sum(gradient.data * tangent.data) == pytest.approx(np.sum(expected**2), rel=1e-11)
        with pytest.raises(td.ArgumentMismatch, match="does not hold the arrays"):
            td.gradient(target, matrix, out=ASSEMBLED[make](scipy.sparse, PARTS, np.array))
    assert all(map(np.array_equal, arrays, before))


@pytest.mark.parametrize("format_", FORMATS)
def test_what_out_gives_as_copies_is_refused_and_nothing_is_lost(format_):
    """Of SciPy's formats those by rows and by columns hold the entries of a gradient."""
    matrix = getattr(scipy.sparse, format_)(DENSE)
    f = lambda a: np.sum(np.exp(a @ X))
    out = getattr(scipy.sparse, format_)(DENSE)
    expected = td.gradient(f, matrix)
    if format_.startswith(("csr", "csc")):
        assert td.gradient(f, matrix, out=out) is out
        np.testing.assert_array_equal(out.toarray(), expected.toarray())
    else:
        with pytest.raises(td.ArgumentMismatch, match="does not hold the arrays"):
            td.gradient(f, matrix, out=out)
        assert np.array_equal(out.toarray(), DENSE)


@pytest.mark.parametrize("dtype", [int, np.int32, np.float32, bool])
def test_entries_of_other_types_are_solved_with_as_floats(dtype):
    entries, at = np.array([2, 1, 1, 1]).astype(dtype), (np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]))
    matrix = td.sparse.coo_array((entries, at), shape=(2, 2))
    if dtype is not bool:
        np.testing.assert_allclose(td.sparse.spsolve(matrix, np.array([5.0, 3.0])), [2.0, 1.0], rtol=1e-14)
    f = lambda b: np.sum(td.sparse.spsolve(matrix + td.sparse.coo_array((np.array([1.0]), ([0], [0])), shape=(2, 2)), b) ** 2)
    td.testing.check_gradient(f, f, np.array([5.0, 3.0]))
    with pytest.raises(ValueError, match="must be integers"):
        td.sparse.coo_array((entries, (at[0] * 0.5, at[1])), shape=(2, 2))
