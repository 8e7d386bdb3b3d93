"""np.pad for modes that copy entries: assembles boxes of the array in one instruction.

NumPy's own code pads axis by axis, writing into the earlier result, which passes would have to untangle.
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

# NumPy's code handles more boxes, as of arrays padded to several times their lengths.
MOST_BOXES = 30

_NUMPYS_OWN: Callable[..., np.ndarray] = np.pad
_by_numpys_code = own_code(np.pad)


def pad(array: Operand, pad_width: Operand, mode: Operand = "constant", **named: Operand) -> Operand:
    """np.pad in any mode, with NumPy's errors."""
    array = as_value(array)
    copies = isinstance(mode, str) and ((mode == "wrap" and not named) or (mode in REFLECTING and named in ({}, {"reflect_type": "even"})))
    boxes = _boxes(array, pad_width, mode) if copies and array.size else None
    return _by_numpys_code(array, pad_width, mode, **named) if boxes is None else boxes


def _boxes(array: Operand, pad_width: Operand, mode: str) -> Operand | None:
    """The padded array; None if it takes too many boxes, or if NumPy's code should raise the error."""
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
    """The runs (to, from, step, count), along one axis, of entries that are adjacent in the array, forwards or backwards."""
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
