"""Triangular solves as LLVM text, on one thread, for matrices that fit the caches."""

from __future__ import annotations

from ...llvm.builder import module_text
from ...llvm.memory import Location
from ...llvm.values import F64, I1, I64, PTR, Value
from .tiles import PREFIX, TileWriter, divided


def triangular_solve(lanes: int) -> str:
    """`i1 (a, x, n, k, s, t, u, unit)`: solve a x = x in place, a lower triangular; true if there is a zero on its diagonal.

    a(i, p) is at a + i s + p t, and row i of x at x + i u, so that other strides give the other triangles. A `unit` diagonal is not read.
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
