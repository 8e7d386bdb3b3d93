"""Cheap values are computed again where they are read shifted: no bit changes, and nothing is stored for it."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler import pipeline as build
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import LoopNest, Straight
from tapediff.compiler.schedule import recompute_stencils as stencils
from tapediff.targets.tapes.gradient_tape import gradient_tape

Y = np.random.default_rng(8).normal(size=6000)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def differences(x):
    return np.sum((x[1:] - x[:-1]) ** 2)


def second_differences(x):
    return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)


def five_lags(x):
    r = x[5:] - 0.5 * x[4:-1] - 0.2 * x[3:-2] + 0.1 * x[2:-3] - 0.05 * x[1:-4] + 0.3 * x[:-5]
    return -0.5 * np.sum(r**2) - np.sum((Y[: x.size] - x) ** 2)


def heat(x):
    u = np.reshape(x, (10, -1))
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return np.sum((u[1:-1, 1:-1] + 0.1 * around) ** 2)


def costly(x):
    e = np.exp(x)
    return np.sum((2.0 * e[1:] - e[:-1]) ** 2)


def masked(x):
    y = np.where(x > 0, x, 0.1 * x)
    return np.sum(y[3:] / (1.0 + y[:-3] ** 2))


def backwards(x):
    y = 2.0 * x + 1.0
    return np.sum(y * y[::-1]) + np.sum(y[::2] ** 2) + y[7] * y[-1]


def broadcast(x):
    y = 1.0 + x[:30] ** 2
    return np.sum(y[1:, None] * y[None, :-1])


def repeated(x):
    """In a matrix-vector product, where every entry is read many times."""
    M = np.reshape(Y[:3000], (100, 30))
    return np.sum(np.tanh(M @ (x[1:31] * 3.0 - x[:30])))


def guarded(x):
    y = x * 2.0
    z = y[1:] - y[:-1]
    if z[4] > -100.0 and np.all(y[:3] > -1e9):
        z = z * 3.0
    return np.sum(z[1:] * z[:-1])


def gathered(x):
    y = x * x
    return np.sum(y[np.array([3, 1, 2] * 40)] * (y[1:121] - y[:120]))


def summed(x):
    return np.sum(np.cumsum(0.5 * x)[1:] * (x[1:] + x[:-1]))


FUNCTIONS = {f.__name__: f for f in (rosenbrock, differences, second_differences, five_lags, heat, costly, masked, backwards, broadcast, repeated, guarded, gathered, summed)}  # fmt: skip


@pytest.fixture
def as_before(monkeypatch):
    """Compiles without any of it."""

    def compiled(f, x):
        with monkeypatch.context() as patch:
            patch.setattr(build, "recompute_stencils", lambda steps, storages: (steps, storages))
            patch.setattr(build, "merge_nearly_equal", lambda groups, storages: groups)
            return td.compile(f, x)

    return compiled


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("n", [130, 200, 3000])
def test_no_bit_changes(name, n, as_before):
    """Value and gradient, beside what storing gives, the listing and finite differences; at zeros and at points with inf and nan."""
    f, x = FUNCTIONS[name], np.random.default_rng(n).normal(size=n)
    fast, slow = td.compile(f, x), as_before(f, x)
    program = fast.kernel((0,)).program
    points = [x, np.zeros(n), -0.3 * x]
    if name != "guarded":
        points.append(np.where(np.arange(n) % 50 == 9, np.inf, np.where(np.arange(n) % 50 == 30, np.nan, x)))
    for point in points:
        with np.errstate(all="ignore"):
            value, gradient = td.value_and_gradient(fast, point)
            other = td.value_and_gradient(slow, point)
        assert value == other[0] or (np.isnan(value) and np.isnan(other[0]))
        assert np.array_equal(gradient, other[1], equal_nan=True)
        # The sign of NaN is nobody's business.
        assert np.array_equal(np.signbit(gradient[~np.isnan(gradient)]), np.signbit(other[1][~np.isnan(gradient)]))
        listed = [np.empty(()), np.empty(n)]
        assert run_listing(program, [point], listed) is None
        # Sums in another order.
        np.testing.assert_allclose(listed[1], gradient, rtol=1e-11, atol=1e-11)
    if n < 3000:
        td.testing.check_gradient(fast, f, x, rtol=1e-5)


@pytest.mark.parametrize(("f", "count"), [(rosenbrock, 0), (differences, 0), (second_differences, 0), (five_lags, 3)])
def test_shifted_terms_are_not_stored(f, count):
    """So many arrays in the workspace, for arrays beyond the first-level cache; 256 bytes more are for numbers and alignment."""
    n = 5000
    assert td.compile(f, np.linspace(0.0, 1.0, n)).workspace_bytes <= (8 * n + 256) * count


@pytest.mark.parametrize("f", [rosenbrock, differences, second_differences])
def test_value_and_gradient_are_one_loop(f):
    """Over all but the last vectors; the ends are straight-line code."""
    program = td.compile(f, np.linspace(0.0, 1.0, 5000)).kernel((0,)).program
    assert [type(group) for group in program.groups if not isinstance(group, Straight)] == [LoopNest]


def test_costly_values_are_stored():
    """exp is computed once an entry."""
    program = td.compile(costly, np.linspace(0.0, 1.0, 5000)).kernel((0,)).program
    steps = [s for g in program.groups for s in g.body if "exp" in s.expression]
    assert [s.domain for s in steps] == [(5000,)]


def test_what_is_read_many_times_is_stored():
    """Computing it again in every turn of an inner loop would cost more than reading it."""
    program = td.compile(repeated, np.linspace(0.0, 1.0, 200)).kernel(None).program
    inner = [s for g in program.groups for s in g.body if s.domain == (100, 30)]
    assert len(inner) == 1


@pytest.mark.parametrize("length", [1, 3])
def test_what_a_loop_goes_on_writing_is_not_computed_from_its_first_value(length):
    """The carry starts as a cheap function of x and is read shifted when the loop has changed it."""

    def f(x):
        c = td.scan(lambda c, _: (c * 0.5 + np.sin(c), None), 2.0 * x + 1.0, length=length)[0]
        return np.sum((c[1:] - c[:-1]) ** 2)

    x = np.random.default_rng(9).normal(size=100)
    compiled = td.compile(f, x)
    c = 2.0 * x + 1.0
    for _ in range(length):
        c = c * 0.5 + np.sin(c)
    np.testing.assert_allclose(compiled(x), np.sum((c[1:] - c[:-1]) ** 2), rtol=1e-12)
    td.testing.check_gradient(compiled, f, x)


def test_a_chain_of_shifts_does_not_grow_without_bound():
    """Ten differences of differences: the code is in proportion to the number of operations."""

    def f(x):
        for _ in range(10):
            x = x[1:] - 0.5 * x[:-1]
        return np.sum(x**2)

    x = np.random.default_rng(2).normal(size=4000)
    compiled = td.compile(f, x)
    td.testing.check_gradient(td.compile(f, x[:60]), f, x[:60], rtol=1e-5)
    assert sum(len(group.body) for group in compiled.kernel((0,)).program.groups) < 1000


def lattice(n):
    """Each array is one entry shorter than the last, and reads it twice."""

    def f(x):
        v = np.maximum(x[0] * np.linspace(0.5, 2.0, n + 1) - 1.0, 0.0)
        for _ in range(n):
            v = x[1] * v[1:] + (1.0 - x[1]) * v[:-1]
        return v[0]

    return f


def turned(n):
    """Vectors of three, put together from the entries of the last; no two operations in a row are the same."""
    functions = np.random.default_rng(n).integers(0, 3, n)

    def f(x):
        v = np.stack([x[0], x[1], x[0] * x[1]])
        for k in functions:
            v = np.stack([v[2], v[0], v[1]]) * 0.9 + (v[::-1] * x[0] if k == 0 else v * x[1] if k == 1 else x[1] - v)
        return np.sum(v)

    return f


def smoothed(n):
    """Slices and concatenations of one length, with numbers that depend on all of the array in between."""

    def f(x):
        v = x[0] * np.linspace(0.0, 1.0, 70) + x[1]
        for k in range(n):
            v = np.concatenate([v[:1], v[1:-1] + 0.1 * (v[2:] - 2.0 * v[1:-1] + v[:-2]), v[-1:]]) / (1.0 + v[k % 70] ** 2)
        return np.sum(v * v)

    return f


CHAINS = {f.__name__: f for f in (lattice, turned, smoothed)}


@pytest.mark.parametrize("name", CHAINS)
def test_no_bit_changes_in_chains_of_shifted_reads(name, as_before, flat_loops):
    """What is computed again is cut somewhere in a chain; value and gradient are those of arrays that are all stored."""
    f, x = CHAINS[name](24), np.array([1.3, 0.45])
    fast, slow = td.compile(f, x), as_before(f, x)
    for point in (x, -x, np.array([0.0, 1.0])):
        (value, gradient), other = td.value_and_gradient(fast, point), td.value_and_gradient(slow, point)
        assert value == other[0]
        assert np.array_equal(gradient, other[1])
    td.testing.check_gradient(fast, f, x, rtol=1e-5)


@pytest.mark.parametrize("name", CHAINS)
def test_the_work_for_chains_of_shifted_reads_grows_as_they_do(name, monkeypatch, flat_loops):
    """Index maps worked out for a chain three times as long are three times as many, and a few more as trees at its ends are smaller;
    in quadratic time they would be nine times as many."""
    original, counts = stencils.index_map_of, []

    def counted(*args):
        counts[-1] += 1
        return original(*args)

    monkeypatch.setattr(stencils, "index_map_of", counted)
    for n in (60, 180):
        counts.append(0)
        build.build_program(gradient_tape(td.record(CHAINS[name](n), np.array([1.3, 0.45])), (0,)))
    assert 0 < counts[0]
    assert counts[1] < 4 * counts[0]


def test_chains_longer_than_the_stack_is_deep_are_compiled(flat_loops):
    """1500 reversals and shifts, each of the last: nothing recurses on the length of a program."""
    functions = np.random.default_rng(3).integers(0, 3, 1500)

    def f(x):
        v = x[0] * np.linspace(0.0, 1.0, 9) + x[1]
        for k in functions:
            v = v[::-1] if k == 0 else np.concatenate([v[1:], v[:1]]) if k == 1 else v[::-1] * 0.999
        return np.sum(v * np.arange(9.0))

    x = np.array([1.3, 0.45])
    compiled = td.compile(f, x)
    np.testing.assert_allclose(td.gradient(compiled, x), td.gradient(td.record(f, x), x), rtol=1e-12)
