"""Distributions of vectors and matrices, with SciPy's names and arguments, except `lkj`, which SciPy does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.source_location import user_site
from ..errors import ShapeMismatch, UnsupportedFunction, UnsupportedMethod
from ..ir.instruction import Operand
from ..linalg import solve_triangular
from ..ops.elementwise.arithmetic import FLOOR
from ..ops.elementwise.comparison import EQUAL, LOGICAL_AND, LOGICAL_OR, SELECT
from ..ops.elementwise.special import GAMMALN, XLOGY
from ..ops.elementwise.structure import STOP_GRADIENT
from ..special import multigammaln
from .distribution import as_operand, positive
from .supports import HALF_LOG_TWO_PI, LOG_PI


class Frozen:
    """A distribution with its parameters, as scipy.stats' frozen ones; made of tracked parameters inside a recording."""

    def __init__(self, distribution: Operand, args: Sequence[Operand], named: Mapping[str, Operand]) -> None:
        self._distribution, self._args = distribution, args
        # The defaults of arguments that decide nothing about a density.
        self._named = {k: v for k, v in named.items() if not (k in ("seed", "allow_singular") and not v)}

    def __getattr__(self, method: str) -> Callable[[Operand], Operand]:
        if method not in ("logpdf", "pdf", "logpmf", "pmf") or not hasattr(self._distribution, method):
            raise UnsupportedMethod(f"scipy.stats.{self._distribution.name}(...).{method} of tracked parameters", at=user_site(),
                                    fix="use its log density; or call it outside the recorded function")  # fmt: skip
        return lambda x: getattr(self._distribution, method)(x, *self._args, **self._named)


@dataclass(frozen=True)
class _Named:
    """A distribution whose methods have their own arguments."""

    name: str

    def __repr__(self) -> str:
        return f"<tapediff.stats.{self.name}>"

    def __reduce__(self) -> str:
        return self.name


class _MultivariateNormal(_Named):
    def logpdf(self, x: Operand, mean: Operand = None, cov: Operand = 1.0, allow_singular: bool = False) -> Operand:
        """The logarithm of the normal density of vectors.

        Args:
            x: one vector, (d,), or several, (..., d). Where mean and covariance are numbers, d is 1, and (n,) are n numbers.
            mean: the mean, (d,); zero if None.
            cov: the covariance: a positive definite matrix, (d, d), of which one triangle is read; or its diagonal.
            allow_singular: refused if true.

        Returns:
            A density for each vector, without axes of length 1, as SciPy.

        Raises:
            LinAlgError: cov is not positive definite.
            ShapeMismatch: vectors, mean and covariance have different lengths.

        Cost: a Cholesky factor of cov, and d**2 operations for each vector.
        """
        if allow_singular:
            raise UnsupportedFunction("scipy.stats.multivariate_normal of tracked values does not support allow_singular=True",
                                      at=user_site(), fix="add a small multiple of the unit matrix to the covariance")  # fmt: skip
        x, cov, mean = as_operand(x), as_operand(cov), np.zeros(()) if mean is None else as_operand(mean)
        size = max(np.shape(v)[-1] if np.ndim(v) else 1 for v in (mean, cov))
        x = np.expand_dims(x, -1) if np.ndim(x) == 0 or (np.ndim(x) == 1 and size == 1) else x
        lengths = {"x": np.shape(x)[-1], **{k: np.shape(v)[-1] for k, v in (("mean", mean), ("cov", cov)) if np.ndim(v)}}
        if len({*lengths.values(), size}) > 1:
            raise ShapeMismatch(f"a normal distribution of {size} dimensions met arrays of other lengths", at=user_site(),
                                got=", ".join(f"{k}: {n}" for k, n in lengths.items()),
                                fix="give x, mean and cov the same last axis, such as mean=np.zeros(d)")  # fmt: skip
        deviation = x - mean
        if np.ndim(cov) < 2:
            variances = np.broadcast_to(cov, (size,))
            whitened = np.sum(deviation * deviation / variances, axis=-1)
            return np.squeeze(-size * HALF_LOG_TWO_PI - 0.5 * np.sum(np.log(variances)) - 0.5 * whitened)[()]
        factor = np.linalg.cholesky(cov)
        columns = np.transpose(np.reshape(deviation, (-1, size)))
        white = solve_triangular(factor, columns, lower=True)
        value = -size * HALF_LOG_TWO_PI - np.sum(np.log(np.diagonal(factor))) - 0.5 * np.sum(white * white, axis=0)
        return np.squeeze(np.reshape(value, deviation.shape[:-1]))[()]

    def pdf(self, x: Operand, mean: Operand = None, cov: Operand = 1.0, allow_singular: bool = False) -> Operand:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))


class _Dirichlet(_Named):
    @np.errstate(all="ignore")
    def logpdf(self, x: Operand, alpha: Operand) -> Operand:
        """The logarithm of the Dirichlet density; x is taken to sum to 1 along its first axis.

        Args:
            x: the shares, (d,) or (d, n) as in SciPy; the last ones may be left out. -inf, with derivative zero, where one is negative,
                or 0 where alpha is not 1.
            alpha: (d,), positive.
        """
        x, alpha = as_operand(x), positive(as_operand(alpha))
        if np.ndim(alpha) == 1 and np.ndim(x) and x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        if np.ndim(alpha) != 1 or not np.ndim(x) or x.shape[0] != alpha.shape[0]:
            raise ShapeMismatch("a Dirichlet distribution has a vector alpha and as many shares", at=user_site(),
                                got=f"alpha {np.shape(alpha)}, x {np.shape(x)}", fix="give the shares of a draw in a column")  # fmt: skip
        column = np.reshape(alpha, alpha.shape + (1,) * (np.ndim(x) - 1))
        inside = LOGICAL_OR(x > 0.0, LOGICAL_AND(EQUAL(x, 0.0), EQUAL(column, 1.0)))
        everywhere = np.all(inside, axis=0)
        logs = np.sum(XLOGY(column - 1.0, SELECT(inside, x, 1.0)), axis=0)
        infinite = np.any(LOGICAL_AND(EQUAL(x, 0.0), column < 1.0), axis=0)
        value = GAMMALN(np.sum(alpha)) - np.sum(GAMMALN(alpha)) + logs
        return SELECT(everywhere, value, SELECT(infinite, np.inf, -np.inf) + 0.0 * value)

    def pdf(self, x: Operand, alpha: Operand) -> Operand:
        """The density."""
        return np.exp(self.logpdf(x, alpha))


class _Multinomial(_Named):
    @np.errstate(all="ignore")
    def logpmf(self, x: Operand, n: Operand, p: Operand) -> Operand:
        """The logarithm of the multinomial probability; p is taken to sum to 1 along its last axis.

        Args:
            x: counts, (..., d): data, no derivative is taken in them. -inf, with derivative zero, if they are impossible.
            n: their sum, also data.
            p: probabilities, (..., d).
        """
        x, n, p = STOP_GRADIENT(as_operand(x)), STOP_GRADIENT(as_operand(n)), as_operand(p)
        if np.shape(x)[-1:] != np.shape(p)[-1:] or not np.ndim(p):
            raise ShapeMismatch("a multinomial distribution has as many counts as probabilities", at=user_site(),
                                got=f"x {np.shape(x)}, p {np.shape(p)}", fix="give both the same last axis")  # fmt: skip
        fits = LOGICAL_AND(np.all(LOGICAL_AND(x >= 0.0, EQUAL(x, FLOOR(x))), axis=-1), EQUAL(np.sum(x, axis=-1), n))
        fits = LOGICAL_AND(fits, np.all(LOGICAL_OR(p > 0.0, EQUAL(x, 0.0)), axis=-1))
        count = SELECT(np.expand_dims(fits, -1), x, 0.0)
        share = SELECT(LOGICAL_AND(count > 0.0, p > 0.0), p, 1.0)
        value = GAMMALN(n + 1.0) + np.sum(XLOGY(count, share) - GAMMALN(count + 1.0), axis=-1)
        valid = np.all(LOGICAL_AND(p >= 0.0, p <= 1.0), axis=-1)
        return SELECT(valid, SELECT(fits, value, -np.inf), np.nan)

    def pmf(self, x: Operand, n: Operand, p: Operand) -> Operand:
        """The probability."""
        return np.exp(self.logpmf(x, n, p))


class _LKJ(_Named):
    """Correlation matrices, or their Cholesky factors: the density is a power of the determinant.

    Source: Lewandowski, Kurowicka & Joe (2009), J. Multivariate Analysis 100.
    """

    def logpdf(self, corr: Operand, eta: Operand) -> Operand:
        """The logarithm of the density of a correlation matrix, (d, d), whose diagonal is 1: det(corr)**(eta - 1) and its normalisation.

        Raises:
            LinAlgError: corr is not positive definite.
        """
        factor, eta = np.linalg.cholesky(as_operand(corr)), positive(as_operand(eta))
        return 2.0 * (eta - 1.0) * np.sum(np.log(np.diagonal(factor))) - _lkj_constant(factor.shape[-1], eta)

    def logpdf_cholesky(self, factor: Operand, eta: Operand) -> Operand:
        """The logarithm of the density of the lower Cholesky factor, (d, d), of a correlation matrix, in its entries below the diagonal."""
        factor, eta = as_operand(factor), positive(as_operand(eta))
        size = factor.shape[-1]
        powers = size - np.arange(1.0, size + 1.0) + 2.0 * (np.expand_dims(eta, -1) - 1.0)
        return np.sum(powers * np.log(np.diagonal(factor)), axis=-1) - _lkj_constant(size, eta)


def _lkj_constant(size: int, eta: Operand) -> Operand:
    """The logarithm of the integral of det(corr)**(eta - 1) over all correlation matrices."""
    others = size - 1
    if others == 0:
        return 0.0 * eta
    shape = eta + 0.5 * others
    return 0.5 * others * LOG_PI + multigammaln(shape - 0.5, others) - others * GAMMALN(shape)


multivariate_normal, dirichlet = _MultivariateNormal("multivariate_normal"), _Dirichlet("dirichlet")
multinomial, lkj = _Multinomial("multinomial"), _LKJ("lkj")
