"""Draws of integers and masks, which have no derivative: parameters may be tracked, but only select the draw."""

from __future__ import annotations

import operator

import numpy as np

from ..errors import ArgumentMismatch
from ..ir.instruction import Operand, is_tracked
from ..numpy_api.joining import as_value
from .keys import Shape, as_shape, drawn_shape, parameter, unit


def bernoulli(key: Operand, p: Operand = 0.5, shape: Shape | None = None) -> Operand:
    """A mask that is True with probability p.

    Args:
        key: td.random.key(seed), plain or tracked.
        p: float or array; may be tracked.
        shape: of the result; that of p unless given.
    """
    p = parameter(p)
    return unit(key, drawn_shape("bernoulli", shape, p)) < p


def randint(key: Operand, shape: Shape, low: int, high: int) -> Operand:
    """Integers from low to high - 1, each with the same probability up to 2**-52 of the range."""
    low, high = operator.index(low), operator.index(high)
    if not 0 < high - low <= 1 << 52:
        raise ArgumentMismatch("td.random.randint needs low < high, at most 2**52 apart", got=f"{low}, {high}")
    return _whole(np.floor(unit(key, shape) * float(high - low))) + low


def categorical(key: Operand, logits: Operand, shape: Shape | None = None) -> Operand:
    """Integers k of probability softmax(logits)[k], along the last axis of the logits.

    Args:
        key: td.random.key(seed), plain or tracked.
        logits: shape (..., n); may be tracked.
        shape: of the result, into which the leading axes of the logits are broadcast; those axes unless given.
    """
    logits = parameter(logits)
    if not logits.ndim or not logits.shape[-1]:
        raise ArgumentMismatch("td.random.categorical needs logits along an axis", got=f"shape {logits.shape}")
    weights = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return _by_weights(key, weights, drawn_shape("categorical", shape, weights[..., 0]))


def _by_weights(key: Operand, weights: Operand, shape: tuple[int, ...]) -> Operand:
    """The number of cumulative weights below a uniform number times their sum; the last one is the sum itself, and left out."""
    ends = np.cumsum(weights, axis=-1)
    drawn = unit(key, shape)[..., None] * ends[..., -1:]
    return np.sum(_whole(drawn > ends[..., :-1]), axis=-1)


def permutation(key: Operand, x: Operand) -> Operand:
    """The integers below x in random order, or the rows of an array x, which may be tracked."""
    array = x if is_tracked(x) else as_value(x)
    order = np.argsort(unit(key, operator.index(x) if array.ndim == 0 else array.shape[0]))
    return order if array.ndim == 0 else np.take(array, order, axis=0)


def choice(key: Operand, a: Operand, shape: Shape = (), replace: bool = True, p: Operand = None) -> Operand:
    """Draws from the rows of a, or from the integers below a.

    Args:
        key: td.random.key(seed), plain or tracked.
        a: an int, or an array, which may be tracked.
        shape: of the draws; the result has a's other axes after it.
        replace: True if a row may be drawn several times.
        p: probabilities of the rows, shape (n,), unnormalised; uniform unless given. May be tracked.
    """
    array = a if is_tracked(a) else as_value(a)
    n = operator.index(a) if array.ndim == 0 else array.shape[0]
    shape = as_shape(shape)
    count = int(np.prod(shape))
    if not replace and count > n:
        raise ArgumentMismatch("more draws without replacement than there are rows", got=f"{count} of {n}")
    if p is not None:
        p = parameter(p)
        if p.shape != (n,):
            raise ArgumentMismatch("p of td.random.choice has one entry for each row", got=f"shape {p.shape} for {n} rows")
    if not replace:
        # The smallest of exponential times with the weights as rates: equivalent to drawing one by one from the remainder.
        times = unit(key, n) if p is None else -np.log(unit(key, n)) / p
        chosen = np.argsort(times)[:count].reshape(shape)
    elif p is not None:
        chosen = _by_weights(key, p, shape)
    else:
        chosen = randint(key, shape, 0, n)
    return chosen if array.ndim == 0 else np.take(array, chosen, axis=0)


def _whole(x: Operand) -> Operand:
    return x.astype(np.int64)
