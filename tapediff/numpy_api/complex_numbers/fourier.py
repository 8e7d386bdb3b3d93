"""The functions of numpy.fft and scipy.fft, with their arguments and normalisation; each transform is one op per axis.

Transforms of real arrays use the real transform, at half the cost; the other half of the coefficients are conjugates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import Operand, is_tracked
from ...ops.arrays.indexing import INDEX
from ...ops.matrices.fourier import DFT, INVERSE_REAL_DFT, REAL_DFT
from ..indexing import region_of
from ..joining import as_value, concatenate, stack
from ..kinds import kind_of
from .arithmetic import conjugate
from .pair import both, is_complex, pair

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _scale(n: int, norm: str | None, *, is_inverse: bool) -> float:
    if norm not in _OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    norm = _OPPOSITE[norm] if is_inverse else norm
    if norm == "ortho":
        return float(np.reciprocal(np.sqrt(n, dtype=float)))
    return float(np.reciprocal(n, dtype=float)) if norm == "forward" else 1.0


def _count(n: int | None, default: int) -> int:
    n = default if n is None else int(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def _axis_of(a: Operand, axis: int) -> int:
    return normalize_axis_index(axis, a.ndim)


def resized(x: Operand, n: int, axis: int) -> Operand:
    """The first n entries along an axis, padded with zeros."""
    extent = x.shape[axis]
    if extent > n:
        return x[(slice(None),) * axis + (slice(0, n),)]
    if extent == n:
        return x
    return concatenate([x, np.zeros((*x.shape[:axis], n - extent, *x.shape[axis + 1 :]))], axis)


def _packed(re: Operand, im: Operand) -> Operand:
    """The parts as one array with a last axis of 2, the memory layout of a complex array."""
    return stack([re, im], axis=-1)


def _unpacked(made: Operand) -> Operand:
    return pair(*(INDEX(made, region=region_of((Ellipsis, k), made.shape)) if is_tracked(made) else made[..., k] for k in (0, 1)))


def _given(a: Operand) -> Operand:
    """An argument as an array of doubles, real or complex."""
    if not is_tracked(a) and not is_complex(a):
        a = as_value(a)
    if is_complex(a):
        return a
    if a.dtype == np.float32:
        raise UnsupportedFunction(
            "a Fourier transform of float32 numbers", at=user_site(), got=kind_of(a) if is_tracked(a) else repr(a)[:60],
            fix="transforms are complex128 here: convert first, x.astype(float)",
        )  # fmt: skip
    return a if a.dtype == np.float64 else a.astype(float)


def _complex_transform(a: Operand, n: int | None, axis: int, norm: str | None, forward: bool) -> Operand:
    a = _given(a)
    axis = _axis_of(a, axis)
    n = _count(n, a.shape[axis])
    scale = _scale(n, norm, is_inverse=not forward)
    if not is_complex(a):
        return _of_real(resized(a, n, axis), n, axis, scale, forward)
    re, im = (resized(part, n, axis) for part in both(a))
    return _unpacked(DFT(_packed(re, im), axis=axis, forward=forward, scale=scale))


def _of_real(x: Operand, n: int, axis: int, scale: float, forward: bool) -> Operand:
    half = REAL_DFT(x, axis=axis, scale=scale)
    re, im = both(_unpacked(half))
    before = (slice(None),) * axis
    rest = (*before, slice((n - 1) // 2, 0, -1))  # the coefficients with a conjugate
    im = im if forward else -im
    return pair(concatenate([re, re[rest]], axis), concatenate([im, -im[rest]], axis))


def fft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    return _complex_transform(a, n, axis, norm, True)


def ifft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    return _complex_transform(a, n, axis, norm, False)


def rfft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    a = _given(a)
    if is_complex(a):
        raise TypeError("rfft takes real arrays: use fft, or take the real part")
    axis = _axis_of(a, axis)
    n = _count(n, a.shape[axis])
    return _unpacked(REAL_DFT(resized(a, n, axis), axis=axis, scale=_scale(n, norm, is_inverse=False)))


def irfft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    a = _given(a)
    axis = _axis_of(a, axis)
    n = _count(n, 2 * (a.shape[axis] - 1))
    re, im = (resized(part, n // 2 + 1, axis) for part in both(a))
    return INVERSE_REAL_DFT(_packed(re, im), axis=axis, n=n, scale=_scale(n, norm, is_inverse=True))


def hfft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    _scale(1, norm, is_inverse=False)  # checks the name
    return irfft(conjugate(_given(a)), n, axis, _OPPOSITE[norm])


def ihfft(a: Operand, n: int | None = None, axis: int = -1, norm: str | None = None) -> Operand:
    _scale(1, norm, is_inverse=False)
    return conjugate(rfft(a, n, axis, _OPPOSITE[norm]))


# Several axes, one after the other, from the last

Axes = Sequence[int] | None


def _extents(a: Operand, s: Axes, axes: Axes, is_inverse_real: bool = False) -> tuple[list[int], list[int]]:
    """The number of points along each axis, and the axes."""
    if s is None:
        axes = list(range(-a.ndim, 0)) if axes is None else list(axes)
        extents = [a.shape[_axis_of(a, k)] for k in axes]
        if is_inverse_real and axes:
            extents[-1] = 2 * (extents[-1] - 1)
        return extents, axes
    s = list(s)
    if axes is None:
        warnings.warn("`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0)", DeprecationWarning, stacklevel=4)
        axes = list(range(-len(s), 0))
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [a.shape[k] if n == -1 else n for n, k in zip(s, axes)], list(axes)


def fftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    return _over_axes(_given(a), *_extents(a, s, axes), norm, True)


def ifftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    return _over_axes(_given(a), *_extents(a, s, axes), norm, False)


def _over_axes(a: Operand, extents: list[int], axes: list[int], norm: str | None, forward: bool) -> Operand:
    places = [_axis_of(a, axis) for axis in axes]
    if len(places) > 1 and len(set(places)) == len(places) and not is_complex(a):
        return _of_real_axes(a, extents, places, norm, forward)
    for n, axis in reversed(list(zip(extents, places))):
        a = _complex_transform(a, n, axis, norm, forward)
    return a


def _of_real_axes(a: Operand, extents: list[int], places: list[int], norm: str | None, forward: bool) -> Operand:
    """Transform a real array: half of the coefficients along the last axis, then along the other axes; the rest are conjugates."""
    half = rfft(a, extents[-1], places[-1], norm if forward else _OPPOSITE[norm])
    half = half if forward else conjugate(half)
    half = _over_axes(half, extents[:-1], places[:-1], norm, forward)
    before, last = (slice(None),) * places[-1], slice((extents[-1] - 1) // 2, 0, -1)
    re, im = both(half)
    rest_re, rest_im = (_turned_around(part[(*before, last)], places[:-1]) for part in (re, im))
    return pair(concatenate([re, rest_re], places[-1]), concatenate([im, -rest_im], places[-1]))


def _turned_around(x: Operand, axes: list[int]) -> Operand:
    """Put entry -k, modulo the length, in place of entry k along each axis."""
    for axis in axes:
        before = (slice(None),) * axis
        x = concatenate([x[(*before, slice(0, 1))], x[(*before, slice(None, 0, -1))]], axis)
    return x


def rfftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    a = _given(a)
    extents, places = _extents(a, s, axes)
    a = rfft(a, extents[-1], places[-1], norm)
    for n, axis in reversed(list(zip(extents[:-1], places[:-1]))):
        a = fft(a, n, axis, norm)
    return a


def irfftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    a = _given(a)
    extents, places = _extents(a, s, axes, True)
    for n, axis in zip(extents[:-1], places[:-1]):
        a = ifft(a, n, axis, norm)
    return irfft(a, extents[-1], places[-1], norm)


def hfftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    return irfftn(conjugate(_given(a)), s, axes, _OPPOSITE[norm])


def ihfftn(a: Operand, s: Axes = None, axes: Axes = None, norm: str | None = None) -> Operand:
    return conjugate(rfftn(a, s, axes, _OPPOSITE[norm]))


def _of_two(function: Callable[..., Operand]) -> Callable[..., Operand]:
    def call(a: Operand, s: Axes = None, axes: Axes = (-2, -1), norm: str | None = None) -> Operand:
        return function(a, s, axes, norm)

    return call


def shift(x: Operand, axes: int | Axes = None) -> Operand:
    """np.fft.fftshift."""
    return _rolled(x, axes, lambda extent: extent // 2)


def shift_back(x: Operand, axes: int | Axes = None) -> Operand:
    """np.fft.ifftshift."""
    return _rolled(x, axes, lambda extent: -(extent // 2))


def _rolled(x: Operand, axes: int | Axes, by: Callable[[int], int]) -> Operand:
    places = tuple(range(np.ndim(x))) if axes is None else normalize_axis_tuple(axes, np.ndim(x), allow_duplicate=True)
    return np.roll(x, tuple(by(np.shape(x)[k]) for k in places), places)


FUNCTIONS: dict[Callable[..., object], Callable[..., Operand]] = {
    np.fft.fft: fft, np.fft.ifft: ifft, np.fft.rfft: rfft, np.fft.irfft: irfft, np.fft.hfft: hfft, np.fft.ihfft: ihfft,
    np.fft.fftn: fftn, np.fft.ifftn: ifftn, np.fft.rfftn: rfftn, np.fft.irfftn: irfftn,
    np.fft.fft2: _of_two(fftn), np.fft.ifft2: _of_two(ifftn), np.fft.rfft2: _of_two(rfftn), np.fft.irfft2: _of_two(irfftn),
    np.fft.fftshift: shift, np.fft.ifftshift: shift_back,
}  # fmt: skip
