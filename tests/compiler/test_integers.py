"""Integer division in kernels."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing

LEAST, MOST = -(2**63), 2**63 - 1
EDGES = np.array(
    [0, 1, -1, 2, -2, 3, -7, 1000, 2**31, -(2**31) - 1, 2**53 - 1, 2**53 + 1, -(2**53) - 1, MOST - 1, MOST, LEAST, LEAST + 1]
)
PAIRS = tuple(np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1))


# NumPy warns of divisions by zero and of -2**63 // -1, also while recording.
silent = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def quotients(x, y):
    return x // y, x % y


@silent
@pytest.mark.parametrize("size", [1, 5, PAIRS[0].size])
def test_integer_division_is_numpys_for_all_64_bits(size):
    """Quotients and remainders at 0, -1, both ends of the range and beyond 2**53, in kernels, listings and replays."""
    parts = [tuple(p[k : k + size].copy() for p in PAIRS) for k in range(0, PAIRS[0].size - size + 1, size)]
    tape = td.record(quotients, *map(td.Constant, parts[0]))
    compiled = td.compile(tape)
    for part in parts:
        expected = quotients(*part)
        assert np.array_equal(compiled(*map(td.Constant, part)), expected)
        assert np.array_equal(tape(*map(td.Constant, part)), expected)
    listed = [np.empty(size, np.int64) for _ in range(2)]
    run_listing(compiled.kernel(None).program, parts[-1], listed)
    assert np.array_equal(listed, expected)


@silent
@pytest.mark.parametrize("divisor", [1000, -1000, 1, -1, 0, 2**40])
def test_division_by_a_constant_is_exact(divisor):
    """The divisor stands in the code itself, where compilers turn divisions into multiplications."""
    compiled = td.compile(lambda k: (k // divisor, k % divisor), td.Constant(EDGES))
    expected = EDGES // divisor, EDGES % divisor
    assert np.array_equal(compiled(td.Constant(EDGES)), expected)


def test_large_counters_keep_their_last_digits():
    """2**53 + 1 is no float, and its last digits decide."""

    def f(x):
        k = td.zeros(6, dtype=np.int64)
        k[0] = 2**53 + 1
        return x * (k[0] % 1000)

    assert td.compile(f, 1.0)(1.0) == f(1.0) == (2**53 + 1) % 1000
    assert td.gradient(td.compile(f, 1.0), 1.0) == 993.0
