"""The layout of a value: a strided view of a storage, or a number. Reshapes and slices only change strides."""

from __future__ import annotations

from dataclasses import dataclass

from .program import Literal


# Not frozen, for the same reason as loop_ir.program.Storage.
@dataclass(slots=True, unsafe_hash=True)
class StridedView:
    """The layout of a value of the tape: a strided view of a storage, or a number."""

    shape: tuple[int, ...]
    storage: int
    offset: int
    strides: tuple[int, ...]
    literal: Literal | None = None

    @property
    def is_contiguous(self) -> bool:
        return self.literal is None and same_strides(self.strides, contiguous(self.shape), self.shape)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def same_strides(a: tuple[int, ...], b: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(s == t for s, t, extent in zip(a, b, shape) if extent > 1)


def reshaped_strides(old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of the same elements in the shape `new`, or None if that needs a copy."""
    if 0 in old or 0 in new:
        return contiguous(new)
    dims = [(extent, stride) for extent, stride in zip(old, strides) if extent != 1]
    # Merge axes that are contiguous with each other.
    merged: list[tuple[int, int]] = []
    for extent, stride in dims:
        if merged and merged[-1][1] == stride * extent:
            merged[-1] = (merged[-1][0] * extent, stride)
        else:
            merged.append((extent, stride))
    result: list[int] = []
    blocks = iter(reversed(merged))
    left, step = 1, 0
    for extent in reversed(new):
        if extent == 1:
            result.append(0)
            continue
        if left == 1:
            left, step = next(blocks)
        if left % extent:
            return None
        result.append(step)
        step *= extent
        left //= extent
    return tuple(reversed(result))
