"""The pullback of the Cholesky factor as LLVM text: l^-T s l^-1, where s is symmetric with the lower triangle of l^T l_bar.

Cost: the first of the two solves is for all columns, all else for one triangle: 5/6 of n^3 multiplications.

Source: Murray (2016), arXiv:1602.07527, eq. 10. The blocked reverse of the factorisation (section 4.2) needs a third of n^3, and took 12 us
    where this takes 22 for n = 100. It was rejected: it solves with the blocks one after the other for terms that it must subtract from
    each other. For a squared exponential kernel on 40 points with a condition of 1e10 it was off by 1e-4, this by 1e-12.
"""

from __future__ import annotations

from ...llvm.builder import VOID, Function, Signature, module_text
from ...llvm.values import I64, PTR, Value, select
from ..matrix_loops import WITHIN
from .tiles import PREFIX, TileWriter, divided


def cholesky_pullback(lanes: int, *, within: bool = False) -> str:
    """`void (l, l_bar, result, scratch, n, stride)`: the lower triangle's cotangent. Reads only the lower triangles of l and l_bar.

    `within`: one more parameter, the row stride of these and of the result.
    """
    rows = {"row": I64} if within else {}
    name = PREFIX + "cholesky_pullback" + WITHIN * within
    w = TileWriter(name, VOID, lanes, l=PTR, l_bar=PTR, result=PTR, f=PTR, n=I64, stride=I64, **rows)
    l, l_bar, result, f, n, stride, *_ = w.parameters
    between = w.parameters[-1] if within else n
    block = 2 * lanes
    size, rows = w.whole_tiles(n, lanes), w.whole_tiles(n, block)
    work = w.at(f, rows * stride)
    inverses = w.at(work, rows * stride)
    _copy_lower(w, l, f, size, between)
    _copy_lower(w, l_bar, work, size, between)
    with w.loop(n, size) as r:
        w.put_number(1.0, w.at(f, r * (stride + 1)))
    with w.loop(0, size) as r:
        w.put_number(1.0 / w.number(w.at(f, r * (stride + 1))), w.at(inverses, r))
    with w.loop(0, size, lanes) as i, w.loop(0, i + 1, block) as j:
        # In place: tiles below have not been read yet, tiles above are no longer needed.
        place = w.at(work, i * stride, j)
        left = w.at(f, i * stride, i)
        zeros = [[w.zeros()] * 2 for _ in range(lanes)]
        w.store_tile(w.accumulate(zeros, n - i, left, (1, stride), place, stride, subtracts=False), place, stride)
    _clear_padding(w, work, size)
    _mirror(w, work, size)
    pull_tile = _pull_tile(lanes)
    _solve_all(w, pull_tile.signature, work, inverses, size)
    _solve_lower(w, pull_tile.signature, work, inverses, size)
    _write_lower_half(w, work, result, between)
    w.return_()
    return module_text(pull_tile, w)


def _solve_all(w: TileWriter, pull_tile: Signature, work: Value, inverses: Value, size: Value) -> None:
    """l^-T times all columns."""
    _, _, _, f, n, stride, *_ = w.parameters
    with w.backwards(size - w.lanes, w.lanes) as i, w.loop(0, size, 2 * w.lanes) as j:
        w.call(pull_tile, f, work, inverses, n, stride, i, j)


def _solve_lower(w: TileWriter, pull_tile: Signature, work: Value, inverses: Value, size: Value) -> None:
    """One triangle of l^-T times the transpose."""
    _, _, _, f, n, stride, *_ = w.parameters
    with w.backwards(size - w.lanes, w.lanes) as i, w.loop(0, i + 1, 2 * w.lanes) as j:
        for half in (0, w.lanes):
            part = w.load_tile(w.at(work, (j + half) * stride, i), stride, 1)
            turned = w.transposed([row[0] for row in part])
            w.store_tile([[row] for row in turned], w.at(work, i * stride, j, half), stride)
        w.call(pull_tile, f, work, inverses, n, stride, i, j)


def _pull_tile(lanes: int) -> Function:
    """Rows i to i + lanes of l^-T times a tile, given the rows after them. The factor's transpose is solved from its last row on."""
    w = TileWriter("tapediff_pull_tile", VOID, lanes, f=PTR, work=PTR, inverses=PTR, n=I64, stride=I64, i=I64, j=I64)
    f, work, inverses, n, stride, i, j = w.parameters
    place = w.at(work, i * stride, j)
    # From the last row up, within the tile, too: every sum has the same order, and the same bits, for any number of lanes.
    back, below = 0 - stride, (n - 1) * stride
    tile = w.load_tile(place, stride, 2)
    tile = w.accumulate(tile, n - i - lanes, w.at(f, below, i), (1, back), w.at(work, below, j), back)
    last = i + (lanes - 1)
    corner = w.at(f, last * (stride + 1))
    tile = divided(w, tile[::-1], corner, (-1, back), w.at(inverses, last), -1)[::-1]
    w.store_tile(tile, place, stride)
    w.return_()
    return w


def _copy_lower(w: TileWriter, source: Value, target: Value, size: Value, between: Value) -> None:
    """Copy a lower triangle into whole tiles, padded with zeros: the entries above it may be infinite."""
    n, stride = w.parameters[4:6]
    with w.loop(0, size) as r:
        count = select(r < n, r + 1, 0)
        start, row = w.at(source, r * between), w.at(target, r * stride)
        with w.loop(0, size, w.lanes) as c:
            w.store(w.load_masked(w.at(start, c), w.first_lanes(count - c)), w.at(row, c))


def _clear_padding(w: TileWriter, work: Value, size: Value) -> None:
    """Clear the rows past the last one, where products with NaN may have left something."""
    n, stride = w.parameters[4:6]
    with w.loop(n, size) as r, w.loop(0, size, w.lanes) as c:
        w.store(w.zeros(), w.at(work, r * stride, c))


def _mirror(w: TileWriter, work: Value, size: Value) -> None:
    """Copy the lower triangle to the upper one."""
    stride = w.parameters[5]
    with w.loop(0, size, w.lanes) as i:
        with w.loop(0, i, w.lanes) as j:
            part = w.load_tile(w.at(work, i * stride, j), stride, 1)
            turned = w.transposed([row[0] for row in part])
            w.store_tile([[row] for row in turned], w.at(work, j * stride, i), stride)
        corner = w.at(work, i * (stride + 1))
        rows = [row[0] for row in w.load_tile(corner, stride, 1)]
        turned = w.transposed(rows)
        whole = [[select(w.upto(r + 1), a, b)] for r, (a, b) in enumerate(zip(rows, turned))]
        w.store_tile(whole, corner, stride)


def _write_lower_half(w: TileWriter, work: Value, result: Value, between: Value) -> None:
    """Write the result: the lower triangle with half of the diagonal, and zeros above it."""
    n, stride = w.parameters[4:6]
    with w.loop(0, n) as r:
        source, target = w.at(work, r * stride), w.at(result, r * between)
        diagonal = w.at(source, r)
        w.put_number(w.number(diagonal) * 0.5, diagonal)
        with w.loop(0, n, w.lanes) as c:
            kept = select(w.first_lanes(r + 1 - c), w.load(w.at(source, c)), 0.0)
            w.store_masked(kept, w.at(target, c), w.first_lanes(n - c))
