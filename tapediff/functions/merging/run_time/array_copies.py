"""What rewritten functions call for arrays of which a branch writes rows and slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType

import numpy as np

from ....base.current_recording import current_recorder
from ....errors import RefusedByRecording, TapediffError
from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree
from ....ops.arrays.indexing import GATHER, PUT, are_distinct
from ....recording.arrays.tracked import TrackedArray
from ....recording.python_state.filled_arrays import Fills, Replacement
from ....recording.python_state.list_arguments import DISPATCHED
from ..rules import Place, Refusing

# A copy is made at every call.
LARGEST_COPIED = 4_096


class ArrayCopies(Refusing):
    """The part of the run time that is for copies of arrays."""

    def whole(self, place: Place, arrays: Sequence[Tree], others: Sequence[Tree]) -> tuple[Operand, ...]:
        """Copies of arrays that a branch writes to.

        Args:
            others: all else that the branch reads, none of which may show one of the arrays.
        """
        for array in arrays:
            require_filled(array)
            if type(array) is not TrackedArray or array.type.dtype != FLOAT64 or not array.type.shape:
                raise self._refuse("writes", place, f"it writes to {getattr(array, 'type', type(array).__name__)}")
            if array.size > LARGEST_COPIED:
                raise self._refuse("cost", place, f"it writes to an array of {array.size} entries")
        roots = [id(root_of(array)) for array in arrays]
        if len(set(roots)) < len(roots):
            raise self._refuse("writes", place, "it writes to an array by two names")
        if not all(shows_none_of(other, roots) for other in others):
            raise self._refuse("writes", place, "it may read the array that it writes to by another name")
        try:
            return tuple([array.copy() for array in arrays])
        except TapediffError as error:
            raise self._refuse("writes", place, f"it writes where nothing was written before: {error}") from error

    @staticmethod
    def fresh(array: Operand) -> Operand:
        """A copy that nothing else shows."""
        return array.copy()


    def put(self, place: Place, index: Tree, array: TrackedArray, value: Tree) -> TrackedArray:
        """A copy of an array with a value at an index, of which whole numbers may be data."""
        positions = self._positions(place, index, array)
        if positions is None:
            made = array.copy()
            made[index] = value
            return made
        part = np.stack(value) if type(value) is tuple else value
        return PUT(array, np.broadcast_to(part, positions.shape), positions, distinct=are_distinct(positions))

    def entry_of_copy(self, place: Place, index: Tree, array: TrackedArray) -> Operand:
        """array[index], of which whole numbers may be data."""
        positions = self._positions(place, index, array)
        return array[index] if positions is None else GATHER(array, positions)

    def stored_row(self, place: Place, value: Operand) -> Operand:
        """A number or row as an array of float64 has it."""
        is_row = type(value) in (TrackedArray, np.ndarray) and value.shape and value.dtype == FLOAT64
        return value if is_row else self.stored(place, value)

    def stored(self, place: Place, value: Operand, before: Operand = None) -> Operand:
        """A number as an array of float64 has it; see LoopRunTime."""
        raise NotImplementedError

    def _positions(self, place: Place, index: Tree, array: TrackedArray) -> TrackedArray | None:
        """Where the entries at an index stand in the array; None if none of its numbers is data."""
        parts = index if type(index) is tuple else (index,)
        if not any(type(part) is TrackedArray for part in parts):
            return None
        if len(parts) > array.ndim:
            raise IndexError(f"too many indices for an array of {array.ndim} axes")
        shape = [n for k, n in enumerate(array.shape) if k >= len(parts) or type(parts[k]) is slice]
        found: Operand = np.zeros(shape)
        axis = 0
        for k, n in enumerate(array.shape):
            stride = float(math.prod(array.shape[k + 1 :]))
            part = parts[k] if k < len(parts) else slice(None)
            if type(part) is slice:
                if part != slice(None):
                    raise self._refuse("writes", place, f"it writes at {part!r} beside an index that is data")
                along = [1] * len(shape)
                along[axis], axis = n, axis + 1
                found = found + stride * np.arange(n, dtype=np.float64).reshape(along)
            else:
                found = found + stride * self._within(place, part, n)
        return found.astype(np.int64)

    def _within(self, place: Place, index: Tree, count: int) -> Operand:
        """An index of an axis with so many entries, from its beginning."""
        if type(index) in (int, np.int64):
            return float(range(count)[index])
        if type(index) is not TrackedArray or index.type.shape or index._view is not None or index.type.dtype not in (FLOAT64, INT64):
            raise self._refuse("writes", place, f"it writes at {getattr(index, 'type', index)!r}")
        if not np.logical_and(index >= -count, index < count):
            raise IndexError(f"index {index._value} is out of bounds for an axis of {count} entries")
        return np.where(index < 0, index + count, index)  # type: ignore[call-overload]  # of tracked values


def require_filled(array: Tree) -> None:
    """Raise where an array may be one that np.zeros made, which is tracked if the recording begins again."""
    recorder = current_recorder()
    least = Fills.FLOATS if type(array) is np.ndarray and array.dtype == FLOAT64 else Fills.ALL
    if type(array) is np.ndarray and array.dtype in (FLOAT64, INT64, BOOL) and recorder is not None and recorder.fills < least:
        error = RefusedByRecording("a branch that is merged writes into a plain array", fix="use td.zeros(...) for the array")
        error.is_write = True
        raise error


def shows_none_of(value: Tree, roots: Sequence[int]) -> bool:
    """Whether a value surely shows none of some arrays."""
    pending = [value]
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is TrackedArray:
            if id(root_of(part)) in roots:
                return False
        elif kind in (list, tuple) and len(part) <= LARGEST_COPIED:
            pending += part
        elif kind is FunctionType:
            if part.__closure__ or part.__defaults__ or part.__kwdefaults__:
                return False
        elif kind is type:
            if part.__module__ not in ("builtins", "numpy"):
                return False
        elif not isinstance(part, _APART) or (kind is np.ndarray and part.dtype == object):
            return False
    return True


# Of these none holds an array of the recording; arrays of NumPy are others than tracked ones.
_APART = (float, int, str, range, type(None), np.generic, np.ndarray, ModuleType, BuiltinFunctionType, np.ufunc, Replacement, DISPATCHED)


def root_of(array: TrackedArray) -> object:
    """The array whose memory this one shows."""
    return array if array._view is None else array._view.root
