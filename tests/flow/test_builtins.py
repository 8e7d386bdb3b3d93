"""Python's builtins where data decide what they compare or call."""

# ruff: noqa: C400, C402, C417, C419 -- builtins are given what they are tested with

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import io
import itertools
import math
import operator
import statistics

import numpy as np
import pytest

from flow.one_tape import POINTS, recordings, translated_result


class Item:
    def __init__(self, v):
        self.v = v

    def __lt__(self, o):
        return self.v < o.v


def extremes(x):
    return max(x) + min(x[0], x[1], 0.5) + max((v for v in x if v < 1), default=0.0)


def sorted_tuples(x):
    pts = sorted((v, i, x[-1 - i]) for i, v in enumerate(x))
    return sum(k * p[1] * p[2] for k, p in enumerate(pts))


def map_filter_reduce(x):
    a = list(map(lambda v: v if v > 0 else -v, x))
    b = list(filter(lambda v: v > 0.3, a))
    c = functools.reduce(lambda p, q: p * 0.5 + q if q > 1 else p, b, 1.0)
    return c + sum(b) + functools.reduce(lambda p, q: p if p > q else q, x)


def takewhile_dropwhile(x):
    return (
        sum(itertools.takewhile(lambda v: v < 1, x))
        + 2 * sum(itertools.dropwhile(lambda v: v < 1, x))
        + 3 * sum(itertools.filterfalse(lambda v: v < 1, x))
    )


def accumulated(x):
    t = 0.0
    for v in itertools.accumulate(x, max):
        t += v
    for v in itertools.accumulate(x):
        t += v * v
    return t


def index_and_count(x):
    n = [1 if v > 0 else 2 if v < -1 else 3 for v in x]
    return n.index(3) * x[0] + n.count(1) * x[1] if 3 in n else x[2]


def compared_tuples(x):
    a, b = (x[0], x[1]), (x[2], 0.5)
    return (a[0] if a < b else b[0]) + (3 if [x[0] > 0, 1] == [True, 1] else 2) * x[1]


def floor_ceil_trunc(x):
    return math.floor(x[0] * 2) * x[1] + math.ceil(x[2]) * x[3] + math.trunc(x[4]) * x[5]


def isinstance_of_a_choice(x):
    a = None if x[0] > 0 else x[1]
    return 1.0 * x[0] if isinstance(a, float) else 2.0 * x[0] if a is None else 3 * x[0]


def statistics_of_lists(x):
    return (
        statistics.mean([v for v in x if v > 0] or [1.0])
        + statistics.median(x)
        + statistics.mean(x)
        + statistics.stdev(x)
    )


def heap(x):
    h = []
    for v in x:
        heapq.heappush(h, v)
    s = 0.0
    for k in range(4):
        s += k * heapq.heappop(h)
    return s + h[0]


def heap_functions(x):
    h = list(x)
    heapq.heapify(h)
    heapq.heapreplace(h, x[0] * x[1])
    heapq.heappushpop(h, 0.5)
    a = heapq.nlargest(2, x)
    b = heapq.nsmallest(2, x, key=abs)
    return sum(k * v for k, v in enumerate(h)) + a[0] + 2 * a[1] + b[0] - 3 * b[1]


def bisected(x):
    edges = [-1.0, 0.0, 0.5, 1.0]
    w = [x[0], 2.0, x[1], 3.0, x[2]]
    return sum(w[bisect.bisect(edges, v)] for v in x) + bisect.bisect_left(edges, x[3])


def insorted(x):
    a = []
    for v in x:
        bisect.insort(a, v)
    falling = [3.0, 0.5]
    for v in x:
        bisect.insort(falling, v, key=lambda v: -v)
    return sum(k * v for k, v in enumerate(a)) + sum(k * k * v for k, v in enumerate(falling))


def groups_of_pairs(x):
    found = [(up, [k * v for k, v in g]) for up, g in itertools.groupby(enumerate(x), key=lambda p: p[1] > 0)]
    ahead = [(up, sum(v * w for v, w in g)) for up, g in itertools.groupby(zip(x, x[::-1]), key=lambda p: p[0] > p[1])]
    return sum(max(g) * len(g) if up else -sum(g) for up, g in found) + sum(v if up else 2 * v for up, v in ahead)


def intervals(x):
    iv = sorted((v, v + 1) for v in x)
    out = [iv[0]]
    for a, b in iv[1:]:
        if a <= out[-1][1]:
            out[-1] = (out[-1][0], max(b, out[-1][1]))
        else:
            out.append((a, b))
    return sum((k + 1) * (b - a) for k, (a, b) in enumerate(out))


def sorted_objects(x):
    it = sorted([Item(v) for v in x[:4]])
    m = max(it, key=lambda i: i.v)
    return it[0].v + 2 * it[1].v + m.v


def exact_sums(x):
    cancelled = math.fsum([1e16, x[1] + 0.3, -1e16] + [v for v in x if v > 0.2])
    return cancelled + math.fsum(v * v for v in x if v > 0.1) + math.fsum(k for k in (0.1, 0.2) if x[0] > 0) + math.fsum(x)


def keys_in_any_order(x):
    table = {}
    for k, v in enumerate(x):
        if v > 0:
            table[float(k)] = v * v
    return max(table, default=-1.0) * x[0] + sum(table) * x[1] + math.fsum(table) * x[2] + (sorted(table)[0] if table else 0.5)


def lower_and_upper_medians(x):
    s = list(x[:4])
    return statistics.median_low(s) + 2 * statistics.median_high(s) + 4 * statistics.median_low(x[:3])


def medians_of_some(x):
    total = 0.0
    for median in (statistics.median, statistics.median_low, statistics.median_high):
        try:
            total = 0.5 * total + median([v for v in x[:3] if v > 0])
        except statistics.StatisticsError as error:
            total = x[3] * len(str(error))
    return total


def by_keys_that_some_are_themselves(x):
    pairs = sorted([(v, k) for k, v in enumerate(x) if v > 0], key=lambda p: p if p[1] % 2 else (p[0], -p[1], 0))
    return sum(k * p[0] * (p[1] + 1) for k, p in enumerate(pairs))


def empties(x):
    w = [v for v in x if v > 9]
    e = []
    t = 0.0
    for f in (max, min):
        for args, named in ((w, {}), (e, {}), (w, {'default': x[0]}), (e, {'default': x[1], 'key': lambda v: v * x[0]}), (w, {'key': abs, 'default': 2.0})):
            try:
                t = 0.5 * t + f(args, **named)
            except ValueError as error:
                t += len(str(error))
    return t


def sorted_by_data(x):
    b = bool(x[0] > 0)
    a = sorted(x[:4], reverse=b)
    w = sorted([v for v in x if v > 0], reverse=b)
    c = sorted(x[:4], key=functools.cmp_to_key(lambda p, q: -1 if p > q else 1 if p < q else 0))
    d = sorted(x[:4], key=functools.cmp_to_key(lambda p, q: p - q))
    l = [v for v in x if v > -1]
    l.sort(reverse=b, key=lambda v: v * v)
    return sum(((k + 1) * v for k, v in enumerate(a + w + c + d + l)))


PROGRAMS = [
    by_keys_that_some_are_themselves,
    exact_sums,
    keys_in_any_order,
    lower_and_upper_medians,
    medians_of_some,
    extremes,
    sorted_tuples,
    map_filter_reduce,
    takewhile_dropwhile,
    accumulated,
    index_and_count,
    compared_tuples,
    floor_ceil_trunc,
    isinstance_of_a_choice,
    statistics_of_lists,
    heap,
    heap_functions,
    bisected,
    insorted,
    groups_of_pairs,
    intervals,
    sorted_objects,
]


def sorted_with_many_ties(x):
    pairs = [(int(abs(v) * 2) % 2, k) for k, v in enumerate([*x, *x, *x, *x])]
    return sum(k * n for k, (_, n) in enumerate(sorted(pairs, key=lambda pair: pair[0]))) * x[0]


def test_iterators_without_an_end_are_left_as_they_are():
    """`groupby` of pairs takes a list only where they are of sequences."""

    def program(x):
        s = 0.0
        for up, group in itertools.groupby(zip(itertools.count(), itertools.cycle([1.0, -1.0])), key=lambda p: p[1] > 0):
            k, v = next(group)
            s += k * v * x[0] if up else x[1]
            if k > 5:
                return s

    assert recordings(program, POINTS[:3]) == 1


Edge = collections.namedtuple("Edge", "length ends name")


def shortest_first(x):
    """Kruskal's edges: tuples of a number and two ints."""
    points = [(math.cos(k * 1.1 + x[0]) * (1 + 0.1 * k), math.sin(k * 2.3 + x[1])) for k in range(8)]
    edges = sorted((math.dist(p, q), i, j) for (i, p), (j, q) in itertools.combinations(enumerate(points), 2))
    return sum((k + i) * length for k, (length, i, j) in enumerate(edges))


def by_several_columns(x):
    """Ints with ties, texts, nested tuples, and numbers."""
    rows = [[int(abs(v) * 2) % 3, "cab"[k % 3], (k % 2 == 0, v), k] for k, v in enumerate([*x, *-x, *x[::-1], *(x * 2), *(x + 1)])]
    rows.sort()
    down = sorted(map(tuple, rows), reverse=True)
    return sum((k + 1) * row[3] * row[2][1] for k, row in enumerate(rows)) + sum(k * row[3] * x[0] for k, row in enumerate(down))


def named_by_key(x):
    edges = [Edge(v * w, (i, -j), "ab"[i % 2]) for i, v in enumerate(x) for j, w in enumerate(x)]
    edges.sort(key=lambda edge: (edge.name, -edge.length, edge.ends))
    return sum(k * edge.length + edge.ends[1] * x[0] for k, edge in enumerate(edges))


def some_of_many(x):
    rows = [(int(v * 2), k) for k, v in enumerate([*x, *-x, *(2 * x), *(x - 1), *(x + 1)]) if v > -0.5]
    return sum(k * n * x[1] for k, (_, n) in enumerate(sorted(rows)))


@pytest.mark.parametrize("program", [shortest_first, by_several_columns, named_by_key, some_of_many])
def test_many_tuples_are_in_the_order_of_their_entries(program):
    assert recordings(program, POINTS[:12]) == 1


def test_many_equal_entries_stay_in_order():
    """Of NumPy's, only a stable sort does that beyond 16 of them."""
    assert recordings(sorted_with_many_ties) == 1


def test_builtins_of_nothing_and_orders_that_data_decide():
    """What raises an error does so with the same text."""
    assert recordings(empties) == 1
    recordings(sorted_by_data)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_one_tape_holds_all_paths(program):
    """Comparisons within a builtin merge like the user's own."""
    assert recordings(program) == 1


def test_products_of_more_entries_than_can_be_combined_are_guards():
    """Each tuple has as many entries as `repeat` says."""

    def f(x):
        positive = [v for v in x if v > 0]
        return sum(map(sum, itertools.product(positive, repeat=3)))

    assert recordings(f, POINTS[:6]) > 1


class Keyed:
    """A mapping that is no dict."""

    def __init__(self, x):
        self.x = x

    def keys(self):
        return [1, 2]

    def __getitem__(self, key):
        return self.x[key]


def test_a_dict_of_a_mapping_takes_no_guard():
    """A dict, or an object that has keys."""

    def f(x):
        chosen = dict({1: x[0], 2: x[1]} if x[0] > 0 else {1: x[2]})
        return sum(chosen.values()) + sum(dict(Keyed(x)).values())

    assert recordings(f) == 1


def test_sums_of_a_choice_of_sequences_take_no_guard():
    """Tuples and arrays of two lengths."""

    def f(x):
        pair = (x[0],) if x[0] > 0 else (x[1], x[2])
        array = np.array([x[0]]) if x[1] > 0 else np.array([x[1], x[2]])
        joined, added = sum([pair], ()), sum([array, array])
        return sum(joined) * len(joined) + sum(added) * len(added)

    assert recordings(f) == 1


def test_texts_of_plain_values_are_pythons():
    """Also in a function of data."""
    assert recordings(lambda x: (x[0] if x[1] > 0 else x[2]) * len(repr([1, 2]))) == 1


def test_arguments_that_are_given_by_name_only_to_a_program_are_errors():
    """With the builtin's text: the position of `pop` has no name."""

    def f(x):
        positive = [v for v in x if v > 0]
        try:
            positive.pop(position=0)
        except TypeError as error:
            return x[0] * len(str(error))
        return x[1]

    assert recordings(f) == 1


def test_the_last_entry_of_nothing_is_an_error_of_its_container():
    """Lists and deques have their own texts."""

    def f(x):
        few, queue, s = [v for v in x if v > 0 and v > 100], collections.deque([v for v in x if v > 100]), 0.0
        try:
            queue.pop()
        except IndexError as error:
            s += len(str(error))
        try:
            few.pop(-1)
        except IndexError as error:
            s += len(str(error))
        return x[0] * s

    assert recordings(f) == 1


def test_a_method_with_effects_is_called_with_one_of_two_texts():
    """A guard decides which."""

    def f(x):
        stream = io.StringIO()
        stream.write("a" if x[0] > 0 else "bc")
        return x[1] * len(stream.getvalue())

    assert recordings(f) == 2


def test_sorting_is_stable_and_asks_for_each_key_once():
    """Keys are computed in order; equal entries stay as they were, also in reverse."""

    def f():
        asked = []

        def key(pair):
            asked.append(pair)
            return pair[0]

        pairs = [(k * 7 % 4, k) for k in range(12)]
        found = [sorted(pairs, key=key), sorted(pairs, key=key, reverse=True), max(pairs, key=key), min(pairs, key=key)]
        pairs.sort(key=key)
        return asked, found, pairs

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_builtins_without_data_are_pythons():
    """Values, types and errors."""

    def outcome(run):
        try:
            result = run()
        except Exception as error:  # noqa: BLE001 -- compared
            return type(error), str(error)
        return type(result), result

    def f():
        heap = [5, 3, 8]
        heapq.heapify(heap)
        itself = []
        itself.append(itself)
        runs = [
            lambda: max([]), lambda: max(1, 2.0), lambda: min([], default=3), lambda: max(), lambda: sum([0.1] * 10), lambda: sum(["a"]),
            lambda: sorted([3, 1], reverse=1), lambda: sorted([3, "a"]), lambda: [].pop(), lambda: [1].index(2), lambda: {}.pop("a"),
            lambda: list(map(lambda a, b: a + b, [1, 2], [3, 4])), lambda: functools.reduce(lambda a, b: a + b, []),
            lambda: heapq.heappop(heap), lambda: heapq.heappop([]), lambda: bisect.bisect([1, 2, 3], 2), lambda: next(iter([])),
            lambda: int("12", 16), lambda: int(2.7), lambda: round(2.675, 2), lambda: round(2.5), lambda: bool([]), lambda: float("nan") != 0,
            lambda: collections.Counter("abca").most_common(1), lambda: statistics.mean([1, 2, 4]), lambda: (1, "a") < (1, "b"),
            lambda: list(itertools.accumulate([1, 2, 3], initial=5)), lambda: [(k, list(g)) for k, g in itertools.groupby("aab")],
            lambda: list(zip([1, 2], [3], strict=True)), lambda: {"a": 1}.setdefault("b", []), lambda: len(5), lambda: sum([1], start=2), lambda: any(itself),
        ]  # fmt: skip
        return [outcome(run) for run in runs]

    ours, pythons = translated_result(f)
    assert ours == pythons


def test_ties_of_objects_stay_in_order():
    """Stable, where data decide which objects are equal."""

    def f(x):
        items = [(v > 0, k) for k, v in enumerate(x)]
        ordered = sorted(items, key=lambda item: item[0])
        return sum((place + 1) * item[1] for place, item in enumerate(ordered)) * x[0]

    assert recordings(f) == 1


def test_errors_of_data_are_raised_where_they_are():
    """A list that is empty on one path."""

    def f(x):
        return max(v for v in x if v > 3)

    with pytest.raises(ValueError, match="empty"):
        recordings(f)


def test_an_int_of_nan_is_an_error():
    """As in Python."""
    import numpy as np

    import tapediff as td
    from tapediff.flow import flowed

    g = td.GuardedTape(flowed(lambda x: int(x[0]) * x[0]), merge=False)
    assert g(np.array([2.5])) == 5.0
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        g(np.array([np.nan]))
    assert math.isclose(g(np.array([-2.5])), 5.0)


def zero_or_one(v):
    return 1.0 if v > 0.2 else 0.0


def divides(x):
    try:
        return operator.truediv(1.0, zero_or_one(x[0])) * x[1]
    except ZeroDivisionError:
        return x[2]


def reduces(x):
    product = functools.reduce(operator.mul, [v if v > 0 else 1 for v in x])
    return product * x[0] + functools.reduce(operator.add, [bool(v > 0) for v in x]) * x[1] + sum(map(operator.sub, x, x[::-1]))


def of_a_table(x):
    operators = {"add": operator.add, "subtract": operator.sub, "compare": operator.lt}
    return operators["add" if x[0] > 0 else "subtract"](x[1], x[2]) + operators["compare"](x[3], x[4]) * x[5]


def of_lists(x):
    a, b = [x[0]] if x[1] > 0 else [x[0], x[2]], [1.0, 2.0]
    c = b
    if x[0] > 0:
        c = operator.iadd(c, [3.0])
        operator.setitem(b, 0, x[3])
    return sum(operator.add(a, [x[3]])) * len(b) + c[0] * operator.getitem([x[0], x[1]], int(x[2] > 0))


@pytest.mark.parametrize("f", [divides, reduces, of_a_table, of_lists], ids=lambda f: f.__name__)
def test_functions_of_the_operator_module_are_operators(f):
    assert recordings(f) == 1


def weighed(found):
    """One number for what a builtin gives: of its items in their order."""
    if found is None:
        return 0.3
    if isinstance(found, (int, float, np.floating, np.bool_)):
        return 1.0 * found
    total = 0.5
    for item in found.items() if isinstance(found, dict) else sorted(found) if isinstance(found, (set, frozenset)) else found:
        total = 0.7 * total + weighed(item)
    return total

def raised(f, *args, **named):
    try:
        return f(*args, **named)
    except (ValueError, TypeError, IndexError, StopIteration):
        return (7.0,)

def changed(f, holder, *args):
    """What a function gives and leaves of its first argument."""
    return raised(f, holder, *args), holder


# a holds entries that are there by data, n such ints, b as many numbers as there are.
CALLS = {
    "sum": lambda a, n, b: (sum(a), sum(a, 0.5), sum(n), sum(b)),
    "prod": lambda a, n, b: (math.prod(a), math.prod(n, start=2), math.prod(b, start=0.5)),
    "fsum": lambda a, n, b: (math.fsum(a), math.fsum(n), math.fsum(b)),
    "any": lambda a, n, b: (any(a), any(n), any(v > 1 for v in b), any([v > 1 for v in a]), any([])),
    "all": lambda a, n, b: (all(a), all(n), all(v > -1 for v in b), all([v < 1 for v in a]), all([])),
    "max": lambda a, n, b: (raised(max, a), max(n, default=-3), max(b, key=abs), max(a, key=lambda v: -v, default=0.5), max(b[0], b[1], 0.3), raised(max, [])),
    "min": lambda a, n, b: (raised(min, a), min(n, default=-3), min(b, key=abs), min(a, key=lambda v: -v, default=0.5), min(b[0], b[1], 0.3), raised(min, [])),
    "reduce": lambda a, n, b: (raised(functools.reduce, lambda t, v: t / 2 + v, a), functools.reduce(lambda t, v: 3 - t + v, n, 2)),
    "sorted": lambda a, n, b: (sorted(a), sorted(n, reverse=True), sorted(b, key=abs), sorted(a, key=lambda v: -v * v)),
    "len": lambda a, n, b: (len(a), len(n), len(b)),
    "range": lambda a, n, b: [list(found) for found in (range(len(a)), range(len(n), -1, -1), range(len(a), 9, 2))],
    "bool": lambda a, n, b: (bool(a), bool(n), bool(b[0] > 0), not a),
    "list": lambda a, n, b: (list(a), list(v for v in n), list(b)),
    "tuple": lambda a, n, b: (tuple(a), tuple(v for v in n), tuple(b)),
    "set": lambda a, n, b: (set(n), frozenset(n), len(set(n)), 1 in set(n)),
    "dict": lambda a, n, b: (dict(zip(range(3), b)), dict((k, v) for k, v in enumerate(b) if v > 0), dict.fromkeys(n, 2.0)),
    "reversed": lambda a, n, b: [list(found) for found in (reversed(a), reversed(n), reversed(b))],
    "Counter": lambda a, n, b: (collections.Counter(n), collections.Counter(v > 0 for v in b)[True], sum(collections.Counter(n).values())),
    "next": lambda a, n, b: (next(iter(a), 0.1), next((v for v in b if v > 1), 4.0), raised(lambda: next(v for v in n if v > 0)), next(iter(n), None)),
    "zip": lambda a, n, b: [list(found) for found in (zip(a, b), zip(n, a), zip(b, range(3)), raised(lambda: list(zip(a, n, strict=True))))],
    "enumerate": lambda a, n, b: [list(found) for found in (enumerate(a), enumerate(n, 3), enumerate(v for v in b if v < 1))],
    "map": lambda a, n, b: [list(found) for found in (map(abs, a), map(operator.neg, n), map(lambda v: v * v, (v for v in b if v > 0)), map(operator.add, a, b))],
    "filter": lambda a, n, b: [list(found) for found in (filter(None, n), filter(lambda v: v < 1, a), filter(lambda v: v < 1, b))],
    "filterfalse": lambda a, n, b: [list(found) for found in (itertools.filterfalse(None, n), itertools.filterfalse(lambda v: v < 1, a), itertools.filterfalse(lambda v: v < 1, b))],
    "takewhile": lambda a, n, b: [list(found) for found in (itertools.takewhile(lambda v: v < 1, a), itertools.takewhile(lambda v: v != 1, n), itertools.takewhile(lambda v: v < 1, b))],
    "dropwhile": lambda a, n, b: [list(found) for found in (itertools.dropwhile(lambda v: v < 1, a), itertools.dropwhile(lambda v: v != 1, n), itertools.dropwhile(lambda v: v < 1, b))],
    "starmap": lambda a, n, b: [list(found) for found in (itertools.starmap(operator.sub, [(v, 2 * v) for v in a]), itertools.starmap(operator.sub, ((v, w) for v, w in itertools.pairwise(b) if v > w)))],
    "islice": lambda a, n, b: [list(found) for found in (itertools.islice(a, 2), itertools.islice(n, 1, None), itertools.islice((v for v in b if v > 0), 0, 3, 2), itertools.islice(b, 1, 3))],
    "chain": lambda a, n, b: [list(found) for found in (itertools.chain(a, n), itertools.chain(b, a), itertools.chain.from_iterable([a, b]), itertools.chain.from_iterable([v, 2 * v] for v in a))],
    "pairwise": lambda a, n, b: [list(found) for found in (itertools.pairwise(a), itertools.pairwise(b))],
    "accumulate": lambda a, n, b: [list(found) for found in (itertools.accumulate(a), itertools.accumulate(b, max), itertools.accumulate(n, lambda t, v: 2 * t - v, initial=1))],
    "combinations": lambda a, n, b: [list(found) for found in (itertools.combinations(a, 2), itertools.combinations(b[:3], 2), itertools.combinations(n, 1))],
    "permutations": lambda a, n, b: [list(found) for found in (itertools.permutations(a[:2]), itertools.permutations(n[:3], 2))],
    "product": lambda a, n, b: [list(found) for found in (itertools.product(a, n), itertools.product(n[:2], a[:2], (2, 3)), itertools.product(a[:3], repeat=2), itertools.product(b, range(2)), itertools.product(a, repeat=0))],
    "groupby": lambda a, n, b: ([(k, list(g)) for k, g in itertools.groupby(n)], [(k, sum(g)) for k, g in itertools.groupby(a, key=lambda v: v > 0.7)], [(k, len(list(g))) for k, g in itertools.groupby(b, key=lambda v: v > 0)]),
    "heappush": lambda a, n, b: (changed(heapq.heappush, sorted(a), b[0]), changed(heapq.heappush, sorted(n), 1)),
    "heappop": lambda a, n, b: (changed(heapq.heappop, sorted(a)), changed(heapq.heappop, sorted(b))),
    "heapreplace": lambda a, n, b: (changed(heapq.heapreplace, sorted(a), b[0]), changed(heapq.heapreplace, sorted(b), 0.4)),
    "heappushpop": lambda a, n, b: (changed(heapq.heappushpop, sorted(a), b[0]), changed(heapq.heappushpop, sorted(b), 0.4)),
    "heapify": lambda a, n, b: (changed(heapq.heapify, list(b)), changed(heapq.heapify, list(n))),
    "nlargest": lambda a, n, b: (heapq.nlargest(2, a), heapq.nlargest(2, b, key=abs), heapq.nlargest(1, n)),
    "nsmallest": lambda a, n, b: (heapq.nsmallest(2, a), heapq.nsmallest(2, b, key=abs), heapq.nsmallest(1, n)),
    "bisect": lambda a, n, b: (bisect.bisect_left(sorted(n), 1), bisect.bisect_right(sorted(n), 1), bisect.bisect(sorted(b), b[2]), bisect.bisect(sorted(b), 0.2, 1, 3), bisect.bisect([3, 1, -1], b[0], key=lambda v: -v)),
    "insort": lambda a, n, b: (changed(bisect.insort, sorted(a), b[0]), changed(bisect.insort_left, sorted(b), 0.3)),
    "divmod": lambda a, n, b: [divmod(v, 3) for v in n] + [divmod(v, 0.7) for v in b],
    "pow": lambda a, n, b: [pow(v, 2) for v in n] + [pow(abs(v), 1.5) for v in b],
    "int": lambda a, n, b: ([int(v) for v in a], [math.trunc(3 * v) for v in b], [int(v) for v in n]),
    "float": lambda a, n, b: ([float(v) for v in n], [float(v > 0) for v in b]),
    "round": lambda a, n, b: ([round(2 * v) for v in b], [round(v, 1) for v in b], [round(v) for v in n]),
    "floor": lambda a, n, b: ([math.floor(2 * v) for v in b], [math.ceil(2 * v) for v in a], [math.floor(v) for v in n]),
    "merge": lambda a, n, b: (list(heapq.merge(sorted(a), sorted(b))), list(heapq.merge(sorted(b, key=abs), [0.1], key=abs))),
    "mode": lambda a, n, b: (raised(statistics.mode, n), statistics.multimode([round(v) for v in b]), statistics.mode([v > 0 for v in b])),
    "mean": lambda a, n, b: (raised(statistics.mean, a), statistics.fmean(b), raised(statistics.mean, n)),
    "median": lambda a, n, b: (raised(statistics.median, a), statistics.median_low(b), raised(statistics.median_high, n)),
    "variance": lambda a, n, b: (raised(statistics.variance, a), statistics.pvariance(b), raised(statistics.stdev, [*n, 9]), raised(statistics.pstdev, [*a, 9.0])),
    "isinstance": lambda a, n, b: [isinstance(v, int) for v in n] + [isinstance(v, (int, str)) for v in a] + [type(v) is int for v in n],
}
# Those of which guards decide something: ints that may be too large, or what entries a set and an iterator have.
BY_GUARDS = {"prod", "any", "set", "next", "zip", "map", "permutations", "groupby"}


@pytest.mark.parametrize("name", CALLS)
def test_builtins_give_the_same_for_entries_that_data_decide(name):
    """One tape for all points, or one for each."""

    def f(x):
        a = [v for v in x[:4] if v > 0.2]
        n = [math.floor(2 * v) for v in x[2:] if v > -0.6]
        return weighed(CALLS[name](a, n, [*x[:3], 0.5])) + x[0]

    assert recordings(f, POINTS[:10]) == 1 or name in BY_GUARDS
