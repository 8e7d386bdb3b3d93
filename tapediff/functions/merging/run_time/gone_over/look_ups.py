"""Items of lists, tuples and dicts that turns of a long loop look up at positions that are data.

```
for i in range(len(data)):                 for i, (t, y) in zip(range(len(data)), data):
    t, y = data[i]                             ...
```
A position that follows from what the loop goes over is known for all turns, so that the loop goes over the items as well. At other
positions, items of floats are gathered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import NamedTuple

import numpy as np

from .....ir.instruction import FLOAT64, Operand, Tree
from .....recording.arrays.tracked import TrackedArray
from .....recording.python_state.data_key import data_key
from .....recording.python_state.object_snapshot import PLAIN
from .....recording.recorder import Recorder, current_recorder
from ..whole_numbers.turn_numbers import largest_in
from .entries import Entries
from .items import Items, items_of
from .known_numbers import KnownNumbers

# So many look-ups of a turn become items that the loop goes over.
MOST_LOOK_UPS = 100


class _Key(NamedTuple):
    """Identifies what is looked up in all turns: by what is in the container, as another path may get a copy of it."""

    content: Hashable
    positions: tuple[bytes, ...]


class _Seen:
    """A container as it was when a turn has looked something up in it.

    Attributes:
        container: kept, so that no other one has its id.
        content: its key; None of what is made of other things than numbers, strings and arrays.
        items: all its items, where these are asked for.
    """

    def __init__(self, container: Tree) -> None:
        self.container, self.content = container, data_key(container, 1)
        self._parts = _parts_of(container)
        self._is_shallow = _are_fixed(self._parts)
        self._items: Items | None = None
        self._has_items = False

    def is_same(self) -> bool:
        """Whether nothing in it has changed: a turn may write to lists that it makes."""
        parts = _parts_of(self.container)
        if len(parts) != len(self._parts) or not all(map(operator.is_, parts, self._parts)):
            return False
        return self._is_shallow or self.content == data_key(self.container, 1)

    @property
    def items(self) -> Items | None:
        if not self._has_items:
            container = self.container
            self._items, self._has_items = items_of(container) if isinstance(container, (list, tuple)) and container else None, True
        return self._items


class MoreStreams(Exception):
    """The loop is to go over further items, which a turn has looked up."""


class Streams:
    """What one long loop goes over: its own values, and the items that its turns look up.

    Args:
        entries: its own values.

    Attributes:
        arrays: with an entry for each turn.
        sizes: of whole numbers among them, how many bits the largest has.
        pythons: those that may be Python's numbers; None in place of others.
    """

    def __init__(self, entries: Entries) -> None:
        self._entries, self._own = entries, len(entries.arrays)
        self.arrays: list[Operand] = []
        self.sizes: list[float | None] = []
        self.pythons: list[np.ndarray | None] = []
        self._add(entries.arrays, entries.are_pythons)
        # By what is looked up: where its arrays begin, and how it is made of them.
        self._found: dict[_Key, tuple[int, Items]] = {}
        self._wanted: dict[_Key, Items] = {}
        self._seen: dict[int, _Seen] = {}
        self._is_complete = False
        self._recorder: Recorder | None = None
        self._items: Sequence[Operand] = ()
        # The arrays that the turn is given, with their values.
        self._arrays: list[tuple[TrackedArray, int]] = []
        self._numbers: KnownNumbers | None = None

    def _add(self, arrays: Sequence[Operand], are_pythons: Sequence[bool]) -> None:
        self.arrays += arrays
        self.sizes += map(largest_in, arrays)
        self.pythons += [array if is_one and type(array) is np.ndarray else None for array, is_one in zip(arrays, are_pythons)]

    def add_wanted(self) -> None:
        """Go over what was looked up as well."""
        for key, items in self._wanted.items():
            self._found[key] = len(self.arrays), items
            self._add(items.arrays, items.are_pythons)
        self._wanted.clear()

    def complete(self) -> None:
        """A turn has been recorded: from now on the loop goes over what it does."""
        self._is_complete = True

    @property
    def have_changed(self) -> bool:
        """Whether the turn has written to an array that it was given, which the program would see in its lists and arrays."""
        for array, _ in self._arrays:
            array._refresh()
        return any(array._id != number for array, number in self._arrays)

    def item(self, items: Sequence[Operand]) -> Tree:
        """What the turn gets of the loop's own values."""
        return self._entries.item(items[: self._own])

    @contextmanager
    def turn(self, recorder: Recorder, inputs: Sequence[int], items: Sequence[Operand]) -> Generator[None]:
        """A turn is being recorded.

        Args:
            inputs: the numbers of the recording's inputs, from the one of the first array on.
            items: their values.

        Raises:
            MoreStreams: it has looked up items that the loop is to go over.
        """
        given = {k: array for k, array in zip(inputs, self.arrays) if type(array) is np.ndarray}
        self._recorder, self._items, self._numbers = recorder, items, KnownNumbers(recorder, given)
        self._arrays = [(item, item._id) for item in items if type(item) is TrackedArray and item.shape]
        self._seen.clear()
        before = _OPEN.set(self)
        try:
            yield
        except Exception as error:
            # It may be due to the form in which an item was looked up for now.
            if self._wanted:
                raise MoreStreams from error
            raise
        finally:
            _OPEN.reset(before)
            self._seen.clear()
        if self._wanted:
            raise MoreStreams

    def looked_up(self, container: Tree, parts: tuple[Tree, ...], gathered: Callable[[Operand], Operand]) -> Tree:
        """container[parts] as an item; None where that is not known.

        Args:
            parts: the position, or the parts of a key.
            gathered: the entry of an array at the position.
        """
        if current_recorder() is not self._recorder:
            return None
        seen, is_wanted = self._seen.get(id(container)), False
        if seen is None or not seen.is_same():
            seen = self._seen[id(container)] = _Seen(container)
        if seen.content is None:
            return None
        known = self._known(parts)
        if known is not None:
            key = _Key(seen.content, tuple([part.tobytes() for part in known]))
            if key in self._found:
                start, items = self._found[key]
                return items.item(self._items[start : start + len(items.arrays)])
            if not self._is_complete and len(self._found) + len(self._wanted) < MOST_LOOK_UPS:
                items = self._wanted.get(key) or _items_at(container, known)
                if items is not None:
                    self._wanted[key], is_wanted = items, True
        table = seen.items if len(parts) == 1 else None
        if table is None and is_wanted:
            raise MoreStreams
        if table is None or not (is_wanted or all(map(_is_alike_in_numpy, table.arrays, table.are_pythons))):
            return None
        found = [gathered(array) for array in table.arrays]
        self._arrays += [(array, array._id) for array in found if type(array) is TrackedArray and array.shape]
        return table.item(found)

    def _known(self, parts: tuple[Tree, ...]) -> list[np.ndarray] | None:
        """The parts of a position by turn."""
        assert self._numbers is not None
        length = len(self.arrays[0])
        found = list[np.ndarray]()
        for part in parts:
            value = self._numbers.of(part) if type(part) is TrackedArray else np.asarray(part) if type(part) is int else None
            if value is None:
                return None
            found.append(np.broadcast_to(value, (length,)))
        return found


def _parts_of(container: Tree) -> list[Tree]:
    """What is in a container, one level deep."""
    return [*container, *container.values()] if type(container) is dict else [*container]


def _are_fixed(parts: Sequence[Tree]) -> bool:
    """Whether values are numbers and strings, or tuples of these, in which nothing changes."""
    kinds = set(map(type, parts))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(parts)))
    return kinds.issubset(PLAIN) or kinds.issubset(_NUMBERS)


def _items_at(container: Tree, known: Sequence[np.ndarray]) -> Items | None:
    """The items at positions by turn; None where they are not alike, or not all there."""
    keys = known[0].tolist() if len(known) == 1 else list(zip(*[part.tolist() for part in known]))
    if type(container) is not dict:
        count = len(container)
        if len(known) > 1 or not np.all((known[0] >= -count) & (known[0] < count)):
            return None
    elif not all(key in container for key in keys):
        return None
    items = items_of([container[key] for key in keys])
    # What is tracked is looked up where it is.
    return None if items is None or any(type(array) is TrackedArray for array in items.arrays) else items


def _is_alike_in_numpy(array: Operand, is_pythons: bool) -> bool:
    """Whether of the entries of an array NumPy makes the same as Python does; of floats that is checked."""
    return type(array) is np.ndarray and (array.dtype == FLOAT64 or not is_pythons)


_NUMBERS = frozenset((float, int, np.float64, np.int64, np.bool_))

# The innermost loop of which a turn is being recorded.
_OPEN: ContextVar[Streams | None] = ContextVar("tapediff_open_turn", default=None)


def item_at(container: Tree, parts: tuple[Tree, ...], gathered: Callable[[Operand], Operand]) -> Tree:
    """An item that a turn of a long loop looks up in a list, tuple or dict; None where no turn is recorded, or it is not known."""
    streams = _OPEN.get()
    return None if streams is None else streams.looked_up(container, parts, gathered)
