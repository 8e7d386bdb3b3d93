"""Factors and solves of band matrices as LLVM text, with Python equivalents for the readable listing; see ops/matrices/bands.py.

A routine's name ends with its sizes. Narrow bands are unrolled, and the rows being eliminated stay in registers; wide ones are read by
vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.matrices.bands import BAND_FACTOR
from ..llvm.builder import VOID, module_text
from ..llvm.memory import Array, Location
from ..llvm.values import F64, I1, I64, PTR, Value, convert, select
from ..math.simd import Code, fabs
from .dense.tiles import Number, TileWriter
from .matrix_loops import FILL

PREFIX = "tapediff_band_"

# Limits on the numbers of the rows that are eliminated from, and on the terms of a sum, up to which loops are unrolled.
MOST_UNROLLED, LONGEST_UNROLLED = 24, 8


def text(symbol: str, lanes: int) -> str:
    """The text of a routine by its name."""
    name, *sizes = symbol.removeprefix(PREFIX).split("_")
    return {"factor": _factor, "solve": _solve}[name](symbol, lanes, *map(int, sizes))


class _Rows:
    """The rows of one step: entries of row j + t from column j on are in line t; a copy of the pivot row is in the last line."""

    def __init__(self, w: TileWriter, lower: int, width: int) -> None:
        self.w, self.width = w, width
        self.is_unrolled = (lower + 1) * width <= MOST_UNROLLED
        # After each line there are zeros, which shift into it.
        self.stride = width + 1 if self.is_unrolled else (width // w.lanes + 2) * w.lanes
        self._start = w.array(F64, (lower + 2) * self.stride)
        if not self.is_unrolled:
            w.call(FILL, self._start.start, 0, (lower + 2) * self.stride * 8, False)

    def at(self, row: Number, column: Number = 0) -> Location:
        return self._start.at(self.w.times(row, self.stride) + column)

    def some(self, row: Number, column: Number) -> Location:
        """One entry, or a vector of them where rows are read by vectors."""
        return self._start.lanes(self.w.times(row, self.stride) + column, 1 if self.is_unrolled else self.w.lanes)

    def each(self, start: int, end: int, body: Callable[[Number], None]) -> None:
        _each(self.w, start, end, body, self.is_unrolled)

    def along(self, body: Callable[[Number], None]) -> None:
        """Call body(column) for each entry of a row, or for each vector."""
        if self.is_unrolled:
            self.each(0, self.width, body)
        else:
            with self.w.loop(0, self.width, self.w.lanes) as column:
                body(column)


def _each(w: TileWriter, start: int, end: int, body: Callable[[Number], None], is_unrolled: bool) -> None:
    if is_unrolled:
        for k in range(start, end):
            body(k)
    elif start < end:
        with w.loop(start, end) as k:
            body(k)


def _factor(symbol: str, lanes: int, lower: int, upper: int, definite: int) -> str:
    """`void (ab, factors, n)`: Gaussian elimination, with exchanges of rows unless the matrix is definite."""
    w = TileWriter(symbol, VOID, lanes, ab=PTR, factors=PTR, n=I64)
    ab, factors, n = w.parameters
    width, bands, numbers = lower + upper + 1, Array(ab, F64), Array(factors, F64)
    size, rows, pivot_row = width + lower + 1, _Rows(w, lower, width), lower + 1

    def enter(line: Number, row: Number, first: Number, top: Number) -> None:
        """Read a row of the matrix from column `first` on, which is in row `top` of the diagonals."""

        def read(column: Number) -> None:
            diagonal, place = top - column, first + column
            rows.at(line, column).value = 0.0
            if isinstance(diagonal, int) and diagonal < 0:
                return
            inside = (row < n) & (place < n)
            with w.if_(inside if isinstance(diagonal, int) else inside & (diagonal >= 0)):
                rows.at(line, column).value = bands[diagonal * n + place]

        rows.each(0, width, read)

    rows.each(0, lower, lambda row: enter(row, row, 0, row + upper))
    with w.loop(0, n) as j:
        enter(lower, j + lower, j, lower + upper)
        chosen = w.variable(I64, 0)
        if not definite:
            largest = w.variable(F64, fabs(rows.at(0).value))

            def compare(t: Number) -> None:
                magnitude = fabs(rows.at(t).value)
                with w.if_(magnitude > largest.value):
                    largest.value, chosen.value = magnitude, t

            rows.each(1, lower + 1, compare)
        rows.along(lambda c: _copy(rows.some(0, c), rows.some(pivot_row, c)))

        def exchange(t: Number) -> None:
            def along(c: Number) -> None:
                _copy(rows.some(t, c), rows.some(pivot_row, c))
                _copy(rows.some(0, c), rows.some(t, c))

            with w.if_(chosen.value == t):
                rows.along(along)

        if not definite:
            rows.each(1, lower + 1, exchange)
        pivot = rows.at(pivot_row).value
        inverse, start = 1.0 / pivot, j * size
        # A comparison with NaN is false: a definite matrix has none, and others hand it on.
        regular = pivot > 0.0 if definite else ~(pivot == 0.0)
        numbers[start] = inverse
        numbers[start + (size - 1)] = select(regular, convert("sitofp", chosen.value, F64), -1.0)
        rows.each(1, width, lambda c: _copy(rows.at(pivot_row, c), numbers.at(start + c)))

        def eliminate(t: Number) -> None:
            multiplier = rows.at(t).value * inverse
            numbers[start + (t + (width - 1))] = multiplier
            factor = multiplier if rows.is_unrolled else w.splat(multiplier)

            def along(c: Number) -> None:
                left = w.minus_product(factor, rows.some(pivot_row, c + 1).value, rows.some(t, c + 1).value)
                rows.some(t - 1, c).value = left

            if rows.is_unrolled:
                rows.at(t, width).value = rows.at(pivot_row, width).value = 0.0
            rows.along(along)

        rows.each(1, lower + 1, eliminate)
    w.return_()
    return module_text(w)


def _copy(source: Location, target: Location) -> None:
    target.value = source.value


def _solve(symbol: str, lanes: int, lower: int, upper: int, definite: int, is_transposed: int, is_vector: int) -> str:
    """`i1 (factors, b, x, n, k)`: true if there is no solution. Of several columns a vector of them at once."""
    w = TileWriter(symbol, I1, lanes, factors=PTR, b=PTR, x=PTR, n=I64, k=I64)
    factors, b, x, n, k = w.parameters
    width, numbers = lower + upper + 1, Array(factors, F64)
    size, right = width + lower + 1, upper if definite else lower + upper
    failed = w.variable(I1, False)
    with w.loop(0, n) as j:
        failed.value |= numbers[j * size + (size - 1)] < 0.0
    with w.loop(0, 1 if is_vector else k, lanes) as column:
        active = None if is_vector else w.first_lanes(k - column)

        def get(row: Value, source: Value = x) -> Value:
            return Array(source, F64)[row] if active is None else w.load_masked(w.at(source, row * k, column), active)

        def put(row: Value, value: Value) -> None:
            if active is None:
                Array(x, F64)[row] = value
            else:
                w.store_masked(value, w.at(x, row * k, column), active)

        def number(place: Value) -> Value:
            return numbers[place] if active is None else w.splat(numbers[place])

        def exchange(j: Value) -> None:
            """Exchange the row of a pivot for that where it was found."""
            distance = convert("fptosi", numbers[j * size + (size - 1)], I64)
            with w.if_(distance > 0, rarely=True):
                here, there = get(j), get(j + distance)
                put(j, there)
                put(j + distance, here)

        def down(first: int, count: int, is_scaled: bool, exchanges: bool) -> None:
            """Solve with a lower triangle: subtract each solved row, times a column of factors, from the rows below."""
            with w.loop(0, n) as j:
                if exchanges:
                    exchange(j)
                solved, start = get(j), j * size
                if is_scaled:
                    solved = solved * number(start)
                    put(j, solved)

                def subtract(t: Number) -> None:
                    with w.if_(j + t < n):
                        put(j + t, w.minus_product(number(start + (t + first)), solved, get(j + t)))

                _each(w, 1, count + 1, subtract, count <= LONGEST_UNROLLED)

        def up(first: int, count: int, is_scaled: bool, exchanges: bool) -> None:
            """Solve with an upper triangle: subtract the solved rows below, the nearest one last."""
            with w.backwards(n - 1, 1) as j:
                left, start = w.variable(F64, get(j), 1 if is_vector else lanes), j * size

                def subtract(step: Number) -> None:
                    t = count - step
                    with w.if_(j + t < n):
                        left.value = w.minus_product(number(start + (t + first)), get(j + t), left.value)

                _each(w, 0, count, subtract, count <= LONGEST_UNROLLED)
                put(j, left.value * number(start) if is_scaled else left.value)
                if exchanges:
                    exchange(j)

        with w.loop(0, n) as j:
            put(j, get(j, b))
        if is_transposed:
            down(0, right, True, False)
            up(width - 1, lower, False, not definite)
        else:
            down(width - 1, lower, False, not definite)
            up(0, right, True, False)
    w.return_(failed.value)
    return module_text(w)


def factor(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> None:
    n, *kind = sizes
    code.call_external(f"{PREFIX}factor_{'_'.join(map(str, kind))}", [f"ptr {operands[0]}", f"ptr {result}", f"i64 {n}"])


def solve(code: Code, slots: list[str], operands: list[str], result: str, sizes: tuple[int, ...], number: int) -> str:
    n, k, *kind = sizes
    arguments = [*(f"ptr {p}" for p in (*operands, result)), f"i64 {n}", f"i64 {k}"]
    return code.call_external(f"{PREFIX}solve_{'_'.join(map(str, kind))}_{int(k == 1)}", arguments, "i1")


def factor_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    n, lower, upper, definite = sizes
    ab = operands[0][: (lower + upper + 1) * n].reshape(-1, n)
    result[:] = BAND_FACTOR.evaluate(ab, lower, upper, bool(definite)).ravel()


def solve_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> bool:
    n, k, lower, upper, _, is_transposed = sizes
    width = lower + upper + 1
    factors, x = operands[0][: n * (width + lower + 1)].reshape(n, -1), operands[1][: n * k].reshape(n, k).copy()
    inverses, right, below, exchanged = factors[:, 0], factors[:, 1:width], factors[:, width:-1], factors[:, -1].astype(int)

    def down(columns: np.ndarray, scales: np.ndarray, exchanges: np.ndarray) -> None:
        for j in range(n):
            x[[j, j + exchanges[j]]] = x[[j + exchanges[j], j]]
            x[j] *= scales[j]
            rows = x[j + 1 : j + 1 + columns.shape[1]]
            rows -= columns[j, : len(rows), None] * x[j]

    def up(lines: np.ndarray, scales: np.ndarray, exchanges: np.ndarray) -> None:
        for j in range(n)[::-1]:
            rows = x[j + 1 : j + 1 + lines.shape[1]]
            x[j] = (x[j] - lines[j, : len(rows)] @ rows) * scales[j]
            x[[j, j + exchanges[j]]] = x[[j + exchanges[j], j]]

    if (exchanged < 0).any():
        return True
    stay, ones = np.zeros(n, int), np.ones(n)
    for sweep, *how in ((down, right, inverses, stay), (up, below, ones, exchanged)) if is_transposed else (
        (down, below, ones, exchanged), (up, right, inverses, stay)
    ):  # fmt: skip
        sweep(*how)
    result[: n * k] = x.ravel()
    return False
