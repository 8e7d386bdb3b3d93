"""Python's builtins as programs: what their comparisons and calls do where data decide, and what they do with conditional entries.

A program is given the arguments of its builtin. It gives NATIVE where nothing in them is of interest: the builtin is run then, by itself.
"""

from __future__ import annotations

import builtins
import functools
import heapq
import itertools
import math
import operator
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..recording.arrays.tracked import TrackedArray
from ..recording.creation import asarray
from .blocks import done, for_, if_, returned
from .callables import call
from .completions import BREAK, Return, replaced
from .containers import iterated
from .dunder import added, compared
from .entries import is_conditional, is_nonempty, length, parts, settled_contents
from .entries import item as entry_item
from .entries import pop as entry_pop
from .entries import put as put_entries
from .fork import exclude, fork_value
from .generators import Generator
from .joins import join, maybe
from .places import note_contents
from .sequences import equal, zipped
from .tests_of_values import if_value
from .truth import truth
from .users_code import users_method
from .values import CHOICES, Maybe, both, either, is_data, negated, state

NATIVE: Any = object()
_SEQUENCES = (list, tuple, deque)
_CONSTANTS = {int, float, bool, str, bytes, type(None), np.float64, np.int64, np.bool_}
# Entries that are sorted by exchanges; more by positions, where all are numbers.
MOST_EXCHANGED = 24


class Program(NamedTuple):
    """What runs in place of a builtin.

    Attributes:
        least, most: how many arguments it takes; the builtin tells of others.
        names: keyword arguments that it takes.
    """

    run: Callable[..., Any]
    least: int
    most: int
    names: tuple[str, ...] = ()


# Facts about arguments


def is_of_interest(value: Any, depth: int = 0) -> bool:
    """True for values whose comparisons data may decide: tracked ones, choices, objects of the user's, and what contains such."""
    kind = type(value)
    if kind in _CONSTANTS:
        return False
    if kind is TrackedArray or kind in CHOICES or kind is Maybe:
        return True
    if isinstance(value, _SEQUENCES):
        return depth < 4 and any(is_of_interest(v, depth + 1) for v in value)
    return any(users_method(kind, name) is not None for name in ("__lt__", "__gt__", "__eq__", "__bool__", "__add__", "__radd__", "__len__"))


def _is_callable_of_users(f: Any) -> bool:
    return f is not None and type(f) not in (type, type(len))


def is_lazy(items: Any) -> bool:
    """True for a generator that can be run with another block."""
    return type(items) is Generator and items.emitting is not None and items.is_fresh


def gathered(items: Any) -> Any:
    """The entries of an iterable as a list or tuple; conditional ones as such."""
    if isinstance(items, _SEQUENCES) and users_method(type(items), "__iter__") is None:
        return items
    if not is_lazy(items):
        return list(iterated(items))
    items.is_owned = True
    made: list[Any] = []
    done(for_(items, lambda value: _collect(made, value), None))
    return made


def _collect(made: list[Any], value: Any) -> None:
    note_contents(made)
    made.append(value)


# Reductions


def _where_there(condition: Any, run: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    return run() if condition is True else fork_value(condition, run, otherwise)


def sum_(items: Any, start: Any = 0) -> Any:
    if not (is_lazy(items) or isinstance(items, _SEQUENCES)):
        return NATIVE
    entries = gathered(items)
    if not any(type(v) is Maybe or type(v) in CHOICES or users_method(type(v), "__add__") or users_method(type(v), "__radd__") for v in entries):
        return builtins.sum(entries, start)
    total = start
    for condition, value in parts(entries):
        total = _where_there(condition, lambda t=total, v=value: added(t, v), lambda t=total: t)
    return total


def prod_(items: Any, *, start: Any = 1) -> Any:
    if not (is_lazy(items) or is_conditional(items)):
        return NATIVE
    total = start
    for condition, value in parts(gathered(items)):
        total = _where_there(condition, lambda t=total, v=value: operator.mul(t, v), lambda t=total: t)
    return total


def fsum_(items: Any) -> Any:
    if not (is_lazy(items) or is_conditional(items)):
        return NATIVE
    entries = gathered(items)
    return sum_(entries, 0.0) if is_of_interest(entries) else math.fsum(entries)


def any_(items: Any) -> Any:
    return _quantified(items, True)


def all_(items: Any) -> Any:
    return _quantified(items, False)


def _quantified(items: Any, wanted: bool) -> Any:
    """any and all: whether one of the entries is true, or none is false."""
    if isinstance(items, _SEQUENCES):
        if not is_of_interest(items):
            return NATIVE
        if all(type(v) in (TrackedArray, Maybe, *_CONSTANTS) for v in items):
            found: Any = False
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

    def test(value: Any) -> Any:
        t = truth(value)
        return if_(t if wanted else negated(t), lambda: Return(wanted), None)

    completion = for_(items, test, None)
    return returned(replaced(completion, lambda end: Return(not wanted) if end is None else end))


_MISSING = object()


def max_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return _extreme("max", "gt", args, key, default)


def min_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return _extreme("min", "lt", args, key, default)


def _extreme(name: str, better: str, args: Any, key: Any, default: Any) -> Any:
    """The first entry that no other one is better than."""
    items = args[0] if len(args) == 1 else args
    if len(args) > 1 and default is not _MISSING:
        return NATIVE
    if not is_lazy(items) and not (isinstance(items, (*_SEQUENCES, TrackedArray))) and key is None:
        return NATIVE
    entries = gathered(items)
    if not is_of_interest(entries) and not _is_callable_of_users(key):
        named = {} if default is _MISSING else {"default": default}
        return getattr(builtins, name)(entries, key=key, **named)
    keyed = _keyed(entries, key)
    if not keyed:
        if default is _MISSING:
            raise ValueError(f"{name}() iterable argument is empty")
        return default
    is_found, best_key, best = keyed[0]
    for condition, k, value in keyed[1:]:
        is_better = truth(compared(better, k, best_key))
        takes = both(condition, either(negated(is_found), is_better))
        best, best_key = (old if takes is False else new if takes is True else join(takes, new, old) for new, old in ((value, best), (k, best_key)))
        is_found = either(is_found, condition)
    if is_found is True:
        return best
    if default is _MISSING:
        exclude(negated(is_found), lambda: ValueError(f"{name}() iterable argument is empty"))
        return best
    return join(is_found, best, default)


def _keyed(entries: Any, key: Any) -> list[tuple[Any, Any, Any]]:
    """When each entry is there, its key, and itself. A key is computed once for each, in order, where it is there."""
    if key is None:
        return [(condition, value, value) for condition, value in parts(entries)]
    return [(condition, _where_there(condition, lambda v=value: call(key, v), lambda: None) if condition is True else _only_there(condition, key, value), value)
            for condition, value in parts(entries)]  # fmt: skip


def _only_there(condition: Any, key: Any, value: Any) -> Any:
    """A key where its entry is there; elsewhere anything of its kind."""
    found: list[Any] = [None]

    def run() -> None:
        found[0] = call(key, value)

    done(if_(condition, run, None))
    return found[0]


# Sorting


def sorted_(items: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    if not is_lazy(items) and not isinstance(items, (*_SEQUENCES, TrackedArray)) and key is None:
        return NATIVE
    entries = gathered(items)
    if not is_of_interest(entries) and not _is_callable_of_users(key):
        return builtins.sorted(entries, key=key, reverse=reverse)
    keyed = _keyed(entries, key)
    if not any(condition is not True or is_of_interest(k) for condition, k, _ in keyed):
        order = builtins.sorted(range(len(keyed)), key=lambda i: keyed[i][1], reverse=bool(reverse))
        return [keyed[i][2] for i in order]
    backwards = truth(reverse)
    if type(backwards) is not bool:
        backwards = bool(backwards)
    if backwards:
        keyed.reverse()
    made = _ordered(keyed)
    return made[::-1] if backwards else made


def _ordered(keyed: list[tuple[Any, Any, Any]]) -> list[Any]:
    """The entries in order of their keys; stable."""
    if len(keyed) > 4 and all(condition is True for condition, _, _ in keyed) and all(_is_real(k) for _, k, _ in keyed):
        columns = _columns([value for _, _, value in keyed])
        if columns is not None:
            return _gathered_in_order([k for _, k, _ in keyed], columns, keyed)
    if len(keyed) > MOST_EXCHANGED:
        entries = [maybe(condition, (k, value)) for condition, k, value in keyed]
        pairs = settled_contents(entries)
        return [pairs[i][1] for i in builtins.sorted(range(len(pairs)), key=functools.cmp_to_key(lambda i, j: _order(pairs[i][0], pairs[j][0])))]
    entries = list(keyed)
    for end in range(len(entries) - 1, 0, -1):
        for k in range(end):
            entries[k], entries[k + 1] = _exchanged(entries[k], entries[k + 1])
    return [maybe(condition, value) for condition, _, value in entries if condition is not False]


def _order(a: Any, b: Any) -> int:
    return -1 if bool(truth(compared("lt", a, b))) else 1 if bool(truth(compared("lt", b, a))) else 0


def _exchanged(first: tuple[Any, Any, Any], second: tuple[Any, Any, Any]) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Two neighbours in order; entries that are not there come last."""
    (is_there, a, _), (other_is_there, b, _) = first, second
    swap = both(other_is_there, either(negated(is_there), truth(compared("lt", b, a))))
    if type(swap) is bool:
        return (second, first) if swap else (first, second)
    pick = lambda yes, no: tuple(_pick(swap, p, q) for p, q in zip(yes, no))  # noqa: E731 -- its name is its use
    return pick(second, first), pick(first, second)


def _pick(test: Any, yes: Any, no: Any) -> Any:
    if type(yes) is bool and type(no) is bool:
        return yes if yes == no else test if yes else negated(test)
    return np.where(test, yes, no) if _is_real(yes) and _is_real(no) else join(test, yes, no)


def _is_real(value: Any) -> bool:
    return type(value) in (int, float, np.float64) or (type(value) is TrackedArray and not value.type.shape and value.type.dtype.kind in "fi")


def _columns(values: list[Any]) -> list[list[Any]] | None:
    """Numbers as one column, tuples of numbers as one for each place; None for anything else."""
    if all(map(_is_real, values)):
        kinds = [[*values]]
    elif all(type(v) is tuple and len(v) == len(values[0]) and all(map(_is_real, v)) for v in values):
        kinds = [list(column) for column in zip(*values)]
    else:
        return None
    return kinds if all(_is_uniform(column) for column in kinds) else None


def _is_uniform(column: list[Any]) -> bool:
    kinds = {v.type.dtype.kind if type(v) is TrackedArray else "i" if type(v) is int else "f" for v in column}
    return len(kinds) == 1


def _gathered_in_order(keys: list[Any], columns: list[list[Any]], keyed: list[tuple[Any, Any, Any]]) -> list[Any]:
    order = np.argsort(_stacked(keys), kind="stable")
    made: list[list[Any]] = []
    for column in columns:
        ordered = _stacked(column)[order]
        made.append([ordered[k] for k in range(len(column))])
    return made[0] if type(keyed[0][2]) is not tuple else [tuple(row) for row in zip(*made)]


def _stacked(column: list[Any]) -> Any:
    """A tracked array of numbers."""
    return np.stack(column) if any(map(is_data, column)) else asarray(np.array(column))


def sort_(holder: list[Any], *, key: Any = None, reverse: Any = False) -> Any:
    if not is_of_interest(holder) and not _is_callable_of_users(key):
        return NATIVE
    put_entries(holder, sorted_(holder, key=key, reverse=reverse))
    return None


# Containers


def len_(holder: Any) -> Any:
    if is_conditional(holder):
        return length(holder)
    method = users_method(type(holder), "__len__")
    return NATIVE if method is None else call(method, holder)


def bool_(value: Any = False) -> Any:
    t = truth(value)
    return t if is_data(t) else NATIVE


def list_(items: Any = ()) -> Any:
    if is_lazy(items):
        return gathered(items)
    return list(items) if is_conditional(items) else NATIVE


def tuple_(items: Any = ()) -> Any:
    return tuple(gathered(items)) if is_lazy(items) or is_conditional(items) else NATIVE


def _settling(kind: Any) -> Callable[..., Any]:
    """A collection of what is there."""

    def run(items: Any = ()) -> Any:
        if not is_lazy(items) and not is_conditional(items):
            return NATIVE
        return kind(settled_contents(gathered(items)))

    return run


def reversed_(items: Any) -> Any:
    return iter(list(items)[::-1]) if is_conditional(items) else NATIVE


def pop_(holder: Any, position: Any = -1) -> Any:
    if is_data(position) and not is_conditional(holder):
        value = entry_item(holder, position)
        n = len(holder)
        place = np.where(position < 0, position + n, position)
        entries = list(holder)
        put_entries(holder, [join(place > k, entries[k], entries[k + 1]) for k in range(n - 1)])
        return value
    if not is_conditional(holder):
        return NATIVE
    if type(position) is not int or position not in (0, -1):
        return settled_contents(holder).pop(position)
    return entry_pop(holder, position)


def popleft_(holder: Any) -> Any:
    return entry_pop(holder, 0) if is_conditional(holder) else NATIVE


def index_(holder: Any, sought: Any) -> Any:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    positions: list[tuple[Any, Any]] = []
    before: Any = 0
    for condition, value in parts(holder):
        hit = both(condition, equal(compared, value, sought))
        if hit is not False:
            positions.append((hit, before))
        if hit is True:
            break
        before = before + (1 if condition is True else np.where(condition, 1, 0))
    return _first(positions, lambda: ValueError(f"{type(holder).__name__}.index(x): x not in {type(holder).__name__}"))


def _first(hits: list[tuple[Any, Any]], error: Callable[[], Exception]) -> Any:
    missing: Any = True
    for hit, _ in hits:
        missing = both(missing, negated(hit))
    exclude(missing, error)
    found = hits[-1][1]
    for hit, value in reversed(hits[:-1]):
        found = join(hit, value, found)
    return found


def count_(holder: Any, sought: Any) -> Any:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    total: Any = 0
    for condition, value in parts(holder):
        hit = both(condition, equal(compared, value, sought))
        total = total + (int(hit) if type(hit) is bool else np.where(hit, 1, 0))
    return total


def remove_(holder: list[Any], sought: Any) -> Any:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    is_over: Any = False
    made: list[Any] = []
    for condition, value in parts(holder):
        hit = True if is_over is True else both(condition, equal(compared, value, sought))
        stays = both(condition, either(is_over, negated(hit)))
        if stays is not False:
            made.append(maybe(stays, value))
        is_over = either(is_over, hit) if is_over is not True else True
    exclude(negated(is_over), lambda: ValueError("list.remove(x): x not in list"))
    if any(type(entry) is Maybe for entry in made):
        state.has_choices = state.has_maybes = True
    put_entries(holder, made)
    return None


def extend_(holder: Any, items: Any) -> Any:
    if not is_lazy(items):
        return NATIVE
    items.is_owned = True
    done(for_(items, lambda value: _collect(holder, value), None))
    return None


# Lazy ones: over what is computed already, or a generator


def reduce_(f: Any, items: Any, *start: Any) -> Any:
    entries = gathered(items)
    if any(type(v) is Maybe for v in entries):
        conditions = [*parts(entries)]
        if not start:
            is_found, total = conditions[0]
            exclude(negated(is_nonempty(entries)), lambda: TypeError("reduce() of empty iterable with no initial value"))
            for condition, value in conditions[1:]:
                new = _where_there(is_found, lambda t=total, v=value: call(f, t, v), lambda v=value: v)
                total = new if condition is True else join(condition, new, total)
                is_found = either(is_found, condition)
            return total
        total = start[0]
        for condition, value in conditions:
            total = _where_there(condition, lambda t=total, v=value: call(f, t, v), lambda t=total: t)
        return total
    return functools.reduce(lambda a, b: call(f, a, b), entries, *start)


def _ownable(items: Any) -> bool:
    """True if a generator may be taken over; conditional entries always."""
    return is_conditional(items) or (is_lazy(items) and items.is_owned)


def _lazily(run: Callable[..., Any], *args: Any) -> Generator:
    """A generator of a program, with the form that calls the consumer's block."""
    for argument in args:
        if type(argument) is Generator:
            argument.is_owned = True
    made = Generator(lambda: _natively(run, args), lambda emit: run(emit, *args))
    made.is_owned = True
    return made


def _natively(run: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """All values at once, for code that asks for one after the other."""
    made: list[Any] = []
    done(run(lambda value: _collect(made, value), *args))
    yield from settled_contents(made)


def enumerate_(items: Any, start: Any = 0) -> Any:
    if not _ownable(items):
        return NATIVE

    def run(emit: Any, items: Any, start: Any) -> Any:
        number = start

        def each(value: Any) -> Any:
            nonlocal number
            pair = number, value
            number = number + 1
            return emit(pair)

        return for_(items, each, None)

    return _lazily(run, items, start)


def map_(f: Any, items: Any) -> Any:
    if f is None or not _ownable(items):
        return NATIVE
    return _lazily(lambda emit, items: for_(items, lambda value: emit(call(f, value)), None), items)


def filter_(f: Any, items: Any) -> Any:
    return _filtered(f, items, True)


def filterfalse_(f: Any, items: Any) -> Any:
    return _filtered(f, items, False)


def _filtered(f: Any, items: Any, wanted: bool) -> Any:
    is_source = isinstance(items, (*_SEQUENCES, TrackedArray, range)) or _ownable(items)
    if not is_source:
        return NATIVE

    def run(emit: Any, items: Any) -> Any:
        def each(value: Any) -> Any:
            t = truth(value if f is None or f is bool else call(f, value))
            return if_(t if wanted else negated(t), lambda: emit(value), None)

        return for_(items, each, None)

    return _lazily(run, items)


def takewhile_(f: Any, items: Any) -> Any:
    if not isinstance(items, (*_SEQUENCES, TrackedArray, range)) and not _ownable(items):
        return NATIVE
    return _lazily(lambda emit, items: for_(items, lambda value: if_(truth(call(f, value)), lambda: emit(value), lambda: BREAK), None), items)


def dropwhile_(f: Any, items: Any) -> Any:
    if not isinstance(items, (*_SEQUENCES, TrackedArray, range)) and not _ownable(items):
        return NATIVE

    def run(emit: Any, items: Any) -> Any:
        started: Any = False

        def each(value: Any) -> Any:
            nonlocal started
            before = started
            started = if_value(before, lambda: True, lambda: truth(call(f, value)) is False or negated(truth(call(f, value))))
            return if_(started, lambda: emit(value), None)

        return for_(items, each, None)

    return _lazily(run, items)


def accumulate_(items: Any, func: Any = None, *, initial: Any = None) -> Any:
    if not _ownable(items) and not (isinstance(items, (*_SEQUENCES, TrackedArray)) and _is_callable_of_users(func)):
        if func in (builtins.max, builtins.min):
            return itertools.accumulate(items, lambda a, b: call(func, a, b), initial=initial)
        return NATIVE
    entries = gathered(items)
    add = added if func is None else lambda a, b: call(func, a, b)
    made: list[Any] = [] if initial is None else [initial]
    is_found, total = initial is not None, initial
    for condition, value in parts(entries):
        if is_found is False:
            is_found, total = condition, value
        else:
            new = add(total, value) if is_found is True else _where_there(is_found, lambda t=total, v=value: add(t, v), lambda v=value: v)
            total = new if condition is True else join(condition, new, total)
            is_found = either(is_found, condition)
        made.append(maybe(condition, total))
    return iter(made)


def zip_(*items: Any, strict: Any = False) -> Any:
    if strict or not any(_ownable(i) for i in items):
        return NATIVE
    columns = [gathered(i) for i in items]
    return iter(zipped(columns))


# Numbers


def divmod_(a: Any, b: Any) -> Any:
    return (a // b, a % b) if is_data(a) or is_data(b) else NATIVE


def pow_(a: Any, b: Any) -> Any:
    return a**b if is_data(a) or is_data(b) else NATIVE


# The table

_ANY = 1 << 20

PROGRAMS: dict[Any, Program] = {
    builtins.sum: Program(sum_, 1, 2, ("start",)),
    math.prod: Program(prod_, 1, 1, ("start",)),
    math.fsum: Program(fsum_, 1, 1),
    builtins.any: Program(any_, 1, 1),
    builtins.all: Program(all_, 1, 1),
    builtins.max: Program(max_, 1, _ANY, ("key", "default")),
    builtins.min: Program(min_, 1, _ANY, ("key", "default")),
    builtins.sorted: Program(sorted_, 1, 1, ("key", "reverse")),
    builtins.len: Program(len_, 1, 1),
    builtins.bool: Program(bool_, 1, 1),
    builtins.list: Program(list_, 1, 1),
    builtins.tuple: Program(tuple_, 1, 1),
    builtins.set: Program(_settling(set), 1, 1),
    builtins.frozenset: Program(_settling(frozenset), 1, 1),
    builtins.dict: Program(_settling(dict), 1, 1),
    builtins.reversed: Program(reversed_, 1, 1),
    builtins.enumerate: Program(enumerate_, 1, 2, ("start",)),
    builtins.map: Program(map_, 2, 2),
    builtins.filter: Program(filter_, 2, 2),
    builtins.zip: Program(zip_, 1, _ANY, ("strict",)),
    builtins.divmod: Program(divmod_, 2, 2),
    builtins.pow: Program(pow_, 2, 2),
    functools.reduce: Program(reduce_, 2, 3),
    itertools.filterfalse: Program(filterfalse_, 2, 2),
    itertools.takewhile: Program(takewhile_, 2, 2),
    itertools.dropwhile: Program(dropwhile_, 2, 2),
    itertools.accumulate: Program(accumulate_, 1, 2, ("func", "initial")),
}
METHODS: dict[tuple[type, str], Program] = {
    (list, "sort"): Program(sort_, 0, 0, ("key", "reverse")),
    (list, "remove"): Program(remove_, 1, 1),
    (list, "extend"): Program(extend_, 1, 1),
    (deque, "extend"): Program(extend_, 1, 1),
    (deque, "popleft"): Program(popleft_, 0, 0),
    (deque, "pop"): Program(pop_, 0, 0),
    (list, "pop"): Program(pop_, 0, 1),
    **{(kind, "index"): Program(index_, 1, 1) for kind in _SEQUENCES},
    **{(kind, "count"): Program(count_, 1, 1) for kind in _SEQUENCES},
}
# Methods that treat conditional entries as they are.
INDIFFERENT = frozenset(("append", "extend", "copy", "clear", "reverse", "appendleft"))

__all__ = ["INDIFFERENT", "METHODS", "NATIVE", "PROGRAMS", "heapq"]
