"""scipy.signal's linear filters for tracked values; results are float64."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..functions.loops import scan
from ..ir.instruction import Operand, Tree, is_tracked
from ..recording.python_state.scipy_functions import scipys_own
from .calls import floats, plain
from .ndimage import convolve1d
from .stencils import MOST_WEIGHTS, convolved, correlated, part_of_full


def convolve(in1: Operand, in2: Operand, mode: str = "full", method: str = "auto") -> Operand:
    """As scipy.signal.convolve; the method "fft" is taken for more than 100 weights, too."""
    x, y = (floats("scipy.signal.convolve", given) for given in (in1, in2))
    if x.ndim != y.ndim:
        raise ValueError("volume and kernel should have the same dimensionality")
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    if x.ndim == 0:
        return x * y
    parts = part_of_full("convolve", mode, x, y, range(x.ndim))
    if y.size > x.size:
        x, y = y, x
    if method == "fft" or y.size > MOST_WEIGHTS:
        return fftconvolve(in1, in2, mode)
    padded = np.pad(x, [(k - 1, k - 1) for k in y.shape])
    index = tuple(slice(start, start + count + k - 1) for (start, count), k in zip(parts, y.shape))
    return correlated(padded[index], np.flip(y))


def fftconvolve(in1: Operand, in2: Operand, mode: str = "full", axes: Operand = None) -> Operand:
    """As scipy.signal.fftconvolve."""
    x, y = (floats("scipy.signal.fftconvolve", given) for given in (in1, in2))
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if x.ndim == 0:
        return x * y
    chosen = range(x.ndim) if axes is None else normalize_axis_tuple(axes, x.ndim)
    index = [slice(None)] * x.ndim
    for axis, (start, count) in zip(chosen, part_of_full("fftconvolve", mode, x, y, chosen)):
        index[axis] = slice(start, start + count)
    return convolved(x, y, chosen)[tuple(index)]


def correlate(in1: Operand, in2: Operand, mode: str = "full", method: str = "auto") -> Operand:
    """As scipy.signal.correlate."""
    return convolve(in1, np.flip(floats("scipy.signal.correlate", in2)), mode, method)


def lfilter(b: Operand, a: Operand, x: Operand, axis: int = -1, zi: Operand = None) -> Operand:
    """As scipy.signal.lfilter: a loop along the axis, in the direct form II transposed; without feedback, a convolution."""
    b, a, x = (np.atleast_1d(floats("scipy.signal.lfilter", given)) for given in (b, a, x))
    rows = np.moveaxis(x, axis, 0)
    if not is_tracked(a) and a[0] == 0.0:
        raise ValueError("the first coefficient of a, which scipy.signal.lfilter divides by, is 0")
    b, a = b / a[0], a / a[0]
    if a.shape[0] == 1 and zi is None:
        found = convolve(rows, np.reshape(b, (-1,) + (1,) * (x.ndim - 1)))[: rows.shape[0]]
        return np.moveaxis(found, 0, axis)
    order = max(a.shape[0], b.shape[0]) - 1
    b, a = (np.pad(c, (0, order + 1 - c.shape[0])) for c in (b, a))
    behind = (order,) + (1,) * (x.ndim - 1)
    forward, backward = np.reshape(b[1:], behind), np.reshape(a[1:], behind)
    state: Operand = np.zeros((order, *rows.shape[1:]))
    if zi is not None:
        state = state + np.moveaxis(floats("scipy.signal.lfilter", zi), axis, 0)

    def step(state: Tree, value: Tree) -> tuple[Tree, Operand]:
        found = b[0] * value + (state[0] if order else 0.0)
        shifted = np.concatenate([state[1:], np.zeros((1, *state.shape[1:]))]) if order else state
        return shifted + forward * value - backward * found, found

    state, found = scan(step, state, rows)
    found = np.moveaxis(found, 0, axis)
    return found if zi is None else (found, np.moveaxis(state, 0, axis))


def savgol_filter(
    x: Operand, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1, mode: str = "interp",
    cval: Operand = 0.0,
) -> Operand:  # fmt: skip
    """As scipy.signal.savgol_filter; its coefficients, and its polynomials at the ends, are SciPy's.

    Source: Savitzky and Golay (1964), Analytical Chemistry 36(8).
    """
    from scipy import signal

    name = "scipy.signal.savgol_filter"
    plain(name, window_length=window_length, polyorder=polyorder, delta=delta)
    x = floats(name, x)
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    weights = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        return convolve1d(x, weights, axis, mode=mode, cval=cval)
    n, half = x.shape[axis], window_length // 2
    if window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    rows = np.moveaxis(x, axis, 0)
    # Each row of the filtered unit vectors has the weights of one entry of the first, or the last, window.
    matrix = scipys_own("signal", "savgol_filter")(np.eye(window_length), window_length, polyorder, deriv, delta, axis=0)
    inner = convolve1d(rows, weights, 0, mode="constant")[half : n - half]
    first, last = (np.tensordot(part, window, 1) for part, window in (
        (matrix[:half], rows[:window_length]), (matrix[window_length - half :], rows[n - window_length :])
    ))  # fmt: skip
    return np.moveaxis(np.concatenate([first, inner, last]), 0, axis)


def detrend(data: Operand, axis: int = -1, type: str = "linear", bp: Sequence[int] | int = 0, overwrite_data: bool = False) -> Operand:
    """As scipy.signal.detrend; the argument stays as it is."""
    name = "scipy.signal.detrend"
    plain(name, bp=bp)
    x = floats(name, data)
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    rows = np.moveaxis(x, axis, 0)
    n = rows.shape[0]
    ends = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]]))
    if np.any(ends > n):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    parts = []
    for start, end in itertools.pairwise(ends):
        count = end - start
        basis, sizes, _ = np.linalg.svd(np.stack([np.arange(1, count + 1) / count, np.ones(count)], axis=1), full_matrices=False)
        basis = basis[:, sizes > 1e-12]
        part = rows[start:end]
        parts.append(part - np.tensordot(basis, np.tensordot(basis.T, part, 1), 1))
    return np.moveaxis(np.concatenate(parts), 0, axis)
