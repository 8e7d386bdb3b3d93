"""Where in a loop over an array another loop reads it: the indices of the one as functions of the indices of the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .places import contiguous
from .program import Access


@dataclass(frozen=True, slots=True)
class Positions:
    """Index j of an array is starts[j] + the sum over k of steps[j][k] * loop index k."""

    starts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]

    def translated(self, access: Access) -> Access:
        """An access of a loop over the array, as one of the loop that reads it."""
        offset = access.offset + sum(start * stride for start, stride in zip(self.starts, access.strides))
        columns = zip(*self.steps)
        strides = tuple(sum(step * stride for step, stride in zip(column, access.strides)) for column in columns)
        return replace(access, offset=offset, strides=strides)


def positions_of(read: Access, domain: tuple[int, ...], shape: tuple[int, ...]) -> Positions | None:
    """Where a read of a contiguous array of `shape` is; None if a loop runs on from one row of the array into the next."""
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
        ends = [step * (count - 1) for step, count in zip(row, domain)]
        if start + sum(min(0, end) for end in ends) < 0 or start + sum(max(0, end) for end in ends) >= extent:
            return None
    return Positions(tuple(starts), tuple(map(tuple, steps)))
