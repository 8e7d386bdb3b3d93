"""Reads and writes at equal positions: what is added to entries that were written, or read, written or selected there."""

import numpy as np
import pytest

from tapediff.ir.instruction import BOOL, CONSTANT, FLOAT64, INPUT, INT64, ValueType
from tapediff.ir.interpreter import run
from tapediff.ir.rewriter import Rewriter
from tapediff.ir.tape import Tape
from tapediff.ops.arrays.indexing import GATHER, PUT, SCATTER_ADD
from tapediff.ops.arrays.shape import BROADCAST
from tapediff.ops.elementwise.arithmetic import ADD, NEGATIVE
from tapediff.ops.elementwise.comparison import SELECT
from tapediff.passes.simplify.dead_code import dead_code
from tapediff.passes.simplify.equal_positions import equal_positions

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
    made = equal_positions(tape)
    np.testing.assert_array_equal(run(made, point)[0], run(tape, point)[0])
    used = {i for instruction in made.instructions for i in instruction.inputs}
    assert not any(i.op is SCATTER_ADD and n in used for n, i in enumerate(made.instructions))
    assert (made.outputs == made.inputs[:1]) == (written == "zeros")


AT, OTHERS = np.array([4, 1]), np.array([0, 4])


def of_one_array(rule):
    """A tape of an array, two values for its entries, and a test, that a rule shortens; and one that is like it, but at other positions."""
    made = Rewriter(Tape((), (), (), "rule", (), True))
    types = (ValueType((6,), FLOAT64), ValueType((2,), FLOAT64), ValueType((2,), FLOAT64), ValueType((), BOOL))
    x, w, v, test = (made.emit(INPUT, (), (k,), type_, None) for k, type_ in enumerate(types))
    at, others = (made.constant(places, ValueType((2,), INT64)) for places in (AT, OTHERS))

    def put(array, values, places=at):
        return made.make(PUT, (array, values, places), (True,))

    def select(a, b):
        return made.make(SELECT, (test, a, b))

    result = {
        "read what is written": lambda: made.make(GATHER, (put(x, w), at)),
        "written twice": lambda: put(put(x, w), v),
        "written as it is": lambda: put(x, made.make(GATHER, (x, at))),
        "written on the first side": lambda: select(put(x, w), x),
        "written on the second side": lambda: select(x, put(x, w)),
        "written on both sides": lambda: select(put(x, w), put(x, v)),
        "selected on one side": lambda: put(x, select(w, select(v, made.make(GATHER, (x, at))))),
        "read elsewhere": lambda: made.make(GATHER, (put(x, w), others)),
        "written elsewhere": lambda: put(put(x, w), v, others),
        "written apart": lambda: select(put(x, w), put(x, v, others)),
    }[rule]()  # fmt: skip
    return Tape(tuple(made.instructions), (x, w, v, test), (result,), "rule", (0, 1, 2), True)


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ("read what is written", []), ("written twice", [PUT]), ("written as it is", []), ("written on the first side", [GATHER, PUT, SELECT]),
        ("written on the second side", [GATHER, PUT, SELECT]), ("written on both sides", [PUT, SELECT]),
        ("selected on one side", [GATHER, PUT, SELECT]), ("read elsewhere", [GATHER, PUT]), ("written elsewhere", [PUT, PUT]),
        ("written apart", [PUT, PUT, SELECT]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("test", [True, False])
def test_entries_at_equal_positions_are_one(rule, left, test):
    """The tape has the values of before, and these instructions; of other positions all."""
    tape, point = of_one_array(rule), [np.arange(1.0, 7.0), np.array([0.25, -8.0]), np.array([3.0, 9.0]), np.array(test)]
    made = dead_code(equal_positions(tape))
    made.check()
    np.testing.assert_array_equal(run(made, point)[0], run(tape, point)[0])
    assert sorted((i.op for i in made.instructions if i.op not in (INPUT, CONSTANT)), key=lambda op: op.name) == left
