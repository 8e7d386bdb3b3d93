"""Each transform: a bijection, its log-Jacobian against automatic differentiation, densities that integrate to one, leading axes."""

import numpy as np
import pytest
from scipy import integrate, stats

import tapediff as td

PARAMETERS = {
    "real": td.real(3), "positive": td.positive(3), "lower": td.lower(-1.5, 3), "lower, array": td.lower(np.array([-1.0, 0.0, 2.0]), 3),
    "upper": td.upper(2.5, 3), "interval": td.interval(-1, 4, 3), "real, number": td.real(), "interval, number": td.interval(0, 3),
    "ordered": td.ordered(4), "positive_ordered": td.positive_ordered(4), "simplex": td.simplex(4), "simplex of 1": td.simplex(1),
    "zero_sum": td.zero_sum(4), "cholesky_corr": td.cholesky_corr(4), "corr_matrix": td.corr_matrix(4), "corr_matrix of 1": td.corr_matrix(1),
    "cov_matrix": td.cov_matrix(3), "cov_matrix of 1": td.cov_matrix(1), "simplexes": td.simplex((2, 3)), "matrices": td.corr_matrix((2, 3, 3)),
    "unit_vector": td.unit_vector(3), "zero_sum of 1": td.zero_sum(1), "vectors in order": td.ordered((2, 3)),
}  # fmt: skip


def free(name, x):
    """As many numbers of a value as its unconstrained vector has, which determine the others."""
    if "simplex" in name:
        return x[..., :-1]
    if ("c" in name and "corr" in name) or name == "matrices":
        rows = np.tril_indices(x.shape[-1], -1)
        return x[..., rows[0], rows[1]]
    if "cov" in name:
        rows = np.tril_indices(x.shape[-1])
        return x[..., rows[0], rows[1]]
    return x


@pytest.mark.parametrize("name", [n for n in PARAMETERS if n not in ("unit_vector", "zero_sum", "zero_sum of 1")])
def test_the_log_jacobian_is_that_of_the_transform(name):
    """Of the numbers that determine the value, by the Jacobian of the transform as it is recorded."""
    transform, shape = PARAMETERS[name].transform, PARAMETERS[name].of_shape(name, {})
    inner = transform.unconstrained_shape(shape)
    u = np.random.default_rng(0).normal(size=inner)
    jacobian = td.jacobian(lambda u: free(name, transform.constrain(u.reshape(inner))[0]).ravel(), u.ravel())
    sign, expected = np.linalg.slogdet(jacobian)
    assert abs(sign) == 1
    assert transform.constrain(u)[1] == pytest.approx(expected, abs=1e-10)  # a factorisation of 12 x 12 beside a sum


@pytest.mark.parametrize("name", PARAMETERS)
def test_values_lie_in_the_support_and_go_back(name):
    """`unconstrain(constrain(u))` is u, and no value violates the constraint; but for the length of unit vectors, which is lost."""
    parameter = PARAMETERS[name]
    transform, shape = parameter.transform, parameter.of_shape(name, {})
    u = np.random.default_rng(1).normal(size=transform.unconstrained_shape(shape))
    x = transform.constrain(u)[0]
    assert np.shape(x) == shape
    assert transform.violation(np.asarray(x)) is None
    back = transform.unconstrain(np.asarray(x))
    np.testing.assert_allclose(back, u / np.linalg.norm(u) if name == "unit_vector" else u, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PARAMETERS)
def test_leading_axes_hold_independent_values(name):
    """As many values at once as one by one, and the sum of their log-Jacobians."""
    transform, shape = PARAMETERS[name].transform, PARAMETERS[name].of_shape(name, {})
    u = np.random.default_rng(2).normal(size=(2, 3, *transform.unconstrained_shape(shape)))
    x, log_jacobian = transform.constrain(u)
    alone = [transform.constrain(u[i, j]) for i in range(2) for j in range(3)]
    np.testing.assert_allclose(x, np.reshape([a[0] for a in alone], x.shape), rtol=1e-13, atol=1e-14)
    assert log_jacobian == pytest.approx(sum(a[1] for a in alone), abs=1e-10)


def test_zero_sum_keeps_lengths():
    """Its matrix has orthonormal columns, which all sum to zero."""
    matrix = td.jacobian(lambda u: td.zero_sum(5).transform.constrain(u)[0], np.zeros(4))
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(matrix.sum(axis=0), 0.0, atol=1e-14)


ONE_NUMBER = {
    "positive": (td.positive(), lambda x: stats.gamma.logpdf(x, 2.5)),
    "lower": (td.lower(2), lambda x: stats.expon.logpdf(x, 2)),
    "upper": (td.upper(-1), lambda x: stats.expon.logpdf(-1 - x)),
    "interval": (td.interval(-1, 3), lambda x: stats.beta.logpdf(x, 2, 3, -1, 4)),
    "simplex": (td.simplex(2), lambda x: stats.beta.logpdf(x[0], 3, 2)),
    "cholesky_corr": (td.cholesky_corr(2), lambda x: np.log(x[1, 1]) - np.log(np.pi / 2)),
    "corr_matrix": (td.corr_matrix(2), lambda x: np.log(0.5)),
    "cov_matrix": (td.cov_matrix(1), lambda x: stats.invgamma.logpdf(x[0, 0], 3)),
}


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_a_density_over_the_unconstrained_number_integrates_to_one(name):
    """A normalised density of the constrained value, with the log-Jacobian."""
    parameter, log_density = ONE_NUMBER[name]
    inner = parameter.transform.unconstrained_shape(parameter.of_shape(name, {}))

    def density(u):
        x, log_jacobian = parameter.transform.constrain(np.full(inner, u))
        return np.exp(log_density(x) + log_jacobian)

    assert integrate.quad(density, -40, 40, epsabs=1e-10, limit=400)[0] == pytest.approx(1.0, abs=1e-7)


def test_directions_of_unit_vectors_are_uniform():
    """With a standard normal distribution for u, as the transform has it: E x = 0 and E x x' = 1/3."""
    x = td.unit_vector(3).transform.constrain(np.random.default_rng(3).normal(size=(20_000, 3)))[0]
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(3) / 3, atol=5 * 0.3 / np.sqrt(len(x)))


@pytest.mark.parametrize(
    ("parameter", "value", "wrong"),
    [
        (td.positive(), -1.0, "not above 0"), (td.lower(2.0), 2.0, "not above 2"), (td.upper(2.0), 3.0, "not below 2"),
        (td.interval(0, 1), 1.0, "not between 0"), (td.ordered(2), [1.0, 1.0], "not in increasing order"),
        (td.positive_ordered(2), [-1.0, 1.0], "not positive and in increasing order"), (td.simplex(2), [0.4, 0.5], "not positive with sum 1"),
        (td.unit_vector(2), [1.0, 1.0], "not of length 1"), (td.zero_sum(2), [1.0, 1.0], "not of sum 0"),
        (td.cholesky_corr(2), [[1.0, 0.1], [0.0, 1.0]], "not lower triangular"), (td.corr_matrix(2), [[1.0, 0.1], [0.1, 2.0]], "without 1"),
        (td.corr_matrix(2), [[1.0, 2.0], [2.0, 1.0]], "not positive definite"), (td.cov_matrix(2), [[1.0, 0.2], [0.1, 1.0]], "not symmetric"),
        (td.real(), np.nan, "not finite"),
    ],
)  # fmt: skip
def test_values_outside_of_the_support_are_refused(parameter, value, wrong):
    """By name, with the declaration and what is wrong with the value."""
    post = td.Posterior(lambda p: 0.0 * np.sum(p), p=parameter)
    with pytest.raises(ValueError, match=f"parameter 'p' is declared td.{parameter.transform.name}.*{wrong}"):
        post.unconstrain(p=value)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: td.interval(2, 1), "not below the upper bound"), (lambda: td.lower(np.inf), "have to be finite"),
        (lambda: td.Posterior(lambda p: p, p=td.simplex()), "needs a last axis"),
        (lambda: td.Posterior(lambda p: p, p=td.cov_matrix((2, 3))), "square matrix"),
        (lambda: td.Posterior(lambda p: p, p=td.real(dims="school")), "length of 'school' is unknown"),
        (lambda: td.Posterior(lambda p: p, p=td.real(3, dims="school"), coords={"school": 2}), "is not that of the dimensions"),
        (lambda: td.Posterior(lambda a, b: a, a=td.lower(lambda b: b), b=td.real()), "declare that before"),
        (lambda: td.Posterior(lambda p: np.sum(p), p=td.lower(np.zeros(2))), r"do not broadcast to its shape \(\)"),
        (lambda: td.Posterior(lambda p: np.sum(p), p=td.interval(np.zeros(2), 1.0, 3)), r"do not broadcast to its shape \(3,\)"),
        (
            lambda: td.Posterior(lambda a, b: np.sum(b), a=td.real(2), b=td.upper(lambda a: a)).log_density(np.zeros(3)),
            "bounds of 'b' do not broadcast",
        ),
    ],
)  # fmt: skip
def test_declarations_that_cannot_be_are_refused(make, wrong):
    """With what to write instead, where that is known."""
    with pytest.raises(ValueError, match=wrong):
        make()
