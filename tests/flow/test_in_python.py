"""Builtins as Python programs, run by Python itself: what they give, raise and leave of their arguments is what the builtins do."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import statistics
import types
from collections.abc import Iterator

import pytest

from tapediff.flow import in_python

LISTS = ([], [2], [1, 1], [3, 1, 2], [0, -1, 5, 5, 2, -3], [4, 4, -4, 0, 0, 7, 1, 6, -2])
FALLING = [sorted(items, reverse=True) for items in LISTS]
SORTED = [sorted(items) for items in LISTS]
PAIRS = [[(k % 3, k) for k in items] for items in LISTS]
DICTS, SETS = [dict(pairs) for pairs in PAIRS], [set(items) for items in LISTS]
KEYS = (None, abs, operator.neg)
VALUES = (-1, 0, 1, 2, 20)


def is_small(value):
    return value < 3


def halved(total, value):
    return total / 2 + value


def each(*columns, **named):
    """Calls with each combination of some arguments."""
    return [(args, named) for args in itertools.product(*columns)]


def with_keys(*columns):
    return [call for key in KEYS for call in each(*columns, key=key)]


def of_numbers(builtin):
    return builtin, each(LISTS)


# The builtin for which each program is, and calls of both.
@dataclasses.dataclass
class Fielded:
    x: float
    y: int = 2
    z: float = dataclasses.field(init=False, default=0.5)


@dataclasses.dataclass
class Halving:
    n: int

    def __call__(self):
        self.n //= 2
        if self.n == 1:
            raise ValueError("too small")
        return self.n


# They make functions, which test_library_code.py calls.
MAKERS = {in_python.inverted_, in_python.by_fields_, in_python.equal_fields_, in_python.cached_}
TABLE = {
    in_python.iter_of_calls_: (iter, each((Halving(40), Halving(7)), (5, 0, 2.5))),
    in_python.sum_: (sum, [*each(LISTS), *each(LISTS, (0.5,))]),
    in_python.prod_: (math.prod, [*each(LISTS), *each(LISTS, start=0.5)]),
    in_python.any_: (any, each(LISTS)),
    in_python.all_: (all, each(LISTS)),
    in_python.reduce_: (functools.reduce, [*each((halved,), LISTS), *each((halved,), LISTS, (0, 5))]),
    in_python.enumerate_: (enumerate, [*each(LISTS), *each(LISTS, (0, 4))]),
    in_python.map_: (map, each((operator.neg,), LISTS)),
    in_python.starmap_: (itertools.starmap, each((operator.sub,), PAIRS)),
    in_python.filter_: (filter, each((None, is_small), LISTS)),
    in_python.filterfalse_: (itertools.filterfalse, each((None, is_small), LISTS)),
    in_python.takewhile_: (itertools.takewhile, each((is_small,), LISTS)),
    in_python.dropwhile_: (itertools.dropwhile, each((is_small,), LISTS)),
    in_python.islice_: (itertools.islice, each(LISTS, (0, 1, 4), (None, 0, 1, 5), (1, 2, 3))),
    in_python.iter_: (iter, each(LISTS)),
    in_python.chain_of_: (itertools.chain.from_iterable, each(PAIRS)),
    in_python.chain_: (itertools.chain, each(LISTS, LISTS)),
    in_python.pairwise_: (itertools.pairwise, each(LISTS)),
    in_python.accumulate_: (itertools.accumulate, [*each(LISTS), *each(LISTS, (halved,)), *each(LISTS, (None, max), initial=3)]),
    in_python.groupby_: (itertools.groupby, [*each(LISTS), *each(LISTS, (abs, is_small))]),
    in_python.merge_: (heapq.merge, [*each(LISTS, LISTS), *each(LISTS, LISTS, reverse=True), *each(LISTS, LISTS, key=abs)]),
    in_python.mode_: (statistics.mode, each(LISTS)),
    in_python.multimode_: (statistics.multimode, each(LISTS)),
    in_python.list_: (list, each(LISTS)),
    in_python.dict_: (dict, each(PAIRS)),
    in_python.set_: (set, each(LISTS)),
    in_python.steps_: (iter, each(map(iter, LISTS))),
    in_python.by_position_: (iter, each(LISTS)),
    in_python.next_: (next, [*each(map(iter, LISTS[1:])), *each(map(iter, LISTS), (7,))]),
    in_python.zip_: (zip, [*each(LISTS), *each(LISTS, SORTED)]),
    in_python.fromkeys_: (dict.fromkeys, [*each(LISTS), *each(LISTS, (7,))]),
    in_python.update_: (dict.update, each(DICTS, PAIRS)),
    in_python.popitem_: (dict.popitem, each([{1: 2}, {3: 4, 1: 2}])),
    in_python.move_to_end_: (
        collections.OrderedDict.move_to_end, each([collections.OrderedDict({3: 4, 1: 2, 5: 0})], (3, 1, 5), (True, False)),
    ),
    in_python.replace_: (dataclasses.replace, [*each([Fielded(1.0)], x=2.0), *each([Fielded(1.0)], y=3), *each([Fielded(1.0)], z=3)]),
    in_python.counted_: (collections._count_elements, each(DICTS, LISTS)),
    in_python.intersection_: (set.intersection, each(SETS, SETS)),
    in_python.difference_: (set.difference, each(SETS, SETS)),
    in_python.is_subset_: (set.issubset, each(SETS, SETS)),
    in_python.update_set_: (set.update, each(SETS, LISTS)),
    in_python.repeated_: (operator.mul, each(LISTS, (-1, 0, 1, 3))),
    in_python.join_: (str.join, each(("", ", "), ([], ["a"], ["a", "", "bc"]))),
    in_python.extend_: (list.extend, each(LISTS, SORTED)),
    in_python.getattr_: (getattr, each(VALUES, ("real", "lost"), (None, 2))),
    in_python.hasattr_: (hasattr, each(LISTS, ("append", "lost"))),
    # A sorted list is a heap.
    in_python.heappush_: (heapq.heappush, each(SORTED, VALUES)),
    in_python.heappop_: (heapq.heappop, each(SORTED)),
    in_python.heapreplace_: (heapq.heapreplace, each(SORTED, VALUES)),
    in_python.heappushpop_: (heapq.heappushpop, each(SORTED, VALUES)),
    in_python.heapify_: (heapq.heapify, each([*LISTS, *FALLING])),
    in_python.nlargest_: (heapq.nlargest, with_keys(VALUES, LISTS)),
    in_python.nsmallest_: (heapq.nsmallest, with_keys(VALUES, LISTS)),
    in_python.bisect_left_: (bisect.bisect_left, [*each(SORTED, VALUES), *each(SORTED, VALUES, (0, 2), (None, 4, 6)), *each(FALLING, VALUES, key=operator.neg)]),
    in_python.bisect_right_: (bisect.bisect_right, [*each(SORTED, VALUES), *each(SORTED, VALUES, (0, 2), (None, 4, 6)), *each(FALLING, VALUES, key=operator.neg)]),
    in_python.insort_left_: (bisect.insort_left, [*each(PAIRS, [(1, 0)], key=operator.itemgetter(0)), *each(SORTED, VALUES, (0, 2), (None, 4))]),
    in_python.insort_right_: (bisect.insort_right, [*each(PAIRS, [(1, 0)], key=operator.itemgetter(0)), *each(SORTED, VALUES, (0, 2), (None, 4))]),
    in_python.mean_: of_numbers(statistics.mean),
    in_python.fmean_: of_numbers(statistics.fmean),
    in_python.isclose_: (math.isclose, [(pair, named) for named in ({}, {"rel_tol": 0.1}, {"abs_tol": 0.5}, {"rel_tol": -1.0})
                                        for pair in itertools.product((0.0, 1.0, 1.05, -1.0, math.inf, -math.inf, 1e-300), repeat=2)]),
    in_python.median_: of_numbers(statistics.median),
    in_python.median_low_: of_numbers(statistics.median_low),
    in_python.median_high_: of_numbers(statistics.median_high),
    in_python.variance_: of_numbers(statistics.variance),
    in_python.pvariance_: of_numbers(statistics.pvariance),
    in_python.stdev_: of_numbers(statistics.stdev),
    in_python.pstdev_: of_numbers(statistics.pstdev),
}


def listed(value):
    """A result with the items of iterators, also within, and with numbers rounded: statistics are exact, their programs floats."""
    if isinstance(value, Iterator):
        return [listed(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(listed, value))
    return round(float(value), 12) if isinstance(value, float) else value


def outcome(run, args, named):
    args = copy.deepcopy(args)
    try:
        result = listed(run(*args, **named))
    except (TypeError, ValueError, IndexError) as error:
        result = type(error), str(error) if isinstance(error, statistics.StatisticsError) else ""
    return result, listed(args)


@pytest.mark.parametrize("program", TABLE, ids=lambda program: program.__name__)
def test_programs_do_what_builtins_do(program):
    """Lists that are empty, have one item, equal ones, negative ones and zeros; arguments that may be left out, and those that take no item."""
    builtin, calls = TABLE[program]
    for args, named in calls:
        assert outcome(program, args, named) == outcome(builtin, args, named), (args, named)


def test_every_program_has_calls():
    programs = {f for name, f in vars(in_python).items() if type(f) is types.FunctionType and not name.startswith("_")}
    assert programs == set(TABLE) | MAKERS
