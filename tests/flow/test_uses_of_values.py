"""Containers, objects and numbers that depend on data, in all that Python code and builtins do with a value."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import json
import linecache
import operator
import pprint
import string
import types

import numpy as np
import pytest

import tapediff as td

MAKERS = {
    "a list": "c = [k + 1 for k, v in enumerate(x) if v > 0]",
    "a longer or shorter list": "c = [7]\nfor v in x:\n    if v > 0: c.append(2)\n    elif len(c) > 1: c.pop()",
    "a tuple": "c = tuple(k for k, v in enumerate(x) if v > 0)",
    "a dict": "c = {}\nfor k, v in enumerate(x):\n    if v > 0: c[k] = k + 1",
    "a set": "c = {k for k, v in enumerate(x) if v > 0}",
    "a deque": "c = collections.deque()\nfor k, v in enumerate(x):\n    if v > 0: c.appendleft(k)",
    "a text": "c = 'ab'\nfor v in x:\n    if v > 0: c = c + 'z'",
    "one of three": "c = [1, 2] if x[0] > 0 else (3,) if x[1] > 0 else 'pq'",
    "other entries": "c = [1, 2, 3]\nif x[0] > 0: c[1] = 8\nif x[1] > 0: c[0], c[2] = c[2], c[0]",
    "an error": "c = ValueError('a', [1])\nif x[0] > 0: c.args[1].append(2)\nif x[1] > 0: c = KeyError('k')",
    "attributes": "c = types.SimpleNamespace(a=1)\nif x[0] > 0: c.a = 2\nif x[1] > 0: c.b = [c.a]",
    "a partial": "d = [1]\nif x[0] > 0: d.append(2)\nc = functools.partial(max, d, default=0)",
    "an int": "c = 3\nfor v in x:\n    if v > 0: c = c * 2 + 1",
}
USES = """
'%s' % (c,) | '%r and %d' % ([c], 3) | f'{c!r:>30}' | '{}{a}'.format(c, a=c) | str(c) | repr([c]) | str({1: (c,), 'k': c}) | str((c, c))
json.dumps(c, default=repr) | pprint.pformat(c) | string.Template('$a').substitute(a=c) | functools.partial(str, c)() | str(raised(c))
c == [1, 2] | (c, 1) == ((1, 2), 1) | c in ([1], (0,), 'abz', 3, None) | not c | c or 2 | isinstance(c, (str, int)) | copy.deepcopy([c])
list(c) | sorted(c, reverse=True) | len(c) | sum(c) | max(c) | set(c) | dict(enumerate(c)) | list(zip(c, 'abc')) | list(reversed(c))
c[0] | c[-1] | c[1:] | c + c | c * 2 | [*c, 4] | max(*c) | collections.Counter(c) | ','.join(map(str, c))
list(itertools.islice(c, 2)) | c.count(1) | c.args | getattr(c, 'b', 5) | hasattr(c, 'b') | c() | c.get(1, 'no') | list(c.items()) | c | c & 6
-c | c << 2 | divmod(9, c) | bin(c) | c.bit_length() | [0, 1, 2, 3, 4, 5, 6, 7, 8][c % 9] | {c: 1} | matched(c) | list(c)[:2]
next(iter(c), 7) | np.sum(c) | np.array(c).tolist() | np.array([c, c]).shape
{c: 1, (0, 1): 2, (): 3}.get((0, 1)) | c in {(1,), (0, 2), 'ab'} | abs(c)
""".replace("\n", " | ").split(" | ")
HELPERS = '''
def shown(r):
    """A number for a value of any kind, computed by the program itself."""
    if r is None:
        return 0.5
    if isinstance(r, (bool, int, float, np.number, np.bool_)):
        return float(r) * 1.7 + (0.25 if isinstance(r, bool) else 0.0)
    if isinstance(r, str):
        total = len(r)
        for k, character in enumerate(r):
            total += (k + 1) * ord(character) * 0.01
        return total
    if isinstance(r, (set, frozenset)):
        return 4.0 + sum([shown(e) for e in r])
    if isinstance(r, BaseException):
        return shown(type(r).__name__) + 2 * shown(r.args)
    if isinstance(r, types.SimpleNamespace):
        return shown(vars(r))
    if isinstance(r, (dict, list, tuple, collections.deque, np.ndarray)):
        total = 1.0 if isinstance(r, list) else 2.0
        for k, e in enumerate(r.items() if isinstance(r, dict) else r):
            total += (k + 1.5) * shown(e)
        return total
    return float(len(type(r).__name__))

def matched(c):
    match c:
        case [1, *rest]: return "one", rest
        case []: return "empty"
        case {0: v}: return v
        case str(): return "text"
        case int() | float(): return "number"
        case _: return "other"

def raised(c):
    try:
        raise ValueError(c)
    except ValueError as error:
        return error
'''
PROGRAM = """
def program(x):
    {made}
    try:
        r = {use}
    except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        r = type(error).__name__
    return x[0] * shown(r) + x[1]
"""
POINTS = np.random.default_rng(1).normal(size=(6, 3))


def compiled(text, name, names):
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), names)


@pytest.fixture(scope="module")
def names():
    found = {m.__name__: m for m in (collections, copy, functools, itertools, json, operator, pprint, string, types)} | {"np": np}
    compiled(HELPERS, "<helpers>", found)
    return found


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.filterwarnings("ignore::tapediff.GuardWarning")
def test_every_use_gives_what_python_gives(maker, names):
    """Its value, or the class of its error."""
    made = MAKERS[maker].replace("\n", "\n    ")
    for use in filter(None, map(str.strip, USES)):
        compiled(PROGRAM.format(made=made, use=use), f"<{maker}: {use}>", names)
        program = names["program"]
        g = td.GuardedTape(program, on_new_tape="interpret", compile_after=1000)
        for x in POINTS:
            np.testing.assert_allclose(g(x), program(x.copy()), rtol=1e-12, err_msg=f"{maker}: {use}")


def test_a_mean_of_integers_in_a_list_is_no_integer():
    """By another name of the function, NumPy computes it from objects."""
    mean = np.mean
    with pytest.raises(td.TrackedValueEscaped, match="make a tracked array of the list first"):
        td.record(lambda k: mean([k[0], k[1]]) * 1.0, td.Constant(np.array([1, 1])))
