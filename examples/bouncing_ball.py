"""A bouncing ball: its first velocity and its coefficient of restitution from noisy heights, through an `if` in each of 200 steps.

The heights are computed by a Python loop over a step that is a sub-tape, and by a td.scan with a td.cond in it. A tape that froze the
bounces where it was recorded would give the wrong gradient that is printed last.
"""

from time import perf_counter
from timeit import repeat

import numpy as np
from scipy.optimize import minimize

import tapediff as td

STEPS, DT, GRAVITY, DROP = 200, 0.02, 9.81, 1.0  # four seconds, from one metre
TRUTH, START = np.array([1.5, 0.8]), np.array([1.3, 0.75])  # first velocity, restitution
NOISE = 0.02


def fall(y, v, duration=DT):
    return y + v * duration - 0.5 * GRAVITY * duration**2, v - GRAVITY * duration


def bounce(y, v, restitution):
    """Down to the ground, and up again for the rest of the step."""
    speed = np.sqrt(v**2 + 2 * GRAVITY * y)
    return fall(0.0, restitution * speed, DT - (v + speed) / GRAVITY)


def step(y, v, restitution):
    after = fall(y, v)
    if after[0] < 0:
        return bounce(y, v, restitution)
    return after


def in_a_loop(p, step=step):
    """The heights, by a Python loop."""
    y, v, heights = DROP, p[0], []
    for _ in range(STEPS):
        y, v = step(y, v, p[1])
        heights.append(y)
    return np.stack(heights)


def in_a_scan(p):
    """The heights, by a loop that is one instruction."""

    def body(state, _):
        after = fall(*state)
        after = td.cond(after[0] < 0, lambda: bounce(*state, p[1]), lambda: after)
        return after, after[0]

    return td.scan(body, (DROP, p[0]), length=STEPS)[1]


def with_frozen_bounces(p):
    """The heights as a tape without guards would have them: the ball bounces at the steps at which it did at START."""
    bounces, y, v = [], DROP, START[0]
    for _ in range(STEPS):
        bounces.append(fall(y, v)[0] < 0)
        y, v = step(y, v, START[1])
    does_bounce = iter(bounces)
    return in_a_loop(p, lambda y, v, e: bounce(y, v, e) if next(does_bounce) else fall(y, v))


def main():
    measured = in_a_loop(TRUTH) + NOISE * np.random.default_rng(0).normal(size=STEPS)

    def misfit(heights):
        return lambda p: np.mean(((heights(p) - measured) / NOISE) ** 2)

    sub = td.subtape(step)
    for name, f in ("loop of sub-tapes", misfit(lambda p: in_a_loop(p, sub))), ("scan with a cond", misfit(in_a_scan)):
        started = perf_counter()
        compiled = td.compile(f, START)
        seconds = perf_counter() - started
        for point in START, TRUTH, np.array([0.5, 0.9]):
            td.testing.check_gradient(compiled, f, point, rtol=1e-5)
        best = min(repeat(lambda t=compiled: td.gradient(t, START), number=200)) / 200
        print(f"{name}: compiled in {seconds:.3f} s, {best * 1e6:.1f} µs per gradient, agrees with finite differences")
        fit = minimize(lambda p, t=compiled: td.value_and_gradient(t, p), START, jac=True, method="BFGS")
        print(f"  velocity {fit.x[0]:.3f}, restitution {fit.x[1]:.3f}, misfit {fit.fun:.3f}, {fit.nfev} evaluations")
    print("variants of the step:", sub.recordings)

    halfway = 0.5 * (START + TRUTH)
    frozen = td.gradient(misfit(with_frozen_bounces), halfway)
    print("gradient halfway:", td.gradient(compiled, halfway).round(1))
    print("with the bounces frozen where the tape was recorded:", frozen.round(1))


if __name__ == "__main__":
    main()
