"""Boxes of arrays that are written at positions are read and written at positions, where one line takes several."""

import numpy as np
import pytest

from tapediff.ir.instruction import FLOAT64, INPUT, INT64, ValueType
from tapediff.ir.interpreter import run
from tapediff.ir.rewriter import Rewriter
from tapediff.ir.tape import Tape
from tapediff.ops.arrays.indexing import GATHER, INDEX, PUT, REPLACE, Region
from tapediff.ops.arrays.regions import Regions
from tapediff.passes.rolling.reads_by_position import reads_by_position

READ, WRITTEN = [((0, 1), (2, 2)), ((1, 0), (2, 2)), ((2, 2), (2, 2))], [((0, 0), (2, 2)), ((2, 2), (2, 2))]


def box(starts, counts):
    return Region(starts, (1, 1), counts, counts)


def read_and_written(read, written):
    """A matrix of order 4 with two entries written at positions, some boxes of it, and the matrix after writes of a box of it to others."""
    made = Rewriter(Tape((), (), (), "boxes"))
    x, v = (made.emit(INPUT, (), (k,), ValueType(shape, FLOAT64), None) for k, shape in ((0, (4, 4)), (1, (2,))))
    array = made.make(PUT, (x, v, made.constant(np.array([5, 10]), ValueType((2,), INT64))), (True,))
    boxes = [made.make(INDEX, (array,), (box(*each),)) for each in read]
    part = boxes[0] if boxes else made.constant(np.full((2, 2), 7.0), ValueType((2, 2), FLOAT64))
    for each in written:
        array = made.make(REPLACE, (array, part), (Regions((box(*each),)),))
    return Tape(tuple(made.instructions), (x, v), (*boxes, array), "boxes")


@pytest.mark.parametrize(("read", "written"), [(READ, []), (READ, WRITTEN), (READ[:1], WRITTEN), (READ[:1], WRITTEN[:1]), ([], WRITTEN)])
def test_several_boxes_are_read_and_written_at_positions(read, written):
    """A box alone stays one; the values are the same."""
    tape, point = read_and_written(read, written), [np.arange(16.0).reshape(4, 4), np.array([-1.0, -2.0])]
    made = reads_by_position(tape)
    for mine, expected in zip(run(made, point), run(tape, point), strict=True):
        np.testing.assert_array_equal(mine, expected)
    ops = [i.op for i in made.instructions]
    reads, writes = len(read), len(written)
    assert (ops.count(GATHER), ops.count(INDEX)) == ((reads, 0) if reads > 1 else (0, reads))
    assert (ops.count(PUT), ops.count(REPLACE)) == ((1 + writes, 0) if writes > 1 else (1, writes))
