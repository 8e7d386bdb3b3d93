"""Callees of the tests of calls and loops, and the check that kernels, listings and replays agree."""

import numpy as np
from support.path_callee import GET, LOOP, Builder, PathCallee, types

from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.ir.interpreter import run
from tapediff.ops.control.calls import LoopForm

RNG = np.random.default_rng(0)
FORMS = {
    "plain": {},
    "kept": {"saves_carries": True},
    "backwards": {"backwards": True},
    "kept backwards": {"saves_carries": True, "backwards": True},
}


def outputs_of(kernel, inputs):
    found = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
    assert kernel.run(inputs, found) == 0
    return found


def assert_agree(tape, *points):
    """The kernel, its listing and the replay of a tape give the same at every point. Returns the kernel."""
    kernel = Kernel(tape)
    for point in points:
        narrow = [np.asarray(p, t.dtype) for p, t in zip(point, tape.input_types)]
        point = [p.astype(t.dtype) for p, t in zip(narrow, kernel.input_types)]
        expected = run(tape, narrow)
        native = outputs_of(kernel, point)
        listed = [np.empty(t.shape, t.dtype) for t in kernel.output_types]
        assert run_listing(kernel.program, point, listed) is None
        for a, b, c in zip(native, listed, expected):
            # A few rounded operations per iteration, in another order.
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(b, c, rtol=1e-12, atol=1e-12)
    return kernel


def branching(x, y):
    if x > 0.0:
        return (x * y,)
    if y > 0.0:
        return (x - y,)
    return (x + 2.0 * y,)


def damped(c, x):
    following = 0.9 * c + x
    if x > 0.5:
        following = following * 0.5
    return following, following * following


DAMPED = (damped, types("f", "f"), types("f", "f"))


def mixed(k, flag, small, matrix, stream, shift):
    """Integers, masks, floats of 32 bits and matrices, in all roles."""
    if flag:
        small = small * shift
    total = stream[0] + matrix[1, 1]
    return k + 2, total > 0.0, small, matrix * 0.5 + total, small + shift, k * 3, matrix[0] > 0.0


MIXED = (
    mixed, types("i", "b", "g3", "f2x2", "f2", "g3"), types("i", "b", "g3", "f2x2", "g3", "i", "b2")
)  # fmt: skip


def mixed_point(length):
    return [
        np.int64(5), np.True_, RNG.normal(size=3), RNG.normal(size=(2, 2)), RNG.normal(size=(length, 2)), RNG.normal(size=3)
    ]  # fmt: skip


def there_and_back(callee, back, count):
    """A tape of a loop that keeps everything and one in the other direction over what it kept; `count` adds the length."""
    b = Builder()
    given, length, stops = count(b)
    c, x = b.input(types("f")[0]), b.input(types("f")[0])
    form = LoopForm(1, 0, 1, length, stops=stops, saves_carries=True)
    returned = b.add(LOOP, (*given, c, x), (callee, form))
    finals, _ = b.items(returned)
    items = [b.add(GET, (returned,), (k,)) for k in range(len(b.instructions[returned].type.items))]
    ys = items[1]
    numbers, kept = items[-2], items[-1]
    iterations = [items[2]] if stops else given
    again = LoopForm(1, 2, 0, length, backwards=True, variant_given=True, saves_carries=True)
    second = b.add(LOOP, (numbers, *iterations, finals[0], kept, ys), (back, again))
    third = b.add(
        LOOP, (numbers, *iterations, finals[0], b.add(GET, (second,), (2,)), ys),
        (back, LoopForm(1, 2, 0, length, variant_given=True)),
    )  # fmt: skip
    return b.tape([*finals, b.add(GET, (second,), (0,)), b.add(GET, (third,), (0,))])


def halving(c, x):
    following = c * 0.75 + x
    if following > 1.0:
        following = following - x
    return following, following + c


def back_of_halving():
    return PathCallee(
        lambda a, c, y: (a * 0.9 + c * 0.5 - y * 0.25, a + y), types("f", "f", "f"), types("f", "f"), decides=False,
    )  # fmt: skip


def with_variants(callee, count):
    """As many variants, which differ in nothing."""
    while len(callee.tapes) < count:
        callee.tapes.append(callee.tapes[0])
    return callee


def back_with_variants():
    back = back_of_halving()
    back.record([0.0] * 3)
    return with_variants(back, 8)


def shrinking(c, x):
    following = c * 0.95
    if following > 0.5:
        following = following - 0.01 * x
    return following, following + x, following > 1e-3
