"""Tables in the order of a wavefront, and back."""

import numpy as np
import pytest

from tapediff.ir.instruction import INPUT, ValueType
from tapediff.ir.rewriter import Rewriter
from tapediff.ir.tape import Tape
from tapediff.transforms.lanes.skewed import skewed, straightened

LANES, CELLS = 4, 7
ROWS = np.arange(1.0, 1.0 + LANES * CELLS).reshape(LANES, CELLS)


def applied(move, array):
    """What a move makes of an array."""
    made = Rewriter(Tape((), (), ()))
    given = made.emit(INPUT, (), (0,), ValueType(array.shape, array.dtype), None)
    number = move(made, given)
    return Tape(tuple(made.instructions), (given,), (number,), "f", (0,))(array)


@pytest.mark.parametrize("delay", [1, 2, 3])
@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 2])
def test_each_lane_reads_its_row_some_steps_behind_the_one_before(delay, offset):
    """Entry [s, l] is the one that the cell s - delay · l reads, and 0 where there is none."""
    got = applied(lambda made, x: skewed(made, x, offset, CELLS, delay), ROWS)
    assert got.shape == (CELLS + delay * (LANES - 1), LANES)
    for step, lane in np.ndindex(*got.shape):
        cell = step - delay * lane
        assert got[step, lane] == (ROWS[lane, cell + offset] if 0 <= cell + offset < CELLS else 0.0)


@pytest.mark.parametrize("width", [3, 9])
def test_rows_may_have_more_entries_than_cells_or_fewer(width):
    rows = np.arange(1.0, 1.0 + LANES * width).reshape(LANES, width)
    got = applied(lambda made, x: skewed(made, x, 0, CELLS, 1), rows)
    for lane in range(LANES):
        np.testing.assert_array_equal(got[lane : lane + min(CELLS, width), lane], rows[lane, :CELLS])


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_straightened_undoes_skewed(delay):
    steps = applied(lambda made, x: skewed(made, x, 0, CELLS, delay), ROWS)
    np.testing.assert_array_equal(applied(lambda made, x: straightened(made, x, CELLS, delay), np.ascontiguousarray(steps)), ROWS)
