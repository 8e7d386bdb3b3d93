"""scipy.spatial.distance inside recordings."""

import numpy as np
import pytest
import scipy.spatial.distance as sd
from scipy.spatial.distance import cdist, pdist, squareform
from support.differences import assert_agrees, assert_second_derivatives_agree

import tapediff as td

RNG = np.random.default_rng(0)
A, B, W = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 3)), np.array([0.5, 1.0, 2.0])
WEIGHTED = ["sqeuclidean", "euclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra", "braycurtis"]
CASES = [
    *((metric, named) for metric in WEIGHTED for named in ({}, {"w": W})), ("minkowski", {"p": 3}), ("minkowski", {"p": 1.5}),
    ("minkowski", {"p": np.inf}), ("seuclidean", {}), ("seuclidean", {"V": W}), ("mahalanobis", {}), ("mahalanobis", {"VI": np.diag(W) + 0.1}),
]  # fmt: skip


def weighted(distances):
    return np.sum(distances * np.cos(np.arange(np.size(distances))).reshape(np.shape(distances)))


@pytest.mark.parametrize(("metric", "named"), CASES)
def test_distances_of_all_pairs_are_scipys(metric, named):
    """Between tracked rows and plain ones, among tracked rows, and, where SciPy computes the rest of two rows alone, of two vectors."""
    assert_agrees(lambda a: weighted(cdist(a, B, metric, **named)), A, 1.3 * A[::-1] + 0.07)
    assert_agrees(lambda a: weighted(pdist(a, metric, **named)), A, 1.3 * A[::-1] + 0.07)
    if named or metric in WEIGHTED:
        named = {name: value for name, value in named.items() if name != "p" or value != np.inf}
        assert_agrees(lambda a: getattr(sd, metric)(a[0], a[1], **named), A, 1.3 * A[::-1] + 0.07)


def test_distances_of_probabilities():
    assert_agrees(lambda a: weighted(cdist(a**2 + 0.1, B**2 + 0.1, "jensenshannon")), A, 0.5 * A)
    assert_agrees(lambda a: np.sum(sd.jensenshannon(a**2 + 0.1, A**2 + 0.2, 2.0, axis=0, keepdims=True)), A[::-1], 0.5 * A)


def test_functions_are_metrics():
    assert_agrees(lambda a: weighted(pdist(a, lambda u, v: np.sum((u - v) ** 4))), A, 0.5 * A)
    assert_agrees(lambda a: weighted(cdist(a, B, lambda u, v, k: np.sum((u - v) ** k), k=4)), A, 0.5 * A)


def test_second_derivatives():
    assert_second_derivatives_agree(lambda a: weighted(pdist(np.reshape(a, (3, 2)))), A.ravel()[:6])
    assert_second_derivatives_agree(lambda a: weighted(cdist(np.reshape(a, (2, 3)), B, "minkowski", p=1.5)), A.ravel()[:6])


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "cityblock", "chebyshev", "canberra", "mahalanobis"])
def test_the_slope_at_distance_zero_is_zero(metric):
    """Of a point from itself: two equal rows that move together stay at distance 0, so any finite slope is right, and zero is taken."""
    named = {"VI": np.eye(3)} if metric == "mahalanobis" else {"p": 3} if metric == "minkowski" else {}
    f = lambda a: np.sum(cdist(a, a, metric, **named))
    compiled = td.compile(f, A)
    np.testing.assert_allclose(td.gradient(compiled, A), 2.0 * td.gradient(lambda a: np.sum(pdist(a, metric, **named)), A), rtol=1e-12)
    np.testing.assert_array_equal(td.gradient(compiled, np.ones((4, 3))), 0.0)


def test_squareform_both_ways():
    assert_agrees(lambda a: weighted(squareform(pdist(a)) ** 2), A, 0.5 * A)
    assert_agrees(lambda a: weighted(squareform(squareform(pdist(a))) ** 2), A, 0.5 * A)
    assert_agrees(lambda d: np.sum(squareform(d, force="tomatrix") ** 2), np.arange(6.0), np.ones(6))
    assert td.record(lambda d: squareform(d), np.zeros(0))(np.zeros(0)).shape == (1, 1)
    for wrong in (lambda d: squareform(d[:5]), lambda d: squareform(d, "tovector"), lambda d: squareform(np.outer(d, d))):
        with pytest.raises(ValueError):
            wrong(np.arange(6.0))
        with pytest.raises(ValueError):
            td.record(wrong, np.arange(6.0))


def test_what_is_not_supported_is_refused_by_name():
    with pytest.raises(td.UnsupportedFunction, match="metric='hamming'"):
        td.record(lambda a: cdist(a, B, "hamming"), A)
    with pytest.raises(td.UnsupportedFunction, match="out="):
        td.record(lambda a: pdist(a, out=np.zeros(6)), A)
    with pytest.raises(ValueError, match="columns"):
        td.record(lambda a: cdist(a, B[:, :2]), A)
