"""What td.grad and the like return: pickled and copied, a method of classes, and a part of recordings."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.module_functions import branching, of_order

import tapediff as td

X = np.array([0.5, 1.5, 2.0])
MAKERS = {
    "grad": td.grad, "value_and_grad": td.value_and_grad, "jacobian": td.jacobian, "hessian": td.hessian, "jacfwd": td.jacfwd,
    "jacrev": td.jacrev, "second": lambda f: td.grad(lambda x: np.sum(td.grad(f)(x) ** 2)), "vmap": lambda f: td.vmap(lambda x: x**3),
}  # fmt: skip
PICKLED = {name: make for name, make in MAKERS.items() if name not in ("second", "vmap")} | {
    "grad of grad": lambda f: td.jacobian(td.grad(f)), "vmap": lambda f: td.vmap(td.grad(f)), "of a tape": lambda f: td.grad(td.compile(f, X)),
    "of a guarded tape": lambda f: td.value_and_grad(td.GuardedTape(f)),
}  # fmt: skip


class Model:
    """A model whose method is differentiated."""

    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return np.sum(x**2) * self.scale

    slope = td.grad(branching)


def points(name):
    """On both sides of the branches, often enough to be compiled; a tape of one path takes it alone."""
    given = [X, X[::-1] * 1.0] * 3 if name != "of a tape" else [X, X + 0.1] * 3
    return [np.stack([x, x + 1.0]) if name == "vmap" else x for x in given]


@pytest.mark.parametrize("is_warm", [False, True])
@pytest.mark.parametrize("name", PICKLED)
def test_pickles_give_the_same_answers(name, is_warm):
    """By every protocol, before and after the first calls; bit for bit."""
    made = PICKLED[name](branching)
    expected = [PICKLED[name](branching)(x) for x in points(name)]
    if is_warm:
        for x in points(name):
            made(x)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        again = pickle.loads(pickle.dumps(made, protocol))
        for x, value in zip(points(name), expected):
            np.testing.assert_equal(again(x), value)
        assert (again.__name__, again.__doc__) == (made.__name__, made.__doc__)


def test_pickles_keep_arguments_and_options():
    """argnums, argnames, has_aux, static, and the mode of a Jacobian."""
    second = pickle.loads(pickle.dumps(td.grad(of_weights, argnums=1)))
    np.testing.assert_array_equal(second(X, X + 1.0), X**2)
    named = pickle.loads(pickle.dumps(td.grad(of_weights, argnames="w")))
    np.testing.assert_array_equal(named(X, X + 1.0), X**2)
    aux = pickle.loads(pickle.dumps(td.value_and_grad(with_aux, has_aux=True)))
    (value, text), slope = aux(X)
    assert (value, text) == (X.sum(), "text")
    np.testing.assert_array_equal(slope, np.ones(3))
    static = pickle.loads(pickle.dumps(td.grad(of_order, static=td.static(argnames="order"))))
    for order in (2, 3, 2):
        np.testing.assert_allclose(static(X, order), order * X ** (order - 1), rtol=1e-15)


def of_weights(x, w):
    return np.sum(x**2 * w)


def with_aux(x):
    return np.sum(x), "text"


def test_methods_are_pickled_with_their_objects():
    model = Model(3.0)
    slope = pickle.loads(pickle.dumps(td.grad(model.loss)))
    np.testing.assert_array_equal(slope(X), 6.0 * X)
    model.scale = 1.0  # the other object has its own
    np.testing.assert_array_equal(slope(X), 6.0 * X)


def test_another_process_gives_the_same_answers(tmp_path):
    (tmp_path / "made.pickle").write_bytes(pickle.dumps([td.grad(branching), td.vmap(td.hessian(branching))]))
    code = f"import pickle; a, b = pickle.load(open({str(tmp_path / 'made.pickle')!r}, 'rb')); import numpy as np; x = np.array([0.5, 1.5, 2.0]); print(a(x).tolist(), b(x[None]).tolist())"
    tests = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": f"{tests.parent}:{tests}"})
    assert found.stdout == f"{td.grad(branching)(X).tolist()} {td.vmap(td.hessian(branching))(X[None]).tolist()}\n"


def test_what_other_processes_would_not_find_cannot_be_pickled():
    with pytest.raises((td.UnsupportedFunction, AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(td.grad(lambda x: np.sum(x)))


@pytest.mark.parametrize("name", MAKERS)
def test_copies(name):
    """Shallow and deep ones, of functions without a name as well."""
    made = MAKERS[name](lambda x: np.sum(x**3))
    expected = made(X)
    for again in (copy.copy(made), copy.deepcopy(made), copy.deepcopy({"a": made})["a"]):
        assert again is not made
        for _ in range(4):
            np.testing.assert_equal(again(X), expected)


def test_a_deep_copy_of_a_method_has_its_own_object():
    model = Model(3.0)
    slope = td.grad(model.loss)
    copied = copy.deepcopy(slope)
    model.scale = 1.0
    np.testing.assert_array_equal(slope(X), 2.0 * X)
    np.testing.assert_array_equal(copied(X), 6.0 * X)
    np.testing.assert_array_equal(td.jacobian(copied, X), 6.0 * np.eye(3))


def test_functions_of_classes_are_methods():
    """As a function that is an attribute of a class."""
    assert Model.slope is Model.__dict__["slope"]
    assert Model(1.0).slope.__self__.scale == 1.0


def test_inside_recordings_closures_of_tracked_values_are_replaced():
    """td.grad made outside a sub-tape's body, of a function that closes over a tracked value."""
    def f(x, a):
        slope = td.grad(lambda y: np.sum(a * y**2))
        return np.sum(td.subtape(lambda z: slope(z) * z)(x)) if x[0] > 0 else np.sum(slope(x))

    for x in (X, -X):
        td.testing.check_derivatives(td.GuardedTape(f), x, 2.0 * X, rtol=2e-6)
