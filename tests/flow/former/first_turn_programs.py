"""Programs with long loops whose first turn is another one than the rest: of some one of the others is recorded, of others all are."""

# ruff: noqa: F821, F841 -- variables that one turn binds are read in the next one

from __future__ import annotations

import numpy as np

rng = np.random.default_rng(20261128)
TURNS = 300
Y = rng.normal(size=TURNS)
VALUES = [float(v) for v in Y]
Z = rng.normal(size=TURNS)


# Variables that the first turn binds.


def last_shock(p):
    h, total = 0.5, 0.0
    for t in range(TURNS):
        e = Y[t] - 0.1 * p[0]
        if t > 0:
            h = 0.1 + (0.1 + (p[1] ** 2 if last < 0 else 0.0)) * last**2 * 0.1 + 0.5 * h
        total += -0.5 * e * e / h - 0.5 * np.log(h)
        last = e
    return total


def last_shock_of_entries(p):
    terms = []
    for t in range(TURNS):
        e = Y[t] * p[0]
        if t >= 1:
            terms.append((e - p[1] * last) ** 2 if e > last else abs(e))
        last = e
    return sum(terms)


def enumerated(p):
    total = 0.0
    for i, v in enumerate(Y):
        y = np.tanh(p[0] * v)
        if i != 0:
            total += (y - p[1] * before) ** 2 if before > 0 else abs(y)
        before = y
    return total


def enumerated_from_one(p):
    total = 0.0
    for i, v in enumerate(VALUES, 1):
        y = np.tanh(p[0] * v)
        if 1 < i:
            total += i * (y - p[1] * before) ** 2 if before > 0 else abs(y)
        before = y
    return total


def bound_by_one_side(p):
    total = 0.0
    for t in range(TURNS):
        if t == 0:
            level, trend = p[0] * Y[0], p[1]
        else:
            new = 0.5 * Y[t] + 0.5 * (level + trend)
            trend = 0.9 * trend + 0.1 * (new - level)
            level = new if new > -1 else -1 + 0.1 * new
        total += (Y[t] - level) ** 2
    return total


def left_early(p):
    total = 0.0
    for t in range(TURNS):
        y = np.sin(p[0] * Y[t])
        if t == 0:
            mean = y
            continue
        mean = p[1] * mean + (1 - p[1]) * y
        total += mean if mean > 0 else mean * mean
    return total


def entries_of_an_array(p):
    h = np.zeros(TURNS)
    for t in range(TURNS):
        if t == 0:
            h[t] = p[0]
        else:
            h[t] = 0.5 * p[1] * h[t - 1] + (Y[t] ** 2 if e < 0 else 0.1)
        e = Y[t] - 0.1 * h[t]
    return np.sum(np.log(1 + h**2))


def downwards(p):
    total = 0.0
    for t in reversed(range(TURNS)):
        if t == TURNS - 1:
            value = p[0] * Y[t]
        else:
            value = Y[t] + 0.5 * p[1] * (value if value > 0 else 0.1 * value)
        total += value
    return total


def from_another_number(p, start=3):
    total = 0.0
    for t in range(start, TURNS):
        y = np.tanh(p[0] * Y[t])
        if t > start:
            total += abs(y - p[1] * before)
        before = y
    return total


def counts_by_hand(p):
    n, total = 0, 0.0
    for v in VALUES:
        y = np.tanh(p[0] * v)
        if n > 0:
            total += abs(y - p[1] * before)
        before = y
        n += 1
    return total / n


def in_turns_of_another(p):
    total = 0.0
    for i in range(3):
        for t in range(TURNS):
            y = np.tanh(p[0] * Y[t] + 0.1 * i)
            if t > 0:
                total += (y - p[1] * before) ** 2 if y > before else 0.1 * y
            before = y
    return total


def keeps_the_last(p):
    for t, (a, b) in enumerate(zip(Y, Z)):
        y = np.sin(p[0] * a) + b
        if t:
            y = y + 0.5 * before if y > before else y - 0.1 * p[1] * before
        before = y
    return y * t + before


def with_an_else(p):
    total = 0.0
    for t in range(TURNS):
        y = np.sin(p[0] * Y[t])
        if t > 0:
            total += abs(y - before)
        before = y
        if total > 60.0 * p[1] + 40.0:
            break
    else:
        total = total * 2.0
    return total + before


def returns_within(p):
    total = 0.0
    for t in range(TURNS):
        y = np.sin(p[0] * Y[t])
        if t > 0:
            total += abs(y - before)
        before = y
        if total > 120.0:
            return total * p[1]
    return total


def two_turns_back(p):
    total = 0.0
    for t in range(TURNS):
        if t == 0:
            m = 0.1 * p[0]
        elif t == 1:
            m = p[0] * one_back
        else:
            m = 0.5 * p[0] * one_back + 0.3 * p[1] * two_back
        e = 0.5 * Y[t] - m
        total += e**2 if e > 0 else 0.5 * e**2
        if t > 0:
            two_back = one_back
        one_back = np.tanh(Y[t] + m)
    return total


def counted_by_a_while(p):
    t, total = 0, 0.0
    while t < TURNS:
        y = np.tanh(p[0] * Y[t])
        if t > 0:
            total += (y - p[1] * before) ** 2 if y > before else 0.1 * y
        before = y
        t += 1
    return total


# What is None at first.


def none_at_first(p):
    before, total = None, 0.0
    for v in Y:
        y = v * p[0]
        if before is not None:
            total += p[1] * (abs(y - before) if y > before else (y - before) ** 2)
        before = y
    return total


def two_that_are_none(p):
    x = y = None
    total = 0.0
    for a, b in zip(Y, Z):
        u, v = np.sin(p[0] * a), np.cos(p[1] * b)
        if x is not None:
            d = np.sqrt((u - x) ** 2 + (v - y) ** 2 + 1e-3)
            total += d if d > 0.5 else d * d + 0.25
        x, y = u, v
    return total


def filter_that_starts_itself(p):
    m, total = None, 0.0
    for v in Y:
        if m is None:
            m, var = v * p[0], 1.0
        else:
            mean, s = 0.9 * m, 0.81 * var + p[1] ** 2 + 0.5
            e = v - mean
            gain = (s - 0.5) / s
            m, var = mean + gain * (e if abs(e) < 2 else 0.5 * e), (1 - gain) * (s - 0.5)
            total += -0.5 * np.log(s) - 0.5 * e * e / s
    return total


def sum_that_is_none(p):
    total = None
    for v in Y:
        part = np.array([v * p[0], p[1] * v * v])
        if part[0] > 1.0:
            part = 0.5 * part
        if total is None:
            total = part
        else:
            total = total + part
    return np.sum(total**2) / TURNS


def points_of_a_path(p):
    before, total = None, 0.0
    for v in Y:
        q = np.array([np.sin(p[0] * v), np.cos(p[1] * v)])
        if before is not None:
            n = np.sum((q - before) ** 2)
            total = total + (n if n > 0.1 else 0.5 * n + 0.05)
        before = q
    return total


def largest_drop(p):
    peak, worst, w = None, 0.0, 1.0
    for v in Y:
        w = w * np.exp(0.01 * (p[0] * v + p[1]))
        if peak is None or w > peak:
            peak = w
        drop = (peak - w) / peak
        if drop > worst:
            worst = drop
    return worst


# Flags, and lists that are empty.


def flag(p):
    first, total = True, 0.0
    for v in Y:
        if first:
            level = v * p[0]
            first = False
        else:
            level = 0.5 * p[1] * level + v
        total += level if level > 0 else 0.5 * level**2
    return total


def flag_the_other_way(p):
    seen, total = False, 0.0
    for v in Y:
        y = v * p[0]
        if seen and y > before:
            total += y - p[1] * before
        before, seen = y, True
    return total


def empty_list(p):
    out = []
    for v in Y:
        if not out:
            y = v * p[0]
        else:
            y = 0.5 * p[1] * out[-1] + v
            if y > 1:
                y = 1 + 0.1 * (y - 1)
        out.append(y)
    return np.sum(np.array(out) ** 2)


def list_by_its_length(p):
    out = []
    for v in VALUES:
        y = np.sin(p[0] * v)
        out.append(y + 0.5 * p[1] * out[-1] if len(out) > 0 and y < 0.5 else y)
    return sum(out)


def list_of_two(p):
    seen, total = [], 0.0
    for v in Y:
        seen.append(np.sin(p[0] * v))
        if len(seen) > 1:
            d = seen[-1] - seen[-2]
            total += p[1] * d * d if d > 0 else abs(d)
    return total


# Other kinds in the first turn.


def int_to_array(p):
    total = 0
    for v in Y:
        part = np.array([p[0] * v, p[1], 1.0])
        if part[0] > 0:
            total = total + part
        else:
            total = total + 0.5 * part
    return np.sum(total**2) / TURNS


def float_to_array(p):
    total = 0.0
    for v in Y:
        total = 0.9 * total + p * v
        if total[0] > 1:
            total = total * 0.5
    return np.sum(total**2)


# A difference to what was before, which at the first turn would be the last one.


def differences(p):
    z, cost = p[0] * Y, 0.0
    for k in range(TURNS):
        if k:
            d = z[k] - z[k - 1]
            cost += p[1] * d * d if d > 0 else d * d
    return cost


def differences_of_a_list(p):
    z, cost = [], 0.0
    for k in range(TURNS):
        z.append(np.sin(p[0] * Y[k]))
        if k:
            d = z[k] - z[k - 1]
            cost += p[1] * d * d if d > 0 else d * d
    return cost


ONE_TURN = (
    last_shock, last_shock_of_entries, enumerated, enumerated_from_one, bound_by_one_side, left_early, entries_of_an_array, downwards,
    from_another_number, counts_by_hand, in_turns_of_another, keeps_the_last, with_an_else, returns_within, two_turns_back, counted_by_a_while, none_at_first, two_that_are_none,
    filter_that_starts_itself, sum_that_is_none, points_of_a_path, largest_drop, flag, flag_the_other_way, empty_list, list_by_its_length, list_of_two,
    int_to_array, float_to_array, differences, differences_of_a_list,
)  # fmt: skip


# Those that are not what they seem.


def binds_the_counter(p):
    total = 0.0
    for t in range(TURNS):
        y = Y[t] * p[0]
        t = t % 3
        if t > 0:
            total += abs(y - p[1] * before)
        before = y
    return total


def sets_the_flag_again(p):
    first, total = True, 0.0
    for v in Y:
        if first:
            level = v * p[0]
            first = False
        else:
            level = 0.5 * level + v
        if level > 1.5:
            first = True
        total += level * p[1]
    return total


def skips_before_the_flag(p):
    first, total = True, 0.0
    for v in Y:
        if v * p[0] < 0.3:
            continue
        if first:
            total += 10.0 * p[1]
            first = False
        total += v
    return total


def none_again(p):
    before, total = None, 0.0
    for v in Y:
        y = v * p[0]
        if before is not None:
            total += p[1] * (y - before) ** 2
        before = y
        if y > 1.0:
            before = None
    return total


def _every_other(t, y):
    return None if t % 2 else y


def none_of_a_call(p):
    before, total = None, 0.0
    for t in range(TURNS):
        y = Y[t] * p[0]
        if before is None:
            total += p[1] * y
        else:
            total += (y - before) ** 2
        before = _every_other(t, y)
    return total


def none_among_values(p):
    values = [None if t % 5 == 2 else float(v) for t, v in enumerate(Y)]
    before, total = 0.5, 0.0
    for v in values:
        if before is None:
            total += p[1]
        else:
            total += abs(before * p[0])
        before = v
    return total


def first_of_data(p):
    best, total = None, 0.0
    for v in Y:
        y = v * p[0]
        if y < 0:
            continue
        if best is None or y > best:
            best = y
        total += best * p[1]
    return total


def bound_where_data_says(p):
    total, before = 0.0, 1.0
    for t in range(TURNS):
        y = Y[t] * p[0]
        if t == 0 and y < 0:
            before = y
        total += abs(y - p[1] * before)
        before = 0.5 * before + y
    return total


def breaks_in_the_first_turn(p):
    total = 0.0
    for t in range(TURNS):
        y = Y[t] + p[0]
        if t > 0:
            total += abs(y - before)
        before = y
        if y * y > 4.0 + 40.0 * p[1] * p[1]:
            break
    return total + before


def longer_in_some_turns(p):
    seen, total = [], 0.0
    for v in Y:
        if v * p[0] > 0.5:
            seen.append(v * p[0])
        total += p[1] * len(seen) if len(seen) > 1 else v * p[0]
        if not seen:
            total += 0.1 * p[0]
    return total


def counts_from_elsewhere(p):
    total, t = 0.0, 0
    if p[0] > 0.5:
        t = 1
    for v in Y:
        y = v * p[0]
        if t > 0:
            total += p[1] * y
        t += 1
    return total


def one_of_three(p):
    total = 0.0
    for t in range(TURNS):
        y = np.sin(Y[t] * p[0])
        if t > 2:
            total += abs(y - far)
        if t > 1:
            far = later
        if t > 0:
            later = last
        last = y
    return total * p[1]


def pops(p):
    out, total = [], 0.0
    for v in Y:
        if not out:
            total += p[1]
        out.append(v * p[0])
        if len(out) > 2:
            out.pop()
            out.pop()
            out.pop()
    return total + sum(out)


def pops_by_another_name(p):
    out, total = [], 0.0
    other = out
    for t in range(TURNS):
        if not out:
            total += p[1]
        out.append(Y[t] * p[0])
        if t % 3 == 2:
            other.clear()
    return total + sum(out)


def filled_before(p):
    out, total = [], 0.0
    out.append(p[0])
    for v in Y:
        if not out:
            total += 100.0
        out.append(v * p[0] if v > p[1] else 0.1 * v * p[0])
    return total + sum(out)


def goes_over_what_it_writes(p):
    h = p[0] * Y
    total, k = 0.0, 0
    for v in h:
        if k > 0:
            total += abs(v - p[1] * before)
        before = v
        if k + 1 < TURNS:
            h[k + 1] = 0.5 * h[k + 1] + 0.1 * v
        k += 1
    return total


def goes_over_another_name(p):
    h = p[0] * Y
    g = h
    total = 0.0
    for t, v in enumerate(g):
        if t > 0:
            total += abs(v - p[1] * before)
        before = v
        h[t] = 0.5 * v
    return total + np.sum(h)


def from_an_iterator(p):
    values, total = iter(VALUES), 0.0
    for t, v in enumerate(values):
        y = v * p[0]
        if t > 0:
            total += abs(y - p[1] * before)
        before = y
    return total + len(list(values))


def shorter_of_two(p):
    total = 0.0
    for t, (v, _) in enumerate(zip(Y, VALUES[:1])):
        y = v * p[0]
        if t > 0:
            total += abs(y - p[1] * before)
        before = y
    for v in VALUES:
        total += v * p[0] if v > p[1] else 0.0
    return total


def first_of_all_turns(p):
    total, first = 0.0, True
    for _ in range(2):
        for v in Y:
            y = v * p[0]
            if first:
                total += 10.0 * p[1]
                first = False
            else:
                total += abs(y - before)
            before = y
    return total


def other_tests_of_the_number(p):
    total, before = 0.0, 0.0
    for t in range(TURNS):
        y = Y[t] * p[0]
        if t > 0 and t % 4 != 0 and t < TURNS - 2:
            total += abs(y - p[1] * last)
        last = y
        before = before + y
    return total + before


def wraps_around(p):
    z, total = p[0] * Y, 0.0
    for k in range(TURNS):
        total += abs(z[k] - p[1] * z[k - 1])
        if k > 0 and z[k] > last:
            total += z[k]
        last = z[k]
    return total


def _changes_of(values, p):
    total = 0.0
    for t in range(len(values)):
        y = values[t] * p[0]
        if t > 0:
            total += abs(y - p[1] * before)
        before = y
    return total


def loops_without_turns(p):
    return sum(_changes_of(Y[:n], p) for n in (TURNS, 0, 1, 2, TURNS, 3))


def loops_of_many_lengths(p):
    return sum(_changes_of(Y[:n], p) for n in (TURNS, 1, 2, 3, 60, TURNS - 1))


OTHERS = (
    binds_the_counter, sets_the_flag_again, skips_before_the_flag, none_again, none_of_a_call, none_among_values, first_of_data,
    bound_where_data_says, breaks_in_the_first_turn, longer_in_some_turns, counts_from_elsewhere, one_of_three, pops, pops_by_another_name, filled_before, goes_over_what_it_writes,
    goes_over_another_name, from_an_iterator, shorter_of_two, first_of_all_turns, other_tests_of_the_number, wraps_around,
    loops_without_turns, loops_of_many_lengths,
)  # fmt: skip
