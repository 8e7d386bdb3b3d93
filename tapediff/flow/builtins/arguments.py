"""Facts about the arguments of builtins: what data may decide, what is lazy, and the entries of an iterable."""

from __future__ import annotations

from collections import deque
from types import BuiltinMethodType, ModuleType

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import done
from ..blocks.loops import for_
from ..containers import keys, sets
from ..containers.entries import is_conditional
from ..containers.generators import Generator
from ..containers.items import iterated, spread
from ..containers.views import View
from ..state.places import note_contents
from ..state.values import CHOICES, Lazy, Maybe
from ..users_code import users_method

NATIVE: Object = object()
SEQUENCES = (list, tuple, deque)
CONSTANTS = {int, float, bool, str, bytes, type(None), np.float64, np.int64, np.bool_}


def is_of_interest(value: Object, depth: int = 0) -> bool:
    """True for values whose comparisons data may decide: tracked ones, choices, objects of the user's, and what contains such."""
    kind = type(value)
    if kind in CONSTANTS:
        return False
    if kind is TrackedArray or kind in CHOICES or kind is Maybe:
        return True
    if isinstance(value, SEQUENCES):
        return depth < 4 and any(is_of_interest(v, depth + 1) for v in value)
    return any(
        users_method(kind, name) is not None
        for name in ("__lt__", "__gt__", "__eq__", "__bool__", "__add__", "__radd__", "__len__")
    )


def is_callable_of_users(f: Object) -> bool:
    """True for functions and methods that may be given, or hold, what data decide."""
    return f is not None and type(f) is not type and not (type(f) is BuiltinMethodType and isinstance(f.__self__, ModuleType))


def is_lazy(items: Object) -> bool:
    """True for a generator that can be run with another block, and for ranges of data."""
    if isinstance(items, Lazy):
        return True
    return type(items) is Generator and items.emitting is not None and items.is_fresh


_ITERATORS = (map, filter, zip, enumerate, reversed, type({}.keys()), type({}.values()), type({}.items()))


def is_collection(items: Object) -> bool:
    """True for what has entries that data may decide: sequences, arrays, views and iterators of these."""
    return is_lazy(items) or isinstance(items, (*SEQUENCES, TrackedArray, *_ITERATORS)) or is_conditional_collection(items)


def own(items: Object) -> None:
    """Note that nothing else goes on with a generator."""
    if type(items) is Generator:
        items.is_owned = True


def gathered(items: Object) -> Object:
    """The entries of an iterable as a list or tuple; conditional ones as such."""
    if isinstance(items, SEQUENCES) and users_method(type(items), "__iter__") is None:
        return items
    if isinstance(items, Lazy):
        return items.entries()
    if not is_lazy(items):
        found = iterated(items)
        return found if type(found) is list and is_conditional_collection(items) else list(found)
    own(items)
    made: list[Object] = []
    done(for_(items, lambda value: collect(made, value), None))
    return made


def is_conditional_collection(items: Object) -> bool:
    """True for a dict or set whose keys or members are data."""
    return keys.has_conditional_keys(items) or sets.has_conditional_members(items)


def in_any_order(items: Object) -> Object:
    """The same where the order does not matter."""
    if isinstance(items, Lazy):
        return items.unordered()
    if keys.has_conditional_keys(items):
        return View(items, 0).unordered()
    return sets.unordered(items) if sets.has_conditional_members(items) else gathered(items)


def listed(items: Object) -> Object:
    """The entries that a list display takes by a star."""
    return gathered(items)


def starred(items: Object) -> Object:
    """The arguments that a call is given by a star; conditional ones as such."""
    return gathered(items) if is_lazy(items) or is_conditional(items) else spread(items)


def collect(made: list[Object], value: Object) -> None:
    note_contents(made)
    made.append(value)
