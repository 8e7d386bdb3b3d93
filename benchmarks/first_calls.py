"""What the first calls of a function with branches cost, without any setting: gradients at random points beside plain Python's value alone.

    python -m benchmarks.first_calls [--only TEXT ...] [--json FILE]

Each program is called at 40 random points through td.GuardedTape(f).value_and_gradient, recordings, compilations and comparisons
included; each answer is held against a recording for that point alone. Times are of the processor. Columns: the median ratio to plain
Python's value of the first ten calls and of all later ones; the share of these that are slower than it; recordings up to the tenth call and
after it; how much longer the kernel of the merged form takes than that of the path at a point, where the merged form is used in the end.
"""

import argparse
import json
import sys
import warnings
from time import thread_time

import numpy as np

import tapediff as td

from .branching_programs import PROGRAMS
from .merged_problems import MERGED_PROBLEMS

CALLS, FIRST = 40, 10
# The kernels of both forms are compared at so many points.
COMPARED = 5


def all_programs():
    """By name: the function, and its points."""
    found = {f.__name__: (f, list(np.random.default_rng(5).normal(size=(CALLS, 3)))) for f in PROGRAMS}
    for problem in MERGED_PROBLEMS:
        found[problem.name] = problem.function, [problem.points[k % len(problem.points)] for k in range(CALLS)]
    try:
        from tests.functions.merging import (
            loop_programs,
            natural_programs,
            nested_programs,
            programs,
            reduction_programs,
            state_programs,
        )
        from tests.functions.merging.test_merging import POINTS
    except ImportError:  # not in a checkout
        return found
    points = [POINTS[k % len(POINTS)] for k in range(CALLS)]
    for module in (programs, loop_programs, natural_programs, nested_programs, reduction_programs, state_programs):
        found |= {f"{f.__name__} (test)": (f, points) for f in module.MERGE}
    return found


def seconds_of(call, repeats=1):
    best = np.inf
    for _ in range(repeats):
        started = thread_time()
        call()
        best = min(best, thread_time() - started)
    return best


def check(f, x, value, gradient):
    tape = td.record(f, x)
    expected, other = td.value_and_gradient(tape, x)
    # Sums in another order, over some hundred steps.
    if not (np.isclose(value, expected, rtol=1e-9) and np.allclose(gradient, other, rtol=1e-7, atol=1e-8 * np.max(np.abs(other)))):
        raise AssertionError(f"{f.__name__} at {x}: {value}, {gradient} instead of {expected}, {other}")


@np.errstate(all="ignore")
def measure(f, points):
    guarded, ratios, recordings, answers = td.GuardedTape(f), [], [], []
    for x in points:
        started = thread_time()
        f(x)
        plain = thread_time() - started
        started = thread_time()
        answers.append(td.value_and_gradient(guarded, x))
        ratios.append((thread_time() - started) / plain)
        recordings.append(guarded.stats.recordings)
    for x, (value, gradient) in zip(points, answers):
        check(f, x, value, gradient)
    later = ratios[FIRST:]
    row = {
        "first": float(np.median(ratios[:FIRST])), "later": float(np.median(later)), "slower": sum(r > 1.0 for r in later) / len(later),
        "recorded": recordings[FIRST - 1], "recorded later": recordings[-1] - recordings[FIRST - 1],
        "merged": guarded._recorder.merging.is_on,
    }  # fmt: skip
    if row["merged"]:
        row["beside the path"] = beside_the_path(f, guarded, points[-COMPARED:])
    return row


def beside_the_path(f, guarded, points):
    """The median ratio of times of kernels, merged and of the path at a point."""
    ratios = []
    for x in points:
        path, out = td.compile(f, x), np.empty_like(x)
        td.value_and_gradient(path, x, out=out)
        times = {id(target): np.inf for target in (path, guarded)}
        for _ in range(5):
            for target in (path, guarded):
                def calls(target=target, x=x, out=out):
                    for _ in range(50):
                        td.value_and_gradient(target, x, out=out)

                times[id(target)] = min(times[id(target)], seconds_of(calls))
        ratios.append(times[id(guarded)] / times[id(path)])
    return float(np.median(ratios))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--json", help="a file for the results")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print("| gradient / plain value | first 10 | later | slower than it | recorded | recorded later | merged | / path's kernel |")
    print("|---|---:|---:|---:|---:|---:|---|---:|")
    rows = {}
    for name, (f, points) in all_programs().items():
        if not any(text in name for text in options.only):
            continue
        row = rows[name] = measure(f, points)
        beside = f"{row['beside the path']:.2f}" if row["merged"] else ""
        cells = [f"{row['first']:.3g}", f"{row['later']:.3g}", f"{row['slower']:.0%}", row["recorded"], row["recorded later"]]
        print(f"| {name} | " + " | ".join(map(str, [*cells, "yes" if row["merged"] else "no", beside])) + " |", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
