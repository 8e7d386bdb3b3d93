"""What long loops call for slices that go along with their turns; see prepare/long_loops/windows.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....ir.instruction import Operand, Tree
from ....numpy_api.joining import stack
from ....ops.arrays.indexing import GATHER
from ....recording.arrays.tracked import TrackedArray
from ..rules import Place, Refusing
from .container_calls import looked_up
from .gone_over.entries import Count

# Longer slices are gathered as a whole.
MOST_ENTRIES = 16


class Windows(Refusing):
    """The part of the run time that is for slices.

    Attributes:
        counts: by place, how the long loops count their turns.
    """

    counts: dict[Place, Count]

    def window(self, place: Place, array: Tree, turn: Operand, ends: Sequence[int], rest: Sequence[Tree]) -> Operand:
        """array[low:high, *rest], with bounds that are linear in the number of the turn.

        Args:
            ends: both bounds at zero, and at one.
        """
        low, high, next_low, next_high = ends
        step = next_low - low
        if type(turn) is int:
            return array[(slice(low + step * turn, high + (next_high - high) * turn), *rest)]
        if type(array) not in (np.ndarray, TrackedArray) or not array.ndim or set(map(type, ends)) != {int} or next_high - high != step:
            raise self._refuse("containers", place, "it takes slices of other lengths, or of no array")
        count, width = self.counts.get(place), high - low
        if width <= 0 or count is None or count.first is None:
            raise self._refuse("containers", place, "it takes slices of which nothing is known")
        firsts = [low + step * number for number in (count.first, count.first + count.step * (count.length - 1))]
        if not all(0 <= first <= len(array) - width for first in firsts):
            raise self._refuse("containers", place, f"it takes slices beyond the {len(array)} entries of an array")
        start = turn * step + low
        if width > MOST_ENTRIES:
            stride = math.prod(array.shape[1:])
            found = GATHER(array, start * stride + np.arange(width * stride).reshape(width, *array.shape[1:]))
        else:
            found = stack([self._entry(array, start + k) for k in range(width)])
        return found[(slice(None), *rest)] if rest else found

    def _entry(self, array: Tree, index: Operand) -> Operand:
        found = looked_up(array, index)
        return array[index] if found is None else found

    @staticmethod
    def window_of(*entries: Operand) -> Operand:
        """Entries that turns have written, as one array."""
        return stack(entries)

    part = slice
