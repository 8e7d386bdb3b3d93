"""Builtins written in Python: translated and run like the user's functions, for data-dependent arguments."""

from __future__ import annotations

import dataclasses
import math
import operator
import statistics
import sys
from collections import Counter

import numpy as np

from .anything import Object

# Reductions


def sum_(items: Object, start: Object = 0) -> Object:
    for item in items:
        start = start + item
    return start


def prod_(items: Object, start: Object = 1) -> Object:
    for item in items:
        start = start * item
    return start


def any_(items: Object) -> Object:
    for item in items:
        if item:
            return True
    return False


def all_(items: Object) -> Object:
    for item in items:
        if not item:
            return False
    return True


def reduce_(f: Object, items: Object, *start: Object) -> Object:
    has_one, total = bool(start), start[0] if start else None
    for item in items:
        total = f(total, item) if has_one else item
        has_one = True
    if not has_one:
        raise TypeError("reduce() of empty iterable with no initial value")
    return total


# Iterators


def iter_(items: Object, /) -> Object:
    for item in items:  # noqa: UP028 -- a generator of its own
        yield item


def steps_(iterator: Object, /) -> Object:
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


def by_position_(items: Object, /) -> Object:
    position = 0
    while True:
        try:
            item = items[position]
        except (IndexError, StopIteration):
            return
        yield item
        position += 1


def next_(iterator: Object, /, *default: Object) -> Object:
    if not default:
        return iterator.__next__()
    try:
        return iterator.__next__()
    except StopIteration:
        return default[0]


def zip_(*iterables: Object) -> Object:
    return _zipped([iter(items) for items in iterables])


def _zipped(iterators: Object) -> Object:
    while True:
        try:
            row = tuple([next(iterator) for iterator in iterators])
        except StopIteration:
            return
        yield row


class _Endless:
    def __iter__(self) -> Object:
        return self


class count_(_Endless):
    def __init__(self, start: Object = 0, step: Object = 1) -> None:
        self.next, self.step = start, step

    def __next__(self) -> Object:
        item = self.next
        self.next = item + self.step
        return item


class cycle_(_Endless):
    def __init__(self, items: Object, /) -> None:
        self.items, self.position = items, 0

    def __next__(self) -> Object:
        position = self.position
        if position == len(self.items):
            raise StopIteration
        self.position = 0 if position + 1 == len(self.items) else position + 1
        return self.items[position]


class repeat_(_Endless):
    def __init__(self, item: Object) -> None:
        self.item = item

    def __next__(self) -> Object:
        return self.item


def iter_of_calls_(function: Object, sentinel: Object, /) -> Object:
    while True:
        value = function()
        if value is sentinel or value == sentinel:
            return
        yield value


def enumerate_(items: Object, start: Object = 0) -> Object:
    for item in items:
        position, start = start, start + 1
        yield position, item


def map_(f: Object, items: Object, /) -> Object:
    for item in items:
        yield f(item)


def starmap_(f: Object, items: Object, /) -> Object:
    for item in items:
        yield f(*item)


def filter_(f: Object, items: Object, /) -> Object:
    for item in items:
        if item if f is None else f(item):
            yield item


def filterfalse_(f: Object, items: Object, /) -> Object:
    for item in items:
        if not (item if f is None else f(item)):
            yield item


def takewhile_(f: Object, items: Object, /) -> Object:
    for item in items:
        if not f(item):
            return
        yield item


def dropwhile_(f: Object, items: Object, /) -> Object:
    has_started = False
    for item in items:
        has_started = has_started or not f(item)
        if has_started:
            yield item


def islice_(items: Object, start: Object, stop: Object, step: Object, /) -> Object:
    position = 0
    if stop == 0:
        return
    for item in items:
        at, position = position, position + 1
        if at >= start and (step == 1 or (at - start) % step == 0):
            yield item
        # Python requests no entry after the last one.
        if stop is not None and position >= stop:
            return


def chain_of_(iterables: Object, /) -> Object:
    for items in iterables:
        for item in items:  # noqa: UP028 -- it does not take over a generator that something else holds
            yield item


def chain_(*iterables: Object) -> Object:
    return chain_of_(iterables)


def pairwise_(items: Object, /) -> Object:
    has_one, before = False, None
    for item in items:
        first, before, is_pair, has_one = before, item, has_one, True
        if is_pair:
            yield first, item


def accumulate_(items: Object, func: Object = None, *, initial: Object = None) -> Object:
    has_one, total = initial is not None, initial
    add = operator.add if func is None else func
    if has_one:
        yield initial
    for item in items:
        total = add(total, item) if has_one else item
        has_one = True
        yield total


def merge_(*iterables: Object, key: Object = None, reverse: Object = False) -> Object:
    places = [0 for _ in iterables]
    for _ in range(sum([len(items) for items in iterables])):
        has_one, which, best, item = False, 0, None, None
        for k, items in enumerate(iterables):
            if places[k] < len(items):
                rank = items[places[k]] if key is None else key(items[places[k]])
                if not has_one or (best < rank if reverse else rank < best):
                    has_one, which, best = True, k, rank
        for k, items in enumerate(iterables):
            if which == k:
                item = items[places[k]]
                places[k] += 1
        yield item


def mode_(data: Object) -> Object:
    if not data:
        raise statistics.StatisticsError("no mode for empty data")
    return Counter(data).most_common(1)[0][0]


def multimode_(data: Object) -> Object:
    counts = Counter(data)
    most = max(counts.values(), default=0)
    return [value for value, count in counts.items() if count == most]


def groupby_(items: Object, key: Object = None) -> Object:
    group, current = [], None
    for item in items:
        before, current = current, item if key is None else key(item)
        if group and before != current:
            found = list(group)
            group.clear()
            yield before, (value for value in found)
        group.append(item)
    if group:
        yield current, (value for value in group)


# Dicts, sets and lists


def list_(items: Object, /) -> Object:
    return [item for item in items]  # noqa: C416 -- this is what it is


def dict_(items: Object, /) -> Object:
    made = {}
    for key, value in items:
        made[key] = value
    return made


def set_(items: Object, /) -> Object:
    made = set()
    for member in items:
        made.add(member)
    return made


def fromkeys_(items: Object, value: Object = None, /) -> Object:
    made = {}
    for key in items:
        made[key] = value
    return made


def update_(holder: Object, items: Object, /) -> None:
    for key, value in items:
        holder[key] = value


def counted_(holder: Object, items: Object, /) -> None:
    for item in items:
        holder[item] = holder.get(item, 0) + 1


def popitem_(holder: Object, last: Object = True) -> Object:
    if not holder:
        raise KeyError("popitem(): dictionary is empty")
    key, value = list(holder.items())[-1 if last else 0]
    del holder[key]
    return key, value


def move_to_end_(holder: Object, key: Object, last: Object = True) -> None:
    others = [] if last else [other for other in holder if other != key]
    value = holder.pop(key)
    holder[key] = value
    for other in others:
        value = holder.pop(other)
        holder[other] = value


def intersection_(members: Object, others: Object, /) -> Object:
    return {member for member in members if member in others}


def difference_(members: Object, others: Object, /) -> Object:
    return {member for member in members if member not in others}


def is_subset_(members: Object, others: Object, /) -> Object:
    return all([member in others for member in members])  # noqa: C419 -- a list has conditional entries in place of branches


def update_set_(holder: Object, items: Object, /) -> None:
    for member in items:
        holder.add(member)


def join_(separator: Object, items: Object, /) -> Object:
    text, has_one = "", False
    for item in items:
        text, has_one = text + separator + item if has_one else item, True
    return text


def repeated_(items: Object, count: Object, /) -> Object:
    made = []
    for _ in range(count):
        for item in items:
            made.append(item)
    return made


def extend_(holder: Object, items: Object, /) -> None:
    for item in items:
        holder.append(item)


# Objects


def inverted_(equal: Object, /) -> Object:
    def not_equal(self: Object, other: Object) -> Object:
        result = equal(self, other)
        return result if result is NotImplemented else not result

    return not_equal


NOT_IN_REPLACE = TypeError if sys.version_info >= (3, 13) else ValueError


def replace_(value: Object, /, **changes: Object) -> Object:
    for field in dataclasses.fields(value.__class__):
        if field.init:
            if field.name not in changes:
                changes[field.name] = getattr(value, field.name)
        elif field.name in changes:
            raise NOT_IN_REPLACE(f"field {field.name} is declared with init=False, it cannot be specified with replace()")
    return value.__class__(**changes)


def getattr_(value: Object, name: Object, default: Object, /) -> Object:
    try:
        return getattr(value, name)
    except AttributeError:
        return default


def hasattr_(value: Object, name: Object, /) -> Object:
    try:
        getattr(value, name)
    except AttributeError:
        return False
    return True


def by_fields_(names: Object, compare: Object, /) -> Object:
    def compared(self: Object, other: Object) -> Object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(tuple([getattr(self, name) for name in names]), tuple([getattr(other, name) for name in names]))

    return compared


def equal_fields_(names: Object, /) -> Object:
    def equal(self: Object, other: Object) -> Object:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        result = True
        for name in names:
            result = getattr(self, name) == getattr(other, name)
            if not result:
                break
        return result

    return equal


# Caches: the results of a function that is made while it is recorded


def cached_(function: Object, maxsize: Object, typed: Object, info: Object, /) -> Object:
    memo, before_names = {}, object()
    hits = misses = 0

    def cached(*args: Object, **named: Object) -> Object:
        nonlocal hits, misses
        key = args
        if named:
            key += (before_names, *named.items())
        if typed:
            key += tuple([type(value) for value in (*args, *named.values())])
        elif len(key) == 1 and type(key[0]) in (int, str):
            key = key[0]
        if key in memo:
            hits += 1
            value = memo[key] if maxsize is None else memo.pop(key)
        else:
            misses += 1
            value = function(*args, **named)
            if key not in memo and maxsize is not None and len(memo) >= maxsize:
                if maxsize == 0:
                    return value
                del memo[next(iter(memo))]
        # The last one used is the last one in the dict.
        memo[key] = value
        return value

    def cache_info() -> Object:
        return info(hits, misses, maxsize, len(memo))

    def cache_clear() -> None:
        nonlocal hits, misses
        memo.clear()
        hits = misses = 0

    made: Object = cached
    made.cache_info, made.cache_clear = cache_info, cache_clear
    return made


# Heaps and sorted lists: positions are known on each path


def heappush_(heap: Object, value: Object, /) -> None:
    heap.append(value)
    _rise(heap, len(heap) - 1)


def heappop_(heap: Object, /) -> Object:
    last = heap.pop()
    return heapreplace_(heap, last) if heap else last


def heapreplace_(heap: Object, value: Object, /) -> Object:
    least, heap[0] = heap[0], value
    _sink(heap, 0)
    return least


def heappushpop_(heap: Object, value: Object, /) -> Object:
    return heapreplace_(heap, value) if heap and heap[0] < value else value


def heapify_(heap: Object, /) -> None:
    for position in reversed(range(len(heap) // 2)):
        _sink(heap, position, position)


def _rise(heap: Object, position: Object, top: Object = 0) -> None:
    above = (position - 1) >> 1
    if position > top and heap[position] < heap[above]:
        heap[position], heap[above] = heap[above], heap[position]
        _rise(heap, above, top)


def _sink(heap: Object, position: Object, top: Object = 0) -> None:
    """Sift an entry down along smaller children to a leaf, then up to its place."""
    child = 2 * position + 1
    if child >= len(heap):
        _rise(heap, position, top)
    elif child + 1 == len(heap) or heap[child] < heap[child + 1]:
        _descend(heap, position, child, top)
    else:
        _descend(heap, position, child + 1, top)


def _descend(heap: Object, position: Object, child: Object, top: Object) -> None:
    heap[position], heap[child] = heap[child], heap[position]
    _sink(heap, child, top)


# Sorted lists


def nlargest_(count: Object, items: Object, key: Object = None) -> Object:
    return sorted(items, key=key, reverse=True)[: max(count, 0)]


def nsmallest_(count: Object, items: Object, key: Object = None) -> Object:
    return sorted(items, key=key)[: max(count, 0)]


def bisect_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None, is_long: Object = False) -> Object:
    return _place(a, x, lo, len(a) if hi is None else hi, key, False, is_long)


def bisect_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None, is_long: Object = False) -> Object:
    return _place(a, x, lo, len(a) if hi is None else hi, key, True, is_long)


def _place(a: Object, x: Object, lo: Object, hi: Object, key: Object, is_left: Object, is_long: Object) -> Object:
    """The position before or after the entries equal to x, in a[lo:hi]: by a loop, or on sides of known positions."""
    while lo < hi:
        middle = (lo + hi) // 2
        value = a[middle] if key is None else key(a[middle])
        is_behind = value < x if is_left else not (x < value)
        if is_long:
            lo, hi = (middle + 1, hi) if is_behind else (lo, middle)
        elif is_behind:
            return _place(a, x, middle + 1, hi, key, is_left, False)
        else:
            return _place(a, x, lo, middle, key, is_left, False)
    return lo


def insort_right_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None, is_long: Object = False) -> None:
    a.insert(bisect_right_(a, x if key is None else key(x), lo, hi, key=key, is_long=is_long), x)


def insort_left_(a: Object, x: Object, lo: Object = 0, hi: Object = None, *, key: Object = None, is_long: Object = False) -> None:
    a.insert(bisect_left_(a, x if key is None else key(x), lo, hi, key=key, is_long=is_long), x)


# Statistics


def mean_(data: Object, /) -> Object:
    if not data:
        raise statistics.StatisticsError("mean requires at least one data point")
    return sum(data) / len(data)


def fmean_(data: Object, /) -> Object:
    if not data:
        raise statistics.StatisticsError("fmean requires at least one data point")
    return float(sum(data) / len(data))


def isclose_(a: Object, b: Object, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Object:
    if rel_tol < 0 or abs_tol < 0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


def median_(data: Object, /) -> Object:
    ordered, half = _ordered(data), len(data) // 2
    return ordered[half] if len(data) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_low_(data: Object, /) -> Object:
    return _ordered(data)[(len(data) - 1) // 2]


def median_high_(data: Object, /) -> Object:
    return _ordered(data)[len(data) // 2]


def _ordered(data: Object) -> Object:
    if not data:
        raise statistics.StatisticsError("no median for empty data")
    return sorted(data)


def variance_(data: Object, /) -> Object:
    return _variance(data, "variance", 2)


def pvariance_(data: Object, /) -> Object:
    return _variance(data, "pvariance", 1)


def stdev_(data: Object, /) -> Object:
    return np.sqrt(_variance(data, "stdev", 2))


def pstdev_(data: Object, /) -> Object:
    return np.sqrt(_variance(data, "pstdev", 1))


def _variance(data: Object, name: Object, least: Object) -> Object:
    if len(data) < least:
        raise statistics.StatisticsError(f"{name} requires at least {'two data points' if least == 2 else 'one data point'}")
    middle = mean_(data)
    return sum([(v - middle) * (v - middle) for v in data]) / (len(data) - least + 1)
