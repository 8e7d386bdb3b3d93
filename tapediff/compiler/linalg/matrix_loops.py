"""Loops over matrices around calls of LAPACK, as texts that are copied into a kernel's module."""

from __future__ import annotations

from functools import cache

from ..llvm.builder import VOID, Function, external, included
from ..llvm.memory import Array
from ..llvm.values import F64, I1, I8, I32, I64, PTR, convert, select

# Ends the names of routines on leading blocks, whose rows are as far apart as a last parameter says.
WITHIN = "_within"

_ATTRIBUTES = "noinline nounwind"
# A further parameter of loops over the leading n rows and columns (`within`): the order of the matrix, which tells its layout.
_ORDER = {"order": I64}
FILL = external("llvm.memset.p0.i64", VOID, PTR, I8, I64, I1)


@cache
def transpose() -> list[str]:
    """`void tapediff_transpose(source, target, rows, columns)`"""
    f = Function("tapediff_transpose", VOID, _ATTRIBUTES, source=PTR, target=PTR, rows=I64, columns=I64)
    source, target, rows, columns = f.parameters
    with f.loop(0, rows) as i, f.loop(0, columns) as j:
        Array(target, F64)[j * rows + i] = Array(source, F64)[i * columns + j]
    f.return_()
    return included(f)


@cache
def upper_triangle() -> list[str]:
    """`void tapediff_upper_triangle(source, target, rows, height, columns)`: for a matrix by columns; zeros below the diagonal."""
    f = Function("tapediff_upper_triangle", VOID, _ATTRIBUTES, source=PTR, target=PTR, rows=I64, height=I64, columns=I64)
    source, target, rows, height, columns = f.parameters
    with f.loop(0, height) as i, f.loop(0, columns) as j:
        Array(target, F64)[i * columns + j] = select(j < i, 0.0, Array(source, F64)[j * rows + i])
    f.return_()
    return included(f)


@cache
def all_zero() -> list[str]:
    """`i1 tapediff_all_zero(a, n)`"""
    f = Function("tapediff_all_zero", I1, _ATTRIBUTES, a=PTR, n=I64)
    a, n = f.parameters
    found = f.variable(I1, True)
    with f.loop(0, n) as i:
        found.value &= Array(a, F64)[i] == 0.0
    f.return_(found.value)
    return included(f)


@cache
def zero_upper(*, within: bool = False) -> list[str]:
    """`void tapediff_zero_upper(a, n)`: zeros above the diagonal."""
    f = Function("tapediff_zero_upper" + WITHIN * within, VOID, _ATTRIBUTES, a=PTR, n=I64, **_ORDER if within else {})
    a, n, order = *f.parameters[:2], f.parameters[-1]
    with f.loop(0, n) as i:
        f.call(FILL, Array(a, F64).address(i * order + (i + 1)), 0, (n - (i + 1)) * 8, False)
    f.return_()
    return included(f)


@cache
def zero_on_diagonal(*, within: bool = False) -> list[str]:
    """`i1 tapediff_zero_on_diagonal(a, n)`: true if there is one."""
    f = Function("tapediff_zero_on_diagonal" + WITHIN * within, I1, _ATTRIBUTES, a=PTR, n=I64, **_ORDER if within else {})
    a, n, order = *f.parameters[:2], f.parameters[-1]
    found = f.variable(I1, False)
    with f.loop(0, n) as i:
        found.value |= Array(a, F64)[i * (order + 1)] == 0.0
    f.return_(found.value)
    return included(f)


@cache
def exchange_rows(*, within: bool = False) -> list[str]:
    """`void tapediff_exchange_rows(x, lu, n, k, backwards)`: swap n rows of k by the pivots after the factors, from either end."""
    name, more = "tapediff_exchange_rows" + WITHIN * within, _ORDER if within else {}
    f = Function(name, VOID, _ATTRIBUTES, x=PTR, lu=PTR, n=I64, k=I64, backwards=I1, **more)
    x, lu, n, k, backwards = f.parameters[:5]
    order = f.parameters[-1] if within else n
    rows, pivots = Array(x, F64), Array(Array(lu, F64).address(order * order), I32)
    with f.loop(0, n) as iteration:
        i = select(backwards, n - 1 - iteration, iteration)
        chosen = convert("sext", pivots[i], I64) - 1
        with f.if_(chosen != i), f.loop(0, k) as j:
            first, second = rows.at(i * k + j), rows.at(chosen * k + j)
            kept = first.value
            first.value = second.value
            second.value = kept
    f.return_()
    return included(f)


@cache
def identity(*, within: bool = False) -> list[str]:
    """`void tapediff_identity(x, n)`"""
    f = Function("tapediff_identity" + WITHIN * within, VOID, _ATTRIBUTES, x=PTR, n=I64, **_ORDER if within else {})
    x, n, order = *f.parameters[:2], f.parameters[-1]
    f.call(FILL, x, 0, n * order * 8, False)
    with f.loop(0, n) as i:
        Array(x, F64)[i * (order + 1)] = 1.0
    f.return_()
    return included(f)


@cache
def det_sign(*, within: bool = False) -> list[str]:
    """`double tapediff_det_sign(lu, n)`: the sign of the determinant, from the factors and the pivots after them; NaN is kept."""
    f = Function("tapediff_det_sign" + WITHIN * within, F64, _ATTRIBUTES, lu=PTR, n=I64, **_ORDER if within else {})
    lu, n, order = *f.parameters[:2], f.parameters[-1]
    numbers, sign = Array(lu, F64), f.variable(F64, 1.0)
    pivots = Array(numbers.address(order * order), I32)
    with f.loop(0, n) as i:
        pivot = numbers[i * (order + 1)]
        signed = sign.value * select(pivot > 0.0, 1.0, select(pivot < 0.0, -1.0, pivot))
        sign.value = select(pivots[i] != convert("trunc", i + 1, I32), -signed, signed)
    f.return_(sign.value)
    return included(f)


@cache
def scale_columns(*, within: bool = False) -> list[str]:
    """`void tapediff_scale_columns(matrix, values, sign, n)`: multiply each column by the sign and the product of the other values."""
    name = "tapediff_scale_columns" + WITHIN * within
    f = Function(name, VOID, _ATTRIBUTES, matrix=PTR, values=PTR, sign=F64, n=I64, **_ORDER if within else {})
    matrix, values, sign, n, order = *f.parameters[:4], f.parameters[-1]
    entries, factor = Array(matrix, F64), f.variable(F64)
    with f.loop(0, n) as j:
        factor.value = sign
        with f.loop(0, n) as k, f.if_(j != k):
            factor.value *= Array(values, F64)[k]
        with f.loop(0, n) as i:
            entries.at(i * order + j).value *= factor.value
    f.return_()
    return included(f)
