"""Partitions an array along the edges of the regions that are added into it: the same regions cover all entries of a part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from .regions import Region

# Each part is separate code: beyond so many, or for short arrays, the regions are added to zeros one after the other instead.
MOST_PARTS = 32
MOST_REGIONS = 12
SMALLEST_ARRAY = 32


class Part(NamedTuple):
    """The entries from `starts` on, `counts` along each axis, and the numbers of the regions that cover them."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]
    covered_by: tuple[int, ...]


def partition(
    regions: Sequence[Region], shape: tuple[int, ...], most_regions: int = MOST_REGIONS, most_parts: int = MOST_PARTS
) -> list[Part] | None:
    """All parts of an array of this shape; None where partitioning does not pay, or a region is strided or backwards."""
    if len(regions) > most_regions or math.prod(shape) < SMALLEST_ARRAY:
        return None
    if any(step != 1 and count != 1 for r in regions for step, count in zip(r.steps, r.counts)):
        return None
    intervals = [_intervals(regions, axis, extent) for axis, extent in enumerate(shape)]
    if math.prod(map(len, intervals)) > most_parts:
        return None
    found = []
    for part in itertools.product(*intervals):
        covered_by = [k for k, region in enumerate(regions) if _covers(region, part)]
        found.append(Part(tuple(a for a, _ in part), tuple(b - a for a, b in part), tuple(covered_by)))
    return found


def _intervals(regions: Sequence[Region], axis: int, extent: int) -> list[tuple[int, int]]:
    edges = {0, extent}
    for region in regions:
        edges |= {region.starts[axis], region.starts[axis] + region.counts[axis]}
    return list(itertools.pairwise(sorted(edges)))


def _covers(region: Region, part: Sequence[tuple[int, int]]) -> bool:
    return all(a <= first and last <= a + n for a, n, (first, last) in zip(region.starts, region.counts, part))
