"""What a long loop goes over, as arrays with one entry for each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from .....ir.instruction import Operand, Tree
from .....recording.arrays.tracked import TrackedArray
from ...prepare.long_loops.which_loops import OF_ARRAYS
from .items import DTYPES, Items, items_of, joined, of_array

# Loops over longer ranges are recorded turn by turn: their entries would take half a gigabyte.
LONGEST_RANGE = 1 << 26


class Over:
    """What zip, enumerate or reversed goes over, or `after_first`."""

    def __init__(self, function: Callable[..., Iterable[Tree]], args: Sequence[Tree]) -> None:
        self.function, self.args = function, args

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.function(*self.args))


def after_first(values: Iterable[Tree]) -> Iterator[Tree]:
    """All values but the first one."""
    return islice(values, 1, None)


class Entries(NamedTuple):
    """The values of a loop.

    Attributes:
        length: of how many turns.
        arrays: with an entry for each of them.
        item, are_pythons: see Items.
    """

    length: int
    arrays: Sequence[Operand]
    item: Callable[[Sequence[Operand]], Tree]
    are_pythons: Sequence[bool]


class Count(NamedTuple):
    """How a loop counts its turns.

    Attributes:
        first: the number of the first one; None where it is not known.
        step: between two of them.
        length: how many there are.
    """

    first: int | None
    step: int
    length: int


def counted(values: Tree) -> Count:
    """How a loop over some values counts its turns; of a length of 0 where it is not known how many there are."""
    if type(values) is range:
        return Count(values.start, values.step, len(values))
    if type(values) is not Over:
        return Count(None, 1, len(values) if hasattr(values, "__len__") else 0)
    if values.function is after_first:
        first, step, length = counted(values.args[0])
        return Count(None if first is None else first + step, step, max(length - 1, 0))
    if not values.args or values.function not in (zip, enumerate, reversed):
        return Count(None, 1, 0)
    if values.function is enumerate:
        start = values.args[1] if len(values.args) > 1 else 0
        return Count(start if type(start) is int else None, 1, counted(values.args[0]).length)
    parts = [counted(part) for part in values.args]
    length = min(part.length for part in parts)
    return parts[0]._replace(length=length) if values.function is zip else Count(None, 1, length)


def entries_of(values: Tree) -> Entries | None:
    """What a loop goes over; None where that is not known, or short, or the same in all turns."""
    found = _of_over(values) if type(values) is Over else _of_values(values)
    return None if found is None or found.length < OF_ARRAYS.shortest or not found.arrays else found


def _of_values(values: Tree) -> Entries | None:
    kind = type(values)
    if kind is range:
        numbers = None if len(values) > LONGEST_RANGE else np.arange(values.start, values.stop, values.step, dtype=np.int64)
        found = None if numbers is None else of_array(numbers, True)
    elif kind is np.ndarray or kind is TrackedArray:
        found = of_array(values, False) if values.ndim and values.dtype in DTYPES else None
    elif kind in _COLLECTIONS and len(values) >= OF_ARRAYS.shortest:
        found = items_of(values if kind in (list, tuple) else [*values])
    else:
        found = None
    return None if found is None else Entries(len(values), *found)


def _of_over(values: Over) -> Entries | None:
    if not values.args:
        return None
    args = values.args[:1] if values.function is enumerate else values.args
    parts = [_of_over(part) if type(part) is Over else _of_values(part) for part in args]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    if values.function is reversed:
        (whole,) = found
        return whole._replace(arrays=[array[::-1] for array in whole.arrays]) if type(values.args[0]) is not Over else None
    if values.function is enumerate:
        start = values.args[1] if len(values.args) > 1 else 0
        if type(start) is not int:
            return None
        found = [Entries(found[0].length, *of_array(np.arange(start, start + found[0].length), True)), *found]
    if values.function is after_first:
        (whole,) = found
        return whole._replace(length=whole.length - 1, arrays=[array[1:] for array in whole.arrays])
    length = min(part.length for part in found)
    whole = joined([Items([array[:length] for array in part.arrays], *part[2:]) for part in found], tuple)
    return Entries(length, *whole)


_COLLECTIONS = frozenset((list, tuple, dict, type({}.keys()), type({}.values()), type({}.items())))
