"""The turns of a loop in groups, by the shapes of arrays that it goes over, the lengths of tuples, lists and dicts, and its strings.

```
for y, X in zip(ys, Xs):         →         for y, X in those of 3 rows: s += f(y, X)
    s += f(y, X)                           for y, X in those of 4 rows: s += f(y, X), and so on
```
Where the order of the turns makes a difference, the number of its form is data of each turn, which takes a path by it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .....ir.instruction import Operand, Tree
from .....recording.arrays.tracked import TrackedArray
from .entries import Entries, Over
from .items import DTYPES, MOST_BYTES, Items, items_of, joined, of_array

# What zip puts together: lists of items as such.
Column: TypeAlias = "list[Tree] | np.ndarray | TrackedArray | range"

# So many groups at most, and so many turns in each on the average: a group takes 0.1 s to record and compile, a turn up to a millisecond.
MOST_GROUPS, FEWEST_TURNS = 64, 100

# Each path of a turn is recorded and compiled.
MOST_VARIANTS = 12

# How deep tuples, lists and dicts may be within each other.
DEEPEST = 4


def groups_of(values: Tree) -> list[Entries] | None:
    """What a loop goes over, in groups of turns; None where these are too many, or what is in one is not known as arrays."""
    columns = _columns(values if type(values) is Over else Over(zip, (values,)))
    turns = None if columns is None else _turns_by_form(columns, MOST_GROUPS)
    if columns is None or turns is None:
        return None
    found = [_entries(columns, numbers, type(values) is Over) for numbers in turns]
    known = [entries for entries in found if entries is not None]
    return known if len(known) == len(found) else None


def _turns_by_form(columns: Sequence[Column], most: int) -> list[list[int]] | None:
    """The turns of each group, of which there are a few."""
    length = min(map(len, columns))
    forms = [map(_form, column[:length]) for column in columns if type(column) is list]
    turns: dict[Hashable, list[int]] = {}
    for turn, form in enumerate(zip(*forms)):
        turns.setdefault(form, []).append(turn)
        if len(turns) > most:
            return None
    return None if len(turns) < 2 or len(turns) * FEWEST_TURNS > length else [*turns.values()]


def variants_of(values: Tree) -> Entries | None:
    """What a loop goes over, in its own order; the item of a turn is a path for each form, which a guard on the form's number takes."""
    columns = _columns(values if type(values) is Over else Over(zip, (values,)))
    turns = None if columns is None else _turns_by_form(columns, MOST_VARIANTS)
    if columns is None or turns is None:
        return None
    length = min(map(len, columns))
    which = np.zeros(length, np.int64)
    for number, group in enumerate(turns):
        which[group] = number
    forms = list[list[Items]]()
    merged = list[_Merged]()
    for column in columns:
        found = [_items(column, group) for group in turns]
        known = [items for items in found if items is not None]
        one = _Merged.of(known, turns, length) if len(known) == len(found) else None
        if one is None:
            return None
        merged.append(one)
        forms.append(known)
    is_joined = type(values) is Over

    def item(entries: Sequence[Operand]) -> Tree:
        form, start, parts = int(entries[0]), 1, list[Tree]()
        for one, items in zip(merged, forms):
            parts.append(items[form].item(one.entries(form, entries[start : start + len(one.arrays)])))
            start += len(one.arrays)
        return tuple(parts) if is_joined else parts[0]

    are_pythons = [False, *(is_one for one in merged for is_one in one.are_pythons)]
    return Entries(length, [which, *(array for one in merged for array in one.arrays)], item, are_pythons)


class _Merged(NamedTuple):
    """The arrays of all forms of an item as one, each padded to the largest shape.

    Attributes:
        arrays: with an entry for each turn.
        shapes: by form, those of the entries.
        are_pythons: see Items.
    """

    arrays: list[np.ndarray]
    shapes: list[list[tuple[int, ...]]]
    are_pythons: list[bool]

    @classmethod
    def of(cls, forms: Sequence[Items], turns: Sequence[Sequence[int]], length: int) -> _Merged | None:
        """None where an array of one form is of another kind than that of another one."""
        made, are_pythons = list[np.ndarray](), list[bool]()
        for k in range(max(len(items.arrays) for items in forms)):
            having = [(items.arrays[k], group) for items, group in zip(forms, turns) if k < len(items.arrays)]
            arrays = [array for array, _ in having if type(array) is np.ndarray]
            if len(arrays) < len(having) or len({(array.ndim, array.dtype) for array in arrays}) > 1:
                return None
            shape = np.max([array.shape[1:] for array in arrays], axis=0).astype(int).tolist()
            # Of turns of another form nobody asks for it; a number of Python's is none by which these would divide.
            whole = np.full((length, *shape), arrays[0].flat[0], arrays[0].dtype)
            if whole.nbytes > MOST_BYTES:
                return None
            for array, group in having:
                whole[(np.array(group), *map(slice, array.shape[1:]))] = array
            made.append(whole)
            are_pythons.append(any(items.are_pythons[k] for items in forms if k < len(items.arrays)))
        return cls(made, [[array.shape[1:] for array in items.arrays] for items in forms], are_pythons)

    def entries(self, form: int, entries: Sequence[Operand]) -> list[Operand]:
        """Those of one form."""
        return [entry if np.shape(entry) == shape else entry[tuple(map(slice, shape))] for entry, shape in zip(entries, self.shapes[form])]


def _columns(over: Over) -> list[Column] | None:
    """What zip or enumerate puts together; lists of items as such. None of anything else."""
    found = list[Column]()
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


def _entries(columns: Sequence[Column], turns: Sequence[int], is_joined: bool) -> Entries | None:
    """What some turns go over."""
    found = [_items(column, turns) for column in columns]
    parts = [items for items in found if items is not None]
    if len(parts) < len(found):
        return None
    whole = joined(parts, tuple) if is_joined else parts[0]
    return Entries(len(turns), *whole) if whole.arrays else None


def _items(column: Column, turns: Sequence[int]) -> Items | None:
    """What one of them gives to some turns."""
    if type(column) is list:
        return items_of([column[k] for k in turns])
    if type(column) is range:
        return of_array(column.start + column.step * np.array(turns), True)
    return of_array(column[np.array(turns)], False)  # type: ignore[call-overload]  # an array
