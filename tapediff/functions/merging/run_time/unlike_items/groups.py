"""The turns of a loop in groups, by the shapes of arrays that it goes over, the lengths of tuples, lists and dicts, and its strings.

```
for y, X in zip(ys, Xs):         →         for y, X in those of 3 rows: s += f(y, X)
    s += f(y, X)                           for y, X in those of 4 rows: s += f(y, X), and so on
```
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .....ir.instruction import Tree
from .....recording.arrays.tracked import TrackedArray
from ..entries import Entries, Over
from ..items import DTYPES, Items, items_of, joined, of_array

# So many groups at most, and so many turns in each on the average.
MOST_GROUPS, FEWEST_TURNS = 64, 4

# How deep tuples, lists and dicts may be within each other.
DEEPEST = 4


def groups_of(values: Tree) -> list[Entries] | None:
    """What a loop goes over, in groups of turns; None where these are too many, or what is in one is not known as arrays."""
    over = values if type(values) is Over else Over(zip, (values,))
    columns = _columns(over)
    if not columns:
        return None
    length = min(map(len, columns))
    forms = [map(_form, column[:length]) for column in columns if type(column) is list]
    if not forms:
        return None
    turns: dict[Hashable, list[int]] = {}
    for turn, form in enumerate(zip(*forms)):
        turns.setdefault(form, []).append(turn)
        if len(turns) > MOST_GROUPS:
            return None
    if len(turns) < 2 or len(turns) * FEWEST_TURNS > length:
        return None
    found = [_entries(columns, numbers, type(values) is Over) for numbers in turns.values()]
    known = [entries for entries in found if entries is not None]
    return known if len(known) == len(found) else None


def _columns(over: Over) -> list[list[Tree] | np.ndarray | TrackedArray | range] | None:
    """What zip or enumerate puts together; lists of items as such. None of anything else."""
    found = list[list[Tree] | np.ndarray | TrackedArray | range]()
    args = over.args
    if over.function is enumerate:
        start = args[1] if len(args) > 1 else 0
        if type(start) is not int or not hasattr(args[0], "__len__"):
            return None
        args = range(start, start + len(args[0])), args[0]
    elif over.function is not zip:
        return None
    for part in args:
        if type(part) is range or (type(part) in (np.ndarray, TrackedArray) and part.ndim and part.dtype in DTYPES):
            found.append(part)
        elif type(part) in (list, tuple):
            found.append([*part])
        else:
            return None
    return found


def _form(item: Tree, depth: int = 0) -> Hashable:
    """The same for items that may be alike."""
    kind = type(item)
    if kind is np.ndarray:
        return item.shape
    if kind is str or item is None:
        return item
    if depth < DEEPEST and isinstance(item, (tuple, list, dict)):
        parts = item.values() if isinstance(item, dict) else item
        return (len(item), *[_form(part, depth + 1) for part in parts])
    return kind if kind is bool else ()


def _entries(columns: Sequence[list[Tree] | np.ndarray | TrackedArray | range], turns: Sequence[int], is_joined: bool) -> Entries | None:
    """What some turns go over."""
    at, parts = np.array(turns), list[Items]()
    for column in columns:
        if type(column) is list:
            found = items_of([column[k] for k in turns])
        elif type(column) is range:
            found = of_array(column.start + column.step * at, True)
        else:
            found = of_array(column[at], False)  # type: ignore[call-overload]  # an array
        if found is None:
            return None
        parts.append(found)
    whole = joined(parts, tuple) if is_joined else parts[0]
    return Entries(len(turns), *whole) if whole.arrays else None
