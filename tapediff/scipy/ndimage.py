"""scipy.ndimage's linear filters and interpolation for tracked values; results are float64."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from ..interpolate import times_rows
from ..ir.instruction import Operand
from ..ops.arrays.indexing import GATHER
from ..recording.python_state.scipy_functions import scipys_own
from .calls import floats, plain, refuse, supports_only
from .stencils import correlated

# How arrays continue beyond their ends: SciPy's modes, by np.pad's names.
CONTINUED: dict[str, Operand] = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant", "nearest": "edge",
    "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


def correlate1d(
    input: Operand, weights: Operand, axis: int = -1, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0, origin: int = 0
) -> Operand:  # fmt: skip
    """As scipy.ndimage.correlate1d."""
    return _filtered("correlate1d", input, weights, output, mode, cval, origin, (axis,))


def convolve1d(
    input: Operand, weights: Operand, axis: int = -1, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0, origin: int = 0
) -> Operand:  # fmt: skip
    """As scipy.ndimage.convolve1d."""
    return _filtered("convolve1d", input, weights, output, mode, cval, origin, (axis,), is_convolution=True)


def correlate(
    input: Operand, weights: Operand, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0, origin: Operand = 0, *,
    axes: Operand = None,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.correlate."""
    return _filtered("correlate", input, weights, output, mode, cval, origin, axes)


def convolve(
    input: Operand, weights: Operand, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0, origin: Operand = 0, *,
    axes: Operand = None,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.convolve."""
    return _filtered("convolve", input, weights, output, mode, cval, origin, axes, is_convolution=True)


def _filtered(
    name: str, input: Operand, weights: Operand, output: Operand, mode: str, cval: Operand, origin: Operand, axes: Operand,
    is_convolution: bool = False,
) -> Operand:  # fmt: skip
    supports_only(f"scipy.ndimage.{name}", "use the result", output=(output, None))
    x, weights = floats(f"scipy.ndimage.{name}", input), floats(f"scipy.ndimage.{name}", weights)
    axes = _axes(axes, x.ndim)
    if weights.ndim != len(axes):
        raise RuntimeError(f"weights.ndim ({weights.ndim}) must match len(axes) ({len(axes)})")
    origins = dict(zip(axes, _of_each(origin, len(axes))))
    if is_convolution:
        weights = np.flip(weights)
    widths, shape = [(0, 0)] * x.ndim, [1] * x.ndim
    for axis, size in zip(sorted(axes), weights.shape):
        start = -origins[axis] - (size % 2 == 0) if is_convolution else origins[axis]
        if not -(size // 2) <= start <= (size - 1) // 2:
            raise ValueError("Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= (weights.shape[k]-1) // 2")
        before = size // 2 + start
        widths[axis], shape[axis] = (before, size - 1 - before), size
    return correlated(_padded(x, widths, mode, cval), np.reshape(weights, shape))


def _padded(x: Operand, widths: Sequence[tuple[int, int]], mode: str, cval: Operand) -> Operand:
    if mode not in CONTINUED:
        raise RuntimeError("boundary mode not supported")
    return np.pad(x, widths, CONTINUED[mode], **({"constant_values": cval} if CONTINUED[mode] == "constant" else {}))


def _axes(axes: Operand, ndim: int) -> list[int]:
    given = range(ndim) if axes is None else (axes,) if np.ndim(axes) == 0 else axes
    return [axis % ndim if -ndim <= axis < ndim else range(ndim)[axis] for axis in given]


def _of_each(value: Operand, count: int) -> list[Operand]:
    values = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * count
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def gaussian_filter1d(
    input: Operand, sigma: float, axis: int = -1, order: int = 0, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0,
    truncate: float = 4.0, *, radius: int | None = None,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.gaussian_filter1d; sigma is plain, as it decides the number of weights."""
    plain("scipy.ndimage.gaussian_filter1d", sigma=sigma, truncate=truncate)
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1.0
    answer = scipys_own("ndimage", "gaussian_filter1d")(impulse, sigma, order=order, mode="constant", truncate=truncate, radius=radius)
    return _filtered("gaussian_filter1d", input, answer[::-1], output, mode, cval, 0, (axis,))


def gaussian_filter(
    input: Operand, sigma: Operand, order: Operand = 0, output: Operand = None, mode: Operand = "reflect", cval: Operand = 0.0,
    truncate: float = 4.0, *, radius: Operand = None, axes: Operand = None,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.gaussian_filter."""
    plain("scipy.ndimage.gaussian_filter", sigma=sigma)

    def along(x: Operand, axis: int, sigma: float, order: int, mode: str, radius: int | None) -> Operand:
        return gaussian_filter1d(x, sigma, axis, order, output, mode, cval, truncate, radius=radius) if sigma > 1e-15 else x

    return _one_after_the_other("gaussian_filter", along, input, axes, sigma, order, mode, radius)


def uniform_filter1d(
    input: Operand, size: int, axis: int = -1, output: Operand = None, mode: str = "reflect", cval: Operand = 0.0, origin: int = 0
) -> Operand:  # fmt: skip
    """As scipy.ndimage.uniform_filter1d."""
    return _filtered("uniform_filter1d", input, np.full(size, 1.0 / size), output, mode, cval, origin, (axis,))


def uniform_filter(
    input: Operand, size: Operand = 3, output: Operand = None, mode: Operand = "reflect", cval: Operand = 0.0, origin: Operand = 0, *,
    axes: Operand = None,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.uniform_filter."""

    def along(x: Operand, axis: int, size: int, origin: int, mode: str) -> Operand:
        return uniform_filter1d(x, int(size), axis, output, mode, cval, origin) if size > 1 else x

    return _one_after_the_other("uniform_filter", along, input, axes, size, origin, mode)


def _one_after_the_other(name: str, along: Callable[..., Operand], input: Operand, axes: Operand, *settings: Operand) -> Operand:
    """Filter along one axis after the other, each with its own settings."""
    x = floats(f"scipy.ndimage.{name}", input)
    chosen = _axes(axes, x.ndim)
    for axis, *own in zip(chosen, *(_of_each(setting, len(chosen)) for setting in settings)):
        x = along(x, axis, *own)
    return x


# Interpolation


def map_coordinates(
    input: Operand, coordinates: Operand, output: Operand = None, order: int = 3, mode: str = "constant", cval: Operand = 0.0,
    prefilter: bool = True,
) -> Operand:  # fmt: skip
    """As scipy.ndimage.map_coordinates, of orders 0, 1 and 3; differentiable in the array and in the coordinates.

    Source: Unser (1999), IEEE Signal Processing Magazine 16(6), for the splines, whose coefficients are SciPy's.
    """
    name = "scipy.ndimage.map_coordinates"
    supports_only(name, "use the result", output=(output, None))
    if order not in (0, 1, 3):
        refuse(name, f"order={order}", "one of 0, 1, 3")
    if mode not in CONTINUED:
        raise RuntimeError("boundary mode not supported")
    x, places = floats(name, input), floats(name, coordinates)
    if x.ndim < 1 or places.ndim < 2 or places.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array" if places.ndim > 1 else "input and output rank must be > 0")
    sizes, before = np.array(x.shape), 0
    if order == 3 and prefilter:
        if mode in ("grid-constant", "nearest"):
            before = 12  # SciPy's, as its filter has no exact condition there
            x = _padded(x, [(before, before)] * x.ndim, mode, cval)
        x = _coefficients(x, mode)
    if mode == "grid-constant":
        before += 4
        x = _padded(x, [(4, 4)] * x.ndim, mode, cval)
    per_axis, inside = [], np.ones(places.shape[1:], bool)
    for axis, n in enumerate(sizes):
        found, within = _nodes(places[axis], int(n), order, mode, before)
        per_axis.append(found)
        inside = inside & within
    strides = [math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim)]
    result: Operand = 0.0
    for corner in itertools.product(*per_axis):
        weight, place = corner[0][1], corner[0][0] * strides[0]
        for (node, factor), stride in zip(corner[1:], strides[1:]):
            weight, place = weight * factor, place + node * stride
        result = result + weight * GATHER(x, place)
    return np.where(inside, result, cval) if mode == "constant" else result


def _coefficients(x: Operand, mode: str) -> Operand:
    """The coefficients of the cubic spline: a matrix along each axis, which SciPy's filter of unit vectors gives."""
    from scipy import ndimage

    for axis, n in enumerate(x.shape):
        if n > 1:
            matrix = ndimage.spline_filter1d(np.eye(n), 3, axis=0, mode=mode)
            moved = np.moveaxis(x, axis, 0)
            x = np.moveaxis(np.reshape(times_rows(matrix, np.reshape(moved, (n, -1))), moved.shape), 0, axis)
    return x


def _nodes(place: Operand, n: int, order: int, mode: str, before: int) -> tuple[list[tuple[Operand, Operand]], Operand]:
    """The nodes around places along one axis, with the weight of each; and which places have a value."""
    inside: Operand = np.ones(place.shape, bool)
    if mode == "constant":
        inside = (place >= 0.0) & (place <= n - 1.0)
        place = np.clip(place, 0.0, n - 1.0)
    elif mode == "grid-constant":
        place = np.clip(place, 1.0 - before, n + before - 3.0) + before
    elif mode == "nearest":
        place = place + before
    elif mode == "wrap":
        place = np.where((place < 0.0) | (place > n - 1.0), np.mod(place, max(n - 1.0, 1.0)), place)
    size = n + 2 * before
    if order == 0:
        return [(_continued(np.floor(place + 0.5), size, mode), 1.0)], inside
    floor = np.floor(place)
    t = place - floor
    s = 1.0 - t
    if order == 1:
        weights = [s, t]
    else:
        weights = [s**3 / 6.0, (4.0 - 6.0 * t**2 + 3.0 * t**3) / 6.0, (4.0 - 6.0 * s**2 + 3.0 * s**3) / 6.0, t**3 / 6.0]
    first = floor - (order // 2)
    return [(_continued(first + k, size, mode), weight) for k, weight in enumerate(weights)], inside


def _continued(node: Operand, n: int, mode: str) -> Operand:
    """The index of a node, for nodes beyond the ends, too."""
    node = node.astype(np.int64)
    if mode == "nearest":
        return np.clip(node, 0, n - 1)
    if n == 1:
        return node * 0
    if CONTINUED[mode] == "symmetric":
        node = np.mod(node, 2 * n)
        return np.minimum(node, 2 * n - 1 - node)
    if mode == "grid-wrap":
        return np.mod(node, n)
    node = np.mod(node, 2 * n - 2)
    return np.minimum(node, 2 * n - 2 - node)
