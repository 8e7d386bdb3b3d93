"""Bools of Python's count as ints, those of NumPy's do not; and NumPy's functions of lists of either."""

from __future__ import annotations

import numpy as np
import pytest

from flow.one_tape import POINTS, recordings
from tests.random_programs.branching import function_of


def from_true(x):
    f = [bool(v > 0) for v in x]
    return sum(f[:2], True) * x[1]


def added(x):
    f = [bool(v > 0) for v in x]
    return (True + f[0]) * x[2] + (f[0] + True) * x[1] + (f[0] + f[1]) * x[0]


def of_not(x):
    a = not x[0] > 0
    b = not x[1] > 0
    c = a | b
    d = a & b
    e = a ^ b
    return (c + d) * x[2] + (e + e) * x[3] + (c is True) * x[4] + (1.0 / (a + 1)) * x[5]


def beside_arrays(x):
    a = not x[0] > 0
    M = np.array([1.0, 2.0, 3.0])
    return np.sum(M * a) * x[1] + np.sum(M[M > 2] + a) * x[2] + (a * x[3]) + (x[4] - a)


def of_comparisons(x):
    y = 0.5
    t = 0
    while t < 3 and y < 1.0:
        y += abs(x[t])
        t += 1
    done = y < 1.0
    flag = t == 2
    return (flag + flag + 1) * x[0] + (done + done) * x[1] + (flag * 3) * x[2]


def of_two(x):
    return np.mean([x[0], x[1]])


def of_many_functions(x):
    return np.std([x[0], 1.0, x[1]]) + np.median([x[0], x[1], x[2]]) + np.max([x[0], x[1]]) + np.argmax([x[0], x[1]]) * x[3]


def sums_and_any(x):
    return np.sum([bool(v > 0) for v in x]) * x[0] + np.any([v > 1 for v in x]) * x[1]


def texts(x):
    n = {f"{x[0] > 0}": x[1], f"{bool(x[1] > 0)!r:>6}": x[2]}
    a, b = not x[2] > 0, x[0] > 0 and x[1] > 0
    s = n.get("True", x[3]) + n.get("  True", x[4])
    s = s * (2.0 if repr(a) == "True" else 3.0) + (x[5] if f"{b}" == "False" else -x[5])
    return s + (x[0] if f"{x[3] > 0!r}".startswith("np.") else x[1]) * len(ascii(a)) + len(f"{a=}")


# Of the last ones a type depends on data.
@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize(
    "f",
    [
        from_true,
        added,
        of_not,
        beside_arrays,
        of_comparisons,
        texts,
    ],
    ids=lambda f: f.__name__,
)
def test_bools_of_python_are_counted(f):
    recordings(f)


@pytest.mark.parametrize("f", [of_two, of_many_functions, sums_and_any], ids=lambda f: f.__name__)
def test_functions_of_lists_compute_on_arrays(f):
    """By one recording."""
    assert recordings(f) == 1


# Expressions of numbers x[0] and x[1] that are bools of Python's; a sum of two of them is an int.
BOOLS = """x[0] in [x[1], 0.3]
near(x[0]) in {1, 2}
near(x[0]) in {1: 0, 2: 0}
near(x[0]) not in [1, 2]
(near(x[0]), 1) == (2, 1)
[near(x[0])] != [2]
[0.5, x[0]] == [0.5, x[1]]
[near(x[0])] < [2]
any(v > 0 for v in x)
not x[0] > 0
bool(x[0] > 0)
near(x[0]) == 1 or near(x[1]) == 1
0 < near(x[0]) < 3
(near(x[0]) == 1) ^ True
{near(x[0])} <= {1, 2}
{near(x[0]): 1} == {1: 1}
(None if x[0] > 0 else 1) is None
("a" if x[0] > 0 else "b") == "a"
{1}.isdisjoint({near(x[0])})
isinstance(1 if x[0] > 0 else "a", int)""".splitlines()


@pytest.mark.parametrize("text", BOOLS)
def test_sums_of_bools_are_ints(text):
    """Also where the same operation has made both."""
    other = text.replace("x[0]", "x[2]").replace("x[1]", "x[3]")
    near = "def near(v):\n    return min(3, max(0, int(v * 2 + 1)))\n\n\n"
    for of_two in (f"({text}) + ({other})", f"({text}) - ({other})", f"({text}) + ({text}) + True"):
        recordings(function_of(f"{near}def f(x):\n    return {of_two} + 0 * x[0]\n"), POINTS[:12])
