"""Interpreted code: the bits of straight-line code, guards at the same place, every way to call a kernel, and when it is used."""

import pickle

import numba
import numpy as np
import pytest
from support.agreement import agree
from support.in_threads import in_threads

import tapediff as td
from tapediff.compiler.bytecode.handlers import LANES
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.compiler.loop_ir.program import Interpreted, Outlined, Straight
from tapediff.compiler.schedule import split_long as schedule
from tapediff.ops import REGISTRY, Elementwise
from tapediff.ops.elementwise.arithmetic import CONVERT
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape

# SciPy's hyp1f1(1.0, 0.5, inf) does not end, and its expn warns of orders that are not whole.
NEVER_SPECIAL = {"hyp1f1", "expn"}
ELEMENTWISE = sorted(name for name, op in REGISTRY.items() if isinstance(op, Elementwise))
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -7.25, 40.0, -800.0, 1e-310, 1e300, np.inf, -np.inf, np.nan)


@pytest.fixture
def interpreted(monkeypatch, flat_loops):
    """All straight-line code is interpreted; gives the function that compiles a tape without the interpreter."""
    monkeypatch.setattr(schedule, "MOST_COMPILED", 0)
    monkeypatch.setattr(schedule, "SHORTEST_INTERPRETED", 1)

    def straight(tape):
        with monkeypatch.context() as patch:
            patch.setattr(schedule, "MOST_COMPILED", 10**9)
            return Kernel(tape)

    return straight


def groups_of(kernel):
    return [group for group in kernel.program.groups if isinstance(group, Interpreted)]


def answers(kernel, inputs):
    """Status and outputs; untouched entries are 7."""
    outputs = [np.full(t.shape, 7, t.dtype) for t in kernel.output_types]
    return kernel.run(inputs, outputs), outputs


def assert_same_bits(tape, points, straight):
    """Both ways to compile a tape say the same at every point; gives the interpreted kernel."""
    kernel, other = Kernel(tape), straight(tape)
    assert groups_of(kernel)
    assert not groups_of(other)
    for x in points:
        (status, outputs), (other_status, others) = answers(kernel, [x]), answers(other, [x])
        assert status == other_status
        for a, b in zip(outputs, others):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            if a.dtype.kind == "f":
                there = ~np.isnan(a)
                assert np.array_equal(np.signbit(a[there]), np.signbit(b[there]))
    return kernel


def irregular(count, seed, width=6):
    """A function of `width` numbers that is `count` random continuous operations, of which many depend on none of the latest."""
    rng = np.random.default_rng(seed)
    chosen, places, numbers = rng.integers(0, 12, count), rng.random((count, 2)), rng.uniform(0.5, 1.5, count)

    def f(x):
        values = [x[k] for k in range(width)]
        for operation, (a, b), c in zip(chosen, places, numbers):
            u, v = (values[-1 - int(place * min(len(values), 40))] for place in (a, b))
            made = (
                lambda: u + v, lambda: u - c * v, lambda: u * v, lambda: u / (v * v + c), lambda: np.sin(u) * v,
                lambda: np.exp(-u * u), lambda: np.where(u > v, u, 2.0 * u - v), lambda: np.maximum(u, v * c), lambda: np.tanh(u),
                lambda: np.sqrt(u * u + c), lambda: -u, lambda: np.abs(u) - c * v,
            )[operation]()  # fmt: skip
            values.append(np.tanh(made) if operation == 2 else made)
        return sum(values[-width:], np.arctan(values[count // 2]))

    return f, rng.normal(size=(3, width))


# Bits


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_operation_gives_the_bits_of_straight_line_code(name, interpreted):
    """Ordinary and special operands, in runs long enough for SIMD lanes and for what is left over."""
    op, rng = REGISTRY[name], np.random.default_rng(len(name))
    count = 2 * LANES + 3
    for named in op.sample_params:

        def f(x, named=named):
            columns = []
            for k in range(count):
                operands = [x[j, k] > 0.5 if d.kind == "b" else x[j, k].astype(np.int64) if d.kind == "i" else x[j, k] for j, d in enumerate(op.samples)]
                columns.append(op(*operands, **named))
            return np.stack(columns)

        drawn = np.array([np.asarray(d.draw(rng, (count,)), float) for d in op.samples])
        tape = run_passes(td.record(f, drawn))
        points = [drawn] if name in NEVER_SPECIAL else [drawn, rng.choice(SPECIAL, drawn.shape), rng.choice(SPECIAL, drawn.shape)]
        assert_same_bits(tape, points, interpreted)


def test_integers_and_masks_are_what_they_are_in_straight_line_code(interpreted):
    """Conversions, logic and integer arithmetic beyond 2**53, one by one."""

    def f(x):
        whole = [CONVERT(x[k], dtype=np.dtype(np.int64)) for k in range(11)]
        large = [(w * 3 + 2**60) // (w % 7 + 1) - abs(w) for w in whole]
        masks = [(a > b) & ~(b == 3) | (a < -b) for a, b in zip(large, whole[1:])]
        sums = [CONVERT(m, dtype=np.dtype(np.int64)) + w for m, w in zip(masks, large)]
        return np.stack(large), np.stack(masks), np.stack(sums), np.stack([1.0 * s for s in sums])

    x = np.linspace(-40.0, 41.0, 11)
    assert_same_bits(run_passes(td.record(f, x)), [x, -x, x * 1000.0], interpreted)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_agree_with_straight_line_code_and_numpy(seed, interpreted):
    """Value and gradient: the bits of straight-line code, what the listing computes, and what NumPy does."""
    f, points = irregular(300, seed)
    agree(f, *points)
    tape = gradient_tape(td.record(f, points[0]), (0,))
    kernel = assert_same_bits(tape, points, interpreted)
    assert "interpreted" in kernel.source
    for x in points:
        _, outputs = answers(kernel, [x])
        listed = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
        assert run_listing(kernel.program, [x], listed) is None
        for a, b in zip(outputs, listed):
            # Some hundred operations, each rounded in the last bits.
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_values_go_back_and_forth_between_array_operations_and_interpreted_code(interpreted):
    """Numbers, masks and integers of array operations are read, and arrays that are put together are given to them."""

    def f(x):
        y = np.exp(x) / np.sum(x * x)
        parts = [y[k] * y[k - 1] + x[0] for k in range(7)]
        z = np.stack(parts) * np.max(y)
        largest = np.argmax(z)
        z = np.where(np.any(z > 1.0), z[::-1], z)
        rest = [z[k] - parts[k - 3] * z[largest] for k in range(7)]
        w = td.zeros(9)
        w[:7] += np.stack(rest)
        w[2:] += z
        for k in range(9):
            w[k] = w[k] * w[(k * 5) % 9]
        return np.sum(np.cumsum(w) * np.sum(z))

    x = np.linspace(-1.0, 1.5, 7)
    agree(f, x, x[::-1].copy(), 0.3 * x)
    assert_same_bits(gradient_tape(td.record(f, x), (0,)), [x, x[::-1].copy(), 0.3 * x], interpreted)


def test_computed_positions_are_read_and_written(interpreted):
    """x[k] for a k that the kernel works out, and its derivative, which adds to a computed place."""

    def f(x):
        total = 0.0
        for k in range(6):
            place = np.argmax(x[k:]) + k
            total = total + x[place] * (k + 1.0) * x[(place + 1) % 6]
        return total

    x = np.array([0.3, 2.0, -1.0, 0.9, 1.5, -2.0])
    agree(f, x, -x, x[::-1].copy())
    assert_same_bits(gradient_tape(td.record(f, x), (0,)), [x, -x, x[::-1].copy()], interpreted)


# Guards


def with_guards(x):
    """Guards on a bool, an integer and an array, among operations that depend on none of them."""
    a = x[0] * x[1] - 0.5
    if a > 0.0:
        a = a * 2.0
    b = np.sqrt(x[2]) + a
    k = int(b)
    for j in range(3):
        a = a + x[j] * b
        if a > 14.0 + 4.0 * j:
            b = b - 1.0
    chosen = np.stack([a, b, x[1]]) > 0.5
    return np.sum(np.kron(np.stack([b, a, x[0]])[chosen], 1.0)) * k


def test_guards_stop_where_they_stop_in_straight_line_code(interpreted):
    """The same guard with the same outcome, nothing written; NumPy's replay says the same."""
    x = np.array([1.0, 2.0, 3.0])
    tape = gradient_tape(td.record(with_guards, x, merge=False), (0,))
    kernel, other = Kernel(tape), interpreted(tape)
    # On the path twice, then off it at one guard after the other; and where there is no number.
    off = [(-1.0, 2.0, 3.0), (1.0, 2.0, 9.0), (4.0, 0.5, 3.0), (2.0 / 3.0, 3.0, 3.0), (1.0, 2.0, 1.0), (2.0, 0.4, 16.8)]
    met = []
    for point in [x, x * 1.01, *map(np.array, off), np.array([2.0, 2.0, np.nan]), np.array([1.0, np.inf, 1.0])]:
        (status, outputs), (other_status, others) = answers(kernel, [point]), answers(other, [point])
        assert status == other_status
        met.append(status)
        if status == 0:
            assert all(np.array_equal(a, b) for a, b in zip(outputs, others))
            continue
        assert all(np.all(a == 7) for a in outputs)
        miss, other_miss = kernel.failure(status, [point]), other.failure(status, [point])
        assert miss.ordinal == other_miss.ordinal
        assert np.array_equal(miss.outcome, other_miss.outcome, equal_nan=True)
        with pytest.raises(td.GuardFailed) as caught:
            td.record(with_guards, x, merge=False)(point)
        assert caught.value.ordinal == miss.ordinal
    assert met[:8] == [0, 0, 1, 2, 3, 4, 5, 6]


def test_an_integer_guard_may_have_met_nan(interpreted):
    """Recorded by prescription only: a NaN is the recorded outcome, any number is another."""

    def f(x):
        return x[0] * int(x[1] * 2.0) + np.exp(x[0])

    guarded = td.GuardedTape(f)
    assert guarded(np.array([1.0, 3.2])) == pytest.approx(6.0 + np.e, rel=1e-15)
    assert guarded(np.array([1.0, 4.2])) == pytest.approx(8.0 + np.e, rel=1e-15)
    with pytest.raises(ValueError, match="NaN"):
        guarded(np.array([1.0, np.nan]))
    assert guarded(np.array([1.0, 3.2])) == pytest.approx(6.0 + np.e, rel=1e-15)


def test_paths_of_a_guarded_tape_are_found_from_interpreted_code(interpreted):
    """Every point gets its own path, whichever ran before."""
    guarded = td.GuardedTape(with_guards, max_tapes=200)
    for x in np.random.default_rng(2).uniform(0.1, 4.0, (40, 3)):
        value, gradient = td.value_and_gradient(guarded, x)
        expected, expected_gradient = td.value_and_gradient(with_guards, x)
        assert value == pytest.approx(expected, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12)


# Ways to call


@pytest.fixture
def program(interpreted):
    f, points = irregular(2500, 3)
    compiled = td.compile(f, points[0])
    kernel = compiled.kernel((0,))
    assert groups_of(kernel)
    # A workspace that is kept between calls, not on the stack.
    assert kernel.workspace_bytes > 1 << 15
    return f, compiled, points


def test_threads_have_values_of_their_own(program):
    """Calls at the same time at different points give what they give alone."""
    _, compiled, points = program
    expected = [td.value_and_gradient(compiled, x) for x in points]

    def work(k):
        for _ in range(200):
            value, gradient = td.value_and_gradient(compiled, points[k])
            assert value == expected[k][0]
            assert np.array_equal(gradient, expected[k][1])

    in_threads(lambda k: work(k % len(points)), range(6))


def test_bound_calls_batches_numba_and_copies_agree(program):
    """Whatever way the kernel is called, pickled or not: the same bits."""
    _, compiled, points = program
    values, gradients = compiled.batch(points)
    from_numba = compiled.as_numba()

    @numba.njit
    def call(x, gradient):
        return from_numba(x, gradient)

    again = pickle.loads(pickle.dumps(compiled))
    for x, batch_value, batch_gradient in zip(points, values, gradients):
        value, gradient = td.value_and_gradient(compiled, x)
        out = np.empty_like(x)
        assert compiled.bind(x, out)() == value == batch_value == again(x)
        assert np.array_equal(out, gradient)
        assert np.array_equal(batch_gradient, gradient)
        out[:] = 0.0
        assert call(x, out) == value
        assert np.array_equal(out, gradient)


def test_the_body_of_a_loop_can_be_interpreted(interpreted):
    """A td.scan whose body is long and irregular: carries, entries and constants are read, results written, every iteration."""
    f, points = irregular(60, 5)
    rows = np.random.default_rng(6).normal(size=(4, points.shape[1]))

    def total(x):
        def body(carry, row):
            return np.tanh(carry * 0.5 + f(row * x)), carry * row[0]

        last, made = td.scan(body, x[0], rows)
        return last + np.sum(made)

    agree(total, *points)


# When


def test_only_long_straight_line_code_is_interpreted(flat_loops, monkeypatch):
    """Up to MOST_COMPILED steps in all it is compiled, beyond that interpreted, and the listing says so. (20 000 take half a minute.)"""
    monkeypatch.setattr(schedule, "MOST_COMPILED", 1500)

    def groups(count):
        f, points = irregular(count, 7, width=60)
        compiled = td.compile(f, points[0])
        kernel = compiled.kernel((0,))
        steps = sum(len(g.body) for g in kernel.program.groups if isinstance(g, (Straight, Outlined, Interpreted)))
        return steps, groups_of(kernel), compiled.source

    steps, found, source = groups(schedule.MOST_COMPILED // 20)
    assert steps < schedule.MOST_COMPILED
    assert not found
    assert "interpreted" not in source
    steps, found, source = groups(schedule.MOST_COMPILED)
    assert steps > schedule.MOST_COMPILED
    (group,) = found
    assert f"# the next {len(group.body)} steps are interpreted" in source


def test_equal_operations_stand_together(interpreted):
    """What does not depend on each other is few long runs, however it is mixed in the program."""

    def f(x):
        total = 0.0
        for k in range(200):
            total = total + (x[k] * x[(k * 7) % 200] + np.sin(x[(k * k) % 200])) * 0.5
        return total

    kernel = Kernel(run_passes(td.record(f, np.linspace(0.0, 1.0, 200))))
    (group,) = groups_of(kernel)
    # 199 additions that follow each other, and about one run for each kind of operation.
    assert len(group.headers) < 215
    assert len(group.body) > 800
