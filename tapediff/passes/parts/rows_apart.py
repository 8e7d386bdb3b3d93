"""Splits strided parts of a few distant rows, such as the first and last row of a frame, into single rows.

If all parts are boxes of adjacent entries, an array can be cut along their edges, and each entry is computed once; see
compiler/lower/arrays.py and elementwise_by_parts.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ...ir.instruction import Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, Region, Regions
from ...ops.arrays.partition import MOST_REGIONS
from ...ops.arrays.shape import RESHAPE

# More rows stay together, as do rows of short arrays.
MOST_ROWS, SMALLEST_ARRAY = 4, 256


def rows_apart(tape: Tape) -> Tape:
    chosen = {n for n, i in tape.numbered(ASSEMBLE) if i.type.size >= SMALLEST_ARRAY and _is_wanted(i)}
    if not chosen:
        return tape
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        rewriter.number[number] = _apart(rewriter, instruction) if number in chosen else rewriter.copy(number)
    return rewriter.finish()


def _is_wanted(instruction: Instruction) -> bool:
    regions = instruction.params[0]
    apart = [rows for region in regions for rows in _rows(region)]
    return len(regions) < len(apart) <= MOST_REGIONS


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


def _apart(rewriter: Rewriter, instruction: Instruction) -> int:
    _, inputs, (regions, shape, is_disjoint), type_, site = instruction
    parts: list[int] = []
    places: list[Region] = []
    for i, region in zip(inputs, regions):
        rows, number = list(_rows(region)), rewriter.number[i]
        if len(rows) == 1:
            parts.append(number)
            places.append(region)
            continue
        if region.shape != region.counts:
            number = rewriter.make(RESHAPE, (number,), (region.counts,))
        for place, within in rows:
            parts.append(rewriter.emit(INDEX, (number,), (within,), ValueType(within.shape, type_.dtype), site))
            places.append(place)
    return rewriter.emit(ASSEMBLE, tuple(parts), (Regions(places), shape, is_disjoint), type_, site)
