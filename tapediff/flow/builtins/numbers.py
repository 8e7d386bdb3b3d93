"""Numbers and statistics: roundings, conversions, means, medians and variances."""

from __future__ import annotations

import builtins
import statistics
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..anything import Object
from ..calls.truth import truth
from ..containers.lengths import by_length
from ..operations.tests_of_values import formatted
from ..state.fork import exclude
from ..state.numbers.python_numbers import Kind, is_python, note_kind, note_python, one_if, type_if_known
from ..state.values import Unjoinable, is_data, negated, state
from .arguments import (
    NATIVE,
    gathered,
    is_collection,
    is_of_interest,
)
from .reductions import sum_
from .sorting import sorted_


def divmod_(a: Object, b: Object) -> Object:
    return (a // b, a % b) if is_data(a) or is_data(b) else NATIVE


def pow_(a: Object, b: Object) -> Object:
    return a**b if is_data(a) or is_data(b) else NATIVE


def repr_(value: Object) -> Object:
    """The text of a number that is one of Python's; of other tracked values a description, for whoever looks at them."""
    if not is_data(value) or value.type.shape or type_if_known(value) in (np.bool_, np.int64, np.float64):
        return NATIVE
    return formatted(value, repr)


def int_(value: Object = 0) -> Object:
    return _rounded(value, np.trunc)


def floor_(value: Object) -> Object:
    return _rounded(value, np.floor)


def ceil_(value: Object) -> Object:
    return _rounded(value, np.ceil)


def round_(value: Object, digits: Object = None) -> Object:
    return NATIVE if digits is not None else _rounded(value, np.rint)


# Products of two greater numbers have no place in an int64.
_MOST_INT = 2.0**31


def _rounded(value: Object, to_whole: Callable[[Object], Object]) -> Object:
    """A number as a tracked int."""
    if not is_data(value) or value.type.size != 1:
        return NATIVE
    number = value.reshape(()) if value.type.shape else value
    if number.type.dtype.kind == "b":
        return one_if(number)
    if number.type.dtype.kind == "i":
        if is_python(number) is True:
            return number
        made = number + 0  # of NumPy's one of Python's, which another name may not be
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


def float_(value: Object = 0.0) -> Object:
    if not is_data(value) or value.type.size != 1:
        return NATIVE
    number = value.reshape(()) if value.type.shape else value
    if number.type.dtype.kind == "b":
        return np.where(number, 1.0, 0.0)
    # A number of its own: this one is Python's.
    return note_python(number * 1.0 if number.type.dtype == np.float64 else number.astype(np.float64))


# Statistics


def statistic(run: Callable[[list[Object]], Object]) -> Callable[..., Object]:
    """A function of the entries, where some are tracked."""

    def program(items: Object) -> Object:
        if not is_collection(items):
            return NATIVE
        entries = list(gathered(items))
        if not is_of_interest(entries):
            return NATIVE if entries is items else Unchanged(entries)
        return by_length(entries, run)

    return program


class Unchanged(NamedTuple):
    """Entries for the builtin, which the program has taken out of a generator."""

    entries: list[Object]


def mean_(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("mean requires at least one data point")
    return sum_(entries) / len(entries)


def median_(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    ordered = sorted_(entries)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_low_(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    return sorted_(entries)[(len(entries) - 1) // 2]


def median_high_(entries: list[Object]) -> Object:
    if not entries:
        raise statistics.StatisticsError("no median for empty data")
    return sorted_(entries)[len(entries) // 2]


def variance_(entries: list[Object], name: str, least: int) -> Object:
    if len(entries) < least:
        raise statistics.StatisticsError(
            f"{name} requires at least {'two data points' if least == 2 else 'one data point'}"
        )
    middle = mean_(entries)
    return builtins.sum((v - middle) * (v - middle) for v in entries) / (len(entries) - least + 1)


def error_states_(*given: Object, **states: Object) -> Object:
    """np.errstate and np.seterr: what is computed where both sides are run must not raise."""
    if not {None, "ignore", "warn"}.issuperset((*given, *states.values())):
        raise Unjoinable("NumPy is to raise errors where numbers have no value", "test the values before, with an if")
    return NATIVE
