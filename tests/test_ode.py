"""td.ode.solve: solutions against SciPy's and closed forms, gradients against differences of accurate solutions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.differences import differences

import tapediff as td

solve = td.ode.solve
TIMES = np.linspace(0.0, 10.0, 21)
Y0 = np.array([10.0, 5.0])
RATES = np.array([1.1, 0.4, 0.4, 0.1])


def predation(t, y, p):
    prey, predators = y
    return [p[0] * prey - p[1] * prey * predators, -p[2] * predators + p[3] * prey * predators]


EXACT = solve_ivp(predation, (0, 10), Y0, "DOP853", TIMES, args=(RATES,), rtol=1e-12, atol=1e-12).y.T


@pytest.mark.parametrize(("method", "scipys"), [("rk45", "RK45"), ("dop853", "DOP853")])
def test_steps_are_those_of_scipys_solvers(method, scipys):
    """Between two times the same steps, and so the same error; with more times, steps end at each, and errors are not larger."""
    for rtol in (1e-4, 1e-7):
        tolerances = {"rtol": rtol, "atol": 1e-3 * rtol}
        reference = solve_ivp(predation, (0, 10), Y0, scipys, TIMES, args=(RATES,), **tolerances)
        end = solve(predation, Y0, [0.0, 10.0], RATES, method=method, **tolerances)[-1]
        np.testing.assert_allclose(end - EXACT[-1], reference.y[:, -1] - EXACT[-1], rtol=1e-3)
        errors = np.abs(solve(predation, Y0, TIMES, RATES, method=method, **tolerances) - EXACT)
        assert errors.max() < 1.01 * np.abs(reference.y.T - EXACT).max()


def test_rodas4_has_order_four():
    """Errors of 1e-4 and 1e-7 at these tolerances, twice those of SciPy's Radau: each digit of the tolerance is one of the result."""
    errors = [np.abs(solve(predation, Y0, TIMES, RATES, method="rodas4", rtol=r, atol=1e-3 * r) - EXACT).max() for r in (1e-4, 1e-7)]
    assert errors[0] < 3e-4
    assert errors[1] < 3e-7


@pytest.mark.parametrize("method", ["rk45", "dop853", "rodas4"])
@pytest.mark.slow
def test_gradients_are_those_of_the_solution_within_its_tolerance(method):
    """In parameters, start and times; the differences are of solutions of tolerance 1e-12."""

    def squares(p, y0, times, rtol=1e-7, method=method):
        return np.sum(solve(predation, y0, times, (p,), method=method, rtol=rtol, atol=1e-3 * rtol) ** 2)

    times = np.array([0.0, 0.7, 1.5, 4.0])
    compiled = td.compile(squares, 0.9 * RATES, Y0 + 1.0, 1.1 * times, rtol=1e-7)
    value, gradients = td.value_and_gradient(compiled, RATES, Y0, times, rtol=1e-7, argnums=(0, 1, 2))
    np.testing.assert_allclose(value, squares(RATES, Y0, times), rtol=1e-9)
    accurate = lambda p, y0, times: squares(p, y0, times, 1e-12, "dop853")
    exact = [
        differences(lambda p: accurate(p, Y0, times), RATES, 1e-5), differences(lambda y0: accurate(RATES, y0, times), Y0, 1e-5),
        differences(lambda times: accurate(RATES, Y0, times), times, 1e-5),
    ]  # fmt: skip
    for gradient, expected in zip(gradients, exact):
        np.testing.assert_allclose(gradient, expected, rtol=2e-5, atol=1e-4)


@pytest.mark.slow
def test_closed_forms_of_value_gradient_and_hessian():
    """Of dy / dt = -k y: y0 exp(-k t), recorded elsewhere; the tolerance of a step is 1e-10."""

    def decay(p):
        return solve(lambda t, y: -p[0] * y, p[1], np.array([0.0, 1.0, p[2]]), rtol=1e-10, atol=1e-12)[-1]

    compiled = td.compile(decay, np.array([1.0, 1.0, 2.0]))
    k, y0, t = p = np.array([0.7, 2.0, 1.5])
    e = np.exp(-k * t)
    np.testing.assert_allclose(compiled(p), y0 * e, rtol=1e-9)
    np.testing.assert_allclose(td.gradient(compiled, p), [-t * y0 * e, e, -k * y0 * e], rtol=1e-8)
    hessian = [[t * t * y0 * e, -t * e, (k * t - 1) * y0 * e], [-t * e, 0, -k * e], [(k * t - 1) * y0 * e, -k * e, k * k * y0 * e]]
    np.testing.assert_allclose(td.hessian(compiled, p), hessian, rtol=1e-7, atol=1e-8)


def test_times_may_decrease_and_states_may_be_matrices():
    """A rotation, forwards and back; f uses the time, too."""
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])

    def there_and_back(x):
        there = solve(lambda t, y: turn @ y * np.cos(t), x, np.array([0.0, 1.3]), rtol=1e-10, atol=1e-12)[-1]
        return there, solve(lambda t, y: turn @ y * np.cos(t), there, np.array([1.3, 1.0, 0.0]), rtol=1e-10, atol=1e-12)[-1]

    there, back = td.compile(there_and_back, np.zeros((2, 2)))(np.eye(2))
    angle = np.sin(1.3)
    np.testing.assert_allclose(there, [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]], atol=1e-9)
    np.testing.assert_allclose(back, np.eye(2), atol=1e-9)


def test_a_stiff_equation():
    """Robertson's reactions, with rates from 0.04 to 3e7: SciPy's Radau as the reference; scaled gradients of a component of 1e-6."""

    def middle(scales):
        k1, k2, k3 = scales * [0.04, 3e7, 1e4]

        def f(t, y):
            a, b, c = y
            return np.array([-k1 * a + k3 * b * c, k1 * a - k2 * b * b - k3 * b * c, k2 * b * b])

        return 1e5 * solve(f, np.array([1.0, 0.0, 0.0]), [0.0, 40.0, 4000.0], method="rodas4", rtol=1e-7, atol=1e-11)[-1, 1]

    compiled = td.compile(middle, np.ones(3))
    np.testing.assert_allclose(compiled(np.ones(3)), 8.94237125e-07 * 1e5, rtol=1e-6)
    at = np.array([1.02, 0.97, 1.01])
    np.testing.assert_allclose(td.gradient(compiled, at), differences(compiled, at, 1e-3), rtol=1e-4)


def pendulum(p, rtol=1e-6):
    """With a spring on one side, and a push that begins at a time: plain ifs."""

    def f(t, y):
        angle, speed = y
        acceleration = -9.81 * np.sin(angle) / p[0]
        if angle < 0:
            acceleration = acceleration - 50 * p[1] * angle
        if t > 1.0:
            acceleration = acceleration + p[2]
        return [speed, acceleration]

    return np.sum(solve(f, np.array([1.0, 0.0]), [0.0, 0.5, 1.0, 2.0, 3.0], rtol=rtol, atol=1e-3 * rtol)[:, 0])


def test_branches_of_the_right_hand_side_are_no_branches_of_the_caller():
    """One tape, on which new parameters cross zero at other times; a kink leaves differences of 1e-4 at usual tolerances."""
    compiled = td.compile(pendulum, np.array([1.0, 0.5, 0.3]), 1e-9)
    p = np.array([1.2, 0.3, 0.5])
    assert not compiled.tape.guards
    np.testing.assert_allclose(compiled(p, 1e-9), pendulum(p, 1e-9), rtol=1e-9)
    exact = differences(lambda q: compiled(q, 1e-9), p, 1e-4)
    np.testing.assert_allclose(td.gradient(compiled, p, 1e-9), exact, rtol=3e-3)
    np.testing.assert_allclose(td.gradient(td.record(pendulum, p, 1e-9), p, 1e-9), td.gradient(compiled, p, 1e-9), rtol=1e-6)


def test_a_step_that_leaves_the_domain_is_not_taken_and_gives_no_nan():
    """dy / dt = -k sqrt(y) until just before y is 0, where trial steps take roots of negative numbers: y = (sqrt(y0) - k t / 2)**2."""

    def emptied(p):
        return solve(lambda t, y: -p[0] * np.sqrt(y), p[1], np.array([0.0, 1.95]), rtol=1e-4, atol=1e-6)[-1]

    compiled = td.compile(emptied, np.array([0.5, 1.0]))
    np.testing.assert_allclose(td.gradient(compiled, np.ones(2)), [-1.95 * 0.025, 0.025], rtol=0.02)


def test_in_a_scan_a_batch_and_a_sub_tape():
    def half(y, k):
        return solve(lambda t, y: -k * y, y, np.array([0.0, 0.5]))[-1]

    def chain(k):
        end, _ = td.scan(lambda y, own: (half(y, own), y), 1.0, k)
        return end * td.subtape(half)(k[0], 1.0)

    compiled = td.compile(chain, np.ones(3))
    k = np.array([0.5, 1.5, 1.0])
    values, gradients = compiled.batch(np.stack([np.ones(3), k]))
    value = k[0] * np.exp(-0.5 * k.sum() - 0.5)
    np.testing.assert_allclose(values[1], value, rtol=1e-5)
    np.testing.assert_allclose(gradients[1], [value * (1 / k[0] - 0.5), -0.5 * value, -0.5 * value], rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_never_reaches_the_next_time_names_the_line(compiled):
    """dy / dt = k y**2 is infinite at t = 1 / k: in the plain function, and in a kernel made for smaller k."""

    def infinite(k):
        return solve(lambda t, y: k * y * y, 1.0, np.array([0.0, 2.0]), max_steps=500)[-1]

    f = td.compile(infinite, 0.1) if compiled else infinite
    with pytest.raises(td.NotConverged) as raised:
        f(1.0)
    for part in ("td.ode.solve by rk45 has not reached the next time", "test_ode.py", "in infinite", "max_steps=500"):
        assert part in str(raised.value)
    np.testing.assert_allclose(f(0.2), 1 / (1 - 0.4), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve(lambda t, y: y[:1], Y0, TIMES), "the function of td.ode.solve returns the derivative of the state"),
        (lambda: solve(lambda t, y: y, Y0, TIMES, method="euler"), "one of 'rk45', 'dop853', 'rodas4'"),
        (lambda: solve(lambda t, y: y, Y0, 1.0), "td.ode.solve needs the times in an array of one axis"),
        (lambda: solve(lambda t, y: y, ["a"], TIMES), "y0 of td.ode.solve is an array of real numbers"),
    ],
)
def test_arguments_that_do_not_fit(call, message):
    with pytest.raises(td.TapediffError) as raised:
        call()
    assert message in str(raised.value)


def test_one_time_is_the_start_and_whole_numbers_are_floats():
    np.testing.assert_array_equal(solve(lambda t, y: -y, Y0, [0.0]), [Y0])
    np.testing.assert_allclose(solve(lambda t, y: -y, 1, [0, 1]), [1, np.exp(-1)], rtol=1e-5)


@pytest.mark.slow
def test_a_fit_of_an_epidemic_finds_the_rates_it_was_made_with():
    """Susceptible, infected, recovered; Gauss and Newton's method with the Jacobian of the solution."""
    weeks, start = np.arange(0.0, 11.0), np.array([0.99, 0.01, 0.0])

    def infected(log_rates):
        infection, recovery = np.exp(log_rates)

        def f(t, y):
            new, healed = infection * y[0] * y[1], recovery * y[1]
            return np.array([-new, new - healed, healed])

        return solve(f, start, weeks, rtol=1e-8)[:, 1]

    compiled, found = td.compile(infected, np.zeros(2)), np.log([1.0, 0.3])
    data = infected(np.log([1.6, 0.5]))
    for _ in range(8):
        found = found - np.linalg.lstsq(td.jacobian(compiled, found), compiled(found) - data)[0]
    np.testing.assert_allclose(np.exp(found), [1.6, 0.5], rtol=1e-6)


def test_t_eval_gives_the_times_of_the_result():
    """As in solve_ivp: with or without the start, and differentiated by a time."""
    times = np.array([0.5, 1.0, 2.0])
    rates = lambda t, y: -y
    np.testing.assert_array_equal(td.ode.solve(rates, [1.0, 2.0], (0.0, 2.0), t_eval=times), td.ode.solve(rates, [1.0, 2.0], [0.0, *times])[1:])
    np.testing.assert_allclose(td.ode.solve(rates, 1.0, (0.0, 2.0), t_eval=[0.0, 1.0]), [1.0, np.exp(-1.0)], rtol=1e-6)
    slope = td.derivative(lambda t: td.ode.solve(rates, 1.0, (0.0, 3.0), t_eval=[t, 3.0])[0], 1.5)
    np.testing.assert_allclose(slope, -np.exp(-1.5), rtol=1e-5)
