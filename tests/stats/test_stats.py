"""tapediff.stats against scipy.stats: values on a grid with tails, edges and the outside; derivatives against differences; kernels against replays."""

import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.stats

import tapediff as td

INF, NAN = np.inf, np.nan
# Shapes of each distribution; scipy.stats has all of these.
CONTINUOUS = {
    "norm": [()], "halfnorm": [()], "lognorm": [(0.3,), (1.7,)], "t": [(0.7,), (3.0,), (40.0,)], "cauchy": [()], "halfcauchy": [()],
    "expon": [()], "gamma": [(0.4,), (1.0,), (3.5,), (90.0,)], "invgamma": [(0.7,), (4.0,)],
    "beta": [(0.5, 0.5), (1.0, 1.0), (2.0, 3.5), (1.0, 4.0), (30.0, 12.0)], "uniform": [()], "laplace": [()], "logistic": [()],
    "weibull_min": [(0.6,), (1.0,), (2.4,)], "pareto": [(0.8,), (3.0,)], "chi2": [(1.0,), (2.0,), (7.0,)],
    "truncnorm": [(-1.0, 2.0), (1.5, 4.0), (-5.0, -2.0), (-INF, 1.0), (0.5, INF)], "vonmises": [(0.3,), (4.0,), (30.0,)], "gumbel_r": [()],
    "skewnorm": [(0.0,), (2.0,), (-4.0,)], "genpareto": [(0.0,), (0.4,), (-0.5,), (-1.0,), (-2.0,)], "exponnorm": [(0.5,), (2.0,)],
    "wrapcauchy": [(0.3,), (0.9,)],
}  # fmt: skip
DISCRETE = {
    "poisson": [(0.5,), (7.0,), (0.0,)], "binom": [(10.0, 0.3), (4.0, 1.0)], "nbinom": [(3.0, 0.4), (2.5, 0.9)], "bernoulli": [(0.3,), (1.0,)],
    "geom": [(0.2,), (1.0,)], "betabinom": [(8.0, 2.0, 0.7)],
}  # fmt: skip
DISTRIBUTIONS = CONTINUOUS | DISCRETE
OTHERS = {"multivariate_normal", "dirichlet", "multinomial", "categorical", "lkj"}
FUNCTIONS = ("cdf", "sf", "logcdf", "logsf")
# Where SciPy rounds: its von Mises distribution function is a truncated series; the truncated normal one and isf are those of a difference
# from 1, as is its Pareto distribution function, and the quantile of the half normal one; see test_values_where_scipys_are_rounded.
# Logarithms of probabilities near 1 are those of the complement here.
RELATIVE = {("truncnorm", "logsf"): 1e-8, ("truncnorm", "logcdf"): 1e-8, ("pareto", "logcdf"): 1e-8, ("pareto", "logsf"): 1e-8}
RELATIVE |= {("skewnorm", m): 4e-6 for m in FUNCTIONS} | {("truncnorm", m): 1e-10 for m in ("ppf", "isf")}
RELATIVE |= {("vonmises", m): 4e-8 for m in ("ppf", "isf")} | {(name, m): 1e-10 for name in ("skewnorm", "exponnorm") for m in ("ppf", "isf")}
ABSOLUTE = {"wrapcauchy": 1e-15, "skewnorm": 1e-15, "exponnorm": 1e-15, "vonmises": 1e-13, "truncnorm": 1e-15, "pareto": 1e-15, "halfnorm": 1e-15, "genpareto": 1e-16} | dict.fromkeys(DISCRETE, 1e-16)
# In the densities of these infinite arguments are not looked for, which would make the usual ones slower.
NOT_MASKED = {"norm", "t", "cauchy", "laplace"}


def methods(name):
    log = "logpdf" if name in CONTINUOUS else "logpmf"
    return (log, log.removeprefix("log"), *FUNCTIONS, "ppf", "isf")


def grid(name, shapes):
    """Quantiles from the far tails, the edges of the support, and points outside of it."""
    reference = getattr(scipy.stats, name)
    if name in DISCRETE:
        return np.array([*range(-2, 14), 2.5, -0.5, 40.0, 100.0])
    quantiles = reference.ppf([1e-8, 1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 0.9999], *shapes)
    return np.array([*quantiles, *reference.support(*shapes), -40.0, -3.0, -0.3, 0.0, 0.2, 1.0, 2.0, 5.0, 6.28, 30.0, NAN])


CASES = [(name, shapes) for name, table in DISTRIBUTIONS.items() for shapes in table]


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_values_are_scipys(name, shapes):
    """To 1e-12, with location and scale; NaN for NaN and for a scale that is not positive. Plain arrays give plain arrays."""
    ours, reference = getattr(td.stats, name), getattr(scipy.stats, name)
    x, q = grid(name, shapes), np.array([0.0, 1e-7, 1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 0.9999, 1.0, -0.1, 1.1, NAN])
    moved = {"loc": 2.0} if name in DISCRETE else {"loc": 0.7, "scale": 2.5}
    for method in methods(name):
        if name == "vonmises" and method.startswith("log") and method != "logpdf":
            continue  # SciPy's are logarithms of what its series leaves in the tails
        if name == "geom" and shapes == (1.0,) and method in ("ppf", "isf"):
            continue  # SciPy's are 0, which is not in the support
        points = q if method in ("ppf", "isf") else x
        tolerance = RELATIVE.get((name, method), 1e-12)
        for named in ({}, moved):
            at = points if method in ("ppf", "isf") or not named else points * named.get("scale", 1.0) + named["loc"]
            value = getattr(ours, method)(at, *shapes, **named)
            with np.errstate(all="ignore"):
                expected = getattr(reference, method)(at, *shapes, **named)
            # SciPy's densities at infinity are an infinity minus another one.
            known = ~(np.isnan(expected) & ~np.isnan(at) & np.isinf(at))
            if name == "skewnorm":  # SciPy's are logarithms of probabilities that underflow
                known &= ~(np.isneginf(expected) & np.isfinite(value) & np.isfinite(at))
            np.testing.assert_allclose(value[known], expected[known], rtol=tolerance, atol=ABSOLUTE.get(name, 1e-300), err_msg=f"{method} {named}")
        assert type(value) is np.ndarray
        assert np.shape(getattr(ours, method)(0.5, *shapes)) == ()
        if name in CONTINUOUS:
            assert np.isnan(getattr(ours, method)(0.5, *shapes, scale=-1.0))
            assert np.isnan(getattr(ours, method)(0.5, *shapes, scale=0.0))


def parameters(name, shapes, x):
    """Argument, shapes, location and scale as arrays of one shape, and which of them have derivatives."""
    is_continuous = name in CONTINUOUS
    rows = [x, *shapes, 0.0, *((1.0,) if is_continuous else ())]
    whole = {"binom": [1], "betabinom": [1]}.get(name, [])
    return [np.full(x.shape, row) for row in rows], [k for k in range(len(rows)) if is_continuous or k not in (0, len(rows) - 1, *whole)]


# Without shapes that are at the end of what is valid, where derivatives in them are infinite.
INSIDE = [(name, shapes) for name, shapes in CASES if name not in DISCRETE or (name, shapes[-1]) in (("betabinom", 0.7),) or shapes[-1] not in (0.0, 1.0)]


@pytest.mark.parametrize(("name", "shapes"), INSIDE)
def test_derivatives_at_edges_and_outside_are_never_nan(name, shapes):
    """Of the log density, in all arguments; zero wherever it is infinite."""
    ours = getattr(td.stats, name)
    density = ours.logpdf if name in CONTINUOUS else ours.logpmf
    arguments, active = parameters(name, shapes, np.array([*grid(name, shapes)[:-1], *(() if name in NOT_MASKED else (INF, -INF))]))
    arguments = [a[np.isfinite(arguments[0]) | (name not in NOT_MASKED)] for a in arguments]
    infinite = np.isinf(density(*arguments))
    with np.errstate(all="ignore"):
        gradients = td.gradient(lambda *a: np.sum(density(*a)), *arguments, argnums=active)
    for k, gradient in zip(active, gradients):
        assert not np.any(gradient[infinite]), k
        assert not np.isnan(gradient).any(), (k, arguments[0][np.isnan(gradient)])


def points_inside(name, shapes):
    """Where derivatives are compared: in the middle, at the quartiles and further out, away from kinks."""
    if name in DISCRETE:
        return np.array({"geom": [1.0, 3.0, 7.0], "bernoulli": [0.0, 1.0]}.get(name, [0.0, 2.0, 4.0]))
    return getattr(scipy.stats, name).ppf([0.003, 0.1, 0.37, 0.8, 0.995], *shapes)


def difference(f, arguments, k, distance):
    """The derivative of an elementwise function in argument k, to the fourth power of steps that keep their distance from edges."""
    step = 5e-4 * np.minimum(np.where(arguments[k] == 0.0, 1.0, np.minimum(1.0, np.abs(arguments[k]))), distance)

    def at(multiple):
        return f(*arguments[:k], arguments[k] + multiple * step, *arguments[k + 1 :])

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * step)


@pytest.mark.parametrize(("name", "shapes"), INSIDE)
def test_derivatives_are_differences(name, shapes):
    """Of every method, in the argument, all shapes, location and scale."""
    ours = getattr(td.stats, name)
    for method in methods(name):
        if method in ("ppf", "isf"):
            x = np.array([0.03, 0.2, 0.6, 0.97])
            distance = np.minimum(x, 1.0 - x)
        else:
            x = points_inside(name, shapes)
            low, high = getattr(scipy.stats, name).support(*shapes) if name != "vonmises" else (-np.pi, np.pi)
            distance = np.minimum(1.0, np.minimum(x - low, high - x)) if name in CONTINUOUS else np.ones(x.shape)
        arguments, active = parameters(name, shapes, x)
        active = [k for k in active if np.isfinite(arguments[k]).all()]
        f = getattr(ours, method)
        for k, gradient in zip(active, td.gradient(lambda *a: np.sum(f(*a)), *arguments, argnums=active)):
            if method in ("ppf", "isf") and name in DISCRETE:
                assert not np.any(gradient), "of a step function"
                continue
            with np.errstate(all="ignore"):
                expected = difference(f, arguments, k, distance)
            # Rounding of values of size 1, and of inverses that SciPy finds to 1e-13, over the step; the fourth power of the step.
            tolerance = 3e-8 / distance
            known = np.isfinite(f(*arguments))
            assert np.all((np.abs(gradient - expected) <= tolerance + 3e-8 * np.abs(expected))[known]), (method, k, gradient, expected)


def every_method(name):
    """One function of the argument and all parameters: all methods with different weights, at points from which one can go on to quantiles."""
    ours = getattr(td.stats, name)

    def total(x, q, *parameters):
        return sum((1.0 + 0.3 * k) * np.sum(getattr(ours, m)(q if m in ("ppf", "isf") else x, *parameters)) for k, m in enumerate(methods(name)))

    return total


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_kernels_agree_with_replays_and_second_derivatives_with_differences(name):
    """Value and gradient of all methods in one compiled tape, recorded at one point and called at another; a Hessian product uncompiled."""
    shapes = next(shape for inside, shape in INSIDE if inside == name and np.isfinite(shape).all())
    x = points_inside(name, shapes)[1:4]
    arguments, active = parameters(name, shapes, x)
    arguments, active = [arguments[0], np.array([0.03, 0.4, 0.9])[: x.size], *arguments[1:]], [1 if k == 0 else k + 1 for k in active]
    f = every_method(name)
    fixed = [a if k in active or k < 2 else td.Constant(a) for k, a in enumerate(arguments)]
    tape = td.record(f, *fixed)
    moved = [a if k not in active else a * 1.02 for k, a in enumerate(arguments)]
    compiled = td.compile(tape)
    value, gradient = td.value_and_gradient(tape, *moved, argnums=active)
    fast_value, fast_gradient = td.value_and_gradient(compiled, *moved, argnums=active)
    # The kernel's own exp and log are within 4 ulp of NumPy's; distribution functions amplify them in their exponents.
    assert fast_value == pytest.approx(value, rel=1e-12)
    for ours, fast in zip(gradient, fast_gradient):
        np.testing.assert_allclose(fast, ours, rtol=1e-10, atol=1e-11 * np.max(np.abs(ours), initial=1.0))
    last = active[-1]
    direction = 1e-4 * np.abs(moved[last]) + 1e-5
    up, down = ([*moved[:last], moved[last] + sign * direction, *moved[last + 1 :]] for sign in (1.0, -1.0))
    product = td.jvp(lambda *a: td.gradient(tape, *a, argnums=active), moved, [None if k != last else direction for k in range(len(moved))])[1]
    for ours, after, before in zip(product, td.gradient(tape, *up, argnums=active), td.gradient(tape, *down, argnums=active)):
        expected = 0.5 * (after - before)
        # The square of the step, and the rounding of gradients.
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-7 * (np.max(np.abs(expected), initial=0.0) + 1e-4))


def test_values_where_scipys_are_rounded():
    """Against mpmath: tails of the skew and truncated normal and of the von Mises distribution, where SciPy's values lose digits."""
    with mpmath.workdps(30):
        skew = mpmath.quad(lambda t: 2 * mpmath.npdf(t) * mpmath.ncdf(2 * t), [-9, -4, mpmath.mpf(-3)])
        turned = mpmath.quad(lambda t: mpmath.exp(80 * mpmath.cos(t)), [-mpmath.pi, -2, -1, -0.5, mpmath.mpf(-0.25)])
        turned /= 2 * mpmath.pi * mpmath.besseli(0, 80)
        beyond = (mpmath.ncdf(-7)) / mpmath.ncdf(mpmath.mpf(-0.5))
    # The integral's own error, and that of the normal functions.
    assert td.stats.skewnorm.cdf(-3.0, 2.0) == pytest.approx(float(skew), rel=1e-13)
    assert td.stats.vonmises.cdf(-0.25, 80.0) == pytest.approx(float(turned), rel=1e-12)
    assert td.stats.truncnorm.isf(float(beyond), 0.5, INF) == pytest.approx(7.0, rel=1e-13)


def thin_tail(h, b):
    """P(Z < -h) of the skew normal of a shape b >= 0, by mpmath: an integral of Owen's."""
    if not h:
        return mpmath.atan2(1, b) / mpmath.pi
    width, ends = min(1 / (h * h * b) if b else mpmath.inf, 1 / h, 1 + b), [0]
    while ends[-1] < 20 / h:
        ends.append(max(2 * ends[-1], width / 4))
    whole = mpmath.quad(lambda s: mpmath.exp(-h * h * s * (b + s / 2)) / (1 + (b + s) ** 2), ends)
    return whole * mpmath.exp(-h * h * (1 + b * b) / 2) / mpmath.pi


def skew_probability(z, a):
    h, b = abs(z), abs(a)
    thin = thin_tail(h, b)
    if z < 0:
        return thin if a >= 0 else mpmath.erfc(h / mpmath.sqrt(2)) - thin
    return mpmath.erf(h / mpmath.sqrt(2)) + thin if a >= 0 else 1 - thin


@pytest.mark.parametrize("a", [0.0, 0.5, 3.0, -12.0, 50.0, -1000.0, 1e6])
@pytest.mark.slow
def test_the_skew_normal_is_right_on_its_thin_side(a):
    """Probabilities, their logarithms and derivatives in both arguments against mpmath, and quantiles, of either tail of every shape."""
    z = np.array([-10.0, -3.0, -0.3, -1e-3, -1e-5, 0.0, 1e-5, 0.02, 1.0, 10.0])
    shape = np.full(z.size, a)
    with mpmath.workdps(40):
        mz, ma = [mpmath.mpf(v) for v in z.tolist()], mpmath.mpf(a)
        below, above = [skew_probability(v, ma) for v in mz], [skew_probability(-v, -ma) for v in mz]
        density = [2 * mpmath.npdf(v) * mpmath.ncdf(ma * v) if ma * v > -1e5 else mpmath.mpf(0) for v in mz]
        slope = [-mpmath.exp(-v * v * (1 + ma * ma) / 2) / (mpmath.pi * (1 + ma * ma)) for v in mz]
        logs = [mpmath.log(p) if p < 0.5 else mpmath.log1p(-q) for p, q in zip(below, above)]
        logs_above = [mpmath.log(q) if q < 0.5 else mpmath.log1p(-p) for p, q in zip(below, above)]
        ratios = [[float(x / p) for x, p in zip(part, below)] for part in (density, slope)]
    numbers = lambda row: np.array([float(v) for v in row])
    distribution = td.stats.skewnorm
    # The error of the integral, and of functions of two arguments of SciPy's. Below 1e-290 probabilities underflow.
    close = lambda ours, right: np.testing.assert_allclose(ours, right, rtol=1e-12, atol=1e-290)
    for name, right in (("cdf", below), ("sf", above), ("logcdf", logs), ("logsf", logs_above)):
        function = getattr(distribution, name)
        close(function(z, shape), numbers(right))
        close(td.compile(function, z, shape)(z, shape), numbers(right))
    by_z, by_a = td.gradient(lambda z, a: np.sum(distribution.cdf(z, a)), z, shape, argnums=(0, 1))
    close(by_z, numbers(density))
    close(by_a, numbers(slope))
    usual = numbers(below) > 0.0
    for ours, right in zip(td.gradient(lambda z, a: np.sum(distribution.logcdf(z, a)), z, shape, argnums=(0, 1)), ratios):
        close(ours[usual], np.array(right)[usual])
    q = np.array([1e-30, 1e-6, 0.01, 0.5, 0.999])
    with mpmath.workdps(40):
        for x, y, wanted in zip(distribution.ppf(q, a), distribution.isf(q, a), q.tolist()):
            # The interval is halved down to 1e-17, which is 1e-9 of the quantiles of the steepest shape.
            assert float(skew_probability(mpmath.mpf(float(x)), mpmath.mpf(a)) / wanted) == pytest.approx(1.0, rel=1e-9)
            assert float(skew_probability(mpmath.mpf(-float(y)), mpmath.mpf(-a)) / wanted) == pytest.approx(1.0, rel=1e-9)


def test_all_names_are_tested_here():
    """A distribution that comes in comes into the tables above."""
    assert set(td.stats.__all__) == DISTRIBUTIONS.keys() | OTHERS


def check(f, *arguments):
    """The gradient in each argument is a difference; a kernel's is the replay's."""
    every = tuple(range(len(arguments)))
    tape = td.record(f, *arguments)
    for ours, fast in zip(td.gradient(tape, *arguments, argnums=every), td.gradient(td.compile(tape), *arguments, argnums=every)):
        np.testing.assert_allclose(fast, ours, rtol=1e-12, atol=1e-13)  # rounding of a few dozen operations
    for k in every:
        part = lambda t, k=k: f(*arguments[:k], t, *arguments[k + 1 :])
        td.testing.check_gradient(part, part, arguments[k])


@pytest.mark.parametrize(
    ("shape", "mean", "cov"),
    [
        ((3,), None, 2.0), ((3,), 0.5, [2.0]), ((3,), [0.5], [[2.0]]), ((), 0.5, 2.0), ((3, 1), None, 2.0), ((1, 1), None, 2.0),
        ((3,), np.zeros(3), 2.0), ((1, 3), np.ones(3), 2.0), ((4, 3), np.ones(3), [1.0, 2.0, 3.0]), ((2, 1, 2), [1.0, 2.0], np.eye(2) + 0.1),
    ],
)  # fmt: skip
def test_multivariate_normal_has_the_dimensions_that_scipy_infers(shape, mean, cov):
    x = np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)
    expected = scipy.stats.multivariate_normal.logpdf(x, mean, cov)
    for found in (
        td.stats.multivariate_normal.logpdf(x, mean, cov),
        td.record(lambda x: scipy.stats.multivariate_normal.logpdf(x, mean, cov), x)(x),
        td.record(lambda x: scipy.stats.multivariate_normal(mean, cov * x.ravel()[0] / x.ravel()[0]).logpdf(x), x)(x),
    ):
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "mean", "cov"), [((3, 2), None, 2.0), ((1,), np.zeros(3), 1.0), ((3,), np.zeros(3), np.eye(2)), ((3,), [0.5], np.eye(3))]
)
def test_multivariate_normal_refuses_other_lengths(shape, mean, cov):
    with pytest.raises(td.ShapeMismatch, match="other lengths"):
        td.record(lambda x: scipy.stats.multivariate_normal.logpdf(x, mean, cov), np.ones(shape))
    with pytest.raises(td.UnsupportedFunction, match="allow_singular"):
        td.record(lambda x: scipy.stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True), np.ones(shape))


def test_multivariate_normal_is_scipys():
    """For one vector and several, every form of the covariance, and derivatives in all arguments."""
    rng = np.random.default_rng(0)
    x, mean, root = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    cov = root @ root.T + np.eye(3)
    for points in (x, x[0], x.reshape(2, 2, 3)):
        for matrix in (cov, 2.5, np.array([0.5, 1.0, 2.0])):
            expected = scipy.stats.multivariate_normal.logpdf(points, mean, matrix)
            np.testing.assert_allclose(td.stats.multivariate_normal.logpdf(points, mean, matrix), expected, rtol=1e-13)
    total = lambda x, mean, cov: np.sum(td.stats.multivariate_normal.logpdf(x, mean, 0.5 * (cov + cov.T)))
    check(total, x, mean, cov)


def test_dirichlet_and_multinomial_are_scipys():
    """Also at shares of zero, and at counts that are impossible; derivatives there are zero."""
    alpha, shares = np.array([0.7, 1.0, 3.5]), np.array([[0.2, 0.5, 0.3], [0.0, 0.4, 0.6], [0.3, 0.0, 0.7]])
    ours = td.stats.dirichlet.logpdf(shares.T, alpha)
    np.testing.assert_allclose(ours[[0, 2]], [scipy.stats.dirichlet.logpdf(row, alpha) for row in shares[[0, 2]]], rtol=1e-13)
    assert ours[1] == INF
    f = lambda x, a: np.sum(td.stats.dirichlet.logpdf(x, a))
    check(f, shares[0], alpha)
    p, counts = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 2.0, 4.0], [0.0, 7.0, 0.0], [1.0, 1.0, 1.0], [-1.0, 4.0, 4.0]])
    np.testing.assert_allclose(td.stats.multinomial.logpmf(counts, 7, p), scipy.stats.multinomial.logpmf(counts, 7, p), rtol=1e-13)
    g = lambda p: np.sum(td.stats.multinomial.logpmf(counts[:2], 7.0, p))
    check(g, p)
    assert not td.gradient(lambda p: td.stats.multinomial.logpmf(counts[2], 7.0, p), p).any()


def test_categorical_picks_log_probabilities():
    """-inf with derivative zero for what is no category; whole numbers may be plain or tracked."""
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    np.testing.assert_allclose(td.stats.categorical.logpmf(np.array([2, 0]), p), np.log([0.5, 0.6]), rtol=1e-15)
    assert td.stats.categorical.logpmf(3, p[0]) == -INF
    assert td.stats.categorical.logpmf(2, p[1]) == -INF
    np.testing.assert_allclose(td.gradient(lambda p: np.sum(td.stats.categorical.logpmf(np.array([2, 5]), p)), p), [[0, 0, 2.0], [0, 0, 0]])


def test_lkj_integrates_to_one():
    """In two and three dimensions by quadrature over the correlations; the two densities differ by the Jacobian of the factor."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    pair = [np.exp(td.stats.lkj.logpdf(np.array([[1.0, r], [r, 1.0]]), 2.5)) for r in nodes]
    # Half-integer powers at the ends of the interval leave 1e-7 of the rule's exactness.
    assert np.dot(pair, weights) == pytest.approx(1.0, rel=1e-6)
    # In three dimensions the correlations a, b and c = a b + t sqrt((1 - a**2)(1 - b**2)) for t in (-1, 1) are all there are.
    total, (nodes, weights) = 0.0, np.polynomial.legendre.leggauss(12)
    for a, wa in zip(nodes, weights):
        for b, wb in zip(nodes, weights):
            root = np.sqrt((1 - a * a) * (1 - b * b))
            for t, wt in zip(nodes, weights):
                c = a * b + t * root
                total += wa * wb * wt * root * np.exp(td.stats.lkj.logpdf(np.array([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]]), 2.0))
    assert total == pytest.approx(1.0, rel=1e-3)
    corr = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.5], [-0.2, 0.5, 1.0]])
    factor = np.linalg.cholesky(corr)
    jacobian = np.sum((2.0 - np.arange(3)) * np.log(np.diag(factor)))
    assert td.stats.lkj.logpdf_cholesky(factor, 1.7) == pytest.approx(td.stats.lkj.logpdf(corr, 1.7) + jacobian, rel=1e-13)
    f = lambda r, eta: td.stats.lkj.logpdf(0.5 * (r + r.T), eta)
    check(f, corr, 1.7)


def test_errors_name_the_way_round():
    """Of frozen distributions, and of SciPy's own functions inside a recording."""
    with pytest.raises(td.UnsupportedFunction, match=r"tapediff\.stats\.norm\.logpdf\(x, \.\.\.\)"):
        td.stats.norm(0.0, 1.0)
    with pytest.raises(TypeError, match="missing the parameter 'df'"):
        td.stats.t.logpdf(0.3)
    with pytest.raises(TypeError, match="an unknown parameter 'sigma'"):
        td.stats.norm.logpdf(0.3, sigma=2.0)


def test_scipy_stats_is_not_imported():
    """Its import takes a second; nothing here needs it."""
    code = "import sys, numpy as np, tapediff as td; td.gradient(td.stats.t.logpdf, 0.3, 4.0); print('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


COVARIANCE, PLACE = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.3, 1.2])
MADE = scipy.stats.multivariate_normal(PLACE, COVARIANCE)
FROZEN = {
    "value": lambda x: MADE.logpdf(x) + MADE.pdf(x),
    "mean": lambda x: scipy.stats.multivariate_normal(x, COVARIANCE).logpdf([0.1, 0.2]),
    "covariance": lambda x: scipy.stats.multivariate_normal(mean=x, cov=COVARIANCE + np.outer(x, x), allow_singular=False).pdf(PLACE),
    "dirichlet": lambda x: scipy.stats.dirichlet(x**2 + 0.5).logpdf([0.3, 0.7]),
    "multinomial": lambda x: scipy.stats.multinomial(5, np.stack([x[0] / 9, 1 - x[0] / 9])).pmf([2, 3]),
    "a gamma": lambda x: scipy.stats.gamma(x[0] ** 2, scale=x[1]).logpdf(0.5) + scipy.stats.poisson(x[1]).logpmf(3),
}


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_distributions_of_scipy_inside_recordings(name):
    f, x = FROZEN[name], np.array([0.7, 1.1])
    np.testing.assert_allclose(td.compile(f, PLACE)(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(td.gradient(td.compile(f, PLACE), x), [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)], rtol=1e-6)


def test_other_methods_of_frozen_distributions_are_refused_by_name():
    for method in ("rvs", "logpmf", "cov"):
        with pytest.raises(td.UnsupportedFunction, match=f"multivariate_normal.*{method}"):
            td.record(lambda x: getattr(scipy.stats.multivariate_normal(x, COVARIANCE), method)(0.1), PLACE)


@pytest.mark.parametrize(
    ("distribution", "shapes"), [("binom", (3, 0.0)), ("binom", (3, 1.0)), ("nbinom", (2.0, 1.0)), ("bernoulli", (0.0,)), ("poisson", (1e-300,))]
)
def test_quantiles_of_what_is_certain_are_its_value(distribution, shapes):
    q = np.array([0.0, 0.2, 0.9, 1.0])
    f = lambda q: getattr(scipy.stats, distribution).ppf(q, *shapes)
    np.testing.assert_array_equal(td.record(f, q)(q), f(q))
