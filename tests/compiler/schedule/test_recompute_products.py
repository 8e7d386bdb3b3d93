"""Stacks of products run in blocks of matrices, and are computed again behind values of all rows: the same bits in less memory."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler import pipeline as build
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import RoutineCall, RowBlocks
from tapediff.compiler.schedule import recompute_products, row_blocking

rng = np.random.default_rng(6)


@pytest.fixture
def small(monkeypatch):
    """Blocks and second products for arrays of any size."""
    monkeypatch.setattr(row_blocking, "SMALLEST_SHARED", 1)
    monkeypatch.setattr(row_blocking, "BLOCK_BYTES", 1)
    monkeypatch.setattr(row_blocking, "SHORTEST_MATRIX", 1)
    monkeypatch.setattr(recompute_products, "SMALLEST", 1)


def mixture(x, count):
    """Squares of products, and a log-sum-exp over the stack."""
    d = x.shape[1]

    def f(u):
        factor, mean = np.reshape(u[: count * d * d], (count, d, d)), np.reshape(u[count * d * d :], (count, 1, d))
        each = -0.5 * np.sum(np.matmul(x - mean, factor) ** 2, axis=2)
        most = np.max(each, axis=0)
        return np.sum(most + np.log(np.sum(np.exp(each - most), axis=0)))

    return f


def two_products(x, count):
    """Both are read again at one place."""
    d = x.shape[1]

    def f(u):
        factor, mean = np.reshape(u[: count * d * d], (count, d, d)), np.reshape(u[count * d * d :], (count, 1, d))
        first, second = np.matmul(x - mean, factor), np.matmul(x * mean, np.transpose(factor, (0, 2, 1)))
        each = np.sum(first**2, axis=2) + np.sum(np.tanh(second), axis=2)
        return np.sum(np.exp(each / (1.0 + np.sum(each, axis=0))))

    return f


def chain(x, count):
    """A product of a product."""
    d = x.shape[1]

    def f(u):
        factor, mean = np.reshape(u[: count * d * d], (count, d, d)), np.reshape(u[count * d * d :], (count, 1, d))
        each = np.sum(np.tanh(np.matmul(np.tanh(np.matmul(x - mean, factor)), factor)), axis=(1, 2))
        return np.log(np.sum(np.exp(each)))

    return f


def guarded(x, count):
    """Whether the second product is needed is found out between the two."""
    inner = mixture(x, count)

    def f(u):
        value = inner(u)
        return value if value < 1e9 else u[0]

    return f


def across(x, count):
    """Sums over the stack are not row by row, and the product is read off by one matrix."""
    d = x.shape[1]

    def f(u):
        factor, mean = np.reshape(u[: count * d * d], (count, d, d)), np.reshape(u[count * d * d :], (count, 1, d))
        white = np.matmul(x - mean, factor)
        return np.sum((white[1:] - white[:-1]) ** 2) + np.sum(np.sum(white, axis=0) ** 2)

    return f


MODELS = {f.__name__: f for f in (mixture, two_products, chain, guarded, across)}


@pytest.mark.parametrize(("name", "count", "n", "d"), [*((name, 16, 9, 8) for name in MODELS), ("two_products", 21, 13, 9)])
def test_second_products_change_no_bit(name, count, n, d, small, monkeypatch):
    """Value and gradient with them, without, by the listing and by NumPy."""
    x, u = rng.normal(size=(n, d)), 0.3 * rng.normal(size=count * d * (d + 1))
    f = MODELS[name](x, count)
    again = td.compile(f, u)
    value, gradient = td.value_and_gradient(again, u)
    program = again.kernel((0,)).program
    if name in ("mixture", "two_products", "guarded"):
        assert any(isinstance(g, RowBlocks) and any(isinstance(m, RoutineCall) for m in g.nests) for g in program.groups)
    listed = [np.empty(()), np.empty(len(u))]
    run_listing(program, [u], listed)
    # Sums in another order.
    np.testing.assert_allclose(listed[0], value, rtol=1e-11)
    np.testing.assert_allclose(listed[1], gradient, rtol=1e-10, atol=1e-11)
    expected = td.value_and_gradient(again.tape, u)
    np.testing.assert_allclose(value, expected[0], rtol=1e-11)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-11)
    monkeypatch.setattr(build, "block_rows", lambda groups, storages, cuts: (groups, storages))
    monkeypatch.setattr(build, "recompute_products", lambda groups, storages: (groups, storages, []))
    plain = td.compile(f, u)
    assert (value, gradient.tobytes()) == (td.value_and_gradient(plain, u)[0], td.gradient(plain, u).tobytes())
    if name in ("mixture", "two_products", "guarded") and n * d % 8 == 0:  # others are not cut at every matrix
        assert again.kernel((0,)).workspace_bytes < 0.7 * plain.kernel((0,)).workspace_bytes


def test_small_stacks_are_kept():
    """A product is not computed twice where it fits into the cache."""
    x, u = rng.normal(size=(9, 8)), 0.3 * rng.normal(size=16 * 72)
    groups = td.compile(mixture(x, 16), u).kernel((0,)).program.groups
    calls = [item for group in groups for item in group.body if isinstance(item, RoutineCall)]
    assert len(calls) == 3
