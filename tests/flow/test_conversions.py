"""Numbers and lists of tracked arrays as Python's, and comparisons of whole arrays that give a Python bool."""

from __future__ import annotations

import math
import statistics
import threading
from collections import deque
from math import exp, log1p, sin

import numpy as np
import pytest
from numpy import allclose, array_equal

import tapediff as td
from flow.one_tape import POINTS, recordings

LOCK = threading.Lock()


def by_float(x):
    return float(x[0]) ** 2 * float(x.sum())


def by_item(x):
    return x[0].item() * x.item(1) + x.reshape(2, 3).item(1, 2) * x[:1].item() + x.reshape(3, 2).item((2, 0))


def by_tolist(x):
    rows = np.outer(x[:2], x[1:4]).tolist()
    return sum(v * k for row in rows for k, v in enumerate(row)) + x[0].tolist() * len(rows[1])


def of_bools_and_ints(x):
    up, order = (x > 0).tolist(), np.argsort(x).tolist()
    return x[0] * up.count(True) + x[1] * order[0] + (x[2] if up[3] is True else x[3]) + x[4] / (1 + order.index(2))


def by_imported_names(x):
    return sin(x[0]) * exp(float(x[1])) + log1p(abs(x[2]))


def by_functions_of_libraries(x):
    return statistics.fmean(deque(x[:3], 3)) * statistics.fmean(x[3:])


def divided(x):
    try:
        return x[0].item() / ((x[1] > 0.4) * x[1]).item()
    except ZeroDivisionError:  # as a Python number
        return x[2]


def compared(x):
    s = x[0] if np.allclose(np.round(x[:2]), np.zeros(2)) else x[1]
    s += x[2] if array_equal(x[:2] > 0, np.array([True, False])) else x[3]
    s += x[4] if np.array_equiv(x[:2] > 0, True) else x[5]
    s += x[0] if math.isclose(x[0], 0.1, abs_tol=0.5) else x[1] * x[2]
    s += x[3] if math.isclose(x[1], x[2], rel_tol=2.0) else 2 * x[3]
    s += 1.0 if np.array_equal(x[:2], x[:3]) or np.array_equiv(x[:2], x[:3]) else x[4]
    return s + (x[5] if allclose(np.sort(x), x, atol=1.5) else 3 * x[5]) + (x[1] if np.array_equal(x / np.nan, x * np.nan, equal_nan=True) else 0.0)


PROGRAMS = [by_float, by_item, by_tolist, of_bools_and_ints, by_imported_names, by_functions_of_libraries, divided, compared]


@pytest.mark.parametrize("program", PROGRAMS)
def test_converted_numbers_stay_tracked_and_branch(program):
    assert recordings(program) == 1


def test_settled_iterations_end_by_a_comparison_of_arrays():
    """An active set, until it is that of the iteration before."""

    def f(x):
        held, load = np.zeros(6, bool), x - 0.1
        for _ in range(12):
            found = np.where(held, 0.0, np.sin(load) - 0.2 * np.roll(load, 1))
            new = np.where(held, load > 0.3, found < 0)
            if np.array_equal(new, held):
                break
            held = new
        return found.sum() + held.sum() * x[0]

    assert recordings(f) == 1


@pytest.mark.parametrize("program", PROGRAMS[:6])
def test_tapes_of_one_function_convert_by_default(program):
    """Without merging, plain Python would convert them itself; a tape of all paths does not need that."""
    tape, compiled = td.record(program, POINTS[0]), td.compile(program, POINTS[0])
    for p in POINTS[:4]:
        td.testing.check_gradient(compiled, program, p)
        assert np.isclose(tape(p), program(p))
    with pytest.raises(td.TrackedValueEscaped):
        td.record(program, POINTS[0], merge=False)


def path_by_path(x):
    """The `with` of a lock is recorded where it is met."""
    s = 0.0
    for v in x:
        if v > 0:
            with LOCK:
                s += float(v) ** 2
        else:
            s -= v.item() * sin(v)
    return s


def test_single_paths_convert_too():
    tape = td.GuardedTape(path_by_path)
    for p in POINTS[:8]:
        td.testing.check_gradient(tape, path_by_path, p)
    assert tape.stats.recordings > 1


def test_wrong_items_raise_numpys_errors():
    with pytest.raises(ValueError, match="size 1"):
        td.GuardedTape(lambda x: x.item())(POINTS[0])
    with pytest.raises(IndexError):
        td.GuardedTape(lambda x: x.item(77))(POINTS[0])
    with pytest.raises(ValueError, match="non-negative"):
        td.GuardedTape(lambda x: x[0] if math.isclose(x[0], 1.0, abs_tol=-1.0) else x[1])(POINTS[0])
