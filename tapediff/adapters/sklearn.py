"""scikit-learn: estimators of models that are plain NumPy functions, fitted by compiled gradients.

`pip install 'tapediff[optimisation]'` installs it. Source: scikit-learn's guide on developing estimators; tried with 1.9, whose
check_estimator they pass.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib import import_module
from typing import TypeAlias

import numpy as np

from ..errors import ShapeMismatch
from ..ir.arguments import Constant
from ..ir.instruction import Tree, UserFunction
from ..ir.pytree import TreeDef, flatten, unflatten
from ..special import expit, log_softmax, softmax
from ..targets.guarded_tape import GuardedTape
from .scipy import Objective

Array: TypeAlias = np.ndarray
# A scikit-learn class or function, which exists only if it is installed.
Foreign: TypeAlias = Tree

_BASES = ("BaseEstimator", "RegressorMixin", "ClassifierMixin")
try:
    _base: Foreign = import_module("sklearn.base")
    _validation: Foreign = import_module("sklearn.utils.validation")
except ImportError:  # reported when an estimator is made
    _base = _validation = None
_bases: list[Foreign] = [type(name, (), {}) if _base is None else getattr(_base, name) for name in _BASES]
_BaseEstimator, _RegressorMixin, _ClassifierMixin = _bases

# The most models whose tapes are kept: the copies made by a parameter search share them, and compile once for each size of data.
MODELS = 16


class _Estimator(_BaseEstimator):
    """The common part of regressors and classifiers; see Regressor."""

    def __init__(
        self, model: UserFunction, start: Tree, *, loss: UserFunction | None = None, penalty: UserFunction | None = None,
        alpha: float = 1.0, method: str = "L-BFGS-B", max_iter: int = 1000, tol: float = 1e-8,
    ) -> None:  # fmt: skip
        if _base is None:
            raise ImportError("this adapter needs scikit-learn; fix: pip install 'tapediff[optimisation]'")
        # Stored unchanged: scikit-learn copies estimators by these.
        self.model, self.start, self.loss, self.penalty, self.alpha = model, start, loss, penalty, alpha
        self.method, self.max_iter, self.tol = method, max_iter, tol

    def _fit(self, X: Array, y: Array, weights: Tree, sizes: tuple[int, ...], loss: UserFunction) -> None:
        start = self.start(*sizes) if callable(self.start) else self.start
        leaves, treedef = flatten(start)
        parts = [np.asarray(leaf, dtype=np.float64) for leaf in leaves]
        shapes = tuple(part.shape for part in parts)
        # scikit-learn's name for it, and its checks.
        weights = _validation._check_sample_weight(weights, X, dtype=np.float64)
        made = _tapes if _is_hashable(self.model, loss, self.penalty, treedef) else _tapes.__wrapped__
        data = (Constant(X), Constant(y), Constant(weights / np.sum(weights)))
        tape = made(self.model, loss, self.penalty, treedef, shapes)
        objective = Objective(tape, *data, float(self.alpha))  # type: ignore[arg-type]  # leaves of any content
        found = import_module("scipy.optimize").minimize(
            objective, np.concatenate([np.ravel(part) for part in parts]), jac=objective.jac, method=self.method, tol=self.tol,
            options={"maxiter": self.max_iter}, **_second_derivatives(self.method, objective),
        )  # fmt: skip
        if not np.isfinite(found.fun):
            raise ValueError(f"the loss is {found.fun} at the starting values; fix: another start")
        if not found.success and found.nit >= self.max_iter:
            warning = import_module("sklearn.exceptions").ConvergenceWarning
            warnings.warn(f"{self.method} has not converged in {found.nit} iterations; fix: max_iter", warning, stacklevel=3)
        self.parameters_ = unflatten(treedef, _split(found.x, shapes))
        self.loss_, self.n_iter_ = float(found.fun), max(1, int(found.nit))

    def _answer(self, X: Tree) -> Array:
        """The model's result, in plain NumPy."""
        _validation.check_is_fitted(self)
        return np.asarray(self.model(self.parameters_, _validation.validate_data(self, X, dtype=np.float64, reset=False)))


class Regressor(_RegressorMixin, _Estimator):
    """A regressor: `Regressor(lambda p, X: X @ p["w"] + p["b"], lambda features: {"w": np.zeros(features), "b": 0.0}).fit(X, y)`.

    Args:
        model: called with the parameters and X of shape (n, features), in plain NumPy; returns n predictions, or (n, outputs).
        start: of the parameters: an array, or a dict, tuple or dataclass of arrays and numbers; or a function that returns them, called
            with the number of features.
        loss: called with y and the predictions; returns the loss of each sample, shape (n,), whose weighted mean is minimised. Half the
            square of the difference unless given.
        penalty: called with the parameters; returns a number to add.
        alpha: the factor of the penalty; a search over it compiles only once.
        method, max_iter, tol: of scipy.optimize.minimize; a method that takes gradients.

    Attributes:
        parameters_: as `start`, fitted.
        loss_: mean loss and penalty there.
        n_iter_: iterations of the minimiser.

    Functions that other processes can import by name are needed for pickles, and for searches with n_jobs.

    Cost: a fit compiles once for each model and size of data, 0.1 s; then a kernel call for each evaluation. Predictions are plain NumPy.
    """

    def fit(self, X: Tree, y: Tree, sample_weight: Tree = None) -> Regressor:
        """Minimise the mean loss; see the class."""
        points, y = _validation.validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        if y.ndim > 1 and y.shape[1] == 1:
            y = _validation.column_or_1d(y, warn=True)
        self._fit(points, np.asarray(y, dtype=np.float64), sample_weight, (points.shape[1],), self.loss or squared)
        return self

    def predict(self, X: Tree) -> Array:
        """The model's predictions."""
        return self._answer(X)


class Classifier(_ClassifierMixin, _Estimator):
    """A classifier; arguments as Regressor, except for these.

    Args:
        model: returns scores: (n,) log-odds of the second of two classes, or (n, classes), whose softmax are probabilities.
        start: a function of the number of features and the number of classes; or the parameters.
        loss: called with the numbers of the classes, 0 and up, and the scores. The negative log likelihood unless given.
    """

    def fit(self, X: Tree, y: Tree, sample_weight: Tree = None) -> Classifier:
        """Minimise the mean loss; see Regressor."""
        points, y = _validation.validate_data(self, X, y, dtype=np.float64)
        import_module("sklearn.utils.multiclass").check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError("a classifier needs at least two classes, and y has one class")
        self._fit(points, codes, sample_weight, (points.shape[1], self.classes_.size), self.loss or negative_log_likelihood)
        return self

    def decision_function(self, X: Tree) -> Array:
        """The model's scores; for two classes the log-odds of the second, as scikit-learn expects them."""
        scores = self._answer(X)
        return scores[:, 1] - scores[:, 0] if scores.ndim > 1 and scores.shape[1] == 2 else scores

    def predict_proba(self, X: Tree) -> Array:
        """The probability of each class, shape (n, classes)."""
        scores = self._answer(X)
        if scores.ndim > 1:
            return np.asarray(softmax(scores, axis=1))
        second = np.asarray(expit(scores))
        return np.stack([1.0 - second, second], axis=1)

    def predict(self, X: Tree) -> Array:
        """The most probable class."""
        scores = self._answer(X)
        return self.classes_[np.argmax(scores, axis=1) if scores.ndim > 1 else (scores > 0.0).astype(int)]


def squared(y: Array, predicted: Array) -> Array:
    """Half the squared differences of each sample."""
    if np.shape(predicted) != np.shape(y):
        raise ShapeMismatch("predictions have another shape than y", got=f"predictions {np.shape(predicted)}, y {np.shape(y)}")
    return np.sum(0.5 * (y - predicted).reshape(len(y), -1) ** 2, axis=1)


def negative_log_likelihood(codes: Array, scores: Array) -> Array:
    """The negative log likelihood of class numbers, from log-odds or from scores of all classes."""
    if scores.ndim == 1:
        return np.logaddexp(0.0, scores) - codes * scores
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes]


def _second_derivatives(method: Tree, objective: Objective) -> dict[str, Tree]:
    """The second derivatives that a method of scipy.optimize.minimize takes; others would warn about them."""
    name = method.lower() if isinstance(method, str) else ""
    if name in ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr"):
        return {"hessp": objective.hessp}
    return {"hess": objective.hess} if name in ("dogleg", "trust-exact") else {}


@lru_cache(maxsize=MODELS)
def _tapes(
    model: UserFunction, loss: UserFunction, penalty: UserFunction | None, treedef: TreeDef, shapes: tuple[tuple[int, ...], ...]
) -> GuardedTape:  # fmt: skip
    """A tape of the weighted mean loss and the penalty, by the parameters as one vector."""

    def mean_loss(x: Array, X: Array, y: Array, weights: Array, alpha: float) -> Tree:
        parameters = unflatten(treedef, _split(x, shapes))
        total = np.sum(weights * loss(y, model(parameters, X)))
        return total if penalty is None else total + alpha * penalty(parameters)

    return GuardedTape(mean_loss, name=getattr(model, "__name__", "model"))


def _split(x: Array, shapes: tuple[tuple[int, ...], ...]) -> list[Tree]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [x[end - int(np.prod(shape)) : end].reshape(shape) if shape else x[end - 1] for end, shape in zip(ends, shapes)]


def _is_hashable(*values: object) -> bool:
    try:
        hash(values)
    except TypeError:
        return False
    return True
