"""Lists whose length is data, and dicts whose keys are."""

from __future__ import annotations

import collections
import itertools

import pytest

from flow.one_tape import recordings


def key(v):
    return "a" if v > 0.5 else "b" if v > -0.5 else "c"


def added_and_zipped(x):
    pos = [v for v in x if v > 0]
    neg = [v for v in x if v <= 0]
    both = pos + neg
    return sum(a * b for a, b in zip(both, x)) + sum(p * q for p, q in zip(pos, neg))


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


def equal_lists(x):
    a = [v for v in x if v > 0]
    b = [v for v in x if v > 1]
    return (1.0 if a == b else 2.0) * x[0] + (3.0 if a else 4.0) * x[1] + (5 if not b else 6) * x[2]


def list_that_is_chosen(x):
    pos, neg = [], []
    for v in x:
        (pos if v > 0 else neg).append(v)
    return sum(pos) * len(neg) + (max(neg) if neg else 0.0)


def last_positives(x):
    last = collections.deque([v for v in x if v > 0], 2)
    return sum(k * v for k, v in enumerate(last)) + len(last)


def chosen_key_of_keys_by_data(x):
    count = {int(x[0]): 1.0}
    key = 1 if x[1] > 0 else 0
    count[key] = count.get(key, 0.0) + 2.0
    return count.get(0, 0.0) * x[2] + count.get(1, 0.0) * x[3]


PROGRAMS = [
    last_positives,
    chosen_key_of_keys_by_data,
    added_and_zipped,
    pairs,
    lists_of_lists,
    lists_by_sign,
    displays_with_stars,
    queue,
    equal_lists,
    list_that_is_chosen,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_tape_holds_all_lengths(program):
    """Entries are there by data."""
    assert recordings(program) == 1


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


@pytest.mark.parametrize(
    "program", [given_to_a_call, changed_by_position], ids=lambda f: f.__name__
)
def test_other_code_is_given_what_is_there(program):
    """Guards tell which entries these are; the answers are right."""
    assert recordings(program) >= 1
