"""Distributions of integers, with SciPy's names and shapes, except `categorical`, which SciPy does not have."""

from __future__ import annotations

import numpy as np

from ..functions.loops import fori_loop
from ..ir.instruction import Operand, is_tracked
from ..ops.elementwise.arithmetic import FLOOR
from ..ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from ..ops.elementwise.incomplete import BETAINC, BETAINCC, GAMMAINC, GAMMAINCC
from ..ops.elementwise.special import BETALN, GAMMALN, XLOG1PY, XLOGY
from ..ops.elementwise.structure import STOP_GRADIENT
from .distribution import Discrete, Support, all_of, as_operand
from .quantiles import first_number


def _natural(k: Operand, *_: Operand) -> Operand:
    return LOGICAL_AND(k >= 0.0, k < np.inf)


def _negative(k: Operand, *_: Operand) -> Operand:
    return k < 0.0


def _infinite(k: Operand, *_: Operand) -> Operand:
    return EQUAL(k, np.inf)


def _probability(p: Operand) -> Operand:
    return LOGICAL_AND(p >= 0.0, p <= 1.0)


def _count(n: Operand) -> Operand:
    return LOGICAL_AND(n >= 0.0, EQUAL(n, FLOOR(n)))


NATURAL = Support(_natural, below=_negative, above=_infinite)
UP_TO_N = Support(lambda k, n, *_: LOGICAL_AND(k >= 0.0, k <= n), below=_negative, above=lambda k, n, *_: k >= n)

def _poisson_cdf(k: Operand, mu: Operand) -> Operand:
    return GAMMAINCC(k + 1.0, mu)


poisson = Discrete(
    "poisson", ("mu",), lambda k, mu: XLOGY(k, mu) - GAMMALN(k + 1.0) - mu, NATURAL, valid=lambda mu: mu >= 0.0,
    functions={"cdf": _poisson_cdf, "sf": lambda k, mu: GAMMAINC(k + 1.0, mu), "ppf": first_number(_poisson_cdf, 0.0)},
)  # fmt: skip


def _binomial(k: Operand, n: Operand, p: Operand) -> Operand:
    n = STOP_GRADIENT(n)
    ways = GAMMALN(n + 1.0) - (GAMMALN(k + 1.0) + GAMMALN(n - k + 1.0))
    return ways + XLOGY(k, p) + XLOG1PY(n - k, -p)


def _binomial_cdf(k: Operand, n: Operand, p: Operand) -> Operand:
    return BETAINCC(k + 1.0, STOP_GRADIENT(n) - k, p)


binom = Discrete(
    "binom", ("n", "p"), _binomial, UP_TO_N, valid=lambda n, p: LOGICAL_AND(_count(n), _probability(p)), functions={
        "cdf": _binomial_cdf, "sf": lambda k, n, p: BETAINC(k + 1.0, STOP_GRADIENT(n) - k, p),
        "ppf": first_number(_binomial_cdf, 0.0, lambda n, p: n),
    },
)  # fmt: skip
bernoulli = Discrete(
    "bernoulli", ("p",), lambda k, p: XLOGY(k, p) + XLOG1PY(1.0 - k, -p),
    Support(lambda k, p: LOGICAL_AND(k >= 0.0, k <= 1.0), below=_negative, above=lambda k, p: k >= 1.0),
    valid=_probability, functions={
        "cdf": lambda k, p: 1.0 - p, "sf": lambda k, p: p,
        "ppf": first_number(lambda k, p: SELECT(k < 0.0, 0.0, SELECT(k < 1.0, 1.0 - p, 1.0)), 0.0, lambda p: 1.0),
    },
)  # fmt: skip


def _negative_binomial(k: Operand, n: Operand, p: Operand) -> Operand:
    return GAMMALN(n + k) - GAMMALN(k + 1.0) - GAMMALN(n) + n * np.log(p) + XLOG1PY(k, -p)


def _negative_binomial_cdf(k: Operand, n: Operand, p: Operand) -> Operand:
    return BETAINC(n, k + 1.0, p)


nbinom = Discrete(
    "nbinom", ("n", "p"), _negative_binomial, NATURAL, valid=lambda n, p: all_of(n > 0.0, p > 0.0, p <= 1.0), functions={
        "cdf": _negative_binomial_cdf, "sf": lambda k, n, p: BETAINCC(n, k + 1.0, p), "ppf": first_number(_negative_binomial_cdf, 0.0),
    },
)  # fmt: skip


def _geometric_cdf(k: Operand, p: Operand) -> Operand:
    return -np.expm1(XLOG1PY(k, -p))


geom = Discrete(
    "geom", ("p",), lambda k, p: XLOG1PY(k - 1.0, -p) + np.log(p),
    Support(lambda k, p: LOGICAL_AND(k >= 1.0, k < np.inf), 1.0, None, lambda k, p: k < 1.0, _infinite),
    valid=lambda p: LOGICAL_AND(p > 0.0, p <= 1.0), functions={
        "cdf": _geometric_cdf, "ppf": first_number(_geometric_cdf, 1.0), "sf": lambda k, p: np.exp(XLOG1PY(k, -p)),
        "logsf": lambda k, p: XLOG1PY(k, -p),
    },
)  # fmt: skip


def _beta_binomial(k: Operand, n: Operand, a: Operand, b: Operand) -> Operand:
    n = STOP_GRADIENT(n)
    return -np.log(n + 1.0) - BETALN(n - k + 1.0, k + 1.0) + BETALN(k + a, n - k + b) - BETALN(a, b)


def _beta_binomial_sum(k: Operand, n: Operand, a: Operand, b: Operand, above: bool) -> Operand:
    """The sum of the probabilities up to k, or above k: vectorised, or in a loop if the number of terms is known only at run time."""
    most = STOP_GRADIENT(np.max(n, initial=0.0))

    def term(number: Operand, k: Operand, n: Operand, a: Operand, b: Operand) -> Operand:
        is_there = LOGICAL_AND(number <= n, number > k if above else number <= k)
        return SELECT(is_there, np.exp(_beta_binomial(np.minimum(number, n), n, a, b)), 0.0)

    if is_tracked(most):
        return fori_loop(0, most.astype(int) + 1, lambda j, total: total + term(1.0 * j, k, n, a, b), 0.0 * term(0.0, k, n, a, b))
    return np.sum(term(np.arange(max(most, 0.0) + 1.0), *(np.expand_dims(value, -1) for value in (k, n, a, b))), axis=-1)


def _beta_binomial_cdf(k: Operand, n: Operand, a: Operand, b: Operand) -> Operand:
    return _beta_binomial_sum(k, n, a, b, above=False)


betabinom = Discrete(
    "betabinom", ("n", "a", "b"), _beta_binomial, UP_TO_N, valid=lambda n, a, b: all_of(_count(n), a > 0.0, b > 0.0), functions={
        "cdf": _beta_binomial_cdf, "sf": lambda k, n, a, b: _beta_binomial_sum(k, n, a, b, above=True),
        "ppf": first_number(_beta_binomial_cdf, 0.0, lambda n, a, b: n),
    },
)


class Categorical:
    """Numbers 0, 1, ..., with their probabilities along the last axis of p. The numbers are data: no derivative is taken in them."""

    def __repr__(self) -> str:
        return "<tapediff.stats.categorical>"

    def __reduce__(self) -> str:
        return "categorical"

    @np.errstate(all="ignore")
    def logpmf(self, k: Operand, p: Operand) -> Operand:
        """The logarithm of p[..., k]; -inf, with derivative zero, if k is out of range. p is not normalised.

        Args:
            k: integers, whose shape broadcasts against that of p without its last axis.
            p: probabilities, (..., number of categories); the result is NaN if one is negative.
        """
        p, k = as_operand(p), as_operand(k)
        mask = EQUAL(np.expand_dims(k, -1), np.arange(p.shape[-1], dtype=float))
        chosen = np.sum(SELECT(mask, p, 0.0), axis=-1)
        is_possible = LOGICAL_AND(chosen > 0.0, chosen < np.inf)
        return SELECT(is_possible, np.log(SELECT(is_possible, chosen, 1.0)), SELECT(np.any(p < 0.0, axis=-1), np.nan, -np.inf))

    def pmf(self, k: Operand, p: Operand) -> Operand:
        """p[..., k]."""
        return np.exp(self.logpmf(k, p))


categorical = Categorical()
