"""Compiled gradients inside JAX's programs, and JAX's functions on tapes."""

import numpy as np
import pytest

import tapediff as td

jax = pytest.importorskip("jax")
jnp = jax.numpy
adapter = pytest.importorskip("tapediff.adapters.jax")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


@pytest.fixture(params=["float64", "float32"], autouse=True)
def dtype(request):
    """JAX's two modes."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param == "float64")
    yield request.param
    jax.config.update("jax_enable_x64", before)


def bent(x):
    return np.sum(x**2) if x[0] > 0 else np.sum(np.exp(x))


def expected(x):
    return bent(x), 2 * x if x[0] > 0 else np.exp(x)


def test_values_and_gradients_with_and_without_jit_vmap_and_scan(dtype):
    """On both paths of a function that branches, which JAX itself could not trace."""
    f, rng = adapter.to_jax(bent, np.ones(3)), np.random.default_rng(0)
    points = rng.normal(size=(6, 3)).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    for way in (jax.value_and_grad(f), jax.jit(jax.value_and_grad(f))):
        for x in points:
            value, gradient = way(x)
            assert gradient.dtype == dtype
            np.testing.assert_allclose(value, expected(np.float64(x))[0], rtol=tolerance)
            np.testing.assert_allclose(gradient, expected(np.float64(x))[1], rtol=tolerance)
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(f)))(points)
    np.testing.assert_allclose(values, [expected(np.float64(x))[0] for x in points], rtol=tolerance)
    np.testing.assert_allclose(gradients, [expected(np.float64(x))[1] for x in points], rtol=tolerance)
    nested = jax.vmap(jax.vmap(jax.grad(f)))(points.reshape(2, 3, 3))
    np.testing.assert_allclose(nested.reshape(6, 3), gradients, rtol=tolerance)
    end, _ = jax.lax.scan(lambda x, _: (x - 0.1 * jax.grad(f)(x), None), jnp.asarray(points[0]), None, length=20)
    x = np.float64(points[0])
    for _ in range(20):
        x = x - 0.1 * expected(x)[1]
    np.testing.assert_allclose(end, x, rtol=100 * tolerance, atol=100 * tolerance)


def test_several_arrays_and_data(dtype):
    """Inside a larger JAX program, whose chain rule goes through."""
    f = adapter.to_jax(
        lambda a, b, y: np.sum((y - a @ b) ** 2), np.ones((2, 3)), np.ones(3), td.Constant(np.arange(2.0))
    )

    def whole(s):
        return jnp.sin(f(s * jnp.ones((2, 3)), s**2 * jnp.ones(3)))

    def same(s):
        return jnp.sin(jnp.sum((jnp.arange(2.0) - 3 * s**3) ** 2))

    np.testing.assert_allclose(jax.grad(whole)(0.7), jax.grad(same)(0.7), rtol=1e-5)
    f.c_function.set_constants(np.zeros(2))
    np.testing.assert_allclose(f(np.zeros((2, 3)), np.zeros(3)), 0.0)
    with pytest.raises(td.ArgumentMismatch, match="takes example arguments"):
        adapter.to_jax(lambda x: np.sum(x**2))
    with pytest.raises(td.ArgumentMismatch, match="other shapes"):
        f(np.zeros(3), np.zeros(3))
    with pytest.raises(td.ArgumentMismatch, match="arrays of floats"):
        adapter.to_jax(lambda p: np.sum(p["a"]), {"a": np.ones(2)})


def test_rejected_points_are_nan_and_errors_are_errors():
    """A matrix that is not positive definite; an exception of the function."""
    f = adapter.to_jax(lambda x: np.sum(np.linalg.cholesky(np.eye(2) * x[0])), np.ones(1))
    value, gradient = jax.value_and_grad(f)(-jnp.ones(1))
    assert np.isnan(value)
    assert np.isnan(gradient).all()

    def faulty(x):
        if x[0] > 1.5:
            raise KeyError("a fault of the program")
        return x[0] ** 2

    f = adapter.to_jax(faulty, np.ones(1))
    with pytest.raises(Exception, match="take_error"):
        jax.block_until_ready(f(2 * jnp.ones(1)))
    assert isinstance(f.c_function.take_error(), KeyError)
    assert f(jnp.ones(1)) == 1.0


def test_functions_of_jax_on_tapes(dtype):
    """Value and gradient in a recorded function, with one array and with two."""
    rtol = 1e-12 if dtype == "float64" else 1e-5
    of_jax = adapter.from_jax(lambda x: jnp.tanh(x) * x)
    x = np.array([0.3, -0.4])
    value, gradient = td.value_and_gradient(td.compile(lambda x: np.sum(of_jax(x) ** 2), x), 2 * x)
    np.testing.assert_allclose(value, np.sum((np.tanh(2 * x) * 2 * x) ** 2), rtol=rtol)
    np.testing.assert_allclose(gradient, td.gradient(lambda x: np.sum((np.tanh(x) * x) ** 2), 2 * x), rtol=10 * rtol)
    product = adapter.from_jax(lambda a, b: a @ b)
    np.testing.assert_allclose(td.gradient(lambda b: product(np.eye(2) * 3, b).sum(), x), [3.0, 3.0], rtol=rtol)
