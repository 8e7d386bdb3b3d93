"""np.pad where all that is added is in the array already: boxes of it, put together at once.

NumPy's own code writes axis by axis into what it has padded before, which a tape would have to take apart again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ...ir.instruction import Operand
from ...ops.arrays.indexing import Region, assemble
from ..joining import as_value
from .numpys_own import own_code

REFLECTING = ("reflect", "symmetric")

# More boxes, as of arrays that are padded to several times their lengths, are left to NumPy's code.
MOST_BOXES = 30

_NUMPYS_OWN: Callable[..., np.ndarray] = np.pad
_by_numpys_code = own_code(np.pad)


def pad(array: Operand, pad_width: Operand, mode: Operand = "constant", **named: Operand) -> Operand:
    """Any mode; errors are NumPy's."""
    array = as_value(array)
    copies = isinstance(mode, str) and ((mode == "wrap" and not named) or (mode in REFLECTING and named in ({}, {"reflect_type": "even"})))
    boxes = _boxes(array, pad_width, mode) if copies and array.size else None
    return _by_numpys_code(array, pad_width, mode, **named) if boxes is None else boxes


def _boxes(array: Operand, pad_width: Operand, mode: str) -> Operand | None:
    """The padded array; None where it takes many boxes, or NumPy's code is to say what is wrong."""
    try:
        widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    except (TypeError, ValueError):
        return None
    if widths.dtype.kind != "i" or np.any(widths < 0):
        return None
    runs = [_runs(length, before, after, mode) for length, (before, after) in zip(array.shape, widths.tolist())]
    shape = tuple(length + before + after for length, (before, after) in zip(array.shape, widths.tolist()))
    boxes = list(itertools.islice(itertools.product(*runs), MOST_BOXES + 1))
    if not array.ndim or len(boxes) > MOST_BOXES:
        return None
    parts, regions = [], []
    for box in boxes:
        counts = tuple(count for _, _, _, count in box)
        ends = [start + step * count for _, start, step, count in box]
        parts.append(array[tuple(slice(s, e if e >= 0 else None, step) for (_, s, step, _), e in zip(box, ends))])
        regions.append(Region(tuple(place for place, *_ in box), (1,) * len(box), counts, counts))
    return assemble(parts, regions, shape)


def _runs(length: int, before: int, after: int, mode: str) -> list[tuple[int, int, int, int]]:
    """Along one axis: (where, from where, step, count) of entries that lie next to each other in the array, forwards or backwards."""
    found = [(before, 0, 1, length)]
    source: list[int] = _NUMPYS_OWN(np.arange(length), (before, after), mode=mode).tolist()
    for start, end in ((0, before), (before + length, len(source))):
        while start < end:
            step, count = 1, 1
            if start + 1 < end and source[start + 1] == source[start] - 1:
                step = -1
            while start + count < end and source[start + count] == source[start] + step * count:
                count += 1
            found.append((start, source[start], step, count))
            start += count
    return sorted(found)
