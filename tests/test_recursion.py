"""Long programs need no deeper stack than short ones: nothing recurses on how long a program is."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import copy, inspect, pickle, sys
import numpy as np
import tapediff as td

X = np.array([0.7, 1.3, 0.4])
step = td.subtape(lambda s: s * 0.9 if s > 0.5 else s * s + 0.3)


def numbers(x):
    s = x[0]
    for k in np.random.default_rng(0).integers(0, 4, 180):
        s = s + x[1] if k == 0 else s * x[2] * 0.5 if k == 1 else np.sin(s) if k == 2 else s / 1.01
    return s


def arrays(x):
    a = x
    for k in np.random.default_rng(0).integers(0, 3, 160):
        a = np.sin(a) + x[::-1] if k == 0 else np.roll(a, 1) * x * 0.5 if k == 1 else a / 1.01
    return np.sum(a * a)


def views(x):
    a = np.concatenate([x] * 120) * 2.0
    for _ in range(180):
        a = a[1:]
    return np.sum(a * a)


def written_views(x):
    a = np.concatenate([x] * 120) * 2.0
    part, early = a, a[2:]
    for _ in range(180):
        part = part[1:]
    part[0] = x[1] * x[2]
    part[1:] *= 2.0
    early[179:] += x[0]
    return np.sum(a * a) + part[0] * part[-1]


def reshaped(x):
    a = x * 1.0
    for _ in range(150):
        a = a.reshape(1, 3).T.ravel()
    return np.sum(a**3)


def calls(x):
    s = x[0]
    for _ in range(170):
        s = step(s)
    return s * x[1] + x[2]


def selections(x):
    a = x
    for k in range(160):
        a = np.where(a > 0.5 + k * 1e-3, a * 0.99, np.where(a < 0, a * a, a + 0.01))
    return np.sum(a)


def decisions(x):
    s = x[0]
    for k in range(170):
        s = s * 0.9 if s > 1 else s + x[k % 3]
    return s


def joined(x):
    a = x
    for k in range(60):
        a = np.concatenate([a, x[:1] * k])
    return np.sum(a * a)


def results(x):
    return [x[k % 3] * k for k in range(600)]


def shallow(call):
    "What a call gives that has 150 more frames than this one."
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        return call()
    finally:
        sys.setrecursionlimit(before)


def difference(f):
    "Central differences: an error of 1e-12 from the step, and of 1e-10 from rounding."
    return np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])


def check(f):
    tape = shallow(lambda: td.record(f, X))
    shallow(lambda: (str(tape), repr(tape), copy.deepcopy(tape)))
    again = shallow(lambda: pickle.loads(pickle.dumps(tape))) if f is not calls else tape
    compiled = shallow(lambda: td.compile(tape))
    shallow(lambda: (compiled.source, repr(compiled)))
    if f is results:
        for answers in (shallow(lambda: tape(X)), shallow(lambda: again(X)), shallow(lambda: compiled(X))):
            np.testing.assert_array_equal(answers, f(X))
        return
    value, gradient = f(X), difference(f)
    guarded = td.GuardedTape(f)
    for target in (f, tape, again, compiled, guarded, guarded, guarded):
        answer, slope = shallow(lambda: td.value_and_gradient(target, X))
        # Sums of up to 400 terms in another order; differences as above, of values up to 1e3.
        np.testing.assert_allclose(answer, value, rtol=1e-11)
        np.testing.assert_allclose(slope, gradient, rtol=1e-5, atol=1e-6)
    shallow(lambda: (guarded.explain(), str(guarded.margins(X))))
    replayed, native = shallow(lambda: td.hessian(tape, X)), shallow(lambda: td.hessian(compiled, X))
    # Both are the same sums in another order.
    np.testing.assert_allclose(native, replayed, rtol=1e-8, atol=1e-8 * np.abs(replayed).max())


# What is imported and linked at first use takes frames of its own.
check(lambda x: np.sum(np.sin(x)) + step(x[0]))
for name in sys.argv[1:]:
    check(globals()[name])
"""

SHAPES = [
    ["numbers", "arrays", "selections", "decisions", "joined"],
    ["views", "written_views", "reshaped", "calls", "results"],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=" ".join)
@pytest.mark.slow
def test_long_programs_need_150_frames(shapes):
    """Recorded, printed, copied, pickled, compiled, differentiated twice and explained, all right and near a low limit."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *shapes], env=os.environ, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
