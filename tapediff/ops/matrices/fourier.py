"""Discrete Fourier transforms along one axis, by the routines that numpy.fft calls.

Tapes have no complex type: a complex array of shape S is a real one of shape (*S, 2) with the same memory. Each transform is
linear, and its transpose is another of these transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.fft import _pocketfft_umath as pocketfft  # pyright: ignore[reportAttributeAccessIssue]

from ...ir.instruction import Operand, ValueType
from ..declaration.op import Batching, Op

ALONG_AXIS = Batching(lambda batch, i: batch.along_axis(i))


def _transformed(x: np.ndarray, ufunc: np.ufunc, axis: int, count: int, scale: float, dtype: type) -> np.ndarray:
    out = np.empty((*x.shape[:axis], count, *x.shape[axis + 1 :]), dtype)
    return ufunc(x, scale, axes=[(axis,), (), (axis,)], out=out)


def _as_complex(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.complex128)[..., 0]


def _as_pairs(z: np.ndarray) -> np.ndarray:
    return z.view(np.float64).reshape(*z.shape, 2)


def _dft(x: np.ndarray, axis: int, forward: bool, scale: float) -> np.ndarray:
    z = _as_complex(x)
    return _as_pairs(_transformed(z, pocketfft.fft if forward else pocketfft.ifft, axis, z.shape[axis], scale, np.complex128))


def _real_dft(x: np.ndarray, axis: int, scale: float) -> np.ndarray:
    n = x.shape[axis]
    ufunc = pocketfft.rfft_n_odd if n % 2 else pocketfft.rfft_n_even
    return _as_pairs(_transformed(np.asarray(x), ufunc, axis, n // 2 + 1, scale, np.complex128))


def _inverse_real_dft(x: np.ndarray, axis: int, n: int, scale: float) -> np.ndarray:
    return _transformed(_as_complex(x), pocketfft.irfft, axis, n, scale, np.float64)


def weights(n: int, axis: int, ndim: int, inner: float) -> np.ndarray:
    """The weight of each coefficient of a real transform of length n: `inner`, but 1 for the first one and for that of n / 2.

    Its shape broadcasts with the pairs; `ndim` is that of the real array.
    """
    made = np.full(n // 2 + 1, inner)
    made[0] = 1.0
    if n % 2 == 0:
        made[-1] = 1.0
    return made.reshape((-1,) + (1,) * (ndim - axis))


def _real_rule(z_bar: Operand, z: Operand, x: Operand, axis: int, scale: float) -> Operand:
    n = x.shape[axis]
    return INVERSE_REAL_DFT(z_bar * weights(n, axis, len(x.shape), 0.5), axis=axis, n=n, scale=scale)


def _inverse_real_rule(z_bar: Operand, z: Operand, x: Operand, axis: int, n: int, scale: float) -> Operand:
    return REAL_DFT(z_bar, axis=axis, scale=scale) * weights(n, axis, len(z.shape), 2.0)


def _resized(shape: tuple[int, ...], axis: int, count: int, pairs: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:axis], count, *shape[axis + 1 :], *pairs)


DFT = Op(
    "dft",
    evaluate=_dft,
    infer=lambda x, axis, forward, scale: x,
    vjp=(lambda z_bar, z, x, axis, forward, scale: DFT(z_bar, axis=axis, forward=not forward, scale=scale),),
    params=("axis", "forward", "scale"),
    lower=lambda low, i: low.fourier(i),
    batching=ALONG_AXIS,
    examples=lambda rng: [
        (lambda x, axis=axis, forward=forward: DFT(x, axis=axis, forward=forward, scale=0.5), (rng.normal(size=shape),))
        for shape, axis in (((1, 2), 0), ((5, 2), 0), ((8, 2), 0), ((3, 4, 2), 1), ((3, 4, 2), 0), ((2, 3, 3, 2), 1))
        for forward in (True, False)
    ],
)

# From real numbers to the coefficients 0 to n / 2.
REAL_DFT = Op(
    "real_dft",
    evaluate=_real_dft,
    infer=lambda x, axis, scale: ValueType(_resized(x.shape, axis, x.shape[axis] // 2 + 1, (2,)), x.dtype),
    vjp=(_real_rule,),
    params=("axis", "scale"),
    lower=lambda low, i: low.fourier(i),
    batching=ALONG_AXIS,
    examples=lambda rng: [
        (lambda x, axis=axis: REAL_DFT(x, axis=axis, scale=0.5), (rng.normal(size=shape),))
        for shape, axis in (((1,), 0), ((2,), 0), ((5,), 0), ((8,), 0), ((3, 4), 1), ((4, 3), 0), ((2, 5, 3), 1))
    ],
)

# From the coefficients 0 to n / 2 to real numbers. Imaginary parts of the first one, and of that of n / 2, count as 0.
INVERSE_REAL_DFT = Op(
    "inverse_real_dft",
    evaluate=_inverse_real_dft,
    infer=lambda x, axis, n, scale: ValueType(_resized(x.shape[:-1], axis, n, ()), x.dtype),
    vjp=(_inverse_real_rule,),
    params=("axis", "n", "scale"),
    lower=lambda low, i: low.fourier(i),
    batching=ALONG_AXIS,
    examples=lambda rng: [
        (lambda x, axis=axis, n=n: INVERSE_REAL_DFT(x, axis=axis, n=n, scale=0.5), (rng.normal(size=shape),))
        for shape, axis, n in (((1, 2), 0, 1), ((2, 2), 0, 2), ((3, 2), 0, 5), ((5, 2), 0, 8), ((3, 3, 2), 1, 4), ((3, 2, 2), 0, 4),
                               ((2, 3, 3, 2), 1, 5))
    ],
)  # fmt: skip

OPS = (DFT, REAL_DFT, INVERSE_REAL_DFT)

# For compilers: NumPy's loops, indexed by kind of transform.
LOOPS: tuple[Any, ...] = (
    pocketfft.fft, pocketfft.ifft, pocketfft.rfft_n_even, pocketfft.rfft_n_odd, pocketfft.irfft,
)  # fmt: skip
