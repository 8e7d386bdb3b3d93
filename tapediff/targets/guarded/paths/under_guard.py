"""Calls under the user's guard, whose value chooses among the kernels of a GuardedTape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....ir.instruction import Tree

if TYPE_CHECKING:
    from ...native.paths import PathsCall

# Guard values that are equal, with their types, only if their bits are.
PLAIN = frozenset((bool, int, str, type(None), np.bool_))

# The most values of a user's guard before those with dropped tapes are forgotten.
MANY_VALUES = 64


class DirectRun(NamedTuple):
    """The kernels of one operator for one kind of call.

    Attributes:
        paths: their call; None if it has too many arguments, and is of one path.
        run: called as a kernel; returns the status, REFUSED on other paths.
    """

    paths: PathsCall | None
    run: Callable[..., Tree]

    @property
    def is_live(self) -> bool:
        """True while there is a kernel to run."""
        return self.paths is not None and self.paths.is_live


class CallsUnderGuard:
    """The calls for each value of the user's guard.

    Attributes:
        last: a value of the guard, and the function that runs the kernels for it. Replaced as a whole: calls read it without a lock.
    """

    __slots__ = ("__weakref__", "_by_value", "last")

    def __init__(self) -> None:
        self._by_value: dict[tuple[type, Tree], DirectRun] = {}
        self.last: tuple[Tree, Callable[..., Tree] | None] = (self, None)

    def add(self, value: Tree, calls: DirectRun) -> None:
        """Use `calls` for this value of the guard."""
        if type(value) not in PLAIN:
            return
        if len(self._by_value) >= MANY_VALUES:
            # Copied first: calls without the lock add to it.
            for key, known in list(self._by_value.items()):
                if not known.is_live:
                    self._by_value.pop(key, None)
        self._by_value[type(value), value] = calls

    def under(self, value: Tree) -> Callable[..., Tree] | None:
        """The function that runs the kernels for a value."""
        known = self._by_value.get((type(value), value)) if type(value) in PLAIN else None
        if known is None:
            return None
        self.last = value, known.run
        return known.run
