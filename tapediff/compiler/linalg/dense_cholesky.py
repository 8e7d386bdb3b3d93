"""The Cholesky factor and its pullback as LLVM text, on one thread, for matrices that fit the caches."""

from __future__ import annotations

from .tiles import PREFIX, Tile, TileWriter, divided, module_text


def cholesky(lanes: int) -> str:
    """`i1 (a, result, scratch, n, stride)`: whether the matrix is not positive definite, of which the lower triangle is read.

    By rows of the upper factor, in a copy of whole tiles with ones on the rest of the diagonal: row after row of tiles, each less
    what the rows above it make of it, and divided by its first tile's factor.
    """
    parameters = ("ptr a", "ptr result", "ptr u", "i64 n", "i64 stride")
    w = TileWriter(PREFIX + "cholesky", parameters, "i1", lanes)
    size = w.times(w.code.emit(f"udiv i64 {w.add('%n', lanes - 1)}, {lanes}"), lanes)
    inverses = w.slot("double", lanes)
    with w.loop(0, size, lanes) as i, w.loop(0, w.add(i, 1), lanes) as j:
        turned = [[row] for row in w.transposed(w.read_part("%a", i, j, w.subtract("%n", j)))]
        w.store_tile(turned, w.at("%u", w.times(j, "%stride"), i), "%stride")
    with w.loop("%n", size) as i:
        w.code.line(f"store double 1.0, ptr {w.at('%u', w.times(i, '%stride'), i)}")
    with w.loop(0, size) as i:
        # The last tile may be half beyond the last column.
        w.store("zeroinitializer", w.at("%u", w.times(i, "%stride"), size))
    with w.loop(0, size, lanes) as i:
        column = w.at("%u", i)
        row = w.at(column, w.times(i, "%stride"))
        tile = w.load_tile(row, "%stride", 1)
        tile = w.accumulate(tile, i, column, (1, "%stride"), column, "%stride")
        w.store_tile(_factored(w, tile, inverses), row, "%stride")
        with w.loop(w.add(i, lanes), size, 2 * lanes) as j:
            place = w.at("%u", w.times(i, "%stride"), j)
            tile = w.load_tile(place, "%stride", 2)
            tile = w.accumulate(tile, i, column, (1, "%stride"), w.at("%u", j), "%stride")
            w.store_tile(divided(w, tile, row, (1, "%stride"), inverses), place, "%stride")
    _write_lower(w, size)
    w.code.line("ret i1 false")
    return module_text(w)


def _factored(w: TileWriter, tile: Tile, inverses: str) -> Tile:
    """The upper factor of a tile, below whose diagonal anything may stand; leaves the function at a pivot that is not positive."""
    rows = [row[0] for row in tile]
    w.code.declare("declare double @llvm.sqrt.f64(double)")
    for r in range(w.lanes):
        pivot = w.code.emit(f"extractelement {w.vector} {rows[r]}, i64 {r}")
        # NaN goes on, as it does in LAPACK.
        w.leave_when(w.code.emit(f"fcmp ole double {pivot}, 0.0"), "i1 true")
        root = w.code.emit(f"call double @llvm.sqrt.f64(double {pivot})")
        inverse = w.code.emit(f"fdiv double 1.0, {root}")
        w.code.line(f"store double {inverse}, ptr {w.at(inverses, r)}")
        rows[r] = w.multiply(rows[r], w.splat(inverse))
        rows[r] = w.code.emit(f"insertelement {w.vector} {rows[r]}, double {root}, i64 {r}")
        for s in range(r + 1, w.lanes):
            rows[s] = w.minus_product(w.lane(rows[r], s), rows[r], rows[s])
    return [[row] for row in rows]


def _write_lower(w: TileWriter, size: str) -> None:
    """The transpose of the upper triangle of u, and zeros above it."""
    with w.loop(0, size, w.lanes) as i:
        with w.loop(0, i, w.lanes) as j:
            part = w.load_tile(w.at("%u", w.times(j, "%stride"), i), "%stride", 1)
            w.write_part(w.transposed([row[0] for row in part]), "%result", i, j)
        part = w.load_tile(w.at("%u", w.times(i, "%stride"), i), "%stride", 1)
        lower = [w.where(w.upto(r + 1), row) for r, row in enumerate(w.transposed([row[0] for row in part]))]
        w.write_part(lower, "%result", i, i)
        with w.loop(i, w.least(w.add(i, w.lanes), "%n")) as r, w.loop(w.add(i, w.lanes), "%n", w.lanes) as j:
            place = w.at("%result", w.times(r, "%n"), j)
            w.store_masked("zeroinitializer", place, w.first_lanes(w.subtract("%n", j)))
