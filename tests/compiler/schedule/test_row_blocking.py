"""Nests in row blocks give the bits that they give one after the other, read large arrays once, and leave guards where they are."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler import pipeline as build
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.dependencies import read_by
from tapediff.compiler.loop_ir.program import RowBlocks
from tapediff.compiler.schedule import row_blocking

rng = np.random.default_rng(5)


@pytest.fixture
def small_blocks(monkeypatch):
    """Row blocks for arrays of any size, in the shortest blocks."""
    monkeypatch.setattr(row_blocking, "SMALLEST_SHARED", 1)
    monkeypatch.setattr(row_blocking, "BLOCK_BYTES", 1)
    monkeypatch.setattr(row_blocking, "SHORTEST_BLOCK", 8)


def logistic(X, y):
    return lambda b: np.sum(y * (X @ b[1:] + b[0]) - np.logaddexp(0.0, X @ b[1:] + b[0])) - 0.5 * np.sum(b**2)


def linear(X, y):
    def f(b):
        sigma = np.exp(b[0])
        return -np.sum(((y - X @ b[1:]) / sigma) ** 2) / 2 - len(y) * np.log(sigma)

    return f


def gathered(X, y):
    rows = np.random.default_rng(1).integers(0, len(y), len(y))
    return lambda b: np.sum(np.logaddexp(0.0, (X[rows] @ b[1:]) * y) + b[0] ** 2)


def mixture(X, y):
    """Reductions within rows, one after the other, and their derivatives."""

    def f(b):
        logits = X * b[1:] + b[0] * y[:, None]
        most = np.max(logits, axis=1)
        return np.sum(most + np.log(np.sum(np.exp(logits - most[:, None]), axis=1)))

    return f


def single(X, y):
    X, y = X.astype(np.float32), y.astype(np.float32)
    return lambda b: np.sum(np.tanh(X @ b[1:].astype(np.float32)) * y) + b[0] ** 2


def normalised(X, y):
    """The second product waits for a sum over all rows."""

    def f(b):
        z = X @ b[1:]
        return np.sum(y * np.exp(z - np.log(np.sum(np.exp(z))))) + b[0]

    return f


def in_the_middle(X, y):
    """A reduction over an axis between others, whose sums begin at zero in every block."""

    def f(b):
        sums = np.sum(np.exp(X[:, None, :] * b[1:] * np.array([0.5, 1.0, 2.0])[:, None]), axis=1)
        return np.sum(np.log(sums) * np.tanh(y)[:, None]) + b[0]

    return f


def columns_first(X, y):
    return lambda b: np.sum((b[1:] @ np.ascontiguousarray(X.T) - y) ** 2) * b[0]


def scattered(X, y):
    groups = np.random.default_rng(2).integers(0, X.shape[1], len(y))
    return lambda b: np.sum((X @ b[1:] + b[1:][groups] - y) ** 2) + b[0]


def both_ways(X, y):
    """Rows off by one: not the row that was written."""

    def f(b):
        z = X @ b[1:]
        return np.sum((z[1:] - z[:-1]) ** 2 * y[1:]) + np.sum(z * z[::-1]) * b[0]

    return f


def cumulative(X, y):
    return lambda b: np.sum(np.cumsum(X @ b[1:]) * y * 0.01) + b[0]


MODELS = {f.__name__: f for f in (logistic, linear, gathered, mixture, single, normalised, columns_first, scattered, both_ways, cumulative, in_the_middle)}  # fmt: skip


def sample(n, d):
    generator = np.random.default_rng(n + d)
    return generator.normal(size=(n, d)), generator.normal(size=n), 0.1 * generator.normal(size=d + 1)


def forms(compiled):
    return [type(group) for group in compiled.kernel((0,)).program.groups]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("n", "d"), [(16, 3), (17, 8), (24, 1), (33, 9), (63, 16), (100, 70), (129, 5)])
def test_row_blocks_change_no_bit(name, n, d, small_blocks, monkeypatch):
    """Value and gradient in row blocks, without, by the listing and by NumPy; with whole and with cut blocks and vectors."""
    X, y, b = sample(n, d)
    f = MODELS[name](X, y)
    blocked = td.compile(f, b)
    value, gradient = td.value_and_gradient(blocked, b)
    program = blocked.kernel((0,)).program
    assert RowBlocks in forms(blocked) or name in ("columns_first", "cumulative") or d == 1 or n == 16
    listed = [np.empty(()), np.empty(d + 1)]
    run_listing(program, [b], listed)
    # Sums in another order.
    np.testing.assert_allclose(listed[0], value, rtol=1e-11)
    np.testing.assert_allclose(listed[1], gradient, rtol=1e-10, atol=1e-11)
    if name == "single":
        # NumPy sums in 32 bits.
        np.testing.assert_allclose(value, f(b), rtol=1e-5)
    else:
        td.testing.check_gradient(blocked, f, b, rtol=1e-5)
    monkeypatch.setattr(build, "block_rows", lambda groups, storages, cuts: (groups, storages))
    plain = td.compile(f, b)
    assert RowBlocks not in forms(plain)
    assert value == td.value_and_gradient(plain, b)[0]
    assert np.array_equal(gradient, td.gradient(plain, b))


@pytest.mark.parametrize("name", ["logistic", "linear", "gathered", "mixture", "scattered"])
def test_large_models_run_in_row_blocks(name):
    """With the limits as they are, and no array of as many numbers as the matrix in the workspace: at most two of one a row."""
    X, y, b = sample(4000, 12)
    compiled = td.compile(MODELS[name](X, y), b)
    assert forms(compiled).count(RowBlocks) == 1
    assert compiled.kernel((0,)).workspace_bytes < 90_000


def test_a_matrix_is_read_by_one_group():
    """Product and transposed product: the matrix comes from memory once."""
    X, y, b = sample(3000, 10)
    program = td.compile(logistic(X, y), b).kernel((0,)).program
    matrix = max(program.storages, key=lambda s: s.size if s.home == "constant" else 0)
    users = [g for g in program.groups if any(matrix.number in read_by(item) for item in g.body)]
    assert [type(g) for g in users] == [RowBlocks]
    assert len(users[0].nests) == 3


def test_small_models_do_not():
    X, y, b = sample(100, 10)
    assert RowBlocks not in forms(td.compile(logistic(X, y), b))


@pytest.mark.parametrize("at", ["sum", "row", "argument"])
def test_guards_hold_between_the_nests(at, small_blocks):
    """A branch on a result of the first nest; where it fails, the gradient is not touched."""
    X, y, b = sample(40, 4)

    def f(b):
        z = X @ b[1:]
        seen = {"sum": lambda: np.sum(z), "row": lambda: z[3], "argument": lambda: b[0]}[at]()
        if seen > 0:
            z = z * 2.0
        return np.sum(np.exp(z) * y) * b[0]

    compiled = td.compile(f, b)
    assert RowBlocks in forms(compiled)
    td.testing.check_gradient(compiled, f, b)
    out = np.full(b.shape, 7.0)
    with pytest.raises(td.GuardFailed):
        td.value_and_gradient(compiled, -b, out=out)
    assert np.all(out == 7.0)
    guarded = td.GuardedTape(f)
    for point in (b, -b, 2 * b, -0.5 * b):
        td.testing.check_gradient(guarded, f, point)


def test_indices_are_used_behind_the_guards_that_check_them(small_blocks):
    """Computed indices out of range: the error that NumPy gives, and no read beyond the array."""
    X, y, b = sample(40, 4)

    def f(b):
        z = X @ b[1:]
        index = np.floor(np.abs(z)).astype(int)
        return np.sum(b[index] * z * y)

    compiled = td.compile(f, b)
    td.testing.check_gradient(compiled, f, b)
    with pytest.raises((td.GuardFailed, IndexError)):
        td.gradient(compiled, 1e6 * b)


def test_a_factorisation_between_the_nests_still_fails(small_blocks):
    X, y, b = sample(40, 3)

    def f(b):
        z = X @ b[1:]
        L = np.linalg.cholesky(np.eye(2) * (1.0 + np.sum(z)))
        return np.sum(X @ b[1:] * y) * L[0, 0]

    b = b * np.sign(np.sum(X @ b[1:]))
    b[0] = 0.0
    compiled = td.compile(f, b)
    td.testing.check_gradient(compiled, f, b)
    out = np.full(b.shape, 7.0)
    with pytest.raises(np.linalg.LinAlgError):
        td.value_and_gradient(compiled, -10 * b, out=out)
    assert np.all(out == 7.0)


def test_row_blocks_in_the_body_of_a_loop(small_blocks, monkeypatch):
    """A product inside td.scan, in another order of groups every iteration; bits as without row blocks."""
    X, y, b = sample(40, 4)

    def f(b):
        def step(c, _):
            return c - 0.01 * (X.T @ (np.tanh(X @ c) - y)), None

        return np.sum(td.scan(step, b[1:], length=3)[0] ** 2) + b[0]

    value, gradient = td.value_and_gradient(td.compile(f, b), b)
    td.testing.check_gradient(td.compile(f, b), f, b)
    monkeypatch.setattr(build, "block_rows", lambda groups, storages, cuts: (groups, storages))
    plain = td.value_and_gradient(td.compile(f, b), b)
    assert value == plain[0]
    assert np.array_equal(gradient, plain[1])
