"""Splits strided parts of a few distant rows, such as the first and last row of a frame, into single rows.

If all parts are boxes of adjacent entries, an array can be cut along their edges, and each entry is computed once; see
compiler/lower/arrays.py and elementwise_by_parts.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ...ir.instruction import Instruction
from ...ir.rewriter import Rewriter, rewritten
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, Region, Regions
from ...ops.arrays.partition import MOST_REGIONS
from ..rows import in_shape

# More rows stay together, as do rows of short arrays.
MOST_ROWS, SMALLEST_ARRAY = 4, 256


def rows_apart(tape: Tape) -> Tape:
    return rewritten(tape, _apart, ASSEMBLE) if any(map(_is_wanted, tape.all_of(ASSEMBLE))) else tape


def _is_wanted(instruction: Instruction) -> bool:
    regions = instruction.params[0]
    if instruction.type.size < SMALLEST_ARRAY:
        return False
    return len(regions) < sum(1 for region in regions for _ in _rows(region)) <= MOST_REGIONS


def _rows(region: Region) -> Iterator[tuple[Region, Region]]:
    """Yield slices of a region, each with its position in the assigned value; the region itself if it is dense or has many rows."""
    axes: list[list[tuple[int, int, int, int]]] = []
    for start, step, count in zip(region.starts, region.steps, region.counts):
        if step != 1 and 1 < count <= MOST_ROWS:
            axes.append([(start + step * k, 1, 1, k) for k in range(count)])
        else:
            axes.append([(start, step, count, 0)])
    for box in itertools.product(*axes):
        starts, steps, counts, within = zip(*box)
        yield Region(starts, steps, counts, counts), Region(within, (1,) * len(counts), counts, counts)


def _apart(made: Rewriter, instruction: Instruction, _: int) -> int | None:
    if not _is_wanted(instruction):
        return None
    regions, shape, is_disjoint = instruction.params
    parts: list[int] = []
    places: list[Region] = []
    for i, region in zip(instruction.inputs, regions):
        rows, number = list(_rows(region)), made.number[i]
        if len(rows) == 1:
            parts.append(number)
            places.append(region)
            continue
        number = in_shape(made, number, region.counts)
        for place, within in rows:
            parts.append(made.make(INDEX, (number,), (within,)))
            places.append(place)
    return made.make(ASSEMBLE, tuple(parts), (Regions(places), shape, is_disjoint))
