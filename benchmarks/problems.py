"""The four problems, each written once in plain NumPy; `np` stands for jax.numpy or autograd.numpy as well."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy

_rng = numpy.random.default_rng(20260101)

SCHOOL_EFFECTS = numpy.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = numpy.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

ROWS, COLUMNS = 2000, 25
DESIGN = _rng.normal(size=(ROWS, COLUMNS))
OUTCOME = (_rng.uniform(size=ROWS) < 1 / (1 + numpy.exp(-DESIGN @ _rng.normal(size=COLUMNS)))).astype(float)


def eight_schools(u, np=numpy):
    """Non-centred log density: u = (z, mu, log tau)."""
    z, mu, log_tau = u[:8], u[8], u[9]
    tau = np.exp(log_tau)
    residual = (SCHOOL_EFFECTS - (mu + tau * z)) / SCHOOL_ERRORS
    return -0.5 * (np.sum(residual**2) + np.sum(z**2) + (mu / 5) ** 2) - np.log1p((tau / 5) ** 2) + log_tau


def logistic_regression(beta, np=numpy):
    """Log density of a logistic regression with a standard normal prior."""
    logits = DESIGN @ beta
    return np.sum(OUTCOME * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(beta**2)


def elementwise_chain(x, np=numpy):
    """A sum over elements with two transcendental functions."""
    y = np.tanh(1.5 * x + 0.3)
    return np.sum(y * np.exp(-0.5 * (x - y) ** 2))


def rosenbrock(x, np=numpy):
    """The chained Rosenbrock function on slices."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@dataclass(frozen=True, slots=True)
class Problem:
    """A scalar function of one vector, and the point where it is timed."""

    title: str
    function: Callable
    point: numpy.ndarray


PROBLEMS = (
    Problem("eight schools, d = 10", eight_schools, _rng.normal(size=10)),
    Problem("logistic regression, 2000 × 25", logistic_regression, _rng.normal(size=COLUMNS)),
    Problem("elementwise chain, n = 100 000", elementwise_chain, _rng.normal(size=100_000)),
    Problem("Rosenbrock, n = 10 000", rosenbrock, _rng.normal(size=10_000)),
)
