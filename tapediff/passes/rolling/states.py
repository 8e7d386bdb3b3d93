"""Finds the state arrays of a program: written cell by cell, and read as a whole by the next step."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Primitive
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ..columns import as_columns, first_two

# Slices larger than one in so many of the array do not count: it is not read cell by cell.
SMALLEST_SHARE = 4

# The fewest slices read of a state.
MANY_READS = 32


def states(tape: Tape) -> list[int]:
    """Return the versions of arrays of which many slices are read, at least half of the array in total.

    The next step of a cellular automaton reads border cells, which nothing wrote, like all others. Forwarding would give these reads
    different sources; from one array they are isomorphic.
    """
    if not {REPLACE, ASSEMBLE} & tape.ops:
        return []
    columns = as_columns(tape.instructions)
    which, count = columns.which, columns.which.size
    sizes = np.array([i.type.size if _is_of_arrays(i.op) else 0 for i in columns.templates], np.int64)[which]
    is_read = np.array([i.op is INDEX for i in columns.templates], bool)[which]
    sources, _ = first_two(columns)
    # The array that a nested slice is read from.
    whole = np.arange(count)
    for number in np.flatnonzero(is_read & (sizes > 1)).tolist():
        whole[number] = whole[sources[number]]
    read, sources = sizes[is_read], whole[sources[is_read]]
    are_parts = SMALLEST_SHARE * read <= sizes[sources]
    reads = np.bincount(sources[are_parts], minlength=count)
    entries = np.bincount(sources[are_parts], read[are_parts], count)
    return np.flatnonzero((reads >= MANY_READS) & (2 * entries >= sizes) & ~is_read).tolist()


def _is_of_arrays(op: Primitive) -> bool:
    return op is INDEX or op is REPLACE or op is ASSEMBLE
