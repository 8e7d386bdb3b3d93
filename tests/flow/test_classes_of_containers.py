"""Lists of classes of the user's, with one method of Python's replaced, whose length data decide: as Python asks them, and on sides as well."""

from __future__ import annotations

import numpy as np
import pytest

import tapediff as td
from tests.random_programs.branching import function_of

METHODS = """\
def __len__(self): return 100 + super().__len__()
def __contains__(self, v): return not super().__contains__(v)
def __iter__(self): return reversed(list(super().__iter__()))
def __iter__(self): yield from [v * 2 for v in list.copy(self)]
def __bool__(self): return super().__len__() > 2
def __getitem__(self, k): return super().__getitem__(k) if type(k) is slice else super().__getitem__(k) * 2
def __add__(self, other): return [0.5] + list(self) + list(other)
def __iadd__(self, other): super().extend(other); return self
def __eq__(self, other): return len(self) == len(other)
def __reversed__(self): return iter([1.0, 2.0])
def pop(self, *at): return super().pop(*at) * 3
def insert(self, k, v): super().insert(k, v + 1)
def index(self, v): return super().index(v) + 10
def sort(self): super().sort(reverse=True)
def extend(self, other): super().extend([v * 2 for v in other])
def append(self, v): super().append(v * 2)
def clear(self): super().clear(); super().append(4.0)""".splitlines()

USES = """\
len(l)
(x[0] in l) + (0.1 in l)
sum(i * v for i, v in enumerate(l))
sum(l) + max(l) - min(l)
1.0 if l else x[1]
l.pop() + l.pop(0) + len(l)
l.insert(near(x[1]), x[2]) or sum(i * v for i, v in enumerate(l))
l.index(x[0])
l.sort() or sum(i * v for i, v in enumerate(l))
l.extend([x[1]]) or sum(l)
sorted(l)[0] + list(l)[0] + tuple(l)[1]
sum(l[1:]) + l[-1] + l[0]
next(iter(reversed(l)))
(l == [0.5, x[0]]) + (l < [0.6])
max(*l) + (lambda a, *b: a + len(b))(*l)
sum(a * b for a, b in zip(l, x))
sum(l + [x[1]]) + sum(v * v for v in l)
sum(map(abs, l)) + all(l)
l.clear() or sum(l)""".splitlines()

POINTS = [*np.random.default_rng(5).normal(size=(10, 5)), -np.ones(5)]

PROGRAM = """
def near(v):
    return min(3, max(0, int(v * 2 + 1)))


class Own(list):
    {method}


def f(x):
    l = Own([0.5, x[0]])
    for v in x:
        if v > 0:
            l.append(v)
    return ({use}) + 0 * x[0]
"""


@pytest.mark.parametrize("method", METHODS)
def test_containers_are_what_their_classes_say(method):
    """Values at all points, whatever the number of recordings."""
    for use in USES:
        f = function_of(PROGRAM.format(method=method, use=use))
        guarded = td.GuardedTape(f, on_new_tape="interpret", compile_after=1000)
        for x in POINTS:
            assert guarded(x) == pytest.approx(f(x.copy()), rel=1e-12), use
