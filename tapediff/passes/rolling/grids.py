"""Finds the rows of a nested loop in the origins of an array's entries.

An inner loop reads its neighbours from one array inside of a grid, and from others at its borders. As a grid of rows the entries are a few
boxes, each read from one array in regular steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ops.arrays.indexing import Region
from ..parts.regular_positions import bounds_of
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


def _blocks(entries: Ints, starts: tuple[int, int] = (0, 0)) -> list[Block] | None:
    """Cut entries into blocks of regular steps along both axes; None if there are too many."""
    if is_regular(entries):
        return [Block(Region(starts, (1, 1), entries.shape, entries.shape), entries)]
    for axis in (0, 1):
        bounds = bounds_of(np.moveaxis(np.diff(entries, axis=axis), axis, 0), MOST_CUTS) if entries.shape[axis] > 1 else []
        if len(bounds) > 1:
            places = [(starts[0] + at, starts[1]) if axis == 0 else (starts[0], starts[1] + at) for at in bounds]
            found = [_blocks(part, place) for part, place in zip(np.split(entries, bounds[1:], axis), places)]
            return None if None in found else [block for blocks in found if blocks is not None for block in blocks]
    return None


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
