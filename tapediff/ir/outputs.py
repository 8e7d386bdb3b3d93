"""Hands results to the caller: checks the caller's arrays before anything is computed and writes to them only at the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from .instruction import Operand, ValueType, is_tracked

# Most pairs of arrays that are compared one by one.
FEW_PAIRS = 100

# The caller's arrays: one, or one for each result. Checked, as it comes from the user.
Out: TypeAlias = Operand
# The same in a list; None for new arrays.
Outs: TypeAlias = Sequence[Operand] | None


def check_out(arrays: Outs, types: Sequence[ValueType]) -> None:
    """Raise unless the caller's arrays can receive results of these types.

    Raises:
        ArgumentMismatch, ShapeMismatch, DtypeMismatch: naming what was expected and given.
    """
    if arrays is None:
        return
    if len(arrays) != len(types):
        raise ArgumentMismatch(f"out must be a tuple of {len(types)} arrays", got=f"{len(arrays)}", fix="pass one array per argnum")
    for array, type_ in zip(arrays, types):
        if not isinstance(array, np.ndarray):
            raise ArgumentMismatch("out must be a NumPy array", got=type(array).__name__, fix="np.empty(x.shape)")
        if array.shape != type_.shape:
            raise ShapeMismatch("out has another shape than the gradient", got=f"gradient {type_.shape}, out {array.shape}",
                                fix="np.empty(x.shape)")  # fmt: skip
        if array.dtype != type_.dtype:
            raise DtypeMismatch("out has another dtype than the gradient", got=f"gradient {type_.dtype}, out {array.dtype}",
                                fix="np.empty(x.shape, x.dtype)")  # fmt: skip
        if not array.flags.writeable:
            raise ArgumentMismatch("out is read-only", fix="pass an array that can be written to")
        if not _is_apart(array):
            raise ArgumentMismatch("entries of out share memory, so one would overwrite another",
                                   got=f"shape {array.shape}, strides {array.strides}", fix="np.empty(x.shape)")  # fmt: skip
    if share_memory(arrays):
        raise ArgumentMismatch(
            "two of the arrays in out share memory, so one gradient would overwrite another", fix="pass separate arrays"
        )


def share_memory(arrays: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None) -> bool:
    """True if any two of the arrays may share memory; with `others`, if an array may share memory with one of `others`.

    Compares the first and last byte of each, as np.may_share_memory does.

    Cost: a pair takes 0.4 µs, an array 3 µs; n log n for n arrays, as there may be a thousand of them.
    """
    if len(arrays) * len(arrays if others is None else others) <= FEW_PAIRS:
        pairs = combinations(arrays, 2) if others is None else product(arrays, others)
        return any(np.may_share_memory(a, b) for a, b in pairs)
    extents = [(*byte_bounds(a), True) for a in arrays if a.size]
    extents += [(*byte_bounds(a), False) for a in others or () if a.size]
    # The furthest end of the arrays that begin earlier, for each of the two kinds.
    end, end_of_others = 0, 0
    for first, after, is_one in sorted(extents):
        if first < (end if others is None or not is_one else end_of_others):
            return True
        if is_one:
            end = max(end, after)
        else:
            end_of_others = max(end_of_others, after)
    return False


def _is_apart(array: np.ndarray) -> bool:
    """True if no two entries can share memory: along each axis, the stride exceeds the span of all shorter strides."""
    if array.flags.c_contiguous or array.flags.f_contiguous or not array.size:
        return True
    spanned = array.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < spanned:
            return False
        spanned += stride * (extent - 1)
    return True


def deliver(results: Sequence[Operand], outs: Outs = None) -> Sequence[Operand]:
    """The results as fresh arrays, or copied into the caller's."""
    if outs is None:
        return tuple([value if is_tracked(value) else _fresh(value) for value in results])
    for array, value in zip(outs, results):
        array[...] = value
    return outs


def _fresh(value: Operand) -> Operand:
    """A new contiguous array: no broadcast strides, no alias of an argument or a constant."""
    if type(value) is np.float64:
        return value
    return np.array(value, order="C")[()] if np.ndim(value) == 0 else np.array(value, order="C")


def as_number(value: Operand) -> Operand:
    """Python's float in the place of NumPy's scalar: quicker in the caller's arithmetic."""
    return float(value) if type(value) is np.float64 else value
