"""Triangular solves and matrix products as LLVM text, on one thread, for matrices that fit the caches."""

from __future__ import annotations

from .tiles import PREFIX, TileWriter, divided, module_text

# Rows of the right operand that are packed at a time: with a few rows of the left one they fit the first-level cache.
DEPTH = 256


def triangular_solve(lanes: int) -> str:
    """`i1 (a, x, n, k, s, t, u, unit)`: solves a x = x in place, a lower triangular; whether there is a zero on its diagonal.

    a(i, p) is at a + i s + p t, and row i of x at x + i u, so that other triangles are this one in another order. A diagonal that is
    `unit` is not read.
    """
    parameters = ("ptr a", "ptr x", "i64 n", "i64 k", "i64 s", "i64 t", "i64 u", "i1 unit")
    w = TileWriter(PREFIX + "triangular_solve", parameters, "i1", lanes)
    inverses, has_zero = w.slot("double", lanes), w.slot("i1")
    w.code.line(f"store i1 false, ptr {has_zero}")
    whole = w.code.emit(f"and i64 %n, {-lanes}")
    pairs = w.code.emit(f"and i64 %k, {-2 * lanes}")
    for rows, start, end in ((lanes, 0, whole), (1, whole, "%n")):
        with w.loop(start, end, rows) as i:
            corner = w.at("%a", w.times(i, w.add("%s", "%t")))
            with w.loop(0, rows) as r:
                _invert_diagonal(w, w.at(corner, w.times(r, w.add("%s", "%t"))), w.at(inverses, r), has_zero)
            if rows > 1:
                with w.loop(0, pairs, 2 * lanes) as j:
                    _solve_tile(w, i, j, rows, 2, None, inverses, corner)
            with w.loop(pairs if rows > 1 else 0, "%k", lanes) as j:
                _solve_tile(w, i, j, rows, 1, w.first_lanes(w.subtract("%k", j)), inverses, corner)
    w.code.line(f"ret i1 {w.code.emit(f'load i1, ptr {has_zero}')}")
    return module_text(w)


def _invert_diagonal(w: TileWriter, place: str, inverse: str, has_zero: str) -> None:
    w.code.line(f"store double 1.0, ptr {inverse}")
    with w.when(w.code.emit("xor i1 %unit, true")):
        pivot = w.number(place)
        is_zero = w.code.emit(f"fcmp oeq double {pivot}, 0.0")
        before = w.code.emit(f"load i1, ptr {has_zero}")
        w.code.line(f"store i1 {w.code.emit(f'or i1 {before}, {is_zero}')}, ptr {has_zero}")
        w.code.line(f"store double {w.code.emit(f'fdiv double 1.0, {pivot}')}, ptr {inverse}")


def _solve_tile(
    w: TileWriter, i: str, j: str, rows: int, vectors: int, mask: str | None, inverses: str, corner: str
) -> None:
    place = w.at("%x", w.times(i, "%u"), j)
    masks = None if mask is None else [mask] * vectors
    if masks is None:
        tile = w.load_tile(place, "%u", vectors, rows)
    else:
        tile = w.load_tile_masked(place, "%u", [masks] * rows)
    left = w.at("%a", w.times(i, "%s"))
    tile = w.accumulate(tile, i, left, ("%s", "%t"), w.at("%x", j), "%u", masks=masks)
    tile = divided(w, tile, corner, ("%s", "%t"), inverses)
    if masks is None:
        w.store_tile(tile, place, "%u")
    else:
        w.store_tile_masked(tile, place, "%u", [masks] * rows)


def product(lanes: int) -> str:
    """`void (x, y, z, m, n, k, s, t, u, v)`: z = x y, z contiguous; x(i, p) is at x + i s + p t, y(p, j) at y + p u + j v.

    For a block of rows of y after the other, and two vectors of its columns: these are packed, filled up with zeros, and the products
    with each tile of x are added to z.
    """
    parameters = ("ptr x", "ptr y", "ptr z", *(f"i64 {name}" for name in ("m", "n", "k", "s", "t", "u", "v")))
    w = TileWriter(PREFIX + "product", parameters, "void", lanes)
    panel = w.slot("double", DEPTH * 2 * lanes)
    whole = w.code.emit(f"and i64 %m, {-lanes}")
    w.code.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    w.code.line(f"call void @llvm.memset.p0.i64(ptr %z, i8 0, i64 {w.times(w.times('%m', '%n'), 8)}, i1 false)")
    with w.loop(0, "%k", DEPTH) as p:
        depth = w.least(DEPTH, w.subtract("%k", p))
        with w.loop(0, "%n", 2 * lanes) as j:
            left = w.subtract("%n", j)
            masks = [w.first_lanes(left), w.first_lanes(w.subtract(left, lanes))]
            _pack(w, w.at("%y", w.times(p, "%u"), w.times(j, "%v")), panel, depth, left, masks)
            for rows, start, end in ((lanes, 0, whole), (1, whole, "%m")):
                with w.loop(start, end, rows) as i:
                    place = w.at("%z", w.times(i, "%n"), j)
                    tile = w.load_tile_masked(place, "%n", [masks] * rows)
                    x = w.at("%x", w.times(i, "%s"), w.times(p, "%t"))
                    tile = w.accumulate(tile, depth, x, ("%s", "%t"), panel, 2 * lanes, subtracts=False)
                    w.store_tile_masked(tile, place, "%n", [masks] * rows)
    w.code.line("ret void")
    return module_text(w)


def _pack(w: TileWriter, source: str, panel: str, depth: str, left: str, masks: list[str]) -> None:
    """Two vectors of columns, as rows that follow each other, with zeros beyond the last column."""
    lanes = w.lanes
    is_contiguous = w.compare("eq", "%v", 1)
    with w.when(is_contiguous), w.loop(0, depth) as q:
        row = w.at(source, w.times(q, "%u"))
        vectors = [w.load_masked(w.at(row, v * lanes), mask) for v, mask in enumerate(masks)]
        w.store_tile([vectors], w.at(panel, w.times(q, 2 * lanes)), 2 * lanes)
    with w.when(w.code.emit(f"xor i1 {is_contiguous}, true")), w.loop(0, depth, lanes) as q:
        here = w.first_lanes(w.subtract(depth, q))
        halves = []
        for half in range(2):
            rows = []
            for r in range(half * lanes, (half + 1) * lanes):
                inside = w.compare("slt", r, left)
                mask = w.code.emit(f"select i1 {inside}, <{lanes} x i1> {here}, <{lanes} x i1> zeroinitializer")
                rows.append(w.load_masked(w.at(source, w.times(r, "%v"), q), mask))
            halves.append(w.transposed(rows))
        # The panel has whole tiles of rows, and those beyond the last are not read.
        w.store_tile([list(row) for row in zip(*halves)], w.at(panel, w.times(q, 2 * lanes)), 2 * lanes)
