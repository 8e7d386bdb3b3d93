"""float32: recorded and replayed as NumPy computes it, its gradients float32; kernels refuse it with the fix."""

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


def test_a_kernel_refuses_float32_with_the_fix():
    with pytest.raises(td.UnsupportedFunction, match="convert the arguments to float64") as raised:
        td.compile(mixed, X)
    assert "compiling float32 arithmetic" in str(raised.value)


def test_second_derivatives_are_float32():
    hessian = td.hessian(lambda x: np.sum(x**3), X)
    assert hessian.dtype == np.float32
    np.testing.assert_allclose(hessian, np.diag(6 * X), rtol=1e-6)
