"""Draws results as a plot: `python -m benchmarks.plot [results.json] [benchmarks.svg]`. The format follows from the file's name."""

import argparse
import json
from pathlib import Path

HERE = Path(__file__).parent

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


def _time(microseconds):
    return f"{microseconds:.2g} µs" if microseconds < 10 else f"{microseconds:,.0f} µs".replace(",", " ")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=HERE / "results.json")
    parser.add_argument("picture", type=Path, nargs="?", default=HERE / "benchmarks.svg")
    options = parser.parse_args(arguments)
    draw(json.loads(options.results.read_text()), options.picture)
    print(f"written to {options.picture}")


if __name__ == "__main__":
    main()
