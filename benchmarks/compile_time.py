"""How the time to the first gradient grows with the length of a program: exponents, and ratios to a reference, held against bands.

    python -m benchmarks.compile_time [--update] [--only TEXT ...] [--json FILE]

Seconds are of processor time, from the plain function to its first gradient: recording, differentiating, all passes, lowering, and LLVM.
Each is measured in a process of its own, after another program, which starts LLVM. The exponent is that between the two longest programs
of a kind, in the operations that they record; the ratio, of the one that takes longest, to a program of 300 operations that is measured
just before. A band (compile_time_bands.json) is the ratio of a run with --update. Answers are checked against the tape.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tapediff as td

from . import compile_time_loops, compile_time_programs as programs

BANDS = Path(__file__).parent / "compile_time_bands.json"
# Linear time is an exponent of 1; between two measurements on a busy machine it is off by 0.2, and quadratic time is far beyond.
LARGEST_EXPONENT = 1.35
REGRESSION = 1.6
# What is beyond is measured again so many times, and the best counts.
ATTEMPTS = 3
TOLERANCE = 1e-10
# Programs that take less are mostly what every first gradient takes, and their exponent says nothing.
SHORTEST = 0.5


@dataclass(frozen=True)
class Kind:
    """Programs of one kind.

    Attributes:
        title: what the sizes count.
        program: gives for a size the function and a point.
        sizes: ascending; the last two tell the exponent. What is recorded may grow faster than they do.
    """

    title: str
    program: Any
    sizes: tuple[int, ...]


KINDS = {
    "array_operations": Kind("operations on arrays of 50", programs.array_operations, (10, 100, 300, 1000, 3000)),
    "matrix_operations": Kind("operations on 12 × 12 matrices", programs.matrix_operations, (10, 100, 300, 1000)),
    "shrinking_slices": Kind("slices, each shorter than the last", programs.shrinking_slices, (20, 100, 200, 500)),
    "kalman": Kind("steps of a Kalman filter", programs.kalman, (10, 100, 300)),
    "kalman_skipping": Kind("steps of one that skips missing data", programs.kalman_skipping, (10, 100, 300)),
    "fixed_integrator": Kind("Runge-Kutta steps", programs.fixed_integrator, (10, 100, 1000)),
    "adaptive_integrator": Kind("tries of an adaptive integrator", programs.adaptive_integrator, (10, 100, 300, 1000)),
    "advection": Kind("semi-Lagrangian steps", programs.advection, (2, 8, 20, 40)),
    "many_terms": Kind("functions of one array", programs.many_terms, (100, 300, 1000)),
    "scalar_operations": Kind("operations on numbers", programs.scalar_operations, (300, 3000, 30_000, 100_000)),
    "masked_parts": Kind("parts of arrays that masks select", programs.masked_parts, (30, 100, 300, 1000)),
    "subtape_calls": Kind("calls of a sub-tape", programs.subtape_calls, (30, 100, 300, 1000)),
}  # fmt: skip
KINDS |= {
    each.__name__: Kind(each.__name__.replace("_", " "), each, sizes) for each, sizes in compile_time_loops.PROGRAMS.items()
}
REFERENCE = ("array_operations", 300)


class WrongAnswer(AssertionError):
    """A kernel disagrees with the tape that it was made from."""


def first_gradient(kind: Kind, size: int) -> tuple[float, int]:
    """Seconds of processor time from the function to its first gradient, which is checked; and how many operations were recorded."""
    f, point = kind.program(size)
    started = time.process_time()
    compiled = td.compile(f, point)
    value, gradient = td.value_and_gradient(compiled, point)
    seconds = time.process_time() - started
    expected, slope = td.value_and_gradient(compiled.tape, point)
    # The programs do not let rounding grow, of which sums in another order are the most; a mistake is far larger. The gradient is held
    # against its own size, not the value's.
    if not (abs(value - expected) <= TOLERANCE * abs(expected) and np.all(np.abs(gradient - slope) <= TOLERANCE * np.max(np.abs(slope)))):
        raise WrongAnswer(f"{size} {kind.title}: {value!r} and {gradient}, and the tape gives {expected!r} and {slope}")
    return seconds, len(compiled.tape)


def measured(name: str) -> dict[str, Any]:
    """Seconds by size, the exponent, and the ratio of the longest program to the reference."""
    reference, _ = in_a_process_of_its_own(*REFERENCE)
    found = {size: in_a_process_of_its_own(name, size) for size in KINDS[name].sizes}
    seconds = {size: s for size, (s, _) in found.items()}
    growth = exponent({operations: s for s, operations in found.values()})
    return {"seconds": seconds, "exponent": growth, "ratio": max(seconds.values()) / reference}


def in_a_process_of_its_own(name: str, size: int) -> tuple[float, int]:
    """What `first_gradient` gives where nothing like it was compiled before."""
    command = [sys.executable, "-m", "benchmarks.compile_time", "--one", name, str(size)]
    seconds, operations = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(seconds), int(operations)


def exponent(seconds: dict[int, float]) -> float:
    """Of seconds by the number of operations, between the two longest programs; 0 where even the longest takes no time to speak of."""
    (n, short), (m, long) = sorted(seconds.items())[-2:]
    return math.log(long / short) / math.log(m / n) if long >= SHORTEST else 0.0


def faults(found: dict[str, Any], band: float | None) -> list[str]:
    """What is wrong with a measurement."""
    told = []
    if found["exponent"] > LARGEST_EXPONENT:
        told.append(f"exponent {found['exponent']:.2f}, at most {LARGEST_EXPONENT}")
    if band is not None and found["ratio"] > REGRESSION * band:
        told.append(f"{found['ratio']:.1f} times the reference, and it was {band}")
    return told


def verdict(name: str, band: float | None) -> tuple[dict[str, Any], list[str]]:
    """A measurement, repeated while something is wrong with it: the least exponent and the least ratio count."""
    best = measured(name)
    for _ in range(ATTEMPTS - 1):
        if not faults(best, band):
            break
        again = measured(name)
        best = {key: min(best[key], again[key]) for key in ("exponent", "ratio")} | {"seconds": again["seconds"]}
    return best, faults(best, band)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the ratios of this run as the new bands")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="kinds whose name has it in it")
    parser.add_argument("--json", type=Path, help="write all results there")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SIZE"), help="print the seconds of one program")
    options = parser.parse_args(arguments)
    if options.one is not None:
        first_gradient(KINDS["array_operations"], 60)
        print(*first_gradient(KINDS[options.one[0]], int(options.one[1])))
        return 0
    bands = json.loads(BANDS.read_text()) if BANDS.exists() else {}
    results, wrong = {}, 0
    for name, kind in KINDS.items():
        if not any(text in name for text in options.only):
            continue
        found, told = verdict(name, None if options.update else bands.get(name))
        results[name] = found
        bands[name] = round(found["ratio"], 2) if options.update else bands.get(name)
        wrong += bool(told)
        seconds = "  ".join(f"{size}: {s:.2f}" for size, s in found["seconds"].items())
        print(f"{'SLOWER' if told else 'ok':6}  exponent {found['exponent']:5.2f}  ratio {found['ratio']:6.2f}  band {bands[name]}  "
              f"{kind.title}, s: {seconds}  {'; '.join(told)}", flush=True)  # fmt: skip
    if options.update:
        BANDS.write_text(json.dumps({name: bands[name] for name in KINDS if name in bands}, indent=1) + "\n")
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
