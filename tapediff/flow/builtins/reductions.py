"""Reductions: sums, products, any and all, the least and the greatest entry."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import done, if_, returned
from ..blocks.loops import for_
from ..calls.callables import call
from ..calls.truth import truth
from ..containers.entries import is_conditional, parts
from ..containers.lengths import is_real
from ..operations.dunder import added, compared, multiplied
from ..state.completions import Return, replaced
from ..state.fork import exclude, fork_value, select
from ..state.numbers.python_numbers import is_python_bool
from ..state.values import CHOICES, Lazy, Maybe, both, either, negated, state
from ..users_code import users_method
from .arguments import (
    CONSTANTS,
    NATIVE,
    SEQUENCES,
    gathered,
    in_any_order,
    is_callable_of_users,
    is_collection,
    is_conditional_collection,
    is_lazy,
    is_of_interest,
)


def where_there(condition: Object, run: Callable[[], Object], otherwise: Callable[[], Object]) -> Object:
    return run() if condition is True else fork_value(condition, run, otherwise)


def compared_where(there: Object, name: str, a: Object, b: Object) -> Object:
    """A comparison of two keys where both are there; elsewhere False. Numbers can be compared everywhere."""
    if there is False:
        return False
    if there is True or (is_real(a) and is_real(b)):
        return truth(compared(name, a, b))
    return truth(fork_value(there, lambda: truth(compared(name, a, b)), lambda: False))


def sum_(items: Object, start: Object = 0) -> Object:
    if isinstance(items, TrackedArray) or not is_collection(items):
        return NATIVE
    entries = in_any_order(items)
    if not any(
        type(v) is Maybe or type(v) in CHOICES or is_python_bool(v) or users_method(type(v), "__add__") or users_method(type(v), "__radd__")
        for v in entries
    ):
        return builtins.sum(entries, start)
    total = start
    for condition, value in parts(entries):
        total = where_there(condition, lambda t=total, v=value: added(t, v), lambda t=total: t)
    return total


def prod_(items: Object, *, start: Object = 1) -> Object:
    if not (is_lazy(items) or is_conditional(items)) and not (state.kinds and is_collection(items)):
        return NATIVE
    total = start
    for condition, value in parts(gathered(items)):
        total = where_there(condition, lambda t=total, v=value: multiplied(t, v), lambda t=total: t)
    return total


def fsum_(items: Object) -> Object:
    if not (is_lazy(items) or is_conditional(items) or is_conditional_collection(items)):
        return NATIVE
    return math.fsum([value if condition is True else select(condition, value, 0.0) for condition, value in parts(in_any_order(items))])


def any_(items: Object) -> Object:
    return _quantified(items, True)


def all_(items: Object) -> Object:
    return _quantified(items, False)


def _quantified(items: Object, wanted: bool) -> Object:
    """any and all: whether one of the entries is true, or none is false."""
    if isinstance(items, Lazy) or is_conditional_collection(items):
        items = in_any_order(items)
    if isinstance(items, SEQUENCES):
        if not is_of_interest(items):
            return NATIVE
        if all(type(v) in (TrackedArray, Maybe, *CONSTANTS) for v in items):
            found: Object = False
            for condition, value in parts(items):
                t = truth(value)
                found = either(found, both(condition, t if wanted else negated(t)))
                if found is True:
                    break
            return found if wanted else negated(found)
    elif not is_lazy(items) or not items.is_owned:
        return NATIVE
    else:
        items.is_owned = True

    def test(value: Object) -> Object:
        t = truth(value)
        return if_(t if wanted else negated(t), lambda: Return(wanted), None)

    completion = for_(items, test, None)
    return returned(replaced(completion, lambda end: Return(not wanted) if end is None else end))


_MISSING = object()


def max_(*args: Object, key: Object = None, default: Object = _MISSING) -> Object:
    return _extreme("max", "gt", args, key, default)


def min_(*args: Object, key: Object = None, default: Object = _MISSING) -> Object:
    return _extreme("min", "lt", args, key, default)


def _extreme(name: str, better: str, args: Object, key: Object, default: Object) -> Object:
    """The first entry that no other one is better than."""
    items = args[0] if len(args) == 1 else args
    if len(args) > 1 and default is not _MISSING:
        return NATIVE
    if key is None and not is_collection(items):
        return NATIVE
    entries = gathered(items) if key is not None else in_any_order(items)
    if not is_of_interest(entries) and not is_callable_of_users(key):
        named = {} if default is _MISSING else {"default": default}
        return getattr(builtins, name)(entries, key=key, **named)
    keyed = with_keys(entries, key)
    if not keyed:
        if default is _MISSING:
            raise ValueError(f"{name}() iterable argument is empty")
        return default
    is_found, best_key, best = keyed[0]
    for condition, k, value in keyed[1:]:
        is_better = compared_where(both(condition, is_found), better, k, best_key)
        takes = both(condition, either(negated(is_found), is_better))
        best, best_key = (
            old if takes is False else new if takes is True else select(takes, new, old)
            for new, old in ((value, best), (k, best_key))
        )
        is_found = either(is_found, condition)
    if is_found is True:
        return best
    if default is _MISSING:
        exclude(negated(is_found), lambda: ValueError(f"{name}() iterable argument is empty"))
        return best
    return select(is_found, best, default)


def with_keys(entries: Object, key: Object) -> list[tuple[Object, Object, Object]]:
    """When each entry is there, its key, and itself. A key is computed once for each, in order, where it is there."""
    if key is None:
        return [(condition, value, value) for condition, value in parts(entries)]
    compute = lambda condition, value: call(key, value) if condition is True else _only_there(condition, key, value)  # noqa: E731 -- its name is its use
    return [(condition, compute(condition, value), value) for condition, value in parts(entries)]


def _only_there(condition: Object, key: Object, value: Object) -> Object:
    """A key where its entry is there; elsewhere anything of its kind."""
    found: list[Object] = [None]

    def run() -> None:
        found[0] = call(key, value)

    done(if_(condition, run, None))
    return found[0]
