"""Answers checked, and times side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from .engines import Bind
from .problem import Problem

Clock = Callable[[], float]

# Short samples that take turns: a busy moment of the machine spoils one sample of each, and the best of many is kept.
SECONDS_A_SAMPLE = 0.004
FEWEST_SAMPLES = 3
# Central differences along a direction lose half the digits: 1e-5 tells a right gradient from one with a mistake in it.
DIFFERENCE_RTOL = 1e-5


class WrongAnswer(AssertionError):
    """An engine disagrees with the others, or all of them with finite differences."""


def nearby(problem: Problem) -> list[np.ndarray]:
    """Points at which nothing was recorded: those of the problem, moved a little."""
    rng = np.random.default_rng(7)
    return [point + 0.01 * rng.normal(size=point.size) for point in problem.points]


def check(problem: Problem, binds: Mapping[str, Bind]) -> dict[str, str]:
    """What is wrong with each engine, at the problem's points and near them; empty if nothing is."""
    wrong: dict[str, str] = {}
    for point in (*problem.points, *nearby(problem)):
        value, gradient = reference(problem, binds, point)
        for engine, bind in binds.items():
            message = difference(answer(bind, point), value, gradient, problem.rtol)
            if message:
                wrong.setdefault(engine, message)
    return wrong


def answer(bind: Bind, point: np.ndarray) -> tuple[float, Any]:
    """Asked twice, and the second answer counts: the first may come from elsewhere, and the second must not depend on it."""
    call, read = bind(point.copy())
    call()
    return read(call())


def reference(problem: Problem, binds: Mapping[str, Bind], point: np.ndarray) -> tuple[float, np.ndarray]:
    """The plain function's value; the gradient of the engine that owes tapediff the least, held against finite differences."""
    value = float(problem.function(point))
    name = next(e for e in ("by hand", "jax.jit", "PyTorch", "autograd", "CasADi", "uncompiled", "compiled") if e in binds)
    gradient = np.array(answer(binds[name], point)[1])
    if problem.is_rough:
        return value, gradient
    direction = np.random.default_rng(11).normal(size=point.size)
    direction /= np.linalg.norm(direction)
    slopes = [
        (float(problem.function(point + h * direction)) - float(problem.function(point - h * direction))) / (2 * h)
        for h in (1e-4, 1e-5, 1e-6)
    ]
    off = min(abs(slope - gradient @ direction) for slope in slopes) / max(np.linalg.norm(gradient), 1e-300)
    if not off < DIFFERENCE_RTOL:
        raise WrongAnswer(f"{problem.title}: the gradient of {name} is {off:.1e} off finite differences")
    return value, gradient


def difference(given: tuple[float, Any], value: float, gradient: np.ndarray, rtol: float) -> str:
    if not abs(given[0] - value) <= rtol * max(abs(value), np.max(np.abs(gradient))):
        return f"value {given[0]!r}, and NumPy's is {value!r}"
    if given[1] is None:
        return ""
    off = np.max(np.abs(given[1] - gradient)) / np.max(np.abs(gradient))
    return "" if off < rtol else f"gradient off by {off:.1e} of its largest component"


def best_microseconds(
    problem: Problem, binds: Mapping[str, Bind], seconds_each: float = 0.15, samples: int = 60, clock: Clock = perf_counter
) -> dict[str, float]:
    """The best time of one evaluation by each engine, over samples in which all take turns.

    Args:
        seconds_each: an engine that has spent so long on a problem leaves the turns, after 3 samples at the earliest.
        samples: how many turns at most.
        clock: time.process_time on a busy machine, which leaves out other programs, and adds up threads.
    """
    turns = {engine: [bind(point.copy())[0] for point in problem.points] for engine, bind in binds.items()}
    count = len(problem.points)
    numbers = {engine: calls_a_sample(calls) for engine, calls in turns.items()}
    best = dict.fromkeys(turns, float("inf"))
    spent = dict.fromkeys(turns, 0.0)
    for k in range(samples):
        going = [engine for engine in turns if k < FEWEST_SAMPLES or spent[engine] < seconds_each]
        if not going:
            break
        for engine in going:
            taken = seconds(turns[engine], numbers[engine], clock)
            spent[engine] += taken
            best[engine] = min(best[engine], taken / (numbers[engine] * count))
    return {engine: time * 1e6 for engine, time in best.items()}


def calls_a_sample(calls: Sequence[Callable[[], Any]]) -> int:
    number = 1
    while seconds(calls, number) < SECONDS_A_SAMPLE / 2:
        number *= 2
    return number


def seconds(calls: Sequence[Callable[[], Any]], number: int, clock: Clock = perf_counter) -> float:
    """Of `number` rounds through the calls."""
    if len(calls) == 1:
        call = calls[0]
        started = clock()
        for _ in range(number):
            call()
        return clock() - started
    started = clock()
    for _ in range(number):
        for call in calls:
            call()
    return clock() - started
