"""Parts of vectors, strided lanes and computed places hold what NumPy says, and nothing is written beside them."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.vector_memory import pieces

RNG = np.random.default_rng(11)
ROWS = 23
PLACES = RNG.integers(-ROWS, ROWS, 64)
# Each row several times, one after the other: what one addition stores the next one loads.
REPEATED = np.repeat(np.arange(16), 4)
WEIGHTS = RNG.normal(size=64)


def gathered_rows(x):
    return np.sum(np.sin(x[PLACES] - x[REPEATED]) * WEIGHTS[:, None])


def scattered_rows(x):
    y = np.zeros(x.shape)
    np.add.at(y, REPEATED, x[PLACES] ** 2)
    np.subtract.at(y, PLACES, x[REPEATED] * WEIGHTS[:, None])
    return np.sum(y**2)


def largest_rows(x):
    y = np.full(x.shape, -0.5)
    np.maximum.at(y, REPEATED, x[PLACES])
    return np.sum(y**2)


def places_of_numbers(x):
    flat = np.reshape(x, -1)
    return np.sum(flat[PLACES % flat.size] * flat[REPEATED % flat.size] * WEIGHTS)


def columns(x):
    return np.sum(x[:, 0] * np.exp(x[:, -1]) + x[:, x.shape[1] // 2] ** 2)


def every_second(x):
    return np.sum(x[::2] ** 2) + np.sum(np.sin(x[:, ::2])) + np.sum(x[1::3, ::-2] ** 3)


def reversed_rows(x):
    return np.sum(x * x[:, ::-1] ** 2) + np.sum(np.exp(x) * x[::-1, ::-1])


def masked(x):
    return np.sum(np.where((x > 0) & (x[:, ::-1] < 1), x**2, np.where(x[::-1] > 0, -x, 3.0 * x)))


FUNCTIONS = (gathered_rows, scattered_rows, largest_rows, places_of_numbers, columns, every_second, reversed_rows, masked)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 17])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_rows_of_all_widths_are_those_of_numpy(f, width):
    """The kernel's value and gradient, at a point other than the recorded one, are NumPy's replay of the tape; this is f's value."""
    recorded, x = np.random.default_rng(width).normal(size=(2, ROWS, width))
    compiled, tape = td.compile(f, recorded), td.record(f, recorded)
    value, gradient = td.value_and_gradient(compiled, x)
    expected, expected_gradient = td.value_and_gradient(tape, x)
    # 1e-13: sums of up to 400 terms in other orders.
    assert value == pytest.approx(f(x), rel=1e-13, abs=1e-12)
    assert value == pytest.approx(expected, rel=1e-13, abs=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [3, 7, 11])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_replay_agrees_with_finite_differences(f, width):
    x = np.random.default_rng(width).normal(size=(ROWS, width))
    td.testing.check_gradient(td.record(f, x), f, x)


@pytest.mark.parametrize("width", [3, 7, 13])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_nothing_is_written_beside_the_result(f, width):
    x = np.random.default_rng(width).normal(size=(ROWS, width))
    room, compiled = np.full(x.size + 32, 7.0), td.compile(f, x)
    out = room[16:-16].reshape(x.shape)
    np.testing.assert_array_equal(td.gradient(compiled, x, out=out), td.gradient(compiled, x))
    assert np.all(room[:16] == 7.0)
    assert np.all(room[-16:] == 7.0)


@pytest.mark.parametrize("width", range(1, 18))
def test_results_that_are_masks_reversed_and_strided_are_whole(width):
    """Results of all kinds that are stored in part of a vector or apart from each other."""

    def f(x):
        y = td.zeros((2 * ROWS, x.shape[1] + 1))
        y[::2, :-1] = x * 2.0
        y[1::2, :0:-1] = x
        return y

    x = np.random.default_rng(width).normal(size=(ROWS, width))
    np.testing.assert_array_equal(td.compile(f, x)(x), f(x))
    np.testing.assert_array_equal(td.compile(f, x)(-x), f(-x))


@pytest.mark.parametrize("active", range(17))
def test_pieces_are_powers_of_two_in_a_row(active):
    parts = list(pieces(active))
    assert [lane for first, length in parts for lane in range(first, first + length)] == list(range(active))
    assert all(length & (length - 1) == 0 for _, length in parts)
