"""scipy.ndimage's filters and interpolation inside recordings, in all modes of the boundary."""

import numpy as np
import pytest
import scipy.ndimage as nd
from scipy.ndimage import gaussian_filter
from support.differences import assert_agrees, assert_second_derivatives_agree

import tapediff as td

RNG = np.random.default_rng(0)
ROW, TABLE, CUBE = RNG.normal(size=9), RNG.normal(size=(7, 6)), RNG.normal(size=(4, 5, 3))
WEIGHTS = {k: RNG.normal(size=(k, 3)) for k in (1, 2, 3, 4)}
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]


def assert_linear(f, x, rtol=1e-12):
    """Of the value at another point than the recorded one, and of the slope along a direction: of linear functions it is a difference."""
    weights, direction = (np.cos(1.0 + np.arange(np.size(a))).reshape(np.shape(a)) for a in (f(x), x))
    other = 1.5 * x[::-1] + 0.1
    got = td.record(f, x)(other)
    assert np.shape(got) == np.shape(f(other))
    np.testing.assert_allclose(got, f(other), rtol=rtol, atol=rtol * np.max(np.abs(f(other))))
    slope = td.gradient(td.record(lambda x: np.sum(f(x) * weights), x), other)
    wanted = np.sum((f(other + direction) - f(other)) * weights)
    np.testing.assert_allclose(np.sum(slope * direction), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_weights_meet_every_boundary(mode, k):
    named = {"mode": mode, "cval": 0.7}
    assert_linear(lambda x: nd.convolve1d(x, WEIGHTS[k][:, 0], axis=0, **named), TABLE)
    assert_linear(lambda x: nd.correlate1d(x, WEIGHTS[k][:, 0], origin=-(k // 2), **named), ROW)
    assert_linear(lambda x: nd.convolve(x, WEIGHTS[k], origin=(0, 1), **named), TABLE)
    assert_linear(lambda x: nd.correlate(x, WEIGHTS[k], origin=(-(k // 2), 0), **named), TABLE)
    assert_linear(lambda x: nd.uniform_filter(x, (k, 2), **named), TABLE)
    assert_linear(lambda x: nd.uniform_filter1d(x, k, **named), ROW)


@pytest.mark.parametrize("mode", MODES)
def test_gaussians_meet_every_boundary(mode):
    named = {"mode": mode, "cval": 0.7}
    assert_linear(lambda x: gaussian_filter(x, 1.3, **named), TABLE)
    assert_linear(lambda x: gaussian_filter(x, [1.0, 0.5], order=[2, 1], truncate=3.0, **named), TABLE)
    assert_linear(lambda x: gaussian_filter(x, 1.0, radius=2, axes=1, **named), TABLE)
    assert_linear(lambda x: nd.gaussian_filter1d(x, 3.0, order=1, **named), ROW)


def test_some_axes_of_many():
    """SciPy gives the axes of the weights to the axes in their order, and the origins as named."""
    weights = RNG.normal(size=(2, 3))
    assert_linear(lambda x: nd.correlate(x, weights, origin=(1, -1), axes=(2, 0)), CUBE)
    assert_linear(lambda x: nd.convolve(x, weights, origin=(0, 1), axes=(0, 2)), CUBE)
    assert_linear(lambda x: gaussian_filter(x, (1.0, 2.0), axes=(0, -1)), CUBE)
    assert_linear(lambda x: nd.uniform_filter(x, 2, mode=["wrap", "nearest", "mirror"]), CUBE)


def test_many_weights_are_multiplied_by_transforms():
    x = RNG.normal(size=300)
    assert_linear(lambda x: nd.gaussian_filter1d(x, 20.0), x)
    assert_linear(lambda x: nd.convolve(x, np.sin(np.arange(143.0)).reshape(11, 13)), RNG.normal(size=(20, 15)))


def test_weights_may_be_tracked():
    f = lambda w: np.sum(nd.convolve1d(ROW, w, mode="mirror") ** 2) + np.sum(nd.correlate(TABLE, np.outer(w, w)) ** 2)
    assert_agrees(f, [0.2, 0.5, 0.3], [1.0, -1.0, 0.1])
    assert_second_derivatives_agree(f, [0.2, 0.5, 0.3])


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_interpolation_meets_every_boundary(mode, order):
    """Places far outside, too; 1e-11, as coefficients of splines are products with a rounded matrix."""
    places = np.random.default_rng(1).uniform(-9.0, 15.0, size=(2, 40))
    named = {"order": order, "mode": mode, "cval": 0.7}
    assert_linear(lambda x: nd.map_coordinates(x, places, **named), TABLE, rtol=1e-11)
    assert_linear(lambda x: nd.map_coordinates(x, places[:1], prefilter=False, **named), ROW, rtol=1e-11)
    assert_agrees(lambda p: np.sum(nd.map_coordinates(TABLE, p, **named) ** 2), places[:, :6], places[:, 6:12], rtol=1e-10)


def test_large_arrays_are_interpolated_by_sparse_matrices():
    x = np.sin(np.arange(100.0))
    assert_linear(lambda x: nd.map_coordinates(x, [[0.3, 55.5, 98.9]]), x, rtol=1e-11)


def test_a_single_entry():
    for mode in MODES:
        f = lambda x, mode=mode: np.sum(nd.map_coordinates(x, [[0.0, 0.3]], mode=mode) + nd.convolve1d(x, [1.0, 2.0, 3.0], mode=mode))
        assert_agrees(f, [2.0], [3.0])


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: nd.map_coordinates(x, [[0.5]], order=2), "order=2"),
        (lambda x: nd.convolve1d(x, [1.0], output=np.zeros(9)), "output="),
        (lambda x: gaussian_filter(x, x[0]), "a tracked sigma="),
    ],
)
def test_what_is_not_supported_is_refused_by_name(f, text):
    with pytest.raises(td.UnsupportedFunction, match=text):
        td.record(f, ROW)


def test_scipys_errors_are_kept():
    for call in (
        lambda x: nd.convolve1d(x, np.ones(3), origin=2), lambda x: nd.convolve1d(x, np.ones(3), mode="none"),
        lambda x: nd.convolve(x, np.ones((2, 2))), lambda x: nd.map_coordinates(x, [[0.5], [0.5]]),
    ):  # fmt: skip
        with pytest.raises((ValueError, RuntimeError)) as scipys:
            call(ROW)
        with pytest.raises(scipys.type):
            td.record(call, ROW)
