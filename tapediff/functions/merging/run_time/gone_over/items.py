"""The items of a list that are alike, as arrays with one entry for each item.

```
[(0, 1), (1, 2), (5, 7)]                      arrays [0, 1, 5], [1, 2, 7], and the item of a turn is a pair of entries
[{"t": 0.1, "y": v}, {"t": 0.2, "y": w}]      arrays [0.1, 0.2], [v, w], and the item is a dict with the keys "t" and "y"
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree
from .....recording.arrays.tracked import TrackedArray
from ...plain_numbers import may_be_plain, note_plain
from ...purity import is_named_tuple
from ..carried_lists import array_of, is_number

# Of arrays in a list there is a copy on the tape.
MOST_BYTES = 1 << 26
# How deep tuples, lists and dicts may be within each other.
DEEPEST = 4


class Items(NamedTuple):
    """Items that are alike.

    Attributes:
        arrays: with an entry for each of them.
        item: makes one of its entries.
        are_pythons: by array, whether some of its entries may be numbers of Python's own, for which it has other errors than NumPy.
    """

    arrays: Sequence[Operand]
    item: Callable[[Sequence[Operand]], Tree]
    are_pythons: Sequence[bool]


def items_of(values: Sequence[Tree], depth: int = 0) -> Items | None:
    """The items of a list or tuple as arrays; None where they are not alike, or no numbers, arrays, tuples, lists and dicts of these."""
    kinds = set(map(type, values))
    if kinds <= _FLOATS or kinds <= _INTS or kinds in _BOOLS:
        array = np.array(values)
        return of_array(array, not kinds.isdisjoint((float, int, bool))) if array.dtype in DTYPES else None
    if kinds <= _NUMBERS and TrackedArray in kinds and all(map(is_number, values)):
        return of_array(array_of(values), any(map(may_be_plain, values)))
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if kind is np.ndarray:
        return _of_arrays(values)
    if depth < DEEPEST and (kind in (tuple, list) or is_named_tuple(kind)):
        if len(set(map(len, values))) > 1:
            return None
        make = kind if kind in (tuple, list) else kind._make  # type: ignore[attr-defined]  # of a named tuple
        return _of_parts([[*part] for part in zip(*values)], make, depth)
    if depth < DEEPEST and kind is dict:
        keys = [*values[0]]
        if not all([*value] == keys for value in values):
            return None
        return _of_parts([[value[key] for value in values] for key in keys], lambda parts: dict(zip(keys, parts)), depth)
    first = values[0]
    if kind in _CONSTANTS and all(value == first for value in values):
        return Items([], lambda _: first, [])
    return None


def of_array(array: Operand, is_pythons: bool) -> Items:
    """The entries of an array along its first axis. `is_pythons`: some may be numbers of Python's own."""
    is_plain = is_pythons and array.dtype == FLOAT64
    return Items([array], lambda entries: note_plain(entries[0]) if is_plain else entries[0], [is_pythons])


def _of_arrays(values: Sequence[np.ndarray]) -> Items | None:
    first = values[0]
    is_alike = first.ndim > 0 and first.dtype in DTYPES and first.nbytes * len(values) <= MOST_BYTES
    if not is_alike or any(value.shape != first.shape or value.dtype != first.dtype for value in values):
        return None
    return of_array(np.stack(values), False)


def _of_parts(parts: Sequence[Sequence[Tree]], make: Callable[[Sequence[Tree]], Tree], depth: int) -> Items | None:
    found = [items_of(part, depth + 1) for part in parts]
    known = [part for part in found if part is not None]
    return joined(known, make) if len(known) == len(found) else None


def joined(parts: Sequence[Items], make: Callable[[Sequence[Tree]], Tree]) -> Items:
    """Items that are made of others."""
    ends = [*np.cumsum([0, *(len(part.arrays) for part in parts)]).tolist()]
    arrays = [array for part in parts for array in part.arrays]
    are_pythons = [is_one for part in parts for is_one in part.are_pythons]
    return Items(arrays, lambda entries: make([part.item(entries[a:b]) for part, a, b in zip(parts, ends, ends[1:])]), are_pythons)


DTYPES = (FLOAT64, INT64, BOOL)
_FLOATS, _INTS = frozenset((float, np.float64)), frozenset((int, np.int64))
_BOOLS = ({bool}, {np.bool_})
_NUMBERS = frozenset((TrackedArray, float, int, bool, np.float64, np.int64, np.bool_))
_CONSTANTS = frozenset((str, bytes, type(None)))
