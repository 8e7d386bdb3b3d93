"""Eight schools (Rubin 1981): a log density in plain NumPy, compiled with tapediff, sampled by HMC."""

import json
import sys
import warnings
from pathlib import Path
from time import perf_counter
from timeit import repeat

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import tapediff as td

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # ArviZ 0.x announces 1.0 when imported
    import arviz as az

FIGURES = Path("figures")
DATA = json.loads((Path(__file__).parent / "data" / "eight_schools.json").read_text())
Y, SIGMA, REFERENCE = np.array(DATA["y"]), np.array(DATA["sigma"]), DATA["reference"]


def log_density(u):
    """u = (z, mu, log tau): effects theta = mu + tau z, with z ~ N(0, 1), mu ~ N(0, 5) and tau ~ half-Cauchy(5)."""
    z, mu, log_tau = u[:8], u[8], u[9]
    tau = np.exp(log_tau)
    residual = (Y - (mu + tau * z)) / SIGMA
    return -0.5 * (np.sum(residual**2) + np.sum(z**2) + (mu / 5) ** 2) - np.log1p((tau / 5) ** 2) + log_tau


def leapfrog(target, x, momentum, gradient, step, count):
    for _ in range(count):
        half = momentum + 0.5 * step * gradient
        x = x + step * half
        value, gradient = td.value_and_gradient(target, x)
        momentum = half + 0.5 * step * gradient
    return x, momentum, value, gradient


def sample_chain(target, rng, warmup, draws, bar):
    """Plain HMC; during warm-up dual averaging sets the step size (Hoffman and Gelman 2014, JMLR 15, section 3.2)."""
    x, kept, step, log_step_mean, error = rng.normal(size=10), [], 0.1, 0.0, 0.0
    value, gradient = td.value_and_gradient(target, x)
    for i in range(1, warmup + draws + 1):
        momentum = rng.normal(size=10)
        end = leapfrog(target, x, momentum, gradient, step, rng.integers(1, 25))
        gain = (end[2] - 0.5 * end[1] @ end[1]) - (value - 0.5 * momentum @ momentum)
        accept = np.nan_to_num(np.exp(min(gain, 0.0)))
        if rng.uniform() < accept:
            x, _, value, gradient = end
        if i <= warmup:
            error += (0.8 - accept - error) / (i + 10)
            log_step = -np.sqrt(i) / 0.05 * error
            log_step_mean += i**-0.75 * (log_step - log_step_mean)
            step = np.exp(log_step if i < warmup else log_step_mean)
        else:
            kept.append(x)
        bar.update()
    return kept


def report(name, x):
    reference, statistics = REFERENCE[name], [np.asarray(f(x)).item() for f in (az.mcse, az.rhat, az.ess)]
    columns = x.mean(), reference["mean"], (x.mean() - reference["mean"]) / statistics[0], x.std(), reference["sd"]
    print(("{:9}" + "{:11.2f}" * 5 + "{:8.3f}{:7.0f}").format(name, *columns, *statistics[1:]))


def plot(draws):
    """The density of each parameter with the reference's mean and standard deviation, and the draws of each chain in their order."""
    figure, axes = plt.subplots(len(draws), 2, figsize=(10, 1.25 * len(draws)), layout="constrained", sharex="col")
    for (marginal, trace), (name, x) in zip(axes, draws.items()):
        mean, sd = REFERENCE[name]["mean"], REFERENCE[name]["sd"]
        marginal.hist(x.ravel(), bins=np.linspace(-20, 30, 120), density=True, histtype="stepfilled", color="#56B4E9", label="draws")
        marginal.axvspan(mean - sd, mean + sd, color="#D55E00", alpha=0.15, label="reference: mean ± sd")
        marginal.axvline(mean, color="#D55E00")
        marginal.set_ylabel(name)
        marginal.set_yticks([])
        trace.plot(x.T, linewidth=0.3)
    axes[0, 0].set_title("posterior density")
    axes[0, 0].legend(fontsize=7)
    axes[0, 1].set_title("draws, a colour for each chain")
    axes[-1, 0].set_xlabel("points in the test")
    axes[-1, 1].set_xlabel("draw")
    figure.suptitle("Eight schools: what coaching adds to a test's result")
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "eight_schools.png", dpi=110)
    print("plot:", (FIGURES / "eight_schools.png").resolve())


EXPLAINED = """
mean, sd: of the draws; reference: of 10,000 draws of posteriordb, made with Stan.
error/MCSE: the difference of the means in Monte-Carlo standard errors (MCSE): what the mean would vary by if this were run again.
  Around two thirds of such numbers lie between -1 and 1, and one in twenty beyond 2. That the largest of ten is 2.8 happens in one run
  of twenty; beyond 4 something is wrong.
R-hat: how the chains agree: 1.00 where they do, and beyond 1.01 they want more draws.
ESS: effective sample size: as many independent draws would tell as much."""


def main(draws=2500, chains=4, warmup=500):
    x, started = np.zeros(10), perf_counter()
    tape = td.record(log_density, x)
    compiled = td.compile(tape)
    td.gradient(compiled, x)
    print(f"recorded and compiled in {perf_counter() - started:.2f} s")
    for name, target in ("uncompiled", tape), ("compiled", compiled):
        best = min(repeat(lambda t=target: td.gradient(t, x), number=200)) / 200
        print(f"one gradient, {name}: {best * 1e6:.2f} µs")
    with tqdm(total=chains * (warmup + draws), unit=" draws") as bar:
        u = np.array([sample_chain(compiled, np.random.default_rng([8, k]), warmup, draws, bar) for k in range(chains)])
    mu, tau = u[..., 8], np.exp(u[..., 9])
    effects = {f"theta[{k + 1}]": mu + tau * u[..., k] for k in range(8)} | {"mu": mu, "tau": tau}
    print(f"{'':9}       mean  reference error/MCSE         sd  reference   R-hat    ESS")
    for name, x in effects.items():
        report(name, x)
    print(EXPLAINED)
    plot(effects)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
