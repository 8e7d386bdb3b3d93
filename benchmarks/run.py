"""Times value and gradient of every problem by every engine, side by side: answers first, then a table, geometric means and JSON.

    python -m benchmarks.run [--json FILE] [--suite tuned|outside] [--only TEXT ...] [--quick] [--from FILE ...]

All engines run on one core, and take turns in short samples, so that ratios are fair also where the machine is not idle. With --cores 2
those who can use a second core do: jax.jit, whose threads cost it up to a factor of two where the machine is busy.
"""

import argparse
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import tapediff as td

from . import timing
from .engines import ENGINES, OPTIONAL, applies, compiled_target, installed
from .problems import OUTSIDE_PROBLEMS, PROBLEMS

SUITES = {"tuned": PROBLEMS, "outside": OUTSIDE_PROBLEMS}

# Whose times the best of all others is the least of.
BEST, RIVALS = "best", ("by hand", "jax.jit", "PyTorch", "autograd", "CasADi", "Stan")
# A first gradient that took longer than this is not asked for a second time.
LONG_FIRST = 4.0
ALL_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextmanager
def on_cores(cores):
    """Run on these cores alone, where the system allows it."""
    before = set(ALL_CORES) and os.sched_getaffinity(0)
    if before:
        os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)


def measure(problem, engines, options):
    """One row of the table: times, first gradients, and what is known of the kernel. What fails is told, and not timed."""
    binds, failures = {}, {}
    for engine in (e for e in engines if applies(e, problem)):
        try:
            binds[engine] = ENGINES[engine](problem)
            binds[engine](problem.points[0])[0]()
        except Exception as error:  # noqa: BLE001 -- one engine that fails must not cost the other results
            binds.pop(engine, None)
            failures[engine] = f"{type(error).__name__}: {error}"
    try:
        failures |= timing.check(problem, binds)
    except timing.WrongAnswer as error:
        return {"problem": problem.name, "title": problem.title, "microseconds": {}, "failures": {"all": str(error)}}
    right = {engine: bind for engine, bind in binds.items() if engine not in failures}
    effort = (0.05, 20) if options.quick else (0.15, 50)
    clock = time.process_time if options.processor_time else time.perf_counter
    times = timing.best_microseconds(problem, right, *effort, clock)
    row = {"problem": problem.name, "title": problem.title, "microseconds": times, "failures": failures}
    row["first gradient"] = {} if options.quick else first_gradients(problem, right, options.processor_time)
    row["kernel"] = kernel_facts(problem)
    # Some seconds later once more: where other programs run, an engine with threads may be slow all through the first time.
    again = timing.best_microseconds(problem, right, *effort, clock)
    times |= {engine: min(time, again[engine]) for engine, time in times.items()}
    if problem.stan is not None:
        times["Stan"] = problem.stan
    return row | {"load": os.getloadavg()[0]}


def first_gradients(problem, right, processor_time):
    """Seconds and MB in fresh processes, which may use all cores: the least of two runs."""
    with on_cores(ALL_CORES):
        return {e: least_of_two(e, problem.name, processor_time) for e in ("compiled", "jax.jit") if e in right}


def least_of_two(engine, name, processor_time):
    command = [sys.executable, "-m", "benchmarks.first_gradient", engine, name, *["processor"] * processor_time]
    # With byte code, which installed packages have.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = []
    for _ in range(2):
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode:
            return {"failure": run.stderr}
        runs.append([float(word) for word in run.stdout.split()])
        if runs[-1][0] > LONG_FIRST:
            break
    return {"seconds": min(run[0] for run in runs), "megabytes": min(run[1] for run in runs)}


def kernel_facts(problem):
    """How long the tape and its kernel are; for several tapes, those of the last."""
    target = compiled_target(problem)
    if problem.guarded:
        td.gradient(target, problem.points[0])
        target = target.tape_for((problem.points[0],))[0]
        target = td.compile(target)
    kernel = target.kernel((0,))
    groups = [type(group).__name__ for group in kernel.program.groups]
    return {
        "instructions": len(target.tape), "of the gradient": len(kernel.tape), "groups": len(groups),
        "forms": {form: groups.count(form) for form in dict.fromkeys(groups)}, "workspace bytes": kernel.workspace_bytes,
        "compile seconds": kernel.seconds,
    }  # fmt: skip


def table(rows, engines):
    """Times in µs, ratios (below 1 tapediff is the faster one), seconds and MB to the first gradient."""
    columns = [*engines, "Stan"]
    ratios = [*(name for name in ("by hand", "jax.jit", "PyTorch", "Stan") if name in columns), BEST]
    head = ["value and gradient, µs", *columns, *(f"compiled / {name}" for name in ratios)]
    head += ["first gradient, s", "jax.jit, s", "peak, MB", "jax.jit, MB"]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in rows:
        times, first = row["microseconds"], row.get("first gradient", {})
        cells = [row["title"], *(figure(times.get(name), row["failures"].get(name)) for name in columns)]
        cells += [figure(ratio(row, name)) for name in ratios]
        cells += [
            figure(first.get(e, {}).get(key)) for key in ("seconds", "megabytes") for e in ("compiled", "jax.jit")
        ]
        lines.append(cells)
    means = geometric_means(rows)
    rest = [figure(means.get(name)) for name in ratios] + [""] * 4
    lines.append(["geometric mean of compiled / other", *(figure(means.get(name)) for name in columns), *rest])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def figure(number, failure=None):
    if failure is not None:
        return "fails"
    if number is None:
        return ""
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:.0f}"


def ratio(row, other, ours="compiled"):
    """To another engine, or to the best of all others."""
    times = row["microseconds"]
    if other == BEST:
        rivals = [time for engine, time in times.items() if engine in RIVALS]
        return times[ours] / min(rivals) if ours in times and rivals else None
    return times[ours] / times[other] if ours in times and other in times else None


def geometric_means(rows, ours="compiled"):
    """Of ours / other, over the problems that both have; also of the first gradients."""
    means = {}
    for other in (*ENGINES, "Stan", BEST):
        logs = [math.log(r) for row in rows if (r := ratio(row, other, ours)) is not None]
        if logs and other not in ("compiled", "bound"):
            means[other] = math.exp(sum(logs) / len(logs))
    firsts = [row.get("first gradient", {}) for row in rows]
    both = [f for f in firsts if len(f) == 2 and all("seconds" in first for first in f.values())]
    logs = [math.log(f["compiled"]["seconds"] / f["jax.jit"]["seconds"]) for f in both]
    if logs and ours == "compiled":
        means["first gradient, jax.jit"] = math.exp(sum(logs) / len(logs))
    return means


def worst_first(rows, other):
    """The problems by their ratio to another engine; the second figure is that of the bound call."""
    lines = []
    for row in sorted((row for row in rows if ratio(row, other) is not None), key=lambda row: -ratio(row, other)):
        bound = ratio(row, other, "bound")
        lines.append(f"  {ratio(row, other):7.2f} {'' if bound is None else format(bound, '7.2f'):7}  {row['title']}")
    return "\n".join([f"compiled / {other}, bound / {other}, the worst first:", *lines])


def machine():
    packages = ["numpy", "numba", "llvmlite", "scipy", *(OPTIONAL[e] for e in installed() if e in OPTIONAL)]
    versions = {package: importlib.metadata.version(package) for package in packages}
    versions |= {"python": platform.python_version(), "tapediff": td.__version__}
    cpu = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    return {"architecture": platform.machine(), "cpu": cpu, "cores": os.cpu_count(), "versions": versions}


def _lines(path):
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write all results there")
    parser.add_argument("--suite", choices=SUITES, help="what the library was tuned on, or kinds that it was not; else both")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="problems whose name has it in it")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES), help="and no others")
    parser.add_argument("--quick", action="store_true", help="fewer samples, no fresh processes")
    parser.add_argument("--processor-time", action="store_true", help="seconds of the processor: fair where other programs run")
    parser.add_argument("--cores", type=int, default=1, help="how many an engine may use")
    parser.add_argument(
        "--from", type=Path, nargs="+", dest="sources", metavar="FILE", help="show the best of earlier runs"
    )
    options = parser.parse_args(arguments)
    if options.sources is not None:
        result = best_of([json.loads(source.read_text()) for source in options.sources])
        report(result)
        write(result, options.json)
        return 0
    engines = [engine for engine in installed() if engine in options.engines]
    result = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "cores used": options.cores,
              "processor time": options.processor_time, "machine": machine(), "engines": engines, "rows": []}  # fmt: skip
    with on_cores(ALL_CORES[-options.cores :]):
        for problem in SUITES.get(options.suite, (*PROBLEMS, *OUTSIDE_PROBLEMS)):
            if any(text in problem.name for text in options.only):
                result["rows"].append(measure(problem, engines, options))
                print(f"{problem.title}: {result['rows'][-1]['failures'] or 'done'}", file=sys.stderr)
    report(result)
    write(result, options.json)
    return int(any(row["failures"] for row in result["rows"]))


def best_of(results):
    """The first run, with the least time that any of them found for each engine and problem."""
    first, *others = results
    for row in first["rows"]:
        for other in (r for result in others for r in result["rows"] if r["problem"] == row["problem"]):
            for engine, time_taken in row["microseconds"].items():
                row["microseconds"][engine] = min(time_taken, other["microseconds"].get(engine, time_taken))
    return first | {"runs": sum(result.get("runs", 1) for result in results)}


def write(result, path):
    if path is not None:
        means = {
            f"{ours} / {o}": m
            for ours in ("compiled", "bound")
            for o, m in geometric_means(result["rows"], ours).items()
        }
        path.write_text(json.dumps(result | {"geometric means": means}, indent=1, ensure_ascii=False) + "\n")
        print(f"written to {path}")


def report(result):
    rows = result["rows"]
    print(table(rows, result["engines"]))
    print()
    for ours in ("compiled", "bound"):
        for other, mean in geometric_means(rows, ours).items():
            print(f"{ours} / {other}: geometric mean {mean:.3g}")
    for other in ("jax.jit", "by hand", "Stan", BEST):
        if any(ratio(row, other) is not None for row in rows):
            print()
            print(worst_first(rows, other))
    for row in rows:
        for engine, failure in row["failures"].items():
            print(f"FAILED {row['title']}, {engine}: {failure}")
        for engine, first in row["first gradient"].items():
            if "failure" in first:
                print(f"FAILED {row['title']}, first gradient of {engine}: {first['failure']}")


if __name__ == "__main__":
    sys.exit(main())
