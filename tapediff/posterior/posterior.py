"""td.Posterior: a log density of named parameters, with modes, draws and generated quantities."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.instruction import Tree
from .check import Report, check_posterior
from .density import NamedDensity
from .estimates import Estimate, NormalApproximation, find_mode, laplace_approximation
from .generated import generate, sample_prior
from .pathfinder import PathDraws, pathfinder
from .sampling import Executor, nutpie_model, sample, sample_by_tasks
from .transforms import Array


class Posterior(NamedDensity):
    """A log density of named, constrained parameters, over one unconstrained vector, with its derivatives compiled.

    Args:
        log_density: called with the parameters and the data by name; returns a number, and need not be normalised. Plain NumPy,
            scipy.special, td.stats; it may branch. It is the density of the constrained parameters: log-Jacobians are added here.
        data: by name: arrays, numbers, data frame columns, containers of these. They are arguments of the kernels, so `set_data` replaces
            them without compiling; strings, None and bools are frozen in.
        coords: the names of the entries along each dimension: `{"school": ["A", "B"]}`, or its length, `{"school": 8}`.
        generated: called with the parameters and the data that it names; returns a dict of further quantities for each draw. With an
            argument `key`, it gets a key of td.random, a new one for each draw. With an argument `rng`, it is called as plain Python, with
            a numpy.random.Generator; else it is compiled.
        prior: draws the parameters: called with the data that it names and with `key` or `rng`, returns a dict of all parameters, for
            `sample_prior`.
        dims: names of the dimensions of the results of `generated`, `{"theta": ("school",)}`.
        parameters: td.real(), td.positive(), td.simplex(3), ... by name: as keywords, or a dict for names such as "data".
        options: of the td.GuardedTape inside, `{"max_tapes": 200}`.

    Raises:
        ValueError: a parameter without a known shape, or a name that log_density does not take.

    Transforms and log-Jacobians are Stan's, so that log densities can be compared with BridgeStan's at the same points, up to
    constants. Methods are called as BridgeStan calls them.

    Cost: a call of log_density_gradient costs one kernel and 0.3 to 0.6 µs; by `address`, the kernel alone.
    """

    # Estimates

    def find_map(self, start: Mapping[str, Tree] | None = None, *, jacobian: bool = False, seed: int = 0) -> Estimate:
        """The mode: of the constrained parameters' density, or with `jacobian` of the unconstrained vector's.

        Args:
            start: values of the parameters; unless given, a few points around u = 0 are tried.
            seed: of these points.

        Raises:
            RuntimeError: no mode was found; the density may have none.
        """
        return find_mode(self, None if start is None else self.unconstrain(start), jacobian, seed)

    def laplace(self, start: Mapping[str, Tree] | None = None, *, seed: int = 0) -> NormalApproximation:
        """The normal distribution of the unconstrained vector with the mode and the Hessian of the log density there."""
        return laplace_approximation(
            self, find_mode(self, None if start is None else self.unconstrain(start), True, seed)
        )

    def pathfinder(self, draws: int = 1000, *, paths: int = 4, seed: int = 0) -> PathDraws:
        """Draws that approximate the posterior's, from normal distributions along paths to its modes: a first look, or starting points.

        Args:
            draws: their number.
            paths: their number; each begins at another point.

        Raises:
            RuntimeError: the log density is not finite at any starting point.

        Cost: some 100 gradients and `draws` values for each path.
        Source: Zhang, Carpenter, Gelman and Vehtari (2022), J. Machine Learning Research 23(306).
        """
        return pathfinder(self, draws, paths, seed)

    def check(self, points: int = 5, *, seed: int = 0) -> Report:
        """A table to print: is the log density finite at typical points, its gradient right, how near are the branches."""
        return check_posterior(self, points, seed)

    # Draws

    def sample(
        self, draws: int = 1000, chains: int = 4, *, tune: int = 1000, seed: int | None = None, executor: Executor | None = None,
        **options: Tree,
    ) -> Tree:  # fmt: skip
        """Draws by nutpie's No-U-Turn sampler, which calls the compiled density and the transforms without Python.

        Args:
            draws: of each chain, after `tune` more that are not kept.
            executor: runs each chain as a task: a dask.distributed.Client, a concurrent.futures.ProcessPoolExecutor, or another object
                whose `submit(function, *args)` returns a future with `result()`. It gets the posterior, with functions by cloudpickle if
                that is installed.
            options: of nutpie.sample, such as cores, progress_bar=False, target_accept.

        Returns:
            arviz.InferenceData (a tree of xarray datasets), with the parameters and generated quantities by name, and coordinates. Random
            quantities with the name of data are in its group `posterior_predictive`, and the data in `observed_data`.

        Raises:
            ImportError: nutpie is not installed: pip install tapediff[sampler].
            Exception: an error in the density itself stops the run. Points that it rejects are divergences.
        """
        if executor is not None:
            return sample_by_tasks(self, draws, chains, tune, seed, options, executor)
        return sample(self, draws, chains, tune, seed, options)

    def nutpie_model(self) -> Tree:
        """The model for nutpie.sample, to call it yourself."""
        return nutpie_model(self)

    def generate(self, draws: Mapping[str, Array], *, seed: int | None = 0) -> dict[str, Array]:
        """The results of `generated` at each draw.

        Args:
            draws: the parameters, as `constrain` returns them: equal leading axes, followed by the parameter's shape.
            seed: of the `rng` or the keys passed to `generated`, if it takes one; None for another at each call.
        """
        return generate(self, draws, seed)

    def sample_prior(self, draws: int = 1000, *, seed: int | None = 0) -> dict[str, Array]:
        """Draws of the parameters by `prior`, and the results of `generated` at them: predictions before any data.

        Args:
            draws: their number.
            seed: for the draws of `prior` and `generated`; None for another at each call.

        Returns:
            The parameters and generated quantities by name, each of shape (draws, *shape).

        Raises:
            ValueError: there is no `prior`, or it drew a value outside of a parameter's support.
        """
        return sample_prior(self, draws, seed)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{b.name}: {b.parameter.transform.name}{list(b.shape) if b.shape else ''}" for b in self.layout.blocks
        )
        return f"<td.Posterior {self._tape.name}({parts}); {self.layout.size} unconstrained>"
