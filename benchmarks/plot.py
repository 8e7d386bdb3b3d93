"""Draws results as plots: `python -m benchmarks.plot [results.json] [benchmarks.svg]`. The format follows from the file's name.

`python -m benchmarks.plot --speed [speed.svg]` draws the plot of the README: speed against jax.jit, from measured.json, which keeps the run
whose table is in README.md.
"""

import argparse
import json
from pathlib import Path

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"

# Colour (Okabe and Ito 2008, told apart by the colour-blind) and marker of each engine.
STYLES = {
    "bound": ("#E69F00", "<"),
    "by hand": ("#000000", "|"),
    "Stan": ("#CC79A7", "D"),
    "jax.jit": ("#0072B2", "o"),
    "CasADi": ("#009E73", "^"),
    "autograd": ("#D55E00", "s"),
    "NumPy value": ("#999999", "x"),
}
NAMES = {"bound": "tapediff, bound call", "by hand": "by hand, numba", "NumPy value": "NumPy, value alone"}


def draw(result, path):
    """One line per problem: how many times as long as the compiled tape the others take for a gradient."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in result["rows"] if "compiled" in row["microseconds"]]
    figure, axes = pyplot.subplots(figsize=(9, 1.6 + 0.26 * len(rows)), layout="constrained")
    heights = range(len(rows), 0, -1)
    for engine, (colour, marker) in STYLES.items():
        points = [(row["microseconds"][engine] / row["microseconds"]["compiled"], height)
                  for row, height in zip(rows, heights) if engine in row["microseconds"]]  # fmt: skip
        if points:
            size = 70 if marker == "|" else 26
            axes.scatter(*zip(*points), s=size, c=colour, marker=marker, label=NAMES.get(engine, engine), zorder=3)
    axes.axvline(1.0, color="#E69F00", linewidth=2, label="tapediff, compiled")
    axes.set_xscale("log")
    axes.set_yticks(
        list(heights), [f"{row['title']}   {_time(row['microseconds']['compiled'])}" for row in rows], fontsize=8
    )
    axes.set_ylim(0.3, len(rows) + 0.7)
    axes.grid(axis="x", which="major", color="#DDDDDD", zorder=0)
    axes.set_xlabel("time of a value and gradient, relative to tapediff's (µs at the left)")
    figure.legend(loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


# Of the problems in measured.json those that stand for the others: arrays, loops, branches, posteriors.
SHOWN = (
    "eight schools, d = 10", "logistic regression, 2000 × 25", "logistic regression, 20 000 × 50", "elementwise chain, n = 100 000",
    "Rosenbrock, n = 10 000", "Gaussian mixture, 1000 × 10, K = 10", "Gaussian process, n = 100", "network 20-32-32-1, 200 examples",
    "Lotka-Volterra, 200 RK4 steps, td.scan", "hidden Markov model, 4 states, T = 200, td.scan", "bouncing ball, td.scan with an if",
    "two paths in turns", "posterior: AR(5)", "posterior: GARCH(1, 1), Python loop", "posterior: Lotka-Volterra, Python loop",
    "posterior: radon, 85 counties",
)  # fmt: skip


def draw_speed(result, path):
    """A bar for each problem: how many times as fast as jax.jit, with both times beside it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row["microseconds"] | {"title": row["title"]} for row in result["rows"] if row["title"] in SHOWN]
    rows.sort(key=lambda row: row["jax.jit"] / row["compiled"])
    ratios = [row["jax.jit"] / row["compiled"] for row in rows]
    figure, axes = pyplot.subplots(figsize=(9, 1.7 + 0.29 * len(rows)), layout="constrained")
    axes.barh(range(len(rows)), ratios, left=0, color="#0072B2", height=0.7, zorder=3)
    for height, (row, ratio) in enumerate(zip(rows, ratios)):
        times = f" {ratio:.0f}×   {_time(row['compiled'])}, jax.jit {_time(row['jax.jit'])}"
        axes.text(ratio, height, times, va="center", fontsize=8, color="#333333")
    axes.set_yticks(range(len(rows)), [row["title"] for row in rows], fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(1.0, 12 * max(ratios))
    axes.axvline(1.0, color="#000000", linewidth=1)
    axes.grid(axis="x", which="major", color="#DDDDDD", zorder=0)
    axes.set_xlabel("time of jax.jit divided by time of tapediff, for one value and gradient (log scale)")
    axes.set_title(f"Gradients on one processor core: tapediff beside jax.jit\n{result['machine']}, {result['date']}", fontsize=10.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _time(microseconds):
    return f"{microseconds:.2g} µs" if microseconds < 10 else f"{microseconds:,.0f} µs".replace(",", " ")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=HERE / "results.json")
    parser.add_argument("picture", type=Path, nargs="?", default=HERE / "benchmarks.svg")
    parser.add_argument("--speed", type=Path, nargs="?", const=HERE / "speed.svg", help="draw measured.json beside jax.jit instead")
    options = parser.parse_args(arguments)
    if options.speed is None:
        draw(json.loads(options.results.read_text()), options.picture)
    else:
        draw_speed(json.loads(MEASURED.read_text()), options.speed)
    print(f"written to {options.speed or options.picture}")


if __name__ == "__main__":
    main()
