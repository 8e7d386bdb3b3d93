"""Fast keys for the contents of long lists of numbers, and of tuples, lists, dicts and arrays of these."""

from __future__ import annotations

import marshal
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

# Any value of the user's program, whose attributes are read once its type is known.
PythonValue: TypeAlias = Any

# Shorter containers are compared entry by entry.
SHORTEST_DATA = 100

# Deepest nesting.
MOST_LEVELS = 8

# Most entries of all levels; a list may contain itself.
MOST_PARTS = 1 << 23

# Arrays in them are compared whole, so they are no larger.
LARGEST_ARRAY = 1 << 16


def levels_of_data(value: PythonValue, shortest: int = SHORTEST_DATA) -> int:
    """Count the container levels of a list, tuple or dict of at least `shortest` entries that holds only numbers, strings and arrays of
    numbers; 0 for any other value."""
    if type(value) not in (list, tuple, dict) or len(value) < shortest:
        return 0
    level: list[PythonValue] = [value]
    for depth in range(MOST_LEVELS):
        kinds = set(map(type, level))
        inner = {kind for kind in kinds if kind in (list, tuple, dict) or _is_named_tuple(kind)}
        if not kinds <= inner | _MARSHALLED | _NUMBERS | {np.ndarray}:
            return 0
        if np.ndarray in kinds and not all(_is_small(part) for part in level if type(part) is np.ndarray):
            return 0
        if not inner:
            return depth
        parts = [part for part in level if type(part) in inner] if len(kinds) > len(inner) else level
        if sum(map(len, parts)) > MOST_PARTS:
            return 0
        if dict in inner:
            level = [*chain.from_iterable([*part, *part.values()] if type(part) is dict else part for part in parts)]
        else:
            level = [*chain.from_iterable(parts)]
    return 0


def data_key(value: PythonValue, shortest: int = SHORTEST_DATA) -> Hashable:
    """A key that is equal for bitwise equal contents; None if `levels_of_data` is 0."""
    if not levels_of_data(value, shortest):
        return None
    kinds: dict[type, int] = {}
    return marshal.dumps(_plain([value], kinds), _WITHOUT_REFERENCES), tuple(kinds)


def _plain(values: Sequence[PythonValue], kinds: dict[type, int]) -> PythonValue:
    """Encode values as lists of numbers, strings and bytes, with the class of all but Python's own types. `kinds` numbers the classes."""
    found = set(map(type, values))
    if found <= _MARSHALLED:
        return values
    if len(found) == 1:
        (kind,) = found
        number = kinds.setdefault(kind, len(kinds))
        if kind in _NUMBERS:
            return [number, b"".join([value.tobytes() for value in values])]
        if kind is np.ndarray:
            return [number, [(value.dtype.str, value.shape, value.tobytes()) for value in values]]
        lengths = [len(value) for value in values]
        if kind is dict:
            return [number, lengths, _plain([key for value in values for key in value], kinds),
                    _plain([part for value in values for part in value.values()], kinds)]  # fmt: skip
        if len({*lengths}) == 1 and lengths[0] < SHORTEST_DATA:
            return [number, lengths[0], [_plain(column, kinds) for column in zip(*values)]]
        return [number, lengths, _plain([*chain.from_iterable(values)], kinds)]
    return [[kinds.setdefault(type(value), len(kinds)) for value in values], [_plain([value], kinds) for value in values]]


def _is_small(array: np.ndarray) -> bool:
    return array.dtype in _DTYPES and array.nbytes <= LARGEST_ARRAY


def _is_named_tuple(kind: type) -> bool:
    return type(kind) is type and kind.__bases__ == (tuple,) and hasattr(kind, "_fields")


_MARSHALLED = frozenset((float, int, bool, str, bytes, complex, type(None)))
_NUMBERS = frozenset((np.float64, np.int64, np.bool_, np.float32, np.int32))
_DTYPES = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_, np.float32, np.int32)))
# In later versions of the format the bytes depend on the numbers' reference counts.
_WITHOUT_REFERENCES = 2
