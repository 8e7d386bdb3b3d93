"""td.tree: containers mapped, flattened and raveled, on plain and tracked leaves."""

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import tapediff as td


class Line(NamedTuple):
    slope: float
    offset: np.ndarray


@dataclass
class Model:
    weights: np.ndarray
    name: str = "m"


class Box:
    def __init__(self, inside):
        self.inside = inside


td.register_container(Box, lambda box: ((box.inside,), None), lambda _, parts: Box(*parts))

RNG = np.random.default_rng(0)
TREES = [
    2.5, RNG.normal(size=(2, 3)), {"b": RNG.normal(size=3), "a": (1.5, [RNG.normal(size=(2, 1))])}, Line(0.5, RNG.normal(size=2)),
    Model(RNG.normal(size=4)), OrderedDict(z=1.0, a=np.ones(2)), (), {"a": None, "b": "text", "c": np.array(2.0)},
    [1.0 + 2.0j, RNG.normal(size=2) * (1 + 1j)], np.ones(2, np.float32),
]  # fmt: skip


def same(a, b):
    """Equal structures and equal leaves, bit for bit."""
    (x, s), (y, t) = td.tree.flatten(a), td.tree.flatten(b)
    return s == t and all(np.array_equal(p, q) and np.asarray(p).dtype == np.asarray(q).dtype for p, q in zip(x, y, strict=True))


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_what_is_flattened_and_raveled_comes_back(tree):
    """Structure, shapes, dtypes and values; also by a function that was pickled."""
    leaves, treedef = td.tree.flatten(tree)
    assert same(td.tree.unflatten(treedef, leaves), tree)
    assert all(a is b for a, b in zip(leaves, td.tree.leaves(tree), strict=True)) or isinstance(tree, list)  # complex: taken apart
    vector, unravel = td.tree.ravel(tree)
    assert vector.shape == (sum(map(np.size, leaves)),)
    assert same(unravel(vector), tree)
    assert same(pickle.loads(pickle.dumps(unravel))(vector), tree)
    assert same(td.tree.map(lambda a: 2 * a, tree), unravel(2 * vector))
    assert same(td.tree.map(lambda a, b: a - b, tree, tree), unravel(0 * vector))


def test_a_registered_container_is_one():
    assert td.tree.map(lambda a: a + 1, Box((1.0, 2.0))).inside == (2.0, 3.0)


def test_raveled_arrays_are_copies():
    """Writing to the vector or to the container leaves the other alone."""
    a = np.ones(2)
    vector, unravel = td.tree.ravel([a])
    made = unravel(vector)[0]
    vector[0] = 5.0
    made[1] = 7.0
    assert a.tolist() == [1.0, 1.0]
    assert vector.tolist() == [5.0, 1.0]


def test_dtypes_of_vectors():
    """float32 only where all leaves are; leaves get their own dtype back."""
    mixed = {"a": np.ones(2, np.float32), "b": np.ones(1)}
    vector, unravel = td.tree.ravel(mixed)
    assert vector.dtype == np.float64
    assert same(unravel(vector), mixed)
    assert td.tree.ravel(mixed["a"])[0].dtype == np.float32
    assert td.tree.ravel([1, 2.0])[0].tolist() == [1.0, 2.0]


def test_errors_name_the_difference():
    for wrong in (np.arange(3), True, np.array([True])):
        with pytest.raises(td.DtypeMismatch, match=r"(?s)td.tree.ravel takes floats.*got: a leaf of dtype"):
            td.tree.ravel({"a": wrong})
    with pytest.raises(td.ArgumentMismatch, match=r"(?s)container 2 has another.*got: \{'a': \*\} and \[\*\]"):
        td.tree.map(lambda a, b: a, {"a": 1.0}, [1.0])
    treedef = td.tree.flatten({"a": 1.0})[1]
    for leaves in ([], [1.0, 2.0]):
        with pytest.raises(td.ArgumentMismatch, match=rf"got: {len(leaves)} leaves for \{{'a': \*\}}"):
            td.tree.unflatten(treedef, leaves)
    unravel = td.tree.ravel({"a": np.ones(3)})[1]
    for vector in (np.ones(2), np.ones((3, 1)), [1.0]):
        with pytest.raises(td.ShapeMismatch, match=r"not \(3,\)"):
            unravel(vector)


def steps(parameters, x):
    """Two steps of gradient descent, and what they reach; another rate on each side of a branch."""
    for _ in range(2):
        slope = td.grad(fit)(parameters, x)
        rate = 0.1 if x[0] > 0 else 0.2
        parameters = td.tree.map(lambda p, g: p - rate * g, parameters, slope)
    vector, unravel = td.tree.ravel(parameters)
    return np.sum(vector**2) + fit(unravel(np.sin(vector)), x) + sum(np.sum(leaf) for leaf in td.tree.leaves(parameters))


def fit(parameters, x):
    return np.sum((parameters["a"] * x + parameters["b"] - 1.0) ** 2)


TARGETS = [lambda f, *args: f, td.record, td.compile, lambda f, *args: td.GuardedTape(f)]


@pytest.mark.parametrize("made", TARGETS, ids=["function", "Tape", "CompiledTape", "GuardedTape"])
def test_tracked_leaves(made):
    """Recorded at one point, evaluated at others and, where there are branches, on both sides; and differentiated again."""
    rng = np.random.default_rng(1)
    parameters = lambda: {"a": rng.normal(size=3), "b": rng.normal()}
    target = made(steps, parameters(), td.Constant(np.ones(3)))
    flat = td.tree.ravel(parameters())[1]
    sides = (1.0,) if isinstance(target, (td.Tape, td.CompiledTape)) else (1.0, -1.0, 1.0)
    for side in sides:
        x, point = np.array([side, 2.0, 3.0]), td.tree.ravel(parameters())[0]
        plain = lambda v, x=x: steps(flat(v), x)
        value, slope = td.value_and_gradient(target, flat(point), td.Constant(x))
        assert value == pytest.approx(plain(point), rel=1e-12)  # the same operations
        expected = td.testing.central_difference(plain, point, 1e-5)
        np.testing.assert_allclose(td.tree.ravel(slope)[0], expected, rtol=1e-6, atol=1e-6)  # of the difference
        hessian = td.hessian(plain, point)
        for k, e in enumerate(1e-5 * np.eye(4)):
            bent = (td.gradient(plain, point + e) - td.gradient(plain, point - e)) / 2e-5
            np.testing.assert_allclose(hessian[k], bent, rtol=1e-5, atol=1e-5)  # of the difference


def descended(rate, x, steps=5):
    """The misfit after some steps of gradient descent with momentum in a recorded loop, its carry a container."""

    def step(state, _):
        p, m = state
        m = td.tree.map(lambda m, g: 0.9 * m + g, m, td.grad(fit)(p, x))
        return (td.tree.map(lambda p, m: p - rate * m, p, m), m), None

    p = {"a": np.zeros(3), "b": 0.5}
    (p, _), _ = td.scan(step, (p, td.tree.map(np.zeros_like, p)), None, length=steps)
    return fit(p, x)


def test_an_optimiser_on_containers_in_a_recorded_loop():
    """Its result, and the derivative by the step size, against the same steps on one vector by hand."""
    x = np.array([0.5, -1.0, 2.0])

    def by_hand(rate):
        p, m = np.array([0.0, 0.0, 0.0, 0.5]), np.zeros(4)
        for _ in range(5):
            r = 2 * (p[:3] * x + p[3] - 1.0)
            m = 0.9 * m + np.append(r * x, r.sum())
            p = p - rate * m
        return np.sum((p[:3] * x + p[3] - 1.0) ** 2)

    for rate in (0.05, 0.02):
        assert descended(rate, x) == pytest.approx(by_hand(rate), rel=1e-12)
        value, slope = td.value_and_derivative(descended, rate, x)
        assert value == pytest.approx(by_hand(rate), rel=1e-12)
        assert slope == pytest.approx((by_hand(rate + 1e-6) - by_hand(rate - 1e-6)) / 2e-6, rel=1e-6)  # of the difference
