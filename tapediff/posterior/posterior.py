"""td.Posterior: a log density of named parameters, with modes, draws and generated quantities."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..errors import hides_frames
from ..ir.instruction import Tree
from .density import NamedDensity
from .draws.diagnosis import Diagnosis, diagnose
from .draws.generated import generate, log_likelihood, sample_prior
from .draws.groups import Draws, as_draws, complete, load_draws, of_present_data, save_draws, to_arviz
from .draws.loo import Loo, compare, loo
from .draws.marginal import marginal_of
from .draws.sampling import Executor, nutpie_model, sample, sample_by_tasks
from .draws.sensitivity import Sensitivity, sensitivity
from .draws.summary import Table, summarise
from .estimates import Estimate, NormalApproximation, find_mode, laplace_approximation
from .inspection.check import Report, check_posterior
from .inspection.graph import ModelGraph, graph_of
from .pathfinder import PathDraws, pathfinder
from .stan_json import data_from_stan_json
from .transforms import Array


@hides_frames
class Posterior(NamedDensity):
    """A log density of named, constrained parameters, over one unconstrained vector, with its derivatives compiled.

    Args:
        log_density: called with the parameters and the data by name; returns a number, and need not be normalised. Plain NumPy,
            scipy.special, td.stats; it may branch. It is the density of the constrained parameters: log-Jacobians are added here.
        data: by name: arrays, numbers, data frame columns, containers of these; arrays are copied. They are arguments of the kernels, so
            `set_data` replaces them without compiling; strings, None and bools are frozen in.
        coords: the names of the entries along each dimension: `{"school": ["A", "B"]}`, or its length, `{"school": 8}`.
        generated: called with the parameters and the data that it names; returns a dict of further quantities for each draw. With an
            argument `key`, it gets a key of td.random, a new one for each draw. With an argument `rng`, it is called as plain Python, with
            a numpy.random.Generator; else it is compiled.
        prior: draws the parameters: called with the data that it names and with `key` or `rng`, returns a dict of all parameters, for
            `sample_prior`.
        log_likelihood: called with the parameters and the data that it names; returns the log likelihood of each observation, as an array,
            or as a dict of arrays by the names of the observed data. Or the names of those results of `generated` that are that.
        dims: names of the dimensions of data, and of the results of `generated` and `log_likelihood`, `{"theta": ("school",)}`.
        parameters: td.real(), td.positive(), td.simplex(3), ... by name: as keywords, or a dict for names such as "data". Those of
            td.discrete are summed out, as by td.marginal, and drawn given the others, before `generated` is called.
        options: of the td.GuardedTape inside, `{"max_tapes": 200}`.

    Raises:
        PosteriorError: a parameter without a known shape, or a name that log_density does not take.

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
            NoMode: no mode was found; the density may have none.
        """
        return find_mode(self, None if start is None else self.unconstrain(start), jacobian, seed)

    def laplace(self, start: Mapping[str, Tree] | None = None, *, seed: int = 0) -> NormalApproximation:
        """The normal distribution of the unconstrained vector with the mode and the Hessian of the log density there."""
        return laplace_approximation(
            self, find_mode(self, None if start is None else self.unconstrain(start), True, seed)
        )

    def laplace_marginal(self, random: str | Sequence[str], *, max_steps: int = 200) -> Posterior:
        """The posterior of the other parameters: random effects are integrated out by Laplace's approximation; see td.laplace.

        Args:
            random: names of the parameters that are random effects.
            max_steps: of Newton's method for their mode.

        Returns:
            A td.Posterior. `generated` also draws the effects, given the others: `sample`, `generate` and `to_arviz` have all parameters
            again. A `log_likelihood` that takes effects is dropped, and so is `prior`. `function.mode(values, data)` has the effects' mode.

        Raises:
            PosteriorError: names of no parameters, or of all; or the bounds of another parameter depend on an effect.
            NotConverged, NotPositiveDefinite: at calls, as for td.laplace.

        The approximation is that of the effects' unconstrained vector, whose log-Jacobian counts.

        Cost: that of td.laplace; calls go through Python.
        Source: Margossian et al. (2020), Hamiltonian Monte Carlo using an adjoint-differentiated Laplace approximation, NeurIPS 33.
        """
        return Posterior(**marginal_of(self, (random,) if isinstance(random, str) else tuple(random), max_steps))

    def pathfinder(self, draws: int = 1000, *, paths: int = 4, seed: int = 0) -> PathDraws:
        """Draws that approximate the posterior's, from normal distributions along paths to its modes: a first look, or starting points.

        Args:
            draws: their number.
            paths: their number; each begins at another point.

        Raises:
            NoMode: the log density is not finite at any starting point.

        Cost: some 100 gradients and `draws` values for each path.
        Source: Zhang, Carpenter, Gelman and Vehtari (2022), J. Machine Learning Research 23(306).
        """
        return pathfinder(self, draws, paths, seed)

    def check(self, points: int = 5, *, draws: Tree = None, seed: int = 0) -> Report:
        """A table to print: is the log density finite at typical points, its gradient right, how near are the branches.

        Args:
            points: at which it looks.
            draws: as for `summary`: branches are also looked for there, and the report tells how many steps between draws cross a jump.
        """
        return check_posterior(self, points, None if draws is None else as_draws(self, draws), seed)

    def graph(self) -> ModelGraph:
        """A picture of the model: which parameters and data each term of the log density reads, and by which lines of the function.

        Returns:
            ModelGraph: a notebook shows it; print it for a list; `svg` and `dot` are its text, for files and for Graphviz.

        Raises:
            PosteriorError: the function has no value at any point that was tried.

        Cost: one recording.
        """
        return graph_of(self)

    # Draws

    def sample(
        self, draws: int = 1000, chains: int = 4, *, tune: int = 1000, seed: int | None = None, executor: Executor | None = None,
        metric: str | None = None, random: str | Sequence[str] = (), **options: Tree,
    ) -> Tree:  # fmt: skip
        """Draws by nutpie's No-U-Turn sampler, which calls the compiled density and the transforms without Python.

        Args:
            draws: of each chain, after `tune` more that are not kept.
            executor: runs each chain as a task: a dask.distributed.Client, a concurrent.futures.ProcessPoolExecutor, or another object
                whose `submit(function, *args)` returns a future with `result()`. It gets the posterior, with functions by cloudpickle if
                that is installed.
            metric: None, for the diagonal that nutpie adapts; or "laplace": coordinates whitened by the sparse precision at the mode,
                which nutpie's diagonal then corrects. For many effects that depend on each other, or on the data in different degrees.
            random: with metric="laplace", the parameters that are random effects: the mode is then that of `laplace_marginal(random)`,
                as hierarchical models need, whose joint density has no mode.
            options: of nutpie.sample, such as cores, progress_bar=False, target_accept.

        Returns:
            arviz.InferenceData (a tree of xarray datasets), with the parameters and generated quantities by name, and coordinates. Random
            quantities with the name of data are in its group `posterior_predictive`, log likelihoods in `log_likelihood`, and the data that
            these belong to in `observed_data`.

        Raises:
            ImportError: nutpie is not installed: pip install 'tapediff[sampling]'.
            PosteriorError: metric="laplace", and no mode was found, or it has no curvature in some direction.
            Exception: an error in the density itself stops the run. Points that it rejects are divergences.
        """
        options = {"metric": metric, "random": random, **options}
        if executor is not None:
            return sample_by_tasks(self, draws, chains, tune, seed, options, executor)
        return sample(self, draws, chains, tune, seed, options)

    def nutpie_model(self) -> Tree:
        """The model for nutpie.sample, to call it yourself."""
        return nutpie_model(self)

    def generate(self, draws: Mapping[str, Array], *, seed: int | None = 0) -> dict[str, Array]:
        """The results of `generated` at each draw.

        Args:
            draws: the parameters, as `constrain` returns them: equal leading axes, followed by the parameter's shape; or a tree of ArviZ.
            seed: of the `rng` or the keys passed to `generated`, if it takes one; None for another at each call.
        """
        return generate(self, draws if isinstance(draws, Mapping) else as_draws(self, draws), seed)

    def sample_prior(self, draws: int = 1000, *, seed: int | None = 0) -> dict[str, Array]:
        """Draws of the parameters by `prior`, and the results of `generated` at them: predictions before any data.

        Args:
            draws: their number.
            seed: for the draws of `prior` and `generated`; None for another at each call.

        Returns:
            The parameters and generated quantities by name, each of shape (draws, *shape).

        Raises:
            PosteriorError: there is no `prior`, or it drew a value outside of a parameter's support.
        """
        return sample_prior(self, draws, seed)

    def log_likelihood(self, draws: Tree) -> dict[str, Array]:
        """The log likelihood of each observation at each draw, for the present data.

        Args:
            draws: as for `summary`.

        Returns:
            Arrays of shape (chains, draws, *observations) by name.
        """
        return log_likelihood(self, as_draws(self, draws))

    def to_arviz(self, draws: Tree, *, prior: int = 0, seed: int | None = 0) -> Tree:
        """Draws as a tree of ArviZ with all groups: arviz.InferenceData (0.x) or xarray.DataTree (1.x).

        Args:
            draws: as for `summary`. What is missing is added: generated quantities, replicated data, log likelihoods, and the data.
            prior: draws of the prior, for the groups `prior` and `prior_predictive`.
            seed: for random quantities.

        Raises:
            ImportError: ArviZ is not installed: pip install 'tapediff[notebook]'.
        """
        return to_arviz(self, complete(self, draws, prior, seed).groups)

    def save_draws(self, path: str | os.PathLike[str], draws: Tree) -> None:
        """Write draws with all their groups to an npz file, without pickle; `load_draws` reads it.

        Args:
            path: of the file; an interrupted write leaves the old file.
            draws: as for `summary`.
        """
        save_draws(as_draws(self, draws), path)

    def load_draws(self, path: str | os.PathLike[str]) -> Draws:
        """The draws in a file of `save_draws`: a mapping of arrays of shape (chains, draws, *shape), with `groups`.

        Raises:
            PosteriorError: they are of other parameters, or the file holds no draws.
        """
        return load_draws(self, path)

    # What draws tell

    def summary(self, draws: Tree, *, quantiles: Sequence[float] = (0.05, 0.5, 0.95), names: Sequence[str] | None = None) -> Table:
        """A table of means, standard deviations, quantiles, Monte Carlo errors, effective sample sizes and R-hat.

        Args:
            draws: what `sample` or `load_draws` returns; or a dict of arrays of shape (chains, draws, *shape) or (draws, *shape).
            quantiles: between 0 and 1.
            names: of parameters and generated quantities, instead of all.

        Cost: some sorts and Fourier transforms of the draws: 5 ms for each number, with 4 chains of 1000.
        Source: Vehtari et al. (2021), Bayesian Analysis 16(2); the numbers are those of ArviZ's ess, rhat and mcse.
        """
        return summarise(self, as_draws(self, draws), quantiles, names)

    def diagnose(self, draws: Tree) -> Diagnosis:
        """A diagnosis to print, as CmdStan's: divergences and where, E-BFMI, depths of trees, R-hat, effective sample sizes.

        Args:
            draws: as for `summary`. Dicts have no statistics of the sampler, and the diagnosis says what is not known for that reason.
        """
        return diagnose(self, as_draws(self, draws))

    def loo(self, draws: Tree, *, name: str | None = None, r_eff: float | None = None) -> Loo:
        """Leave-one-out cross-validation by Pareto smoothed importance sampling, from `log_likelihood`.

        Args:
            draws: as for `summary`; made with the present data.
            name: of the log likelihood to take, if there are several; all are added unless given.
            r_eff: effective draws for each draw; by default the mean over parameters, as in ArviZ.

        Raises:
            PosteriorError: no log likelihood, one that is not finite, or draws that were made with other data.

        Source: Vehtari et al. (2024), J. Machine Learning Research 25(72).
        """
        return loo(self, of_present_data(self, draws), name, r_eff)

    @staticmethod
    def compare(models: Mapping[str, Loo]) -> Table:
        """A table of models of the same observations, the best first, from their `loo`.

        Its columns: elpd, se, p, difference (from the best), difference_se, weight (by stacking: of the mixture of predictions that scores
        best), unreliable (the number of observations with a large Pareto k).
        """
        return compare(models)

    def sensitivity(self, draws: Tree, names: str | Sequence[str]) -> Sensitivity:
        """The derivatives of posterior means by hyperparameters: how much conclusions depend on the prior, without sampling again.

        Args:
            draws: as for `summary`; made with the present data.
            names: of data that are numbers or arrays of floats, on which the support of the density does not depend. If `generated` takes
                one of them, only parameters are looked at.

        Returns:
            `found.derivatives["scale"]["mu"]`, of the shape of mu followed by that of scale; `found.errors` are their Monte Carlo errors.

        Raises:
            PosteriorError: a name that is not among the data, or data without derivatives.

        Cost: a gradient by the hyperparameters for each draw.
        Source: Gustafson (1996), Annals of Statistics 24(1).
        """
        return sensitivity(self, of_present_data(self, draws), [names] if isinstance(names, str) else names)

    @staticmethod
    def data_from_stan_json(path: str | os.PathLike[str], *, indices: Sequence[str] = ()) -> dict[str, Tree]:
        """Data in the JSON format of CmdStan, for `data=` and `set_data`: numbers, arrays, and tuples by name.

        Args:
            path: of the file.
            indices: names of indices, which count from 1 in Stan: 1 is subtracted.

        Raises:
            PosteriorError: the file is not of that format.
        """
        return data_from_stan_json(path, indices)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{b.name}: {b.parameter.transform.name}{list(b.shape) if b.shape else ''}" for b in self.layout.blocks
        )
        return f"<td.Posterior {self._tape.name}({parts}); {self.layout.size} unconstrained>"
