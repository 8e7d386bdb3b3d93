"""Which of the parameters and data a user's function takes by name, and whether it draws at random."""

from __future__ import annotations

import inspect

from ..ir.instruction import UserFunction

# Arguments by which `generated` and `prior` draw: a numpy.random.Generator of plain Python, and a key of td.random, which is compiled.
RANDOM = ("rng", "key")


def arguments(function: UserFunction, names: set[str]) -> set[str]:
    """Those of the names of parameters and data that a function takes: all if it takes any."""
    taken, takes_any = _taken(function)
    return names if takes_any else names & taken


def random_argument(function: UserFunction, names: set[str]) -> str | None:
    """Which of rng and key a function takes, where no parameter or data have that name; None if it draws nothing.

    Raises:
        ValueError: both.
    """
    found = [name for name in RANDOM if name in _taken(function)[0] and name not in names]
    if len(found) > 1:
        raise ValueError("a function takes rng, for plain Python, or key, for td.random, and not both; fix: leave one out")
    return found[0] if found else None


def check_names(function: UserFunction, what: str, given: set[str], *, may_leave_out: bool) -> None:
    """The function takes every name that it will be given, and is given all that it needs.

    Raises:
        ValueError: it does not, or is not.
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
        fix = f'fix: {one}=td.real() for a parameter, data={{"{one}": ...}} for data'
        raise ValueError(f"{what} needs {', '.join(sorted(missing))}, which is neither a parameter nor data; {fix}")
    if unknown:
        raise ValueError(
            f"{what} has no argument {', '.join(sorted(unknown))}; fix: name it in the function's signature, or leave it out"
        )


def _taken(function: UserFunction) -> tuple[set[str], bool]:
    """The names of the arguments of a function, and whether it takes any others."""
    parameters = inspect.signature(function).parameters.values()
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)
