"""Compiled gradients in PyTensor's graphs and PyMC's models."""

import pickle

import numpy as np
import pytest

import tapediff as td

pytensor = pytest.importorskip("pytensor")
adapter = pytest.importorskip("tapediff.adapters.pymc")
pt = pytest.importorskip("pytensor.tensor")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages


def bent(x, y):
    return -np.sum((x - y) ** 2) if x[0] > 0 else -np.sum(np.exp(x - y))


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_gradients_go_through_a_graph(mode):
    """On both paths of a function that branches, inside a larger program; by Python, and by PyTensor's numba."""
    y, x = np.arange(3.0), pt.vector("x", shape=(3,))
    f = adapter.to_pytensor(bent, np.ones(3), td.Constant(y))
    value = pt.sin(f(2 * x))
    compiled = pytensor.function([x], [value, pt.grad(value, x)], mode=mode)
    for point in (np.full(3, 0.3), np.full(3, -0.3)):
        found, gradient = compiled(point)
        np.testing.assert_allclose(found, np.sin(bent(2 * point, y)), rtol=1e-12)
        of_bent = td.gradient(bent, 2 * point, y)
        np.testing.assert_allclose(gradient, 2 * np.cos(bent(2 * point, y)) * of_bent, rtol=1e-12)
    f.c_function.set_constants(y + 1.0)
    np.testing.assert_allclose(compiled(np.ones(3))[0], np.sin(bent(2 * np.ones(3), y + 1.0)), rtol=1e-12)


def test_several_arrays_wrong_shapes_and_second_derivatives():
    """Matrices and numbers go through one vector; what cannot work says so where the graph is built."""
    a, b, matrix = pt.matrix("a", shape=(2, 3)), pt.scalar("b"), np.arange(6.0).reshape(2, 3)
    f = adapter.to_pytensor(lambda a, b: np.sum(a**2) * b, np.ones((2, 3)), 1.0)
    by_a, by_b = pytensor.function([a, b], pt.grad(f(a, b), [a, b]), mode="FAST_COMPILE")(matrix, 3.0)
    np.testing.assert_allclose(by_a, 6 * matrix)
    np.testing.assert_allclose(by_b, np.sum(matrix**2))
    with pytest.raises(td.ArgumentMismatch, match="other shapes"):
        f(pt.vector("c"), b)
    with pytest.raises(td.ArgumentMismatch, match="another number"):
        f(a)
    with pytest.raises(td.ArgumentMismatch, match="arrays of floats"):
        adapter.to_pytensor(lambda p: p["a"], {"a": 1.0})
    with pytest.raises(NotImplementedError, match="differentiated once"):
        pt.grad(pt.grad(f(a, b), b), b)
    op = adapter.to_pytensor(np.sum, np.ones(2))(b * np.ones(2)).owner.op
    storage = [[None], [None]]
    pickle.loads(pickle.dumps(op)).perform(None, [np.ones(2)], storage)
    assert storage[0][0] == 2.0
    of_data = adapter.to_pytensor(lambda x, y: np.sum(x * y), np.ones(2), td.Constant(np.ones(2)))
    op = of_data(b * np.ones(2)).owner.op
    of_data.c_function.set_constants(np.zeros(2))
    with pytest.raises(td.ArgumentMismatch, match="replaced by set_constants"):
        pickle.dumps(op)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_rejected_points_are_nan_and_errors_are_raised(mode):
    """A matrix that is not positive definite; an exception of the function, and calls after it."""

    def fails(x):
        if x[0] > 3.0:
            raise KeyError("a fault of the program")
        return np.linalg.cholesky(np.eye(2) * x[0])[0, 0]

    f, x = adapter.to_pytensor(fails, np.ones(1)), pt.vector("x", shape=(1,))
    compiled = pytensor.function([x], [f(x), pt.grad(f(x), x)], mode=mode)
    value, gradient = compiled(-np.ones(1))
    assert np.isnan(value)
    assert np.isnan(gradient).all()
    f.c_function.take_error()
    with pytest.raises(Exception, match=r"a fault of the program|c_function\.take_error"):
        compiled(np.full(1, 4.0))
    np.testing.assert_allclose(compiled(np.ones(1))[0], 1.0)


def test_nutpie_samples_a_model_and_raises_faults_as_themselves():
    """A normal likelihood as a potential: against the posterior in closed form."""
    pymc = pytest.importorskip("pymc")
    pytest.importorskip("nutpie")
    y = np.random.default_rng(0).normal(1.0, 1.0, size=50)
    likelihood = adapter.to_pytensor(lambda mu, y: -0.5 * np.sum((y - mu) ** 2), 0.0, td.Constant(y))
    options = {"draws": 500, "tune": 300, "chains": 2, "progress_bar": False, "seed": 1}
    with pymc.Model():
        mu = pymc.Normal("mu", 0, 10)
        pymc.Potential("likelihood", likelihood(mu))
        draws = adapter.sample(**options).posterior["mu"].values
    np.testing.assert_allclose(draws.mean(), y.sum() / 50.01, atol=4 * 0.1414 / np.sqrt(300))  # at least 300 independent draws
    np.testing.assert_allclose(draws.std(), 0.1414, rtol=0.2)

    def faulty(mu):
        if mu > 1.0:
            raise KeyError("a fault of the program")
        return -0.5 * mu**2

    with pymc.Model():
        pymc.Potential("likelihood", adapter.to_pytensor(faulty, 0.0)(pymc.Normal("mu", 0, 10)))
        with pytest.raises(KeyError, match="a fault of the program"):
            adapter.sample(**options)


def test_a_posterior_is_a_function_of_its_unconstrained_vector():
    """With the data that it has."""
    post = td.Posterior(lambda m, s, y: -np.sum((y - m) ** 2) / s, m=td.real(), s=td.positive(), data={"y": np.arange(3.0)})
    u, at = pt.vector("u", shape=(2,)), np.array([0.5, -0.25])
    gradient = pytensor.function([u], pt.grad(adapter.to_pytensor(post)(u), u))
    np.testing.assert_allclose(gradient(at), post.log_density_gradient(at)[1], rtol=1e-12)
