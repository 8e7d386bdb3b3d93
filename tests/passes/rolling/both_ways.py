"""A function with its Python loops rolled and as it was recorded: its tapes, and that they give the same answers."""

import numpy as np
from support.agreement import by_numpy

import tapediff as td
from tapediff.base.settings import settings
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


def names(tape):
    return [i.op.name for i in tape.instructions]


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
            answers[is_on] = with_rolling(is_on, lambda t=tape, c=fast[is_on], x=x: answers_of(t, c, x, hessian))
        plain = np.asarray(f(x))
        np.testing.assert_allclose(answers[True][0], plain, rtol=TOLERANCE, atol=TOLERANCE)
        for mine, expected in zip(answers[True], answers[False], strict=True):
            scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
            np.testing.assert_allclose(mine, expected, rtol=TOLERANCE, atol=TOLERANCE * scale)


def answers_of(tape, compiled, x, hessian):
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
