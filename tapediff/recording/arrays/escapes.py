"""Escapes of tracked values to Python: each is a guard, or an error that names the user's line and the fix.

A tracked value can influence Python only by escaping to it, so every escape is here and there is no third case.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import numpy as np

from ... import numpy_api as functions
from ...base import byte_code
from ...base.byte_code import role_at
from ...base.called_names import called_name
from ...base.current_recording import Recording
from ...base.source_location import Site, is_library_file, library_function, scipy_function, user_frame, user_site
from ...errors import TrackedValueEscaped, UnsupportedMethod
from ...ir.instruction import Operand, Recorded, ValueType
from ...numpy_api.alternatives import SHOW, instead_of
from ...numpy_api.kinds import kind_of
from ...ops.elementwise.arithmetic import RINT

_JOIN = (
    "call np.array and np.asarray by these names, which keep values tracked (after `from numpy import array` they are not); "
    "use np.stack([...]) or np.concatenate([...]) to join arrays and td.zeros(...) for one to write into"
)
_READ_AT = "a plain array is read at tracked positions by td.asarray(array)[k]"
LIST_FIRST = (
    "make a tracked array of the list first, by np.array([...]) or np.stack([...]), called by these names (after `from numpy import array` "
    "it makes none); leave np.float64(), np.float32() and float() out"
)
_WRITE = (
    "make an array that is written to in the recorded function, by np.zeros(n), np.array(y) where y.copy() stands, or td.zeros(n); or join "
    "its entries by np.stack([...]) or np.concatenate([...])"
)
# NumPy's names of its types, which convert what they are called with.
_SCALAR_TYPES = frozenset(name for name, found in vars(np).items() if isinstance(found, type) and issubclass(found, np.number | np.bool_))
# Python code of NumPy's that computes means of lists.
_NUMPYS_METHODS = sys.modules["numpy._core._methods"].__file__
_STORE, _READ, _CALL = "write entries", "read entries", "call"
_WRITING_METHODS = frozenset(("fill", "put"))


class Escapes(Recorded):
    """The conversions that Python and NumPy ask of a tracked array."""

    __slots__ = ()

    _recorder: Recording
    _id: int
    _value: Operand
    type: ValueType

    def _refresh(self) -> None:
        raise NotImplementedError

    # Escapes that are guards

    def __bool__(self) -> bool:
        if self.type.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        if self._recorder.lists_asked and self.type.dtype.kind != "b" and _is_listed(self, user_frame()):
            escaped(self, "a truth value", "")  # by NumPy's logical_and of objects, which gives one of these
        return self._recorder.observe(self, "bool")

    def __int__(self) -> int:
        if self.type.shape:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        if self.type.dtype.kind == "f" and sys._getframe(1).f_code.co_filename == _NUMPYS_METHODS:
            escaped(self, "an integer by NumPy, of a list of integers", LIST_FIRST)  # their mean is a float
        return self._recorder.observe(self, "int")

    __trunc__ = __int__

    def __index__(self) -> int:
        if self.type.dtype.kind == "f" or self.type.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index; use int(x)")
        return self._recorder.observe(self, "int")

    def __round__(self, digits: int | None = None) -> Operand:
        if digits is None:
            return int(self._recorder.apply(RINT, (self,)))
        return functions.around(self, digits)

    def __floor__(self) -> int:
        return int(np.floor(self))  # type: ignore[call-overload]

    def __ceil__(self) -> int:
        return int(np.ceil(self))  # type: ignore[call-overload]

    def __contains__(self, item: Operand) -> bool:
        return bool(np.any(self == item))

    # Escapes that are errors

    def _plain(self) -> Operand:
        """The plain value if it does not depend on inputs: of an array that np.zeros made, until something tracked is written to it."""
        recorder = self._recorder
        if not recorder.fills:
            return None
        self._refresh()
        return self._value if recorder.is_constant(self._id) else None

    def __float__(self) -> float:
        if (plain := self._plain()) is not None:
            return float(plain)
        fix = (
            "leave float() out, call math's functions by these names (math.log; after `from math import log` they refuse tracked values) "
            "or NumPy's, and keep arrays of tracked values tracked: td.zeros(n) or np.stack([...]) instead of storing into a plain array"
        )
        escaped(self, "a Python float", fix, is_plain=self.type.size != 1)

    def __complex__(self) -> complex:
        if (plain := self._plain()) is not None:
            return complex(plain)
        escaped(
            self, "a complex number", "write x + 0j or x + 1j * y, and np.exp for cmath.exp; td.zeros(n, complex) is an array to write to",
            is_plain=self.type.size != 1,
        )  # fmt: skip

    def __hash__(self) -> int:  # type: ignore[override]
        if (plain := self._plain()) is not None:
            return hash(plain)
        escaped(
            self,
            "a dictionary key or set member (hash)",
            "compare with `if x == ...`, which is guarded; or key on int(x)",
            is_plain=self.type.shape != (),
        )

    def __str__(self) -> str:
        if (plain := self._plain()) is not None:
            return str(plain)
        escaped(
            self,
            "text (str or format)",
            SHOW,
        )

    def __format__(self, spec: str) -> str:
        if (plain := self._plain()) is not None:
            return format(plain, spec)
        return self.__str__()

    def item(self, *index: Operand) -> Operand:
        if (plain := self._plain()) is not None:
            return np.asarray(plain).item(*index)
        escaped(
            self, "a Python number (item)", "use x[i], or x.reshape(()) for an array of one element, which stay tracked"
        )

    def tolist(self) -> Operand:
        if (plain := self._plain()) is not None:
            return np.asarray(plain).tolist()
        escaped(self, "a list (tolist)", "use list(x), whose elements stay tracked")

    def __reduce__(self) -> NoReturn:
        escaped(self, "a pickle", "return it from the function instead")

    @property
    def __array__(self) -> Callable[..., np.ndarray]:
        """NumPy's conversion hook: absent for scalars, so that np.array([[a, b], [c, d]]) builds an object array of them.

        Such an array is stacked when it first meets a tracked operation. An n-d tracked array is not converted.
        """
        if not self.type.shape and not scipy_function():
            frame = user_frame()
            if frame is not None and "__array__" in (*frame.f_code.co_consts, *frame.f_code.co_names):
                raise UnsupportedMethod(  # the user asks, with hasattr
                    "a tracked number does not have the attribute __array__ that NumPy's numbers have", got=kind_of(self),
                    fix="ask for isinstance(x, np.generic) instead",
                )  # fmt: skip
            if frame is not None:
                self._recorder.lists_asked[id(frame.f_code), frame.f_lasti] = self, Site(frame.f_code, frame.f_lasti)
                if self.type.dtype.kind in "ib" and frame is sys._getframe(1):
                    if _makes_arrays(frame):
                        # A number that is written to an array of objects does not become an int.
                        escaped(self, "an entry of an array that is made by another name than np.array", "call np.array, by this name")
                    self._note_index(frame)
            raise AttributeError("__array__")
        return self._refuse_conversion

    def _note_index(self, frame: FrameType) -> None:
        """Note that NumPy converts a list with this number, as an index of a plain array: y[[k, 0]], or y[[k, 0]] = 1.0.

        NumPy raises an IndexError then. A write cannot be told from a legal one to an array of objects here: y[0] = k.
        """
        role = role_at(frame.f_code, frame.f_lasti)
        if role == _READ:
            escaped(self, "a part of an index of a plain array", _READ_AT)
        if role == _STORE or not byte_code.IS_KNOWN:
            self._recorder.index_asked = self, Site(frame.f_code, frame.f_lasti)

    def _refuse_conversion(self, dtype: Operand = None, copy: bool | None = None) -> np.ndarray:
        if (plain := self._plain()) is not None:
            return np.array(plain, dtype)
        if self.type.dtype.kind in "ib":
            if _is_at_a_read(sys._getframe(1)):
                return self._recorder.observe(self, "array")  # type: ignore[return-value]  # of an array
            escaped(self, "a plain ndarray", f"{_READ_AT}; else {_JOIN}")
        escaped(
            self,
            "a plain ndarray",
            _JOIN,
        )


# NumPy's own, before recordings replace them in its namespace.
_MAKERS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)


def _makes_arrays(frame: FrameType) -> bool:
    """True if code names one of NumPy's functions that make arrays, as after `from numpy import array`."""
    code = frame.f_code
    named = [frame.f_globals.get(name) for name in code.co_names]
    named += [frame.f_locals.get(name) for name in (*code.co_varnames, *code.co_freevars, *code.co_cellvars)]
    return any(value is maker for value in named for maker in _MAKERS)


def _is_at_a_read(frame: FrameType) -> bool:
    """True if a frame is user code at y[k]: an untracked y needs a plain k, so the positions are guarded."""
    return role_at(frame.f_code, frame.f_lasti) == _READ and not is_library_file(frame.f_code.co_filename)


def _is_listed(value: Operand, frame: FrameType | None) -> bool:
    """True if NumPy has made an object array of a list with tracked numbers at the current place of a frame."""
    return frame is not None and (id(frame.f_code), frame.f_lasti) in value._recorder.lists_asked


def escaped(value: Operand, into: str, fix: str, *, is_plain: bool = False) -> NoReturn:
    """Refuse a conversion; `is_plain` if a plain array of this shape raises a TypeError, too."""
    called, frame = library_function(), user_frame(2)
    is_listed, is_conversion = _is_listed(value, frame), into in _CONVERSIONS and not is_plain
    if called:
        into, fix = f"{into} by {called}", instead_of(called)
    elif frame is not None and fix is not _READ_AT and role_at(frame.f_code, frame.f_lasti) == _STORE:
        fix = _WRITE if value.dtype.kind == "f" else f"{_WRITE}; and {_READ_AT}"
    elif frame is not None and (name := called_name(frame)) in _SCALAR_TYPES:
        fix = f"np.asarray(x, np.{name}) converts x and keeps it tracked, np.{name}(x) does not"
    elif is_listed and fix is not _READ_AT:
        fix = LIST_FIRST
    error = TrackedValueEscaped(
        f"a tracked value was converted to {into}, which would drop its gradient",
        at=user_site(2), got=f"{kind_of(value)}, the result of {value._recorder.origin(value)}", fix=fix, is_plain=is_plain,
    )  # fmt: skip
    error.called = called or ""
    error.is_conversion = is_conversion
    error.is_write = frame is not None and (is_listed or _is_stored(frame, value.dtype.kind in "ib"))
    raise error


# What translated code does with numbers that stay tracked.
_CONVERSIONS = ("a Python float", "a Python number (item)", "a list (tolist)")


def of_a_write(error: IndexError, value: Operand, site: Site) -> TrackedValueEscaped | None:
    """The refusal of y[[k, 0]] = 1.0 for a plain array y, if `error` is what NumPy raised for it at `site`."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or (traceback.tb_frame.f_code, traceback.tb_lasti) != site or "valid indices" not in str(error):
        return None
    refusal = TrackedValueEscaped(
        "a tracked value was used in an index to write into a plain array", at=site, got=kind_of(value),
        fix="make the array by np.zeros, np.array or td.asarray in the recorded function, which writes into no other plain array",
    )  # fmt: skip
    refusal.is_write = True
    return refusal


def _is_stored(frame: FrameType, is_index: bool) -> bool:
    """True if user code may be at y[...] = value, y.fill(value), or y[value] with a plain y: a tracked y converts nothing."""
    role = role_at(frame.f_code, frame.f_lasti)
    if role == _CALL:
        return not _WRITING_METHODS.isdisjoint(frame.f_code.co_names)
    return not byte_code.IS_KNOWN or role in ((_STORE, _READ) if is_index else (_STORE,))
