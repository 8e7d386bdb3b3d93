"""The arguments of a joint density: which are random effects, and these as one vector."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ArgumentMismatch
from ..ir.arguments import unwrap
from ..ir.containers import entries
from ..ir.instruction import Operand, Tree, UserFunction
from ..ir.pytree import flatten
from ..tree import ravel


class Effects:
    """The random effects of a density f(theta, u, *data), by name.

    Attributes:
        names: of the arguments that are random.
        start: of the mode, one vector of all of them.
        parameter: the name of the first argument that is not random; first: its position.
    """

    def __init__(self, f: UserFunction, random: str | Sequence[str], start: Mapping[str, Tree]) -> None:
        self.names = (random,) if isinstance(random, str) else tuple(random)
        self.is_one = isinstance(random, str)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        known = [name for name, p in inspect.signature(f).parameters.items() if p.kind in kinds]
        if not self.names or not set(self.names) <= set(known):
            raise ArgumentMismatch("random names arguments of the density", got=f"random={random!r} for arguments {', '.join(known)}",
                                   fix="td.laplace(f, random='u', start={'u': np.zeros(n)}) for f(theta, u, *data)")  # fmt: skip
        if set(start) != set(self.names):
            raise ArgumentMismatch("each random effect needs a start, which gives its shape", got=f"start of {', '.join(start) or 'none'}",
                                   fix=f"start={{{', '.join(f'{name!r}: np.zeros(n)' for name in self.names)}}}")  # fmt: skip
        self.parameter = next((name for name in known if name not in self.names), "theta")
        self.first = known.index(self.parameter) if self.parameter in known else 0
        # In the order of the arguments.
        self.places = {known.index(name): name for name in sorted(self.names, key=known.index)}
        self._tree = tuple(start[name] for name in self.places.values())
        vector, self._unravel = ravel(self._tree)
        self.start = np.array(vector, float)
        if not np.all(np.isfinite(self.start)):
            raise ArgumentMismatch("the start of a random effect is not finite", got=self.name(int(np.argmin(np.isfinite(self.start)))))

    def arguments(self, theta: Tree, x: Operand, others: Sequence[Tree]) -> list[Tree]:
        """The arguments of the density, for its random effects in one vector."""
        given, parts = [theta, *others], dict(zip(self.places, self._unravel(x)))
        return [parts[k] if k in parts else given.pop(0) for k in range(len(given) + len(parts))]

    def every(self, x: np.ndarray) -> dict[str, Tree]:
        """The effects in the shapes of the start, by name."""
        return dict(zip(self.places.values(), self._unravel(x)))

    def by_name(self, x: np.ndarray) -> Tree:
        """The same, or the one argument itself if `random` was a string."""
        found = self.every(x)
        return found[self.names[0]] if self.is_one else found

    def name(self, index: int) -> str:
        """The entry of a vector of all effects, as `u[3]`."""
        first = 0
        for name, tree in zip(self.places.values(), self._tree):
            for (entry, _), leaf in zip(entries(flatten(tree)[1], name), flatten(tree)[0]):
                if index < first + np.size(leaf):
                    at = np.unravel_index(index - first, np.shape(leaf))
                    return f"{entry}[{', '.join(map(str, at))}]" if at else entry
                first += np.size(leaf)
        raise IndexError(index)


def plain(args: Sequence[Tree]) -> list[Tree]:
    return [unwrap(argument) for argument in args]
