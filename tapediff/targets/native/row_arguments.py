"""The arguments of a batch: arrays with a row for each call, and arrays that all calls share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from ...ir.arguments import Cache, Constant, Marker, Output, unwrap
from ...ir.containers import Trees, flatten_argument
from ...ir.inputs import as_inputs
from ...ir.instruction import Tree, ValueType
from ...ir.pytree import ARRAY, TreeDef
from ...ir.tape import Tape
from .signature import nested, takes_arrays


class Rows(Marker):
    """Marks an argument of a batch that has an entry for each row.

    Args:
        value: array whose first axis is that of the rows, or a container of such arrays; or td.Constant of these.
    """

    __slots__ = ()


class RowArgument(NamedTuple):
    """An array among the arguments of a batch.

    Attributes:
        array: its numbers; with a leading axis of rows if `per_row`.
        given: as the caller gave it, without td.Rows.
    """

    array: np.ndarray
    per_row: bool
    given: Tree

    def at(self, row: int, *, in_container: bool = False) -> Tree:
        """The argument of the call at one row. In a container, numbers are arrays: a list of nothing but numbers would be an array."""
        if not self.per_row:
            return self.given
        own = self.array[row, ...] if in_container else self.array[row]
        return Constant(own) if type(self.given) is Constant else own

    @property
    def with_a_row(self) -> RowArgument:
        """The argument, with a row of ones in place of no rows."""
        return self if not self.per_row or len(self.array) else self._replace(array=np.ones((1, *self.type.shape), self.array.dtype))

    @property
    def type(self) -> ValueType:
        """The type of the argument of one call."""
        return ValueType(self.array.shape[1:] if self.per_row else self.array.shape, self.array.dtype)


class RowArguments(list[RowArgument]):
    """The arrays in the arguments of a batch.

    Attributes:
        trees: the treedefs of the arguments; None without containers.
        rows: their number.
    """

    def __init__(self, arrays: Iterable[RowArgument], trees: Trees | None, rows: int) -> None:
        super().__init__(arrays)
        self.trees, self.rows = trees, rows

    def at(self, row: int) -> list[Tree]:
        """The arguments of the call at one row."""
        leaves = [a.at(row, in_container=self.trees is not None) for a in self]
        return leaves if self.trees is None else nested(self.trees, leaves)

    def example(self) -> list[Tree]:
        """Arguments of the same types as those of any row, even if there is none."""
        return RowArguments([a.with_a_row for a in self], self.trees, 1).at(0)


def row_arguments(args: Sequence[Tree]) -> RowArguments:
    """The arguments of a batch; the first has rows.

    Raises:
        ArgumentMismatch, ShapeMismatch: an argument is not numbers or a container of numbers, or has another number of rows
            than the first.
    """
    arguments: list[RowArgument] = []
    trees: list[TreeDef] = []
    rows: int | None = None
    if any(type(argument) in (Output, Cache) for argument in args):
        raise ArgumentMismatch("a batch takes no td.Output and no td.Cache",
                               fix="give it a function that makes these arrays itself, and returns its result")  # fmt: skip
    for k, argument in enumerate(args):
        value, per_row, is_constant = _unmarked(argument, k == 0)
        leaves, tree = flatten_argument(value, k)
        _require_no_rows(tree, k)
        found = [_argument(leaf, k, per_row, is_constant) for leaf in leaves]
        if k == 0 and tree == ARRAY and found[0].array.dtype.kind in "iub" and type(found[0].given) is not Constant:
            found[0] = found[0]._replace(array=found[0].array.astype(np.float64))
        for count in [len(a.array) for a in found if a.per_row]:
            rows = count if rows is None else rows
            if count != rows:
                raise ShapeMismatch(
                    f"argument {k} of the batch has another number of rows than the first one",
                    got=f"{count} rows and {rows}", fix="pass one entry per row, or leave td.Rows out",
                )  # fmt: skip
        arguments += found
        trees.append(tree)
        if rows is None:
            raise ArgumentMismatch("the first argument of a batch holds no array with rows", got=type(args[0]).__name__)
    return RowArguments(arguments, None if all(tree == ARRAY for tree in trees) else tuple(trees), rows or 0)


def _unmarked(given: Tree, per_row: bool) -> tuple[Tree, bool, bool]:
    """Remove the marks of an argument; also returns True if each row has its own entry, and True if it is constant."""
    is_constant = False
    while type(given) in (Rows, Constant):
        per_row |= type(given) is Rows
        is_constant |= type(given) is Constant
        given = given.value
    return given, per_row, is_constant


def _require_no_rows(tree: TreeDef, position: int) -> None:
    if tree.kind is Rows:
        raise ArgumentMismatch(f"argument {position} of the batch is a container with td.Rows in it", got=repr(tree.keys),
                               fix="mark the whole argument: td.Rows({...})")  # fmt: skip
    for part in tree.parts:
        _require_no_rows(part, position)


def _argument(leaf: Tree, position: int, per_row: bool, is_constant: bool) -> RowArgument:
    is_constant |= type(leaf) is Constant
    value = unwrap(leaf)
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
    return RowArgument(array, per_row, Constant(value) if is_constant else value)


def require_fit(arguments: RowArguments, tape: Tape) -> None:
    """Raise if arguments do not fit the recorded ones."""
    types, name = tape.input_types, tape.name
    if arguments.trees is not None or not takes_arrays(tape):
        as_inputs(tape, arguments.example())  # says what differs
        return
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
