"""Random programs as the bodies of sub-tapes and loops: merged bodies are compared with the paths of the same bodies, and with plain Python.

`python -m tests.random_programs.bodies --programs 300 --kind stateful` runs them with nothing but the rules of merging to keep them right.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tapediff as td
from tapediff.functions import merged_body
from tapediff.functions.callees import callee, recorded_callee

from .branching import function_of
from .mixed_programs import MixedProgram
from .stateful_branching import KINDS, _differ, outcome, points


def in_a_subtape(f):
    piece = td.subtape(f)
    return lambda x: piece(x) + 0.5 * piece(x[::-1] * 1.0) - piece(x * 0.3)


def in_a_subtape_of_a_subtape(f):
    piece = td.subtape(f)
    outer = td.subtape(lambda x: piece(x) * (2.0 if x[1] > 0 else 1.0))
    return lambda x: outer(x) + outer(-x)


def in_a_scan(f):
    return lambda x: td.scan(lambda c, v: (0.25 * c + f(v + 0.1 * c), c), 0.5 * x[0], np.stack([x, x[::-1], 0.5 * x]))[0]


def in_a_while_loop(f):
    def turn(carry):
        k, s, x = carry
        return k + 1.0, 0.5 * s + f(x + 0.1 * s), x

    return lambda x: td.while_loop(lambda carry: carry[0] < 3.0, turn, (0.0, 0.0, x))[1]


def in_a_branch(f):
    return lambda x: td.cond(x[1] > 0, lambda: f(x), lambda: f(x * 0.5) + x[0]) + td.cond(x[2] > 0, lambda: f(-x), lambda: x[1])


FORMS: tuple[Callable, ...] = (in_a_subtape, in_a_subtape_of_a_subtape, in_a_scan, in_a_while_loop, in_a_branch)


# Of functions that give a number, an int and a bool.


def results_of_a_subtape(f):
    piece = td.subtape(f)

    def whole(x):
        total = x[0] * 0.0
        for v in (x, x[::-1] * 1.0, 0.3 * x):
            a, n, hit = piece(v)
            total = total + a + 0.5 * n * v[1] + np.where(hit, v[2], 0.25)
        return total

    return whole


def results_of_a_scan(f):
    def step(carry, v):
        total, n, hit, before = carry
        a, k, is_hit = f(v + 0.1 * total)
        if total > 0.2:
            n = n + 1
        if hit:
            n = 0
            total = total * 0.5
        if v[0] > v[1]:
            before, hit = n, True
        elif is_hit:
            hit = False
        return (total + 0.5 * a + 0.1 * k, n, hit, before), (n, hit)

    def whole(x):
        (total, n, hit, before), (counts, hits) = td.scan(step, (0.5 * x[0], 0, False, 1), np.stack([x, x[::-1], 0.5 * x, -x]))
        return total + n * x[1] + before * x[2] + np.where(hit, x[3], 0.5) + np.sum(counts * x[:4]) + np.sum(hits * x[1:])

    return whole


def results_of_a_branch(f):
    def whole(x):
        a, n, hit = td.cond(x[1] > 0, lambda: f(x), lambda: f(0.5 * x))
        return a + n * x[0] + np.where(hit, x[2], x[3])

    return whole


FORMS_OF_RESULTS: tuple[Callable, ...] = (results_of_a_subtape, results_of_a_scan, results_of_a_branch)
ALL_KINDS: dict[str, Callable[[int], Any]] = {**KINDS, "results": functools.partial(MixedProgram, results=True)}


@contextlib.contextmanager
def unchecked(native: bool):
    """Leave out the comparison of merged bodies with their paths, and merge them whatever they cost."""
    was = merged_body.agree, merged_body.MOST_COST_RATIO, callee.NATIVE
    merged_body.agree, merged_body.MOST_COST_RATIO, callee.NATIVE = lambda *_: True, np.inf, native
    try:
        yield
    finally:
        merged_body.agree, merged_body.MOST_COST_RATIO, callee.NATIVE = was


@contextlib.contextmanager
def counted():
    """Counts the bodies that are merged."""
    used, count = recorded_callee.RecordedCallee._use_merged, [0]

    def counting(self, made):
        count[0] += 1
        return used(self, made)

    recorded_callee.RecordedCallee._use_merged = counting
    try:
        yield count
    finally:
        recorded_callee.RecordedCallee._use_merged = used


def faults_of(seed: int, count: int, form: Callable, kind: str = "stateful", native: bool = False, at_once: bool = True):
    """A program's text, how its merged body differs at so many points, in two orders, and how often a body was merged."""
    text = ALL_KINDS[kind](seed).text()
    f = function_of(text)
    settings = {} if native else {"on_new_tape": "interpret", "compile_after": 1_000_000}
    found: list[str] = []
    with unchecked(native), counted() as merged, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for order in (points(seed, count), points(seed, count)[::-1]):
            calls = [form(function_of(text)) for _ in range(2)]
            paths = td.GuardedTape(calls[0], merge=False, max_tapes=1000, **settings)
            whole = td.GuardedTape(calls[1], merge=True if at_once else None, max_tapes=1000, **settings)
            plain = form(f)
            for x in order:
                differs = fault(plain, paths, whole, x)
                if differs is not None:
                    found.append(f"{x!r}: {differs}")
    return text, found, merged[0]


def fault(plain: Callable, paths: td.GuardedTape, merged: td.GuardedTape, x: np.ndarray) -> str | None:
    """How a merged body differs from its paths at a point; None where these are no reference."""
    expected = outcome(lambda: plain(x.copy()))
    own, found = (outcome(lambda g=g: td.value_and_gradient(g, x.copy())) for g in (paths, merged))
    if isinstance(own, Exception) or isinstance(expected, Exception) or _differ(expected, own):
        return None
    if isinstance(found, Exception) or _differ(expected, found):
        return f"{own!r} is {found!r}"
    known = ~np.isnan(own[1])
    return None if np.allclose(found[1][known], own[1][known], rtol=1e-9, atol=1e-11) else f"{own} is {found}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--points", type=int, default=8)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--late", action="store_true", help="merge after three variants")
    parser.add_argument("--kind", choices=ALL_KINDS, default="stateful")
    chosen = parser.parse_args()
    wrong, merged, began = 0, 0, time.time()
    forms = FORMS_OF_RESULTS if chosen.kind == "results" else FORMS
    for seed in range(chosen.first, chosen.first + chosen.programs):
        form = forms[seed % len(forms)]
        try:
            text, found, count = faults_of(seed, chosen.points, form, chosen.kind, chosen.native, not chosen.late)
        except (SyntaxError, RecursionError) as error:
            print(seed, error, flush=True)
            continue
        merged += bool(count)
        if found:
            wrong += 1
            print(f"--- seed {seed}, {form.__name__}\n{text[text.index('def f(') :]}\n" + "\n".join(found[:3]), flush=True)
        if (seed + 1 - chosen.first) % 50 == 0:
            print(f"{seed + 1 - chosen.first} programs, {merged} merged, {wrong} wrong, {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
