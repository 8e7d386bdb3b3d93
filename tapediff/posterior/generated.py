"""Further quantities for each draw: predictions, contrasts, replicated data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np

from ..functions.merging.prepare.wrappers import Wrapper
from ..ir.arguments import Constant
from ..ir.instruction import Tree, UserFunction
from ..targets.guarded_tape import GuardedTape
from .density import NamedDensity
from .progress import with_progress
from .transforms import Array


def generate(posterior: NamedDensity, draws: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    """`generated` at each draw, stacked along the draws' leading axes."""
    if posterior.generated is None:
        raise ValueError(
            "this posterior has no generated quantities; fix: td.Posterior(..., generated=lambda mu, tau: {...})"
        )
    lead = _leading_axes(posterior, draws)
    rows = {name: np.asarray(draws[name]).reshape(-1, *posterior.shapes[name]) for name in posterior.shapes}
    count = int(np.prod(lead))
    function = posterior.generated
    wanted = arguments(function, {*posterior.shapes, *posterior.data, "rng"})
    data = {name: value for name, value in posterior.data.items() if name in wanted}
    if "rng" in wanted:
        rng = np.random.default_rng(seed)

        def answer(values: dict[str, Array]) -> Mapping[str, Tree]:
            return as_dict(function(**values, **data, rng=rng))
    else:
        tape = GuardedTape(
            _ByName(function),
            name=getattr(function, "__name__", "generated"),
            on_new_tape="interpret",
        )

        def answer(values: dict[str, Array]) -> Mapping[str, Tree]:
            return tape(values, Constant(data))

    numbers = with_progress(range(count), count, "generate")
    results = [answer({name: rows[name][k] for name in posterior.shapes if name in wanted}) for k in numbers]
    if not results:
        return {}
    return {
        name: np.stack([np.asarray(result[name]) for result in results]).reshape(*lead, *np.shape(results[0][name]))
        for name in results[0]
    }


def as_dict(returned: Tree) -> dict[str, Tree]:
    """What `generated` has returned.

    Raises:
        ValueError: it is no dict.
    """
    if not isinstance(returned, Mapping):
        raise ValueError(f"generated returned {type(returned).__name__}, and has to return a dict; fix: return {{'theta': theta}}")
    return dict(returned)


class _ByName(Wrapper):
    """The function of (values, data) that is recorded."""

    calls = "function"

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    def __call__(self, values: Mapping[str, Tree], data: Mapping[str, Tree]) -> Tree:
        return as_dict(self.function(**values, **data))


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


def arguments(function: Tree, all_names: set[str]) -> set[str]:
    """Those of all names that a function takes; all but rng if it takes any."""
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return (all_names - {"rng"} if any(p.kind is p.VAR_KEYWORD for p in parameters) else set()) | (named & all_names)
