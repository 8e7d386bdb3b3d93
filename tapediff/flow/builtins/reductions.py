"""Reductions: sum, prod, any, all, min, max."""

from __future__ import annotations

import builtins
import math

from ...recording.arrays.tracked import TrackedArray
from .. import in_python
from ..anything import Object
from ..blocks.blocks import if_
from ..calls.callables import call
from ..calls.truth import truth
from ..containers.cursors import Cursor
from ..containers.entries import parts
from ..containers.generators import Generator
from ..operations.dunder import compared
from ..state.fork import fork_value, select
from ..state.numbers.python_numbers import is_python_bool, note_python
from ..state.tables.columns import is_real
from ..state.values import CHOICES, Maybe, any_of, both, either, negated, state
from ..users_code import users_method
from .arguments import (
    CONSTANTS,
    NATIVE,
    SEQUENCES,
    gathered,
    in_any_order,
    is_callable_of_users,
    is_collection,
    is_lazy,
    is_of_interest,
    is_special,
)


def compared_where(there: Object, name: str, a: Object, b: Object) -> Object:
    """Compare two keys where both exist; elsewhere False. Numbers are compared everywhere."""
    if there is True or (is_real(a) and is_real(b)):
        return truth(compared(name, a, b))
    return truth(fork_value(there, lambda: truth(compared(name, a, b)), lambda: False))


def sum_(items: Object, /, start: Object = 0) -> Object:
    if isinstance(items, TrackedArray) or not is_collection(items):
        return NATIVE
    entries = in_any_order(items)
    if not any(
        type(v) is Maybe or type(v) in CHOICES or is_python_bool(v) or users_method(type(v), "__add__") or users_method(type(v), "__radd__")
        for v in entries
    ):
        return builtins.sum(entries, start)
    return call(in_python.sum_, entries, start)


def prod_(items: Object, /, *, start: Object = 1) -> Object:
    if not is_special(items) and not (state.kinds and is_collection(items)):
        return NATIVE
    return call(in_python.prod_, gathered(items), start)


def fsum_(items: Object) -> Object:
    if is_special(items):
        items = [select(condition, value, 0.0) for condition, value in parts(in_any_order(items))]
    # Iterators and the user's objects may change as they are read.
    return note_python(math.fsum(items)) if type(items) in (list, tuple, TrackedArray) else NATIVE


def reduce_(f: Object, items: Object, *start: Object) -> Object:
    return call(in_python.reduce_, f, gathered(items), *start) if len(start) < 2 else NATIVE


def any_(items: Object) -> Object:
    return _quantified(items, True)


def all_(items: Object) -> Object:
    return _quantified(items, False)


def _quantified(items: Object, wanted: bool) -> Object:
    """any (`wanted` True) and all (False): `wanted` is the truth that decides."""
    # Iterators stop after the deciding entry.
    if is_special(items) and type(items) not in (Generator, Cursor):
        items = in_any_order(items)
    if isinstance(items, SEQUENCES):
        if not is_of_interest(items):
            return NATIVE
        if all(type(v) in (TrackedArray, Maybe, *CONSTANTS) for v in items):
            truths = ((condition, truth(value)) for condition, value in parts(items))
            found = any_of(both(condition, t if wanted else negated(t)) for condition, t in truths)
            return found if wanted else negated(found)
    elif not is_lazy(items) or not items.is_owned:
        return NATIVE
    return call(in_python.any_ if wanted else in_python.all_, items)


_MISSING = object()


def max_(*args: Object, key: Object = None, default: Object = _MISSING) -> Object:
    return _extreme("max", "gt", args, key, default)


def min_(*args: Object, key: Object = None, default: Object = _MISSING) -> Object:
    return _extreme("min", "lt", args, key, default)


def _extreme(name: str, better: str, args: Object, key: Object, default: Object) -> Object:
    """The first entry that no other one beats."""
    items = args[0] if len(args) == 1 else args
    if len(args) > 1 and default is not _MISSING:
        return NATIVE
    if key is None and not is_collection(items):
        return NATIVE
    entries = gathered(items) if key is not None else in_any_order(items)
    named = {} if default is _MISSING else {"default": default}
    if not is_of_interest(entries) and not is_callable_of_users(key):
        return getattr(builtins, name)(entries, key=key, **named)
    keyed = with_keys(entries, key)
    if not keyed:
        return getattr(builtins, name)((), **named)
    is_found, best_key, best = keyed[0]
    for condition, k, value in keyed[1:]:
        is_better = compared_where(both(condition, is_found), better, k, best_key)
        takes = both(condition, either(negated(is_found), is_better))
        best, best_key = select(takes, value, best), select(takes, k, best_key)
        is_found = either(is_found, condition)
    if is_found is True:
        return best
    if default is _MISSING:
        fork_value(is_found, lambda: None, lambda: getattr(builtins, name)(()))
        return best
    return select(is_found, best, default)


def with_keys(entries: Object, key: Object) -> list[tuple[Object, Object, Object]]:
    """Each entry's condition, key and value. Keys are computed once, in order, where the entry exists."""
    if key is None:
        return [(condition, value, value) for condition, value in parts(entries)]
    return [(condition, call(key, v) if condition is True else _only_there(condition, key, v), v) for condition, v in parts(entries)]


def _only_there(condition: Object, key: Object, value: Object) -> Object:
    """A key where its entry exists; elsewhere an arbitrary value of its kind."""
    found: list[Object] = [None]

    def run() -> None:
        found[0] = call(key, value)

    if_(condition, run, None)
    return found[0]
