"""Lists of numbers, some of them tracked, as arguments of NumPy's and SciPy's functions: `np.hypot([x[0], 0.7], 1.0)`.

NumPy has no protocol for lists: it makes object arrays of them, which few functions can use. A function that fails so is recorded again,
with functions in the modules' namespaces that make tracked arrays of such lists first. Names imported before (`from numpy import hypot`)
stay NumPy's, so there the failure is a refusal (`refusal_of_list`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import numpy as np

from ...base.current_recording import current_recorder
from ...base.source_location import Site, is_library_file
from ...errors import TapediffError, TrackedValueEscaped
from ...ir.instruction import Computes, Operand, Recorded, is_tracked
from ...numpy_api import UNARY
from ...numpy_api.creating import holds_tracked
from ...numpy_api.joining import as_value
from ...numpy_api.kinds import kind_of
from ...ops import Op
from ..arrays.escapes import LIST_FIRST
from .caught_errors import refusals_forgotten
from .replacement import Replacement, standing_for

# Functions by name.
Functions = dict[str, Callable[..., Operand]]

# The type of NumPy's functions with the __array_function__ protocol.
DISPATCHED: type = type(np.zeros_like)

# Modules whose functions take lists. SciPy's modules are read once they are imported.
_MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")

# Functions of a list of arrays, which they inspect themselves.
_OF_SEVERAL = frozenset(
    "block broadcast_arrays choose column_stack concat concatenate dstack histogramdd hstack lexsort linalg.multi_dot piecewise select "
    "stack vstack".split()
)


# On object arrays these call Python's operators, as tracked numbers need. They stay unreplaced for code that compares functions.
_BY_OPERATORS = frozenset((
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.power, np.maximum, np.minimum, np.less, np.less_equal,
    np.greater, np.greater_equal, np.equal, np.not_equal,
))  # fmt: skip


class _Listed(Replacement):
    """A ufunc or function of NumPy's that looks for lists of tracked numbers among its arguments."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Operand:
        return getattr(self.original, name)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ufunc if isinstance(self.original, np.ufunc) else type(self)


def _is_list(value: Operand) -> bool:
    return issubclass(type(value), (list, tuple)) and holds_tracked(value)


def _array_of(value: Operand) -> Operand:
    return as_value(value) if _is_list(value) else value


def _several(value: Operand) -> Operand:
    """A list of arrays, with inner lists converted; a list of numbers as an array."""
    if not _is_list(value):
        return value
    try:
        with refusals_forgotten():
            is_of_arrays = any(issubclass(type(v), Computes) or (is_tracked(v) and v.shape) for v in value)
            return [*map(_several, value)] if is_of_arrays else as_value(value)
    except (TapediffError, ValueError):  # of different lengths, or not all numbers
        return [*map(_several, value)]


def _with_arrays(original: Callable[..., Operand], array_of: Callable[[Operand], Operand]) -> _Listed:
    def call(*args: Operand, **named: Operand) -> Operand:
        if current_recorder() is not None:
            args = tuple(map(array_of, args))
            named = {name: value if name == "out" else array_of(value) for name, value in named.items()}
        return original(*args, **named)

    return standing_for(original, call, _Listed)


def _of_one(original: np.ufunc, op: Op) -> _Listed:
    """`_with_arrays` for a ufunc that is a single op, but faster."""

    def call(*args: Operand, **named: Operand) -> Operand:
        if len(args) == 1 and not named:
            kind = type(args[0])
            if issubclass(kind, Recorded):
                return op(args[0])
            if issubclass(kind, (list, tuple)) and current_recorder() is not None and holds_tracked(args[0]):
                return op(as_value(args[0]))
        return original(*map(_array_of, args), **named)

    return standing_for(original, call, _Listed)


def taking_lists(original: Callable[..., Operand], module: str = "numpy") -> Callable[..., Operand]:
    """Wrap a ufunc or function to make tracked arrays of lists of tracked numbers first."""
    if isinstance(original, np.ufunc):
        return _of_one(original, UNARY[original]) if original in UNARY else _with_arrays(original, _array_of)
    name = f"{module.removeprefix('numpy.')}.{original.__name__}".removeprefix("numpy.")
    return _with_arrays(original, _several if name in _OF_SEVERAL else _array_of)


@cache
def _own_functions(module: str) -> Functions:
    """A module's functions that take lists."""
    kinds = np.ufunc if module.startswith("scipy") else (np.ufunc, DISPATCHED)
    return {name: found for name, found in vars(sys.modules[module]).items() if isinstance(found, kinds) and found not in _BY_OPERATORS}


_own_functions("numpy")  # before any name is replaced


@cache
def _replacements(module: str) -> Functions:
    """What replaces a module's functions, by name. Made once a list is met: of NumPy's this takes 5 ms."""
    own = _own_functions(module)
    made = {id(found): taking_lists(found, module) for found in own.values()}  # some have several names, as np.abs and np.absolute
    return {name: made[id(found)] for name, found in own.items()}


@cache
def form_of(original: Callable[..., Operand]) -> Callable[..., Operand] | None:
    """The replacement of a function that takes lists of tracked numbers; None for functions of other modules."""
    if isinstance(original, np.ufunc):
        return taking_lists(original)
    for module in _MODULES:
        if module in sys.modules:
            name = next((name for name, found in _own_functions(module).items() if found is original), None)
            if name is not None:
                return _replacements(module)[name]
    return None


def put(replaced: bool) -> None:
    """Put the replacements into the modules, or the originals back, except names that someone else has replaced."""
    for module in _MODULES:
        if module not in sys.modules or (module == "scipy.special" and "erf" not in vars(sys.modules[module])):
            continue  # not imported, or still being imported by another thread
        before, after = (_own_functions(module), _replacements(module))[:: 1 if replaced else -1]
        namespace = vars(sys.modules[module])
        for name, function in before.items():
            if namespace.get(name) is function:
                namespace[name] = after[name]


# Place where NumPy made an object array of a list -> one of the tracked numbers in the list, and the line.
Asked = dict[tuple[int, int], tuple[Operand, Site]]

# NumPy's error messages about object arrays.
_OF_OBJECTS = (
    "which has no callable", "not supported for the input types", "dtype('O')", "dtype object", "numpy.object_",
    "tracked arrays have no attribute",
)  # fmt: skip


def refusal_of_list(error: Exception, asked: Asked) -> TrackedValueEscaped | None:
    """The refusal of a list with tracked numbers, if an error is what NumPy raises for it."""
    traceback, last = error.__traceback__, None
    while traceback is not None:
        if not is_library_file(traceback.tb_frame.f_code.co_filename):
            last = traceback
        traceback = traceback.tb_next
    if last is None or isinstance(error, TapediffError):
        return None
    # NumPy raises other errors, such as of lengths, for floats as well.
    here = asked.get((id(last.tb_frame.f_code), last.tb_lasti)) if isinstance(error, (TypeError, AttributeError)) else None
    if here is None and not any(text in str(error) for text in _OF_OBJECTS):
        return None
    value, site = here or next(iter(asked.values()))
    refusal = TrackedValueEscaped(
        "a list with a tracked number in it was given to a function that takes it for an array of objects", at=site,
        got=f"{kind_of(value)} in a list; NumPy says: {type(error).__name__}: {error}",
        fix=LIST_FIRST,
    )  # fmt: skip
    refusal.is_write = True
    return refusal
