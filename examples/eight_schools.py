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
    _, axes = plt.subplots(len(draws), 2, figsize=(9, 1.2 * len(draws)), layout="constrained")
    for (marginal, trace), (name, x) in zip(axes, draws.items()):
        marginal.hist(x.ravel(), bins=80, density=True)
        marginal.axvline(REFERENCE[name]["mean"], color="black")
        marginal.set_ylabel(name)
        trace.plot(x.T, linewidth=0.3)
    plt.savefig("eight_schools.png")
    print("plots:", Path("eight_schools.png").resolve())


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
    plot(effects)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
