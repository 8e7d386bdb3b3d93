"""The functions of Python's math module in recordings: values, derivatives and errors are Python's."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import tapediff as td
from tapediff.recording.python_state.math_functions import _ANSWERS, _OTHERS
from tests.random_programs.branching import function_of

REAL, SMALL, POSITIVE, UNIT = (-2.7, -0.4, 0.3, 2.6), (-1.2, -0.1, 0.2, 1.3), (0.1, 0.6, 1.7, 40.0), (-0.9, -0.2, 0.1, 0.8)
RANGES = {
    "acos": UNIT, "acosh": (1.1, 2.0, 30.0), "asin": UNIT, "asinh": REAL, "atan": REAL, "atanh": UNIT, "cbrt": POSITIVE, "cos": REAL,
    "cosh": REAL, "degrees": REAL, "erf": REAL, "erfc": REAL, "exp": REAL, "exp2": REAL, "expm1": REAL, "fabs": REAL,
    "gamma": (-2.6, -0.4, 0.3, 4.6), "lgamma": (-2.6, -0.4, 0.3, 4.6), "log": POSITIVE, "log10": POSITIVE, "log1p": (-0.7, 0.3, 5.0),
    "log2": POSITIVE, "radians": REAL, "sin": REAL, "sinh": REAL, "sqrt": POSITIVE, "tan": SMALL, "tanh": REAL,
}  # fmt: skip
PAIRS = {
    "atan2": [(1.0, 2.0), (-0.3, -2.0)], "copysign": [(1.5, -2.0), (-0.5, 3.0)], "dist": [], "fmod": [(7.5, 2.0), (-7.5, 2.2)],
    "hypot": [(3.0, 4.0), (-0.1, 2.0)], "isclose": [], "log": [(3.0, 2.0), (0.2, 10.0)], "pow": [(2.0, 3.0), (0.5, -1.5), (-2.0, 3.0)],
}  # fmt: skip
EDGES = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -0.5, 0.999, 1e3, -1e3, 1e308, math.inf, -math.inf, math.nan, 171.5, 172.0, 709.7, 709.79, 710.4,
    710.48, 1023.9999, 1024.0, -3.0, -1e5,
)  # fmt: skip
PREDICATES = {"isfinite", "isinf", "isnan", "isclose"}
OTHERS = {
    "fsum": "math.fsum([x[0], x[1], 1.0, -x[0]]) + math.fsum(v for v in x)", "ldexp": "math.ldexp(x[0], 3) + math.ldexp(x[1], -2)",
    "modf": "math.modf(x[0])[0] * x[1] + math.modf(x[1])[1]", "remainder": "math.remainder(x[0], x[1])",
}  # fmt: skip
REFUSED = {"frexp": "np.log2", "nextafter": "write x", "ulp": "np.finfo"}
# Of values: SciPy's and NumPy's functions differ from C's in the last bits.
TOLERANCE = 1e-14


def same(tape, f, x):
    """Whether both give the same value, or raise the same error."""
    found = []
    for function in (tape, f):
        try:
            with np.errstate(all="ignore"):
                found.append(float(function(x)))
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            found.append(type(error))
    return found[0] == (pytest.approx(found[1], rel=TOLERANCE, nan_ok=True) if isinstance(found[1], float) else found[1])


def test_every_function_that_is_replaced_is_tested():
    assert set(_ANSWERS) == {*RANGES, *PAIRS, *PREDICATES}
    assert set(_OTHERS) == {*OTHERS, *REFUSED, "fma", "sumprod"}


@pytest.mark.parametrize("name", [name for name in RANGES if hasattr(math, name)])
def test_values_and_derivatives_are_pythons(name):
    f = eval(f"lambda x: math.{name}(x)")
    tape = td.GuardedTape(f)
    for x in RANGES[name]:
        value, slope = tape.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=TOLERANCE)
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-7, abs=1e-9)  # of differences


@pytest.mark.parametrize("name", [name for name in RANGES if hasattr(math, name)])
def test_errors_are_raised_where_python_raises_them(name):
    f = eval(f"lambda x: math.{name}(x)")
    tape = td.GuardedTape(f)
    for x in (RANGES[name][0], *EDGES):
        assert same(tape, f, x), x


@pytest.mark.parametrize("name", ["atan2", "copysign", "fmod", "hypot", "log", "pow"])
def test_functions_of_two_numbers(name):
    f = eval(f"lambda x: math.{name}(x[0], x[1])")
    tape = td.GuardedTape(f)
    for x in PAIRS[name]:
        value, slopes = tape.value_and_gradient(np.array(x))
        assert value == pytest.approx(f(x), rel=TOLERANCE)
        steps = 1e-6 * np.eye(2)
        differences = [(f(x + step) - f(x - step)) / 2e-6 for step in (steps if x[0] > 0 or name != "pow" else steps[:1])]
        np.testing.assert_allclose(slopes[: len(differences)], differences, rtol=1e-7, atol=1e-9)
    edges = (0.0, 1.0, -2.0, 0.5, -8.0, 400.0, 1e200, math.inf, -math.inf, math.nan)
    for x in ((a, b) for a in edges for b in edges):
        assert same(tape, f, np.array(x)), x


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name):
    f = eval(f"lambda x: {OTHERS[name]}")
    tape = td.GuardedTape(f)
    for x in ([0.3, 1.1], [-2.3, 0.71], [5.3, -2.1], [2.3 * 7, 0.7]):
        value, slopes = tape.value_and_gradient(np.array(x))
        assert value == pytest.approx(f(x), rel=TOLERANCE)
        differences = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(slopes, differences, rtol=1e-7, atol=1e-9)
    edges = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.5, 3.0, 1e300, -1e17, math.inf, -math.inf, math.nan, 5e-324)
    for x in ((a, b) for a in edges for b in edges):
        assert same(tape, f, np.array(x)), x


def test_sums_keep_what_roundings_lose():
    f = lambda x: math.fsum([1e16 * x[0], x[1], -1e16 * x[0]])
    x = np.array([1.0, 1.25])
    for target in (td.record(f, x), td.compile(f, x)):
        assert target(x) == f(x) == 1.25
        assert td.gradient(target, x).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("power", [3, -3, 1023, 1024, 2000, -1060, -1074, -1080, -2000])
def test_powers_of_2_that_are_not_finite_are_none_of_the_result(power):
    """np.ldexp(5e-324, 2000) is finite, where 2.0**2000 is not; of 0 it is 0. Both functions, every value."""
    x = np.array([0.0, -0.0, 1.5, 5e-324, 1e308, -3.0, 1e-300])
    f, g = lambda x: np.ldexp(x, power), lambda x: math.ldexp(x, power)
    with np.errstate(all="ignore"):
        for target in (td.record(f, x), td.compile(f, x)):
            assert np.array_equal(target(x), f(x))
            assert np.array_equal(np.signbit(target(x)), np.signbit(x))
        assert all(same(td.GuardedTape(g), g, v) for v in x)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_function(name):
    with pytest.raises(td.UnsupportedFunction, match=rf"math\.{name} is not supported[^$]*test_math_functions.py[^$]*{REFUSED[name]}"):
        td.record(lambda x: getattr(math, name)(*[x, 1.0][: 1 + (name == "nextafter")]), 0.5)


def test_remainders_have_the_derivative_of_their_own_multiple():
    """2.3 * 7 / 0.7 is rounded to 23, but 0.7 was taken away 22 times."""
    f = lambda x: np.fmod(x[0], x[1])
    assert td.gradient(f, np.array([2.3 * 7, 0.7])).tolist() == [1.0, -22.0]


PIECES = {
    "np.modf": (lambda x: np.modf(x)[0], lambda x: math.modf(x)[0]), "math.modf": (lambda x: math.modf(x)[0], None),
    "math.remainder": (lambda x: math.remainder(x, 2.0), None), "math.remainder of a negative": (lambda x: math.remainder(x, -0.5), None),
    "np.fmod": (lambda x: np.fmod(x, 2.0), None), "np.remainder": (lambda x: np.remainder(x, -2.0), None), "math.fmod": (lambda x: math.fmod(x, 0.5), None),
    "np.divmod": (lambda x: np.divmod(x, 2.0)[1], None), "x - trunc": (lambda x: x - np.trunc(x), None), "x - fix": (lambda x: x - np.fix(x), None),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # NumPy 2.5
@pytest.mark.parametrize("name", PIECES)
def test_pieces_of_lines_have_slope_1_also_where_they_are_0(name):
    """At whole numbers, at zeros of both signs and at ties: from |x| with its sign put back the slope would be 0 there."""
    f, plain = PIECES[name][0], PIECES[name][1] or PIECES[name][0]
    for x in (0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.25, -0.25, 1e17, 5e-324, -5e-324, 2.7):
        for target in (td.record(f, x), td.compile(f, x)):
            assert same(target, plain, x)
            assert np.signbit(target(x)) == np.signbit(plain(x))
            assert td.gradient(target, x) == 1.0


def test_the_slope_of_a_remainder_in_its_step_is_minus_the_multiple():
    """The multiple of math.remainder is the nearest one, at ties the even one; with signs in all combinations."""
    for x in (0.0, -0.0, 3.0, -3.0, 5.0, -5.0, 6.5, -6.5, 0.9, -1.0, 1.0):
        for y in (2.0, -2.0, 0.3):
            f = lambda x, y: math.remainder(x, y)
            assert td.gradient(td.compile(f, x, y), x, y, argnums=1) == -round((x - f(x, y)) / y)


def test_distances_lengths_and_questions():
    f = lambda x: math.dist((x[0], 1.0), (2.0, x[1])) + math.hypot(x[0], x[1], 2.0) + math.hypot(x[0])
    x = np.array([1.0, -2.0])
    tape = td.GuardedTape(f)
    assert tape(x) == pytest.approx(f(x), rel=TOLERANCE)
    with pytest.raises(ValueError, match="same number of dimensions"):
        td.record(lambda x: math.dist(x, (1.0,)), x)

    def asks(x):
        if math.isnan(x) or math.isinf(x):
            return 1.0
        return x if math.isclose(x, 1.0, rel_tol=0.1) else 2.0 * x if math.isfinite(x) else 3.0

    tape = td.GuardedTape(asks)
    for x in (1.0, 1.05, 2.0, -3.0, math.nan, math.inf):
        assert tape(x) == pytest.approx(asks(x), nan_ok=True)


def test_an_error_that_is_caught_is_a_side():
    def log_or_less(x):
        try:
            return math.log(x[0]) * x[1]
        except ValueError:
            return x[0] - 10.0

    tape = td.GuardedTape(log_or_less)
    for x in ([2.0, 3.0], [-1.0, 3.0], [0.5, -1.0], [0.0, 1.0]):
        value, slopes = tape.value_and_gradient(np.array(x))
        assert value == pytest.approx(log_or_less(x), rel=TOLERANCE)
        np.testing.assert_allclose(slopes, [x[1] / x[0], math.log(x[0])] if x[0] > 0 else [1.0, 0.0], rtol=TOLERANCE)
    assert tape.stats.recordings == 1


def test_branches_with_them_are_merged():
    def loss(x):
        total = 0.0
        for v in x:
            if v > 0.3:
                total += math.exp(-v * v)
            else:
                total += math.sqrt(1.0 + v * v)
        return total

    tape = td.GuardedTape(loss, merge=True)
    for x in np.random.default_rng(1).normal(size=(10, 30)):
        value, slopes = tape.value_and_gradient(x)
        assert value == pytest.approx(loss(x), rel=TOLERANCE * 10)
        np.testing.assert_allclose(slopes, np.where(x > 0.3, -2 * x * np.exp(-x * x), x / np.sqrt(1 + x * x)), rtol=1e-13)
    assert tape.stats.recordings <= 2


def merged(text):
    """A function, and its merged form."""
    f = function_of("import math\n" + text)
    return f, td.GuardedTape(f, merge=True, on_new_tape="interpret")


SIDES = """
def f(x):
    s = 0.0
    for v in x:
        if LOW < v < HIGH or v > 50.0 or v == -2.0 or v == 1.0:
            s = s + math.NAME(v)
        else:
            s = s + (v if v != 0.0 else 2.0 * math.NAME(v))
    return s
"""


@pytest.mark.parametrize("name", [name for name in RANGES if hasattr(math, name)])
def test_they_become_selects_whose_errors_count_only_where_the_program_reaches_them(name):
    """Around its domain, at its edges, at NaN and infinities: as the plain function, which raises on the side that it takes."""
    low, high = RANGES[name][0] - 0.01, RANGES[name][-1] + 0.01
    f, tape = merged(SIDES.replace("NAME", name).replace("LOW", str(low)).replace("HIGH", str(high)))
    inside = [r for r in RANGES[name] if abs(r) != 1.0 and r < 50.0]
    for edge in (*EDGES, 0.5, 0.2):
        x = np.array([inside[0], edge, inside[-1]])
        assert same(tape, f, x), x
        if low < edge < high and not edge.is_integer():
            slopes = tape.value_and_gradient(x)[1]
            step = 1e-6
            differences = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
            np.testing.assert_allclose(slopes, differences, rtol=1e-6, atol=1e-7)  # of differences
    # Infinities, which may be too large for some functions, have a tape of their own.
    assert tape.explain().startswith(("f: 1 of at most", "f: 2 of at most"))


NESTED = """
def helper(v, w):
    return math.log(v) + math.sqrt(v - w)

def f(x):
    s, k = 0.0, 0.0
    for v in x:
        if v > 0.2 and math.log(v) < 1.0:
            t = math.sqrt(v)
            if v > 0.7:
                t = t * math.acos(0.9 - v) if v < 1.5 else math.acosh(v)
            s += t
        elif v < -1.0:
            s -= helper(-v, 0.5)
        k = k + math.log(0.0 if v > 100.0 else 2.0)
    return s + k + sum(math.log1p(v) for v in x if v > -0.9)
"""


def test_they_merge_in_nested_branches_conditions_helpers_and_sums():
    f, tape = merged(NESTED)
    for x in np.random.default_rng(5).normal(size=(60, 5)) * [[1.5]]:
        assert same(tape, f, x), x
        slopes = tape.value_and_gradient(x)[1]
        differences = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(5)]
        np.testing.assert_allclose(slopes, differences, rtol=2e-5, atol=1e-6)  # of differences
    # Infinities, which may be too large for some functions, have a tape of their own.
    assert tape.explain().startswith(("f: 1 of at most", "f: 2 of at most"))
    for edge in (math.nan, math.inf, -math.inf, 101.0, 0.2, -1.0, 0.0):
        assert same(tape, f, np.array([0.3, edge, -2.0, 0.9, 1.7])), edge


@pytest.mark.slow
def test_kernels_of_them_are_the_replay_and_mask_cotangents():
    f, _ = merged(NESTED)
    tape = td.GuardedTape(f, merge=True)
    for x in np.random.default_rng(6).normal(size=(8, 40)):
        value, slopes = tape.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=TOLERANCE * 10)
        assert np.all(np.isfinite(slopes))
        plain = td.record(f, x)
        np.testing.assert_allclose(slopes, td.gradient(plain, x), rtol=1e-12, atol=1e-14)  # the order of sums


@pytest.mark.parametrize("value", [np.float32(0.5), 2, np.array([1.5])[0]])
def test_results_are_floats_whatever_goes_in(value):
    tape = td.record(lambda x, k: math.sqrt(k) * math.exp(x), np.float64(1.0), td.Constant(np.asarray(value)))
    assert tape(1.0, td.Constant(np.asarray(value))) == pytest.approx(math.sqrt(value) * math.e, rel=TOLERANCE)


def test_arrays_are_refused_as_python_refuses_them():
    for f in (lambda x: math.exp(x), lambda x: math.log(x, 2.0), lambda x: math.hypot(1.0, x)):
        with pytest.raises(TypeError, match="0-dimensional"):
            td.record(f, np.ones(2))


def test_the_module_is_pythons_own_outside_of_recordings_and_without_tracked_numbers():
    before = dict(vars(math))
    seen = []

    def f(x):
        seen.append((math.sqrt(4.0), math.factorial(4), math.hypot(3, 4)))
        kept.append(math.sin)
        thread = threading.Thread(target=lambda: seen.append(math.exp(0.0)))
        thread.start()
        thread.join()
        assert math.cos == before["cos"]
        assert (hash(math.cos), repr(math.cos)) == (hash(before["cos"]), repr(before["cos"]))
        assert pickle.loads(pickle.dumps(math.cos)) == before["cos"]
        assert copy.copy(math.tan)(0.0) == 0.0
        return math.sin(x)

    kept = []
    tape = td.record(f, 1.0)
    assert seen == [(2.0, 24, 5.0), 1.0]
    assert vars(math) == before
    assert all(vars(math)[name] is before[name] for name in before)
    assert kept[0](1.0) == math.sin(1.0) == tape(1.0)
    with pytest.raises(ZeroDivisionError):
        td.record(lambda x: x / (1 // 0), 1.0)
    assert math.log is before["log"]


def test_numbers_that_only_they_are_given_need_not_stay_plain_ones():
    """A level that is set to a constant on one side is data afterwards, and math.sqrt takes data."""

    def tank(p):
        level, spilled = p[0], 0.0
        for day in range(20):
            level = level + p[1] * (1.0 + math.sin(day))
            if level > 3.0:
                spilled = spilled + level - 3.0
                level = 3.0
            level = level - 0.3 * math.sqrt(level)
        return spilled**2 + level

    tape = td.GuardedTape(tank, merge=True, on_new_tape="interpret")
    for p in np.array([1.0, 0.5]) + 0.3 * np.random.default_rng(1).normal(size=(12, 2)) ** 2:
        value, slopes = tape.value_and_gradient(p)
        assert value == pytest.approx(tank(p), rel=1e-13)
        differences = [(tank(p + step) - tank(p - step)) / 2e-7 for step in 1e-7 * np.eye(2)]
        np.testing.assert_allclose(slopes, differences, rtol=1e-6, atol=1e-6)
    assert tape.stats.recordings <= 2
