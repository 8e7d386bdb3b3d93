"""nutpie's models of compiled functions: by their addresses, and by Python functions where nutpie has another interface."""

import numpy as np
import pytest

import tapediff as td

pytest.importorskip("nutpie")
adapter = pytest.importorskip("tapediff.adapters.nutpie")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other packages

OPTIONS = {"draws": 1000, "tune": 300, "chains": 2, "cores": 2, "seed": 1, "progress_bar": False}


def stopped(x, limit):
    """Normal where a matrix is positive definite, which is x[0] < 1; a fault of the program beyond the limit."""
    if x[0] > limit:
        raise KeyError("a fault of the program")
    if x[1] > 0.0:
        return -0.5 * np.sum(x**2) + 0.0 * np.linalg.cholesky(np.eye(2) * (1.0 - x[0]))[0, 0]
    return -0.5 * np.sum(x * x) + (0.0 if x[0] < 1.0 else -np.inf)


@pytest.fixture(params=["by_addresses", "by_python"])
def way(request, monkeypatch):
    if request.param == "by_python":
        monkeypatch.setattr(adapter._Parts, "by_addresses", lambda parts: None)
    return request.param


def test_draws_have_names_points_are_rejected_and_faults_raised(way):
    """The moments of a normal distribution with x[0] < 1; then, with other data, the fault's own message."""
    density = td.GuardedTape(stopped).c_function("gradient", np.zeros(2), td.Constant(np.array(1e9)))
    expand = td.GuardedTape(lambda x: np.concatenate([x, x[:1] ** 2, x])).c_function("value", np.zeros(2))
    shapes = {"x": (2,), "square": (), "again": (1, 2)}
    model = adapter.model(density, expand=expand, shapes=shapes, coords={"k": ["a", "b"]}, dims={"x": ["k"]})
    assert type(model).__name__ == {"by_addresses": "CompiledPyMCModel", "by_python": "PyFuncModel"}[way]
    draws = adapter.sample(model, **OPTIONS).posterior
    x = draws["x"].values.reshape(-1, 2)
    assert x[:, 0].max() < 1.0
    np.testing.assert_allclose(x.mean(axis=0), [-0.2876, 0.0], atol=0.15)  # 4 standard errors of 700 independent draws
    np.testing.assert_allclose(x.std(axis=0), [0.794, 1.0], atol=0.13)
    np.testing.assert_array_equal(draws["square"], draws["x"][..., 0] ** 2)
    np.testing.assert_array_equal(draws["again"][..., 0, :], draws["x"])
    assert list(draws["k"].values) == ["a", "b"]
    density.set_constants(np.array(0.5))
    with pytest.raises(KeyError, match="a fault of the program"):
        adapter.sample(model, **OPTIONS)


def test_a_tape_of_one_path_has_no_answer_on_another(way):
    """Its GuardFailed stops the run, and is no rejection."""
    one_path = td.compile(lambda x: -np.sum(x**2) if x[0] > 0.0 else -np.sum(x * x), np.ones(2))
    with pytest.raises(td.GuardFailed, match="differs from the recorded one"):
        adapter.sample(adapter.model(one_path.c_function("gradient", np.ones(2))), **OPTIONS)
