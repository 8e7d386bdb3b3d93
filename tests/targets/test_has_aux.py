"""has_aux, of every operator on every target: derivatives as without it, and everything else that the function returned."""

import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tapediff as td
from tests.support.operators import NOT_IN_RECORDINGS, OF_NUMBERS, OPERATORS

TARGETS = ("function", "tape", "compiled", "guarded")
EVERY_TARGET = pytest.mark.parametrize("kind", TARGETS)

FIRST = np.array([0.4, -1.2, 2.0])
POINTS = (np.array([1.0, 0.5, -0.3]), np.array([0.1, 0.0, 3.0]))


class Parts(NamedTuple):
    first: Any
    rest: Any


@dataclass(frozen=True)
class Record:
    mask: Any
    label: str


PLAIN = np.arange(3, dtype=np.int16)


def value(x):
    return np.sum(np.sin(x) * x**2)


def aux(x):
    """Of tracked values, plain ones, and both in containers of every kind."""
    return {
        "scaled": 2.0 * x,
        "sum": np.sum(x),
        "itself": x,
        "parts": Parts(x[0], [np.exp(x), None, "text"]),
        "record": Record(x > 0.2, "mask"),
        "index": np.argmax(x),
        "count": 3,
        "plain": PLAIN,
        "empty": (),
    }


def f(x):
    return value(x), aux(x)


def targets_of(f, *first, **options):
    guarded = td.GuardedTape(f, has_aux=True, **options)
    guarded(*first)
    return {"function": f, "tape": td.record(f, *first, has_aux=True), "compiled": td.compile(f, *first, has_aux=True), "guarded": guarded}


BUILT = targets_of(f, FIRST)

# Kernels round a few operations in another order.
CLOSE = {"rtol": 1e-13, "atol": 1e-13}


def same(found, expected):
    """Equal in structure and types, numbers to rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, Record):
        assert type(found) is Record
        same((found.mask, found.label), (expected.mask, expected.label))
    elif expected is None or isinstance(expected, (str, bool)) or type(expected) is int:
        assert found == expected
        # An int that data decide is NumPy's.
        assert type(found) is type(expected) or (type(expected) is int and type(found) is np.int64)
    else:
        assert not td.is_recording()
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, **CLOSE)


@EVERY_TARGET
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_derivative_and_aux(name, kind):
    """At other points than the recorded one, twice; arrays of aux may be written to."""
    operator, target = OPERATORS[name], BUILT[kind]
    for x in POINTS:
        before = x.copy()
        for _ in range(2):
            derivative, beside = operator.split(operator.call(target, x, has_aux=True))
            same(derivative, operator.call(value, x))
            same(beside, aux(x))
            for array in (beside["scaled"], beside["itself"], beside["plain"], beside["record"].mask):
                array[...] = 0
        assert np.array_equal(x, before)
        if kind != "function":
            same(operator.call(target, x), operator.call(value, x))


@EVERY_TARGET
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_operators_by_numbers_give_the_derivative_and_aux(name, kind):
    operator = OF_NUMBERS[name]
    target = targets_of(lambda t: (np.sin(t) * t, {"square": t * t, "name": "t"}), 0.3)[kind]
    for t in (1.1, -2.0):
        derivative, beside = operator.split(operator.call(target, t, has_aux=True))
        same(derivative, operator.call(lambda t: np.sin(t) * t, t))
        assert beside == {"square": t * t, "name": "t"}


@EVERY_TARGET
def test_calls_give_value_and_aux(kind):
    """Also the replay of a pickled target, and in a recording."""
    if kind == "function":
        return
    target = BUILT[kind]
    copies = [target] if kind == "guarded" else [target, pickle.loads(pickle.dumps(target))]
    for x in POINTS:
        for each in copies:
            same(each(x), f(x))
        outer = td.record(lambda x: np.sum(target(x)[1]["scaled"] * x) + target(x)[0], FIRST)
        np.testing.assert_allclose(td.gradient(outer, x), 4 * x + td.gradient(value, x), **CLOSE)


@EVERY_TARGET
@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in NOT_IN_RECORDINGS])
def test_operators_inside_recordings_are_differentiated_again(name, kind):
    """What an operator returns and aux are tracked: their sum is differentiated as its parts are."""
    operator, target = OPERATORS[name], BUILT[kind]
    weigh = lambda found: sum(np.sum(leaf) for leaf in (found if isinstance(found, tuple) else (found,)) if not isinstance(leaf, tuple))

    def both(x):
        derivative, beside = operator.split(operator.call(target, x, has_aux=True))
        return weigh(derivative) + np.sum(beside["scaled"] ** 2) + beside["parts"].first

    x = POINTS[0]
    expected = td.gradient(lambda x: weigh(operator.call(value, x)), x) + 8.0 * x + np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(td.gradient(both, x), expected, rtol=1e-12, atol=1e-12)  # second derivatives, in another order


@pytest.mark.parametrize("kind", ["function", "guarded"])
@pytest.mark.parametrize("name", OPERATORS)
def test_aux_follows_branches(name, kind):
    """The guards hold for aux: its structure, what is plain in it, and branches that only it depends on."""

    def branching(x):
        side = {"positive": x * 2} if np.sum(x) > 0 else {"negative": [x, "less"]}
        return value(x), {**side, "int": int(x[0])}

    target = {"function": branching, "guarded": td.GuardedTape(branching, has_aux=True)}[kind]
    operator = OPERATORS[name]
    for x in (POINTS[0], -POINTS[0], POINTS[1] + 3.0, POINTS[0]):
        derivative, beside = operator.split(operator.call(target, x, has_aux=True))
        same(derivative, operator.call(value, x))
        same(beside, branching(x)[1])


@pytest.mark.parametrize("kind", ["tape", "compiled"])
def test_guards_of_aux_alone_are_checked(kind):
    """A branch that the value does not depend on."""
    target = targets_of(lambda x: (np.sum(x), {"sign": 1 if x[0] > 0 else -1}), np.ones(2))[kind]
    assert td.gradient(target, np.ones(2), has_aux=True)[1] == {"sign": 1}
    for name in ("gradient", "jacobian", "hessian", "value_and_gradient"):
        with pytest.raises(td.GuardFailed):
            OPERATORS[name].call(target, -np.ones(2), has_aux=True)


class Box:
    def __init__(self, held):
        self.held = held


def _closing(held):
    return lambda: held


@EVERY_TARGET
@pytest.mark.parametrize("hide", [Box, _closing, lambda v: {1: Box([v])}, lambda v: np.array([v, 1.0], object), lambda v: Box(Box({"a": v}))],
                         ids=["attribute", "closure", "nested", "object array", "deep"])  # fmt: skip
def test_tracked_values_do_not_hide_in_aux(hide, kind):
    """In an object they would be stale at the next call; an array of objects is stacked."""
    hidden = lambda x: (np.sum(x**2), hide(x[0]))
    make = {"function": lambda: td.gradient(hidden, FIRST, has_aux=True), "tape": lambda: td.record(hidden, FIRST, has_aux=True),
            "compiled": lambda: td.compile(hidden, FIRST, has_aux=True), "guarded": lambda: td.GuardedTape(hidden, has_aux=True)(FIRST)}[kind]  # fmt: skip
    if isinstance(hide(0.5), np.ndarray):
        np.testing.assert_array_equal(make()[1] if kind in ("function", "guarded") else make()(FIRST)[1], [FIRST[0], 1.0])
        return
    with pytest.raises(td.TrackedValueEscaped, match="in an object that is no container"):
        make()
    assert not td.is_recording()


def test_objects_without_tracked_values_are_handed_on():
    """As they are; arrays of any dtype are copied."""
    box, names = Box(3), np.array(["a", "b"])
    compiled = td.compile(lambda x: (np.sum(x), (box, names, {1, 2}, 1j, len)), FIRST, has_aux=True)
    beside = compiled(FIRST)[1]
    assert beside[0] is box
    assert beside[1] is not names
    assert list(beside[1]) == ["a", "b"]
    assert beside[2:] == ({1, 2}, 1j, len)


@EVERY_TARGET
def test_several_arguments_and_outputs_with_aux(kind):
    """argnums, containers, results in containers, out=."""
    g = lambda p, b: ({"u": p["w"] * b, "v": np.sum(p["w"])}, {"b": b + 1.0})
    p, b = {"w": FIRST, "n": 2}, np.array([1.0, 2.0, 3.0])
    target = targets_of(g, p, b)[kind]
    jacobians, beside = td.jacobian(target, p, b, argnums=(0, 1), has_aux=True)
    np.testing.assert_allclose(jacobians["u"][0]["w"], np.diag(b))
    np.testing.assert_allclose(jacobians["u"][1], np.diag(FIRST))
    assert np.array_equal(beside["b"], b + 1.0)
    scalar = targets_of(lambda p, b: (np.sum(p["w"] ** 2 * b), b.sum()), p, b)[kind]
    (value_, beside), (p_bar, b_bar) = td.value_and_gradient(scalar, p, b, argnums=(0, 1), has_aux=True)
    np.testing.assert_allclose([value_, beside], [np.sum(FIRST**2 * b), 6.0])
    np.testing.assert_allclose(p_bar["w"], 2 * FIRST * b)
    np.testing.assert_allclose(b_bar, FIRST**2)
    out = np.empty(3)
    found, beside = td.gradient(scalar, p, b, argnums=1, has_aux=True, out=out)
    assert found is out
    np.testing.assert_allclose(out, FIRST**2)
    matrix = np.empty((3, 3))
    assert td.hessian(BUILT[kind], POINTS[0], has_aux=True, out=matrix)[0] is matrix
    np.testing.assert_allclose(matrix, td.hessian(value, POINTS[0]), **CLOSE)
    assert np.shape(td.hvp(BUILT[kind], POINTS[0], np.eye(3), has_aux=True)[0]) == (3, 3)


@pytest.mark.parametrize("kind", ["function", "tape", "compiled", "guarded"])
def test_has_aux_where_there_is_none(kind):
    """Every operator says what to do; td.grad does as well."""
    target = {"function": value, "tape": td.record(value, FIRST), "compiled": td.compile(value, FIRST), "guarded": td.GuardedTape(value)}[kind]
    said = r"must return \(y, aux\)" if kind == "function" else "was recorded without it"
    for operator in OPERATORS.values():
        with pytest.raises(td.ArgumentMismatch, match=said):
            operator.call(target, FIRST, has_aux=True)
        assert not td.is_recording()
    with pytest.raises(td.NonScalarOutput, match="has_aux=True"):
        td.gradient(lambda x: (np.sum(x), x), FIRST)
    with pytest.raises(td.ArgumentMismatch, match="no further arguments"):
        td.compile(td.record(value, FIRST), has_aux=True)


def test_functions_of_derivatives_take_has_aux():
    """td.grad and the others, in JAX's spelling."""
    x = POINTS[0]
    for make, plain in ((td.grad, td.gradient), (td.jacobian, td.jacobian), (td.hessian, td.hessian), (td.jacfwd, td.jacobian), (td.jacrev, td.jacobian)):
        derivative, beside = make(f, has_aux=True)(x)
        same(derivative, plain(value, x))
        same(beside, aux(x))
    (found, beside), gradient = td.value_and_grad(f, has_aux=True)(x)
    same((found, gradient), td.value_and_gradient(value, x))
    same(beside, aux(x))


def test_guarded_tapes_keep_aux_in_copies_and_checks():
    """Pickled, replayed, checked against the plain function, and in batches, which are of the value."""
    guarded = td.GuardedTape(_module_level, has_aux=True, check_every=1, compile_after=1)
    for _ in range(3):
        for x in POINTS:
            same(td.gradient(guarded, x, has_aux=True), (2 * x, {"twice": 2 * x, "k": 1}))
            same(guarded(x), (np.sum(x**2), {"twice": 2 * x, "k": 1}))
    again = pickle.loads(pickle.dumps(guarded))
    same(again(POINTS[0]), guarded(POINTS[0]))
    for target in (td.GuardedTape(_module_level, has_aux=True), td.compile(_module_level, FIRST, has_aux=True)):
        values, gradients = target.batch(np.stack(POINTS))
        same((values, gradients), (np.sum(np.square(POINTS), 1), 2 * np.stack(POINTS)))
    td.testing.check_derivatives(guarded, FIRST, has_aux=True)
    td.testing.check_derivatives(_module_level, FIRST, has_aux=True)


def _module_level(x):
    return np.sum(x**2), {"twice": 2 * x, "k": 1}


def test_stale_aux_is_noticed():
    """check_every compares aux with that of the plain function."""
    scale = [2.0]
    guarded = td.GuardedTape(lambda x: (np.sum(x), {"scaled": x * scale[0]}), has_aux=True, check_every=1, frozen=True)
    guarded(FIRST)
    scale[0] = 3.0
    with pytest.raises(td.StaleTape):
        guarded(FIRST)


def test_whole_numbers_are_recomputed_in_aux():
    """A step number that is data from its second value on."""
    guarded = td.GuardedTape(lambda x, t: (np.sum(x) * t, {"t": t, "next": t + 1}), has_aux=True)
    for t in range(1, 6):
        gradient, beside = td.gradient(guarded, FIRST, t, has_aux=True)
        assert np.array_equal(gradient, np.full(3, float(t)))
        assert beside == {"t": t, "next": t + 1}


def test_kernels_without_aux_are_those_of_the_value():
    """td.gradient of a target with aux takes the same kernel as of one without, so that aux costs it nothing."""
    with_aux, without = td.compile(f, FIRST, has_aux=True), td.compile(value, FIRST)
    assert with_aux.source == without.source


@EVERY_TARGET
def test_a_function_that_fills_an_output_returns_aux(kind):
    def fills(out, x):
        out[0], out[1] = x[0] * x[1], x[1] ** 2 + x[2]
        return {"sum": np.sum(x), "name": "fills"}

    buffer = np.full(2, 7.0)
    target = targets_of(fills, td.Output(buffer), FIRST)[kind]
    for x in POINTS:
        jacobian, beside = td.jacobian(target, td.Output(buffer), x, has_aux=True)
        np.testing.assert_allclose(jacobian, [[x[1], x[0], 0.0], [0.0, 2 * x[1], 1.0]])
        np.testing.assert_allclose(beside["sum"], np.sum(x))
        assert beside["name"] == "fills"
        y, _, beside = td.vjp(target, td.Output(buffer), x, has_aux=True)
        np.testing.assert_allclose(y, [x[0] * x[1], x[1] ** 2 + x[2]])
        np.testing.assert_allclose(beside["sum"], np.sum(x))
    assert np.array_equal(buffer, [7.0, 7.0])
