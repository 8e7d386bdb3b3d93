"""Further quantities for each draw: predictions, contrasts, replicated data, the log likelihood of each observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ... import random
from ...base.wrapper import Wrapper
from ...errors import PosteriorError
from ...ir.arguments import Constant
from ...ir.instruction import Tree, UserFunction
from ...targets.guarded_tape import GuardedTape
from ..density import NamedDensity
from ..progress import with_progress
from ..signatures import POINTWISE, arguments, as_dict, random_argument
from ..transforms import Array

# Maps the number of a draw and its parameters to quantities by name.
Answer: TypeAlias = Callable[[int, Mapping[str, Tree]], Mapping[str, Tree]]


def generate(posterior: NamedDensity, draws: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    """Call `generated` at each draw, and stack the results along the draws' leading axes."""
    if posterior.generated is None:
        raise PosteriorError(
            "this posterior has no generated quantities", got="generated=None", fix="td.Posterior(..., generated=lambda mu, tau: {...})"
        )
    return _at_draws(posterior, posterior.generated, "generated", draws, seed)


def log_likelihood(posterior: NamedDensity, draws: Mapping[str, Array]) -> dict[str, Array]:
    """The log likelihood of each observation at each draw, by name; from the draws themselves if it is a part of `generated` there."""
    named = posterior.pointwise
    if named is None:
        fix = "td.Posterior(..., log_likelihood=lambda mu, y: {'y': norm.logpdf(y, mu)})"
        raise PosteriorError("this posterior has no log likelihood of each observation", got="log_likelihood=None", fix=fix)
    if callable(named):
        return _at_draws(posterior, named, POINTWISE, draws, None)
    found = generate(posterior, draws, 0)
    missing = set(named) - set(found)
    if missing:
        raise PosteriorError(f"generated returns no {', '.join(sorted(missing))}", got=set(found), fix="log_likelihood= one of these names")
    return {name: found[name] for name in named}


def sample_prior(posterior: NamedDensity, draws: int, seed: int | None) -> dict[str, Array]:
    """Draws of the parameters by `prior`, and `generated` at them."""
    if posterior.prior is None:
        fix = "td.Posterior(..., prior=lambda rng: {'mu': rng.normal()})"
        raise PosteriorError("this posterior has no function that draws its parameters", got="prior=None", fix=fix)
    answer = _answers(posterior.prior, "prior", {*posterior.data}, posterior.data, draws, seed)
    found = _stacked([answer(k, {}) for k in with_progress(range(draws), draws, "prior")])
    for k in range(draws):  # a value outside of the support raises, with the parameter's name
        posterior.layout.unconstrain({name: values[k] for name, values in found.items()})
    # Other random numbers than those of the prior.
    later = None if seed is None else int(np.random.SeedSequence(seed).spawn(1)[0].generate_state(1)[0])
    return found if posterior.generated is None else {**found, **generate(posterior, found, later)}


def draws_at_random(posterior: NamedDensity) -> bool:
    """True if `generated` draws at random, so that its results are not a function of the parameters alone."""
    names = {*posterior.shapes, *posterior.data}
    return posterior.generated is not None and random_argument(posterior.generated, names) is not None


def _at_draws(
    posterior: NamedDensity, function: UserFunction, what: str, draws: Mapping[str, Array], seed: int | None
) -> dict[str, Array]:  # fmt: skip
    """Call a function of parameters and data at each draw."""
    lead = leading_axes(posterior, draws)
    rows = {name: np.asarray(draws[name]).reshape(-1, *posterior.shapes[name]) for name in posterior.shapes}
    count = int(np.prod(lead))
    answer = _answers(function, what, {*posterior.shapes, *posterior.data}, posterior.data, count, seed)
    numbers = with_progress(range(count), count, what)
    found = _stacked([answer(k, {name: row[k] for name, row in rows.items()}) for k in numbers])
    return {name: values.reshape(*lead, *values.shape[1:]) for name, values in found.items()}


def _answers(
    function: UserFunction, what: str, names: set[str], data: Mapping[str, Tree], count: int, seed: int | None
) -> Answer:  # fmt: skip
    """The function at each draw: plain Python if it takes `rng`, else compiled; if it takes `key`, each draw has its own."""
    draws_by = random_argument(function, names)
    wanted = arguments(function, names)
    given = {name: value for name, value in data.items() if name in wanted}

    def chosen(values: Mapping[str, Tree]) -> dict[str, Tree]:
        return {name: value for name, value in values.items() if name in wanted}

    if draws_by == "rng":
        rng = np.random.default_rng(seed)
        return lambda k, values: as_dict(function(**chosen(values), **given, rng=rng), what)
    tape = GuardedTape(_ByName(function, what), name=getattr(function, "__name__", what), on_new_tape="interpret")
    if draws_by is None:
        return lambda k, values: tape(chosen(values), Constant(given))
    keys = random.split(random.key(int(np.random.default_rng().integers(2**63)) if seed is None else seed), max(count, 1))
    return lambda k, values: tape({**chosen(values), "key": keys[k]}, Constant(given))


def _stacked(results: list[Mapping[str, Tree]]) -> dict[str, Array]:
    """Each quantity at all draws, along the first axis."""
    return {name: np.stack([np.asarray(result[name]) for result in results]) for name in results[0]} if results else {}



class _ByName(Wrapper):
    """The recorded function of (values, data)."""

    calls = "function"

    def __init__(self, function: UserFunction, what: str) -> None:
        self.function, self.what = function, what

    def __call__(self, values: Mapping[str, Tree], data: Mapping[str, Tree]) -> Tree:
        return as_dict(self.function(**values, **data), self.what)


def leading_axes(posterior: NamedDensity, draws: Mapping[str, Array]) -> tuple[int, ...]:
    """The axes of all draws in front of each parameter's shape."""
    found = {}
    for name, shape in posterior.shapes.items():
        if name not in draws:
            raise PosteriorError(f"the draws have no {name!r}", got=set(draws), fix="draws of all parameters")
        given = np.shape(draws[name])
        if given[len(given) - len(shape) :] != shape:
            raise PosteriorError(f"draws of {name!r} do not end in the shape {shape}", got=given, fix="chains and draws are the first axes")
        found[name] = given[: len(given) - len(shape)]
    if len(set(found.values())) > 1:
        raise PosteriorError("parameters have different numbers of draws", got=found, fix="give the draws of one run")
    return next(iter(found.values()))
