"""A posterior without its random effects, which Laplace's approximation integrates out, and draws of these given the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...base.wrapper import Wrapper
from ...errors import PosteriorError
from ...ir.instruction import Operand, Tree, UserFunction
from ...marginals.laplace import Laplace, laplace
from ..density import NamedDensity
from ..layout import Layout
from ..signatures import WithDrawn, arguments
from ..transforms import Array


class MarginalDensity:
    """The log density of the parameters that are left, by name.

    Attributes:
        laplace: td.laplace's result, for (parameters, data) in dicts.
    """

    def __init__(self, marginal: Laplace, effects: Layout, kept: Sequence[str]) -> None:
        self.laplace, self.effects, self.kept = marginal, effects, tuple(kept)
        self.__name__ = f"marginal of {getattr(marginal.f, '__name__', 'log_density')}"

    def __call__(self, **named: Tree) -> Operand:
        return self.laplace(*self._parted(named))

    def mode(self, values: Mapping[str, Tree], data: Mapping[str, Tree]) -> dict[str, Array]:
        """The random effects at the mode of their unconstrained vector, given the other parameters."""
        return self._constrained(self.laplace.mode(dict(values), dict(data)), values)

    def draw(self, rng: np.random.Generator, named: Mapping[str, Tree]) -> dict[str, Array]:
        """A draw of the random effects, given parameters and data by name."""
        values, data = self._parted(named)
        return self._constrained(self.laplace.sample(rng, values, data), values)

    def _constrained(self, u: Array, values: Mapping[str, Tree]) -> dict[str, Array]:
        found, _ = self.effects.constrain(u, values)
        return {block.name: np.asarray(found[block.name]) for block in self.effects.blocks}

    def _parted(self, named: Mapping[str, Tree]) -> tuple[dict[str, Tree], dict[str, Tree]]:
        values = {name: named[name] for name in self.kept}
        return values, {name: value for name, value in named.items() if name not in values}


class _Joint(Wrapper):
    """The log density of parameters by name, the unconstrained vector of the effects, and data; with the effects' log-Jacobian."""

    calls = "log_density"

    def __init__(self, log_density: UserFunction, effects: Layout) -> None:
        self.log_density, self.effects = log_density, effects
        self.__name__ = getattr(log_density, "__name__", "log_density")

    def __call__(self, theta: Mapping[str, Tree], u: Array, data: Mapping[str, Tree]) -> Operand:
        values, log_jacobian = self.effects.constrain(u, theta)
        return self.log_density(**values, **data) + log_jacobian


def marginal_of(posterior: NamedDensity, names: Sequence[str], max_steps: int) -> dict[str, Tree]:
    """The arguments of td.Posterior for the posterior without some parameters.

    Raises:
        PosteriorError: names of no parameters, or of all; or a bound of the others depends on one of these.
    """
    known, kept = posterior.shapes, [name for name in posterior.shapes if name not in names]
    if not names or not kept or not set(names) <= known.keys():
        raise PosteriorError("random= names some of the parameters, not all", got=f"{', '.join(names) or 'none'} of {', '.join(known)}",
                             fix=f"post.laplace_marginal(random={max(known, key=lambda name: prod(known[name]))!r})")  # fmt: skip
    bounds = {name: posterior.parameters[name].depends_on() & set(names) for name in kept}
    if any(bounds.values()):
        bound = next(name for name, of in bounds.items() if of)
        raise PosteriorError(f"the bounds of {bound!r} depend on a random effect", got=bounds[bound],
                             fix="declare the effect relative to the parameter")  # fmt: skip
    blocks, start, first = [], 0, posterior.example_point()
    for block in posterior.layout.blocks:
        if block.name in names:
            size = prod(block.unconstrained_shape)
            blocks.append(replace(block, part=slice(start, start + size)))
            start += size
    effects = Layout(tuple(blocks), start)
    u = np.concatenate([first[block.part] for block in posterior.layout.blocks if block.name in names])
    joint = laplace(_Joint(posterior.function, effects), "u", start={"u": u}, max_steps=max_steps)
    density = MarginalDensity(joint, effects, kept)
    pointwise = posterior.pointwise
    of_effects = callable(pointwise) and arguments(pointwise, {*names})
    return {
        "log_density": density, "data": posterior.data, "coords": posterior.coords, "generated": WithDrawn(density, posterior.generated),
        "log_likelihood": None if of_effects else pointwise, "dims": posterior.dims,
        "parameters": {name: posterior.parameters[name] for name in kept},
    }  # fmt: skip
