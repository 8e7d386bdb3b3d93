"""Python's builtins as programs: what their comparisons and calls do where data decide, and what they do with conditional entries.

A program is given the arguments of its builtin. It gives NATIVE where nothing in them is of interest: the builtin is run then, by itself.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import itertools
import math
import operator
import statistics
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from ...recording.creation import asarray
from ..anything import Object
from ..blocks.blocks import done, for_, if_, returned, sequence
from ..calls.callables import call, function
from ..calls.truth import truth
from ..calls.users_code import users_method
from ..containers import keys
from ..containers.entries import by_length, is_conditional, is_nonempty, length, parts, settled_contents
from ..containers.entries import item as entry_item
from ..containers.entries import pop as entry_pop
from ..containers.entries import put as put_entries
from ..containers.generators import Generator
from ..containers.items import iterated, set_item, unpacked
from ..containers.sequences import equal, zipped
from ..operations.dunder import added, compared
from ..operations.tests_of_values import if_value
from ..state.completions import BREAK, Return, replaced
from ..state.fork import exclude, fork_value, select, where_ends
from ..state.joins import join_conditions, maybe
from ..state.places import note_contents
from ..state.values import CHOICES, Maybe, both, either, is_data, lifted, negated, state

NATIVE: Object = object()
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

    run: Callable[..., Object]
    least: int
    most: int
    names: tuple[str, ...] = ()


# Facts about arguments


def is_of_interest(value: Object, depth: int = 0) -> bool:
    """True for values whose comparisons data may decide: tracked ones, choices, objects of the user's, and what contains such."""
    kind = type(value)
    if kind in _CONSTANTS:
        return False
    if kind is TrackedArray or kind in CHOICES or kind is Maybe:
        return True
    if isinstance(value, _SEQUENCES):
        return depth < 4 and any(is_of_interest(v, depth + 1) for v in value)
    return any(
        users_method(kind, name) is not None
        for name in ("__lt__", "__gt__", "__eq__", "__bool__", "__add__", "__radd__", "__len__")
    )


def _is_callable_of_users(f: Object) -> bool:
    return f is not None and type(f) not in (type, type(len))


def is_lazy(items: Object) -> bool:
    """True for a generator that can be run with another block."""
    return type(items) is Generator and items.emitting is not None and items.is_fresh


def own(items: Object) -> None:
    """Note that nothing else goes on with a generator."""
    items.is_owned = True


def gathered(items: Object) -> Object:
    """The entries of an iterable as a list or tuple; conditional ones as such."""
    if isinstance(items, _SEQUENCES) and users_method(type(items), "__iter__") is None:
        return items
    if not is_lazy(items):
        found = iterated(items)
        return found if type(found) is list and keys.has_conditional_keys(items) else list(found)
    own(items)
    made: list[Object] = []
    done(for_(items, lambda value: _collect(made, value), None))
    return made


def listed(items: Object) -> Object:
    """What a list display takes over by a star."""
    return gathered(items)


def _collect(made: list[Object], value: Object) -> None:
    note_contents(made)
    made.append(value)


# Reductions


def _where_there(condition: Object, run: Callable[[], Object], otherwise: Callable[[], Object]) -> Object:
    return run() if condition is True else fork_value(condition, run, otherwise)


def sum_(items: Object, start: Object = 0) -> Object:
    if not (is_lazy(items) or isinstance(items, _SEQUENCES)):
        return NATIVE
    entries = gathered(items)
    if not any(
        type(v) is Maybe or type(v) in CHOICES or users_method(type(v), "__add__") or users_method(type(v), "__radd__")
        for v in entries
    ):
        return builtins.sum(entries, start)
    total = start
    for condition, value in parts(entries):
        total = _where_there(condition, lambda t=total, v=value: added(t, v), lambda t=total: t)
    return total


def prod_(items: Object, *, start: Object = 1) -> Object:
    if not (is_lazy(items) or is_conditional(items)):
        return NATIVE
    total = start
    for condition, value in parts(gathered(items)):
        total = _where_there(condition, lambda t=total, v=value: operator.mul(t, v), lambda t=total: t)
    return total


def fsum_(items: Object) -> Object:
    if not (is_lazy(items) or is_conditional(items)):
        return NATIVE
    entries = gathered(items)
    return sum_(entries, 0.0) if is_of_interest(entries) else math.fsum(entries)


def any_(items: Object) -> Object:
    return _quantified(items, True)


def all_(items: Object) -> Object:
    return _quantified(items, False)


def _quantified(items: Object, wanted: bool) -> Object:
    """any and all: whether one of the entries is true, or none is false."""
    if isinstance(items, _SEQUENCES):
        if not is_of_interest(items):
            return NATIVE
        if all(type(v) in (TrackedArray, Maybe, *_CONSTANTS) for v in items):
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


def _keyed(entries: Object, key: Object) -> list[tuple[Object, Object, Object]]:
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


# Sorting


def sorted_(items: Object, /, *, key: Object = None, reverse: Object = False) -> Object:
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


def _ordered(keyed: list[tuple[Object, Object, Object]]) -> list[Object]:
    """The entries in order of their keys; stable."""
    if len(keyed) > 4 and all(condition is True for condition, _, _ in keyed) and all(_is_real(k) for _, k, _ in keyed):
        columns = _columns([value for _, _, value in keyed])
        if columns is not None:
            return _gathered_in_order([k for _, k, _ in keyed], columns, keyed)
    if len(keyed) > MOST_EXCHANGED:
        entries = [maybe(condition, (k, value)) for condition, k, value in keyed]
        pairs = settled_contents(entries)
        return [
            pairs[i][1]
            for i in builtins.sorted(
                range(len(pairs)), key=functools.cmp_to_key(lambda i, j: _order(pairs[i][0], pairs[j][0]))
            )
        ]
    entries = list(keyed)
    for end in range(len(entries) - 1, 0, -1):
        for k in range(end):
            entries[k], entries[k + 1] = _exchanged(entries[k], entries[k + 1])
    return [maybe(condition, value) for condition, _, value in entries if condition is not False]


def _order(a: Object, b: Object) -> int:
    return -1 if bool(truth(compared("lt", a, b))) else 1 if bool(truth(compared("lt", b, a))) else 0


def _exchanged(
    first: tuple[Object, Object, Object], second: tuple[Object, Object, Object]
) -> tuple[tuple[Object, Object, Object], tuple[Object, Object, Object]]:
    """Two neighbours in order; entries that are not there come last."""
    (is_there, a, _), (other_is_there, b, _) = first, second
    swap = both(other_is_there, either(negated(is_there), truth(compared("lt", b, a))))
    if type(swap) is bool:
        return (second, first) if swap else (first, second)
    return _picked(swap, second, first), _picked(swap, first, second)


def _picked(test: Object, yes: tuple[Object, Object, Object], no: tuple[Object, Object, Object]) -> tuple[Object, Object, Object]:
    key = select(test, yes[1], no[1])
    value = key if yes[1] is yes[2] and no[1] is no[2] else select(test, yes[2], no[2])
    return join_conditions(test, yes[0], no[0]), key, value


def _is_real(value: Object) -> bool:
    return type(value) in (int, float, np.float64) or (
        type(value) is TrackedArray and not value.type.shape and value.type.dtype.kind in "fi"
    )


def _columns(values: list[Object]) -> list[list[Object]] | None:
    """Numbers as one column, tuples of numbers as one for each place; None for anything else."""
    if all(map(_is_real, values)):
        kinds = [[*values]]
    elif all(type(v) is tuple and len(v) == len(values[0]) and all(map(_is_real, v)) for v in values):
        kinds = [list(column) for column in zip(*values)]
    else:
        return None
    return kinds if all(_is_uniform(column) for column in kinds) else None


def _is_uniform(column: list[Object]) -> bool:
    kinds = {v.type.dtype.kind if type(v) is TrackedArray else "i" if type(v) is int else "f" for v in column}
    return len(kinds) == 1


def _gathered_in_order(keys: list[Object], columns: list[list[Object]], keyed: list[tuple[Object, Object, Object]]) -> list[Object]:
    order = np.argsort(_stacked(keys), kind="stable")
    made: list[list[Object]] = []
    for column in columns:
        ordered = _stacked(column)[order]
        made.append([ordered[k] for k in range(len(column))])
    return made[0] if type(keyed[0][2]) is not tuple else [tuple(row) for row in zip(*made)]


def _stacked(column: list[Object]) -> Object:
    """A tracked array of numbers."""
    return np.stack(column) if any(map(is_data, column)) else asarray(np.array(column))


def sort_(holder: list[Object], *, key: Object = None, reverse: Object = False) -> Object:
    if not is_of_interest(holder) and not _is_callable_of_users(key):
        return NATIVE
    put_entries(holder, sorted_(holder, key=key, reverse=reverse))
    return None


# Containers


def len_(holder: Object) -> Object:
    if is_conditional(holder):
        return length(holder)
    if keys.has_conditional_keys(holder):
        return keys.length(holder)
    method = users_method(type(holder), "__len__")
    return NATIVE if method is None else call(method, holder)


def bool_(value: Object = False) -> Object:
    t = truth(value)
    return t if is_data(t) else NATIVE


def list_(items: Object = ()) -> Object:
    if is_lazy(items):
        return gathered(items)
    return list(gathered(items)) if is_conditional(items) or keys.has_conditional_keys(items) else NATIVE


def tuple_(items: Object = ()) -> Object:
    return tuple(gathered(items)) if is_lazy(items) or is_conditional(items) else NATIVE


def _settling(kind: Object) -> Callable[..., Object]:
    """A collection of what is there."""

    def run(items: Object = ()) -> Object:
        if not is_lazy(items) and not is_conditional(items):
            return NATIVE
        return kind(settled_contents(gathered(items)))

    return run


def reversed_(items: Object) -> Object:
    return iter(list(items)[::-1]) if is_conditional(items) else NATIVE


def pop_(holder: Object, position: Object = -1) -> Object:
    if is_data(position) and not is_conditional(holder):
        value = entry_item(holder, position)
        n = len(holder)
        place = np.where(position < 0, position + n, position)
        entries = list(holder)
        put_entries(holder, [select(place > k, entries[k], entries[k + 1]) for k in range(n - 1)])
        return value
    if not is_conditional(holder):
        return NATIVE
    if type(position) is not int or position not in (0, -1):
        return settled_contents(holder).pop(position)
    return entry_pop(holder, position)


def popleft_(holder: Object) -> Object:
    return entry_pop(holder, 0) if is_conditional(holder) else NATIVE


def index_(holder: Object, sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    positions: list[tuple[Object, Object]] = []
    before: Object = 0
    for condition, value in parts(holder):
        hit = both(condition, equal(compared, value, sought))
        if hit is not False:
            positions.append((hit, before))
        if hit is True:
            break
        before = before + (1 if condition is True else np.where(condition, 1, 0))
    return _first(positions, lambda: ValueError(f"{type(holder).__name__}.index(x): x not in {type(holder).__name__}"))


def _first(hits: list[tuple[Object, Object]], error: Callable[[], Exception]) -> Object:
    missing: Object = True
    for hit, _ in hits:
        missing = both(missing, negated(hit))
    exclude(missing, error)
    found = hits[-1][1]
    for hit, value in reversed(hits[:-1]):
        found = select(hit, value, found)
    return found


def count_(holder: Object, sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    total: Object = 0
    for condition, value in parts(holder):
        hit = both(condition, equal(compared, value, sought))
        total = total + (int(hit) if type(hit) is bool else np.where(hit, 1, 0))
    return total


def remove_(holder: list[Object], sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    is_over: Object = False
    made: list[Object] = []
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


def extend_(holder: Object, items: Object) -> Object:
    if not is_lazy(items):
        return NATIVE
    items.is_owned = True
    done(for_(items, lambda value: _collect(holder, value), None))
    return None


def range_(*limits: Object) -> Object:
    """The numbers up to the length of a list that is data."""
    stop, start = limits[-1], limits[0] if len(limits) > 1 else 0
    if not is_data(stop) or len(limits) > 2 or is_data(start):
        return NATIVE
    most = state.lengths.get((id(stop._recorder), stop._id))
    if most is None:
        return NATIVE
    return tuple(maybe(truth(stop > k), k) for k in range(start, most))


# Dicts


def _of_dict(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program of a method of dicts with conditional keys."""
    return lambda holder, *args: run(holder, *args) if keys.has_conditional_keys(holder) else NATIVE


def _setdefault(holder: Object, key: Object, default: Object = None) -> Object:
    if keys.has_conditional_keys(holder) or state.journals:
        return keys.setdefault(holder, key, default)
    return dict.setdefault(holder, key, default.kind()) if type(default) is keys.Empty else NATIVE


def _update(holder: Object, *given: Object, **named: Object) -> Object:
    if not keys.has_conditional_keys(holder) and not (
        given and (is_lazy(given[0]) or keys.has_conditional_keys(given[0]) or is_conditional(given[0]))
    ):
        return NATIVE
    for source in (*given, named):
        pairs = keys.items(source) if isinstance(source, dict) else gathered(source)
        done(for_(pairs, lambda pair: set_item(holder, *unpacked(pair, 2)), None))
    return None


def counter_(items: Object = ()) -> Object:
    if not (isinstance(items, (*_SEQUENCES, TrackedArray)) or is_lazy(items)) or isinstance(items, TrackedArray):
        return NATIVE
    entries = gathered(items)
    if not is_of_interest(entries):
        return collections.Counter(entries)
    made: Object = collections.Counter()

    def count(value: Object) -> None:
        lifted(lambda key: set_item(made, key, keys.item(made, key) + 1), value)

    done(for_(entries, count, None))
    return made


def _counted(holder: Object, items: Object) -> Object:
    if not (isinstance(items, _SEQUENCES) or is_lazy(items)):
        return NATIVE

    def count(value: Object) -> None:
        lifted(lambda key: set_item(holder, key, keys.item(holder, key) + 1), value)

    done(for_(gathered(items), count, None))
    return None


# Lazy ones: over what is computed already, or a generator


def reduce_(f: Object, items: Object, *start: Object) -> Object:
    entries = gathered(items)
    if any(type(v) is Maybe for v in entries):
        conditions = [*parts(entries)]
        if not start:
            is_found, total = conditions[0]
            exclude(
                negated(is_nonempty(entries)), lambda: TypeError("reduce() of empty iterable with no initial value")
            )
            for condition, value in conditions[1:]:
                new = _where_there(is_found, lambda t=total, v=value: call(f, t, v), lambda v=value: v)
                total = new if condition is True else select(condition, new, total)
                is_found = either(is_found, condition)
            return total
        total = start[0]
        for condition, value in conditions:
            total = _where_there(condition, lambda t=total, v=value: call(f, t, v), lambda t=total: t)
        return total
    return functools.reduce(lambda a, b: call(f, a, b), entries, *start)


def _ownable(items: Object) -> bool:
    """True if a generator may be taken over; conditional entries always."""
    return is_conditional(items) or keys.has_conditional_keys(items) or (is_lazy(items) and items.is_owned)


def _is_source(items: Object) -> bool:
    return isinstance(items, (*_SEQUENCES, TrackedArray, range)) or _ownable(items)


def lazily(native: Callable[[], Object], emitting: Callable[[Object], Object]) -> Generator:
    """What a lazy builtin gives: its iterator, or a function of the block that consumes it."""

    def values() -> Object:
        yield from native()

    made = Generator(values, emitting)
    made.is_owned = True
    return made


def entries_lazily(entries: list[Object]) -> Generator:
    """An iterator of a list, whose entries may be conditional."""
    return lazily(lambda: settled_contents(entries), lambda emit: for_(entries, emit, None))


def next_(items: Object, *default: Object) -> Object:
    if not _ownable(items) or is_conditional(items):
        return NATIVE
    completion = for_(items, Return, None)
    if not default:
        exclude(where_ends(completion, lambda end: end is None), StopIteration)
    return returned(
        replaced(completion, lambda end: Return(default[0] if default else None) if end is None else end)
        if default
        else completion
    )


def enumerate_(items: Object, start: Object = 0) -> Object:
    if not _ownable(items):
        return NATIVE

    def run(emit: Object) -> Object:
        number = start

        def each(value: Object) -> Object:
            nonlocal number
            pair = number, value
            number = number + 1
            return emit(pair)

        return for_(items, each, None)

    return lazily(lambda: enumerate(iterated(settled_contents(items)), start), run)


def map_(f: Object, items: Object) -> Object:
    if f is None or not _ownable(items):
        return NATIVE
    f = function(f)
    return lazily(
        lambda: map(f, iterated(settled_contents(items))), lambda emit: for_(items, lambda value: emit(f(value)), None)
    )


def starmap_(f: Object, items: Object) -> Object:
    if not _ownable(items):
        return NATIVE
    f = function(f)
    native = lambda: itertools.starmap(f, iterated(settled_contents(items)))  # noqa: E731 -- its name is its use
    return lazily(native, lambda emit: for_(items, lambda value: emit(f(*unpacked(value, None))), None))


def filter_(f: Object, items: Object) -> Object:
    return _filtered(f, items, True)


def filterfalse_(f: Object, items: Object) -> Object:
    return _filtered(f, items, False)


def _filtered(f: Object, items: Object, wanted: bool) -> Object:
    if not _is_source(items):
        return NATIVE
    holds = truth if f is None or f is bool else lambda value: truth(call(f, value))

    def each(value: Object, emit: Object) -> Object:
        t = holds(value)
        return if_(t if wanted else negated(t), lambda: emit(value), None)

    native = lambda: (value for value in iterated(settled_contents(items)) if bool(holds(value)) == wanted)  # noqa: E731 -- its name is its use
    return lazily(native, lambda emit: for_(items, lambda value: each(value, emit), None))


def takewhile_(f: Object, items: Object) -> Object:
    if not _is_source(items):
        return NATIVE
    f = function(f)
    native = lambda: itertools.takewhile(lambda value: bool(truth(f(value))), iterated(settled_contents(items)))  # noqa: E731 -- its name is its use
    return lazily(
        native, lambda emit: for_(items, lambda value: if_(truth(f(value)), lambda: emit(value), lambda: BREAK), None)
    )


def dropwhile_(f: Object, items: Object) -> Object:
    if not _is_source(items):
        return NATIVE
    f = function(f)

    def run(emit: Object) -> Object:
        has_started: Object = False

        def each(value: Object) -> Object:
            nonlocal has_started
            has_started = if_value(has_started, lambda: True, lambda: negated(truth(f(value))))
            return if_(has_started, lambda: emit(value), None)

        return for_(items, each, None)

    native = lambda: itertools.dropwhile(lambda value: bool(truth(f(value))), iterated(settled_contents(items)))  # noqa: E731 -- its name is its use
    return lazily(native, run)


def islice_(items: Object, *limits: Object) -> Object:
    if not _ownable(items):
        return NATIVE
    limit = slice(*limits)
    start, stop, step = limit.start or 0, limit.stop, limit.step or 1
    if not all(type(end) is int and end >= 0 for end in (start, step)) or not (
        stop is None or (type(stop) is int and stop >= 0)
    ):
        return NATIVE

    def run(emit: Object) -> Object:
        number: Object = 0

        def each(value: Object) -> Object:
            nonlocal number
            position = number
            number = number + 1
            is_inside = (
                truth(position >= start)
                if step == 1
                else both(truth(position >= start), truth((position - start) % step == 0))
            )
            inside = lambda: if_(is_inside, lambda: emit(value), None)  # noqa: E731 -- its name is its use
            if stop is None:
                return inside()
            # Python asks for no entry after the last one.
            return if_(truth(position < stop - 1), inside, lambda: sequence(inside, lambda: BREAK))

        return None if stop == 0 else for_(items, each, None)

    return lazily(lambda: itertools.islice(iterated(settled_contents(items)), *limits), run)


def chain_(*items: Object) -> Object:
    if not any(map(_ownable, items)):
        return NATIVE
    run = lambda emit: sequence(*[lambda i=i: for_(i, emit, None) for i in items])  # noqa: E731 -- its name is its use
    return lazily(lambda: itertools.chain(*[iterated(settled_contents(i)) for i in items]), run)


def chain_of_(items: Object) -> Object:
    if not _ownable(items) and not (isinstance(items, _SEQUENCES) and any(map(_ownable, items))):
        return NATIVE
    native = lambda: itertools.chain.from_iterable(iterated(settled_contents(items)))  # noqa: E731 -- its name is its use
    return lazily(native, lambda emit: for_(items, lambda inner: for_(inner, emit, None), None))


def accumulate_(items: Object, func: Object = None, *, initial: Object = None) -> Object:
    if not _ownable(items) and not (
        isinstance(items, (*_SEQUENCES, TrackedArray)) and (func is not None or is_of_interest(items))
    ):
        return NATIVE
    add = added if func is None else function(func)

    def run(emit: Object) -> Object:
        is_found: Object = initial is not None
        total = initial

        def each(value: Object) -> Object:
            nonlocal is_found, total
            if is_found is False:
                total = value
            else:
                total = if_value(is_found, lambda: add(total, value), lambda: value)
            is_found = True
            return emit(total)

        rest = lambda: for_(items, each, None)  # noqa: E731 -- its name is its use
        return rest() if initial is None else sequence(lambda: emit(initial), rest)

    return lazily(lambda: itertools.accumulate(iterated(settled_contents(items)), add, initial=initial), run)


def pairwise_(items: Object) -> Object:
    if not _ownable(items):
        return NATIVE

    def run(emit: Object) -> Object:
        is_found: Object = False
        before: Object = None

        def each(value: Object) -> Object:
            nonlocal is_found, before
            pair, had_one = (before, value), is_found
            is_found, before = True, value
            return if_(had_one, lambda: emit(pair), None)

        return for_(items, each, None)

    return lazily(lambda: itertools.pairwise(iterated(settled_contents(items))), run)


def combinations_(items: Object, count: Object) -> Object:
    return _combined(
        items,
        lambda positions: itertools.combinations(positions, count),
        lambda given: itertools.combinations(given, count),
    )


def permutations_(items: Object, count: Object = None) -> Object:
    return _combined(
        items,
        lambda positions: itertools.permutations(positions, count),
        lambda given: itertools.permutations(given, count),
    )


def _combined(items: Object, choose: Callable[[Object], Object], native: Callable[[Object], Object]) -> Object:
    if not (is_conditional(items) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    if not is_conditional(entries):
        return native(entries)
    there = list(parts(entries))
    if choose is None or len(there) > _MOST_COMBINED:
        return native(settled_contents(entries))
    made: list[Object] = []
    for chosen in choose(range(len(there))):
        condition: Object = True
        for k in chosen:
            condition = both(condition, there[k][0])
        made.append(maybe(condition, tuple(there[k][1] for k in chosen)))
    return entries_lazily(made)


_MOST_COMBINED = 12


def groupby_(items: Object, key: Object = None) -> Object:
    if not (isinstance(items, (*_SEQUENCES, TrackedArray)) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    if is_conditional(entries) or not (is_of_interest(entries) or _is_callable_of_users(key)):
        native = settled_contents(entries)
        return itertools.groupby(native, key if key is None else function(key))

    def run(emit: Object) -> Object:
        group: list[Object] = []
        current: Object = None

        def flush(k: Object) -> Object:
            made = list(group)
            put_entries(group, [])
            return emit((k, entries_lazily(made)))

        def each(value: Object) -> Object:
            nonlocal current
            k = value if key is None else call(key, value)
            before, current = current, k
            completion = if_(negated(equal(compared, before, k)), lambda: flush(before), None) if group else None
            _collect(group, value)
            return completion

        return sequence(lambda: for_(entries, each, None), lambda: flush(current) if group else None)

    return lazily(lambda: itertools.groupby(entries, key if key is None else function(key)), run)


def zip_(*items: Object, strict: Object = False) -> Object:
    if (
        strict
        or not any(map(is_conditional, items))
        or not all(isinstance(i, (*_SEQUENCES, TrackedArray, range)) for i in items)
    ):
        return NATIVE
    return entries_lazily(zipped([gathered(i) for i in items]))


# Heaps and sorted lists


def _on_heap(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program for lists whose length is known, as one for all lists of tracked entries."""

    def program(heap: Object, *values: Object) -> Object:
        if (
            type(heap) is not list
            or not (is_of_interest(heap) or any(map(is_of_interest, values)))
            or len(heap) > MOST_EXCHANGED
        ):
            return NATIVE
        return by_length(heap, lambda: run(heap, *values)) if is_conditional(heap) else run(heap, *values)

    return program


def _rise(heap: list[Object], position: int, top: int) -> None:
    """Move an entry towards the top as long as it is less than the one above it."""
    if position <= top:
        return

    def exchange() -> None:
        above = (position - 1) >> 1
        _swap(heap, position, above)
        _rise(heap, above, top)

    done(if_(truth(compared("lt", heap[position], heap[(position - 1) >> 1])), exchange, None))


def _sink(heap: list[Object], position: int, top: int) -> None:
    """Move an entry down along the lesser ones to the end, and up again to its place."""
    child = 2 * position + 1
    if child >= len(heap):
        _rise(heap, position, top)
        return

    def to(child: int) -> None:
        _swap(heap, position, child)
        _sink(heap, child, top)

    if child + 1 == len(heap):
        to(child)
    else:
        done(if_(truth(compared("lt", heap[child], heap[child + 1])), lambda: to(child), lambda: to(child + 1)))


def _swap(heap: list[Object], a: int, b: int) -> None:
    note_contents(heap)
    heap[a], heap[b] = heap[b], heap[a]


def _heappush(heap: list[Object], value: Object) -> None:
    _collect(heap, value)
    _rise(heap, len(heap) - 1, 0)


def _heappop(heap: list[Object]) -> Object:
    if not heap:
        raise IndexError("index out of range")
    note_contents(heap)
    last = heap.pop()
    return _heapreplace(heap, last) if heap else last


def _heapreplace(heap: list[Object], value: Object) -> Object:
    if not heap:
        raise IndexError("index out of range")
    note_contents(heap)
    least, heap[0] = heap[0], value
    _sink(heap, 0, 0)
    return least


def _heappushpop(heap: list[Object], value: Object) -> Object:
    if not heap:
        return value
    return if_value(truth(compared("lt", heap[0], value)), lambda: _heapreplace(heap, value), lambda: value)


def _heapify(heap: list[Object]) -> None:
    for position in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, position, position)


def nlargest_(count: Object, items: Object, key: Object = None) -> Object:
    return _extremes(count, items, key, True)


def nsmallest_(count: Object, items: Object, key: Object = None) -> Object:
    return _extremes(count, items, key, False)


def _extremes(count: Object, items: Object, key: Object, reverse: bool) -> Object:
    if type(count) is not int or not (isinstance(items, (*_SEQUENCES, TrackedArray)) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    found = sorted_(entries, key=key, reverse=reverse)
    return entry_item(found, slice(None, max(count, 0))) if is_conditional(found) else found[: max(count, 0)]


# Searches of longer lists are guards.
_MOST_SEARCHED = 128


def bisect_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _bisected(a, x, lo, hi, key, lambda value: negated(truth(compared("lt", x, value))))


def bisect_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _bisected(a, x, lo, hi, key, lambda value: truth(compared("lt", value, x)))


def _bisected(a: Object, x: Object, lo: Object, hi: Object, key: Object, is_before: Callable[[Object], Object]) -> Object:
    if not isinstance(a, (*_SEQUENCES, TrackedArray, np.ndarray)) or not (is_of_interest(x) or is_of_interest(a)):
        return NATIVE
    if type(lo) is not int or lo < 0 or not (hi is None or type(hi) is int) or len(a) > _MOST_SEARCHED:
        return NATIVE

    def between(low: int, high: int) -> Object:
        if low >= high:
            return low
        middle = (low + high) // 2
        value = a[middle] if key is None else call(key, a[middle])
        return if_value(is_before(value), lambda: between(middle + 1, high), lambda: between(low, middle))

    run = lambda: between(lo, len(a) if hi is None else hi)  # noqa: E731 -- its name is its use
    return by_length(a, run) if is_conditional(a) else run()


def insort_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _insorted(bisect_right_, a, x, lo, hi, key)


def insort_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None) -> Object:
    return _insorted(bisect_left_, a, x, lo, hi, key)


def _insorted(search: Callable[..., Object], a: Object, x: Object, lo: Object, hi: Object, key: Object) -> Object:
    if type(a) is not list:
        return NATIVE

    def run() -> Object:
        position = search(a, x if key is None else call(key, x), lo, hi, key=key)
        if position is NATIVE:
            return NATIVE
        _insert(a, position, x)
        return None

    return by_length(a, run) if is_conditional(a) else run()


def insert_(holder: list[Object], position: Object, value: Object) -> Object:
    if is_conditional(holder) and not (type(position) is int and position == 0):
        return by_length(holder, lambda: _insert(holder, position, value))
    if not is_data(position):
        return NATIVE
    _insert(holder, position, value)
    return None


def _insert(holder: list[Object], position: Object, value: Object) -> None:
    note_contents(holder)
    if type(position) is int:
        holder.insert(position, value)
        return
    n, entries = len(holder), list(holder)
    place = np.where(position < 0, position + n, position)
    made = [select(place <= 0, value, entries[0])] if entries else [value]
    for k in range(1, n):
        made.append(select(place < k, entries[k - 1], select(place == k, value, entries[k])))
    if entries:
        made.append(select(place < n, entries[-1], value))
    # What is at a position below the place stays; above, it moves on by one.
    put_entries(holder, made)


# Numbers


def divmod_(a: Object, b: Object) -> Object:
    return (a // b, a % b) if is_data(a) or is_data(b) else NATIVE


def pow_(a: Object, b: Object) -> Object:
    return a**b if is_data(a) or is_data(b) else NATIVE


def int_(value: Object = 0) -> Object:
    return _rounded(value, np.trunc)


def floor_(value: Object) -> Object:
    return _rounded(value, np.floor)


def ceil_(value: Object) -> Object:
    return _rounded(value, np.ceil)


def round_(value: Object, digits: Object = None) -> Object:
    return NATIVE if digits is not None else _rounded(value, np.rint)


# Greater numbers have no place in an int64.
_MOST_INT = 2.0**62


def _rounded(value: Object, to_whole: Callable[[Object], Object]) -> Object:
    """A number as a tracked int."""
    if not is_data(value) or value.type.size != 1:
        return NATIVE
    number = value.reshape(()) if value.type.shape else value
    if number.type.dtype.kind == "b":
        return np.where(number, 1, 0)
    if number.type.dtype.kind == "i":
        return number
    exclude(negated(truth(np.abs(number) < _MOST_INT)), lambda: _no_int(number._value))
    return to_whole(number).astype(np.int64)


def _no_int(value: Object) -> Exception:
    if np.isnan(value):
        return ValueError("cannot convert float NaN to integer")
    return OverflowError(
        "cannot convert float infinity to integer" if np.isinf(value) else "a tracked int would be greater than 2**62"
    )


def float_(value: Object = 0.0) -> Object:
    if not is_data(value) or value.type.size != 1:
        return NATIVE
    number = value.reshape(()) if value.type.shape else value
    if number.type.dtype.kind == "b":
        return np.where(number, 1.0, 0.0)
    return number if number.type.dtype == np.float64 else number.astype(np.float64)


# Statistics


def _statistic(run: Callable[[list[Object]], Object]) -> Callable[..., Object]:
    """A function of the entries, where some are tracked."""

    def program(items: Object) -> Object:
        if not (isinstance(items, (*_SEQUENCES, TrackedArray)) or is_lazy(items)):
            return NATIVE
        entries = list(gathered(items))
        if not is_of_interest(entries):
            return NATIVE if entries is items else Unchanged(entries)
        return by_length(entries, lambda: run(entries)) if is_conditional(entries) else run(entries)

    return program


class Unchanged(NamedTuple):
    """Entries for the builtin, which the program has taken out of a generator."""

    entries: list[Object]


def _mean(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("mean requires at least one data point")
    return sum_(entries) / len(entries)


def _median(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    ordered = sorted_(entries)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _median_low(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    return sorted_(entries)[(len(entries) - 1) // 2]


def _median_high(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    return sorted_(entries)[len(entries) // 2]


def _variance(entries: list[Object], name: str, least: int) -> Object:
    if len(entries) < least:
        raise statistics.StatisticsError(
            f"{name} requires at least {'two data points' if least == 2 else 'one data point'}"
        )
    middle = _mean(entries)
    return builtins.sum((v - middle) * (v - middle) for v in entries) / (len(entries) - least + 1)


# The table

_ANY = 1 << 20

PROGRAMS: dict[Object, Program] = {
    builtins.sum: Program(sum_, 1, 2, ("start",)),
    math.prod: Program(prod_, 1, 1, ("start",)),
    math.fsum: Program(fsum_, 1, 1),
    builtins.any: Program(any_, 1, 1),
    builtins.all: Program(all_, 1, 1),
    builtins.max: Program(max_, 1, _ANY, ("key", "default")),
    builtins.min: Program(min_, 1, _ANY, ("key", "default")),
    builtins.sorted: Program(sorted_, 1, 1, ("key", "reverse")),
    builtins.len: Program(len_, 1, 1),
    builtins.range: Program(range_, 1, 3),
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
    builtins.next: Program(next_, 1, 2),
    builtins.int: Program(int_, 1, 1),
    builtins.float: Program(float_, 1, 1),
    builtins.round: Program(round_, 1, 2, ("ndigits",)),
    math.floor: Program(floor_, 1, 1),
    math.ceil: Program(ceil_, 1, 1),
    math.trunc: Program(int_, 1, 1),
    itertools.starmap: Program(starmap_, 2, 2),
    itertools.islice: Program(islice_, 2, 4),
    itertools.chain: Program(chain_, 1, _ANY),
    itertools.chain.from_iterable: Program(chain_of_, 1, 1),
    itertools.pairwise: Program(pairwise_, 1, 1),
    itertools.combinations: Program(combinations_, 2, 2),
    itertools.permutations: Program(permutations_, 1, 2),
    itertools.groupby: Program(groupby_, 1, 2, ("key",)),
    heapq.heappush: Program(_on_heap(_heappush), 2, 2),
    heapq.heappop: Program(_on_heap(_heappop), 1, 1),
    heapq.heapreplace: Program(_on_heap(_heapreplace), 2, 2),
    heapq.heappushpop: Program(_on_heap(_heappushpop), 2, 2),
    heapq.heapify: Program(_on_heap(_heapify), 1, 1),
    heapq.nlargest: Program(nlargest_, 2, 3, ("key",)),
    heapq.nsmallest: Program(nsmallest_, 2, 3, ("key",)),
    bisect.bisect_left: Program(bisect_left_, 2, 4, ("lo", "hi", "key")),
    bisect.bisect_right: Program(bisect_right_, 2, 4, ("lo", "hi", "key")),
    bisect.insort_left: Program(insort_left_, 2, 4, ("lo", "hi", "key")),
    bisect.insort_right: Program(insort_right_, 2, 4, ("lo", "hi", "key")),
    collections.Counter: Program(counter_, 1, 1),
    statistics.mean: Program(_statistic(_mean), 1, 1),
    statistics.fmean: Program(_statistic(_mean), 1, 1),
    statistics.median: Program(_statistic(_median), 1, 1),
    statistics.median_low: Program(_statistic(_median_low), 1, 1),
    statistics.median_high: Program(_statistic(_median_high), 1, 1),
    statistics.variance: Program(_statistic(lambda e: _variance(e, "variance", 2)), 1, 1),
    statistics.pvariance: Program(_statistic(lambda e: _variance(e, "pvariance", 1)), 1, 1),
    statistics.stdev: Program(_statistic(lambda e: np.sqrt(_variance(e, "stdev", 2))), 1, 1),
    statistics.pstdev: Program(_statistic(lambda e: np.sqrt(_variance(e, "pstdev", 1))), 1, 1),
    itertools.accumulate: Program(accumulate_, 1, 2, ("func", "initial")),
}
METHODS: dict[tuple[type, str], Program] = {
    **{
        (kind, name): Program(run, least, most)
        for kind in (dict, collections.defaultdict, collections.Counter, collections.OrderedDict)
        for name, run, least, most in (
            ("get", _of_dict(keys.get), 1, 2),
            ("pop", _of_dict(keys.pop), 1, 2),
            ("setdefault", _setdefault, 1, 2),
            ("items", _of_dict(keys.items), 0, 0),
            ("keys", _of_dict(lambda holder: keys.parts_of(keys.items(holder), 0)), 0, 0),
            ("values", _of_dict(lambda holder: keys.parts_of(keys.items(holder), 1)), 0, 0),
            ("update", _counted if kind is collections.Counter else _update, 1, 1),
        )
    },
    (list, "sort"): Program(sort_, 0, 0, ("key", "reverse")),
    (list, "remove"): Program(remove_, 1, 1),
    (list, "insert"): Program(insert_, 2, 2),
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

__all__ = ["INDIFFERENT", "METHODS", "NATIVE", "PROGRAMS", "Unchanged"]
