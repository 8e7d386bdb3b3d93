"""Replacements of np.zeros and its relatives that make tracked arrays, for functions that write tracked values to them.

`y = np.zeros(3); y[0] = tracked` fails, as a plain array cannot store a tracked value. A function that fails so is recorded
again with these functions in NumPy's namespace, and those of list_arguments.py. Values computed from constants alone can become
plain again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import IntEnum

import numpy as np

from ...base.called_names import is_called_by
from ...base.current_recording import current_recorder
from ...base.source_location import is_library_file, is_of_compiled_library
from ...errors import RefusedByRecording
from ...ir.instruction import Operand
from ...numpy_api.creating import as_array
from . import list_arguments
from .process_state import process
from .replacement import Replacement, standing_for

# Functions whose result is often written to.
_MAKERS = ("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full_like", "eye", "identity", "copy")
# Functions whose result is rarely written to.
RARE_MAKERS = ("linspace", "tile", "repeat", "diag", "outer", "tri", "concatenate", "stack")


class Fills(IntEnum):
    """The arrays of user code that become tracked: none; float arrays of np.zeros and its relatives; more dtypes and functions."""

    NOTHING = 0
    FLOATS = 1
    ALL = 2


# By dtype letters. Narrow integers wrap around, which tracked ones do not.
FILLED = {Fills.NOTHING: "", Fills.FLOATS: "dfD", Fills.ALL: "dfDlq?"}


def may_be_filled(error: Exception) -> bool:
    """True if a failed recording may succeed with tracked arrays."""
    return isinstance(error, RefusedByRecording) and error.is_write


def filled(made: Operand, by: Replacement, depth: int, least: Fills = Fills.FLOATS) -> Operand:
    """Track an array that user code made, `depth` callers up, if the recording tracks arrays of its dtype.

    Arrays made by compiled code stay plain: it looks up np.empty by name, too, but needs an array of NumPy's.
    """
    recorder = current_recorder()
    if recorder is None or recorder.fills < least or type(made) is not np.ndarray or made.dtype.char not in FILLED[recorder.fills]:
        return made
    if made.base is not None and not made.flags.writeable:  # np.diag's view of a matrix
        return made
    frame = sys._getframe(depth)
    if is_library_file(frame.f_code.co_filename) or is_of_compiled_library(frame) or not is_called_by(frame, by, by.original.__name__):
        return made
    return as_array(recorder.tracked_constant(made))


def _maker(original: Callable[..., Operand], least: Fills) -> Replacement:
    is_empty, make = original.__name__.startswith("empty"), list_arguments.taking_lists(original)

    def call(*args: Operand, **named: Operand) -> Operand:
        made = make(*args, **named)
        if is_empty and type(made) is np.ndarray:
            made[...] = 0  # np.empty's contents differ every time
        return filled(made, replacement, 2, least)

    replacement = standing_for(original, call, Replacement)
    return replacement


ORIGINALS: dict[str, Callable[..., Operand]] = {name: getattr(np, name) for name in (*_MAKERS, *RARE_MAKERS)}
REPLACEMENTS: dict[str, Callable[..., Operand]] = {
    name: _maker(f, Fills.ALL if name in RARE_MAKERS else Fills.FLOATS) for name, f in ORIGINALS.items()
}


def put(replaced: bool) -> None:
    """Put the replacements into NumPy's namespace, or the originals back, except names that someone else has replaced."""
    if not replaced and not process.fills:
        return
    process.fills = True
    namespace = np.__dict__
    for name, function in (REPLACEMENTS if replaced else ORIGINALS).items():
        if namespace[name] is ORIGINALS[name] or namespace[name] is REPLACEMENTS[name]:
            namespace[name] = function
    list_arguments.put(replaced)
    process.fills = replaced
