"""Direct calls of every operator: whatever differs from the known call is answered, or refused, as on the full path."""

import contextlib
import dataclasses
import functools

import numpy as np
import pytest
from support.in_threads import in_threads

import tapediff as td
from tapediff.targets.evaluate import direct_calls
from tests.targets.test_containers import leaves, shape_of
from tests.targets.test_direct_calls import Array, agree as agree_within, no_full_path, outcome

# Kernels of several paths, and replays, add in different orders.
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@contextlib.contextmanager
def full_path():
    """No direct call is known, and none is remembered."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct_calls, "current_recorder", lambda: "one that is going on")
        patch.setattr(direct_calls.DirectCalls, "remember", lambda *_, **__: None)
        yield


A, B = np.array([0.5, 1.5, -0.4]), np.array([0.3, 0.2, 0.1])
P = {"w": np.array([0.7, -0.3]), "act": "sin"}
V = np.array([1.0, -2.0, 0.5])


def inner(a, p, k):
    s = np.sin(a) if p["act"] == "sin" else np.cos(a)
    if a[0] > 0:
        return s * k * np.sum(p["w"] ** 2)
    return s**2 - k * p["w"][0]


def scalar(a, p, k=0.5):
    return np.sum(inner(a, p, k) * a)


def vector(a, p, k=0.5):
    return inner(a, p, k)


def pair(a, p, k=0.5):
    y = inner(a, p, k)
    return {"y": y, "n": (np.sum(y * a), "label")}


def with_aux(a, p, k=0.5):
    return np.sum(inner(a, p, k)), {"sum": np.sum(a), "name": p["act"], "a": a * 2.0}


def by_number(k, a, p):
    return inner(a, p, k) * k


def pulled(target, *args, cotangent=V, **named):
    return td.vjp(target, *args, **named)[1](cotangent)


# A function, and how it is asked: with the arguments, and a vector.
ASKED = {
    "gradient": (scalar, lambda t, a, p, k, v: td.gradient(t, a, p, k)),
    "gradient by several": (scalar, lambda t, a, p, k, v: td.value_and_gradient(t, a, p, k, argnums=(0, 1))),
    "gradient by the last": (scalar, lambda t, a, p, k, v: td.gradient(t, a, p, k, argnums=-1)),
    "gradient by name": (scalar, lambda t, a, p, k, v: td.gradient(t, a, k=k, p=p, argnames=("k", "a"))),
    "gradient of a part": (scalar, lambda t, a, p, k, v: td.gradient(t, a, p, k, wrt=np.s_[1:])),
    "gradient and aux": (with_aux, lambda t, a, p, k, v: td.gradient(t, a, p, k, has_aux=True)),
    "value and aux": (with_aux, lambda t, a, p, k, v: t(a, p, k=k)),
    "value": (pair, lambda t, a, p, k, v: t(a, p, k)),
    "hvp": (scalar, lambda t, a, p, k, v: td.hvp(t, a, v, p, k)),
    "hvp of a part": (scalar, lambda t, a, p, k, v: td.value_gradient_and_hvp(t, a, v[:2], p, k, wrt=np.s_[:2])),
    "hessian": (scalar, lambda t, a, p, k, v: td.hessian(t, a, p, k, argnums=(0, 2))),
    "value, gradient and hessian": (scalar, lambda t, a, p, k, v: td.value_gradient_and_hessian(t, a, p, k)),
    "jacobian": (pair, lambda t, a, p, k, v: td.jacobian(t, a, p, k)),
    "value and jacobian": (vector, lambda t, a, p, k, v: td.value_and_jacobian(t, a, p, k=k, mode="reverse")),
    "jvp": (pair, lambda t, a, p, k, v: td.jvp(t, (a, p, k), (v, None, 1.0))),
    "jvp by": (vector, lambda t, a, p, k, v: td.jvp(t, (a, p), (v,), k=k, argnums=(0,))),
    "vjp": (vector, lambda t, a, p, k, v: pulled(t, a, p, k, cotangent=v)),
    "vjp and aux": (with_aux, lambda t, a, p, k, v: [td.vjp(t, a, p, k, has_aux=True)[j] for j in (0, 2)]),
    "linearize": (vector, lambda t, a, p, k, v: td.linearize(t, a, p, k, argnums=0)[1](v)),
    "derivative": (by_number, lambda t, a, p, k, v: td.derivative(t, k, a, p)),
    "value and derivatives": (by_number, lambda t, a, p, k, v: td.value_derivative_and_second_derivative(t, k, a, p=p)),
    "sparse jacobian": (vector, lambda t, a, p, k, v: td.sparse_jacobian(t, a, p, k).toarray()),
}  # fmt: skip


@dataclasses.dataclass
class Settings:
    w: object
    act: str = "sin"


# What differs from the known call: the argument, and what is there instead.
CHANGES = {
    "another path": ("a", -A), "another shape": ("a", np.ones(2)), "a row": ("a", A[None]), "float32": ("a", A.astype(np.float32)),
    "integers": ("a", np.array([1, 2, 3])), "a list": ("a", A.tolist()), "strided": ("a", np.repeat(A, 2)[::2]),
    "byte order": ("a", A.astype(">f8")), "a subclass": ("a", A.view(Array)), "a number": ("a", 0.5), "nothing": ("a", None),
    "not numbers": ("a", np.array([np.nan, np.inf, 0.0])), "a constant": ("a", td.Constant(A)), "a container": ("a", {"w": A}),
    "another order": ("p", dict(reversed(P.items()))), "another string": ("p", {**P, "act": "cos"}),
    "another key": ("p", {"u": P["w"], "act": "sin"}), "more keys": ("p", {**P, "b": A}), "a dataclass": ("p", Settings(P["w"])),
    "constants": ("p", td.Constant(P)), "an array for it": ("p", A), "a part of another shape": ("p", {**P, "w": np.ones(3)}),
    "strided inside": ("p", {**P, "w": np.arange(4.0)[::2]}), "an integer": ("k", 2), "a constant number": ("k", td.Constant(0.7)),
    "a number of NumPy": ("k", np.float64(0.7)), "no dimensions": ("k", np.array(0.7)), "an array of one": ("k", np.array([0.7])),
    "a boolean": ("k", True), "a string": ("k", "relu"),
    "many vectors": ("v", np.eye(3)), "short": ("v", np.ones(1)), "no vector": ("v", None), "a list of floats": ("v", V.tolist()),
    "a list of integers": ("v", [1, 2, 3]), "vector strided": ("v", np.repeat(V, 2)[::2]), "single": ("v", V.astype(np.float32)),
    "complex": ("v", V * 1j), "zeros": ("v", np.zeros(3)),
}  # fmt: skip


agree = functools.partial(agree_within, close=CLOSE)


def warmed(name, target):
    ask = ASKED[name][1]
    for _ in range(2):
        ask(target, **GIVEN)
    return ask


GIVEN = {"a": A, "p": P, "k": 0.5, "v": V}


def compiled_for(name):
    f = ASKED[name][0]
    args = (0.5, A, P) if f is by_number else (A, P, 0.5)
    return td.compile(f, *args, has_aux=f is with_aux)


def guarded_for(name):
    f = ASKED[name][0]
    return td.GuardedTape(f, has_aux=f is with_aux, on_new_tape="warn")


@pytest.mark.parametrize("name", ASKED)
def test_a_compiled_operator_answers_what_differs_as_ever(name):
    """After each surprise the known call is answered as before, and the surprise again."""
    target = compiled_for(name)
    ask = warmed(name, target)
    other = {**GIVEN, "a": B, "v": B}
    with no_full_path():
        direct = ask(target, **other)
    with full_path():
        expected = ask(target, **other)
    agree(direct, expected)
    for part, value in CHANGES.values():
        given = {**GIVEN, part: value}
        with full_path():
            reference = outcome(ask, target, given)
        for _ in range(2):
            agree(outcome(ask, target, given), reference)
        agree(ask(target, **other), expected)
    replay = ASKED[name][1](td.record(ASKED[name][0], *((0.5, A, P) if name in BY_NUMBER else (A, P, 0.5)), has_aux="aux" in name), **other)
    assert shape_of(replay) == shape_of(direct)
    for one, two in zip(leaves(direct), leaves(replay), strict=True):
        np.testing.assert_allclose(one, two, **CLOSE)


BY_NUMBER = ("derivative", "value and derivatives")

# Those that are another tape of a guarded function, or another path, or refused.
FEW = ("another path", "another shape", "float32", "strided", "a constant", "another string", "another key", "an integer", "many vectors")


@pytest.mark.parametrize("name", ["gradient by several", "gradient and aux", "value", "hvp", "jacobian", "jvp", "vjp", "derivative"])
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_a_guarded_operator_goes_on_to_other_tapes(name):
    """Paths, structures and types that are new are recorded; each answer is that of the full path, however the calls take turns."""
    target = guarded_for(name)
    ask = warmed(name, target)
    expected = ask(target, **GIVEN)
    surprises = [{**GIVEN, CHANGES[key][0]: CHANGES[key][1]} for key in FEW]
    with full_path():
        references = [outcome(ask, target, given) for given in surprises]
    for _ in range(3):
        for given, reference in zip(surprises, references, strict=True):
            agree(outcome(ask, target, given), reference)
            agree(ask(target, **GIVEN), expected)
    with no_full_path():
        agree(ask(target, **GIVEN), expected)


@pytest.mark.parametrize("make", [td.compile, lambda f, *args: td.GuardedTape(f)], ids=["compiled", "guarded"])
def test_writing_where_the_caller_says(make):
    """Into arrays that overlap the arguments, are strided, or of another type; refused ones stay as they are."""
    f = lambda a, p: np.sum(np.sin(a)) * np.sum(p["w"] ** 2)
    target = make(f, A, P)
    questions = {
        "hessian": (lambda out, a: td.hessian(target, a, P, out=out), (3, 3)),
        "hvp": (lambda out, a: td.hvp(target, a, V, P, out=out), (3,)),
        "gradient": (lambda out, a: td.gradient(target, a, P, out=out), (3,)),
        "jacobian": (lambda out, a: td.jacobian(target, a, P, out=out), (3,)),
    }
    for ask, shape in questions.values():
        expected = ask(None, A)
        for _ in range(3):
            for out in (np.empty(shape), np.empty((*shape, 2))[..., 0], np.empty(shape, order="F")):
                assert ask(out, A) is out
                np.testing.assert_array_equal(out, expected)
            x = A.copy()
            if shape == (3,):
                assert ask(x, x) is x
                np.testing.assert_array_equal(x, expected)
            for bad in (np.full(shape, 7, int), np.full((4, *shape), 7.0), np.broadcast_to(7.0, shape), [7.0] * 3, "out"):
                kept = np.array(bad)
                with pytest.raises(td.TapediffError):
                    ask(bad, A)
                np.testing.assert_array_equal(kept, bad)


def buffered(a, scratch):
    scratch["s"][:] = np.sin(a)
    return np.sum(scratch["s"] * a) * (1.0 if scratch["name"] == "one" else 2.0)


def filled(out, a):
    out[:] = a**2


def test_buffers_take_direct_calls_and_are_looked_at():
    """Caches and outputs of another shape, dtype or kind, and such that overlap an argument, are refused at every call."""
    scratch = {"s": np.full(3, 9.0), "name": "one"}
    target, into = td.compile(buffered, A, td.Cache(scratch)), td.compile(filled, td.Output(3), A)
    for _ in range(2):
        td.gradient(target, A, td.Cache(scratch)), td.jacobian(into, td.Output(3), A)
    with no_full_path():
        expected = td.gradient(target, A, td.Cache({**scratch, "s": np.empty(3)}))
        np.testing.assert_array_equal(td.jacobian(into, td.Output(np.empty(3)), A), np.diag(2 * A))
    np.testing.assert_array_equal(scratch["s"], 9.0)
    np.testing.assert_allclose(expected, np.cos(A) * A + np.sin(A), **CLOSE)
    overlapping = np.empty(6)
    x = overlapping[:3]
    x[:] = A
    for a, cache in (
        (A, td.Cache({**scratch, "s": np.empty(2)})), (A, td.Cache({**scratch, "s": np.empty(3, np.float32)})), (A, scratch),
        (A, td.Cache({**scratch, "name": "two"})), (A, td.Constant(scratch)), (x, td.Cache({**scratch, "s": overlapping[2:5]})),
        (A, td.Cache({**scratch, "s": 1.0})), (x, td.Cache({**scratch, "s": x})), (A, td.Cache(np.empty(3))),
    ):  # fmt: skip
        for _ in range(2):
            with pytest.raises(td.TapediffError):
                td.gradient(target, a, cache)
    for out in (td.Output(2), td.Output(np.empty(3, np.float32)), np.empty(3), td.Cache(np.empty(3))):
        for _ in range(2):
            with pytest.raises(td.TapediffError):
                td.jacobian(into, out, A)
    with no_full_path():
        np.testing.assert_array_equal(td.gradient(target, A, td.Cache(scratch)), expected)


def mixed(a, data):
    data["t"][:] = data["x"] * a
    return np.sum(data["t"])


def test_data_and_scratch_in_one_object_are_told_apart():
    data = {"x": B.copy(), "t": np.full(3, 9.0)}
    target = td.compile(mixed, A, td.ConstantOrCache(data))
    for _ in range(2):
        np.testing.assert_array_equal(td.gradient(target, A, td.ConstantOrCache(data)), B)
    with no_full_path():
        np.testing.assert_array_equal(td.gradient(target, A, td.ConstantOrCache({"x": V, "t": data["t"]})), V)
    np.testing.assert_array_equal(data["t"], 9.0)
    for _ in range(2):
        with pytest.raises(td.ArgumentMismatch):
            td.gradient(target, A, td.ConstantOrCache({"x": V, "t": V}))


def test_options_are_those_of_the_known_call():
    """Another index, another name, an option that is left out or that is no option: never the answer of the known call."""
    target = td.compile(lambda a, b: np.sum(a**2 * b), A, B)
    for _ in range(2):
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=np.s_[1:]), (2 * A * B)[1:])
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=np.s_[:2]), (2 * A * B)[:2])
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=1), (2 * A * B)[1])
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=np.array([True, False, True])), (2 * A * B)[[0, 2]])
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=[2, 0]), (2 * A * B)[[2, 0]])
        np.testing.assert_array_equal(td.gradient(target, A, B, wrt=[0, 2]), (2 * A * B)[[0, 2]])
        np.testing.assert_array_equal(td.gradient(target, A, B, argnums=1, wrt=np.s_[1:]), (A**2)[1:])
        np.testing.assert_array_equal(td.gradient(target, A, B, argnames="b"), A**2)
        np.testing.assert_array_equal(td.gradient(target, A, B, argnames="a"), 2 * A * B)
        np.testing.assert_array_equal(td.gradient(target, A, B, argnames=("a",))[0], 2 * A * B)
        np.testing.assert_array_equal(td.gradient(target, b=A, a=B), 2 * A * B)
        np.testing.assert_array_equal(td.gradient(target, a=A, b=B), 2 * A * B)
        np.testing.assert_array_equal(td.gradient(target, A, B, has_aux=False), 2 * A * B)
        for argnums in (True, (True,), (0.0,), 1.0, 2, (0, 2)):
            with pytest.raises(td.ArgumentMismatch):
                td.gradient(target, A, B, argnums=argnums)
        assert len(td.gradient(target, A, B, argnums=(0, 1))) == len(td.gradient(target, A, B, argnums=[0, 1])) == 2
        assert len(td.gradient(target, A, B, argnums=(0,))) == 1
        for options in ({"has_aux": True}, {"wrt": np.s_[9]}, {"argnames": "c"}, {"argname": "b"}, {"mode": "reverse"}):
            with pytest.raises((td.ArgumentMismatch, IndexError)):
                td.gradient(target, A, B, **options)


def test_a_mask_that_changes_is_another_option():
    """By its contents when it was given, not by the array."""
    target, mask = td.compile(lambda a: np.sum(a**2), A), np.array([True, False, True])
    for _ in range(2):
        np.testing.assert_array_equal(td.gradient(target, A, wrt=mask), 2 * A[[0, 2]])
    mask[1] = True
    np.testing.assert_array_equal(td.gradient(target, A, wrt=mask), 2 * A)


def test_halves_keep_what_they_were_made_of():
    """Also where the point, the value and other halves change before the vectors come, and from other threads."""
    target = td.compile(lambda a: np.sin(a) * a, A)
    slope = lambda x: np.cos(x) * x + np.sin(x)
    made = []
    for k in range(4):
        x = A + k
        value, pull = td.vjp(target, x)
        _, push = td.linearize(target, x)
        value[:], x[:] = 7.0, 8.0
        made.append((A + k, pull, push))

    def use(_):
        for x, pull, push in made * 20:
            assert np.allclose(pull(V)[0], slope(x) * V, rtol=1e-13)
            assert np.allclose(push(V), slope(x) * V, rtol=1e-13)

    in_threads(use)
    with pytest.raises(td.ShapeMismatch):
        made[0][1](np.ones(2))
    with pytest.raises(td.ArgumentMismatch):
        made[0][1](V, V)
    assert td.gradient(lambda v: np.sum(made[0][1](v)[0]), V).shape == (3,)


def test_a_check_of_the_plain_function_is_not_passed_by():
    """With check_every=, operators and values find a changed global at the call that is due."""
    scale = 2.0

    def f(p):
        return np.sum(p["w"] ** 2) * scale

    guarded = td.GuardedTape(f, check_every=6, frozen=True)
    for _ in range(4):
        td.gradient(guarded, P), td.hvp(guarded, P, P), guarded(P)
    scale = 3.0

    def ask():
        for _ in range(3):
            td.hvp(guarded, P, P), guarded(P), td.vjp(guarded, P)

    with pytest.raises(td.StaleTape):
        ask()


def test_a_function_may_call_itself_by_way_of_a_primitive():
    """A kernel of a target runs while another call of the same target, of the same form, is under way."""
    depth, target = [0.0] * 3, None

    @td.primitive
    def half(x):
        if len(depth) < 3:
            depth.append(0.0)
            k = len(depth) - 1
            depth[k] = td.gradient(target, {"x": 0.5 * x})["x"]
        return 0.5 * x, None

    half.backward(lambda saved, cotangent: 0.5 * cotangent)
    target = td.compile(lambda p: np.sum(half(p["x"]) ** 2), {"x": np.ones(2)})
    for _ in range(3):
        depth.clear()
        np.testing.assert_array_equal(td.gradient(target, {"x": np.array([2.0, 4.0])})["x"], [1.0, 2.0])
        np.testing.assert_array_equal(depth[0], [0.5, 1.0])
