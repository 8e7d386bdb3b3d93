"""Functions may close over any object: also over one that looks like a container, and over classes that answer for any attribute."""

import ast
import collections
import dataclasses

import numpy as np
import pytest

import tapediff as td


class Fields:
    _fields = ("a", "b")

    def __init__(self, a=0.5):
        self.a = a


class OneArgument(collections.namedtuple("OneArgument", "a b")):
    def __new__(cls, a):
        return super().__new__(cls, a, 2.0)


class WithAttributes(collections.namedtuple("WithAttributes", "a b")):
    def __init__(self, a, b):
        self.sum = 0.25


class GoesOverOthers(collections.namedtuple("GoesOverOthers", "a b")):
    __slots__ = ()

    def __iter__(self):
        raise RuntimeError("not by this")

    def __len__(self):
        return 7


class TupleWithFields(tuple):
    _fields = ("a",)
    __slots__ = ()


class LooksLikeADataclass:
    __dataclass_fields__ = {"a": None}


class Lies:
    def __len__(self):
        return -5

    def __getitem__(self, key):
        raise RuntimeError(key)

    __iter__ = _asdict = __getitem__


class Answers:
    def __getattr__(self, name):
        return 7


class Raises:
    def __getattr__(self, name):
        raise RuntimeError(name)


class AnswersForClasses(type):
    def __getattr__(cls, name):
        return ("x",)


class Answered(metaclass=AnswersForClasses):
    pass


class IsNotCopied:
    def __init__(self):
        self.a = 0.5

    def __copy__(self):
        raise RuntimeError("no copies")


@dataclasses.dataclass
class Data:
    a: float = 0.5


HELD = [
    ast.parse("x + 1").body[0], ast.Expr, Fields(), Fields, OneArgument(0.5), OneArgument, WithAttributes(0.5, 1.0), GoesOverOthers(0.5, 1.0),
    TupleWithFields((0.5,)), LooksLikeADataclass(), Lies(), Answers(), Raises(), Answered(), Answered, IsNotCopied(), Data(), Data,
]  # fmt: skip


def _name(held):
    return held.__name__ if isinstance(held, type) else f"an {object.__getattribute__(held, '__class__').__name__}"


def doubles(held, x):
    other = held, x

    def grows(v):
        return v * 1.5 + other[1] * (0.0 if held is None else 0.5)

    return td.while_loop(lambda v: v < 10.0, grows, x)


def in_a_sub_tape(held, x):
    return td.subtape(lambda v: v * x + (0.0 if held is None else 1.0))(x)


@pytest.mark.parametrize("f", [doubles, in_a_sub_tape], ids=lambda f: f.__name__)
@pytest.mark.parametrize("held", HELD, ids=_name)
def test_a_body_may_close_over_any_object(held, f):
    guarded = td.GuardedTape(lambda x: f(held, x))
    for x in (0.7, 1.3):
        value, gradient = td.value_and_gradient(guarded, x)
        assert value == pytest.approx(f(held, x), rel=1e-14)
        # A loop of at most eight steps, each linear: differences of neighbours are exact but for rounding.
        assert gradient == pytest.approx((f(held, x + 1e-6) - f(held, x - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("make", [lambda x: OneArgument(x), lambda x: WithAttributes(x, 1.0), lambda x: Fields(x), lambda x: Data(x)])
def test_tracked_values_in_such_objects_are_seen(make):
    def f(x):
        held = make(x)
        return td.while_loop(lambda v: v < 10.0, lambda v: v * 1.5 + held.a * getattr(held, "sum", 1.0), x)

    value, gradient = td.value_and_gradient(td.GuardedTape(f), 0.7)
    assert value == pytest.approx(f(0.7), rel=1e-14)
    assert gradient == pytest.approx(f(0.7) / 0.7, rel=1e-12)  # f is linear where its steps are as many


def test_named_tuples_with_another_constructor_are_arguments():
    value, gradient = td.value_and_gradient(lambda pair: pair.a * pair.b * np.sin(pair.a), OneArgument(0.5))
    assert value == pytest.approx(np.sin(0.5), rel=1e-14)
    assert type(gradient) is OneArgument
    assert gradient.b == pytest.approx(0.5 * np.sin(0.5), rel=1e-14)


RAISES = Raises()


def test_a_global_that_answers_for_any_attribute_is_no_sub_tape():
    body = lambda v: v * (1.5 if RAISES is not None else 2.0)
    f = lambda x: td.while_loop(lambda v: v < 10.0, body, x)
    assert td.grad(f)(0.7) == pytest.approx(f(0.7) / 0.7, rel=1e-12)
