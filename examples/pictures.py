"""Pictures, written to figures/: a tape beside its kernel, the tapes of a branching function as a tree, and the fits of a bouncing ball and
of a random walk of rates.

Needs matplotlib: `pip install 'tapediff[notebook]'`. `examples/eight_schools.py` draws the densities of a posterior.
"""

import linecache
import re
from pathlib import Path

import bouncing_ball as ball
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tapediff as td
from tapediff.stats import halfcauchy, norm, poisson

FIGURES = Path("figures")
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"  # Okabe and Ito (2008), told apart by the colour-blind
MEASURED = np.linspace(-1.0, 1.0, 1000)


def log_density(p):  # a Cauchy distribution: centre and logarithm of the scale
    z = (MEASURED - p[0]) * np.exp(-p[1])
    return -np.sum(np.log1p(z**2)) - MEASURED.size * p[1]


def shortened(text, width):
    """Lines without the places that stand behind them, cut to a width."""
    lines = [line.partition("  #")[0].rstrip() for line in text.splitlines() if "workspace" not in line]
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]


def tape_and_kernel(path):
    """The recorded operations, and the loops of value and gradient that they became."""
    compiled = td.compile(log_density, np.zeros(2))
    td.value_and_gradient(compiled, np.zeros(2))
    texts = {"The tape: what was recorded": str(compiled.tape), "The kernel: value and gradient, one loop over the data": compiled.source}
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.8), width_ratios=(1.25, 1))
    for axis, (title, text) in zip(axes, texts.items()):
        lines = shortened(text, 62)
        axis.set_title(title, loc="left", fontsize=11)
        axis.axis("off")
        for row, line in enumerate(lines):
            colour = BLUE if "for " in line or line.startswith("def") else "#222222"
            axis.text(0, 1 - row / 30, line, family="monospace", fontsize=8, color=colour, va="top", transform=axis.transAxes)
    figure.subplots_adjust(0.02, 0.02, 0.99, 0.93, wspace=0.03)
    figure.savefig(path)


def loss(x):
    if np.sum(x**2) < 1.0:
        if x[0] > 0:
            return np.sum(x**2)
        return np.sum(x**4)
    if x[0] > 2.0:
        return np.sum(np.abs(x))
    if x[1] > 2.0:
        return np.sum(np.sqrt(np.abs(x)))
    return np.sum(x)


def tree_of(text):
    """The tapes in the text of explain(), as nested dicts: from a guard's line and its outcome to what follows, and at last a tape."""
    tree = {}
    for name, below in re.findall(r"^  (tape \d+): .*\n((?:    .*\n)*)", text, re.MULTILINE):
        node = tree
        for guard in below.splitlines():
            line, outcome = re.search(r":(\d+) in \w+ → (.*)", guard).groups()
            node = node.setdefault(linecache.getline(__file__, int(line)).strip(), {}).setdefault(outcome, {})
        node[name] = {}
    return tree


def as_text(tree, indent=""):
    """The tree with a line for each guard and tape."""
    for name, branches in tree.items():
        yield indent + name
        for outcome, below in branches.items():
            yield f"{indent}  {outcome}:"
            yield from as_text(below, indent + "    ")


def tapes_as_tree(path):
    """Which guards a call passes on its way to each tape."""
    safe = td.GuardedTape(loss, merge=False)  # else all paths would be on one tape
    for x in [(0.1, 0.2), (-0.1, 0.2), (3.0, 1.0), (1.5, 3.0), (1.0, 1.0)]:
        td.gradient(safe, np.array(x))
    tree = tree_of(safe.explain() + "\n")
    print("\n".join(as_text(tree)))
    figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
    draw_node(axis, tree, 0.0, iter(range(100)))
    axis.set_title("The tapes of a GuardedTape: a call passes the guards from left to right", loc="left", fontsize=11)
    axis.invert_yaxis()
    axis.axis("off")
    figure.savefig(path)


def draw_node(axis, tree, x, rows):
    """Draw what follows a guard; gives the height at which its first entry stands."""
    heights = []
    for name, branches in tree.items():
        below = [(outcome, draw_node(axis, node, x + 2.4, rows)) for outcome, node in branches.items()]
        y = np.mean([height for _, height in below]) if below else next(rows)
        for outcome, height in below:
            axis.plot([x, x + 2.4], [y, height], color=GREY, linewidth=1, zorder=1)
            axis.text(x + 1.5, y + 0.62 * (height - y), outcome, fontsize=9, color=GREY, ha="center",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        colour = BLUE if below else ORANGE
        box = {"facecolor": colour, "edgecolor": "none", "boxstyle": "round"}
        axis.text(x, y, name, color="white", fontsize=9, ha="center", va="center", zorder=2, bbox=box)
        heights.append(y)
    axis.set_xlim(-1.2, 7.8)
    return heights[0]


def ball_fit(path):
    """The measured heights, the fit, and how the misfit falls on the way to it."""
    times = ball.DT * np.arange(1, ball.STEPS + 1)
    measured = ball.in_a_loop(ball.TRUTH) + ball.NOISE * np.random.default_rng(0).normal(size=ball.STEPS)
    compiled = td.compile(lambda p: np.mean(((ball.in_a_scan(p) - measured) / ball.NOISE) ** 2), ball.START)
    steps = [ball.START]

    def objective(p):
        return td.value_and_gradient(compiled, p)

    fit = minimize(objective, ball.START, jac=True, method="BFGS", callback=lambda p: steps.append(p.copy()))
    figure, (above, below) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(1.7, 1), layout="constrained")
    above.plot(times, measured, ".", color=GREY, markersize=4, label="measured, with noise")
    above.plot(times, ball.in_a_loop(ball.START), color=ORANGE, linewidth=1, linestyle="--", label="first guess")
    label = f"fit: velocity {fit.x[0]:.2f} m/s, restitution {fit.x[1]:.3f}"
    above.plot(times, ball.in_a_loop(fit.x), color=BLUE, linewidth=1.5, label=label)
    above.set(xlabel="time, s", ylabel="height, m", ylim=(-0.1, 1.3), title="A bouncing ball, fitted through its bounces")
    above.legend(fontsize=8, loc="upper right")
    below.semilogy([td.value_and_gradient(compiled, p)[0] for p in steps], "o-", color=BLUE, markersize=4)
    below.axhline(1.0, color=GREY, linewidth=1, linestyle=":")
    below.set(xlabel="step of the optimiser (BFGS)", ylabel="mean squared misfit / noise²", title="Convergence; dotted: the noise")
    figure.savefig(path)


def walk_fit(path):
    """Counts whose log rate is a random walk, which td.laplace integrates out, and the estimated rate with its standard errors."""
    rng, days = np.random.default_rng(4), np.arange(200)
    rates = np.cumsum(0.15 * rng.normal(size=200))
    counts = rng.poisson(np.exp(1.0 + rates))

    def joint(theta, u, counts):
        walk = norm.logpdf(u[0], 0.0, 3.0) + norm.logpdf(np.diff(u), 0.0, np.exp(theta[0])).sum()
        return walk + poisson.logpmf(counts, np.exp(u)).sum()

    marginal = td.laplace(joint, random="u", start={"u": np.zeros(200)})

    def negative(theta):
        value, gradient = marginal.value_and_gradient(theta, counts)
        return -value, -gradient

    report = marginal.report(minimize(negative, np.array([0.0]), jac=True).x, counts)
    lower, upper = (np.exp(report.mode + sign * 2.0 * report.standard_errors) for sign in (-1.0, 1.0))
    figure, axis = plt.subplots(figsize=(9, 3.2), layout="constrained")
    axis.plot(days, counts, ".", color=GREY, markersize=4, label="counts")
    axis.plot(days, np.exp(1.0 + rates), color=ORANGE, linewidth=1, linestyle="--", label="true rate")
    axis.plot(days, np.exp(report.mode), color=BLUE, linewidth=1.5, label="estimated rate, and two standard errors")
    axis.fill_between(days, lower, upper, color=BLUE, alpha=0.2, linewidth=0)
    axis.set(xlabel="day", ylabel="counts", ylim=(0, None))
    axis.legend(fontsize=8, loc="upper left")
    figure.savefig(path)


def schools_graph(path):
    """The model of the eight schools, as td.Posterior draws it."""

    def log_density(mu, tau, z, y, sigma):
        prior = norm.logpdf(z).sum() + norm.logpdf(mu, 0, 5) + halfcauchy.logpdf(tau, 0, 5)
        return prior + norm.logpdf(y, mu + tau * z, sigma).sum()

    data = {"y": [28.0, 8, -3, 7, -1, 1, 18, 12], "sigma": [15.0, 10, 16, 11, 9, 11, 10, 18]}
    schools = {"coords": {"school": list("ABCDEFGH")}, "dims": {"y": ["school"], "sigma": ["school"]}}
    post = td.Posterior(log_density, mu=td.real(), tau=td.positive(), z=td.real(dims="school"), data=data, **schools)
    path.write_text(post.graph().svg + "\n")


def main():
    plt.rcParams["svg.fonttype"] = "none"  # text stays text
    FIGURES.mkdir(exist_ok=True)
    for draw in tape_and_kernel, tapes_as_tree, ball_fit, walk_fit, schools_graph:
        path = FIGURES / f"{draw.__name__}.svg"
        draw(path)
        plt.close("all")
        print("written:", path)


if __name__ == "__main__":
    main()
