"""Arguments as arrays: accepted and refused values, and their names in messages."""

from __future__ import annotations

import dataclasses
import inspect
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ..errors import ArgumentMismatch, DtypeMismatch
from .instruction import Operand, Tree, UserFunction

P = ParamSpec("P")
R = TypeVar("R")

class Marker:
    """Marks an argument, or a part of one."""

    __slots__ = ("value",)

    def __init__(self, value: Operand) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"td.{type(self).__name__}({self.value!r})"


class Constant(Marker):
    """Marks an argument as run-time data: an input of the tape that is never differentiated and never baked in.

    Args:
        value: array or number; float64, float32, int64 or bool. Its values may change from call to call, its shape not.
    """

    __slots__ = ()


class ArgumentsByName(tuple[Tree, ...]):
    """The arguments of a call; the last ones are keyword arguments.

    Attributes:
        keywords: their names.
    """

    keywords: tuple[str, ...] = ()

    @staticmethod
    def of(args: Sequence[Tree], keywords: Sequence[str]) -> ArgumentsByName:
        made = ArgumentsByName(args)
        made.keywords = tuple(keywords)
        return made


def keywords_of(args: Sequence[Tree]) -> tuple[str, ...]:
    """The names of the keyword arguments, which come last."""
    return args.keywords if isinstance(args, ArgumentsByName) else ()


def called_by_name(f: UserFunction, args: Sequence[Tree], keywords: Sequence[str]) -> Tree:
    """Call f with the last arguments by name."""
    count = len(args) - len(keywords)
    return f(*args[:count], **dict(zip(keywords, args[count:])))


class Cache(Marker):
    """Marks an argument as scratch: arrays that the function writes to before it reads them.

    The function is given new arrays of the same shapes and dtypes. The contents of the caller's arrays do not matter and do not change.
    They have no derivative. Reading an element before it is written is an error that names the line.

    Args:
        value: an array, or a container of arrays, nested or not; it may also hold strings, None and the like.
    """

    __slots__ = ()


class ConstantOrCache(Marker):
    """Marks an argument that holds data and scratch: elements that are only read are as in td.Constant, written ones as in td.Cache.

    The caller's arrays do not change. Reading an element and overwriting it later is an error that names the line: the next call of
    the plain function would read what this one left.

    Args:
        value: an array, or a container of arrays, nested or not.
    """

    __slots__ = ()


class Output(Marker):
    """Marks an argument that the function fills: its contents when the function returns are the result.

    The function returns None, or what it has filled. A tape's call returns the result as a new array; the caller's array gives shape
    and dtype, and does not change. Every element must be written, and none be read before that. `argnums`, tangents and cotangents
    leave these arguments out.

    Args:
        value: the shape, an int or a tuple of ints; or an array of that shape and dtype; or a container of arrays.
        dtype: with a shape.
    """

    __slots__ = ()

    def __init__(self, value: Operand, dtype: DTypeLike = float) -> None:
        extents = value if type(value) is tuple else (value,)
        if all(isinstance(n, (int, np.integer)) and not isinstance(n, (bool, np.bool_)) for n in extents):
            value = np.empty(extents, dtype)
        elif type(value) is list and not any(isinstance(part, (np.ndarray, list, tuple, dict)) for part in value):
            raise ArgumentMismatch("td.Output takes a shape, an array, or a container of arrays", got=repr(value)[:60],
                                   fix="a tuple for a shape: td.Output((2, 3))")  # fmt: skip
        super().__init__(value)


# The marks of arguments, or of parts of one.
Mark = type[Marker]
MARKS: frozenset[type] = frozenset((Constant, Cache, ConstantOrCache, Output))


def options_by_name(public: str, corrected: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function's options keyword-only: further positional arguments are refused, as they were meant for the user's function.

    Args:
        public: the function's name, with its module.
        corrected: the corrected call with such arguments; {} stands for their names.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        code = inspect.unwrap(function).__code__
        names, has_method = code.co_varnames[: code.co_argcount], "method" in code.co_varnames
        most, has_args = len(names), names[-1] == "args"

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            if len(args) > most:
                # f(x0, a, b): the first extra argument is in the place of `args`.
                count = len(args) - most + (has_args and not isinstance(args[most - 1], tuple))
                further = ", ".join("abcdefghijklmnopqrstuvwxyz"[:count]) + "," * (has_args and count == 1)
                raise ArgumentMismatch(
                    f"{public} takes its options by name, and what your function needs besides in one argument",
                    got=f"{len(args)} arguments by position, of which it has {most}: {', '.join(names)}",
                    fix=f"{public}({', '.join(names)}, method={args[most]!r})" if has_method and isinstance(args[most], str)
                    else corrected.replace("{}", further),
                )  # fmt: skip
            if has_method and not isinstance(named.get("method", ""), str):
                raise ArgumentMismatch(f"method of {public} is a name", got=repr(named["method"]), fix=corrected.replace("{}", "a, b"))
            return function(*args, **named)

        return call

    return decorate


def marked(mark: Mark, value: Tree) -> Marker:
    """A part of a marked argument, with the mark."""
    if type(value) in MARKS:
        return value
    made = object.__new__(mark)
    made.value = value
    return made


def unwrap(argument: Operand) -> Operand:
    """The argument without its mark, if it has one."""
    return argument.value if type(argument) in MARKS else argument


def as_float_array(argument: Operand, position: int, f: UserFunction | None = None) -> np.ndarray:
    """A float array for argument number `position` of a new recording of `f`.

    Raises:
        DtypeMismatch: integers, booleans, complex numbers, objects, strings or containers.
    """
    array = _plain_array(argument, position, f)
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    fix = "pass floats, e.g. np.asarray(x, dtype=float); wrap data that is not differentiated in td.Constant(...)"
    if isinstance(argument, np.ndarray) and array.dtype == object:
        fix = "pass np.asarray(x, dtype=float), or a list of arrays of different lengths"
    elif array.dtype.kind not in "fiub":
        fix = f"pass {ACCEPTED}; fill in what is no number with functools.partial"
    if array.dtype.kind == "c":
        fix = "pass the real and the imaginary part, and write z = x + 1j * y inside the function"
    raise DtypeMismatch(
        f"{argument_name(position, f)} must be real floating-point numbers to be differentiated",
        got=_kind(argument, array),
        fix=fix,
    )


def _kind(argument: Operand, array: np.ndarray) -> str:
    """The dtype and shape of an array, or the type of what is none; of an array of objects, those of its entries."""
    if array.dtype == object and not isinstance(argument, np.ndarray):
        return type(argument).__name__
    kinds = sorted({type(entry).__name__ for entry in array.flat}) if array.dtype == object else []
    return f"dtype {array.dtype}, shape {array.shape}" + (f", entries of {', '.join(kinds)}" if kinds else "")


def as_data_array(argument: Operand, position: int, f: UserFunction | None = None) -> np.ndarray:
    """The array of a td.Constant argument: float, int or bool.

    Raises:
        DtypeMismatch: complex numbers, objects, strings or containers.
    """
    array = _plain_array(argument, position, f)
    if array.dtype.kind in "iu":
        if array.dtype.char in "LQ" and array.size and array.max() > LARGEST_INTEGER:
            raise DtypeMismatch(f"{argument_name(position, f)} has integers beyond those of int64", got=f"{array.max()} in {array.dtype}",
                                fix="pass floats, np.asarray(x, dtype=float), or close over the array")  # fmt: skip
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and array.dtype.itemsize in (4, 8)):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    raise DtypeMismatch(
        f"{argument_name(position, f)} is data of a type that a tape cannot hold",
        got=_kind(argument, array),
        fix="pass z.real and z.imag, which make x + 1j * y inside the function" if array.dtype.kind == "c"
        else "pass float64, float32, int64 or bool arrays, e.g. np.asarray(x, dtype=float)",
    )


def as_recorded(argument: Operand, position: int, f: UserFunction | None) -> tuple[np.ndarray, bool]:
    """The array of an argument of td.record, and True if it may be differentiated: integers and booleans are data."""
    if type(argument) is Constant:
        return as_data_array(argument.value, position, f), False
    array = _plain_array(argument, position, f)
    if array.dtype.kind in "iub":
        return as_data_array(array, position, f), False
    return as_float_array(argument, position, f), True


LARGEST_INTEGER = np.iinfo(np.int64).max

ACCEPTED = "a float, a float array, nested lists of plain numbers, or a container of these"


def argument_name(position: int, f: UserFunction | None = None) -> str:
    """The name of an argument in messages: its position, and its name if f has one; for an array in a container, the path to it."""
    leaves = getattr(f, "leaf_names", None)
    if leaves is not None and position < len(leaves):
        return f"argument {leaves[position]}"
    try:
        named = list(inspect.signature(f).parameters.values()) if f is not None else []
    except (TypeError, ValueError):
        named = []
    known = position < len(named) and named[position].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return f"argument {position} ({named[position].name})" if known else f"argument {position}"


def container_kind(argument: Operand) -> str | None:
    """The kind of a container of arrays, for messages; None for a single array: numbers, arrays, nested lists of plain numbers.

    A list of arrays is not stacked: f would get an array where its caller gave a list, and `ws + [w]` would add instead of append.
    """
    if isinstance(argument, Mapping):
        return f"a {type(argument).__name__}"
    if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
        return f"a dataclass ({type(argument).__name__})"
    if not isinstance(argument, (list, tuple)):
        return None
    items: Sequence[object] = argument
    name = type(items).__name__
    if hasattr(items, "_fields"):
        return f"a named tuple ({name})"
    if holds_only_numbers(items):
        return None
    return f"a {name} of {', '.join(sorted({type(each).__name__ for each in items}))}"


def holds_only_numbers(argument: Sequence[Operand]) -> bool:
    """True if a list or tuple is nested lists of plain numbers."""
    kinds = set(map(type, argument))
    if kinds <= _NUMBERS:
        return True
    return all(
        holds_only_numbers(each) if type(each) in (list, tuple) else isinstance(each, (np.generic, numbers.Number))
        for each in argument
    )


_NUMBERS = {float, int, bool, np.float64, np.int64}


def _plain_array(argument: Operand, position: int, f: UserFunction | None = None) -> np.ndarray:
    # Importing numpy.ma takes 10 ms; whoever has such arrays has imported it.
    if "numpy.ma" in sys.modules and isinstance(argument, np.ma.MaskedArray):
        raise DtypeMismatch(
            f"{argument_name(position, f)} is a masked array, whose mask a tape would ignore",
            got=f"masked array of shape {argument.shape}",
            fix="pass argument.filled(...) and the mask as td.Constant(mask)",
        )
    if type(argument) is np.ndarray or type(argument) is float:
        return np.asarray(argument)
    if isinstance(argument, np.matrix):
        raise DtypeMismatch(f"{argument_name(position, f)} is an np.matrix, whose * is a product of matrices",
                            got=f"np.matrix of shape {argument.shape}", fix="pass np.asarray(matrix)")  # fmt: skip
    container = container_kind(argument)
    if container is not None:
        raise container_refused(container, position, f)
    try:
        return np.asarray(argument)
    except (ValueError, TypeError) as error:
        raise DtypeMismatch(
            f"{argument_name(position, f)} is not an array of numbers",
            got=f"a ragged {type(argument).__name__}" if isinstance(argument, (list, tuple)) else type(argument).__name__,
            fix=f"pass {ACCEPTED}, or one argument per array",
        ) from error


def container_refused(container: str, position: int, f: UserFunction | None) -> DtypeMismatch:
    return DtypeMismatch(
        f"{argument_name(position, f)} is a container that tapediff does not take here",
        got=container,
        fix="pass tuples, lists, dicts, named tuples or dataclasses; td.register_container makes a class one",
    )


def chosen_arguments(argnums: object, count: int, name: str) -> tuple[tuple[int, ...], bool]:
    """The positions that argnums names, counted from the front, and True if it was a sequence.

    Raises:
        ArgumentMismatch: argnums is not an integer or a sequence of integers, or names a missing argument.
    """
    several = isinstance(argnums, (tuple, list))
    given: Sequence[object] = argnums if several else (argnums,)
    positions: list[int] = []
    for k in given:
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
            raise ArgumentMismatch(
                "argnums is a position, or a tuple or list of positions",
                got=f"argnums={argnums!r}",
                fix="argnums=0, argnums=(0, 2), or argnums=-1 for the last argument; points are given as td.gradient(f, x), td.grad(f)(x)",
            )  # fmt: skip
        if not -count <= k < count:
            fix = f"choose argnums between 0 and {count - 1}" if count else "pass the point as well: td.gradient(f, x)"
            what = f"argnums={k} but {name} was called with {count} arguments" if count else f"{name} was called without arguments"
            raise ArgumentMismatch(what, fix=fix)
        positions.append(int(k) % count)
    if len(set(positions)) < len(positions):
        raise ArgumentMismatch(f"argnums names an argument of {name} twice", got=f"argnums={argnums!r}", fix="name each once")
    return tuple(positions), several
