"""Lists, deques, tuples and dicts: their makers and methods."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable

from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..blocks.blocks import done
from ..blocks.loops import for_
from ..calls.callables import call
from ..calls.truth import truth
from ..containers import keys, sets
from ..containers.data_keys import is_data_key
from ..containers.entries import is_conditional, length, parts, pop as entry_pop, put as put_entries, settled_contents
from ..containers.items import include, set_item, unpacked
from ..containers.positions import entry_at, rotate, take
from ..containers.ranges import range_of
from ..containers.sequences import equal
from ..containers.views import View
from ..operations.dunder import compared
from ..state.fork import exclude, select
from ..state.joins import maybe
from ..state.numbers.python_numbers import one_if, python_bool
from ..state.places import note_contents
from ..state.values import Lazy, Maybe, both, either, is_data, is_nonempty, negated, state
from ..users_code import users_method
from .arguments import (
    NATIVE,
    SEQUENCES,
    collect,
    gathered,
    in_any_order,
    is_conditional_collection,
    is_lazy,
    is_of_interest,
)
from .sorting import sorted_


def len_(holder: Object) -> Object:
    if is_conditional(holder):
        return length(holder)
    if keys.has_conditional_keys(holder):
        return keys.length(holder)
    if isinstance(holder, Lazy):
        return holder.length()
    if sets.has_conditional_members(holder):
        return sets.length(holder)
    method = users_method(type(holder), "__len__")
    return NATIVE if method is None else call(method, holder)


def bool_(value: Object = False) -> Object:
    return python_bool(truth(value))


def list_(items: Object = ()) -> Object:
    if is_lazy(items) or is_conditional(items) or is_conditional_collection(items):
        return list(gathered(items))
    return NATIVE


def tuple_(items: Object = ()) -> Object:
    return tuple(gathered(items)) if is_lazy(items) or is_conditional(items) or is_conditional_collection(items) else NATIVE


def set_(items: Object = ()) -> Object:
    if isinstance(items, dict) and not keys.has_conditional_keys(items):
        return NATIVE
    entries = in_any_order(items)
    if not any(type(value) is Maybe or is_data_key(value) for value in entries):
        return set(entries)
    made: set[Object] = set()
    done(for_(entries, lambda value: include(made, value), None))
    return made


def of_set(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program of a method of sets with conditional members."""
    return lambda holder, member: run(holder, member) if sets.is_by_data(holder, member) else NATIVE


def update_set_(holder: Object, items: Object) -> Object:
    entries = in_any_order(items)
    if not sets.has_conditional_members(holder) and not any(type(value) is Maybe or is_data_key(value) for value in entries):
        return NATIVE if not is_lazy(items) else holder.update(entries)
    done(for_(entries, lambda value: include(holder, value), None))
    return None


def dict_(items: Object = ()) -> Object:
    if isinstance(items, dict) or not (is_lazy(items) or isinstance(items, SEQUENCES)):
        return NATIVE
    entries = gathered(items)
    if not any(type(pair) is Maybe or is_data_key(pair) or (type(pair) is list and is_data_key(tuple(pair))) for pair in entries):
        return dict(entries)
    made: dict[Object, Object] = {}
    done(for_(entries, lambda pair: set_item(made, *unpacked(pair, 2)), None))
    return made


def fromkeys_(items: Object, value: Object = None) -> Object:
    if not is_lazy(items) and not is_conditional(items):
        return NATIVE
    made: dict[Object, Object] = {}
    done(for_(gathered(items), lambda key: set_item(made, key, value), None))
    return made


def rotate_(holder: Object, steps: Object = 1) -> Object:
    if not is_data(steps) or is_conditional(holder) or not holder:
        return NATIVE
    return rotate(holder, steps)


def settling(kind: Object) -> Callable[..., Object]:
    """A collection of what is there."""

    def run(items: Object = ()) -> Object:
        if not is_lazy(items) and not is_conditional(items) and not is_conditional_collection(items):
            return NATIVE
        return kind(settled_contents(gathered(items)))

    return run


def reversed_(items: Object) -> Object:
    if isinstance(items, Lazy):
        items = items.entries()
    return iter(list(items)[::-1]) if is_conditional(items) else NATIVE


def pop_(holder: Object, position: Object = -1) -> Object:
    if not is_conditional(holder) and not is_data(position):
        return NATIVE
    if type(position) is int and position in (0, -1):
        return entry_pop(holder, position)
    exclude(negated(is_nonempty(holder)), lambda: IndexError("pop from empty list"))
    return take(holder, position, "pop index out of range")


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
        before = before + one_if(condition)
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
        total = total + one_if(hit)
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
    is_limited = getattr(holder, "maxlen", None) is not None
    done(for_(items, lambda value: call(holder.append, value) if is_limited else collect(holder, value), None))
    return None


def range_(*limits: Object) -> Object:
    if not any(map(is_data, limits)):
        return NATIVE
    start, stop = (0, limits[0]) if len(limits) == 1 else limits[:2]
    found = range_of(start, stop, limits[2] if len(limits) > 2 else 1)
    return NATIVE if found is None else found


# Dicts


def of_dict(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program of a method of dicts with conditional keys."""
    return lambda holder, *args: run(holder, *args) if keys.is_by_data(holder, args[0] if args else None) else NATIVE


def setdefault_(holder: Object, key: Object, default: Object = None) -> Object:
    if keys.is_by_data(holder, key) or state.journals:
        return keys.setdefault(holder, key, default)
    note_contents(holder)
    return dict.setdefault(holder, key, default.kind()) if type(default) is keys.Empty else NATIVE


def update_(holder: Object, *given: Object, **named: Object) -> Object:
    if not keys.has_conditional_keys(holder) and not (
        given and (is_lazy(given[0]) or keys.has_conditional_keys(given[0]) or is_conditional(given[0]))
    ):
        return NATIVE
    for source in (*given, named):
        pairs = View(source, None) if isinstance(source, dict) else gathered(source)
        done(for_(pairs, lambda pair: set_item(holder, *unpacked(pair, 2)), None))
    return None


def counter_(items: Object = ()) -> Object:
    if not (isinstance(items, (*SEQUENCES, TrackedArray)) or is_lazy(items)) or isinstance(items, TrackedArray):
        return NATIVE
    entries = gathered(items)
    if not is_of_interest(entries):
        return collections.Counter(entries)
    made: Object = collections.Counter()

    counted_(made, entries)
    return made


def most_common_(holder: Object, n: Object = None) -> Object:
    if not keys.has_conditional_keys(holder) and not any(map(is_of_interest, holder.values())):
        return NATIVE
    found = sorted_(View(holder, None), key=operator.itemgetter(1), reverse=True)
    if n is None:
        return found
    return entry_at(found, slice(None, n)) if is_data(n) or is_conditional(found) else found[:n]


def counted_(holder: Object, items: Object) -> Object:
    if not (isinstance(items, SEQUENCES) or is_lazy(items)) or not isinstance(holder, collections.Counter):
        return NATIVE

    def count(value: Object) -> None:
        set_item(holder, value, keys.item(holder, value) + 1)

    done(for_(gathered(items), count, None))
    return None
