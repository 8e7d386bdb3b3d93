"""Writes into tracked arrays: what they leave on the tape. What they give is in tests/support/written_programs.py."""

import numpy as np
import pytest

import tapediff as td
from tapediff.base.byte_code import COUNTS_REFERENCES

RNG = np.random.default_rng(3)


def added(places, count, start, ufunc=np.add):
    """A function of as many numbers as there are places, which adds them into an array of `count` entries."""

    def f(x):
        out = start(count)
        ufunc.at(out, places, np.sin(x))
        return out

    return f


STARTS = {
    "zeros": lambda n: np.zeros(n),
    "ones": lambda n: np.ones(n),
    "zeros of both signs": lambda n: np.where(np.arange(n) % 2, -1.0, 1.0) * np.zeros(n),
}


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("start", STARTS)
def test_sums_at_places_that_repeat_are_those_of_numpy(start, ufunc):
    """Value, signs of zeros where nothing is added, and gradient: each number's is that of its place."""
    places = np.array([4, 0, 4, 4, 2, 0, 4])
    f, x, weights = added(places, 6, STARTS[start], ufunc), RNG.normal(size=7), RNG.normal(size=6)
    compiled = td.compile(td.record(f, x))
    for given in (td.record(f, x)(x), compiled(x)):
        # Two orders of adding up to five numbers of about 1 differ by a few units in the last place.
        np.testing.assert_allclose(given, f(x), rtol=0.0, atol=4e-15)
        np.testing.assert_array_equal(np.signbit(given[[1, 3, 5]]), np.signbit(f(x)[[1, 3, 5]]))
    slope = td.gradient(td.compile(lambda x: np.sum(weights * f(x)), x), x)
    expected = (weights if ufunc is np.add else -weights)[places] * np.cos(x)
    np.testing.assert_allclose(slope, expected, rtol=1e-14)  # one sine's derivative times a weight: no sums


@pytest.mark.parametrize("start", STARTS)
def test_a_sum_at_places_takes_as_many_instructions_however_often_they_repeat(start):
    """As edges of graphs and elements of meshes do: two to forty numbers an entry."""
    lengths = {len(td.record(added(np.arange(7 * often) % 7, 7, STARTS[start]), np.ones(7 * often))) for often in (2, 3, 40)}
    assert len(lengths) == 1
    assert lengths.pop() <= 9


def test_sums_at_computed_places_read_and_write_no_single_entries():
    """What is not added to goes through the same subtraction, of zero."""
    places = np.array([1, 0, 1, 1])
    tape = td.record(lambda x: added(td.asarray(places), 3, STARTS["ones"])(x), np.ones(4))
    assert not {"gather", "put"} & {i.op.name for i in tape.instructions}


@pytest.mark.skipif(not COUNTS_REFERENCES, reason="each write makes a copy where references are not counted")
def test_an_entry_is_written_into_the_value_that_nothing_else_holds():
    """Or else a recording that fills an array takes quadratic time; a value that something else shows is left as it was."""
    def f(x):
        y = td.zeros(3)
        before = id(y._value)
        y[0] = x[0]
        assert id(y._value) == before
        held = y._value
        y[1] = x[1]
        assert y._value is not held
        assert held[1] == 0.0
        return y @ y

    td.record(f, np.ones(3))
