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


SHIFTS = {">>": lambda x, k: x >> k, "<<": lambda x, k: x << k}


@silent
@pytest.mark.parametrize("takes", ["a plain count", "plain counts", "counts that are data", "a plain array"])
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_are_numpys_by_every_count(name, takes):
    """By 63, 64 and more, by negative ones, of both ends of the range: int64 has no 2**63, and floats hold no more than 2**53."""
    shift = SHIFTS[name]
    for count in (0, 1, 31, 53, 54, 62, 63, 64, 100, -1, -70, LEAST, MOST):
        counts, expected = np.full(EDGES.size, count), shift(EDGES, np.int64(count))
        given = {"a plain count": count, "plain counts": counts}.get(takes, None)
        if given is not None:
            f, first, arguments = lambda x: shift(x, given), [EDGES], [EDGES]
        elif takes == "a plain array":
            f, first, arguments = lambda k: shift(EDGES, k), [EDGES * 0], [counts]
        else:
            f, first, arguments = shift, [EDGES, EDGES * 0], [EDGES, counts]
        tape = td.record(f, *map(td.Constant, first))
        for target in (tape, td.compile(tape)):
            assert np.array_equal(target(*map(td.Constant, arguments)), expected)


def test_a_python_int_is_not_shifted_by_a_negative_count():
    """In a sub-tape, where ints are data, as outside of it."""
    f = td.subtape(lambda x, n: x * (n >> (n - 3)))
    g = lambda x, n: f(x, n)
    assert td.compile(lambda x: g(x, 5), 2.0)(2.0) == 2.0 * (5 >> 2)
    for call in (lambda: g(2.0, 1), lambda: td.record(lambda x: g(x, 1), 2.0)):
        with pytest.raises(ValueError, match="negative shift count"):
            call()
