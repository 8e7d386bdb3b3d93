"""Kernels within a memory budget, and the errors of budgets that cannot be met."""

import pickle

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen import loop_function
from tapediff.compiler.loop_kernel import needed_memory
from tapediff.functions.callees import callee
from tapediff.functions.callees.rolled_loop import limited
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.memory_budget import bytes_of

RNG = np.random.default_rng(5)
MATRIX, DATA = RNG.normal(size=(8, 8)) / 4, RNG.normal(size=(61, 6))


def matrices(x):
    return np.sum(td.scan(lambda c, _: (np.tanh(MATRIX @ c + x), None), x, length=100)[0] ** 2)


def rolled(x):
    c, total = x, 0.0
    for _ in range(90):
        c = c + 0.01 * np.sin(c * x)
        total = total + np.sum(c) * 1e-3
    return total + np.sum(c * c)


def nested(x):
    def outer(c, _):
        d, ys = td.scan(lambda d, _: (np.sin(d) + 0.1 * x * c, np.sum(d)), c, length=20)
        return d * 0.9, np.sum(ys)

    c, ys = td.scan(outer, x, length=30)
    return np.sum(c**2) + np.sum(ys) * 1e-3


def mixture(x):
    def step(c, y):
        mean = c * 0.9 + 0.1 * y
        return mean * np.cos(x) + x * 0.01, np.log(np.sum(np.exp(-((y - mean) ** 2))))

    c, total = x, np.sum(td.scan(step, x, DATA, reverse=True)[1])
    for _ in range(70):
        c = np.exp(-c * c) * x
        total = total + np.sum(c)
    return total


def long(x):
    """Needs blocks of blocks."""
    return np.sum(td.scan(lambda c, _: (np.sin(c) + 0.1 * x, None), x, length=4000)[0] ** 2)


def held(kernel):
    """The bytes of the workspaces of a kernel and of all that it has called: what is there, not what was planned."""
    found, tables, seen = kernel.program.workspace_bytes, list(kernel.dispatch_tables), set()
    while tables:
        table = tables.pop()
        if id(table) not in seen:
            seen.add(id(table))
            for variant in table.variants.values():
                found += variant.kernel.program.workspace_bytes
                tables += variant.kernel.dispatch_tables
    return found


@pytest.mark.parametrize(
    ("f", "part", "shape"),
    [(matrices, 0.4, (8, 8)), (rolled, 0.2, (20,)), (nested, 0.2, (10,)), (mixture, 0.5, (6,)), (long, 0.01, (50,)), (long, 0.009, (50,))],
)
def test_workspaces_of_every_kind_of_loop_stay_within_the_budget(f, part, shape, monkeypatch):
    """And the gradient is that without a budget, but for the order of sums over iterations."""
    # Each loop with a workspace of its own, which can be looked up.
    monkeypatch.setattr(loop_function, "MOST_INLINED", -1)
    x = RNG.normal(size=shape)
    plain = td.compile(f, x)
    value, gradient = td.value_and_gradient(plain, x)
    needed = held(plain.kernel((0,)))
    assert needed == sum(each.bytes for each in needed_memory(plain.kernel((0,)).program))
    budget = int(part * needed)
    within = td.compile(f, x, memory=budget)
    found, by_x = td.value_and_gradient(within, x)
    assert 0 < held(within.kernel((0,))) <= budget
    # Some 10^2 terms are added up in another order.
    np.testing.assert_allclose(found, value, rtol=1e-13)
    np.testing.assert_allclose(by_x, gradient, rtol=0, atol=1e-13 * np.max(np.abs(gradient)))
    if f is rolled:
        again = pickle.loads(pickle.dumps(within))
        assert again.memory == budget
        assert again.kernel((0,)).workspace_bytes == within.kernel((0,)).workspace_bytes


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [5, 12, 37])
def test_loops_in_blocks_have_the_gradients_of_plain_ones(monkeypatch, length, reverse):
    """By replay with NumPy, at every number of levels: streams, results of iterations, constants and what is behind the blocks."""
    monkeypatch.setattr(callee, "NATIVE", False)

    def f(x, w):
        xs = np.outer(np.arange(1.0, length + 1), x) / length
        step = lambda c, entry: ((np.tanh(c[0] * w + entry), c[1] + np.sum(c[0])), np.exp(c[0]) * entry)
        (c, total), ys = td.scan(step, (x, np.sum(w)), xs, reverse=reverse)
        return np.sum(c * w) + total + np.sum(ys * ys)

    x, w = RNG.normal(size=3), RNG.normal(size=3)
    tape = td.record(f, x, w)
    plain = gradient_tape(tape, (0, 1))
    lengths = set()
    for limit in (1500.0, 700.0, 300.0, 100.0, 1.0):
        blocked = gradient_tape(limited(tape, limit), (0, 1))
        blocked.check()
        lengths.add(len(blocked))
        for found, wanted in zip(blocked(x, w), plain(x, w), strict=True):
            # A few dozen terms in another order.
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
    assert len(lengths) > 1


def test_tapes_of_a_guarded_tape_have_the_budget_too():
    def f(x):
        c = x * 2.0 if x[0] > 0.0 else x
        for _ in range(100):
            c = c + 0.01 * np.sin(c * x)
        return np.sum(c * c)

    x = np.linspace(0.1, 1.0, 40)
    plain, within = td.GuardedTape(f, merge=False), td.GuardedTape(f, memory="20 kB", merge=False)
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(td.gradient(within, sign * x), td.gradient(plain, sign * x), rtol=1e-12)
    assert [held(variant.compiled.kernel((0,))) <= 20_000 for variant in within._cache.all()] == [True, True]


def test_a_budget_that_cannot_be_met_names_the_line_that_needs_the_most():
    def f(x):
        wide = np.exp(np.outer(x, x))
        return np.sum(wide @ np.sin(wide @ x))

    with pytest.raises(td.MemoryBudgetExceeded) as caught:
        td.compile(f, np.linspace(0.0, 1.0, 50), memory="1kB")
    what, at, got, fix = str(caught.value).splitlines()
    assert what == "a kernel of f does not fit into memory=, however little its loops save"
    assert "test_memory_budget.py" in at
    assert at.endswith(" in f")
    assert "bytes at least" in got
    assert got.endswith("of them for the arrays of the function; memory=1000")
    assert fix.endswith("or smaller arrays at this line, which needs the most")


def test_a_loop_of_unknown_length_has_no_budget():
    def f(x):
        return np.sum(td.while_loop(lambda c: np.sum(c) < 10.0, lambda c: c * c * x, x))

    with pytest.raises(td.MemoryBudgetExceeded, match="length is known only when it runs"):
        td.compile(f, np.full(3, 1.1), memory="1GB")


@pytest.mark.parametrize(("memory", "size"), [(5000, 5000), ("200MB", 200_000_000), ("1.5 GiB", 3 << 29), ("64kB", 64_000), ("7", 7)])
def test_a_budget_is_a_number_of_bytes_or_has_a_unit(memory, size):
    assert bytes_of(memory, "native") == size


@pytest.mark.parametrize("memory", ["200 megs", "MB", -5, 0, True, 1.5])
def test_other_budgets_are_refused(memory):
    with pytest.raises(td.ArgumentMismatch, match="memory is a positive number of bytes"):
        td.compile(np.sum, np.ones(3), memory=memory)
    with pytest.raises(td.ArgumentMismatch, match="native backend"):
        td.compile(np.sum, np.ones(3), memory=100, backend="numba")


def test_a_budget_counts_what_threads_need_as_well():
    """The sums of bands are in the workspace, too, and are held within the budget."""
    x = np.sin(np.arange(6000.0))

    def f(x):
        y = np.outer(x, x[:40])
        return np.sum(np.sum(np.exp(y), axis=0) ** 2) + np.sum(np.tanh(y))

    plain, shared = (td.compile(f, x, threads=threads).kernel((0,)).workspace_bytes for threads in (None, 2))
    assert shared > plain
    with pytest.raises(td.MemoryBudgetExceeded):
        td.compile(f, x, threads=2, memory=(plain + shared) // 2)
    kept = td.compile(f, x, threads=2, memory=shared)
    assert kept.kernel((0,)).workspace_bytes <= shared
    np.testing.assert_allclose(td.gradient(kept, x), td.gradient(f, x), rtol=1e-9, atol=1e-9)
