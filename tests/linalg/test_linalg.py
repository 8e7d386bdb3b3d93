"""tapediff.linalg against scipy.linalg, call by call: values, shapes, errors; gradients and second derivatives against differences of SciPy's."""


import inspect
import math
import pickle

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special
from linalg.calls import CALLS, DEFINITE, RNG, TALL, THREE, VECTOR, A, B
from scipy.linalg import solve_triangular as solve_triangular_by_name

import tapediff as td
from tapediff.numpy_api.alternatives import LINALG

TABLE = [(name, k) for name, calls in CALLS.items() for k in range(len(calls))]


def results(value):
    return [np.asarray(part) if isinstance(part, (int, bool)) else part for part in (value if isinstance(value, (tuple, list)) else (value,))]


def weighted(f):
    """One number, with another weight for every entry of every result."""

    def total(*args):
        parts = results(f(*args))
        return sum(np.sum(np.sin(np.arange(1.0, np.size(p) + 1.0)).reshape(np.shape(p)) * p) for p in parts)

    return total


@pytest.mark.parametrize(("name", "k"), TABLE)
def test_values_are_scipys_and_derivatives_those_of_scipys_values(name, k):
    """Gradient in every argument, and a Hessian product, along directions."""
    f, *args = CALLS[name][k]
    ours, theirs = (lambda *a: f(td.linalg, *a)), (lambda *a: f(scipy.linalg, *a))
    tape = td.record(ours, *args)
    expected, found = results(theirs(*args)), results(tape(*args))
    assert [np.shape(p) for p in found] == [np.shape(p) for p in expected]
    assert [np.asarray(p).dtype.kind for p in found] == [np.asarray(p).dtype.kind for p in expected]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13 * np.max(np.abs(other), initial=1.0))  # two orders of operations
    total, plain, every = weighted(ours), weighted(theirs), tuple(range(len(args)))
    gradient = td.record(lambda *a: td.gradient(total, *a, argnums=every), *args)
    slopes = td.value_and_gradient(total, *args, argnums=every)[1]
    rng, step = np.random.default_rng(1), 1e-5
    directions = [rng.normal(size=a.shape) for a in args]
    at = lambda function, s: function(*[a + s * d for a, d in zip(args, directions)])
    difference = (8 * (at(plain, step) - at(plain, -step)) - (at(plain, 2 * step) - at(plain, -2 * step))) / (12 * step)
    slope = sum(np.sum(g * d) for g, d in zip(slopes, directions))
    # SciPy's rounding over the step; the fourth power of the step.
    assert slope == pytest.approx(difference, rel=1e-8, abs=1e-8)
    product = td.jvp(gradient, args, directions)[1]
    for ours_, up, down, more, less in zip(results(product), *(results(at(gradient, s * step)) for s in (1, -1, 2, -2))):
        second = (8 * (up - down) - (more - less)) / (12 * step)
        np.testing.assert_allclose(ours_, second, rtol=1e-6, atol=1e-7 * max(1.0, np.max(np.abs(second))))  # the same of gradients


# Of each kind: operations, loops, LAPACK's routines, and SciPy's functions that kernels call.
COMPILED = [("expm", 2), ("lu", 1), ("solve_banded", 0), ("solveh_banded", 1), ("eigh", 1), ("polar", 1), ("logm", 0), ("block_diag", 0)]


def test_a_kernel_gives_what_the_replay_does():
    """At another point than recorded; inside a scan, as a sub-tape of it; after a pickle."""
    calls = [CALLS[name][k] for name, k in COMPILED]
    starts = np.cumsum([0, *(len(args) for _, *args in calls)])
    arguments = [a for _, *args in calls for a in args]

    def all_of_them(*args):
        return sum(weighted(lambda *a, f=f: f(td.linalg, *a))(*args[i:j]) for (f, *_), i, j in zip(calls, starts, starts[1:]))

    def in_a_loop(*args):
        step = lambda total, factor: (total + all_of_them(*(a * factor for a in args)), None)
        return td.scan(step, 0.0, np.array([1.0, 1.0001]))[0]

    moved, every = [a * 1.0001 for a in arguments], tuple(range(len(arguments)))
    tape = td.record(in_a_loop, *arguments)
    value, gradient = td.value_and_gradient(tape, *moved, argnums=every)
    assert value == pytest.approx(all_of_them(*moved) + all_of_them(*(a * 1.0001 for a in moved)), rel=1e-12)
    fast_value, fast_gradient = td.value_and_gradient(td.compile(tape), *moved, argnums=every)
    assert fast_value == pytest.approx(value, rel=1e-11)
    for slow, fast in zip(gradient, fast_gradient):
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-10 * max(1.0, np.max(np.abs(slow), initial=0.0)))  # conditions of 1000
    again = pickle.loads(pickle.dumps(td.record(all_of_them, *arguments)))
    assert again(*moved) == pytest.approx(all_of_them(*moved), rel=1e-12)


def test_the_names_and_arguments_are_scipys():
    """All of them are in the table of calls. A version of SciPy's may lack an argument."""
    assert sorted(LINALG) == td.linalg.__all__ == sorted(CALLS)
    for name in td.linalg.__all__:
        ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (td.linalg, scipy.linalg))
        assert [k for k in ours if k in theirs or k not in ("overwrite_b", "disp", "blocksize")] == list(theirs), name
        # A default of no class of its own stands for an argument that is not to be given any more.
        given = {k: p.default for k, p in theirs.items() if name not in ("sqrtm", "logm") and type(p.default) is not object}
        assert all(ours[k].default == default for k, default in given.items()), name


def test_scipys_own_names_are_recorded():
    """Called through the module; in a GuardedTape too. After the recording they are SciPy's again, and keep working on plain arrays in it."""
    own = scipy.linalg.expm

    def f(x):
        assert pickle.loads(pickle.dumps(scipy.linalg.expm)) is own
        return np.sum(scipy.linalg.expm(x)) + scipy.linalg.det(np.eye(2)) + scipy.special.logsumexp(x)

    tape = td.GuardedTape(f)
    for x in (A, B):
        td.testing.check_gradient(tape, f, x)
    assert scipy.linalg.expm is own
    assert scipy.linalg.solve_triangular is solve_triangular_by_name


FAILURES = {
    "solve": (lambda m, x: m.solve(x, VECTOR), np.ones((4, 4))),
    "cholesky": (lambda m, x: m.cholesky(x), -np.eye(4)),
    "inv": (lambda m, x: m.inv(x), np.zeros((4, 4))),
    "solve_banded": (lambda m, x: m.solve_banded((1, 1), x[:3], VECTOR), np.zeros((4, 4))),
    "solveh_banded": (lambda m, x: m.solveh_banded(x[:3] + [[0.0], [0.0], [20.0]], VECTOR), -25.0 * np.ones((4, 4))),
    "sqrtm": (lambda m, x: m.sqrtm(x), -np.diag([1.0, 2.0, 3.0, 4.0])),
    "solve_continuous_are": (lambda m, x: m.solve_continuous_are(x, np.zeros((4, 1)), np.eye(4), np.eye(1)), np.eye(4)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_bad_values_raise_what_scipy_raises(name):
    """At a replay and at a recording; SciPy's roots of such matrices are complex. A function that catches the error is not recorded wrongly."""
    f, bad = FAILURES[name]
    tape = td.record(lambda x: np.sum(f(td.linalg, x)), DEFINITE + 2.0 * np.eye(4)[::-1] + np.diag([0.0, 5.0, 9.0, 0.0]))
    if name != "sqrtm":
        with pytest.raises(np.linalg.LinAlgError):
            f(scipy.linalg, bad)
    for target in (tape, lambda x: np.sum(f(td.linalg, x))):
        with pytest.raises(np.linalg.LinAlgError):
            td.gradient(target, bad)

    def caught(x):
        try:
            return np.sum(f(td.linalg, x))
        except np.linalg.LinAlgError:
            return x[0, 0]

    guarded = td.GuardedTape(caught)
    if name in ("solve", "cholesky", "inv", "solve_banded", "solveh_banded"):  # their success is a guard
        assert td.gradient(guarded, bad)[0, 0] == 1.0
    else:
        with pytest.raises(td.UnsupportedFunction, match="which depends on values"):
            td.gradient(guarded, bad)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda m, x: m.solve(x, VECTOR), TALL), (lambda m, x: m.solve(x, VECTOR[:3]), A), (lambda m, x: m.expm(x), THREE),
        (lambda m, x: m.solve(x, VECTOR, assume_a="odd"), A), (lambda m, x: m.solve_banded((2, 2), x, VECTOR), THREE),
        (lambda m, x: m.eigh_tridiagonal(x, x), VECTOR), (lambda m, x: m.qr(x, mode="odd"), A), (lambda m, x: m.lu(x), VECTOR),
        (lambda m, x: m.lstsq(x, VECTOR[:3]), A), (lambda m, x: m.solve_sylvester(x, x, VECTOR), A), (lambda m, x: m.companion(x[:1]), VECTOR),
        (lambda m, x: m.polar(x, "up"), A), (lambda m, x: m.leslie(x, x), VECTOR), (lambda m, x: m.khatri_rao(x, x.T), TALL),
        (lambda m, x: m.convolution_matrix(x, 0), VECTOR), (lambda m, x: m.toeplitz(x)[9], VECTOR),
    ],
)  # fmt: skip
def test_mistakes_raise_errors_of_scipys_kind(f, x):
    with pytest.raises(Exception) as theirs:
        f(scipy.linalg, x)
    with pytest.raises(type(theirs.value)):
        td.record(lambda x: f(td.linalg, x), x)


def test_arguments_that_are_not_there_are_refused_by_name():
    for f, what in (
        (lambda x: td.linalg.eigh(x, subset_by_index=(0, 1))[0], "gives all eigenvalues"), (lambda x: td.linalg.qr(x, mode="raw"), "mode='raw'"),
        (lambda x: td.linalg.svd(x, lapack_driver="gesvd")[1], "gesvd"), (lambda x: td.linalg.eigh(x, x, type=3)[0], "not type=3"),
    ):  # fmt: skip
        with pytest.raises(td.UnsupportedFunction, match=what) as raised:
            td.record(f, A)
        assert "at:  test_linalg.py:" in str(raised.value)


def test_views_lists_and_empty_matrices_are_taken():
    """Strided and reversed operands, lists of tracked numbers, matrices of no rows, float32."""
    part = lambda module: lambda x: np.sum(module.expm(x[::-1, ::2]) * A[:2, :2]) + np.sum(module.solve(x[:, ::-2], x[0, :2]))
    td.testing.check_gradient(part(td.linalg), part(scipy.linalg), RNG.normal(size=(2, 4)))
    h = lambda x: td.linalg.toeplitz([x[0], x[1] * x[2], 1.0])[0, 1]
    np.testing.assert_allclose(td.gradient(h, VECTOR), [0.0, VECTOR[2], VECTOR[1], 0.0])
    for name in ("expm", "inv", "det", "svdvals"):
        empty = getattr(td.linalg, name)
        assert np.shape(td.record(lambda x, empty=empty: empty(x), np.zeros((0, 0)))(np.zeros((0, 0)))) == np.shape(getattr(scipy.linalg, name)(np.zeros((0, 0))))
    assert td.record(lambda x: td.linalg.solve(x, x[0]), A.astype(np.float32))(A.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("scale", [1e-9, 0.3, 4.0, 60.0, 600.0])
def test_the_exponential_is_exact_to_its_condition(scale):
    """Against mpmath, of matrices of every size of norm, far from normal too."""
    far_from_normal = np.array([[1.0, 1e4, 0.0], [0.0, -1.0, 1e4], [0.0, 0.0, 0.5]]) / 1e4
    for x in (scale * A / np.linalg.norm(A), scale * far_from_normal, -scale * DEFINITE / np.linalg.norm(DEFINITE)):
        with mpmath.workdps(60):
            exact = np.array(mpmath.expm(mpmath.matrix(x.tolist())).tolist(), float)
        # As many roundings as squarings double, of exponentials of this norm.
        np.testing.assert_allclose(td.record(td.linalg.expm, x)(x), exact, atol=1e-14 * max(scale, 1.0) * np.max(np.abs(exact)), rtol=0.0)


def test_eigenvectors_have_scipys_signs():
    """In kernels: of symmetric matrices by the routine that SciPy calls, of 50 of them; of numpy.linalg.eigh NumPy's."""
    ours, numpys = (td.compile(lambda x, f=f: f(x)[1], DEFINITE) for f in (td.linalg.eigh, np.linalg.eigh))
    for _ in range(50):
        x = RNG.normal(size=(4, 4))
        np.testing.assert_allclose(ours(x), scipy.linalg.eigh(x)[1], atol=1e-12)
        np.testing.assert_allclose(numpys(x), np.linalg.eigh(x)[1], atol=1e-12)


@pytest.mark.parametrize("backend", ["native", "numba"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_the_gradient_of_the_determinant_of_a_matrix_that_is_not_finite_is_nan(n, bad, backend):
    def f(x):
        return np.linalg.det(np.eye(n) + np.outer(x, x)) + np.sum(np.linalg.det(np.stack([np.eye(n) + x, np.diag(x[::-1])])))

    tape = td.compile(f, np.full(n, 0.1), backend=backend)
    x = np.full(n, 0.1)
    expected = td.gradient(tape, x)
    x[0] = bad
    with np.errstate(all="ignore"):
        assert np.isnan(td.gradient(tape, x)).all()
        assert np.isnan(td.gradient(td.record(f, np.full(n, 0.1)), x)).all()
    np.testing.assert_array_equal(td.gradient(tape, np.full(n, 0.1)), expected)


LENGTHS = {
    "scipy.linalg.norm": scipy.linalg.norm, "td.linalg.norm": td.linalg.norm, "of complex numbers": lambda x: scipy.linalg.norm(x * 1.0j),
    "np.hypot": lambda x: np.hypot(x[0], x[1]), "math.hypot": lambda x: math.hypot(x[0], x[1]), "math.dist": lambda x: math.dist((x[0], 0.0), (0.0, x[1])),
    "abs of a complex number": lambda x: np.abs(x[0] + 1.0j * x[1]), "ord 2": lambda x: scipy.linalg.norm(x, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_whose_squares_over_or_underflow_have_their_value_and_derivatives(name):
    """As SciPy's and C's: 1e-170 and 1e200 are as far from the origin as 1 is; at 0 the derivative is 0."""
    f = LENGTHS[name]
    for scale in (1e-300, 1e-170, 1e-100, 1.0, 1e100, 1e200, 1e300):
        x = scale * np.array([3.0, -4.0])
        for target in (td.record(f, x), td.compile(f, x)):
            # Roundings of the products by 3, 4 and the scale.
            assert target(x) == pytest.approx(5.0 * scale, rel=1e-15)
            np.testing.assert_allclose(td.gradient(target, x), [0.6, -0.8], rtol=1e-15)
            np.testing.assert_allclose(td.hvp(target, x, np.array([1.0, 0.0])) * scale, [0.128, 0.096], rtol=1e-14)
    assert td.gradient(f, np.zeros(2)).tolist() == [0.0, 0.0]


ANGLES = {
    "np.arctan2": lambda x: np.arctan2(x[1], x[0]), "math.atan2": lambda x: math.atan2(x[1], x[0]), "np.angle": lambda x: np.angle(x[0] + 1.0j * x[1]),
    "cmath": lambda x: np.log(x[0] + 1.0j * x[1]).imag,
}  # fmt: skip


@pytest.mark.parametrize("name", ANGLES)
def test_slopes_of_angles_do_not_depend_on_the_scale(name):
    """Of points whose squared distance over- or underflows."""
    f = ANGLES[name]
    for scale in (1e-300, 1e-170, 1.0, 1e170, 1e300):
        x = scale * np.array([3.0, -4.0])
        for target in (td.record(f, x), td.compile(f, x)):
            np.testing.assert_allclose(td.gradient(target, x) * scale, [0.16, 0.12], rtol=1e-14)


def test_lengths_of_float32_stay_float32():
    x = np.array([3e30, 4e30], np.float32)
    for v in (x, 0.0 * x):
        assert td.compile(td.linalg.norm, v)(v).dtype == np.float32
        np.testing.assert_allclose(td.compile(td.linalg.norm, x)(v), scipy.linalg.norm(v), rtol=1e-7)
