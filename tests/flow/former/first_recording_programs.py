"""Programs with a branch in a loop: more than one loop, errors, globals and long loops."""

import math

import numpy as np

POINTS = np.random.default_rng(4).normal(size=(4, 12))


def robust(x):
    total = 0.0
    for v in x:
        if abs(v) < 1.0:
            total += v * v
        else:
            total += abs(v)
    return total


def in_two_loops(x):
    total = robust(x)
    for v in x:
        if v > total:
            total = total * 1.5
    return total


def catches_everything(x):
    total = 0.0
    for v in x:
        try:
            is_small = v < 0.5
            if is_small:
                total += v
            else:
                total += v * v
        except BaseException:  # noqa: BLE001 -- it is the test
            total += 1000.0
    return total


def collects(x):
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v * v)
    return sum(kept) + x[0]


def settles(x, turns=60):
    values = x
    for _ in range(turns):
        new = np.stack([0.5 * values[k] + 0.1 * np.sin(values[k - 1]) for k in range(len(x))])
        if np.max(np.abs(new - values)) < 1e-7:
            break
        values = new
    return np.sum(values)


def clips_an_outlier(x):
    total = 0.0
    for k in range(100):
        for v in x:
            total = total * 0.5 + (1.0 if v > 2.0 + 10 * abs(k - 3) else v)
    return total


def growth(v):
    return 1.0 + v * v


def decline(v):
    return 1.0 - 0.5 * v


STEP = growth


def chosen_by_a_global(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += STEP(v)
        else:
            total += 0.5 * v
    return total


def logarithms(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += math.log(v + 1.0)
        else:
            total += math.exp(v)
    return total


def thresholds(x):
    weight = 1.0
    for v in x:
        if v > 0.0:
            weight = weight * 0.5
        if weight < 0.2:
            weight = 0.2
    return weight * x[0]


NUMBERS = np.random.default_rng(6).normal(size=4000).tolist()


def bends_both_ways(p):
    s = 0.0
    for v in NUMBERS:
        r = v - p[0] * np.sin(p[1] * v)
        s += r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0
    return s


def bends_later(p):
    s = 0.0
    for k, v in enumerate(NUMBERS):
        r = v - p[0] * np.sin(p[1] * v)
        s += r * r if abs(r) < 1.0 else 2.0 * abs(r) - 1.0
        if k > 1000 and r > p[1]:
            s += p[0]
    return s


PROGRAMS = [
    robust,
    in_two_loops,
    catches_everything,
    collects,
    settles,
    clips_an_outlier,
    chosen_by_a_global,
    logarithms,
    thresholds,
    bends_both_ways,
    bends_later,
]
