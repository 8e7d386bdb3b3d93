"""Variables that hold arrays when an iteration ends: their values are carried, so that a write to one would not be seen by another name."""

from __future__ import annotations

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.places import Version, plain_root
from ..state.values import Unjoinable, state


class NamesOfArrays:
    """The arrays of the variables that a loop carries.

    Attributes:
        arrays: by the number of the carry, the array when an iteration ends.
        shared: carries whose array has another name then.
        others: arrays from before the loop that have one of these names.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, TrackedArray] = {}
        self.shared: set[int] = set()
        self.others: list[TrackedArray] = []

    def clear(self) -> None:
        """Begin another attempt."""
        self.arrays, self.shared, self.others = {}, set(), []

    def add_all(self, number: int, leaves: list[Object]) -> None:
        """Note the values of a variable, whose first carry has this number."""
        self.arrays.update((number + k, leaf) for k, leaf in enumerate(leaves) if type(leaf) is TrackedArray and leaf.type.shape)

    def check(self, recorder: Object, at_start: list[Object]) -> None:
        """Find arrays that may have two names: from before, or written to. Refuses a loop that writes to arrays if there are such."""
        written = [place.holder for place, _ in state.journals[-1].values() if isinstance(place, Version)]
        for k, array in self.arrays.items():
            if array._recorder is not recorder or any(array is other for other in written):
                self.shared.add(k)
                self.others.append(array)
        if written and (self.shared or any(at_start[k] is other for k in self.arrays for other in written)):
            raise Unjoinable(
                "a loop writes to arrays, and two variables may be one array", "copy the array where it gets a second name: b = a.copy()"
            )

    def note_shared(self, at_end: list[Object], at_start: list[Object], runs: Object) -> None:
        """Note the arrays behind the loop that may have two names: without an iteration, variables have those at the start.

        Args:
            runs: whether there is an iteration.
        """
        found: list[Object] = [at_end[k] for k in self.shared]
        found += self.others
        same: list[tuple[Object, Object, Object]] = [(at_end[k], self.arrays[k], False) for k in self.shared]
        for k in self.arrays if runs is not True else ():
            start = at_start[k]
            if isinstance(start, np.ndarray):
                same.append((at_end[k], start if type(start) is TrackedArray else plain_root(start), runs))
                found += same[-1][:2]
        for end, other, test in same:
            if type(end) is TrackedArray and (type(other) is not TrackedArray or other._recorder is end._recorder):
                end._recorder.call_arrays.note_same(end, other, test)
        state.shown.update((id(array), array) for array in found)
