"""Plain `if`, `for` and `while` on data, without annotation: a robust regression in a loop, and an equation solved with adaptive steps.

Every step of either optimiser takes another path through the branches. A GuardedTape has all paths on one tape.
"""

from time import perf_counter

import numpy as np
from scipy.optimize import minimize

import tapediff as td

rng = np.random.default_rng(5)

# A line through measurements of which every tenth is wrong

SLOPE, OFFSET = 2.0, -0.5
X = rng.normal(size=1_000)
Y = SLOPE * X + OFFSET + 0.3 * rng.normal(size=X.size) + np.where(rng.random(X.size) < 0.1, 20.0, 0.0)


def robust(p):
    """Huber's loss: quadratic for small residuals, linear for large ones."""
    total = 0.0
    for x, y in zip(X, Y):
        r = y - p[0] * x - p[1]
        if abs(r) < 1.0:
            total += 0.5 * r * r
        else:
            total += abs(r) - 0.5
    return total / X.size


# Growth to a limit, measured at some times

TIMES, TOLERANCE = np.linspace(0.5, 6.0, 12), 1e-4
RATE, LIMIT, FIRST = 1.4, 3.0, 0.2


def grown(rate, limit, y, start, end):
    """y' = rate y (1 - y / limit) from one time to another, with steps as long as the error allows; longer ones are repeated."""
    t, h = start, 0.1
    while t < end:
        if t + h > end:
            h = end - t
        a = rate * y * (1.0 - y / limit)
        b = rate * (y + h * a) * (1.0 - (y + h * a) / limit)
        error = abs(0.5 * h * (b - a)) + 1e-12
        if error <= TOLERANCE:
            t = t + h
            y = y + 0.5 * h * (a + b)
        h = h * min(3.0, max(0.3, 0.9 * (TOLERANCE / error) ** 0.5))
    return y


def misfit(p):
    """p = logarithms of rate, limit and first value."""
    rate, limit, y = np.exp(p[0]), np.exp(p[1]), np.exp(p[2])
    total, before = 0.0, 0.0
    for time, measured in zip(TIMES.tolist(), MEASURED):
        y = grown(rate, limit, y, before, time)
        total = total + (y - measured) ** 2
        before = time
    return total


EXACT = LIMIT / (1.0 + (LIMIT / FIRST - 1.0) * np.exp(-RATE * TIMES))
MEASURED = EXACT + 0.02 * rng.normal(size=EXACT.size)


def fit(f, start):
    """The least f, by a quasi-Newton method, and what it took."""
    guarded = td.GuardedTape(f)
    calls = 0

    def both(p):
        nonlocal calls
        calls += 1
        return td.value_and_gradient(guarded, p)

    started = perf_counter()
    found = minimize(both, start, jac=True, method="BFGS", options={"gtol": 1e-7})
    seconds = perf_counter() - started
    direction = np.array([np.sin(k + 1.0) for k in range(start.size)])
    slope = (f(start + 1e-5 * direction) - f(start - 1e-5 * direction)) / 2e-5
    print(f"  {calls} gradients in {seconds:.2f} s, {guarded.stats.recordings} recordings in all: {guarded.explain().splitlines()[0]}")
    print(f"  slope along a direction: {td.gradient(guarded, start) @ direction:.5f}, by differences {slope:.5f}")
    return found.x


if __name__ == "__main__":
    print("Robust regression in a plain loop:")
    line, least_squares = fit(robust, np.array([0.0, 0.0])), np.polyfit(X, Y, 1)
    print(f"  slope and offset {line.round(2)}, least squares {least_squares.round(2)}, true {np.array([SLOPE, OFFSET])}")
    print("Growth with adaptive steps:")
    rate, limit, first = np.exp(fit(misfit, np.log([1.0, 2.0, 0.5])))
    print(f"  rate, limit, first value {rate:.2f} {limit:.2f} {first:.2f}, true {RATE} {LIMIT} {FIRST}")
