"""Finds the rows of a nested loop in the origins of an array's entries.

An inner loop reads its neighbours from one array inside of a grid, and from others at its borders. As a grid of rows the entries are a few
boxes, each read from one array in regular steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...ops.arrays.indexing import Region
from ..simplify.array_entries import SHIFT
from .tape_arrays import Ints

# Limit on the cuts along each axis of a grid.
MOST_CUTS = 6

# Shorter rows form no grid.
SHORTEST = 3


class Block(NamedTuple):
    """A box of a grid, and its entries."""

    target: Region
    entries: Ints


class Window(NamedTuple):
    """Rows of a flat array as a box of a table: entries from `first` on in rows of `width`, and the box within them."""

    first: int
    rows: int
    width: int
    box: Region


def grid_of(entries: Ints) -> tuple[Ints, list[Block]] | None:
    """Return the entries as a grid, and its few blocks; None if they form none.

    Args:
        entries: flat; an entry is a value and a position in it, as in array_entries.
    """
    steps = np.diff(entries)
    if steps.size < SHORTEST * SHORTEST:
        return None
    breaks = np.flatnonzero(steps != _commonest(steps)) + 1
    for length in _lengths(breaks):
        if length < SHORTEST or entries.size % length or length == entries.size:
            continue
        grid = entries.reshape(-1, length)
        blocks = _blocks(grid)
        if blocks is not None:
            return grid, blocks
    return None


def _lengths(breaks: Ints) -> dict[int, None]:
    """Return candidate row lengths: the most common distances from a break of the steps to the next ones."""
    return dict.fromkeys(_commonest(breaks[k:] - breaks[:-k]) for k in range(1, min(MOST_CUTS, breaks.size - 1) + 1))


def _blocks(grid: Ints) -> list[Block] | None:
    """Cut the grid into blocks of regular steps along both axes; None if there are too many."""
    rows, columns = _cuts(np.diff(grid, axis=0)), _cuts(np.diff(grid, axis=1).T)
    if rows is None or columns is None:
        return None
    boxes: list[_Box] = []
    for left, right in itertools.pairwise([0, *columns, grid.shape[1]]):
        for top, bottom in itertools.pairwise([0, *rows, grid.shape[0]]):
            found = _Box(top, bottom, left, right)
            if not is_regular(found.of(grid)):
                return None
            boxes.append(found)
    boxes = _joined(grid, boxes, lambda a, b: a[2:] == b[2:] and a.bottom == b.top)
    boxes = _joined(grid, boxes, lambda a, b: a[:2] == b[:2] and a.right == b.left)
    return [Block(box.region, box.of(grid)) for box in boxes]


class _Box(NamedTuple):
    """Rows from `top` to `bottom`, columns from `left` to `right` of a grid."""

    top: int
    bottom: int
    left: int
    right: int

    def of(self, grid: Ints) -> Ints:
        return grid[self.top : self.bottom, self.left : self.right]

    @property
    def region(self) -> Region:
        counts = (self.bottom - self.top, self.right - self.left)
        return Region((self.top, self.left), (1, 1), counts, counts)


def _joined(grid: Ints, boxes: list[_Box], meet: Callable[[_Box, _Box], bool]) -> list[_Box]:
    """Merge adjacent boxes whose steps continue."""
    joined: list[_Box] = []
    for box in boxes:
        for k, other in enumerate(joined):
            both = _Box(other.top, box.bottom, other.left, box.right)
            if meet(other, box) and is_regular(both.of(grid)):
                joined[k] = both
                break
        else:
            joined.append(box)
    return joined


def _cuts(steps: Ints) -> list[int] | None:
    """Return the row numbers at which to cut a grid, given its steps from row to row; None if there are too many."""
    usual = _commonest(steps[:, steps.shape[1] // 2]) if steps.size else 0
    uneven = (steps != usual).sum(axis=1)
    # A border column has its own steps; cut where most columns differ, or steps change within a column.
    changes = (steps[1:] != steps[:-1]).any(axis=1)
    cuts = {int(k) + 1 for k in np.flatnonzero(2 * uneven > steps.shape[1])}
    cuts |= {int(k) + side for k in np.flatnonzero(changes) for side in (1, 2)}
    return sorted(cuts) if len(cuts) <= 2 * MOST_CUTS else None


def _commonest(steps: Ints) -> int:
    found, counts = np.unique(steps, return_counts=True)
    return int(found[counts.argmax()])


def is_regular(rows: Ints) -> bool:
    """True if the entries of a block come from one value, in constant steps along each axis."""
    first = rows[0, 0]
    down = rows[1, 0] - first if rows.shape[0] > 1 else 0
    across = rows[0, 1] - first if rows.shape[1] > 1 else 0
    expected = first + down * np.arange(rows.shape[0])[:, None] + across * np.arange(rows.shape[1])
    return bool((rows >> SHIFT == first >> SHIFT).all()) and bool((rows == expected).all())


def window_in(rows: Ints, size: int) -> Window | None:
    """Return rows of flat positions as a box of an array of `size` entries in rows; None if they are not.

    The rows do not overlap, and have a positive step.
    """
    start = int(rows[0, 0])
    width = int(rows[1, 0]) - start if rows.shape[0] > 1 else size
    step = int(rows[0, 1]) - start if rows.shape[1] > 1 else 1
    reach = (rows.shape[1] - 1) * step
    if step <= 0 or width <= reach or not is_regular(rows):
        return None
    counts = rows.shape
    if size % width == 0 and start % width + reach < width:
        return Window(0, size // width, width, Region((start // width, start % width), (1, step), counts, counts))
    first = min(start, size - width * counts[0])
    if first < 0 or start - first + reach >= width:
        return None
    return Window(first, counts[0], width, Region((0, start - first), (1, step), counts, counts))
