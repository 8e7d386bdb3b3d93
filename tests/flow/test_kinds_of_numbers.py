"""Types of numbers, where data choose between numbers of Python's and of NumPy's, ints and floats."""

from __future__ import annotations

import math
import operator
import statistics

import numpy as np
import pytest

import tapediff as td
from flow.one_tape import POINTS, recordings
from tapediff.flow import flowed


def kind(v):
    return 1.0 if type(v) is float else 2.0 if isinstance(v, int) else 3.0 if isinstance(v, np.floating) else 4.0


def one_of_three(x):
    s = 0
    for v, other in zip(x[:2], (0.5, x[2])):
        if v > 0:
            s = other
    found = type(s)
    return (1.0 if found is float else x[3] if found is int else x[4]) * (s + 1)


def classes_in_patterns(x):
    s = 0
    for v in x[:3]:
        if v > 0.5:
            s = s + v
        match s:
            case int():
                s = s + x[1]
            case np.floating():
                s = s * 0.5
    return x[0] * s


@pytest.mark.parametrize(
    "f", [one_of_three, classes_in_patterns], ids=lambda f: f.__name__
)
def test_types_of_numbers_are_those_of_their_paths(f):
    """Each option has its own, and one recording is for all of them."""
    assert recordings(f) == 1


def divides_by_a_float_of_an_iteration(x):
    a, b, k = x[0], 1.0, 0
    try:
        while k < 4 and a < 2.0:
            a, b = a + 0.5 / b, b - 0.5
            k += 1
    except ZeroDivisionError:
        return x[2]
    return a * x[1] + b


@pytest.mark.parametrize(
    "f", [divides_by_a_float_of_an_iteration], ids=lambda f: f.__name__
)
def test_carries_of_loops_have_the_kinds_of_their_paths(f):
    """Python's numbers, NumPy's from some iteration on."""
    assert recordings(f) <= 8


@pytest.mark.parametrize("first", [0, np.int64(0), 0.0, np.float64(0.0)], ids=lambda v: type(v).__name__)
def test_carries_keep_the_kinds_that_they_begin_with(first):
    """Where later iterations make floats of them."""

    def f(x):
        s, k, w = first, 0, 0.0
        while k < 6 and x[0] > k * 0.4:
            w = w * 0.5 + kind(s) * x[1]
            if x[k] > 0:
                s = 0.5
            k += 1
        return s + w * kind(s)

    assert recordings(f) == 1


ZEROS = {
    "float(bool)": lambda x: float(x[0] > 0), "float(int)": lambda x: float(int(x[0])), "int(bool)": lambda x: int(x[0] > 0), "int": lambda x: int(x[0]),
    "round": lambda x: round(x[0]), "round to digits": lambda x: round(float(x[0]), 0), "round NumPy's to digits": lambda x: round(x[0], 0),
    "sum": lambda x: sum([float(x[0] > 0), 0]), "fsum": lambda x: math.fsum([x[0] > 0, 0.0]), "fsum in any order": lambda x: math.fsum({v for v in x if v > 1}),
    "modf": lambda x: math.modf(round(x[0]))[0], "sqrt": lambda x: math.sqrt(max(x[0], 0)), "mean": lambda x: statistics.mean([float(x[0] > 0), 0.0]),
    "fmean": lambda x: statistics.fmean([x[0] > 0, 0.0]), "stdev": lambda x: statistics.stdev([float(x[0] > 0), 0.0]), "not": lambda x: (not x[0] > 0) * 0.5,
    "count": lambda x: [v > 0 for v in x[:2]].count(True), "prod": lambda x: math.prod([float(x[0] > 0), 2]), "prod of NumPy's": lambda x: math.prod([x[0] > 0, 2]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("zero", ZEROS.values(), ids=ZEROS)
def test_division_by_a_zero_of_a_builtin_is_an_error_if_it_is_pythons(zero):
    """That of NumPy gives inf."""

    def f(x):
        try:
            return max(min(1 / zero(x), 9.0), -9.0) * x[1]
        except ZeroDivisionError:
            return x[2]

    g = td.GuardedTape(flowed(f))
    # Differences of rounding are of sums.
    np.testing.assert_allclose([g(p) for p in POINTS[:10]], [f(p) for p in POINTS[:10]], rtol=1e-12)


# Zeros of ints have no sign: -0 is 0, and -0.0 is not. The angle of a point on the cut tells which one it is.


def chosen(x):
    """An int until a number is added."""
    t = 0
    for v in x:
        if v > 0.9:
            t += v
    return t


def in_place(t):
    t *= -1
    return t


OF_ZERO = {
    "negative": lambda t: -t,
    "negative of a multiple": lambda t: -(t * 2),
    "multiple": lambda t: t * -3,
    "multiple by a float": lambda t: t * -3.0,
    "multiple in place": in_place,
    "quotient": lambda t: t / -3,
    "quotient, rounded down": lambda t: t // -3,
    "remainder": lambda t: t % -3,
    "by numpy": lambda t: np.negative(t),
    "product by numpy": lambda t: np.multiply(t, -2),
    "by a function": operator.neg,
    "product by a function": lambda t: operator.mul(t, -2),
    "product of a list": lambda t: math.prod([t, -2]),
    "by a test": lambda t: -(t or 0),
    "negative of a sum": lambda t: -(t + 0),
}


@pytest.mark.parametrize("operation", OF_ZERO.values(), ids=OF_ZERO)
def test_zeros_have_the_signs_of_their_paths(operation):
    assert recordings(lambda x: np.arctan2(operation(chosen(x)), -1.0) * x[1]) <= 2


def test_zeros_of_carries_have_the_signs_of_their_paths():
    def f(x):
        t, s = 0, 0.0
        for k in range(100):
            if x[k % 6] > 1.2:
                t += x[k % 6]
            s += np.arctan2(-t, -1.0)
        return s * x[1]

    assert recordings(f) <= 2


def test_a_function_without_source_is_given_numbers_as_they_are():
    names = {}
    exec("def without_source(v):\n    return 2.0 if type(v) is float else 0.5\n", names)
    recordings(lambda x: names["without_source"](-0.5 if x[1] > -0.5 else x[1]) * x[0], POINTS[:6])


def grows_until_data_end_it(x):
    n, s = 1, 0.0
    while s < 8.0:
        n, s = 3 * n + 1, s + 0.05 + x[0] ** 2
    return n % 1009 * x[1]


def chosen_large_ones(x):
    n = 2**60 + 1 if x[0] > 0 else 0.5
    return (n - 2**60) * x[1]


# What NumPy says of an attempt that is given up.
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("f", [grows_until_data_end_it, chosen_large_ones], ids=lambda f: f.__name__)
def test_ints_of_any_size_are_exact(f):
    """Those that may be too large are recorded for each path."""
    recordings(f, POINTS[:6])


# What an int of more than 31 bits goes through before it becomes too large for 64.
OF_INTS = {
    "+": lambda n: n + n, "-": lambda n: n - 5, "*": lambda n: 3 * n, "//": lambda n: n // 2, "%": lambda n: n % (n + 5), "<<": lambda n: n << 3,
    ">>": lambda n: n >> 1, "**": lambda n: n**2, "negative": lambda n: -n, "~": lambda n: ~n, "abs": lambda n: abs(-n), "max": lambda n: max(n, 7),
    "min": lambda n: min(n, 10**12), "if": lambda n: n if n > 2_500_000_000 else n + 1, "divmod": lambda n: divmod(n, 2)[0], "pow": lambda n: pow(n, 2),
    "lshift": lambda n: operator.lshift(n, 1), "irshift": lambda n: operator.irshift(n, 1), "sum": lambda n: sum([n, n]), "prod": lambda n: math.prod([n, 2]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", OF_INTS)
def test_results_of_all_operators_are_exact_beyond_64_bits(name):
    """Each result is followed by products that no int64 holds."""

    def f(x):
        n = OF_INTS[name](3_000_000_000 if x[0] > 0 else 2_000_000_011)
        for _ in range(2):
            n = n * n
        return float(n % 1009) * x[1]

    assert recordings(f, POINTS[:6]) == 2


def shifted_by_data(x):
    n, k = 3_000_000_000 if x[0] > 0 else -2_000_000_011 if x[1] > 0 else 7, 2 if x[2] > 0 else 40
    return float((n << k) % 1009) * x[1] + (n >> k) * x[3]


def shifted_by_many(x):
    n = 2**61 if x[0] > 0 else -(2**62)
    return ((n >> 60) + (n >> 61) + (n >> 62) + (n >> 63) + (n >> 80)) * x[1] + float((n << 70) % 1009)


def shifted_by_negative_counts(x):
    n, k = 5 if x[0] > 0 else 7, 2 if x[1] > 0 else -1
    total = 0.0
    for shift in (operator.lshift, operator.rshift):
        try:
            total += shift(n, k) * x[2]
        except ValueError as error:
            total += x[3] * len(str(error))
    try:
        n >>= k
    except ValueError:
        n = 3
    return total + n * x[4]


def by_functions(x):
    zero, k, total = 0 if x[0] > 0 else 2, 40 if x[1] > 0 else 41, 0.0
    for f in (lambda: pow(zero, -1), lambda: divmod(3, zero)[0], lambda: divmod(3.5, zero)[1], lambda: operator.mod(k, zero), lambda: zero / zero):
        try:
            total = 0.5 * total + f()
        except ZeroDivisionError:
            total = 0.5 * total + x[2]
    return total * x[3] + float(pow(2, k) * pow(2, k) % 1009) * x[4] + float(pow(k, 9) * pow(k, 5) % 1009)


def divided_by_shifted(x):
    n, k = 1 if x[0] > 0 else 0, 2 if x[1] > 0 else 3
    try:
        return 1 / ((n >> 1) + (n << 2) + n * 2**k) * x[2]
    except ZeroDivisionError:
        return x[3]


@pytest.mark.parametrize("is_statement", [False, True])
@pytest.mark.parametrize("name", ["/", "//", "%", "**"])
def test_division_in_place_by_a_zero_of_pythons_is_an_error(name, is_statement):
    """Of ints and of floats, whichever of the two operands is data."""

    def f(x):
        s = 0.0
        for zero, n in ((0 if x[0] > 0 else 2, 3), (0.0 if x[1] > 0 else 0.5, 1.5), (0, 3 if x[2] > 0 else 4), (0 if x[0] > 0 else 2, 7 if x[1] > 0 else 2)):
            a, b = (zero, -n) if name == "**" else (n, zero)
            try:
                if not is_statement:
                    a = a / b if name == "/" else a // b if name == "//" else a % b if name == "%" else a**b
                elif name == "/":
                    a /= b
                elif name == "//":
                    a //= b
                elif name == "%":
                    a %= b
                else:
                    a **= b
                s = 0.5 * s + a
            except ZeroDivisionError as error:
                s = 0.5 * s + len(str(error))
        return s * x[3]

    recordings(f)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    "f", [by_functions, shifted_by_data, shifted_by_many, shifted_by_negative_counts, divided_by_shifted], ids=lambda f: f.__name__
)
def test_shifts_and_powers_of_ints_are_pythons(f):
    """They lose no upper bits, refuse negative counts, and zeros that they give cannot be divided by."""
    recordings(f)


def test_products_of_rounded_numbers_are_data():
    """They are no powers, which may have 53 bits."""

    def f(x):
        return round(x[0] * 3) * round(x[1] * 5) * x[2] + int(x[3] * 4) * math.floor(x[4]) * x[5]

    assert recordings(f) == 1


def test_ints_that_stay_small_are_data():
    def f(x):
        n, k = 1, 0
        for v in x:
            n = (n * 75 + (3 if v > 0 else 74)) % 65537
        while k < 20 and n * x[0] < 1e3:
            n, k = n + 17, k + 1
        return n * x[1]

    assert recordings(f) == 1


def zero_of_sorted(x):
    floats = sorted([math.sin(k * x[0]) for k in range(7)])
    try:
        return 1.0 / (floats[2] * 0.0) + x[1]
    except ZeroDivisionError:
        return 7.0 * x[0]


def zero_of_sorted_with_numbers_of_numpy(x):
    numbers = sorted([math.sin(k * x[0]) for k in range(12)] + [x[0] * 2])
    try:
        return np.float64(1.0) * kind(numbers[3]) / (1.0 + x[1] ** 2)
    except ZeroDivisionError:
        return 7.0 * x[0]


def zero_at_a_position(x):
    numbers = [math.sin(k * x[0]) for k in range(12)] + [x[0] * 2]
    return kind(numbers[int(abs(x[1]) * 9) % 13]) * x[2]


def zero_of_a_list_of_any_length(x):
    numbers = [math.sin(k * x[0]) if k % 3 else x[2] for k in range(24) if k * x[1] > -3]
    return sum(kind(numbers[k]) * numbers[k] * (k + 1) for k in range(0, len(numbers), 2))


@pytest.mark.parametrize(
    "program", [zero_of_sorted, zero_of_sorted_with_numbers_of_numpy, zero_at_a_position, zero_of_a_list_of_any_length], ids=lambda f: f.__name__
)
def test_numbers_keep_their_kinds_in_gathers(program):
    """Sorted, at a data-dependent position, packed."""
    g = td.GuardedTape(program)
    for x in POINTS:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(g(x), program(x), rtol=1e-12)


def test_numpys_types_convert_tracked_numbers_and_arrays():
    """np.float64 and np.bool_, of numbers, arrays and lists, on both sides of a branch."""

    def f(x):
        total = np.float64(0.0)
        for v in x:
            if np.bool_(v > 0.5):
                total += np.float64(v) ** 2
            else:
                total -= np.float64(v > 0.0) * v
        return total * np.sum(np.float64([x[0], 2.0])) + np.sum(np.float64(x) * x)

    target = td.GuardedTape(f)
    for point in (np.array([0.2, 0.9, -0.4]), np.array([0.7, -0.1, 0.3])):
        value, gradient = td.value_and_gradient(target, point)
        assert np.isclose(value, f(point), rtol=1e-14)
        steps = 1e-6 * np.eye(3)
        np.testing.assert_allclose(gradient, [(f(point + h) - f(point - h)) / 2e-6 for h in steps], atol=1e-8)


def test_a_type_of_numpys_that_is_refused_is_named():
    with pytest.raises(td.TrackedValueEscaped, match=r"np\.asarray\(x, np\.float32\) converts x"):
        td.record(lambda x: np.float32(x) * 2.0, 1.5)
