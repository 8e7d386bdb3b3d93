"""Lists, dicts and objects that branches on data change, and entries at indices that data decides."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np

DRAWS = np.array([0.3, 0.9, -0.4, 0.5, 0.1, -0.8, 0.7, 0.2, -0.1, 0.6, 0.45, -0.2])
COUNTS = np.array([1, 2, 3, 2, 1, 1, 4, 2, 3, 1, 2, 3])
MIXED = [0.5, 1, 2.5, 3]
MATRIX = np.array([[0.5, -1.0], [2.0, 0.25], [1.5, 0.75]])
KEPT = np.zeros(6)
OTHER = [0] * 6


@dataclass(frozen=True)
class Ball:
    height: float
    speed: float
    hits: int = 0


@dataclass
class Tank:
    level: float
    spilled: float = 0.0


@dataclass(kw_only=True)
class Named:
    first: float
    second: float = 2.0


class Motor:
    kind = "motor"

    def __init__(self, speed, load=0.5):
        self.speed, self.load = speed, load
        self.starts = 0

    def power(self):
        return self.speed * self.load


def bounces(x):
    ball = Ball(x[0], 0.1)
    for k in range(6):
        speed = ball.speed - 0.2 * x[k]
        height = ball.height + 0.5 * speed
        if height < 0:
            ball = Ball(-height * 0.9, -speed * 0.8, ball.hits + 1)
        else:
            ball = replace(ball, height=height, speed=speed)
    return ball.height + 0.3 * ball.speed + ball.hits * x[1]


def by_keywords(x):
    state = Named(first=x[0])
    while state.first < 2.0:
        state = dataclasses.replace(state, first=state.first + 0.3 + x[1] ** 2, second=state.second * 0.9)
    return state.first * state.second


def two_means(x):
    centres = [x[0], x[1] + 1.0]
    for _ in range(4):
        sums, counts = [0.0, 0.0], [0, 0]
        for v in x:
            j = 0 if (v - centres[0]) ** 2 < (v - centres[1]) ** 2 else 1
            sums[j] += v
            counts[j] = counts[j] + 1
        new = [s / m if m > 0 else c for s, m, c in zip(sums, counts, centres)]
        if abs(new[0] - centres[0]) + abs(new[1] - centres[1]) < 1e-9:
            break
        centres = new
    return centres[0] ** 2 + 3 * centres[1] * x[2]


def shifts_gears(x):
    ratios, g, v = {1: 3.5, 2: 2.1, 3: 1.4}, 1, 0.5
    for w in x:
        if v * ratios[g] > 2 + w and g < 3:
            g += 1
        elif v * ratios[g] < 0.5 and g > 1:
            g -= 1
        v = v + 0.3 * w * ratios[g]
    return v * ratios[g]


class Counting:
    made = 0

    def __init__(self, gain):
        self.gain = gain
        Counting.made += 1


class Doubling:
    def __init__(self, gain):
        self.gain = gain

    @property
    def level(self):
        return self._level * 2

    @level.setter
    def level(self, value):
        self._level = value


class Watching:
    def __init__(self, gain):
        self.gain = gain

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


@dataclass
class Checked:
    gain: float

    def __post_init__(self):
        self.gain = self.gain * 3


@dataclass
class Shared:
    gain: float
    box: list = dataclasses.field(default_factory=list)


class Inner(Motor):
    @property
    def load(self):
        return 7.0

    @load.setter
    def load(self, value):
        self.speed = value


class Asked:
    def __init__(self, gain):
        self.gain = gain

    def __getattribute__(self, name):
        return 3.0


def with_a_property(x):
    o = Doubling(x[0])
    o.level = 0.0
    for v in x:
        if v > 0:
            o.level = v
    return o.level * o.gain


def counted_when_made(x):
    before, o = Counting.made, Counting(0.0)
    for v in x:
        if v > 0:
            o = Counting(v)
    return o.gain * (Counting.made - before)


def watched(x):
    o = Watching(0.5)
    for v in x:
        if v > 0:
            o.gain = v
    return o.gain


def checked_when_made(x):
    o = Checked(0.5)
    for v in x:
        if v > 0:
            o = replace(o, gain=v)
    return o.gain


def with_a_property_of_a_subclass(x):
    o = Inner(0.5)
    for v in x:
        if v > 0:
            o.speed = v
    return o.speed * o.load


def asked_for_anything(x):
    o = Asked(0.5)
    for v in x:
        if v > 0:
            o.gain = v
    return o.gain * x[0]


def makes_a_list_of_its_own(x):
    o = Shared(0.0)
    for v in x:
        if v > 0:
            o.gain = v
            o.box.append(v)
    return o.gain * len(o.box)


def by_another_name(x):
    a = [0.0, 1.0]
    b = a
    for v in x:
        if v > 0:
            a[0] = a[0] + v
    return b[0] * x[0]


def object_by_another_name(x):
    a = Tank(0.0)
    b = a
    for v in x:
        if v > 0:
            a.level = a.level + v
            b = b if v > 1 else a
    return b.level * x[0]


def bump(entries):
    entries[0] = entries[0] + 1.0


def changed_by_a_function(x):
    a = [0.0, 1.0]
    for v in x:
        if v > 0:
            a[1] = a[1] + v
        bump(a)
    return a[0] * a[1] * x[0]


def in_a_list(x):
    a = [0.0, 1.0]
    both = [a, a]
    for v in x:
        if v > 0:
            a[1] = a[1] + v
            both[0][0] += 1.0
    return both[1][0] * a[1]


def kept_by_default(x, a=[0.0]):  # noqa: B006 -- that is the trap
    a[0] = 0.0
    for v in x:
        if v > 0:
            a[0] = a[0] + v
    return a[0]


def seen_by_a_closure(x):
    a = [0.0, 1.0]
    read = lambda: a[0]
    for v in x:
        if v > 0:
            a[0] = a[0] + v
    return read() * x[0]


def changed_in_another_list(x):
    a = [0.0, 1.0]
    for v in x:
        seen = [a]
        if v > 0:
            a[0] = a[0] + v
        seen[0][0] = seen[0][0] + 1.0
    return a[0] * x[0]


def lazily_read(x):
    a = [0.5, 1.0]
    later = (v * 2 for v in a)
    for v in x:
        if v > 0:
            a[1] = a[1] + v
    return sum(later)


def while_gone_over(x):
    a, s = [0.5, 1.0, 0.1], 0.0
    for v in a:
        if v * x[0] > 0:
            a[2] = a[2] + x[1]
        s += v
    return s


def multiplied_lists(x):
    rows = [[0.0]] * 2
    for v in x:
        if v > 0:
            rows[0][0] += v
    return rows[1][0]


def arrays_in_a_list(x):
    rows = [x[:2] * 1.0, x[2:4] * 1.0]
    first = rows[0]
    for v in x:
        j = 0 if v > 0 else 1
        rows[j] += v
    return np.sum(first) + np.sum(rows[1] ** 2)


def whole_and_float(x):
    k = 0
    table = [0.5, 0.7]
    for v in x:
        k = 1 if v > 0 else 0
        table[k] = k + 1
    return table[0] * 3 + table[1] / 2 + x[0]


def bools_in_a_list(x):
    seen = [False, False]
    for v in x:
        seen[0 if v > 0 else 1] = True
    return (seen[0] + seen[1]) * x[0]


def index_that_changes(x):
    a, k = [0.0, 1.0], 0
    for v in x:
        if v > 0:
            k, a[k] = 1 - k, v
    return a[0] + 2 * a[1]


def an_array_that_stays(x):
    o = Tank(x[:2] * 1.0)
    y = o.level
    for v in x:
        if v > 0:
            o.level += v
    return np.sum(y) * x[0]


def in_single_precision(x):
    a = [np.float32(0.1), np.float32(0.2)]
    for v in x:
        j = 0 if v > 0 else 1
        a[j] = a[j] * np.float32(1.1)
    return a[0] * 3 + a[1] * x[0]


def unbound_at_times(x):
    for v in x:
        if v > 5:
            a = [v, 1.0]
        elif v > -5:
            a = [1.0, v]
    a[0] = 2.0
    return a[0] * a[1]


def a_float_as_an_index(x):
    a, k = [0.5, 1.0, 2.0], np.int64(0)
    for v in x:
        k = np.int64(1) if v > 0 else np.int64(2)
        a[k] = a[k] + v
    return a[1] * a[2]


def ints_at_an_index(x):
    k, s = 0, 0.0
    for v in x:
        k = 2 if v > 0 else 1
        s = s + v * COUNTS[k]
    return s * COUNTS[k]


def ints_among_floats(x):
    k, s = 0, 0.0
    for v in x:
        k = 2 if v > 0 else 1
        s = s + v * MIXED[k]
    return s * MIXED[k]


def bumped(y):
    y[1] += 1.0
    return 0.5


def written_before_it_is_read(x):
    y, k = x[:3] * 1.0, 0
    for v in x:
        k = 1 if v > 0 else 0
        s = bumped(y) * y[k]
    return s + y[1]


def beyond_in_a_condition(x):
    k, s = 0, 0.0
    for v in x:
        if v > 0:
            k += 7
        if k < 12 and v > 0.2 and DRAWS[k] < v:
            s += v
    return s


def from_the_end_of_an_array(x):
    k, s = 0, 0.0
    for v in x:
        k = -1 if v > 0 else 1
        s = s + v * DRAWS[k]
    return s


def lists_that_grow(x):
    seen, k, s = [0.5], 0, 0.0
    for v in x:
        seen.append(0.1 * len(seen))
        k = 1 if v > 0 else 0
        s = s + v * seen[k]
    return s


def keeps_in_a_while(x):
    steps, v = [], abs(x[0]) + 0.3
    while v < 3.0:
        steps.append(v)
        v = v * 1.5 + x[1] ** 2
    return sum(steps) + 0.5 * len(steps) * x[2]


def goes_over_what_it_keeps(x):
    kept, s = [], 0.0
    for v in x:
        if v > 0.2:
            kept.append(v)
    for v in kept:
        s += v * len(kept)
    return s


def keeps_ints(x):
    kept = []
    for v in x:
        if v > 0.2:
            kept.append(2)
    return sum(kept) * x[0]


def keeps_arrays(x):
    kept = []
    for v in x:
        if v > -5:
            kept.append(x[:2] * v)
    return np.sum(sum(kept)) + np.sum(np.array(kept)) * 2


def keeps_by_another_name(x):
    kept = []
    also = kept
    for v in x:
        if v > 0.2:
            kept.append(v)
        also.append(0.5)
    return sum(kept)


def mean_of_none_by_hand(x):
    kept = [0.0]
    kept = []
    for v in x:
        if v > 0.2:
            kept.append(v)
    return sum(kept) / (len(kept) + 1)


def starts_with_what_it_had(x):
    kept = [x[0]]
    for k in range(2):
        for v in x:
            if v > kept[-1]:
                kept.append(v)
        kept = [kept[-1], x[k]]
    return max(kept) * len(kept) + kept[-1]


def beyond_the_last_row(x):
    k = 0
    for v in x[:4]:
        if v > 0.2:
            k = k + 1
    try:
        return MATRIX[k, 0] * x[0]
    except IndexError:
        return x[1]


def no_matrix(x):
    k, table, narrow = 0, {(0, 1): 2.0, (1, 1): 3.0}, MATRIX.astype(np.float32)
    if x[0] > 0.2:
        k = 1
    return table[k, 1] * x[1] + narrow[k, 0] * x[2] + np.arange(6).reshape(3, 2)[k, 1] * x[3]


def matrix_that_is_written(x):
    m, k = np.zeros((3, 2)), 0
    for v in x[:4]:
        if v > 0.2:
            k = (k + 1) % 3
        m[1, 1] += m[k, 0] * m[k, 1] + 0.1
        m[k, 0] = v
    return np.sum(m * m) + m[k, 0]


def matrix_that_a_view_shows(x):
    m, k = x.reshape(3, 2) * 2.0, 0
    row = m[1]
    for v in x[:4]:
        if v > 0.2:
            k = (k + 1) % 3
        row[0] += 1.0
    row[1] = m[k, 0]
    return m[k, 1] * m[k, 0] + row[1]


# Numbers stored in arrays, lists and objects


def counts_and_flags(x):
    kept, n, found = np.zeros((6, 2)), 0, False
    for i in range(6):
        if x[i] > 0.5:
            n = n + 1
        found = True if x[i] > 1.0 else found
        kept[i, 0] = n
        kept[i, 1] = found
    return np.sum(kept[:, 0] * x) + np.sum(kept[:, 1]) * x[1] / (kept[5, 0] + 7)


def stored_in_a_list(x):
    kept = [0.0] * 6
    for i in range(6):
        kept[i] = 1.0 if x[i] > 0.2 else x[i]
    return x[0] * sum(2.0 if type(v) is float else 3.0 for v in kept)


def in_a_dict(x):
    kept = {}
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        kept[i] = n
    return x[0] * sum(len(range(n)) for n in kept.values())


def in_a_tuple_in_a_list(x):
    kept = [None] * 6
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        pair = (n, x[i])
        kept[i] = pair
    return sum(("a", "bc", "def")[n].count("b") * v for n, v in kept)


def in_an_array_of_ints(x):
    kept = np.zeros(6, dtype=int)
    for i in range(6):
        kept[i] = 1.7 if x[i] > 0.2 else -0.3
    return np.sum(kept) * x[0]


def in_an_array_of_objects(x):
    kept = np.empty(6, dtype=object)
    for i in range(6):
        kept[i] = 1 if x[i] > 0.2 else 2
    return x[0] * sum("ab"[n - 1] == "a" for n in kept)


def in_an_array_of_float32(x):
    kept = np.zeros(6, dtype=np.float32)
    for i in range(6):
        kept[i] = 0.1 if x[i] > 0.2 else 0.7
    return np.sum(kept) * x[0]


def added_to_a_list(x):
    kept = [0] * 6
    for i in range(6):
        kept[i] += 1 if x[i] > 0.2 else 2
    return x[0] * len(range(sum(kept)))


def negative_zeros(x):
    kept = np.zeros(6)
    for i in range(6):
        n = 1 if x[i] > 0.2 else 0
        kept[i] = -n
    return np.sum(np.copysign(1.0, kept) * x)


def made_plain_by_an_operator(x):
    kept = [None] * 6
    for i in range(6):
        n = 1 if x[i] > 0.2 else 2
        kept[i] = n + 1
    return x[0] * sum(len("abc"[:n]) for n in kept)


def is_rebound_while_the_value_is_computed(x):
    global KEPT
    KEPT = np.zeros(6)
    n = 1 if x[0] > 0.2 else 2
    KEPT[0] = n + rebound()
    found = x[0] * len(range(KEPT[0]))
    KEPT = np.zeros(6)
    return found


def rebound():
    global KEPT
    KEPT = OTHER
    return 0


# Entries that may be missing


def beyond_the_end(x):
    levels, k = [0.5, 1.0, 2.0], 0
    for v in x:
        if v > 0.35:
            k += 1
    return levels[k] * x[0]


def no_such_key(x):
    rates, k = {1: 0.5, 2: 1.0}, 1
    for v in x:
        if v > 1.0:
            k += 1
        elif v < -1.0:
            k -= 1
    return rates[k] * x[0]


def largest_of_none(x):
    kept = []
    for v in x:
        if v > 0.9:
            kept.append(v)
    return max(kept) + x[0]


PROGRAMS = [
    bounces, by_keywords, two_means, shifts_gears, keeps_in_a_while, counts_and_flags, beyond_the_end, no_such_key, largest_of_none,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    with_a_property, counted_when_made, watched, checked_when_made, with_a_property_of_a_subclass, asked_for_anything,
    makes_a_list_of_its_own, by_another_name, object_by_another_name, changed_by_a_function, in_a_list, kept_by_default,
    seen_by_a_closure, changed_in_another_list, lazily_read, while_gone_over, multiplied_lists, arrays_in_a_list, whole_and_float,
    bools_in_a_list, index_that_changes, an_array_that_stays, in_single_precision, unbound_at_times, a_float_as_an_index,
    ints_at_an_index, ints_among_floats, written_before_it_is_read, beyond_in_a_condition, from_the_end_of_an_array, lists_that_grow,
    goes_over_what_it_keeps, keeps_ints, keeps_arrays, keeps_by_another_name, mean_of_none_by_hand, starts_with_what_it_had,
    beyond_the_last_row, no_matrix, matrix_that_is_written, matrix_that_a_view_shows, stored_in_a_list, in_a_dict, in_a_tuple_in_a_list,
    in_an_array_of_ints, in_an_array_of_objects, in_an_array_of_float32, added_to_a_list, negative_zeros, made_plain_by_an_operator,
    is_rebound_while_the_value_is_computed,
]  # fmt: skip
