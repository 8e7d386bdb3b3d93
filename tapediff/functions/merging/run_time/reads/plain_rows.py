"""Rows of plain arrays that are read as data: views in the program and copies on the tape, the same while nobody writes to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .....recording.arrays.tracked import TrackedArray
from ...rules import Refused


class PlainRows:
    """The rows that one recording has read; called at its end, where it refuses those that were written to, or whose arrays were."""

    def __init__(self) -> None:
        # By id, each array and what was in it when its first row was read.
        self._arrays: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._rows: list[tuple[TrackedArray, int, Callable[[], Refused]]] = []

    @staticmethod
    def of(row: TrackedArray) -> PlainRows:
        """Those of the recording that a row was read in."""
        checks = row._recorder.at_end
        found = checks.get(PlainRows)
        if not isinstance(found, PlainRows):
            found = checks[PlainRows] = PlainRows()
        return found

    def note(self, array: np.ndarray, row: TrackedArray, refuse: Callable[[], Refused]) -> None:
        if id(array) not in self._arrays:
            self._arrays[id(array)] = array, array.copy()
        self._rows.append((row, id(array), refuse))

    def __call__(self) -> None:
        changed = {key for key, (now, before) in self._arrays.items() if now.tobytes() != before.tobytes()}
        for row, key, refuse in self._rows:
            if row._writes or key in changed:
                raise refuse()
