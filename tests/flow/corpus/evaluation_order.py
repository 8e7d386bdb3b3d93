"""Names, aliases and the order of evaluation: what Python binds, shares and reads at a moment that a join may miss."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np

TABLE = np.array([0.5, -1.0, 2.0, 0.25, 1.5])
GAIN = 1.0


def two_names_by_a_tuple(x):
    y = z = x * 1.0
    pair = (y, z)
    if x[0] > 0:
        y += 1.0
    return np.sum(pair[1] * z)


def augments_where_another_rebinds(x):
    y = x * 1.0
    z = y
    if x[0] > 0:
        y = y + 1.0
    else:
        y += 1.0
    return np.sum(z * y)


def kept_by_a_default(x):
    y = x * 1.0

    def read(v, held=y):
        return held[0] * v

    if x[1] > 0:
        y[0] = 3.0 * x[2]
    return read(x[3])


def kept_by_a_closure(x):
    y = x * 1.0
    read = lambda: y[1] * x[0]
    if x[1] > 0:
        y[1] = x[2]
    if x[2] > 0:
        y = x * 2.0
    return read()


def view_of_a_view(x):
    y = x * 1.0
    z = y[1:][::-1]
    if x[0] > 0:
        z[0] = 2.0
    return y[-1] * x[1] + z[0]


def by_an_out_argument(x):
    y, z = x * 1.0, x * 0.0
    if x[0] > 0:
        np.add(y, 1.0, out=z)
    return np.sum(z * y)


def swaps_then_writes(x):
    y, z = x * 1.0, x * 2.0
    if x[0] > x[1]:
        y, z = z, y
    y[0] = 0.5
    return np.sum(y * TABLE[:4]) + z[0]


def number_or_array_augmented(x):
    total = 0.0
    y = x[:2] * 1.0
    before = y
    for v in (y, y * 2.0):
        if x[0] > 0.1:
            total += v[0]
        else:
            v += x[1]
    return total + np.sum(before)


def counted_by_a_chain(x):
    calls = []

    def seen(v):
        calls.append(v)
        return v

    s = 0.0
    for v in x:
        if -0.5 < seen(v) < seen(0.7):
            s = s + v
    return s * len(calls)


def counted_by_and(x):
    count = [0]

    def next_one(v):
        count[0] += 1
        return v

    s = 0.0
    for v in x:
        if v > 0 and next_one(v) > 0.5:
            s = s + v * count[0]
    return s + count[0]


def counted_by_or(x):
    hits = {"n": 0}

    def hit(v):
        hits["n"] += 1
        return v < 0

    s = 1.0
    for v in x:
        s = s + (v if v > 0.3 or hit(v) else 2.0 * v)
    return s * hits["n"]


def value_or_default(x):
    step = x[0] * (1.0 if x[1] > 0 else 0.0)
    step = step or x[2]
    return step * x[3]


def value_and_default(x):
    k = 1 if x[0] > 0 else 0
    return (k and x[1]) + (k or x[2]) * x[3]


def bound_in_a_test(x):
    s = 0.0
    for v in x:
        if (w := 2.0 * v) > 0.5:
            s = s + w
    return s + w


def bound_on_the_right(x):
    w = 0.25
    s = 0.0
    for v in x:
        if v > 0 and (w := v * v) > 0.1:
            s = s + 1.0
        s = s + w
    return s


def late_functions(x):
    later = []
    for v in x:
        scale = 1.0
        if v > 0:
            scale = v
        later.append(lambda: scale * v)
    return sum(g() for g in later)


def late_by_a_generator(x):
    limit = 0.2
    large = (v for v in x if v > limit)
    if x[0] > 0:
        limit = -1.0
    return sum(large) + limit


def other_type_in_one_branch(x):
    n = 3
    if x[0] > 0:
        n = n / 2
    elif x[1] > 0:
        n = n // 2
    return n * x[2] + (n % 2) * x[3]


def of_numpy_in_one_branch(x):
    t = 0.1
    if x[0] > 0:
        t = np.float64(0.0)
    with np.errstate(all="ignore"):
        return np.tanh(1.0 / t) * x[1] + x[2]


def large_whole_number(x):
    n = 2**53
    for v in x:
        if v > 0:
            n = n + 1
    return (n - 2**53) * x[0] + x[1]


def overflowing_product(x):
    n = 3
    for k in range(45):
        if x[k % 4] > 0:
            n = n * 3
    return np.log(float(n)) * x[0] + (n % 7) * x[1]


def is_true(x):
    hit = x[0] > 0
    flag = False
    if x[1] > 0:
        flag = True
    return x[2] * (2.0 if flag is True else 1.0) + (x[3] if hit else 0.0)


def bool_as_key(x):
    hit = False
    if x[0] > 0:
        hit = True
    return {False: x[1], True: x[2]}[hit] * {0: 2.0, 1: 3.0}[hit]


def text_of_a_count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return {"n=0": 0.5, "n=1": 1.0, "n=2": x[0]}.get(f"n={n}", x[1])


def format_of_a_float(x):
    t = 1
    if x[0] > 0:
        t = 1.0
    return len(f"{t}") * x[1]


def not_of_a_count(x):
    n = 0
    for v in x[:3]:
        if v > 0.4:
            n += 1
    return x[3] * (not n) + (~n) * x[0]


def half_of_an_odd_count(x):
    n = 0
    for v in x:
        n += 1 if v > 0 else 2
    return TABLE[n // 2] * x[0] + -n // 2 * x[1] + divmod(n, 3)[1]


def else_of_a_for(x):
    for v in x:
        if v > 1.0:
            found = v
            break
    else:
        found = x[0] - 5.0
    return found * x[1]


def continues_twice(x):
    s = 0.0
    for v in x:
        for w in TABLE:
            if w > v:
                continue
            if v < 0:
                break
            s = s + v * w
        else:
            s = s + 10.0
            continue
        s = s - 1.0
    return s * x[0]


def own_max(x):
    max = min
    s = 0.0
    for v in x:
        s = s + max(v, 0.3)
    return s


def function_by_branch(x):
    if x[0] > 0:

        def g(v):
            return v * 2.0
    else:

        def g(v):
            return v * v

    def twice(v):
        return g(g(v))

    if x[1] > 0:
        g = np.sin
    return twice(x[2])


def default_of_a_dict(x):
    seen = {}
    for v in x:
        key = "low" if v < 0 else "high"
        seen.setdefault(key, v)
        if v > 0.5:
            seen[key] = seen.get(key, 0.0) + v
    return seen.get("low", 1.0) * x[0] + seen.get("high", -1.0)


def changes_what_it_goes_over(x):
    weights = {"a": x[0], "b": x[1]}
    s = 0.0
    for key, w in list(weights.items()):
        if w > 0:
            weights[key] = w * 2.0
            weights["c"] = w
        s = s + weights[key]
    return s + len(weights) * x[2]


def last_of_a_loop(x):
    for k, v in enumerate(x):
        if v > 0.5 + 0.1 * k:
            break
    return v * k + x[0]


def deletes_a_name(x):
    t = x[0]
    if x[1] > 0:
        del t
        t = x[2]
    return t * x[3]


def star_of_a_choice(x):
    first, *rest = (x[0], x[1]) if x[2] > 0 else (x[3],)
    return first * (len(rest) + 1.0) + sum(rest)


def reduced(x):
    return reduce(lambda s, v: s + v if v > s else s * 0.5, x, 0) + reduce(operator.mul, x)


def comprehension_in_a_branch(x):
    s = [v for v in x]  # noqa: C416
    if x[0] > 0:
        s = [v * 2.0 for v in s if v > x[0]]
    return sum(s) * len(s) + x[1]


def same_object_or_equal(x):
    a, b = x[0], x[0]
    chosen = a if x[1] > 0 else b
    return x[2] if chosen is a else x[3]


class Body:
    SCALE = 0.5

    def __init__(self, a):
        self.a = a

    def bumped(self, v):
        self.a = self.a + v
        return self.a * 0.5

    def scaled(self):
        return self.a * self.SCALE

    def noted(self, v):
        set_gain(2.0)
        self.a = self.a + v
        return self.a


def set_gain(value):
    global GAIN
    GAIN = value


def set_scale(value):
    Body.SCALE = value


def settle(y, v):
    y[0] = v * 0.5
    return v + 1.0


def named_after_a_read(x):
    y, q = x * 1.0, 0.0
    if 5.0 * y[0] + (q := settle(y, -x[0])) > 1.0:
        return y[0] * 2.0 + q
    return q - y[0]


def named_after_arithmetic(x):
    y, q = x * 1.0, 0.0
    if 5.0 * y[0] > (q := settle(y, -x[0])):
        return y[0] * 2.0 + q
    return q - y[0]


def named_in_an_argument_of_a_method(x):
    p, s, v = Body(x[0]), x[1], x[2] * 1.0
    if x[1] > 0:
        p.a = p.a + 1.0
    return s + p.bumped(s := v)


def named_in_an_entry(x):
    p, s = Body(x[0]), x[1]
    if x[1] > 0:
        p.a = p.a + 1.0
    else:
        s = s * (s, (p := Body(x[3])).a)[0]
    return s * p.a


def named_in_a_guard(x):
    s, k = x[0], 1
    if x[1] > 0:
        s = s * 2.0
    match k:
        case 1 if (k := 2) > 5:
            s = s + 1.0
        case 2:
            s = s + 10.0
    return s * x[2]


def constant_of_a_class_is_set(x):
    p = Body(x[0])
    if x[1] > 0:
        p.a = p.a + x[1]
    set_scale(2.0)
    s = p.scaled() * x[1] + p.SCALE
    set_scale(0.5)
    return s


def method_of_a_class_is_set(x):
    p, before = Body(x[0]), Body.scaled
    if x[1] > 0:
        p.a = p.a + x[1]
    Body.scaled = lambda self: self.a * 3.0
    s = p.scaled() * x[1]
    Body.scaled = before
    return s


def default_of_a_method_is_set(x):
    p = Body(x[0])
    if x[1] > 0:
        p.a = p.a + x[1]
    Body.bumped.__defaults__ = (x[3],)
    s = p.bumped() * x[1]
    Body.bumped.__defaults__ = None
    return s


def global_is_set_by_a_method(x):
    set_gain(1.0)
    p, s = Body(x[0]), x[1]
    if x[1] > 0:
        p.a = p.a + 1.0
    return s + GAIN * p.noted(x[2])


largest, calls = max, []


def calls_a_builtin_by_a_global_name(x):
    s = 0.0
    for v in x:
        s = s + largest(v, 0.5)
    return s * (1.0 + len(calls) * 0.0)


tanh = np.tanh


def hides_a_global_in_a_comprehension(x):
    calls = []

    def log(v):
        calls.append(v)
        return v

    s = sum([(tanh(v) if v > 0 else 0.1 * v) for tanh in [log] for v in x])
    return s * len(calls)


# What a careless join of both sides gets wrong.
TRAPS = [
    two_names_by_a_tuple, augments_where_another_rebinds, kept_by_a_default, kept_by_a_closure, view_of_a_view, by_an_out_argument,
    swaps_then_writes, number_or_array_augmented, counted_by_a_chain, counted_by_and, counted_by_or, value_or_default,
    value_and_default, bound_in_a_test, bound_on_the_right, late_functions, late_by_a_generator, other_type_in_one_branch,
    of_numpy_in_one_branch, large_whole_number, overflowing_product, is_true, bool_as_key, text_of_a_count, format_of_a_float,
    not_of_a_count, half_of_an_odd_count, else_of_a_for, continues_twice, own_max, function_by_branch, default_of_a_dict,
    changes_what_it_goes_over, last_of_a_loop, deletes_a_name, star_of_a_choice, reduced, comprehension_in_a_branch,
    same_object_or_equal, named_after_a_read, named_after_arithmetic, named_in_an_argument_of_a_method, named_in_an_entry,
    named_in_a_guard, constant_of_a_class_is_set, method_of_a_class_is_set, default_of_a_method_is_set, global_is_set_by_a_method,
    calls_a_builtin_by_a_global_name, hides_a_global_in_a_comprehension,
]  # fmt: skip
