"""Parse the call of an operator: its positional arguments, and the options that all operators share."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ArgumentMismatch
from ...ir.arguments import chosen_arguments, keywords_of
from ...ir.containers import outputs_among
from ...ir.inputs import NamesArguments
from ...ir.instruction import Operand, Target, Tree
from ...recording.arguments.bind_call import positional
from ...recording.arguments.flat_function import argument_names, by_position
from .chosen import name_of
from .fast_path import FIRST, Argnums

# The options of every operator besides argnums. They come among the keyword arguments, as each parameter more of an operator would
# cost its fast path 10 ns; `_read` has a line for each.
OPTIONS = ("argnames", "has_aux", "wrt")

# Options of single operators, for messages.
OWN_OPTIONS = ("argnums", "out", "mode", "format", "accumulate")


class Given(NamedTuple):
    """The call of an operator as the user made it.

    Attributes:
        target, args, argnums, named: see `requested`.
        names: the target's arguments given by name, or with a default that is asked for.
    """

    target: Target
    args: tuple[Tree, ...]
    argnums: Tree
    named: dict[str, Tree]
    names: Sequence[str] = ()

    @property
    def positions(self) -> Sequence[int | None]:
        """For each of the target's arguments, its position in the call, keyword arguments last; None if it was not given."""
        if not self.names:
            return range(len(self.args))
        # Bound once more with placeholder objects, to see which parameter each one reaches.
        by_position, by_name = [object() for _ in self.args], {name: object() for name in self.names}
        places = {id(mark): k for k, mark in enumerate([*by_position, *(by_name.get(name) for name in self.named)])}
        return [places.get(id(mark)) for mark in _by_position(self.target, tuple(by_position), by_name)]


class Request(NamedTuple):
    """A request to an operator.

    Attributes:
        args: all arguments of the target, by position.
        argnums: which of them to differentiate by.
        given: the call.
        has_aux: the function returns (y, aux), and aux was asked for.
        wrt: an index, the entries of that argument to differentiate by; None for all. A tuple of these for several arguments.
    """

    args: tuple[Tree, ...]
    argnums: Argnums
    given: Given
    has_aux: bool = False
    wrt: Operand = None


def requested(target: Target, args: tuple[Tree, ...], argnums: Argnums, named: dict[str, Tree]) -> Request:
    """Read the call of an operator.

    Args:
        target: function, Tape, CompiledTape or GuardedTape.
        args: its arguments by position.
        argnums: the operator's own option.
        named: all keyword arguments: options, and further arguments of the target.

    Raises:
        ArgumentMismatch: an unknown name, or options that contradict each other.
    """
    if not named and not getattr(target, "named_only", 0):
        return Request(args, beside_outputs(target, args, argnums), Given(target, args, argnums, named))
    options = {name: named[name] for name in OPTIONS if name in named}
    by_name = {k: v for k, v in named.items() if k not in options}
    if options.get("argnames") is not None:
        by_name = {**_defaults(target, args, by_name, options["argnames"]), **by_name}
    given = Given(target, args, argnums, named, tuple(by_name))
    return _read(given, _by_position(target, args, by_name), **options)


def _defaults(target: Target, args: Sequence[Tree], named: dict[str, Tree], argnames: object) -> dict[str, Tree]:
    """The defaults of omitted arguments that are differentiated."""
    f = function_of(target)
    if hasattr(f, "argument_names"):
        return {}
    try:
        signature = inspect.signature(f)
        given = signature.bind_partial(*args, **named).arguments
    except (TypeError, ValueError):
        return {}  # binding will raise
    wanted = _names_in(argnames)
    parameters = [p for name, p in signature.parameters.items() if name in wanted and name not in given]
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _read(given: Given, args: tuple[Tree, ...], argnames: object = None, has_aux: bool = False, wrt: Operand = None) -> Request:
    if argnames is not None:
        argnums = _numbers(given.target, args, given.argnums, argnames)
    else:
        argnums = beside_outputs(given.target, args, given.argnums)
    return Request(args, argnums, given, bool(has_aux), wrt)


def is_options(named: dict[str, Tree]) -> bool:
    """True if all keyword arguments are options, so that none is an argument of the target."""
    return all(name in OPTIONS or name in OWN_OPTIONS for name in named)


def beside_outputs(target: Target, args: Sequence[Tree], argnums: Argnums) -> Argnums:
    """The positions of `argnums` among all arguments.

    It does not count td.Output arguments, which are results, or keyword-only arguments.
    """
    outputs, keywords = outputs_among(args), keywords_of(args)
    if not outputs and not keywords:
        return argnums
    others = [k for k in range(len(args) - len(keywords)) if k not in outputs]
    but = ", not counting td.Output," if outputs else ", not counting those by name (argnames=),"
    numbers, several = chosen_arguments(argnums, len(others), f"{name_of(target)}{but}")
    found = tuple(others[k] for k in numbers)
    return found if several else found[0]


def function_of(target: Target) -> Target:
    """The object whose signature names a target's arguments: the function of a GuardedTape; otherwise the target itself."""
    return target.f if hasattr(target, "tape_for") else target  # pyright: ignore[reportAttributeAccessIssue]  # a GuardedTape


def _by_position(target: Target, args: tuple[Tree, ...], named: dict[str, Tree]) -> tuple[Tree, ...]:
    """Bind the arguments of any target by position."""
    f = function_of(target)
    if not named and not getattr(f, "named_only", 0):
        return args
    try:
        return positional(f, args, named)
    except TypeError as error:
        from difflib import get_close_matches

        # A misspelt option looks like an argument of the target.
        meant = {name: get_close_matches(name, (*OPTIONS, *OWN_OPTIONS), 1) for name in named}
        said = ", ".join(f"{found[0]}= in place of {name}=" for name, found in meant.items() if found and found[0] != name)
        got, fix = (error.got, error.fix) if isinstance(error, ArgumentMismatch) else (str(error), "pass arguments by their names")
        raise ArgumentMismatch(
            f"{name_of(target)} does not take these arguments, and operators have no such option", got=got,
            fix=said or f"{fix}; the options are {', '.join((*OPTIONS, *OWN_OPTIONS))}",
        ) from error  # fmt: skip


def _numbers(target: Target, args: Sequence[Tree], argnums: Argnums, argnames: object) -> Argnums:
    """The positions of arguments named by `argnames`."""
    if argnums is not FIRST:
        raise ArgumentMismatch("argnums and argnames both say which argument to differentiate by",
                               got=f"argnums={argnums!r}, argnames={argnames!r}", fix="give one of them")  # fmt: skip
    wanted = _names_in(argnames)
    names = _names(target, args)
    for name in wanted:
        if name not in names[: len(args)]:
            raise ArgumentMismatch(
                f"argnames={name!r} but {name_of(target)} was called with no such argument",
                got=", ".join(known or "(one without a name)" for known in names[: len(args)]),
                fix="choose among these, and pass the argument",
            )  # fmt: skip
    found = tuple(names.index(name) for name in wanted)
    return found[0] if isinstance(argnames, str) else found


def _names_in(argnames: object) -> Sequence[str]:
    wanted: Sequence[object] = (argnames,) if isinstance(argnames, str) else argnames if isinstance(argnames, (tuple, list)) else (None,)
    names = [name for name in wanted if isinstance(name, str)]
    if len(names) != len(wanted):
        raise ArgumentMismatch("argnames is a name, or a tuple or list of names", got=repr(argnames), fix='argnames="x"')
    return names


def _names(target: Target, args: Sequence[Tree]) -> list[str]:
    f = function_of(target)
    names: NamesArguments | None = f if hasattr(f, "argument_names") else None  # pyright: ignore[reportAssignmentType]
    return list(names.argument_names) if names is not None else argument_names(by_position(f, args), len(args))
