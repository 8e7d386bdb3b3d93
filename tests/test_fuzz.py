"""Random programs over small arrays: plain NumPy, the tape, its kernel and the kernel's listing must agree, and so must their gradients.

The programs are drawn by hypothesis, which shrinks a failing one. `TAPEDIFF_FUZZ_EXAMPLES=5000 pytest tests/test_fuzz.py` searches for longer,
with fresh examples in every run.
"""

import os

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st
from random_programs.array_programs import PROGRAMS, SHAPES, all_values, scalar

import tapediff as td
from tapediff.compiler.codegen.python_listing import run_listing
from tapediff.compiler.kernel import Kernel
from tapediff.passes.pipeline import run_passes
from tapediff.targets.tapes.gradient_tape import gradient_tape
from tapediff.targets.tapes.operator_tapes import hvp_tape

LONG_RUN = int(os.environ.get("TAPEDIFF_FUZZ_EXAMPLES", "0"))

# The kernel's functions are within a few ulp of NumPy's, and sums are taken in another order; programs of up to twelve operations
# multiply that by their condition, which is_well_conditioned() bounds.
TOLERANCE = 1e-10


def close(a, b, tolerance=TOLERANCE):
    a, b = np.asarray(a, float), np.asarray(b, float)
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= tolerance * scale))


def is_well_conditioned(tape, points, rng):
    """Whether rounding of the arguments leaves the tape's outputs where they are: no near tie decides anything."""
    joint = gradient_tape(tape, (0,))
    before = joint(*points)
    assert all(np.all(np.isfinite(b)) for b in before), "every operation above is smooth or has a finite subgradient"
    for _ in range(4):
        try:
            moved = joint(*[p * (1.0 + 1e-14 * rng.standard_normal(p.shape)) for p in points])
        except td.GuardFailed:
            return False
        if not all(close(a, b) for a, b in zip(moved, before)):
            return False
    return True


def missed_guard(tape, points):
    """The ordinal of the guard that a replay fails at, and what was met there; None if all hold."""
    try:
        tape(*points)
    except td.GuardFailed as failure:
        return failure.ordinal, failure.outcome
    return None


def run_both(tape, points, missed=None):
    """Outputs of a tape by its native kernel and by its listing; or, where a guard is to be missed, that both miss it."""
    kernel = Kernel(tape)
    native = [np.empty(t.shape, t.dtype) for t in tape.output_types]
    listed = [np.empty(t.shape, t.dtype) for t in tape.output_types]
    status = kernel.run(points, native)
    if missed is not None:
        ordinal, outcome = missed
        miss = kernel.failure(status, points)
        assert (miss.ordinal, np.asarray(miss.outcome).tobytes()) == (ordinal, np.asarray(outcome).tobytes())
        assert run_listing(kernel.program, points, listed) == ("guard", ordinal)
        return native, listed
    assert status == 0
    assert run_listing(kernel.program, points, listed) is None
    return native, listed


@settings(
    max_examples=LONG_RUN or 30,
    derandomize=not LONG_RUN,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(PROGRAMS, SHAPES, SHAPES, st.integers(0, 1000))
def test_random_programs_agree_however_they_are_run(program, shape, other_shape, seed):
    """Recorded at A and run at B: function == replay == kernel == listing, for every intermediate value, the gradient, and a row of the
    Hessian; a guard that B misses is the same one for all."""
    rng = np.random.default_rng(seed)
    at = [rng.uniform(-1.5, 1.5, shape), rng.uniform(-1.5, 1.5, other_shape)]
    points = [rng.uniform(-1.5, 1.5, shape), rng.uniform(-1.5, 1.5, other_shape)]
    tape = td.record(scalar(program), *at)
    tape.check()
    missed = missed_guard(tape, points)
    if missed is not None:
        run_both(gradient_tape(tape, (0,)), points, missed)
        at, tape = points, td.record(scalar(program), *points)
    if not is_well_conditioned(tape, points, rng):
        return

    values_tape = td.record(all_values(program), *at)
    plain = [np.asarray(v) for v in all_values(program)(*points)]
    replayed = values_tape(*points)
    native, listed = run_both(run_passes(values_tape, check=True), points)
    for position, (value, replay, kernel, listing) in enumerate(zip(plain, replayed, native, listed)):
        assert close(replay, value, 1e-13), f"replay of value {position}"
        assert close(kernel, value), f"kernel of value {position}"
        assert close(listing, value), f"listing of value {position}"

    joint = gradient_tape(tape, (0, 1))
    joint.check()
    replayed = joint(*points)
    native, listed = run_both(joint, points)
    for name, replay, kernel, listing in zip(("value", "gradient", "second gradient"), replayed, native, listed):
        assert close(kernel, replay), f"kernel of the {name}"
        assert close(listing, replay), f"listing of the {name}"

    curvature = hvp_tape(tape, (0,))
    curvature.check()
    direction = rng.standard_normal(shape)
    native, listed = run_both(curvature, [*points, direction])
    assert close(native[0], curvature(*points, direction)[0], 1e-9), "kernel of the Hessian-vector product"
    check_slope(scalar(program), points, replayed[1:], rng)


def check_slope(f, points, gradients, rng):
    """The gradient along a random direction against differences, where the function is smooth enough for differences to settle."""
    direction = [rng.standard_normal(p.shape) for p in points]
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradients, direction))

    def along(t):
        return float(f(*[p + t * d for p, d in zip(points, direction)]))

    errors = []
    for h in (1e-4, 1e-5, 1e-6):
        forward, backward = (along(h) - along(0.0)) / h, (along(0.0) - along(-h)) / h
        central = (along(h) - along(-h)) / (2 * h)
        # At a kink the two sides differ by a constant, on a smooth stretch by O(h).
        if abs(forward - backward) > 1e-2 * max(1.0, abs(central)):
            return
        errors.append(abs(central - slope))
    scale = max(1.0, abs(slope), *(float(np.max(np.abs(g), initial=0.0)) for g in gradients))
    assert min(errors) <= 1e-6 * scale, f"slope {slope}, off by {errors}"
