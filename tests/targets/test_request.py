"""Arguments by name and options, of every operator on every target."""

import ast
import functools
from pathlib import Path

import numpy as np
import pytest

import tapediff as td
from tests.support.operators import NOT_IN_RECORDINGS, OF_NUMBERS, OPERATORS
from tests.support.scenarios import targets_of

TARGETS = ("function", "tape", "compiled", "guarded")
EVERY_TARGET = pytest.mark.parametrize("kind", TARGETS)

A, B = np.array([0.4, -1.2, 2.0]), np.array([1.0, 0.5, -0.3])
def loss(first, second):
    return np.sum(np.sin(first) * second**3)


BUILT = targets_of(loss, A, B)

@EVERY_TARGET
@pytest.mark.parametrize("name", OPERATORS)
def test_argnames_are_argnums_by_name(name, kind):
    """A name gives what its position gives; arguments by name are those by position."""
    target, ask = BUILT[kind], OPERATORS[name].call
    expected = ask(target, A, B, argnums=1)
    np.testing.assert_equal(ask(target, A, B, argnames="second"), expected)
    np.testing.assert_equal(ask(target, A, second=B, argnames="second"), expected)
    if name not in ("jvp", "vjp", "linearize"):
        np.testing.assert_equal(ask(target, A, second=B), ask(target, A, B))


@EVERY_TARGET
@pytest.mark.parametrize("name", ["gradient", "value_and_gradient", "jacobian", "value_and_jacobian", "hessian"])
def test_names_in_a_list_are_positions_in_a_tuple(name, kind):
    """In their order; also of the methods."""
    target, ask = BUILT[kind], OPERATORS[name].call
    expected = ask(target, A, B, argnums=(1, 0))
    np.testing.assert_equal(ask(target, A, B, argnames=["second", "first"]), expected)
    np.testing.assert_equal(ask(target, first=A, second=B, argnames=("second", "first")), expected)
    if kind in ("compiled", "guarded"):
        np.testing.assert_equal(getattr(target, name)(A, second=B, argnames=("second", "first")), expected)


@EVERY_TARGET
@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in NOT_IN_RECORDINGS])
def test_argnames_inside_recordings(name, kind):
    """The arguments by name are tracked like others."""
    target, ask = BUILT[kind], OPERATORS[name].call
    weigh = lambda found: sum(np.sum(part) for part in (found if isinstance(found, tuple) else (found,)) if not isinstance(part, tuple))
    by_name = td.gradient(lambda b: weigh(ask(target, A, second=b, argnames="second")), B)
    np.testing.assert_allclose(by_name, td.gradient(lambda b: weigh(ask(target, A, b, argnums=1)), B), rtol=1e-14)  # rounding


@EVERY_TARGET
def test_argnames_of_numbers(kind):
    """The same for functions of numbers."""
    target = targets_of(lambda s, t: np.sin(s) * t**3, 0.3, 1.1)[kind]
    for ask in OF_NUMBERS.values():
        np.testing.assert_equal(ask.call(target, 0.5, 2.0, argnames="t"), ask.call(target, 0.5, 2.0, argnums=1))
    np.testing.assert_allclose(td.second_derivative(target, 0.5, 2.0, argnames="t"), np.sin(0.5) * 12.0, rtol=1e-14)  # rounding


@EVERY_TARGET
@pytest.mark.parametrize(("options", "said"), [
    ({"hasaux": True}, "has_aux= in place of hasaux="),
    ({"argname": "second"}, "argnames= in place of argname="),
    ({"argnum": 1}, "argnums= in place of argnum="),
    ({"strange": 1}, "the options are argnames, "),
    ({"argnames": "third"}, "argnames='third' but .* was called with no such argument\n.*\n.*first, second"),
    ({"argnames": 1}, "argnames is a name"),
    ({"argnames": "first", "argnums": 1}, "argnums and argnames both"),
])  # fmt: skip
def test_options_that_do_not_exist_are_named(kind, options, said):
    """With the option that was meant, or those that there are; nothing is left behind."""
    target = BUILT[kind]
    for operator in OPERATORS.values():
        with pytest.raises(td.ArgumentMismatch, match=said):
            operator.call(target, A, B, **options)
        assert not td.is_recording()
    np.testing.assert_allclose(td.gradient(target, A, B), np.cos(A) * B**3, rtol=1e-14)  # rounding


# Arguments that can only be given by name


def scaled(x, a=1.0, b=2.0, *, scale=3.0, **others):
    """a + b scale x², and the sum of everything else; its derivatives are written down below."""
    return a + b * scale * np.sum(x**2) + sum(np.sum(value) * len(name) for name, value in others.items())


def targets_by_name(f, *args, **named):
    guarded = td.GuardedTape(f)
    guarded(*args, **named)
    return {"function": f, "tape": td.record(f, *args, **named), "compiled": td.compile(f, *args, **named), "guarded": guarded}


CALLS = (
    {"scale": 0.5}, {"b": 0.7}, {"b": 0.7, "scale": 0.5}, {"scale": 0.5, "b": 0.7}, {"a": 4.0}, {"more": B}, {"scale": 0.5, "more": B},
)  # fmt: skip


@EVERY_TARGET
@pytest.mark.parametrize("named", CALLS, ids=lambda n: ", ".join(n))
def test_arguments_by_name_alone(named, kind):
    """Keyword-only parameters, arguments after a gap, **kwargs: values and derivatives by x and by each of them."""
    target = targets_by_name(scaled, A, **{name: np.ones(np.shape(value))[()] for name, value in named.items()})[kind]
    b, scale = named.get("b", 2.0), named.get("scale", 3.0)
    by_name = {"x": 2 * b * scale * A, "a": 1.0, "b": scale * (A @ A), "scale": b * (A @ A), "more": np.full(3, 4.0)}
    for _ in range(2):
        np.testing.assert_allclose(target(A, **named), scaled(A, **named), rtol=1e-15)
        for name in ("x", *named):
            for found in (
                td.gradient(target, A, **named, argnames=name),
                td.jacobian(target, A, **named, argnames=name),
                td.vjp(target, A, **named, argnames=name)[1](1.0)[["x", *_order(named)].index(name)],
                td.linearize(target, A, **named, argnames=name)[1](np.ones(np.shape(by_name[name]))),
            ):
                expected = by_name[name] if np.shape(found) else np.sum(by_name[name])
                np.testing.assert_allclose(found, expected, rtol=1e-14)  # rounding
        np.testing.assert_allclose(td.gradient(target, A, **named, argnums=-1), by_name["x"] if "a" not in named else 1.0, rtol=1e-14)
        np.testing.assert_allclose(td.hessian(target, A, **named), 2 * b * scale * np.eye(3), rtol=1e-14)
        np.testing.assert_allclose(td.hvp(target, A, B, **named), 2 * b * scale * B, rtol=1e-14)


def _order(named):
    return sorted(named, key=lambda name: ("a", "b", "scale", "more").index(name))


@pytest.mark.parametrize("kind", ["tape", "compiled"])
def test_by_position_is_refused_what_is_by_name(kind):
    """scaled(x, 5.0) sets a, where the tape has b: the numbers must not change places silently."""
    target = targets_by_name(scaled, A, b=1.0)[kind]
    for ask in (target, *(o.call for o in OPERATORS.values())):
        with pytest.raises(td.ArgumentMismatch, match="pass x, b="):
            ask(A, 5.0) if ask is target else ask(target, A, 5.0)
    for names in ({"a": 1.0}, {"scale": 1.0}, {}, {"b": 1.0, "a": 1.0}):
        with pytest.raises(td.ArgumentMismatch):
            target(A, **names)


def test_calls_with_other_names_take_other_tapes():
    """Of a guarded function: the same types under other names are another call."""
    safe = td.GuardedTape(scaled)
    for _ in range(3):
        for named in CALLS:
            np.testing.assert_allclose(safe(A, **named), scaled(A, **named), rtol=1e-15)
            np.testing.assert_allclose(td.gradient(safe, A, **named), td.gradient(lambda x: scaled(x, **named), A), rtol=1e-15)
    assert safe.stats.recordings == 6  # two of the calls are one in another order
    guarded = td.GuardedTape(scaled, guard=lambda x, **named: len(named))
    assert guarded(A, scale=0.5) == scaled(A, scale=0.5)
    assert "by name: scale" in safe.explain()


class Model:
    def __init__(self, factor):
        self.factor = factor

    def method(self, x, *, scale):
        return self.factor * scale * np.sum(x)

    def __call__(self, x, *, scale=1.0):
        return self.method(x, scale=scale)


@EVERY_TARGET
@pytest.mark.parametrize("f", [
    Model(2.0).method, Model(2.0), functools.partial(Model.method, Model(2.0)), functools.partial(Model(2.0), scale=9.0),
    functools.partial(lambda k, x, *, scale: k * scale * np.sum(x), 2.0), lambda *xs, scale: 2.0 * scale * np.sum(xs[0]),
    lambda *xs, **named: 2.0 * named["scale"] * np.sum(xs[0]),
], ids=["method", "object", "partial method", "partial object", "partial", "star", "two stars"])  # fmt: skip
def test_every_kind_of_callable_takes_names(f, kind):
    """By position x, by name the scale."""
    target = targets_by_name(f, A, scale=3.0)[kind]
    assert target(A, scale=4.0) == pytest.approx(8.0 * A.sum(), rel=1e-15)
    np.testing.assert_allclose(td.gradient(target, A, scale=4.0), np.full(3, 8.0))
    assert td.gradient(target, A, scale=4.0, argnames="scale") == pytest.approx(2.0 * A.sum(), rel=1e-15)


def test_defaults_are_constants_unless_a_derivative_is_by_them():
    """argnames may name an argument that was not given, at its default; static arguments and containers by name."""
    np.testing.assert_allclose(td.gradient(scaled, A), 12.0 * A)
    for target in (scaled, td.GuardedTape(scaled)):
        assert td.gradient(target, A, argnames="scale") == pytest.approx(2.0 * (A @ A), rel=1e-15)
        assert td.gradient(target, A, argnames=("b", "a")) == pytest.approx((3.0 * (A @ A), 1.0), rel=1e-15)
    powers = td.GuardedTape(lambda x, *, p, power: np.sum(p["w"] * x**power), static=td.static(argnames="power"))
    for power in (2, 3):
        found = td.gradient(powers, A, p={"w": B}, power=power, argnames=["x", "p"])
        np.testing.assert_allclose(found[0], power * B * A ** (power - 1), rtol=1e-14)
        np.testing.assert_allclose(found[1]["w"], A**power, rtol=1e-14)


@EVERY_TARGET
@pytest.mark.parametrize("name", OPERATORS)
def test_integers_are_the_wrong_dtype_for_every_operator(name, kind):
    """One class of error, and its message says what to pass."""
    target = targets_of(lambda x: np.sum(x**2), A)[kind]
    with pytest.raises(td.DtypeMismatch, match="must be real floating-point numbers"):
        OPERATORS[name].call(target, np.array([1, 2, 3]))
    assert not td.is_recording()


def test_a_position_and_a_name_are_two_answers_also_where_the_position_is_that_of_the_default():
    """argnums=0 given is not argnums left out."""
    f, x = lambda a, b: np.sum(a * b), np.ones(2)
    for target in (f, td.record(f, x, x), td.compile(f, x, x), td.GuardedTape(f)):
        for verb in (td.gradient, td.value_and_gradient, td.hessian, td.jacobian):
            with pytest.raises(td.ArgumentMismatch, match="argnums and argnames both"):
                verb(target, x, x, argnums=0, argnames="b")
            verb(target, x, x, argnums=0)
            verb(target, x, x, argnames="b")
        with pytest.raises(td.ArgumentMismatch, match="argnums and argnames both"):
            td.vjp(target, x, x, argnums=0, argnames="b")


def names_of_arguments():
    """Those of functions of the package that pass all other arguments on, positional and by name."""
    found = {"f", "target", "body"}
    for path in Path(td.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.args.kwarg and node.args.vararg:
                found |= {argument.arg for argument in node.args.args}
    return sorted(found - {"self", "a", "k"})


@pytest.mark.parametrize("name", names_of_arguments())
def test_a_users_argument_may_have_the_name_of_one_of_ours(name):
    """As `f` has for the values of a Gaussian process: of a function, a function that it calls, a posterior's parameter and its data."""
    source = f"""
def weighed(a, *, {name}):
    total = 0.0
    for k in range(3):
        if a[k] > 0.5:
            total = total + a[k] * {name}
        else:
            total = total - a[k] * {name}
    return total

def density(mu, {name}):
    return -((mu - {name}) ** 2) if mu > 0.0 else -(mu**2)
"""
    made = {}
    exec(source, made)
    f, density, named = made["weighed"], made["density"], {name: 2.0}
    calls = [
        lambda: td.gradient(f, A, **named), lambda: td.gradient(td.GuardedTape(f), A, **named), lambda: td.grad(f)(A, **named),
        lambda: td.gradient(td.record(f, A, **named), A, **named), lambda: td.compile(f, A, **named).gradient(A, **named),
        lambda: td.gradient(td.GuardedTape(lambda x: f(x, **named)), A), lambda: td.gradient(lambda x: td.subtape(f)(x, **named), A),
        lambda: td.gradient(lambda x: td.checkpoint(f)(x, **named), A), lambda: td.jacobian(f, A, **named),
        lambda: td.vjp(f, A, **named)[1](1.0)[0], lambda: td.sensitivities(f, A, **named).derivatives,
    ]  # fmt: skip
    for call in calls:
        np.testing.assert_array_equal(call(), np.where(A > 0.5, 2.0, -2.0))
    np.testing.assert_array_equal(td.vmap(f)(np.array([A, A]), **{name: np.array([2.0, 2.0])}), [f(A, **named)] * 2)
    for post in (td.Posterior(density, parameters={"mu": td.real(), name: td.real()}), td.Posterior(density, data=named, mu=td.real())):
        u = np.array([1.0, 2.0])[: post.param_unc_num()]
        assert post.log_density_gradient(u)[1][0] == 2.0
