"""Products with sparse matrices as LLVM text, with Python equivalents for the readable listing; see ops/matrices/sparse.py.

The entries of a row are added in order, as in SciPy. Dense operands are read by vectors of their columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ops.matrices.sparse import SPARSE_PRODUCT, SPARSE_SAMPLED, SPARSE_TRANSPOSED
from ..llvm.builder import VOID, module_text
from ..llvm.memory import Array
from ..llvm.values import F64, I64, PTR, Value
from ..math.simd import fma
from .dense.tiles import TileWriter
from .matrix_loops import FILL

PREFIX = "tapediff_sparse_"

# Operands, result, rows of the matrix, its columns, and columns of the dense operand.
_SIZES = dict.fromkeys(("rows", "width", "k"), I64)


def _begun(name: str, lanes: int, first: str, second: str) -> tuple[TileWriter, tuple[Array, ...], tuple[Value, ...]]:
    """A routine, its arrays, and its result and sizes."""
    parameters = dict.fromkeys((first, second, "columns", "starts", "result"), PTR)
    w = TileWriter(PREFIX + name, VOID, lanes, **parameters, **_SIZES)
    return w, tuple(map(Array, w.parameters[:4], (F64, F64, I64, I64))), w.parameters[4:]


def product(lanes: int) -> str:
    """`void (entries, x, columns, starts, z, rows, width, k)`: z = A x."""
    w, (entries, x, columns, starts), (z, rows, _, k) = _begun("product", lanes, "entries", "x")
    with w.if_(k == 1), w.loop(0, rows) as r:
        total = w.variable(F64, 0.0)
        with w.loop(starts[r], starts[r + 1]) as p:
            total.value = fma(entries[p], x[columns[p]], total.value)
        w.put_number(total.value, w.at(z, r))
    with w.else_(), w.loop(0, rows) as r, w.loop(0, k, lanes) as j:
        active, totals = w.first_lanes(k - j), w.variable(F64, w.zeros(), lanes)
        with w.loop(starts[r], starts[r + 1]) as p:
            row = w.load_masked(w.at(x.start, columns[p] * k, j), active)
            totals.value = fma(w.splat(entries[p]), row, totals.value)
        w.store_masked(totals.value, w.at(z, r * k, j), active)
    w.return_()
    return module_text(w)


def transposed(lanes: int) -> str:
    """`void (entries, y, columns, starts, z, rows, width, k)`: z = A^T y."""
    w, (entries, y, columns, starts), (z, rows, width, k) = _begun("transposed", lanes, "entries", "y")
    w.call(FILL, z, 0, width * k * 8, False)
    with w.if_(k == 1), w.loop(0, rows) as r:
        factor = y[r]
        with w.loop(starts[r], starts[r + 1]) as p:
            place = Array(z, F64).at(columns[p])
            place.value = fma(entries[p], factor, place.value)
    with w.else_(), w.loop(0, rows) as r, w.loop(0, k, lanes) as j:
        active = w.first_lanes(k - j)
        row = w.load_masked(w.at(y.start, r * k, j), active)
        with w.loop(starts[r], starts[r + 1]) as p:
            place = w.at(z, columns[p] * k, j)
            w.store_masked(fma(w.splat(entries[p]), row, w.load_masked(place, active)), place, active)
    w.return_()
    return module_text(w)


def sampled(lanes: int) -> str:
    """`void (y, x, columns, starts, z, rows, width, k)`: z = the entries of y x^T that the pattern has."""
    w, (y, x, columns, starts), (z, rows, _, k) = _begun("sampled", lanes, "y", "x")
    with w.if_(k == 1), w.loop(0, rows) as r:
        factor = y[r]
        with w.loop(starts[r], starts[r + 1]) as p:
            w.put_number(factor * x[columns[p]], w.at(z, p))
    with w.else_(), w.loop(0, rows) as r, w.loop(starts[r], starts[r + 1]) as p:
        total, start = w.variable(F64, 0.0), columns[p] * k
        with w.loop(0, k) as j:
            total.value = fma(y[r * k + j], x[start + j], total.value)
        w.put_number(total.value, w.at(z, p))
    w.return_()
    return module_text(w)


TEXTS: dict[str, Callable[[int], str]] = {"product": product, "transposed": transposed, "sampled": sampled}


def _product_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    rows, width, k = sizes
    columns, starts, count = _pattern(operands, rows)
    result[:] = SPARSE_PRODUCT.evaluate(operands[0][:count], operands[1][: width * k].reshape(width, k), columns, starts).ravel()


def _transposed_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    rows, width, k = sizes
    columns, starts, count = _pattern(operands, rows)
    y = operands[1][: rows * k].reshape(rows, k)
    result[:] = SPARSE_TRANSPOSED.evaluate(operands[0][:count], y, columns, starts, width).ravel()


def _sampled_python(operands: list[np.ndarray], result: np.ndarray, sizes: tuple[int, ...]) -> None:
    rows, width, k = sizes
    columns, starts, _ = _pattern(operands, rows)
    y, x = operands[0][: rows * k].reshape(rows, k), operands[1][: width * k].reshape(width, k)
    result[:] = SPARSE_SAMPLED.evaluate(y, x, columns, starts)


def _pattern(operands: list[np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray, int]:
    starts = operands[3][: rows + 1]
    return operands[2][: starts[-1]], starts, int(starts[-1])


PYTHON = {"product": _product_python, "transposed": _transposed_python, "sampled": _sampled_python}
