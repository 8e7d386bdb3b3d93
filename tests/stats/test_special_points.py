"""Derivatives of distributions at the location, at whole numbers, at parameters where formulas change, and at infinity."""

import numpy as np
import pytest
import scipy.stats

import tapediff as td
from tests.support.special_points import disagreements, grid

X = np.array([0.0, 0.5, 1.0, -1.0, 2.0, -0.5, np.pi, -np.pi, 2 * np.pi, 3.0, 0.1, 5.0])
Q = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 1 / 3])
SHAPES = {
    "norm": [], "t": [[1, 2, 5, 20]], "cauchy": [], "halfcauchy": [], "expon": [], "gamma": [[1, 2, 0.5]], "chi2": [[1, 2, 4]], "invgamma": [[1, 2]],
    "weibull_min": [[1, 2, 0.5]], "beta": [[1, 2, 0.5], [1, 0.5]], "uniform": [], "laplace": [], "logistic": [], "gumbel_r": [], "pareto": [[1, 2]],
    "genpareto": [[0, 0.5, -0.5, 1, -1]], "halfnorm": [], "lognorm": [[1, 0.5]], "truncnorm": [[-1, -2, -np.inf], [1, 2, np.inf]],
    "skewnorm": [[0, 1, -1]], "exponnorm": [[1, 0.5]], "vonmises": [[0.5, 1, 20]], "wrapcauchy": [[0.5, 0.1, 0.9]],
}  # fmt: skip
# The derivative by the location jumps in the middle, and these are smooth to the first order in the scale alone.
KINKS = {("laplace", "logpdf"), ("laplace", "pdf")}
# log(0) at the end of the turn.
POLES = {("vonmises", "logcdf"), ("vonmises", "logsf")}


@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"])
@pytest.mark.parametrize("name", SHAPES)
def test_derivatives_are_continuous_where_the_function_is_smooth(name, method):
    """The first and the second ones, in the argument, the shapes, the location and the scale."""
    function = lambda *a: getattr(getattr(scipy.stats, name), method)(*a)
    is_quantile = method in ("ppf", "isf")
    columns = grid(Q if is_quantile else X, *map(np.array, SHAPES[name]), [0.0], [1.0, 2.0])
    found = disagreements(function, *columns, compiles=False)
    if (name, method) in KINKS:
        found = [point for point in found if point[0] != 0.0]
    if (name, method) in POLES:
        found = [point for point in found if abs(point[0]) != np.pi]
    assert found == []


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("name", ["norm", "t", "cauchy", "laplace", "logistic", "gumbel_r", "skewnorm", "exponnorm"])
def test_probabilities_at_infinity_have_derivatives_zero(name, compiles):
    """The ends of ordered categories: by argument, location and scale, to second order; not infinity times zero."""
    shapes = {"t": (3.0,), "skewnorm": (2.0,), "exponnorm": (1.5,)}.get(name, ())
    p = np.array([0.3, 1.2])
    for method, ends in (("cdf", [np.inf, -np.inf]), ("sf", [np.inf, -np.inf]), ("logcdf", [np.inf]), ("logsf", [-np.inf])):
        for end in ends:
            total = lambda p, end=end, method=method: getattr(getattr(scipy.stats, name), method)(end, *shapes, p[0], p[1])
            target = td.compile(total, p) if compiles else td.record(total, p)
            np.testing.assert_array_equal(td.gradient(target, p), np.zeros(2))
            np.testing.assert_array_equal(td.hessian(target, p), np.zeros((2, 2)))


@pytest.mark.parametrize("name", ["norm", "t", "cauchy", "laplace", "logistic", "skewnorm"])
def test_densities_at_infinity_have_derivatives_zero(name):
    """Also those that are exp of a log density whose slope is infinite there."""
    shapes = {"t": (3.0,), "skewnorm": (2.0,)}.get(name, ())
    for end in (-np.inf, np.inf):
        density = td.compile(lambda *p: getattr(scipy.stats, name).pdf(*p), end, *shapes, 0.3, 1.2)
        assert density(end, *shapes, 0.3, 1.2) == 0.0
        assert not np.any(td.gradient(density, end, *shapes, 0.3, 1.2, argnums=tuple(range(3 + len(shapes)))))


@pytest.mark.parametrize(("name", "shapes"), [("gamma", (2.5,)), ("chi2", (3.0,)), ("invgamma", (2.5,)), ("beta", (2.0, 3.0)), ("t", (4.0,))])
def test_quantiles_at_the_ends_of_the_support_do_not_depend_on_the_shapes(name, shapes):
    """The derivative by a shape is no 0 / 0 at probabilities of 0 and 1."""
    for method in ("ppf", "isf"):
        for p in (0.0, 1.0):
            quantile = td.compile(lambda *a, method=method: getattr(getattr(scipy.stats, name), method)(*a), p, *shapes)
            assert not np.any(td.gradient(quantile, p, *shapes, argnums=tuple(range(1, len(shapes) + 1))))


@pytest.mark.parametrize("compiles", [False, True])
def test_the_middle_of_a_distribution_is_no_kink_of_its_distribution_function(compiles):
    """Where both formulas in |x - loc| meet: the density itself."""
    for name, shapes in (("laplace", ()), ("vonmises", (2.0,)), ("logistic", ())):
        distribution, x = getattr(scipy.stats, name), 0.5
        density = distribution.pdf(x, *shapes, x, 2.0)
        share = distribution.cdf(x, *shapes, x, 2.0)
        for method, slope in (("cdf", density), ("sf", -density), ("logcdf", density / share), ("logsf", -density / (1.0 - share))):
            f = lambda x, n=name, m=method, s=shapes: getattr(getattr(scipy.stats, n), m)(x, *s, 0.5, 2.0)
            assert td.derivative(td.compile(f, x) if compiles else f, x) == pytest.approx(slope, rel=1e-13)


DISCRETE = {
    "binom": ([0, 1, 2, 8], [8], [0.5, 0.25, 0.1]), "poisson": ([0, 1, 2, 8], [1, 2, 0.5, 8]), "geom": ([1, 2, 5], [0.5, 0.25]),
    "bernoulli": ([0, 1], [0.5, 0.25]), "nbinom": ([0, 1, 3], [1, 2, 0.5, 8], [0.5, 0.25]), "betabinom": ([0, 1, 3, 8], [8], [1, 2, 0.5], [1, 2, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_derivatives_of_probabilities_are_continuous_in_the_shapes(name):
    """At whole and half shapes, where the special functions below them change their form; compiled."""
    fixed = 2 if name in ("binom", "betabinom") else 1
    for method in ("logpmf", "cdf", "sf", "logcdf", "logsf"):
        function = lambda *a, method=method: getattr(getattr(scipy.stats, name), method)(*a)
        assert disagreements(function, *grid(*DISCRETE[name]), fixed=fixed) == []


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("vonmises", "wrapcauchy", "skewnorm", "exponnorm", "truncnorm")])
@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_slopes_of_quantiles_at_their_ends_are_those_of_the_inverse(name, method):
    """1 / density, so infinite where the density vanishes, with the sign of the direction; no NaN, by the shapes neither."""
    family, sign = getattr(td.stats, name), 1.0 if method == "ppf" else -1.0
    for q in (0.0, 1.0):
        for shapes in zip(*(map(float, values[:2]) for values in SHAPES[name])) if SHAPES[name] else [()]:
            found = lambda p: getattr(family, method)(p[0], *p[1:])
            p = np.array([q, *shapes])
            value, slopes = td.value_and_gradient(found, p)
            assert value == getattr(getattr(scipy.stats, name), method)(q, *shapes)
            assert not np.isnan(slopes).any()
            if name == "genpareto" and q == (method == "ppf"):
                continue  # an end that the shape moves
            with np.errstate(divide="ignore"):
                np.testing.assert_allclose(slopes[0], sign / np.float64(family.pdf(value, *shapes)), rtol=1e-12)


def test_student_with_infinite_degrees_of_freedom_is_normal():
    """Value and slopes, compiled too; by the degrees of freedom 0, as their slope falls with the square of the inverse."""
    p = np.array([1.3, np.inf, 0.2, 2.0])
    density = lambda p: td.stats.t.logpdf(*p)
    for target in (density, td.compile(density, p), td.compile(density, np.array([0.5, 3.0, 0.0, 1.0]))):
        value, slopes = td.value_and_gradient(target, p)
        normal, expected = td.value_and_gradient(lambda p: td.stats.norm.logpdf(*p), p[[0, 2, 3]])
        np.testing.assert_allclose([value, *slopes], [normal, expected[0], 0.0, *expected[1:]], rtol=1e-14)
