"""Loops over n and nearly n entries run as one where nothing stands between them."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler import pipeline as build
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.loop_ir.program import LoopNest, Straight
from tapediff.compiler.schedule import merge_nearly_equal as merging


def lengths(x):
    """Three lengths at once, with reductions of each."""
    return np.sum(np.exp(x[1:])) * 2.0 + np.max(x[:-2]) + np.sum(x) * np.sum(x[3:] ** 2)


def outputs(x):
    return x * 2.0, x[1:] - x[:-1], np.sum(x[5:]), x[2:] > x[:-2]


@pytest.mark.parametrize("n", [*range(70, 90), 1000])
def test_merged_loops_give_the_same_bits(n, monkeypatch):
    """Over all remainders of the vectors; the listing too."""
    x = np.random.default_rng(n).normal(size=n)
    merged, outs = td.compile(lengths, x), td.compile(outputs, x)
    value, gradient = td.value_and_gradient(merged, x)
    results = outs(x)
    listed = [np.empty(()), np.empty(n)]
    run_listing(merged.kernel((0,)).program, [x], listed)
    # Sums in another order.
    np.testing.assert_allclose(listed[1], gradient, rtol=1e-12, atol=1e-12)
    td.testing.check_gradient(merged, lengths, x, rtol=1e-5)
    for result, expected in zip(results, outputs(x)):
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    monkeypatch.setattr(build, "merge_nearly_equal", lambda groups, storages: groups)
    plain = td.value_and_gradient(td.compile(lengths, x), x)
    assert value == plain[0]
    assert np.array_equal(gradient, plain[1])
    separate = td.compile(outputs, x)
    assert len(nests(separate, None)) > len(nests(outs, None))
    for result, expected in zip(results, separate(x)):
        assert np.array_equal(result, expected)


def nests(compiled, argnums=(0,)):
    return [group for group in compiled.kernel(argnums).program.groups if isinstance(group, LoopNest)]


def test_a_loop_that_needs_the_others_result_waits():
    """A sum over n entries, and then n - 1 entries divided by it."""
    x = np.linspace(1.0, 2.0, 200)
    compiled = td.compile(lambda x: np.sum(np.log(x[1:] / np.sum(x))), x)
    assert len(nests(compiled, None)) == 2
    td.testing.check_gradient(compiled, lambda x: np.sum(np.log(x[1:] / np.sum(x))), x)


def test_nothing_is_written_for_the_caller_before_a_guard():
    """The output of n - 1 entries stays behind the guard on a sum over n."""
    x = np.linspace(1.0, 2.0, 200)

    def f(x):
        if np.sum(x) > 0:
            return x[1:] * 2.0
        return x[1:] * 3.0

    compiled = td.compile(f, x)
    forms = [type(group) for group in compiled.kernel(None).program.groups]
    assert forms == [LoopNest, Straight, LoopNest]
    with pytest.raises(td.GuardFailed):
        compiled(-x)


def test_loops_that_differ_by_much_or_are_short_stay_apart():
    for n, gap in ((400, 30), (merging.SHORTEST - 1, 1)):
        compiled = td.compile(lambda x, gap=gap: (np.sum(x**2), np.sum(x[gap:] ** 3)), np.ones(n))
        assert len(nests(compiled, None)) == 2
