"""Dicts that branches on data have changed: whatever reads or changes one finds Python's keys, in Python's order."""

from __future__ import annotations

import linecache
import random
from collections import Counter, OrderedDict

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings


def weighed(keys, x):
    return sum((k + 1) * (key + 1) * x[2] for k, key in enumerate(keys))


def united_in_place(x):
    found = {0: x[1], 5: 1.0}
    found |= {(2 if x[0] > 0 else 5): x[1]}
    return len(found) * x[0] + weighed(found, x)


def united_with_a_dict_that_has_some(x):
    found, other = {3: 4.0}, {5: x[1]}
    if x[0] > 0:
        other[2] = x[1]
    found |= other
    return len(found) * x[0] + weighed(found, x)


def backwards(x):
    found = {3: 1.0}
    if x[1] > 0:
        found[6 if x[0] > 0 else 8] = x[0]
    else:
        found = found.copy()
    return weighed(reversed(found), x) + weighed(dict(reversed(found.items())), x)


def moved_then_set(x):
    """An OrderedDict's order is not that of its hash table."""
    found = OrderedDict([(4, x[0]), (2, 2.0), (1, 2.0)])
    found.move_to_end(1, last=False)
    found[int(abs(x[1]) * 3)] = x[2]
    return weighed(found, x) + sum(value * (k + 1) for k, value in enumerate(found.values()))


def compared_with_a_counter(x):
    """Counter's own comparison leaves those with dicts to dict."""
    counts = Counter({2: 1})
    if x[0] > 0.2:
        counts.popitem()
    if x[1] > 0.2:
        counts[1] = 0
    same = [counts == other for other in ({}, {2: 1}, Counter({2: 1}))] + [other != counts for other in ({}, {2: 1}, Counter({2: 1}))]
    return sum((k + 1) * is_same * x[2] for k, is_same in enumerate(same))


@pytest.mark.parametrize(
    ("program", "paths"), [(compared_with_a_counter, 4), (united_in_place, 1), (united_with_a_dict_that_has_some, 1), (backwards, 3), (moved_then_set, 1)]
)
def test_orders_of_dicts(program, paths):
    assert recordings(program) == paths


MADE = ["{{}}", "dict([{0}])", "OrderedDict([{0}])", "Counter(dict([{0}]))", "defaultdict(float, [{0}])"]
CHANGES = [
    "{d}[{k}] = {v}", "{d}[{k}] = {v}", "{d}.pop({k}, None)", "{d}.setdefault({k}, {v})", "{d}.update({e})", "{d}.update({{{k}: {v}}})", "{d} |= {{{k}: {v}}}",
    "if {d}: {d}.popitem()", "if {k} in {d}: del {d}[{k}]", "{d} = {{a: b for a, b in {d}.items() if a != {k}}}", "{d} = dict(sorted({d}.items()))",
    "{d} = dict(reversed({d}.items()))", "{d} = {d}.copy()", "{d} = {{**{e}, **{d}}}", "if {d}: {d}.pop(next(reversed({d})))", "{d} = copy.copy({d})",
    "for a in list({d}): {d}[a] = {d}.pop(a) * 1.1 if a % 2 else {d}[a]", "{d} = dict.fromkeys({e}, {v})", "if {k} in {d}: {d}[1] = {d}.pop({k})", "{d}.clear()",
    "if {k} in {d} and isinstance({d}, OrderedDict): {d}.move_to_end({k}, last={f})", "if isinstance({d}, (Counter, defaultdict)): {d}[{k}] += {v}",
]  # fmt: skip
READS = [
    "for k, a in enumerate({d}): r += (k + 1) * a * x[1]", "for k, a in enumerate(reversed({d})): r += (k + 1) * a * x[0]", "if {d}: r += next(iter({d})) * x[0]",
    "if {d}: r += list({d})[-1] * x[1]", "for a, b in zip({d}, {e}): r += a * x[0] - b * x[1]", "if {d}: r += max({d}, key=lambda a: a % 3) * x[0]",
    "r += x[0] if list({d}) == sorted({d}) else x[1]", "r += x[0] if {d} == {e} else 2 * x[0]", "if len({d}) > 1: a, b, *_ = {d}; r += a * x[0] + 2 * b * x[1]",
    "r += functools.reduce(lambda u, a: u * 0.5 + a, {d}, 0.0) * x[0]", "r += (lambda *z: sum((k + 1) * a for k, a in enumerate(z)))(*{d}) * x[1]",
    "r += sum((k + 1) * ord(c) for k, c in enumerate(''.join(map(str, {d})))) * x[0]", "for k, a in enumerate(itertools.chain({d}, {e})): r += (k + 1) * a * x[0]",
    "for k, (a, b) in enumerate(sorted({d}.items(), key=lambda t: t[0] % 2)): r += (k + 1) * b * a",
]  # fmt: skip


def random_program(seed):
    """A program that changes two dicts, partly in branches and by keys that data decide, and reads them in their orders."""
    pick = random.Random(seed)
    lines = ["import copy, functools, itertools", "from collections import Counter, OrderedDict, defaultdict", "def f(x):", "    r = 0.0"]

    def value():
        return pick.choice(["x[0]", "x[1] * 2", "1.0", "x[0] * x[1] + 1", "3"])

    def key():
        number = pick.randrange(6)
        return pick.choice([str(number), str(number), f"({number} if x[0] > {pick.uniform(-1, 1):.2f} else {pick.randrange(6)})", "int(abs(x[1]) * 5)"])

    def statement(kinds):
        one, other = pick.sample("de", 2)
        return pick.choice(kinds).format(d=one, e=other, k=key(), v=value(), f=pick.choice([True, False]))

    for name in "de":
        items = ", ".join(f"({k}, {value()})" for k in pick.sample(range(6), pick.randrange(4)))
        lines.append(f"    {name} = " + pick.choice(MADE).format(items))
    for _ in range(pick.randrange(3, 9)):
        if pick.random() < 0.5:
            lines.append(f"    if x[{pick.randrange(2)}] > {pick.uniform(-1, 1):.2f}:")
            lines += [f"        {statement(CHANGES)}" for _ in range(pick.randrange(1, 4))]
        lines.append(f"    {statement(CHANGES if pick.random() < 0.6 else READS)}")
    return "\n".join([*lines, f"    {statement(READS)}", "    return r + sum((k + 1) * a * b for k, (a, b) in enumerate(d.items())) + len(e)"]) + "\n"


@pytest.mark.parametrize("first", range(0, 80, 10))
def test_random_programs_have_pythons_order(first):
    for seed in range(first, first + 10):
        text, file, names = random_program(seed), f"<dicts {seed}>", {}
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec"), names)
        tape = td.GuardedTape(names["f"], on_new_tape="interpret", compile_after=1000, max_tapes=1000)
        for p in POINTS[:6]:
            try:
                expected = names["f"](p)
            except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
                with pytest.raises(type(error)):
                    tape(p)
                continue
            assert np.isclose(tape(p), expected, rtol=1e-12), f"seed {seed}"
