"""The other routines on whole arrays for numba: Fourier transforms, positions, and products with sparse matrices.

Each takes its operands, its result and its sizes, as matrix_routines.py has it; none of them fails.
"""

import numpy as np

from .linked_functions import fft, fill, ifft, irfft, rfft_n_even, rfft_n_odd
from .scalar_functions import inner

# Fourier transforms


@inner
def fourier(x, out, kind, count, n_in, n_out, line_in, line_out, entry_in, entry_out, bits):
    factor, forward = np.full(1, bits, np.int64), np.full(1, kind == 0, np.uint8)
    arrays = np.array([x.ctypes.data, factor.ctypes.data, out.ctypes.data], np.int64)
    extents = np.array([count, n_in, n_out], np.int64)
    steps = np.array([8 * line_in, 0, 8 * line_out, 8 * entry_in, 8 * entry_out], np.int64)
    if kind == 0:
        fft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 1:
        ifft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 2:
        rfft_n_even(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    elif kind == 3:
        rfft_n_odd(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)
    else:
        irfft(arrays.ctypes, extents.ctypes, steps.ctypes, forward.ctypes)


# Positions


@inner
def argmax(x, out, before, extent, after):
    for b in range(before):
        for a in range(after):
            start, best = b * extent * after + a, 0
            for k in range(1, extent):
                top, value = x[start + best * after], x[start + k * after]
                if value > top or (value != value and top == top):
                    best = k
            out[b * after + a] = best


@inner
def argmin(x, out, before, extent, after):
    for b in range(before):
        for a in range(after):
            start, best = b * extent * after + a, 0
            for k in range(1, extent):
                least, value = x[start + best * after], x[start + k * after]
                if value < least or (value != value and least == least):
                    best = k
            out[b * after + a] = best


argmax_integers, argmin_integers = argmax, argmin


@inner
def argsort(x, scratch, out, before, extent, after, integers):
    """Stable, NaN last: by merging runs that are twice as long each time."""
    order, merged = np.empty(extent, np.int64), np.empty(extent, np.int64)
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            for k in range(extent):
                order[k] = k
            length = 1
            while length < extent:
                for low in range(0, extent, 2 * length):
                    merge_runs(x, start, after, order, merged, low, min(low + length, extent), min(low + 2 * length, extent))
                order, merged = merged, order
                length *= 2
            for k in range(extent):
                out[start + k * after] = order[k]


@inner
def merge_runs(x, start, stride, order, merged, low, middle, high):
    """Merge order[low:middle] and order[middle:high], which are sorted."""
    left, right = low, middle
    for k in range(low, high):
        takes_right = left >= middle
        if left < middle and right < high:
            first, second = x[start + order[left] * stride], x[start + order[right] * stride]
            takes_right = second < first or (first != first and second == second)
        if takes_right:
            merged[k] = order[right]
            right += 1
        else:
            merged[k] = order[left]
            left += 1


@inner
def sparse_product(entries, x, columns, starts, out, rows, width, k):
    for r in range(rows):
        for j in range(k):
            total = 0.0
            for p in range(starts[r], starts[r + 1]):
                total += entries[p] * x[columns[p] * k + j]
            out[r * k + j] = total


@inner
def sparse_transposed(entries, y, columns, starts, out, rows, width, k):
    fill(out, 0, width * k, 0.0)
    for r in range(rows):
        for p in range(starts[r], starts[r + 1]):
            for j in range(k):
                out[columns[p] * k + j] += entries[p] * y[r * k + j]


@inner
def sparse_sampled(y, x, columns, starts, out, rows, width, k):
    for r in range(rows):
        for p in range(starts[r], starts[r + 1]):
            total = 0.0
            for j in range(k):
                total += y[r * k + j] * x[columns[p] * k + j]
            out[p] = total


@inner
def searchsorted(sorted_values, wanted, out, extent, count, right):
    for k in range(count):
        value = wanted[k]
        low, high = 0, extent
        while low < high:
            middle = (low + high) // 2
            other = sorted_values[middle]
            if right:
                goes_right = other <= value or value != value
            else:
                goes_right = other < value or (value != value and other == other)
            if goes_right:
                low = middle + 1
            else:
                high = middle
        out[k] = low
