"""Derivatives of functions of eigenvalues or singular values at repeated values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Op
from .stacks import STACKED, for_each


def rounding_of(values: Operand, like: Operand) -> Operand:
    """The largest difference of eigenvalues, or singular values, that counts as rounding."""
    if np.size(values) == 0:
        return np.zeros((*like.shape[:-2], 1, 1))
    return for_each(4.0 * max(like.shape[-2:]) * np.finfo(like.dtype).eps * np.max(np.absolute(values), axis=-1), like)


def slope_of_pair(difference: Operand, gap: Operand, is_repeated: Operand, within: Operand) -> Operand:
    """within * difference / gap: the effect on a function of the values of the part of a change that rotates vectors into each other.

    For a repeated value the quotient is an unknown limit, the second derivative of a function whose gradient alone is known: NaN,
    unless the change, up to rounding, does not rotate these vectors.
    """
    if np.size(within) == 0:
        return within
    size = np.max(np.absolute(within), axis=(-2, -1), keepdims=True)
    is_turned = np.absolute(within) > 4.0 * within.shape[-1] * np.finfo(within.dtype).eps * size
    quotient = within * difference / np.where(is_repeated, 1.0, gap)
    return np.where(is_repeated, np.where(is_turned, np.nan, 0.0), quotient)


def values_pullback(
    name: str, matrix_rule: Callable[..., Operand], bar_rule: Callable[..., Operand], examples: Callable[..., Operand],
    params: tuple[str, ...] = (),
) -> Op:  # fmt: skip
    """An op for the cotangent of a matrix from that of its eigenvalues or singular values. Its operands: this cotangent, which it returns,
    the matrix, its factors and the cotangent of the values.

    The cotangent is computed from the vectors; differentiating through them would fail for repeated values with zero or equal cotangents.
    So the rules give its derivatives in the matrix as a whole, and in the cotangent of the values.
    """
    return Op(
        name,
        evaluate=lambda value, *_, **__: value,
        infer=lambda value, *_, **__: value,
        vjp=(None, matrix_rule, None, bar_rule),
        params=params,
        lower=lambda low, i: low.reshape(i),
        batching=STACKED,
        lapack=True,
        examples=examples,
    )
