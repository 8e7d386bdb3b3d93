"""Finds the arrays that are the states of a program: written cell by cell, and read as a whole by its next step."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Primitive
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ..columns import as_columns, first_two

# Parts that are larger than this share of an array do not count: such an array is not read cell by cell.
SMALLEST_SHARE = 4

# An array of which so many parts are read is a state.
MANY_READS = 32


def states(tape: Tape) -> list[int]:
    """The versions of arrays of which many parts are read, together as much as half of the array.

    The next step of a cellular automaton reads cells of the border, which nothing wrote, as it reads the others. Forwarded to where
    they were written, these reads would differ; from one array they are alike.
    """
    if not {REPLACE, ASSEMBLE} & tape.ops:
        return []
    columns = as_columns(tape.instructions)
    which, count = columns.which, columns.which.size
    sizes = np.array([i.type.size if _is_of_arrays(i.op) else 0 for i in columns.templates], np.int64)[which]
    is_read = np.array([i.op is INDEX for i in columns.templates], bool)[which]
    sources, _ = first_two(columns)
    # What a part of a part is a part of.
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
