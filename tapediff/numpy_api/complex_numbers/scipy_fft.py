"""The functions of scipy.fft by name: those of numpy.fft with SciPy's further arguments, cosine and sine transforms, fht."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from ...ir.instruction import Operand, is_tracked
from . import fourier, trigonometric_transforms
from .fourier import irfft, rfft
from .pair import refused
from .trigonometric_transforms import extents_of


def _of_one(function: Callable[..., Operand]) -> Callable[..., Operand]:
    def call(
        x: Operand, n: int | None = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False, workers: int | None = None,
        *, plan: None = None,
    ) -> Operand:
        return function(x, n, axis, norm)

    return call


def _of_several(function: Callable[..., Operand], of_default: Sequence[int] | None = None) -> Callable[..., Operand]:
    def call(
        x: Operand, s: Sequence[int] | int | None = None, axes: Sequence[int] | int | None = of_default, norm: str | None = None,
        overwrite_x: bool = False, workers: int | None = None, *, plan: None = None,
    ) -> Operand:
        counts, places = extents_of(x, s, axes)
        return function(x, None if s is None else counts, places, norm)

    return call


def _hankel(is_inverse: bool) -> Callable[..., Operand]:
    """The fast Hankel transform (Hamilton, 2000), as SciPy computes it; its coefficients depend on plain numbers only."""

    def call(a: Operand, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> Operand:
        if any(map(is_tracked, (dln, mu, offset, bias))):
            raise refused("scipy.fft.fht of tracked parameters", "keep dln, mu, offset and bias plain numbers")
        n = a.shape[-1]
        u = import_module("scipy.fft._fftlog_backend").fhtcoeff(n, dln, mu, offset=offset, bias=bias, inverse=is_inverse)
        places = (np.arange(n) - (n - 1) / 2) * dln
        before = np.exp(bias * (places + offset)) if is_inverse else np.exp(-bias * places)
        after = np.exp(bias * places) if is_inverse else np.exp(-bias * (places + offset))
        half = rfft(a * before)
        return np.flip(irfft(half / np.conj(u) if is_inverse else half * u, n), -1) * after

    return call


FUNCTIONS: dict[str, Callable[..., Operand]] = {
    **{name: _of_one(getattr(fourier, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"{name}n": _of_several(getattr(fourier, f"{name}n")) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"{name}2": _of_several(getattr(fourier, f"{name}n"), (-2, -1)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **trigonometric_transforms.FUNCTIONS, "fht": _hankel(False), "ifht": _hankel(True),
}  # fmt: skip
