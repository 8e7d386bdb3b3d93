"""Sub-tapes that change something besides giving their results say so once, with the line; others say nothing."""

import io
import warnings

import numpy as np
import pytest

import tapediff as td

LOG, COUNT, TABLE, ITEMS = [], 0, {}, iter(range(1000))
OUT = io.StringIO()


class Meter:
    def __init__(self):
        self.n, self.seen = 0, []

    def counted(self, v):
        self.n += 1
        return v * 2.0

    def keeps(self, v):
        self.seen.append(1)
        return v * 2.0

    def writes(self, v):
        self.seen[:] = [1]
        return v * 2.0


def appends(v):
    LOG.append(1)
    return v * 2.0


def counts(v):
    global COUNT
    COUNT += 1
    return v * 2.0


def writes_an_entry(v):
    TABLE["last"] = 1
    return v * 2.0


def prints(v):
    print("called", file=OUT)
    return v * 2.0


def takes_the_next(v):
    return v * next(ITEMS)


def closure():
    n, seen = 0, []

    def counts_outside(v):
        nonlocal n
        n += 1
        return v * 2.0

    def keeps_outside(v):
        if v > 0:
            seen.append(1)
        return v * 2.0

    return counts_outside, keeps_outside


CHANGES = [appends, counts, writes_an_entry, prints, takes_the_next, *closure(), Meter().counted, Meter().keeps, Meter().writes]


@pytest.mark.parametrize("f", CHANGES, ids=lambda f: f.__name__)
def test_a_sub_tape_that_changes_more_than_its_results_names_the_line(f):
    code = getattr(f, "__func__", f).__code__
    with pytest.warns(td.GuardWarning, match=rf"{code.co_name} changes more than its results(.|\n)*test_subtape_state.py:\d+ in {code.co_name}"):
        td.record(td.subtape(f), np.float64(1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        td.record(td.subtape(f), np.float64(2.5))  # once


def changes_its_own(v):
    items, made, y = [], Meter(), v * np.ones(3)
    items.append(v)
    made.n += 1
    made.seen.append(1)
    y[0] = 2.0 * v
    items[0] = items[0] * 2.0
    total = 0.0
    for part in items:
        total += part
    return total + np.add(y, 1.0).sum() * made.n


def uses_methods_of_the_same_names(v):
    table = {"a": 1.0}
    table.update(b=2.0)
    np.append(np.ones(2), 1.0)
    return v * table.pop("b") * TABLE.get("c", 2.0)


def defines_a_function(v):
    def later():
        LOG.append(2)

    return v * 2.0 if callable(later) else v


@pytest.mark.parametrize("f", [changes_its_own, uses_methods_of_the_same_names, defines_a_function], ids=lambda f: f.__name__)
def test_a_sub_tape_that_changes_nothing_else_says_nothing(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        td.record(td.subtape(f), np.float64(1.5))
