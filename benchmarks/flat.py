"""Long programs that do not repeat: what recording, compiling and calling them takes, and how that grows with their length.

    python -m benchmarks.flat [--quick] [--only TEXT ...] [--sizes N ...]

Seconds are of processor time, each program in a process of its own, after another one, which starts LLVM and compiles what operations on
numbers share. Operations are those that were recorded. The exponents are between the two longest programs. Answers are checked against
the tape's.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from dataclasses import astuple, dataclass

import numpy as np

import tapediff as td

from .flat_programs import PROGRAMS, circuit

SIZES, QUICK_SIZES = (300, 3000, 20_000), (300, 1500)
# Numbers are added in another order than by the tape.
TOLERANCE = 1e-8


class WrongAnswer(AssertionError):
    """A kernel disagrees with the tape that it was made from."""


@dataclass(frozen=True)
class Measured:
    """A program of some length.

    Attributes:
        operations: that were recorded.
        record, compile, call: seconds; a call is value and gradient.
        is_swept: whether it runs as byte code made from the tape itself.
    """

    operations: int
    record: float
    compile: float
    call: float
    is_swept: bool


def measure(name: str, size: int) -> Measured:
    """One program, in this process."""
    f, point = next(program for program in PROGRAMS if program.__name__ == name)(size)
    times = [time.process_time()]
    tape = td.record(f, *point)
    times.append(time.process_time())
    kernel = (compiled := td.compile(tape)).kernel((0,))
    value, gradient = td.value_and_gradient(compiled, *point)
    times.append(time.process_time())
    expected, slope = td.value_and_gradient(tape, *point)
    if not (np.isclose(value, expected, TOLERANCE) and np.allclose(gradient, slope, 0.0, TOLERANCE * np.max(np.abs(slope)))):
        raise WrongAnswer(f"{name} of {size}: {value} for {expected}, or the gradient")
    call = min(_seconds_of_calls(compiled, point) for _ in range(5))
    return Measured(len(tape), times[1] - times[0], times[2] - times[1], call, kernel.is_swept)


def _seconds_of_calls(compiled: td.CompiledTape, point: tuple[object, ...], count: int = 20) -> float:
    started = time.process_time()
    for _ in range(count):
        td.value_and_gradient(compiled, *point)
    return (time.process_time() - started) / count


def in_a_process_of_its_own(name: str, size: int) -> Measured:
    command = [sys.executable, "-m", "benchmarks.flat", "--one", name, str(size)]
    operations, *seconds, is_swept = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    record, compile_, call = map(float, seconds)
    return Measured(int(operations), record, compile_, call, is_swept == "True")


def exponent(found: list[Measured], what: str) -> float:
    """Of seconds by the number of operations, between the two longest programs."""
    short, long = found[-2:]
    return math.log(getattr(long, what) / getattr(short, what)) / math.log(long.operations / short.operations)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short programs only")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="kinds whose name has it in it")
    parser.add_argument("--sizes", nargs="+", type=int, help="about how many operations on numbers")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help="print the figures of one program")
    options = parser.parse_args(arguments)
    if options.one is not None:
        warm, point = circuit(3000)
        td.value_and_gradient(td.compile(warm, *point), *point)
        print(*astuple(measure(options.one[0], int(options.one[1]))))
        return 0
    print("of each length: operations, µs of each to record / to compile (* not swept), ns of a call; exponents of recording, compiling")
    for program in PROGRAMS:
        if any(text in program.__name__ for text in options.only):
            sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
            print(f"{program.__name__:17}", _line([in_a_process_of_its_own(program.__name__, size) for size in sizes]), flush=True)
    return 0


def _line(found: list[Measured]) -> str:
    columns = [
        f"{m.operations:6} {1e6 * m.record / m.operations:5.1f} / {1e6 * m.compile / m.operations:6.1f}{'' if m.is_swept else '*'}, "
        f"{1e9 * m.call / m.operations:5.1f}" for m in found
    ]  # fmt: skip
    if len(found) > 1:
        columns.append(f"{exponent(found, 'record'):5.2f} {exponent(found, 'compile'):5.2f}")
    return " | ".join(columns)


if __name__ == "__main__":
    sys.exit(main())
