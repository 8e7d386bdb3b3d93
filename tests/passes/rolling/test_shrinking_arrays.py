"""Loops over arrays that get shorter at every turn."""

import numpy as np
import pytest
from support.passes import without

import tapediff as td
from tapediff.functions.callees.rolled_loop import rolled
from tapediff.ir.instruction import FLOAT64, INPUT, ValueType
from tapediff.ir.rewriter import Rewriter
from tapediff.ir.tape import Tape
from tapediff.ops.control.calls import LOOP
from tapediff.ops.elementwise.arithmetic import ADD
from tapediff.passes.rolling.shrinking_arrays import _fits

DATA = np.random.default_rng(0).uniform(0.5, 1.5, size=400)
POINT, OTHER = np.random.default_rng(6).uniform(0.6, 0.9, size=(2, 3))
TURNS = 110


def lattice(p):
    """A price on a binomial tree, with a payoff that other constants give at each turn."""
    value = np.maximum(p[0] * np.linspace(0.5, 2.0, TURNS + 1) - 1.0, 0.0)
    for k in range(TURNS, 0, -1):
        value = np.maximum(p[1] * value[1:] + (1.0 - p[1]) * value[:-1], p[2] * np.linspace(0.5, 2.0, k) - 1.2)
    return value[0]


def points_in_the_plane(p):
    """De Casteljau's algorithm: rows of two numbers."""
    points = np.stack([np.cos(DATA[:150] * p[0]), DATA[150:300] * p[1]], axis=1)
    while len(points) > 1:
        points = (1.0 - p[2]) * points[:-1] + p[2] * points[1:]
    return np.sum(points**2)


def both_axes(p):
    values = np.maximum(np.outer(DATA[:90], DATA[90:180]) * p[0] - 0.5 * p[1], 0.0)
    for _ in range(89):
        values = 0.25 * (values[:-1, :-1] + values[1:, :-1] + values[:-1, 1:] + values[1:, 1:]) * p[2] + 0.01
    return values[0, 0]


def infinite_at_zeros(p):
    """Behind the true end of an array there are zeros, whose quotients, roots and logarithms have no derivatives."""
    v = DATA[:TURNS] * p[0]
    for _ in range(TURNS - 5):
        v = np.log(v[1:] / v[:-1] + p[1]) + 0.3 * np.sqrt(v[1:] * v[:-1]) + p[2]
    return np.sum(v)


def parts_of_one_array(p):
    """Of an array that stays as it is a shorter part is read at each turn; every turn has a result."""
    weights, v, total = DATA[:200] * p[0], np.ones(200) * p[1], 0.0
    for k in range(190):
        v = np.exp(-v[1:] * weights[: len(v) - 1]) + p[2] * DATA[k]
        total = total + v[0]
    return np.sum(v) + total


def first_entry_replaced(p):
    v = DATA[:150] * p[0]
    for _ in range(140):
        v = np.concatenate([np.array([p[1]]), 0.5 * (v[2:] + v[1:-1]) * p[2]])
    return np.sum(v)


def a_guard_at_each_turn(p):
    v = DATA[:TURNS] * p[0]
    for _ in range(TURNS - 1):
        v = p[1] * v[1:] + 0.1 * p[2] * v[:-1]
        if v[0] < 0.0:
            v = 2.0 * v
    return v[0]


ROLLED = [
    lattice, points_in_the_plane, both_axes, infinite_at_zeros, parts_of_one_array, first_entry_replaced, a_guard_at_each_turn,
]  # fmt: skip


def a_last_entry_of_zero(p):
    """The end of each array is not written: it is 0, and read at the next turn."""
    v = DATA[:TURNS] * p[0]
    for _ in range(TURNS - 2):
        w = td.zeros(len(v) - 1)
        w[:-1] = p[1] * v[1:-1] + p[2] * v[:-2]
        v = w + 0.1 * v[1:]
    return np.sum(v)


def arrays_that_grow_again(p):
    """Half-way they are longer than those before, though shorter than the first."""
    total = 0.0
    for n in [*range(300, 200, -1), *range(260, 160, -1)]:
        w = DATA[:n] * p[0]
        v = np.tanh(w[1:] * w[:-1] * p[1]) * p[2]
        total = total + v[0] * v[1]
    return total


OTHERS = [
    arrays_that_grow_again, a_last_entry_of_zero,
]  # fmt: skip


def compiled(function, *, is_left_out, point=POINT):
    return without(["shrinking_arrays"] if is_left_out else [], lambda: td.compile(td.record(function, point)))


@pytest.mark.parametrize("function", ROLLED, ids=lambda f: f.__name__)
def test_turns_become_loops(function):
    """In a tenth of the instructions, or less."""
    tape = td.record(function, POINT)
    made = rolled(tape)
    assert any(i.op is LOOP for i in made.instructions)
    assert 10 * len(made) <= len(tape)


@pytest.mark.parametrize("function", [*ROLLED, *OTHERS], ids=lambda f: f.__name__)
def test_what_is_never_read_changes_nothing(function):
    """Sums over turns, of values and of parameters' cotangents, are added in another order."""
    alike, written = compiled(function, is_left_out=False), compiled(function, is_left_out=True)
    for point in (POINT, OTHER):
        value, gradient = td.value_and_gradient(alike, point)
        expected, by_turns = td.value_and_gradient(written, point)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(value, function(point), rtol=1e-9)
        np.testing.assert_allclose(gradient, by_turns, rtol=1e-8, atol=1e-10 * np.abs(by_turns).max())
    np.testing.assert_allclose(gradient, td.gradient(td.record(function, POINT), OTHER), rtol=1e-8, atol=1e-10 * np.abs(gradient).max())


@pytest.mark.parametrize("function", [infinite_at_zeros, lattice, points_in_the_plane], ids=lambda f: f.__name__)
def test_second_derivatives(function):
    """Those of the operations as they were recorded, by NumPy."""
    direction = np.array([1.0, -0.5, 2.0])
    expected = td.hvp(td.record(function, POINT), OTHER, direction)
    got = td.hvp(compiled(function, is_left_out=False), OTHER, direction)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())


def test_float32_stays_float32():
    point = OTHER.astype(np.float32)
    value, gradient = td.value_and_gradient(compiled(first_entry_replaced, is_left_out=False, point=point), point)
    expected, by_turns = td.value_and_gradient(compiled(first_entry_replaced, is_left_out=True, point=point), point)
    assert value == expected
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, by_turns, rtol=1e-4)  # of sums over 10,000 entries in single precision


def test_long_arrays_shrink_in_steps():
    """Of half the entries that a single length would take, a third less."""

    def f(p):
        v = DATA[:300] * p[0]
        for _ in range(299):
            v = p[1] * v[1:] + (1.0 - p[1]) * v[:-1]
        return v[0] * p[2]

    made = rolled(td.record(f, POINT))
    assert sorted({i.params[0].in_types[0].shape[0] for i in made.instructions if i.op is LOOP}) == [150, 299]
    td.testing.check_gradient(td.compile(td.record(f, POINT)), f, OTHER)


def test_few_turns_stay_as_they_are():
    def f(p):
        v = DATA[:30] * p[0]
        for _ in range(29):
            v = p[1] * v[1:] + (1.0 - p[1]) * v[:-1]
        return v[0] * p[2]

    assert not any(i.op is LOOP for i in rolled(td.record(f, POINT)).instructions)


@pytest.mark.parametrize(
    ("short", "long", "expected"), [((3, 3), (5, 5), True), ((3, 1), (5, 1), True), ((1, 1), (5, 5), True), ((3, 1), (5, 5), False), ((1, 5), (5, 5), False)]
)
@pytest.mark.parametrize("order", [1, -1])
def test_an_operation_begins_as_a_longer_one_if_all_its_operands_are_repeated_alike(short, long, expected, order):
    """A number that goes with all entries is not the beginning of an array that goes with them one by one."""
    made = Rewriter(Tape((), (), (), "sums"))
    sums = []
    for sizes in (short, long):
        operands = [made.emit(INPUT, (), (k,), ValueType((size,), FLOAT64), None) for k, size in enumerate(sizes[::order])]
        sums.append(made.make(ADD, tuple(operands)))
    tape = Tape(tuple(made.instructions), (), tuple(sums), "sums")
    assert _fits(tape, *[tape.instructions[n] for n in sums]) == expected
