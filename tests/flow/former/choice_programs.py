"""Ints, states and entries of lists that data chooses, conditions that compute something: what merges, and traps, for which Python's own
numbers are another thing than floats."""

import enum
import math

import numpy as np

SERIES = np.random.default_rng(7).normal(size=24)
BIG = 2**60


class Mode(enum.Enum):
    IDLE = 0
    RUN = 1
    COOL = 2


class Same(enum.Enum):
    ONE = 1
    TWO = 2

    def __eq__(self, other):
        return isinstance(other, Same)

    __hash__ = enum.Enum.__hash__


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


# What merges


def position_held(x):
    wealth, position, fast, slow = 1.0, 0, 0.0, 0.0
    for change in SERIES * 0.02:
        fast += 0.5 * x[0] * (change - fast)
        slow += 0.1 * x[1] * (change - slow)
        wanted = 1 if fast > slow else -1
        if wanted != position:
            wealth *= 1 - 0.001 * x[2]
            position = wanted
        wealth *= 1 + position * change * x[2]
    return wealth


def machine(x):
    mode, heat, work = Mode.IDLE, 0.3 * x[0], 0.0
    for _ in range(20):
        if mode is Mode.IDLE and heat < 0.5:
            mode = Mode.RUN
        elif mode is Mode.RUN and heat > 1.0 + 0.3 * x[2]:
            mode = Mode.COOL
        elif mode == Mode.COOL and heat < 0.6:
            mode = Mode.IDLE
        match mode:
            case Mode.RUN:
                heat += 0.15 * x[1]
                work += x[1]
            case Mode.COOL:
                heat -= 0.1
            case _:
                heat -= 0.02
    return work + heat * heat


def trend(x):
    s, side = 0.0, "flat"
    for k in range(20):
        side = "long" if math.sin(k * x[0]) > x[1] - 0.5 else "short"
        if side == "long":
            s += x[2] * math.sin(k)
        else:
            s -= x[1] * math.cos(k)
    return s


def phases(x):
    phase, s = 0, 0.0
    for k in range(20):
        if x[k % 6] * (k % 5) > 0.3 + 0.01 * k:
            phase = (phase + 1) % 3
        match phase:
            case 0:
                s += x[0]
            case 1 | 2 if k % 2:
                s += x[1] * k
            case _:
                s *= 0.9
    return s


def resting(x):
    v, rest, w = 0.0, 0, 0.0
    for k in range(40):
        if rest > 0:
            rest -= 1
            continue
        v += 0.1 * (-v + (1.2 * x[0] + SERIES[k % len(SERIES)]) * (x[1] + 1) - w)
        w += 0.02 * (x[2] * v - w)
        if v > 1.0:
            v, rest = 0.0, 3
            w += 0.1 * x[2]
    return v + w


def ratings(x):
    rating, loss = [x[0], x[1], x[2]], 0.0
    for k in range(20):
        a, b = k % 3, (k * 2 + 1) % 3
        if a == b:
            continue
        step = x[3] * (SERIES[k] - rating[b] + rating[a])
        if abs(step) > 0.4:
            step = 0.4 if step > 0 else -0.4
        rating[a] += step
        rating[b] = rating[b] - step
        loss += step * step
    return loss + rating[0] * rating[1]


MERGE = [position_held, machine, trend, phases, resting, ratings]


# Traps


def sums_with_large_ints(x):
    n = 0
    for v in x[2:]:
        if v > 0:
            n = n + 1
    return x[1] * np.sqrt(n + BIG - BIG)


def differences_of_large_ints(x):
    n, y = 0, x[1] * 2.0
    for v in x[2:]:
        if v > 0:
            n = n + 1
    m = n + 2**54
    if m - 2**54 > 1:
        y = x[1] * 3.0
    return y


def products_of_five(x):
    n = 3
    for v in x[2:]:
        if v > 0:
            n = n + 1000
    return x[1] * np.sqrt(n * n * n * n * n + 1 - n * n * n * n * n)


def fifth_powers(x):
    n = 0
    if x[2] > 0:
        n = 3001
    if x[3] > 0:
        n = 2999
    return x[1] * np.sqrt(n**4 * n + 1 - n**5)


def matches_by_binding(x):
    n, s = 0, 0.0
    for v in x:
        if v > 0.5:
            n = (n + 1) % 3
        match n:
            case 2:
                s += v
            case other if other > 0:
                s += other * x[0]
            case _:
                s -= x[1]
    return s


def matches_by_class(x):
    kind, s = 1, 0.0
    for v in x:
        if v > 0.5:
            kind = 2.5
        match kind:
            case int():
                s += v
            case float():
                s -= 2.0 * v
    return s


def members_that_are_all_equal(x):
    mode, s = Same.ONE, 0.0
    for v in x:
        if v > 0.5:
            mode = Same.TWO
        if mode == Same.ONE:
            s += v
    return s


def members_that_are_ints(x):
    level, s = Level.LOW, 0.0
    for v in x:
        level = Level.HIGH if v > 0.5 else Level.LOW
        s += level * v if level == Level.HIGH else level.value
    return s


def members_by_name(x):
    mode, s = Mode.RUN, 0.0
    for v in x:
        if v > 0.5:
            mode = Mode.COOL
        s += len(mode.name) * v
    return s


def another_name_of_a_list(x):
    entries, k = [0, 0, 0], 0
    other = entries
    for v in x:
        step = 1
        if v > 0.5:
            step = 2
        entries[k] = step
        k = other[k]
    return k * x[0]


def entries_that_count(x):
    counts = [0, 0]
    for k, v in enumerate(x):
        n = 1
        if v > 0.5:
            n = 2
        counts[k % 2] = n
    return sum(x[: counts[0]]) + x[counts[1]]


def a_list_that_others_see(x):
    entries = [0.0, 0.0]
    later = lambda: type(entries[0]) is float
    for k, v in enumerate(x):
        step = 0.5
        if v > 0.5:
            step = v
        entries[k % 2] = step
    return x[0] if later() else x[1]


def entries_that_are_arrays(x):
    rows = [x[:3] * 1.0, x[3:] * 1.0]
    first = rows[0]
    for k, v in enumerate(x):
        step = 0.5
        if v > 0.5:
            step = v
        rows[k % 2] += step
    return np.sum(first * x[:3]) + np.sum(rows[1])


def conditions_that_take_from_a_list(x):
    levels, s = [0.1, 0.4, 0.2, 0.9, 0.0, 0.3], 0.0
    for v in x:
        if levels.pop() < v:
            s += v
        else:
            s -= 2.0 * v
    return s + len(levels)


def conditions_that_look_at_values(x):
    s = 0.0
    for v in x:
        if int(abs(v) * 3) % 2 == 0:
            s += v
        else:
            s -= 2.0 * v
    return s


def conditions_after_conditions(x):
    s = 0.0
    for k, v in enumerate(x):
        if k < 5 and x[k + 1] * k > v:
            s += v
        else:
            s -= 2.0 * v
    return s


def remainders_of_negative_ints(x):
    n = 0
    for v in x:
        if v > 0.5:
            n = (n - 2) % 5
        elif v < -0.5:
            n = -n // 2
    return x[0] * n + math.copysign(1.0, -n) * x[1]


TRAPS = []
CHOICES = [
    sums_with_large_ints, differences_of_large_ints, products_of_five, fifth_powers, matches_by_binding, matches_by_class,
    members_that_are_all_equal, members_that_are_ints, members_by_name, another_name_of_a_list, entries_that_count, a_list_that_others_see,
    entries_that_are_arrays, conditions_that_take_from_a_list, conditions_that_look_at_values, conditions_after_conditions,
    remainders_of_negative_ints,
]  # fmt: skip
