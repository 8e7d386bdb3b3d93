"""Plain functions whose branches and loops look at data, without any annotation: for the benchmark of merged branches."""

import math

import numpy
import numpy as np

import tapediff as td

from .branch_problems import bouncing_ball, bouncing_ball_of_subtapes
from .problem import Problem
from .search_problems import armijo, armijo_of_loops, bisection, bisection_of_loops, descent, descent_of_loops

_rng = numpy.random.default_rng(20261122)


# A robust regression: one branch for each observation

COUNT = 1000
SLOPES = _rng.normal(size=COUNT)
RESPONSES = 2.0 * SLOPES + 0.3 + _rng.standard_t(2, size=COUNT)


def huber(p):
    total = 0.0
    for k in range(COUNT):
        r = RESPONSES[k] - p[0] * SLOPES[k] - p[1]
        if abs(r) < 1.0:
            total += 0.5 * r * r
        else:
            total += abs(r) - 0.5
    return total


def huber_by_where(p):
    r = RESPONSES - p[0] * SLOPES - p[1]
    return np.sum(np.where(np.abs(r) < 1.0, 0.5 * r * r, np.abs(r) - 0.5))


# A soil's water from day to day: three branches a day

DAYS = 365
RAIN = _rng.gamma(0.3, 12.0, size=DAYS)
DEMAND = 2.0 + 1.5 * numpy.sin(numpy.arange(DAYS) / 58.0)
FLOW = _rng.gamma(1.0, 1.5, size=DAYS)


def bucket_day(storage, capacity, wilting, share, rain, demand):
    storage = storage + rain
    if storage > capacity:
        runoff = storage - capacity
        storage = capacity
    else:
        runoff = 0.0
    if storage > wilting:
        loss = demand
    else:
        loss = demand * storage / wilting
    storage = storage - loss
    if storage < 0.0:
        storage = 0.0
    drained = share * storage
    return storage - drained, runoff + drained


def bucket(p, day=bucket_day):
    """p = (capacity, wilting point, share that drains in a day)."""
    storage, total = 20.0, 0.0
    for t in range(DAYS):
        storage, flow = day(storage, p[0], p[1], p[2], RAIN[t], DEMAND[t])
        total = total + (flow - FLOW[t]) ** 2
    return total


_sub_day = td.subtape(bucket_day)


def bucket_of_subtapes(p):
    return bucket(p, day=lambda storage, *rest: _sub_day(p[0] * 0.0 + storage, *rest))


# Two balls between walls: four branches a step

STEPS, DT = 300, 0.01


def collisions(p):
    """p = (speed of the first, of the second, restitution)."""
    x, y, u, v, e = 0.2, 0.7, p[0], p[1], p[2]
    total = 0.0
    for _ in range(STEPS):
        x = x + DT * u
        y = y + DT * v
        if x < 0.0:
            x, u = -x, -e * u
        if y > 1.0:
            y, v = 2.0 - y, -e * v
        if x > y:
            x, y = y, x
            u, v = v, u
        if u * u + v * v < 0.01:
            u, v = u * 1.01, v * 1.01
        total = total + x * x + y
    return total


# An epidemic with a lockdown that is on or off

LOCKDOWN_DAYS = 300


def lockdown(p):
    """p = (infection rate, recovery rate, infected at which schools close)."""
    s, i = 0.99, 0.01
    closed = False
    total = 0.0
    for _ in range(LOCKDOWN_DAYS):
        if closed:
            if i < 0.5 * p[2]:
                closed = False
        elif i > p[2]:
            closed = True
        rate = 0.4 * p[0] if closed else p[0]
        new = rate * s * i
        s = s - new
        i = i + new - p[1] * i
        total = total + i
    return total


# An equation with steps of the size that the error asks for

TOLERANCE, END = 1e-6, 4.0


def adaptive(p):
    """p = (rate, capacity, first value): Heun's method for logistic growth, with rejected steps."""
    t, h, y = 0.0, 0.1, p[2]
    while t < END:
        if t + h > END:
            h = END - t
        a = p[0] * y * (1.0 - y / p[1])
        z = y + h * a
        b = p[0] * z * (1.0 - z / p[1])
        error = abs(0.5 * h * (b - a))
        if error <= TOLERANCE:
            t = t + h
            y = y + 0.5 * h * (a + b)
        if error > 0.0:
            factor = 0.9 * (TOLERANCE / error) ** 0.5
        else:
            factor = 2.0
        h = h * min(2.0, max(0.3, factor))
    return y


# A root to a tolerance

ROUNDS = 50


def newton(p):
    """The root of x**3 + a x - b."""
    x = 1.0
    for _ in range(ROUNDS):
        step = (x**3 + p[0] * x - p[1]) / (3.0 * x**2 + p[0])
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


# An option that ends where its price meets a barrier

PATHS, PRICES, STRIKE, BARRIER = 100, 50, 1.0, 0.8
SHOCKS = _rng.normal(size=(PATHS, PRICES))


def barrier(p):
    """p = (first price, volatility)."""
    total = 0.0
    root = math.sqrt(1.0 / PRICES)
    for k in range(PATHS):
        price = p[0]
        alive = 1.0
        for t in range(PRICES):
            price = price * (1.0 + p[1] * root * SHOCKS[k, t])
            if price < BARRIER:
                alive = 0.0
                break
        total = total + alive * max(price - STRIKE, 0.0)
    return total / PATHS


def _around(centre, spread, count=16):
    centre = numpy.asarray(centre)
    return tuple(centre * (1.0 + spread * _rng.uniform(-1.0, 1.0, size=centre.shape)) for _ in range(count))


# Points at random, of which nearly each takes another path; adding up in another order is the only difference between engines.
MERGED_PROBLEMS = (
    Problem("huber", "Huber's loss, 1,000 observations", huber, _around([1.9, 0.3], 0.3), taped=huber_by_where, by_hand="huber"),
    Problem(
        "bouncing_ball", "bouncing ball, 200 steps", bouncing_ball, _around([1.0, 0.1, 0.8], 0.1), taped=bouncing_ball_of_subtapes,
        by_hand="bouncing_ball",
    ),
    Problem("bucket", "soil bucket, 365 days", bucket, _around([40.0, 15.0, 0.1], 0.2), taped=bucket_of_subtapes, by_hand="bucket"),
    Problem("collisions", "collisions, 300 steps", collisions, _around([0.9, -0.6, 0.9], 0.1), by_hand="collisions"),
    Problem("lockdown", "SIR with lockdowns, 300 days", lockdown, _around([0.5, 0.1, 0.1], 0.2), by_hand="lockdown"),
    Problem("adaptive", "adaptive Heun, rejected steps", adaptive, _around([2.0, 1.5, 0.1], 0.2), by_hand="adaptive"),
    Problem("newton", "Newton to a tolerance", newton, _around([2.0, 5.0], 0.5), by_hand="newton"),
    Problem("barrier", "barrier option, 100 × 50", barrier, _around([1.0, 0.2], 0.05), by_hand="barrier"),
    Problem(
        "descent", "line search, 4 rounds", descent, _around([0.7, 0.4], 0.3), taped=descent_of_loops, by_hand="descent",
    ),
    Problem(
        "armijo", "Armijo's descent, to 60 rounds", armijo, _around([1.0, 5.0, 0.1], 0.3), taped=armijo_of_loops, by_hand="armijo",
    ),
    Problem(
        "bisection", "bisection, Newton inside", bisection, _around([2.0, 1.2, 4.0], 0.2), taped=bisection_of_loops, by_hand="bisection",
    ),
)  # fmt: skip
MERGED_BY_NAME = {problem.name: problem for problem in MERGED_PROBLEMS}
