"""Object identity of joined values: numbers and tuples that branches have joined stand for the sides' objects.

Joins note it only when a recording is repeated because the program tests identity.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from ...ir.instruction import INPUT
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..users_code import is_mutable
from .numbers.python_numbers import types_of
from .places import refuse_withdrawn
from .values import Restart, Unjoinable, both, either, inputs_of, negated, op_of, state

# Results that stand for list entries, loop variables, or one of two operands.
_STANDING = frozenset(("select", "gather", "get", "assemble", "maximum", "minimum"))
_ARRAYS = frozenset(("select", "get"))
# Python's cached small ints.
_LEAST_SINGLE, _MOST_SINGLE = -5, 256


class AsksIdentities(Restart):
    """The program tests identity: repeat the recording with origins of joined values noted."""


def note_origin(value: Object, *options: tuple[Object, Object]) -> Object:
    """Note that a value stands for the first option whose condition holds; returns the value."""
    if state.has_identities and isinstance(value, (TrackedArray, tuple)) and all(value is not option for _, option in options):
        state.origins[id(value)] = value, options
    return value


@functools.lru_cache(maxsize=1000)
def frozen_fields(kind: type) -> dict[str, Object]:
    """The fields of a frozen dataclass that is compared by them and that the user's code does not make or change; none of other classes."""
    parameters = getattr(kind, "__dataclass_params__", None)
    is_frozen = parameters is not None and parameters.frozen and parameters.eq and kind.__new__ is object.__new__
    if not is_frozen or hasattr(kind, "__del__") or kind.__setattr__.__code__.co_filename != GENERATED:
        return {}
    return {field.name: field for field in dataclasses.fields(kind)}


# The file of methods that dataclasses generate.
GENERATED = "<string>"


def is_same(a: Object, b: Object) -> Object:
    """a is b: a bool, tracked or not."""
    if a is not b and type(a) is type(b) and not state.shown.keys().isdisjoint((id(a), id(b))) and is_mutable(a):
        raise AsksIdentities
    if state.joins_frozen and type(a) is type(b) and a is not b and frozen_fields(type(a)):
        raise AsksIdentities
    if a is not b and type(a) is type(b):
        refuse_withdrawn(a)
        refuse_withdrawn(b)
    if a is b or not (isinstance(a, _VALUES) and isinstance(b, _VALUES)) or isinstance(a, tuple) != isinstance(b, tuple):
        return a is b
    if not state.is_recording or not (isinstance(a, (TrackedArray, tuple)) or isinstance(b, (TrackedArray, tuple))):
        return False
    if not state.has_identities:
        raise AsksIdentities
    return _told(a, b, {})


_VALUES = (TrackedArray, tuple, int, float, np.generic)


def _told(a: Object, b: Object, known: dict[tuple[int, int], Object]) -> Object:
    """Identity option by option."""
    if a is b:
        return True
    key = id(a), id(b)
    if key not in known:
        known[key] = _of_options(a, b, known)
    return known[key]


def _of_options(a: Object, b: Object, known: dict[tuple[int, int], Object]) -> Object:
    for joined, other in ((a, b), (b, a)):
        origin = state.origins.get(id(joined))
        if origin is not None:
            found: Object = False
            behind: Object = True
            for condition, option in origin[1]:
                found = either(found, both(both(behind, condition), _told(option, other, known)))
                behind = both(behind, negated(condition))
            return found
    number, other = (a, b) if type(a) is TrackedArray else (b, a)
    if type(number) is not TrackedArray:
        if not state.tuples_of_loops.keys().isdisjoint((id(a), id(b))):
            raise Unjoinable("a tuple is compared by `is` with one that a loop may have made", "compare tuples by ==")
        return False
    if not number.type.shape and number.type.dtype.kind in "bi":
        return _are_same_constants(number, other)
    if _may_stand_for_others(number) or _may_stand_for_others(other):
        raise Unjoinable("a number is compared by `is` with one that a loop or a list may have", "compare numbers by ==")
    return False


def _are_same_constants(number: TrackedArray, other: Object) -> Object:
    """Identity of a bool or int, each a single object, except for large ints."""
    found: Object = False
    for kind, condition in _types(number):
        for other_kind, other_condition in _types(other):
            if kind is other_kind and kind is not np.int64:
                is_equal = number == other
                if kind is int:
                    is_equal = both(is_equal, both(number >= _LEAST_SINGLE, number <= _MOST_SINGLE))
                found = either(found, both(both(condition, other_condition), is_equal))
    return found


def _types(value: Object) -> list[tuple[type, Object]]:
    """The possible types of a number, with their conditions."""
    types = types_of(value)
    if types is None:
        raise Unjoinable("a number of unknown type is compared by `is`", "compare numbers by ==")
    return types


def _may_stand_for_others(value: Object) -> bool:
    if type(value) is not TrackedArray:
        return False
    recorder, number = value._recorder, value._id
    while not value.type.shape and op_of(recorder, number).name in ("index", "reshape"):
        number = inputs_of(recorder, number)[0]
    op = op_of(recorder, number)
    return op.name in (_ARRAYS if value.type.shape else _STANDING) or (op is INPUT and recorder in state.recorders)
