"""Costly functions as calls of code that all kernels of the process share."""

import re

import numpy as np
import pytest

import tapediff as td
from tapediff.base.settings import CACHE_VARIABLE
from tapediff.compiler.codegen import outlining as functions
from tapediff.compiler.jit import native_function as native
from tapediff.compiler.jit.linking import Linker
from tapediff.compiler.jit.toolchain import toolchain


@pytest.fixture
def compilations(monkeypatch):
    """The texts that were compiled: none is known from the disk or from another test."""
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setattr(toolchain, "linker", Linker())
    made, original = [], native.object_code
    monkeypatch.setattr(native, "object_code", lambda text, quickly: made.append(text) or original(text, quickly))
    return made


def chain(x):
    value = x[0]
    for k in range(20):
        value = np.sin(value * x[k % 3]) + np.log1p(value * value) * np.exp(-x[k % 2] * value)
    return value


X = np.array([0.3, 1.2, -0.7])


def test_calls_and_inlined_code_give_the_same_bits(monkeypatch, flat_loops):
    """However many costly functions a program has, its answers are the same."""
    called = td.compile(chain, X)
    monkeypatch.setattr(functions, "MOST_INLINED", 10**6)
    inlined = td.compile(chain, X)
    assert "@tapediff_function_" in called.kernel((0,)).llvm
    assert "@tapediff_function_" not in inlined.kernel((0,)).llvm
    for x in (X, -X, 2.0 * X, np.array([np.nan, 1.0, np.inf])):
        (value, gradient), (other, other_gradient) = td.value_and_gradient(called, x), td.value_and_gradient(inlined, x)
        assert np.array_equal(value, other, equal_nan=True)
        assert np.array_equal(gradient, other_gradient, equal_nan=True)


def test_a_function_is_compiled_once_for_all_kernels(compilations, monkeypatch, flat_loops):
    """Another kernel with the same functions compiles its own text alone."""
    monkeypatch.setattr(toolchain, "_once", {})
    td.compile(chain, X)
    first = len(compilations)
    td.compile(lambda x: chain(x) * 2.0, X)
    assert first > 2
    assert len(compilations) == first + 1


def test_the_symbol_of_a_function_tells_what_it_does(flat_loops):
    """Kernels are kept on disk by their text, so texts that call different functions must differ."""

    def symbols(function):
        def f(x):
            value = x[0]
            for k in range(functions.MOST_INLINED + 1):
                value = function(value) * x[k % 3]
            return value

        return set(re.findall(r"@(tapediff_function_\w+)", td.compile(f, X).kernel(None).llvm))

    found = [symbols(function) for function in (np.sin, np.cos, np.exp, lambda v: td.special.gammaln(v + 3.0))]
    assert all(len(each) == 1 for each in found)
    assert len(set.union(*found)) == 4


def rows(x):
    """Costly functions in loops of 200 points, each loop of its own as sums stand between them."""
    y = x[0] * np.linspace(0.0, 1.0, 200) + x[1]
    for k in range(8):
        y = np.tanh(y * x[2]) + np.exp(-y * y) * (0.1 * k)
        y = y / (1.0 + np.sum(y * y))
    return np.sum(y)


@pytest.mark.parametrize("quickly", [False, True])
def test_calls_in_loops_and_code_compiled_quickly_give_the_same_bits(quickly, monkeypatch, flat_loops):
    """What long programs do to be compiled in time changes no answer."""
    usual = td.compile(rows, X)
    monkeypatch.setattr(functions, "MOST_INLINED_IN_LOOPS", 0)
    if quickly:
        monkeypatch.setattr(functions, "LONGEST_OPTIMISED_TEXT", 0)
        monkeypatch.setattr(functions, "LEAST_TEXT_FOR_A_VECTOR", 0)
    called = td.compile(rows, X)
    assert "@tapediff_function_" in called.kernel((0,)).llvm
    assert "@tapediff_function_" not in usual.kernel((0,)).llvm
    assert functions.is_compiled_quickly(called.kernel((0,)).program, 10) == quickly
    for x in (X, -X, 2.0 * X, np.array([np.nan, 1.0, np.inf])):
        (value, gradient), (other, other_gradient) = td.value_and_gradient(called, x), td.value_and_gradient(usual, x)
        assert np.array_equal(value, other, equal_nan=True)
        assert np.array_equal(gradient, other_gradient, equal_nan=True)


def alternating(n, turns):
    """Vectors of n entries, costly functions in each turn, and no two turns alike."""

    def f(x):
        y = x
        for k in range(turns):
            y = np.logaddexp(y, x * (0.1 * k)) if k % 3 else np.logaddexp(x[::-1], np.tanh(y))
        return np.sum(y)

    return f, np.linspace(-1.0, 1.0, n)


@pytest.mark.parametrize(("n", "is_called"), [(100, True), (300, False)])
def test_many_functions_in_loops_of_a_few_vectors_are_called(n, is_called, monkeypatch, flat_loops):
    """Inlined, each of them is there for pairs of vectors and for the last one; in long loops that is worth it."""
    f, x = alternating(n, 14)
    compiled = td.compile(f, x)
    assert ("@tapediff_function_" in compiled.kernel((0,)).llvm) == is_called
    monkeypatch.setattr(functions, "MOST_INLINED_IN_SHORTER_LOOPS", 10**6)
    inlined = td.compile(f, x)
    assert "@tapediff_function_" not in inlined.kernel((0,)).llvm
    for one, other in zip(td.value_and_gradient(compiled, 0.5 * x), td.value_and_gradient(inlined, 0.5 * x)):
        assert np.array_equal(one, other)


def test_text_is_long_in_relation_to_what_its_loops_compute():
    """A megabyte for small arrays is compiled quickly; one whose loops are long is worth optimising, as is shorter text."""
    small, large = (
        td.compile(lambda x: np.sum(np.cumsum(x * x) * x), np.ones(n)).kernel((0,)).program for n in (100, 100_000)
    )
    length = functions.LONGEST_OPTIMISED_TEXT
    assert functions.is_compiled_quickly(small, length + 1)
    assert not functions.is_compiled_quickly(small, length)
    assert not functions.is_compiled_quickly(large, length + 1)
