"""One policy per awkward point: ties, kinks, ends of domains, discarded branches, zeros in products, infinities and NaN.

Every case is recorded at an ordinary point and at the awkward one, and evaluated at the awkward one: as a tape and compiled, the gradient and
its derivative along a direction.
"""

import warnings
from typing import NamedTuple

import numpy as np
import pytest

import tapediff as td

INF, NAN = np.inf, np.nan


class Case(NamedTuple):
    """A function, an ordinary point, the awkward point, the gradient there, and the Hessian where it is settled."""

    name: str
    f: object
    ordinary: object
    awkward: object
    gradient: object
    hessian: object = None


def prod_of_cumprod(x):
    return (np.cumprod(x) * np.array([1.0, 2.0, 3.0])).sum()


def manual_logsumexp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def into_zeros(x):
    y = td.zeros(2)
    y[0] = np.where(x > 0, np.log(x), 0.0)
    return y.sum()


CASES = [
    Case("abs at 0", np.abs, 1.0, 0.0, 0.0, 0.0),
    Case("abs in a sum", lambda x: np.abs(x).sum(), [1.0, 2.0], [0.0, -0.0], [0.0, 0.0], np.zeros((2, 2))),
    Case("maximum at a tie", lambda x: np.maximum(x[0], x[1]), [1.0, 2.0], [2.0, 2.0], [0.5, 0.5]),
    Case("minimum at a tie", lambda x: np.minimum(x[0], x[1]), [1.0, 2.0], [2.0, 2.0], [0.5, 0.5]),
    Case("fmax at a tie", lambda x: np.fmax(x[0], x[1]), [1.0, 2.0], [2.0, 2.0], [0.5, 0.5]),
    Case("maximum of infinities", lambda x: np.maximum(x[0], x[1]), [1.0, 2.0], [INF, INF], [0.5, 0.5]),
    Case("relu at 0", lambda x: np.maximum(x, 0.0), 1.0, 0.0, 0.5),
    Case("max of ties", np.max, [1.0, 2.0, 3.0], [3.0, 1.0, 3.0], [0.5, 0.0, 0.5]),
    Case("min of ties", np.min, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0], [1 / 3, 1 / 3, 1 / 3]),
    Case("max along an axis", lambda x: np.max(x.reshape(2, 2), axis=1).sum(), [1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 1.0, 0.0], [0.5, 0.5, 1.0, 0.0]),
    Case("max of 17 equal entries", np.max, np.arange(17.0), np.ones(17), np.full(17, 1 / 17)),
    Case("max with -inf", np.max, [1.0, 2.0], [-INF, -INF], [0.5, 0.5]),
    Case("clip at the lower bound", lambda x: np.clip(x, 0.0, 1.0), 0.3, 0.0, 0.5),
    Case("clip at the upper bound", lambda x: np.clip(x, 0.0, 1.0), 0.3, 1.0, 0.5),
    Case("clip outside", lambda x: np.clip(x, 0.0, 1.0).sum(), [0.3, 0.4], [-1.0, 2.0], [0.0, 0.0], np.zeros((2, 2))),
    Case("norm at 0", np.linalg.norm, [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),
    Case("1-norm at 0", lambda x: np.linalg.norm(x, 1), [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),
    Case("3-norm at 0", lambda x: np.linalg.norm(x, 3), [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),
    Case("max norm at 0", lambda x: np.linalg.norm(x, np.inf), [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),
    Case("hypot at the origin", lambda x: np.hypot(x[0], x[1]), [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]),
    Case("std of a constant", np.std, [1.0, 2.0, 4.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    Case("nanstd of a constant", np.nanstd, [1.0, 2.0, 4.0], [2.0, NAN, 2.0], [0.0, 0.0, 0.0]),
    Case("sqrt at 0", np.sqrt, 1.0, 0.0, INF),
    Case("log at 0", np.log, 1.0, 0.0, INF),
    Case("log1p at -1", np.log1p, 1.0, -1.0, INF),
    Case("arcsin at 1", np.arcsin, 0.5, 1.0, INF),
    Case("arccos at 1", np.arccos, 0.5, 1.0, -INF),
    Case("arccosh at 1", np.arccosh, 2.0, 1.0, INF),
    Case("arctanh at 1", np.arctanh, 0.5, 1.0, INF),
    Case("cbrt at 0", np.cbrt, 0.5, 0.0, INF),
    Case("where discards log", lambda x: np.where(x > 0, np.log(x), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards log of many", lambda x: np.where(x > 0, np.log(x), 0.0).sum(), np.arange(1.0, 10.0), np.zeros(9), np.zeros(9), np.zeros((9, 9))),
    Case("where discards log of a negative", lambda x: np.where(x > 0, np.log(x), 0.0), 1.0, -1.0, 0.0, 0.0),
    Case("where discards a quotient", lambda x: np.where(x != 0, np.sin(x) / x, 1.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards a reciprocal", lambda x: np.where(x != 0, 1.0 / x, 1.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards sqrt", lambda x: np.where(x > 0, np.sqrt(x), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards a fractional power", lambda x: np.where(x > 0, x**1.5, 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards a power of a negative", lambda x: np.where(x > 0, x**0.3, 0.0), 1.0, -2.0, 0.0, 0.0),
    Case("where discards a chain", lambda x: np.where(x > 0, np.exp(np.log(np.sqrt(x)) / x), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards exp", lambda x: np.where(x < 100.0, np.exp(x), 0.0), 1.0, 1000.0, 0.0, 0.0),
    Case("where discards a product with inf", lambda x: np.where(x > 0, x * np.log(x), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards arctan2", lambda x: np.where(x > 0, np.arctan2(x, x), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards logaddexp", lambda x: np.where(x > 0, np.logaddexp(np.log(x), np.log(x)), 0.0), 1.0, 0.0, 0.0, 0.0),
    Case("where discards a reduction", lambda x: np.where(x[0] > 0, np.log(x).sum(), 0.0), [1.0, 2.0], [0.0, 2.0], [0.0, 0.0], np.zeros((2, 2))),
    Case("maximum discards log", lambda x: np.maximum(np.log(x), -1.0), 1.0, 0.0, 0.0, 0.0),
    Case("clip discards log", lambda x: np.clip(np.log(x), -1.0, 1.0), 1.0, 0.0, 0.0, 0.0),
    Case("a mask index discards log", lambda x: np.log(x)[np.array([False, True])].sum(), [1.0, 2.0], [0.0, 2.0], [0.0, 0.5], [[0, 0], [0, -0.25]]),
    Case("an index discards log", lambda x: np.log(x)[1], [1.0, 2.0], [0.0, 2.0], [0.0, 0.5], [[0.0, 0.0], [0.0, -0.25]]),
    Case("a guarded mask", lambda x: np.log(x[x > 0]).sum(), [0.0, 1.0], [0.0, 2.0], [0.0, 0.5], [[0.0, 0.0], [0.0, -0.25]]),
    Case("max discards log", lambda x: np.max(np.log(x)), [1.0, 2.0], [0.0, 2.0], [0.0, 0.5], [[0.0, 0.0], [0.0, -0.25]]),
    Case("an overwritten entry", lambda x: into_zeros(x), 1.0, 0.0, 0.0, 0.0),
    Case("nansum of log", lambda x: np.nansum(np.log(x)), [1.0, 2.0], [-1.0, 2.0], [0.0, 0.5]),
    Case("a chosen branch that is 0 keeps its curvature", lambda x: np.maximum(np.exp(x) - 1.0, -5.0) ** 2, 1.0, 0.0, 0.0, 2.0),
    Case("a chosen square at 0", lambda x: np.where(x > -1.0, np.sin(x) ** 2, 0.0), 1.0, 0.0, 0.0, 2.0),
    Case("x**0 at 0", lambda x: x**0, 1.0, 0.0, 0.0, 0.0),
    Case("x**1 at 0", lambda x: x**1, 1.0, 0.0, 1.0, 0.0),
    Case("x**2 at 0", lambda x: x**2, 1.0, 0.0, 0.0, 2.0),
    Case("x**3 at 0", lambda x: x**3, 1.0, 0.0, 0.0, 0.0),
    Case("x**3 at -2", lambda x: x**3, 1.0, -2.0, 12.0, -12.0),
    Case("x**-2 at -2", lambda x: x**-2, 1.0, -2.0, 0.25, 0.375),
    Case("x**2.0 at -2", lambda x: np.power(x, 2.0), 1.0, -2.0, -4.0, 2.0),
    Case("x**array at 0", lambda x: (x ** np.array([0.0, 1.0, 2.0, 3.0])).sum(), [1.0] * 4, [0.0] * 4, [0.0, 1.0, 0.0, 0.0], np.diag([0.0, 0.0, 2.0, 0.0])),
    Case("x**array at -2", lambda x: (x ** np.array([0.0, 1.0, 2.0, 3.0])).sum(), [1.0] * 4, [-2.0] * 4, [0.0, 1.0, -4.0, 12.0], np.diag([0.0, 0.0, 2.0, -12.0])),
    Case("0**y", lambda y: 0.0**y, 1.0, 2.0, 0.0, 0.0),
    Case("x**y at (0, 2)", lambda x: x[0] ** x[1], [1.0, 1.0], [0.0, 2.0], [0.0, 0.0], [[2.0, 0.0], [0.0, 0.0]]),
    Case("x**x at 0", lambda x: x**x, 1.0, 0.0, -INF),
    Case("prod with a zero", np.prod, [1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [6.0, 0.0, 0.0], [[0.0, 3.0, 2.0], [3.0, 0.0, 0.0], [2.0, 0.0, 0.0]]),
    Case("prod with two zeros", np.prod, [1.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    Case("cumprod with a zero", prod_of_cumprod, [1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [23.0, 0.0, 0.0], [[0.0, 11.0, 6.0], [11.0, 0.0, 0.0], [6.0, 0.0, 0.0]]),
    Case("cumprod with two zeros", prod_of_cumprod, [1.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 0.0, 0.0], [[0.0, 11.0, 0.0], [11.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
    Case("floor", np.floor, 1.5, 2.0, 0.0, 0.0),
    Case("round", np.round, 1.4, 2.5, 0.0, 0.0),
    Case("sign at 0", np.sign, 1.4, 0.0, 0.0, 0.0),
    Case("comparison as a factor", lambda x: x * (x > 1.0), 1.4, 1.0, 0.0, 0.0),
    Case("floor division", lambda x: x - 2.0 * (x // 2.0), 1.5, 4.0, 1.0, 0.0),
    Case("remainder", lambda x: x % 2.0, 1.5, 4.0, 1.0, 0.0),
    Case("fmod of a negative", lambda x: np.fmod(x, 2.0), 1.5, -1.5, 1.0, 0.0),
    Case("heaviside", lambda x: np.heaviside(x, 0.5), 1.5, 0.0, 0.0, 0.0),
    Case("NaN only where it reaches", lambda x: (x**2).sum(), [1.0, 2.0], [NAN, 2.0], [NAN, 4.0], [[2.0, 0.0], [0.0, 2.0]]),
    Case("NaN is discarded", lambda x: np.where(np.isnan(x), 0.0, x**2).sum(), [1.0, 2.0], [NAN, 2.0], [0.0, 4.0], [[0.0, 0.0], [0.0, 2.0]]),
    Case("nanmax", np.nanmax, [1.0, 2.0], [NAN, 2.0], [0.0, 1.0]),
    Case("nanmean", np.nanmean, [1.0, 2.0, 3.0], [NAN, 2.0, 3.0], [0.0, 0.5, 0.5]),
    Case("log(1 + exp(x)) at 1000", lambda x: np.log(1 + np.exp(x)), 1.0, 1000.0, 1.0, 0.0),
    Case("log1p(exp(x)) at 1000", lambda x: np.log1p(np.exp(x)), 1.0, 1000.0, 1.0, 0.0),
    Case("logaddexp of -inf", lambda x: np.logaddexp(x, -INF), 1.0, -INF, 1.0),
    Case("logaddexp of inf", lambda x: np.logaddexp(x[0], x[1]), [1.0, 2.0], [INF, 2.0], [1.0, 0.0]),
    Case("logaddexp far apart", lambda x: np.logaddexp(x[0], x[1]), [1.0, 2.0], [1000.0, -1000.0], [1.0, 0.0], np.zeros((2, 2))),
    Case("logsumexp with -inf", manual_logsumexp, [1.0, 2.0], [-INF, 2.0], [0.0, 1.0]),
    Case("td.special.logsumexp with -inf", td.special.logsumexp, [1.0, 2.0], [-INF, 2.0], [0.0, 1.0], np.zeros((2, 2))),
    Case("td.special.logsumexp of nothing", td.special.logsumexp, [1.0, 2.0], [-INF, -INF], [0.0, 0.0]),
    Case("tanh saturated", lambda x: np.tanh(1e3 * x), 0.001, 10.0, 0.0, 0.0),
    Case("expit saturated", td.special.expit, 0.001, -1000.0, 0.0, 0.0),
    Case("log_expit saturated", td.special.log_expit, 0.001, -1000.0, 1.0, 0.0),
    Case("xlogy at 0", lambda x: td.special.xlogy(0.0, x), 1.0, 0.0, 0.0, 0.0),
    Case("sinc at 0", np.sinc, 1.0, 0.0, 0.0, -(np.pi**2) / 3),
    Case("x / x at 0", lambda x: x / x, 1.0, 0.0, NAN),
    Case("exp(x) / exp(x) at 1000", lambda x: np.exp(x) / np.exp(x), 1.0, 1000.0, NAN),
    Case("slogdet of a negative", lambda x: np.linalg.slogdet(x.reshape(2, 2))[1], [1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.0], [0.0, 1.0, 0.5, 0.0]),
    Case("a tie of an array with itself", lambda x: np.maximum(x, x).sum(), [1.0, 2.0], [3.0, 0.0], [1.0, 1.0], np.zeros((2, 2))),
]


def as_point(x):
    return x if isinstance(x, float) else np.asarray(x, float)


def recordings(f, case):
    """Tapes of f that hold at the awkward point: recorded at the ordinary one, and there itself."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [td.record(f, as_point(p)) for p in (case.ordinary, case.awkward)]


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_the_gradient_follows_the_policy(case, compiled):
    """At the awkward point, whichever point the tape was recorded at; and the value is NumPy's."""
    x = as_point(case.awkward)
    with np.errstate(all="ignore"):
        plain = case.f(np.asarray(x)[()])
    for tape in recordings(case.f, case):
        target = td.compile(tape) if compiled else tape
        value, gradient = td.value_and_gradient(target, x)
        np.testing.assert_allclose(gradient, case.gradient, rtol=1e-13, atol=1e-300, equal_nan=True)
        if "exp(x)) at 1000" not in case.name:  # where the rewritten form is finite and NumPy's is not
            np.testing.assert_allclose(value, plain, rtol=1e-13, equal_nan=True)


WITH_HESSIAN = [case for case in CASES if case.hessian is not None]


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
@pytest.mark.parametrize("case", WITH_HESSIAN, ids=[c.name for c in WITH_HESSIAN])
def test_the_second_derivative_follows_the_policy(case, compiled):
    """Differentiating the gradient along a direction, uncompiled and as a kernel, is the Hessian times that direction."""
    x = as_point(case.awkward)
    direction = np.cos(np.arange(np.size(x))).reshape(np.shape(x)) + 1.5
    expected = np.asarray(case.hessian) @ direction if np.ndim(x) else case.hessian * direction
    for tape in recordings(lambda x: np.sum(td.gradient(case.f, x) * direction), case):
        target = td.compile(tape) if compiled else tape
        np.testing.assert_allclose(td.gradient(target, x), expected, rtol=1e-13, atol=1e-300, equal_nan=True)
    if not compiled:
        for tape in recordings(case.f, case):
            np.testing.assert_allclose(td.hessian(tape, x), case.hessian, rtol=1e-13, atol=1e-300, equal_nan=True)


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
def test_a_nan_wins_a_maximum_and_its_gradient(compiled):
    """max([nan, 1]) is NaN; the gradient goes to the NaN, which won."""
    tape = td.record(np.max, np.array([1.0, 2.0]))
    value, gradient = td.value_and_gradient(td.compile(tape) if compiled else tape, np.array([NAN, 1.0]))
    assert np.isnan(value)
    assert np.isnan(gradient[0]) or gradient[0] == 1.0
    assert gradient[1] == 0.0 or np.isnan(gradient[1])


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
@pytest.mark.parametrize(
    ("f", "bad", "message"),
    [
        (lambda x: np.linalg.solve(x, np.ones(2)).sum(), np.ones((2, 2)), "Singular matrix"),
        (lambda x: np.linalg.inv(x).sum(), np.ones((2, 2)), "Singular matrix"),
        (lambda x: np.linalg.cholesky(x).sum(), -np.eye(2), "Matrix is not positive definite"),
    ],
    ids=["solve", "inv", "cholesky"],
)
def test_a_bad_matrix_raises_what_numpy_raises(f, bad, message, compiled):
    """The same exception and words as the plain function; out= is left alone, and the next call is right."""
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match=message):
        f(bad)
    tape = td.record(f, good)
    target = td.compile(tape) if compiled else tape
    before = td.gradient(target, good)
    out = np.full((2, 2), 7.0)
    with pytest.raises(np.linalg.LinAlgError, match=message):
        td.gradient(target, bad, out=out)
    assert np.array_equal(out, np.full((2, 2), 7.0))
    assert np.array_equal(td.gradient(target, good), before)


@pytest.mark.parametrize(
    ("f", "x", "gradient"),
    [
        (lambda x: np.linalg.det(x), np.ones((2, 2)), [[1.0, -1.0], [-1.0, 1.0]]),
        (lambda x: np.linalg.eigvalsh(x).sum(), np.eye(2), np.eye(2)),
    ],
    ids=["det of a singular matrix", "trace from repeated eigenvalues"],
)
def test_matrix_functions_follow_the_policy(f, x, gradient):
    """The adjugate; finite where the function of the eigenvalues is symmetric."""
    np.testing.assert_allclose(td.gradient(f, x), gradient, atol=1e-12)


@pytest.mark.parametrize("x", [np.array([1, 2]), 3, True, np.array([True]), np.array([1 + 2j]), "text"], ids=repr)
def test_what_is_not_a_float_is_refused_with_the_fix(x):
    """TypeError, saying to pass floats."""
    with pytest.raises(TypeError, match=r"pass (floats|a float|the real)"):
        td.record(lambda x: x * 1.0, x)


def test_python_integers_beside_floats_are_promoted():
    """x * 2 + 1 // 1 is float64 arithmetic."""
    assert td.gradient(lambda x: (x * 2 + 1) ** 2, 1.0) == 12.0
