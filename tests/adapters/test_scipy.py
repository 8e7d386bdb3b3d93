"""SciPy's optimisers and integrators on compiled targets: the same answers as with their own differences, and few evaluations."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import integrate, optimize

import tapediff as td
from tapediff.adapters import scipy as adapter


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def van_der_pol(t, y, mu):
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


def with_data(x, y):
    return np.sum(y * x)


VAN_DER_POL = adapter.RightHandSide(van_der_pol)
START = np.array([0.8, 1.2, 0.7, 1.4])  # from elsewhere some methods find the other minimum, at x[0] = -0.8


TAPES = td.GuardedTape(rosenbrock)  # of all tests, so that it is compiled once
BOWL = td.GuardedTape(lambda x: (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2)
BY_PRODUCTS = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]


@pytest.mark.parametrize("method", ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", *BY_PRODUCTS, "trust-exact", "dogleg"])
def test_every_method_of_minimize_finds_the_minimum(method):
    """With gradients, and Hessians or products where the method takes them."""
    f = adapter.Objective(TAPES)
    start = START if method != "dogleg" else np.array([1.1, 1.2, 1.4, 1.9])  # where the Hessian is positive definite
    second = {"hess": f.hess} if method in ("trust-exact", "dogleg") else {"hessp": f.hessp} if method in BY_PRODUCTS else {}
    found = optimize.minimize(f, start, jac=f.jac, method=method, **second)
    np.testing.assert_allclose(found.x, 1.0, atol=2e-3)  # the methods' own tolerances
    assert f.evaluations <= found.nfev + 2


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_methods_without_derivatives_find_the_minimum(method):
    f = adapter.Objective(BOWL)
    found = optimize.minimize(f, np.array([0.5, 0.5]), method=method)
    np.testing.assert_allclose(found.x, [2.0, 1.0], atol=1e-3)  # the methods' own tolerances


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYQA"])
def test_constraints_hold_at_the_minimum(method):
    """The circle's point next to (2, 1), which the constraint's derivatives lead to."""
    f = adapter.Objective(BOWL)
    circle = adapter.constraint(lambda x: np.sum(x**2, keepdims=True), 1.0, 1.0, hessian=method != "SLSQP")
    options = {} if method == "COBYQA" else {"jac": f.jac}
    found = optimize.minimize(f, np.array([0.5, 0.5]), method=method, constraints=[circle], **options)
    np.testing.assert_allclose(found.x, np.array([2.0, 1.0]) / np.sqrt(5.0), atol=1e-4)  # the methods' tolerances


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_roots_are_found_by_the_jacobian(method):
    system = adapter.Residuals(lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 4.0, x[0] * x[1] - 1.0]))
    found = optimize.root(system, np.array([2.0, 0.3]), jac=system.jac, method=method)
    np.testing.assert_allclose([found.x[0] ** 2 + found.x[1] ** 2, found.x[0] * found.x[1]], [4.0, 1.0], rtol=1e-10)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_stiff_equations_are_integrated_by_the_jacobian(method):
    """As with SciPy's own differences, which their Jacobians agree with."""
    ours = integrate.solve_ivp(VAN_DER_POL, (0, 5), [2.0, 0.0], method, jac=VAN_DER_POL.jac, args=(20.0,), rtol=1e-7)
    plain = integrate.solve_ivp(van_der_pol, (0, 5), [2.0, 0.0], method, args=(20.0,), rtol=1e-7)
    np.testing.assert_allclose(ours.y[:, -1], plain.y[:, -1], rtol=1e-4)  # of steps that differ a little
    assert method == "LSODA" or ours.njev <= plain.njev + 1


def test_threads_that_share_an_objective_get_the_answers_of_their_points():
    """As with workers= of differential_evolution; and it can be pickled, for those that are processes."""
    f, points = adapter.Objective(TAPES), np.random.default_rng(0).normal(size=(8, 4))
    f(points[0])
    right = [(f(x), f.jac(x).tolist()) for x in points]

    def often(k):
        return all((f(points[k]), f.jac(points[k]).tolist()) == right[k] for _ in range(300))

    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(often, range(8)))
    finally:
        sys.setswitchinterval(switched)
    copied = pickle.loads(pickle.dumps(adapter.Objective(with_data, td.Constant(np.ones(4)), negate=True)))
    assert (copied(START), copied.jac(START).tolist()) == (-START.sum(), [-1.0] * 4)


def test_value_and_gradient_are_computed_once_a_point():
    """Whichever is asked for first, and though SciPy overwrites its arrays."""
    f, x = adapter.Objective(TAPES), START.copy()
    gradient = f.jac(x)
    assert f(x) == rosenbrock(x)
    assert f.evaluations == 1
    x[0] = 2.0
    assert f(x) == rosenbrock(x)
    assert f.evaluations == 2
    np.testing.assert_array_equal(gradient, td.gradient(rosenbrock, START))
    np.testing.assert_allclose(f.hess(x) @ x, f.hessp(x, x), rtol=1e-12)
    assert f.value_and_jac(x)[0] == f(x)
    assert optimize.check_grad(f, f.jac, START) < 1e-4


def test_what_is_maximised_is_negated_and_rejected_points_are_infinite():
    """With every derivative; a matrix that is not positive definite is infinitely bad."""
    f = adapter.Objective(lambda x: -rosenbrock(x), negate=True)
    assert (f(START), f.jac(START).tolist()) == (rosenbrock(START), td.gradient(rosenbrock, START).tolist())
    np.testing.assert_allclose(f.hess(START), td.hessian(rosenbrock, START), rtol=1e-14)
    barrier = adapter.Objective(lambda x: -np.sum(np.log(np.diagonal(np.linalg.cholesky(np.eye(2) * x)))) + x[0])
    assert barrier(np.array([-1.0])) == np.inf
    assert optimize.minimize(barrier, [0.5], jac=barrier.jac).x == pytest.approx(1.0, abs=1e-5)


REJECTING = ["trust-exact", "trust-ncg", "trust-krylov", "dogleg", "Newton-CG", "trust-constr", "BFGS", "CG", "SLSQP"]


@pytest.mark.parametrize(("method", "sparse"), [*((method, False) for method in REJECTING), ("trust-constr", True)])
def test_methods_that_ask_for_derivatives_at_rejected_points_step_back(method, sparse):
    """From where the first long step leads out: a barrier, whose minimum is at (1, 1), by a factorisation that fails and by NaN values."""

    def by_factor(x):
        return -2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(np.diag(x))))) + np.sum(x)

    def by_value(x):
        return np.sum(x) - np.sum(np.log(x))

    for barrier in (by_factor, by_value):
        f = adapter.Objective(barrier, sparse=sparse)
        start = np.array([2.5, 1.9]) if method == "dogleg" else np.array([40.0, 1e-3])  # dogleg wants positive definite Hessians, and small steps
        asks = {"hessp": f.hessp} if method == "trust-krylov" else {} if method in ("BFGS", "CG", "SLSQP") else {"hess": f.hess}
        with np.errstate(invalid="ignore", divide="ignore"):
            found = optimize.minimize(f, start, jac=f.jac, method=method, **asks)
        np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_second_derivatives_at_rejected_points_are_zero_and_residuals_infinite():
    """Residuals after a first point has told how many there are."""
    f = adapter.Objective(lambda x: np.linalg.cholesky(np.eye(2) * x)[0, 0])
    outside = np.array([-1.0])
    np.testing.assert_array_equal(f.hess(outside), [[0.0]])
    np.testing.assert_array_equal(f.hessp(outside, outside), [0.0])
    assert adapter.Objective(lambda x: np.linalg.cholesky(np.eye(2) * x)[0, 0], sparse=True).hess(outside).shape == (1, 1)
    r = adapter.Residuals(lambda x: np.diagonal(np.linalg.cholesky(np.eye(3) * x)) - 0.1)
    with pytest.raises(np.linalg.LinAlgError):
        r(outside)
    r(np.array([4.0]))
    np.testing.assert_array_equal(r(outside), np.full(3, np.inf))
    assert optimize.least_squares(r, [4.0], jac=r.jac).x == pytest.approx(0.01, rel=1e-5)


def test_sparse_hessians_and_data():
    """By the pattern of the tape, with arguments behind x."""
    f = adapter.Objective(lambda x, y: rosenbrock(x) + np.sum(y * x), td.Constant(np.ones(4)), sparse=True)
    np.testing.assert_allclose(f.hess(START).toarray(), td.hessian(rosenbrock, START), rtol=1e-13)
    assert f(START) == pytest.approx(rosenbrock(START) + START.sum())


@pytest.mark.parametrize("kind", ["dense", "sparse", "operator"])
def test_least_squares_with_every_kind_of_jacobian(kind):
    """The same solution as SciPy's own differences give."""
    t = np.linspace(0, 1, 30)
    y = 2.0 * np.exp(-1.5 * t) + 0.1

    def residuals(p):
        return p[0] * np.exp(-p[1] * t) + p[2] - y

    r = adapter.Residuals(residuals, jacobian=kind)
    options = {"tr_solver": "lsmr"} if kind != "dense" else {}
    found = optimize.least_squares(r, np.array([1.0, 1.0, 0.0]), jac=r.jac, **options)
    np.testing.assert_allclose(found.x, [2.0, 1.5, 0.1], atol=1e-5)


def test_constraints_have_hessians_and_curves_are_fitted():
    """NonlinearConstraint with an exact Hessian, and curve_fit."""
    f, ball = (
        adapter.Objective(lambda x: np.sum((x - 2.0) ** 2)),
        adapter.constraint(lambda x: np.sum(x**2, keepdims=True), -np.inf, 1.0),
    )
    found = optimize.minimize(f, np.zeros(2), jac=f.jac, hess=f.hess, constraints=[ball], method="trust-constr")
    np.testing.assert_allclose(found.x, np.sqrt(0.5), atol=2e-3)  # an interior-point method
    np.testing.assert_allclose(ball.hess(np.ones(2), np.array([3.0])), 6.0 * np.eye(2))
    t = np.linspace(0, 2, 20)
    curve = adapter.CurveFit(lambda t, a, b: a * np.exp(-b * t))
    np.testing.assert_allclose(
        optimize.curve_fit(curve, t, 3 * np.exp(-0.7 * t), [1.0, 1.0], jac=curve.jac)[0], [3.0, 0.7], rtol=1e-6
    )


def test_wrong_arguments_are_refused():
    with pytest.raises(td.ArgumentMismatch, match="one of three"):
        adapter.Residuals(rosenbrock, jacobian="banded")
    with pytest.raises(td.ArgumentMismatch, match="takes a function"):
        adapter.Objective(3.0)


def test_a_posterior_is_an_objective():
    """Its mode is that of find_map."""
    post = td.Posterior(lambda m, s: -(m**2) / s - s + np.log(s), m=td.real(), s=td.positive())
    f = adapter.Objective(post, negate=True)
    found = optimize.minimize(f, np.ones(2), jac=f.jac, hess=f.hess, method="trust-exact")
    np.testing.assert_allclose(found.x, post.find_map(jacobian=True).u, atol=1e-5)


def test_the_last_point_is_computed_again_where_the_function_reads_something_else():
    """Another fit that starts where the last one ended; a copy of the adapter, too."""
    data = np.ones(3)
    loss, residuals = (lambda x: np.sum((x - data) ** 2)), (lambda x: x - data)
    objective, r, x = adapter.Objective(loss), adapter.Residuals(residuals), np.zeros(3)
    for k in range(4):
        data[:] = k
        for _ in range(3):
            assert objective(x) == loss(x)
            np.testing.assert_array_equal(objective.jac(x), -2.0 * data)
            np.testing.assert_array_equal(r(x), -data)
            np.testing.assert_array_equal(r.jac(x), np.eye(3))
            np.testing.assert_array_equal(objective.hess(x), 2.0 * np.eye(3))
