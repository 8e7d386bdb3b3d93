"""Tests: the truth of a value, `and`, `or`, `not`, conditional expressions, chained comparisons, identity, membership, and types."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from types import FunctionType, ModuleType

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import if_, returned
from ..blocks.exceptions import with_arguments
from ..blocks.loops import for_
from ..calls.callables import call
from ..calls.truth import concrete as concrete, truth
from ..containers import sets
from ..containers.choices import mapped
from ..containers.entries import parts, settled_deeply
from ..containers.items import iterated
from ..containers.keys import is_by_data, there
from ..containers.ranges import Counting, holds
from ..containers.views import viewed
from ..state.completions import Return, replaced
from ..state.fork import first_of, fork_value
from ..state.identities import is_same
from ..state.numbers.bounds import as_choice
from ..state.numbers.python_numbers import is_python, python_bool, type_if_known, types_of
from ..state.places import WithCells
from ..state.values import (
    CHOICES,
    Lazy,
    Maybe,
    Unjoinable,
    any_of,
    both,
    is_data,
    is_tracked_value,
    lifted,
    negated,
    state,
)
from ..users_code import users_method
from .dunder import compared
from .sequences import CONSTANTS, equal

Part = Callable[[], Object]


def if_value(test: Object, yes: Part, no: Part) -> Object:
    """yes() if test else no()"""
    if type(test) is bool:
        return yes() if test else no()
    return fork_value(truth(test), yes, no)


def and_(first: Object, *parts: Part) -> Object:
    """first and ..."""
    return _up_to(False, _same, first, parts)


def or_(first: Object, *parts: Part) -> Object:
    """first or ..."""
    return _up_to(True, _same, first, parts)


def all_hold(first: Object, *tests: Part) -> Object:
    """The truth of `first and ...`."""
    return truth(_up_to(False, truth, first, tests))


def one_holds(first: Object, *tests: Part) -> Object:
    """The truth of `first or ...`."""
    return truth(_up_to(True, truth, first, tests))


def _up_to(end: bool, result: Callable[[Object], Object], first: Object, parts: tuple[Part, ...]) -> Object:
    """The first part whose truth is `end`, or the last part."""
    if not parts:
        return result(first)
    t, found = truth(first), first if result is _same else end
    if t is end:
        return found
    if type(t) is bool:
        return _up_to(end, result, parts[0](), parts[1:])
    following = WithCells(lambda: _up_to(end, result, parts[0](), parts[1:]), *parts)
    return fork_value(t, *((lambda: found, following) if end else (following, lambda: found)))


def _same(value: Object) -> Object:
    return value


def not_(value: Object) -> Object:
    """not value"""
    return python_bool(negated(truth(value)))


def chain(name: str, first: Object, second: Object, *links: tuple[str, Part]) -> Object:
    """first < second < ...; evaluates each operand once, and only where the comparisons before it hold."""
    result = in_or_compared(name, first, second)
    if not links:
        return result
    (following, part), *others = links
    return and_(result, WithCells(lambda: chain(following, second, part(), *others), *(p for _, p in links)))


def in_or_compared(name: str, a: Object, b: Object) -> Object:
    """Compare two values by an operator's name."""
    other = _OTHERS.get(name)
    return compared(name, a, b) if other is None else other(a, b)


def is_(a: Object, b: Object) -> Object:
    """a is b"""
    if type(a) in CHOICES or type(b) in CHOICES:
        return mapped(is_, a, b)
    return is_same(a, b)


def is_not(a: Object, b: Object) -> Object:
    """a is not b"""
    return negated(truth(is_(a, b)))


def in_(a: Object, b: Object) -> Object:
    """a in b"""
    return python_bool(truth(_is_in(a, b)))


def _is_in(a: Object, b: Object) -> Object:
    if type(b) in CHOICES:
        return mapped(_is_in, a, b)
    b = viewed(b)
    kind = type(b)
    if (method := users_method(kind, "__contains__")) is not None:
        return truth(call(method, b, a))
    if users_method(kind, "__iter__") is not None and not hasattr(kind, "__contains__"):
        return _among(a, iterated(b))
    if isinstance(b, dict) and is_by_data(b, a):
        return there(b, a)[0]
    if isinstance(b, (set, frozenset)) and is_by_data(b, a):
        return sets.contains(b, a)
    if isinstance(b, Counting) and (type(a) is int or is_data(a)):
        return holds(b, a)
    if isinstance(b, Lazy):
        return _among(a, b)
    if type(a) in CHOICES:
        return mapped(_is_in, a, b)
    if not isinstance(b, (list, tuple)):
        return a in b
    if is_tracked_value(a) or any(type(v) is Maybe or is_tracked_value(v) for v in b) or users_method(type(a), "__eq__") is not None:
        return _among(a, b)
    return a in b


def _among(a: Object, items: Object) -> Object:
    """a in items, by equality; the user's methods are called only for existing entries, until one is equal."""
    if isinstance(items, (list, tuple)):
        entries = list(parts(items))
        if all(users_method(type(value), "__eq__") is None for value in (a, *(value for _, value in entries))):
            return any_of(both(condition, equal(compared, value, a)) for condition, value in entries)
    completion = for_(items, lambda value: if_(truth(equal(compared, value, a)), lambda: Return(True), None), None)
    return returned(replaced(completion, lambda end: Return(False) if end is None else end))


def not_in(a: Object, b: Object) -> Object:
    """a not in b"""
    return negated(truth(in_(a, b)))


_OTHERS: dict[str, Callable[[Object, Object], Object]] = {"is_": is_, "is_not": is_not, "in_": in_, "not_in": not_in}


def formatted(value: Object, form: Callable[[Object], str]) -> Object:
    """A value formatted for a text; a choice of texts if it has few possible values."""
    if is_error_of_choices(value):
        return mapped(lambda *args: _form_of(with_arguments(value, args), form), *value.args)
    choice = as_choice(value)
    is_number = is_data(value) and not value.type.shape
    if is_number and value.type.dtype.kind in "ib" and type_if_known(value) not in (int, bool, np.bool_):
        if (form(True), form(1)) != (form(np.True_), form(np.int64(1))):
            str(value)  # refused: the texts of Python's numbers and of NumPy's differ
    if type(choice) in CHOICES:
        return mapped(lambda option: _form_of(option, form), choice)
    if is_number and is_python(value) is not False:
        str(value)  # refused only here; elsewhere repr() of tracked values serves debugging
    return _form_of(choice, form)


def _form_of(value: Object, form: Callable[[Object], str]) -> str:
    value = settled_deeply(shown(value))
    check_text(value)
    return form(value)


def check_text(*values: Object) -> None:
    """Refuse a text of what holds Python's numbers that depend on data, as that of such a number."""
    pending, seen = list(values if state.kinds else ()), set[int]()
    while pending and len(seen) < _MOST_IN_TEXT:
        value = pending.pop()
        if type(value) is TrackedArray:
            if not value.type.shape and is_python(value) is not False:
                str(value)
        elif type(value) not in CONSTANTS and id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, dict):
                pending += (*value, *value.values())
            elif isinstance(value, (list, tuple, set, frozenset, deque)):
                pending += value
            elif isinstance(value, functools.partial):
                pending += (value.func, value.args, value.keywords)
            elif isinstance(value, BaseException):
                pending += value.args
            elif not isinstance(value, (type, FunctionType, ModuleType)):
                pending += getattr(value, "__dict__", {}).values()


_MOST_IN_TEXT = 10_000


def is_error_of_choices(value: Object) -> bool:
    """True for errors with an argument that data choose."""
    return isinstance(value, BaseException) and any(type(arg) in CHOICES for arg in value.args)


def text(*parts: Object) -> Object:
    """Join parts into a text; each may be a choice."""
    return lifted(lambda *found: "".join(found), *parts)


def shown(value: Object) -> Object:
    """A value to be formatted; choices are settled by guards."""
    return CHOICES[type(value)].settled(value) if type(value) in CHOICES else value


# Types of tracked numbers in plain Python


def type_of(value: Object) -> Object:
    """type(value); a choice of types if data-dependent."""
    types = _types(value)
    return type(value) if types is None else first_of([(condition, kind) for kind, condition in types])


def is_instance(value: Object, kinds: Object) -> Object:
    """isinstance(value, kinds): a bool, tracked or not."""
    if type(value) is not TrackedArray or (isinstance(kinds, type) and users_method(type(kinds), "__instancecheck__") is not None):
        return isinstance(value, kinds)
    types = _types(value)
    if types is None:
        return isinstance(value, kinds)
    fitting = [condition for kind, condition in types if issubclass(kind, kinds)]
    return True if len(fitting) == len(types) else any_of(fitting)


def _types(value: Object) -> list[tuple[type, Object]] | None:
    """The possible Python types of a tracked number; None for other values."""
    if type(value) is not TrackedArray or value.type.shape or value._view is not None:
        return None
    types = types_of(value)
    if types is None:
        raise Unjoinable(
            "code needs a number's type, Python's or NumPy's, which depends on data", "convert the number with float() before"
        )
    return types
