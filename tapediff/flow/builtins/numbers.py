"""Numbers and statistics: roundings, conversions, means, medians and variances."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...numpy_api.creating import array, holds_tracked
from ..anything import Object
from ..calls.callables import call
from ..calls.truth import truth
from ..containers.lengths import by_length
from ..operations.dunder import BY_FUNCTION
from ..operations.tests_of_values import formatted, is_error_of_choices
from ..state.fork import exclude, refuse_errors_of_numpy
from ..state.numbers.python_numbers import Kind, is_python, note_kind, note_python, one_if, python_bool, type_if_known
from ..state.tables.columns import listed
from ..state.values import Unjoinable, is_data, negated, state
from .arguments import NATIVE, gathered, is_collection, is_of_interest


def divmod_(a: Object, b: Object) -> Object:
    return (BY_FUNCTION[operator.floordiv](a, b), BY_FUNCTION[operator.mod](a, b)) if is_data(a) or is_data(b) else NATIVE


def pow_(a: Object, b: Object) -> Object:
    return BY_FUNCTION[operator.pow](a, b) if is_data(a) or is_data(b) else NATIVE


def str_(value: Object = "", /) -> Object:
    return formatted(value, str) if is_error_of_choices(value) else NATIVE


def repr_(value: Object) -> Object:
    """The text of a Python number; of other tracked values a description for debugging."""
    if is_error_of_choices(value):
        return formatted(value, repr)
    if not is_data(value) or value.type.shape or type_if_known(value) in (np.bool_, np.int64, np.float64):
        return NATIVE
    return formatted(value, repr)


def int_(value: Object = 0, /) -> Object:
    return _rounded(value, np.trunc)


def floor_(value: Object) -> Object:
    return _rounded(value, np.floor)


def ceil_(value: Object) -> Object:
    return _rounded(value, np.ceil)


def round_(value: Object, /, ndigits: Object = None) -> Object:
    if ndigits is None:
        return _rounded(value, np.rint)
    return note_kind(round(value, ndigits), (True, value, value)) if is_data(value) else NATIVE


# Products of larger numbers overflow int64.
_MOST_INT = 2.0**31


def _rounded(number: Object, to_whole: Callable[[Object], Object]) -> Object:
    """A number as a tracked int."""
    if not is_data(number) or number.type.shape:
        return NATIVE
    if number.type.dtype.kind == "b":
        return one_if(number)
    if number.type.dtype.kind == "i":
        if is_python(number) is True:
            return number
        made = number + 0  # a new number that is Python's; the operand stays NumPy's
    else:
        exclude(negated(truth(np.abs(number) < _MOST_INT)), lambda: _no_int(number._value))
        made = to_whole(number).astype(np.int64)
    note_kind(made, Kind(True, True))
    return made


def _no_int(value: Object) -> Exception:
    if np.isnan(value):
        return ValueError("cannot convert float NaN to integer")
    if np.isinf(value):
        return OverflowError("cannot convert float infinity to integer")
    what = "a number that is converted to an int is greater than 2**31"
    return OverflowError(what) if state.is_in_loop else Unjoinable(what, "keep it a float: np.floor(x) instead of int(x)")  # pyright: ignore[reportReturnType] -- raised


def float_(number: Object = 0.0, /) -> Object:
    if not is_data(number) or number.type.shape:
        return NATIVE
    if number.type.dtype.kind == "b":
        return note_python(np.where(number, 1.0, 0.0))
    # A new number: only this one is Python's.
    return note_python(number * 1.0 if number.type.dtype == np.float64 else number.astype(np.float64))


def numpys(kind: type[np.generic]) -> Callable[..., Object]:
    """A type of NumPy's numbers, called: np.float64(x)."""

    def program(value: Object = 0, /) -> Object:
        if not holds_tracked(value):
            return NATIVE
        made = array(value, kind)
        return made if made.shape else note_kind(made[()] * kind(1), Kind(False, False))

    return program


# Numbers and lists of tracked arrays, as Python's


def item_(holder: Object, /, *index: Object) -> Object:
    """An entry as a Python number."""
    if holder._plain() is not None:
        return NATIVE
    if not index:
        if holder.type.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return _as_python(holder.reshape(()) if holder.type.shape else holder)
    at = index[0] if type(index[0]) is tuple else index
    return _as_python(holder[at] if len(at) == holder.ndim else holder.reshape(-1)[at])


def tolist_(holder: Object, /) -> Object:
    return NATIVE if holder._plain() is not None else _listed(holder)


def _listed(holder: Object) -> Object:
    return [_listed(part) for part in (listed(holder) if holder.ndim == 1 else holder)] if holder.type.shape else _as_python(holder)


def _as_python(number: Object) -> Object:
    return {"b": python_bool, "i": int_, "f": float_}[number.type.dtype.kind](number)


# Comparisons of all entries, as a Python bool


def allclose_(a: Object, b: Object, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Object:
    return python_bool(truth(np.all(np.isclose(a, b, rtol, atol, equal_nan)))) if holds_tracked((a, b)) else NATIVE


def _as_array(value: Object) -> Object:
    return array(value) if holds_tracked(value) else np.asarray(value)


def array_equal_(a1: Object, a2: Object, equal_nan: bool = False) -> Object:
    if not holds_tracked((a1, a2)):
        return NATIVE
    a1, a2 = _as_array(a1), _as_array(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = np.equal(a1, a2)
    if equal_nan:
        same = same | (np.not_equal(a1, a1) & np.not_equal(a2, a2))
    return python_bool(truth(np.all(same)))


def array_equiv_(a1: Object, a2: Object) -> Object:
    if not holds_tracked((a1, a2)):
        return NATIVE
    a1, a2 = _as_array(a1), _as_array(a2)
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return python_bool(truth(np.all(np.equal(a1, a2))))


# Statistics


def statistic(run: Callable[..., Object]) -> Callable[..., Object]:
    """A function of the statistics module, for entries with tracked numbers."""

    @functools.wraps(run)
    def program(items: Object) -> Object:
        if not is_collection(items):
            return NATIVE
        entries = list(gathered(items))
        if not is_of_interest(entries):
            return NATIVE if entries is items else Unchanged(entries)
        return by_length(entries, lambda plain: call(run, plain))

    return program


class Unchanged(NamedTuple):
    """Entries from a generator, to be passed to the builtin."""

    entries: list[Object]


def error_states_(all: Object = None, divide: Object = None, over: Object = None, under: Object = None, invalid: Object = None) -> Object:
    """np.errstate and np.seterr: operations of both sides must not raise."""
    if not {None, "ignore", "warn"}.issuperset((all, divide, over, under, invalid)):
        refuse_errors_of_numpy()
    return NATIVE


def filter_(action: Object, *_args: Object, **_named: Object) -> Object:
    """warnings.simplefilter and warnings.filterwarnings, likewise."""
    if action == "error":
        refuse_errors_of_numpy()
    return NATIVE
