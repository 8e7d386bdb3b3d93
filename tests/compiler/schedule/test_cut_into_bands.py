"""Loops in bands of rows give the bits that any number of threads gives, and agree with the same loops in one piece."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import Bands, RoutineCall, RowBlocks
from tapediff.compiler.pipeline import build_program
from tapediff.compiler.schedule import cut_into_bands, row_blocking
from tapediff.targets.tapes.gradient_tape import gradient_tape

rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def short_bands(monkeypatch):
    """Bands for loops of 256 rows and more, however little they have to do."""
    monkeypatch.setattr(cut_into_bands, "MANY_ROWS", 256)
    monkeypatch.setattr(cut_into_bands, "WORTH_ASKING", 1)
    monkeypatch.setattr(cut_into_bands, "WORTH_ASKING_AGAIN", 1)
    monkeypatch.setattr(cut_into_bands, "FEWEST_PRODUCT_ROWS", 8)


def logistic(x):
    X = np.sin(np.arange(x.size * 5)).reshape(x.size, 5)
    z = X @ x[:5] + 0.1 * x
    return np.sum(np.cos(x) * z - np.logaddexp(0.0, z))


def columns(x):
    y = x[: x.size - x.size % 3].reshape(-1, 3)
    return np.sum(np.sum(np.exp(y), axis=0) ** 2) * 1e-4 + np.sum(np.max(y, axis=0)) + np.mean(np.min(y, axis=1))


def normalised(x):
    y = x[: x.size // 4 * 4].reshape(-1, 4)
    p = np.exp(y - np.max(y, axis=1)[:, None])
    return np.sum(p[:, 0] / np.sum(p, axis=1)) + np.sum(np.log(np.sum(p, axis=1)))


def differences(x):
    return np.sum(np.abs(x[1:] - x[:-1])) + np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2) + np.sum(np.sin(x))


def gathered(x):
    places = np.arange(x.size) * 7 % x.size
    return np.sum(x[places] * np.sqrt(1.0 + x**2))


def scattered(x):
    y = np.zeros(x.size)
    np.add.at(y, np.arange(x.size) * 5 % (x.size // 2), x * x)
    return np.sum(np.sin(y)) + np.sum(x)


def pooled(x):
    y = np.tanh(x[: x.size // 24 * 24].reshape(-1, 2, 3, 2, 2))
    few = x[:960].reshape(20, 2, 3, 2, 4)
    return np.sum(np.max(y, axis=(1, 3)) ** 2) + np.sum(np.sum(y, axis=(2, 4)) ** 2) + np.sum(np.cos(np.sum(few, axis=(1, 3))))


def transposed(x):
    y = x[: x.size // 4 * 4].reshape(-1, 4).T + 1.0
    return np.sum(np.exp(np.sin(y.copy())) * np.arange(y.shape[1])) + np.sum(np.sum(y, axis=0) ** 2)


def totals(x):
    return np.sum(np.cumsum(x) ** 2) * 1e-3 + np.sum(np.cumsum(x[::-1])[::-1] * x)


def products(x):
    a = x[: x.size // 16 * 16].reshape(-1, 16)
    return np.sum(np.tanh(a @ (0.1 * a.T @ a)) ** 2)


def stacks(x):
    a = x[: x.size // 64 * 64].reshape(-1, 8, 8)
    return np.sum(np.sin(a @ np.swapaxes(a, 1, 2)))


def looped(x):
    def step(c, k):
        return 0.9 * c + 0.1 * np.sin(c * x) * k, np.sum(c * c)

    c, seen = td.scan(step, x, np.linspace(0.5, 1.0, 6))
    return np.sum(c**2) + np.sum(np.log(seen))


def written(x):
    y = x * 2.0
    y[1:-1] += x[2:] * x[:-2]
    y[::2] = y[::2] * 1.5
    return np.sum(y**2)


def several(x):
    """Sums that later loops wait for, numbers that bands read, and a mask."""
    mean = np.sum(x) / x.size
    spread = np.sqrt(np.sum((x - mean) ** 2) / x.size)
    z = (x - mean) / spread
    return np.sum(np.where(z > 0.3, z**3, np.exp(z))) + mean * np.max(z)


def whole(x):
    n = np.floor(x * 10).astype(int)
    return np.sum(x * (n % 3)) + np.sum(n) + (1.0 if np.all(np.isfinite(x)) and np.any(n > 5) else 2.0)


PROGRAMS = (
    logistic, columns, normalised, differences, gathered, scattered, pooled, transposed, totals, products, stacks, looped, written,
    several, whole,
)  # fmt: skip


def gradients(f, x, threads):
    compiled = td.compile(f, x, threads=threads)
    other = np.sin(x * 3.0) + 0.2
    answers = [td.value_and_gradient(compiled, point) for point in (x, other, x) if f is not whole or point is x]
    return compiled, [(float(value), gradient.tobytes(), gradient) for value, gradient in answers]


def points(size):
    return np.sin(np.arange(size) * 1.7) + 0.1 * np.arange(size) / size


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_any_number_of_threads_gives_the_same_bits(f):
    """And the kernels without bands agree but for the order of sums, whose terms cancel to a thousandth at most."""
    x = points({stacks: 64 * 300, pooled: 24 * 300}.get(f, 4999))
    _, whole_answers = gradients(f, x, None)
    _, alone = gradients(f, x, 1)
    _, shared = gradients(f, x, 3)
    assert [answer[:2] for answer in alone] == [answer[:2] for answer in shared]
    for (value, _, gradient), (expected, _, expected_gradient) in zip(shared, whole_answers):
        np.testing.assert_allclose(value, expected, rtol=1e-11)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-12 * np.abs(expected_gradient).max())


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not looped], ids=lambda f: f.__name__)
def test_the_listing_of_bands_computes_what_the_kernel_computes(f):
    """But for the last bits: the listing has no SIMD lanes."""
    x = points(1100)
    compiled, ((value, _, gradient), *_) = gradients(f, x, 2)
    program = compiled.kernel((0,)).program
    outputs = [np.zeros(()), np.zeros(x.shape)]
    assert run_listing(program, [x], outputs) is None
    np.testing.assert_allclose(outputs[0], value, rtol=1e-11)
    np.testing.assert_allclose(outputs[1], gradient, rtol=1e-10, atol=1e-12 * np.abs(gradient).max())


def bands_of(f, x, threads=2):
    tape = gradient_tape(td.record(f, x), (0,))
    return [group for group in build_program(tape, threads).groups if isinstance(group, Bands)]


def test_independent_loops_are_shared_and_others_are_not():
    """Scatters add at places that may repeat."""
    assert {group.threads for group in bands_of(logistic, points(4000))} == {2}
    shared = [group for group in bands_of(scattered, points(4000)) if group.threads > 1]
    assert shared
    assert all(step.write.index_read < 0 for group in shared for step in group.body)
    assert any(isinstance(group.group, RoutineCall) for group in bands_of(products, points(8000)))
    assert any(isinstance(group.group, RoutineCall) and group.group.count > 1 for group in bands_of(stacks, points(64 * 60)))
    assert any(isinstance(group.group, RowBlocks) and RoutineCall in map(type, group.group.nests) for group in bands_of(stacks, points(64 * 300)))


def test_row_blocks_are_cut_as_a_whole(monkeypatch):
    """Their buffers then belong to the thread; blocks longer than a band are as long as that."""
    monkeypatch.setattr(row_blocking, "SMALLEST_SHARED", 1)
    for size in (8, 1 << 20):
        monkeypatch.setattr(row_blocking, "SHORTEST_BLOCK", size)
        monkeypatch.setattr(row_blocking, "BLOCK_BYTES", size)
        for f in (logistic, columns, normalised):
            _, alone = gradients(f, points(4999), 1)
            _, shared = gradients(f, points(4999), 3)
            assert [answer[:2] for answer in alone] == [answer[:2] for answer in shared]
    monkeypatch.setattr(row_blocking, "BLOCK_BYTES", 1)
    monkeypatch.setattr(row_blocking, "SHORTEST_BLOCK", 8)
    assert any(isinstance(group.group, RowBlocks) for group in bands_of(logistic, points(4999)))


def test_how_a_sum_is_cut_follows_from_its_loop_alone():
    """The value's kernel and the gradient's compute the operand of a guard to the same bits, though their nests differ."""

    def f(x):
        total = np.sum(np.exp(x))
        return total * 2.0 if total > limit else np.sum(x**3)

    x = points(5000)
    limit = float(td.compile(lambda x: np.sum(np.exp(x)), x, threads=2)(x))
    safe = td.GuardedTape(f, threads=2)
    value, gradient = td.value_and_gradient(safe, x)
    assert value == safe(x) == np.sum(x**3) or abs(value - np.sum(x**3)) < 1e-9
    np.testing.assert_allclose(gradient, 3 * x**2, rtol=1e-14)
    assert safe.stats.recordings == 1


@given(rows=st.integers(256, 2100), inner=st.sampled_from([1, 2, 3, 7, 8, 9, 16, 33]), threads=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
@pytest.mark.slow
def test_bands_of_all_extents(rows, inner, threads, seed):
    """Ends of bands and of vectors meet in every way."""
    matrix = np.random.default_rng(seed).normal(size=(rows, inner))

    def f(x):
        y = np.tanh(matrix * x[None, :inner] + x[inner])
        return np.sum(np.sum(y, axis=0) ** 2) + np.sum(np.exp(np.sum(y, axis=1) / inner)) + np.max(y) + np.sum(y[1:] * y[:-1])

    x = np.random.default_rng(seed + 1).normal(size=inner + 1)
    alone, shared, expected = (td.value_and_gradient(td.compile(f, x, threads=n), x) for n in (1, threads, None))
    assert alone[0] == shared[0]
    assert alone[1].tobytes() == shared[1].tobytes()
    np.testing.assert_allclose(shared[1], expected[1], rtol=1e-9, atol=1e-10 * np.abs(expected[1]).max())


def test_loops_that_differ_a_little_in_length_are_cut_each_on_its_own():
    """4096 rows are 16 bands, 4095 are 31: a sum has the bits that it has without the other one beside it."""
    x = points(4096)

    def both(x):
        return np.stack([np.sum(np.abs(x[1:] - x[:-1])), np.sum(np.abs(x))])

    alone = [td.compile(lambda x, k=k: both(x)[k], x, threads=2)(x) for k in (0, 1)]
    assert td.compile(both, x, threads=2)(x).tolist() == alone
    assert {g.number for g in build_program(td.record(both, x), 2).groups if isinstance(g, Bands)} == {16, 31}
