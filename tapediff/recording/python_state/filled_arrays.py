"""Where a plain array would be written to: np.zeros and its relatives make tracked arrays, np.log and the like take lists.

`y = np.zeros(3); y[0] = tracked` fails, as nothing tells a plain array that its entry is no number. A function that fails so is
recorded once more with these functions in NumPy's namespace. What is computed of constants alone stays free to become plain again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import IntEnum

import numpy as np

from ...base.called_names import is_called_by
from ...base.current_recording import current_recorder
from ...base.source_location import is_library_file, is_of_compiled_library
from ...errors import RefusedByRecording
from ...ir.instruction import Operand, Recorded
from ...numpy_api import UNARY
from ...numpy_api.creating import as_array, holds_tracked
from ...numpy_api.joining import as_value
from ...ops import Op
from .replacement import Replacement, standing_for

# Those of which a call may make an array that is written to.
_MAKERS = ("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full_like", "eye", "identity", "copy")
# Those of which what they make is rarely written to.
_RARE_MAKERS = ("linspace", "tile", "repeat", "diag", "outer", "tri", "concatenate", "stack")


class Fills(IntEnum):
    """Which arrays that the user's code makes are tracked: none; those of floats that np.zeros and its relatives make; more."""

    NOTHING = 0
    FLOATS = 1
    ALL = 2


# By the letters of their dtypes. Narrow integers wrap around, which tracked ones do not.
_FILLED = {Fills.NOTHING: "", Fills.FLOATS: "dfD", Fills.ALL: "dfDlq?"}


def may_be_filled(error: Exception) -> bool:
    """Whether what failed may do where arrays are tracked."""
    if isinstance(error, RefusedByRecording):
        return error.is_write
    return isinstance(error, TypeError) and "which has no callable" in str(error)  # NumPy's, of the objects in a list


def filled(made: Operand, by: Replacement, depth: int, least: Fills = Fills.FLOATS) -> Operand:
    """An array of numbers that the user's code made, `depth` callers up, as a tracked one, in a recording that fills arrays of these.

    Not what compiled code makes, which looks up np.empty by its name as well, and takes what it gets for an array of NumPy's.
    """
    recorder = current_recorder()
    if recorder is None or recorder.fills < least or type(made) is not np.ndarray or made.dtype.char not in _FILLED[recorder.fills]:
        return made
    if made.base is not None and not made.flags.writeable:  # np.diag's view of a matrix
        return made
    frame = sys._getframe(depth)
    if is_library_file(frame.f_code.co_filename) or is_of_compiled_library(frame) or not is_called_by(frame, by, by.original.__name__):
        return made
    return as_array(recorder.tracked_constant(made))


def _maker(original: Callable[..., Operand], least: Fills) -> Replacement:
    is_empty = original.__name__.startswith("empty")

    def call(*args: Operand, **named: Operand) -> Operand:
        made = original(*args, **named)
        if is_empty and type(made) is np.ndarray:
            made[...] = 0  # what is there else is not the same every time
        return filled(made, replacement, 2, least)

    replacement = standing_for(original, call, Replacement)
    return replacement


class _UfuncReplacement(Replacement):
    """A ufunc, but for lists of tracked numbers beside plain ones, which NumPy would ask for methods of these."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Operand:
        return getattr(self.original, name)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ufunc


def _of_one(original: np.ufunc, op: Op) -> _UfuncReplacement:
    def call(*args: Operand, **named: Operand) -> Operand:
        if len(args) == 1 and not named:
            kind = type(args[0])
            if issubclass(kind, Recorded):
                return op(args[0])
            if issubclass(kind, (list, tuple)) and current_recorder() is not None and holds_tracked(args[0]):
                return op(as_value(args[0]))
        return original(*args, **named)

    return standing_for(original, call, _UfuncReplacement)


ORIGINALS: dict[str, Callable[..., Operand]] = {name: getattr(np, name) for name in (*_MAKERS, *_RARE_MAKERS)}
REPLACEMENTS: dict[str, Callable[..., Operand]] = {
    name: _maker(f, Fills.ALL if name in _RARE_MAKERS else Fills.FLOATS) for name, f in ORIGINALS.items()
}
# The type of NumPy's functions that arrays of other kinds may take over. Modules that are imported in a recording find others in NumPy.
DISPATCHED: type = type(ORIGINALS["zeros_like"])
_UFUNCS = {ufunc: _of_one(ufunc, op) for ufunc, op in UNARY.items() if isinstance(ufunc, np.ufunc)}
# Some have several names, as np.abs and np.absolute.
for _name, _found in vars(np).items():
    if isinstance(_found, np.ufunc) and _found in _UFUNCS:
        ORIGINALS[_name], REPLACEMENTS[_name] = _found, _UFUNCS[_found]


def put(functions: Mapping[str, Callable[..., Operand]]) -> None:
    """Names that someone else has replaced meanwhile are left alone."""
    namespace = np.__dict__
    for name, function in functions.items():
        if namespace[name] is ORIGINALS[name] or namespace[name] is REPLACEMENTS[name]:
            namespace[name] = function
