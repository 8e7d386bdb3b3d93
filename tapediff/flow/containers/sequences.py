"""Lists and tuples compared and zipped where data decide."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..calls.truth import truth
from ..state.fork import fork_value
from ..state.identities import is_same
from ..state.joins import maybe
from ..state.values import CHOICES, Maybe, both, either, negated, parts
from .entries import is_conditional, length, nth, settled_contents

Compare = Callable[[str, Object, Object], Object]
SEQUENCES = (list, tuple, deque)


def holds_data(value: Object, depth: int = 0) -> bool:
    """True for sequences with entries whose comparisons data may decide."""
    return any(_is_data_within(entry, depth) for entry in value)


def _is_data_within(entry: Object, depth: int) -> bool:
    kind = type(entry)
    if kind is TrackedArray or kind is Maybe or kind in CHOICES:
        return True
    return isinstance(entry, SEQUENCES) and depth < _MOST_NESTED and holds_data(entry, depth + 1)


_MOST_NESTED = 6


def equal(compare: Compare, value: Object, other: Object) -> Object:
    """When two entries are equal; the same object always is, as for Python."""
    is_nan = any(type(one) is float and one != one for one in (value, other))
    same = is_same(value, other) if is_nan else value is other
    return True if same is True else either(same, truth(compare("eq", value, other)))


def sequences_compared(compare: Compare, name: str, a: Object, b: Object) -> Object:
    """A comparison of two lists or tuples: by the first entries that differ."""
    if is_conditional(a) or is_conditional(b):
        return _conditional_compared(compare, name, a, b)
    if name in ("eq", "ne"):
        if len(a) != len(b):
            return name == "ne"
        found: Object = True
        for p, q in zip(a, b):
            found = both(found, equal(compare, p, q))
            if found is False:
                break
        return found if name == "eq" else negated(found)
    n = min(len(a), len(b))

    def at(k: int) -> Object:
        if k == n:
            return getattr(operator, name)(len(a), len(b))
        is_equal = equal(compare, a[k], b[k])
        if type(is_equal) is bool:
            return at(k + 1) if is_equal else truth(compare(name, a[k], b[k]))
        return truth(fork_value(is_equal, lambda: at(k + 1), lambda: truth(compare(name, a[k], b[k]))))

    return at(0)


def _conditional_compared(compare: Compare, name: str, a: Object, b: Object) -> Object:
    if name in ("eq", "ne"):
        same = truth((length(a) if is_conditional(a) else len(a)) == (length(b) if is_conditional(b) else len(b)))
        for row in zipped([list(a), list(b)]):
            condition, (p, q) = (row.condition, row.value) if type(row) is Maybe else (True, row)
            same = both(same, either(negated(condition), equal(compare, p, q)))
        return same if name == "eq" else negated(same)
    return sequences_compared(compare, name, settled_contents(a), settled_contents(b))


def zipped(columns: list[Object]) -> list[Object]:
    """Tuples of the entries at the same positions."""
    conditional = [is_conditional(c) for c in columns]
    if not any(conditional):
        return list(zip(*columns))
    if len(columns) == 1:
        return [maybe(condition, (value,)) for condition, value in parts(columns[0])]
    shortest = min(len(c) for c in columns)
    made: list[Object] = []
    for k in range(shortest):
        there: Object = True
        row: list[Object] = []
        for column, is_so in zip(columns, conditional):
            if not is_so:
                row.append(column[k])
                continue
            is_there = truth(length(column) > k)
            there = both(there, is_there)
            row.append(nth(column, k))
        if there is False:
            break
        made.append(maybe(there, tuple(row)))
    return made
