"""The Cholesky factor and its pullback as LLVM text, on one thread, for matrices that fit the caches."""

from __future__ import annotations

from ...llvm.builder import external, module_text
from ...llvm.values import F64, I1, I64, PTR, Value, lane, least, select
from ..matrix_loops import WITHIN
from .tiles import PREFIX, Tile, TileWriter, divided

_ROOT = external("llvm.sqrt.f64", F64, F64)


def cholesky(lanes: int, *, within: bool = False) -> str:
    """`i1 (a, result, scratch, n, stride)`: true if the matrix is not positive definite. Reads the lower triangle.

    `within`: one more parameter, the row stride of a and of the result.

    Works on rows of tiles of the upper factor, in a copy padded to whole tiles with ones on the rest of the diagonal: subtract the products
    with the rows above, then divide by the factor of the diagonal tile.
    """
    rows = {"row": I64} if within else {}
    w = TileWriter(PREFIX + "cholesky" + WITHIN * within, I1, lanes, a=PTR, result=PTR, u=PTR, n=I64, stride=I64, **rows)
    a, _, u, n, stride, *_ = w.parameters
    between = w.parameters[-1] if within else n
    size, inverses = w.whole_tiles(n, lanes), w.array(F64, lanes).start
    with w.loop(0, size, lanes) as i, w.loop(0, i + 1, lanes) as j:
        turned = [[row] for row in w.transposed(w.read_part(a, n, between, i, j, n - j))]
        w.store_tile(turned, w.at(u, j * stride, i), stride)
    with w.loop(n, size) as i:
        w.put_number(1.0, w.at(u, i * stride, i))
    with w.loop(0, size) as i:
        # Half of the last tile may be past the last column.
        w.store(w.zeros(), w.at(u, i * stride, size))
    with w.loop(0, size, lanes) as i:
        column = w.at(u, i)
        row = w.at(column, i * stride)
        tile = w.accumulate(w.load_tile(row, stride, 1), i, column, (1, stride), column, stride)
        w.store_tile(_factored(w, tile, inverses), row, stride)
        with w.loop(i + lanes, size, 2 * lanes) as j:
            place = w.at(u, i * stride, j)
            tile = w.accumulate(w.load_tile(place, stride, 2), i, column, (1, stride), w.at(u, j), stride)
            w.store_tile(divided(w, tile, row, (1, stride), inverses), place, stride)
    _write_lower(w, size, between)
    w.return_(False)
    return module_text(w)


def _factored(w: TileWriter, tile: Tile, inverses: Value) -> Tile:
    """The upper factor of a tile, with arbitrary entries below the diagonal; exits at a pivot that is not positive."""
    rows = [row[0] for row in tile]
    for r in range(w.lanes):
        pivot = lane(rows[r], r)
        # NaN passes, as in LAPACK.
        with w.if_(pivot <= 0.0):
            w.return_(True)
        root = w.call(_ROOT, pivot)
        inverse = 1.0 / root
        w.put_number(inverse, w.at(inverses, r))
        rows[r] = w.with_lane(rows[r] * w.splat(inverse), root, r)
        for s in range(r + 1, w.lanes):
            rows[s] = w.minus_product(w.spread_lane(rows[r], s), rows[r], rows[s])
    return [[row] for row in rows]


def _write_lower(w: TileWriter, size: Value, between: Value) -> None:
    """The transpose of the upper triangle of u, and zeros above it."""
    _, result, u, n, stride, *_ = w.parameters
    with w.loop(0, size, w.lanes) as i:
        with w.loop(0, i, w.lanes) as j:
            part = w.load_tile(w.at(u, j * stride, i), stride, 1)
            w.write_part(w.transposed([row[0] for row in part]), result, n, between, i, j)
        part = w.load_tile(w.at(u, i * stride, i), stride, 1)
        lower = [select(w.upto(r + 1), row, 0.0) for r, row in enumerate(w.transposed([row[0] for row in part]))]
        w.write_part(lower, result, n, between, i, i)
        with w.loop(i, least(i + w.lanes, n)) as r, w.loop(i + w.lanes, n, w.lanes) as j:
            w.store_masked(w.zeros(), w.at(result, r * between, j), w.first_lanes(n - j))
