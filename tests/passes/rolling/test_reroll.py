"""Python loops become loops again: the same answers from far fewer instructions, and straight-line code stays as it is."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.agreement import by_numpy

import tapediff as td
from tapediff.base.settings import settings
from tapediff.functions.callees import body as bodies
from tapediff.functions.callees import rolled_loop as rolled
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import hvp_tape

N = 40
X = np.sin(np.arange(1.0, N + 1.0)) + 1.5
Y = np.cos(np.arange(N) * 0.7)
K = (np.arange(N) * 7) % 11

# Sums in another order, and functions that a kernel works out otherwise than NumPy.
TOLERANCE = 1e-11

CASES = {}


def rolls(instructions, *ops):
    """Add a function to the table: its value becomes at most so many instructions, with these ops among them."""

    def add(f):
        CASES[f.__name__.replace("_", " ")] = f, instructions, ops
        return f

    return add


def names(tape):
    return [i.op.name for i in tape.instructions]


def loops(tape):
    return [i.params[1] for i in tape.instructions if i.op.name == "loop"]


def with_rolling(is_on, call):
    kept, settings.left_out = settings.left_out, settings.left_out - {"reroll"} if is_on else settings.left_out | {"reroll"}
    try:
        return call()
    finally:
        settings.left_out = kept


def made(f, x):
    """The rolled tape, checked."""
    tape = with_rolling(True, lambda: rolled.rolled(td.record(f, x)))
    tape.check()
    return tape


def agree(f, *points, hessian=True):
    """Values, gradients and Hessians of kernels and of NumPy are those of the tape that was left as it was recorded."""
    tapes = {is_on: td.record(f, points[0]) for is_on in (False, True)}
    fast = {is_on: td.CompiledTape(tape) for is_on, tape in tapes.items()}
    for x in points:
        answers = {}
        for is_on, tape in tapes.items():
            answers[is_on] = with_rolling(is_on, lambda t=tape, c=fast[is_on], x=x: _answers(t, c, x, hessian))
        plain = np.asarray(f(x))
        np.testing.assert_allclose(answers[True][0], plain, rtol=TOLERANCE, atol=TOLERANCE)
        for mine, expected in zip(answers[True], answers[False], strict=True):
            scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE * scale)


def _answers(tape, compiled, x, hessian):
    gradient_tape(tape, (0,)).check()
    run_passes(rolled.rolled(tape), check=True)
    found = [compiled(x), by_numpy(lambda: rolled.rolled(tape)(x))]
    for target in (compiled, tape):
        value, gradient = td.value_and_gradient(target, x)
        found += [value, gradient]
    found += list(by_numpy(lambda: td.value_and_gradient(tape, x)))
    if hessian:
        hvp_tape(tape, (0,)).check()
        found.append(td.hessian(tape, x[:12] if x.size < 12 else x))
    return [np.asarray(each) for each in found]


# Independent iterations


@rolls(12, "sum")
def a_running_sum(x):
    total = 0.0
    for i in range(N):
        total = total + np.sin(x[i]) * 2.0
    return total


@rolls(20, "sum")
def rosenbrock(x):
    total = 0.0
    for i in range(N - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@rolls(14, "sum")
def constants_of_each_iteration(x):
    total = x[0]
    for i in range(N):
        total = total - Y[i] * np.exp(-x[i]) / (i + 1.0)
    return total


@rolls(14, "sum")
def backwards(x):
    total = 0.0
    for i in range(N - 1, 0, -1):
        total = total + x[i] * np.cos(x[i - 1])
    return total


@rolls(16, "sum")
def every_second_and_third(x):
    total = 0.0
    for i in range(13):
        total = total + x[2 * i] * np.cos(x[3 * i + 1]) - np.exp(x[5]) * x[i]
    return total


@rolls(16, "gather")
def irregular_positions(x):
    total = 0.0
    for i in range(N):
        total = total + x[K[i]] * np.sqrt(x[i])
    return total


@rolls(20, "sum")
def groups(x):
    effects = 1.0 + 0.1 * x[:11]
    total = 0.0
    for i in range(N):
        total = total + (Y[i] - effects[K[i]]) ** 2 * np.exp(x[11])
    return total


@rolls(14, "sum")
def two_arrays(x):
    u, v = x[: N // 2] * 2.0, np.exp(x[N // 2 :])
    total = 0.0
    for i in range(N // 2):
        total = total + u[i] * v[i] + u[i] / v[i]
    return total


@rolls(40, "sum")
def first_and_last_are_different(x):
    total = 0.0
    for i in range(N):
        left = x[i - 1] if i > 0 else 2.0 * x[0]
        right = x[i + 1] if i < N - 1 else np.exp(x[N - 1])
        total = total + (left - 2.0 * x[i] + right) ** 2
    return total


@rolls(30, "sum")
def a_ring(x):
    total = 0.0
    for i in range(N):
        total = total + (x[(i + 1) % N] - x[i] * x[i - 1]) ** 2
    return total


@rolls(20, "sum")
def sums_of_even_and_odd_entries(x):
    sums = [0.0, 0.0]
    for i in range(N):
        sums[i % 2] = sums[i % 2] + np.exp(x[i]) * 0.5
    return sums[0] * sums[1]


@rolls(20, "sum")
def several_sums(x):
    first = second = third = x[0]
    for i in range(N):
        v = np.log(x[i])
        first = first + v
        second = second - v * v
        third = v * x[0] + third
    return first * second + third


@rolls(20, "cumsum")
def partial_sums_that_are_read_later(x):
    total, kept = x[0], []
    for i in range(N):
        total = total + np.sin(x[i])
        kept.append(total)
    return kept[3] * kept[17] + np.stack(kept) @ Y + total


@rolls(16, "sum")
def a_list_that_is_stacked(x):
    values = []
    for i in range(N):
        values.append(np.exp(-x[i]) * Y[i])
    stacked = np.stack(values)
    return np.sum(stacked * stacked) + stacked[3]


@rolls(14, "sum")
def sum_of_a_generator(x):
    return sum(np.exp(-x[i]) * (x[i] - Y[i]) ** 2 for i in range(N))


@rolls(24, "sum")
def what_one_loop_makes_another_reads(x):
    values = [np.exp(-x[i]) for i in range(N)]
    products = [values[i] * values[i - 1] for i in range(1, N)]
    return sum(products[i] * Y[i] for i in range(N - 1)) + values[0] * products[-1]


@rolls(12, "multiply")
def an_array_that_is_filled(x):
    y = td.zeros(N)
    for i in range(N):
        y[i] = np.sin(x[i]) * x[0]
    return np.sum(y * y)


@rolls(40, "assemble")
def columns_that_are_filled(x):
    y = td.zeros((N, 3))
    for i in range(N):
        y[i, 0] = np.sin(x[i])
        y[i, 2] = x[i] * x[i - 1] if i else x[0]
    return np.sum(y**2 * np.arange(3.0))


@rolls(20, "sum")
def the_same_at_every_iteration(x):
    total = 0.0
    for i in range(N):
        total = total + np.exp(x[0]) * np.sin(x[1]) * x[i]
    return total


# Iterations that depend on each other


@rolls(12, "loop")
def a_recurrence(x):
    c = 0.0
    for i in range(N):
        c = 0.9 * c + x[i]
    return c


@rolls(14, "loop")
def two_iterations_back(x):
    before, now = x[0], x[1]
    for i in range(2, N):
        before, now = now, 0.5 * now - 0.3 * before + np.sin(x[i])
    return now * before


@rolls(24, "loop")
def coupled(x):
    u, v = x[0], x[1]
    for i in range(N):
        u, v = u + 0.1 * (v - u * u) + 0.01 * x[i], v - 0.1 * u * v
    return u * v


@rolls(30, "loop", "sum")
def a_recurrence_between_arrays(x):
    h, total = x[0], 0.0
    for i in range(N):
        h = 0.5 * h + np.exp(-x[i]) * Y[i]
        total = total + np.exp(-h) * x[i]
    return total


@rolls(30, "loop")
def two_recurrences_one_after_the_other(x):
    h, c = x[0], x[1]
    for i in range(N):
        h = 0.5 * h + x[i]
        c = 0.3 * c + np.tanh(h)
    return c * h


@rolls(20, "loop")
def a_recurrence_that_is_kept(x):
    y = td.zeros(N)
    for i in range(N):
        y[i] = 0.5 * y[i - 1] + x[i] if i else x[0]
    return np.sum(y * y * Y)


@rolls(24, "loop")
def three_entries_back(x):
    y = td.zeros(N)
    y[:3] = x[:3]
    for i in range(3, N):
        y[i] = 0.4 * y[i - 1] - 0.2 * y[i - 3] + x[i] * Y[i]
    return np.sum(y**2)


@rolls(20, "loop")
def a_product(x):
    p = 1.0
    for i in range(N):
        p = p * (0.5 + 0.5 * np.sqrt(x[i]))
    return p


@rolls(20, "loop")
def the_largest_so_far(x):
    largest = x[0]
    for i in range(1, N):
        largest = np.maximum(largest * 0.99, np.sin(3.0 * x[i]))
    return largest


@rolls(30, "loop")
def a_counter_in_the_state(x):
    c, t = x[0], 0.0
    for i in range(N):
        t = t + 0.1
        c = c + 0.1 * np.sin(t * x[i]) * c
    return c


@rolls(30, "loop")
def a_running_sum_that_is_read(x):
    total = x[0]
    for i in range(N):
        total = total + np.tanh(total) * x[i]
    return total


# Small arrays


@rolls(40, "loop", "matmul")
def a_filter(x):
    a = np.reshape(x[:16], (4, 4)) / 8.0
    state, total = x[16:20], 0.0
    for i in range(20):
        state = np.tanh(a @ state) + Y[i] * x[20 + i]
        total = total + np.log(np.sum(state**2) + 1.0)
    return total


@rolls(40, "loop")
def a_filter_in_logs(x):
    log_a, state = np.reshape(x[:4], (2, 2)), x[4:6]
    emission = np.stack([x, x**2], axis=1)
    for t in range(N):
        paths = state[:, None] + log_a
        state = emission[t] + np.logaddexp(paths[0], paths[1]) - 3.0
    return state[0] - state[1] * 0.5


@rolls(40, "loop")
def an_equation_of_motion(x):
    y = np.stack([x[0], x[1]])

    def slope(y):
        return np.stack([y[1], -x[2] * y[0] - 0.1 * y[1]])

    for _ in range(12):
        k = slope(y)
        y = y + 0.05 * slope(y + 0.025 * k)
    return np.sum(y**2)


@rolls(40, "matmul")
def independent_matrices(x):
    a = np.reshape(x, (N // 4, 2, 2))
    total = 0.0
    for i in range(N // 4):
        total = total + np.sum((a[i] @ a[i].T) ** 2) + a[i][0, 1] * np.max(a[i])
    return total


@rolls(40, "sum")
def rows(x):
    a = np.reshape(x, (20, 2))
    total = np.zeros(2)
    for i in range(1, 20):
        total = total + np.exp(-a[i] * a[i - 1]) + a[i, ::-1]
    return np.sum(total**2)


@rolls(40, "sum")
def windows(x):
    total = 0.0
    for i in range(3, N):
        total = total + np.sum(x[i - 3 : i] * Y[:3]) ** 2 + np.cumsum(x[i - 3 : i])[1]
    return total


@rolls(40, "cholesky")
def factorisations(x):
    total = 0.0
    for i in range(12):
        m = np.eye(2) * (2.0 + x[i] ** 2) + 0.1 * x[i + 1]
        total = total + np.sum(np.linalg.cholesky(m) ** 2) * x[0]
    return total


# Loops in loops


@rolls(40, "sum")
def a_table(x):
    total = 0.0
    for i in range(20):
        for j in range(12):
            total = total + np.sin(x[i] * x[20 + j])
    return total


@rolls(60, "sum")
def a_double_loop(x):
    total = 0.0
    for i in range(20):
        inner = 0.0
        for j in range(20):
            inner = inner + np.exp(-x[i] * x[20 + j]) * Y[j]
        total = total + np.tanh(inner) ** 2 * x[i]
    return total


@rolls(60, "sum")
def a_matrix_by_entries(x):
    a = np.reshape(x, (8, 5))
    total = 0.0
    for i in range(1, 8):
        for j in range(1, 5):
            total = total + (a[i, j] - a[i - 1, j] * a[i, j - 1]) ** 2
    return total


@rolls(60, "loop")
def steps_between_observations(x):
    u, v, misfit = x[0], x[1], 0.0
    for k in range(10):
        for _ in range(12):
            u, v = u + 0.02 * (v - u * u), v - 0.02 * u * v * x[2]
        misfit = misfit + (u - Y[k]) ** 2
    return misfit


# Sub-tapes


@td.subtape
def bent(v, w):
    if v > 1.5:
        return v * w
    return w - v * v


@rolls(30, "loop")
def calls_in_a_loop(x):
    c = x[0]
    for i in range(N):
        c = 0.5 * bent(x[i], c) + 0.1 * np.sin(c)
    return c


@rolls(30, "loop", "sum")
def calls_of_independent_iterations(x):
    total = 0.0
    for i in range(N):
        total = total + np.exp(-bent(x[i], x[0]))
    return total


@pytest.mark.parametrize("name", CASES)
def test_a_loop_is_rolled_and_gives_the_same_answers(name):
    """Values, gradients and Hessians, by NumPy and natively, with at most so many instructions."""
    f, instructions, ops = CASES[name]
    tape = made(f, X)
    assert len(tape) <= instructions, str(tape)
    assert set(ops) <= set(names(tape)) | {n for i in tape.instructions if i.op.name == "loop" for n in names(i.params[0].plain_tape(0, None))}
    agree(f, X, 1.0 + 0.5 * Y, hessian="loop" not in names(tape) or name in ("a recurrence", "coupled", "calls in a loop"))


# Python loops in callees


def in_a_scan(x):
    def body(c, row):
        for k in range(N):
            c = np.tanh(c * x[0]) + row[k]
        return c, c * x[1]

    c, ys = td.scan(body, x[2], 0.1 * np.outer(Y[:20], Y))
    return np.sum(ys**2) + c


def in_a_branch(x):
    def long(a):
        for k in range(N):
            a = np.sin(a) * x[1] + 0.1 * Y[k]
        return a

    return td.cond(x[0] > 1.0, long, lambda a: a * a, x[2]) * x[0]


def in_a_scan_that_branches(x):
    def body(c, row):
        for k in range(N):
            c = np.tanh(c * x[0]) + row[k]
        return td.cond(c > 0, lambda c: c * x[1], lambda c: c - x[1], c), c

    c, ys = td.scan(body, x[2], 0.1 * np.outer(Y[:20], Y))
    return np.sum(ys**2) + c


def in_a_sub_tape(x):
    @td.subtape
    def f(a):
        for k in range(N):
            a = np.sin(a) * x[1] + 0.1 * Y[k]
        return a if a > 0 else a * a

    return f(x[0]) + f(x[2]) * x[1]


@pytest.mark.parametrize("f", [in_a_scan, in_a_branch, in_a_scan_that_branches, in_a_sub_tape])
def test_a_loop_in_a_callee_is_rolled(f):
    """Its tapes are as short as the body of the loop, and give what flat ones give."""
    points = (1.0 + 0.3 * X[:3], 0.2 + 0.5 * X[:3])
    answers = {}
    for is_on in (False, True):
        bodies._recent.clear()  # callees keep their tapes as they were made first
        tape = td.record(f, points[0])
        compiled = td.CompiledTape(tape)
        answers[is_on] = with_rolling(is_on, lambda t=tape, c=compiled: [_answers(t, c, x, True) for x in points])
    for instruction in made(f, points[0]).instructions:
        if instruction.op.name in ("call", "loop"):
            body = instruction.params[0].variant_tape(0)
            assert "loop" in names(body)
            assert len(body) < 40
    for rolled_ones, flat in zip(answers[True], answers[False]):
        for mine, expected in zip(rolled_ones, flat, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE * np.abs(expected).max())
    for x in points:
        td.testing.check_gradient(compiled, f, x)


# Random programs

POINT = 0.8 + 0.3 * np.sin(np.arange(24) * 1.3)


class Program:
    """A function with loops, made of random numbers."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.sections = [self.section() for _ in range(self.rng.integers(1, 4))]

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def index(self):
        a, b = int(self.pick(1, 1, 1, -1, 2, 0)), int(self.rng.integers(-3, 4))
        table = self.rng.integers(0, 24, 64)
        return self.pick(lambda i: (a * i + b) % 24, lambda i: (a * i + b) % 24, lambda i: int(table[i]), lambda i: i // 3 % 24, lambda i: i % 3)

    def operand(self, depth=0):
        """A function of (x, i, state) that gives a number."""
        index, table, k = self.index(), self.rng.normal(size=64), int(self.rng.integers(3))
        constant = float(self.rng.choice([0.5, 1.0, -0.3, 0.0, -0.0]))
        kinds = [
            lambda x, i, s: x[index(i)], lambda x, i, s: x[index(i)], lambda x, i, s: s[k], lambda x, i, s: table[i] if s is not None else 0,
            lambda x, i, s: constant, lambda x, i, s: s[3][index(i) % len(s[3])] if len(s[3]) else x[0],
            lambda x, i, s: s[3][-2] if len(s[3]) > 1 else x[1], lambda x, i, s: np.sum(s[4]), lambda x, i, s: s[4][k],
        ]  # fmt: skip
        if depth < 3 and self.rng.random() < 0.6:
            one, other = self.operand(depth + 1), self.operand(depth + 1)
            kinds = [
                lambda x, i, s: one(x, i, s) * other(x, i, s), lambda x, i, s: one(x, i, s) - other(x, i, s), lambda x, i, s: one(x, i, s) + other(x, i, s),
                lambda x, i, s: np.sin(one(x, i, s)), lambda x, i, s: np.exp(-abs(one(x, i, s))), lambda x, i, s: np.maximum(one(x, i, s), other(x, i, s)),
                lambda x, i, s: np.where(one(x, i, s) > 0.3, other(x, i, s), x[3]), lambda x, i, s: one(x, i, s) / (1.5 + other(x, i, s) ** 2),
            ]  # fmt: skip
        return kinds[self.rng.integers(len(kinds))]

    def statement(self, depth):
        what, k = self.operand(), int(self.rng.integers(3))

        def add(x, i, s):
            s[k] = s[k] + what(x, i, s)

        def take(x, i, s):
            s[k] = s[k] - what(x, i, s)

        def carry(x, i, s):
            s[k] = 0.7 * s[k] + 0.2 * np.tanh(what(x, i, s))

        def swap(x, i, s):
            s[k], s[(k + 1) % 3] = s[(k + 1) % 3], s[k]

        def assign(x, i, s):
            s[k] = what(x, i, s)

        def append(x, i, s):
            s[3].append(what(x, i, s) * 1.0 + x[0])

        def fill(x, i, s):
            s[5][i % 24] = what(x, i, s)

        def move(x, i, s):
            s[4] = 0.5 * s[4] + np.stack([s[4][1], s[4][2] * 0.3, what(x, i, s) + x[2]])

        def product(x, i, s):
            s[4] = np.tanh(np.reshape(x[:9], (3, 3)) @ s[4] + what(x, i, s))

        if depth == 0 and self.rng.random() < 0.15:
            inner = self.loop(1)
            self.nests = True
            return inner
        return self.pick(add, add, take, carry, swap, assign, append, fill, move, product)

    def loop(self, depth=0):
        self.nests = False
        body = [self.statement(depth) for _ in range(self.rng.integers(1, 5))]
        # A few hundred iterations in all: more find nothing else, and take longer than all other programs together.
        count = int(self.pick(9, 12) if depth else self.pick(9, 11) if self.nests else self.pick(9, 13, 24, 40))
        first = int(self.rng.integers(3))

        def run(x, i, s):
            for j in range(first, first + count):
                for each in body:
                    each(x, j, s)

        return run

    def section(self):
        if self.rng.random() < 0.2:

            def guard(x, i, s):
                if s[0] > s[1]:
                    s[0] = s[0] * 0.5

            return guard
        return self.loop()

    def __call__(self, x):
        s = [x[0] * 1.0, x[1] * 0.5, x[2] * 1.0, [], x[3:6] * 1.0, td.zeros(24)]
        for each in self.sections:
            each(x, 0, s)
        total = s[0] + s[1] * s[2] + np.sum(s[4]) + np.sum(s[5] * np.arange(24.0))
        if len(s[3]):
            total = total + np.sum(np.stack(s[3][-40:]) ** 2) + s[3][0]
        return total


def is_stable(f):
    """Whether the last bits of the point do not matter; the plain function alone decides, so that no fault of a tape can hide here.

    Loops like s = s * s - x are chaotic: NumPy and a kernel, or two orders of addition, then differ without anything being wrong.
    """
    rng, value = np.random.default_rng(0), f(POINT)
    moved = [f(POINT * (1.0 + 2.2e-16 * rng.choice([-1.0, 0.0, 1.0], POINT.size))) for _ in range(4)]
    # A hundredth of what is asked of values below.
    return bool(np.all(np.abs(np.subtract(moved, value)) <= 1e-11 * (1.0 + abs(value))))


def holds(seed):
    """Whether a random program was rolled; its values and gradients are the same either way."""
    f = Program(seed)
    tape = td.record(f, POINT)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    rolled_tape = with_rolling(True, lambda: rolled.rolled(tape))
    rolled_tape.check()
    assert len(rolled_tape) <= len(straight) + 2
    assert [(g.kind, g.outcome, g.ordinal) for g in rolled_tape.guards] == [(g.kind, g.outcome, g.ordinal) for g in tape.guards]
    on, off = (with_rolling(k, lambda: gradient_tape(replace(tape), (0,))) for k in (True, False))
    on.check()
    for x in (POINT, POINT * (1.0 + 1e-9)) if is_stable(f) else ():
        one, other = by_numpy(lambda x=x: on(x)), by_numpy(lambda x=x: off(x))
        np.testing.assert_allclose(by_numpy(lambda x=x: rolled_tape(x)), other[0], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(one[0], other[0], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(one[1], other[1], rtol=1e-8, atol=1e-8 * max(1.0, np.abs(other[1]).max()), err_msg=f"seed {seed}")
    return len(rolled_tape) < len(straight)


# TAPEDIFF_FUZZ_EXAMPLES turns this into a long run.
EXAMPLES = max(1, int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "40")) // 2)


@hypothesis_settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32 - 1))
def test_random_programs_give_the_same_answers(seed):
    holds(seed)


def test_many_random_programs_are_rolled():
    assert sum(holds(seed) for seed in range(12)) >= 8


# What stays as it is


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sum(np.sin(x[i]) * 2.0 for i in range(6)),
        lambda x: np.sum(np.exp(x) * np.cos(x[::-1])),
        lambda x: x[0] * np.sin(x[1]) + np.exp(x[2]) / (1.0 + x[3] ** 2) - np.tanh(x[4] * x[5]),
        lambda x: sum(g(x[i]) for i in range(4) for g in (np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.log, np.arctan, np.abs)),
    ],
)
def test_what_does_not_repeat_often_stays_as_it_is(f):
    """The very same instructions."""
    tape = td.record(f, X)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    assert with_rolling(True, lambda: rolled.rolled(tape)).instructions == straight.instructions


def test_straight_line_code_of_random_operations_stays_as_it_is():
    """Hundreds of operations in no order have no period."""
    rng = np.random.default_rng(5)
    functions = (np.sin, np.cos, np.tanh, np.exp, np.sqrt, np.arctan, np.square, np.negative)

    draws = [(*rng.integers(N + k, size=2), functions[rng.integers(8)], rng.random() < 0.5) for k in range(500)]

    def f(x):
        values = [x[k] for k in range(N)]
        for one, other, function, is_sum in draws:
            values.append(function(np.abs(values[one])) * 0.5 + values[other] if is_sum else values[one] * 0.3)
        return values[-1] + values[-7]

    tape = td.record(f, X)
    straight = run_passes(tape, rolled.STRAIGHTEN)
    assert with_rolling(True, lambda: rolled.rolled(tape)).instructions == straight.instructions


# Guards


def in_pieces(x):
    total = x[0]
    for k in range(3):
        for i in range(N):
            total = total + np.sin(x[i] * (k + 1.0))
        if total > 100.0:
            total = total * 0.5
    return total


def test_no_loop_goes_across_a_guard():
    """Each stretch between guards is rolled by itself; the guards keep their lines, their outcomes and their order."""
    tape = td.record(in_pieces, X)
    after = made(in_pieces, X)
    assert names(after).count("sum") == 3
    assert after.guards != ()
    assert [(g.site, g.outcome, g.kind, g.ordinal) for g in after.guards] == [(g.site, g.outcome, g.kind, g.ordinal) for g in tape.guards]
    agree(in_pieces, X, X * 0.9)


def test_branches_taken_both_ways_leave_nothing_to_roll():
    """Other instructions after each outcome, in no order that repeats. See test_guards_of_loops for those that are all one way."""

    def f(x):
        total = 0.0
        for i in range(N):
            total = total + np.sin(x[i]) if x[i] > 1.5 else total - x[i]
        return total

    assert len(made(f, X)) == len(run_passes(td.record(f, X), rolled.STRAIGHTEN))


def cone(tape, number, known=None):
    """What a value is computed from, as nested tuples."""
    known = {} if known is None else known
    if number not in known:
        op, inputs, params, *_ = tape.instructions[number]
        params = tuple(p.tobytes() if isinstance(p, np.ndarray) else p for p in params)
        known[number] = op.name, params, tuple(cone(tape, i, known) for i in inputs)
    return known[number]


def branches(uses_parts):
    def f(x):
        total, parts = 0.0, []
        for i in range(N):
            total = total + np.sin(x[i]) * x[i - 1]
            parts.append(total)
        if total > 1e9:
            return total
        return total * parts[7] * parts[N // 2] if uses_parts else total**2

    return f


def test_siblings_compute_what_a_guard_looks_at_alike():
    """Whatever the tape goes on with behind the guard: bits that differ would send a call back and forth between two tapes."""
    one, other = made(branches(True), X), made(branches(False), X)
    assert "cumsum" in names(one)
    assert "cumsum" not in names(other)
    assert cone(one, one.guards[0].value) == cone(other, other.guards[0].value)


def test_a_guarded_tape_follows_branches_between_loops():
    """Loops that are rolled stand on both sides of a branch."""

    def f(x):
        total = 0.0
        for i in range(N):
            total = total + np.sin(x[i])
        c = total
        for i in range(N):
            c = 0.5 * c + (x[i] if total > 0 else x[i] ** 2)
        return c

    def run():
        safe = td.GuardedTape(f)
        for x in (X, -X, X * 0.5, -X * 0.5):
            td.testing.check_gradient(safe, f, x)
        return safe.stats.recordings

    assert with_rolling(True, run) == 2


# Values that are not finite, zeros with signs, types


@pytest.mark.parametrize("name", ["a running sum", "rosenbrock", "a recurrence", "coupled", "a list that is stacked", "several sums"])
def test_nan_and_infinity_come_out_as_without_loops(name):
    f = CASES[name][0]
    points = [X.copy() for _ in range(4)]
    points[0][5], points[1][7], points[2][0], points[3][N - 1] = np.nan, np.inf, -np.inf, 0.0
    tapes = {is_on: td.record(f, X) for is_on in (False, True)}
    for x in points:
        answers = {}
        for is_on, tape in tapes.items():
            answers[is_on] = with_rolling(is_on, lambda t=tape, x=x: (td.CompiledTape(t)(x), *td.value_and_gradient(td.CompiledTape(t), x)))
        for mine, expected in zip(answers[True], answers[False], strict=True):
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_a_selection_hides_infinities_in_a_loop():
    """The side that is not chosen contributes an exact zero to the gradient, as without loops."""

    def f(x):
        h, total = x[0], 0.0
        for i in range(N):
            safe = np.where(x[i] > 1.0, np.log(np.where(x[i] > 1.0, x[i] - 1.0, 1.0)), 0.0)
            h = 0.5 * h + safe
            total = total + h * h
        return total

    x = np.where(np.arange(N) % 3 == 0, 1.0, X)
    agree(f, X, x)
    assert np.isfinite(with_rolling(True, lambda: td.gradient(td.record(f, X), x))).all()


def test_zeros_keep_their_signs():
    def f(x):
        signs = [np.copysign(1.0, x[i] * 0.0) for i in range(N)]
        return sum(s * Y[k] for k, s in enumerate(signs))

    agree(f, X - 1.5, 1.5 - X)


def test_integers_and_masks_in_a_loop():
    def f(x):
        count, total = 0, 0.0
        for i in range(N):
            is_large = x[i] > 1.5
            count = count + np.where(is_large, 1, 0)
            total = total + x[i] * is_large + count * 0.1
        return total

    agree(f, X, Y)


def test_single_precision_in_a_loop():
    """Numbers of 32 bits are rounded after every operation, in a loop as without."""

    def f(x):
        h = x[0]
        for i in range(N):
            h = h * np.float32(0.5) + x[i]
        return h

    x = X.astype(np.float32)
    on, off = (with_rolling(k, lambda: td.value_and_gradient(td.compile(f, x), x)) for k in (True, False))
    assert on[0] == off[0]
    # Cotangents are rounded to 24 bits in each of the iterations that count.
    np.testing.assert_allclose(on[1], off[1], rtol=1e-5)


# Sites and costs


def test_an_instruction_keeps_the_line_of_its_first_occurrence():
    tape = made(a_recurrence_between_arrays, X)
    first = a_recurrence_between_arrays.__code__.co_firstlineno
    lines = {i.site.line for i in tape.instructions if i.site is not None}
    assert lines <= set(range(first, first + 8))
    assert all(i.site is not None for i in tape.instructions if i.op.name in ("loop", "sum", "exp"))


def test_the_body_is_in_the_source():
    compiled = with_rolling(True, lambda: td.compile(a_recurrence_between_arrays, X))
    assert "loop" in compiled.source
    assert len(compiled.source.splitlines()) < 120


@pytest.mark.parametrize("f", ["a_sum", "a_chain", "fills"])
def test_tapes_and_kernels_of_loops_do_not_grow_with_their_length(f):
    def a_sum(x):
        return sum(100.0 * (x[i + 1] - x[i] ** 2) ** 2 for i in range(x.shape[0] - 1))

    def a_chain(x):
        h, total = x[0], 0.0
        for i in range(x.shape[0]):
            h = np.tanh(h) + x[i]
            total = total + h * h
        return total

    def fills(x):
        y = td.zeros(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i - 1] + x[i] if i else x[0]
        return np.sum(y * y)

    function = locals()[f]
    sizes = []
    for n in (600, 2000):  # arrays of less than 512 are stored where longer ones are computed again
        x = np.linspace(0.1, 0.5, n)
        compiled = with_rolling(True, lambda x=x: td.compile(function, x))
        value = with_rolling(True, lambda x=x: rolled.rolled(td.record(function, x)))
        sizes.append((len(value), len(compiled.kernel((0,)).tape), len(compiled.source.splitlines())))
    assert sizes[0] == sizes[1]


def test_the_order_of_addition_is_that_of_a_sum():
    """A running sum is as exact as np.sum over the same terms."""
    x = np.array([1e16, 1.0, -1e16] * 40)
    tape = with_rolling(True, lambda: rolled.rolled(td.record(lambda x: sum(x[i] * 1.0 for i in range(120)), x)))
    expected = rolled.rolled(td.record(lambda x: np.sum(x * 1.0), x))(x)
    assert by_numpy(lambda: tape(x)) == expected
