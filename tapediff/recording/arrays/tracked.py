"""Tracked arrays: the recorded function computes with them in place of NumPy's arrays.

Operators, methods and NumPy's protocols record instructions. Conversions to plain Python values are in escapes.py, writes and views in
views.py.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from ... import numpy_api as functions
from ...base.source_location import library_function, user_site
from ...errors import UnsupportedMethod
from ...ir.instruction import BOOL, Computes, Operand, is_tracked
from ...numpy_api.alternatives import instead_of
from ...numpy_api.indexing import (
    at_first_entries,
    is_basic,
    is_tracked_index,
    place_of,
    recorded_positions,
    region_of,
    with_known_entries,
)
from ...numpy_api.kinds import check_cast, is_converted, kind_of, plain_data, shown
from ...numpy_api.shaping import layout
from ...numpy_api.whole_numbers import WholeNumber
from ...ops.arrays.indexing import GATHER, INDEX, Region, put, replace
from ...ops.elementwise import comparison
from ...ops.elementwise.arithmetic import (
    ABSOLUTE,
    ADD,
    CONVERT,
    DIVIDE,
    FLOOR_DIVIDE,
    MULTIPLY,
    NEGATIVE,
    POWER,
    REMAINDER,
    SQUARE,
    SUBTRACT,
    power,
)  # fmt: skip
from ...ops.matrices.products import MATMUL
from .escapes import escaped
from .numbers import REFLECTED, binary, entry_of, of_two, unary
from .rebound import is_rebound
from .views import Versioned, view_of

# A ufunc without `out`.
_NOTHING = (None,)


def _shifts(function: Callable[..., Operand]) -> tuple[Callable[[Operand, Operand], Operand], Callable[[Operand, Operand], Operand]]:
    """The operator of a function of two arguments, and the reflected one."""
    return lambda self, other: function(self, other), lambda self, other: function(other, self)


class TrackedArray(Versioned):
    """A value of a recording. It behaves like the float, integer or array that it stands for."""

    __slots__ = ()

    # Columns of pandas leave operators and ufuncs to the operand of higher priority.
    __array_priority__ = __pandas_priority__ = 1e6

    # Attributes of an array

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # so that isinstance() checks in library code take their usual path
        if self.type.shape or self._view is not None:
            return np.ndarray
        if self._id in self._recorder.python_ints:
            return int
        return self.type.dtype.type

    shape = property(lambda self: self.type.shape, lambda self, _: _refuse_new_shape(self))
    dtype = property(lambda self: self.type.dtype)
    ndim = property(lambda self: len(self.type.shape))
    size = property(lambda self: self.type.size)
    itemsize = property(lambda self: self.type.dtype.itemsize)
    nbytes = property(lambda self: self.type.size * self.type.dtype.itemsize)
    T = property(lambda self: functions.transpose(self))
    mT = property(lambda self: functions.swapaxes(self, -1, -2))
    real = property(lambda self: self, lambda self, value: self.__setitem__(..., value))
    imag = property(lambda self: functions.imaginary(self))
    flat = property(lambda self: Flat(self), lambda self, value: Flat(self).__setitem__(slice(None), value))
    strides = property(lambda self: functions.laid_out(self).strides)
    flags = property(lambda self: functions.laid_out(self).flags)
    base = property(lambda self: None if self._view is None else self._view.base)
    device = "cpu"

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("len() of unsized object")
        return self.type.shape[0]

    def __iter__(self) -> Iterator[Operand]:
        if not self.type.shape:
            raise TypeError("iteration over a 0-d array")
        return iter(Entries(self))

    def __repr__(self) -> str:
        """Type, value and origin, for printing; error messages use `kind_of`."""
        recorder = self._recorder
        if recorder.is_open:
            self._refresh()
        value = "" if self._value is None else f" = {shown(self._value)}"
        return f"<tracked {self.type}{value}, {recorder.origin(self)}{recorder.made_at(self)}>"

    # Operators

    __add__, __radd__ = binary(ADD)
    __sub__, __rsub__ = binary(SUBTRACT)
    __mul__, __rmul__ = binary(MULTIPLY)
    __truediv__, __rtruediv__ = binary(DIVIDE)
    __floordiv__, __rfloordiv__ = binary(FLOOR_DIVIDE)
    __mod__, __rmod__ = binary(REMAINDER)
    __matmul__, __rmatmul__ = binary(MATMUL)
    __lt__, _ = binary(comparison.LESS)
    __le__, _ = binary(comparison.LESS_EQUAL)
    __gt__, _ = binary(comparison.GREATER)
    __ge__, _ = binary(comparison.GREATER_EQUAL)
    _equal, _ = binary(comparison.EQUAL)
    _not_equal, _ = binary(comparison.NOT_EQUAL)
    del _

    # A class that defines __eq__ has no __hash__ unless it says so.
    __hash__ = Versioned.__hash__

    def __eq__(self, other: object) -> Operand:
        return self._equal(other)

    def __ne__(self, other: object) -> Operand:
        return self._not_equal(other)

    def __pow__(self, other: Operand) -> Operand:
        if type(other) is int and other == 2:
            return unary(self, SQUARE)
        if type(other) is WholeNumber:
            return POWER(self, other)
        return power(self, plain_data(other)) if isinstance(other, _OPERANDS) or is_converted(other, self.type.shape) else NotImplemented

    def __rpow__(self, other: Operand) -> Operand:
        return POWER(plain_data(other), self)

    def __divmod__(self, other: Operand) -> Operand:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> Operand:
        return other // self, other % self

    def __neg__(self) -> Operand:
        return unary(self, NEGATIVE)

    def __pos__(self) -> Operand:
        return functions.copy(self)

    def __abs__(self) -> Operand:
        return unary(self, ABSOLUTE)

    def __invert__(self) -> Operand:
        if self.type.dtype.kind == "i":
            return -1 - self
        return functions.bit_operation(comparison.LOGICAL_NOT, None, self)

    def __and__(self, other: Operand) -> Operand:
        return functions.bit_operation(comparison.LOGICAL_AND, comparison.BITWISE_AND, self, other)

    def __or__(self, other: Operand) -> Operand:
        return functions.bit_operation(comparison.LOGICAL_OR, comparison.BITWISE_OR, self, other)

    def __xor__(self, other: Operand) -> Operand:
        return functions.bit_operation(comparison.LOGICAL_XOR, comparison.BITWISE_XOR, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    __lshift__, __rlshift__ = _shifts(np.left_shift)
    __rshift__, __rrshift__ = _shifts(np.right_shift)

    __iadd__ = functions.in_place(operator.add, "add")
    __isub__ = functions.in_place(operator.sub, "subtract")
    __imul__ = functions.in_place(operator.mul, "multiply")
    __itruediv__ = functions.in_place(operator.truediv, "divide")
    __ifloordiv__ = functions.in_place(operator.floordiv, "floor_divide")
    __imod__ = functions.in_place(operator.mod, "remainder")
    __ipow__ = functions.in_place(operator.pow, "power")
    __imatmul__ = functions.in_place(operator.matmul, "matmul")
    __iand__ = functions.in_place(operator.and_, "bitwise_and")
    __ior__ = functions.in_place(operator.or_, "bitwise_or")
    __ixor__ = functions.in_place(operator.xor, "bitwise_xor")
    __ilshift__ = functions.in_place(operator.lshift, "left_shift")
    __irshift__ = functions.in_place(operator.rshift, "right_shift")

    # Reading and writing parts

    def __getitem__(self, index: Operand) -> Operand:
        number = entry_of(self, index)
        if number is not None:
            return number
        if type(index) is int or is_basic(index):
            region = region_of(index, self.type.shape)
            part = self._recorder.apply(INDEX, (self,), (region,))
            is_view = region.shape or (type(index) is tuple and Ellipsis in index)  # x[0, ...] is a view, x[0] a number
            if is_view and type(part) is TrackedArray:
                read, write = partial(INDEX, region=region), partial(_write_region, region=region)
                part._view = view_of(self, read, write, region)
            return part
        if is_tracked_index(index):
            if self._recorder.fills:
                index = with_known_entries(index)
                if not is_tracked_index(index):
                    return self[index]
            selected = self._recorder.compressed.selected(self, index)
            if selected is not None:
                return selected
            positions = functions.flat_positions(index, self.shape)
            part = GATHER(self, positions)
            if type(part) is TrackedArray and part.type.shape and (place := place_of(index)) is not None:
                read, write = partial(_gather, positions=positions, index=index), partial(_put, positions=positions)
                part._view = view_of(self, read, write, None, place)
                return part
            return _new_part(self, part, at_first_entries(index))
        if (computes := _computing(index)) is not None:
            return computes.read_from(self, index)
        if type(index) is str:
            raise IndexError(f"an array has no column {index!r}; fix: give the columns of a data frame one by one, or as a dict of arrays: "
                             "{name: frame[name].to_numpy() for name in frame}")  # fmt: skip
        return _new_part(self, GATHER(self, recorded_positions(self, index)), index)

    def __setitem__(self, index: Operand, value: Operand) -> None:
        if issubclass(type(value), Computes):
            index, value = ..., value.written_at(self, index)
        elif (computes := _computing(index)) is not None:
            index, value = ..., computes.written_through(self, index, value)
        functions.assign(self, index, value)

    def reshape(self, *shape: Operand, order: str = "C") -> Operand:
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        return functions.reshape(self, shape, order=order)

    def transpose(self, *axes: Operand) -> Operand:
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
        return functions.transpose(self, axes or None)

    def astype(self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Operand:
        dtype = np.dtype(dtype)  # that of None is float64
        check_cast(self.dtype, dtype, casting)
        dtype = functions.tracked_dtype(dtype)
        if not copy and dtype == self.dtype and layout(self, order) is self:
            return self
        if dtype == BOOL and self.dtype != BOOL:
            return self != 0
        made = functions.converted(functions.copy(self), dtype) if dtype.kind == "c" else CONVERT(self, dtype=dtype)
        return layout(made, order)

    def view(self, *dtype: Operand, **named: Operand) -> Operand:
        if any(np.dtype(d) != self.dtype for d in (*dtype, *named.values())):
            raise UnsupportedMethod("ndarray.view of another dtype is not available on tracked arrays", at=user_site(), got=kind_of(self),
                                    fix="use x.astype(dtype), which converts the values")  # fmt: skip
        return self[...]

    def to_device(self, device: str, /, *, stream: None = None) -> Operand:
        if device != "cpu":
            raise ValueError(f"Unsupported device for NumPy: {device!r}.")
        return self

    def __copy__(self) -> Operand:
        return functions.copy(self)

    def __deepcopy__(self, _: object) -> Operand:
        return functions.copy(self)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Operand) -> Operand:
        if method == "__call__" and not kwargs:
            if len(inputs) == 1:
                op = functions.UNARY.get(ufunc)
                if op is not None:
                    return unary(self, op)
            elif len(inputs) == 2 and (op := functions.BINARY.get(ufunc)) is not None:
                if type(inputs[0]) is np.float64 and inputs[1] is self:  # an operator of NumPy's number
                    return REFLECTED[op](self, inputs[0]) if op in REFLECTED else self._recorder.apply(op, inputs)
                number = of_two(op, *inputs)
                if number is not None:
                    return number
        if any(issubclass(type(value), Computes) for value in inputs):
            return NotImplemented
        if len(inputs) == 2 and type(inputs[0]) is np.ndarray and len(kwargs) == 1 and kwargs.get("out", _NOTHING)[0] is inputs[0]:
            references = sys.getrefcount(inputs[0])
            if is_rebound(inputs[0], references, sys._getframe(1)):
                made = functions.call_ufunc(ufunc, method, inputs, {})
                if made.dtype == inputs[0].dtype and made.shape == inputs[0].shape:
                    return made
        return functions.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Callable[..., Operand], types: Collection[type], args: tuple[Operand, ...], kwargs: dict[str, Operand]
    ) -> Operand:
        if len(types) > 1 and any(issubclass(kind, Computes) for kind in types):
            return NotImplemented
        return functions.call_function(function, args, kwargs)

    def __getattr__(self, name: str) -> Operand:
        # Arrays of newer versions of NumPy lack some.
        if name in functions.METHODS and hasattr(np.ndarray, name):
            return _Bound(name, self)
        if name == "as_integer_ratio" and library_function():
            escaped(self, "a fraction", "")  # the caller would go on without this attribute
        is_number = not self.type.shape and not name.startswith("__") and hasattr(self.__class__, name)
        if name in _ARRAY_ATTRIBUTES or is_number:
            kind = "ndarray" if name in _ARRAY_ATTRIBUTES else self.__class__.__name__
            raise UnsupportedMethod(f"{kind}.{name} is not available on tracked arrays", at=user_site(), got=kind_of(self),
                                    fix=instead_of(name))  # fmt: skip
        raise AttributeError(f"tracked arrays have no attribute {name}")


def _computing(index: Operand) -> Computes | None:
    """An index, or a part of it, that computes what it reads and writes."""
    return next((part for part in (index if type(index) is tuple else (index,)) if issubclass(type(part), Computes)), None)


def _refuse_new_shape(array: TrackedArray) -> NoReturn:
    raise UnsupportedMethod("the shape of a tracked array cannot be set", at=user_site(), got=kind_of(array), fix="x = x.reshape(...)")


class Flat:
    """x.flat: the array's entries in one row, for reading, writing and iterating."""

    def __init__(self, array: TrackedArray) -> None:
        self.base = array

    def __getitem__(self, index: Operand) -> Operand:
        return functions.copy(functions.reshape(self.base, (-1,))[index])

    def __setitem__(self, index: Operand, value: Operand) -> None:
        positions = np.arange(self.base.size)[index]
        functions.put_flat(self.base, np.reshape(positions, (-1,)), value)

    def __iter__(self) -> Iterator[Operand]:
        row = functions.reshape(self.base, (-1,))
        return iter(row if row is self.base or row._view is not None else EntriesByPosition(self.base))

    def __len__(self) -> int:
        return self.base.size

    def copy(self) -> Operand:
        return functions.copy(functions.reshape(self.base, (-1,)), "C")


class Entries:
    """The entries of an array as a sequence, for Python's sequence iterator, from which the iterated object can be recovered."""

    __slots__ = ("array",)

    def __init__(self, array: TrackedArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return self.array.type.shape[0]

    def __getitem__(self, position: int) -> Operand:
        if position >= self.array.type.shape[0]:
            raise IndexError(position)
        return self.array[position]


class EntriesByPosition(Entries):
    """The entries of an array in NumPy's order, each as it is when it is read: a copy in one row would be as old as the iterator."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.array.size

    def __getitem__(self, position: int) -> Operand:
        if position >= self.array.size:
            raise IndexError(position)
        return self.array[self.place(position)]

    def place(self, position: int) -> tuple[int, ...]:
        """The index of an entry."""
        return tuple(map(int, np.unravel_index(position, self.array.shape)))


class Enumerated:
    """What np.ndenumerate asks for the entries and their indices, in place of NumPy's flat iterator."""

    def __init__(self, array: TrackedArray) -> None:
        self.entries, self.position = EntriesByPosition(array), 0

    @property
    def coords(self) -> tuple[int, ...]:
        return self.entries.place(self.position) if self.position < len(self.entries) else ()

    def __next__(self) -> Operand:
        if self.position >= len(self.entries):
            raise StopIteration
        self.position += 1
        return self.entries[self.position - 1]


class _Bound(NamedTuple):
    """A NumPy function as a method: x.sum(axis=0)."""

    name: str
    array: TrackedArray

    def __call__(self, *args: Operand, **kwargs: Operand) -> Operand:
        return functions.call_method(self.name, self.array, args, kwargs)


_OPERANDS = (TrackedArray, int, float, complex, np.ndarray, np.generic, list, tuple)
_ARRAY_ATTRIBUTES = frozenset(name for name in dir(np.ndarray) if not name.startswith("__"))


def _new_part(whole: TrackedArray, part: Operand, index: Operand) -> Operand:
    """The entries at lists of positions, a new array: NumPy moves the axes of the lists in front, and back in the result."""
    if type(index) is not tuple or type(part) is not TrackedArray or len(part.type.shape) < 2:
        return part
    memory = functions.laid_out(whole)[index]
    return functions.lying_as(part, memory) if memory.shape == part.type.shape else part  # another one for tracked masks


def _gather(base: Operand, positions: Operand, index: Operand) -> Operand:
    """GATHER; for an array without contents a part with the memory layout of the result, see `laid_out`."""
    return GATHER(base, positions) if is_tracked(base) else base[at_first_entries(index)]


def _put(base: Operand, part: Operand, positions: Operand) -> Operand:
    return put(base, part, positions)


def _write_region(base: Operand, part: Operand, region: Region) -> Operand:
    return replace(base, part, region)
