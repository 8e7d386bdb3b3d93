"""Python's builtins as programs, for data-dependent comparisons and calls, and conditional entries.

A program takes its builtin's arguments. It returns NATIVE if none of them needs it: then the builtin itself runs.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import dataclasses
import functools
import heapq
import inspect
import itertools
import math
import operator
import statistics
import warnings
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...recording.arrays.tracked import TrackedArray
from .. import in_python
from ..anything import Object
from ..calls.callables import call
from ..containers import items, keys, sets
from ..containers.views import View
from ..operations.dunder import BY_FUNCTION, PLAIN, negative
from ..operations.objects import attribute, delete_attribute, set_attribute
from ..operations.tests_of_values import is_instance, type_of
from ..state.histories import CHANGING, note_change
from ..state.values import has_maybes, is_data
from . import lazy, lists_and_dicts, numbers, reductions, sorting
from .arguments import NATIVE, SEQUENCES, where


class Program(NamedTuple):
    """The program that replaces a builtin.

    Attributes:
        least, most: number of arguments; the builtin itself reports others.
        names: its keyword arguments.
    """

    run: Callable[..., Object]
    least: int
    most: float
    names: set[str]


def _program(run: Callable[..., Object], given: int = 0) -> Program:
    """A program by its signature; for a method, without self."""
    parameters = inspect.signature(run).parameters.values()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in places if p.default is p.empty]
    has_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and p not in required)}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        named = _AnyName()
    return Program(run, max(len(required) - given, has_more), math.inf if has_more else len(places) - given, named)


class _AnyName(set[str]):
    def __contains__(self, _: object) -> bool:
        return True


def _as_it_is(run: Callable[..., Object]) -> Callable[..., Object]:
    """A program that tells itself whether it applies."""
    return run


def _has_plain_fields(value: Object, **_: Object) -> bool:
    return dataclasses.is_dataclass(value) and len(dataclasses.fields(value)) == len(value.__dataclass_fields__)


def _getattr(value: Object, name: str, /, *default: Object) -> Object:
    if not default:
        return attribute(value, name)
    return NATIVE if type(value) in PLAIN else call(in_python.getattr_, value, name, *default)


# Programs named after their builtins: the builtins' module and names, the programs' module, and what tells whether they apply.
_BY_NAME: tuple[tuple[Object, str, Object, Callable[..., Object]], ...] = (
    (builtins, "sum any all max min", reductions, _as_it_is),
    (builtins, "len range bool set dict reversed", lists_and_dicts, _as_it_is),
    (builtins, "iter next zip enumerate", lazy, _as_it_is),
    (builtins, "divmod pow int float round repr str", numbers, _as_it_is),
    (builtins, "sorted", sorting, _as_it_is),
    (builtins, "map filter", in_python, functools.partial(where, lazy.are_sources)),
    (math, "prod fsum", reductions, _as_it_is),
    (math, "floor ceil", numbers, _as_it_is),
    (math, "isclose", in_python, functools.partial(where, lambda a, b, **_: is_data(a) or is_data(b))),
    (np, "allclose array_equal array_equiv", numbers, _as_it_is),
    (functools, "reduce", reductions, _as_it_is),
    (itertools, "islice combinations permutations product groupby", lazy, _as_it_is),
    (itertools, "filterfalse takewhile dropwhile", in_python, functools.partial(where, lazy.are_sources)),
    (itertools, "starmap chain pairwise", in_python, functools.partial(where, lazy.are_owned)),
    (itertools, "accumulate", in_python, functools.partial(where, lazy.accumulates)),
    (heapq, "heappush heappop heapreplace heappushpop heapify", in_python, sorting.on_heap),
    (heapq, "nlargest nsmallest", in_python, functools.partial(where, sorting.has_extremes)),
    (heapq, "merge", in_python, functools.partial(where, lazy.have_data)),
    (bisect, "bisect_left bisect_right insort_left insort_right", in_python, sorting.on_sorted),
    (statistics, "mode multimode", in_python, functools.partial(where, lazy.have_data)),
    (statistics, "mean fmean median median_low median_high variance pvariance stdev pstdev", in_python, numbers.statistic),
)
_FUNCTIONS: dict[Object, Callable[..., Object]] = {
    **{getattr(module, name): form(getattr(programs, f"{name}_")) for module, names, programs, form in _BY_NAME for name in names.split()},
    functools._lru_cache_wrapper: where(lambda *_: True, in_python.cached_),  # pyright: ignore[reportAttributeAccessIssue]
    builtins.list: lists_and_dicts.collecting(list),
    builtins.tuple: lists_and_dicts.collecting(tuple),
    deque: lists_and_dicts.collecting(deque),
    builtins.frozenset: lists_and_dicts.collecting(frozenset),
    dict.fromkeys: where(lazy.is_keyed, in_python.fromkeys_),
    collections._count_elements: lists_and_dicts.counted_,  # pyright: ignore[reportAttributeAccessIssue]  # used by Counter
    itertools.count: where(lambda *_, **__: True, in_python.count_),
    itertools.cycle: lazy.cycled_,
    itertools.repeat: where(lambda *args, **named: len(args) == 1 and not named, in_python.repeat_),
    itertools.chain.from_iterable: where(lazy.holds_owned, in_python.chain_of_),
    math.trunc: numbers.int_,
    TrackedArray.item: numbers.item_,
    TrackedArray.tolist: numbers.tolist_,
    **{kind: numbers.numpys(kind) for kind in (np.float64, np.bool_)},
    builtins.ascii: numbers.repr_,
    np.errstate: numbers.error_states_,
    np.seterr: numbers.error_states_,
    warnings.simplefilter: numbers.filter_,
    warnings.filterwarnings: numbers.filter_,
    dataclasses.replace: where(_has_plain_fields, in_python.replace_),
    builtins.type: type_of,
    builtins.isinstance: is_instance,
    builtins.getattr: _getattr,
    builtins.hasattr: where(lambda value, _: type(value) not in PLAIN, in_python.hasattr_),
    builtins.setattr: set_attribute,
    builtins.delattr: delete_attribute,
    operator.neg: negative,
    operator.setitem: items.set_item,
    operator.delitem: items.delete_item,
    **BY_FUNCTION,
}
PROGRAMS = {f: _program(run) for f, run in _FUNCTIONS.items()}

_DICTS = {
    "get": lists_and_dicts.of_dict(keys.get),
    "pop": lists_and_dicts.of_dict(keys.pop),
    "setdefault": lists_and_dicts.setdefault_,
    "items": lists_and_dicts.of_dict(lambda holder: View(holder, None)),
    "keys": lists_and_dicts.of_dict(lambda holder: View(holder, 0)),
    "values": lists_and_dicts.of_dict(lambda holder: View(holder, 1)),
    "update": lists_and_dicts.update_,
    "popitem": where(lambda holder, last=True: keys.has_conditional_keys(holder), in_python.popitem_),
    "move_to_end": where(lambda holder, key, last=True: keys.is_by_data(holder, key), in_python.move_to_end_),
    "__getitem__": lists_and_dicts.of_dict(keys.item),
    "__contains__": lists_and_dicts.of_dict(lambda holder, key: keys.there(holder, key)[0]),
}
_SETS = {
    "add": lists_and_dicts.of_set(sets.add),
    "discard": lists_and_dicts.of_set(sets.discard),
    "remove": lists_and_dicts.of_set(sets.remove),
    "update": lists_and_dicts.update_set_,
    "pop": lambda holder: sets.refuse_order() if has_maybes(holder) else NATIVE,
}


def _noted(name: str) -> Callable[..., Object]:
    """The program of a set method that changes the set."""

    def run(holder: Object, *args: Object) -> Object:
        note_change(holder, name, args)
        count = 0 if name == "pop" else 1
        return _SETS[name](holder, *args) if name in _SETS and len(args) == count else NATIVE

    return run


# Called by subclasses in the user's code.
_WRITTEN = {"__setitem__": lists_and_dicts.set_item_, "__delitem__": lists_and_dicts.delete_item_}
_SIZED = {"__len__": lists_and_dicts.base_len_}
_SEQUENCES = {"__getitem__": lists_and_dicts.item_, "index": lists_and_dicts.index_, "count": lists_and_dicts.count_}
_LISTS = {
    "sort": sorting.sort_,
    "remove": lists_and_dicts.remove_,
    "insert": sorting.insert_,
    "extend": lists_and_dicts.extend_,
    "pop": lists_and_dicts.pop_,
}
_DEQUES = {
    "insert": sorting.insert_,
    "extend": lists_and_dicts.extend_,
    "rotate": lists_and_dicts.rotate_,
    "popleft": lambda holder: lists_and_dicts.pop_(holder, 0),
    "pop": lambda holder: lists_and_dicts.pop_(holder),
}
METHODS: dict[tuple[type, str], Program] = {
    (kind, name): _program(run, 1)
    for kinds, programs in (
        ((dict, collections.OrderedDict), _DICTS), ((dict, list, deque), _WRITTEN), ((dict, set, *SEQUENCES), _SIZED),
        ((str,), {"join": lists_and_dicts.join_}), ((set,), {"copy": sets.copied}),
        (SEQUENCES, _SEQUENCES), ((list,), _LISTS), ((deque,), _DEQUES),
    )
    for kind in kinds for name, run in programs.items()
} | {(set, name): Program(_noted(name), 0, math.inf, set()) for name in CHANGING}  # fmt: skip
# Methods that keep conditional entries.
INDIFFERENT = frozenset(("append", "extend", "copy", "clear", "reverse", "appendleft"))
