"""Linear filters: an array that is continued at its ends, and sums over the windows of it. Array and weights may be tracked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.instruction import Operand

# More weights than that are multiplied by Fourier transforms.
MOST_WEIGHTS = 100


def correlated(x: Operand, weights: Operand) -> Operand:
    """The sums over all windows of x that have the shape of the weights, each entry times its weight."""
    shape = tuple(n - k + 1 for n, k in zip(x.shape, weights.shape))
    if weights.size > MOST_WEIGHTS:
        return convolved(x, np.flip(weights), range(x.ndim))[tuple(slice(k - 1, n) for n, k in zip(x.shape, weights.shape))]
    total: Operand = np.zeros(shape)
    for offset in np.ndindex(*weights.shape):
        weight = weights[offset]
        if isinstance(weight, float) and weight == 0.0:
            continue
        total = total + weight * x[tuple(slice(start, start + n) for start, n in zip(offset, shape))]
    return total


def convolved(x: Operand, y: Operand, axes: Sequence[int]) -> Operand:
    """The full convolution along some axes, by Fourier transforms; the others are broadcast."""
    sizes = [x.shape[axis] + y.shape[axis] - 1 for axis in axes]
    fast = [2 ** int(np.ceil(np.log2(n))) for n in sizes]
    spectrum = np.fft.rfftn(x, fast, axes) * np.fft.rfftn(y, fast, axes)
    index = [slice(None)] * x.ndim
    for axis, n in zip(axes, sizes):
        index[axis] = slice(n)
    return np.fft.irfftn(spectrum, fast, axes)[tuple(index)]


def part_of_full(name: str, mode: str, first: Operand, second: Operand, axes: Sequence[int]) -> list[tuple[int, int]]:
    """Where the convolution of a mode begins in the full one, and its size, for each axis of `axes`."""
    sizes = [(first.shape[axis], second.shape[axis]) for axis in axes]
    if mode == "full":
        return [(0, n + k - 1) for n, k in sizes]
    if mode == "same":
        return [((k - 1) // 2, n) for n, k in sizes]
    if mode == "valid":
        if not (all(n >= k for n, k in sizes) or all(n <= k for n, k in sizes)):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        return [(min(n, k) - 1, max(n, k) - min(n, k) + 1) for n, k in sizes]
    raise ValueError(f"Acceptable mode flags of {name} are 'valid', 'same', or 'full'")
