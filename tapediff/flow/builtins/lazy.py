"""Lazy builtins: over what is computed already, or a generator."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import if_, sequence
from ..blocks.loops import for_
from ..calls.callables import call, function
from ..calls.truth import truth
from ..containers.cursors import Cursor
from ..containers.entries import is_conditional, parts, put as put_entries, settled_contents
from ..containers.generators import Generator
from ..containers.items import iterated, unpacked
from ..containers.sequences import equal, zipped
from ..operations.dunder import added, compared
from ..operations.tests_of_values import if_value
from ..state.completions import BREAK
from ..state.fork import exclude, select
from ..state.joins import maybe
from ..state.values import Lazy, Maybe, both, either, is_nonempty, negated, state
from .arguments import (
    NATIVE,
    SEQUENCES,
    collect,
    gathered,
    is_callable_of_users,
    is_conditional_collection,
    is_lazy,
    is_of_interest,
)
from .reductions import where_there


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
                new = where_there(is_found, lambda t=total, v=value: call(f, t, v), lambda v=value: v)
                total = new if condition is True else select(condition, new, total)
                is_found = either(is_found, condition)
            return total
        total = start[0]
        for condition, value in conditions:
            total = where_there(condition, lambda t=total, v=value: call(f, t, v), lambda t=total: t)
        return total
    return functools.reduce(lambda a, b: call(f, a, b), entries, *start)


def is_ownable(items: Object) -> bool:
    """True if a generator may be taken over; conditional entries always."""
    return is_conditional(items) or is_conditional_collection(items) or (is_lazy(items) and items.is_owned)


def _is_source(items: Object) -> bool:
    return isinstance(items, (*SEQUENCES, TrackedArray, range)) or is_ownable(items)


def lazily(native: Callable[[], Object], emitting: Callable[[Object], Object]) -> Generator:
    """The result of a lazy builtin: its iterator, or a function of the block that consumes it."""

    def values() -> Object:
        yield from native()

    return Generator(values, emitting)


def entries_lazily(entries: list[Object]) -> Generator:
    """An iterator of a list, whose entries may be conditional."""
    return lazily(lambda: settled_contents(entries), lambda emit: for_(entries, emit, None))


def enumerate_(items: Object, start: Object = 0) -> Object:
    if not is_ownable(items):
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
    if f is None or not state.is_recording or not _is_source(items):
        return NATIVE
    f = function(f)
    return lazily(
        lambda: map(f, iterated(settled_contents(items))), lambda emit: for_(items, lambda value: emit(f(value)), None)
    )


def starmap_(f: Object, items: Object) -> Object:
    if not is_ownable(items):
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
    if not is_ownable(items):
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
    if not any(map(is_ownable, items)):
        return NATIVE
    run = lambda emit: sequence(*[lambda i=i: for_(i, emit, None) for i in items])  # noqa: E731 -- its name is its use
    return lazily(lambda: itertools.chain(*[iterated(settled_contents(i)) for i in items]), run)


def chain_of_(items: Object) -> Object:
    if not is_ownable(items) and not (isinstance(items, SEQUENCES) and any(map(is_ownable, items))):
        return NATIVE
    native = lambda: itertools.chain.from_iterable(iterated(settled_contents(items)))  # noqa: E731 -- its name is its use
    return lazily(native, lambda emit: for_(items, lambda inner: for_(inner, emit, None), None))


def accumulate_(items: Object, func: Object = None, *, initial: Object = None) -> Object:
    if not is_ownable(items) and not (
        isinstance(items, (*SEQUENCES, TrackedArray)) and (func is not None or is_of_interest(items))
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
    if not is_ownable(items):
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
    if not (isinstance(items, (*SEQUENCES, TrackedArray)) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    if is_conditional(entries) or not (is_of_interest(entries) or is_callable_of_users(key)):
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
            collect(group, value)
            return completion

        return sequence(lambda: for_(entries, each, None), lambda: flush(current) if group else None)

    return lazily(lambda: itertools.groupby(entries, key if key is None else function(key)), run)


def zip_(*items: Object, strict: Object = False) -> Object:
    if (
        strict
        or not any(is_conditional(i) or isinstance(i, Lazy) for i in items)
        or any(type(i) is Cursor for i in items)
        or not all(isinstance(i, (*SEQUENCES, TrackedArray, range, Lazy)) for i in items)
    ):
        return NATIVE
    return entries_lazily(zipped([gathered(i) for i in items]))
