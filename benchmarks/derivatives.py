"""Times Hessians, Jacobians and Hessian-vector products beside a gradient and JAX: answers first, then a table and geometric means.

    python -m benchmarks.derivatives [--only TEXT ...] [--quick] [--cores 2] [--json FILE]
    python -m benchmarks.derivatives --check [--update]      # a few seconds, without JAX: ratios to the gradient against bands

The gradient is the compiled one of the function, or of a weighted sum of its results. JAX's Jacobian is the better of jacfwd and jacrev,
its sparse one of blocks is vmap(jacrev), its Hessian-vector product the jvp of the gradient; all are jitted. First calls are in this
process, with compiling, after another kernel of either. All run on one core, unless --cores says otherwise.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import tapediff as td

from . import timing
from .check import REGRESSION, verdict
from .derivative_problems import BY_NAME, DERIVATIVE_PROBLEMS
from .run import ALL_CORES, on_cores

BANDS = Path(__file__).parent / "derivative_bands.json"
# One of each operator and way: entry by entry, dense as a matrix product, through a library, a loop, few columns, blocks, a chain.
CHECKED = (
    "hessian_rosenbrock_100", "hessian_logistic_500_10", "hessian_gp_50", "hessian_lotka_volterra_euler", "jacobian_tanh_50_50",
    "jacobian_hand", "hvp_rosenbrock_100", "hvp_logistic_500_10", "hvp_gp_50", "hvp_volatility",
    "sparse_jacobian_bundle_adjustment", "sparse_hessian_rosenbrock_100000",
)  # fmt: skip
# Central differences along a direction lose half the digits; as in timing.py.
DIFFERENCE_RTOL = timing.DIFFERENCE_RTOL


def direction(derivative):
    return np.random.default_rng(11).normal(size=derivative.point.shape)


def compiled(derivative):
    """What is timed: one call of the operator of the compiled function, with a result of its own."""
    target = td.compile(derivative.problem.function, derivative.point)
    operator = getattr(td, derivative.operator)
    if derivative.operator == "hvp":
        v = direction(derivative)
        return lambda x: lambda: operator(target, x, v)
    return lambda x: lambda: operator(target, x)


def gradient(derivative):
    """Of the function, or of a weighted sum of its results."""
    function = derivative.problem.function
    shape = np.shape(function(derivative.point))
    weights = np.random.default_rng(12).normal(size=shape)
    target = td.compile(function if shape == () else lambda x: np.sum(weights * function(x)), derivative.point)

    def bind(x):
        out = np.empty_like(x)
        return lambda: td.value_and_gradient(target, x, out=out)

    return bind


def jax_versions(derivative):
    """Each way in which JAX has the derivative; the quickest counts."""
    import jax
    import jax.numpy as jnp

    from .jax_versions import version

    function = version(derivative.problem)
    if derivative.blocks is not None:
        blocks = derivative.blocks
        ways = {"vmap(jacrev)": jax.vmap(jax.jacrev(lambda u: blocks.function(u, jnp)))}
        place = lambda x: (jnp.asarray(x[blocks.columns]),)  # noqa: E731 -- its name is its use
    else:
        v = jnp.asarray(direction(derivative))
        ways = {
            "hessian": {"hessian": jax.hessian(function)},
            "hvp": {"jvp(grad)": lambda x: jax.jvp(jax.grad(function), (x,), (v,))[1]},
            "jacobian": {"jacfwd": jax.jacfwd(function), "jacrev": jax.jacrev(function)},
        }.get(derivative.operator, {})
        place = lambda x: (jnp.asarray(x),)  # noqa: E731 -- as above
    bind = lambda fast: lambda x: (lambda given: lambda: jax.block_until_ready(fast(*given)))(place(x))  # noqa: E731
    return {name: bind(jax.jit(way)) for name, way in ways.items()}


def dense(derivative, answer):
    """An answer as an array; of a Jacobian of blocks, the blocks."""
    if not hasattr(answer, "toarray"):
        return np.asarray(answer)
    if derivative.blocks is None:
        return answer
    rows, columns = np.broadcast_arrays(derivative.blocks.rows[:, :, None], derivative.blocks.columns[:, None, :])
    return np.asarray(answer[rows.ravel(), columns.ravel()]).reshape(rows.shape)


def product(derivative, answer):
    """The matrix times the direction."""
    return np.asarray(answer if derivative.operator == "hvp" else answer @ direction(derivative))


def check(derivative, ours, theirs):
    """The answer near the recorded point: its product with a direction against finite differences, its entries against JAX's.

    Raises:
        timing.WrongAnswer: naming the problem and by how much it is off.
    """
    (x,) = timing.nearby(derivative.problem)
    found = ours(x)()
    function = derivative.problem.function
    if derivative.operator in ("hessian", "hvp", "sparse_hessian"):
        # The gradient is held against differences of values by timing.check; here on the tape replayed with NumPy.
        tape = td.record(function, x)
        function = lambda x: td.gradient(tape, x)  # noqa: E731 -- its name is its use
    v, given = direction(derivative), product(derivative, found)
    differences = [(function(x + h * v) - function(x - h * v)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    off = min(np.max(np.abs(given - d)) for d in differences) / np.max(np.abs(given))
    if not off < DIFFERENCE_RTOL:
        raise timing.WrongAnswer(f"{derivative.title} is {off:.1e} off finite differences")
    for name, bind in theirs.items():
        ours_dense, expected = dense(derivative, found), np.asarray(bind(x)())
        off = np.max(np.abs(ours_dense - expected)) / np.max(np.abs(expected))
        if not off < derivative.problem.rtol:
            raise timing.WrongAnswer(f"{derivative.title} is {off:.1e} off {name} of JAX")


def first_call(make, x):
    """What `make` prepares, and the seconds until its first answer."""
    started = perf_counter()
    bind = make()
    bind(x)()
    return bind, perf_counter() - started


def measure(derivative, with_jax, quick):
    """One row of the table."""
    x = derivative.point
    ours, first = first_call(lambda: compiled(derivative), x)
    theirs, jax_first = {}, {}
    if with_jax:
        for name in jax_versions(derivative):
            theirs[name], jax_first[name] = first_call(lambda n=name: jax_versions(derivative)[n], x)
    check(derivative, ours, theirs)
    times = best_times(derivative, {"compiled": ours, "gradient": gradient(derivative), **theirs}, 0.05 if quick else 0.2)
    row = {"problem": derivative.name, "operator": derivative.operator, "title": derivative.title, "microseconds": times,
           "first": first, "load": os.getloadavg()[0]}  # fmt: skip
    if theirs:
        best = min(theirs, key=times.__getitem__)
        row |= {"jax": best, "jax first": jax_first[best]}
    return row


def best_times(derivative, binds, seconds):
    """In turns, as timing.best_microseconds does."""
    turns = {name: lambda x, bind=bind: (bind(x), None) for name, bind in binds.items()}
    return timing.best_microseconds(derivative.problem, turns, seconds)


def ratios(row):
    times = row["microseconds"]
    found = {"gradient": times["compiled"] / times["gradient"]}
    if "jax" in row:
        found |= {"jax": times["compiled"] / times[row["jax"]], "first": row["first"] / row["jax first"]}
    return found


def table(rows):
    """Times in µs, first calls in seconds; ratios below 1 are in tapediff's favour."""
    lines = ["| µs | compiled | / gradient | JAX | / JAX | first, s | / JAX |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        times, found = row["microseconds"], ratios(row)
        theirs = (f"{times[row['jax']]:.1f}", f"{found['jax']:.2f}") if "jax" in row else ("", "")
        first = f"{found['first']:.2f}" if "jax" in row else ""
        cells = (row["title"], f"{times['compiled']:.1f}", f"{found['gradient']:.1f}", *theirs, f"{row['first']:.3f}", first)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def geometric_means(rows):
    """For each operator, of the ratios to a gradient, to JAX, and of the first calls."""
    means = {}
    for operator in dict.fromkeys(row["operator"] for row in rows):
        every = [ratios(row) for row in rows if row["operator"] == operator]
        for key in ("gradient", "jax", "first"):
            logs = [math.log(found[key]) for found in every if key in found]
            if logs:
                means[f"{operator} / {key}"] = math.exp(sum(logs) / len(logs))
    return means


def check_bands(update, names=CHECKED):
    """How many ratios to the gradient are beyond their bands."""
    bands = json.loads(BANDS.read_text()) if BANDS.exists() else {}
    regressions = 0
    for name in names:
        derivative = BY_NAME[name]
        ours = compiled(derivative)
        check(derivative, ours, {})
        binds = {"compiled": ours, "gradient": gradient(derivative)}

        def ratio(derivative=derivative, binds=binds):
            times = best_times(derivative, binds, 0.06)
            return times["compiled"] / times["gradient"]

        if update:
            bands[name] = round(median(ratio() for _ in range(3)), 2)
        band = bands.get(name)
        found = bands[name] if update else verdict(ratio, band or 1e9)
        regressed = band is not None and found > REGRESSION * band
        regressions += regressed
        remark = "" if band is not None else ", no band yet: run with --update"
        print(f"{'SLOWER' if regressed else 'ok':6}  {found:8.2f}  band {band}  compiled / gradient: {derivative.title}{remark}")
    if update:
        BANDS.write_text(json.dumps({name: bands[name] for name in names}, indent=1) + "\n")
    return regressions


def measure_all(options):
    with_jax = importlib.util.find_spec("jax") is not None
    td.value_and_gradient(td.compile(np.sum, np.ones(2)), np.ones(2))
    rows = []
    for derivative in DERIVATIVE_PROBLEMS:
        if any(text in derivative.name for text in options.only):
            rows.append(measure(derivative, with_jax, options.quick))
            print(table(rows[-1:]).splitlines()[-1], file=sys.stderr)
    return rows


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="problems whose name has it in it")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--cores", type=int, default=1, help="how many may be used")
    parser.add_argument("--json", type=Path, help="write all results there")
    parser.add_argument("--check", action="store_true", help="a few ratios to the gradient, against bands")
    parser.add_argument("--update", action="store_true", help="with --check: write the ratios of this run as the new bands")
    options = parser.parse_args(arguments)
    if options.check:
        regressions = check_bands(options.update)
        if regressions:
            print(f"{regressions} ratios are more than {REGRESSION} times their bands in {BANDS.name}", file=sys.stderr)
        return int(regressions > 0)
    with on_cores(ALL_CORES[-options.cores :]):
        rows = measure_all(options)
    print(table(rows))
    for name, mean in geometric_means(rows).items():
        print(f"{name}: geometric mean {mean:.3g}")
    if options.json is not None:
        options.json.write_text(json.dumps({"rows": rows, "geometric means": geometric_means(rows)}, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
