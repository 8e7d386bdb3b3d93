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

from ..anything import Object
from ..containers import keys, sets
from ..containers.items import delete_item, set_item
from ..containers.views import View
from ..operations.dunder import BY_FUNCTION, negative
from ..operations.objects import attribute, delete_attribute, set_attribute
from ..operations.types import is_instance, type_of
from .arguments import SEQUENCES
from .heaps import (
    bisect_left_,
    bisect_right_,
    heapify_,
    heappop_,
    heappush_,
    heappushpop_,
    heapreplace_,
    insert_,
    insort_left_,
    insort_right_,
    nlargest_,
    nsmallest_,
    on_heap,
)
from .iterators import iter_, next_
from .lazy import (
    accumulate_,
    chain_,
    chain_of_,
    combinations_,
    dropwhile_,
    enumerate_,
    filter_,
    filterfalse_,
    groupby_,
    islice_,
    map_,
    pairwise_,
    permutations_,
    reduce_,
    starmap_,
    takewhile_,
    zip_,
)
from .lists_and_dicts import (
    bool_,
    count_,
    counted_,
    counter_,
    dict_,
    extend_,
    fromkeys_,
    index_,
    len_,
    list_,
    most_common_,
    of_dict,
    of_set,
    pop_,
    popleft_,
    range_,
    remove_,
    reversed_,
    rotate_,
    set_,
    setdefault_,
    settling,
    tuple_,
    update_,
    update_set_,
)
from .numbers import (
    ceil_,
    divmod_,
    error_states_,
    float_,
    floor_,
    int_,
    mean_,
    median_,
    median_high_,
    median_low_,
    pow_,
    repr_,
    round_,
    statistic,
    variance_,
)
from .reductions import all_, any_, fsum_, max_, min_, prod_, sum_
from .sorting import sort_, sorted_


class Program(NamedTuple):
    """The program that runs in place of a builtin.

    Attributes:
        least, most: how many arguments it takes; the builtin tells of others.
        names: keyword arguments that it takes.
    """

    run: Callable[..., Object]
    least: int
    most: int
    names: tuple[str, ...] = ()


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
    builtins.set: Program(set_, 1, 1),
    builtins.frozenset: Program(settling(frozenset), 1, 1),
    builtins.dict: Program(dict_, 1, 1),
    dict.fromkeys: Program(fromkeys_, 1, 2),
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
    builtins.iter: Program(iter_, 1, 1),
    builtins.next: Program(next_, 1, 2),
    builtins.type: Program(type_of, 1, 1),
    builtins.isinstance: Program(is_instance, 2, 2),
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
    heapq.heappush: Program(on_heap(heappush_), 2, 2),
    heapq.heappop: Program(on_heap(heappop_), 1, 1),
    heapq.heapreplace: Program(on_heap(heapreplace_), 2, 2),
    heapq.heappushpop: Program(on_heap(heappushpop_), 2, 2),
    heapq.heapify: Program(on_heap(heapify_), 1, 1),
    heapq.nlargest: Program(nlargest_, 2, 3, ("key",)),
    heapq.nsmallest: Program(nsmallest_, 2, 3, ("key",)),
    bisect.bisect_left: Program(bisect_left_, 2, 4, ("lo", "hi", "key")),
    bisect.bisect_right: Program(bisect_right_, 2, 4, ("lo", "hi", "key")),
    bisect.insort_left: Program(insort_left_, 2, 4, ("lo", "hi", "key")),
    bisect.insort_right: Program(insort_right_, 2, 4, ("lo", "hi", "key")),
    collections.Counter: Program(counter_, 1, 1),
    collections.Counter.most_common: Program(most_common_, 1, 2, ("n",)),
    collections.Counter.update: Program(counted_, 2, 2),
    statistics.mean: Program(statistic(mean_), 1, 1),
    statistics.fmean: Program(statistic(mean_), 1, 1),
    statistics.median: Program(statistic(median_), 1, 1),
    statistics.median_low: Program(statistic(median_low_), 1, 1),
    statistics.median_high: Program(statistic(median_high_), 1, 1),
    statistics.variance: Program(statistic(lambda e: variance_(e, "variance", 2)), 1, 1),
    statistics.pvariance: Program(statistic(lambda e: variance_(e, "pvariance", 1)), 1, 1),
    statistics.stdev: Program(statistic(lambda e: np.sqrt(variance_(e, "stdev", 2))), 1, 1),
    statistics.pstdev: Program(statistic(lambda e: np.sqrt(variance_(e, "pstdev", 1))), 1, 1),
    np.errstate: Program(error_states_, 0, 5, ("all", "divide", "over", "under", "invalid")),
    np.seterr: Program(error_states_, 0, 5, ("all", "divide", "over", "under", "invalid")),
    builtins.repr: Program(repr_, 1, 1),
    builtins.ascii: Program(repr_, 1, 1),
    operator.neg: Program(negative, 1, 1),
    operator.setitem: Program(set_item, 3, 3),
    operator.delitem: Program(delete_item, 2, 2),
    builtins.getattr: Program(attribute, 2, 2),
    builtins.setattr: Program(set_attribute, 3, 3),
    builtins.delattr: Program(delete_attribute, 2, 2),
    itertools.accumulate: Program(accumulate_, 1, 2, ("func", "initial")),
}
PROGRAMS.update((f, Program(run, 2, 2)) for f, run in BY_FUNCTION.items())
METHODS: dict[tuple[type, str], Program] = {
    **{
        (kind, name): Program(run, least, most)
        for kind in (dict, collections.defaultdict, collections.Counter, collections.OrderedDict)
        for name, run, least, most in (
            ("get", of_dict(keys.get), 1, 2),
            ("pop", of_dict(keys.pop), 1, 2),
            ("setdefault", setdefault_, 1, 2),
            ("items", of_dict(lambda holder: View(holder, None)), 0, 0),
            ("keys", of_dict(lambda holder: View(holder, 0)), 0, 0),
            ("values", of_dict(lambda holder: View(holder, 1)), 0, 0),
            ("update", update_, 1, 1),
        )
    },
    (set, "add"): Program(of_set(sets.add), 1, 1),
    (set, "discard"): Program(of_set(sets.discard), 1, 1),
    (set, "remove"): Program(of_set(sets.remove), 1, 1),
    (set, "update"): Program(update_set_, 1, 1),
    (list, "sort"): Program(sort_, 0, 0, ("key", "reverse")),
    (list, "remove"): Program(remove_, 1, 1),
    (list, "insert"): Program(insert_, 2, 2),
    (list, "extend"): Program(extend_, 1, 1),
    (deque, "extend"): Program(extend_, 1, 1),
    (deque, "rotate"): Program(rotate_, 0, 1),
    (deque, "popleft"): Program(popleft_, 0, 0),
    (deque, "pop"): Program(pop_, 0, 0),
    (list, "pop"): Program(pop_, 0, 1),
    **{(kind, "index"): Program(index_, 1, 1) for kind in SEQUENCES},
    **{(kind, "count"): Program(count_, 1, 1) for kind in SEQUENCES},
}
# Methods that treat conditional entries as they are.
INDIFFERENT = frozenset(("append", "extend", "copy", "clear", "reverse", "appendleft"))
