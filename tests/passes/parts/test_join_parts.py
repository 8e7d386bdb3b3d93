"""Stencils that write into an array and read it in shifts: one array for all reads, and one sum of parts in the reverse pass."""

import numpy as np
import pytest
from support.passes import without

import tapediff as td
from tapediff.ops.arrays.regions import Region, frame
from tapediff.passes.parts.join_parts import join_parts
from tapediff.targets.tapes.gradient_tape import gradient_tape

# Sums in another order.
TOLERANCE = 1e-11


def step(u):
    new = u.copy()
    new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return new


def by_scan(u):
    return np.sum(td.scan(lambda u, _: (step(u), None), u, None, length=20)[0] ** 2)


def in_place(u):
    u = u.copy()
    for _ in range(20):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return np.sum(u**2)


def at_one_edge(u):
    """A box that touches three edges, so that the frame is one strip."""
    for _ in range(3):
        new = u * 1.0
        new[1:] = np.sin(u[:-1]) + 0.5 * u[1:]
        u = new
    return np.sum(u**2) + u[0, 0] * u[-1, -1]


def everywhere(u):
    u = u * 1.0
    u[:, :] = np.sin(u) + u[::-1]
    return np.sum(u[1:] * u[:-1])


@pytest.mark.parametrize("f", [by_scan, in_place, at_one_edge, everywhere])
@pytest.mark.parametrize("shape", [(8, 9), (3, 3)])
def test_stencils_give_the_same_answers_with_and_without_the_pass(f, shape):
    x = np.cos(np.arange(np.prod(shape)) * 0.7).reshape(shape)
    tape = td.record(f, x)
    value, gradient = td.value_and_gradient(td.compile(tape), x)
    plain, expected = without(["join_parts", "reroll", "save_for_backward"], lambda: gradient_tape(td.record(f, x), (0,))(x))
    np.testing.assert_allclose(value, f(x), rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(plain, value, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_the_gradient_of_a_linear_loop_stores_no_carries():
    """The workspace holds a few arrays, not one for each of 20 steps, though the loss is a square."""
    x = np.cos(np.arange(400.0)).reshape(20, 20)
    fast = td.compile(td.record(by_scan, x))
    td.gradient(fast, x)
    stored = [int(line.split("(")[1].split(",")[0]) for line in fast.source.splitlines() if "np.empty(" in line]
    assert max(stored) <= 2 * x.size, fast.source


def test_an_array_that_is_read_in_shifts_is_made_once():
    """One write of a box at each step, and no array for each neighbour."""
    tape = gradient_tape(td.record(lambda u: np.sum(step(step(step(u)))), np.ones((9, 9))), (0,))
    assert sum(i.op.name == "assemble" and i.params[2] for i in tape.instructions) == 0
    assert sum(i.op.name == "replace" for i in tape.instructions) <= 3


def test_what_is_read_elsewhere_too_stays():
    def f(u):
        cleared = u * 1.0
        cleared[1:-1] = 0.0
        assembled = np.concatenate([u[2:], u[:2]])
        return (cleared + assembled) * cleared * assembled

    tape = td.record(f, np.arange(8.0))
    assert join_parts(tape) is tape


@pytest.mark.parametrize("add", [lambda a, b: a + b, lambda a, b: b + a], ids=["cleared first", "parts first"])
def test_parts_are_joined_in_either_order_of_the_sum(add):
    def f(u):
        cleared = u * 1.0
        cleared[1:-1] = 0.0
        return add(cleared, np.concatenate([u[2:], u[:2]]))

    tape = td.record(f, np.arange(8.0))
    joined = join_parts(tape)
    assert "add" not in [i.op.name for i in joined.instructions]
    np.testing.assert_array_equal(joined(np.arange(8.0)), f(np.arange(8.0)))


def test_a_frame_is_all_that_a_box_leaves():
    rng = np.random.default_rng(0)
    for shape in ((5,), (4, 6), (3, 4, 5), (1, 3)):
        for _ in range(10):
            starts = tuple(int(rng.integers(0, n)) for n in shape)
            counts = tuple(int(rng.integers(1, n - a + 1)) for a, n in zip(starts, shape))
            covered = np.zeros(shape, int)
            box = Region(starts, (1,) * len(shape), counts, counts)
            for region in (box, *frame(box, shape)):
                covered[region.slices] += 1
            assert (covered == 1).all()
