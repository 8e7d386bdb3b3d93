"""What the first calls of a function with branches cost, without any setting: gradients at random points beside plain Python's value alone.

    python -m benchmarks.first_calls [--only TEXT ...] [--json FILE]

Each program is called at 40 random points through td.GuardedTape(f).value_and_gradient, recordings, compilations and comparisons
included; each answer is held against a recording for that point alone. Times are of the processor. Columns: the median ratio to plain
Python's value of the first ten calls and of all later ones; the share of these that are slower than it; recordings up to the tenth call and
after it.
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


def all_programs():
    """By name: the function, and its points."""
    found = {f.__name__: (f, list(np.random.default_rng(5).normal(size=(CALLS, 3)))) for f in PROGRAMS}
    for problem in MERGED_PROBLEMS:
        found[problem.name] = problem.function, [problem.points[k % len(problem.points)] for k in range(CALLS)]
    return found


def check(f, x, value, gradient):
    tape = td.record(f, x, merge=False)
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
    return {
        "first": float(np.median(ratios[:FIRST])), "later": float(np.median(later)), "slower": sum(r > 1.0 for r in later) / len(later),
        "recorded": recordings[FIRST - 1], "recorded later": recordings[-1] - recordings[FIRST - 1],
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--json", help="a file for the results")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print("| gradient / plain value | first 10 | later | slower than it | recorded | recorded later |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = {}
    for name, (f, points) in all_programs().items():
        if not any(text in name for text in options.only):
            continue
        row = rows[name] = measure(f, points)
        cells = [f"{row['first']:.3g}", f"{row['later']:.3g}", f"{row['slower']:.0%}", row["recorded"], row["recorded later"]]
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
