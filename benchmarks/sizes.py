"""Arrays of any length: recordings, and what a call of a new length costs beside a tape for that length and jax.jit.

    python -m benchmarks.sizes [--lengths N] [--only TEXT ...]

Value and gradient by the parameters, at lengths of 2 to 1,000 in random order (Gaussian process: 2 to 200), each once. *First two*:
seconds of the first two calls, which record. *New length*: microseconds of the later calls, the median without those that record; *again*:
of the next call of the same length. *Beside own tapes*: times of calls divided by those of a tape that was recorded for the length, at
lengths from 16 on, in turn: geometric mean and worst. JAX, if it is installed, compiles each length: seconds of one. Answers of all
lengths are compared with finite differences of the plain function first. At last Adam on 80 minibatches of any length, and on the same
ones padded to 64 rows.
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
# Powers of 2, their neighbours, and lengths in between.
BESIDE = (16, 17, 33, 64, 100, 136, 200, 255, 511, 700, 1000)


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


def variances(t, r):
    w, a, b = np.exp(t)
    h = np.zeros(len(r))
    h[0] = w
    for k in range(1, len(r)):
        h[k] = w + a * r[k - 1] ** 2 + b * h[k - 1]
    return np.sum(np.log(h) + r**2 / h)


def residuals(t, y):
    e = np.zeros(len(y))
    for k in range(2, len(y)):
        e[k] = y[k] - t[0] * y[k - 1] - t[1] * y[k - 2] - t[2] * e[k - 1]
    return np.sum(e**2)


def kalman(t, y):
    means, spreads = np.zeros(len(y)), np.zeros(len(y))
    m, p = 0.0, 1.0
    for k in range(len(y)):
        p = t[0] ** 2 * p + np.exp(t[1])
        s = p + np.exp(t[2])
        gain = p / s
        m, p = t[0] * m + gain * (y[k] - t[0] * m), (1 - gain) * p
        means[k], spreads[k] = m, s
    return np.sum((y - means) ** 2 / spreads + np.log(spreads))


def in_order(t, x):
    return np.sum(np.sort(np.sin(x * t[0])) * np.arange(len(x))) / len(x) + np.sum(np.cumsum(x * t[1]) ** 2) / len(x) + t[2]


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
    "GARCH, filled in a loop": Problem(variances, series),
    "ARMA, filled in a loop": Problem(residuals, series),
    "Kalman filter": Problem(kalman, series),
    "sorted, summed up": Problem(in_order, series),
    "edges": Problem(edges, graph, with_jax(edges)),
    "Gaussian process": Problem(gaussian_process, several_of_one_length, with_jax(gaussian_process), MOST_POINTS),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, default=150, help="how many of each problem")
    parser.add_argument("--only", nargs="*", default=[], help="problems with one of these words in the name")
    options = parser.parse_args()
    print("| | recordings | first two, s | new length, µs | again, µs | beside own tapes | jax.jit, a length, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, problem in PROBLEMS.items():
        if not options.only or any(word.lower() in name.lower() for word in options.only):
            print(f"| {name} | {row(problem, options.lengths)} |", flush=True)
    if not options.only:
        print(f"Adam on 80 minibatches, beside padded ones: {minibatches():.2f}")


def row(problem: Problem, count: int) -> str:
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.arange(2, problem.most + 1))[:count]
    points = [problem.data(rng, int(n)) for n in lengths]
    tape = td.GuardedTape(problem.function)
    seconds, again, known = list[float](), list[float](), list[bool]()
    for point in points:
        before, call = tape.stats.recordings, partial(td.value_and_gradient, tape, T, *point)
        seconds.append(timed(call, 1))
        known.append(tape.stats.recordings == before)
        again.append(timed(call, 1))
        compare(problem, tape, point)
    new = [(a, b) for a, b, is_known in zip(seconds, again, known) if is_known]
    times = " | ".join(f"{median(each) * 1e6:.1f}" for each in zip(*new))
    ratios = [beside(problem, tape, problem.data(rng, n)) for n in BESIDE if n <= problem.most and count > len(BESIDE)]
    both = f"{np.exp(np.mean(np.log(ratios))):.2f}, {max(ratios):.2f}" if ratios else ""
    jax_seconds = "" if jax is None or problem.for_jax is None else f"{median(of_jax(problem, points[:4])):.2f}"
    return f"{tape.stats.recordings} | {sum(seconds[:2]):.2f} | {times} | {both} | {jax_seconds}"


def beside(problem: Problem, tape: td.GuardedTape, point: Sequence[Any]) -> float:
    """Time of a call divided by that of a tape of its own: the best of each, in turn, and too few calls for the tape to get one."""
    own, best = td.GuardedTape(problem.function), [float("inf")] * 2
    calls = [partial(td.value_and_gradient, each, T, *point) for each in (tape, own)]
    for call in calls:
        call()
    for _ in range(80):
        best = [min(before, timed(call, 1)) for before, call in zip(best, calls)]
    return best[0] / best[1]


def minibatches() -> float:
    """Seconds of Adam on minibatches of any length, beside those of the same ones padded to the largest."""
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(2000, 3)), np.zeros(3)
    y = (rng.random(2000) < 1 / (1 + np.exp(-x @ T))) * 1.0
    batches = [rng.integers(0, 2000, n) for n in rng.integers(2, 65, 80)]

    def weighted(t, X, y, w):
        eta = X @ t
        return np.sum(w * (np.logaddexp(0.0, eta) - y * eta))

    def padded(rows):
        places = np.pad(rows, (0, 64 - len(rows)))
        return weighted_tape, t, x[places], y[places], (np.arange(64) < len(rows)) * 1.0

    tape, weighted_tape = td.GuardedTape(logistic), td.GuardedTape(weighted)
    both = [lambda rows: (tape, t, x[rows], y[rows]), padded]
    first, best = [[td.gradient(*of(rows)) for rows in batches] for of in both], [float("inf")] * 2
    np.testing.assert_allclose(*first, rtol=1e-12)
    for _ in range(20):
        best = [min(before, timed(partial(epoch, of, batches), 1)) for before, of in zip(best, both)]
    return best[0] / best[1]


def epoch(of: Callable[[np.ndarray], tuple[Any, ...]], batches: Sequence[np.ndarray]) -> None:
    """Adam on each batch."""
    p, m, v = np.zeros(3), np.zeros(3), np.zeros(3)
    for step, rows in enumerate(batches, 1):
        tape, _, *data = of(rows)
        g = td.gradient(tape, p, *data)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        p = p - 0.02 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


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


def of_jax(problem: Problem, points: Sequence[Sequence[Any]]) -> list[float]:
    assert problem.for_jax is not None
    call = jax.jit(jax.value_and_grad(problem.for_jax))
    return [timed(partial(_finished, call, T, *point), 1) for point in points]


def _finished(call: Callable[..., Any], *args: Any) -> Any:
    return jax.block_until_ready(call(*args))


if __name__ == "__main__":
    main()
