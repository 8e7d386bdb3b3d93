"""Problems with a Python loop, and the same as td.scan: recurrences, an ODE, a filter, a straight line."""

import numpy
import numpy as np

import tapediff as td

from .problem import Problem

_rng = numpy.random.default_rng(20260102)


def loop_sum(x, np=numpy):
    total = 0.0
    for k in range(1000):
        total = total + x[k]
    return total


def loop_sum_of_sines(x, np=numpy):
    total = 0.0
    for k in range(1000):
        total = total + np.sin(x[k])
    return total


def straight_line(x, np=numpy):
    """400 multiplications, each of the result of the one before."""
    y = x[0]
    for _ in range(400):
        y = y * x[1]
    return y


def rosenbrock_loop(n):
    """The chained Rosenbrock function on single elements."""

    def value(x, np=numpy):
        total = 0.0
        for k in range(n - 1):
            total = total + 100.0 * (x[k + 1] - x[k] ** 2) ** 2 + (1.0 - x[k]) ** 2
        return total

    return value


PERIODS = 500
RETURNS = 0.7 * _rng.normal(size=PERIODS)


def stochastic_volatility(u, np=numpy):
    """Non-centred log density; u = (mean, artanh of the persistence, log scale, innovations)."""
    mean, persistence, scale = u[0], np.tanh(u[1]), np.exp(u[2])
    h = mean + scale * u[3] / np.sqrt(1.0 - persistence**2)
    total = -0.5 * (h + RETURNS[0] ** 2 * np.exp(-h) + u[3] ** 2)
    for t in range(1, PERIODS):
        h = mean + persistence * (h - mean) + scale * u[3 + t]
        total = total - 0.5 * (h + RETURNS[t] ** 2 * np.exp(-h) + u[3 + t] ** 2)
    return total - 0.5 * (u[0] ** 2 + u[1] ** 2 + u[2] ** 2)


def stochastic_volatility_scan(u):
    mean, persistence, scale, z = u[0], np.tanh(u[1]), np.exp(u[2]), u[3:]
    start = mean + scale * z[0] / np.sqrt(1.0 - persistence**2)

    def step(h, innovation):
        h = mean + persistence * (h - mean) + scale * innovation
        return h, h

    _, rest = td.scan(step, start, z[1:])
    terms = rest + RETURNS[1:] ** 2 * np.exp(-rest)
    first = start + RETURNS[0] ** 2 * np.exp(-start)
    return -0.5 * (np.sum(terms) + first + np.sum(z**2) + np.sum(u[:3] ** 2))


STEPS, STEP = 200, 0.05
OBSERVED = numpy.stack(
    [1.0 + 0.3 * numpy.sin(0.05 * numpy.arange(STEPS)), 1.0 + 0.3 * numpy.cos(0.05 * numpy.arange(STEPS))], 1
)


def predator_prey(a, b, c, d):
    """One step of the classical Runge-Kutta method for u' = a u - b u v, v' = d u v - c v."""

    def slope(u, v):
        return u * (a - b * v), v * (d * u - c)

    def step(u, v):
        u1, v1 = slope(u, v)
        u2, v2 = slope(u + 0.5 * STEP * u1, v + 0.5 * STEP * v1)
        u3, v3 = slope(u + 0.5 * STEP * u2, v + 0.5 * STEP * v2)
        u4, v4 = slope(u + STEP * u3, v + STEP * v3)
        return u + STEP / 6 * (u1 + 2 * (u2 + u3) + u4), v + STEP / 6 * (v1 + 2 * (v2 + v3) + v4)

    return step


def lotka_volterra(p, np=numpy):
    """The misfit of 200 steps; p = logs of four rates and two first populations."""
    step = predator_prey(np.exp(p[0]), np.exp(p[1]), np.exp(p[2]), np.exp(p[3]))
    u, v, misfit = np.exp(p[4]), np.exp(p[5]), 0.0
    for t in range(STEPS):
        u, v = step(u, v)
        misfit = misfit + (u - OBSERVED[t, 0]) ** 2 + (v - OBSERVED[t, 1]) ** 2
    return misfit


def lotka_volterra_scan(p):
    step = predator_prey(np.exp(p[0]), np.exp(p[1]), np.exp(p[2]), np.exp(p[3]))

    def body(carry, observed):
        u, v, misfit = carry
        u, v = step(u, v)
        return (u, v, misfit + (u - observed[0]) ** 2 + (v - observed[1]) ** 2), None

    (_, _, misfit), _ = td.scan(body, (np.exp(p[4]), np.exp(p[5]), 0.0), OBSERVED)
    return misfit


STATES, SIGNALS = 4, 200
SIGNAL = _rng.normal(size=SIGNALS) + numpy.repeat(_rng.integers(0, STATES, SIGNALS // 10), 10)


def hidden_markov_start(u, np):
    """Transition probabilities (rows sum to 1) and emission densities; u = (16 logits, 4 means, log scale)."""
    weights = np.exp(np.reshape(u[: STATES * STATES], (STATES, STATES)))
    transition = weights / np.sum(weights, axis=1)[:, None]
    scaled = (SIGNAL[:, None] - u[16:20]) / np.exp(u[20])
    return transition, np.exp(-0.5 * scaled**2) / np.exp(u[20])


def hidden_markov(u, np=numpy):
    """Log likelihood by the scaled forward pass, from equal probabilities."""
    transition, emission = hidden_markov_start(u, np)
    total, forward = 0.0, 0.25 * emission[0]
    for t in range(1, SIGNALS):
        size = np.sum(forward)
        total = total + np.log(size)
        forward = ((forward / size) @ transition) * emission[t]
    return total + np.log(np.sum(forward))


def hidden_markov_scan(u):
    transition, emission = hidden_markov_start(u, np)

    def step(carry, emitted):
        forward, total = carry
        size = np.sum(forward)
        return (((forward / size) @ transition) * emitted, total + np.log(size)), None

    (forward, total), _ = td.scan(step, (0.25 * emission[0], 0.0), emission[1:])
    return total + np.log(np.sum(forward))


_VOLATILITY = (numpy.concatenate([[-0.5, 1.2, -1.0], _rng.normal(size=PERIODS)]),)
_POPULATIONS = (numpy.array([-0.1, 0.05, 0.1, -0.05, 0.2, -0.1]),)
_CHAIN = (numpy.concatenate([0.5 * _rng.normal(size=16), [0.1, 1.2, 1.9, 3.1, -0.1]]),)


def _rosenbrock(n, text, is_slow):
    point = (_rng.normal(size=n),)
    title = f"Rosenbrock, n = {text}, Python loop"
    return Problem(
        f"rosenbrock_loop_{n}", title, rosenbrock_loop(n), point, by_hand="rosenbrock", version="rosenbrock_loop",
        is_slow=is_slow,
    )  # fmt: skip


PROBLEMS = (
    Problem("loop_sum", "sum, n = 1000, Python loop", loop_sum, (_rng.normal(size=1000),), by_hand="plain_sum"),
    Problem(
        "loop_sum_sin", "sum of sines, n = 1000, Python loop", loop_sum_of_sines, (_rng.normal(size=1000),),
        by_hand="sum_of_sines",
    ),
    Problem(
        "straight_line", "400 multiplications", straight_line, (numpy.array([0.9, 0.99]),), by_hand="straight_line"
    ),
    _rosenbrock(1000, "1000", False),
    _rosenbrock(10_000, "10 000", True),
    Problem(
        "volatility", "stochastic volatility, T = 500, Python loop", stochastic_volatility, _VOLATILITY,
        by_hand="stochastic_volatility",
    ),
    Problem(
        "volatility_scan", "stochastic volatility, T = 500, td.scan", stochastic_volatility, _VOLATILITY,
        taped=stochastic_volatility_scan, by_hand="stochastic_volatility", version="volatility",
    ),
    Problem(
        "lotka_volterra", "Lotka-Volterra, 200 RK4 steps, Python loop", lotka_volterra, _POPULATIONS,
        by_hand="lotka_volterra",
    ),
    Problem(
        "lotka_volterra_scan", "Lotka-Volterra, 200 RK4 steps, td.scan", lotka_volterra, _POPULATIONS,
        taped=lotka_volterra_scan, by_hand="lotka_volterra", version="lotka_volterra",
    ),
    Problem(
        "hidden_markov", "hidden Markov model, 4 states, T = 200, Python loop", hidden_markov, _CHAIN,
        by_hand="hidden_markov",
    ),
    Problem(
        "hidden_markov_scan", "hidden Markov model, 4 states, T = 200, td.scan", hidden_markov, _CHAIN,
        taped=hidden_markov_scan, by_hand="hidden_markov", version="hidden_markov",
    ),
)  # fmt: skip
