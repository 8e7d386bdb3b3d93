"""The parameters and data that a user's function takes by name, and its source of random numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from .. import random
from ..errors import PosteriorError
from ..ir.instruction import Tree, UserFunction

# The name of what `log_likelihood` returns as an array, without a name.
POINTWISE = "log_likelihood"
# The arguments with which `generated` and `prior` draw: a numpy.random.Generator for plain Python, or a td.random key, which compiles.
RANDOM = ("rng", "key")


def arguments(function: UserFunction, names: set[str]) -> set[str]:
    """The names of parameters and data that a function takes: all of them if it has **kwargs."""
    taken, takes_any = _taken(function)
    return names if takes_any else names & taken


def random_argument(function: UserFunction, names: set[str]) -> str | None:
    """`rng` or `key`, if a function takes it and no parameter or data has that name; None if it does not draw.

    Raises:
        PosteriorError: it takes both.
    """
    found = [name for name in RANDOM if name in _taken(function)[0] and name not in names]
    if len(found) > 1:
        raise PosteriorError("a function takes rng, for plain Python, or key, for td.random; not both", got=function, fix="leave one out")
    return found[0] if found else None


def check_names(function: UserFunction, what: str, given: set[str], *, may_leave_out: bool) -> None:
    """Check that the function takes every given name, and that every required argument is given.

    Raises:
        PosteriorError: one of these does not hold.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # builtins without a signature
        return
    takes, takes_any = _taken(function)
    needs = {p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    missing, unknown = needs - given, set() if takes_any or may_leave_out else given - takes
    if missing:
        one = min(missing)
        fix = f'{one}=td.real() for a parameter, data={{"{one}": ...}} for data'
        raise PosteriorError(f"{what} needs {', '.join(sorted(missing))}, which is neither a parameter nor data", got=given, fix=fix)
    if unknown:
        raise PosteriorError(
            f"{what} has no argument {', '.join(sorted(unknown))}", got=takes, fix="name it in the function's signature, or leave it out"
        )


def _taken(function: UserFunction) -> tuple[set[str], bool]:
    """The names of a function's arguments, and True if it has **kwargs."""
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def as_dict(returned: Tree, what: str = "generated") -> dict[str, Tree]:
    """Check the result of `generated` or `prior`, and name that of `log_likelihood`.

    Raises:
        PosteriorError: it is not a dict.
    """
    if not isinstance(returned, Mapping):
        if what == POINTWISE:
            return {POINTWISE: returned}
        raise PosteriorError(f"{what} has to return a dict", got=type(returned).__name__, fix="return {'theta': theta}")
    return dict(returned)


class Draws(Protocol):
    """Draws quantities that a density has summed or integrated out, given parameters and data by name."""

    def draw(self, rng: np.random.Generator, named: Mapping[str, Tree], /) -> dict[str, Tree]: ...


class WithDrawn:
    """A draw of quantities that were summed or integrated out, and what the user's `generated` makes of them."""

    def __init__(self, density: Draws, generated: UserFunction | None) -> None:
        self.density, self.generated = density, generated

    def __call__(self, rng: np.random.Generator, **named: Tree) -> dict[str, Tree]:
        drawn = self.density.draw(rng, named)
        if self.generated is None:
            return drawn
        given = {**named, **drawn}
        by = random_argument(self.generated, set(given))
        given = {name: given[name] for name in arguments(self.generated, set(given))}
        if by is not None:
            given[by] = rng if by == "rng" else random.key(int(rng.integers(2**63)))
        return {**drawn, **as_dict(self.generated(**given))}
