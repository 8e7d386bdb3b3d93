"""Entries that are written at positions: integers, and positions that do not repeat."""

import numpy as np
import pytest

import tapediff as td


def test_integers_written_at_positions_stay_integers():
    """Also where floats would not hold them, and the positions are known at run time only."""

    def f(x, a, at):
        b = a * 1
        b[at] = a[:2]
        return x, b

    a, at = np.array([3**37, 5, 7]), np.array([2, 1])
    tape = td.record(f, 1.5, td.Constant(a), td.Constant(at))
    found = tape(1.5, a, at)[1]
    assert found.dtype == np.int64
    assert found.tolist() == [3**37, 5, 3**37]


@pytest.mark.parametrize(
    ("index", "is_known"),
    [
        (lambda k: (k, slice(None)), True), (lambda k: (slice(1, 3), k), True), (lambda k: (np.stack([k, k + 1]), 0), False),
        (lambda k: (np.stack([k, k]), slice(None)), False),
    ],
    ids=["a row", "a part of a column", "two entries", "a row twice"],
)  # fmt: skip
def test_positions_of_rows_are_distinct(index, is_known):
    """Constant positions to which a number of the call is added do not repeat; others may."""

    def f(x, k):
        made = np.zeros((4, 5)) * x
        made[index(k)] = 2.0 * x
        return made

    tape = td.record(f, 1.5, td.Constant(2))
    (write,) = [i for i in tape.instructions if i.op.name == "put"]
    assert write.params == (is_known,)
    expected = np.zeros((4, 5))
    expected[index(np.int64(2))] = 3.0
    np.testing.assert_array_equal(tape(1.5, td.Constant(2)), expected)
