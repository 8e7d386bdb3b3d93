"""Turns what a caller passes into a tape's inputs: checks shape and dtype, accepts any layout, never aliases the caller."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from .instruction import ValueType, is_tracked


class Constant:
    """Marks an argument as run-time data: an input of the tape that is never differentiated and never baked in.

    Args:
        value: array or number; float64, float32, int64 or bool. Its values may change from call to call, its shape not.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"td.Constant({self.value!r})"


def unwrap(argument: Any) -> Any:
    return argument.value if type(argument) is Constant else argument


def as_float_array(argument: Any, position: int) -> np.ndarray:
    """A float array for argument number `position` of a new recording.

    Raises:
        DtypeMismatch: integers, booleans, complex numbers, objects or strings.
    """
    array = _plain_array(argument, position)
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    fix = "pass floats, e.g. np.asarray(x, dtype=float); wrap data that is not differentiated in td.Constant(...)"
    raise DtypeMismatch(
        f"argument {position} must be real floating-point numbers to be differentiated",
        got=f"dtype {array.dtype}, shape {array.shape}",
        fix=fix,
    )


def as_data_array(argument: Any, position: int) -> np.ndarray:
    """The array of a td.Constant argument: float, int or bool.

    Raises:
        DtypeMismatch: complex numbers, objects or strings.
    """
    array = _plain_array(argument, position)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and array.dtype.itemsize in (4, 8)):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    raise DtypeMismatch(
        f"argument {position} is data of a type that a tape cannot hold",
        got=f"dtype {array.dtype}, shape {array.shape}",
        fix="pass float64, float32, int64 or bool arrays",
    )


def _plain_array(argument: Any, position: int) -> np.ndarray:
    # numpy.ma is imported by those who have such arrays; it takes 10 ms.
    if "numpy.ma" in sys.modules and isinstance(argument, np.ma.MaskedArray):
        raise DtypeMismatch(
            f"argument {position} is a masked array, whose mask a tape would ignore",
            got=f"masked array of shape {argument.shape}",
            fix="pass argument.filled(...) and the mask as td.Constant(mask)",
        )
    try:
        return np.asarray(argument)
    except (ValueError, TypeError) as error:
        raise DtypeMismatch(
            f"argument {position} is not an array of numbers",
            got=type(argument).__name__,
            fix="pass a float, a float array, or one argument per array",
        ) from error


def as_inputs(tape: Any, args: Sequence[Any]) -> list[Any]:
    """The arguments as arrays of exactly the recorded types.

    Raises:
        ArgumentMismatch, ShapeMismatch, DtypeMismatch: with recorded against given.
    """
    types: tuple[ValueType, ...] = tape.input_types
    if len(args) != len(types):
        raise ArgumentMismatch(
            f"the tape of {tape.name} takes {len(types)} arguments, {len(args)} were given",
            got=", ".join(type(a).__name__ for a in args),
            fix=f"pass the arguments it was recorded with: {', '.join(map(str, types))}",
        )
    return [as_input(tape, position, type_, argument) for position, (type_, argument) in enumerate(zip(types, args))]


def as_input(tape: Any, position: int, type_: ValueType, argument: Any) -> Any:
    argument = unwrap(argument)
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
