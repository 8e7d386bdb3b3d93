"""Constructors and methods of lists, deques, tuples and dicts."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable

from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..containers import keys
from ..containers.compressed import is_of_data_length
from ..containers.data_keys import is_data_key
from ..containers.entries import (
    first_hit,
    is_conditional,
    length,
    parts,
    put as put_entries,
    ranked,
    settled_contents,
    settled_deeply,
    without_first,
)
from ..containers.generators import Generator
from ..containers.items import delete_by_data, set_by_data
from ..containers.lengths import pop as entry_pop
from ..containers.positions import entry_at, is_position, rotate, take
from ..containers.ranges import Counting, range_of
from ..containers.views import View
from ..operations.dunder import compared
from ..operations.sequences import equal
from ..state.fork import exclude
from ..state.numbers.python_numbers import one_more, python_bool
from ..state.places import note_contents
from ..state.recursions import is_of_sizes
from ..state.values import (
    Choice,
    Lazy,
    Maybe,
    both,
    entries_of,
    has_maybes,
    is_data,
    is_nonempty,
    negated,
    parted,
    state,
)
from ..users_code import users_method
from .arguments import NATIVE, SEQUENCES, gathered, in_any_order, is_lazy, is_of_interest, is_special


def len_(holder: Object) -> Object:
    if isinstance(holder, Lazy):
        return holder.length()
    if (method := users_method(type(holder), "__len__")) is not None:
        return call(method, holder)
    return base_len_(holder) if not is_lazy(holder) else NATIVE


def base_len_(holder: Object) -> Object:
    return length(holder) if is_special(holder) else NATIVE


def bool_(value: Object = False, /) -> Object:
    return python_bool(truth(value))


def collecting(kind: Object) -> Callable[..., Object]:
    """A constructor; lists, tuples and deques keep conditional entries."""

    def run(items: Object = (), /) -> Object:
        if not is_special(items):
            return NATIVE
        entries = gathered(items)
        return kind(entries if kind in (list, tuple, deque) else settled_contents(entries))

    return run


def join_(separator: str, items: Object, /) -> Object:
    if not (isinstance(items, SEQUENCES) or is_lazy(items)):
        return NATIVE
    entries = gathered(items)
    texts = [text for _, text in map(parted, entries)]
    are_texts = all(isinstance(option, str) for text in texts for option in (text.options if type(text) is Choice else (text,)))
    if are_texts and (is_conditional(entries) or Choice in map(type, texts)):
        return call(in_python.join_, separator, entries)
    return separator.join(settled_deeply(entries))


def set_(items: Object = (), /) -> Object:
    if isinstance(items, dict) and not keys.has_conditional_keys(items):
        return NATIVE
    entries = in_any_order(items)
    return call(in_python.set_, entries) if _has_data_keys(entries) else set(entries)


def _has_data_keys(entries: Object) -> bool:
    return any(type(value) is Maybe or is_data_key(tuple(value) if type(value) is list else value) for value in entries)


def item_(holder: Object, key: Object) -> Object:
    return entry_at(holder, key) if is_conditional(holder) or is_position(key) else NATIVE


def set_item_(holder: Object, key: Object, value: Object) -> Object:
    return None if set_by_data(holder, key, value) else NATIVE


def delete_item_(holder: Object, key: Object) -> Object:
    return None if delete_by_data(holder, key) else NATIVE


def of_set(run: Callable[..., Object]) -> Callable[..., Object]:
    """The program of a set method, for conditional members."""
    return functools.wraps(run)(lambda holder, member: run(holder, member) if keys.is_by_data(holder, member) else NATIVE)


def update_set_(holder: Object, items: Object) -> Object:
    entries = in_any_order(items)
    if not has_maybes(holder) and not _has_data_keys(entries):
        return NATIVE if not is_lazy(items) else holder.update(entries)
    return call(in_python.update_set_, holder, entries)


def dict_(items: Object = (), /) -> Object:
    if isinstance(items, dict) or not (is_lazy(items) or isinstance(items, SEQUENCES)):
        return NATIVE
    entries = gathered(items)
    return call(in_python.dict_, entries) if _has_data_keys(entries) else dict(entries)


def rotate_(holder: Object, steps: Object = 1, /) -> Object:
    if not is_data(steps) or is_conditional(holder) or not holder:
        return NATIVE
    return rotate(holder, steps)


def reversed_(items: Object) -> Object:
    if keys.has_conditional_keys(items):
        items = View(items, 0)
    if type(items) is Counting:
        if items.step == 1 and is_of_sizes():
            return call(in_python.iter_, Counting(items.stop - 1, items.start - 1, -1))
    elif is_of_data_length(items) and items.kept[-items.ndim].length is not None:
        return call(in_python.iter_, items[::-1])
    if isinstance(items, Lazy):
        items = items.entries()
    if (method := users_method(type(items), "__reversed__")) is not None:
        return call(method, items)
    return call(in_python.iter_, list(entries_of(items))[::-1]) if is_conditional(items) else NATIVE


def pop_(holder: Object, position: Object = -1, /) -> Object:
    if not is_conditional(holder) and not is_data(position):
        return NATIVE
    if type(position) is int and position in (0, -1):
        return entry_pop(holder, position)
    exclude(negated(is_nonempty(holder)), lambda: IndexError("pop from empty list"))
    return take(holder, position, "pop index out of range")


def index_(holder: Object, sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    hits: list[tuple[Object, Object]] = []
    for condition, place, value in ranked(holder):
        hits.append((both(condition, equal(compared, value, sought)), place))
        if hits[-1][0] is True:
            break
    return first_hit(hits, lambda: ValueError(f"{type(holder).__name__}.index(x): x not in {type(holder).__name__}"))


def count_(holder: Object, sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    total: Object = 0
    for condition, value in parts(holder):
        hit = both(condition, equal(compared, value, sought))
        total = one_more(total, hit)
    return total


def remove_(holder: list[Object], sought: Object) -> Object:
    if not is_of_interest(holder) and not is_of_interest(sought):
        return NATIVE
    made, is_there = without_first(parts(holder), lambda value: equal(compared, value, sought))
    exclude(negated(is_there), lambda: ValueError("list.remove(x): x not in list"))
    put_entries(holder, made)
    return None


def extend_(holder: Object, items: Object) -> Object:
    if not is_lazy(items):
        return NATIVE
    if type(items) is Generator:
        items.is_owned = True
    return call(in_python.extend_, holder, items)


def range_(*limits: Object) -> Object:
    if not any(map(is_data, limits)) or len(limits) > 3:
        return NATIVE
    given = slice(*limits)
    found = range_of(0 if given.start is None else given.start, given.stop, 1 if given.step is None else given.step)
    return NATIVE if found is None else found


# Dicts


def of_dict(run: Callable[..., Object]) -> Callable[..., Object]:
    """The program of a dict method, for conditional keys."""
    return functools.wraps(run)(lambda holder, *args: run(holder, *args) if keys.is_by_data(holder, args[0] if args else None) else NATIVE)


def setdefault_(holder: Object, key: Object, default: Object = None, /) -> Object:
    if keys.is_by_data(holder, key) or state.journals:
        return keys.setdefault(holder, key, default)
    note_contents(holder)
    return dict.setdefault(holder, key, default.kind()) if type(default) is keys.Empty else NATIVE


def update_(holder: Object, items: Object) -> Object:
    if not any(map(keys.has_conditional_keys, (holder, items))) and not is_special(items):
        return NATIVE
    return call(in_python.update_, holder, View(items, None) if isinstance(items, dict) else gathered(items))


def counted_(holder: Object, items: Object, /) -> Object:
    """Count entries, as Counter does; a generator is exhausted, even if it is shared."""
    if not keys.has_conditional_keys(holder) and not is_of_interest(items) and not is_lazy(items):
        return NATIVE
    return call(in_python.counted_, holder, gathered(items))
