"""Snapshots of functions: closure variables keep their present values, tracked ones become arguments.

A sub-tape or the branch of a td.cond may be recorded for the first time after the recording around it has ended. By then its
closure variables may have changed, and tracked values among them belong to a finished recording. So a frozen function holds
copies of these variables, with a hole for each tracked value, which an input of the new recording fills.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from ...ir.instruction import Operand, Tree
from ...recording.arrays.tracked import TrackedArray
from ...recording.python_state.object_snapshot import ObjectSnapshot, PythonValue, copied, note_mutable
from .frozen_walk import Filling, Freezing, Owning, global_key


class Frozen:
    """Functions with the values of their variables at one moment.

    Attributes:
        tracked: the tracked values that they close over; empty for a callee's own functions.
        hole_count: the number of tracked values.
        originals: for each tracked value, the program's own arrays of it.
        arrays: the plain arrays that they close over, and keys of their contents.
        key: equal for functions of the same code that close over equal values.
    """

    def __init__(self, functions: Sequence[Callable[..., object]], is_live: bool) -> None:
        walk = Freezing()
        self._functions = [walk.copy(function) for function in functions]
        self.tracked: list[TrackedArray] = walk.tracked
        self.originals: list[list[TrackedArray]] = walk.originals
        self.arrays = walk.arrays
        self.hole_count = len(walk.tracked)
        self.key = tuple(walk.key)
        self._held, self._globals = walk.held, walk.globals
        self._copies: dict[int, PythonValue] = {}
        self._is_live = is_live

    def changed_global(self) -> tuple[str, object, object] | None:
        """A global that has changed: its name, its value then, and its value now."""
        for names, name, value, key in () if self._is_live else self._globals:
            if name not in names or global_key(names[name]) != key:
                return name, value, names.get(name)
        return None

    def state_changed(self) -> bool:
        """True if containers, objects or globals that they close over have changed."""
        return any(not snapshot.is_same() for snapshot in self._held) or self.changed_global() is not None

    def owned(self) -> Frozen:
        """Copy the arrays, containers and objects, which the program may change from now on, and drop tracked values."""
        walk = Owning()
        made = copy.copy(self)
        made.tracked, made.originals, made.arrays = [], [], []
        made._functions = [walk.copy(function) for function in self._functions]
        made._copies = {id(snapshot.held): copied(snapshot.held) for snapshot in self._held}
        return made

    def filled(self, values: Sequence[Operand]) -> tuple[list[Callable[..., Tree]], Callable[[], bool], set[int]]:
        """Fill the holes. Returns the functions, a test for changed copied containers, and the ids of the plain arrays in the closure.

        Unchanged containers and objects are the program's own, so that changes by the function are visible outside.
        """
        changed = {id(c.held): self._copies.get(id(c.held), c.held) for c in self._held if not c.is_same()}
        if self._is_live:
            changed = {}
        walk = Filling(values, changed)
        functions = [walk.copy(function) for function in self._functions]
        own = [ObjectSnapshot(c.held) for c in self._held if id(c.held) not in changed]

        def containers_changed() -> bool:
            for snapshot in own:
                if not snapshot.is_same():
                    note_mutable(snapshot.held)
            return walk.containers_changed()

        return functions, containers_changed, walk.arrays


def freeze(*functions: Callable[..., object], is_live: bool = False) -> Frozen:
    """Freeze functions with the present values of their variables.

    Args:
        is_live: a user's guard tells changes apart, so containers, objects and globals may differ later.
    """
    return Frozen(functions, is_live)
