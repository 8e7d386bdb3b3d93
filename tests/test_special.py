"""tapediff.special: SciPy's values on plain arrays, right derivatives on tracked ones."""

import re

import mpmath
import numpy as np
import pytest
import scipy.special

import tapediff as td
from tapediff.numpy_api.alternatives import INSTEAD

POSITIVE = np.array([0.3, 0.7, 1.6, 4.2])
ONE_ARGUMENT = (
    "gammaln",
    "digamma",
    "gamma",
    "erf",
    "erfc",
    "ndtr",
    "log_ndtr",
    "expit",
    "log_expit",
    "softmax",
    "log_softmax",
)
PROBABILITY = ("ndtri", "erfinv", "logit")
CASES = [(name, POSITIVE) for name in ONE_ARGUMENT] + [(name, POSITIVE / 5.0) for name in PROBABILITY]


@pytest.mark.parametrize(("name", "x"), CASES, ids=[name for name, _ in CASES])
def test_one_argument_functions_are_scipys(name, x):
    """Values to 1e-13, which is what two implementations of one function agree to; gradients against differences."""
    f = getattr(td.special, name)
    np.testing.assert_allclose(f(x), getattr(scipy.special, name)(x), rtol=1e-13)
    weights = np.arange(1.0, 5.0)
    td.testing.check_gradient(td.compile(lambda t: np.sum(weights * f(t)), x), lambda t: np.sum(weights * f(t)), x)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "betaln"])
def test_two_argument_functions_are_scipys_in_both_arguments(name):
    """The function is called by its own name in scipy.special, which tracked arrays intercept."""
    f = getattr(scipy.special, name)
    y = POSITIVE[::-1].copy()
    np.testing.assert_allclose(getattr(td.special, name)(POSITIVE, y), f(POSITIVE, y), rtol=1e-14)
    td.testing.check_gradient(lambda t: f(t, y).sum(), lambda t: f(t, y).sum(), POSITIVE)
    td.testing.check_gradient(lambda t: f(POSITIVE, t).sum(), lambda t: f(POSITIVE, t).sum(), y)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_has_scipys_shapes_and_values(axis, keepdims):
    """Also with weights, far from zero, and with entries of minus infinity."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 4)) + 800.0
    a[1, 2] = -np.inf
    b = rng.random((3, 4))
    for weights in (None, b):
        ours = td.special.logsumexp(a, axis=axis, b=weights, keepdims=keepdims)
        np.testing.assert_allclose(
            ours, scipy.special.logsumexp(a, axis=axis, b=weights, keepdims=keepdims), rtol=1e-14
        )


WEIGHTED = [[0.0, 1.0, 2.0], [800.0, 1.0, 2.0], [np.inf, 1.0, 2.0], [np.nan, 1.0, 2.0], [-np.inf, 1.0, 2.0], [1.0, 1000.0, np.inf]]
WEIGHTS = [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [0.0, 2.0, -1.0], [0.0, -2.0, 1.0], [2.0, 0.0, 0.0], [-0.0, 1.0, 2.0]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("return_sign", [False, True])
@pytest.mark.parametrize("tracks", ["a", "b", "both"])
def test_weighted_logsumexp_drops_what_weighs_nothing(tracks, return_sign):
    """Before the largest is looked for: entries of weight 0 may be the largest, infinite or NaN. Along each axis, kept or not."""
    a, b = (np.array(rows) for rows in zip(*[(a, b) for a in WEIGHTED for b in WEIGHTS]))
    for axis, keepdims in ((1, False), (-1, True), (0, False), (None, True)):
        named = {"axis": axis, "keepdims": keepdims, "return_sign": return_sign}
        if tracks == "a":
            f, args = lambda a: scipy.special.logsumexp(a, b=b, **named), (a,)
        elif tracks == "b":
            f, args = lambda b: scipy.special.logsumexp(a, b=b, **named), (b,)
        else:
            f, args = lambda a, b: scipy.special.logsumexp(a, b=b, **named), (a, b)
        expected = scipy.special.logsumexp(a, b=b, **named)
        tape = td.record(f, *(np.ones_like(v) for v in args))
        for target in (tape, td.compile(tape)):
            np.testing.assert_allclose(np.asarray(target(*args)), np.asarray(expected), rtol=1e-14)


@pytest.mark.filterwarnings("ignore:overflow")
def test_weighted_logsumexp_has_its_derivative_in_weights_that_are_zero():
    """exp(a - result) in a weight, also at 0 and where it is infinite; 0 in an entry of weight 0, whatever it is."""
    for a, b in (([0.3, 1.0, 2.0], [0.0, 1.0, -0.2]), ([900.0, 1.0, 2.0], [0.0, 1.0, 2.0]), ([np.inf, 1.0, 2.0], [0.0, 1.0, 2.0]), ([-900.0] * 3, [0.0, 0.0, 1.0])):
        a, b = np.array(a), np.array(b)
        f = lambda a, b: td.special.logsumexp(a, b=b)
        by_a, by_b = td.gradient(td.compile(f, a, b), a, b, argnums=(0, 1))
        result = td.special.logsumexp(a[1:], b=b[1:])
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(by_b, np.exp(a - result), rtol=1e-13)
        np.testing.assert_allclose(by_a, np.where(b == 0.0, 0.0, b * np.exp(np.minimum(a, 700.0) - result)), rtol=1e-13)


@pytest.mark.parametrize("axis", [None, 0, (0, 1), -1])
def test_derivatives_of_softmax_keep_their_digits_beside_1(axis):
    """1 - p of the largest component is the sum of the others, 1e-200 here, and not 0; the second derivative likewise. Ties as well."""
    x = np.array([[0.0, -460.0, -461.0]])
    rest = np.exp(-460.0) * (1.0 + np.exp(-1.0))
    for name, first, second in (("softmax", rest, -rest), ("log_softmax", rest, -rest)):
        f = lambda x, name=name: getattr(td.special, name)(x, axis=axis)[0, 0]
        if axis == 0:
            first = second = 0.0  # each column by itself
        np.testing.assert_allclose(td.gradient(td.compile(f, x), x)[0, 0], first, rtol=1e-13)
        np.testing.assert_allclose(td.hvp(td.compile(f, x), x, np.array([[1.0, 0.0, 0.0]]))[0, 0], second, rtol=1e-13)
        g = lambda x, name=name: np.sum(getattr(td.special, name)(x, axis=axis) * np.arange(6.0).reshape(2, 3))
        td.testing.check_gradient(td.compile(g, np.zeros((2, 3))), g, np.zeros((2, 3)))


def test_logsumexp_of_nothing_but_minus_infinity_has_derivative_zero():
    """Its value is minus infinity, as SciPy's, and nothing turns into NaN."""
    value, gradient = td.value_and_gradient(td.special.logsumexp, np.array([-np.inf, -np.inf]))
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, [0.0, 0.0])


def test_multigammaln_is_scipys():
    """A sum of gammaln at half-integer offsets."""
    assert td.special.multigammaln(3.5, 3) == pytest.approx(scipy.special.multigammaln(3.5, 3), rel=1e-14)
    td.testing.check_gradient(lambda t: td.special.multigammaln(t, 3), lambda t: scipy.special.multigammaln(t, 3), 3.5)


@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "kernel"])
def test_derivatives_of_log_ndtr_are_right_far_in_the_tail(compiled):
    """Up to second order against mpmath, where the density and the tail are both far below the smallest number."""
    f = lambda x: np.sum(td.special.log_ndtr(x))
    x = np.array([-1e8, -1e5, -300.0, -31.0, -30.0, -29.0, -8.0, -1.0, 0.0, 3.0, 40.0])
    target = td.compile(f, x) if compiled else td.record(f, x)
    with mpmath.workdps(60):
        density = [mpmath.exp(-mpmath.mpf(t) ** 2 / 2) / mpmath.sqrt(2 * mpmath.pi) for t in x]
        tail = [mpmath.erfc(-mpmath.mpf(t) / mpmath.sqrt(2)) / 2 for t in x]
        first = [d / q for d, q in zip(density, tail)]
        second = [float(-d * (mpmath.mpf(t) + d)) for d, t in zip(first, x)]
    # The exponent is rounded at up to 450 times the precision; its derivative is that of x + first times 30.
    np.testing.assert_allclose(td.gradient(target, x), np.array([float(d) for d in first]), rtol=3e-13, atol=1e-300)
    np.testing.assert_allclose(np.diagonal(td.hessian(target, x)), second, rtol=3e-10, atol=1e-300)


def test_every_spelling_that_an_error_suggests_exists():
    """What the error inside SciPy's plain functions tells the user to call."""
    found = [re.search(r"use tapediff\.(\w+)\.(\w+),", text) for text in INSTEAD.values()]
    assert sum(map(bool, found)) >= 70
    assert all(callable(getattr(getattr(td, match[1]), match[2])) for match in found if match)


@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((0, 2), 0), ((2, 0), 1), ((0, 2), 1)])
def test_logsumexp_of_nothing_is_minus_infinity(shape, axis):
    x = np.zeros(shape)
    found = td.record(lambda x: scipy.special.logsumexp(x * 1.0, axis=axis), x)(x)
    np.testing.assert_array_equal(found, scipy.special.logsumexp(x, axis=axis))
