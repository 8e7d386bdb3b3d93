"""Lists of whole numbers, and of arrays of them, that are data: as long loops make them longer, write their entries, and read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .....base.current_recording import current_recorder
from .....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree
from .....numpy_api.joining import stack
from .....ops.elementwise.arithmetic import CONVERT
from .....recording.arrays.numbers import LARGEST_INT
from .....recording.arrays.tracked import TrackedArray
from ...plain_numbers import may_be_plain, note_plain
from .int_arrays import LARGEST_SUM, as_int, is_surely_whole

# So many different arrays become one.
MOST_ROWS = 10_000


class Kept(NamedTuple):
    """What turns put into a list.

    Attributes:
        is_plain: it may be an int of Python's.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    is_plain: bool


def kept(value: Tree) -> Kept | None:
    """What a turn puts into a list, if that is a number or an array, and no float of Python's."""
    if type(value) is np.float64:
        return Kept(FLOAT64, (), False)
    if type(value) is not TrackedArray or value.type.dtype not in (FLOAT64, INT64, BOOL) or (value._view is not None and not value.shape):
        return None
    is_plain = not value.shape and may_be_plain(value)
    return None if is_plain and value.type.dtype != INT64 else Kept(value.type.dtype, value.shape, is_plain)


def as_kept_int(value: Tree, holds: Callable[..., bool]) -> TrackedArray | None:
    """An int of Python's as data, whole and at most 2**31, also where it is a float as data; None of anything else."""
    recorder = current_recorder()
    if type(value) is int and recorder is not None and abs(value) <= LARGEST_INT:
        value = recorder.tracked_constant(np.int64(value))
        value._recorder.turn_numbers[value._id] = float(LARGEST_INT)
    elif type(value) is TrackedArray and not value.shape and value.type.dtype == FLOAT64 and value._view is None and may_be_plain(value):
        is_small, value = is_surely_whole(value), CONVERT(value, dtype=INT64)
        if is_small:
            value._recorder.turn_numbers[value._id] = LARGEST_SUM
    return as_int(value, holds)


def table_of_ints(values: Sequence[Tree]) -> tuple[Operand, bool] | None:
    """An array of the entries of a list of whole numbers, or of alike arrays, and whether Python's own are among them; None of others."""
    if all(_is_int(value) for value in values):
        found = stack([np.int64(value) if type(value) is int else value for value in values])
        return found, any(type(value) is int or may_be_plain(value) for value in values)
    first = values[0]
    if type(first) is not TrackedArray or not first.shape:
        return None
    if any(type(value) is not TrackedArray or value.type != first.type for value in values):
        return None
    whole = _whole_of_rows(values)
    if whole is not None:
        return whole, False
    return (stack(list(values)), False) if len(values) <= MOST_ROWS else None


def _is_int(value: Tree) -> bool:
    if type(value) is TrackedArray:
        return value.type.dtype == INT64 and not value.shape and value._view is None
    return type(value) is int and abs(value) <= LARGEST_INT


def _whole_of_rows(rows: Sequence[TrackedArray]) -> TrackedArray | None:
    """The array of which all rows are listed, one after the other, and to which nothing was written since."""
    view = rows[0]._view
    base = None if view is None else view.base
    if type(base) is not TrackedArray or base.shape != (len(rows), *rows[0].shape) or base._writes or base._view is not None:
        return None
    for k, row in enumerate(rows):
        view = row._view
        if view is None or view.base is not base or view.region is None:
            return None
        if view.region.starts != (k, *[0] * (base.ndim - 1)) or set(view.region.steps) != {1}:
            return None
    return base.copy()


def note_read(value: Operand, holds: Callable[..., bool]) -> Operand | None:
    """An entry of a list that may be an int of Python's, as such; None if it is too large."""
    is_int = type(value) is TrackedArray and value.type.dtype == INT64 and not value.shape
    return as_int(value, holds) if is_int else note_plain(value)
