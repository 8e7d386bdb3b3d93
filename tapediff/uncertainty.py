"""Uncertainty: covariances of fits, propagation of uncertain arguments to results, and sensitivities to arguments.

Covariance, standard errors and bands of predictions after SciPy's least_squares, curve_fit or minimize, or any other fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import special
from .errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch, Undetermined, hides_frames
from .ir.arguments import unwrap
from .ir.containers import entries
from .ir.instruction import Target, Tree, UserFunction
from .ir.pytree import flatten
from .ir.tape import Tape
from .targets.compiled_tape import CompiledTape
from .targets.derivatives import hessian, jacobian, value_and_gradient
from .targets.guarded_tape import GuardedTape
from .targets.operators.matrices import value_and_jacobian
from .targets.operators.sparse import SparseArray, sparse_jacobian
from .tree import ravel

__all__ = ["Band", "Covariance", "Propagated", "Sensitivities", "covariance", "propagate", "sensitivities"]

SHOWN = 20
# The rounding error of a symmetric product of matrices, relative to its largest variance.
SYMMETRIC = 1e-8


class Band(NamedTuple):
    """A prediction and its uncertainty; all of its shape.

    Attributes:
        lower, upper: the ends of the confidence interval of each entry.
    """

    value: np.ndarray
    standard_error: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance of estimated parameters; see td.covariance.

    Attributes:
        parameters: the estimate.
        matrix: shape (n, n), for the n numbers of the estimate in the order of td.tree.ravel.
        standard_errors: in the structure of the estimate.
        correlation: shape (n, n).
        degrees_of_freedom: of the estimated variance of residuals; infinite for a likelihood, and where the variance is known.
    """

    parameters: Tree
    degrees_of_freedom: float
    # matrix = root @ root.T
    root: np.ndarray = field(repr=False)

    @property
    def matrix(self) -> np.ndarray:
        return self.root @ self.root.T

    @property
    def standard_errors(self) -> Tree:
        return ravel(self.parameters)[1](np.linalg.norm(self.root, axis=1))

    @property
    def correlation(self) -> np.ndarray:
        scaled = self.root / np.linalg.norm(self.root, axis=1)[:, None]
        return scaled @ scaled.T

    def band(self, g: Target, /, *args: Tree, level: float = 0.95, **named: Tree) -> Band:
        """Predictions g(parameters, *args) with confidence intervals, by the delta method: g is taken to be linear where the data allow.

        Args:
            g: function or another target; returns a number or an array.
            args, named: further arguments of g.
            level: the probability that each interval, on its own, covers the true value; of Student's t where the variance is estimated.

        Returns:
            Band(value, standard_error, lower, upper). The scatter of new observations is not included.

        Raises:
            ArgumentMismatch: a level that is not between 0 and 1.

        Cost: one Jacobian of g.
        """
        if not 0.0 < level < 1.0:
            raise ArgumentMismatch("the level of a band is a probability", got=f"level={level!r}", fix="level=0.95")
        vector, flat = _of_vector(g, self.parameters, args, named)
        value, slope = value_and_jacobian(flat, vector)
        error = np.linalg.norm(slope @ self.root, axis=-1)
        wide = error * special.stdtrit(self.degrees_of_freedom, 0.5 + 0.5 * level)
        return Band(value, error, value - wide, value + wide)


@hides_frames
def covariance(f: Target, x: Tree, /, *args: Tree, scale: float | None = None, **named: Tree) -> Covariance:
    """The covariance of parameters that a fit has found: how far they would scatter if the data were taken again.

    Args:
        f: what was minimised, a function or another target: residuals, an array whose squares were summed; or a negative log-likelihood
            (or log posterior), a number.
        x: the estimate: an array, a container of arrays and numbers, or SciPy's result, whose x is taken.
        args, named: further arguments of f, as td.Constant or plain.
        scale: the variance of a residual, 1.0 where residuals are divided by their standard deviations; unless given, it is estimated
            by sum(r**2) / (m - n). Only with residuals.

    Returns:
        Covariance: matrix, standard_errors, correlation, and band(g) for predictions. The inverse Hessian of a likelihood; for residuals
        scale times the inverse of J.T @ J, which takes them to be nearly linear. Both are for large samples, and for an x within
        its bounds.

    Raises:
        Undetermined: a parameter, or a combination of some, makes no difference; x is no minimum; a derivative is not finite.
        ArgumentMismatch: f returns something else; scale with a likelihood; not more residuals than parameters, without scale.

    Cost: one Jacobian or Hessian, and a decomposition of it; memory for m n or n n numbers.
    Source: Seber and Wild (1989), Nonlinear Regression, chapters 2 and 5; the matrix is curve_fit's pcov.

    ```python
    found = scipy.optimize.least_squares(residuals, start)
    fit = td.covariance(residuals, found)
    value, error, lower, upper = fit.band(lambda x: model(x, new_times))
    ```
    """
    at = x.x if hasattr(x, "x") and hasattr(x, "success") else x
    vector, flat = _of_vector(f, at, args, named)
    value = flat(vector)
    if not isinstance(value, (float, np.floating, np.ndarray)):
        raise ArgumentMismatch("td.covariance takes residuals, an array, or a negative log-likelihood, a number", got=type(value).__name__,
                               fix="return one array or one number")  # fmt: skip
    names = names_of(at)
    if np.ndim(value) == 0:
        if scale is not None:
            raise ArgumentMismatch("a likelihood has a scale of its own", got=f"scale={scale!r}", fix="leave scale out")
        return Covariance(at, np.inf, root_of_inverse(hessian(flat, vector), names))
    residuals, slope = value_and_jacobian(flat, vector)
    freedom = residuals.size - vector.size
    factor = _root_of_normal_inverse(slope.reshape(residuals.size, vector.size), names)
    if scale is None and freedom < 1:
        raise ArgumentMismatch("the variance of residuals cannot be estimated from as many parameters",
                               got=f"{residuals.size} residuals, {vector.size} parameters", fix="scale=, their variance")  # fmt: skip
    if scale is not None and not 0.0 < scale < np.inf:
        raise ArgumentMismatch("the variance of residuals is positive", got=f"scale={scale!r}", fix="scale=1.0 for scaled residuals")
    variance = float(np.sum(residuals**2)) / freedom if scale is None else scale
    return Covariance(at, float(freedom) if scale is None else np.inf, np.sqrt(variance) * factor)


class Propagated(NamedTuple):
    """Mean and covariance of a function's results; see td.propagate.

    Attributes:
        mean: in the structure of the result.
        covariance: shape (m, m), for the m numbers of the result in the order of td.tree.ravel; sparse if the given one is.
        standard_errors: in the structure of the result.
    """

    mean: Tree
    covariance: np.ndarray | SparseArray
    standard_errors: Tree


@hides_frames
def propagate(
    f: Target, mean: Tree, cov: np.ndarray | SparseArray | Covariance, /, *args: Tree, order: int = 1, **named: Tree
) -> Propagated:  # fmt: skip
    """The mean and covariance of f(x) for an uncertain x, by the delta method.

    Args:
        f: function or another target; returns a number, an array or a container.
        mean: of x: an array, a number or a container, of n floats in all.
        cov: the covariance of x, shape (n, n) in the order of td.tree.ravel, also a scipy.sparse array or a td.covariance; shape (n,) for
            variances of independent numbers, and a number for one.
        args, named: further arguments of f, as td.Constant or plain.
        order: 1: f is taken to be linear. 2: f is taken to be quadratic and x to be normal: the mean moves by trace(H cov) / 2, the
            covariance of results i and j grows by trace(H_i cov H_j cov) / 2.

    Returns:
        Propagated(mean, covariance, standard_errors).

    Raises:
        ShapeMismatch: a covariance of another shape.
        ArgumentMismatch: a covariance that is not symmetric or not positive semidefinite, as far as results show; another order.
        DtypeMismatch: a covariance of complex numbers; a mean of integers.

    Cost: one Jacobian, sparse for a sparse covariance; of second order m Hessians, and memory for m n n numbers.
    Source: Ku (1966), Notes on the use of propagation of error formulas, J. Res. NBS 70C; JCGM 100:2008 (GUM), 5.1.2 and 5.2.2.

    ```python
    mean, covariance, errors = td.propagate(lambda x: {"area": x[0] * x[1]}, np.array([2.0, 3.0]), np.array([0.01, 0.04]))
    ```
    """
    if order not in (1, 2):
        raise ArgumentMismatch("td.propagate is of first or second order", got=f"order={order!r}", fix="order=1 or order=2")
    vector, flat = _of_vector(f, mean, args, named)
    spread: SparseArray = cov.matrix if isinstance(cov, Covariance) else cov
    spread = np.reshape(spread, (1,)) if isinstance(spread, (float, int, np.ndarray)) and np.size(spread) == vector.size == 1 else spread
    _require_covariance(spread, vector.size)
    value, unravel = ravel(flat(vector))
    results = lambda v: ravel(flat(v))[0]  # noqa: E731 -- its name is its use
    if _is_sparse(spread) and order == 1:
        slope = sparse_jacobian(results, vector)
        found = (slope @ spread @ slope.T).tocsr()
        return Propagated(unravel(value), found, unravel(_roots(found.diagonal(), slope, spread.diagonal())))
    slope, spread = jacobian(results, vector), spread.toarray() if _is_sparse(spread) else np.asarray(spread, float)
    found = (slope * spread if spread.ndim == 1 else slope @ spread) @ slope.T
    if order == 2:
        bent = jacobian(lambda v: jacobian(results, v), vector)
        bent = bent * spread if spread.ndim == 1 else bent @ spread
        value = value + 0.5 * np.trace(bent, axis1=1, axis2=2)
        found += 0.5 * np.tensordot(bent, np.swapaxes(bent, 1, 2), ((1, 2), (1, 2)))
    return Propagated(unravel(value), found, unravel(_roots(np.diag(found), slope, spread if spread.ndim == 1 else np.diag(spread))))


def _roots(found: np.ndarray, slope: SparseArray, variances: np.ndarray) -> np.ndarray:
    """The standard errors, which are real up to rounding if the covariance is one."""
    if np.any(found < -SYMMETRIC * np.square(abs(slope) @ np.sqrt(variances))):
        raise ArgumentMismatch("the covariance is not positive semidefinite", got=f"a result of variance {np.min(found):.3g}",
                               fix="look at correlations beyond -1 and 1: a covariance is X.T @ X / n of centered rows X")  # fmt: skip
    return np.sqrt(np.maximum(found, 0.0))


def _is_sparse(matrix: object) -> bool:
    return hasattr(matrix, "toarray")


def _require_covariance(spread: SparseArray, size: int) -> None:
    shape = spread.shape if _is_sparse(spread) else np.shape(spread)
    if shape != (size, size) and (shape != (size,) or _is_sparse(spread)):
        raise ShapeMismatch(f"the covariance of {size} numbers has shape ({size}, {size}), or ({size},) for variances", got=str(shape),
                            fix="in the order of td.tree.ravel(mean)")  # fmt: skip
    if np.iscomplexobj(spread.data if _is_sparse(spread) else spread):
        raise DtypeMismatch("a covariance is real", got="complex numbers", fix="keep real and imaginary parts as numbers of their own")
    variances = spread if len(shape) == 1 else spread.diagonal() if _is_sparse(spread) else np.diag(spread)
    if not np.all(np.asarray(variances) >= 0.0):
        raise ArgumentMismatch("a variance is negative, or NaN", got=str(np.min(variances)), fix="give the covariance, not its root or log")
    if len(shape) == 2:
        apart = abs(spread - spread.T).max() if size else 0.0
        if not apart <= SYMMETRIC * np.max(variances, initial=0.0):
            raise ArgumentMismatch("a covariance is symmetric", got=f"entries that differ by {apart:.3g}", fix="(cov + cov.T) / 2")


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """The derivatives and elasticities of a number by its arguments; see td.sensitivities. Print it for a table.

    Attributes:
        value: of the function.
        names: of the n numbers of x, as `x['rate'][2]`, in the order of td.tree.ravel.
        values, derivatives: shape (n,): the numbers, and the derivatives by them.
        elasticities: shape (n,): x f'(x) / f(x): by how many per cent f changes for a change of x by one; NaN or infinite where f is 0.
    """

    value: float
    names: list[str]
    values: np.ndarray = field(repr=False)
    derivatives: np.ndarray = field(repr=False)
    elasticities: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        width = max([4, *map(len, self.names)])
        rows = [f"value {self.value:.6g}", f"{'':{width}}  {'value':>12}  {'derivative':>12}  {'elasticity':>12}"]
        ranked = np.argsort(-np.abs(self.elasticities), kind="stable")
        columns = np.stack([self.values, self.derivatives, self.elasticities], axis=1)
        rows += [f"{self.names[k]:{width}}" + "".join(f"  {number:12.5g}" for number in columns[k]) for k in ranked[:SHOWN]]
        return "\n".join(rows if len(ranked) <= SHOWN else [*rows, f"and {len(ranked) - SHOWN} others"])


@hides_frames
def sensitivities(f: Target, x: Tree, /, *args: Tree, **named: Tree) -> Sensitivities:
    """The derivative of a number by each of its arguments, with names, and relative to their sizes.

    Args:
        f: function or another target that returns one real scalar.
        x: an array, a number or a container of floats.
        args, named: further arguments of f, as td.Constant or plain.

    Returns:
        Sensitivities: value, names, values, derivatives, elasticities; as text, the largest elasticities first.

    Raises:
        NonScalarOutput: f returns something else.

    Cost: one gradient.

    ```python
    print(td.sensitivities(lambda p: p["rate"] * p["time"] ** 2, {"rate": 2.0, "time": 3.0}))
    ```
    """
    vector, flat = _of_vector(f, x, args, named)
    value, slope = value_and_gradient(flat, vector)
    return Sensitivities(float(value), names_of(x), vector, slope, _elasticities(vector, slope, value))


@np.errstate(all="ignore")
def _elasticities(vector: np.ndarray, slope: np.ndarray, value: float) -> np.ndarray:
    return vector * slope / value


def names_of(at: Tree) -> list[str]:
    """The numbers of an estimate, in the order of td.tree.ravel, as `x[2]`."""
    return [
        name if not np.ndim(leaf) else f"{name}[{', '.join(map(str, index))}]"
        for (name, _), leaf in zip(entries(flatten(at)[1], "x"), flatten(at)[0]) for index in np.ndindex(np.shape(leaf))
    ]  # fmt: skip


def _of_vector(f: Target, at: Tree, args: Sequence[Tree], named: dict[str, Tree]) -> tuple[np.ndarray, UserFunction]:
    """The parameters as a vector, and the function of such vectors."""
    vector, unravel = ravel(at)
    # Tapes know which of their arguments are data by these marks.
    rest = args if isinstance(f, (Tape, CompiledTape, GuardedTape)) else [unwrap(argument) for argument in args]
    return vector, lambda v: f(unravel(v), *rest, **named)


def _root_of_normal_inverse(slope: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """A root of the inverse of J.T @ J, by singular values, which see twice as many digits as the product."""
    _require_finite(slope, names)
    norms = np.linalg.norm(slope, axis=0)
    _require(norms > 0.0, np.eye(len(norms)), names)
    _, sizes, rows = np.linalg.svd(slope / norms, full_matrices=slope.shape[0] < slope.shape[1])
    sizes = np.append(sizes, np.zeros(len(norms) - len(sizes)))
    _require(sizes > _noise(slope) * sizes[0], rows, names)
    return (rows.T / sizes) / norms[:, None]


def root_of_inverse(matrix: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """A root of the inverse of a positive definite matrix, by eigenvalues."""
    _require_finite(matrix, names)
    norms = np.sqrt(np.abs(np.diag(matrix)))
    _require(norms > 0.0, np.eye(len(norms)), names)
    sizes, columns = np.linalg.eigh(matrix / norms / norms[:, None])
    if sizes[0] < -_noise(matrix) * sizes[-1]:
        raise Undetermined("x is no minimum: the function falls along a direction", got=_named(columns[:, 0], names),
                           fix="give the minimum of the negative log-likelihood; look whether the optimiser has converged")  # fmt: skip
    _require(sizes > _noise(matrix) * sizes[-1], columns.T, names)
    return (columns / np.sqrt(sizes)) / norms[:, None]


def _noise(matrix: np.ndarray) -> float:
    """Relative size of what rounding makes of zero."""
    return max(matrix.shape) * 10.0 * float(np.finfo(matrix.dtype).eps)


def _require_finite(matrix: np.ndarray, names: Sequence[str]) -> None:
    bad = ~np.all(np.isfinite(matrix), axis=0)
    if np.any(bad):
        raise Undetermined("a derivative is not finite at x", got=_named(bad.astype(float), names))


def _require(holds: np.ndarray, directions: np.ndarray, names: Sequence[str]) -> None:
    """Raise for the first direction along which nothing changes."""
    if not np.all(holds):
        raise Undetermined("the data do not determine all parameters: along a direction nothing changes",
                           got=_named(directions[np.argmin(holds)], names),
                           fix="fix one of these parameters, or add a prior, as a residual or a term of the likelihood")  # fmt: skip


def _named(direction: np.ndarray, names: Sequence[str]) -> str:
    """The parameters that change along a direction, the first six of them."""
    changing = [name for name, size in zip(names, np.abs(direction)) if size > 0.05 * np.max(np.abs(direction))]
    return ", ".join(changing[:6]) + (f" and {len(changing) - 6} others" if len(changing) > 6 else "")
