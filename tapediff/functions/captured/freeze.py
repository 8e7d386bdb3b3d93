"""Functions as they are at one moment: the variables of enclosing functions are taken as they stand, tracked ones as arguments.

A sub-tape or the branch of a td.cond may be recorded for the first time when the recording around it has long ended. Then the
variables that it closes over may have changed, and tracked values among them belong to a recording that is over. So a frozen
function has copies of these variables, with a hole for each tracked value, which is filled with an input of the new recording.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from ...ir.instruction import Operand, Tree
from ...recording.arrays.tracked import TrackedArray
from ...recording.python_state.object_snapshot import ObjectSnapshot, PythonValue, copied, note_mutable
from .frozen_walk import Filling, Freezing, Owning, global_key


class Frozen:
    """Functions as they were.

    Attributes:
        tracked: the tracked values that they close over; none where these are a callee's own.
        hole_count: how many these are.
        originals: for each of them the program's own arrays of that value.
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
        """A global that is another one by now: its name, its value then, and its value now."""
        for names, name, value, key in () if self._is_live else self._globals:
            if name not in names or global_key(names[name]) != key:
                return name, value, names.get(name)
        return None

    def state_changed(self) -> bool:
        """Whether containers and objects that they close over, or globals, are others by now."""
        return any(not snapshot.is_same() for snapshot in self._held) or self.changed_global() is not None

    def owned(self) -> Frozen:
        """With copies of the arrays, containers and objects, which the program may change from now on, and no recording's values."""
        walk = Owning()
        made = copy.copy(self)
        made.tracked, made.originals, made.arrays = [], [], []
        made._functions = [walk.copy(function) for function in self._functions]
        made._copies = {id(snapshot.held): copied(snapshot.held) for snapshot in self._held}
        return made

    def filled(self, values: Sequence[Operand]) -> tuple[list[Callable[..., Tree]], Callable[[], bool], set[int]]:
        """The functions with these values in place of the tracked ones; whether they have changed a copied container since; and
        the ids of the plain arrays that they close over.

        Unchanged containers and objects are the program's own, so that the function's changes to them are seen outside.
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
    """The functions as they are now.

    Args:
        is_live: a user's guard tells changes apart; containers, objects and globals may be others later.
    """
    return Frozen(functions, is_live)
