"""Branches on data in plain functions: helpers, early returns, nested `if`, loops that end early."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

KNOTS = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])


def positive_part(v):
    if v > 0:
        return v
    return 0.0


def by_a_helper(x):
    return sum([positive_part(v - 0.2) ** 2 for v in x]) + positive_part(x[0]) * x[1]


def counts(x):
    n, t = 0, 0.0
    for v in x:
        if v < 0:
            continue
        n += 1
        t += v**2
    return t / (n + 1)


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


def quotient_by_a_count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return x[0] / n if n > 0 else x[1]


def step_sizes(x):
    """Controls a step size by powers of quotients; one operand is an argument."""
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


def refuses_large_values(x):
    if not isinstance(x, np.ndarray) or x.size > 4:
        raise ValueError("four values at most")
    s = 0.0
    for v in x:
        if v > 0:
            s = s + v
    return s


def doubled_near_one(v):
    return 2.0 * v if math.isclose(v, 1.0) else v


def calls_what_asks_whether_numbers_are_close(x):
    return (doubled_near_one(x[1]) if x[0] > 0 else x[2]) * x[3]


def reads_more_each_time(x):
    total = 0.0
    for i in range(210):
        rate = x[0] * x[0]
        for j in range(i):
            rate = rate + 0.1 * x[1] * x[1] / (1.5 + 0.1 * i - 0.05 * j)
        total = total + np.log(rate)
    return total


def needs_what_a_mask_selects(x):
    return np.sum(np.diff(x[x > 0]) ** 2)


def three_ways(x):
    s = x[2] * 0.0
    for k in range(2):
        if x[k] > 0:
            s = s + x[k] ** 2
        else:
            s = s - x[k]
    return s


def halved(x):
    s = x[0]
    while s > 1.0:
        s = 0.5 * s
    return s


def robust(x, scale=1.0):
    s = 0.0
    for v in x:
        r = abs(v) * scale
        if r < 1.0:
            s += 0.5 * r**2
        else:
            s += r - 0.5
    return s


def solves(x):
    if x[0] > 0:
        y = np.linalg.solve(np.eye(2) * 3.0 + np.outer(x, x), x)
    else:
        y = np.cos(x)
    return np.sum(y)


def appends_two(x):
    kept = [v for v in x if v > 0]
    return kept[0] - sum(kept[1:])


def collected(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    return sorted(kept)[len(kept) // 2] * x[0] if kept else x[1]


def doubled_until(x):
    n = 0
    while n < x[0]:
        n = n + 1
    return x[1] * sum(range(n))


def every_form(x):
    s, k = x[0] * 0.0, 0.0
    for v in x:
        if v > 0:
            s = s + v
        if v > 1:
            s = s + np.sum(np.linalg.solve(np.eye(2) * v, np.ones(2)))
    while k < x[1]:
        k = k + 1.0
    for v in x:
        if v > 2:
            break
        s = s + v
    return s * k + sum(v for v in x if v < 0)


def unlike_at_last(x):
    if x[0] > 0:
        y = np.sum(np.sin(x))
    elif x[1] > 5:
        y = np.cos(x)  # an array, where the other paths give numbers
    else:
        y = np.sum(x**2)
    return np.sum(y)


def positive(v):
    if v > 0:
        return v
    return 0.0


def larger(v):
    return v if v > 0.1 else 0.0


def binds_anew(x):
    a, b, n = x[0], 1, 0
    y = x * 1.0
    z = y[::-1]

    def inner(v):
        return v * b

    if positive(a) > 0.2:
        b = 1 / 3
    b += z[0] - a
    if n == z[0]:
        a *= larger(b) // 1 + y[1]
    else:
        y[1] = np.tanh(z[0])
    return 4 * a + inner(x[3])


def fixed_point(p):
    """A `while` whose body has branches."""
    r, k = np.array([1.0, 0.0]), 0
    while k < 300:
        new = np.tanh(0.5 * r + p[:2])
        k += 1
        if np.max(np.abs(new - r)) < 1e-10:
            break
        r = new
    return np.sum(new)


class Ball:
    def __init__(self, y, v, mass=1.0):
        self.y = y
        self.v = v
        self.mass = mass

    def fall(self, dt):
        self.v -= dt
        self.y += self.v * dt
        if self.y < 0.0:
            self.y = -self.y
            self.v = -0.9 * self.v

    @property
    def energy(self):
        return 0.5 * self.mass * self.v**2 + self.mass * self.y


def balls(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3], 2.0), Ball(x[4], x[5])]
    for _ in range(3):
        for b in balls:
            b.fall(0.3)
        for i, b in enumerate(balls[1:]):
            if b.v > balls[i].v:
                b.v, balls[i].v = balls[i].v, b.v * 0.5
    return sum(b.energy for b in balls) + max(b.y for b in balls)


def one_ball_twice(x):
    one = Ball(x[0], x[1])
    balls = [one, one, Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.y = b.y - 0.5
    return balls[0].y * balls[2].v + one.y


def one_row_twice(x):
    table = [[0.0] * 2] * 3
    for k in range(3):
        if x[k] > 0:
            table[k][0] += x[k]
    return table[0][0] * x[3] + table[2][0]


def loop_variable_after_it(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.y = b.y * 0.5
    return b.y + balls[0].y * 2.0


def rebound_in_the_loop(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b = Ball(x[4], x[5])
        b.v = b.v * 0.5 + x[0]
    return balls[0].v + balls[1].v * 2.0


def seen_by_functions_later(x):
    balls, later = [Ball(x[0], x[1]), Ball(x[2], x[3])], []
    for i, b in enumerate(balls):
        if b.y > 0:
            b.y = b.y * 0.5
        later.append(lambda: i + x[4])
    return sum(f() for f in later) * balls[0].y


def replaced_entries(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    old = balls[0]
    for k in range(2):
        if x[k] > 0:
            balls[k] = Ball(x[4], x[5])
    return balls[0].y + old.y * balls[1].v


def same_names_in_comprehensions(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    total = 0.0
    for b in balls:
        total = total + sum([b * 0.5 for b in x]) * b.y
        if b.y > 0:
            b.y = b.y * 0.5 + total
    return balls[0].y + balls[1].y * total


def counts_its_calls(balls):
    balls[0].v = balls[0].v + 1.0
    return balls[0].v


def given_as_a_whole(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    return counts_its_calls(balls) * balls[0].v + balls[1].v


def asks_no_further_ones(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    for b in balls:
        if b.y > 0:
            b.v = b.v * 0.5
    is_low = any(b.fall(0.5) or b.y < 0.5 for b in balls)
    return (1.0 if is_low else 2.0) * balls[0].y + balls[1].y * balls[1].v


def until_one_is_found(x):
    balls, found = [Ball(x[0], x[1]), Ball(x[2], x[3]), Ball(x[4], x[5])], 0.0
    for b in balls:
        b.y += 0.1
        if b.y > 0.3:
            found = b.v
            break
    return found + sum(b.y * b.v for b in balls)


def another_name_in_the_next_iteration(x):
    balls = [Ball(x[0], x[1]), Ball(x[2], x[3])]
    other = balls[0]
    for k in range(3):
        if other.y > x[k]:
            other.y = other.y * 0.5
        other = balls[k % 2]
    return balls[0].y + balls[1].y * 2.0 + other.v


# Partials, methods and objects


def hinges(x, knots, scale=1.0):
    total = 0.0
    for knot, value in zip(knots, x):
        if value > knot:
            total = total + scale * (value - knot) ** 2
        else:
            total = total - value
    return total


class Hinges:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return hinges(x, KNOTS, self.scale)

    def method(self, x):
        total = 0.0
        for knot, value in zip(KNOTS, x):
            total = total + (self.scale * (value - knot) ** 2 if value > knot else -value)
        return total


# Several loops, errors and globals


def settles(x, iterations=60):
    values = x
    for _ in range(iterations):
        new = np.stack([0.5 * values[k] + 0.1 * np.sin(values[k - 1]) for k in range(len(x))])
        if np.max(np.abs(new - values)) < 1e-7:
            break
        values = new
    return np.sum(values)


def logarithms(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += math.log(v + 1.0)
        else:
            total += math.exp(v)
    return total


PROGRAMS = [
    by_a_helper, counts, bisection, step_sizes, refuses_large_values, calls_what_asks_whether_numbers_are_close, reads_more_each_time,
    needs_what_a_mask_selects, three_ways, halved, robust, solves, appends_two, collected, doubled_until, every_form, unlike_at_last,
    binds_anew, fixed_point, settles, logarithms,
]  # fmt: skip
# What a careless join of both sides gets wrong.
TRAPS = [
    quotient_by_a_count, appends, changes_a_list, writes_through_a_view, adds_in_place, hands_an_array_through, draws,
    takes_from_an_iterator, counts_on_an_object, asks_a_property, multiplies_an_object, calls_a_helper_with_state,
    uses_an_int_as_an_index, uses_an_int_in_a_range, uses_an_int_as_an_exponent, keeps_an_int_on_an_object, adds_bools, inverts_a_bool,
    divides_ints, quotient_of_plain_numbers_on_one_side, power_of_a_negative_number, power_of_zero, power_that_is_too_large,
    late_binding, none_until_found, a_string_as_state, catches_errors, logs_in_a_while, draws_in_a_while, lists_in_a_while,
    changes_an_int_in_a_while, looks_at_locals, an_index_beyond_the_end, discarded_infinities, negative_zero, adds_in_float32,
    has_long_sides, one_ball_twice, one_row_twice, loop_variable_after_it, rebound_in_the_loop, seen_by_functions_later,
    replaced_entries, same_names_in_comprehensions, given_as_a_whole, asks_no_further_ones, until_one_is_found,
    another_name_in_the_next_iteration,
]  # fmt: skip
CASES = {
    "partial": partial(hinges, knots=KNOTS, scale=2.0),
    "method": Hinges(2.0).method,
    "object": Hinges(2.0),
}  # fmt: skip
