"""A sampler that is compiled as a whole: numba code that calls compiled gradients, also of a function that branches."""

import json
import sys
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
from numba import njit

import tapediff as td

DATA = Path(__file__).parent / "data"
SCHOOLS = json.loads((DATA / "eight_schools.json").read_text())
Y, SIGMA, REFERENCE = np.array(SCHOOLS["y"]), np.array(SCHOOLS["sigma"]), SCHOOLS["reference"]
COUNTS = np.loadtxt(DATA / "coal_mining_disasters.csv", delimiter=",", skiprows=2)[:, 1]
YEARS = np.arange(len(COUNTS)) + 0.5  # since 1851


def eight_schools(u):
    """u = (z, mu, log tau): effects mu + tau z, with z ~ N(0, 1), mu ~ N(0, 5) and tau ~ half-Cauchy(5)."""
    z, mu, log_tau = u[:8], u[8], u[9]
    tau = np.exp(log_tau)
    residual = (Y - (mu + tau * z)) / SIGMA
    return -0.5 * (np.sum(residual**2) + np.sum(z**2) + (mu / 5) ** 2) - np.log1p((tau / 5) ** 2) + log_tau


def poisson(counts, log_rate):
    return np.sum(counts * log_rate - np.exp(log_rate))


def bent_rate(u):
    """Disasters a year, whose log rate bends in a year to be found: u = (level, slope before, slope after, year)."""
    level, bend = u[0], u[3]
    prior = -0.5 * np.sum(u**2)
    before, after = u[1] / 25, u[2] / 25
    year = 55.0 + 25.0 * bend
    if year < 0:
        return prior + poisson(COUNTS, level + after * (YEARS - year))
    if year >= len(COUNTS):
        return prior + poisson(COUNTS, level + before * (YEARS - year))
    k = int(year + 0.5)  # a path, and so a tape, for each year that the sampler visits
    early = poisson(COUNTS[:k], level + before * (YEARS[:k] - year))
    return prior + early + poisson(COUNTS[k:], level + after * (YEARS[k:] - year))


@njit(nogil=True)
def sample(log_density, x, rng, warmup, draws):
    """HMC with steps set by dual averaging (Hoffman and Gelman 2014, JMLR 15, section 3.2): the draws, and how many gradients it took.

    `log_density(x, g)` returns the value at x and writes the gradient to g; `sample.py_func` is the same in Python.
    """
    kept, gradients = np.empty((draws, x.size)), 1
    step, log_step_mean, error = 0.1, 0.0, 0.0
    gradient = np.empty(x.size)
    value = log_density(x, gradient)
    for i in range(1, warmup + draws + 1):
        momentum = rng.normal(0.0, 1.0, x.size)
        end, end_value, end_gradient = x.copy(), value, gradient.copy()
        energy = value - 0.5 * np.sum(momentum**2)
        for _ in range(rng.integers(1, 25)):
            momentum += 0.5 * step * end_gradient
            end += step * momentum
            end_value = log_density(end, end_gradient)
            momentum += 0.5 * step * end_gradient
            gradients += 1
            if not np.isfinite(end_value):
                break
        gain = end_value - 0.5 * np.sum(momentum**2) - energy
        accept = np.exp(min(gain, 0.0)) if np.isfinite(gain) else 0.0
        if rng.random() < accept:
            x, value, gradient = end, end_value, end_gradient
        if i <= warmup:
            error += (0.8 - accept - error) / (i + 10)
            log_step = -np.sqrt(i) / 0.05 * error
            log_step_mean += i**-0.75 * (log_step - log_step_mean)
            step = np.exp(log_step if i < warmup else log_step_mean)
        else:
            kept[i - warmup - 1] = x
    return kept, gradients


def both_ways(name, tape, x, warmup, draws):
    """Sample in compiled code, and a tenth as long with the same sampler in Python; prints how fast each is."""

    def from_python(x, g):
        return td.value_and_gradient(tape, x, out=g)[0]

    kept, rates = [], []
    for sampler, target, share in (sample, tape.as_numba(), 1), (sample.py_func, from_python, 10):
        for _ in range(2):  # the first time compiles the sampler, and records the paths that it meets
            rng, started = np.random.default_rng(1), thread_time()
            drawn, gradients = sampler(target, x, rng, warmup // share, draws // share)
            seconds = thread_time() - started  # processor time: it is the same whatever else runs
        kept.append(drawn)
        rates.append(gradients / seconds)
    fast, slow = rates
    print(f"{name}: {fast:,.0f} gradients a second compiled, {slow:,.0f} from Python: {fast / slow:.1f} times")
    return kept[0]


def with_nutpie(name, tape, size, draws):
    """nutpie, a NUTS in Rust: on the C function of the tape, without the interpreter, and on a Python function."""
    try:
        import nutpie
        from nutpie.compiled_pyfunc import from_pyfunc
    except ImportError:
        print("nutpie is not installed: left out")
        return None

    def starting_point(seed):
        return np.random.default_rng(seed).normal(size=size)

    in_python = from_pyfunc(
        size, lambda: lambda x: td.value_and_gradient(tape, x), lambda *seeds: lambda x: {"u": x},
        [np.dtype(float)], [(size,)], ["u"], make_initial_point_fn=starting_point,
    )  # fmt: skip
    rates = []
    for model in (by_address(tape, size, starting_point), in_python):
        for _ in range(2):  # the first time records the paths that it meets
            started = perf_counter()
            trace = nutpie.sample(model, draws=draws, tune=500, chains=2, cores=1, seed=3, progress_bar=False)
            seconds = perf_counter() - started
        steps = int(trace.sample_stats.n_steps.sum() + trace.warmup_sample_stats.n_steps.sum())
        rates.append(steps / seconds)
    fast, slow = rates
    print(f"{name}, nutpie: {fast:,.0f} gradients a second by address, {slow:,.0f} from Python: {fast / slow:.1f} times")
    return trace.posterior["u"].values.reshape(-1, size)


def by_address(tape, size, starting_point):
    """nutpie's model of the C function at tape.address."""
    from numba import carray, cfunc, types
    from nutpie import _lib
    from nutpie.sample import CompiledModel

    doubles = types.CPointer(types.double)

    @cfunc(types.int64(types.uint64, types.uint64, doubles, doubles, types.voidptr))
    def expand(size, expanded, x, out, user_data):
        carray(out, expanded)[:] = carray(x, size)
        return 0

    class Model(CompiledModel):
        n_dim, shapes, coords = size, {"u": (size,)}, {}

        def _make_sampler(self, settings, init_mean, cores, progress_type, store):
            return _lib.PySampler.from_pymc(settings, cores, self._make_model(init_mean), progress_type, store)

        def _make_model(self, init_mean):
            return _lib.PyMcModel(
                _lib.LogpFunc(tape.address, tape.user_data, tape),
                _lib.ExpandFunc(size, size, expand.address, 0, expand),
                _lib.PyVariable.new_variables(["u"], ["float64"], [(size,)], {"entry": size}, {"u": ("entry",)}),
                size, {"entry": size}, {}, starting_point, None,
            )  # fmt: skip

    return Model(dims={})


def report_schools(draws):
    mu, tau = draws[:, 8], np.exp(draws[:, 9])
    for name, x in ("mu", mu), ("tau", tau), ("theta[1]", mu + tau * draws[:, 0]):
        known = REFERENCE[name]
        print(f"  {name}: mean {x.mean():.2f} sd {x.std():.2f}; reference {known['mean']:.2f} sd {known['sd']:.2f}")


def report_bend(draws):
    year = 1906 + 25 * draws[:, 3]
    low, high = np.quantile(year, [0.025, 0.975])
    print(f"  bend: mean {year.mean():.1f} sd {year.std():.1f}; 95 % between {low:.1f} and {high:.1f}")


def main(draws=20_000):
    compiled = td.compile(eight_schools, np.zeros(10))
    safe = td.GuardedTape(bent_rate, max_tapes=200)
    models = ("eight schools", compiled, 10, report_schools), ("bent rate", safe, 4, report_bend)
    for name, tape, size, report in models:
        report(both_ways(name, tape, np.zeros(size), draws // 10, draws))
        of_nutpie = with_nutpie(name, tape, size, draws // 10)
        if of_nutpie is not None:
            report(of_nutpie)
    print(safe.stats)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
