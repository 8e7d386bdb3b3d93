"""Data-dependent comparisons and zips of lists and tuples."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..containers.entries import is_conditional, length, noted, settled_contents
from ..containers.lengths import packed
from ..state.fork import fork_value
from ..state.identities import is_same
from ..state.numbers.python_numbers import python_bool
from ..state.values import CHOICES, Maybe, all_of, either, entries_of, negated, parted
from ..users_code import users_method

Compare = Callable[[str, Object, Object], Object]
SEQUENCES = (list, tuple, deque)
INDEXED = (*SEQUENCES, TrackedArray, np.ndarray, range)
CONSTANTS = {int, float, bool, str, bytes, type(None), np.float64, np.int64, np.bool_}


_WITH_METHODS = ("__lt__", "__gt__", "__eq__", "__bool__", "__add__", "__radd__", "__len__")
_MOST_NESTED = 6


def is_of_interest(value: Object, depth: int = 0) -> bool:
    """True for values with possibly data-dependent comparisons: tracked, choices, the user's objects, and containers of them."""
    kind = type(value)
    if kind in CONSTANTS:
        return False
    if kind is TrackedArray or kind in CHOICES or kind is Maybe:
        return True
    if isinstance(value, SEQUENCES):
        return depth < _MOST_NESTED and any(is_of_interest(v, depth + 1) for v in value)
    return any(users_method(kind, name) is not None for name in _WITH_METHODS)


def equal(compare: Compare, value: Object, other: Object) -> Object:
    """The condition that two entries are equal; like Python, identity implies equality."""
    is_nan = any(type(one) is float and one != one for one in (value, other))
    same = is_same(value, other) if is_nan else value is other
    return True if same is True else either(same, truth(compare("eq", value, other)))


def sequences_compared(compare: Compare, name: str, a: Object, b: Object) -> Object:
    """Compare two lists or tuples by their first differing entries."""
    a, b = entries_of(a), entries_of(b)
    if name in ("eq", "ne"):
        same = python_bool(_are_equal(compare, a, b))
        return same if name == "eq" else python_bool(negated(same))
    if is_conditional(a) or is_conditional(b):
        return sequences_compared(compare, name, settled_contents(a), settled_contents(b))
    rest: Callable[[], Object] = lambda: getattr(operator, name)(len(a), len(b))  # noqa: E731 -- its name is its use
    for pair in reversed(list(zip(a, b))):
        rest = functools.partial(_compared, compare, name, pair, rest)
    return rest()


def _compared(compare: Compare, name: str, pair: tuple[Object, Object], rest: Callable[[], Object]) -> Object:
    """Compare two entries, and the rest of their sequences if they are equal."""
    return truth(fork_value(equal(compare, *pair), rest, lambda: truth(compare(name, *pair))))


def _are_equal(compare: Compare, a: Object, b: Object) -> Object:
    if is_conditional(a) or is_conditional(b):
        found = truth(length(a) == length(b))
        rows = list(map(parted, zipped([list(a), list(b)])))
    elif len(a) == len(b):
        found, rows = True, [(True, row) for row in zip(a, b)]
    else:
        return False
    return found is not False and all_of((either(negated(condition), equal(compare, p, q)) for condition, (p, q) in rows), found)


def zipped(columns: list[Object]) -> list[Object]:
    """Zip columns into tuples."""
    if not any(map(is_conditional, columns)):
        return list(zip(*columns))
    rows = [list(map(parted, packed(column) if is_conditional(column) else column)) for column in columns]
    made = [zip(*row) for row in zip(*rows)]
    return noted([(all_of(conditions), values) for conditions, values in made])
