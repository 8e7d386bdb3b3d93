"""Matrix products as LLVM text: blocks of both operands are packed for the nearer caches, and multiplied by tiles that stay in registers.

Source: Goto and van de Geijn (2008), Anatomy of high-performance matrix multiplication, ACM Transactions on Mathematical Software 34(3).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.builder import VOID, module_text
from ...llvm.values import F64, I64, PTR, Value, least
from ..matrix_loops import FILL, WITHIN
from .tiles import PREFIX, Number, TileWriter

# Terms per block. Two vectors of columns of this many rows of the right operand stay in the first-level cache, with BLOCK rows of the left
# one in the second.
DEPTH, BLOCK = 192, 96
# The left operand is packed for this many panels of the right one: packing takes as long as multiplying by one panel.
FEWEST_PANELS = 6


def product(lanes: int, *, within: bool = False) -> str:
    """`void (x, y, z, m, n, k, s, t, u, v)`: z = x y, z contiguous; x(i, p) is at x + i s + p t, y(p, j) at y + p u + j v.

    Every entry of z adds its terms in order, for any choice of tiles. `within`: one more parameter, the row stride of z.
    """
    sizes = dict.fromkeys(("m", "n", "k", "s", "t", "u", "v", *["row"] * within), I64)
    w = TileWriter(PREFIX + "product" + WITHIN * within, VOID, lanes, x=PTR, y=PTR, z=PTR, **sizes)
    x, y, z, m, n, k, s, t, u, v, *_ = w.parameters
    # A tile of 6 rows fits in 16 registers of 4 lanes, one of 8 rows in 32 of 8. The rest of a block uses smaller tiles.
    rows, columns = 6 if lanes == 4 else 8, 2 * lanes
    panel, block = w.array(F64, DEPTH * columns).start, w.array(F64, DEPTH * BLOCK).start
    if within:
        with w.loop(0, m) as i:
            w.call(FILL, w.at(z, i * w.parameters[-1]), 0, n * 8, False)
    else:
        w.call(FILL, z, 0, m * n * 8, False)
    is_packed = (n >= FEWEST_PANELS * columns) & (m >= 2 * rows)
    with w.loop(0, k, DEPTH) as p, w.loop(0, m, BLOCK) as i:
        depth, end = least(k - p, DEPTH), least(m, i + BLOCK)
        whole = i + (end - i).quotient(rows) * rows
        fours = whole + ((end - whole) & -4)
        sizes_of_tiles = ((rows, i, whole), (4, whole, fours), (1, fours, end))
        with w.if_(is_packed):
            _pack_left(w, w.at(x, i * s, p * t), block, whole - i, rows, depth)
        with w.loop(0, n, columns) as j:
            left = n - j
            masks = [w.first_lanes(left), w.first_lanes(left - lanes)]
            _pack_panel(w, w.at(y, p * u, j * v), panel, depth, left, masks)
            with w.if_(left >= columns):
                with w.if_(is_packed), w.loop(i, whole, rows) as r:
                    _add_tile(w, (r, j), rows, w.at(block, (r - i) * depth), (1, rows), panel, depth)
                with w.else_(), w.loop(i, whole, rows) as r:
                    _add_tile(w, (r, j), rows, w.at(x, r * s, p * t), (s, t), panel, depth)
                for count, first, last in sizes_of_tiles[1:]:
                    with w.loop(first, last, count) as r:
                        _add_tile(w, (r, j), count, w.at(x, r * s, p * t), (s, t), panel, depth)
            with w.else_():
                for count, first, last in sizes_of_tiles:
                    with w.loop(first, last, count) as r:
                        _add_tile(w, (r, j), count, w.at(x, r * s, p * t), (s, t), panel, depth, masks)
    w.return_()
    return module_text(w)


def _add_tile(
    w: TileWriter, place: tuple[Value, Value], rows: int, left: Value, strides: tuple[Number, Number], panel: Value, depth: Value,
    masks: list[Value] | None = None,
) -> None:  # fmt: skip
    """Add the product of `rows` and a panel to one tile of z."""
    (r, j), columns = place, 2 * w.lanes
    z, n = w.parameters[2], w.parameters[10 if len(w.parameters) > 10 else 4]
    target = w.at(z, r * n, j)
    if masks is None:
        tile = w.load_tile(target, n, 2, rows)
    else:
        tile = w.load_tile_masked(target, n, [masks] * rows)
    tile = w.accumulate(tile, depth, left, strides, panel, columns, subtracts=False)
    if masks is None:
        w.store_tile(tile, target, n)
    else:
        w.store_tile_masked(tile, target, n, [masks] * rows)


def _pack_left(w: TileWriter, source: Value, block: Value, rows: Value, height: int, depth: Value) -> None:
    """Pack consecutive tiles of `height` rows, each column by column."""
    s, t = w.parameters[6:8]
    with w.loop(0, rows, height) as r:
        tile, first = w.at(block, r * depth), w.at(source, r * s)
        with w.loop(0, depth) as q:
            column, target = w.at(first, q * t), w.at(tile, q * height)
            for row in range(height):
                w.put_number(w.number(w.at(column, w.times(row, s))), w.at(target, row))


def _pack_panel(w: TileWriter, source: Value, panel: Value, depth: Value, left: Value, masks: Sequence[Value]) -> None:
    """Pack two vectors of columns as consecutive rows, with zeros past the last column."""
    lanes, (u, v) = w.lanes, w.parameters[8:10]
    with w.if_(v == 1), w.loop(0, depth) as q:
        row = w.at(source, q * u)
        vectors = [w.load_masked(w.at(row, number * lanes), active) for number, active in enumerate(masks)]
        w.store_tile([vectors], w.at(panel, q * (2 * lanes)), 2 * lanes)
    with w.else_(), w.loop(0, depth, lanes) as q:
        here, halves = w.first_lanes(depth - q), []
        for half in range(2):
            columns = range(half * lanes, (half + 1) * lanes)
            halves.append(w.transposed([_column(w, source, r, q, here & (left > r)) for r in columns]))
        # The panel has whole tiles of rows; those past the last row are not read.
        w.store_tile([list(row) for row in zip(*halves)], w.at(panel, q * (2 * lanes)), 2 * lanes)


def _column(w: TileWriter, source: Value, r: int, q: Value, active: Value) -> Value:
    return w.load_masked(w.at(source, w.times(r, w.parameters[9]), q), active)
