"""Routines that find positions, as LLVM text against the same in Python and against NumPy."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing

RNG = np.random.default_rng(5)
PLACES = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan])
FUNCTIONS = {
    "argmax": lambda x: np.argmax(x, axis=0),
    "argmin": lambda x: np.argmin(x, axis=-1),
    "argsort": lambda x: np.argsort(x, axis=0, kind="stable"),
    "argsort of rows": lambda x: np.argsort(x, axis=-1, kind="stable"),
}


@pytest.mark.parametrize("shape", [(1,), (7,), (4, 5), (2, 3, 4), (60,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_positions_are_numpys_in_kernels_and_listings(name, shape):
    """Many ties, zeros of both signs, infinities and NaN; stable orders, NaN last, the first of the largest."""
    f = FUNCTIONS[name]
    compiled = td.compile(lambda x: f(x) + 0, RNG.normal(size=shape))
    for _ in range(40):
        x = RNG.choice(PLACES[: RNG.integers(2, 9)], shape)
        assert np.array_equal(compiled(x), f(x))
        listed = [np.empty(np.shape(f(x)), np.int64)]
        run_listing(compiled.kernel(None).program, [x], listed)
        assert np.array_equal(listed[0], f(x))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("count", [0, 1, 2, 9, 33])
def test_searches_are_numpys_in_kernels_and_listings(side, count):
    """In sorted arrays with ties and NaN at the end."""

    def f(a, v):
        return np.searchsorted(a, v, side=side) + 0

    compiled = td.compile(f, np.arange(float(count)), RNG.normal(size=20))
    for _ in range(40):
        a, v = np.sort(RNG.choice(PLACES, count)), RNG.choice(PLACES, 20)
        v = (v, np.sort(v), np.sort(v)[::-1].copy())[RNG.integers(3)]  # each search begins beside the answer before
        assert np.array_equal(compiled(a, v), f(a, v))
        listed = [np.empty(20, np.int64)]
        run_listing(compiled.kernel(None).program, [a, v], listed)
        assert np.array_equal(listed[0], f(a, v))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("count", [1, 2, 3, 63, 64, 65, 1000])
def test_searches_of_many_values_are_numpys_in_any_order(side, count):
    """Ascending and in no order, between the entries, at them, and beyond both ends; a few of them NaN."""
    compiled = td.compile(lambda a, v: np.searchsorted(a, v, side=side) + 0, np.arange(float(count)), np.zeros(300))
    for _ in range(10):
        a = np.sort(RNG.normal(size=count).round(2))
        v = np.where(RNG.random(300) < 0.5, RNG.choice(a, 300), RNG.normal(size=300) * 2.0)
        v[RNG.random(300) < 0.02] = np.nan
        for order in (v, np.sort(v), np.sort(v)[::-1].copy(), np.concatenate([np.sort(v[:150]), v[150:]])):
            assert np.array_equal(compiled(a, order), np.searchsorted(a, order, side=side))


@pytest.mark.parametrize("find", [np.argmax, np.argmin])
def test_largest_and_smallest_of_integers_that_are_one_double_are_found(find):
    """The first of them, along both axes; in kernels and listings."""
    f = lambda k: find(k, axis=0) + find(k, axis=1)
    k = 2**60 + RNG.integers(0, 50, (9, 9))
    compiled, listed = td.compile(f, td.Constant(k)), [np.empty(9, np.int64)]
    for data in (k, -k, k[::-1].copy()):
        assert np.array_equal(compiled(data), f(data))
        run_listing(compiled.kernel(None).program, [data], listed)
        assert np.array_equal(listed[0], f(data))
