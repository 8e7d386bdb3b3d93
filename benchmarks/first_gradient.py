"""Seconds to the first gradient of one problem, and the memory it takes, in a fresh process. Imports and the first kernel of all, a
trivial one, are not counted: for both JAX and tapediff it starts the compiler.

Run by benchmarks.run as `python -m benchmarks.first_gradient <engine> <name of the problem> [processor]`. Prints two numbers: seconds (with
`processor`, of the processor) from the plain function to the first value and gradient, and by how many MB the process has grown at most
from there to the end of the third one.
"""

import gc
import sys
from pathlib import Path
from time import perf_counter, process_time

import tapediff as td

from .engines import ENGINES
from .problems import BY_NAME


def megabytes(field):
    """A line of /proc/self/status; 0 where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def main(engine, name, clock="wall"):
    now = process_time if clock == "processor" else perf_counter
    problem = BY_NAME[name]
    if engine == "jax.jit":
        from . import jax_versions

        jax_versions.jax.numpy.zeros(1).block_until_ready()
    else:
        td.compile(lambda x: x * 2.0, 1.0)
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    except OSError:
        pass
    before = megabytes("VmRSS")
    started = now()
    bind = ENGINES[engine](problem)
    call, _ = bind(problem.points[0])
    call()
    seconds = now() - started
    call()
    call()
    print(seconds, max(0.0, megabytes("VmHWM") - before))


if __name__ == "__main__":
    main(*sys.argv[1:])
