"""Containers as arguments and results: every operator on every target gives back the structure that it was given."""

import collections
import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapediff as td
from tests.support.scenarios import targets_of

POINT = np.array([0.5, -1.25])

Point = collections.namedtuple("Point", "u v")


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    activation: str = "tanh"


@dataclasses.dataclass(frozen=True)
class Frozen:
    layers: Any
    scale: Any


class Pair:
    """A class that is none of the known containers."""

    def __init__(self, left, right, label):
        self.left, self.right, self.label = left, right, label

    def __eq__(self, other):
        return type(other) is Pair and (self.left, self.right, self.label) == (other.left, other.right, other.label)


td.register_container(Pair, lambda p: ((p.left, p.right), p.label), lambda label, parts: Pair(*parts, label))


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A structure of `size` numbers.

    Attributes:
        build: from an array of `size` numbers to the container.
        arrays: the arrays of a container of this structure, in order.
    """

    name: str
    size: int
    build: Callable[[Any], Any]
    arrays: Callable[[Any], list[Any]]


SCENARIOS = (
    Scenario("dict", 5, lambda x: {"b": x[:2], "a": x[2:]}, lambda p: [p["b"], p["a"]]),
    Scenario("list", 5, lambda x: [x[:2], x[2:4], x[4]], list),
    Scenario("tuple", 5, lambda x: (x[:2], x[2:].reshape(3, 1)), list),
    Scenario("tuple of numbers", 2, lambda x: (x[0], x[1]), list),
    Scenario("named tuple", 5, lambda x: Point(x[:4].reshape(2, 2), x[4]), list),
    Scenario("dataclass", 5, lambda x: Layer(x[:3], x[3:]), lambda p: [p.w, p.b]),
    Scenario("frozen dataclass", 7, lambda x: Frozen([Layer(x[:2], x[2]), Layer(x[3:5], x[5], "relu")], x[6]),
             lambda p: [p.layers[0].w, p.layers[0].b, p.layers[1].w, p.layers[1].b, p.scale]),
    Scenario("registered class", 5, lambda x: Pair(x[:2], {"inside": x[2:]}, "label"), lambda p: [p.left, p.right["inside"]]),
    Scenario("strings and None inside", 4, lambda x: {"name": "m", "w": (None, x[:3]), "b": x[3]}, lambda p: [p["w"][1], p["b"]]),
    Scenario("ordered dict", 3, lambda x: collections.OrderedDict(z=x[:1], y=x[1:]), lambda p: [p["z"], p["y"]]),
    Scenario("empty containers inside", 2, lambda x: [x[:1], (), {}, x[1:]], lambda p: [p[0], p[3]]),
    Scenario("a list of numbers inside is an array", 3, lambda x: {"w": [float(x[0]), float(x[1])], "b": x[2]} if isinstance(x, np.ndarray)
             else {"w": x[:2], "b": x[2]}, lambda p: [np.asarray(p["w"]) if isinstance(p["w"], list) else p["w"], p["b"]]),
)  # fmt: skip
EVERY_SCENARIO = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
EVERY_TARGET = pytest.mark.parametrize("kind", ["function", "tape", "compiled", "guarded"])

# A closed form of a few operations in another order.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def vector(arrays):
    return np.concatenate([np.ravel(a) for a in arrays])


def weights(size):
    return np.arange(1.0, size + 1.0)


def cubes(scenario):
    """sum_k k x_k^3 + (sum x)^2: a function of a container, with gradient and Hessian in closed form below."""

    def f(p):
        arrays, first, total, all_ = scenario.arrays(p), 0, 0.0, 0.0
        for a in arrays:
            size = int(np.size(a))
            total = total + np.sum(np.ravel(a) ** 3 * weights(scenario.size)[first : first + size])
            all_ = all_ + np.sum(a)
            first += size
        return total + all_**2

    return f


def cubes_gradient(x):
    return 3.0 * weights(len(x)) * x**2 + 2.0 * np.sum(x)


def cubes_hessian(x):
    return np.diag(6.0 * weights(len(x)) * x) + 2.0


def points(scenario):
    rng = np.random.default_rng(3)
    return [rng.normal(size=scenario.size) for _ in range(3)]


def same(found, expected):
    """Equal structure, types of containers, and values that are no arrays; arrays close."""
    assert shape_of(found) == shape_of(expected)
    np.testing.assert_allclose(vector(leaves(found)), vector(leaves(expected)), **CLOSE)


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves(part)]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if dataclasses.is_dataclass(tree):
        return [leaf for field in dataclasses.fields(tree) for leaf in leaves(getattr(tree, field.name))]
    if isinstance(tree, Pair):
        return leaves((tree.left, tree.right))
    return [] if isinstance(tree, (str, bool, type(None))) else [tree]


def shape_of(tree):
    """A tree with shapes for arrays."""
    if isinstance(tree, dict):
        return type(tree), [(key, shape_of(part)) for key, part in tree.items()]
    if isinstance(tree, list) and tree and all(type(part) is float for part in tree):
        return np.shape(tree)
    if isinstance(tree, (tuple, list)):
        return type(tree), [shape_of(part) for part in tree]
    if dataclasses.is_dataclass(tree):
        return type(tree), [shape_of(getattr(tree, field.name)) for field in dataclasses.fields(tree)]
    if isinstance(tree, Pair):
        return Pair, shape_of(tree.left), shape_of(tree.right), tree.label
    return tree if isinstance(tree, (str, bool, type(None))) else np.shape(tree)


def twice(ask, *args):
    """The answer, asked for twice, which must leave the arguments as they are."""
    before = copy.deepcopy(args)
    first = ask()
    same(ask(), first)
    for a, b in zip(args, before):
        assert shape_of(a) == shape_of(b)
        assert np.array_equal(vector(leaves(a)), vector(leaves(b)))
    return first


@EVERY_TARGET
@EVERY_SCENARIO
def test_gradients_have_the_structure_of_the_argument(scenario, kind):
    """At other points than the recorded one; also beside another argument, and by both."""
    first, *others = points(scenario)
    f = cubes(scenario)
    target = targets_of(f, scenario.build(first))[kind]
    beside = targets_of(lambda s, p: s * f(p), 2.0, scenario.build(first))[kind]
    for x in others:
        p = scenario.build(x)
        value, found = twice(lambda p=p: td.value_and_gradient(target, p), p)
        np.testing.assert_allclose(value, f(p), **CLOSE)
        same(found, scenario.build(cubes_gradient(x)))
        same(td.gradient(target, p), found)
        same(td.gradient(beside, 3.0, p, argnums=1), scenario.build(3.0 * cubes_gradient(x)))
        by_both = td.gradient(beside, 3.0, p, argnums=(1, 0))
        assert type(by_both) is tuple
        same(by_both[0], scenario.build(3.0 * cubes_gradient(x)))
        np.testing.assert_allclose(by_both[1], f(p), **CLOSE)
        if kind != "function":
            np.testing.assert_allclose(target(p), f(p), **CLOSE)
        if kind in ("compiled", "guarded"):
            same(target.gradient(p), found)
            same(target.value_and_gradient(p)[1], found)


@EVERY_TARGET
@EVERY_SCENARIO
def test_products_have_the_structure_of_the_argument(scenario, kind):
    """jvp, linearize, vjp, hvp; of many tangents too."""
    first, *others = points(scenario)
    f = cubes(scenario)
    target = targets_of(f, scenario.build(first))[kind]
    for x in others:
        p, direction = scenario.build(x), np.cos(np.arange(scenario.size))
        v = scenario.build(direction)
        value, tangent = twice(lambda p=p, v=v: td.jvp(target, (p,), (v,)), p, v)
        np.testing.assert_allclose(value, f(p), **CLOSE)
        np.testing.assert_allclose(tangent, cubes_gradient(x) @ direction, **CLOSE)
        np.testing.assert_allclose(td.linearize(target, p)[1](v), cubes_gradient(x) @ direction, **CLOSE)
        value, pull = td.vjp(target, p)
        (found,) = twice(lambda pull=pull: pull(2.0))
        same(found, scenario.build(2.0 * cubes_gradient(x)))
        same(twice(lambda p=p, v=v: td.hvp(target, p, v), p, v), scenario.build(cubes_hessian(x) @ direction))
        value, gradient, product = td.value_gradient_and_hvp(target, p, v)
        same(gradient, scenario.build(cubes_gradient(x)))
        same(product, scenario.build(cubes_hessian(x) @ direction))


@EVERY_TARGET
@EVERY_SCENARIO
def test_hessians_are_nested_by_argument_and_argument(scenario, kind):
    first, *others = points(scenario)
    f = cubes(scenario)
    target = targets_of(f, scenario.build(first))[kind]
    for x in others:
        p = scenario.build(x)
        sizes = [np.size(a) for a in scenario.arrays(p)]
        _, gradient, found = twice(lambda p=p: td.value_gradient_and_hessian(target, p), p)
        same(gradient, scenario.build(cubes_gradient(x)))
        rows = [scenario.arrays(row) for row in scenario.arrays(found)]
        matrix = np.block([[np.reshape(block, (m, n)) for block, n in zip(row, sizes)] for row, m in zip(rows, sizes)])
        np.testing.assert_allclose(matrix, cubes_hessian(x), **CLOSE)
        same(td.hessian(target, p), found)


def powers(scenario):
    """Each array squared, in a result of the argument's structure, with the sum of all beside it."""

    def f(p):
        squares = [a**2 for a in scenario.arrays(p)]
        return {"squares": rebuilt(scenario, squares), "sum": [sum(np.sum(a) for a in scenario.arrays(p))]}

    return f


def rebuilt(scenario, arrays):
    """The container of these arrays: build() of a stand-in that gives them one by one."""
    rest = iter(arrays)

    class Parts:
        shape = (scenario.size,)

        def __getitem__(self, _):
            return Part(next(rest))

    class Part:
        def __init__(self, array):
            self.array = array

        def reshape(self, *_):
            return self

    def unwrapped(tree):
        if isinstance(tree, Part):
            return tree.array
        if isinstance(tree, dict):
            return type(tree)((key, unwrapped(part)) for key, part in tree.items())
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*map(unwrapped, tree))
        if isinstance(tree, (tuple, list)):
            return type(tree)(map(unwrapped, tree))
        if dataclasses.is_dataclass(tree):
            return dataclasses.replace(tree, **{k: unwrapped(v) for k, v in vars(tree).items()})
        return Pair(unwrapped(tree.left), unwrapped(tree.right), tree.label) if isinstance(tree, Pair) else tree

    return unwrapped(scenario.build(Parts()))


@EVERY_TARGET
@EVERY_SCENARIO
def test_results_have_their_structure_in_every_operator(scenario, kind):
    """Values, tangents, Jacobians by result and argument; cotangents are given in the structure of the result."""
    first, *others = points(scenario)
    f = powers(scenario)
    target = targets_of(f, scenario.build(first))[kind]
    for x in others:
        p, direction = scenario.build(x), np.cos(np.arange(scenario.size))
        if kind != "function":
            same(twice(lambda p=p: target(p), p), f(p))
        value, tangent = twice(lambda p=p, d=direction: td.jvp(target, (p,), (scenario.build(d),)), p)
        same(value, f(p))
        same(tangent["squares"], scenario.build(2.0 * x * direction))
        np.testing.assert_allclose(tangent["sum"], [np.sum(direction)], **CLOSE)
        value, pull = td.vjp(target, p)
        (found,) = twice(lambda pull=pull, d=direction: pull({"squares": scenario.build(d), "sum": [3.0]}))
        same(found, scenario.build(2.0 * x * direction + 3.0))
        jacobian = twice(lambda p=p: td.jacobian(target, p), p)
        for k, row in enumerate(scenario.arrays(jacobian["squares"])):
            own = scenario.arrays(row)[k]
            squares = np.ravel(scenario.arrays(p)[k])
            np.testing.assert_allclose(np.reshape(own, (len(squares),) * 2), np.diag(2.0 * squares), **CLOSE)
        same(jacobian["sum"], [scenario.build(np.ones(scenario.size))])


@EVERY_TARGET
@EVERY_SCENARIO
def test_gradients_are_written_into_a_container_of_arrays(scenario, kind):
    first, x, _ = points(scenario)
    target = targets_of(cubes(scenario), scenario.build(first))[kind]
    p = scenario.build(x)
    out = td.gradient(target, p)
    for array in leaves(out):
        if np.ndim(array):
            array[...] = np.nan
    if all(np.ndim(array) for array in leaves(out)):
        assert td.gradient(target, p, out=out) is out
        same(out, scenario.build(cubes_gradient(x)))
    else:
        with pytest.raises(td.ArgumentMismatch, match="out must be a NumPy array"):
            td.gradient(target, p, out=out)
    with pytest.raises(td.ArgumentMismatch, match="out has another structure"):
        td.gradient(target, p, out=np.empty(scenario.size))


@EVERY_TARGET
def test_results_keep_their_structure_from_call_to_call(kind):
    """Also where a kernel is called directly from the second call on."""
    f = lambda x: {"a": x * 2.0, "b": [np.sum(x)]}
    target = targets_of(f, np.ones(2))[kind]
    for _ in range(4):
        if kind != "function":
            same(target(np.ones(2)), f(np.ones(2)))
        same(td.jacobian(target, np.ones(2)), {"a": 2.0 * np.eye(2), "b": [np.ones(2)]})


@EVERY_TARGET
def test_arguments_of_tapes_have_the_names_that_they_were_recorded_with(kind):
    """Also where they were given by position, and containers; others are refused."""
    f = lambda p, scale, shift: np.sum(p["x"] ** 2) * scale + shift
    target = targets_of(f, {"x": np.ones(2)}, 2.0, 1.0)[kind]
    p = {"x": np.array([1.0, 2.0])}
    for _ in range(2):
        same(td.gradient(target, p, shift=5.0, scale=3.0), {"x": 6.0 * p["x"]})
        same(td.hvp(target, p, p, shift=5.0, scale=3.0), {"x": 6.0 * p["x"]})
        if kind != "function":
            assert target(p, 3.0, shift=5.0) == 20.0
    refused = td.ArgumentMismatch if kind in ("tape", "compiled") else TypeError
    for named in ({"scale": 1.0}, {"scale": 1.0, "shift": 1.0, "other": 1.0}, {"scale": 1.0, "shift": 1.0, "p": p}):
        with pytest.raises(refused):
            td.gradient(target, p, **named)


def test_arguments_given_by_name_at_recording():
    f = lambda x, scale, shift=0.0: np.sum(x**2) * scale + shift
    for target in (td.compile(f, np.ones(2), scale=2.0), td.record(f, np.ones(2), scale=2.0)):
        np.testing.assert_array_equal(td.gradient(target, np.ones(2), scale=3.0), [6.0, 6.0])
        assert target(np.ones(2), scale=3.0) == target(np.ones(2), 3.0) == 6.0


# Structure


def by_name(p):
    return np.sum(p["w"] ** 2) * (2.0 if p["mode"] == "double" else 1.0)


def test_a_guarded_tape_keeps_a_tape_for_each_structure():
    """Other keys, other strings, another order of keys, another length: each as the plain function has it."""
    guarded = td.GuardedTape(lambda p: sum(k * np.sum(v**2) for k, v in enumerate(p.values(), 1) if not isinstance(v, (str, bool))))
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        for p in ({"a": a, "b": b}, {"b": b, "a": a}, {"a": a}, {"a": a, "s": "x"}, {"a": a, "s": "y"}, {"a": a, "s": True}, {"a": (1.0, 2.0), "b": b}):
            if isinstance(p["a"], tuple):
                with pytest.raises(TypeError):
                    guarded(p)
                continue
            expected = {k: v if isinstance(v, (str, bool)) else 2.0 * n * v for n, (k, v) in enumerate(p.items(), 1)}
            found = guarded.gradient(p)
            assert list(found) == list(p)
            same(found, expected)
            assert guarded(p) == guarded.f(p)
    assert guarded.stats.recordings == 6


def test_a_guarded_tape_follows_branches_on_values_in_containers():
    guarded = td.GuardedTape(lambda p: np.sum(p["x"] ** 2) if p["x"][0] > p["limit"] else np.sum(p["x"] ** 3), merge=False)
    for x in (np.array([2.0, 1.0]), np.array([-2.0, 1.0]), np.array([3.0, 1.0])):
        found = guarded.gradient({"x": x, "limit": 0.5})
        np.testing.assert_array_equal(found["x"], 2 * x if x[0] > 0.5 else 3 * x**2)
        assert found["limit"] == 0.0
    assert guarded.stats.recordings == 2
    copied = pickle.loads(pickle.dumps(guarded.stats)), copy.deepcopy(guarded)
    assert copied[1].gradient({"x": x, "limit": 0.5})["limit"] == 0.0
    assert copied[1].stats.recordings == 2


@pytest.mark.parametrize("kind", ["tape", "compiled"])
def test_another_structure_is_one_error_with_a_line_for_each_leaf(kind):
    target = targets_of(by_name, {"w": np.ones(2), "mode": "double"})[kind]
    for given in ({"w": np.ones(2)}, {"mode": "double", "w": np.ones(2)}, {"w": np.ones(2), "mode": "single"}, np.ones(2), [np.ones(2)]):
        for ask in (td.gradient, lambda t, p: t(p), td.hessian, lambda t, p: td.jvp(t, (p,), ({"w": np.ones(2), "mode": 0},)), td.vjp):
            with pytest.raises(td.ArgumentMismatch, match=r"✗ (p|p\['mode'\]) "):
                ask(target, given)
    with pytest.raises(td.ArgumentMismatch) as raised:
        target({"w": np.ones(3), "mode": "double"})
    assert str(raised.value).split("\n")[0] == "the arguments of by_name differ from the recorded ones"
    assert str(raised.value).split("\n")[2:5] == [
        "  got: ✓ p          recorded dict of 'w', 'mode', given dict of 'w', 'mode'",
        "       ✗ p['w']     recorded float64[2], given float64[3]",
        "       ✓ p['mode']  recorded 'double', given 'double'",
    ]


def test_tapes_keep_their_structure_through_pickling():
    p = Frozen([Layer(np.ones(2), 1.0)], 2.0)
    f = lambda p: {"r": [p.layers[0].w * p.scale, p.layers[0].b]}
    for made in (td.record(f, p), td.compile(f, p)):
        restored = pickle.loads(pickle.dumps(made))
        same(restored(p), f(p))
        same(td.jacobian(restored, p), td.jacobian(made, p))


@EVERY_TARGET
def test_what_is_no_float_in_a_container_has_no_gradient(kind):
    """None stands for integers, masks and td.Constant, which change from call to call all the same."""

    def f(p):
        return np.sum(p["x"][p["index"]] ** 2 * p["scale"]) * p["n"] + np.sum(p["mask"] * p["x"])

    index, mask, x = np.array([0, 2]), np.array([True, False, True]), np.array([1.0, 2.0, 3.0])
    made = lambda index, mask, n: {"x": x, "index": index, "mask": mask, "scale": td.Constant(np.array([1.0, 2.0])), "n": n}
    target = targets_of(f, made(index, mask, 3))[kind]
    for p in (made(index, mask, 3), made(index[::-1], ~mask, -2)):
        expected = np.zeros(3)
        expected[p["index"]] = 2 * x[p["index"]] * np.array([1.0, 2.0]) * p["n"]
        found = td.gradient(target, p)
        np.testing.assert_allclose(found.pop("x"), expected + p["mask"], **CLOSE)
        assert found == dict.fromkeys(("index", "mask", "scale", "n"))
        (pulled,) = td.vjp(target, p)[1](1.0)
        assert pulled["n"] is None
        tangent = {"x": np.ones(3), "index": None, "mask": None, "scale": None, "n": None}
        np.testing.assert_allclose(td.jvp(target, (p,), (tangent,))[1], np.sum(pulled["x"]), **CLOSE)


@EVERY_TARGET
def test_constants_may_be_containers(kind):
    f = lambda b, data: np.sum((data["X"] @ b - data["y"]) ** 2)
    rng = np.random.default_rng(0)
    data = [td.Constant({"X": rng.normal(size=(5, 2)), "y": rng.normal(size=5), "name": "d"}) for _ in range(2)]
    target = targets_of(f, np.ones(2), data[0])[kind]
    for each in data:
        X, y = each.value["X"], each.value["y"]
        np.testing.assert_allclose(td.gradient(target, np.ones(2), each), 2 * X.T @ (X @ np.ones(2) - y), **CLOSE)
        with pytest.raises(td.ArgumentMismatch, match="nothing to differentiate"):
            td.gradient(target, np.ones(2), each, argnums=1)


@EVERY_TARGET
def test_a_mismatched_tangent_or_cotangent_is_refused(kind):
    target = targets_of(by_name, {"w": np.ones(2), "mode": "m"})[kind]
    p = {"w": np.ones(2), "mode": "m"}
    for ask in (lambda: td.jvp(target, (p,), ([np.ones(2)],)), lambda: td.hvp(target, p, {"w": np.ones(2)}), lambda: td.linearize(target, p)[1](1.0)):
        with pytest.raises(td.ArgumentMismatch, match="another structure"):
            ask()
    results = targets_of(lambda x: {"a": x, "b": x * 2.0}, np.ones(2))[kind]
    with pytest.raises(td.ArgumentMismatch, match="another structure"):
        td.vjp(results, np.ones(2))[1]([np.ones(2), np.ones(2)])


@pytest.mark.parametrize("kind", ["function", "tape", "compiled", "guarded"])
def test_containers_inside_recordings(kind):
    """A gradient by a container within a recorded function, differentiated again."""
    inner = targets_of(lambda p: np.sum(p["a"] ** 3) * p["b"], {"a": np.ones(2), "b": 1.0})[kind]

    def outer(x, s):
        g = td.gradient(inner, {"a": x * s, "b": s})
        y, pull = td.vjp(inner, {"a": x, "b": s})
        return np.sum(g["a"]) + g["b"] + y + pull(1.0)[0]["b"]

    def closed(x, s):
        return np.sum(3 * (x * s) ** 2 * s) + np.sum((x * s) ** 3) + np.sum(x**3) * s + np.sum(x**3)

    x, s = np.array([0.5, 2.0]), 1.5
    expected = (9 * s**3 * 2 * x / 3 + 3 * x**2 * s**3 + 3 * x**2 * s + 3 * x**2, np.sum(9 * x**2 * s**2 + 3 * x**3 * s**2 + x**3))
    for target in (outer, td.record(outer, x, s), td.compile(outer, x, s), td.GuardedTape(outer)):
        value, found = td.value_and_gradient(target, x, s, argnums=(0, 1))
        np.testing.assert_allclose(value, closed(x, s), **CLOSE)
        np.testing.assert_allclose(found[0], expected[0], **CLOSE)
        np.testing.assert_allclose(found[1], expected[1], **CLOSE)


def test_containers_go_through_subtapes():
    layer = td.subtape(lambda p, x: Layer(p.w * x, np.sum(p.b), p.activation))
    f = lambda p: np.sum(layer(p, 2.0).w ** 2) + layer(p, 1.0).b
    p = Layer(np.array([1.0, 2.0]), np.ones(3))
    for target in targets_of(f, p).values():
        same(td.gradient(target, p), Layer(8.0 * p.w, np.ones(3)))


def test_the_functions_that_return_derivatives_take_containers():
    f = lambda p: np.sum(p["x"] ** 2)
    p = {"x": np.array([1.0, 2.0])}
    for made in (td.grad(f), lambda p: td.value_and_grad(f)(p)[1], td.jacrev(f), td.jacfwd(f)):
        for _ in range(5):
            same(made(p), {"x": 2.0 * p["x"]})
    np.testing.assert_allclose(td.hessian(f)(p)["x"]["x"], 2.0 * np.eye(2))


def test_the_function_is_given_containers_of_its_own():
    """What it does to them stays inside, as plain dicts of its caller are not its own."""

    def f(p):
        p["extra"] = p["x"] * 2.0
        p["x"] += 1.0
        return np.sum(p.pop("extra") * p["x"])

    p = {"x": np.ones(2)}
    for target in (f, td.record(f, p), td.compile(f, p), td.GuardedTape(f)):
        np.testing.assert_allclose(td.gradient(target, p)["x"], 4.0 * np.ones(2) + 2.0)
        assert list(p) == ["x"]
        assert np.array_equal(p["x"], np.ones(2))


@pytest.mark.parametrize("other", [lambda x: 3, lambda x: True, lambda x: x > 0.0, lambda x: x.astype(int), lambda x: np.arange(2)])
@pytest.mark.parametrize("form", [lambda f: f, lambda f: td.record(f, POINT), lambda f: td.compile(f, POINT), td.GuardedTape])
def test_the_jacobian_of_ints_and_bools_in_containers_is_none(form, other):
    """Every other result keeps its place, by both modes and beside the value."""
    squares = np.diag(2.0 * POINT)
    target = form(lambda x: {"a": (other(x), x**2), "b": [other(x), {"c": x[0], "d": "text"}]})
    for jacobian in (td.jacobian(target, POINT), td.jacobian(target, POINT, mode="forward"), td.value_and_jacobian(target, POINT)[1]):
        np.testing.assert_array_equal(jacobian["a"][1], squares)
        np.testing.assert_array_equal(jacobian["b"][1]["c"], [1.0, 0.0])
        assert jacobian["a"][0] is jacobian["b"][0] is None
        assert jacobian["b"][1]["d"] == "text"
    first, second = td.jacobian(form(lambda x: (other(x), x**2)), POINT)
    assert first is None
    np.testing.assert_array_equal(second, squares)
