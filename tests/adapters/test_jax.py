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


@pytest.fixture(params=["by address", "through Python"], autouse=True)
def way(request, monkeypatch):
    """As XLA calls functions where its interface is known, and where it is not."""
    if request.param == "through Python":
        monkeypatch.setattr(adapter, "_knows_interface", lambda _: False)
    else:
        assert adapter._knows_interface(jax)


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
    with pytest.raises(td.ArgumentMismatch, match="real arrays"):
        f(np.zeros((2, 3)) + 1j, np.zeros(3))
    with pytest.raises(td.ArgumentMismatch, match="arrays of floats"):
        adapter.to_jax(lambda p: np.sum(p["a"]), {"a": np.ones(2)})


def test_rejected_points_are_nan_and_errors_are_errors():
    """A matrix that is not positive definite; an exception of the function."""
    f = adapter.to_jax(lambda x: np.sum(np.linalg.cholesky(np.eye(2) * x[0])), np.ones(1))
    value, gradient = jax.value_and_grad(f)(-jnp.ones(1))
    assert np.isnan(value)
    assert np.isnan(gradient).all()

    with pytest.raises(np.linalg.LinAlgError) as rejected:
        adapter.to_jax(lambda x: np.sum(np.linalg.cholesky(np.eye(2) * x[0])), np.zeros(1))
    assert "fix: others of the same shapes, at which the function has a value" in rejected.value.__notes__[0]

    def faulty(x):
        if x[0] > 1.5:
            raise KeyError("a fault of the program")
        return x[0] ** 2

    f = adapter.to_jax(faulty, np.ones(1))
    with pytest.raises(Exception, match=r"KeyError: 'a fault of the program'\n.*take_error"):
        jax.block_until_ready(f(2 * jnp.ones(1)))
    assert isinstance(f.c_function.take_error(), KeyError)
    assert f(jnp.ones(1)) == 1.0
    of_one_path = adapter.to_jax(td.compile(bent, np.ones(2)), np.ones(2))
    with pytest.raises(Exception, match="GuardFailed: the tape has no answer on this path"):
        jax.block_until_ready(of_one_path(-jnp.ones(2)))


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


def stopped(x, limit):
    """Normal where a matrix is positive definite, which is x[0] < 1; a fault of the program beyond the limit."""
    if x[0] > limit:
        raise KeyError("a fault of the program")
    if x[1] > 0.0:
        return -0.5 * np.sum(x**2) + 0.0 * np.linalg.cholesky(np.eye(2) * (1.0 - x[0]))[0, 0]
    return -0.5 * np.sum(x * x) + 0.0 * np.log(1.0 - x[0])


def of_blackjax(f):
    blackjax = pytest.importorskip("blackjax")
    kernel = blackjax.nuts(f, step_size=0.6, inverse_mass_matrix=np.ones(2))

    def step(state, key):
        state, _ = kernel.step(key, state)
        return state, state.position

    run = jax.jit(lambda start, keys: jax.lax.scan(step, kernel.init(start), keys)[1])
    return lambda: run(jnp.zeros(2), jax.random.split(jax.random.key(0), 2000))


def of_numpyro(f):
    infer = pytest.importorskip("numpyro.infer")
    kernel = infer.HMC(potential_fn=lambda x: -f(x), step_size=0.6, num_steps=4, adapt_step_size=False)
    run = infer.MCMC(kernel, num_warmup=0, num_samples=2000, progress_bar=False)

    def sample():
        run.run(jax.random.key(0), init_params=jnp.zeros(2))
        return run.get_samples()

    return sample


@pytest.mark.parametrize("sampler", [of_blackjax, of_numpyro])
def test_samplers_reject_points_and_stop_at_faults(sampler, dtype):
    """A normal distribution with x[0] < 1: its moments; then, with other data, the fault's own message."""
    if dtype == "float32":
        pytest.skip("the samplers are the same")
    f = adapter.to_jax(stopped, np.zeros(2), td.Constant(np.array(1e9)))
    sample = sampler(f)
    draws = np.asarray(sample())
    assert draws[:, 0].max() < 1.0
    np.testing.assert_allclose(draws.mean(axis=0), [-0.2876, 0.0], atol=0.15)  # 4 standard errors of 700 independent draws
    np.testing.assert_allclose(draws.std(axis=0), [0.794, 1.0], atol=0.13)
    f.c_function.set_constants(np.array(0.5))
    with pytest.raises(Exception, match="a fault of the program"):
        jax.block_until_ready(sample())


def test_optax(dtype):
    """Adam in a scan goes over the branch of Huber's loss to the minimum."""
    optax = pytest.importorskip("optax")
    if dtype == "float32":
        pytest.skip("the steps are the same")

    def huber(x):
        radius = np.sqrt(np.sum((x - 1.0) ** 2))
        return 0.5 * radius**2 if radius < 1.0 else radius - 0.5

    f, adam = adapter.to_jax(huber, np.zeros(2)), optax.adam(0.1)

    def step(at, _):
        x, state = at
        updates, state = adam.update(jax.grad(f)(x), state)
        return (optax.apply_updates(x, updates), state), None

    start = jnp.array([5.0, -3.0])
    (x, _), _ = jax.lax.scan(step, (start, adam.init(start)), None, length=300)
    np.testing.assert_allclose(x, 1.0, atol=1e-3)  # Adam's steps there are as small


def test_a_posterior_is_a_function_of_its_unconstrained_vector(dtype):
    """With the data that it has."""
    post = td.Posterior(lambda m, s, y: -np.sum((y - m) ** 2) / s, m=td.real(), s=td.positive(), data={"y": np.arange(3.0)})
    f, u = adapter.to_jax(post), np.array([0.5, -0.25])
    rtol = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(jax.jit(jax.value_and_grad(f))(u)[1], post.log_density_gradient(u)[1], rtol=rtol)
