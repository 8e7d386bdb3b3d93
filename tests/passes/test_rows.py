"""Entries of arrays along their first axis."""

import numpy as np

from tapediff.ir.instruction import ValueType
from tapediff.ir.rewriter import BodyBuilder
from tapediff.ir.tape import Tape
from tapediff.passes.rows import entry_of, joined, part_of

ROWS = np.arange(1.0, 29.0).reshape(4, 7)


def applied(move):
    """What a move makes of the rows."""
    made = BodyBuilder(Tape((), (), ()))
    return made.body([move(made, made.add_input(ValueType(ROWS.shape, ROWS.dtype)))])(ROWS)[0]


def test_parts_of_an_array_join_to_the_array():
    got = applied(lambda made, x: joined(made, [part_of(made, x, 0, 1), part_of(made, x, 1, 3)]))
    np.testing.assert_array_equal(got, ROWS)


def test_an_entry_has_no_first_axis():
    np.testing.assert_array_equal(applied(lambda made, x: entry_of(made, x, 2)), ROWS[2])
