"""Arrays of any length: recordings, and what a call of a new length costs beside a tape for that length and jax.jit.

    python -m benchmarks.sizes [--lengths N] [--only TEXT ...]

Value and gradient by the parameters, at lengths of 2 to 1,000 in random order (Gaussian process: 2 to 200), each once. *First two*:
seconds of the first two calls, which record. *New length*: microseconds of the later calls, the median without those that record. *Own
tape*: of a tape that was recorded for the length, the median of eleven lengths. JAX, if it is installed, compiles each length: seconds
of one. Answers of all lengths are compared with finite differences of the plain function first.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
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

T = np.array([0.3, -0.2, 0.1])
MOST, MOST_POINTS = 1_000, 200


class Problem(NamedTuple):
    """A function of parameters and data, data of a length, and the same function for JAX, if that can be said in a line or two."""

    function: Callable[..., Any]
    data: Callable[[np.random.Generator, int], tuple[Any, ...]]
    for_jax: Callable[..., Any] | None = None
    most: int = MOST


def logistic(t, X, y, np=np):
    eta = X @ t
    return np.sum(np.logaddexp(0.0, eta) - y * eta)


def garch(t, r):
    w, a, b = np.exp(t[0]), np.exp(t[1] - 2), np.exp(t[2] - 1)
    variance, total = w, 0.0
    for v in r:
        total = total + np.log(variance) + v**2 / variance
        variance = w + a * v**2 + b * variance
    return total


def garch_for_jax(t, r):
    w, a, b = jnp.exp(t[0]), jnp.exp(t[1] - 2), jnp.exp(t[2] - 1)

    def step(variance, v):
        return w + a * v**2 + b * variance, jnp.log(variance) + v**2 / variance

    return jnp.sum(jax.lax.scan(step, w, r)[1])


def scanned(t, r):
    w, a, b = np.exp(t)
    return np.sum(td.scan(lambda s, v: (w + a * v**2 + b * s, np.log(s) + v**2 / s), w, r)[1])


def hidden_markov(t, r):
    a = np.array([[0.9, 0.1], [0.2, 0.8]])
    mean = np.array([t[0], t[1]])
    log_p = np.zeros(2)
    for v in r:
        log_p = np.log(np.exp(log_p) @ a) - 0.5 * (v - mean) ** 2 * np.exp(t[2])
    return np.sum(np.log(np.sum(np.exp(log_p))))


def ragged(t, *groups):
    return sum(np.mean(np.exp(-g * t[0])) ** 2 for g in groups) + t[1] ** 2


def filled(t, x):
    out = np.zeros(len(x))
    out[0] = t[0]
    for k in range(1, len(x)):
        out[k] = t[1] * out[k - 1] + x[k]
    return np.sum((out - t[2]) ** 2)


def edges(t, x, first, second, np=np):
    return np.sum((x[first] - t[0] * x[second]) ** 2) * t[1] + t[2]


def gaussian_process(t, x, y, np=np):
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 * np.exp(t[1])) + np.exp(t[2]) * np.eye(len(x))
    return 0.5 * y @ np.linalg.solve(k, y) + 0.5 * np.linalg.slogdet(k)[1]


def several(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return tuple(rng.normal(size=k) for k in (n, n // 2 + 2, max(n - 3, 2)))


def graph(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=30), rng.integers(0, 30, n), rng.integers(0, 30, n)


def series(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return (rng.normal(size=n),)


def several_of_one_length(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), rng.normal(size=n)


def with_jax(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: f(*args, np=jnp)


PROBLEMS = {
    "logistic rows": Problem(logistic, lambda rng, n: (rng.normal(size=(n, 3)), rng.integers(0, 2, n) * 1.0), with_jax(logistic)),
    "GARCH loop": Problem(garch, series, garch_for_jax),
    "td.scan": Problem(scanned, series),
    "hidden Markov model": Problem(hidden_markov, series),
    "ragged groups": Problem(ragged, several),
    "array filled in a loop": Problem(filled, series),
    "edges": Problem(edges, graph, with_jax(edges)),
    "Gaussian process": Problem(gaussian_process, several_of_one_length, with_jax(gaussian_process), MOST_POINTS),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, default=150, help="how many of each problem")
    parser.add_argument("--only", nargs="*", default=[], help="problems with one of these words in the name")
    options = parser.parse_args()
    print("| | recordings | first two, s | new length, µs | own tape, µs | jax.jit, a length, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, problem in PROBLEMS.items():
        if not options.only or any(word.lower() in name.lower() for word in options.only):
            print(f"| {name} | {row(problem, options.lengths)} |", flush=True)


def row(problem: Problem, count: int) -> str:
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.arange(2, problem.most + 1))[:count]
    points = [problem.data(rng, int(n)) for n in lengths]
    tape = td.GuardedTape(problem.function)
    seconds, known = list[float](), list[bool]()
    for point in points:
        before = tape.stats.recordings
        seconds.append(timed(partial(td.value_and_gradient, tape, T, *point), 1))
        known.append(tape.stats.recordings == before)
        compare(problem, tape, point)
    new = [each for each, is_known in zip(seconds, known) if is_known]
    own = [own_tape(problem, point) for point in points[:: max(1, len(points) // 11)][:11]]
    jax_seconds = "" if jax is None or problem.for_jax is None else f"{median(of_jax(problem, points[:4])):.2f}"
    return f"{tape.stats.recordings} | {sum(seconds[:2]):.2f} | {median(new) * 1e6:.1f} | {median(own) * 1e6:.1f} | {jax_seconds}"


def timed(call: Callable[[], Any], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = perf_counter()
        call()
        best = min(best, perf_counter() - start)
    return best


def compare(problem: Problem, tape: td.GuardedTape, point: Sequence[Any]) -> None:
    value, gradient = td.value_and_gradient(tape, T, *point)
    np.testing.assert_allclose(value, problem.function(T, *point), rtol=1e-9)
    differences = [(problem.function(T + e, *point) - problem.function(T - e, *point)) / 2e-6 for e in np.eye(3) * 1e-6]
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-4 * (1 + abs(value)))


def own_tape(problem: Problem, point: Sequence[Any]) -> float:
    tape = td.GuardedTape(problem.function)
    return timed(partial(td.value_and_gradient, tape, T, *point), 20)


def of_jax(problem: Problem, points: Sequence[Sequence[Any]]) -> list[float]:
    assert problem.for_jax is not None
    call = jax.jit(jax.value_and_grad(problem.for_jax))
    return [timed(partial(_finished, call, T, *point), 1) for point in points]


def _finished(call: Callable[..., Any], *args: Any) -> Any:
    return jax.block_until_ready(call(*args))


if __name__ == "__main__":
    main()
