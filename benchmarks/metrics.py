"""Effective draws per gradient: nutpie's adapted diagonal metric against post.sample(metric="laplace").

    python -m benchmarks.metrics    needs nutpie and ArviZ: pip install 'tapediff[sampling]'; three minutes

Two chains of 1000 draws after 500; the smallest effective size of all quantities, over the gradients after the adaptation. The means of
both runs are compared first.
"""

from importlib import import_module

import numpy as np

import tapediff as td
from tapediff.stats import norm, poisson

RNG = np.random.default_rng(4)


def walk(s, u, y):
    steps = norm.logpdf(u[0], 0.0, 3.0) + norm.logpdf(np.diff(u), 0.0, np.exp(s)).sum()
    return norm.logpdf(s, -2.0, 1.0) + steps + poisson.logpmf(y, np.exp(u)).sum()


def crossed(m, s, t, u, v, one, other, y):
    mean = m + u[one] + v[other]
    prior = norm.logpdf(m, 0.0, 2.0) + norm.logpdf(s) + norm.logpdf(t)
    effects = norm.logpdf(u, 0.0, np.exp(s)).sum() + norm.logpdf(v, 0.0, np.exp(t)).sum()
    return prior + effects + np.sum(y * mean - np.logaddexp(0.0, mean))


def smooth(s, t, f, y):
    second = norm.logpdf(f[:2], 0.0, 3.0).sum() + norm.logpdf(f[2:] - 2.0 * f[1:-1] + f[:-2], 0.0, np.exp(s)).sum()
    return norm.logpdf(s, -4.0, 1.0) + norm.logpdf(t, -1.0, 1.0) + second + norm.logpdf(y, f, np.exp(t)).sum()


def regression(b, s, X, y):
    return norm.logpdf(b, 0.0, 5.0).sum() + norm.logpdf(s) + norm.logpdf(y, X @ b, np.exp(s)).sum()


def models():
    """Name, posterior, and the random effects."""
    y = RNG.poisson(np.exp(1.0 + np.cumsum(0.15 * RNG.normal(size=300))))
    yield "random walk of counts, 300 effects", td.Posterior(walk, s=td.real(), u=td.real(300), data={"y": y}), "u"
    one, other = RNG.integers(0, 40, 2000), RNG.integers(0, 60, 2000)
    p = 1.0 / (1.0 + np.exp(-0.3 - RNG.normal(size=40)[one] - 1.5 * RNG.normal(size=60)[other]))
    data = {"one": one, "other": other, "y": (RNG.uniform(size=2000) < p).astype(float)}
    numbers = {name: td.real() for name in ("m", "s", "t")}
    yield "crossed effects, binary, 40 + 60", td.Posterior(crossed, **numbers, u=td.real(40), v=td.real(60), data=data), ("u", "v")
    data = {"y": np.sin(np.linspace(0.0, 6.0, 200)) + 0.3 * RNG.normal(size=200)}
    yield "smoothing, second differences, 200", td.Posterior(smooth, s=td.real(), t=td.real(), f=td.real(200), data=data), "f"
    X = RNG.normal(size=(100, 20)) @ RNG.normal(size=(20, 20))
    data = {"X": X, "y": X @ RNG.normal(size=20) + RNG.normal(size=100)}
    yield "regression, 20 correlated columns", td.Posterior(regression, b=td.real(20), s=td.real(), data=data), ()


def main():
    ess = import_module("arviz").ess
    print(f"{'effective draws in 1000 gradients':36}  diagonal   laplace     ratio")
    for name, post, random in models():
        rates, means, errors = [], [], []
        for options in ({}, {"metric": "laplace", "random": random}):
            trace = post.sample(1000, 2, tune=500, seed=1, progress_bar=False, **options)
            sizes = np.concatenate([each.values.ravel() for each in ess(trace).data_vars.values()])
            draws = np.concatenate([each.values.reshape(2000, -1) for each in trace.posterior.data_vars.values()], axis=1)
            means.append(draws.mean(axis=0))
            errors.append(draws.std(axis=0) / np.sqrt(sizes))
            rates.append(1000.0 * sizes.min() / float(trace.sample_stats["n_steps"].sum()))
        apart = np.abs(means[0] - means[1]) / np.hypot(*errors)
        assert np.median(apart) < 2.0, f"{name}: means differ by {np.median(apart):.1f} standard errors"
        print(f"{name:36}  {rates[0]:8.2f}  {rates[1]:8.2f}  {rates[1] / rates[0]:8.0f}", flush=True)


if __name__ == "__main__":
    main()
