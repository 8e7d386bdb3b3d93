"""Plain functions with branches on data, merged into one tape, beside their paths, annotated forms, hand-written code and JAX.

    python -m benchmarks.merging [--only TEXT ...] [--quick] [--calls]

Answers first: at every point value and gradient of each engine are held against a recording for that point alone. Points are at random, and
nearly each takes another path. Times are of the processor, in µs for a gradient: *merged* is td.GuardedTape(f, merge=True) at all points in
turn; *path* is a tape of the path at one point, asked there again and again; *annotated* has np.where or td.subtape in it; *by hand* is a
numba function; *value* is plain Python's value alone. With --calls, each function is called without any setting, at one point after the
other, and the time of each call is shown beside that of plain Python's value alone there: the first ten, of which a few record, those up to
the last that is compared with the plain function, and all after it.
"""

import argparse
import importlib.util
import math
import sys
from time import perf_counter, thread_time

import numpy as np

import tapediff as td

from .merged_problems import MERGED_PROBLEMS

CALLS = 60

COLUMNS = ("tapes", "first, s", "merged", "path", "annotated", "by hand", "jax.jit", "value")


def engines(problem):
    """The gradients to time, by the name of their column: functions of a point and a buffer, which return value and gradient."""
    from . import handwritten_branches

    merged, path = td.GuardedTape(problem.function, merge=True), td.GuardedTape(problem.function, merge=False)
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
        value, gradient = td.value_and_gradient(td.record(problem.function, x), x)
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
    for _ in range(2):  # the first calls of a merged form are compared with the plain function
        for x in problem.points:
            td.gradient(merged, x)
    row["tapes"] = int(merged.explain().partition(": ")[2].split()[0])
    for engine, call in found.items():
        # JAX computes on threads of its own.
        points = problem.points[:1] if engine == "path" else problem.points
        row[engine] = microseconds(call, points, seconds) if engine != "jax.jit" else wall_microseconds(call, points, seconds)
    return row


def ratios_by_call(problem):
    """The gradient of each of the first calls, without any setting, against plain Python's value at that point: the least of three."""
    guarded, ratios, compared = td.GuardedTape(problem.function), [], 0
    for k in range(CALLS):
        x = problem.points[k % len(problem.points)]
        plain = min(seconds_of(lambda x=x: problem.function(x)) for _ in range(3))
        ratios.append(seconds_of(lambda x=x: td.gradient(guarded, x)) / plain)
        merging = guarded._recorder.merging
        if merging.trials_left or k < 10:
            compared = k + 1
    return ratios[:10], ratios[10 : compared + 1], ratios[compared + 1 :], merging.is_on


def seconds_of(call):
    started = thread_time()
    call()
    return thread_time() - started


def show_calls(problems):
    print("| gradient / plain value, per call | first 10: median, most | compared: median, most | after: median, most | merged |")
    print("|---|---:|---:|---:|---:|")
    for problem in problems:
        *parts, is_merged = ratios_by_call(problem)
        cells = [f"{np.median(part):.3g}, {max(part):.3g}" if part else "" for part in parts]
        print("| " + " | ".join([problem.title, *cells, "yes" if is_merged else "no"]) + " |", flush=True)


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
    parser.add_argument("--calls", action="store_true", help="the times of the first calls")
    options = parser.parse_args(arguments)
    if options.calls:
        show_calls([p for p in MERGED_PROBLEMS if any(text in p.name for text in options.only)])
        return
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
