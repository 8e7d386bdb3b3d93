"""The values that go into a region and those that leave it, taken apart: data, constants, and the number of the set of all else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Protocol

import numpy as np

from ....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, is_tracked
from ....recording.arrays.tracked import TrackedArray
from ....recording.python_state.object_snapshot import PLAIN, plain_key
from ...callees.body import type_of
from ..plain_numbers import may_be_plain, note_plain
from ..purity import is_operand, is_record
from ..rules import BOOLS, FLOATS, INTS, VARYING, is_large, is_small, needed
from .identities import identities_matter

# So many different sets of values that are no data may leave a region; the caller has a guard on which one it was.
MOST_OUTCOMES = 4

DTYPES = (FLOAT64, INT64, BOOL)

# Makes the error that gives up a region: the rule, and what was found.
Refuse = Callable[[str, str], Exception]


class _Missing:
    """Stands for an entry that there is not; whatever asks it for anything is refused."""

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


# What goes in: data, and constants

_DATA = ("data",)
# Numbers that may be Python's own, whose operators raise errors.
_PLAIN_DATA = ("plain",)


class Taken:
    """The values that go into a region, taken apart.

    Attributes:
        data: numbers and arrays that are its inputs.
        constants: all else.
        is_simple: the constants are numbers, strings, modules and functions without variables of their own.
    """

    def __init__(self, refuse: Refuse) -> None:
        self._refuse = refuse
        self.data: list[Tree] = []
        self.constants: list[Tree] = []
        self.is_simple = True

    def form(self, value: Tree, flags: int) -> tuple[Tree, ...]:
        kind = type(value)
        if kind is TrackedArray:
            if value.type.dtype not in DTYPES or value._id in value._recorder.python_ints:
                raise self._refuse("float32", f"it computes with {value.type.dtype}")
            if value._view is not None and not value.type.shape:
                raise self._refuse("scalars", "it computes with an array without axes, which `+=` changes")
            self.data.append(value)
            return _PLAIN_DATA if not value.type.shape and may_be_plain(value) else _DATA
        if kind is np.float64 or (kind is np.bool_ and flags & BOOLS):
            self.data.append(value)
            return _DATA
        if (kind is float and flags & FLOATS and not is_large(value)) or (kind is int and flags & INTS and is_small(value, flags)):
            self.data.append(float(value))
            return _PLAIN_DATA
        if kind is np.ndarray and flags & VARYING and value.dtype == FLOAT64:
            self.data.append(value)
            return _DATA
        if kind is range or kind is slice:
            return kind, tuple([self.form(part, 0) for part in (value.start, value.stop, value.step)])
        if kind is tuple or (issubclass(kind, tuple) and is_record(kind)):
            return kind, tuple([self.form(part, 0) for part in value])
        if value is not MISSING and not is_operand(value):
            raise self._refuse("calls", f"it reads {kind.__name__}")
        self.is_simple = self.is_simple and _is_simple(value, kind)
        self.constants.append(value)
        return "constant", len(self.constants) - 1

    def key(self) -> Hashable:
        return tuple([id(c) if type(c) in _NAMED else plain_key(c) for c in self.constants])


def closes_over_data(value: Tree) -> bool:
    """Whether a value is a function with tracked variables."""
    return type(value) is FunctionType and any(is_tracked(_held_by(cell)) for cell in value.__closure__ or ())


def _held_by(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_simple(value: Tree, kind: type) -> bool:
    if kind is FunctionType:
        return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__)
    return kind in PLAIN or kind in (np.int64, np.bool_) or kind in _NAMED


# Told apart by identity.
_NAMED: frozenset[type] = frozenset((ModuleType, BuiltinFunctionType, FunctionType, type, np.ufunc, type(MISSING)))


def put(form: tuple[Tree, ...], data: Iterator[Operand], constants: Sequence[Tree]) -> Tree:
    if len(form) == 1:
        return next(data) if form == _DATA else note_plain(next(data))
    kind, rest = form
    if kind == "constant":
        return constants[rest]
    parts = [put(part, data, constants) for part in rest]
    # Constructors of named tuples may be the user's.
    return kind(*parts) if kind in (range, slice) else tuple.__new__(kind, parts)


# What comes out: data, and the number of the set of all else


class Exited(Protocol):
    """The region that values leave; see region_calls.py."""

    code: CodeType
    has_outcomes: bool
    all_plain: bool
    kept: tuple[Tree, str] | None


class Exits:
    """How the variables that a region assigns leave it.

    Attributes:
        forms: the variables without their data, by number.
    """

    def __init__(self, region: Exited, out: Sequence[int], refuse: Refuse) -> None:
        self._region, self._out, self._refuse = region, out, refuse
        self._has_outcomes, self._all_plain = region.has_outcomes, region.all_plain
        self._are_plain: list[bool] | None = None
        self.forms: list[Tree] = []
        self._values: list[list[Tree]] = []
        self._types: tuple[Tree, ...] = ()

    def of(self, values: Sequence[Tree]) -> Tree:
        """The results of the callee."""
        data: list[Operand] = []
        rest: list[Tree] = []
        form = tuple([self._form(value, flags, data, rest) for value, flags in zip(values, self._out)])
        types = tuple([type_of(leaf) for leaf in data])
        self._types = self._types or types
        if types != self._types:
            raise self._refuse("scalars", f"one path gives {_text(self._types)}, another {_text(types)}")
        self._note_plain(data)
        if not self._has_outcomes:
            if rest or (self.forms and form != self.forms[0]):
                raise self._refuse("outcomes", f"it gives {rest[0]!r}" if rest else "its paths give tuples and none")
            if not self.forms:
                self._keep(form, rest)
            return tuple(data)
        key = (form, tuple([_static_key(value) for value in rest]))
        if key not in self.forms:
            if len(self.forms) >= MOST_OUTCOMES:
                raise self._refuse("scalars", f"it gives more than {MOST_OUTCOMES} different values that are no data")
            self._keep(key, rest)
        return (*data, np.int64(self.forms.index(key)))

    def _note_plain(self, data: Sequence[Operand]) -> None:
        """Note which results may be plain numbers, as those of the first path, or all."""
        are_plain = [self._all_plain or may_be_plain(leaf) for leaf in data]
        self._are_plain = self._are_plain or are_plain
        if any(is_now and not was for is_now, was in zip(are_plain, self._are_plain)):
            raise self._refuse("plain", "it gives a plain number")

    def _keep(self, form: Hashable, rest: list[Tree]) -> None:
        self.forms.append(form)
        self._values.append(rest)

    def rebuilt(self, results: Tree) -> tuple[Tree, ...]:
        """The variables, from the results of a call."""
        number, data = 0, results
        if self._has_outcomes:
            *data, tracked_number = results
            number = int(tracked_number)
            if number >= len(self.forms):  # a path of another callee is followed
                raise self._refuse("scalars", "what leaves it depends on what it reads")
        data = [note_plain(leaf) if is_plain else leaf for leaf, is_plain in zip(data, self._are_plain or ())]
        form: Tree = self.forms[number][0] if self._has_outcomes else self.forms[0]
        if any(isinstance(part[0], type) for part in form) and identities_matter():
            raise self._refuse("scalars", "a tuple leaves it, and `is` asks which one")
        leaves, rest = iter(data), iter(self._values[number])
        return tuple([_rebuilt(part, leaves, rest) for part in form])

    def _form(self, value: Tree, flags: int, data: list[Operand], rest: list[Tree]) -> tuple[Tree, ...]:
        kind = type(value)
        if kind is TrackedArray:
            is_view_of_one = not value.type.shape and value._view is not None
            if value.type.dtype not in DTYPES or value._id in value._recorder.python_ints or is_view_of_one:
                raise self._refuse("float32", f"it gives {value.type}")
            data.append(value)
            return _DATA
        is_float = kind is float and flags & FLOATS and not is_large(value)
        if kind in (np.float64, np.int64) or is_float or (kind in (bool, np.bool_) and flags & BOOLS):
            data.append(value)
            return _DATA
        if kind is int and flags & INTS and is_small(value, flags):
            data.append(float(value))
            return _DATA
        if kind is np.ndarray and (value.dtype in (FLOAT64, INT64) or (value.dtype == BOOL and flags & BOOLS)):
            data.append(value)
            return _DATA
        if kind is tuple or (issubclass(kind, tuple) and is_record(kind)):
            return kind, tuple([self._form(part, 0, data, rest) for part in value])
        if kind not in PLAIN:
            raise self._refuse("scalars", f"it gives {kind.__name__}")
        # Room for a number that another path has here.
        data.append(np.float64(0.0))
        rest.append(value)
        self._region.kept = value, needed(value, flags, self._region.code)
        return _STATIC


_STATIC = ("static",)


def _rebuilt(form: tuple[Tree, ...], data: Iterator[Operand], rest: Iterator[Tree]) -> Tree:
    if form == _DATA:
        return next(data)
    if form == _STATIC:
        next(data)
        return next(rest)
    kind, inner = form
    parts = [_rebuilt(part, data, rest) for part in inner]
    return tuple.__new__(kind, parts)


def _static_key(value: Tree) -> Hashable:
    return plain_key(value)


def _text(types: Sequence[Tree]) -> str:
    return ", ".join(map(str, types))

