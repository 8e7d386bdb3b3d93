"""float32: recorded and replayed as NumPy computes it, its gradients float32; kernels round to it."""

import numpy as np
import pytest

import tapediff as td

X = np.array([0.5, -1.0, 2.0], dtype=np.float32)


def mixed(x):
    return np.sum(np.exp(x) * 2.0 + x / 3 - np.sin(x) ** 2) + x[0] * 2.0


def test_float32_stays_float32():
    """Value, every intermediate value, and gradient; Python numbers adapt, as in NumPy."""
    tape = td.record(mixed, X)
    tape.check()
    assert {i.type.dtype for i in tape.instructions} == {np.dtype(np.float32)}
    assert tape(2 * X) == mixed(2 * X)
    value, gradient = td.value_and_gradient(tape, X)
    assert gradient.dtype == np.float32
    # Half the digits of the closed form.
    expected = np.exp(X) * 2 + 1 / 3 - np.sin(2 * X) + np.array([2.0, 0.0, 0.0])
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
    assert value == mixed(X)


def test_the_same_constant_beside_both_precisions():
    """2.0 beside a float64 array first, beside a float32 array afterwards: each in its own precision."""
    def f(x, y):
        return np.sum(y * 2.0) + np.sum((x * 2.0) * 2.0)

    tape = td.record(f, X, np.ones(3))
    tape.check()
    products = [i.type.dtype.name for i in tape.instructions if i.op.name == "multiply"]
    assert products == ["float64", "float32", "float32"]
    assert td.gradient(tape, X, np.ones(3)).dtype == np.float32
    assert td.gradient(tape, X, np.ones(3), argnums=1).dtype == np.float64


def test_conversions_carry_gradients_back():
    tape = td.record(lambda x: np.sum(x.astype(np.float64) ** 2), X)
    gradient = td.gradient(tape, X)
    assert gradient.dtype == np.float32
    assert np.array_equal(gradient, 2 * X)
    there_and_back = td.gradient(lambda x: np.sum(x.astype(np.float32) ** 2), np.array([1.0, 2.0]))
    assert there_and_back.dtype == np.float64
    assert np.array_equal(there_and_back, [2.0, 4.0])


def test_another_precision_than_recorded_is_an_error():
    tape = td.record(mixed, X)
    with pytest.raises(td.DtypeMismatch, match=r"recorded float32, given float64"):
        tape(X.astype(float))


def test_a_kernel_gives_float32_too():
    """Rounded to float32 at every operation; a sum is rounded once, where NumPy rounds at every addition."""
    compiled, tape = td.compile(mixed, X), td.record(mixed, X)
    for x in (X, -X, 3 * X):
        value, gradient = td.value_and_gradient(compiled, x)
        replayed_value, replayed = td.value_and_gradient(tape, x)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(value, replayed_value, rtol=1e-6)
        np.testing.assert_allclose(gradient, replayed, rtol=1e-6)
        np.testing.assert_allclose(compiled(x), tape(x), rtol=1e-6)
    assert np.asarray(compiled(X)).dtype == np.float32
    with pytest.raises(td.DtypeMismatch):
        td.gradient(compiled, X.astype(float))
    out = np.empty(3, np.float32)
    assert td.gradient(compiled, X, out=out) is out
    assert np.array_equal(out, td.gradient(compiled, X))


def test_kernel_arithmetic_on_float32_is_numpys_to_the_bit():
    """Sums, products, quotients and roots of single numbers, rounded at each step."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=1001).astype(np.float32)

    def f(x):
        y = (x + 1 / 3) * x - x / np.float32(0.7)
        return np.sqrt(np.abs(y)) * 0.1 + y

    got = td.compile(f, x)(x)
    assert got.dtype == np.float32
    assert np.array_equal(got, f(x))


def test_second_derivatives_are_float32():
    hessian = td.hessian(lambda x: np.sum(x**3), X)
    assert hessian.dtype == np.float32
    np.testing.assert_allclose(hessian, np.diag(6 * X), rtol=1e-6)


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.diag(x) @ np.ones(3)), lambda x: np.sum(np.diag(x)), lambda x: np.sum(np.diagflat(x) * np.ones((3, 3))),
    lambda x: np.sum(np.tril(np.outer(x, x)) @ np.ones(3)),
])  # fmt: skip
def test_gradients_are_as_precise_as_their_argument_whatever_they_pass(f):
    """Writes into zeros, of which the rule multiplied by doubles."""
    for target in (f, td.record(f, X), td.compile(f, X)):
        assert td.gradient(target, X).dtype == np.float32
        assert td.hvp(target, X, X).dtype == np.float32
