"""The parameters and data that a user's function takes by name, and its source of random numbers."""

from __future__ import annotations

import inspect

from ..errors import PosteriorError
from ..ir.instruction import UserFunction

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
