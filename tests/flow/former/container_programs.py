"""Lists, dicts and objects of a function's own, in plain Python: those that merge, and traps."""

import dataclasses
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np


@dataclass(frozen=True)
class Ball:
    height: float
    speed: float
    hits: int = 0


@dataclass
class Tank:
    level: float
    spilled: float = 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    a: float
    b: float


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


class Slots:
    __slots__ = ("gain", "offset")

    def __init__(self, gain):
        self.gain = gain
        self.offset = 0.0


# What merges


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


def fills_a_tank(x):
    tank = Tank(level=1.0)
    for v in x:
        tank.level += v
        if tank.level > 1.5:
            tank.spilled += (tank.level - 1.5) ** 2
            tank.level = 1.5
        elif tank.level < 0:
            tank.level = 0.0
    return tank.level * x[2] + tank.spilled


def with_slots(x):
    pair, box = Pair(b=x[0], a=1.0), Slots(x[1])
    for v in x:
        if v > pair.a * 0.3:
            pair = Pair(v, pair.a)
            box.offset = box.offset + v * box.gain
    return pair.a * pair.b + box.offset


def with_a_constructor(x):
    motor = Motor(0.0)
    for v in x:
        if v > motor.speed:
            motor.speed = v
            motor.starts += 1
        else:
            motor.load *= 0.9
    return motor.speed * motor.load + 0.1 * motor.starts * x[0]


def in_a_namespace(x):
    state = SimpleNamespace(s=0.0, n=0)
    options = {"low": -0.5, "high": 0.5}
    for v in x:
        if v > options["high"]:
            state.s, state.n = state.s + v, state.n + 1
            options["high"] = v * 0.5
        elif v < options["low"]:
            state.s -= v * v
    return state.s * (1.0 + state.n) + options["high"] * x[0]


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


def two_servers(x):
    free, wait, t = [0.0, 0.0], 0.0, 0.0
    for v in x:
        t = t + abs(v) * 0.7
        j = 0 if free[0] <= free[1] else 1
        start = t if t > free[j] else free[j]
        wait += start - t
        free[j] = start + abs(v) * 1.5
    return wait + max(free)


def looks_up_a_table(x):
    knots, table = [-1.0, 0.0, 0.7, 1.5], [(0, 1, 0.5), (1, 0.2, -0.3), (0.4, -1, 0.2), (2, 0, 0.1), (0, 1, 0)]
    out = 0.0
    for v in x:
        k = 0
        while k < len(knots) and v > knots[k]:
            k += 1
        a, b, c = table[k]
        out += a * x[0] + b * v + c * v * v + table[k][1]
    return out


def shifts_gears(x):
    ratios, g, v = {1: 3.5, 2: 2.1, 3: 1.4}, 1, 0.5
    for w in x:
        if v * ratios[g] > 2 + w and g < 3:
            g += 1
        elif v * ratios[g] < 0.5 and g > 1:
            g -= 1
        v = v + 0.3 * w * ratios[g]
    return v * ratios[g]


def from_the_end(x):
    last, k = [0.1, 0.2, 0.3], 0
    for v in x:
        k = -1 if v > 0.5 else -3 if v < -0.5 else 1
        last[k] = last[k] * v + 1.0
    return last[0] + last[1] * x[0] + last[2] ** 2


def swaps_entries(x):
    y = [x[0], x[1], x[2], x[3]]
    for _ in range(4):
        for i in range(3):
            if y[i] > y[i + 1]:
                y[i], y[i + 1] = y[i + 1], y[i]
    return sum(v * w for v, w in zip(y, [0.0, 1.0, 4.0, 9.0])) + len(y)


def copies(x):
    a = [x[0], 0.5]
    b, c, d = a.copy(), a[:], list(a)
    for v in x:
        if v > 0.3:
            a[0] = v
            b[1] += v
        elif v < -0.3:
            c, d = d.copy(), c.copy()
            c[0] = c[0] - v
    return a[0] + 2 * b[0] + 3 * b[1] * c[0] - d[0] * d[1]


def counts_in_a_list(x):
    levels = [0.0] * 3
    for v in x:
        k = 0
        if v > 0.8:
            k = 2
        elif v > 0:
            k = 1
        levels[k] += 1.0
    return sum([n * n for n in levels]) * x[0] + np.sum(np.array(levels) * x[:3])


def states_by_name(x):
    gains, mode, s = {"slow": 0.5, "fast": 2.0}, "slow", 0.0
    for v in x:
        if v > 0.5:
            mode = "fast"
        elif v < -0.5:
            mode = "slow"
        s += v * gains[mode]
    return s


MERGE = [
    bounces, fills_a_tank, with_slots, with_a_constructor, in_a_namespace, by_keywords, two_means, two_servers, looks_up_a_table, shifts_gears,
    from_the_end, swaps_entries, copies, counts_in_a_list, states_by_name,
]  # fmt: skip


# Traps


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


TRAPS = [
    with_a_property, counted_when_made, watched, checked_when_made, with_a_property_of_a_subclass, asked_for_anything, makes_a_list_of_its_own,
    by_another_name, object_by_another_name, changed_by_a_function, in_a_list, kept_by_default, seen_by_a_closure, changed_in_another_list, lazily_read, while_gone_over,
    multiplied_lists, arrays_in_a_list, whole_and_float, bools_in_a_list, index_that_changes, an_array_that_stays, in_single_precision,
    unbound_at_times, a_float_as_an_index,
]  # fmt: skip


# Entries of arrays at an index that data decides on

DRAWS = np.array([0.3, 0.9, -0.4, 0.5, 0.1, -0.8, 0.7, 0.2, -0.1, 0.6, 0.45, -0.2])
COUNTS = np.array([1, 2, 3, 2, 1, 1, 4, 2, 3, 1, 2, 3])
LEVELS = [-0.5, 0.0, 0.4, 1.1]
MIXED = [0.5, 1, 2.5, 3]


def rejects(x):
    k, got, s = 0, 0, 0.0
    while got < 3 and k < 10:
        if DRAWS[k] < x[0] * DRAWS[k + 1]:
            s += DRAWS[k] * x[1]
            got += 1
        k += 2
    return s + k * 0.01 * x[2]


def finds_a_level(x):
    s = 0.0
    for v in x:
        k = 0
        while k < len(LEVELS) and v > LEVELS[k]:
            k += 1
        s += v * DRAWS[k]
    return s


def walks_along_the_argument(x):
    k, s = 0, 0.0
    for _ in range(4):
        if x[k] > 0.3:
            k += 1
        s = s + x[k] * x[-1 - k]
    return s


MERGE += [rejects, finds_a_level, walks_along_the_argument]


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


TRAPS += [
    ints_at_an_index, ints_among_floats, written_before_it_is_read, beyond_in_a_condition, from_the_end_of_an_array, lists_that_grow,
]  # fmt: skip


# Lists that data makes longer


def sums_what_it_keeps(x):
    kept, s = [], 0.0
    for v in x:
        if v > 0.2:
            kept.append(v * v)
        else:
            s += v
    return sum(kept) * x[0] + s + len(kept) * 0.1


def means_of_what_it_keeps(x):
    high, low = [], []
    for v in x:
        w = v * x[1]
        if w > 0.1:
            high.append(w)
        else:
            low.append(np.sin(w))
    return np.mean(high) if len(high) > 0 else np.sum(np.array(low)) + 2.0


def keeps_in_a_while(x):
    steps, v = [], abs(x[0]) + 0.3
    while v < 3.0:
        steps.append(v)
        v = v * 1.5 + x[1] ** 2
    return sum(steps) + 0.5 * len(steps) * x[2]


def starts_again(x):
    total = 0.0
    for k in range(3):
        kept = []
        for v in x:
            if v > 0.3 * k:
                kept.append(v)
        total = total + np.array(kept).sum() * (k + 1.0)
    return total


MERGE += [sums_what_it_keeps, means_of_what_it_keeps, keeps_in_a_while, starts_again]


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


TRAPS += [goes_over_what_it_keeps, keeps_ints, keeps_arrays, keeps_by_another_name, mean_of_none_by_hand]


def extremes_of_what_it_keeps(x):
    kept, s = [], 0.0
    for v in x:
        if v > 0.2:
            kept.append(np.log(v - 0.25))  # also NaN, which stays where it is the first
        elif kept and v < -0.5:
            kept.append(v * 1.0)
    if kept:
        s = max(kept) - 0.5 * min(kept)
    return s * x[1]


def records_so_far(x):
    best = [x[0]]
    for v in x[1:]:
        if v > best[-1]:
            best.append(v)
    return best[-1] * x[1] + sum(best) / len(best)


def last_or_none(x):
    kept = []
    for v in x:
        if not kept or v > 0.5:
            kept.append(v * x[1])
    return kept[-1] * x[2] + (max(kept) if len(kept) > 1 else x[3])


def starts_with_what_it_had(x):
    kept = [x[0]]
    for k in range(2):
        for v in x:
            if v > kept[-1]:
                kept.append(v)
        kept = [kept[-1], x[k]]
    return max(kept) * len(kept) + kept[-1]


MERGE += [extremes_of_what_it_keeps, records_so_far, last_or_none]
TRAPS += [starts_with_what_it_had]


# Entries of matrices of which data decides one index

MATRIX = np.array([[0.5, -1.0], [2.0, 0.25], [1.5, 0.75]])


def row_that_data_decides(x):
    m, k = x.reshape(3, 2) * 2.0, 0
    for v in x[:4]:
        if v > 0.2:
            k = (k + 1) % 3
    return m[k, 0] * m[k, 1] + MATRIX[-1 - k, 1]


def column_that_data_decides(x):
    m, j, k = x.reshape(2, 3) * 2.0, 1, 0
    for v in x[:4]:
        if v > 0.2:
            k = (k + 1) % 3
    return m[0, k] * m[j, k]


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


MERGE += [row_that_data_decides, column_that_data_decides]
TRAPS += [beyond_the_last_row, no_matrix, matrix_that_is_written, matrix_that_a_view_shows]
