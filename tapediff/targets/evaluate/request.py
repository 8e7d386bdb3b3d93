"""A call of an operator, read: its arguments by position, and the options that all operators share."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from ...errors import ArgumentMismatch
from ...ir.arguments import chosen_arguments
from ...ir.containers import outputs_among
from ...ir.inputs import NamesArguments
from ...ir.instruction import Target, Tree
from ...recording.arguments.bind_call import positional
from ...recording.arguments.flat_function import argument_names
from .chosen import name_of
from .fast_path import FIRST, Argnums

# The options of every operator beside argnums. They come among the arguments by name, as each parameter more of an operator would
# cost its fast path 10 ns; `_read` has a line for each.
OPTIONS = ("argnames", "has_aux")

# Those that some operators have of their own, for messages.
OWN_OPTIONS = ("argnums", "out", "mode", "format")


class Request(NamedTuple):
    """A request to an operator.

    Attributes:
        args: all arguments of the target, by position.
        argnums: which of them to differentiate by.
        has_aux: the function returns (y, aux), and aux is asked for.
    """

    args: tuple[Tree, ...]
    argnums: Argnums
    has_aux: bool = False


def requested(target: Target, args: tuple[Tree, ...], argnums: Argnums, named: dict[str, Tree]) -> Request:
    """Read the call of an operator.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        args: its arguments by position.
        argnums: the operator's own option.
        named: what else was given by name: options, and further arguments of the target.

    Raises:
        ArgumentMismatch: a name that is neither, or options that contradict each other.
    """
    if not named:
        return Request(args, beside_outputs(target, args, argnums))
    options = {name: named[name] for name in OPTIONS if name in named}
    return _read(target, _by_position(target, args, {k: v for k, v in named.items() if k not in options}), argnums, **options)


def _read(target: Target, args: tuple[Tree, ...], argnums: Argnums, argnames: object = None, has_aux: bool = False) -> Request:
    if argnames is not None:
        argnums = _numbers(target, args, argnums, argnames)
    else:
        argnums = beside_outputs(target, args, argnums)
    return Request(args, argnums, bool(has_aux))


def is_options(named: dict[str, Tree]) -> bool:
    """Whether all that is given by name are options, so that no argument of a target is among it."""
    return all(name in OPTIONS or name in OWN_OPTIONS for name in named)


def beside_outputs(target: Target, args: Sequence[Tree], argnums: Argnums) -> Argnums:
    """The positions among all arguments that argnums names, which does not count td.Output arguments, as they are results."""
    outputs = outputs_among(args)
    if not outputs:
        return argnums
    others = [k for k in range(len(args)) if k not in outputs]
    numbers, several = chosen_arguments(argnums, len(others), f"{name_of(target)}, not counting td.Output,")
    found = tuple(others[k] for k in numbers)
    return found if several else found[0]


def function_of(target: Target) -> Target:
    """Where the names of a target's arguments are found: the function of a GuardedTape; otherwise the target itself."""
    return target.f if hasattr(target, "tape_for") else target  # pyright: ignore[reportAttributeAccessIssue]  # a GuardedTape


def _by_position(target: Target, args: tuple[Tree, ...], named: dict[str, Tree]) -> tuple[Tree, ...]:
    """The arguments of any target by position."""
    if not named:
        return args
    try:
        return tuple(positional(function_of(target), args, named))
    except TypeError as error:
        # A misspelt option is taken for an argument of the target.
        meant = {name: get_close_matches(name, (*OPTIONS, *OWN_OPTIONS), 1) for name in named}
        said = ", ".join(f"{found[0]}= in place of {name}=" for name, found in meant.items() if found)
        got, fix = (error.got, error.fix) if isinstance(error, ArgumentMismatch) else (str(error), "pass arguments by their names")
        raise ArgumentMismatch(
            f"{name_of(target)} does not take these arguments, and operators have no such option", got=got,
            fix=said or f"{fix}; the options are {', '.join((*OPTIONS, *OWN_OPTIONS))}",
        ) from error  # fmt: skip


def _numbers(target: Target, args: Sequence[Tree], argnums: Argnums, argnames: object) -> Argnums:
    """The positions of arguments that are given by name."""
    if argnums is not FIRST:
        raise ArgumentMismatch("argnums and argnames both say which argument to differentiate by",
                               got=f"argnums={argnums!r}, argnames={argnames!r}", fix="give one of them")  # fmt: skip
    wanted = (argnames,) if isinstance(argnames, str) else argnames
    if not isinstance(wanted, (tuple, list)) or not all(isinstance(name, str) for name in wanted):
        raise ArgumentMismatch("argnames is a name, or a tuple or list of names", got=repr(argnames), fix='argnames="x"')
    names = _names(target, len(args))
    for name in wanted:
        if name not in names[: len(args)]:
            raise ArgumentMismatch(
                f"argnames={name!r} but {name_of(target)} was called with no such argument",
                got=", ".join(known or "(one without a name)" for known in names[: len(args)]),
                fix="choose among these, and pass the argument",
            )  # fmt: skip
    found = tuple(names.index(name) for name in wanted)
    return found[0] if isinstance(argnames, str) else found


def _names(target: Target, count: int) -> list[str]:
    f = function_of(target)
    names: NamesArguments | None = f if hasattr(f, "argument_names") else None  # pyright: ignore[reportAssignmentType]
    return list(names.argument_names) if names is not None else argument_names(f, count)
