"""scikit-learn's estimators from plain NumPy models: its own checks, and its own linear models' answers."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tapediff as td
from tapediff.adapters.sklearn import MODELS, Classifier, Regressor, _tapes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 + 0.1 * RNG.normal(size=60)
WEIGHTS = RNG.uniform(0.5, 2.0, size=60)


def linear(p, X):
    return X @ p["w"] + p["b"]


def zeros(features, *_):
    return {"w": np.zeros(features), "b": 0.0}


def several(features, classes):
    return {"w": np.zeros((features, classes)), "b": np.zeros(classes)}


def size(p):
    return 0.5 * np.sum(p["w"] ** 2)


def nearly_absolute(y, predicted):
    return np.logaddexp(50 * (y - predicted), 50 * (predicted - y)) / 50


@pytest.mark.parametrize("estimator", [Regressor(linear, zeros, penalty=size, alpha=0.01), Classifier(linear, several)])
def test_estimators_pass_the_checks_of_scikit_learn(estimator):
    """All of them: clone, parameters, input of wrong kinds, one sample, pickles, data frames, sample weights."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) >= 40


def test_linear_models_are_those_of_scikit_learn():
    """Ridge and logistic regression of two and three classes, with weights of the samples."""
    ridge = Regressor(linear, zeros, penalty=size, alpha=0.7 / WEIGHTS.sum()).fit(X, Y, WEIGHTS)
    theirs = Ridge(0.7).fit(X, Y, WEIGHTS)
    np.testing.assert_allclose(ridge.parameters_["w"], theirs.coef_, rtol=1e-4)  # the minimiser's tolerance
    np.testing.assert_allclose(ridge.parameters_["b"], theirs.intercept_, rtol=1e-4)
    assert ridge.score(X, Y) == pytest.approx(theirs.score(X, Y), rel=1e-6)
    for labels, start in ((np.where(Y > 0, "yes", "no"), zeros), (np.digitize(Y, [-1.0, 1.0]), several)):
        ours = Classifier(linear, start, penalty=size, alpha=1 / 60).fit(X, labels)
        other = LogisticRegression(tol=1e-8).fit(X, labels)
        np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-4)
        np.testing.assert_array_equal(ours.predict(X), other.predict(X))


def test_searches_pipelines_and_pickles_share_the_kernels():
    """A penalty's strength is data; tapes are kept for the models that were used last."""
    _tapes.cache_clear()
    search = GridSearchCV(make_pipeline(StandardScaler(), Regressor(linear, zeros, penalty=size)), {"regressor__alpha": [1e-3, 1.0, 10.0]}, cv=3)
    search.fit(X, Y)
    assert search.best_params_ == {"regressor__alpha": 1e-3}
    assert _tapes.cache_info().currsize == 1 < MODELS
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).predict(X), search.predict(X))


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"])
def test_methods_with_second_derivatives_are_given_them(method):
    """The same ridge regression as by L-BFGS-B."""
    expected = Regressor(linear, zeros, penalty=size).fit(X, Y).parameters_["w"]
    found = Regressor(linear, zeros, penalty=size, method=method).fit(X, Y).parameters_["w"]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)  # the minimisers' tolerances


def test_any_loss_and_start_and_what_goes_wrong():
    """A median by a rounded absolute loss; parameters that are one array; iterations that do not suffice; a loss that is not finite."""
    median = Regressor(lambda p, X: p[0] + 0.0 * X[:, 0], np.zeros(1), loss=nearly_absolute, method="BFGS").fit(X, Y)
    assert median.parameters_[0] == pytest.approx(np.median(Y), abs=0.05)  # the loss is rounded at 0.02
    with pytest.warns(UserWarning, match="has not converged in 1 iterations"):
        Regressor(linear, zeros, max_iter=1).fit(X, Y)
    with pytest.raises(td.ShapeMismatch, match="another shape than y"):
        Regressor(lambda p, X: X @ p, np.zeros((3, 1))).fit(X, Y)
    two = Regressor(lambda p, X: X @ p, np.zeros((3, 2))).fit(X, np.stack([Y, -Y], axis=1)).predict(X)
    np.testing.assert_allclose(two[:, 0], -two[:, 1], atol=1e-4)  # the minimiser's tolerance
    with pytest.raises(ValueError, match="the loss is inf at the starting values"):
        Regressor(lambda p, X: np.log(X @ p), np.zeros(3)).fit(X, Y)
