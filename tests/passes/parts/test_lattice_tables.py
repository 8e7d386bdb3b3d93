"""Tables of neighbours on lattices whose sites are numbered row by row become boxes of the lattice."""

import numpy as np
import pytest
from support.passes import without

import tapediff as td
from tapediff.ops.arrays.indexing import GATHER, SCATTER_ADD
from tapediff.passes.parts.lattice_tables import as_lattice
from tapediff.passes.parts.regular_positions import regular_positions
from tapediff.targets.tapes.gradient_tape import gradient_tape

RNG = np.random.default_rng(10)


def neighbours(shape):
    """The sites before and behind each site along each axis, counted round: a column for each."""
    sites = np.arange(np.prod(shape)).reshape(shape)
    return np.stack([np.roll(sites, by, axis).ravel() for axis in range(len(shape)) for by in (1, -1)], axis=1)


SQUARE, CUBE, RING = neighbours((9, 12)), neighbours((6, 5, 8)), neighbours((50,))
TRIANGULAR = np.stack([np.roll(np.arange(80).reshape(8, 10), (a, b), (0, 1)).ravel() for a, b in ((1, 0), (0, 1), (1, 1))], axis=1)
TABLES = {
    "square": SQUARE, "square, a row for each neighbour": SQUARE.T, "cube": CUBE, "ring": RING, "one column": SQUARE[:, 2], "triangular": TRIANGULAR,
    "one column of a cube": CUBE[:, 3], "the first half": SQUARE[:60], "with itself": np.column_stack([np.arange(108), SQUARE]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_reads_by_tables_of_neighbours_are_boxes_with_the_same_values(name):
    """To the bit; and their cotangents are not added entry by entry."""
    table = TABLES[name]
    x = RNG.normal(size=table.max() + 1)
    tape = td.record(lambda x: x[table], x)
    boxes = regular_positions(tape)
    boxes.check()
    assert not any(i.op is GATHER for i in boxes.instructions)
    np.testing.assert_array_equal(boxes(x), x[table])
    joint = gradient_tape(td.record(lambda x: np.sum(np.sin(x[table])), x), (0,))
    assert not any(i.op is SCATTER_ADD for i in joint.instructions)


@pytest.mark.parametrize("name", TABLES)
def test_kernels_and_derivatives_are_those_without_the_pass(name):
    """Those of the positions as they were recorded, by NumPy."""
    table = TABLES[name]
    x, v, weights = RNG.normal(size=table.max() + 1), RNG.normal(size=table.max() + 1), RNG.normal(size=table.shape)

    def f(x):
        for _ in range(5):
            x = x + 0.1 * np.resize(np.sum(np.atleast_2d(np.tanh(x)[table] * weights), axis=-1), x.shape)
        return np.sum(x**3)

    def answers(target):
        return *td.value_and_gradient(target, x), td.hvp(target, x, v)

    by_boxes = answers(td.compile(td.record(f, x)))
    by_positions = without(["regular_positions"], lambda: answers(td.record(f, x)))
    # Sums of hundreds of terms in another order, five steps deep.
    for one, other in zip(by_boxes, by_positions):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * np.max(np.abs(other)))


def test_other_tables_are_left_alone():
    """Of a random graph, of one with a missing neighbour, and of lattices of which one row is longer."""
    missing = SQUARE.copy()
    missing[17, 2] = 17
    longer = np.delete(SQUARE, 30, axis=0)
    for table in (RNG.integers(0, 108, (108, 4)), missing, longer):
        tape = td.record(lambda x, at=table: x[at], np.ones(108))
        assert regular_positions(tape) is tape


def test_the_shape_of_a_lattice_is_found_in_its_table():
    assert as_lattice(SQUARE, 108).shape == (9, 12)
    assert as_lattice(CUBE, 240).shape == (6, 5, 8)
    assert as_lattice(RING, 50).shape == (50,)
    assert as_lattice(SQUARE, 109) is None  # an array of one entry more does not stand in rows
