"""A diagnosis of a sampler in words: divergences, energies, depths of trees, R-hat, effective sizes.

Source: Vehtari et al. (2021), Bayesian Analysis 16(2), for R-hat and effective sizes; Betancourt (2016), arXiv 1604.00695, for the energy's
Bayesian fraction of missing information (E-BFMI).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..density import NamedDensity
from ..transforms import Array
from . import diagnostics
from .groups import Draws
from .summary import flat

FEWEST_PER_CHAIN, LARGEST_R_HAT, LOWEST_FRACTION = 100, 1.01, 0.3
# Names reported at most.
SHOWN = 5
# Divergent draws are off-centre if their mean rank, in (0, 1), is this far from 1/2, and by as many standard errors.
FAR_RANK, STANDARD_ERRORS = 0.15, 3.0
# The names of statistics in nutpie, PyMC and Stan.
DIVERGING, ENERGY = ("diverging", "divergent__"), ("energy", "energy__")
TOO_DEEP = ("maxdepth_reached", "reached_max_treedepth")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnosis of the sampler from its draws; prints as sentences.

    Attributes:
        findings: the problems, each with what to do.
        passed: what was looked at and is fine.
        unknown: what these draws do not tell.
        divergences: their number; None if unknown.
        e_bfmi: the energy's Bayesian fraction of missing information for each chain; () if unknown.
    """

    findings: tuple[str, ...]
    passed: tuple[str, ...]
    unknown: tuple[str, ...]
    divergences: int | None
    e_bfmi: tuple[float, ...]

    @property
    def is_fine(self) -> bool:
        """True if no problem was found in what these draws tell."""
        return not self.findings

    def __str__(self) -> str:
        told = (("fine: ", self.passed), ("not known from these draws: ", self.unknown))
        return "\n".join([*self.findings, *(start + ", ".join(names) for start, names in told if names)])


def diagnose(posterior: NamedDensity, draws: Draws) -> Diagnosis:
    """Look at the statistics of the sampler, and at all numbers."""
    diverging, energy, too_deep = (_statistic(draws, names) for names in (DIVERGING, ENERGY, TOO_DEEP))
    e_bfmi = np.zeros(0) if energy is None else energy_fractions(energy)
    deep = 0 if too_deep is None else int(np.sum(too_deep))
    rows, x = flat(posterior, draws)
    finite = np.all(np.isfinite(x), axis=(0, 1))
    varies = finite & (np.ptp(np.where(finite, x, 0.0), axis=(0, 1)) > 0.0)
    names, moving = np.array(rows)[varies], x[:, :, varies]
    size, r_hat = np.minimum(diagnostics.bulk_size(moving), diagnostics.tail_size(moving)), diagnostics.r_hat(moving)
    chains, wanted = [f"chain {k}" for k in range(len(x))], FEWEST_PER_CHAIN * len(x)
    # For each: its name, whether it is known, the problem, if any, and what to do.
    looked = [
        ("divergences", diverging is not None, _where(posterior, draws, diverging), "raise target_accept, or reparametrise: "
         "what is not explored there biases estimates"),
        ("depths of trees", too_deep is not None, f"{deep} trees ended at the largest depth" if deep else "", "slow, not wrong: raise "
         "maxdepth, or bring parameters to similar scales"),
        ("E-BFMI", energy is not None, _worst(f"E-BFMI is below {LOWEST_FRACTION}", chains, e_bfmi, ~(e_bfmi >= LOWEST_FRACTION), ".2f"),
         "energies change too slowly for heavy tails or funnels: reparametrise"),
        ("finite draws", True, _worst("draws are not finite", rows, np.max(x, axis=(0, 1)), ~finite, ".1g"), "look at their formula"),
        ("R-hat", len(x) > 1, _worst(f"R-hat is above {LARGEST_R_HAT}", names, -r_hat, ~(r_hat <= LARGEST_R_HAT), ".3f"),
         "chains differ: draw more, or look for several modes"),
        ("effective sample sizes", True, _worst(f"effective sample sizes, bulk or tail, are below {wanted}", names, size, ~(size >= wanted),
                                                ".0f"), "draw more, or reparametrise"),
    ]  # fmt: skip
    return Diagnosis(
        tuple(f"{problem}; {fix}" for _, known, problem, fix in looked if known and problem),
        tuple(name for name, known, problem, _ in looked if known and not problem),
        tuple(name for name, known, _, _ in looked if not known),
        None if diverging is None else int(np.sum(diverging)),
        tuple(map(float, e_bfmi)),
    )


@np.errstate(invalid="ignore", divide="ignore")
def energy_fractions(energy: Array) -> Array:
    """E-BFMI of each chain: the mean square of the energy's changes over its variance."""
    return np.mean(np.diff(energy, axis=1) ** 2, axis=1) / np.var(energy, axis=1, ddof=1)


def _statistic(draws: Draws, names: tuple[str, ...]) -> Array | None:
    """The first of these statistics that there is, (chains, draws)."""
    statistics = draws.groups.get("sample_stats", {})
    return next((np.asarray(statistics[name], dtype=np.float64) for name in names if name in statistics), None)


def _where(posterior: NamedDensity, draws: Draws, diverging: Array | None) -> str:
    """Count divergences, and name the parameters of which they take low or high values."""
    if diverging is None or not np.any(diverging):
        return ""
    rows, x = flat(posterior, draws, list(posterior.shapes))
    where, count = diverging.ravel() != 0.0, int(np.sum(diverging))
    ranks = (np.argsort(np.argsort(x.reshape(-1, len(rows)), axis=0), axis=0) + 0.5) / where.size
    off = np.mean(ranks[where], axis=0) - 0.5
    is_far = np.abs(off) > max(FAR_RANK, STANDARD_ERRORS * np.sqrt(1.0 / 12.0 / count))
    order = [k for k in np.argsort(-np.abs(off)) if is_far[k]][:SHOWN]
    told = ", ".join(f"{rows[k]} is {'low' if off[k] < 0 else 'high'} (mean rank {off[k] + 0.5:.0%})" for k in order)
    place = f"where {told}" if told else "at no particular values of any one parameter"
    return f"{count} of {where.size} iterations ({count / where.size:.2%}) diverged, {place}"


def _worst(what: str, names: list[str] | Array, values: Array, is_wrong: Array, form: str) -> str:
    """Name the smallest wrong values, and count the rest; nothing if none is wrong. Values are printed without their sign."""
    order = [k for k in np.argsort(values, kind="stable") if is_wrong[k]]
    told = ", ".join(f"{names[k]} {abs(values[k]):{form}}" for k in order[:SHOWN])
    return f"{what}: {told}" + (f" and {len(order) - SHOWN} more" if len(order) > SHOWN else "") if order else ""
