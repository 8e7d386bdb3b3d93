"""Inner functions with `nonlocal` are part of the turns of long loops: one turn is recorded, with the answers of all."""

from __future__ import annotations

import numpy as np

TURNS = 300
TIMES = np.random.default_rng(20261131).normal(size=TURNS)
POINTS = np.array([[0.4, 0.8], [0.9, 0.3], [-1.4, 0.95]])


def a_step(p):
    s = 0.0

    def step(v):
        nonlocal s
        s = 0.9 * s + p[0] * v
        if s > 0.5:
            s -= p[1]
        return s

    total = 0.0
    for v in TIMES:
        total += step(v) ** 2
    return total / TURNS + s


def returns_early(p):
    """Its result tells what happened."""
    s, hits = 0.0, 0

    def step(v, scale):
        """Another text."""
        nonlocal s, hits
        w = v * scale
        if w > 0.5:
            s, hits = s * p[1], hits + 1
            return w
        s = s + w
        return -s

    total = 0.0
    for i in range(TURNS):
        w = 1.5 * np.tanh(step(TIMES[i], p[0])) + p[1]
        total += w * w
    return total / TURNS + s * 0.01 + hits * p[0]


def called_for_what_it_changes(p):
    s = p[0]

    def step(v):
        nonlocal s
        s = np.tanh(s + p[1] * v)

    total = 0.0
    for v in TIMES:
        step(v)
        total += s
    return total


def given_what_it_changes(p):
    s, total = p[0], 0.0

    def step(w):
        nonlocal s
        s = 0.3 * w
        return w * p[1]

    for v in TIMES:
        got = step(s + v)
        total += got * s
    return total


def in_a_test(p):
    s, total = p[0], 0.0

    def step(w):
        nonlocal s
        s = 0.3 * s + w * p[1]
        return s

    for v in TIMES:
        if step(v) > 0.2:
            total += v * p[0]
        else:
            total -= p[1]
    return total


def reads_before_and_after(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return s

    for v in TIMES:
        total += s * step(v) + s
    return total


def adds_to_what_it_changes(p):
    total = p[0]

    def step(v):
        nonlocal total
        total = 0.5 * total + v
        return v * p[1]

    for v in TIMES:
        total += step(v)
    return total


def called_twice(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return s

    for v in TIMES:
        total += step(v)
        total -= step(-v) ** 2
    return total


def maybe_called(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return s

    for v in TIMES:
        total += step(v) if v > 0.0 else 1.0
        total += 1.0 if v > 1.0 and step(v) > 0.1 else 0.0
    return total


def kept_for_later(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return s

    for v in TIMES:
        total += step(v)
    later = [step, step]
    return total + later[1](1.0)


def defined_again(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return s

    if len(TIMES) > 3:

        def step(v):
            nonlocal s
            s = 0.7 * s + v * p[1]
            return s * s

    for v in TIMES:
        total += step(v)
    return total


def writes_to_a_list(p):
    s, total, last = p[0], 0.0, [0.0]

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        last[0] = s
        return v

    for v in TIMES:
        total += last[0] * step(v)
    return total + last[0]


def seen_by_another(p):
    s, total = p[0], 0.0

    def step(v):
        nonlocal s
        s = 0.3 * s + v * p[1]
        return v

    def now():
        return s

    for v in TIMES:
        total += now() * p[0]
        total += step(v)
    return total + now()


def names_of_its_own(p):
    s, v, w = p[0], 1.0, 2.0

    def step(w):
        nonlocal s
        v = 2.0 * w
        s = 0.3 * s + v * p[1]
        return v + w

    total = 0.0
    for t in TIMES:
        total += step(t) * p[0]
    return total * v + w * s


OTHERS = (
    reads_before_and_after, adds_to_what_it_changes, called_twice, maybe_called, kept_for_later, defined_again, writes_to_a_list, seen_by_another,
    names_of_its_own,
)  # fmt: skip


PROGRAMS = [
    a_step,
    returns_early,
    called_for_what_it_changes,
    given_what_it_changes,
    in_a_test,
    reads_before_and_after,
    adds_to_what_it_changes,
    called_twice,
    maybe_called,
    kept_for_later,
    defined_again,
    writes_to_a_list,
    seen_by_another,
    names_of_its_own,
]
