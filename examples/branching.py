"""British coal-mining disasters: a change of rate in a year that is itself a parameter, and Python branches on it.

`int(tau)` and the `if`s below are plain Python. One GuardedTape compiles one tape for each year that the sampler
visits, and no gradient ever comes from the wrong one.
"""

import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from tqdm import tqdm

import tapediff as td

FIRST_YEAR = 1851
COUNTS = np.loadtxt(Path(__file__).parent / "data" / "coal_mining_disasters.csv", delimiter=",", skiprows=2)[:, 1]


def poisson(counts, log_rate):
    return np.sum(counts * log_rate - np.exp(log_rate))


def log_density(u):
    """u = (log rate before, log rate after, years from 1851 to the change); rates ~ Gamma(2, 1), change ~ N(55, 40)."""
    before, after, tau = u
    prior = np.sum(2 * u[:2] - np.exp(u[:2])) - 0.5 * ((tau - 55) / 40) ** 2
    if tau < 0:  # the change came before the data
        return prior + poisson(COUNTS, after)
    if tau >= len(COUNTS):  # or after them
        return prior + poisson(COUNTS, before)
    k = int(tau)
    return prior + poisson(COUNTS[:k], before) + poisson(COUNTS[k:], after)


def hmc_step(target, u, rng, step, count):
    """One HMC step on the two log rates, with tau as it is."""
    value, gradient = td.value_and_gradient(target, u)
    rates, momentum = u[:2], rng.normal(size=2)
    energy = value - 0.5 * momentum @ momentum
    for _ in range(count):
        half = momentum + 0.5 * step * gradient[:2]
        rates = rates + step * half
        value, gradient = td.value_and_gradient(target, np.append(rates, u[2]))
        momentum = half + 0.5 * step * gradient[:2]
    accepted = np.log(rng.uniform()) < value - 0.5 * momentum @ momentum - energy
    return np.append(rates, u[2]) if accepted else u


def metropolis_step(target, u, rng):
    """One Metropolis step on the year of the change, with the rates as they are."""
    proposed = u + np.array([0.0, 0.0, rng.normal(scale=4.0)])
    gain = td.value_and_gradient(target, proposed)[0] - td.value_and_gradient(target, u)[0]
    return proposed if np.log(rng.uniform()) < gain else u


def main(draws=1000, chains=4, warmup=300):
    safe = td.GuardedTape(log_density, max_tapes=128)
    started, kept = perf_counter(), []
    with tqdm(total=chains * (warmup + draws), unit=" draws") as bar:
        for chain, tau in zip(range(chains), (20.5, 40.5, 60.5, -2.5)):
            rng, u = np.random.default_rng([1851, chain]), np.array([0.5, 0.5, tau])
            for i in range(warmup + draws):
                u = metropolis_step(safe, hmc_step(safe, u, rng, rng.uniform(0.05, 0.15), 8), rng)
                bar.update()
                if i >= warmup:
                    kept.append(u)
    finished = perf_counter()
    print(safe.explain())

    before, after, tau = np.array(kept).T
    low, high = FIRST_YEAR + np.quantile(tau, [0.025, 0.975])
    print(f"change: {FIRST_YEAR + tau.mean():.1f}, 95 % between {low:.1f} and {high:.1f}")
    for name, log_rate in ("before", before), ("after", after):
        print(f"disasters a year {name}: {np.exp(log_rate).mean():.2f} (sd {np.exp(log_rate).std():.2f})")
    gradients = chains * (warmup + draws) * 11
    print(f"{gradients} gradients in {finished - started:.1f} s, recording and compiling included")

    at_1890, at_1880 = np.array([np.log(3.0), 0.0, 39.5]), np.array([np.log(3.0), 0.0, 29.5])
    tape = td.record(log_density, at_1880)
    print("gradient in the two log rates, change in 1890:", td.gradient(safe, at_1890)[:2].round(2))
    print("what a tape recorded at 1880 would say without guards:", td.gradient(tape, at_1880)[:2].round(2))
    try:
        td.gradient(tape, at_1890)
    except td.GuardFailed as refusal:
        print("what it says here: GuardFailed:", refusal)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
