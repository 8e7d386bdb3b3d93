"""Arrays repeated along axes: as NumPy's, as copies, and by sums in the reverse pass."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.arrays.indexing import GATHER, SCATTER_ADD
from tapediff.targets.tapes.gradient_tape import gradient_tape

CALLS = {
    "tile": lambda x: np.tile(x, 3), "tile twice": lambda x: np.tile(x, (2, 1, 3)), "tile by a NumPy number": lambda x: np.tile(x, np.int64(2)),
    "repeat": lambda x: np.repeat(x, 3), "repeat rows": lambda x: np.repeat(x, 2, axis=0), "repeat columns": lambda x: np.repeat(x, np.int64(4), -1),
    "larger pixels": lambda x: x.repeat(2, 0).repeat(2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_repeated_arrays_are_numpys_and_their_cotangents_sums(name):
    """No look-up by position, whose cotangent would be added entry by entry."""
    f, x = CALLS[name], np.random.default_rng(4).normal(size=(3, 5))
    weights = np.random.default_rng(5).normal(size=f(x).shape)
    tape = td.record(lambda x: np.sum(f(x) * weights), x)
    assert not {GATHER, SCATTER_ADD} & {i.op for i in gradient_tape(tape, (0,)).instructions}
    np.testing.assert_array_equal(td.record(f, x)(x), f(x))
    # Each entry's slope is the sum of up to six weights.
    expected = [np.sum(f(np.arange(15).reshape(3, 5) == k) * weights) for k in range(15)]
    np.testing.assert_allclose(td.gradient(td.compile(tape), x).ravel(), expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("function", [np.tile, np.repeat])
def test_an_array_repeated_once_is_a_copy(function):
    """A write to it leaves the array alone."""

    def f(x):
        once = function(x, 1)
        once[0] = 5.0
        return np.sum(x**2) * np.sum(once)

    x = np.arange(3.0)
    assert td.record(f, x)(x) == f(x)


@pytest.mark.parametrize("f", [lambda x: np.repeat(x, 2, axis=2), lambda x: np.repeat(x, -1), lambda x: np.tile(x, -1)])
def test_errors_are_numpys(f):
    x = np.ones((2, 3))
    with pytest.raises(Exception) as plain:
        f(x)
    with pytest.raises(plain.type):
        td.record(f, x)
