"""The package's dataclasses behave like those of the standard library."""

import copy
import dataclasses
import pickle
from dataclasses import field
from functools import cached_property

import pytest

from tapediff.base import records

OPTIONS = [
    {}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}, {"eq": False}, {"frozen": True, "eq": False},
    {"unsafe_hash": True, "slots": True}, {"repr": False},
]  # fmt: skip


def classes(decorator, **options):
    @decorator(**options)
    class Base:
        first: int
        second: str = "two"
        kept: list = field(default_factory=list, compare=False, repr=False)

        def doubled(self):
            return 2 * self.first

    @decorator(**options)
    class Derived(Base):
        third: float = field(default=3.0, kw_only=True)
        made: dict = field(default_factory=dict, init=False, compare=False)

        def __post_init__(self):
            self.made["first"] = self.first

    @decorator(**{name: value for name, value in options.items() if name != "unsafe_hash"})
    class Own(Base):
        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    return Base, Derived, Own


def outcome(call):
    """What a call returns, or what it raises."""
    try:
        return call()
    except (AttributeError, TypeError) as error:
        return type(error)


def behaviour(decorator, **options):
    """What programs can see of the classes and their objects."""
    seen = []
    for kind in classes(decorator, **options):
        one, two, other = kind(1), kind(1), kind(2, "x", [3])
        seen += [one == two, one == other, one == 1, one != two, one.doubled(), one.kept is two.kept, other.kept]
        seen += [repr(one) if options.get("repr", True) and "eq" not in options else None, [f.name for f in dataclasses.fields(kind)]]
        seen += [outcome(lambda: hash(one) == hash(two)), outcome(lambda: hash(one) == hash(other))]
        seen += [outcome(lambda: setattr(one, "first", 5)), outcome(lambda: delattr(one, "second")), outcome(lambda: one.first)]
        seen += [outcome(lambda: kind()), outcome(lambda: kind(1, "x", [], 4)), outcome(lambda: kind(1, nothing=2)), outcome(lambda: vars(two))]
        seen += [dataclasses.asdict(other), copy.copy(other).kept is other.kept, copy.deepcopy(other).kept, kind.__match_args__]
        replaced = dataclasses.replace(other, first=9) if not any(not f.init for f in dataclasses.fields(kind)) else other
        seen += [replaced.first, replaced.kept]
    return seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_behave_like_the_standard_librarys(options):
    assert behaviour(records.dataclass, **options) == behaviour(dataclasses.dataclass, **options)


def test_without_options_the_decorator_needs_no_call():
    @records.dataclass
    class Point:
        x: float

    assert Point(1.0) == Point(1.0) != Point(2.0)
    assert repr(Point(1.0)).endswith("Point(x=1.0)")


@records.dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


def test_frozen_objects_with_slots_are_pickled():
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


def test_a_cached_property_of_a_frozen_class_is_kept():
    @records.dataclass(frozen=True)
    class Square:
        side: int

        @cached_property
        def area(self):
            return [self.side**2]

    square = Square(3)
    assert square.area is square.area


@pytest.mark.parametrize("decorator", [dataclasses.dataclass, records.dataclass])
def test_what_is_frozen_is_told(decorator):
    assert records.is_frozen(decorator(frozen=True)(type("Frozen", (), {"__annotations__": {"x": int}})))
    assert not records.is_frozen(decorator()(type("Changing", (), {"__annotations__": {"x": int}})))
