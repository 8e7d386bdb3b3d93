"""Problems made of array operations: sums, elementwise chains, densities, a Gaussian process, a network."""

import numpy

import tapediff as td

from .problem import Problem

_rng = numpy.random.default_rng(20260101)

SCHOOL_EFFECTS = numpy.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = numpy.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(u, np=numpy):
    """Non-centred log density: u = (z, mu, log tau)."""
    z, mu, log_tau = u[:8], u[8], u[9]
    tau = np.exp(log_tau)
    residual = (SCHOOL_EFFECTS - (mu + tau * z)) / SCHOOL_ERRORS
    return -0.5 * (np.sum(residual**2) + np.sum(z**2) + (mu / 5) ** 2) - np.log1p((tau / 5) ** 2) + log_tau


def classes(rows, columns):
    """A design matrix and outcomes 0 and 1."""
    design = _rng.normal(size=(rows, columns))
    logits = design @ _rng.normal(size=columns)
    return design, (_rng.uniform(size=rows) < 1 / (1 + numpy.exp(-logits))).astype(float)


SMALL_DESIGN, SMALL_OUTCOME = classes(2000, 25)
LARGE_DESIGN, LARGE_OUTCOME = classes(20_000, 50)


def logistic_regression(design, outcome):
    """Log density of a logistic regression with a standard normal prior."""

    def log_density(beta, np=numpy):
        logits = design @ beta
        return np.sum(outcome * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(beta**2)

    return log_density


def elementwise_chain(x, np=numpy):
    """A sum over elements with two transcendental functions."""
    y = np.tanh(1.5 * x + 0.3)
    return np.sum(y * np.exp(-0.5 * (x - y) ** 2))


def rosenbrock(x, np=numpy):
    """The chained Rosenbrock function on slices."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def plain_sum(x, np=numpy):
    return np.sum(x)


def sum_of_sines(x, np=numpy):
    return np.sum(np.sin(x))


def kron_sum(x, np=numpy):
    """The sum of the Kronecker product of a 20 × 20 and a 40 × 40 matrix."""
    a, b = np.reshape(x[:400], (20, 20)), np.reshape(x[400:], (40, 40))
    return np.sum(np.kron(a, b))


COMPONENTS, DIMENSIONS = 10, 10
CLOUD = (
    _rng.normal(size=(1000, DIMENSIONS)) + 2 * _rng.normal(size=(COMPONENTS, DIMENSIONS))[_rng.integers(0, 10, 1000)]
)


def gaussian_mixture(u, np=numpy):
    """Log likelihood of a mixture with diagonal covariances; u = (log weights, means, log scales)."""
    log_weight = u[:COMPONENTS]
    mean = np.reshape(u[COMPONENTS : 11 * COMPONENTS], (COMPONENTS, DIMENSIONS))
    log_scale = np.reshape(u[11 * COMPONENTS :], (COMPONENTS, DIMENSIONS))
    scaled = (CLOUD[:, None, :] - mean) / np.exp(log_scale)
    each = log_weight - np.sum(log_scale, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    largest = np.max(each, axis=1)
    total = np.sum(largest + np.log(np.sum(np.exp(each - largest[:, None]), axis=1)))
    return total - len(CLOUD) * np.log(np.sum(np.exp(log_weight)))


def solver(np):
    """solve_triangular for arrays of the namespace."""
    if np is numpy:
        return td.linalg.solve_triangular
    if np.__name__ == "jax.numpy":
        from jax.scipy.linalg import solve_triangular
    else:
        from autograd.scipy.linalg import solve_triangular
    return solve_triangular


def gaussian_process(n):
    """Log marginal likelihood with a squared exponential kernel; u = logs of length scale, amplitude, noise."""
    x = numpy.sort(_rng.uniform(-3, 3, n))
    y = numpy.sin(2 * x) + 0.3 * _rng.normal(size=n)
    squared_distance, identity, diagonal = (x[:, None] - x[None, :]) ** 2, numpy.eye(n), numpy.arange(n)

    def log_likelihood(u, np=numpy):
        scale, amplitude, noise = np.exp(u[0]), np.exp(u[1]), np.exp(u[2])
        covariance = amplitude**2 * np.exp(-0.5 * squared_distance / scale**2) + noise**2 * identity
        factor = np.linalg.cholesky(covariance)
        whitened = solver(np)(factor, y, lower=True)
        return -0.5 * np.sum(whitened**2) - np.sum(np.log(factor[diagonal, diagonal]))

    return log_likelihood


FEATURES, HIDDEN = 20, 32
SHAPES = ((FEATURES, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN,), ())
BATCH = _rng.normal(size=(200, FEATURES))
LABELS = numpy.where(numpy.sin(BATCH[:, 0]) + BATCH[:, 1] > 0, 1.0, -1.0)


def network(u, np=numpy):
    """The loss of two hidden layers of 32 on 200 examples of 20 features."""
    weights, start = [], 0
    for shape in SHAPES:
        size = numpy.prod(shape, dtype=int)
        weights.append(np.reshape(u[start : start + size], shape))
        start += size
    w1, b1, w2, b2, w3, b3 = weights
    hidden = np.tanh(np.tanh(BATCH @ w1 + b1) @ w2 + b2)
    return np.mean(np.logaddexp(0.0, -LABELS * (hidden @ w3 + b3))) + 1e-3 * np.sum(u**2)


_WEIGHT_COUNT = sum(numpy.prod(shape, dtype=int) for shape in SHAPES)
_GP_POINT = numpy.array([-0.3, 0.1, -1.0])


def _at(size, scale=1.0):
    return (scale * _rng.normal(size=size),)


PROBLEMS = (
    Problem("eight_schools", "eight schools, d = 10", eight_schools, _at(10), by_hand="eight_schools"),
    Problem(
        "logistic_2000", "logistic regression, 2000 × 25", logistic_regression(SMALL_DESIGN, SMALL_OUTCOME), _at(25),
        by_hand="logistic_2000",
    ),
    Problem(
        "logistic_20000", "logistic regression, 20 000 × 50", logistic_regression(LARGE_DESIGN, LARGE_OUTCOME), _at(50),
        by_hand="logistic_20000",
    ),
    Problem("chain", "elementwise chain, n = 100 000", elementwise_chain, _at(100_000), by_hand="elementwise_chain"),
    Problem("rosenbrock", "Rosenbrock, n = 10 000", rosenbrock, _at(10_000), by_hand="rosenbrock"),
    Problem("gaussian_mixture", "Gaussian mixture, 1000 × 10, K = 10", gaussian_mixture, _at(210, 0.5)),
    Problem("gp_100", "Gaussian process, n = 100", gaussian_process(100), (_GP_POINT,)),
    Problem("gp_300", "Gaussian process, n = 300", gaussian_process(300), (_GP_POINT,)),
    Problem("network", "network 20-32-32-1, 200 examples", network, _at(_WEIGHT_COUNT, 0.2)),
    Problem("sum", "sum, n = 1000", plain_sum, _at(1000), by_hand="plain_sum"),
    Problem("sum_sin", "sum of sines, n = 1000", sum_of_sines, _at(1000), by_hand="sum_of_sines"),
    Problem("kron_sum", "sum of kron, 20 × 20 and 40 × 40", kron_sum, _at(2000)),
)  # fmt: skip
