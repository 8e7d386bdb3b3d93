"""One gradient on several cores: how much faster it is on two threads than on one, and beside jax.jit on the same cores.

    python -m benchmarks.threads [--threads N] [--only TEXT ...]

Microseconds of value and gradient, the least of many calls that take turns. *Without* is td.compile as it is without threads=, whose
large matrix products go to BLAS, on as many threads as that has (here 1). JAX may use all cores, if it is installed. Answers are
compared first; those of any number of threads have to have the same bits. The cores have to be idle.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import tapediff as td

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None

RNG = np.random.default_rng(4)
SECONDS_EACH = 2.0


class Problem(NamedTuple):
    """A function of one array and of the namespace to compute in, and the point."""

    name: str
    function: Callable[[Any, Any], Any]
    point: np.ndarray


def logistic() -> Problem:
    X, y = RNG.normal(size=(1_000_000, 20)), (RNG.random(1_000_000) < 0.5).astype(float)

    def f(beta, np):
        eta = X @ beta
        return np.sum(y * eta - np.logaddexp(0.0, eta)) - 0.5 * np.sum(beta**2)

    return Problem("logistic regression, 10⁶ × 20", f, 0.1 * RNG.normal(size=20))


def mixture() -> Problem:
    y = RNG.normal(size=1_000_000)

    def f(p, np):
        first = -0.5 * ((y - p[0]) / np.exp(p[2])) ** 2 - p[2] - np.logaddexp(0.0, -p[4])
        second = -0.5 * ((y - p[1]) / np.exp(p[3])) ** 2 - p[3] - np.logaddexp(0.0, p[4])
        return np.sum(np.logaddexp(first, second))

    return Problem("mixture of two normals, 10⁶", f, np.array([0.5, -0.5, 0.1, 0.2, 0.3]))


def network() -> Problem:
    X, Y = RNG.normal(size=(512, 512)), RNG.normal(size=(512, 512))

    def f(w, np):
        hidden = np.tanh(X @ w[: 512 * 256].reshape(512, 256))
        return np.mean((hidden @ w[512 * 256 :].reshape(256, 512) - Y) ** 2)

    return Problem("network 512 × 256 × 512, 512 examples", f, 0.05 * RNG.normal(size=2 * 512 * 256))


def heat() -> Problem:
    def f(u, np):
        def step(u, _):
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            return np.pad(u[1:-1, 1:-1] + 0.1 * around, 1), None

        u, _ = _scan(np, step, u.reshape(1024, 1024), 20)
        return np.sum(u * u)

    return Problem("heat equation 1024 × 1024, 20 steps", f, RNG.normal(size=1024 * 1024))


def equations() -> Problem:
    starts = 1.0 + 0.1 * RNG.normal(size=(2, 100_000))

    def f(p, np):
        def step(c, _):
            x, y = c
            return (x + 0.01 * (p[0] * x - p[1] * x * y), y + 0.01 * (p[2] * x * y - p[3] * y)), None

        (x, y), _ = _scan(np, step, (np.asarray(starts[0]), np.asarray(starts[1])), 50)
        return np.sum(np.log(x) ** 2 + np.log(y) ** 2)

    return Problem("10⁵ Lotka-Volterra equations, 50 Euler steps", f, np.array([1.0, 0.9, 0.8, 1.1]))


def _scan(namespace: Any, step: Callable[..., Any], start: Any, length: int) -> Any:
    return (td.scan if namespace is np else jax.lax.scan)(step, start, None, length=length)


def measure(problem: Problem, threads: int) -> dict[str, float]:
    """Microseconds by engine. Raises AssertionError where answers differ."""
    plain = lambda x: problem.function(x, np)  # noqa: E731 -- its name is its use
    compiled = {n: td.compile(plain, problem.point, threads=n) for n in (None, 1, threads)}
    answers = {n: td.value_and_gradient(c, problem.point) for n, c in compiled.items()}
    assert answers[1][0] == answers[threads][0]
    assert np.array_equal(answers[1][1], answers[threads][1])
    calls = {"without": lambda: td.value_and_gradient(compiled[None], problem.point)}
    calls["1"] = lambda: td.value_and_gradient(compiled[1], problem.point)
    calls[str(threads)] = lambda: td.value_and_gradient(compiled[threads], problem.point)
    found = [answers[None]]
    if jax is not None:
        compute, point = jax.jit(jax.value_and_grad(lambda x: problem.function(x, jnp))), jnp.asarray(problem.point)
        found.append(tuple(map(np.asarray, compute(point))))
        calls["jax.jit"] = lambda: jax.block_until_ready(compute(point))
    for value, gradient in found:
        np.testing.assert_allclose(value, answers[threads][0], rtol=1e-10)
        np.testing.assert_allclose(gradient, answers[threads][1], rtol=1e-8, atol=1e-9 * np.abs(gradient).max())
    return _least_times(calls)


def _least_times(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    least = dict.fromkeys(calls, np.inf)
    end = perf_counter() + SECONDS_EACH * len(calls)
    while perf_counter() < end:
        for name, call in calls.items():
            for _ in range(3):  # one behind the other, as a sampler calls
                start = perf_counter()
                call()
                least[name] = min(least[name], (perf_counter() - start) * 1e6)
    return least


PROBLEMS = (logistic, mixture, network, heat, equations)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    options = parser.parse_args(arguments)
    print(f"| value and gradient, µs | without | 1 | {options.threads} | jax.jit | 1 / {options.threads} | / jax.jit |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for make in PROBLEMS:
        if not any(text in make.__name__ for text in options.only):
            continue
        problem = make()
        times = measure(problem, options.threads)
        shared, jaxs = times[str(options.threads)], times.get("jax.jit", np.nan)
        columns = [times["without"], times["1"], shared, jaxs]
        figures = [f"{t:,.0f}" for t in columns] + [f"{times['1'] / shared:.2f}", f"{shared / jaxs:.2f}"]
        print(f"| {problem.name} | {' | '.join(figures)} |".replace("nan", ""), flush=True)


if __name__ == "__main__":
    sys.exit(main())
