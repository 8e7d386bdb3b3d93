"""Functions in plain Python whose branches look at data: those that merge, and traps, whose branches must stay branches."""

import numpy as np

NOISE = np.random.default_rng(0).normal(size=12)


# What merges: one tape, or few, for all points


def huber(x):
    s = 0.0
    for v in x:
        r = v - 0.3
        if abs(r) < 1.0:
            s += 0.5 * r * r
        else:
            s += abs(r) - 0.5
    return s


def sums_in_steps(x):
    s, t, n = 0.0, 1.0, 0
    for v in x:
        r = v - 0.3
        if abs(r) < 1.0:
            s = s - 0.5 * r * r
            n = n + 1 - r
            t = t * v * 0.5
        else:
            s = s + abs(r) - 0.5
            s -= r
            if r > 2.0:
                t = t * r
            n -= 2
    return s + 0.1 * t + n * x[0]


def positive_part(v):
    if v > 0:
        return v
    return 0.0


def by_a_helper(x):
    return sum([positive_part(v - 0.2) ** 2 for v in x]) + positive_part(x[0]) * x[1]


def chained_comparisons(x):
    t = 0
    for v in x:
        if (-0.5 < v < 0.5 and v != 0.25) or not v > -1.0:
            t = t + v * 2
        elif v > 1:
            w = v * 3
            t += w
        else:
            t -= v
    return t * x[0]


def extremes(x):
    t = 1.0
    for v in x:
        t = t * (1.0 + 0.1 * max(v, -0.5, 0)) - min(v, t)
    return t


def conditional_expressions(x):
    return sum([(v if v > 0 else -0.5 * v) for v in x]) * (2.0 if x[0] > x[1] else x[2])


def counts(x):
    n, t = 0, 0.0
    for v in x:
        if v < 0:
            continue
        n += 1
        t += v**2
    return t / (n + 1)


def flags(x):
    hit, t = False, 0.0
    for v in x:
        if v > 1.0:
            hit = True
        t = t + (v * 2.0 if hit else v)
    return t if not hit else t * x[0]


def bouncing(p):
    y, v, e = p[0], p[1], p[2]
    total = 0.0
    for _ in range(30):
        v = v - 0.2
        y = y + 0.1 * v
        if y < 0:
            y, v = -e * y, -e * v
        total = total + y**2
    return total


def bucket(p):
    stored, flow = p[0], 0.0
    for rain in NOISE:
        stored = stored + rain
        if stored > p[1]:
            flow = flow + (stored - p[1]) * p[2]
            stored = p[1]
        loss = p[3] * stored
        if loss > 0.3:
            loss = 0.3
        stored = stored - loss
        if stored < 0:
            stored = 0.0
        flow = flow + 0.01 * stored
    return flow


class Spring:
    def __init__(self, rest):
        self.rest = rest

    def force(self, v):
        if v > self.rest:
            return 2.0 * (self.rest - v)
        return 0.5 * (self.rest - v)


SPRING = Spring(0.1)


def methods(x):
    s = 0.0
    for v in x:
        s = s + SPRING.force(v) ** 2
    return s


def newton(x):
    a = x[0] ** 2 + 0.5
    root, change, steps = 1.0 + a, 1.0, 0
    while abs(change) > 1e-12 and steps < 100:
        new = 0.5 * (root + a / root)
        change = new - root
        root = new
        steps += 1
    return root * x[1]


def adaptive(x):
    t, h, y, rate = 0.0, 0.1, x[0], x[1] ** 2 + 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        k1 = -rate * y
        k2 = -rate * (y + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error < 1e-3:
            t = t + h
            y = y + 0.5 * h * (k1 + k2)
        h = h * min(2.0, max(0.3, 0.9 * np.sqrt(1e-3 / (error + 1e-16))))
    return y


def newton_with_a_break(x):
    a = x[0] ** 2 + 0.5
    root, steps = 1.0 + a, 0
    while True:
        new = 0.5 * (root + a / root)
        steps += 1
        if abs(new - root) < 1e-12:
            root = new
            break
        if steps > 50:
            break
        root = new
    return root * x[1]


def bisection(x):
    low, high = 0.0, 4.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        value = middle**2 - x[0] ** 2 - 0.3
        if value == 0:
            break
        if value > 0:
            high = middle
        else:
            low = middle
    return (low + high) * x[1]


def early_return(x):
    if x[0] > 0.5:
        return x[1] * x[0]
    if x[1] > 0:
        return x[2]
    return x[0] - x[2]


def nested(x):
    s = 0.0
    for v in x:
        if v > 0:
            a = v
            if v > 1:
                a = a * a
                if v > 1.5:
                    a += 1.0
            else:
                a = -a
            s += a
    return s


def quotient_by_a_count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return x[0] / n if n > 0 else x[1]


def step_sizes(x):
    """As a controller of step sizes: powers of quotients, of which one operand is the function's."""
    h, t, y = 0.1, 0.0, abs(x[0]) + 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        a = -x[1] * y
        b = -x[1] * (y + h * a)
        error = abs(0.5 * h * (b - a)) + 1e-3
        if error <= 5e-2:
            t, y = t + h, y + 0.5 * h * (a + b)
        h = h * min(2.0, max(0.3, 0.9 * (5e-2 / error) ** 0.5))
    return y


MERGE = [
    huber, sums_in_steps, step_sizes, by_a_helper, chained_comparisons, extremes, conditional_expressions, counts, flags, bouncing, bucket, methods, newton, adaptive, newton_with_a_break,
    bisection, early_return, nested,
]  # fmt: skip


# Traps: a careless rewriting of each gives wrong answers


def appends(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    return sum(kept) * x[0] if kept else x[1]


def changes_a_list(x):
    best = [0.0]
    for v in x:
        if v > 0.5:
            best[0] = v
    return best[0] * x[0]


def writes_through_a_view(x):
    y = x.copy()
    tail = y[3:]
    for i in range(3):
        if x[i] > 0:
            tail += x[i]
    return np.sum(y**2)


def adds_in_place(x):
    y = x[:3] * 1.0
    z = y
    if x[3] > 0:
        y += 1.0
    return np.sum(z**2)


def hands_an_array_through(x):
    y = x[:3] * 1.0
    z = y * 2.0
    w = y if x[3] > 0 else z
    w[0] = 5.0
    return np.sum(y**2) + np.sum(z**2)


def draws(x):
    rng, s = np.random.default_rng(1), 0.0
    for v in x:
        if v > 0:
            s = s + v * rng.normal()
    return s + x[0]


def takes_from_an_iterator(x):
    items, s = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), 0.0
    for v in x:
        if v > 0:
            s = s + v * next(items)
    return s + x[0]


class Counter:
    def __init__(self):
        self.n = 0


def counts_on_an_object(x):
    counter, s = Counter(), 0.0
    for v in x:
        if v > 0:
            counter.n += 1
        s = s + v * counter.n
    return s


class Property:
    def __init__(self):
        self.asked = 0

    @property
    def gain(self):
        self.asked += 1
        return float(self.asked)


def asks_a_property(x):
    p, s = Property(), 0.0
    for v in x:
        if v > 0:
            s = s + v * p.gain
    return s + x[0]


class Number:
    def __init__(self):
        self.uses = 0

    def __mul__(self, other):
        self.uses += 1
        return other * self.uses

    __rmul__ = __mul__


def multiplies_an_object(x):
    number, s = Number(), 0.0
    for v in x:
        if v > 0:
            s = s + v * number
    return s + x[0]


def helper_with_a_default(v, seen=[0]):  # noqa: B006 -- that is the trap
    seen[0] += 1
    return v * seen[0]


def calls_a_helper_with_state(x):
    helper_with_a_default.__defaults__[0][0] = 0
    s = 0.0
    for v in x:
        if v > 0:
            s = s + helper_with_a_default(v)
    return s + x[0]


def uses_an_int_as_an_index(x):
    k = 0
    for i in range(1, 6):
        if x[i] > x[k]:
            k = i
    return x[k] * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][k]


def uses_an_int_in_a_range(x):
    n = 1
    if x[0] > 0:
        n = 3
    s = 0.0
    for k in range(n):
        s = s + x[k] ** 2
    return s


def uses_an_int_as_an_exponent(x):
    n = 2
    if x[0] > 0:
        n = 3
    return x[1] ** n + (-2) ** n


def keeps_an_int_on_an_object(x):
    counter = Counter()
    n = 1
    if x[0] > 0:
        n = 2
    counter.n = n
    return sum([x[k] for k in range(counter.n)]) * (7 // counter.n)


def adds_bools(x):
    hits = x[0] > 0
    a = True
    b = False
    if hits:
        b = True
    return x[1] * (a + b) + x[2]


def inverts_a_bool(x):
    b = False
    if x[0] > 0:
        b = True
    return x[1] * ~b


def divides_ints(x):
    n = 5
    for v in x:
        if v > 0:
            n += 1
    return x[0] * (n // 2) + x[1] * (n % 3)


def divides_by_a_number_that_is_zero(x):
    n = 0
    for v in x:
        if v > 0.2:
            n += 1
    return x[0] + 3 / n


def quotient_of_plain_numbers_on_one_side(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return x[0] * (1 / n) if n > 0 else x[1]


def power_of_a_negative_number(x):
    h = 0.25
    if x[0] > 0:
        h = -h
    root = h**0.5
    return x[1] * (root.real + 2.0 * root.imag)


def power_of_zero(x):
    n = 2
    for v in x:
        if v > 0:
            n -= 1
    try:
        return x[0] * n**-1.0
    except ZeroDivisionError:
        return x[1]


def power_that_is_too_large(x):
    h = 10.0
    if x[0] > 0:
        h = 1e70
    try:
        return x[0] * h**5.5
    except OverflowError:
        return x[1] * x[2]


def late_binding(x):
    k = 1.0
    later = lambda v: v * k
    if x[0] > 0:
        k = 2.0
    return later(x[1]) + x[2]


def unbound_on_one_side(x):
    for v in x:
        if v > 0.5:
            y = v
    return y * x[0]


def none_until_found(x):
    best = None
    for v in x:
        if v > 0.3 and (best is None or v > best):
            best = v
    return x[0] if best is None else best * x[1]


def a_string_as_state(x):
    mode, s = "slow", 0.0
    for v in x:
        if v > 0.5:
            mode = "fast"
        s = s + (v if mode == "slow" else v**2)
    return s


def catches_errors(x):
    s = 0.0
    for v in x:
        try:
            if v > 0:
                s = s + 1.0 / int(v)
            else:
                s = s - v
        except ZeroDivisionError:
            s = s + 7.0
    return s * x[0]


def logs_in_a_while(x):
    seen, v = [], abs(x[0]) + 0.1
    while v < 3.0:
        seen.append(v)
        v = v * 1.5 + 0.1
    return v * len(seen)


def draws_in_a_while(x):
    v, rng = abs(x[0]) + 0.1, np.random.default_rng(0)
    while v < 3.0:
        v = v * 1.5 + 0.1 * rng.normal() ** 2
    return v


def lists_in_a_while(x):
    v, pair = abs(x[0]) + 0.1, [0.0, 1.0]
    while v < 3.0:
        pair[0], pair[1] = pair[1], v
        v = v * 1.3 + 0.1 * pair[0]
    return v * pair[0]


def changes_an_int_in_a_while(x):
    v, k = abs(x[0]) + 0.1, 0
    while v < 3.0:
        v = v * 1.5 + abs(x[k])
        k = (k + 1) % 6
    return v


def looks_at_locals(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v
    return s * len(locals())


def an_index_beyond_the_end(x):
    s = 0.0
    for i in range(6):
        if i < 5 and x[i + 1] > x[i]:
            s = s + x[i + 1]
    return s * x[0]


def discarded_infinities(x):
    s = 0.0
    for v in x:
        if v > 0:
            s = s + np.sqrt(v) + np.log(v)
        else:
            s = s + v
    return s


def negative_zero(x):
    s = -0.0
    for v in x:
        if v > 10.0:
            s += v
    return np.copysign(1.0, s) * x[0]


def adds_in_float32(x):
    s = 0.0
    for v in x.astype(np.float32):
        if v > 0:
            s = s + v * v
    return s * x[0]


def has_long_sides(x):
    s = x[0]
    for v in x[:3]:
        if v > 0:
            s = np.sin(np.exp(np.sin(np.exp(np.sin(np.exp(np.tanh(s + v)))))))
        else:
            s = np.cos(np.exp(np.cos(np.exp(np.cos(np.exp(np.tanh(s - v)))))))
    return s


names = {}
exec("def without_a_source(x):\n    return x[0] if x[1] > 0 else x[2] * 2.0\n", names)
without_a_source = names["without_a_source"]


TRAPS = [
    quotient_of_plain_numbers_on_one_side, power_of_a_negative_number, power_of_zero, power_that_is_too_large,
    appends, changes_a_list, writes_through_a_view, adds_in_place, hands_an_array_through, draws, takes_from_an_iterator,
    counts_on_an_object, asks_a_property, multiplies_an_object, calls_a_helper_with_state, uses_an_int_as_an_index, uses_an_int_in_a_range,
    uses_an_int_as_an_exponent, keeps_an_int_on_an_object, adds_bools, inverts_a_bool, divides_ints, late_binding, none_until_found, a_string_as_state, catches_errors,
    logs_in_a_while, draws_in_a_while, lists_in_a_while, changes_an_int_in_a_while,
    looks_at_locals, an_index_beyond_the_end, discarded_infinities, negative_zero, quotient_by_a_count,
    adds_in_float32, has_long_sides, without_a_source,
]  # fmt: skip
