"""Parts of arrays: a region is a strided box (slice), with start, step and count per axis and the shape of the result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Region(NamedTuple):
    """A strided box of an array: per axis the first position, the step and the count, and the shape of the result."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        return _slices(self)


@lru_cache(1024)
def _slices(region: Region) -> tuple[slice, ...]:
    """The region as slices; cached, as loops read the same boxes at every iteration."""
    result = []
    for start, step, count in zip(region.starts, region.steps, region.counts):
        stop = start + step * count
        result.append(slice(start, stop if stop >= 0 else None, step))
    return tuple(result)


# Shorter runs of single entries are written one by one.
FEW_ENTRIES = 4


class Regions(tuple[Region, ...]):
    """The regions of the parts of one array. Caches its runs of single entries, which NumPy writes all at once."""

    _stretches: tuple[tuple[int, ...], list[tuple[int, int, np.ndarray | None]]] | None = None

    # True if the regions are all entries of a vector, one by one, in order.
    is_vector: bool = False

    def stretches(self, shape: tuple[int, ...]) -> list[tuple[int, int, np.ndarray | None]]:
        """Runs (first, end, flat positions) of single entries, and (k, k + 1, None) for any other region k."""
        known = self._stretches
        if known is None or known[0] != shape:
            known = self._stretches = (shape, self._found(shape))
        return known[1]

    def _found(self, shape: tuple[int, ...]) -> list[tuple[int, int, np.ndarray | None]]:
        result: list[tuple[int, int, np.ndarray | None]] = []
        start = 0
        for single, group in itertools.groupby(self, lambda region: region.shape == ()):
            count = sum(1 for _ in group)
            if single and shape and count >= FEW_ENTRIES:
                firsts = np.array([region.starts for region in self[start : start + count]], np.int64)
                positions = np.asarray(np.ravel_multi_index(tuple(firsts.T), shape))
                result.append((start, start + count, positions))
            else:
                result += [(k, k + 1, None) for k in range(start, start + count)]
            start += count
        return result


@lru_cache(1024)
def entries_of_vector(length: int) -> Regions:
    """The entries of a vector one by one."""
    regions = Regions(Region((k,), (1,), (1,), ()) for k in range(length))
    regions.is_vector = True
    return regions


def are_disjoint(regions: Regions, shape: tuple[int, ...]) -> bool:
    if len(regions) == 1:
        return True
    covered = np.zeros(shape, bool)
    flat, size = covered.reshape(-1), 0
    for start, end, positions in regions.stretches(shape):
        if positions is None:
            box = covered[(*regions[start].slices, ...)]  # the ellipsis keeps a 0-d box an array
            size += box.size
            box[...] = True
        else:
            size += end - start
            flat[positions] = True
    return int(np.count_nonzero(covered)) == size


def cover(regions: Sequence[Region], shape: tuple[int, ...]) -> bool:
    """True if regions are disjoint and cover an array."""
    size = sum(math.prod(region.counts) for region in regions)
    return size == math.prod(shape) and are_disjoint(Regions(regions), shape)


def frame(box: Region, shape: tuple[int, ...]) -> list[Region]:
    """The strips of an array of `shape` around a contiguous box, before and after it along each axis."""
    strips: list[Region] = []
    ones = (1,) * len(shape)
    for axis, extent in enumerate(shape):
        end = box.starts[axis] + box.counts[axis]
        for start, count in ((0, box.starts[axis]), (end, extent - end)):
            if count:
                starts = (*box.starts[:axis], start, *(0 for _ in shape[axis + 1 :]))
                counts = (*box.counts[:axis], count, *shape[axis + 1 :])
                strips.append(Region(starts, ones, counts, counts))
    return [strip for strip in strips if 0 not in strip.counts]
