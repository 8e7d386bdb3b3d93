"""Tables in the order of a wavefront: at step s lane l has the cell s - delay · l of its row."""

from __future__ import annotations

from ...ir.rewriter import Rewriter
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.regions import Region, Regions
from ...ops.arrays.shape import RESHAPE, TRANSPOSE


def box(*axes: tuple[int, int], shape: tuple[int, ...] | None = None) -> Region:
    """The region from a first position on, so many entries, along each axis; read with its own shape unless another one is given."""
    counts = tuple(count for _, count in axes)
    return Region(tuple(start for start, _ in axes), (1,) * len(axes), counts, counts if shape is None else shape)


def part_of(made: Rewriter, array: int, start: int, count: int) -> int:
    """Entries of an array along its first axis."""
    shape = made.instructions[array].type.shape
    whole = [(0, extent) for extent in shape[1:]]
    return array if count == shape[0] else made.make(INDEX, (array,), (box((start, count), *whole),))


def joined(made: Rewriter, parts: list[int]) -> int:
    """Arrays one behind the other along their first axis."""
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
    """An array of so many entries along its last axis, zeros but for the given ones, which begin at `start`."""
    shape = made.instructions[array].type.shape
    if start == 0 and shape[-1] == length:
        return array
    outer = [(0, extent) for extent in shape[:-1]]
    return made.make(ASSEMBLE, (array,), (Regions([box(*outer, (start, shape[-1]))]), (*shape[:-1], length), True))


def skewed(made: Rewriter, rows: int, offset: int, cells: int, delay: int) -> int:
    """What the lanes read of their rows at each step: entry [s, l] is rows[l, s - delay · l + offset], and 0 outside.

    Args:
        made: where the operations go.
        rows: an array of lanes and entries.
        offset: which entry a cell reads, counted from the one at its own place.
        cells: how many cells the lanes have.
        delay: by how many steps each lane is behind the one before.

    A row is padded until the one below it, read from the same place on, stands where its lane is.
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
    """The rows of what lanes gave at each step: entry [l, j] is steps[j + delay · l, l]."""
    length, lanes = made.instructions[steps].type.shape
    rows = made.make(TRANSPOSE, (steps,), ((1, 0),))
    flat = padded(made, made.make(RESHAPE, (rows,), ((lanes * length,),)), 0, lanes * (length + delay))
    sheared = made.make(RESHAPE, (flat,), ((lanes, length + delay),))
    return made.make(INDEX, (sheared,), (box((0, lanes), (0, cells)),))
