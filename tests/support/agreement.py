"""Compares what tapes, kernels and the plain function say about a function of one array."""

import numpy as np

import tapediff as td
from tapediff.functions.callees import callee as callees
from tapediff.ir.instruction import CONSTANT, GUARD, INPUT
from tapediff.targets.tapes.gradient_tape import gradient_tape

# A kernel's functions and sums differ from NumPy's by a few ulp, which hundreds of iterations add up.
KERNEL_TOLERANCE = 1e-11
ULP = 2.0**-52


def by_numpy(call):
    """What a call gives when callees, too, are replayed with NumPy."""
    native, callees.NATIVE = callees.NATIVE, False
    try:
        return call()
    finally:
        callees.NATIVE = native


def plainly(f, x):
    """What a function gives for plain arrays, with NumPy's zeros in place of td.zeros."""
    kept, td.zeros = td.zeros, np.zeros
    try:
        return f(x)
    finally:
        td.zeros = kept


def agree(f, *points, rtol=1e-6, compiled=True):
    """Record at the first point; at every point value and gradient of all targets agree with the plain function."""
    tape = td.record(f, points[0])
    tape.check()
    gradient_tape(tape, (0,)).check()
    fast = td.compile(tape) if compiled else None
    for x in points:
        by_numpy(lambda x=x: td.testing.check_gradient(tape, f, x, rtol=rtol))
        value, gradient = by_numpy(lambda x=x: td.value_and_gradient(tape, x))
        for target in (tape, fast):
            if target is not None:
                v, g = td.value_and_gradient(target, x)
                np.testing.assert_allclose(v, value, rtol=KERNEL_TOLERANCE, atol=KERNEL_TOLERANCE)
                np.testing.assert_allclose(g, gradient, rtol=KERNEL_TOLERANCE, atol=KERNEL_TOLERANCE)
    return tape


def hessian_agrees(tape, *points):
    """The Hessian is the central difference of the gradient, by NumPy and natively."""
    for x in points:
        step = 1e-5
        differences = [(td.gradient(tape, x + e) - td.gradient(tape, x - e)) / (2 * step) for e in step * np.eye(x.size)]
        scale = max(1.0, np.abs(differences).max())
        for hessian in (td.hessian(tape, x), by_numpy(lambda x=x: td.hessian(tape, x))):
            np.testing.assert_allclose(hessian, differences, rtol=2e-5, atol=2e-5 * scale)


def recordings_of(tape):
    """How many variants the callees of a tape have."""
    found = {id(i.params[0]): i.params[0] for i in tape.instructions if i.op.name in ("call", "loop")}
    return [callee.recordings for callee in found.values()]


@np.errstate(all="ignore")
def moved(tape, point, size, first=0, last=None, rng=None):
    """The first output by NumPy, when every result of the instructions from `first` to `last` is moved by up to so much of it at random."""
    rng, values = np.random.default_rng(0) if rng is None else rng, []
    last = len(tape) if last is None else last
    for number, (op, inputs, params, type_, _) in enumerate(tape.instructions):
        if op in (CONSTANT, INPUT, GUARD):
            values.append(params[0] if op is CONSTANT else point)
            continue
        value = op.evaluate(*[values[k] for k in inputs], *params)
        if first <= number < last and type_.dtype == np.float64:
            value = value * (1.0 + size * rng.uniform(-1.0, 1.0, np.shape(value)))
        values.append(value)
    return values[tape.outputs[0]]
