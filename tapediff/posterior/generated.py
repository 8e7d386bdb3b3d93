"""Further quantities for each draw: predictions, contrasts, replicated data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from .. import random
from ..base.wrapper import Wrapper
from ..ir.arguments import Constant
from ..ir.instruction import Tree, UserFunction
from ..targets.guarded_tape import GuardedTape
from .density import NamedDensity
from .progress import with_progress
from .signatures import arguments, random_argument
from .transforms import Array

# Maps the number of a draw and its parameters to quantities by name.
Answer: TypeAlias = Callable[[int, Mapping[str, Tree]], Mapping[str, Tree]]


def generate(posterior: NamedDensity, draws: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    """Call `generated` at each draw, and stack the results along the draws' leading axes."""
    if posterior.generated is None:
        raise ValueError(
            "this posterior has no generated quantities; fix: td.Posterior(..., generated=lambda mu, tau: {...})"
        )
    lead = _leading_axes(posterior, draws)
    rows = {name: np.asarray(draws[name]).reshape(-1, *posterior.shapes[name]) for name in posterior.shapes}
    count = int(np.prod(lead))
    answer = _answers(posterior.generated, "generated", {*posterior.shapes, *posterior.data}, posterior.data, count, seed)
    numbers = with_progress(range(count), count, "generate")
    found = _stacked([answer(k, {name: row[k] for name, row in rows.items()}) for k in numbers])
    return {name: values.reshape(*lead, *values.shape[1:]) for name, values in found.items()}


def sample_prior(posterior: NamedDensity, draws: int, seed: int | None) -> dict[str, Array]:
    """Draws of the parameters by `prior`, and `generated` at them."""
    if posterior.prior is None:
        raise ValueError(
            "this posterior has no function that draws its parameters; fix: td.Posterior(..., prior=lambda rng: {'mu': rng.normal()})"
        )
    answer = _answers(posterior.prior, "prior", {*posterior.data}, posterior.data, draws, seed)
    found = _stacked([answer(k, {}) for k in with_progress(range(draws), draws, "prior")])
    for k in range(draws):  # a value outside of the support raises, with the parameter's name
        posterior.layout.unconstrain({name: values[k] for name, values in found.items()})
    # Other random numbers than those of the prior.
    later = None if seed is None else int(np.random.SeedSequence(seed).spawn(1)[0].generate_state(1)[0])
    return found if posterior.generated is None else {**found, **generate(posterior, found, later)}


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


def as_dict(returned: Tree, what: str = "generated") -> dict[str, Tree]:
    """Check the result of `generated` or `prior`.

    Raises:
        ValueError: it is not a dict.
    """
    if not isinstance(returned, Mapping):
        raise ValueError(f"{what} returned {type(returned).__name__}, and has to return a dict; fix: return {{'theta': theta}}")
    return dict(returned)


class _ByName(Wrapper):
    """The recorded function of (values, data)."""

    calls = "function"

    def __init__(self, function: UserFunction, what: str) -> None:
        self.function, self.what = function, what

    def __call__(self, values: Mapping[str, Tree], data: Mapping[str, Tree]) -> Tree:
        return as_dict(self.function(**values, **data), self.what)


def _leading_axes(posterior: NamedDensity, draws: Mapping[str, Array]) -> tuple[int, ...]:
    found = {}
    for name, shape in posterior.shapes.items():
        if name not in draws:
            raise ValueError(f"the draws have no {name!r}")
        given = np.shape(draws[name])
        if given[len(given) - len(shape) :] != shape:
            raise ValueError(f"draws of {name!r} have shape {given}, which does not end in {shape}")
        found[name] = given[: len(given) - len(shape)]
    if len(set(found.values())) > 1:
        raise ValueError(f"the draws have different numbers of draws: {found}")
    return next(iter(found.values()))
