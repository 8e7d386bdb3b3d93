"""scipy.optimize's functions inside recordings: the points that SciPy finds, slopes against differences, and refusals by name."""

import functools
import pickle

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import bisect, brentq, fsolve, least_squares, minimize, minimize_scalar, newton, root, root_scalar
from support.differences import assert_agrees, assert_second_derivatives_agree

import tapediff as td

P, Q = [2.0, 1.0], [5.0, 0.4]
T = np.linspace(0.0, 1.0, 9)


def cubic(t, p):
    return t**3 + t * p[1] - p[0]


def slope(t, p):
    return 3.0 * t * t + p[1]


def pair(x, p):
    return [x[0] ** 2 + x[1] - p[0], x[1] * p[1] - x[0]]


def valley(x, p):
    return (p[0] - x[0]) ** 2 + p[1] * (x[1] - x[0] ** 2) ** 2 + np.sum(x**2)


def valley_slope(x, p):
    across = 2.0 * p[1] * (x[1] - x[0] ** 2)
    return np.array([-2.0 * (p[0] - x[0]) - 2.0 * x[0] * across + 2.0 * x[0], across + 2.0 * x[1]])


def valley_curvature(x, p):
    mixed = -4.0 * p[1] * x[0]
    return np.array([[4.0 + p[1] * (12.0 * x[0] ** 2 - 4.0 * x[1]), mixed], [mixed, 2.0 * p[1] + 2.0]])


TIGHT = {"xtol": 1e-14}
ROOTS = {
    **{
        name: lambda p, name=name: getattr(so, name)(lambda t: cubic(t, p), 0.0, 3.0 + p[0], **TIGHT) * p[0]
        for name in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "further arguments": lambda p: brentq(cubic, 0.0, 3.0, args=(p,), **TIGHT) + bisect(lambda t, a: t**3 + t - a, 0, 3, p[0], **TIGHT),
    "secants": lambda p: newton(lambda t: cubic(t, p), 1.0, tol=1e-13),
    "secants from two points": lambda p: newton(cubic, 1.0, args=(p,), x1=1.4, tol=1e-13),
    "newton": lambda p: newton(cubic, 1.0, slope, (p,)),
    "newton of arrays": lambda p: np.sum(newton(lambda t: t**3 + t - p, np.ones(2), lambda t: 3.0 * t * t + 1.0) * p),
    "root_scalar": lambda p: root_scalar(lambda t: cubic(t, p), bracket=[0, 4]).root,
    "root_scalar, two starts": lambda p: root_scalar(cubic, (p,), x0=1.0, x1=2.0, xtol=1e-13)["root"],
    "root_scalar, with slopes": lambda p: root_scalar(lambda t: (cubic(t, p), slope(t, p)), x0=1.0, fprime=True, method="newton").root,
    "fsolve": lambda p: np.sum(fsolve(lambda x: pair(x, p), [1.0, 1.0], xtol=1e-13) * p),
    "fsolve with slopes": lambda p: np.sum(
        fsolve(pair, [1.0, 1.0], (p,), lambda x, p: np.array([[2.0 * x[0], 1.0], [-1.0, p[1]]]), xtol=1e-13)
    ),
    "hybr": lambda p: np.sum(root(lambda x: np.array(pair(x, p)), [1.0, 1.0], tol=1e-13).x * p),
    "lm": lambda p: np.sum(root(lambda x: pair(x, p), [1.0, 1.0], method="lm", tol=1e-13).x * p),
}


@pytest.mark.parametrize("f", ROOTS.values(), ids=ROOTS)
def test_roots_are_those_of_scipy(f):
    assert_agrees(f, P, Q, rtol=1e-11)
    assert_second_derivatives_agree(f, P)


MINIMA = {
    "trust-exact": lambda p: np.sum(
        minimize(valley, [0.5, 0.5], (p,), "trust-exact", valley_slope, valley_curvature, options={"gtol": 1e-8}).x * p
    ),
    "with its gradient": lambda p: np.sum(
        minimize(lambda x: (valley(x, p), valley_slope(x, p)), [0.5, 0.5], method="BFGS", jac=True, options={"gtol": 1e-10}).x * p
    ),
    "in bounds": lambda p: np.sum(
        minimize(valley, [0.2, 0.1], (p,), jac=valley_slope, bounds=[(0, 0.3), (None, 9.0)], options={"gtol": 1e-13, "ftol": 0.0}).x * p
    ),
    "at tracked bounds": lambda p: np.sum(minimize(valley, [0.1, 0.0], (p,), jac=valley_slope, bounds=[(0, p[1] / 9), (-1, 0)]).x * p),
    "numbers": lambda p: minimize_scalar(lambda t: (t - p[0]) ** 2 + t**4 * p[1], tol=1e-10).fun,
    "numbers in a bracket": lambda p: minimize_scalar(lambda t: (t - p[0]) ** 2 + t**4 * p[1], bracket=(0.0, p[0]), tol=1e-10).fun,
    "numbers in bounds": lambda p: minimize_scalar(lambda t: (t - p[0]) ** 2 + t**4, bounds=(0, 4), options={"xatol": 1e-10}).fun,
    "numbers at bounds": lambda p: minimize_scalar(lambda t, a: (t - a) ** 2, None, (0, p[1]), p[0], options={"xatol": 1e-12}).x,
    **{
        loss: lambda p, loss=loss: least_squares(
            lambda x: x[0] * np.exp(-x[1] * T) - p[0] * np.exp(-p[1] * T * T), [1.0, 1.0], loss=loss, f_scale=0.1,
            ftol=1e-14, xtol=1e-14, gtol=1e-14,
        ).cost
        for loss in ("linear", "huber", "soft_l1", "cauchy", "arctan")
    },
}  # fmt: skip


@pytest.mark.parametrize("f", MINIMA.values(), ids=MINIMA)
def test_minima_are_those_of_scipy(f):
    """Within SciPy's own accuracy: a minimum is flat, so its place is known to 1e-8 where its value is to 1e-16."""
    assert_agrees(f, P, [1.5, 0.7], rtol=2e-8, slope_rtol=2e-4)


@pytest.mark.parametrize("loss", ["linear", "huber", "soft_l1", "cauchy", "arctan"])
def test_slopes_of_fits_are_those_of_accurate_minima(loss):
    """Of the place, which SciPy alone does not find accurately enough for differences, so td.implicit finds it."""

    def residuals(x, p):
        return x[0] * np.exp(-x[1] * T) - p[0] * np.exp(-p[1] * T * T)

    def accurate(p):
        rho = {
            "linear": lambda z: z, "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.maximum(z, 1)) - 1),
            "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1), "cauchy": np.log1p, "arctan": np.arctan,
        }[loss]  # fmt: skip
        start = least_squares(residuals, [1.0, 1.0], loss=loss, f_scale=0.1, args=(p,)).x
        return td.implicit.minimize(lambda x: np.sum(rho((residuals(x, p) / 0.1) ** 2)), start)

    at = lambda p: least_squares(residuals, [1.0, 1.0], loss=loss, f_scale=0.1, args=(p,), ftol=1e-15, xtol=1e-15, gtol=1e-15).x
    p = np.array(P)
    wanted = [(accurate(p + h) - accurate(p - h)) / 2e-5 for h in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(td.jacobian(td.compile(at, p + 0.1), p).T, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_every_method_finds_the_minimum(method):
    tol = {} if method == "trust-constr" else {"tol": 1e-9}
    f = lambda p: minimize(lambda x: np.sum((x - p) ** 2) + np.sum(x**4), [0.5, 0.5], method=method, **tol).x
    p = np.array([1.0, 0.5])
    found, jacobian = td.compile(f, p)(p), td.jacobian(td.compile(f, p), p)
    np.testing.assert_allclose(found, f(p), atol=3e-5)
    np.testing.assert_allclose(jacobian, np.diag(1.0 / (1.0 + 6.0 * found**2)), rtol=1e-10, atol=1e-15)


def test_fits_in_bounds():
    """At a bound the derivative is the bound's: none, or 1 where it is tracked."""
    residuals = lambda x, p: x - p
    f = lambda p: np.sum(least_squares(residuals, [0.5, 0.5], bounds=(0.0, [1.0, p[0]]), args=(p,), ftol=1e-15, xtol=1e-15).x * [1, 2])
    np.testing.assert_allclose(td.gradient(td.compile(f, [0.8, 3.0]), [0.8, 3.0]), [3.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(td.gradient(td.compile(f, [0.8, 3.0]), [3.0, 0.8]), [0.0, 2.0], atol=1e-6)


def test_solvers_take_branches_and_loops_of_the_program():
    def f(p):
        total = 0.0
        for k in range(3):
            if p[k % 2] > 0.7 * k:
                total = total + brentq(lambda t: t**3 + t * p[1] - p[0], -3.0, 3.0, **TIGHT)
            else:
                total = total + newton(lambda t: t**3 + t - p[1], 1.0, tol=1e-13)
        return total

    assert_agrees(f, [2.0, 1.0], [0.5, 1.2], [-0.5, 0.3], rtol=1e-10, compiles=False)
    in_loop = lambda p: td.scan(lambda c, q: (c + brentq(lambda t: t**3 + t - q * c, 0, 5, **TIGHT), None), 1.0, p)[0]
    assert_agrees(in_loop, [1.0, 2.0, 3.0], [0.5, 0.2, 0.1])


class Cubic:
    def __init__(self, p):
        self.p = p

    def __call__(self, t):
        return cubic(t, self.p)

    def with_mode(self, t, mode):
        return self(t) if mode == "cubic" else t


@pytest.mark.parametrize(
    "f",
    [
        lambda p: brentq(Cubic(p), 0, 4, **TIGHT),
        lambda p: brentq(Cubic(p).with_mode, 0, 4, args=("cubic",), **TIGHT),
        lambda p: brentq(functools.partial(lambda p, t: cubic(t, p), p), 0, 4, **TIGHT),
        lambda p: brentq(lambda t, f, held: f(t, held["p"]), 0, 4, args=(cubic, {"p": p}), **TIGHT),
        lambda p: newton(cubic, p[0], args=(p,), tol=1e-13),
    ],
    ids=["object", "method", "partial", "arguments of any kind", "tracked start"],
)
def test_functions_of_every_kind_may_hold_tracked_values(f):
    assert_agrees(f, P, Q, rtol=1e-11)


def test_solvers_inside_solvers():
    f = lambda p: brentq(lambda t: minimize_scalar(lambda s: (s - t * p[0]) ** 2 + s**4, tol=1e-10).fun - 0.3 * p[1], 0.1, 4, **TIGHT)
    assert_agrees(f, [1.0, 1.0], [0.5, 1.2], rtol=1e-9, slope_rtol=1e-4)


@pytest.mark.parametrize("name", ["newton", "root_scalar, with slopes", "hybr", "in bounds", "numbers", "huber"])
def test_compiled_tapes_are_pickled(name):
    compiled = td.compile({**ROOTS, **MINIMA}[name], P)
    # Functions called by SciPy are compiled after some calls, and then round otherwise.
    np.testing.assert_allclose(td.gradient(pickle.loads(pickle.dumps(compiled)), Q), td.gradient(compiled, Q), rtol=1e-9)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda p: brentq(lambda t: t - p, 0, 3, full_output=True), "full_output="),
        (lambda p: brentq(lambda t: t - p, 0, 3, xtol=p), "a tracked xtol="),
        (lambda p: newton(lambda t: t - p, 1.0, fprime2=lambda t: 0.0), "fprime2="),
        (lambda p: minimize(lambda x: np.sum((x - p) ** 2), [1.0], constraints=[{"type": "eq", "fun": lambda x: x[0]}]), "constraints="),
        (lambda p: minimize(lambda x: np.sum((x - p) ** 2), [1.0]).nit, "nit"),
        (lambda p: minimize(lambda x: np.sum((x - p) ** 2), [1.0], callback=print), "callback="),
        (lambda p: least_squares(lambda x: x - p, [1.0], loss=lambda z: z), "loss="),
        (lambda p: root(lambda x: x - p, [1.0]).nfev, "nfev"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(f, text):
    with pytest.raises(td.UnsupportedFunction, match=text) as caught:
        td.record(f, 1.0)
    assert "test_optimize.py" in str(caught.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: newton(lambda t: t * t + p, 1.0),
        lambda p: np.sum(newton(lambda t: t * t + p, np.ones(2))),
        lambda p: root(lambda x: x * x + p, [1.0]).x[0],
        lambda p: fsolve(lambda x: x * x + p, 1.0)[0],
        lambda p: minimize(lambda x: np.sum((x - p) ** 2), [9.0], method="BFGS", options={"maxiter": 0}).x[0],
        lambda p: bisect(lambda t: t - p, -9.0, 9.5, maxiter=2),
    ],
)
@pytest.mark.filterwarnings("ignore")  # SciPy warns as well
def test_no_solution_is_an_error(f):
    with pytest.raises(td.NotConverged, match=r"scipy\.optimize\.\w+ has not converged") as caught:
        td.record(f, 1.0)
    assert "test_optimize.py" in str(caught.value)


def test_scipys_errors_are_kept():
    compiled = td.compile(lambda p: brentq(lambda t: t - p, 0.0, 3.0), 1.0)
    with pytest.raises(ValueError, match="different signs"):
        compiled(4.0)
    assert compiled(2.0) == pytest.approx(2.0)


def test_plain_calls_within_a_recording_are_scipys():
    def f(p):
        found = minimize(valley, [0.5, 0.5], (P,), method="Nelder-Mead")
        return p * found.nit * brentq(lambda t: t - 2.0, 0, 3, full_output=True)[1].iterations

    np.testing.assert_allclose(td.gradient(f, 2.0), f(1.0))
