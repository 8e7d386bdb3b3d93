"""How much memory the kernels of typical models need, and that an array gives its place to the one that follows it."""

import numpy as np
import pytest

import tapediff as td

rng = np.random.default_rng(6)
N, D = 5000, 20
X, Y = rng.normal(size=(N, D)), rng.normal(size=N)
GROUPS = rng.integers(0, 50, N)


def chain(x):
    y = np.tanh(1.5 * x + 0.3)
    return np.sum(y * np.exp(-0.5 * (x - y) ** 2))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def logistic(b):
    logits = X @ b
    return np.sum(Y * logits - np.logaddexp(0.0, logits)) - 0.5 * np.sum(b**2)


def linear(b):
    sigma = np.exp(b[-1])
    return np.sum(-0.5 * ((Y - X @ b[:-1]) / sigma) ** 2) - N * b[-1]


def mixture(b):
    """Squared distances from D centres along each of D axes: N x D numbers at a time."""
    densities = -0.5 * (X - b) ** 2
    most = np.max(densities, axis=1)
    return np.sum(most + np.log(np.sum(np.exp(densities - most[:, None]), axis=1)))


def varying_intercepts(b):
    return -0.5 * np.sum((Y - b[GROUPS] - b[50] * X[:, 0]) ** 2) - np.sum(b**2)


def steps_of_euler(x):
    for _ in range(4):
        x = np.cumsum(np.sin(x) * 0.1)
    return np.sum(x)


# For blocks of rows, and for what is as long as the argument; one array of N rows would be 40 000 more, one of N x D 800 000.
SMALL = 36_000
MODELS = {
    "elementwise chain": (chain, N, 0),
    "Rosenbrock": (rosenbrock, N, 0),
    "logistic regression": (logistic, D, SMALL),
    "linear regression": (linear, D + 1, SMALL),
    "mixture": (mixture, D, SMALL),
    "varying intercepts": (varying_intercepts, 51, 8 * N + SMALL),
    # The reverse pass needs the cosine of each step; two more are in use at a time.
    "steps of a scheme": (steps_of_euler, N, 6 * (8 * N + 64)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_need_no_more_memory_than_this(name):
    """The workspace of value and gradient."""
    f, size, most = MODELS[name]
    assert td.compile(f, np.full(size, 0.1)).workspace_bytes <= most


def test_the_listing_begins_with_the_workspace():
    compiled = td.compile(lambda x: np.sum(np.cumsum(x) * np.cumsum(x[::-1])), np.ones(500))
    assert compiled.workspace_bytes > 8 * 500
    assert compiled.source.splitlines()[1] == f"    # workspace: {compiled.workspace_bytes} bytes"


def test_a_value_kernel_has_a_workspace_of_its_own():
    """What counts is the gradient's, where there is one."""
    compiled = td.compile(lambda x: (np.cumsum(x)[::-1] * 2.0, np.sum(x)), np.ones(500))
    assert compiled.workspace_bytes == compiled.kernel(None).workspace_bytes


def test_an_array_takes_the_place_of_the_last_one_read_where_it_is_written():
    """A chain of arrays, each in a loop of its own that reads only the one before."""

    def f(x):
        for k in range(10):
            x = np.exp(x - np.max(x)) * (k + 1.0)
        return x * 1.0

    compiled = td.compile(f, np.linspace(0.0, 1.0, 4000))
    program = compiled.kernel(None).program
    assert len([group for group in program.groups if group.form == "nest"]) > 10
    assert compiled.kernel(None).workspace_bytes < 1.1 * 8 * 4000
