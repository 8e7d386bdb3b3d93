"""Computes large constants of unit vectors where they are read, by comparing indices.

The seeds of a matrix in n sweeps are n times n numbers, with one nonzero in each column.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import CONSTANT, INT64, Instruction, ValueType
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.elementwise.comparison import EQUAL, SELECT

# Smaller constants are loaded: 0.5 MB stay in the processor's cache.
SMALLEST = 1 << 16


def unit_vectors_by_index(tape: Tape) -> Tape:
    if not any(map(_is_large, tape.all_of(CONSTANT))):
        return tape
    return rewritten(tape, lambda made, i, _: _compared(made, i.params[0], i.type) if _is_large(i) else None, CONSTANT)


def _is_large(constant: Instruction) -> bool:
    return constant.type.size >= SMALLEST and constant.type.is_float


def _compared(rewriter: Rewriter, array: np.ndarray, type_: ValueType) -> int | None:
    """Compute the array by comparing indices; None if a column has several nonzeros, or columns have different ones."""
    if array.ndim < 2 or np.count_nonzero(array) > array.size // len(array):
        return None
    nonzero = array != 0
    if (np.count_nonzero(nonzero, axis=0) > 1).any():
        return None
    values = np.unique(array[nonzero])
    if len(values) != 1:
        return None
    # -1 for columns of zeros.
    rows = np.where(nonzero.any(axis=0), nonzero.argmax(axis=0), -1)[None]
    numbers = np.arange(len(array)).reshape(-1, *(1,) * (array.ndim - 1))
    ids = [rewriter.constant(a, ValueType(a.shape, INT64)) for a in (numbers, rows)]
    mask = rewriter.make(EQUAL, tuple(ids))
    entries = [rewriter.constant(v, ValueType((), type_.dtype)) for v in (values[0], 0.0)]
    return rewriter.make(SELECT, (mask, *entries))
