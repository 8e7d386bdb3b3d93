"""Times value and gradient of every problem by every engine, side by side: answers first, then a table and JSON."""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

import tapediff as td
from benchmarks import handwritten
from benchmarks.problems import PROBLEMS

# Engines sum in different orders, so the answers differ by rounding: 1e-10 is far above that and far below a mistake.
RTOL = 1e-10
SECONDS_A_SAMPLE = 0.02


def numpy_value(problem):
    """The plain function, without any gradient: the yardstick for all others."""
    return lambda: problem.function(problem.point)


def uncompiled(problem):
    tape = td.record(problem.function, problem.point)
    return lambda: td.value_and_gradient(tape, problem.point)


def compiled(problem):
    fast = td.compile(problem.function, problem.point)
    gradient = np.empty_like(problem.point)
    return lambda: td.value_and_gradient(fast, problem.point, out=gradient)


def hand_written(problem):
    kernel = getattr(handwritten, problem.function.__name__)
    gradient = np.empty_like(problem.point)
    return lambda: (kernel(problem.point, gradient), gradient)


def jax_jit(problem):
    import jax

    jax.config.update("jax_enable_x64", True)
    fast = jax.jit(jax.value_and_grad(partial(problem.function, np=jax.numpy)))
    point = jax.numpy.asarray(problem.point)
    return lambda: jax.block_until_ready(fast(point))


def autograd(problem):
    import autograd
    import autograd.numpy

    both = autograd.value_and_grad(partial(problem.function, np=autograd.numpy))
    return lambda: both(problem.point)


ENGINES = {
    "NumPy value": numpy_value,
    "uncompiled": uncompiled,
    "compiled": compiled,
    "by hand": hand_written,
    "jax.jit": jax_jit,
    "autograd": autograd,
}
OPTIONAL = {"jax.jit": "jax", "autograd": "autograd"}


def installed(engine):
    return engine not in OPTIONAL or importlib.util.find_spec(OPTIONAL[engine]) is not None


def check(problem, calls):
    """Raises unless every engine gives the value and the gradient that the hand-written one gives."""
    value, gradient = calls["by hand"]()
    for engine, call in calls.items():
        answer = call()
        other_value, other_gradient = (answer, gradient) if engine == "NumPy value" else answer
        np.testing.assert_allclose(other_value, value, rtol=RTOL, err_msg=f"{problem.title}: {engine}")
        worst = np.max(np.abs(np.asarray(other_gradient) - gradient)) / np.max(np.abs(gradient))
        if not worst < RTOL:
            raise AssertionError(f"{problem.title}: {engine} gradient is off by {worst:.1e} of its largest component")


def best_microseconds(calls, rounds):
    """The best time of each call over rounds in which all take turns, so that a busy moment hits all of them."""
    numbers = {engine: calls_a_sample(call) for engine, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for engine, call in calls.items():
            best[engine] = min(best[engine], seconds(call, numbers[engine]))
    return {engine: time * 1e6 for engine, time in best.items()}


def calls_a_sample(call):
    number = 1
    while seconds(call, number) * number < SECONDS_A_SAMPLE / 2:
        number *= 2
    return number


def seconds(call, number):
    started = perf_counter()
    for _ in range(number):
        call()
    return (perf_counter() - started) / number


def seconds_to_first_gradient(position, repeats):
    command = [sys.executable, "-m", "benchmarks.first_gradient", str(position)]
    runs = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeats))
    return min(float(run.stdout) for run in runs)


def table(rows):
    """Times in µs, then ratios: below 1 the compiled tape is the faster one."""
    engines = [engine for engine in ENGINES if installed(engine)]
    ratios = [engine for engine in ("by hand", "jax.jit") if engine in engines]
    head = ["value and gradient, µs", *engines, *(f"compiled / {engine}" for engine in ratios), "first gradient, s"]
    lines = [head]
    for row in rows:
        times = row["microseconds"]
        line = [row["problem"], *(f"{times[engine]:.2f}" for engine in engines)]
        line += [f"{times['compiled'] / times[engine]:.2f}" for engine in ratios]
        lines.append([*line, f"{row['seconds_to_first_gradient']:.2f}"])
    lines.insert(1, ["---", *["---:"] * (len(head) - 1)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def machine():
    packages = ["numpy", "numba", "llvmlite", "scipy", *(OPTIONAL[e] for e in OPTIONAL if installed(e))]
    versions = {package: importlib.metadata.version(package) for package in packages}
    versions |= {"python": platform.python_version(), "tapediff": td.__version__}
    return {"architecture": platform.machine(), "cores": os.cpu_count(), "versions": versions}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="samples of which the best counts")
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results.json")
    options = parser.parse_args()
    rows = []
    for position, problem in enumerate(PROBLEMS):
        calls = {engine: prepare(problem) for engine, prepare in ENGINES.items() if installed(engine)}
        check(problem, calls)
        rows.append(
            {
                "problem": problem.title,
                "microseconds": best_microseconds(calls, options.rounds),
                "seconds_to_first_gradient": seconds_to_first_gradient(position, repeats=3),
            }
        )
        print(f"{problem.title}: done", file=sys.stderr)
    print(table(rows))
    options.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=2) + "\n")
    print(f"written to {options.json}")


if __name__ == "__main__":
    main()
