"""Aliases of arrays in carried variables: carried by value, so a write to one array would not be seen under another name."""

from __future__ import annotations

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..state.places import Version, plain_root
from ..state.values import Unjoinable, state


class NamesOfArrays:
    """The arrays in carried variables.

    Attributes:
        arrays: by carry, its array at the end of an iteration.
        shared: carries whose array has another name then.
        others: earlier arrays that share one of these names.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, TrackedArray] = {}
        self.shared: set[int] = set()
        self.others: list[TrackedArray] = []

    def add_all(self, number: int, leaves: list[Object]) -> None:
        """Note the arrays of a variable, from its first carry on."""
        self.arrays.update((number + k, leaf) for k, leaf in enumerate(leaves) if type(leaf) is TrackedArray and leaf.type.shape)

    def check(self, recorder: Object, at_start: list[Object]) -> None:
        """Find arrays that may have two names. Refuses a loop that writes to arrays if there are any."""
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
        """Note the arrays that may have two names after the loop; zero iterations leave those of the start.

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
