"""Loops over arrays of independent rows, block of rows by block of rows: what runs so, its answers, and what may not."""

import numpy as np
import pytest

import tapediff as td
from tapediff.ops.control.calls import LOOP
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.transforms.lanes import rows_in_blocks as module
from tapediff.transforms.lanes.rows_in_blocks import rows_in_blocks

ROWS, TURNS = 48, 25
RNG = np.random.default_rng(3)
POINTS = RNG.uniform(0.5, 1.2, size=(3, 4))


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Small arrays go in blocks of eight rows."""
    for name, value in {"FEWEST_ROWS": 24, "FEWEST_ITERATIONS": 4, "LEAST_BYTES": 1, "BLOCK_BYTES": 1, "SHORTEST_BLOCK": 8}.items():
        monkeypatch.setattr(module, name, value)


def blocks_of(f, x=POINTS[0]):
    """By loop over blocks in the kernel of value and gradient, how many blocks it has."""
    made = rows_in_blocks(gradient_tape(td.record(f, x), (0,)))
    made.check()
    return [i.params[1].length for i in made.instructions if i.op is LOOP and i.params[1].carries == 0]


def turns_of_loops(f):
    return [i.params[1].length for i in gradient_tape(td.record(f, POINTS[0]), (0,)).instructions if i.op is LOOP]


def require_same(f, points=POINTS):
    """Values and gradients of the kernel, of the tape, and of the kernel without blocks; and values of the function."""
    tape = td.record(f, points[0])
    compiled = td.compile(tape)
    for x in points:
        value, gradient = td.value_and_gradient(compiled, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
        expected = td.gradient(tape, x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def shocks(rows=ROWS):
    return np.random.default_rng(5).normal(size=(TURNS, rows))


def paths(rows=ROWS):
    """Prices of an asset on many paths, and what they are on average."""
    z = shocks(rows)

    def f(p):
        price, total = np.full(rows, p[0]), np.zeros(rows)
        for t in range(TURNS):
            price = price * np.exp(0.1 * p[1] * z[t] - 0.005 * p[1] ** 2)
            total = total + price
        return np.mean(np.maximum(total / TURNS - p[2], 0.0))

    return f


def barrier(p):
    price, alive = p[0] * np.ones(ROWS), np.ones(ROWS)
    for z in shocks():
        price = price * (1.0 + 0.1 * p[1] * z)
        alive = np.where(price > 1.3, 0.0, alive)
    return np.sum(alive * price) + p[3]


def equations(p):
    """A state of arrays that td.scan hands on, parameters of all rows, and rows that are read in its body."""
    weights = np.linspace(0.5, 1.5, ROWS)

    def step(state, z):
        x, y = state
        return (x + 0.01 * (p[0] * x - p[1] * x * y) * weights, y + 0.01 * (p[2] * x * y - p[3] * y + 0.1 * z)), None

    (x, y), _ = td.scan(step, (1.0 + 0.1 * weights, np.ones(ROWS)), shocks())
    return np.sum(np.log(x) ** 2 + np.log(y) ** 2)


def runge_kutta(p):
    """The rows are the second axis of the state."""
    y = np.stack([np.linspace(1.0, 2.0, ROWS), np.ones(ROWS)])

    def slope(y):
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    for _ in range(TURNS):
        first = slope(y)
        y = y + 0.02 * slope(y + 0.01 * first)
    return np.sum(y**2)


def layers(p):
    """Rows times a matrix, and what is reduced within a row."""
    weights = np.outer(p[:3], p[1:])
    h = np.linspace(-1.0, 1.0, 3 * ROWS).reshape(ROWS, 3)
    for _ in range(TURNS):
        h = np.tanh(h @ weights) + 0.1 * h
        h = h - np.max(h, axis=1, keepdims=True) + 0.1 * np.cumsum(h, axis=1)
    return np.sum(h * h)


def chains(p):
    """A product of small matrices for each row."""
    one = np.broadcast_to(np.eye(2), (ROWS, 2, 2))
    turn = one + 0.1 * np.sin(p[0] * np.arange(ROWS))[:, None, None] * np.array([[0.0, -1.0], [1.0, 0.0]])
    m, _ = td.scan(lambda m, _: (m @ turn * p[2], None), one * p[1], None, length=TURNS)
    return np.sum(m**2)


def sums_of_every_turn(p):
    """Sums over the rows that the turns add up, and that a scan gives back turn by turn."""

    def step(state, z):
        state = state * (1.0 + 0.1 * p[0] * z)
        return state, np.sum(state)

    state, sums = td.scan(step, p[1] * np.ones(ROWS), shocks())
    total = 0.0
    for z in shocks():
        state = np.sin(state + p[2] * z)
        total = total + np.mean(state)
    return np.sum(sums**2) + total + np.sum(state)


def clocks(p):
    """What is the same for all rows is handed on beside them."""

    def step(state, z):
        x, t = state
        return (np.sin(x + np.cos(t * p[0]) * z), t + 0.1 * p[1]), t * 2.0

    (x, t), _ = td.scan(step, (p[2] * np.ones(ROWS), 0.0), shocks())
    return np.sum(x**2) * t


def clocks_that_are_read(p):
    """Cotangents of what is the same for all rows, to which sums over rows are added."""

    def step(state, z):
        x, t = state
        return (np.sin(x + np.cos(t * p[0]) * z), t + 0.1 * p[1]), t * 2.0

    (x, t), times = td.scan(step, (p[2] * np.ones(ROWS), 0.0), shocks())
    return np.sum(x**2) * t + times[3]


def loops_in_turns(p):
    def step(x, z):
        return td.fori_loop(0, 3, lambda _, x: x - 0.1 * (x**3 - p[1] - 0.1 * z), x), None

    x, _ = td.scan(step, p[0] * np.ones(ROWS), shocks())
    return np.sum(x)


def sums_between(p):
    """The reverse pass needs the sum of all rows first."""
    x = p[0] * np.ones(ROWS)
    for z in shocks():
        x = x * (1.0 + 0.1 * p[1] * z)
    return np.log(np.mean(np.exp(p[2] * x)))


IN_BLOCKS = [barrier, equations, runge_kutta, layers, chains, sums_of_every_turn, clocks, loops_in_turns]


@pytest.mark.parametrize("f", IN_BLOCKS)
def test_answers_and_that_there_are_blocks(f):
    assert ROWS // 8 in blocks_of(f)
    require_same(f)


@pytest.mark.parametrize("f", [sums_between, clocks_that_are_read])
def test_what_the_reverse_pass_needs_of_all_rows(f):
    """Two loops over blocks would save nothing: what one hands to the other goes through memory."""
    assert turns_of_loops(f) == [TURNS, TURNS]
    assert not blocks_of(f)
    require_same(f)


@pytest.mark.parametrize("rows", [41, 53, 100])
def test_rows_that_fill_no_block(rows):
    """No block near the wanted length fills them: those that are left run on their own."""
    assert blocks_of(paths(rows)) == [rows // 8]
    require_same(paths(rows))


def test_inputs_and_results_with_rows():
    """Rows of the point itself, along another axis too; and gradients and results with rows."""
    z = shocks()

    def f(x):
        state, shift = x[0], x[1]
        for t in range(TURNS):
            state = state * (1.0 + 0.1 * np.tanh(shift) * z[t])
        return np.sum(state**2 * shift)

    points = RNG.normal(size=(2, 2, ROWS))
    assert blocks_of(f, points[0]) == [ROWS // 8]
    require_same(f, points)
    final = td.compile(lambda x: td.scan(lambda s, z: (s * (1.0 + 0.1 * x[1] * z), s), x[0], z), points[0])
    state, states = final(points[1])
    expected = [points[1][0]]
    for t in range(TURNS):
        expected.append(expected[-1] * (1.0 + 0.1 * points[1][1] * z[t]))
    np.testing.assert_allclose(state, expected[-1], rtol=1e-12)
    np.testing.assert_allclose(states, expected[:-1], rtol=1e-12)


@pytest.mark.slow
def test_products_with_hessians_and_jacobians():
    tape, compiled = td.record(equations, POINTS[0]), td.compile(equations, POINTS[0])
    v = np.array([1.0, -0.5, 0.3, 0.2])
    np.testing.assert_allclose(td.hvp(compiled, POINTS[1], v), td.hvp(tape, POINTS[1], v), rtol=1e-9)
    np.testing.assert_allclose(td.hessian(compiled, POINTS[1]), td.hessian(tape, POINTS[1]), rtol=1e-9)


def rows_that_meet():
    mixing = 0.02 * RNG.normal(size=(ROWS, ROWS))
    steps = {
        "neighbours": lambda x, z, p: x + 0.1 * p[0] * (np.roll(x, 1) - x),
        "parts": lambda x, z, p: np.concatenate([x[1:], x[:1]]) * p[0],
        "sorted": lambda x, z, p: np.sort(x) * p[0] + 0.1 * z,
        "products": lambda x, z, p: mixing @ x + p[0],
        "means": lambda x, z, p: x - 0.1 * p[0] * np.mean(x),
        "largest": lambda x, z, p: x / np.max(x) * p[0],
        "sums so far": lambda x, z, p: np.cumsum(x) * 0.1 * p[0],
        "backwards": lambda x, z, p: x[::-1] * p[0],
        "one row": lambda x, z, p: x * 0.9 + 0.1 * p[0] * x[3],
    }
    return [pytest.param(step, id=name) for name, step in steps.items()]


@pytest.mark.parametrize("step", rows_that_meet())
def test_rows_that_are_not_independent(step):
    def f(p):
        x, _ = td.scan(lambda x, z: (step(x, z, p), None), p[0] * np.linspace(1.0, 2.0, ROWS), shocks())
        return np.sum(x**2)

    assert turns_of_loops(f) == [TURNS, TURNS]
    assert not blocks_of(f)
    require_same(f)


def test_as_many_turns_as_rows():
    """Which axis counts the rows is not known then."""
    z = np.random.default_rng(5).normal(size=(ROWS, ROWS))

    def f(p):
        x, _ = td.scan(lambda x, z: (np.sin(x + 0.1 * p[0] * z), None), p[1] * np.ones(ROWS), z)
        return np.sum(x)

    assert turns_of_loops(f) == [ROWS, ROWS]
    assert not blocks_of(f)
    require_same(f)


def test_sums_that_begin_with_other_than_zero():
    def f(p):
        def step(state, z):
            x, total = state
            x = x * (1.0 + 0.1 * p[0] * z)
            return (x, total + np.sum(x)), None

        (x, total), _ = td.scan(step, (np.ones(ROWS), p[1]), shocks())
        return total**2 + np.sum(x)

    require_same(f)


@pytest.mark.parametrize("of_sum", [np.floor, np.sign, np.abs, np.exp, lambda s: s > 1.0, lambda s: s * s, lambda s: np.maximum(s, 1.0)])
def test_what_is_not_linear_in_a_sum_is_computed_of_all_of_it(of_sum):
    def f(p):
        def step(x, z):
            x = np.sin(x + p[0] * z)
            return x, of_sum(0.1 * np.sum(x)) + np.sum(x)

        x, sums = td.scan(step, p[1] * np.ones(ROWS), shocks())
        return np.sum(sums) + np.sum(x**2)

    require_same(f)


def test_guards_come_first():
    """A guard on what all rows add up to may not be moved behind the loop; one on the point may stand before."""

    def after(p):
        x = p[0] * np.ones(ROWS)
        for z in shocks():
            x = x * (1.0 + 0.1 * p[1] * z)
        return np.sum(x**2) if np.sum(x) > 10.0 else np.sum(x)

    def before(p):
        x = p[0] * np.ones(ROWS)
        for z in shocks():
            x = x * (1.0 + 0.1 * p[1] * z)
        return np.sum(x**2)

    assert turns_of_loops(after)
    assert not blocks_of(after)
    guarded = td.GuardedTape(lambda p: before(p) if p[0] > 0.8 else 2.0 * before(p))
    for p in (*POINTS, 0.1 * POINTS[0]):
        expected = before(p) if p[0] > 0.8 else 2.0 * before(p)
        np.testing.assert_allclose(td.value_and_gradient(guarded, p)[0], expected, rtol=1e-12)


def test_memory_of_a_block_in_place_of_all_rows(monkeypatch):
    monkeypatch.undo()
    rows = 20_000
    f = paths(rows)
    compiled = td.compile(f, POINTS[0])
    value, _ = td.value_and_gradient(compiled, POINTS[1])
    np.testing.assert_allclose(value, f(POINTS[1]), rtol=1e-12)
    assert compiled.workspace_bytes < 8 * rows
    assert blocks_of(paths(512)) == []
