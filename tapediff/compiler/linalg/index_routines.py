"""Index routines, argmax, argsort and searchsorted: in Python, for the readable listing of kernels, and as LLVM text.

They work on flat arrays by plain indexing. The Python functions are the reference; the text follows them line by line, except argsort and
searchsorted. Ties and NaN are ordered as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..llvm.builder import VOID, Function, module_text
from ..llvm.memory import Array, Location
from ..llvm.values import F64, I1, I64, PTR, Value, constant, least, select
from .sorting import argsort as argsort_text


def argmax(x: np.ndarray, out: np.ndarray, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                top, value = x[start + best * after], x[start + k * after]
                if value > top or (value != value and top == top):
                    best = k
            out[b * after + a] = best


def argmin(x: np.ndarray, out: np.ndarray, before: int, extent: int, after: int) -> None:
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            best = 0
            for k in range(1, extent):
                least, value = x[start + best * after], x[start + k * after]
                if value < least or (value != value and least == least):
                    best = k
            out[b * after + a] = best


def argsort(x: np.ndarray, scratch: np.ndarray, out: np.ndarray, before: int, extent: int, after: int, integers: int) -> None:
    """Stable, NaN last. The text has other algorithms with the same result; see `sorting`."""
    for b in range(before):
        for a in range(after):
            start = b * extent * after + a
            row = [x[start + k * after] for k in range(extent)]
            order = sorted(range(extent), key=lambda k, row=row: (row[k] != row[k], 0.0 if row[k] != row[k] else row[k]))
            for k, position in enumerate(order):
                out[start + k * after] = position


def searchsorted(sorted_values: np.ndarray, wanted: np.ndarray, out: np.ndarray, extent: int, count: int, right: int) -> None:
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


INDEX_ROUTINES = {
    "argmax": argmax, "argmin": argmin, "argmax_integers": argmax, "argmin_integers": argmin, "argsort": argsort,
    "searchsorted": searchsorted,
}  # fmt: skip


# The same routines as LLVM text.

PREFIX = "tapediff_index_"


def index_text(name: str) -> str:
    """The routine as LLVM text."""
    if name == "argsort":
        return argsort_text(PREFIX + name)
    if name == "searchsorted":
        return _searchsorted()
    return _extremum(name, _EXTREMA[name])


_EXTREMA = {"argmax": F64, "argmin": F64, "argmax_integers": I64, "argmin_integers": I64}


def _extremum(name: str, kind: str) -> str:
    f = Function(PREFIX + name, VOID, x=PTR, out=PTR, before=I64, extent=I64, after=I64)
    x, out, before, extent, after = f.parameters
    best, top = f.variable(I64), f.variable(kind)
    with f.loop(0, before) as b, f.loop(0, after) as a:
        start = b * (extent * after) + a
        best.value, top.value = 0, Array(x, kind)[start]
        with f.loop(1, extent) as k:
            value, least_or_most = Array(x, kind)[start + k * after], top.value
            beats = value > least_or_most if name.startswith("argmax") else value < least_or_most
            better = beats | ((value != value) & (least_or_most == least_or_most))
            best.value, top.value = select(better, k, best.value), select(better, value, least_or_most)
        Array(out, I64)[b * after + a] = best.value
    f.return_()
    return module_text(f)


# Sample this many values, and count how many are below the one before: more than 1 in SHARE means unsorted.
JUDGED, SHARE = 64, 8


def _searchsorted() -> str:
    """For ascending values search from the previous answer, where the next one mostly is; else use branchless bisection."""
    f = Function(PREFIX + "searchsorted", VOID, sorted=PTR, wanted=PTR, out=PTR, extent=I64, count=I64, right=I64)
    sorted_values, wanted, out = Array(f.parameters[0], F64), Array(f.parameters[1], F64), Array(f.parameters[2], I64)
    extent, count, right = f.parameters[3:]

    def goes_right(place: Value, value: Value) -> Value:
        other, is_nan = sorted_values[place], value != value
        return select(right != 0, (other <= value) | is_nan, (other < value) | (is_nan & (other == other)))

    judged, descents, one = least(count, JUDGED), f.variable(I64, 0), constant(f, 1, I64)
    with f.loop(1, judged) as k:
        descents.value = descents.value + select(wanted[k] < wanted[k - 1], one, 0)
    with f.if_((descents.value * SHARE > judged) & (extent > 0)):
        with f.if_(right != 0):
            _bisect_without_jumps(f, sorted_values, wanted, out, goes_right, lambda other, value: other <= value)
        with f.else_():
            _bisect_without_jumps(f, sorted_values, wanted, out, goes_right, lambda other, value: other < value)
    with f.else_():
        _search_beside(f, sorted_values, wanted, out, goes_right)
    f.return_()
    return module_text(f)


Test = Callable[[Value, Value], Value]


def _bisect_without_jumps(f: Function, sorted_values: Array, wanted: Array, out: Array, goes_right: Test, is_before: Test) -> None:
    """Branchless: the half with the answer is chosen by arithmetic, as a jump would be mispredicted every other time."""
    extent, count = f.parameters[3:5]
    low, high, rest, one = f.variable(I64, 0), f.variable(I64, 0), f.variable(I64, 0), constant(f, 1, I64)
    with f.loop(0, count) as k:
        value = wanted[k]
        low.value, rest.value = 0, extent
        with f.repeat() as halve:
            # The answer is one of low, ..., low + rest.
            halve.leave_if(rest.value <= 1)
            half = rest.value >> 1
            low.value = low.value + f.chosen(is_before(sorted_values[low.value + half - 1], value), half, 0)
            rest.value = rest.value - half
        low.value = low.value + f.chosen(is_before(sorted_values[low.value], value), one, 0)
        with f.if_(value != value, rarely=True):
            # Comparisons do not order NaN.
            low.value, high.value = 0, extent
            _bisect(f, low, high, value, goes_right)
        out[k] = low.value


def _search_beside(f: Function, sorted_values: Array, wanted: Array, out: Array, goes_right: Test) -> None:
    extent, count = f.parameters[3:5]
    low, high, stride, is_behind = f.variable(I64, 0), f.variable(I64, 0), f.variable(I64, 0), f.variable(I1, False)
    with f.loop(0, count) as k:
        value, guess = wanted[k], low.value
        low.value, high.value, is_behind.value = 0, extent, False
        with f.if_(guess < extent):
            is_behind.value = goes_right(guess, value)
        with f.if_(is_behind.value):
            low.value, stride.value = guess + 1, 1
            with f.repeat() as gallop:
                gallop.leave_if(low.value + stride.value >= extent)
                gallop.leave_if(~goes_right(low.value + stride.value, value))
                low.value, stride.value = low.value + stride.value + 1, stride.value << 1
            high.value = least(low.value + stride.value, extent)
        with f.else_():
            high.value = guess
            with f.if_(guess > 0):
                is_before = goes_right(guess - 1, value)
                low.value, high.value = select(is_before, guess, low.value), select(is_before, guess, guess - 1)
        _bisect(f, low, high, value, goes_right)
        out[k] = low.value


def _bisect(f: Function, low: Location, high: Location, value: Value, goes_right: Test) -> None:
    """Leave the answer, one of low, ..., high, in `low`."""
    with f.repeat() as search:
        search.leave_if(low.value >= high.value)
        middle = (low.value + high.value) >> 1
        is_right = goes_right(middle, value)
        low.value, high.value = select(is_right, middle + 1, low.value), select(is_right, high.value, middle)
