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


METER, TOTALS = Meter(), {}


class Callable:
    def __init__(self):
        self.calls = 0

    def __call__(self, v):
        self.calls += 1
        return v * 2.0


def adds_to_totals(v, key):
    TOTALS[key] = 1
    return v * 2.0


def helper_of_helper(v):
    return adds_to_totals(v, "key") + 1.0


CALLABLE = Callable()


def calls_a_method(v):
    return METER.counted(v)


def calls_a_helper(v):
    return helper_of_helper(v) if v > 0.0 else v


def calls_an_object(v):
    return CALLABLE(v) + 1.0


def calls_in_a_lambda(v):
    return (lambda w: METER.keeps(w))(v)


def calls_a_captured_method():
    meter = Meter()
    bound = meter.counted
    return (lambda v: meter.counted(v) * 3.0), (lambda v: bound(v) * 3.0)


@pytest.mark.parametrize(
    ("f", "place"),
    [(calls_a_method, "counted"), (calls_a_helper, "adds_to_totals"), (calls_an_object, "__call__"), (calls_in_a_lambda, "keeps"),
     *((f, "counted") for f in calls_a_captured_method())],
)  # fmt: skip
def test_changes_by_what_a_sub_tape_calls_are_named(f, place):
    with pytest.warns(td.GuardWarning, match=rf"changes more than its results(.|\n)*test_subtape_state.py:\d+ in {place}"):
        td.record(td.subtape(f), np.float64(1.5))


def fills(items, v):
    items.append(v)
    items[0] = items[0] * 2.0
    return items


def gives_its_own_to_helpers(v):
    meter = Meter()
    return sum(fills([v], 2.0 * v)) + meter.counted(v)


def test_helpers_and_methods_that_change_what_the_sub_tape_made_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert td.record(td.subtape(gives_its_own_to_helpers), np.float64(1.5))(2.0) == 12.0


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
