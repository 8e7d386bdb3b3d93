"""Programs that say in other words of Python's what statements with `if` say: generators, map and reduce, `:=`, nonlocal, dicts."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict

import numpy as np

rng = np.random.default_rng(20261126)
TURNS = 60
TIMES = rng.normal(size=TURNS)
CODES = rng.integers(0, 4, size=TURNS)


def maps_a_lambda(p):
    return sum(map(lambda t: p[0] * t if t > p[1] else t * t * p[1], TIMES))  # noqa: C417


def maps_two_sequences(p):
    return sum(map(lambda t, k: t * p[0] if t * k > p[1] else k * p[1], TIMES, CODES))


def maps_a_star(p):
    return sum(itertools.starmap(lambda t, k: t * p[0] if t * k > p[1] else k * p[1], zip(TIMES, CODES)))  # noqa: RUF058


def reduces_with_a_lambda(p):
    return functools.reduce(lambda s, t: 0.9 * s + t * p[0] if s < p[1] else 0.5 * s, TIMES, 0.0)


def accumulates_with_a_lambda(p):
    return sum(itertools.accumulate(TIMES, lambda s, t: 0.9 * s + t * p[0] if s < p[1] else 0.5 * s))


def maps_a_partial(p):
    def loss(r, c):
        if abs(r) <= c:
            return 0.5 * r * r
        return c * (abs(r) - 0.5 * c)

    return sum(map(functools.partial(loss, c=abs(p[1])), TIMES - p[0]))


def hands_out_states(p):
    def walk():
        x = p[0]
        for t in TIMES:
            x = 0.9 * x + t * p[1] if x < 1 else 0.5 * x
            yield x

    return sum(v * v for v in walk())


def hands_out_on_both_sides(p):
    def terms():
        for t in TIMES:
            v = t * p[0]
            if v > p[1]:
                yield v * v
            elif v > 0:
                yield p[1]
            else:
                yield -v

    return sum(terms())


def hands_out_on_one_side(p):
    def terms():
        for t in TIMES[:6]:
            if t * p[0] > p[1]:
                yield t
            yield p[0] * t * t

    return sum(terms())


def stops_handing_out(p):
    def terms():
        x = p[0]
        for t in TIMES[:8]:
            if x > 2.0 * abs(p[1]):
                return
            x = x + abs(t)
            yield x

    return sum(terms()) * p[1]


def breaks_off_a_generator(p):
    def terms():
        for t in TIMES[:8]:
            v = t * p[0]
            if v > 3 * abs(p[1]):
                break
            yield v

    found = list(terms())
    return sum(found) * p[1] + len(found)


def takes_some_of_a_generator(p):
    def powers():
        x = p[0]
        while True:
            x = x * p[1] if x > 0.1234 else x + 0.5
            yield x

    source = powers()
    return sum(next(source) for _ in range(9)) + next(source) ** 2


def names_in_a_test(p):
    total = 0.0
    for t in TIMES:
        if (d := p[0] * t - p[1]) > 0:
            total += d * d
    return total


def names_in_elifs(p):
    total = 0.0
    for t in TIMES:
        if (d := p[0] * t) > 1:
            total += d
        elif (e := d - p[1]) > 0:
            total += e * e
        else:
            total += 0.1 * e
    return total


def reads_what_only_some_turns_name(p):
    total, e = 0.0, p[1]
    for t in TIMES:
        if (d := p[0] * t) > 1:
            total += d
        elif (e := d - p[1]) > 0:
            total += e * e
    return total + d * e


def names_in_both_operands(p):
    total = 0.0
    for t in TIMES:
        if (a := p[0] * t) > (b := p[1] + t * t):
            total += a - b
        else:
            total += a * b
    return total


def names_what_it_has_read(p):
    total, x = 0.0, p[1]
    for t in TIMES:
        if x > (x := 0.5 * x + p[0] * t):
            total += x
        else:
            total -= x * x
    return total


def names_the_same_twice(p):
    total = 0.0
    for t in TIMES:
        if (d := p[0] * t) + (d := p[1] * t) > 0.1:
            total += d
        else:
            total -= d * d
    return total


def names_behind_an_and(p):
    total, d = 0.0, p[1]
    for t in TIMES:
        if t > 0 and (d := p[0] * t) > p[1]:
            total += d
        total += 0.1 * d
    return total


def names_in_an_argument(p):
    total = 0.0
    for t in TIMES:
        if abs(d := t - p[0]) > 1.0:
            total += abs(d)
        else:
            total += d * d * p[1]
    return total


def names_in_a_while(p):
    x, n = 3.0 + p[0] ** 2, 0
    while (e := x * x - 2 - p[1] ** 2) > 1e-6:
        x = x - e / (2 * x)
        n += 1
    return x * p[0] + n + e


def names_in_a_while_that_goes_on(p):
    x, n = 3.0 + p[0] ** 2, 0
    while (e := x - 0.3 * abs(p[1])) > 0.2 and n < 30:
        n += 1
        if x > 1.0:
            x = 0.8 * x
            continue
        x = x - 0.1
    return x * p[0] + e


def names_in_a_comprehension(p):
    return sum(d * d for t in TIMES if (d := p[0] * t - p[1]) > 0)


def reads_it_after_the_comprehension(p):
    found = sum(d * d for t in TIMES[:10] if (d := p[0] * t - p[1]) > -9)
    return found + d


def names_beside_a_call(p):
    seen = []

    def noted(v):
        seen.append(1.0)
        return v * p[1]

    total = 0.0
    for t in TIMES[:20]:
        if noted(t) > (d := p[0] * t + len(seen)):
            total += d
        else:
            total += 0.5 * d
    return total


def under_an_error_state(p):
    total = 0.0
    with np.errstate(all="ignore"):
        for t in TIMES:
            v = np.log(abs(t * p[0]))
            total += v if v > p[1] else t * p[1]
            if v < -1.0:
                total += v * v
    return total


def error_states_of_turns(p):
    total = 0.0
    for t in TIMES:
        with np.errstate(divide="ignore", invalid="warn"):
            v = np.log(abs(t * p[0]))
        if v > p[1]:
            total += v
    return total


def raises_under_an_error_state(p):
    total = 0.0
    with np.errstate(divide="raise"):
        for t in TIMES[:20]:
            if t > p[1]:
                total += np.divide(1.0, t * p[0])
    return total


def assigns_outside(p):
    total, n = 0.0, 0

    def add(v):
        nonlocal total, n
        if v > p[0]:
            total += v * p[1]
            n += 1
        else:
            total -= v

    for t in TIMES:
        add(t * p[1])
    return total / (n + 1)


class Filter:
    def __init__(self, a, q):
        self.a, self.q, self.mean, self.variance, self.total = a, q, 0.0, 1.0, 0.0

    def predict(self):
        self.mean = self.a * self.mean
        self.variance = self.a**2 * self.variance + self.q

    def update(self, y):
        e = y - self.mean
        if abs(e) > 1.5:
            return
        s = self.variance + 1.0
        k = self.variance / s
        self.mean += k * e
        self.variance *= 1 - k
        if s < 1.2:
            self.total -= 0.1
            return
        self.total -= 0.5 * (np.log(s) + e * e / s)


def leaves_a_method(p):
    f = Filter(p[0], p[1] ** 2 + 0.1)
    for t in TIMES:
        f.predict()
        f.update(t)
    return f.total


def entries_of_a_dict(p):
    found = dict.fromkeys(range(4), 0.0)
    for t, k in zip(TIMES, CODES):
        if t > p[0]:
            found[k] += t * p[1]
        else:
            found[k] -= p[0] * p[1]
    return sum((k + 1) * v * v for k, v in found.items())


def entries_by_name(p):
    found = {"a": p[0], "b": p[1]}
    for t, k in zip(TIMES, CODES):
        name = "a" if k < 2 else "b"
        if t * found[name] > p[0]:
            found[name] = 0.9 * found[name] + t
        elif t > 0:
            found[name] = found[name] * 0.5
    return found["a"] * found["b"]


def entries_that_are_made(p):
    found = defaultdict(float)
    for t, k in zip(TIMES, CODES):
        if t > p[0]:
            found[k] += t * p[1]
        else:
            found[k] -= p[0] * p[1]
    return sum(v * v for v in found.values()) + len(found)


def entries_that_one_side_makes(p):
    found = defaultdict(float)
    for t, k in zip(TIMES[:12], CODES):
        if t > p[0]:
            found[k] += t * p[1]
    return sum(v * v for v in found.values()) + len(found)


def plain_entries_that_one_side_makes(p):
    found = {}
    for t, k in zip(TIMES[:8], CODES):
        if t > p[0]:
            found[int(k)] = t * p[1]
    return sum(v * v for v in found.values()) + len(found)


def two_names_of_a_dict(p):
    found = {0: p[0], 1: p[1], 2: 0.5, 3: 0.25}
    other = found
    for t, k in zip(TIMES[:12], CODES):
        if t > other[k]:
            found[k] = other[k] * 0.5 + t
    return sum(other.values())


def entries_at_whole_numbers_of_numpy(p):
    found = np.zeros(4)
    for t, k in zip(TIMES, CODES):
        if t > p[0]:
            found[k] += t * p[1]
        else:
            found[k] -= p[0] * p[1]
    return np.sum(found**2)


def entries_of_a_list(p):
    found = [p[0], p[1], 0.5, 1.5]
    for t, k in zip(TIMES, CODES):
        if t > found[k]:
            found[k] += t * p[1]
        else:
            found[k] = 0.0
    return found[0] * found[1] + found[2] * found[3]


def bisects(p):
    def root(f, low, high):
        for _ in range(30):
            middle = 0.5 * (low + high)
            if f(middle) > 0:
                high = middle
            else:
                low = middle
        return 0.5 * (low + high)

    total = 0.0
    for t in TIMES[:4]:
        x = root(lambda x: x**3 + (1 + p[0] ** 2) * x - p[1] - t, -5.0, 5.0)
        # Which has no derivative by itself.
        total += x - (x**3 + (1 + p[0] ** 2) * x - p[1] - t) / (3 * x * x + 1 + p[0] ** 2)
    return total


def goes_down(f, slope, x):
    for _ in range(25):
        step = f(x) / slope(x)
        x = x - step
        if abs(step) < 1e-10:
            break
    return x


def goes_down_by_newton(p):
    return sum(goes_down(lambda x: x**3 + p[0] ** 2 * x + x - p[1] - t, lambda x: 3 * x * x + p[0] ** 2 + 1, 0.5) for t in TIMES[:4])


def sums_with_conditions(p):
    return sum(p[0] * t * t for k, t in zip(CODES, TIMES) if k != 2 if p[0] * t > p[1])


def learns_the_largest(p):
    values, total = np.zeros(3), 0.0
    for t in TIMES:
        a = int(np.argmax(values))
        total += values[a] * p[1]
        values[a] += p[0] * (np.tanh(t) + 0.3 * a - values[a])
    return total


MERGED = [
    maps_a_lambda, maps_two_sequences, maps_a_star, reduces_with_a_lambda, accumulates_with_a_lambda, maps_a_partial, hands_out_states,
    hands_out_on_both_sides, names_in_a_test, names_in_elifs, names_in_both_operands, names_in_an_argument, names_in_a_comprehension,
    under_an_error_state, error_states_of_turns, assigns_outside, leaves_a_method, entries_of_a_dict, entries_that_are_made,
    entries_at_whole_numbers_of_numpy, entries_of_a_list, bisects, goes_down_by_newton, sums_with_conditions, learns_the_largest,
]  # fmt: skip

OTHERS = [
    hands_out_on_one_side, stops_handing_out, breaks_off_a_generator, takes_some_of_a_generator, names_what_it_has_read,
    reads_what_only_some_turns_name, names_the_same_twice, names_behind_an_and, names_in_a_while, names_in_a_while_that_goes_on, reads_it_after_the_comprehension,
    names_beside_a_call, raises_under_an_error_state, entries_by_name, entries_that_one_side_makes, plain_entries_that_one_side_makes,
    two_names_of_a_dict,
]  # fmt: skip


def squares_of_some(p):
    kept = []
    for t in TIMES:
        if t > p[0]:
            kept.append(t * p[1])
    return sum(v**2 for v in kept) + np.sum(np.abs(np.array(kept))) + len(kept)


def some_of_some(p):
    kept, others, scale = [], [], p[0] * p[1]
    for t in TIMES:
        if t > p[0]:
            kept.append(t * p[1])
        elif t > -1.0:
            others.append(t)
    above = sum(scale * v for v in kept if v > p[0])
    return above + np.sum([v * v * 0.5 for v in kept]) + sum(abs(v) for v in others) + (np.array(others) * scale).sum()


def scales_by_what_changes(p):
    kept, scale = [], 1.0
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        scale = 0.9 * scale + 0.1 * t * p[1]
    scale = scale + p[0]
    return sum(scale * v for v in kept)


def puts_away_what_is_seen(p):
    kept = []
    for t in TIMES[:12]:
        if t > p[0]:
            kept.append(t * p[1])
    seen = kept
    seen.append(p[0])
    return sum(v**2 for v in kept) * kept[-1]


def divides_by_entries(p):
    kept = []
    for t in TIMES[:12]:
        if t > p[0]:
            kept.append(t + p[1])
    return sum(1.0 / v for v in kept)


def keeps_in_two_places(p):
    kept = []
    for t in TIMES[:20]:
        if t > p[0]:
            kept.append(t * p[1])
        elif t < -abs(p[1]):
            kept.append(-t)
            kept.append(0.5 * p[0])
    return sum(v * abs(v) for v in kept)


def begins_again(p):
    total = 0.0
    for k in range(3):
        kept = []
        for t in TIMES[20 * k : 20 * k + 20]:
            if t > p[0]:
                kept.append(t * p[1])
        total += sum(v**2 for v in kept)
    return total


def reads_what_it_writes(p):
    u, kept = np.zeros(2), []
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        u[0] = u[0] + 0.1 * t * p[1]
    return sum(u[0] * v for v in kept)


def reads_by_another_name(p):
    u, kept = p * 1.0, []
    q = np.asarray(u)
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        q[1] = 0.9 * q[1] + 0.1 * t
    return sum(u[1] * v for v in kept)


def changes_an_entry(z):
    z[1] = 0.97 * z[1] + 0.02


def reads_what_a_function_changes(p):
    u, kept = p * 1.0, []
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        changes_an_entry(u)
    return sum(u[1] * v for v in kept) + np.sum(np.array(kept) * u[1])


def reads_what_is_sorted(p):
    u, kept = np.array([1.0, 2.0]) * p[1], []
    for t in TIMES:
        if t > p[0]:
            kept.append(t)
    u.sort()
    return sum(u[1] * v for v in kept) + np.sum(np.array(kept) * u[1])


def reads_what_an_inner_function_assigns(p):
    scale, kept = p[1], []

    def step(t):
        nonlocal scale
        scale = 0.9 * scale + 0.1 * t

    for t in TIMES:
        if t > p[0]:
            kept.append(t)
        step(t)
    return sum(scale * v for v in kept)


MERGED += [squares_of_some, some_of_some, keeps_in_two_places]
OTHERS += [scales_by_what_changes, puts_away_what_is_seen, divides_by_entries, begins_again]
OTHERS += [
    reads_what_it_writes, reads_by_another_name, reads_what_a_function_changes, reads_what_is_sorted,
    reads_what_an_inner_function_assigns,
]  # fmt: skip


def divides(x):
    return 1.0 / (x - 1.0)


def tries_values_of(f, values):
    total, last = 0.0, 1.0
    for v in values:
        if v > 0:
            last = 2.0
        total = total + f(last * 0.5)
    return total


def is_given_a_function(p):
    return tries_values_of(divides, [p[0], p[1], -1.0])


EDGES = [is_given_a_function]
