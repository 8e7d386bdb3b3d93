"""Views of dicts with data-dependent keys: `keys`, `values` and `items`."""

from __future__ import annotations

import gc
from collections.abc import Iterator

from ..anything import Object
from ..state.values import Lazy, has_maybes, state
from . import keys
from .entries import length


def viewed(items: Object) -> Object:
    """The view for a view of Python's whose dict has got conditional keys; else the items themselves."""
    if state.has_maybes and type(items) in keys.PLAIN_VIEWS:
        (holder,) = gc.get_referents(items)
        if has_maybes(holder):
            return View(holder, keys.PLAIN_VIEWS[type(items)])
    return items


class View(Lazy):
    """The keys, values or items of a dict with conditional keys.

    Attributes:
        holder: the dict.
        which: 0 for keys, 1 for values, None for items.
    """

    __slots__ = ("holder", "which")

    def __init__(self, holder: dict[Object, Object], which: int | None) -> None:
        self.holder, self.which = holder, which

    def entries(self) -> list[Object]:
        return self._parts(keys.items(self.holder))

    def unordered(self) -> list[Object]:
        return self._parts(keys.items(self.holder, is_in_order=False))

    def _parts(self, entries: list[Object]) -> list[Object]:
        return entries if self.which is None else keys.parts_of(entries, self.which)

    def length(self) -> Object:
        return length(self.holder)

    def __len__(self) -> int:
        return int(length(self.holder))

    def __iter__(self) -> Iterator[Object]:
        return iter(plain_view(self))


def plain_view(value: Object) -> Object:
    """Python's own view in place of one of these, of the keys present at this point; other values unchanged."""
    if type(view := viewed(value)) is not View:
        return value
    keys.settle(view.holder)
    return (view.holder.items if view.which is None else view.holder.values if view.which else view.holder.keys)()
