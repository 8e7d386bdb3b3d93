"""Loop skewing: tables in wavefront order. At step s lane l has the cell s - delay · l of its row."""

from __future__ import annotations

from ...ir.rewriter import Rewriter
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.regions import Regions
from ...ops.arrays.shape import RESHAPE, TRANSPOSE
from ...passes.rows import box


def padded(made: Rewriter, array: int, start: int, length: int) -> int:
    """Pad an array with zeros to a length along its last axis; its entries begin at `start`."""
    shape = made.instructions[array].type.shape
    if start == 0 and shape[-1] == length:
        return array
    outer = [(0, extent) for extent in shape[:-1]]
    return made.make(ASSEMBLE, (array,), (Regions([box(*outer, (start, shape[-1]))]), (*shape[:-1], length), True))


def skewed(made: Rewriter, rows: int, offset: int, cells: int, delay: int) -> int:
    """Return the lanes' entries at each step: entry [s, l] is rows[l, s - delay · l + offset], and 0 outside.

    Args:
        made: the tape under construction.
        rows: an array of lanes and entries.
        offset: the position of the entry that a cell reads, relative to its own.
        cells: the number of cells in a row.
        delay: the number of steps between one lane and the next.

    Rows are padded so that a flat read with a shorter pitch shifts each lane by `delay`.
    """
    lanes, width = made.instructions[rows].type.shape
    steps = cells + delay * (lanes - 1)
    left = max(0, -offset)
    pitch = max(left + offset + steps + delay, width + delay * (lanes - 1) - offset, left + width)
    flat = made.make(RESHAPE, (padded(made, rows, left, pitch),), ((lanes * pitch,),))
    sheared = made.make(INDEX, (flat,), (box((0, lanes * (pitch - delay)), shape=(lanes, pitch - delay)),))
    read = made.make(INDEX, (sheared,), (box((0, lanes), (left + offset, steps)),))
    return made.make(TRANSPOSE, (read,), ((1, 0),))


def straightened(made: Rewriter, steps: int, cells: int, delay: int) -> int:
    """Return the rows from the lanes' results at each step: entry [l, j] is steps[j + delay · l, l]."""
    length, lanes = made.instructions[steps].type.shape
    rows = made.make(TRANSPOSE, (steps,), ((1, 0),))
    flat = padded(made, made.make(RESHAPE, (rows,), ((lanes * length,),)), 0, lanes * (length + delay))
    sheared = made.make(RESHAPE, (flat,), ((lanes, length + delay),))
    return made.make(INDEX, (sheared,), (box((0, lanes), (0, cells)),))
