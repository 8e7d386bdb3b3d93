"""Programs that no pass was written for: what recording, compiling and calling them takes, and how that grows with their size.

    python -m benchmarks.natural [--only TEXT ...] [--sizes N ...]

Seconds are of processor time, each program in a process of its own, after a first trivial kernel. Operations are those that were recorded.
The exponents, of the first gradient by operations, are between the two largest sizes. Answers are checked against the tape's, and
against finite differences along a direction.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time

import numpy as np

import tapediff as td

from .first_gradient import megabytes
from .natural_programs import PROGRAMS

SIZES = (10, 30, 100, 300)


class WrongAnswer(AssertionError):
    """A kernel disagrees with the tape that it was made from, or with the function."""


def measure(name: str, size: int) -> tuple[float, ...]:
    """Operations, seconds to record and to the first gradient from there, of a call, and MB by which the process grew."""
    td.gradient(td.compile(lambda x: np.sum(x * np.exp(x)), np.ones(3)), np.ones(3))
    f, x = next(program for program in PROGRAMS if program.__name__ == name)(size)
    slope, before, times = np.empty_like(x), megabytes("VmHWM"), [time.process_time()]
    tape = td.record(f, x)
    times.append(time.process_time())
    compiled = td.compile(tape)
    value, _ = td.value_and_gradient(compiled, x, out=slope)
    times.append(time.process_time())
    peak = megabytes("VmHWM") - before
    expected, of_tape = td.value_and_gradient(tape, x)
    direction = np.random.default_rng(0).normal(size=x.shape)
    differences = [abs((f(x + h * direction) - f(x - h * direction)) / (2.0 * h) - slope @ direction) for h in (1e-4, 1e-5, 1e-6)]
    if abs(value - expected) > 1e-9 * abs(value) or np.max(np.abs(slope - of_tape)) > 1e-9 * np.max(np.abs(of_tape)):
        raise WrongAnswer(f"{name} of {size}: not what the tape gives")
    if min(differences) > 1e-5 * np.linalg.norm(slope) * np.linalg.norm(direction):
        raise WrongAnswer(f"{name} of {size}: not the slope of the function")
    call = min(_seconds_of_calls(compiled, x, slope) for _ in range(10))
    return len(tape), times[1] - times[0], times[2] - times[1], call, peak


def _seconds_of_calls(compiled: td.CompiledTape, x: np.ndarray, out: np.ndarray, count: int = 20) -> float:
    started = time.process_time()
    for _ in range(count):
        td.value_and_gradient(compiled, x, out=out)
    return (time.process_time() - started) / count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="programs whose name has it in it")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help="print the figures of one program")
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(*measure(options.one[0], int(options.one[1])))
        return 0
    print("of each size: operations, s to record / to the first gradient, µs a call, ns of it an operation, MB; exponent")
    for program in PROGRAMS:
        if any(text in program.__name__ for text in options.only):
            print(f"{program.__name__:14}", _line([_in_a_process_of_its_own(program.__name__, size) for size in options.sizes]), flush=True)
    return 0


def _in_a_process_of_its_own(name: str, size: int) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.natural", "--one", name, str(size)]
    return [float(figure) for figure in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()]


def _line(found: list[list[float]]) -> str:
    columns = [
        f"{count:6.0f} {record:5.2f} / {compiling:5.2f} {1e6 * call:7.1f} {1e9 * call / count:5.2f} {peak:4.0f}"
        for count, record, compiling, call, peak in found
    ]  # fmt: skip
    if len(found) > 1:
        short, long = found[-2:]
        columns.append(f"{math.log(long[2] / short[2]) / math.log(long[0] / short[0]):5.2f}")
    return " | ".join(columns)


if __name__ == "__main__":
    sys.exit(main())
