"""Leave-one-out cross-validation from draws, by Pareto smoothed importance sampling, and comparisons of models.

Source: Vehtari, Simpson, Gelman, Yao and Gabry (2024), J. Machine Learning Research 25(72): smoothing and diagnostics; Vehtari, Gelman and
Gabry (2017), Statistics and Computing 27: the estimate and its error; Zhang and Stephens (2009), Technometrics 51(3): the fit of the tail;
Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13(3): weights by stacking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import PosteriorError
from ..density import NamedDensity
from ..transforms import Array
from . import diagnostics
from .generated import log_likelihood
from .groups import Draws
from .summary import Table, flat, row_names

# A tail of fewer draws cannot be fitted.
FEWEST_IN_TAIL = 5
# Strength and centre of the prior of k: as 10 draws with k = 1/2.
PRIOR_DRAWS, PRIOR_K = 10, 0.5
# Stacking ends when the weights are this near to the best ones, in the mean log score of an observation.
STACKED, MOST_STEPS = 1e-7, 100_000
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Loo:
    """The expected log density of new observations (elpd), each predicted from the others; prints as a table.

    Attributes:
        elpd: the sum over observations, and `se` its standard error.
        p: the effective number of parameters.
        pointwise: the elpd of each observation.
        k: the Pareto k of each observation: where it is above `largest_k`, the estimate is not to be trusted.
        names: of the observations.
        draws: their number.
    """

    elpd: float
    se: float
    p: float
    pointwise: Array
    k: Array
    names: tuple[str, ...]
    draws: int

    @property
    def largest_k(self) -> float:
        """The largest Pareto k at which this many draws estimate reliably."""
        return float(min(1.0 - 1.0 / np.log10(self.draws), 0.7))

    @property
    def unreliable(self) -> dict[str, float]:
        """The observations with a larger k, and that k: the largest first."""
        order = np.argsort(-self.k, kind="stable")
        return {self.names[i]: float(self.k[i]) for i in order if not self.k[i] <= self.largest_k}

    def __str__(self) -> str:
        lines = [f"elpd_loo {self.elpd:9.2f}  se {self.se:.2f}", f"p_loo    {self.p:9.2f}"]
        wrong = self.unreliable
        told = f"{len(self.k)} observations, {self.draws} draws: Pareto k is at most {np.max(self.k):.2f}, and may be {self.largest_k:.2f}"
        if wrong:
            shown = ", ".join(f"{name} ({k:.2f})" for name, k in [*wrong.items()][:SHOWN])
            told = f"Pareto k is above {self.largest_k:.2f} for {len(wrong)} of {len(self.k)} observations: {shown}"
            told += "; each of them moves the posterior so much that these draws do not tell its elpd: fit the model without it"
        return "\n".join([*lines, told])


def loo(posterior: NamedDensity, draws: Draws, name: str | None, r_eff: float | None) -> Loo:
    """Estimate elpd from the log likelihood of each observation at each draw."""
    sizes = diagnostics.mean_size(flat(posterior, draws)[1])
    found = draws.groups.get("log_likelihood") or log_likelihood(posterior, draws)
    if name is not None and name not in found:
        raise PosteriorError(f"there is no log likelihood of {name!r}", got=set(found), fix="name= one of these")
    found = found if name is None else {name: found[name]}
    rows = [row for key, values in found.items() for row in row_names(posterior, key, values.shape[2:])]
    lead = next(iter(found.values())).shape[:2]
    values = np.concatenate([array.reshape(lead[0] * lead[1], -1) for array in found.values()], axis=1).astype(np.float64)
    wrong = {row for row, is_finite in zip(rows, np.all(np.isfinite(values), axis=0)) if not is_finite}
    if wrong or not rows:
        what = "log likelihoods have to be finite at every draw"
        raise PosteriorError(what, got=wrong or "no observations", fix="look at post.log_likelihood(draws); leave out what is not observed")
    if r_eff is None:
        r_eff = float(np.mean(sizes[np.isfinite(sizes)]) / len(values)) if lead[0] > 1 else 1.0
    weights, k = smoothed_weights(-values, r_eff)
    pointwise = _log_sum(values + weights)
    p = np.sum(_log_sum(values)) - len(rows) * np.log(len(values)) - np.sum(pointwise)
    return Loo(float(np.sum(pointwise)), _error(pointwise), float(p), pointwise, k, tuple(rows), len(values))


def smoothed_weights(log_ratios: Array, r_eff: float = 1.0) -> tuple[Array, Array]:
    """Normalised log weights of draws, (draws, observations), with the largest ones smoothed, and Pareto k of each observation.

    Args:
        log_ratios: logarithms of importance ratios, up to a constant for each observation.
        r_eff: effective draws for each draw.
    """
    weights = log_ratios - np.max(log_ratios, axis=0)
    draws, k = len(weights), np.full(weights.shape[1], np.inf)
    length = min(int(np.ceil(min(0.2 * draws, 3.0 * np.sqrt(draws / r_eff)))), draws - 1)
    for i, column in enumerate(weights.T):
        order = np.argsort(column, kind="stable")
        cutoff = max(column[order[draws - length - 1]], np.log(np.finfo(float).tiny))
        tail = order[column[order] > cutoff]
        if len(tail) >= FEWEST_IN_TAIL:
            k[i], scale = pareto(np.exp(column[tail]) - np.exp(cutoff))
            if np.isfinite(k[i]):
                levels = np.arange(0.5, len(tail)) / len(tail)
                quantiles = -scale * np.log1p(-levels) if k[i] == 0.0 else scale * np.expm1(-k[i] * np.log1p(-levels)) / k[i]
                column[tail] = np.minimum(np.log(quantiles + np.exp(cutoff)), 0.0)
    return weights - _log_sum(weights), k


@np.errstate(all="ignore")
def pareto(excess: Array) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto distribution, from sorted numbers above 0."""
    n = len(excess)
    count = 30 + int(np.sqrt(n))
    grid = 1.0 / excess[-1] + (1.0 - np.sqrt(count / (np.arange(count) + 0.5))) / (3.0 * excess[int(n / 4 + 0.5) - 1])
    shapes = np.mean(np.log1p(-grid[:, None] * excess), axis=1)
    profile = n * (np.log(-grid / shapes) - shapes - 1.0)
    weights = np.exp(profile - np.max(profile))
    theta = np.sum(grid * weights) / np.sum(weights)
    shape = np.mean(np.log1p(-theta * excess))
    return float((n * shape + PRIOR_DRAWS * PRIOR_K) / (n + PRIOR_DRAWS)), float(-shape / theta)


def compare(models: Mapping[str, Loo]) -> Table:
    """A table of models of the same observations, the best first; see Posterior.compare."""
    if not models:
        raise PosteriorError("no models to compare", got="{}", fix="{'name': post.loo(draws), ...}")
    names = sorted(models, key=lambda name: -models[name].elpd)
    best, observations = models[names[0]], models[names[0]].names
    other = {name for name in names if models[name].names != observations}
    if other:
        what = f"models are of other observations than {names[0]}, of {len(observations)}"
        raise PosteriorError(what, got=other, fix="the same data and names in each model")
    scores = np.stack([models[name].pointwise for name in names], axis=1)
    differences = scores - best.pointwise[:, None]
    columns = {
        "elpd": [models[name].elpd for name in names], "se": [models[name].se for name in names], "p": [models[name].p for name in names],
        "difference": np.sum(differences, axis=0), "difference_se": [_error(column) for column in differences.T],
        "weight": stacking(scores), "unreliable": [len(models[name].unreliable) for name in names],
    }  # fmt: skip
    return Table(tuple(names), {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()})


def stacking(scores: Array) -> Array:
    """The weights of the mixture with the highest mean log score, by expectation maximisation.

    Args:
        scores: log densities, (observations, models).
    """
    densities = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    weights = np.full(scores.shape[1], 1.0 / scores.shape[1])
    for _ in range(MOST_STEPS):
        slopes = np.mean(densities / (densities @ weights)[:, None], axis=0)
        if np.max(slopes) <= 1.0 + STACKED:  # the score is concave: no weights gain more than this excess
            break
        weights = weights * slopes
    return weights


def _error(pointwise: Array) -> float:
    """The standard error of a sum; NaN for one term."""
    return float(np.sqrt(len(pointwise) * np.var(pointwise, ddof=1))) if len(pointwise) > 1 else np.nan


def _log_sum(x: Array) -> Array:
    """The logarithm of the sum of exponentials along the first axis."""
    largest = np.max(x, axis=0)
    return largest + np.log(np.sum(np.exp(x - largest), axis=0))
