"""The distributions of whole numbers; names and shapes are SciPy's, but for `categorical`, which SciPy does not have."""

from __future__ import annotations

import numpy as np

from ..ir.instruction import Operand
from ..ops.elementwise.arithmetic import FLOOR
from ..ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from ..ops.elementwise.incomplete import BETAINC, BETAINCC, GAMMAINC, GAMMAINCC
from ..ops.elementwise.special import BETALN, GAMMALN, XLOG1PY, XLOGY
from ..ops.elementwise.structure import STOP_GRADIENT
from .distribution import Discrete, Support, all_of, as_operand


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

poisson = Discrete(
    "poisson", ("mu",), lambda k, mu: XLOGY(k, mu) - GAMMALN(k + 1.0) - mu, NATURAL, valid=lambda mu: mu >= 0.0,
    functions={"cdf": lambda k, mu: GAMMAINCC(k + 1.0, mu), "sf": lambda k, mu: GAMMAINC(k + 1.0, mu)},
)  # fmt: skip


def _binomial(k: Operand, n: Operand, p: Operand) -> Operand:
    n = STOP_GRADIENT(n)
    ways = GAMMALN(n + 1.0) - (GAMMALN(k + 1.0) + GAMMALN(n - k + 1.0))
    return ways + XLOGY(k, p) + XLOG1PY(n - k, -p)


binom = Discrete(
    "binom", ("n", "p"), _binomial, UP_TO_N, valid=lambda n, p: LOGICAL_AND(_count(n), _probability(p)), functions={
        "cdf": lambda k, n, p: BETAINCC(k + 1.0, STOP_GRADIENT(n) - k, p), "sf": lambda k, n, p: BETAINC(k + 1.0, STOP_GRADIENT(n) - k, p),
    },
)  # fmt: skip
bernoulli = Discrete(
    "bernoulli", ("p",), lambda k, p: XLOGY(k, p) + XLOG1PY(1.0 - k, -p),
    Support(lambda k, p: LOGICAL_AND(k >= 0.0, k <= 1.0), below=_negative, above=lambda k, p: k >= 1.0),
    valid=_probability, functions={"cdf": lambda k, p: 1.0 - p, "sf": lambda k, p: p},
)  # fmt: skip


def _negative_binomial(k: Operand, n: Operand, p: Operand) -> Operand:
    return GAMMALN(n + k) - GAMMALN(k + 1.0) - GAMMALN(n) + n * np.log(p) + XLOG1PY(k, -p)


nbinom = Discrete(
    "nbinom", ("n", "p"), _negative_binomial, NATURAL, valid=lambda n, p: all_of(n > 0.0, p > 0.0, p <= 1.0),
    functions={"cdf": lambda k, n, p: BETAINC(n, k + 1.0, p), "sf": lambda k, n, p: BETAINCC(n, k + 1.0, p)},
)  # fmt: skip
geom = Discrete(
    "geom", ("p",), lambda k, p: XLOG1PY(k - 1.0, -p) + np.log(p),
    Support(lambda k, p: LOGICAL_AND(k >= 1.0, k < np.inf), 1.0, None, lambda k, p: k < 1.0, _infinite),
    valid=lambda p: LOGICAL_AND(p > 0.0, p <= 1.0), functions={
        "cdf": lambda k, p: -np.expm1(XLOG1PY(k, -p)), "sf": lambda k, p: np.exp(XLOG1PY(k, -p)), "logsf": lambda k, p: XLOG1PY(k, -p),
    },
)  # fmt: skip


def _beta_binomial(k: Operand, n: Operand, a: Operand, b: Operand) -> Operand:
    n = STOP_GRADIENT(n)
    return -np.log(n + 1.0) - BETALN(n - k + 1.0, k + 1.0) + BETALN(k + a, n - k + b) - BETALN(a, b)


betabinom = Discrete(
    "betabinom", ("n", "a", "b"), _beta_binomial, UP_TO_N, valid=lambda n, a, b: all_of(_count(n), a > 0.0, b > 0.0)
)


class Categorical:
    """Numbers 0, 1, ..., with their probabilities along the last axis of p. They are data: no derivative is taken in them."""

    def __repr__(self) -> str:
        return "<tapediff.stats.categorical>"

    def __reduce__(self) -> str:
        return "categorical"

    @np.errstate(all="ignore")
    def logpmf(self, k: Operand, p: Operand) -> Operand:
        """The logarithm of p[..., k]; -inf, with derivative zero, where k is none of the numbers. p is not normalised.

        Args:
            k: whole numbers, whose shape broadcasts against that of p without its last axis.
            p: probabilities, (..., number of categories); NaN comes out where one is negative.
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
