"""Complex tracked arrays: pairs of tracked arrays that behave like NumPy's arrays of complex128.

Views are views of both parts, and a write goes to both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from ... import numpy_api as functions
from ...base.source_location import user_site
from ...errors import UnsupportedMethod
from ...ir.instruction import Operand
from ...numpy_api.alternatives import SHOW
from ...numpy_api.complex_numbers import arithmetic, dispatch
from ...numpy_api.complex_numbers.pair import COMPLEX128, Pair, pair, parts
from ...numpy_api.joining import as_value
from ...numpy_api.kinds import check_cast, kind_of, shown
from .escapes import escaped

_ATTRIBUTES = frozenset(name for name in dir(np.ndarray) if not name.startswith("__"))
_AS_REAL = "take its parts, z.real and z.imag, or np.abs(z); cmath's functions are np.exp, np.sqrt, ..."


def _in_place(operation: Callable[[Operand, Operand], Operand]) -> Callable[..., Operand]:
    def in_place(self: Operand, other: Operand) -> Operand:
        result = operation(self, other)
        return dispatch.deliver_into(self, result, "in place") if self._is_array() else result

    return in_place


class ComplexArray(NDArrayOperatorsMixin, Pair):
    """A complex value of a recording. It behaves like the number or array that it stands for."""

    __slots__ = ()

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # as of TrackedArray
        return np.ndarray if self._is_array() else np.complex128

    def _is_array(self) -> bool:
        return bool(self.re.type.shape) or self.re._view is not None

    _recorder = property(lambda self: self.re._recorder)
    _id = property(lambda self: self.re._id)
    shape = property(lambda self: self.re.type.shape)
    ndim = property(lambda self: len(self.re.type.shape))
    size = property(lambda self: self.re.type.size)
    dtype = property(lambda self: COMPLEX128)
    itemsize = property(lambda self: COMPLEX128.itemsize)
    nbytes = property(lambda self: self.size * COMPLEX128.itemsize)
    T = property(lambda self: np.transpose(self))  # type: ignore[call-overload]
    mT = property(lambda self: np.swapaxes(self, -1, -2))  # type: ignore[call-overload]

    @property
    def real(self) -> Operand:
        return self.re

    @real.setter
    def real(self, value: Operand) -> None:
        self.re[...] = value

    @property
    def imag(self) -> Operand:
        return self.im

    @imag.setter
    def imag(self, value: Operand) -> None:
        self.im[...] = value

    def __len__(self) -> int:
        return len(self.re)

    def __iter__(self) -> Iterator[Operand]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __repr__(self) -> str:
        re, im = self.re._value, self.im._value
        value = "" if re is None or im is None else f" = {shown(re + 1j * im)}"
        return f"{kind_of(self)[:-1]}{value}>"

    def __getitem__(self, index: Operand) -> Operand:
        return ComplexArray(as_value(self.re[index]), as_value(self.im[index]))

    def __setitem__(self, index: Operand, value: Operand) -> None:
        re, im = parts(value)
        self.re[index] = re
        self.im[index] = im

    # In-place operators: NumPy's scalars are immutable, so for these they make a new value.

    __iadd__, __isub__, __imul__ = _in_place(operator.add), _in_place(operator.sub), _in_place(operator.mul)
    __itruediv__, __ipow__, __imatmul__ = _in_place(operator.truediv), _in_place(operator.pow), _in_place(operator.matmul)

    # Escapes from the recording

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        return bool(arithmetic.nonzero_mask(self))

    def __contains__(self, item: Operand) -> bool:
        return bool(np.any(self == item))

    def __hash__(self) -> int:  # type: ignore[override]
        self._escaped("a dictionary key or set member (hash)", "compare with `if z == ...`, which is guarded")

    def __complex__(self) -> complex:
        if self._is_plain():
            return complex(self._value)
        self._escaped("a complex number", "use NumPy's functions, not cmath's, and td.zeros(n, complex) for an array to write to")

    def __float__(self) -> float:
        self._escaped("a Python float", _AS_REAL)

    __int__ = __index__ = __float__  # type: ignore[assignment]

    def __str__(self) -> str:
        self._escaped("text (str or format)", SHOW)

    def __format__(self, spec: str) -> str:
        return self.__str__()

    def item(self, *index: Operand) -> Operand:
        self._escaped("a Python number (item)", "use z[k], which stays tracked")

    def tolist(self) -> Operand:
        self._escaped("a list (tolist)", "use list(z), whose elements stay tracked")

    def __reduce__(self) -> NoReturn:
        self._escaped("a pickle", "return it from the function instead")

    def __array__(self, dtype: Operand = None, copy: bool | None = None) -> np.ndarray:
        if self._is_plain():
            return np.array(self._value, dtype)
        self._escaped(
            "a plain ndarray",
            "call np.array and np.asarray by these names, which keep values tracked; write into td.zeros(n, complex)",
        )

    def _is_plain(self) -> bool:
        return self.re._plain() is not None and self.im._plain() is not None

    @property
    def _value(self) -> Operand:
        return pair(self.re._value, self.im._value)

    def _escaped(self, into: str, fix: str) -> NoReturn:
        escaped(self, into, fix)

    # Methods

    def reshape(self, *shape: Operand, order: str = "C") -> Operand:
        return ComplexArray(self.re.reshape(*shape, order=order), self.im.reshape(*shape, order=order))

    def transpose(self, *axes: Operand) -> Operand:
        return ComplexArray(self.re.transpose(*axes), self.im.transpose(*axes))

    def astype(self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Operand:
        check_cast(self.dtype, dtype, casting)
        made = arithmetic.of_dtype(self, dtype, "astype")
        return np.copy(made) if made is self and copy else made

    def fill(self, value: Operand) -> None:
        self[...] = value

    def __copy__(self) -> Operand:
        return np.copy(self)  # type: ignore[call-overload]

    def __deepcopy__(self, _: object) -> Operand:
        return np.copy(self)  # type: ignore[call-overload]

    def __getattr__(self, name: str) -> Operand:
        method = dispatch.METHODS.get(name)
        if method is not None:
            return lambda *args, **named: method(self, *args, **named)
        if name in _ATTRIBUTES:
            raise UnsupportedMethod(f"ndarray.{name} is not available on complex tracked arrays", at=user_site(), got=kind_of(self),
                                    fix="use the functions that docs/complex.md lists, or z.real and z.imag")  # fmt: skip
        raise AttributeError(f"complex tracked arrays have no attribute {name}")

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **kwargs: Operand) -> Operand:
        return dispatch.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Operand, types: object, args: tuple[Operand, ...], kwargs: dict[str, Operand]) -> Operand:
        return functions.call_function(function, args, kwargs)
