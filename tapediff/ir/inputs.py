"""Turns what a caller passes into a tape's inputs: checks structure, shape and dtype, accepts any layout, never aliases the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from .arguments import ArgumentsByName, as_data_array, as_float_array, holds_only_numbers, unwrap
from .containers import (
    Trees,
    flatten_arguments,
    flatten_as,
    has_buffers,
    is_container,
    mismatch,
    require_separate,
    rows_of,
)
from .instruction import Operand, ValueType, is_tracked
from .pytree import ARRAY


class TakesInputs(Protocol):
    """The part of a tape that describes its arguments."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[int, ...]: ...

    @property
    def input_types(self) -> tuple[ValueType, ...]: ...

    @property
    def active_inputs(self) -> tuple[int, ...]: ...

    @property
    def arguments(self) -> Trees | None: ...

    @property
    def names(self) -> tuple[str, ...]: ...


class NamesArguments(Protocol):
    """An object with names for its arguments: a tape."""

    @property
    def name(self) -> str: ...

    @property
    def argument_names(self) -> tuple[str, ...]: ...

    @property
    def named_only(self) -> int: ...


def by_names(tape: NamesArguments, args: Sequence[Operand], named: dict[str, Operand]) -> tuple[Operand, ...]:
    """The arguments by position, given some by the names that they were recorded with.

    Raises:
        ArgumentMismatch: the names differ from the recorded ones.
    """
    names = tape.argument_names
    first = len(names) - tape.named_only
    rest = names[len(args) :]
    if sorted(rest) != sorted(named) or len(args) > first:
        said = [name or "(one without a name)" for name in names[:first]] + [f"{name}=" for name in names[first:]]
        raise ArgumentMismatch(
            f"the tape of {tape.name} takes other arguments than it was given",
            got=", ".join([f"{len(args)} by position", *named]), fix=f"pass {', '.join(said)}",
        )  # fmt: skip
    return ArgumentsByName.of((*args, *(named[name] for name in rest)), names[first:])


def as_inputs(tape: TakesInputs, args: Sequence[Operand]) -> list[Operand]:
    """The arguments as arrays of exactly the recorded types.

    Raises:
        ArgumentMismatch, ShapeMismatch, DtypeMismatch: with recorded against given.
    """
    if tape.arguments is not None:
        return _from_containers(tape, tape.arguments, args)
    if not _PLAIN.issuperset(map(type, args)) and any(map(_is_other, args)):
        raise _mismatch(tape, (ARRAY,) * len(tape.inputs), args)
    types = tape.input_types
    if len(args) != len(types):
        raise ArgumentMismatch(
            f"the tape of {tape.name} takes {len(types)} arguments, {len(args)} were given",
            got=", ".join(type(a).__name__ for a in args),
            fix=f"pass the arguments it was recorded with: {', '.join(map(str, types))}",
        )
    return [as_input(tape, position, type_, argument) for position, (type_, argument) in enumerate(zip(types, args))]


_PLAIN = frozenset((np.ndarray, float))


def _is_other(argument: Operand) -> bool:
    """True if an argument is a container where an array was recorded; a tuple of numbers counts as an array."""
    return is_container(argument) and not (type(argument) is tuple and holds_only_numbers(argument))


def _as_list(argument: Operand) -> Operand:
    """Turn a tuple of numbers into a list, which is recorded as an array."""
    return list(argument) if type(argument) is tuple and holds_only_numbers(argument) else argument


def as_input(tape: TakesInputs, position: int, type_: ValueType, argument: Operand) -> Operand:
    if type(argument) is np.ndarray and argument.dtype == type_.dtype and argument.shape == type_.shape:
        return argument
    argument = _as_list(unwrap(argument))
    if is_tracked(argument):
        given = argument.type
        array = argument
    else:
        is_active = position in tape.active_inputs
        array = as_float_array(argument, position) if is_active else as_data_array(argument, position)
        given = ValueType(array.shape, array.dtype)
    if given.shape != type_.shape:
        raise ShapeMismatch(
            f"argument {position} of {tape.name} has another shape than recorded",
            got=f"recorded {type_.shape}, given {given.shape}",
            fix="record a tape for this shape, or use td.GuardedTape(f), which keeps one per shape",
        )
    if given.dtype != type_.dtype:
        raise DtypeMismatch(
            f"argument {position} of {tape.name} has another dtype than recorded",
            got=f"recorded {type_.dtype}, given {given.dtype}",
            fix=f"convert it with .astype(np.{type_.dtype.name}), or record a tape for this dtype",
        )
    return array


def _from_containers(tape: TakesInputs, trees: Trees, args: Sequence[Operand]) -> list[Operand]:
    leaves: list[Operand] = []
    if len(args) != len(trees) or not all(flatten_as(tree, argument, leaves) for tree, argument in zip(trees, args)):
        raise _mismatch(tape, trees, args)
    if any(map(has_buffers, trees)):
        require_separate(args)
    try:
        return [as_input(tape, k, type_, leaf) for k, (type_, leaf) in enumerate(zip(tape.input_types, leaves))]
    except (ShapeMismatch, DtypeMismatch) as error:
        raise _mismatch(tape, trees, args) from error


def _mismatch(tape: TakesInputs, trees: Trees, args: Sequence[Operand]) -> ArgumentMismatch:
    leaves, given = flatten_arguments(args)
    given = (ARRAY,) * len(args) if given is None else given
    return mismatch(tape.name, _rows(tape, trees, tape.input_types), _rows(tape, given, leaves))


def _rows(tape: TakesInputs, trees: Trees, leaves: Sequence[Operand]) -> list[tuple[str, str]]:
    names = [*tape.names, *(f"argument {k}" for k in range(len(tape.names), len(trees)))]
    rest = iter(leaves)
    return [row for name, tree in zip(names, trees) for row in rows_of(tree, rest, name)]
