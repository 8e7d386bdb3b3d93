"""Direct calls: a call like one that a kernel has answered is answered by that kernel at once, in the same types; any other as ever."""

import collections
import contextlib
import dataclasses
import itertools
import threading

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.compiler.runtime.entries import python_entry
from tapediff.compiler.runtime.status import REFUSED
from tapediff.targets.evaluate.direct_calls import DirectCalls
from tapediff.targets.guarded.dispatch import Dispatch
from tapediff.targets.operators.products import SecondHalf
from tests.targets.test_containers import Layer, Pair, Point, leaves, shape_of

EVERY_TARGET = pytest.mark.parametrize("kind", [td.compile, lambda f, *args: td.GuardedTape(f)], ids=["compiled", "guarded"])
# Kernels and replays add in different orders.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@contextlib.contextmanager
def no_full_path():
    """What every full path comes by raises here."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((td.CompiledTape, "run_operator"), (Dispatch, "answer"), (SecondHalf, "product")):
            patch.setattr(owner, name, None)
        yield


def types_of(tree):
    return shape_of(tree), [type(leaf) for leaf in leaves(tree)], [getattr(leaf, "dtype", None) for leaf in leaves(tree)]


def same_bits(found, expected):
    assert types_of(found) == types_of(expected)
    for a, b in zip(leaves(found), leaves(expected)):
        assert np.array_equal(a, b)


def everything(x):
    """Every kind of container, nested, with what is no array in it."""
    return {
        "b": Point(x[:2], [x[2:4].reshape(2, 1), x[4]]), "a": Pair(Layer(x[5:6], (x[6],), "relu"), x[7:], ("label", 1)),
        "n": None, "o": collections.OrderedDict(z=x[:1], s="text", e=(), t=True),
    }  # fmt: skip


def arrays_of(p):
    return [p["b"].u, p["b"].v[0], p["b"].v[1], p["a"].left.w, p["a"].left.b[0], p["a"].right, p["o"]["z"]]


def loss(p):
    total = 0.0
    for k, a in enumerate(arrays_of(p)):
        total = total + (k + 1.0) * np.sum(np.sin(a)) * np.sum(a)
    return total


def results(p):
    return {"x": (np.sin(p["b"].u), np.sum(p["a"].right)), "l": [p["o"]["z"] * p["b"].u[0], "label"]}


def asked(target, p, v):
    """What is asked of a scalar function."""
    yield lambda: td.gradient(target, p)
    yield lambda: td.value_and_gradient(target, p)
    yield lambda: target(p)
    yield lambda: td.hvp(target, p, v)
    yield lambda: td.value_gradient_and_hvp(target, p, v)
    yield lambda: td.value_gradient_and_hessian(target, p)
    yield lambda: td.jvp(target, (p,), (v,))
    yield lambda: td.vjp(target, p)[1](2)
    yield lambda: td.linearize(target, p)[1](v)


def asked_of_results(target, p, v):
    yield lambda: target(p)
    yield lambda: td.value_and_jacobian(target, p)
    yield lambda: td.jvp(target, (p,), (v,))
    yield lambda: td.linearize(target, p)[1](v)
    yield lambda: td.vjp(target, p)[1](target(p))


@EVERY_TARGET
@pytest.mark.parametrize(("f", "ask"), [(loss, asked), (results, asked_of_results)])
def test_the_answers_of_direct_calls_have_the_bits_and_types_of_the_full_path(kind, f, ask):
    """Of every verb, at other points than those that were asked for first."""
    rng = np.random.default_rng(1)
    p, v, q = (everything(rng.normal(size=9)) for _ in range(3))
    target = kind(f, p)
    for question in ask(target, p, v):
        question()
    known, target.direct_calls = target.direct_calls, DirectCalls()
    expected = [question() for question in ask(target, q, p)]
    target.direct_calls = known
    with no_full_path():
        for question, answer in zip(ask(target, q, p), expected, strict=True):
            same_bits(question(), answer)
    q["b"].u[:] = 0.3
    with no_full_path():
        found = [question() for question in ask(target, q, p)]
    for direct, question in zip(found, ask(td.record(f, p), q, p), strict=True):
        replayed = question()
        assert shape_of(direct) == shape_of(replayed)
        for one, other in zip(leaves(direct), leaves(replayed)):
            np.testing.assert_allclose(one, other, **CLOSE)


ARRAY = np.array([0.3, -0.2])


def small(x, y=0.5):
    return {"w": x, "k": (y, "relu"), "l": [x + 1.0, Layer(x, y)]}


def small_loss(p):
    scale = 2.0 if p["k"][1] == "relu" else 3.0
    return scale * np.sum(p["w"] ** 2) * p["k"][0] + np.sum(p["l"][0] * p["l"][1].w) - p["l"][1].b


class Dict(dict):
    """A subclass."""


@dataclasses.dataclass
class OtherLayer:
    """The fields of Layer."""

    w: object
    b: object
    activation: str = "tanh"


class Array(np.ndarray):
    """A subclass."""


def replaced(**parts):
    return lambda: {**small(ARRAY), **parts}


SURPRISES = {
    "another order": lambda: dict(reversed(small(ARRAY).items())),
    "another key": replaced(more=ARRAY),
    "a missing key": lambda: {k: v for k, v in small(ARRAY).items() if k != "l"},
    "another key in the place of one": lambda: {("v" if k == "w" else k): v for k, v in small(ARRAY).items()},
    "a subclass of dict": lambda: Dict(small(ARRAY)),
    "an ordered dict": lambda: collections.OrderedDict(small(ARRAY)),
    "no container": lambda: ARRAY,
    "None": lambda: None,
    "a list for a tuple": replaced(k=[0.5, "relu"]),
    "a tuple for a list": replaced(l=(ARRAY + 1.0, Layer(ARRAY, 0.5))),
    "a named tuple for a tuple": replaced(k=Point(0.5, "relu")),
    "a longer tuple": replaced(k=(0.5, "relu", 1.0)),
    "a shorter list": replaced(l=[ARRAY]),
    "another class with the same fields": replaced(l=[ARRAY, OtherLayer(ARRAY, 0.5)]),
    "another string": replaced(k=(0.5, "tanh")),
    "a number for a string": replaced(k=(0.5, 1.0)),
    "True for a string": replaced(k=(0.5, True)),
    "another string in a dataclass": replaced(l=[ARRAY, Layer(ARRAY, 0.5, "relu")]),
    "a constant": replaced(w=td.Constant(ARRAY)),
    "a container of constants": lambda: td.Constant(small(ARRAY)),
    "a constant number": replaced(k=(td.Constant(0.5), "relu")),
    "another shape": lambda: small(np.ones(3)),
    "another shape of one": replaced(w=np.ones(1)),
    "another number of dimensions": replaced(w=np.ones((1, 2))),
    "float32": lambda: small(ARRAY.astype(np.float32)),
    "integers": replaced(w=np.array([1, 2])),
    "an integer": replaced(k=(2, "relu")),
    "NumPy's integer": replaced(k=(np.int64(2), "relu")),
    "NumPy's number": replaced(k=(np.float64(0.7), "relu")),
    "an array without dimensions": replaced(k=(np.array(0.7), "relu")),
    "an array of one number": replaced(k=(np.array([0.7]), "relu")),
    "strided": replaced(w=np.repeat(ARRAY, 3)[::3]),
    "backwards": replaced(w=ARRAY[::-1]),
    "another byte order": replaced(w=ARRAY.astype(">f8")),
    "not aligned": replaced(w=np.frombuffer(bytes(1) + ARRAY.tobytes(), np.float64, offset=1)),
    "a list of numbers": replaced(w=[0.3, -0.2]),
    "a list of integers": replaced(w=[1, 2]),
    "a list of arrays": replaced(w=[np.array(0.3), np.array(-0.2)]),
    "a subclass of ndarray": replaced(w=ARRAY.view(Array)),
    "read-only": replaced(w=np.broadcast_to(np.array(0.3), (2,))),
    "a string for an array": replaced(w="relu"),
    "None for an array": replaced(w=None),
    "a boolean for a number": replaced(k=(True, "relu")),
    "complex numbers": replaced(w=ARRAY * 1j),
}  # fmt: skip


def outcome(ask, target, given):
    """The answer or the exception, and that the arguments are as before."""
    before = repr(given)
    try:
        answer = ask(target, **given)
    except Exception as raised:  # noqa: BLE001 -- whatever it is, the other call has to raise it too
        return type(raised), str(raised)
    assert repr(given) == before
    return answer


def agree(found, expected, close=CLOSE):
    """Two outcomes are the same exception, or answers of the same types."""
    if type(expected) is tuple and expected and isinstance(expected[0], type):
        assert found == expected
        return
    assert types_of(found) == types_of(expected)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, **close)


def of_one(target, p):
    return td.value_and_gradient(target, p)


@EVERY_TARGET
def test_what_is_not_as_in_the_known_call_is_answered_or_refused_as_ever(kind):
    """Another structure, value, type, shape or layout: as a target answers that knows no direct calls; again, and the known call after it."""
    target = kind(small_loss, small(ARRAY))
    fresh = target if kind is td.compile else td.GuardedTape(small_loss, compile_after=10**9)
    expected = td.value_and_gradient(target, small(2.0 * ARRAY))
    for make in SURPRISES.values():
        known, target.direct_calls = target.direct_calls, DirectCalls()
        reference = outcome(of_one, fresh, {"p": make()})
        target.direct_calls = known
        for _ in range(3):
            agree(outcome(of_one, target, {"p": make()}), reference)
            same_bits(td.value_and_gradient(target, small(2.0 * ARRAY)), expected)
    with no_full_path():
        same_bits(td.value_and_gradient(target, small(2.0 * ARRAY)), expected)


@EVERY_TARGET
def test_arguments_in_another_form_are_known_from_the_second_call_on(kind):
    """Constants, NumPy's numbers, lists, and arrays that are not in one piece."""
    f = lambda x, s, k: np.sum(np.sin(x) * s) * k
    x, s = np.linspace(0.1, 1.0, 4), np.arange(1.0, 5.0)
    forms = [
        (x, td.Constant(s), 2.0), (x, td.Constant(s.tolist()), td.Constant(2.0)), (np.repeat(x, 2)[::2], s, 2.0), (x.tolist(), s, 2.0),
        (x, s, np.float64(2.0)), (x, np.repeat(s, 2)[::2], np.array(2.0)),
    ]  # fmt: skip
    target = kind(f, x, s, 2.0)
    expected = td.value_and_gradient(target, x, s, 2.0)
    for form in forms:
        for _ in range(2):
            same_bits(td.value_and_gradient(target, *form), expected)
        with no_full_path():
            same_bits(td.value_and_gradient(target, *form), expected)
            out = np.empty(4)
            assert td.value_and_gradient(target, x, s, 2.0, out=out)[1] is out
            np.testing.assert_array_equal(out, expected[1])


@EVERY_TARGET
def test_single_precision_takes_direct_calls_too(kind):
    f = lambda p: np.sum(p["a"] ** 2 * p["b"])
    p = {"a": np.ones(2, np.float32), "b": np.float32(2.0)}
    target = kind(f, p)
    q = {"a": np.arange(2, dtype=np.float32), "b": np.float32(0.5)}
    td.gradient(target, p), target(p), td.hvp(target, p, p)
    target.direct_calls, known = DirectCalls(), target.direct_calls
    expected = [td.gradient(target, q), target(q), td.hvp(target, q, q)]
    target.direct_calls = known
    with no_full_path():
        for found, answer in zip([td.gradient(target, q), target(q), td.hvp(target, q, q)], expected):
            same_bits(found, answer)
    for double in ({**q, "a": np.ones(2)}, {**q, "b": 0.5}):
        known, target.direct_calls = target.direct_calls, DirectCalls()
        reference = outcome(of_one, target, {"p": double})
        target.direct_calls = known
        agree(outcome(of_one, target, {"p": double}), reference)


# Writing


@EVERY_TARGET
def test_results_go_where_the_caller_wants_them_or_nowhere(kind):
    """Into containers; arrays that overlap, cannot be written, or have another shape are refused, and nothing is written."""
    f = lambda p: np.sum(p["a"] ** 2 * p["b"]) if p["a"][0] < 5 else p["x"]
    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    target = kind(f, p)
    for _ in range(3):
        out = {"a": np.empty(2), "b": np.empty(2)}
        assert td.gradient(target, p, out=out) is out
        np.testing.assert_array_equal([out["a"], out["b"]], [[6.0, 16.0], [1.0, 4.0]])
    wide, frozen = np.full(3, 7.0), np.full(2, 7.0)
    frozen.flags.writeable = False
    fresh = np.full(2, 7.0)
    for a, b in ((wide[:2], wide[1:]), (fresh, fresh), (fresh, frozen), (fresh, wide), (fresh, None), (np.full(2, 7, int), fresh)):
        with pytest.raises(td.TapediffError):
            td.gradient(target, p, out={"a": a, "b": b})
    for bad in ((fresh, fresh), {"a": fresh}, {"a": fresh, "b": fresh, "c": fresh}, fresh):
        with pytest.raises(td.ArgumentMismatch):
            td.gradient(target, p, out=bad)
    far = {"a": np.array([9.0, 2.0]), "b": p["b"]}
    with pytest.raises((td.GuardFailed, KeyError)):
        td.gradient(target, far, out={"a": fresh, "b": np.empty(2)})
    np.testing.assert_array_equal(np.concatenate([wide, frozen, fresh]), 7.0)
    # Over the arguments themselves, of which each gradient needs both.
    td.gradient(target, p, out=p)
    np.testing.assert_array_equal([p["a"], p["b"]], [[6.0, 16.0], [1.0, 4.0]])


def test_many_overlapping_arrays_are_refused_too():
    """More than the kernel's entry compares with each other."""
    p = [np.full(2, float(k)) for k in range(40)]
    target = td.compile(lambda p: sum(np.sum(a * b) for a, b in itertools.pairwise(p)), p)
    for _ in range(2):
        td.gradient(target, p, out=[np.empty(2) for _ in p])
    out = [np.full(2, 7.0) for _ in p]
    out[39] = out[3]
    with pytest.raises(td.ArgumentMismatch, match="share memory"):
        td.gradient(target, p, out=out)
    np.testing.assert_array_equal(out, 7.0)


@EVERY_TARGET
def test_what_a_kernels_callback_raises_comes_out_once_and_nothing_is_written(kind):
    fails = []

    @td.primitive
    def doubled(x):
        if fails:
            raise ValueError("not now")
        return 2.0 * x, None

    doubled.backward(lambda saved, cotangent: 2.0 * cotangent)
    p = {"a": np.ones(2), "b": 2.0}
    target = kind(lambda p: np.sum(doubled(p["a"])) * p["b"], p)
    out = {"a": np.empty(2), "b": np.empty(())}
    for _ in range(2):
        td.gradient(target, p), target(p), td.gradient(target, p, out=out)
    out["a"][:] = 7.0
    fails.append(1)
    for question in (lambda: td.gradient(target, p), lambda: td.gradient(target, p, out=out), lambda: target(p)):
        with pytest.raises(ValueError, match="not now"):
            question()
    np.testing.assert_array_equal(out["a"], 7.0)
    fails.clear()
    with no_full_path():
        assert target(p) == 8.0


# Paths


def branching(p, scale):
    total = 0.0
    for k, v in enumerate(p["x"]):
        total = total + (v * v * scale if v > 0 else -v * (k + 1.0))
    return total * p["y"]


def branching_gradient(p, scale):
    x = p["x"]
    inner = np.where(x > 0, 2.0 * x * scale, -np.arange(1.0, len(x) + 1.0))
    return {"x": inner * p["y"], "y": np.sum(np.where(x > 0, x * x * scale, -x * np.arange(1.0, len(x) + 1.0)))}


def test_paths_of_functions_of_containers_are_found_from_every_other():
    """Of 16 paths met at random: no call takes the full path once each has been seen twice, and hits are counted."""
    guarded = td.GuardedTape(branching, merge=False)
    points = [{"x": np.array([1.0 if k >> b & 1 else -1.0 for b in range(4)]), "y": 1.0} for k in range(16)]
    for p in points * 2:
        td.gradient(guarded, p, 2.0), guarded(p, 2.0)
    rng, hits = np.random.default_rng(0), guarded.stats.hits
    with no_full_path():
        for k in rng.integers(0, 16, 200):
            p = {"x": points[k]["x"] * 1.5, "y": 0.5}
            value, found = td.value_and_gradient(guarded, p, 2.0)
            expected = branching_gradient(p, 2.0)
            np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-14)
            assert found["y"] == pytest.approx(expected["y"], rel=1e-14)
            assert guarded(p, 2.0) == value
    assert guarded.stats.recordings == 16
    assert guarded.stats.hits == hits + 400


def test_a_second_half_belongs_to_the_path_of_its_first():
    guarded = td.GuardedTape(lambda p: np.sin(p["x"]) if p["x"][0] > 0 else p["x"] ** 2)
    p, q = {"x": np.array([1.0, 2.0])}, {"x": np.array([-1.0, 2.0])}
    pulls = [td.vjp(guarded, argument)[1] for argument in (p, q) * 3]
    with no_full_path():
        pulls += [td.vjp(guarded, argument)[1] for argument in (p, q) * 2]
    for _ in range(3):
        for pull, argument in zip(pulls, (p, q) * 5):
            x = argument["x"]
            slope = np.cos(x) if x[0] > 0 else 2.0 * x
            np.testing.assert_allclose(pull(np.ones(2))[0]["x"], slope, rtol=1e-14)
            np.testing.assert_allclose(pull(np.eye(2))[0]["x"], np.diag(slope), rtol=1e-14)


def test_paths_whose_results_differ_in_structure_or_type_give_their_own():
    """A tuple of one or the number itself; single or double precision; other strings beside the numbers."""
    def f(p):
        y = np.sum(p["x"])
        if y > 3:
            return {"y": y, "side": "above"}
        if y > 2:
            return np.float32(1.0) * y.astype(np.float32)
        return (y,) if y > 1 else {"y": y, "side": "below"} if y > 0 else y

    guarded, first = td.GuardedTape(f), {}
    for _ in range(4):
        for size in (3.5, 1.5, 2.5, 0.5, -0.5):
            p = {"x": np.array([size - 1.0, 1.0])}
            answers = guarded(p), td.jvp(guarded, (p,), (p,))
            assert shape_of(answers) == shape_of((f(p), (f(p), f(p))))
            assert leaves(answers) == [size] * 3
            assert first.setdefault(size, types_of(answers)) == types_of(answers)
            assert all((type(leaf) is np.float32) == (size == 2.5) for leaf in leaves(answers))


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_dropped_tapes_are_not_called():
    """With room for one tape, calls of two structures take turns: right answers, and a recording for each."""
    guarded = td.GuardedTape(lambda p: np.sum(p["x"] ** 2) * (2.0 if "y" in p else 1.0), max_tapes=1)
    x = np.array([1.0, 2.0])
    for k in range(1, 4):
        for _ in range(3):
            np.testing.assert_array_equal(td.gradient(guarded, {"x": x})["x"], 2.0 * x)
            assert guarded({"x": x}) == 5.0
        assert guarded.stats.recordings == 2 * k - 1
        for _ in range(3):
            np.testing.assert_array_equal(td.gradient(guarded, {"x": x, "y": "y"})["x"], 4.0 * x)
            assert guarded({"x": x, "y": "y"}) == 10.0
        assert guarded.stats.recordings == 2 * k


def test_ints_are_told_apart_or_taken_as_data():
    """The first value is part of its tape, others are data; a tape that needs them as ints is never used for another."""
    power, add = td.GuardedTape(lambda p: np.sum(p["x"] ** range(5)[p["n"]])), td.GuardedTape(lambda p: np.sum(p["x"]) * p["n"])
    x = np.array([1.0, 2.0])
    for _ in range(3):
        for n in (2, 3, 2, 4):
            np.testing.assert_allclose(td.gradient(power, {"x": x, "n": n})["x"], n * x ** (n - 1), rtol=1e-14)
            np.testing.assert_array_equal(td.gradient(add, {"x": x, "n": n})["x"], np.full(2, float(n)))
            np.testing.assert_array_equal(td.gradient(add, {"x": x, "n": True})["x"], np.ones(2))
    with no_full_path():
        for n in (3, 4, 5):
            np.testing.assert_array_equal(td.gradient(add, {"x": x, "n": n})["x"], np.full(2, float(n)))


# Recordings and threads


@EVERY_TARGET
def test_inside_a_recording_nothing_is_called_directly(kind):
    """Its operations become part of the recording, though the same call is known outside."""
    p = {"x": np.array([1.0, 2.0]), "y": 3.0}
    target = kind(lambda p: np.sum(p["x"] ** 3) * p["y"], p)
    for _ in range(2):
        td.gradient(target, p), target(p), td.vjp(target, p)[1](1.0)
    second = td.gradient(lambda p: np.sum(td.gradient(target, p)["x"] ** 2), p)
    np.testing.assert_allclose(second["x"], 36.0 * p["x"] ** 3 * p["y"] ** 2, rtol=1e-13)
    np.testing.assert_allclose(td.gradient(lambda p: target(p) ** 2, p)["y"], 2.0 * 81.0 * 3.0, rtol=1e-13)
    pull = td.vjp(target, p)[1]
    assert td.gradient(lambda w: pull(w)[0]["y"], 2.0) == 9.0


def test_threads_share_direct_calls():
    """Four threads on sixteen paths, with containers and a guard of their own value: right gradients, each path recorded once."""
    guarded = td.GuardedTape(branching)

    def run(seed):
        rng = np.random.default_rng(seed)
        for k in rng.integers(0, 16, 150):
            p = {"x": np.array([1.0 if k >> b & 1 else -1.0 for b in range(4)]) * rng.uniform(1, 2), "y": float(seed + 1)}
            found, expected = td.gradient(guarded, p, 2.0), branching_gradient(p, 2.0)
            assert np.allclose(found["x"], expected["x"], rtol=1e-13)
            assert np.isclose(found["y"], expected["y"], rtol=1e-13)

    in_threads(run)
    assert guarded.stats.recordings <= 16


def test_names_of_arguments_take_direct_calls():
    """Once they have been given in this way; by other names, or in another order, they are looked at again."""
    compiled = td.compile(lambda a, p: np.sum(a * p["x"]), np.ones(2), {"x": np.ones(2)})
    a, p = np.array([1.0, 2.0]), {"x": np.array([3.0, 4.0])}

    def asked():
        yield lambda: td.gradient(compiled, a, p=p, argnames="p")["x"], a
        yield lambda: td.gradient(compiled, p=p, a=a, argnames="p")["x"], a
        yield lambda: td.gradient(compiled, a=a, p=p, argnames="a"), p["x"]
        yield lambda: td.gradient(compiled, a, p, argnums=1)["x"], a
        yield lambda: td.gradient(compiled, a, p, argnames=("a", "p"))[0], p["x"]
        yield lambda: td.hvp(compiled, a, a, p=p), np.zeros(2)

    for question, _ in asked():
        question()
    with no_full_path():
        for question, expected in asked():
            np.testing.assert_array_equal(question(), expected)
    with pytest.raises(td.ArgumentMismatch):
        td.gradient(compiled, a, q=p, argnames="p")
# The user's guard


def test_the_users_guard_is_called_once_for_each_call_and_chooses_the_tapes():
    seen = []

    def guard(p, s):
        seen.append(p["x"].flags.writeable)
        return bool(p["x"][0] > 1)

    guarded = td.GuardedTape(lambda p, s: np.sum(p["x"] ** 2) * s, guard=guard)
    low, high = {"x": np.array([0.5, 2.0])}, {"x": np.array([1.5, 2.0])}
    for p in (low, high, low, high):
        np.testing.assert_array_equal(td.gradient(guarded, p, 2.0)["x"], 4.0 * p["x"])
        guarded(p, 2.0)
    with no_full_path():
        for p in (low, high, low, high):
            np.testing.assert_array_equal(td.gradient(guarded, p, 2.0)["x"], 4.0 * p["x"])
            assert guarded(p, 2.0) == 2.0 * np.sum(p["x"] ** 2)
    np.testing.assert_array_equal(td.gradient(guarded, {"x": np.ones(3)}, 2.0)["x"], 4.0)
    assert len(seen) == 17
    assert not any(seen)
    assert guarded.stats.recordings == 3


def test_what_the_users_guard_raises_comes_out():
    def guard(p):
        if p["x"][0] > 1:
            raise ValueError("not there")
        return 0

    guarded = td.GuardedTape(lambda p: np.sum(p["x"] ** 2), guard=guard)
    for _ in range(3):
        td.gradient(guarded, {"x": np.zeros(2)})
    with pytest.raises(ValueError, match="not there"):
        td.gradient(guarded, {"x": np.full(2, 2.0)})




@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_a_guard_of_one_array_sees_it_read_only_once_and_its_values_take_turns():
    """Plain arrays, on the path that the guard and the branches choose; guards of every kind of value; wrong calls as ever."""
    seen = []

    def guard(x):
        seen.append((x.flags.writeable, type(x)))
        return [None, True, 1, "one", np.float64(2.0), (1, 2)][int(x[0])]

    guarded = td.GuardedTape(lambda x: np.sum(x**2) if x[1] > 0 else -np.sum(x), guard=guard, merge=False)
    rng = np.random.default_rng(0)
    for _ in range(150):
        x = np.array([float(rng.integers(6)), rng.choice([-1.0, 1.0])])
        out = np.empty(2)
        assert td.gradient(guarded, x, out=out) is out
        np.testing.assert_array_equal(out, 2 * x if x[1] > 0 else [-1.0, -1.0])
        assert guarded(x) == (np.sum(x**2) if x[1] > 0 else -np.sum(x))
    assert len(seen) == 300
    assert set(seen) == {(False, np.ndarray)}
    assert guarded.stats.recordings == 12
    assert guarded.stats.hits + guarded.stats.misses == 300
    x = np.array([1.0, 1.0])
    for bad in ((), (x, x), (td.Constant(x),)):
        with pytest.raises((td.TapediffError, TypeError)):
            td.gradient(guarded, *bad)
    np.testing.assert_array_equal(td.gradient(guarded, x.tolist()), 2 * x)
    assert x.flags.writeable


@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_tapes_that_are_dropped_are_not_called_under_a_guard():
    def f(x):
        return np.sum(x**2) * (2.0 if x[0] > 0 else 3.0)

    guarded = td.GuardedTape(f, guard=lambda x: bool(x[0] > 0), max_tapes=1, merge=False)
    for k in range(1, 4):
        for sign, factor in ((1.0, 4.0), (-1.0, 6.0)):
            for _ in range(3):
                np.testing.assert_array_equal(td.gradient(guarded, np.full(2, sign)), np.full(2, factor * sign))
                assert guarded(np.full(2, sign)) == factor
        assert guarded.stats.recordings == 2 * k


def test_constants_go_to_the_kernel_as_they_are_where_that_is_right():
    """In every place but the first; of the recorded type; empty and nested marks are refused."""
    a, b, f = np.array([1.0, 2.0]), np.array([3.0, 4.0]), lambda a, b, k: np.sum(a * b) * k
    compiled, guarded = td.compile(f, a, b, 2.0), td.GuardedTape(f)
    for target in (compiled, guarded) * 3:
        np.testing.assert_array_equal(td.gradient(target, a, b, 2.0), 2 * b)
        np.testing.assert_array_equal(td.gradient(target, a, td.Constant(b), td.Constant(2.0)), 2 * b)
        for second in (td.Constant(b[:1]), td.Constant("b"), object.__new__(td.Constant), td.Constant(b * 1j), td.Constant([b])):
            with pytest.raises((td.TapediffError, AttributeError, ValueError)):
                td.gradient(compiled, a, second, 2.0)
        assert len(td.gradient(target, a, b, 2.0, argnums=(0, 1))) == 2
        if target is guarded:
            for first in (td.Constant(a), td.Cache(a)):
                with pytest.raises(td.TapediffError):
                    td.gradient(guarded, first, b, 2.0)
            with pytest.raises(td.ArgumentMismatch):
                td.gradient(guarded, a, td.Constant(b), td.Constant(2.0), argnums=(0, 1))
    # What is differentiated is never taken out of its mark by the kernel itself.
    assert compiled._fast(a, td.Constant(b), td.Constant(2.0), np.empty(2)) == (22.0 if python_entry.is_available() else REFUSED)
    for refused in ((td.Constant(a), b, 2.0), (a, td.Constant(td.Constant(b)), 2.0), (a, b, td.Cache(b))):
        assert type(compiled._fast(*refused, np.empty(2))) is int
    assert type(compiled._fast(a, b, 2.0, td.Constant(np.empty(2)))) is int


def test_kernels_that_let_other_threads_run_hold_on_to_constants():
    """A constant that another thread replaces meanwhile is still read as it was: calls of long kernels keep its value."""
    a = np.ones(200_000)
    compiled = td.compile(lambda a, b: np.sum(np.exp(a * b)), a, td.Constant(a))
    assert type(compiled._fast(a, td.Constant(a), np.empty_like(a))) is int
    constant, stop = td.Constant(a.copy()), threading.Event()

    def replace():
        while not stop.is_set():
            constant.value = np.ones(200_000)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(5):
            np.testing.assert_allclose(td.gradient(compiled, a, constant), np.e, rtol=1e-14)
    finally:
        stop.set()
        thread.join()


@EVERY_TARGET
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_data_of_narrow_integers_is_widened_directly(kind, dtype):
    """Integers of fewer than 64 bits take no full path, at any values and layout; those of 64 bits without a sign do."""
    x, data = np.linspace(0.1, 1.0, 4), np.arange(4)

    def weighted(x, n):
        return np.sum(x * x * n)

    target = kind(weighted, x, td.Constant(data))
    for made in (data, data[::-1] + 100):
        given = td.Constant(made.astype(dtype))
        expected = [np.sum(x * x * made), 2.0 * x * made]
        for _ in range(2):
            value, gradient = td.value_and_gradient(target, x, given)
        with no_full_path():
            value, gradient = td.value_and_gradient(target, x, given)
            strided = td.value_and_gradient(target, x, td.Constant(np.repeat(made.astype(dtype), 2)[::2]))[1]
        # A sum of four numbers.
        np.testing.assert_allclose(value, expected[0], rtol=1e-15)
        assert np.array_equal(gradient, expected[1])
        assert np.array_equal(strided, expected[1])
    with pytest.raises(td.DtypeMismatch):
        td.value_and_gradient(target, x, td.Constant(np.full(4, 2**63, np.uint64)))
