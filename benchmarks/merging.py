"""Plain functions with branches on data, as one tape, beside their paths, annotated forms, hand-written code and JAX.

    python -m benchmarks.merging [--only TEXT ...] [--quick]

Answers first: at every point value and gradient of each engine are held against a recording for that point alone. Points are at random, and
nearly each takes another path. Times are of the processor, in µs for a gradient: *merged* is td.GuardedTape(f) at all points in
turn; *path* is a tape of the path at one point, asked there again and again; *annotated* has np.where or td.subtape in it; *by hand* is a
numba function; *value* is plain Python's value alone.
"""

import argparse
import importlib.util
import math
import sys
from time import perf_counter, thread_time

import numpy as np

import tapediff as td

from .merged_problems import MERGED_PROBLEMS

COLUMNS = ("tapes", "first, s", "merged", "path", "annotated", "by hand", "jax.jit", "value")


def engines(problem):
    """The gradients to time, by the name of their column: functions of a point and a buffer, which return value and gradient."""
    from . import handwritten_branches

    merged, path = td.GuardedTape(problem.function), td.GuardedTape(problem.function, merge=False)
    found = {"merged": with_buffer(merged), "path": with_buffer(path)}
    if problem.taped is not None:
        found["annotated"] = with_buffer(td.GuardedTape(problem.taped))
    kernel = getattr(handwritten_branches, problem.by_hand)
    found["by hand"] = lambda x, out: (kernel(x, out), out)
    if importlib.util.find_spec("jax") is not None:
        import jax

        from .jax_merged_versions import value_and_gradient

        fast = value_and_gradient(problem.name)
        found["jax.jit"] = lambda x, out: jax.block_until_ready(fast(x))
    found["value"] = lambda x, out: (problem.function(x), None)
    return merged, found


def with_buffer(target):
    return lambda x, out: td.value_and_gradient(target, x, out=out)


def check(problem, found):
    """Raise unless the engines agree with a recording at each point."""
    for x in problem.points:
        value, gradient = td.value_and_gradient(td.record(problem.function, x, merge=False), x)
        for engine, call in found.items():
            if engine == "path" and x is not problem.points[0]:
                continue
            v, g = call(x, np.empty_like(x))
            # Adding up in another order, over some hundred steps; far below a mistake.
            is_same = g is None or np.allclose(g, gradient, rtol=1e-7, atol=1e-8 * np.max(np.abs(gradient)))
            if not is_same or not np.isclose(v, value, rtol=1e-9):
                raise AssertionError(f"{problem.title}, {engine} at {x}: {v}, {g} instead of {value}, {gradient}")


def microseconds(call, points, seconds):
    """The least time of a call, over samples of all points in turn."""
    clock = thread_time
    buffers = [np.empty_like(x) for x in points]
    best, spent, repeats = math.inf, 0.0, 1
    while spent < seconds:
        started = clock()
        for _ in range(repeats):
            for x, out in zip(points, buffers):
                call(x, out)
        taken = clock() - started
        best, spent = min(best, taken / repeats / len(points)), spent + taken
        if taken < 1e-3:
            repeats *= 2
    return 1e6 * best


def measure(problem, seconds):
    merged, found = engines(problem)
    started = perf_counter()
    td.gradient(merged, problem.points[0])
    row = {"first, s": perf_counter() - started}
    check(problem, found)
    row["tapes"] = merged.stats.recordings
    for engine, call in found.items():
        # JAX computes on threads of its own.
        points = problem.points[:1] if engine == "path" else problem.points
        row[engine] = microseconds(call, points, seconds) if engine != "jax.jit" else wall_microseconds(call, points, seconds)
    return row


def wall_microseconds(call, points, seconds):
    best, until = math.inf, perf_counter() + seconds
    while perf_counter() < until:
        started = perf_counter()
        for x in points:
            call(x, None)
        best = min(best, (perf_counter() - started) / len(points))
    return 1e6 * best


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    options = parser.parse_args(arguments)
    print("| " + " | ".join(["gradient, µs", *COLUMNS, "merged / path", "/ by hand", "/ jax.jit"]) + " |")
    print("|---|" + "---:|" * (len(COLUMNS) + 3))
    for problem in MERGED_PROBLEMS:
        if not any(text in problem.name for text in options.only):
            continue
        row = measure(problem, 0.05 if options.quick else 0.3)
        cells = [f"{row[c]:.3g}" if c in row else "" for c in COLUMNS]
        cells += [f"{row['merged'] / row[other]:.2f}" if other in row else "" for other in ("path", "by hand", "jax.jit")]
        print("| " + " | ".join([problem.title, *cells]) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
