"""Lists whose length is data, and dicts whose keys are."""

from __future__ import annotations

import collections
import itertools

import numpy as np
import pytest

from flow.one_tape import recordings


def key(v):
    return "a" if v > 0.5 else "b" if v > -0.5 else "c"


def comprehensions(x):
    return sum([v * 2 for v in x if v > 0]) + len([v for v in x if v > 1])


def appended_on_one_side(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    s = 0.0
    for i, v in enumerate(out):
        s += i * v
    if out:
        s += 10 * out[-1] + 3 * out[0]
    return s + len(out)


def sorted_positives(x):
    y = sorted(v for v in x if v > 0)
    return sum(k * v for k, v in enumerate(y)) + (y[0] if y else 0.0)


def stack(x):
    st = []
    for v in x:
        if v > 0:
            st.append(v)
        elif st:
            st.pop()
    return sum(st) + (st[-1] if st else 1.0)


def added_and_zipped(x):
    pos = [v for v in x if v > 0]
    neg = [v for v in x if v <= 0]
    both = pos + neg
    return sum(a * b for a, b in zip(both, x)) + sum(p * q for p, q in zip(pos, neg))


def unpacked_and_sliced(x):
    pos = [v for v in x if v > 0]
    if len(pos) == 2:
        a, b = pos
        return a - b
    if len(pos) > 2:
        return sum(pos[1:-1]) + pos[1]
    return 0.25 * x[1]


def pairs(x):
    s = 0.0
    for a, b in itertools.pairwise([v for v in x if v > 0]):
        s += abs(a - b) * a
    for a, b in itertools.combinations([v for v in x if v > 0], 2):
        s += a * b
    return s


def lists_of_lists(x):
    groups = []
    for v in x:
        if groups and abs(groups[-1][-1] - v) < 1:
            groups[-1].append(v)
        else:
            groups.append([v])
    return sum(len(g) * max(g) for g in groups)


def lists_by_sign(x):
    d = collections.defaultdict(list)
    for v in x:
        d["pos" if v > 0 else "neg"].append(v)
    return sum(d["pos"]) + 2 * len(d["neg"])


def dict_of_positives(x):
    d = {}
    for i, v in enumerate(x):
        if v > 0:
            d[i] = v
    return sum(d.values()) + d.get(0, 5.0) + (3 if 1 in d else 2) + len(d)


def defaultdict_of_floats(x):
    d = collections.defaultdict(float)
    for v in x:
        if v > 0:
            d["a"] += v
        else:
            d["b"] += 1
    return d["a"] + sum(k * 2 for k in d.values()) + len(d)


def positions_up_to_the_length(x):
    out = [v for v in x if v > 0]
    s = 0.0
    for i in range(len(out)):
        s += (i + 1) * out[i]
    for i in range(1, len(out)):
        s += (i + 1) * abs(out[i] - out[i - 1])
    return s


def displays_with_stars(x):
    out = [v for v in x if v > 0]
    a = [*out, 1.0]
    b = (2.0, *out)
    return sum(a) * 2 + max(b) + len(a) * len(b)


def queue(x):
    q = collections.deque(x[:3])
    s = 0.0
    for v in x:
        if v > 0:
            q.append(v)
        else:
            s += q.popleft() if q else 0.0
    return s + sum(q) + len(q)


def setdefault_by_class(x):
    d = {}
    for v in x:
        k = "a" if v > 0.5 else "b" if v > -0.5 else "c"
        d.setdefault(k, []).append(v)
    return sum(len(g) * sum(g) for g in d.values()) + (d["a"][0] if "a" in d else 0.0)


def counts_in_order(x):
    d = {}
    for v in x:
        k = "a" if v > 0.5 else "b" if v > -0.5 else "c"
        d[k] = d.get(k, 0) + 1
    s = 0
    for i, (_, n) in enumerate(d.items()):
        s += (i + 1) * n
    return s * x[0]


def equal_lists(x):
    a = [v for v in x if v > 0]
    b = [v for v in x if v > 1]
    return (1.0 if a == b else 2.0) * x[0] + (3.0 if a else 4.0) * x[1] + (5 if not b else 6) * x[2]


def last_two(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
            if len(out) > 2:
                out.pop(0)
    return sum(k * v for k, v in enumerate(out))


def list_that_is_chosen(x):
    pos, neg = [], []
    for v in x:
        (pos if v > 0 else neg).append(v)
    return sum(pos) * len(neg) + (max(neg) if neg else 0.0)


def counts_by_class(x):
    d = {}
    for v in x[:2]:
        k = key(v)
        d[k] = d.get(k, 0) + 1
    return (d.get("a", 0) + 10 * d.get("b", 0) + 100 * d.get("c", 0)) * x[0]


def positions_from_the_end(x):
    s = [v for v in x if v > 0] + [1.0, x[0], x[1]]
    k = -1 if x[2] > 0 else -3
    for v in x[:2]:
        if v > 0.5:
            k += 1 if k < -1 else -1
    y = s[k] * 2 + s[-2]
    s[k] = x[3] * x[4]
    return y + sum(i * v for i, v in enumerate(s))


def last_positives(x):
    last = collections.deque([v for v in x if v > 0], 2)
    return sum(k * v for k, v in enumerate(last)) + len(last)


def removed_where_there(x):
    left = [0, 1, 2, 3]
    for v in x:
        k = min(4, max(0, int(v * 2 + 1)))
        if k in left:
            left.remove(k)
    return (10.0 if 1 in left else 0.0) + sum(left) * x[0] + len(left)


def chosen_key_of_keys_by_data(x):
    count = {int(x[0]): 1.0}
    key = 1 if x[1] > 0 else 0
    count[key] = count.get(key, 0.0) + 2.0
    return count.get(0, 0.0) * x[2] + count.get(1, 0.0) * x[3]


PROGRAMS = [
    last_positives,
    removed_where_there,
    chosen_key_of_keys_by_data,
    positions_from_the_end,
    comprehensions,
    appended_on_one_side,
    sorted_positives,
    stack,
    added_and_zipped,
    unpacked_and_sliced,
    pairs,
    lists_of_lists,
    lists_by_sign,
    dict_of_positives,
    defaultdict_of_floats,
    positions_up_to_the_length,
    displays_with_stars,
    queue,
    setdefault_by_class,
    counts_in_order,
    equal_lists,
    last_two,
    list_that_is_chosen,
    counts_by_class,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_all_lengths(program):
    """Entries are there by data."""
    assert recordings(program) == 1


def given_to_numpy(x):
    positive = [v for v in x if v > 0]
    return np.sum(np.array(positive) ** 2) if positive else x[0]


def given_to_a_call(x):
    positive = [v for v in x if v > 0]
    named = {}
    if x[0] > 0:
        named["default"] = 2.0
    return max(*positive, 0.1, 0.2) + len(named) + len(dict(**named))


def changed_by_position(x):
    positive = [v for v in x if v > 0]
    positive.sort(reverse=True)
    positive.insert(0, 9.0)
    positive.reverse()
    del positive[-1]
    other = positive.copy()
    if other:
        other[0] = 3.0
    return sum(k * v for k, v in enumerate(positive)) + sum(other)


def sets(x):
    found = set()
    for v in x:
        if v > 0:
            found.add("positive")
        elif v < -1:
            found.add("small")
    return len(found) * x[0]


@pytest.mark.parametrize(
    "program", [given_to_numpy, given_to_a_call, changed_by_position, sets], ids=lambda f: f.__name__
)
def test_other_code_is_given_what_is_there(program):
    """Guards tell which entries these are; the answers are right."""
    assert recordings(program) >= 1
