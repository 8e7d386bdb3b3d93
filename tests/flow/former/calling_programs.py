"""Programs that call functions by their names, at the top level or in them, with plain numbers, and traps for what is known of such calls."""

import functools

import numpy as np
from scipy.stats import norm

NARROW = np.array([0.1, 0.7, -0.3], np.float32)


def inverse(v):
    return 1.0 / v


# What calls functions by their names, and merges


def cubic(v, w=0.5):
    return v**3 + w * v - 1.0


def panel(a, b, w):
    return (b - a) * cubic(0.5 * (a + b), w)


def quadrature(a, b, w, depth):
    m = 0.5 * (a + b)
    whole, left, right = panel(a, b, w), panel(a, m, w), panel(m, b, w)
    if abs(left + right - whole) < 0.05 or depth == 0:
        return left + right
    return quadrature(a, m, w, depth - 1) + quadrature(m, b, w, depth - 1)


def integrates_by_recursion(x):
    return quadrature(0.0, 1.0 + x[0] ** 2, x[1], 3) * x[2]


def even_turns(v, n):
    if n == 0:
        return v
    return odd_turns(v - 0.3, n - 1) if v > 0.2 else odd_turns(v * v, n - 1)


def odd_turns(v, n):
    if n == 0:
        return -v
    return even_turns(v + 0.1, n - 1) if v < 1 else even_turns(v * 0.5, n - 1)


def two_that_call_each_other(x):
    return even_turns(x[0], 5) + x[1] * even_turns(x[1], 3)


def finds_a_root(x):
    def residual(v):
        return np.tanh(v) + v / (1.0 + x[1] ** 2) - x[0]

    first, second = 0.0, 1.0
    a, b = residual(first), residual(second)
    for _ in range(30):
        if abs(b) < 1e-10 or a == b:
            break
        first, second = second, second - b * (second - first) / (b - a)
        a, b = b, residual(second)
    return second * x[2]


def steps_of_its_own_size(x):
    def slope(t, y):
        return -(1.0 + x[0] ** 2) * y + np.sin(t)

    t, y, h = 0.0, 1.0 + x[1], 0.2
    while t < 1.0:
        h = min(h, 1.0 - t)
        first = slope(t, y)
        second = slope(t + h, y + h * first)
        error = abs(0.5 * h * (second - first))
        if error < 0.02:
            t, y = t + h, y + 0.5 * h * (first + second)
        h *= min(2.0, max(0.3, 0.9 * np.sqrt(0.02 / (error + 1e-12))))
    return y * x[2]


def shortens_steps_downhill(x):
    u, v = x[0], x[1]
    for _ in range(4):
        a, b = -2 * (1 - u) + 40 * u * (u * u - v), 20 * (v - u * u)
        step = 0.1
        while hill(u - step * a, v - step * b) > hill(u, v) - 0.3 * step * (a * a + b * b) and step > 1e-6:
            step *= 0.5
        u, v = u - step * a, v - step * b
        if a * a + b * b < 1e-8:
            break
    return hill(u, v) + u


def hill(u, v):
    return (1 - u) ** 2 + 10.0 * (v - u * u) ** 2


def saturates_in_a_function_of_its_own(x):
    def limited(v, k):
        if v > 0.2:
            return v / (1 + k * v)
        return v * k

    s, n = 0.0, 1.0
    for v in x:
        if v < 0:
            n = n + 2.0
        s += limited(v, 0.5) / n + limited(k=n, v=v)
    return s


# Functions that ask more of a number than arithmetic does


def kind_of_float(v):
    return 1.0 if type(v) is float else 2.0


def asks_in_a_function(x):
    return kind_of_float(x[1] if x[0] > 0.2 else 1.0) * x[1]


def asks_by_a_keyword(x):
    s = 1.0
    for v in x[:3]:
        if v > 0.2:
            s = v * 0.5
    return kind_of_float(v=s) * x[1]


def asks_at_the_end(v, n):
    return kind_of_float(v) if n == 0 else asks_at_the_end(v, n - 1)


def asks_in_a_recursion(x):
    s = 1.0
    if x[0] > 0.2:
        s = x[1]
    return asks_at_the_end(s, 3) * x[2]


def asks_in_a_function_of_its_own(x):
    def told(v):
        w = v
        return 3.0 if isinstance(w, float) and not isinstance(w, np.float64) else 2.0

    t = 0.25
    while t < 1.0 and x[0] > t:
        t = t + 0.3
    return told(t) * x[1]


def asks_for_what_a_function_gives(x):
    def given(v):
        return v

    s = 1.0
    if x[0] > 0.2:
        s = x[1]
    return (1.0 if type(given(s)) is float else 2.0) * x[1]


def asks_for_what_a_function_reads(x):
    s = 1.0
    if x[0] > 0.2:
        s = x[1]
    r = s

    def read():
        return r

    return kind_of_float(read()) * x[1]


def weighs(v):
    return np.sum(v * NARROW)


def calls_a_function_with_float32(x):
    s = 1.0
    for v in x[:3]:
        if v > 0.2:
            s = s * 0.3
    return weighs(s) * x[3]


def counts_to(n):
    return sum(k * 0.5 for k in range(n))


def calls_a_function_that_counts(x):
    n = 1
    if x[0] > 0.2:
        n = 3
    return counts_to(n) * x[1] + counts_to(n=n) * x[2]


def divides_in_a_function(x):
    s = 1.0
    if x[0] > 1.8:
        s = 0.0
    try:
        return inverse(s) * x[1]
    except ZeroDivisionError:
        return x[2] * 3.0


def other_names(v, t):
    s = t
    return s if v > 0 else t * 2.0


def calls_a_function_with_the_same_names(x):
    s, t = 1.0, 2
    if x[0] > 0.2:
        s = x[1]
    return other_names(s, 0.5) * x[2] + x[t] + sum(x[k] for k in range(t))


def smaller(v, w):
    return w if v > w else v


names = {}
exec("def without_source(v):\n    return 2.0 if type(v) is float else 0.5\n", names)


def one_by_one(v):
    yield kind_of_float(v)
    yield 1.0 if isinstance(v, np.ndarray) else 2.0


class Law:
    def __init__(self, rate):
        self.rate = rate

    @property
    def kind(self):
        return kind_of_float(self.rate) if type(self.rate) is float else 0.5

    def told(self):
        return 2.0 if type(self.rate) is float else 0.5

    def __call__(self, v):
        return 2.0 if type(v) is float else self.rate


LAW = Law(0.5)


def asked_by_a_function(x):
    return kind_of_float(smaller(-0.5, x[1])) * x[0]


def asked_by_a_function_without_source(x):
    return names["without_source"](smaller(-0.5, x[1])) * x[0]


def asked_by_a_generator(x):
    return sum(one_by_one(smaller(-0.5, x[1]))) * x[0]


def asked_by_an_object(x):
    return LAW(smaller(-0.5, x[1])) * x[0]


def asked_by_a_method(x):
    return Law(smaller(-0.5, x[1])).told() * x[0]


def asked_by_a_property(x):
    return Law(smaller(-0.5, x[1])).kind * x[0]


def asked_by_a_lambda(x):
    return (lambda v: 2.0 if type(v) is float else 0.5)(smaller(-0.5, x[1])) * x[0]


def asked_by_what_is_mapped(x):
    return sum(map(kind_of_float, [smaller(-0.5, x[1])])) * x[0]


def asked_by_a_partial(x):
    return functools.partial(kind_of_float, smaller(-0.5, x[1]))() * x[0]


def asked_by_a_key(x):
    return sorted([smaller(-0.5, x[1]), -0.7, -0.6], key=kind_of_float)[0] * x[0]


def asked_of_a_part(x):
    return kind_of_float((1, smaller(-0.5, x[1]))[1]) * x[0]


def gives_plain_numbers_later(x):
    a, b, k = x[0], x[1], 0
    while k < 5 and a * b < x[2]:
        a, b = b + 0.1, 1.0
        k += 1
    return (3.0 if type(b) is float else 2.0) * x[1] + a


def divides_by_a_plain_number_of_a_turn(x):
    a, b, k = x[0], 1.0, 0
    try:
        while k < 4 and a < 2.0:
            a, b = a + 0.5 / b, b - 0.5
            k += 1
    except ZeroDivisionError:
        return x[2]
    return a * x[1] + b


def chooses_between_densities(x):
    total = 0.0
    for k in range(8):
        total += norm.logpdf(0.3 * k, x[0], 1.5) if k * x[1] > x[2] else norm.logpdf(0.1 * k, x[1], 2.0)
    return total


def chooses_between_functions_of_arrays(x):
    total = 0.0
    for k in range(6):
        size = np.sum(x) * 0.3 if k * x[0] > x[1] + 1.0 else np.linalg.norm(x + 1.0)
        total = total - size * size
    return total


MERGE = [
    chooses_between_densities, chooses_between_functions_of_arrays, integrates_by_recursion, two_that_call_each_other, finds_a_root, steps_of_its_own_size, shortens_steps_downhill,
    saturates_in_a_function_of_its_own,
]  # fmt: skip
# Which get a number that another function has chosen.
ASKED = [
    asked_by_a_function, asked_by_a_function_without_source, asked_by_a_generator, asked_by_an_object, asked_by_a_method,
    asked_by_a_property, asked_by_a_lambda, asked_by_what_is_mapped, asked_by_a_partial, asked_by_a_key, asked_of_a_part,
]  # fmt: skip
TRAPS = [
    *ASKED, asks_in_a_function, asks_by_a_keyword, asks_in_a_recursion, asks_in_a_function_of_its_own, asks_for_what_a_function_gives,
    asks_for_what_a_function_reads, calls_a_function_with_float32, calls_a_function_that_counts, divides_in_a_function,
    calls_a_function_with_the_same_names, gives_plain_numbers_later, divides_by_a_plain_number_of_a_turn,
]  # fmt: skip
