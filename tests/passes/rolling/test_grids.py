"""What an inner loop reads of neighbours that are numbers in lists: a grid of few blocks, some of them the border."""

import numpy as np
import pytest

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.passes.rolling.grids import grid_of, window_in
from tapediff.passes.simplify.array_entries import SHIFT

# Sums in another order.
TOLERANCE = 1e-12


def heat(n, steps, border=0):
    """Cells in lists of lists, whose borders stay what they were."""

    def f(x):
        u = [[x[i * n + j] for j in range(n)] for i in range(n)]
        for _ in range(steps):
            before = [list(row) for row in u]
            for i in range(1, n - 1):
                for j in range(1 + border, n - 1):
                    around = before[i + 1][j] + before[i - 1][j] + before[i][j + 1] + before[i][j - 1]
                    u[i][j] = before[i][j] + 0.2 * np.tanh(around - 4.0 * before[i][j])
        return sum(entry**2 for row in u for entry in row)

    return f, np.random.default_rng(n).normal(size=n * n)


@pytest.mark.parametrize(("n", "border"), [(8, 0), (11, 0), (12, 3)])
def test_cells_in_lists_are_one_loop_over_arrays(n, border):
    """However many cells there are: a loop over the steps, of arrays that are put together of blocks."""
    tape = td.record(heat(n, 12, border)[0], heat(n, 12, border)[1])
    made = rolled(tape)
    made.check()
    assert len(made) < 70
    assert [i.params[1].length for i in made.instructions if i.op.name == "loop"] == [11]


@pytest.mark.parametrize(("n", "border"), [(4, 0), (5, 1), (8, 0), (9, 2), (13, 0)])
def test_cells_in_lists_have_the_right_gradient(n, border):
    """Kernel and rolled tape against the operations as they were recorded, and against differences."""
    f, x = heat(n, 10, border)
    tape = td.record(f, x)
    td.testing.check_gradient(td.compile(tape), f, x)
    expected = td.value_and_gradient(td.record(f, x), 0.5 * x)
    value, slope = td.value_and_gradient(td.compile(tape), 0.5 * x)
    np.testing.assert_allclose(value, expected[0], rtol=TOLERANCE)
    np.testing.assert_allclose(slope, expected[1], rtol=0, atol=TOLERANCE * np.max(np.abs(expected[1])))


def test_the_work_of_compiling_does_not_grow_with_the_cells_of_a_step():
    """The rolled tape of a grid of four times as many cells has as many instructions."""
    short, long = (len(rolled(td.record(*heat(n, 10)))) for n in (9, 18))
    assert long <= short + 4


def entries(rows, columns, border):
    grid = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns) + (7 << SHIFT)
    for k, part in enumerate(border):
        grid[part] = (np.arange(grid[part].size, dtype=np.int64) * (k + 2) + ((9 + k) << SHIFT)).reshape(grid[part].shape)
    return grid


@pytest.mark.parametrize("border", [
    (np.s_[:, :1],), (np.s_[:, -1:],), (np.s_[:, :1], np.s_[:, -1:]), (np.s_[:, :2], np.s_[:1]), (np.s_[:1], np.s_[-1:], np.s_[:, :1], np.s_[:, -1:]),
])  # fmt: skip
def test_a_grid_is_found_with_its_borders(border):
    """The blocks cover the grid, each once, with its entries; they are few."""
    expected = entries(9, 7, border)
    found = grid_of(expected.ravel())
    assert found is not None
    grid, blocks = found
    np.testing.assert_array_equal(grid, expected)
    covered = np.zeros(grid.shape, int)
    for region, block in blocks:
        covered[region.slices] += 1
        np.testing.assert_array_equal(grid[region.slices], block)
    assert (covered == 1).all()
    assert len(blocks) <= 9


def test_entries_in_no_order_are_no_grid():
    """Nor are few of them."""
    assert grid_of(np.random.default_rng(0).permutation(64)) is None
    assert grid_of(np.arange(5)) is None


@pytest.mark.parametrize(("start", "down", "across", "shape", "size"), [
    (0, 5, 1, (4, 3), 20), (7, 10, 2, (3, 4), 40), (3, 10, 1, (3, 4), 41), (12, 10, 1, (3, 4), 37), (9, 10, 1, (3, 4), 40), (6, 10, 1, (4, 4), 42), (0, 10, 1, (4, 4), 34),
])  # fmt: skip
def test_a_window_reads_what_its_positions_say(start, down, across, shape, size):
    """Where there is one, a box of the array in rows has the entries at these positions."""
    positions = start + down * np.arange(shape[0])[:, None] + across * np.arange(shape[1])
    found = window_in(positions, size)
    if found is None:
        # No table of such rows has them all in one piece.
        assert start % down + (shape[1] - 1) * across >= down or size < shape[0] * down
        return
    table = np.arange(size)[found.first : found.first + found.rows * found.width].reshape(found.rows, found.width)
    np.testing.assert_array_equal(table[found.box.slices], positions)


@pytest.mark.parametrize("positions", [[[0, 1], [1, 2]], [[3, 2], [9, 8]], [[0, 1], [5, 7]], [[0, 4], [3, 7]]])
def test_rows_that_overlap_or_run_backwards_have_no_window(positions):
    """Nor have rows that differ in their steps."""
    assert window_in(np.array(positions), 100) is None
