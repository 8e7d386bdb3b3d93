"""Writing into tracked arrays costs what is written, not what the array holds."""

import numpy as np
import pytest
from support.agreement import plainly
from support.side_by_side import times_as_long

import tapediff as td
from tapediff.passes.pipeline import run_passes
from tapediff.passes.simplify.forward_writes import forward_writes
from tapediff.targets.tapes.gradient_tape import gradient_tape


def moved(tape):
    """Entries that a replay of the tape makes."""
    return sum(i.type.size for i in tape.instructions)


def entry_by_entry(x):
    y = td.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * 0.5 + y[i - 1]
    return np.sum(y**2)


def sum_by_sum(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] += 0.5 * y[i - 1]
    return np.sum(y**2)


def row_by_row(x):
    y = td.zeros((x.shape[0], 2))
    for i in range(1, x.shape[0]):
        y[i, :] = y[i - 1] * 0.5 + x[i]
    return np.sum(y**2)


def row_in_place(x):
    y = np.reshape(x, (-1, 2)) * 1.0
    for i in range(1, y.shape[0]):
        y[i] += 0.5 * y[i - 1]
    return np.sum(y**2)


def through_a_view(x):
    y = td.zeros((2, x.shape[0]))
    row = y[1]
    for i in range(1, x.shape[0]):
        row[i] = x[i] * 0.5 + row[i - 1]
        y[0, i] = row[i] + y.reshape(-1)[i - 1]
    return np.sum(y**2)


def window_by_window(x):
    y = td.zeros(x.shape[0])
    y[:4] = x[:4]
    for i in range(4, x.shape[0]):
        y[i] = np.sum(y[i - 4 : i]) * 0.25 + x[i]
    return np.sum(y**2)


@pytest.mark.parametrize("f", [entry_by_entry, sum_by_sum, row_by_row, row_in_place, through_a_view, window_by_window])
def test_a_loop_that_fills_costs_what_it_writes(f, flat_loops):
    """Twice the entries make twice the instructions and twice the entries moved, in the gradient and in the value; not four times."""
    lengths, sizes = [], []
    for n in (100, 200, 400):
        tape = td.record(f, np.linspace(0.1, 1.0, n))
        for made in (gradient_tape(tape, (0,)), run_passes(tape)):
            lengths.append(len(made))
            sizes.append(moved(made))
    for counts in (lengths[::2], lengths[1::2], sizes[::2], sizes[1::2]):
        assert 1.9 < (counts[2] - counts[1]) / (counts[1] - counts[0]) < 2.1
    assert sizes[4] < 60 * 400


def test_the_gradient_of_two_thousand_writes_is_that_of_one_thousand_twice():
    small, large = (gradient_tape(td.record(entry_by_entry, np.linspace(0.1, 1.0, n)), (0,)) for n in (1000, 2000))
    assert len(large) < 2.05 * len(small)
    assert moved(large) < 2.05 * moved(small)
    x = np.linspace(0.1, 1.0, 2000)
    y, y_bar = np.zeros(2000), np.zeros(2000)
    for i in range(2000):
        y[i] = x[i] * 0.5 + y[i - 1]
    for i in reversed(range(2000)):
        y_bar[i] = 2.0 * y[i] + (y_bar[i + 1] if i < 1999 else 0.0)
    np.testing.assert_allclose(large(x)[1], 0.5 * y_bar, rtol=1e-12)


def test_the_pass_itself_is_linear():
    """16 times the writes take about 16 times as long, where a copy of the array for each would take 256 times."""
    few, many = (td.record(entry_by_entry, np.linspace(0.1, 1.0, n)) for n in (500, 8_000))
    assert moved(forward_writes(few)) < 5_000
    assert moved(forward_writes(many)) < 80_000
    assert times_as_long(lambda: forward_writes(many), lambda: forward_writes(few), limit=64, repeat=3) < 64


# Writes that need no copy of the array


def what_is_kept(x):
    """Everything that may hold an array's value while entries of the array are written; branches show which values these are."""
    y = td.zeros(4)
    y[0] = x[0]
    copied, versions, part, turned, whole = y.copy(), [y * 1.0], y[1:3], y.reshape(2, 2), y[:]
    same, plain = y, np.array(y)
    y[1] = x[1] * 2.0
    versions.append(+y)
    row = turned[1]
    row[0] = x[2] * 3.0
    y[3] = 7.0
    y[1:3] = y[1:3] * x[:2]
    total = np.sum(y) + np.sum(part) + np.sum(whole * x[3])
    for k, v in enumerate([*copied, *plain, *versions[0], *versions[1], *part, *turned[0], *turned[1], *whole, *same, *y]):
        total = total + v * (k + 1.0) if v > 0.9 else total - v * v
    return total


def test_what_held_an_array_before_a_write_keeps_its_value():
    """Copies, results and earlier versions stay, views follow: Python's decisions while recording are those of the plain function."""
    for x in (np.array([1.0, 0.5, 0.25, 2.0]), np.array([0.1, 1.5, 1.25, -2.0]), np.array([-1.0, 3.0, 0.4, 0.3])):
        for target in (td.record(what_is_kept, x), td.compile(what_is_kept, x)):
            td.testing.check_gradient(target, lambda x: plainly(what_is_kept, x), x)


def test_a_sub_tape_keeps_the_array_that_it_was_called_with():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        first = td.subtape(lambda v: v * 2.0 if v[0] > 0.5 else v * 3.0)(y)
        y[0] = 5.0 * x[1]
        second = td.subtape(lambda v: v[0] ** 2)(y)
        return np.sum(first) + second + y[0] if first[0] > 1.5 else np.sum(first) - second

    for x in (np.array([1.0, 0.2]), np.array([0.1, 0.2])):
        td.testing.check_gradient(td.record(f, x), f, x)


def test_recording_an_array_that_is_filled_takes_no_copy_for_each_entry():
    """Behind the first write, the numbers stay where they are, so that recording takes time in proportion to the entries."""

    def f(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        address = y._value.ctypes.data
        for i in range(1, 50):
            y[i] = y[i - 1] + x[i]
            assert y._value.ctypes.data == address
        return np.sum(y)

    td.record(f, np.ones(50))


def padded(u):
    return np.sum(np.pad(u * 2.0, 1) ** 3)


def framed(u):
    """Two columns at each end of all rows, from one array."""
    v = np.zeros((u.shape[0], u.shape[1] + 4))
    v[:, 2:-2] = np.sin(u)
    edge = np.exp(u[:, :2])
    v[:, :2], v[:, -2:] = edge, edge
    return np.sum(v**2 * np.arange(v.shape[1]))


@pytest.mark.parametrize("f", [padded, framed], ids=lambda f: f.__name__)
def test_a_border_takes_as_many_instructions_around_a_large_array_as_around_a_small_one(f):
    """Both ends of all rows are two boxes, not one for each row."""
    lengths = set()
    for size in (12, 40, 90):
        u = np.sin(np.arange(size * size * 1.0)).reshape(size, size)
        compiled = td.compile(f, u)
        np.testing.assert_allclose(td.gradient(compiled, u), td.gradient(td.record(f, u), u), rtol=1e-13, atol=1e-13)  # the same operations
        if size == 12:
            td.testing.check_gradient(compiled, f, u)  # by differences in each of the entries
        groups = compiled.kernel((0,)).program.groups
        lengths.add(len(groups) + sum(len(group.body) for group in groups))
    assert max(lengths) <= min(lengths) + 12


def diffused(u, t):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def with_a_source(u, t):
    diffused(u, t)
    u[5, 7] += np.sin(0.3 * t)


def with_sources(u, t):
    diffused(u, t)
    u[3:5, 4:6] *= 0.5
    u[9, 2] = u[8, 2] * 2


def with_a_corner(u, t):
    diffused(u, t)
    u[0, 0] = u[1, 1]


def with_points_and_a_corner(u, t):
    with_sources(u, t)
    u[0, 0] = u[1, 1]
    u[-1, 5] = u[-2, 5]


def with_a_row(u, t):
    diffused(u, t)
    u[6, 3:9] = 0.2 * u[7, 3:9]


@pytest.mark.parametrize("step", [with_a_source, with_sources, with_a_corner, with_points_and_a_corner, with_a_row])
@pytest.mark.slow
def test_points_written_after_a_slice_leave_the_slice_in_one_piece(step):
    """A time loop has as many reads of slices as without them, and none by arrays of positions."""

    def f(x):
        u = x.copy()
        for t in range(12):
            step(u, t)
        return np.sum(u**2)

    x = np.random.default_rng(0).normal(size=(14, 12))
    fast = td.compile(f, x)
    value, gradient = td.value_and_gradient(fast, x)
    assert value == pytest.approx(f(x), rel=1e-13)
    np.testing.assert_allclose(gradient, td.gradient(f, x), rtol=1e-10, atol=1e-12)
    for v in np.random.default_rng(1).normal(size=(3, *x.shape)):
        slope = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
        assert np.sum(gradient * v) == pytest.approx(slope, rel=1e-6)
    (kernel,) = fast.kernels.values()
    assert not {"gather", "put", "scatter_add"} & {op.name for op in every_op(kernel.tape)}


def every_op(tape):
    """The ops of a tape and of its loops."""
    for instruction in tape.instructions:
        yield instruction.op
        for callee in instruction.params:
            inner = callee.only_tape() if hasattr(callee, "only_tape") else None
            if inner is not None:
                yield from every_op(inner)
