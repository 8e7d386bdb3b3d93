"""Complex numbers inside a function: every call of the table, and what has no table."""

import numpy as np
import pytest
import scipy.fft
from numpy_api.complex_calls import GROUPS, SIZE, names

import tapediff as td

CALLS = [line for lines in GROUPS.values() for line in lines]
# The same to the bit. NumPy's own products and quotients are rounded differently from one processor to the other.
EXACT = ("z +", "z -", "2.5 -", "x +", "x -", "-z", "z.conj()", "1j * x", "np.fft.fft(z", "np.fft.rfft(x)", "np.fft.irfft(z)")


def written(value, text):
    """What an array is after statements that write to it."""
    scope = {"np": np, "td": td, "y": np.copy(value), **written.names}
    exec(text, scope)
    return scope["y"]


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def function(line):
    """A function of one real vector, whose results are the leaves of the call's."""
    code = compile(line, "<call>", "eval")

    def call(v):
        given = names(v)
        written.names = given
        return tuple(leaves(eval(code, {"np": np, "scipy": scipy, "written": written, "v": v, **given})))

    return call


def number(line):
    """A real number made of the real and imaginary parts of a call's results."""
    call = function(line)

    def total(v):
        result = 0.0 * v[0]
        for k, leaf in enumerate(call(v)):
            weights = np.cos(np.arange(float(np.size(leaf))) + k).reshape(np.shape(leaf))
            result = result + np.sum(leaf.real * weights)
            if np.iscomplexobj(leaf):
                result = result + np.sum(leaf.imag * np.sin(weights + 0.3))
        return result

    return total


def point(seed):
    return np.random.default_rng(seed).uniform(0.3, 1.4, SIZE) * np.where(np.random.default_rng(seed + 9).random(SIZE) < 0.4, -1.0, 1.0)


@pytest.mark.parametrize("line", CALLS)
def test_a_call_gives_numpys_value_shape_and_dtype(line):
    """Recorded at one point, replayed at another, or recorded again where a guard fails. Sums and products in another order: 1e-11."""
    call = function(line)
    for v in (point(0), point(1)):
        wanted, got = call(v), td.record(call, v)(v)
        got = got if isinstance(got, tuple) else (got,)
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
            if line.startswith(EXACT):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("line", CALLS)
def test_a_call_has_its_first_and_second_derivative(line):
    """Along one direction, against central differences with the steps 1e-4 to 1e-6, of which the best must agree."""
    f, v, direction = number(line), point(2), np.random.default_rng(3).normal(size=SIZE)
    tape = td.record(f, v)
    gradient = td.gradient(tape, v)
    slopes = [(f(v + h * direction) - f(v - h * direction)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    assert min(abs(s - gradient @ direction) for s in slopes) <= 1e-6 * max(1.0, np.abs(gradient).max())
    product = td.hvp(tape, v, direction)
    slopes = [(td.gradient(tape, v + h * direction) - td.gradient(tape, v - h * direction)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    assert min(np.abs(s - product).max() for s in slopes) <= 2e-6 * max(1.0, np.abs(product).max())


@pytest.mark.parametrize("group", GROUPS)
def test_calls_compiled_are_what_they_are_uncompiled(group):
    """Values and gradients of all calls of a group in one kernel. Sums in another order: 1e-10."""
    numbers, v = [number(line) for line in GROUPS[group]], point(4)
    tape = td.record(lambda v: np.stack([f(v) for f in numbers]), v)
    compiled = td.compile(tape)
    np.testing.assert_allclose(compiled(v), tape(v), rtol=1e-10, atol=1e-10)
    weights = np.cos(np.arange(float(len(numbers))))
    (by_kernel,), (by_replay,) = (td.vjp(target, v)[1](weights) for target in (compiled, tape))
    np.testing.assert_allclose(by_kernel, by_replay, rtol=1e-9, atol=1e-9)
