"""Turns that end early, with loops in what is left of them: no sub-tapes, and the same values and gradients as plain Python everywhere."""

import numpy as np
import pytest

import tapediff as td
from tests.functions.merging.test_merging import POINTS


def searches(x):
    s, size = x[0], 0.0
    for _ in range(6):
        slope = np.sin(s) + 0.3 * x[1]
        if abs(slope) < 0.2:
            break
        size = 1.0
        while np.cos(s - size * slope) > np.cos(s) + 0.1 * size:
            size = 0.5 * size
        s = s - size * slope
    return s * x[2] + size


def skips(x):
    s = x[0]
    for k in range(4):
        s = s + 0.3 * x[k % 3]
        if s > 0.5:
            s = s - 0.7
            continue
        t = s
        for _ in range(9):
            t = 0.5 * t + 0.1 * s * s
            if t < 0.1:
                break
        s = s + t
    return s


def stays_on_the_first_side(x):
    s, k, t = x[0] * x[0], 0.0, x[1]
    while k < 5:
        k += 1
        if s > 0.1:
            t = x[1] * s
            while t * t > 0.2:
                t = 0.6 * t
            s = 0.7 * s + t * t
            while s > 3.0:
                s = s - 1.0 + 0.0 * t
        else:
            break
        s = s - 0.05
    return s + t


def reads_the_turn_before(x):
    s, t = x[0], 1.0
    for _ in range(5):
        s = s - 0.4 * t
        if s < -0.5:
            break
        u = s
        while u > 0.3:
            u = 0.5 * u + 0.02 * t
        t = u * x[1] + 0.1
    return s + t


def leaves_twice(x):
    s = x[0]
    for _ in range(5):
        s = s + 0.2 * x[1]
        if s > 1.5:
            break
        u = s + 1.0
        while u > 0.4:
            u = 0.5 * u
        if u < 0.25:
            s = s - u
            break
        v = u
        while v < x[2]:
            v = v + 0.4
        s = 0.5 * s + v * u
    return s


def keeps_the_last(x):
    for k in range(5):
        if k * x[0] > 1.0:
            break
        while True:
            u = x[1] * k + x[2]
            if u * u < 4.0:
                break
            x = 0.5 * x
    return u


def may_not_be_bound(x):
    for _ in range(3):
        if x[0] > 0.5:
            break
        u = x[0]
        while u < 0.4:
            u = u + 0.3
    return u


def independent(x):
    total = 0.0
    for k in range(3):
        price = x[k]
        for _ in range(5):
            price = price * 1.1 + 0.05
            if price > 0.8:
                price = 0.3 * price
                break
        total += price
    return total


def sometimes_bound(x):
    for _ in range(2):
        if x[0] > 0.5:
            break
        if x[0] > 0.0:
            u = x[0]
        while u < 0.4:
            u = u + 0.3
    return x[0]


def seen_later(x):
    s, total, later = x[0], 0.0, []
    for k in range(3):
        if k:
            total = total + later[-1]()
        if s > 1.5:
            break
        u = s + 0.5
        later.append(lambda: u)
        while u > 0.3:
            u = 0.5 * u
        s = s + 0.2 + u
    return total + s


PROGRAMS = [searches, skips, stays_on_the_first_side, reads_the_turn_before, leaves_twice, independent]
points = [0.7 * x[:3] for x in POINTS] + [np.array(v) for v in ([0.0, 0.0, 0.0], [2.0, -1.0, 0.5], [-1.0, 0.4, 3.0], [0.2, 0.1, -0.3])]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_loops_in_turns_that_end_early_take_one_tape(f):
    merged = td.GuardedTape(f, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in points:
        value, gradient = td.value_and_gradient(merged, x)
        own, expected = td.value_and_gradient(td.record(f, x), x)
        # Steps of both sides may be chosen before they are added.
        assert np.allclose([value, own], f(x), rtol=1e-13)
        # The same terms, added in another order.
        assert np.allclose(gradient, expected, rtol=1e-12, atol=1e-14)
    report = merged.explain()
    assert len(merged._cache.all()) == 1, report
    assert "sub-tape" not in report
    assert ("masked" in report) == (f is independent), report


def test_a_variable_that_no_turn_binds_is_still_an_error():
    merged = td.GuardedTape(may_not_be_bound, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in (0.1, -0.3, 0.45):
        assert td.gradient(merged, np.array([x])) == 1.0
    with pytest.raises(UnboundLocalError):
        merged(np.array([0.7]))
    merged = td.GuardedTape(sometimes_bound, merge=True, on_new_tape="interpret", compile_after=1000)
    assert td.gradient(merged, np.array([0.3])) == td.gradient(merged, np.array([0.6])) == 1.0
    with pytest.raises(UnboundLocalError):
        merged(np.array([-0.1]))


def test_a_function_that_is_called_later_sees_the_value_of_the_turn_before():
    merged = td.GuardedTape(seen_later, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in points:
        assert np.isclose(merged(x), seen_later(x), rtol=1e-13)


@np.errstate(all="ignore")
def test_what_an_inner_loop_bound_in_the_turn_before_stays_where_a_turn_ends_early():
    merged = td.GuardedTape(keeps_the_last, merge=True, on_new_tape="interpret", compile_after=1000)
    for x in points:
        assert np.isclose(merged(x), keeps_the_last(x), rtol=1e-13)
