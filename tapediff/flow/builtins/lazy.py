"""Lazy builtins, over computed entries or a generator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from .. import in_python
from ..anything import Object
from ..blocks.blocks import returned
from ..blocks.loops import for_
from ..calls.callables import call, function
from ..containers.compressed import Compressed, Zipped, is_of_data_length
from ..containers.cursors import Cursor, following, has_cursor
from ..containers.entries import is_conditional, parts, settled_contents
from ..containers.generators import Generator
from ..containers.items import is_iterable_of_users, iterator_of
from ..containers.keys import has_conditional_keys
from ..containers.views import View
from ..operations.sequences import zipped
from ..state.completions import Return, replaced
from ..state.fork import exclude, where_ends
from ..state.joins import maybe
from ..state.values import Choice, Lazy, Unjoinable, all_of, state
from ..users_code import users_method
from .arguments import INDEXED, NATIVE, SEQUENCES, gathered, is_callable_of_users, is_lazy, is_of_interest, is_special


def is_ownable(items: Object) -> bool:
    """True for generators that nothing else advances, for conditional entries, and for choices of sequences."""
    if type(items) is Choice:
        return all(isinstance(option, SEQUENCES) for option in items.options)
    return is_special(items) and (not is_lazy(items) or items.is_owned)


def are_owned(*args: Object, **_: Object) -> bool:
    """True if one of the arguments is ownable."""
    return any(map(is_ownable, args))


def are_sources(f: Object, items: Object) -> bool:
    """True if the iterable is ownable or a sequence."""
    return isinstance(items, INDEXED) or is_ownable(items)


def holds_owned(items: Object) -> bool:
    """True for ownable iterables, and sequences with one."""
    return is_ownable(items) or (isinstance(items, SEQUENCES) and any(map(is_ownable, items)))


def is_keyed(items: Object, _: Object = None) -> bool:
    """True for data-dependent numbers of keys."""
    return is_lazy(items) or is_conditional(items)


def iter_(items: Object, /, *sentinel: Object) -> Object:
    if sentinel:
        return call(in_python.iter_of_calls_, items, *sentinel)
    if is_iterable_of_users(type(items)):
        return iterator_of(items)
    if is_conditional(items) or has_conditional_keys(items) or isinstance(items, View):
        return call(in_python.iter_, items)
    return Cursor(items) if has_cursor(items) else NATIVE


def next_(items: Object, /, *default: Object) -> Object:
    if type(items) is Cursor:
        return following(items, *default)
    if users_method(type(items), "__next__") is not None:
        return call(in_python.next_, items, *default)
    if not is_ownable(items):
        return NATIVE
    completion = for_(items, Return, None)
    if not default:
        exclude(where_ends(completion, lambda end: end is None), StopIteration)
        return returned(completion)
    return returned(replaced(completion, lambda end: Return(*default) if end is None else end))


def cycled_(items: Object, /) -> Object:
    is_outside = isinstance(items, TrackedArray) and items._recorder is not state.recorder
    if not isinstance(items, (*INDEXED, str)) or is_conditional(items) or is_outside:
        return NATIVE
    if not isinstance(items, (tuple, range, str)):
        state.checks.append(_unchanged(items))
    return call(in_python.cycle_, items)


def _unchanged(items: Object) -> Callable[[], None]:
    """Check that an iterable has not changed: `cycle` keeps the items that it has read."""
    before = _contents(items)

    def check() -> None:
        now = _contents(items)
        if len(now) != len(before) or any(a is not b and not (type(a) in (int, bytes) and a == b) for a, b in zip(now, before)):
            raise Unjoinable("a list or array changes that itertools.cycle() has been given", "give it a copy")

    return check


def _contents(items: Object) -> Sequence[Object]:
    """The objects that a sequence holds; of an array its version, or its bytes."""
    if isinstance(items, TrackedArray):
        items._refresh()
        return (items._id,)
    return (items.tobytes(),) if isinstance(items, np.ndarray) else tuple(items)


def islice_(items: Object, /, *limits: Object) -> Object:
    limit = slice(*limits)
    start, stop, step = limit.start or 0, limit.stop, 1 if limit.step is None else limit.step
    if not is_ownable(items) or not all(type(n) is int and n >= least for n, least in ((start, 0), (stop or 0, 0), (step, 1))):
        return NATIVE
    return call(in_python.islice_, items, start, stop, step)


def accumulates(items: Object, func: Object = None, **_: Object) -> bool:
    """True for iterables with data-dependent entries or sums."""
    return is_ownable(items) or (isinstance(items, INDEXED) and (func is not None or is_of_interest(items)))


def have_data(*iterables: Object, **_: Object) -> bool:
    """True for sequences, of which one has data-dependent entries."""
    return all(isinstance(items, INDEXED) for items in iterables) and any(map(is_of_interest, iterables))


def groupby_(items: Object, key: Object = None) -> Object:
    if not (isinstance(items, INDEXED) or is_lazy(items)) or type(items) is Cursor:
        return NATIVE
    if type(items) is Generator:
        return call(in_python.groupby_, items, key)  # it may have no end
    entries = gathered(items)
    if is_conditional(entries) or not (is_of_interest(entries) or is_callable_of_users(key)):
        return itertools.groupby(settled_contents(entries), key if key is None else function(key))
    return call(in_python.groupby_, entries, key)


def combined(choose: Callable[..., Object]) -> Callable[..., Object]:
    """Combinations or permutations; each exists where all its entries do."""

    def program(items: Object, count: Object = None, /) -> Object:
        if not is_special(items):
            return NATIVE
        entries = gathered(items)
        there = list(parts(entries))
        # Without a count, permutations have data-dependent lengths.
        if not is_conditional(entries) or count is None or len(there) > _MOST_COMBINED:
            return choose(settled_contents(entries), count)
        return _where_all_exist(choose(there, count))

    return program


def product_(*items: Object, repeat: Object = 1) -> Object:
    if not any(map(is_special, items)) or type(repeat) is not int:
        return NATIVE
    pools = [gathered(each) for each in items]
    there = [list(parts(pool)) for pool in pools] * repeat
    if not any(map(is_conditional, pools)) or math.prod(map(len, there)) > _MOST_COMBINED**2:
        return itertools.product(*map(settled_contents, pools), repeat=repeat)
    return _where_all_exist(itertools.product(*there))


def _where_all_exist(combinations: Iterable[tuple[tuple[Object, Object], ...]]) -> Object:
    """The tuples of conditional entries, each if all its entries exist."""
    made: list[Object] = []
    for chosen in combinations:
        conditions, values = zip(*chosen) if chosen else ((), ())
        made.append(maybe(all_of(conditions), values))
    return call(in_python.chain_, made)


combinations_, permutations_ = combined(itertools.combinations), combined(itertools.permutations)
_MOST_COMBINED = 12


def enumerate_(items: Object, start: Object = 0) -> Object:
    if is_of_data_length(items) and items.kept[-items.ndim].length is not None and type(start) is int:
        return call(in_python.iter_, Zipped([range(start, start + items.whole.shape[0]), items]))
    return call(in_python.enumerate_, items, start) if are_owned(items) else NATIVE


def zip_(*items: Object, strict: Object = False) -> Object:
    if not strict and any(is_iterable_of_users(type(i)) for i in items):
        return call(in_python.zip_, *items)
    if (
        strict
        or not any(is_conditional(i) or isinstance(i, Lazy) for i in items)
        or any(type(i) is Cursor for i in items)
        or not all(isinstance(i, (*SEQUENCES, np.ndarray, range, Lazy)) for i in items)
    ):
        return NATIVE
    if any(map(is_of_data_length, items)) and not any(
        is_conditional(i) or (isinstance(i, Lazy) and type(i) is not Compressed) for i in items
    ):
        return call(in_python.iter_, Zipped(items))
    return call(in_python.chain_, zipped([gathered(i) for i in items]))
