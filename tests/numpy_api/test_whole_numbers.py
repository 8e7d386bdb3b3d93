"""Ints that are data: a function of a step number is recorded a few times, and is what plain Python makes of it at every step."""

import copy
import math
import pickle

import numpy as np
import pytest
from support.differences import differences

import tapediff as td

A = np.array
X = A([0.7, -1.3, 2.1])

# Values come from the same floating-point operations up to powers, for which the kernels' functions are within an ulp or two.
NEAR = 1e-13


def product(x, t):
    return (x * t).sum()


def step_size(x, t):
    return (x**2).sum() * (1.0 + 0.1 * t) ** -0.6


def floor_and_modulo(x, t):
    return (x * (t // 3) + x**2 * (t % 5) - x * (-t // 4) + x * (-t % 7)).sum()


def whole_powers(x, t):
    return (x**2).sum() * t**2 + t**3 - 2 * t


def power_of_two(x, t):
    return (x**2).sum() * 2**t if t < 40 else x.sum()


def sign_changes(x, t):
    return (x**2).sum() * (-1) ** t


def branch(x, t):
    if t > 20 and t % 2 == 0:
        return (x**3).sum() * t
    return np.exp(-x).sum() - t


def picked_from_list(x, t):
    return (x**2).sum() * [1.0, -2.0, 0.5][t % 3]


def numpy_of_it(x, t):
    return (x * np.exp(-0.1 * t) + np.sqrt(t) * x**2 + np.log1p(t)).sum() + np.power(0.5, t)


def numpy_binary(x, t):
    return np.multiply(x, t).sum() + np.maximum(x, t).sum() + np.where(x > 0, x, t).sum() + np.minimum(t, x).sum()


def clipped(x, t):
    return (x**2).sum() * min(1.0, t / 10) + max(t, 5) * x.sum()


def rounded(x, t):
    return (x**2).sum() * round(t / 20) + math.floor(t / 15) * x.sum()


def is_instance(x, t):
    return (x**2).sum() * (2.0 if isinstance(t, int) and not isinstance(t, (float, bool, np.integer)) else 3.0) * t


def absolute(x, t):
    return (x**2).sum() * abs(t - 25) + (+t) * x.sum()


def divmods(x, t):
    q, r = divmod(t, 8)
    return (x**2).sum() * q + r


AS_DATA = [
    product, step_size, floor_and_modulo, whole_powers, power_of_two, sign_changes, branch, picked_from_list, numpy_of_it, numpy_binary,
    clipped, rounded, is_instance, absolute, divmods,
]  # fmt: skip


def keyed(x, t):
    return (x**2).sum() * {k: float(k) for k in range(60)}[t]


def roots(x, t):
    return (x**2).sum() / math.sqrt(t + 1)


def text(x, t):
    return (x**2).sum() * len(f"{t}") + len(str(t * 3)) + len("%d" % t)  # noqa: UP031 -- one of the ways


def bits(x, t):
    return (x**2).sum() * (t & 3) + (t << 2) + (t ^ 5) + (~t) + t.bit_length()


def arrays_of_it(x, t):
    return (np.array([t, 2 * t, 1]) * x).sum() + np.full(3, t)[0] * x.sum() + np.zeros(t + 1).size


class Model:
    def __call__(self, x, t):
        return (x**2).sum() * self.factor(t)

    def factor(self, t):
        return 2.0 if type(t) is int else 3.0


exact_type_of_an_object = Model()
exact_type_of_an_object.__name__ = "exact_type_of_an_object"


def axis(x, t):
    return np.sum(np.stack([x, 2 * x]), axis=t % 2)[0]


def high_power(x, t):
    return x.sum() + float((t + 7) ** 30 % 1000003)


def integer_array(x, t):
    return (x * (np.arange(3) + t) + x * np.uint8([1, 2, 3]) * t).sum()


def overflowing(x, t):
    return (x**2).sum() * ((t + 2**40) * (t + 2**40) % 1000003)


def caught_everything(x, t):
    try:
        return (x**2).sum() * math.sqrt(t)
    except Exception:  # noqa: BLE001 -- what is caught is the point
        return x.sum()


def as_static_inside(x, t):
    return td.gradient(lambda y: (y**3).sum() * t, x).sum()


def sub_taped(x, t):
    return td.subtape(lambda y, s: (y**2).sum() * s)(x, t) + td.subtape(lambda y: (y * t).sum())(x)


def looped(x, t):
    return td.fori_loop(0, t, lambda k, c: c + x[0] * k, 0.0 * x[0])


SPECIALISED = [
    keyed, roots, text, bits, arrays_of_it, exact_type_of_an_object, axis, high_power, integer_array, overflowing, caught_everything,
    as_static_inside, sub_taped, looped,
]  # fmt: skip

ORDERS = [list(range(27)), [0, 50, 3, 3, 50, 0, 7, 21, 22, 20, 1, 2, 49, 30, 8]]


def agree(safe, f, t, *, by_name=False):
    args, named = ((X,), {"t": t}) if by_name else ((X, t), {})
    value, gradient = td.value_and_gradient(safe, *args, **named)
    plain = f(X, t)
    assert value == pytest.approx(plain, rel=NEAR, abs=NEAR)
    assert safe(*args, **named) == pytest.approx(plain, rel=NEAR, abs=NEAR)
    # A central difference with h = 1e-6 is right to h**2 and to 1e-16 / h of the values.
    assert gradient == pytest.approx(differences(lambda x: f(x, t), X), rel=1e-5, abs=1e-8 * max(1.0, abs(plain)))


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "in any order"])
@pytest.mark.parametrize("after", [0, 10**6], ids=["compiled", "replayed"])
@pytest.mark.parametrize("f", AS_DATA, ids=lambda f: f.__name__)
def test_a_step_number_is_data(f, after, order):
    """At every step the value and gradient of plain Python, with a recording for each path and no more."""
    safe = td.GuardedTape(f, compile_after=after)
    for t in order:
        agree(safe, f, t)
    assert safe.stats.recordings <= 8, safe.explain()
    assert "any int" in safe.explain()


@pytest.mark.parametrize("order", ORDERS, ids=["in order", "in any order"])
@pytest.mark.parametrize("f", SPECIALISED, ids=lambda f: f.__name__)
def test_a_step_number_that_python_needs_is_specialised_on(f, order):
    """Whatever Python does with an int that a tape cannot do exactly is done by Python, at every step."""
    safe = td.GuardedTape(f, max_tapes=100, compile_after=3)
    for t in order:
        agree(safe, f, t)
    assert safe.stats.recordings <= len(set(order)) + 17


def many(x, i, j):
    return (x**2).sum() * i / (j + 1) + (x.sum() if i > j else -x.sum()) + i * j


def test_several_ints_are_data():
    """Any order of values of two ints; a tape for each path, and for the first value of each."""
    safe = td.GuardedTape(many, compile_after=2)
    rng = np.random.default_rng(0)
    for _ in range(60):
        i, j = (int(v) for v in rng.integers(-1, 12, 2))
        j = abs(j)
        value, gradient = safe.value_and_gradient(X, i, j)
        assert value == pytest.approx(many(X, i, j), rel=NEAR, abs=NEAR)
        assert gradient == pytest.approx(differences(lambda x: many(x, i, j), X), rel=1e-5, abs=1e-7)
    assert safe.stats.recordings <= 8, safe.explain()


def shown(t, x):
    return (x**2).sum() * (t if isinstance(t, int) else 100 * t)


def test_kinds_of_integers_are_kept_apart():
    """bool, np.int64, float and int at the same place, before and after the int is data; as for the plain function."""
    safe = td.GuardedTape(shown)
    for t in [3, 4, True, np.int64(5), 5, 2.0, False, np.int64(4), 1, 0, True, 2**40, 7, -(2**62), 8, 9]:
        value, gradient = safe.value_and_gradient(t, X, argnums=1)
        assert value == pytest.approx(float(shown(t, X)), rel=NEAR)
        assert gradient == pytest.approx(2 * X * float(shown(t, A([1.0]))), rel=NEAR)
    assert sum("any int" in line for line in safe.explain().splitlines() if line.startswith("  tape")) == 1


def test_a_static_int_stays_specialised_on():
    """td.static(...) means a tape for each value."""
    safe = td.GuardedTape(product, static=td.static(argnames="t"), compile_after=100)
    for t in range(5):
        agree(safe, product, t)
    assert safe.stats.recordings == 5
    assert "any int" not in safe.explain()


def test_an_int_by_name_is_data():
    """safe(x, t=3), also beside calls by position."""
    safe = td.GuardedTape(branch, merge=False)
    for t in range(30):
        agree(safe, branch, t, by_name=t % 2 == 1)
    safe_of = td.grad(branch)
    assert safe_of(X, t=3) == pytest.approx(differences(lambda x: branch(x, 3), X), rel=1e-5)
    assert safe.stats.recordings <= 4


def test_tapes_with_ints_as_data_are_pickled_and_copied():
    """A copy answers from the tapes that it was given; that an int is specialised on is kept as well."""
    for f, recordings in ((branch, 0), (roots, 1)):
        safe = td.GuardedTape(f, compile_after=10**6, merge=False)
        for t in range(30):
            agree(safe, f, t)
        for other in (pickle.loads(pickle.dumps(safe)), copy.deepcopy(safe)):
            before = other.stats.recordings
            for t in (29, 3, 40, 22, 0):
                agree(other, f, t)
            assert other.stats.recordings - before == recordings
    assert safe.stats.recordings == 30


def test_checks_compare_with_the_plain_function():
    """check_every: the plain function is given ints, and one that changed is found."""
    scale = [1.0]

    def scaled(x, t):
        assert isinstance(t, int)
        return (x**2).sum() * scale[0] * t

    safe = td.GuardedTape(scaled, check_every=1, frozen=True)
    for t in range(6):
        agree(safe, scaled, t)
    scale[0] = 2.0
    with pytest.raises(td.StaleTape):
        td.gradient(safe, X, 3)


def test_no_tape_is_recorded_where_none_may_be():
    """on_new_tape="raise": known values and paths are answered, whether their ints are data or not."""
    safe = td.GuardedTape(branch)
    agree(safe, branch, 0)
    safe.on_new_tape = "raise"
    with pytest.raises(td.NewTape):
        td.gradient(safe, X, 1)
    agree(safe, branch, 0)
    safe.on_new_tape = "compile"
    agree(safe, branch, 1)
    safe.on_new_tape = "raise"
    for t in (0, 1, 2, 20, 7, 0, 5):
        agree(safe, branch, t)
    with pytest.raises(td.NewTape):
        td.gradient(safe, X, 22)
    agree(safe, branch, 19)


def test_what_the_function_raises_is_what_python_raises():
    """An error of the function at one step, and its steps around: the int is data again afterwards."""

    def picky(x, t):
        if t == 3:
            raise KeyError("three")
        return (x**2).sum() * (1 / (t - 5))

    safe = td.GuardedTape(picky)
    for t in (0, 1, 2):
        agree(safe, picky, t)
    for _ in range(2):
        with pytest.raises(KeyError, match="three"):
            td.gradient(safe, X, 3)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            td.gradient(safe, X, 5)
    for t in range(6, 20):
        agree(safe, picky, t)
    assert safe.stats.recordings == 2


def test_float32_and_derivatives_of_other_kinds():
    """float32 stays float32 beside an int, as in NumPy; jacobians and Hessians at every step."""
    safe = td.GuardedTape(lambda x, t: x**2 * t)
    for t in range(5):
        x = np.float32([1.5, 2.5])
        assert safe(x, t).dtype == (x * t).dtype == np.float32
        assert safe(x, t) == pytest.approx(x**2 * t)
        assert td.jacobian(safe, X, t) == pytest.approx(np.diag(2 * X * t))
    power = td.GuardedTape(lambda x, t: (x**t).sum())
    x = A([0.0, -2.0, 1.5])
    for t in range(1, 7):
        assert td.hessian(power, x, t) == pytest.approx(np.diag([t * (t - 1) * v ** max(t - 2, 0) for v in x]), rel=NEAR)
        assert td.gradient(power, x, t) == pytest.approx([t * v ** (t - 1) for v in x], rel=NEAR)


def test_margins_are_those_of_the_step():
    """margins looks where no tape is kept, too, and keeps none."""
    safe = td.GuardedTape(branch)
    for t in (0, 1, 2):
        safe(X, t)
    before = safe.stats.recordings
    for t in (5, 22, 23):
        assert isinstance(safe.margins(X, t), list)
    assert safe.stats.recordings == before


def test_numbers_kept_beyond_their_recording_are_refused():
    """A number that the function keeps is found where it is used again."""
    kept = []

    def keeping(x, t):
        kept.append(t + 1)
        return x.sum() * t

    safe = td.GuardedTape(keeping)
    for t in range(3):
        agree(safe, keeping, t)
    tracked = next(k for k in kept if type(k) is not int)
    with pytest.raises(td.TrackedValueEscaped):
        tracked + 1
