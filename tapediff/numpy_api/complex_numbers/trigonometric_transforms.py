"""Discrete cosine and sine transforms as compositions of Fourier transforms, with scipy.fft's arguments.

Source: Makhoul (1980), A fast cosine transform in one and two dimensions; the sine transforms are cosine transforms of reordered entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ir.instruction import Operand
from ...ops.matrices.fourier import INVERSE_REAL_DFT, REAL_DFT, weights
from ..joining import concatenate, stack
from .fourier import _axis_of, _count, _given, _scale, fft, resized
from .functions import on_parts
from .pair import is_complex, pair, parts

_HALF_ROOT = np.sqrt(0.5)


def _cosines(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The parts of exp(-i pi k / 2 n), for the coefficients of a real transform."""
    angles = 0.5 * np.pi * np.arange(n // 2 + 1) / n
    return np.cos(angles), -np.sin(angles)


def _second(x: Operand) -> Operand:
    """DCT-II along the last axis: the real transform of the even entries forward and the odd entries backward, times unit phases."""
    n = x.shape[-1]
    reordered = concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    half, (cosines, sines) = REAL_DFT(reordered, axis=x.ndim - 1, scale=2.0), _cosines(n)
    re, im = half[..., 0], half[..., 1]
    first = re * cosines - im * sines
    rest = re * sines + im * cosines
    return concatenate([first, -rest[..., (n - 1) // 2 : 0 : -1]], -1)


def _third(x: Operand) -> Operand:
    """DCT-III along the last axis: the transpose of DCT-II, with the first entry halved."""
    n = x.shape[-1]
    count, later, (cosines, sines) = n // 2 + 1, (n - 1) // 2, _cosines(n)
    first = x[..., :count] * np.where(np.arange(count) == 0, 0.5, 1.0)
    zeros = np.zeros((*x.shape[:-1], 1))
    rest = concatenate([zeros, -x[..., n - later :][..., ::-1], *([zeros] if count > later + 1 else [])], -1)
    re, im = first * cosines + rest * sines, rest * cosines - first * sines
    pairs = stack([re, im], axis=-1) * weights(n, x.ndim - 1, x.ndim, 0.5)
    made = INVERSE_REAL_DFT(pairs, axis=x.ndim - 1, n=n, scale=2.0)
    even = (n + 1) // 2
    odd = made[..., even:][..., ::-1]
    padded = concatenate([odd, zeros], -1) if n % 2 else odd
    return np.reshape(stack([made[..., :even], padded], axis=-1), (*x.shape[:-1], 2 * even))[..., :n]


def _dct(x: Operand, kind: int) -> Operand:
    n = x.shape[-1]
    if kind == 1:
        if n < 2:
            raise ValueError("DCT-I is not defined for a single point")
        return REAL_DFT(concatenate([x, x[..., n - 2 : 0 : -1]], -1), axis=x.ndim - 1, scale=1.0)[..., 0]
    if kind in (2, 3):
        return _second(x) if kind == 2 else _third(x)
    places = np.arange(n)
    turned = pair(x * np.cos(np.pi * places / (2 * n)), x * -np.sin(np.pi * places / (2 * n)))
    re, im = parts(fft(turned, 2 * n)[..., :n])
    angles = np.pi * (2 * places + 1) / (4 * n)
    return 2.0 * (re * np.cos(angles) + im * np.sin(angles))


def _dst(x: Operand, kind: int) -> Operand:
    n = x.shape[-1]
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    if kind == 1:
        zeros = np.zeros((*x.shape[:-1], 1))
        return -REAL_DFT(concatenate([zeros, x, zeros, -x[..., ::-1]], -1), axis=x.ndim - 1, scale=1.0)[..., 1 : n + 1, 1]
    if kind == 2:
        return _second(x * signs)[..., ::-1]
    return signs * _dct(x[..., ::-1], kind)


def _scaled_ends(x: Operand, ends: tuple[int, ...], factor: float) -> Operand:
    factors = np.ones(x.shape[-1])
    for k in ends:
        factors[k] *= factor
    return x * factors


def _transform(
    x: Operand, kind: int, n: int | None, axis: int, norm: str | None, orthogonalize: bool | None, is_cosine: bool, is_inverse: bool
) -> Operand:
    if kind not in (1, 2, 3, 4):
        raise ValueError("invalid type; must be one of (1, 2, 3, 4)")
    x = _given(x)
    if is_complex(x):
        return on_parts(_transform, 0)(x, kind, n, axis, norm, orthogonalize, is_cosine, is_inverse)
    axis = _axis_of(x, axis)
    n = _count(n, x.shape[axis])
    kind = {2: 3, 3: 2}.get(kind, kind) if is_inverse else kind
    logical = 2 * (n + (0 if kind != 1 else -1 if is_cosine else 1))
    scale = _scale(logical, norm, is_inverse=is_inverse)
    x = np.moveaxis(resized(x, n, axis), axis, -1)
    # The entries to rescale, besides the common scale, for an orthogonal transform.
    ends = {1: (0, -1), 2: (0,), 3: (0,)}.get(kind, ()) if is_cosine else {2: (-1,), 3: (-1,)}.get(kind, ())
    if not (norm == "ortho" if orthogonalize is None else orthogonalize):
        ends = ()
    if kind in (1, 3):
        x = _scaled_ends(x, ends, 1.0 / _HALF_ROOT) if ends else x
    made = (_dct if is_cosine else _dst)(x, kind)
    if kind in (1, 2):
        made = _scaled_ends(made, ends, _HALF_ROOT) if ends else made
    return np.moveaxis(made if scale == 1.0 else made * scale, -1, axis)


def _of_one(is_cosine: bool, is_inverse: bool) -> Callable[..., Operand]:
    def call(
        x: Operand, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False,
        workers: int | None = None, orthogonalize: bool | None = None,
    ) -> Operand:
        return _transform(x, type, n, axis, norm, orthogonalize, is_cosine, is_inverse)

    return call


def _of_several(is_cosine: bool, is_inverse: bool) -> Callable[..., Operand]:
    def call(
        x: Operand, type: int = 2, s: Sequence[int] | int | None = None, axes: Sequence[int] | int | None = None, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, orthogonalize: bool | None = None,
    ) -> Operand:
        for n, axis in zip(*extents_of(x, s, axes)):
            x = _transform(x, type, n, axis, norm, orthogonalize, is_cosine, is_inverse)
        return x

    return call


def extents_of(x: Operand, s: Sequence[int] | int | None, axes: Sequence[int] | int | None) -> tuple[list[int], list[int]]:
    """The number of points along each axis, and the axes, by SciPy's rules: a shape alone is that of the last axes."""
    places = [axes] if isinstance(axes, int) else None if axes is None else list(axes)
    counts = [s] if isinstance(s, int) else None if s is None else list(s)
    if places is None:
        places = list(range(-(np.ndim(x) if counts is None else len(counts)), 0))
    if counts is None:
        counts = [-1] * len(places)
    if len(counts) != len(places):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    if len({k % np.ndim(x) for k in places}) != len(places):
        raise ValueError("all axes must be unique")
    return [np.shape(x)[k] if n == -1 else n for n, k in zip(counts, places)], places


FUNCTIONS: dict[str, Callable[..., Operand]] = {
    f"{'i' * is_inverse}{name}{'n' * (make is _of_several)}": make(name == "dct", is_inverse)
    for name in ("dct", "dst") for is_inverse in (False, True) for make in (_of_one, _of_several)
}  # fmt: skip

