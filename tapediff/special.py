"""scipy.special's names for tracked and plain arrays, including the plain Python functions that cannot be intercepted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .ir.instruction import Operand, is_tracked
from .ops import BY_SCIPY_NAME
from .ops.elementwise import special as _ops
from .ops.elementwise.comparison import EQUAL, LOGICAL_AND, SELECT
from .ops.elementwise.structure import STOP_GRADIENT

gammaln = _ops.GAMMALN
digamma = psi = _ops.DIGAMMA
zeta, gamma = _ops.ZETA, _ops.GAMMA
erf, erfc, erfinv = _ops.ERF, _ops.ERFC, _ops.ERFINV
ndtr, log_ndtr, ndtri = _ops.NDTR, _ops.LOG_NDTR, _ops.NDTRI
xlogy, xlog1py, betaln, logit = _ops.XLOGY, _ops.XLOG1PY, _ops.BETALN, _ops.LOGIT
expit, log_expit = BY_SCIPY_NAME["expit"], BY_SCIPY_NAME["log_expit"]


def logsumexp(a: Operand, axis: int | Sequence[int] | None = None, b: Operand = None, keepdims: bool = False) -> Operand:
    """log(sum(b * exp(a))) without overflow; signature and shapes as scipy.special.logsumexp.

    Args:
        a: array of any shape.
        axis: int, tuple or None for all axes.
        b: weights that broadcast to a, not negative.
        keepdims: keep reduced axes with length 1.

    Returns:
        The reduced array; -inf where every term is zero, with derivative 0 there.
    """
    a = _array(a)
    top = np.max(a, axis=axis, keepdims=True)
    # The shift is a constant of the mathematics: its derivative cancels, so none is taken.
    shift = STOP_GRADIENT(SELECT(np.isfinite(top), top, 0.0))
    terms = np.exp(a - shift)
    if b is not None:
        terms = terms * b
    total = np.sum(terms, axis=axis, keepdims=True)
    empty = EQUAL(total, 0.0)
    result = SELECT(empty, -np.inf, np.log(SELECT(empty, 1.0, total))) + shift
    infinite = LOGICAL_AND(np.isinf(top), top > 0)
    result = SELECT(infinite, top, result)
    return result if keepdims else np.squeeze(result, axis=axis)


def softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """exp(x) / sum(exp(x)) along `axis`, without overflow; as scipy.special.softmax."""
    x = _array(x)
    terms = np.exp(x - STOP_GRADIENT(np.max(x, axis=axis, keepdims=True)))
    return terms / np.sum(terms, axis=axis, keepdims=True)


def log_softmax(x: Operand, axis: int | Sequence[int] | None = None) -> Operand:
    """log(softmax(x)) without loss of precision; as scipy.special.log_softmax."""
    x = _array(x)
    shifted = x - STOP_GRADIENT(np.max(x, axis=axis, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def multigammaln(a: Operand, d: int) -> Operand:
    """Log of the multivariate gamma function of dimension d; as scipy.special.multigammaln."""
    offsets = 0.5 * (1.0 - np.arange(1, d + 1))
    return d * (d - 1) * 0.25 * np.log(np.pi) + np.sum(gammaln(np.expand_dims(_array(a), -1) + offsets), axis=-1)


def _array(value: Operand) -> Operand:
    return value if is_tracked(value) else np.asarray(value, dtype=float)
