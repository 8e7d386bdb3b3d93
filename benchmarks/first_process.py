"""Whole processes: from their start to the first gradient of a model of ten lines, with and without kernels on disk, beside `import numpy`.

    python -m benchmarks.first_process [--rounds 15] [--package FOLDER ...]

Each round starts one process of each kind, so that a busy machine slows all alike; printed are medians of wall and processor time.
`--package`: folders with a tapediff in them, to compare versions in the same rounds; the default is this one. Byte code is there, as in
an installed package, and every process checks its gradient.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tapediff.base.settings import CACHE_VARIABLE

PYTHON, NUMPY = "pass", "import numpy"

MODEL = """
import numpy as np
import tapediff as td

y, x = np.linspace(0, 1, 50), np.linspace(-1, 1, 50)

def log_density(p):
    mean = p[0] + p[1] * x
    scale = np.exp(p[2])
    if scale > 100:
        return -np.inf
    misfit = (y - mean) / scale
    return -0.5 * np.sum(misfit**2) - 50 * p[2] - 0.5 * np.sum(p**2)

p = np.array([0.1, 0.2, 0.3])
gradient = td.gradient({target}, p)
r = (y - p[0] - p[1] * x) * np.exp(-2 * p[2])
right = np.array([r.sum(), (r * x).sum(), (r * (y - p[0] - p[1] * x)).sum() - 50]) - p
assert np.allclose(gradient, right, rtol=1e-12), (gradient, right)
"""

TARGETS = {
    "td.gradient(f)": "log_density",
    "td.GuardedTape(f)": "td.GuardedTape(log_density)",
    "td.compile(f)": "td.compile(log_density, p)",
}


def run(program: str, environment: dict[str, str]) -> tuple[float, float]:
    """The wall and processor time of a process, in ms."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=environment["HOME"], check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * wall, 1e3 * processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--package", type=Path, nargs="*", default=[Path(__file__).parents[1]])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        base = {key: value for key, value in os.environ.items() if key not in (CACHE_VARIABLE, "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")}
        base["HOME"] = folder
        kinds: dict[str, tuple[str, dict[str, str]]] = {"python": (PYTHON, base), "import numpy": (NUMPY, base)}
        for number, package in enumerate(options.package):
            copy = home / str(number)
            shutil.copytree(package / "tapediff", copy / "tapediff", ignore=shutil.ignore_patterns("__pycache__"))
            given = base | {"PYTHONPATH": str(copy)}
            for name, target in TARGETS.items():
                program = MODEL.replace("{target}", target)
                kinds[f"{package}, {name}, no cache"] = program, given
                if name != "td.gradient(f)":  # which records at each call, and compiles nothing at first
                    kinds[f"{package}, {name}, warm cache"] = program, given | {CACHE_VARIABLE: str(copy / "cache")}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for round_ in range(options.rounds + 2):  # the first two write byte code and fill the caches
            for name, (program, environment) in kinds.items():
                took = run(program, environment)
                if round_ > 1:
                    times[name].append(took)
    print(f"{'ms, median of ' + str(options.rounds):60} {'wall':>7} {'processor':>10}")
    for name, found in times.items():
        wall, processor = map(statistics.median, zip(*found))
        print(f"{name:60} {wall:7.0f} {processor:10.0f}")


if __name__ == "__main__":
    main()
