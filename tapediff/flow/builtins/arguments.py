"""Classifies and unpacks arguments of calls: data-dependent, lazy or plain."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, ModuleType

from ...base.source_location import is_library_file
from ..anything import Object
from ..calls.callables import call
from ..containers import sets
from ..containers.entries import is_conditional
from ..containers.generators import Generator
from ..containers.items import collected, iterated, spread
from ..containers.lengths import by_length
from ..containers.views import View
from ..operations.sequences import (
    CONSTANTS as CONSTANTS,
    INDEXED as INDEXED,
    SEQUENCES as SEQUENCES,
    is_of_interest as is_of_interest,
)
from ..state.values import Lazy, Maybe, has_maybes, state
from ..translate import is_translated
from ..users_code import users_method

NATIVE: Object = object()


def where(applies: Callable[..., bool], program: Callable[..., Object]) -> Callable[..., Object]:
    """Run a builtin's Python form if its arguments need it."""

    @functools.wraps(program)
    def run(*args: Object, **named: Object) -> Object:
        return call(program, *args, **named) if applies(*args, **named) else NATIVE

    return run


def is_callable_of_users(f: Object) -> bool:
    """True for callables that may receive or hold data-dependent values."""
    return f is not None and type(f) is not type and not (type(f) is BuiltinMethodType and isinstance(f.__self__, ModuleType))


def is_lazy(items: Object) -> bool:
    """True for a generator that can run the consumer's block, and for lazy ranges and views."""
    if isinstance(items, Lazy):
        return True
    return type(items) is Generator and items.emitting is not None and items.is_fresh


def is_special(items: Object) -> bool:
    """True for lazy iterables, and containers with conditional entries, keys or members."""
    return is_lazy(items) or has_maybes(items)


_ITERATORS = (map, filter, zip, enumerate, reversed, type({}.keys()), type({}.values()), type({}.items()))


def is_collection(items: Object) -> bool:
    """True for iterables whose entries may be data: sequences, arrays, views and their iterators."""
    return isinstance(items, (*INDEXED, *_ITERATORS)) or is_special(items)


def gathered(items: Object) -> Object:
    """The entries of an iterable as a list or tuple, some of them conditional."""
    if isinstance(items, SEQUENCES) and users_method(type(items), "__iter__") is None:
        return items
    if isinstance(items, Lazy):
        return items.entries()
    return collected(items) if is_lazy(items) else list(iterated(items))


def in_any_order(items: Object) -> Object:
    """The entries, for results that do not depend on their order."""
    if isinstance(items, Lazy):
        return items.unordered()
    if not isinstance(items, (dict, set)) or not has_maybes(items):
        return gathered(items)
    return View(items, 0).unordered() if isinstance(items, dict) else sets.unordered(items)


def starred(items: Object) -> Object:
    """The arguments of a starred iterable, some of them conditional."""
    return gathered(items) if is_lazy(items) or is_conditional(items) else spread(items)


def spreading(f: Object) -> Object:
    """A function that is called for each possible number of arguments."""
    if type(f) is FunctionType and not is_translated(f) and not is_library_file(f.__code__.co_filename):
        return f  # it may inspect its caller's frame
    made = functools.partial(_spread, f)
    # Names for error messages.
    made.__dict__.update({name: value for name in ("__module__", "__qualname__") if (value := getattr(f, name, None)) is not None})
    return made


def _spread(f: Object, /, *args: Object, **named: Object) -> Object:
    if not state.has_maybes or Maybe not in map(type, args):
        return f(*args, **named)
    return by_length(args, lambda plain: f(*plain, **named))
