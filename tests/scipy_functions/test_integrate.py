"""scipy.integrate's functions inside recordings: SciPy's values, slopes against differences, and refusals by name."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.integrate import odeint, quad, simpson, solve_ivp
from support.differences import assert_agrees, assert_second_derivatives_agree

import tapediff as td

P, Q = [1.1, 0.4, 0.4, 0.1], [1.0, 0.3, 0.5, 0.12]
TIMES = np.linspace(0.0, 4.0, 6)
X = np.array([0.0, 0.5, 0.9, 1.4, 2.0, 2.2])
ACCURATE = {"rtol": 1e-9, "atol": 1e-9}


def predation(t, y, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("span", [(0, 4), (4, 0)])
@pytest.mark.slow
def test_explicit_methods_have_scipys_values_at_any_tolerance(method, span):
    """To rounding, as steps and interpolation are SciPy's; slopes are as accurate as the solution, so they are compared at 1e-9."""
    times = np.sort(TIMES)[:: 1 if span[1] else -1]
    f = lambda p: np.sum(solve_ivp(predation, span, [10.0, 5.0], method, times, args=(p,)).y * [[1.0], [2.0]])
    for p in (P, Q):
        np.testing.assert_allclose(td.compile(f, P)(p), f(p), rtol=1e-10)
    accurate = lambda p: np.sum(scipy.integrate.solve_ivp(predation, span, [10.0, 5.0], method, times[:3], args=(p,), **ACCURATE).y)
    assert_agrees(accurate, P, Q, rtol=1e-9, slope_rtol=1e-5)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("span", [(0, 4), (4, 0)])
@pytest.mark.slow
def test_dense_output_is_scipys_at_any_times(method, span):
    """In any order, one, none at a step's end; a tracked time, too."""

    def f(p):
        sol = solve_ivp(predation, span, [10.0, 5.0], method, args=(p,), dense_output=True).sol
        return np.sum(sol([3.1, 0.2, 1.7]) * [[1.0], [2.0]]) + np.sum(sol(p[0]) ** 2)

    for p in (P, Q):
        np.testing.assert_allclose(td.compile(f, P)(p), f(p), rtol=1e-10)
    accurate = lambda p: np.sum(solve_ivp(predation, span, [10.0, 5.0], method, args=(p,), dense_output=True, **ACCURATE).sol([1.5 * p[0], 0.3]))
    assert_agrees(accurate, P, Q, rtol=1e-9, slope_rtol=1e-5)
    with pytest.raises(ValueError, match="not within"):
        td.record(lambda p: solve_ivp(predation, (0, 4), [10.0, 5.0], args=(p,), dense_output=True).sol(5.0)[0], P)


@pytest.mark.slow
def test_events_are_roots_of_the_dense_output():
    """The time at which a decay reaches 0.3, by brentq of a function that closes over the solution: value and slopes in closed form."""

    def time(p):
        found = solve_ivp(lambda t, y: -p[0] * y, (0, 5), [p[1]], dense_output=True, **ACCURATE)
        return scipy.optimize.brentq(lambda t: found.sol(t)[0] - 0.3, 0, 5)

    compiled = td.compile(time, [1.3, 0.7])
    for rate, start in ((1.3, 0.7), (0.9, 1.1)):
        value, slopes = td.value_and_gradient(compiled, np.array([rate, start]))
        np.testing.assert_allclose(value, np.log(start / 0.3) / rate, rtol=1e-7)
        np.testing.assert_allclose(slopes, [-np.log(start / 0.3) / rate**2, 1.0 / (rate * start)], rtol=1e-6)


@pytest.mark.slow
def test_the_end_of_a_solution_without_times():
    """The span may be tracked; the start's slope includes how the first step moves with it."""

    def end(p):
        found = solve_ivp(lambda t, y: -p[0] * y * np.cos(t), (p[1], p[2]), [1.0 + p[0]], **ACCURATE)
        assert found.success
        assert found["status"] == 0
        return found.y[0, -1] * found.t[-1]

    assert_agrees(end, [0.5, 0.1, 2.0], [0.7, 0.3, 1.5], rtol=1e-9, slope_rtol=1e-5)
    assert_second_derivatives_agree(end, [0.5, 0.1, 2.0])


@pytest.mark.slow
def test_rates_in_every_form_that_scipy_takes():
    one = {"t_span": (0, 1), "y0": [1.0], **ACCURATE}
    assert_agrees(lambda p: solve_ivp(lambda t, y: -p[0] * y[0], **one).y[0, -1], [2.0], [0.5], rtol=1e-9, slope_rtol=1e-5)
    assert_agrees(lambda p: solve_ivp(lambda t, y, name, p: [[-p[0]] * y], args=("x", p), **one).y[0, -1], [2.0], [0.5], slope_rtol=1e-5)
    columns = lambda p: solve_ivp(lambda t, y: np.stack([-p[0] * y[0], y[0]]), (0, 1), [1.0, 0.0], vectorized=True, **ACCURATE).y[1, -1]
    assert_agrees(columns, [2.0], [0.5], rtol=1e-9, slope_rtol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_implicit_methods_are_of_the_same_tolerance(method):
    f = lambda p: solve_ivp(predation, (0, 4), [10.0, 5.0], method, TIMES, args=(p,), vectorized=False, rtol=1e-8, atol=1e-8).y[0, -1]
    np.testing.assert_allclose(td.compile(f, P)(Q), f(Q), rtol=1e-5)


def test_odeint_has_scipys_axes():
    f = lambda p: odeint(lambda y, t, p: predation(t, y, p), [10.0, 5.0], TIMES, args=(p,))
    np.testing.assert_allclose(td.compile(f, P)(Q), f(Q), rtol=1e-5)
    assert_agrees(lambda p: odeint(lambda t, y: -p * y, 1.0, TIMES[:3], tfirst=True)[-1, 0], [0.7], [1.2], rtol=1e-6, slope_rtol=1e-5)


@pytest.mark.parametrize(
    ("f", "p", "q"),
    [
        (lambda p: quad(lambda t: np.exp(-p[0] * t) * np.sin(t * p[1]), 0, p[2])[0], [0.5, 3, 2.0], [0.7, 8, 1.5]),
        (lambda p: quad(lambda t, k: np.exp(-k * t * t), p[1], np.inf, args=(p[0],))[0], [0.5, 0.4], [1.7, -0.3]),
        (lambda p: quad(lambda t: np.exp(-p[0] * t * t) / p[0], -np.inf, np.inf)[0], [0.5], [1.7]),
        (lambda p: quad(lambda t: np.exp(-p[0] * t * t), p[1], -np.inf)[0], [0.5, 0.4], [1.7, -0.3]),
        (lambda p: quad(lambda t: np.sin(p[0] * t), p[1], 0.2)[0] * p[0], [0.5, 0.9], [9.0, 2.3]),
    ],
    ids=["limits", "to infinity", "everywhere", "backwards from infinity", "backwards"],
)
def test_quad_has_scipys_value_and_slopes_in_limits_and_integrand(f, p, q):
    assert_agrees(f, p, q)
    assert_second_derivatives_agree(f, p)


@pytest.mark.slow
def test_integrals_within_integrals():
    f = lambda p: quad(lambda x: quad(lambda y: np.exp(-p[0] * x * y), 0.0, 1.0 + x)[0], 0.0, p[1])[0]
    assert_agrees(f, [2.0, 1.0], [0.5, 0.7], rtol=1e-10)


def test_the_error_of_quad_is_scipys():
    f = lambda p: quad(lambda t: np.exp(-p * t), 0.0, 1.0)[1]
    assert td.compile(f, 1.0)(2.0) == pytest.approx(f(2.0), rel=1e-3)


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_integrals_of_samples(n):
    """With even and odd numbers of samples, by places or equal steps, along each axis, of tracked samples and tracked places."""
    y = np.sin(np.arange(n) + 1.0)

    def of_samples(p):
        rows = np.outer(p, p)
        running = scipy.integrate.cumulative_trapezoid(rows, x=X[:n], axis=0, initial=0)
        return (
            simpson(p, x=X[:n]) + simpson(p**2, dx=0.3) + np.sum(simpson(rows, axis=0)) + np.sum(running**2)
            + np.sum(scipy.integrate.cumulative_trapezoid(p, dx=0.1)) + scipy.integrate.trapezoid(p, X[:n])
        )  # fmt: skip

    assert_agrees(of_samples, y, 2.0 * y)
    of_places = lambda x: simpson(np.cos(x), x=x) + np.sum(scipy.integrate.cumulative_trapezoid(np.cos(x), x) ** 2)
    assert_agrees(of_places, X[:n], 1.5 * X[:n])


def test_simpson_of_two_samples_at_one_place():
    """SciPy counts what it would divide by zero as zero."""
    x = np.array([0.0, 1.0, 1.0, 2.0])
    f = lambda y: simpson(y, x=x)
    np.testing.assert_allclose(td.compile(f, x)(x + 1.0), f(x + 1.0), rtol=1e-13)


def decay(**named):
    return lambda p: solve_ivp(lambda t, y: -p * y, (0, 1), [1.0], **named)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (decay(events=lambda t, y: y[0] - 0.5), "events="),
        (decay(method="BDF", dense_output=True), "dense_output="),
        (decay(method="RK4"), "method='RK4'"),
        (decay(jac=lambda t, y: [[-1.0]]), "jac="),
        (decay(method="BDF", max_step=0.1), "max_step="),
        (lambda p: np.sum(decay()(p).y), "t_eval="),
        (lambda p: decay()(p).y[0], "t_eval="),
        (lambda p: decay()(p).nfev, "nfev"),
        (lambda p: solve_ivp(lambda t, y: -y, (0, 1), [1.0 + p], rtol=p), "a tracked rtol="),
        (lambda p: odeint(lambda y, t: -p * y, 1.0, [0, 1.0], full_output=True), "full_output="),
        (lambda p: quad(lambda t: p * t, 0, 1, weight="cos", wvar=2.0), "weight="),
        (lambda p: quad(lambda t: p * t, 0, 1, points=[0.5]), "points="),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused_by_name(f, text):
    with pytest.raises(td.UnsupportedFunction, match=text) as caught:
        td.record(f, 1.0)
    assert "test_integrate.py" in str(caught.value)
    assert "fix:" in str(caught.value)


def test_an_integral_that_gauss_does_not_confirm_is_refused():
    """SciPy extrapolates the integral of a singularity; no rule on its intervals has that derivative."""
    f = lambda p: quad(lambda t: p * t**-0.5, 0, 1)[0]
    assert f(1.0) == pytest.approx(2.0)
    with pytest.raises(td.NotConverged, match="singularity"):
        td.record(f, 1.0)
    with pytest.raises(td.NotConverged, match="divergent"):
        td.record(lambda p: quad(lambda t: p / t**2, 0, 1)[0], 1.0)


def test_an_integrand_with_a_jump_is_refused_and_one_with_a_kink_is_not():
    """The integral's slope has the jump's size times how its place moves, which no rule's slope has.

    At a kink the rule's slope is that of an integrand with a jump, in an interval that SciPy made narrow for the kink: 1e-3 of it.
    """
    kink = lambda p: quad(lambda t: np.maximum(t - p[0], 0.0) + (t if t > p[0] else p[0]), 0.0, 2.0)[0]
    assert_agrees(kink, [0.45], [1.1], rtol=1e-8, slope_rtol=1e-3)
    for integrand in (lambda t, p: t if t > p else t * t, lambda t, p: np.where(t > p, 1.0, 0.0), lambda t, p: np.sin(t) + 1e-3 * (t > p)):
        with pytest.raises(td.NotConverged, match="jump"):
            td.record(lambda p, f=integrand: quad(f, 0.0, 2.0, args=(p,))[0], 0.45)
        with pytest.raises(td.NotConverged, match="jump"):  # at the end of an interval
            td.record(lambda p, f=integrand: quad(f, 0.0, 2.0, args=(p,))[0], 0.5)


SMOOTH = {
    "peak": lambda t, p: np.exp(-((t - p) ** 2) * 400.0), "steep": lambda t, p: np.tanh(200.0 * (t - p)), "fast": lambda t, p: np.sin(90 * t * p),
    "root": lambda t, p: np.sqrt(t + 1e-3) * p, "pole": lambda t, p: p / (1e-3 + t), "constant": lambda t, p: p, "zero": lambda t, p: 0.0 * p,
    "tail": lambda t, p: np.exp(-50.0 * p * t), "kink": lambda t, p: np.abs(t - p), "power": lambda t, p: t**0.5 * p,
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_steep_integrands_are_not_taken_for_jumps(name):
    for limits in ((0.0, 2.0), *([] if name not in ("peak", "tail") else [(0.0, np.inf)])):
        assert_agrees(lambda p: quad(SMOOTH[name], *limits, args=(p[0],), limit=100)[0], [0.45], [0.7], rtol=1e-9, slope_rtol=1e-4)


def test_scipys_errors_are_kept():
    for times in ([0.0, 2.0], [0.5, 0.2], [[0.5]]):
        with pytest.raises(ValueError, match="t_eval"):
            td.record(decay(t_eval=times), 1.0)
    with pytest.raises(ValueError, match="y0"):
        td.record(lambda p: solve_ivp(lambda t, y: -p * y, (0, 1), 1.0), 1.0)


def test_plain_calls_within_a_recording_are_scipys():
    def f(p):
        found = solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True)
        return p * found.sol(0.5)[0] * found.nfev

    np.testing.assert_allclose(td.gradient(f, 2.0), f(1.0), rtol=1e-14)


def test_an_integral_between_equal_limits_is_zero_with_the_slope_of_its_limits():
    f = lambda p: quad(lambda t: p[0] * np.exp(-t), 1.0, p[1])[0]
    compiled = td.compile(f, np.array([2.0, 3.0]))
    for target in (f, compiled):
        value, gradient = td.value_and_gradient(target, np.array([2.0, 1.0]))
        assert value == 0.0
        np.testing.assert_allclose(gradient, [0.0, 2.0 * np.exp(-1.0)], rtol=1e-12)  # the integrand at the limit
    root = lambda p: scipy.optimize.brentq(lambda u: quad(lambda t: np.exp(-p * t), 0.0, u)[0] - 0.5, 0.0, 5.0)
    assert td.derivative(root, 0.3) == pytest.approx((root(0.3 + 1e-5) - root(0.3 - 1e-5)) / 2e-5, rel=1e-7)
