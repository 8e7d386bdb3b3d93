"""Sweeps: the answers of the replay, for every op that acts on numbers; guards, exact zeros, small arrays, every way to call; and when."""

import pickle
import random

import numpy as np
import pytest

import tapediff as td
from tapediff.compiler.bytecode.sweeps import program, tables
from tapediff.compiler.bytecode.sweeps.program import swept
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.errors import UnsupportedFunction
from tapediff.functions.callees.rolled_loop import prepared, rolled_apart
from tapediff.ir.instruction import BOOL, FLOAT64, INT64
from tapediff.ir.interpreter import run
from tapediff.ops import REGISTRY, Elementwise
from tapediff.ops.control.calls import LOOP
from tapediff.ops.elementwise.arithmetic import CONVERT
from tapediff.ops.elementwise.comparison import SELECT
from tapediff.targets.tapes import long_tapes
from tapediff.targets.tapes.gradient_tape import gradient_tape

DTYPES = {"f": FLOAT64, "i": INT64, "b": BOOL}
OPS = sorted(name for name, op in REGISTRY.items() if isinstance(op, Elementwise) and op.samples and op is not SELECT)


@pytest.fixture
def any_length(monkeypatch, flat_loops):
    """Tapes of any length are long ones."""
    monkeypatch.setattr(long_tapes, "FEWEST_INSTRUCTIONS", 0)
    monkeypatch.setattr(tables, "LONG", 0)
    monkeypatch.setattr(program, "SHORTEST_RUNS", 0)


def assert_as_replayed(f, *points, argnums=(0,), is_swept=True):
    """The kernel's value and gradients are those of the replay, at all points; gives the compiled tape."""
    tape = td.record(f, *points[0])
    compiled = td.compile(tape)
    assert compiled.kernel(argnums).is_swept == is_swept
    for point in points:
        value, gradients = td.value_and_gradient(compiled, *point, argnums=argnums)
        expected, others = td.value_and_gradient(tape, *point, argnums=argnums)
        # Sums of cotangents are added in another order.
        assert np.allclose(value, expected, rtol=1e-12, atol=0.0, equal_nan=True)
        for gradient, other in zip(gradients, others):
            assert np.allclose(gradient, other, rtol=1e-12, atol=1e-14, equal_nan=True)
    return compiled


@pytest.mark.parametrize("name", OPS)
def test_every_op_on_numbers_has_the_value_and_the_gradient_of_the_replay(name, any_length):
    """By the listing, which needs no LLVM: the formulas are derived from the op's own rules."""
    op, rng = REGISTRY[name], np.random.default_rng(1)
    for params in op.sample_params:

        def f(x, y, params=params):
            made = op(*[CONVERT(v, dtype=DTYPES[domain.kind]) for v, domain in zip(x, op.samples)], **params)
            return y[0] * (made if made.dtype.kind == "f" else CONVERT(made, dtype=FLOAT64)) + x[0]

        x = np.array([domain.draw(rng, ()) for domain in op.samples], float)
        y = np.array([0.75])
        tape = td.record(f, x, y)
        program = swept(prepared(tape), (0, 1))
        try:
            derivative = gradient_tape(tape, (0, 1))
        except UnsupportedFunction:
            assert program is None  # as the derivative by one of the operands is not known
            continue
        if program is None:
            # The derivative is a quadrature: a sum over an array.
            assert any(i.type.size > 3 for i in derivative.instructions)
            continue
        outputs = [np.zeros(()), np.zeros_like(x), np.zeros_like(y)]
        assert run_listing(program, [x, y], outputs) is None
        for output, expected in zip(outputs, run(derivative, [x, y])):
            # The listing calls NumPy's own functions, as the replay does.
            np.testing.assert_allclose(output, expected, rtol=1e-13, atol=1e-14)


def irregular(count, seed):
    """A function of 12 numbers in so many operations that do not repeat."""
    draw = random.Random(seed)
    steps = [(draw.randrange(7), draw.randrange(max(0, k - 300), k + 12), draw.randrange(k + 12)) for k in range(count)]

    def f(x):
        v = [x[k] for k in range(12)]
        for kind, i, j in steps:
            a, b = v[i], v[j]
            v.append([
                lambda: a * b, lambda: a - 0.5 * b, lambda: np.sin(a), lambda: np.exp(-a * a), lambda: a / (1.0 + b * b),
                lambda: np.maximum(a, b), lambda: np.tanh(a + b),
            ][kind]())  # fmt: skip
        return sum(v[-30:])

    return f, np.random.default_rng(seed).normal(size=(3, 12))


@pytest.fixture(scope="module")
def long_program():
    f, points = irregular(1500, 3)
    tape = td.record(f, points[0])
    return tape, td.compile(tape), points


def test_a_long_program_is_swept_and_agrees_with_the_replay_and_its_listing(long_program):
    tape, compiled, points = long_program
    kernel = compiled.kernel((0,))
    assert kernel.is_swept
    for x in points:
        value, gradient = td.value_and_gradient(compiled, x)
        expected, other = td.value_and_gradient(tape, x)
        listed = [np.zeros(()), np.zeros(12)]
        assert run_listing(kernel.program, [x], listed) is None
        for one in ((expected, other), listed):
            # tanh and exp differ from NumPy's in the last bit, over chains of some fifty operations.
            np.testing.assert_allclose(value, one[0], rtol=1e-11)
            np.testing.assert_allclose(gradient, one[1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("count", "turns", "is_swept"), [(60, 30, True), (20, 30, False), (60, 3000, False)])
def test_many_short_loops_are_swept_as_they_were_recorded(count, turns, is_swept):
    """By LLVM each takes 10 to 80 ms, and no less at a call; few loops, and long ones, are compiled."""
    lengths = np.random.default_rng(3).integers(turns // 2 + 9, turns + 9, count)

    def f(x):
        total = 0.0
        for k, length in enumerate(lengths):
            y = x[k % 12] * (1.0 + 1e-3 * k)
            for j in range(length):
                y = np.sin(y) * x[(j + k) % 12] + 0.9 * y if k % 3 else np.cos(y) + 0.1 * y * x[k % 7]
            total = total + y
        return total

    tape = td.record(f, np.linspace(0.2, 1.1, 12), merge=False)
    assert LOOP in rolled_apart(tape).ops
    if turns < 100:
        assert_as_replayed(f, [np.linspace(0.2, 1.1, 12)], [np.linspace(0.7, -0.3, 12)], is_swept=is_swept)
    else:
        assert long_tapes.long_program(tape, (0,)) is None


def test_every_way_to_call_it_gives_the_same_bits(long_program):
    _, compiled, points = long_program
    values, gradients = compiled.batch(points)
    again = pickle.loads(pickle.dumps(compiled))
    for x, value, gradient in zip(points, values, gradients):
        out = np.empty(12)
        assert compiled.bind(x, out)() == value == again(x) == compiled(x)
        assert np.array_equal(out, gradient)
        assert np.array_equal(td.gradient(compiled, x), gradient)
        assert np.array_equal(td.gradient(again, x), gradient)


def test_further_derivatives_are_those_of_the_tape(any_length):
    f, (x, v, _) = irregular(60, 3)
    tape = td.record(f, x)
    compiled = td.compile(tape)
    assert compiled.kernel((0,)).is_swept
    np.testing.assert_allclose(td.hvp(compiled, x, v), td.hvp(tape, x, v), rtol=1e-9, atol=1e-11)


def test_guards_fail_in_their_order_and_leave_the_results_alone(any_length):
    def f(x, n):
        total = 0.0
        for k in range(4):
            total = total + x[k] ** 2 if x[k] > 0 else total - np.exp(x[k])
        return total * int(x[0] + 0.5) + (x[1] if n > 2 else x[2])

    x = np.array([1.2, -1.0, 2.0, -3.0])
    compiled = assert_as_replayed(f, (x, 3), (x + 0.1, 3))
    for point, n, ordinal in ((-x, 3, 0), (x * [1, 1, -1, -1], 3, 2), (x + [1, 0, 0, 0], 3, 4), (x, 1, 5), (x * [1, -1, 1, 1], 1, 1)):
        out = np.full(4, 7.0)
        with pytest.raises(td.GuardFailed) as failed:
            td.gradient(compiled, point, n, out=out)
        assert failed.value.ordinal == ordinal
        assert (out == 7.0).all()
        with pytest.raises(td.GuardFailed):
            compiled(point, n)


def test_what_is_discarded_contributes_exact_zeros(any_length):
    """An infinite derivative behind a maximum, a choice, of an unused entry, and behind a floor, whose derivative is zero."""

    def f(x):
        root, unused = np.sqrt(np.abs(x[0])), np.sqrt(x[4:6])
        root = np.maximum(root, x[1]) + np.where(x[0] > 0.0, np.sqrt(x[0]), 0.0) * x[1] + np.where(x[2] > x[3], x[1] / x[2], np.log(x[0] + 1.0))
        return root + np.sqrt(np.maximum(x[2], 0.0)) * x[3] + unused[0] * x[3] + np.floor(np.log(x[6]))

    with np.errstate(all="ignore"):
        assert_as_replayed(
            f, (np.array([0.0, 1.0, 0.0, 2.0, 4.0, 0.0, 3.0]),), (np.array([0.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0]),),
            (np.array([4.0, 2.0, 0.0, 0.0, 1.0, 2.0, 0.5]),),
        )  # fmt: skip


def choosing(seed):
    """A function of 5 numbers: choices by masks that meet, kinks and their squares, derivatives that are infinite or nowhere defined."""
    draw = random.Random(seed)
    steps = [(draw.randrange(17), *(draw.random() ** 2 for _ in range(3)), draw.randrange(4)) for _ in range(14)]

    def f(x):
        v, masks = [x[k] for k in range(5)], [x[0] > x[1], x[2] > 0.0]
        for kind, *places, m in steps:
            a, b, c = (v[-1 - int(len(v) * place)] for place in places)
            mask = masks[-1 - m % len(masks)]
            masks.append(a > b if kind == 0 else masks[-2])
            v.append([
                lambda: c, lambda: np.sqrt(a), lambda: a * b, lambda: a - 2.0 * b, lambda: np.log(a), lambda: np.maximum(a, b),
                lambda: a / b, lambda: np.where(mask, 0.0, a), lambda: (np.abs(a) * b) ** 2, lambda: (np.sqrt(a) / b) ** 2,
                lambda: np.hypot(a, b) ** 2, lambda: np.square(-np.sqrt(a)), lambda: np.linalg.norm(np.stack([a, b])) ** 2,
            ][kind]() if kind < 13 else np.where(mask, a, b))  # fmt: skip
        return v[-1] + v[-2] * v[-3]

    return f


@pytest.mark.parametrize("seed", range(6))
@np.errstate(all="ignore")
def test_choices_pass_cotangents_on_as_the_reverse_pass_does(seed, any_length):
    """Also NaN, where the derivative of what was chosen is infinite, and exact zeros, where it was not: by the listing, at whole numbers."""
    rng, suited = np.random.default_rng(seed), 0
    for k in range(8):
        tape = td.record(choosing(8 * seed + k), rng.integers(-1, 3, 5).astype(float))
        program, derivative = swept(prepared(tape), (0,)), gradient_tape(tape, (0,))
        if program is None:  # the square of a kink of a kink is no operation of byte code
            continue
        suited += 1
        for x in rng.integers(-1, 3, (3, 5)).astype(float):
            outputs = [np.zeros(()), np.zeros(5)]
            assert run_listing(program, [x], outputs) is None
            for output, expected in zip(outputs, run(derivative, [x])):
                # Sums of cotangents are added in another order; 0 times infinity may be left out, or no number.
                np.testing.assert_allclose(*(np.where(np.isnan(expected), 0.0, each) for each in (output, expected)), rtol=1e-13, atol=1e-14)
    assert suited > 3


def test_small_arrays_are_taken_apart(any_length):
    """Products, sums, stacks, writes, transposes, repeated and negative indices, several arguments, an output that is an input."""
    rng = np.random.default_rng(5)

    def f(x, y, scale):
        p = np.exp(x).reshape(3, 3)
        p = p / np.sum(p, axis=1, keepdims=True)
        leaf = np.stack([y[0], 1.0, y[2] * y[1]])
        rows = np.zeros(4)
        for k in range(4):
            rows[k] = y[k] * y[k - 1]
        rows[2] += rows[1]
        outer = np.outer(leaf, rows)[1:, ::2].T
        joined = np.concatenate([leaf @ p, rows[::-1][[0, 0, 2]]])
        return np.sum(outer * outer) + scale * (p @ leaf) @ (p.T @ leaf) + np.sum(np.sin(joined)) + np.mean(p @ p)

    points = [(rng.normal(size=9), rng.normal(size=4), rng.normal()) for _ in range(2)]
    assert_as_replayed(f, *points, argnums=(0, 1, 2))
    assert_as_replayed(f, *points, argnums=(1,))
    assert_as_replayed(lambda x: x[1], (np.ones(3),), (np.arange(3.0),))


def test_reductions_of_few_entries_are_single_operations(any_length):
    """Extrema with ties, NaN and along axes; sums, dot products and products of matrices of several lengths; running sums; masks together."""
    rng = np.random.default_rng(6)

    def f(x, y):
        m = np.reshape(x[:6], (2, 3))
        total = np.max(x[:5]) * y[0] + np.sum(np.min(m, axis=1) * y[:2]) + np.max(m, axis=(0, 1)) + np.max(np.stack([x[0], 2.0, y[1]]))
        total = total + np.sum(np.cumsum(m, axis=1)[:, ::-1] * y[:3]) + np.sum(np.cumsum(np.flip(x * x))[3:])
        total = total + np.sum(x * 2.0) + np.sum(x[:7]) * np.sum(y[:2] * x[3:5]) + x[:1] @ y[:1] + x @ x + x[:7] @ np.arange(7.0)
        total = total + np.sum(np.tanh(m @ m.T @ np.eye(2)[:, 1])) + np.where(np.all(m > -2.0) & np.any(x > 1.0), y[2], y[3])
        return total + np.where(np.isnan(x[8]), 0.0, np.min(x[6:9]))

    points = [(rng.normal(size=13), rng.normal(size=4)) for _ in range(3)]
    points[1][0][:5] = 0.25
    points[2][0][8] = np.nan
    with np.errstate(invalid="ignore"):
        assert_as_replayed(f, *points, argnums=(0, 1))
        assert_as_replayed(f, *points, argnums=(1,))


def test_entries_at_computed_positions_are_looked_up(any_length):
    """Of arguments, of views and of constants, which have derivatives and which have not; out of bounds is a guard, before anything is read."""
    table = np.array([0.5, 0.5, -1.0, 2.0, np.inf])

    def f(x, k):
        near = np.floor(x[0]).astype(int)
        inner = x[1:4][k[0]] * np.take(table, k[1]) + np.where(x[1] > 0.0, x[k[2]], x[-1]) * x[near]
        return inner * np.sin(x[k]).sum() + np.reshape(x, (2, 3))[k[0], k[2]] + 3.0 * x[k[-1]]

    rng = np.random.default_rng(7)
    points = [(rng.normal(size=6) + [2.0, 0, 0, 0, 0, 0], np.array(k)) for k in ([0, 1, 2], [-1, 3, -2], [1, 2, 0])]
    points[1][0][0] = -1.5
    compiled = assert_as_replayed(f, *points)
    for k in ([3, 0, 0], [0, 5, 0], [0, 0, 10**15], [0, -7, 0]):
        with pytest.raises(td.GuardFailed):
            td.gradient(compiled, points[0][0], np.array(k))
    with pytest.raises(td.GuardFailed):
        compiled(np.full(6, 1e9), points[0][1])


def test_values_of_several_outputs_are_swept(any_length):
    def f(x):
        return x[0] * x[1], np.stack([x[2], 2.0, x[0] + x[1]]), x[0] > x[1], 3

    compiled = td.compile(f, np.arange(3.0))
    assert compiled.kernel(None).is_swept
    for x in (np.arange(3.0), np.array([3.0, 1.0, -1.0])):
        for result, expected in zip(compiled(x), f(x)):
            assert np.array_equal(result, expected)


def test_long_tapes_are_swept_where_that_takes_little_longer_to_run(monkeypatch):
    """Not chains of unlike operations, nor arrays of many entries, unless compiling takes too long."""

    draw = random.Random(2)
    steps = [(draw.randrange(3), draw.random(), draw.random()) for _ in range(300)]

    def chain(x):
        for kind, y, _ in steps:
            x = [np.sin(x) * y, x * x - y, np.exp(-x)][kind]
        return x

    def vectors(x):
        kept = [x]
        for k, (kind, y, z) in enumerate(steps):
            a, b = kept[int(k * y)], kept[int(k * z)]
            kept.append([a * b, np.sin(a), a - 0.5 * b][kind])
        return sum(np.sum(v) for v in kept)

    def is_swept(f, x):
        tape = prepared(td.record(f, x))
        return swept(tape, (0,)) is not None

    assert is_swept(irregular(1000, 4)[0], np.ones(12))
    assert not is_swept(chain, np.array(0.5))
    assert is_swept(vectors, np.ones(3))
    assert not is_swept(vectors, np.ones(24))
    monkeypatch.setattr(program, "MOST_COMPILED", 300)
    monkeypatch.setattr(tables, "LONG", 300)
    assert is_swept(chain, np.array(0.5))
    assert is_swept(vectors, np.ones(24))
    assert not is_swept(vectors, np.ones(100))


@pytest.mark.parametrize(
    "f", [
        lambda x: np.sum(np.sqrt(x[1:3]) ** 4), lambda x: np.max(np.outer(x, x)) * x[1],
        lambda x: x[(x > 0.5).astype(int)[1]] * np.tanh(x)[(x > 0.5).astype(int)[0]],
        lambda x: np.sum(np.linalg.solve(np.eye(4) + np.outer(x, x), x)),
    ],
)  # fmt: skip
def test_other_tapes_are_compiled(any_length, f):
    """Other powers of kinks, and what is no operation on a few numbers, have rules or loops of their own."""
    assert_as_replayed(f, (np.array([0.0, 1.0, 2.0, -1.0]),), is_swept=False)


def test_guarded_tapes_have_swept_paths(any_length):
    (f, points), (g, _) = irregular(60, 3), irregular(60, 7)
    guarded = td.GuardedTape(lambda x: f(x) if x[0] > 0.0 else g(x))
    points[:, 0] = (0.5, -0.5, 0.25)
    values, gradients = guarded.batch(points)
    for x, value, gradient in zip(points, values, gradients):
        expected, other = td.value_and_gradient(td.record(f if x[0] > 0.0 else g, x), x)
        np.testing.assert_allclose(value, expected, rtol=1e-11)
        np.testing.assert_allclose(gradient, other, rtol=1e-11, atol=1e-13)
        assert td.value_and_gradient(guarded, x)[0] == value


def recurrent(lengths, size=4, seed=5):
    """A recurrent network over sequences of these lengths, one after the other."""
    rng = np.random.default_rng(seed)
    sequences = [rng.normal(size=(length, 3)) for length in lengths]

    def f(p):
        to_state, state_to_state = p[: 3 * size].reshape(size, 3), p[3 * size : -size].reshape(size, size)
        total = 0.0
        for values in sequences:
            state = np.zeros(size)
            for t in range(len(values)):
                state = np.tanh(to_state @ values[t] + state_to_state @ state)
            total += (p[-size:] @ state - values[-1, 0]) ** 2
        return total

    return f, 0.4 * rng.normal(size=(3, 3 * size + size * size + size))


def test_loops_of_which_many_operations_on_arrays_are_left_are_swept_as_they_were_recorded():
    """Sequences of many lengths are many loops, each of which would be compiled."""
    f, points = recurrent(np.random.default_rng(2).integers(5, 25, 70))
    assert_as_replayed(f, *[(p,) for p in points])
    alike, points = recurrent([15] * 70)
    assert_as_replayed(alike, *[(p,) for p in points], is_swept=False)
