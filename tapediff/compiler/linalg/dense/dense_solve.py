"""Triangular solves and matrix products as LLVM text, on one thread, for matrices that fit the caches."""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.builder import VOID, module_text
from ...llvm.memory import Location
from ...llvm.values import F64, I1, I64, PTR, Value, least
from ..matrix_loops import FILL
from .tiles import PREFIX, TileWriter, divided

# Rows of the right operand that are packed at a time: with a few rows of the left one they fit the first-level cache.
DEPTH = 256


def triangular_solve(lanes: int) -> str:
    """`i1 (a, x, n, k, s, t, u, unit)`: solves a x = x in place, a lower triangular; whether there is a zero on its diagonal.

    a(i, p) is at a + i s + p t, and row i of x at x + i u, so that other triangles are this one in another order. A diagonal that is
    `unit` is not read.
    """
    w = TileWriter(PREFIX + "triangular_solve", I1, lanes, a=PTR, x=PTR, n=I64, k=I64, s=I64, t=I64, u=I64, unit=I1)
    a, _, n, k, s, t, _, _ = w.parameters
    inverses, has_zero = w.array(F64, lanes).start, w.variable(I1, False)
    whole, pairs = n & -lanes, k & -2 * lanes
    for rows, start, end in ((lanes, 0, whole), (1, whole, n)):
        with w.loop(start, end, rows) as i:
            corner = w.at(a, i * (s + t))
            with w.loop(0, rows) as r:
                _invert_diagonal(w, w.at(corner, r * (s + t)), w.at(inverses, r), has_zero)
            if rows > 1:
                with w.loop(0, pairs, 2 * lanes) as j:
                    _solve_tile(w, i, j, rows, 2, None, inverses, corner)
            with w.loop(pairs if rows > 1 else 0, k, lanes) as j:
                _solve_tile(w, i, j, rows, 1, w.first_lanes(k - j), inverses, corner)
    w.return_(has_zero.value)
    return module_text(w)


def _invert_diagonal(w: TileWriter, place: Value, inverse: Value, has_zero: Location) -> None:
    w.put_number(1.0, inverse)
    with w.if_(~w.parameters[-1]):
        pivot = w.number(place)
        has_zero.value |= pivot == 0.0
        w.put_number(1.0 / pivot, inverse)


def _solve_tile(
    w: TileWriter, i: Value, j: Value, rows: int, vectors: int, active: Value | None, inverses: Value, corner: Value
) -> None:
    a, x, _, _, s, t, u, _ = w.parameters
    place = w.at(x, i * u, j)
    masks = None if active is None else [active] * vectors
    if masks is None:
        tile = w.load_tile(place, u, vectors, rows)
    else:
        tile = w.load_tile_masked(place, u, [masks] * rows)
    tile = w.accumulate(tile, i, w.at(a, i * s), (s, t), w.at(x, j), u, masks=masks)
    tile = divided(w, tile, corner, (s, t), inverses)
    if masks is None:
        w.store_tile(tile, place, u)
    else:
        w.store_tile_masked(tile, place, u, [masks] * rows)


def product(lanes: int) -> str:
    """`void (x, y, z, m, n, k, s, t, u, v)`: z = x y, z contiguous; x(i, p) is at x + i s + p t, y(p, j) at y + p u + j v.

    For a block of rows of y after the other, and two vectors of its columns: these are packed, filled up with zeros, and the products
    with each tile of x are added to z.
    """
    sizes = dict.fromkeys(("m", "n", "k", "s", "t", "u", "v"), I64)
    w = TileWriter(PREFIX + "product", VOID, lanes, x=PTR, y=PTR, z=PTR, **sizes)
    x, y, z, m, n, k, s, t, u, v = w.parameters
    panel, whole = w.array(F64, DEPTH * 2 * lanes).start, m & -lanes
    w.call(FILL, z, 0, m * n * 8, False)
    with w.loop(0, k, DEPTH) as p:
        depth = least(k - p, DEPTH)
        with w.loop(0, n, 2 * lanes) as j:
            left = n - j
            masks = [w.first_lanes(left), w.first_lanes(left - lanes)]
            _pack(w, w.at(y, p * u, j * v), panel, depth, left, masks)
            for rows, start, end in ((lanes, 0, whole), (1, whole, m)):
                with w.loop(start, end, rows) as i:
                    place = w.at(z, i * n, j)
                    tile = w.load_tile_masked(place, n, [masks] * rows)
                    rows_of_x = w.at(x, i * s, p * t)
                    tile = w.accumulate(tile, depth, rows_of_x, (s, t), panel, 2 * lanes, subtracts=False)
                    w.store_tile_masked(tile, place, n, [masks] * rows)
    w.return_()
    return module_text(w)


def _pack(w: TileWriter, source: Value, panel: Value, depth: Value, left: Value, masks: Sequence[Value]) -> None:
    """Two vectors of columns, as rows that follow each other, with zeros beyond the last column."""
    lanes, (u, v) = w.lanes, w.parameters[-2:]
    with w.if_(v == 1), w.loop(0, depth) as q:
        row = w.at(source, q * u)
        vectors = [w.load_masked(w.at(row, number * lanes), active) for number, active in enumerate(masks)]
        w.store_tile([vectors], w.at(panel, q * (2 * lanes)), 2 * lanes)
    with w.else_(), w.loop(0, depth, lanes) as q:
        here, halves = w.first_lanes(depth - q), []
        for half in range(2):
            columns = range(half * lanes, (half + 1) * lanes)
            halves.append(w.transposed([_column(w, source, r, q, here & (left > r)) for r in columns]))
        # The panel has whole tiles of rows, and those beyond the last are not read.
        w.store_tile([list(row) for row in zip(*halves)], w.at(panel, q * (2 * lanes)), 2 * lanes)


def _column(w: TileWriter, source: Value, r: int, q: Value, active: Value) -> Value:
    return w.load_masked(w.at(source, w.times(r, w.parameters[-1]), q), active)
