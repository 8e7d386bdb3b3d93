"""Loop nests: what runs in them at once never changes a result."""

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.codegen import loop_nest as nest

FUNCTIONS = {
    "sum and products": lambda x: np.sum(np.exp(-0.5 * x**2) * np.tanh(x)),
    "sum of products": lambda x: np.sum(np.log1p(x**2) * x) + np.sum(np.sin(x) * np.cos(x)),
    "least and largest": lambda x: np.max(np.sin(3 * x)) - np.min(np.expm1(x)),
    "masks": lambda x: np.sum(np.where(np.exp(x) > 1.5, np.log(np.abs(x) + 1.0), -x)) + np.any(np.sin(x) > 0.9),
    "strides and places": lambda x: np.sum(np.exp(x[::-1]) * x) + np.sum(np.exp(x)[(np.arange(x.size) * 7) % x.size] * np.cbrt(x)),
    "rows": lambda x: np.sum(np.exp(np.reshape(x, (2, -1))).sum(axis=0) * np.cos(np.reshape(x, (2, -1))[0])),
}


@pytest.mark.parametrize("n", [62, 64, 70, 128, 130, 144, 200])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_vectors_at_once_give_the_same_bits(name, n, monkeypatch):
    """Sums are added in the same order, and what is left over behind the last pair is not lost."""
    x = np.random.default_rng(n).normal(size=n)
    paired = td.compile(FUNCTIONS[name], x)
    monkeypatch.setattr(nest, "runs_in_pairs", lambda steps: False)
    single = td.compile(FUNCTIONS[name], x)
    for point in (x, 0.5 * x + 0.1):
        value, gradient = td.value_and_gradient(paired, point)
        expected, expected_gradient = td.value_and_gradient(single, point)
        assert value == expected
        np.testing.assert_array_equal(gradient, expected_gradient)


def test_long_loops_of_costly_functions_run_in_pairs():
    """And others do not: cheap ones, short ones, and those that SciPy computes one by one."""
    x = np.linspace(0.5, 1.5, 640)

    def has_pairs(f, at=x):
        return "<16 x double>" in td.compile(f, at).kernel((0,)).llvm

    assert has_pairs(lambda x: np.sum(np.exp(x)))
    assert not has_pairs(lambda x: np.sum(x * x + 1.0))
    assert not has_pairs(lambda x: np.sum(np.exp(x)), x[:40])
    assert not has_pairs(lambda x: np.sum(td.special.ndtri(x)))
