"""The pullback of the Cholesky factor as LLVM text: l^-T s l^-1, where s is symmetric with the lower triangle of l^T l_bar.

Of the two solves the first has all columns, and everything else one triangle: 5/6 of n^3 multiplications.

Source: Murray (2016), arXiv:1602.07527, eq. 10. The blocked reverse of the factorisation (section 4.2) needs a third of n^3, and took 12 us
where this takes 22 for n = 100. It was tried and is not used, as it solves with the blocks one after the other what it must subtract from
each other: for a squared exponential kernel on 40 points with a condition of 1e10 it was off by 1e-4, this by 1e-12.
"""

from __future__ import annotations

from .tiles import PREFIX, TileWriter, divided, module_text


def cholesky_pullback(lanes: int) -> str:
    """`void (l, l_bar, result, scratch, n, stride)`: the lower triangle's cotangent; of l and l_bar only the lower triangle counts."""
    parameters = ("ptr l", "ptr l_bar", "ptr result", "ptr f", "i64 n", "i64 stride")
    w = TileWriter(PREFIX + "cholesky_pullback", parameters, "void", lanes)
    block = 2 * lanes
    size = w.times(w.code.emit(f"udiv i64 {w.add('%n', lanes - 1)}, {lanes}"), lanes)
    rows = w.times(w.code.emit(f"udiv i64 {w.add('%n', block - 1)}, {block}"), block)
    work = w.at("%f", w.times(rows, "%stride"))
    inverses = w.at(work, w.times(rows, "%stride"))
    _copy_lower(w, "%l", "%f", size)
    _copy_lower(w, "%l_bar", work, size)
    with w.loop("%n", size) as r:
        w.code.line(f"store double 1.0, ptr {w.at('%f', w.times(r, w.add('%stride', 1)))}")
    with w.loop(0, size) as r:
        inverse = w.code.emit(f"fdiv double 1.0, {w.number(w.at('%f', w.times(r, w.add('%stride', 1))))}")
        w.code.line(f"store double {inverse}, ptr {w.at(inverses, r)}")
    with w.loop(0, size, lanes) as i, w.loop(0, w.add(i, 1), block) as j:
        # In place: tiles below are still to be read, tiles above are not needed any more.
        place = w.at(work, w.times(i, "%stride"), j)
        left = w.at("%f", w.times(i, "%stride"), i)
        zeros = [["zeroinitializer"] * 2 for _ in range(lanes)]
        tile = w.accumulate(zeros, w.subtract("%n", i), left, (1, "%stride"), place, "%stride", subtracts=False)
        w.store_tile(tile, place, "%stride")
    _clear_padding(w, work, size)
    _mirror(w, work, size)
    solve = f"call void @tapediff_pull_tile(ptr %f, ptr {work}, ptr {inverses}, i64 %n, i64 %stride"
    with w.backwards(w.subtract(size, lanes), lanes) as i, w.loop(0, size, block) as j:
        w.code.line(f"{solve}, i64 {i}, i64 {j})")
    with w.backwards(w.subtract(size, lanes), lanes) as i, w.loop(0, w.add(i, 1), block) as j:
        for half in (0, lanes):
            part = w.load_tile(w.at(work, w.times(w.add(j, half), "%stride"), i), "%stride", 1)
            turned = w.transposed([row[0] for row in part])
            w.store_tile([[row] for row in turned], w.at(work, w.times(i, "%stride"), j, half), "%stride")
        w.code.line(f"{solve}, i64 {i}, i64 {j})")
    _write_lower_half(w, work)
    w.code.line("ret void")
    return module_text(w, _pull_tile(lanes))


def _pull_tile(lanes: int) -> TileWriter:
    """Rows i to i + lanes of l^-T times a tile, given the rows after them. The factor's transpose is solved from its last row on."""
    parameters = ("ptr f", "ptr work", "ptr inverses", "i64 n", "i64 stride", "i64 i", "i64 j")
    w = TileWriter("tapediff_pull_tile", parameters, "void", lanes)
    place, after = w.at("%work", w.times("%i", "%stride"), "%j"), w.add("%i", lanes)
    left = w.at("%f", w.times(after, "%stride"), "%i")
    right = w.at("%work", w.times(after, "%stride"), "%j")
    tile = w.load_tile(place, "%stride", 2)
    tile = w.accumulate(tile, w.subtract("%n", after), left, (1, "%stride"), right, "%stride")
    last = w.add("%i", lanes - 1)
    corner = w.at("%f", w.times(last, w.add("%stride", 1)))
    tile = divided(w, tile[::-1], corner, (-1, w.subtract(0, "%stride")), w.at("%inverses", last), -1)[::-1]
    w.store_tile(tile, place, "%stride")
    w.code.line("ret void")
    return w


def _copy_lower(w: TileWriter, source: str, target: str, size: str) -> None:
    """A lower triangle in whole tiles, with zeros around it: entries above it may be infinite."""
    with w.loop(0, size) as r:
        count = w.choose(w.compare("slt", r, "%n"), w.add(r, 1), 0)
        start, row = w.at(source, w.times(r, "%n")), w.at(target, w.times(r, "%stride"))
        with w.loop(0, size, w.lanes) as c:
            w.store(w.load_masked(w.at(start, c), w.first_lanes(w.subtract(count, c))), w.at(row, c))


def _clear_padding(w: TileWriter, work: str, size: str) -> None:
    """Zeros in the rows beyond the last one, where products with NaN may have left something."""
    with w.loop("%n", size) as r, w.loop(0, size, w.lanes) as c:
        w.store("zeroinitializer", w.at(work, w.times(r, "%stride"), c))


def _mirror(w: TileWriter, work: str, size: str) -> None:
    """The lower triangle above the diagonal too."""
    with w.loop(0, size, w.lanes) as i:
        with w.loop(0, i, w.lanes) as j:
            part = w.load_tile(w.at(work, w.times(i, "%stride"), j), "%stride", 1)
            turned = w.transposed([row[0] for row in part])
            w.store_tile([[row] for row in turned], w.at(work, w.times(j, "%stride"), i), "%stride")
        corner = w.at(work, w.times(i, w.add("%stride", 1)))
        rows = [row[0] for row in w.load_tile(corner, "%stride", 1)]
        turned = w.transposed(rows)
        whole = [[w.where(w.upto(r + 1), a, b)] for r, (a, b) in enumerate(zip(rows, turned))]
        w.store_tile(whole, corner, "%stride")


def _write_lower_half(w: TileWriter, work: str) -> None:
    """The result: the lower triangle with half of the diagonal, and zeros above it."""
    with w.loop(0, "%n") as r:
        source, target = w.at(work, w.times(r, "%stride")), w.at("%result", w.times(r, "%n"))
        diagonal = w.at(source, r)
        half = w.code.emit(f"fmul double {w.number(diagonal)}, 0.5")
        w.code.line(f"store double {half}, ptr {diagonal}")
        with w.loop(0, "%n", w.lanes) as c:
            kept = w.where(w.first_lanes(w.subtract(w.add(r, 1), c)), w.load(w.at(source, c)))
            w.store_masked(kept, w.at(target, c), w.first_lanes(w.subtract("%n", c)))
