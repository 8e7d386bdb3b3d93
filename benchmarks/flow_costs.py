"""Costs of the interpreter of control flow against a tape per path: recordings, first gradients and calls.

    python -m benchmarks.flow_costs [--only TEXT ...] [--json FILE]

Answers first: at every point value and gradient of each form are held against a recording for that point alone. Then in turns, with the
least of each kept, in processor time: *recording*: td.record(f, x), with merge=False and merge=True; *first*: a new td.GuardedTape up to
its first gradient, in a process of its own, for all paths and for each; *call*: their gradients at all points in turn, once recorded.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from time import process_time, thread_time
from typing import NamedTuple

import numpy
import numpy as np

import tapediff as td

from .merged_problems import MERGED_BY_NAME

FORMS = {"paths": False, "flow": True}
POINTS, WARM, RECORDINGS, FIRSTS = 16, 6, 5, 3

_rng = numpy.random.default_rng(20261128)
SHOCKS = _rng.normal(size=300)
MEASURED = numpy.cumsum(_rng.normal(size=200))
MATRIX, TARGET = _rng.normal(size=(60, 40)), _rng.normal(size=60)


class Vector:
    """A pair of numbers with operators."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


def user_operators(p):
    """A body around an attractor, with numbers that have operators of the user's."""
    position, speed, energy = Vector(p[0], 0.3), Vector(-0.2, p[1]), 0.0
    for _ in range(150):
        speed = speed - position * (0.05 * p[2])
        position = position + speed * 0.1
        energy = energy + speed.dot(speed)
    return energy + position.dot(-position)


def operators_with_branches(p):
    """The same, in a box."""
    position, speed, energy = Vector(p[0], 0.3), Vector(-0.2, p[1]), 0.0
    for _ in range(150):
        speed = speed - position * (0.05 * p[2])
        position = position + speed * 0.1
        if position.dot(position) > 1.0:
            speed = -speed * 0.9
        energy = energy + speed.dot(speed)
    return energy


class Heater:
    """A heater with hysteresis."""

    def __init__(self, warmth, power):
        self.warmth, self.power, self.is_on, self.used = warmth, power, False, 0.0

    def step(self, outside):
        heat = self.power if self.is_on else 0.0
        self.warmth += 0.1 * (heat + outside - 0.3 * self.warmth)
        self.used += heat
        if self.warmth > 1.2:
            self.is_on = False
        elif self.warmth < 0.8:
            self.is_on = True


def steps_of_an_object(p):
    """A method that changes its object, in a loop."""
    heater = Heater(p[0], p[1])
    for shock in SHOCKS:
        heater.step(0.1 * p[2] * shock)
    return heater.used + heater.warmth


def decision_tree(p):
    """Nested branches, down to one of many leaves."""
    total = 0.0
    for shock in SHOCKS[:40]:
        u, v = p[0] + shock, p[1] * shock
        if u < 0.0:
            if v < 0.1:
                leaf = u * p[2]
            else:
                leaf = v - p[2] if u < -1.0 else u * v
        elif v > p[2]:
            leaf = 0.5 * u * u
        else:
            leaf = p[0] if u < 0.5 else math.exp(-u)
        total += leaf
    return total


def arrays(p):
    """Array code without branches."""
    weights = np.tanh(p[0] * np.arange(40.0) / 40.0 + p[1])
    residual = MATRIX @ weights - p[2] * TARGET
    return np.sum(np.log1p(residual**2)) + 0.1 * np.sum(weights**2)


def scalars(p):
    """Numbers in a loop without branches."""
    x, y = p[0], p[1]
    for shock in SHOCKS:
        x, y = x + 0.01 * (p[2] * (y - x) + shock), y + 0.01 * (x * (1.5 - x * y) - y)
    return x * x + y


def kalman(p):
    """The likelihood of a local level, with missing and extreme measurements."""
    level, variance, total = 0.0, 10.0, 0.0
    drift, noise = p[0] ** 2 + 0.1, p[1] ** 2 + 0.1
    for y in MEASURED:
        variance = variance + drift
        error = y - level
        spread = variance + noise
        if error * error > (8.0 + p[2]) * spread:
            continue
        gain = variance / spread
        level, variance = level + gain * error, variance * (1.0 - gain)
        total = total + 0.5 * (math.log(spread) + error * error / spread)
    return total


class Program(NamedTuple):
    """A function and its points.

    Attributes:
        is_straight: there are no tests of data in it.
    """

    f: object
    points: tuple[np.ndarray, ...]
    is_straight: bool = False


def _own(f, centre, is_straight=False):
    centre = numpy.asarray(centre)
    return Program(f, tuple(centre * (1.0 + 0.2 * _rng.uniform(-1.0, 1.0, size=(POINTS, 3)))), is_straight)


PROGRAMS = {
    "huber": Program(MERGED_BY_NAME["huber"].function, MERGED_BY_NAME["huber"].points),
    "user's operators": _own(user_operators, [0.5, 0.4, 1.0], is_straight=True),
    "user's operators, branches": _own(operators_with_branches, [0.5, 0.4, 1.0]),
    "steps of an object": _own(steps_of_an_object, [1.0, 0.6, 1.0]),
    **{name: Program(MERGED_BY_NAME[name].function, MERGED_BY_NAME[name].points)
       for name in ("barrier", "descent", "lockdown", "bucket", "adaptive")},
    "decision tree": _own(decision_tree, [0.5, 1.0, 0.5]),
    "arrays": _own(arrays, [1.0, 0.5, 1.0], is_straight=True),
    "scalars": _own(scalars, [1.0, 0.5, 2.0], is_straight=True),
    "Kalman filter": _own(kalman, [1.0, 1.0, 1.0]),
}  # fmt: skip


def check(name, program):
    """The warm guarded tapes, whose answers are those of recordings for each point alone."""
    warm = {form: td.GuardedTape(program.f, merge=merge) for form, merge in FORMS.items()}
    for k in range(WARM):
        for x in program.points:
            answers = {form: td.value_and_gradient(tape, x) for form, tape in warm.items()}
            if k:
                continue
            value, gradient = td.value_and_gradient(td.record(program.f, x, merge=False), x)
            for form, (v, g) in answers.items():
                # Sums in another order, over some hundred steps.
                if not (np.isclose(v, value, rtol=1e-9) and np.allclose(g, gradient, rtol=1e-7, atol=1e-8 * np.max(np.abs(gradient)))):
                    raise AssertionError(f"{name}, {form}, at {x}: {v}, {g} instead of {value}, {gradient}")
    return warm


def recording(program):
    """Seconds of a recording, by form."""
    best = dict.fromkeys(FORMS, math.inf)
    for k in range(RECORDINGS):
        for form, merge in FORMS.items():
            started = thread_time()
            td.record(program.f, program.points[k], merge=merge)
            best[form] = min(best[form], thread_time() - started)
    return best


def first_gradient(program):
    """Seconds of processor up to the first gradient, by form; each in a process of its own, which has compiled something else."""
    best = dict.fromkeys(FORMS, math.inf)
    for k in range(FIRSTS):
        for form in best:
            best[form] = min(best[form], _in_child(_first, program, form, k))
    return best


def _first(program, form, k):
    started = process_time()
    td.value_and_gradient(td.GuardedTape(program.f, merge=FORMS[form]), program.points[k])
    return process_time() - started


def _in_child(run, *args):
    """Run a function in a copy of this process; its result."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(run(*args)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return float(text)


def call(program, warm):
    """Microseconds of a gradient at all points in turn, by form."""
    best, out = dict.fromkeys(warm, math.inf), np.empty(len(program.points[0]))
    for _ in range(60):
        for form, tape in warm.items():
            started = thread_time()
            for x in program.points:
                td.value_and_gradient(tape, x, out=out)
            best[form] = min(best[form], 1e6 * (thread_time() - started) / len(program.points))
    return best


def measure(name, program):
    # Before anything of it is compiled here.
    found = {"first": first_gradient(program)}
    warm = check(name, program)
    found |= {"recording": recording(program), "call": call(program, warm)}
    found["recordings"] = {form: tape.stats.recordings for form, tape in warm.items()}
    return found


def shown(name, found):
    record, first, calls = found["recording"], found["first"], found["call"]
    return (
        f"{name:28}{1e3 * record['paths']:8.1f}{record['flow'] / record['paths']:7.2f}"
        f"{1e3 * first['flow']:10.0f}{1e3 * first['paths']:9.0f}{first['flow'] / first['paths']:7.2f}"
        f"{calls['flow']:10.2f}{calls['paths']:9.2f}{calls['flow'] / calls['paths']:7.2f}"
        f"{found['recordings']['flow']:7d}{found['recordings']['paths']:9d}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json")
    arguments = parser.parse_args()
    td.value_and_gradient(td.GuardedTape(lambda x: x[0] * 2.0), np.ones(1))
    heads = ("path ms", "flow/", "first: flow ms", "path", "ratio", "call: flow us", "paths", "ratio", "tapes", "paths")
    print("recording, first gradient, call:", ", ".join(heads))
    results = {}
    for name, program in PROGRAMS.items():
        if arguments.only and not any(text in name for text in arguments.only):
            continue
        results[name] = measure(name, program)
        print(shown(name, results[name]))
        sys.stdout.flush()
    for title in ("first", "call"):
        logs = [math.log(found[title]["flow"] / found[title]["paths"]) for found in results.values()]
        print(f"{title}: geometric mean {math.exp(sum(logs) / len(logs)):.2f} of a tape per path")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
