"""What is added to entries that were just written is added to what is written there."""

import numpy as np
import pytest

from tapediff.ir.instruction import FLOAT64, INPUT, INT64, ValueType
from tapediff.ir.interpreter import run
from tapediff.ir.rewriter import Rewriter
from tapediff.ir.tape import Tape
from tapediff.ops.arrays.indexing import GATHER, PUT, SCATTER_ADD
from tapediff.ops.arrays.shape import BROADCAST
from tapediff.ops.elementwise.arithmetic import ADD, NEGATIVE
from tapediff.passes.simplify.added_to_writes import added_to_writes

PLACES = np.array([4, 1])


def written_then_added_to(written):
    """put(x, w, places) + scatter_add(gather(x, places), places), by what w is."""
    made = Rewriter(Tape((), (), (), "written", (), True))
    x, v = (made.emit(INPUT, (), (k,), ValueType((n,), FLOAT64), None) for k, n in ((0, 6), (1, 2)))
    at = made.constant(PLACES, ValueType((2,), INT64))
    w = {
        "an input": lambda: v, "a function": lambda: made.make(NEGATIVE, (v,)), "zeros": lambda: made.constant(np.zeros(2), ValueType((2,), FLOAT64)),
        "numbers": lambda: made.constant(np.array([0.0, 3.0]), ValueType((2,), FLOAT64)),
        "a broadcast number": lambda: made.make(BROADCAST, (made.constant(2.0, ValueType((), FLOAT64)),), ((2,),)),
    }[written]()  # fmt: skip
    read = made.make(GATHER, (x, at))
    total = made.make(ADD, (made.make(PUT, (x, w, at), (True,)), made.make(SCATTER_ADD, (read, at), ((6,),))))
    return Tape(tuple(made.instructions), (x, v), (total,), "written", (0, 1), True)


@pytest.mark.parametrize("written", ["an input", "a function", "zeros", "numbers", "a broadcast number"])
def test_what_is_written_counts_whatever_it_is(written):
    """The sum is gone, of zeros the write, too; the values are the same."""
    tape, point = written_then_added_to(written), [np.arange(1.0, 7.0), np.array([0.25, -8.0])]
    made = added_to_writes(tape)
    np.testing.assert_array_equal(run(made, point)[0], run(tape, point)[0])
    used = {i for instruction in made.instructions for i in instruction.inputs}
    assert not any(i.op is SCATTER_ADD and n in used for n, i in enumerate(made.instructions))
    assert (made.outputs == made.inputs[:1]) == (written == "zeros")
