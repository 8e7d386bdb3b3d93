"""The arguments of a batch: rows of arrays, one for each call, and arrays that all calls share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from ...ir.arguments import Constant
from ...ir.instruction import Operand, Tree, ValueType


class Rows:
    """Marks an argument of a batch of which each row has an entry of its own.

    Args:
        value: array whose first axis is that of the rows; or td.Constant of one.
    """

    __slots__ = ("value",)

    def __init__(self, value: Operand) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"td.Rows({self.value!r})"


class RowArgument(NamedTuple):
    """An argument of a batch.

    Attributes:
        array: its numbers; with an axis of rows in front if `per_row`.
        given: as the caller gave it, without td.Rows.
    """

    array: np.ndarray
    per_row: bool
    is_constant: bool
    given: Tree

    def at(self, row: int) -> Tree:
        """The argument of the call at one row."""
        if not self.per_row:
            return self.given
        return Constant(self.array[row]) if self.is_constant else self.array[row]

    @property
    def type(self) -> ValueType:
        """Of the argument of one call."""
        return ValueType(self.array.shape[1:] if self.per_row else self.array.shape, self.array.dtype)


def row_arguments(X: Tree, args: Sequence[Tree]) -> list[RowArgument]:
    """The arguments of a batch, of which the first has rows.

    Raises:
        ArgumentMismatch, ShapeMismatch: an argument is no array of numbers, or has another number of rows than the first.
    """
    arguments = [_argument(X, 0, True), *(_argument(a, k, False) for k, a in enumerate(args, 1))]
    first = arguments[0]
    if first.array.dtype.kind in "iub" and not first.is_constant:
        arguments[0] = first._replace(array=first.array.astype(np.float64))
    rows = len(first.array)
    for k, argument in enumerate(arguments):
        if argument.per_row and len(argument.array) != rows:
            raise ShapeMismatch(
                f"argument {k} of the batch has another number of rows than the first one",
                got=f"{len(argument.array)} rows and {rows}", fix="pass one entry per row, or leave td.Rows out",
            )  # fmt: skip
    return arguments


def _argument(given: Tree, position: int, per_row: bool) -> RowArgument:
    is_constant, value = False, given
    while type(value) in (Rows, Constant):
        per_row |= type(value) is Rows
        is_constant |= type(value) is Constant
        value = value.value
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ArgumentMismatch(
            f"argument {position} of the batch is not an array of numbers", got=f"{array.dtype} {array.shape}",
            fix="pass arrays of floats, integers or booleans",
        )  # fmt: skip
    if per_row and array.ndim == 0:
        raise ArgumentMismatch(
            f"argument {position} of the batch must be an array of one point per row", got=f"{array.dtype} {array.shape}",
            fix="pass an array whose first axis is that of the rows",
        )  # fmt: skip
    return RowArgument(array, per_row, is_constant, given)


def require_fit(arguments: Sequence[RowArgument], types: Sequence[ValueType], name: str) -> None:
    """Raises where arguments do not fit the recorded ones."""
    if len(arguments) != len(types):
        raise ArgumentMismatch(
            f"the tape of {name} takes {len(types)} arguments, {len(arguments)} were given",
            fix=f"pass the arguments it was recorded with: {', '.join(map(str, types))}",
        )
    for k, (argument, type_) in enumerate(zip(arguments, types)):
        given = argument.type
        if given.shape != type_.shape:
            raise ShapeMismatch(
                f"argument {k} of {name} has another shape than recorded", got=f"recorded {type_.shape}, given {given.shape} for a call",
                fix="td.Rows(Y) has one entry per row, other arguments but the first are shared by all rows",
            )  # fmt: skip
        if not np.can_cast(given.dtype, type_.dtype, "safe"):
            raise DtypeMismatch(
                f"argument {k} of {name} has another dtype than recorded", got=f"recorded {type_.dtype}, given {given.dtype}",
                fix=f"convert it with .astype(np.{type_.dtype.name})",
            )  # fmt: skip
