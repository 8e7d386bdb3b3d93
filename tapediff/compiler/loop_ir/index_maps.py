"""Affine index maps: the array indices that a loop reads, as functions of the loop's own indices."""

from __future__ import annotations

from dataclasses import dataclass

from .program import Access
from .views import contiguous


@dataclass(frozen=True, slots=True)
class IndexMap:
    """Index j of an array is starts[j] + the sum over k of steps[j][k] * loop index k."""

    starts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    def translated(self, access: Access) -> Access:
        """Rewrite an access of a loop over the array as an access of the loop that reads it."""
        if len(self.steps) == 1 == len(self.steps[0]):
            (stride,) = access.strides
            return Access(access.storage, access.offset + self.starts[0] * stride, (self.steps[0][0] * stride,), access.index_read)
        offset = access.offset
        strides = [0] * (len(self.steps[0]) if self.steps else 0)
        for start, steps, stride in zip(self.starts, self.steps, access.strides):
            offset += start * stride
            for k, step in enumerate(steps):
                strides[k] += step * stride
        return Access(access.storage, offset, tuple(strides), access.index_read)


def index_map_of(read: Access, domain: tuple[int, ...], shape: tuple[int, ...]) -> IndexMap | None:
    """The map of a read of a contiguous array of `shape`; None if a loop runs from one row of the array into the next."""
    if len(shape) == 1 == len(domain):
        # A special case of the code below, common in long programs.
        step = read.strides[0] if domain[0] != 1 else 0
        last = read.offset + step * (domain[0] - 1)
        is_inside = min(read.offset, last) >= 0 and max(read.offset, last) < shape[0]
        return IndexMap((read.offset,), ((step,),)) if is_inside else None
    lengths = contiguous(shape)
    starts: list[int] = []
    rest = read.offset
    for length in lengths:
        starts.append(rest // length)
        rest %= length
    steps = [[0] * len(domain) for _ in shape]
    for k, (extent, stride) in enumerate(zip(domain, read.strides)):
        if stride == 0 or extent == 1:
            continue
        axis = next((j for j, length in enumerate(lengths) if length <= abs(stride)), None)
        if axis is None or stride % lengths[axis]:
            return None
        steps[axis][k] = stride // lengths[axis]
    for extent, start, row in zip(shape, starts, steps):
        least = most = start
        for step, count in zip(row, domain):
            if step > 0:
                most += step * (count - 1)
            else:
                least += step * (count - 1)
        if least < 0 or most >= extent:
            return None
    return IndexMap(tuple(starts), tuple(map(tuple, steps)))
