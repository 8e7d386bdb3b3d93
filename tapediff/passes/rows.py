"""Reshaped arrays, and their entries along the first axis: read, and put together again."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.rewriter import Rewriter
from ..ops.arrays.indexing import ASSEMBLE, INDEX
from ..ops.arrays.regions import Region, Regions
from ..ops.arrays.shape import RESHAPE


def box(*axes: tuple[int, int], shape: tuple[int, ...] | None = None) -> Region:
    """Return the region of (start, count) along each axis; read with its own shape unless another one is given."""
    counts = tuple(count for _, count in axes)
    return Region(tuple(start for start, _ in axes), (1,) * len(axes), counts, counts if shape is None else shape)


def in_shape(made: Rewriter, array: int, shape: Sequence[int]) -> int:
    """An array in another shape; the array itself if it has that."""
    return array if made.instructions[array].type.shape == tuple(shape) else made.make(RESHAPE, (array,), (tuple(shape),))


def with_leading(made: Rewriter, array: int, leading: Sequence[int], replaced: int) -> int:
    """An array with other first axes in place of some."""
    return in_shape(made, array, (*leading, *made.instructions[array].type.shape[replaced:]))


def part_of(made: Rewriter, array: int, start: int, count: int) -> int:
    """Entries of an array along its first axis; the array itself for all."""
    length, *inner = made.instructions[array].type.shape
    whole = [(0, extent) for extent in inner]
    return array if count == length else made.make(INDEX, (array,), (box((start, count), *whole),))


def entry_of(made: Rewriter, array: int, place: int) -> int:
    """One entry of an array along its first axis, without that axis."""
    _, *inner = made.instructions[array].type.shape
    return made.make(INDEX, (array,), (box((place, 1), *((0, extent) for extent in inner), shape=tuple(inner)),))


def joined(made: Rewriter, parts: list[int]) -> int:
    """Concatenate arrays along their first axis."""
    if len(parts) == 1:
        return parts[0]
    shapes = [made.instructions[part].type.shape for part in parts]
    rest = shapes[0][1:]
    regions, start = [], 0
    for length, *inner in shapes:
        regions.append(box((start, length), *((0, extent) for extent in inner)))
        start += length
    return made.make(ASSEMBLE, tuple(parts), (Regions(regions), (start, *rest), True))
