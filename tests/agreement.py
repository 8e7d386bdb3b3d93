"""Compares what tapes, kernels and the plain function say about a function of one array."""

import numpy as np

import tapediff as td
from tapediff import callees
from tapediff.transforms.derive import gradient_tape

# A kernel's functions and sums differ from NumPy's by a few ulp, which hundreds of iterations add up.
KERNEL_TOLERANCE = 1e-11


def by_numpy(call):
    """What a call gives when callees, too, are replayed with NumPy."""
    native, callees.NATIVE = callees.NATIVE, False
    try:
        return call()
    finally:
        callees.NATIVE = native


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
