"""A function of containers as one of the arrays in them, and the names of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...ir.containers import Trees, leaf_names
from ...ir.pytree import unflatten


class FlatFunction:
    """A function that is given the arrays in its arguments, one by one.

    Attributes:
        f: the function of containers.
        trees: the treedef of each of its arguments.
        leaf_names: what messages call each array.
    """

    def __init__(self, f: Callable[..., Any], trees: Trees) -> None:
        self.f, self.trees = f, trees
        self.__name__ = getattr(f, "__name__", type(f).__name__)

    @property
    def leaf_names(self) -> list[str]:
        """What messages call each array."""
        names = argument_names(self.f, len(self.trees))
        return leaf_names([f"{k} ({name})" if name else f"{k}" for k, name in enumerate(names)], self.trees)

    def __call__(self, *leaves: Any) -> Any:
        rest = iter(leaves)
        return self.f(*[unflatten(tree, rest) for tree in self.trees])


def argument_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first arguments by position; empty for those without."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return [*names, *[""] * (count - len(names))]
