"""While something is recorded, np.array, np.asarray, np.full and their relatives make tracked arrays of tracked values; print shows them.

NumPy has protocols for its arguments nearly everywhere but here: these functions turn unknown objects into an array of objects, or
into floats. So the names in NumPy's namespace are replaced, during recordings only, by functions that check their arguments first.
Given nothing tracked, or called by a library, in another thread or after the recording, they call NumPy's own, so a kept reference
does no harm. A name imported before (`from numpy import array`) stays NumPy's: it refuses tracked arrays and makes object arrays
of tracked numbers, which become a tracked array in the next tracked operation.
"""

from __future__ import annotations

import builtins
import operator
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import wraps
from operator import itemgetter
from types import ModuleType
from typing import TypeAlias

import numpy as np

from ...base.called_names import is_called_by
from ...base.current_recording import current_recorder
from ...base.operating_system import at_fork
from ...base.source_location import is_library_file
from ...ir.instruction import Computes, Operand, is_tracked
from ...numpy_api import creating
from ...numpy_api.complex_numbers.pair import is_complex
from ...numpy_api.composed import choosing, filling, numpys_own, per_element
from ...numpy_api.creating import holds_tracked
from ...numpy_api.joining import as_value
from ..arrays.tracked import Enumerated
from . import filled_arrays, math_functions, scipy_functions, scipy_methods
from .filled_arrays import Fills, filled
from .process_state import process
from .replacement import Replacement, standing_for

# The types of most arguments, which hold no further values.
_PLAIN = frozenset((float, int, bool, complex, str, range, np.float64, np.int64, type(None)))
_OBJECT = np.dtype(object)

# NumPy adds up the objects of shorter lists one by one, which may be as good.
LONG_LIST = 64

_usual_print = print


def _first(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    value = args[0] if args else next(iter(named.values()), None)
    return holds_tracked(value)


def _any(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    return any(map(holds_tracked, args)) or any(map(holds_tracked, named.values()))


def _any_whole(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    """Of arrays that stand for others, NumPy's dispatch asks these."""
    return _any(args, named) and not any(issubclass(type(value), Computes) for value in (*args, *named.values()))


def _list_first(args: tuple[Operand, ...], _: dict[str, Operand]) -> bool:
    return bool(args) and issubclass(type(args[0]), (list, tuple)) and holds_tracked(args[0])


def _long_list_first(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    return _list_first(args, named) and len(args[0]) >= LONG_LIST


def _always(*_: Operand) -> bool:
    return True


def _asks_for_objects(args: tuple[Operand, ...], named: dict[str, Operand]) -> bool:
    return any(a is object or (type(a) is np.dtype and a == _OBJECT) for a in (*args, *named.values()))


LEAST_FILLS = {np.array: Fills.FLOATS, np.full: Fills.FLOATS, np.arange: Fills.ALL, np.asarray: Fills.ALL}


def _replacement(original: Operand, answer: Callable[..., object], concerns: Callable[..., bool]) -> Replacement:
    least = LEAST_FILLS.get(original)
    looks_at_all = concerns not in (_first, _list_first, _long_list_first)

    def call(*args: Operand, **named: Operand) -> Operand:
        if args and not looks_at_all:
            kind = type(args[0])
            if kind in _PLAIN or (kind is np.ndarray and args[0].dtype is not _OBJECT):
                made = original(*args, **named)
                return made if least is None or made is args[0] else filled(made, replacement, 2, least)
        if current_recorder() is None or not concerns(args, named) or is_library_file((frame := sys._getframe(1)).f_code.co_filename):
            made = original(*args, **named)
            return made if least is None else filled(made, replacement, 2, least)
        if _asks_for_objects(args, named) or not is_called_by(frame, replacement, original.__name__):
            return original(*args, **named)
        return answer(*args, **named)

    replacement = standing_for(original, call, Replacement)
    return replacement


# Functions that treat a list of tracked numbers as objects: they convert each to a float, or compare them by guards.
_OF_LISTS = (
    "mean", "var", "std", "median", "average", "nanmean", "nanvar", "nanstd", "max", "min", "ptp", "argmax", "argmin", "nansum",
    "nanmax", "nanmin", "sort", "argsort", "all", "any", "count_nonzero",
)  # fmt: skip


def _with_lists_as_arrays(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """Make tracked arrays of the list arguments of a function that would make object arrays of them."""

    def call(*args: Operand, **named: Operand) -> Operand:
        return function(*map(_array_of, args), **{name: _array_of(value) for name, value in named.items()})

    return call


def _array_of(value: Operand) -> Operand:
    return as_value(value) if type(value) in (list, tuple) and holds_tracked(value) else value


def _places(places: Operand) -> Operand:
    """The positions at which entries are deleted or inserted; tracked ones are guarded."""
    places = _array_of(places)
    if not is_tracked(places):
        return places
    return operator.index(places) if not places.shape else places._recorder.observe(places, "array")


def _insert(arr: Operand, obj: Operand, values: Operand, axis: Operand = None) -> Operand:
    return _NUMPYS_INSERT(_array_of(arr), _places(obj), _array_of(values), axis)


def _delete(arr: Operand, obj: Operand, axis: Operand = None) -> Operand:
    return _NUMPYS_DELETE(_array_of(arr), _places(obj), axis)


_NUMPYS_INSERT, _NUMPYS_DELETE = np.insert, np.delete

_ANSWERS: dict[str, tuple[Callable[..., Operand], Callable[..., bool]]] = {
    name: (answer, concerns)
    for name, answer, concerns in (
        ("array", creating.array, _first),
        ("asarray", creating.asarray, _first),
        ("asanyarray", creating.asarray, _first),
        ("ascontiguousarray", creating.ascontiguousarray, _first),
        ("asfortranarray", creating.asfortranarray, _first),
        ("asarray_chkfinite", creating.asarray_chkfinite, _first),
        ("full", creating.full, _any),
        ("fromiter", creating.fromiter, _always),
        ("arange", creating.arange, _any),
        ("require", filling.require, _first),
        ("take", choosing.take, _any_whole),
        *((name, creating.of_a_list(getattr(np, name)), _list_first) for name in _OF_LISTS),
        ("sum", creating.of_a_list(np.sum), _long_list_first),
        ("ix_", _with_lists_as_arrays(np.ix_), _any),
        ("delete", _delete, _any),
        ("insert", _insert, _any),
    )
}
_REPLACEMENTS = {name: _replacement(getattr(np, name), *answer) for name, answer in _ANSWERS.items()}
_ORIGINALS = {name: replacement.original for name, replacement in _REPLACEMENTS.items()}
_BY_ORIGINAL = {original: _ANSWERS[name] for name, original in _ORIGINALS.items()}
_NO_ANSWER: tuple[None, Callable[..., bool]] = None, _always


def answer_of(function: Callable[..., Operand], args: tuple[Operand, ...], named: dict[str, Operand]) -> Callable[..., Operand] | None:
    """The implementation for a call of a NumPy function or its replacement; None if that is the function itself."""
    answer, concerns = _BY_ORIGINAL.get(function, _NO_ANSWER)
    return answer if answer is not None and concerns(args, named) and not _asks_for_objects(args, named) else None

_present = itemgetter(*_REPLACEMENTS)
_USUAL = {id(_REPLACEMENTS): tuple(_ORIGINALS.values()), id(_ORIGINALS): tuple(_REPLACEMENTS.values())}



# A class or module, a name in it, the original, and its replacement during recordings.
_Method: TypeAlias = tuple[type | ModuleType, str, Operand, Callable[..., Operand]]


def _method(owner: type, name: str, answer: Callable[..., Operand]) -> _Method:
    """A method of one of NumPy's Python classes, and its replacement for tracked arguments."""
    original = getattr(owner, name)

    @wraps(original)
    def call(self: Operand, *args: Operand, **named: Operand) -> Operand:
        concerns = current_recorder() is not None and _any(args, named)
        return (answer if concerns else original)(self, *args, **named)

    return owner, name, original, call


@wraps(print)
def _print(*values: Operand, **named: Operand) -> None:
    """Python's print, which shows tracked values by type, value and origin; any other conversion to text is refused."""
    if current_recorder() is None:
        _usual_print(*values, **named)
    else:
        _usual_print(*(repr(v) if is_tracked(v) or is_complex(v) else v for v in values), **named)


_CONCATENATOR = type(np.r_).__mro__[1]
_METHODS: tuple[_Method, ...] = (
    _method(_CONCATENATOR, "__getitem__", numpys_own.method_code(_CONCATENATOR.__getitem__)),
    _method(np.ndenumerate, "__init__", lambda self, arr: setattr(self, "iter", Enumerated(creating.asarray(arr)))),
    _method(np.vectorize, "__call__", per_element.call_vectorized),
    (builtins, "print", print, _print),
)


def recording_begins(fills: Fills = Fills.NOTHING) -> None:
    """Replace the names. The recording must be in `process.recordings` already, so that no other thread restores them."""
    if process.restorations:
        _wait_for_restorations()
    _put(_REPLACEMENTS)
    _put_others(replaced=True)
    inner_recording_begins(fills)


def inner_recording_begins(fills: Fills) -> None:
    """Replace np.zeros and its relatives, until the outermost recording ends; they do nothing in recordings without `fills`."""
    if fills:
        filled_arrays.put(replaced=True)


def recording_ends() -> None:
    restoration = object()
    try:
        try:
            process.restorations[restoration] = threading.get_ident()
            # Read after the line above: a recording that begins from here on waits.
            if not process.recordings:
                filled_arrays.put(replaced=False)
                _put(_ORIGINALS)
                _put_others(replaced=False)
        finally:
            process.restorations.pop(restoration, None)
    finally:
        process.restorations.pop(restoration, None)


def _wait_for_restorations() -> None:
    """Wait, for some microseconds, until no other thread is in recording_ends; at most 1 s, should a debugger hold it."""
    own, latest = threading.get_ident(), time.monotonic() + 1.0
    while any(thread != own for thread in list(process.restorations.values())) and time.monotonic() < latest:
        time.sleep(1e-5)


def imported() -> int:
    """Count the imported modules of other libraries that have replacements."""
    return len(sys.modules.keys() & (scipy_methods.MODULES | scipy_functions.MODULES))


def _put_others(replaced: bool) -> None:
    scipy_methods.put(replaced)
    scipy_functions.put(replaced)
    math_functions.put(replaced)


def _put(functions: Mapping[str, Callable[..., Operand]]) -> None:
    """Put these functions into NumPy's namespace, except for names that someone else has replaced."""
    for owner, name, original, replacement in _METHODS:
        wanted = replacement if functions is _REPLACEMENTS else original
        if owner.__dict__[name] is not wanted and owner.__dict__[name] in (original, replacement):
            setattr(owner, name, wanted)
    namespace = np.__dict__
    if _present(namespace) == _USUAL[id(functions)]:  # compares by identity if nothing was replaced
        namespace.update(functions)
        return
    for name, function in functions.items():
        if namespace[name] is _ORIGINALS[name] or namespace[name] is _REPLACEMENTS[name]:
            namespace[name] = function


at_fork(after_in_child=recording_ends)
