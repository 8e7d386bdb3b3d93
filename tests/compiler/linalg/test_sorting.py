"""The stable order of rows of every length: by ranks, by leading digits, and by all of them."""

import numpy as np
import pytest
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.linalg.sorting import LONG, LONGEST_COUNTED, SHORTEST_WIDE

RNG = np.random.default_rng(12)
LENGTHS = (0, 1, 2, 7, 8, 9, 16, 33, LONGEST_COUNTED, LONGEST_COUNTED + 1, 300, 1000, SHORTEST_WIDE, 9000, LONG)


def with_awkward_numbers(n):
    x = RNG.normal(size=n)
    for value in (np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324):
        x[RNG.random(n) < 0.1] = value
    return x


# Each makes a row of n numbers: with ties, in order, and with keys that leading digits tell apart badly.
ROWS = {
    "normal": lambda n: RNG.normal(size=n),
    "sorted": lambda n: np.sort(RNG.normal(size=n)),
    "reversed with ties": lambda n: np.sort(RNG.integers(0, max(n - 1, 1), n).astype(float))[::-1],
    "reversed": lambda n: np.sort(RNG.normal(size=n))[::-1],
    "nearly sorted": lambda n: np.arange(n) + RNG.normal(size=n),
    "small integers": lambda n: RNG.integers(-3, 4, n).astype(float),
    "one value": lambda n: np.full(n, -2.5),
    "a cluster": lambda n: 1.0 + 1e-12 * RNG.normal(size=n),
    "clusters far apart": lambda n: np.where(RNG.random(n) < 0.5, 1e-12 * RNG.normal(size=n), 1e12 + RNG.random(n)),
    "few values and their neighbours": lambda n: np.nextafter(RNG.integers(0, 3, n).astype(float), RNG.choice([-9.0, 9.0], n)),
    "all magnitudes": lambda n: RNG.choice([-1.0, 1.0], n) * np.exp(RNG.uniform(-700.0, 700.0, n)),
    "random bits": lambda n: RNG.integers(-(2**63), 2**63 - 1, n).view(np.float64),
    "awkward numbers": with_awkward_numbers,
}


@pytest.fixture(scope="module")
def compiled():
    """Orders and sorted values of a row, by its length."""

    def both(x):
        return np.argsort(x, kind="stable"), np.sort(x), np.argsort(x[::-1], kind="stable")

    return {n: td.compile(both, RNG.normal(size=n)) for n in LENGTHS}


@pytest.mark.parametrize("kind", ROWS)
def test_orders_are_numpys_stable_ones_at_every_length(compiled, kind):
    """Ties in the order they were in, zeros of both signs among each other too; NaN last."""
    for n in LENGTHS:
        x = ROWS[kind](n)
        order, values, backwards = compiled[n](x)
        assert np.array_equal(order, np.argsort(x, kind="stable")), n
        assert np.array_equal(values, x[order], equal_nan=True), n
        assert np.array_equal(backwards, np.argsort(x[::-1], kind="stable")), n


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 200, 3), (150, 2, 2), (2, 3, 140)])
def test_rows_of_every_axis_are_sorted(shape, axis):
    """Rows of numbers that are not side by side; every row from the same scratch."""
    f = lambda x: np.argsort(x, axis=axis, kind="stable") + 0
    compiled = td.compile(f, RNG.normal(size=shape))
    for x in (RNG.normal(size=shape), RNG.integers(0, 5, shape).astype(float)):
        assert np.array_equal(compiled(x), f(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_sorted_values_and_medians_are_those_of_the_entries(dtype):
    """The gradient of a weighted sum of the sorted entries is the weight of each entry's place; of long rows and of either type."""
    x = RNG.normal(size=(3, 501)).astype(dtype)
    weights = RNG.normal(size=501).astype(dtype)
    target = td.compile(lambda x: np.sum(np.sort(x, axis=1) * weights) + np.sum(np.median(x, axis=1)), x)
    ranks = np.argsort(np.argsort(x, axis=1), axis=1)
    gradient = td.gradient(target, x)
    assert gradient.dtype == dtype
    assert np.array_equal(gradient, weights[ranks] + (ranks == 250))


def test_integers_and_masks_are_sorted_as_numbers():
    """As data of a kernel; integers that are not doubles too."""
    f = lambda x, k: x[np.argsort(k, kind="stable")] * 1.0
    for n in (20, 700):
        for data in (RNG.integers(-50, 50, n), RNG.random(n) < 0.5, 2**62 + RNG.integers(0, 9, n), RNG.integers(-(2**63), 2**63 - 1, n)):
            compiled, x = td.compile(f, RNG.normal(size=n), td.Constant(data)), RNG.normal(size=n)
            assert np.array_equal(compiled(x, data), f(x, data))


@pytest.mark.parametrize("n", [20, 700])
def test_integers_that_are_one_double_are_told_apart(n):
    """By the kernel and its listing."""
    f = lambda k: np.argsort(k, kind="stable") + 0
    k = 2**60 + RNG.integers(0, 50, n)
    compiled, listed = td.compile(f, td.Constant(k)), [np.empty(n, np.int64)]
    for data in (k, -k, np.concatenate([k[1:], [2**63 - 1]]), np.concatenate([[-(2**63)], k[1:]])):
        assert np.array_equal(compiled(data), f(data))
        run_listing(compiled.kernel(None).program, [data], listed)
        assert np.array_equal(listed[0], f(data))


def test_the_work_grows_with_the_length_and_not_with_its_square():
    """Eight times the numbers take far less than 64 times as long; 8 to 11 times when it was measured."""

    def sorting(n):
        target, x = td.compile(lambda x: np.sort(x)[0], RNG.normal(size=n)), RNG.normal(size=n)
        return lambda: target(x)

    assert times_as_long(sorting(64_000), sorting(8_000), limit=30) < 30
