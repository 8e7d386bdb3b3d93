"""Factorisations, solves and determinants of stacks of small matrices as LLVM text, with a matrix in each lane.

Uses LAPACK's row pivoting, so the factors are as accurate, and LAPACK can read the factors of a stack.
"""

from __future__ import annotations

from collections.abc import Callable

from ...llvm.values import F64, I64, Value, constant, select
from ...math.simd import bits, fabs, from_bits, sqrt as root_of
from .lanes import PREFIX, Matrix, StackWriter
from .tiles import Number

# Limit on the orders, and on the right-hand sides, of matrices in lanes.
LARGEST_ORDER = 16


def cholesky(lanes: int, n: int) -> str:
    """(a, result): the lower factor, from the lower triangle; fails at a pivot that is not positive. NaN passes, as in LAPACK."""
    w = StackWriter(f"cholesky_{n}", lanes, n, "a")
    with w.groups():
        l = w.read(0, n, n)

        def column(k: Number) -> None:
            pivot = l[k, k]
            w.fail_where(pivot <= 0.0)
            root = root_of(pivot)
            inverse = 1.0 / root
            l[k, k] = root

            def scale(i: Number) -> None:
                l[i, k] = l[i, k] * inverse
                l[k, i] = w.zeros()

            def update(j: Number) -> None:
                factor = l[j, k]
                w.each(j, n, lambda i: _set(l, (i, j), w.minus(l[i, j], l[i, k], factor)))

            w.each(k + 1, n, scale)
            w.each(k + 1, n, update)

        w.each(0, n, column)
        w.write(l, n, n)
    return w.finished()


def _set(matrix: Matrix, place: tuple[Number, Number], value: Value) -> None:
    matrix[place] = value


def cholesky_pullback(lanes: int, n: int) -> str:
    """(l, l_bar, result): see dense_pullback, also for its reasons."""
    w = StackWriter(f"cholesky_pullback_{n}", lanes, n, "l", "l_bar")
    with w.groups():
        l, l_bar, s, y = w.read(0, n, n), w.read(1, n, n), w.room(n, n), w.room(n, n)

        def inner(i: Number, j: Number) -> None:
            """Compute an entry of the lower triangle of l^T l_bar, and mirror it."""
            s[i, j] = w.zeros()
            w.each(i, n, lambda p: _set(s, (i, j), s[i, j] - -l[p, i] * l_bar[p, j]))
            s[j, i] = s[i, j]

        w.each(0, n, lambda j: w.each(j, n, lambda i: inner(i, j)))
        _solve_rows(w, lambda i, p: l[p, i], s, n, n, is_lower=False)
        w.each(0, n, lambda i: w.each(0, n, lambda j: _set(y, (i, j), s[j, i])))
        _solve_rows(w, lambda i, p: l[p, i], y, n, n, is_lower=False)

        def lower(i: Number) -> None:
            y[i, i] = y[i, i] * 0.5
            w.each(i + 1, n, lambda j: _set(y, (i, j), w.zeros()))

        w.each(0, n, lower)
        w.write(y, n, n)
    return w.finished()


def _solve_rows(
    w: StackWriter, a: Callable[[Number, Number], Value], x: Matrix, n: int, k: int, *, is_lower: bool, is_unit: bool = False
) -> None:
    """Solve with a triangle, in place: a(i, p) on that side of the diagonal is read."""

    def row(i: Number) -> None:
        if not is_unit:
            inverse = 1.0 / a(i, i)
            w.each(0, k, lambda c: _set(x, (i, c), x[i, c] * inverse))

        def subtract(r: Number) -> None:
            factor = a(r, i)
            w.each(0, k, lambda c: _set(x, (r, c), w.minus(x[r, c], factor, x[i, c])))

        w.each(*((i + 1, n) if is_lower else (0, i)), subtract)

    if is_lower:
        w.each(0, n, row)
    else:
        w.each_backwards(n - 1, 0, row)


def triangular_solve(lanes: int, n: int, k: int, is_lower: int, is_transposed: int, is_unit: int) -> str:
    """(a, b, result), b with k columns: fails at a zero on the diagonal. `is_lower` describes the matrix after the transpose."""
    w = StackWriter(f"triangular_solve_{n}_{k}_{is_lower}_{is_transposed}_{is_unit}", lanes, n, "a", "b")
    with w.groups():
        a, x = w.read(0, n, n), w.read(1, n, k)
        if not is_unit:
            w.each(0, n, lambda i: w.fail_where(a[i, i] == 0.0))
        at = (lambda i, p: a[p, i]) if is_transposed else (lambda i, p: a[i, p])
        _solve_rows(w, at, x, n, k, is_lower=bool(is_lower), is_unit=bool(is_unit))
        w.write(x, n, k)
    return w.finished()


def lu_factor(lanes: int, n: int) -> str:
    """(a, result): the factors of the transpose by columns, and the pivots, as ops.matrices.linear_algebra.LU_FACTOR has them."""
    w = StackWriter(f"lu_factor_{n}", lanes, n, "a")
    with w.groups():
        # m[j, i] holds entry (i, j) of the matrix to factor.
        m, pivots = w.read(0, n, n), w.room(n, 1)
        best, chosen = w.variable(F64, width=lanes), w.variable(F64, width=lanes)

        def column(k: Number) -> None:
            best.value, chosen.value = fabs(m[k, k]), w.number_of(k)

            def compare(i: Number) -> None:
                size = fabs(m[k, i])
                is_larger = size > best.value
                best.value = select(is_larger, size, best.value)
                chosen.value = select(is_larger, w.number_of(i), chosen.value)

            w.each(k + 1, n, compare)
            pivots.put(chosen.value, k)
            w.each(k + 1, n, lambda i: _exchange(w, chosen.value == w.number_of(i), lambda j: (m, (j, k), (j, i)), n))
            divisor = w.nonzero(m[k, k])
            w.each(k + 1, n, lambda i: _set(m, (k, i), m[k, i] / divisor))

            def update(j: Number) -> None:
                # Rounded twice, not fused: a row that is a multiple of another then mostly leaves an exact zero, which is detected.
                factor = m[j, k]
                w.each(k + 1, n, lambda i: _set(m, (j, i), m[j, i] - m[k, i] * factor))

            w.each(k + 1, n, update)

        w.each(0, n, column)
        w.write(m, n, n)
        w.write_pivots(pivots)
    return w.finished()


_Pair = tuple[Matrix, tuple[Number, Number], tuple[Number, Number]]


def _exchange(w: StackWriter, where: Value, pair: Callable[[Number], _Pair], count: int) -> None:
    """Swap `count` pairs of numbers, in some lanes."""

    def one(j: Number) -> None:
        matrix, first, second = pair(j)
        a, b = matrix[first], matrix[second]
        matrix[first], matrix[second] = select(where, b, a), select(where, a, b)

    w.each(0, count, one)


def _exchange_rows(w: StackWriter, x: Matrix, pivots: Matrix, k: Number, columns: int) -> None:
    chosen = pivots.at(k)
    w.each(k + 1, w.n, lambda i: _exchange(w, chosen == w.number_of(i), lambda c: (x, (k, c), (i, c)), columns))


def lu_solve(lanes: int, n: int, k: int, is_transposed: int) -> str:
    """(lu, b, result), b with k columns; failed at a zero pivot."""
    w = StackWriter(f"lu_solve_{n}_{k}_{is_transposed}", lanes, n, "lu", "b")
    with w.groups():
        lu, pivots, x = w.read(0, n, n), w.read_pivots(0), w.read(1, n, k)
        _solve_factored(w, lu, pivots, x, n, k, bool(is_transposed))
        w.write(x, n, k)
    return w.finished()


def _solve_factored(w: StackWriter, lu: Matrix, pivots: Matrix, x: Matrix, n: int, k: int, is_transposed: bool) -> None:
    """Solve with the factors of a^T: is_transposed solves with a^T, otherwise with a."""
    w.each(0, n, lambda i: w.fail_where(lu[i, i] == 0.0))
    if is_transposed:
        w.each(0, n, lambda i: _exchange_rows(w, x, pivots, i, k))
        _solve_rows(w, lambda i, p: lu[p, i], x, n, k, is_lower=True, is_unit=True)
        _solve_rows(w, lambda i, p: lu[p, i], x, n, k, is_lower=False)
    else:
        _solve_rows(w, lambda i, p: lu[i, p], x, n, k, is_lower=True)
        _solve_rows(w, lambda i, p: lu[i, p], x, n, k, is_lower=False, is_unit=True)
        w.each_backwards(n - 1, 0, lambda i: _exchange_rows(w, x, pivots, i, k))


def inverse(lanes: int, n: int) -> str:
    """(lu, result)"""
    w = StackWriter(f"inverse_{n}", lanes, n, "lu")
    with w.groups():
        lu, pivots, x = w.read(0, n, n), w.read_pivots(0), w.room(n, n)
        w.each(0, n, lambda i: w.each(0, n, lambda j: _set(x, (i, j), w.zeros())))
        w.each(0, n, lambda i: _set(x, (i, i), w.zeros() + 1.0))
        _solve_factored(w, lu, pivots, x, n, n, False)
        w.write(x, n, n)
    return w.finished()


def cofactors(lanes: int, n: int) -> str:
    """(lu, result): the cofactors as adj(u) l^-1 p^T with the sign of p, where p l u = a^T.

    adj(u) grows row by row without a division, so that zero pivots do no harm: Stewart (1998), On the adjugate matrix, Linear Algebra
    Appl. 283.
    """
    w = StackWriter(f"cofactors_{n}", lanes, n, "lu")
    with w.groups():
        lu, pivots, x = w.read(0, n, n), w.read_pivots(0), w.room(n, n)
        product = w.variable(F64, w.zeros() + 1.0, lanes)
        w.each(0, n, lambda i: w.each(0, n, lambda j: _set(x, (i, j), w.zeros())))

        def border(k: Number) -> None:
            """Extend adj of the first k rows and columns by one: x is upper triangular, and u(i, j) is lu[j, i]."""
            pivot = lu[k, k]

            def row(i: Number) -> None:
                w.each(i, k, lambda p: _set(x, (i, k), w.minus(x[i, k], x[i, p], lu[k, p])))
                w.each(i, k, lambda p: _set(x, (i, p), x[i, p] * pivot))

            w.each(0, k, row)
            x[k, k] = product.value
            product.value = product.value * pivot

        w.each(0, n, border)

        def column(j: Number) -> None:
            """Times l^-1 from the right: subtract the later columns, which are done."""

            def subtract(i: Number) -> None:
                factor = lu[j, i]
                w.each(0, n, lambda r: _set(x, (r, j), w.minus(x[r, j], x[r, i], factor)))

            w.each(j + 1, n, subtract)

        w.each_backwards(n - 1, 0, column)
        sign = w.variable(F64, w.zeros() + 1.0, lanes)

        def exchange(k: Number) -> None:
            chosen = pivots.at(k)
            sign.value = select(chosen == w.number_of(k), sign.value, -sign.value)
            w.each(k + 1, n, lambda i: _exchange(w, chosen == w.number_of(i), lambda r: (x, (r, k), (r, i)), n))

        w.each_backwards(n - 1, 0, exchange)
        signs = sign.value
        w.each(0, n, lambda i: w.each(0, n, lambda j: _set(x, (i, j), x[i, j] * signs)))
        w.write(x, n, n)
    return w.finished()


_EXPONENT, _ONE_HALF, _BIAS = 0x7FF, 0x3FE0000000000000, 1022


def _parts(w: StackWriter, number: Value) -> tuple[Value, Value]:
    """Split a number into a mantissa in [1/2, 1) and a power of two; zero, denormal and non-finite numbers stay as they are."""
    pattern = bits(number)
    exponent = pattern.lshr(52) & _EXPONENT
    is_usual = (exponent != 0) & (exponent != _EXPONENT)
    mantissa = from_bits((pattern & ~(_EXPONENT << 52)) | _ONE_HALF)
    return select(is_usual, mantissa, number), select(is_usual, exponent - _BIAS, constant(w, 0, I64, w.lanes))


def det(lanes: int, n: int) -> str:
    """(lu, result): the product of the pivots, without intermediate overflow, with the sign of the row swaps."""
    w = StackWriter(f"det_{n}", lanes, n, "lu")
    with w.groups():
        pivots, starts = w.read_pivots(0), w.starts(0)
        product, exponent = w.variable(F64, w.zeros() + 1.0, lanes), w.variable(I64, constant(w, 0, I64, lanes), lanes)

        def multiply(k: Number) -> None:
            mantissa, power = _parts(w, w.gathered([w.at(start, w.times(k, n + 1)) for start in starts]))
            is_moved = pivots.at(k) != w.number_of(k)
            so_far, more = _parts(w, product.value * select(is_moved, -mantissa, mantissa))
            product.value, exponent.value = so_far, exponent.value + power + more

        w.each(0, n, multiply)
        made = w.room(1, 1)
        made.put(_scaled(w, product.value, exponent.value), 0)
        w.write(made, 1, 1)
    return w.finished()


def _scaled(w: StackWriter, number: Value, power: Value) -> Value:
    """Multiply by a power of two, in two halves: results past twice the exponent range of doubles are 0 or infinite."""
    limit = 2 * 1000
    power = select(power > limit, limit, select(power < -limit, -limit, power))
    half = power >> 1
    for part in (half, power - half):
        number = number * from_bits((part + (_BIAS + 1)) << 52)
    return number


TEXTS: dict[str, Callable[..., str]] = {
    "cholesky": cholesky,
    "cholesky_pullback": cholesky_pullback,
    "triangular_solve": triangular_solve,
    "lu_factor": lu_factor,
    "lu_solve": lu_solve,
    "inverse": inverse,
    "cofactors": cofactors,
    "det": det,
}


def text(symbol: str, lanes: int) -> str:
    """The text of a function, by its symbol, which ends with the sizes."""
    parts = symbol.removeprefix(PREFIX).split("_")
    sizes = [int(part) for part in parts if part.isdigit()]
    return TEXTS["_".join(part for part in parts if not part.isdigit())](lanes, *sizes)
