"""Solve sparse systems by SciPy's SuperLU, as one instruction."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ..ir.instruction import Operand, ValueType, is_tracked
from ..ops.control.calls import CALL, GET
from ..ops.matrices.sparse import SPARSE_SAMPLED, matrix_of
from .callees.body import as_operand, type_of
from .callees.ruled_callee import RuledCallee

# The untyped result of scipy.sparse.linalg.splu.
Factors: TypeAlias = Any

# The latest factorisations are kept: the reverse pass reuses that of the forward pass.
_MOST_FACTORS = 4
# Forms of calls: the types of their operands.
_MOST_CALLEES = 64


def sparse_solve(entries: Operand, b: Operand, columns: np.ndarray, starts: np.ndarray, transposed: bool) -> Operand:
    """Solve A x = b, or A^T x = b, for the matrix with these entries; see ops/matrices/sparse.py."""
    if not (is_tracked(entries) or is_tracked(b)):
        return _solution(np.asarray(entries), np.asarray(b), columns, starts, transposed)
    operands = [as_operand(value) for value in (_as_floats(entries), _as_floats(b), columns, starts)]
    types = [type_of(operand) for operand in operands]
    return GET(CALL(*operands, callee=_callee(tuple(types), transposed)), k=0)


@lru_cache(_MOST_CALLEES)
def _callee(types: tuple[ValueType, ...], transposed: bool) -> RuledCallee:
    return RuledCallee("spsolve", _solution, _rule, types, types[1], {"transposed": transposed})


def _as_floats(value: Operand) -> Operand:
    return value.astype(np.float64)


def _solution(entries: np.ndarray, b: np.ndarray, columns: np.ndarray, starts: np.ndarray, transposed: bool) -> np.ndarray:
    return _factors(entries, columns, starts).solve(np.asarray(b, np.float64), "N" if transposed else "T")


def _rule(z_bar: Operand, x: Operand, entries: Operand, b: Operand, columns: Operand, starts: Operand, transposed: bool) -> list[Operand]:
    """With A x = b: b_bar = A^-T x_bar, and A_bar = -b_bar x^T at the pattern's entries."""
    b_bar = sparse_solve(entries, z_bar, columns, starts, not transposed)
    left, right = (x, b_bar) if transposed else (b_bar, x)
    return [-SPARSE_SAMPLED(left, right, columns, starts), b_bar]


def _factors(entries: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Factors:
    return _factorised(entries.astype(np.float64).tobytes(), columns.tobytes(), starts.tobytes())


@lru_cache(_MOST_FACTORS)
def _factorised(entries: bytes, columns: bytes, starts: bytes) -> Factors:
    """SuperLU's factors of the transpose, whose columns are the rows of the matrix."""
    from scipy.sparse.linalg import splu

    # Copies, as SciPy sorts the entries in place and adds up those of one position.
    values, indices, pointers = np.array(np.frombuffer(entries)), *(np.array(np.frombuffer(a, np.int64)) for a in (columns, starts))
    return splu(matrix_of(values, indices, pointers, len(pointers) - 1).T)
