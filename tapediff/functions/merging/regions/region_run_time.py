"""What rewritten functions call for their regions, and for code that must only compute values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....ir.instruction import Tree
from ....recording.arrays.tracked import TrackedArray
from ..purity import is_named_tuple
from ..rules import Place, Refusing
from .region_calls import Region
from .region_values import MISSING
from .regions import FIRST_PLAIN, ONLY_DATA, REGION


class RegionCalls(Refusing):
    """The part of the run time that is for regions."""

    _is_helper: bool
    _regions: dict[object, Region]

    def attribute(self, place: Place, owner: Tree, name: str) -> Tree:
        """owner.name; see RunTime."""
        raise NotImplementedError

    def region(
        self, place: Place, function: Callable[..., tuple[Tree, ...]], values: Sequence[Tree], into: Sequence[int], out: Sequence[int],
        has_outcomes: bool, all_plain: bool, may_hand_through: bool,
    ) -> Tree:  # fmt: skip
        """The variables after a region."""
        names = function.__globals__
        # Functions of several modules may have equal codes.
        key = self._code, id(names), place, has_outcomes, all_plain, self._is_helper, function.__code__
        region = self._regions.get(key)
        if region is None:
            name = f"line {place[0]} of {self._code.co_name}"
            refuse = lambda rule, got: self._refused(place, rule, got)  # noqa: E731 -- the next line is its only use
            may_hand_through = may_hand_through and not self._is_helper
            region = self._regions[key] = Region(name, self._code, has_outcomes, all_plain, may_hand_through, refuse, place)
        return region.run(function, values, into, out)

    def _refused(self, place: Place, rule: str, got: str) -> Exception:
        form = ONLY_DATA if rule == "outcomes" else FIRST_PLAIN if rule == "plain" else REGION
        return self._refuse("zero" if rule == "plain" else rule, (*place[:2], form), got)

    # Looked up before a region that may not ask for them

    def early_index(self, place: Place, index: Tree) -> Tree:
        """A part of an index."""
        if type(index) not in (int, np.int64):
            raise self._refuse("calls", place, "an index is data")
        return index

    def early_entry(self, place: Place, array: Tree, index: Tree) -> Tree:
        """array[index]; what may not be used where there is none."""
        if array is MISSING:
            return MISSING
        if type(array) not in (TrackedArray, np.ndarray, list, tuple) and not is_named_tuple(type(array)):
            raise self._refuse("calls", place, f"it looks up an entry of {type(array).__name__}")
        try:
            return array[index]
        except IndexError:
            return MISSING

    def early_attribute(self, place: Place, owner: Tree, name: str) -> Tree:
        """owner.name"""
        return MISSING if owner is MISSING else self.attribute(place, owner, name)

    def in_place(self, place: Place, value: Tree) -> None:
        """Raise if `+=` would change a value that may be seen elsewhere; arrays of the recording watch their writes."""
        if type(value) not in _UNCHANGED:
            raise self._refuse("assignments", place, f"it changes {type(value).__name__} in place")


_UNCHANGED = frozenset((float, int, bool, np.float64, np.int64, np.bool_, str, tuple, TrackedArray))
