"""Loop skewing: tables in wavefront order. At step s lane l has the cell s - delay · l of its row."""

from __future__ import annotations

from ...ir.rewriter import Rewriter
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.regions import Region, Regions
from ...ops.arrays.shape import RESHAPE, TRANSPOSE


def box(*axes: tuple[int, int], shape: tuple[int, ...] | None = None) -> Region:
    """Return the region of (start, count) along each axis; read with its own shape unless another one is given."""
    counts = tuple(count for _, count in axes)
    return Region(tuple(start for start, _ in axes), (1,) * len(axes), counts, counts if shape is None else shape)


def part_of(made: Rewriter, array: int, start: int, count: int) -> int:
    """Entries of an array along its first axis."""
    shape = made.instructions[array].type.shape
    whole = [(0, extent) for extent in shape[1:]]
    return array if count == shape[0] else made.make(INDEX, (array,), (box((start, count), *whole),))


def joined(made: Rewriter, parts: list[int]) -> int:
    """Concatenate arrays along their first axis."""
    if len(parts) == 1:
        return parts[0]
    types = [made.instructions[part].type for part in parts]
    rest = types[0].shape[1:]
    regions, start = [], 0
    for type_ in types:
        regions.append(box((start, type_.shape[0]), *((0, extent) for extent in rest)))
        start += type_.shape[0]
    return made.make(ASSEMBLE, tuple(parts), (Regions(regions), (start, *rest), True))


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
