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

from .. import in_python
from ..anything import Object
from ..containers import items, keys, sets
from ..containers.views import View
from ..operations.dunder import BY_FUNCTION, PLAIN, negative
from ..operations.objects import attribute, delete_attribute, set_attribute
from ..operations.tests_of_values import is_instance, type_of
from . import lazy, lists_and_dicts, numbers, reductions, sorting
from .arguments import SEQUENCES, where


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


def _has_plain_fields(value: Object, **_: Object) -> bool:
    return dataclasses.is_dataclass(value) and len(dataclasses.fields(value)) == len(value.__dataclass_fields__)


_FUNCTIONS: dict[Object, Callable[..., Object]] = {
    builtins.sum: reductions.sum_,
    math.prod: reductions.prod_,
    math.fsum: reductions.fsum_,
    builtins.any: reductions.any_,
    builtins.all: reductions.all_,
    builtins.max: reductions.max_,
    builtins.min: reductions.min_,
    functools.reduce: reductions.reduce_,
    functools._lru_cache_wrapper: where(lambda *_: True, in_python.cached_),  # pyright: ignore[reportAttributeAccessIssue]
    builtins.sorted: sorting.sorted_,
    builtins.len: lists_and_dicts.len_,
    builtins.range: lists_and_dicts.range_,
    builtins.bool: lists_and_dicts.bool_,
    builtins.list: lists_and_dicts.collecting(list),
    builtins.tuple: lists_and_dicts.collecting(tuple),
    builtins.frozenset: lists_and_dicts.collecting(frozenset),
    builtins.set: lists_and_dicts.set_,
    builtins.dict: lists_and_dicts.dict_,
    dict.fromkeys: where(lazy.is_keyed, in_python.fromkeys_),
    builtins.reversed: lists_and_dicts.reversed_,
    collections._count_elements: lists_and_dicts.counted_,  # pyright: ignore[reportAttributeAccessIssue]  # used by Counter
    builtins.iter: lazy.iter_,
    builtins.next: lazy.next_,
    builtins.zip: lazy.zip_,
    builtins.enumerate: lazy.enumerate_,
    builtins.map: where(lazy.are_sources, in_python.map_),
    builtins.filter: where(lazy.are_sources, in_python.filter_),
    itertools.filterfalse: where(lazy.are_sources, in_python.filterfalse_),
    itertools.takewhile: where(lazy.are_sources, in_python.takewhile_),
    itertools.dropwhile: where(lazy.are_sources, in_python.dropwhile_),
    itertools.starmap: where(lazy.are_owned, in_python.starmap_),
    itertools.islice: lazy.islice_,
    itertools.chain: where(lazy.are_owned, in_python.chain_),
    itertools.chain.from_iterable: where(lazy.holds_owned, in_python.chain_of_),
    itertools.pairwise: where(lazy.are_owned, in_python.pairwise_),
    itertools.accumulate: where(lazy.accumulates, in_python.accumulate_),
    itertools.combinations: lazy.combinations_,
    itertools.permutations: lazy.permutations_,
    itertools.product: lazy.product_,
    itertools.groupby: lazy.groupby_,
    heapq.heappush: sorting.on_heap(in_python.heappush_),
    heapq.heappop: sorting.on_heap(in_python.heappop_),
    heapq.heapreplace: sorting.on_heap(in_python.heapreplace_),
    heapq.heappushpop: sorting.on_heap(in_python.heappushpop_),
    heapq.heapify: sorting.on_heap(in_python.heapify_),
    heapq.nlargest: where(sorting.has_extremes, in_python.nlargest_),
    heapq.nsmallest: where(sorting.has_extremes, in_python.nsmallest_),
    bisect.bisect_left: sorting.on_sorted(in_python.bisect_left_),
    bisect.bisect_right: sorting.on_sorted(in_python.bisect_right_),
    bisect.insort_left: sorting.on_sorted(in_python.insort_left_),
    bisect.insort_right: sorting.on_sorted(in_python.insort_right_),
    builtins.divmod: numbers.divmod_,
    builtins.pow: numbers.pow_,
    builtins.int: numbers.int_,
    builtins.float: numbers.float_,
    builtins.round: numbers.round_,
    math.floor: numbers.floor_,
    math.ceil: numbers.ceil_,
    math.trunc: numbers.int_,
    builtins.repr: numbers.repr_,
    builtins.ascii: numbers.repr_,
    np.errstate: numbers.error_states_,
    np.seterr: numbers.error_states_,
    warnings.simplefilter: numbers.filter_,
    warnings.filterwarnings: numbers.filter_,
    statistics.mean: numbers.statistic(in_python.mean_),
    statistics.fmean: numbers.statistic(in_python.fmean_),
    statistics.median: numbers.statistic(in_python.median_),
    statistics.median_low: numbers.statistic(in_python.median_low_),
    statistics.median_high: numbers.statistic(in_python.median_high_),
    statistics.variance: numbers.statistic(in_python.variance_),
    statistics.pvariance: numbers.statistic(in_python.pvariance_),
    statistics.stdev: numbers.statistic(in_python.stdev_),
    statistics.pstdev: numbers.statistic(in_python.pstdev_),
    dataclasses.replace: where(_has_plain_fields, in_python.replace_),
    builtins.type: type_of,
    builtins.isinstance: is_instance,
    builtins.getattr: attribute,
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
}
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
        ((set,), _SETS), (SEQUENCES, _SEQUENCES), ((list,), _LISTS), ((deque,), _DEQUES),
    )
    for kind in kinds for name, run in programs.items()
}  # fmt: skip
# Methods that keep conditional entries.
INDIFFERENT = frozenset(("append", "extend", "copy", "clear", "reverse", "appendleft"))
