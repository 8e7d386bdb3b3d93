"""Routines that find positions: argmax, argsort, searchsorted. Numba compiles them when a kernel first calls one.

They work on flat arrays by plain indexing, so that the same functions run as Python in a kernel's readable listing. The order
among equal elements and the place of NaN are NumPy's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

PREFIX = "tapediff_index_"


def argmax(x: Any, out: Any, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                top, value = x[start + best * after], x[start + k * after]
                if value > top or (value != value and top == top):
                    best = k
            out[b * after + a] = best


def argmin(x: Any, out: Any, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                least, value = x[start + best * after], x[start + k * after]
                if value < least or (value != value and least == least):
                    best = k
            out[b * after + a] = best


def argsort(x: Any, out: Any, before: int, extent: int, after: int) -> None:
    """Stable, by straight insertion into a binary-searched place; NaN last."""
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            for k in range(extent):
                value = x[start + k * after]
                low, high = 0, k
                while low < high:
                    middle = (low + high) // 2
                    other = x[start + out[start + middle * after] * after]
                    if value < other or (other != other and value == value):
                        high = middle
                    else:
                        low = middle + 1
                for m in range(k, low, -1):
                    out[start + m * after] = out[start + (m - 1) * after]
                out[start + low * after] = k


def searchsorted(sorted_values: Any, wanted: Any, out: Any, extent: int, count: int, right: int) -> None:
    for k in range(count):
        value = wanted[k]
        low, high = 0, extent
        while low < high:
            middle = (low + high) // 2
            other = sorted_values[middle]
            if right:
                goes_right = other <= value or (value != value)
            else:
                goes_right = other < value or (value != value and other == other)
            if goes_right:
                low = middle + 1
            else:
                high = middle
        out[k] = low


INDEX_ROUTINES = {"argmax": argmax, "argmin": argmin, "argsort": argsort, "searchsorted": searchsorted}


@cache
def native(name: str) -> Any:
    """The routine as a C function; keeps the object alive, as its address is handed to kernels. Cost: about 0.3 s, once."""
    import numba
    from numba import types

    doubles, integers = types.CPointer(types.float64), types.CPointer(types.int64)
    arrays = (doubles, doubles, integers) if name == "searchsorted" else (doubles, integers)
    return numba.cfunc(types.void(*arrays, types.int64, types.int64, types.int64))(INDEX_ROUTINES[name])


def address_of(name: str) -> int:
    return native(name).address
