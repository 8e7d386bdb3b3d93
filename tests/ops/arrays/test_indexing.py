"""Integers that are written at positions."""

import numpy as np

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
