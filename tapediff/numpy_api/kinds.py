"""The dtypes of tracked arrays, conversions between them, and conversions of other libraries' operands.

Columns of pandas and polars become arrays; masked arrays, np.matrix and xarray's arrays are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from ..base.source_location import user_site
from ..errors import UnsupportedFunction
from ..ir.instruction import BOOL, FLOAT64, INT64, Operand, is_tracked
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import NOT_EQUAL

FLOAT32 = np.dtype(np.float32)
COMPLEX128 = np.dtype(np.complex128)
_KNOWN = (FLOAT64, BOOL, FLOAT32, COMPLEX128)

# NumPy's arguments axis= and shape=.
Axis: TypeAlias = int | tuple[int, ...] | None
Shape: TypeAlias = Operand  # an int, or a sequence of ints; distinguished by np.ndim, which type checkers do not follow


def as_view(part: Operand, base: Operand, read: Callable[..., Operand], write: Callable[..., Operand] | None) -> Operand:
    """Make a part of an array a view of it, which sees writes to it; return a plain part unchanged."""
    return part._as_view(base, read, write) if is_tracked(part) else part


def tracked_dtype(dtype: DTypeLike | None) -> np.dtype:
    """The dtype that replaces NumPy's while recording: int64 for integers of 32 or 64 bits; narrower ones, meant to wrap around, raise."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and dtype.itemsize >= 4:
        return INT64
    if dtype not in _KNOWN:
        raise UnsupportedFunction(f"a tracked array of dtype {dtype}", fix="use float64, float32, int64, bool or complex128")
    return next(known for known in _KNOWN if known == dtype)


# NumPy's own ufuncs, even while its namespace has replacements.
NUMPYS = frozenset(found for found in vars(np).values() if isinstance(found, np.ufunc))


def kind_of(value: Operand) -> str:
    """The description of a tracked array in messages: its type."""
    return f"<tracked {value.dtype}[{', '.join(map(str, value.shape))}]>"


def shown(value: Operand) -> str:
    """A value as one line of text; large arrays are abbreviated."""
    return " ".join(np.array2string(np.asarray(value), precision=6, threshold=12, edgeitems=2).split())


def converted(value: Operand, dtype: DTypeLike | None) -> Operand:
    """Cast a tracked value to another dtype, as NumPy's unsafe casting; return the value itself if it has the dtype."""
    dtype = value.dtype if dtype is None else tracked_dtype(dtype)
    if value.dtype == dtype:
        return value
    if dtype == COMPLEX128:
        real = CONVERT(value, dtype=FLOAT64) if value.dtype is not FLOAT64 else value
        return value._recorder.complex_pair(real, value._recorder.tracked_constant(np.zeros(value.shape)))
    return NOT_EQUAL(value, 0) if dtype == BOOL else CONVERT(value, dtype=dtype)


def check_cast(given: DTypeLike, dtype: DTypeLike, casting: str) -> None:
    """Raise NumPy's TypeError if its rule `casting` does not allow a conversion."""
    if not np.can_cast(given, dtype, casting):  # type: ignore[arg-type]  # checked by NumPy
        raise TypeError(f"Cannot cast array data from {np.dtype(given)!r} to {np.dtype(dtype)!r} according to the rule '{casting}'")


def as_floats(value: Operand) -> Operand:
    """Convert integers and masks to floats, as NumPy's means, medians and norms do."""
    return value if value.dtype.kind == "f" else CONVERT(value, dtype=FLOAT64)


def common_floats(*values: Operand) -> tuple[Operand, ...]:
    """Convert values to floats of the precision that NumPy's float ufuncs would use."""
    dtype = np.result_type(*((v if type(v) in (int, float, bool) else v.dtype) for v in values))
    dtype = dtype if dtype.kind == "f" else FLOAT64
    return tuple(converted(v, dtype) if is_tracked(v) else dtype.type(v) if np.ndim(v) == 0 else np.asarray(v, dtype) for v in values)


# Other libraries

# The first part of their types' modules.
_LIBRARIES = frozenset(("pandas", "polars", "xarray"))

_MASKED = "fill in what is masked, array.filled(0.0), and leave it out with np.where(np.ma.getmaskarray(array), 0.0, x)"
_MATRIX = "use np.asarray(matrix), whose * multiplies entries and @ matrices"


def is_foreign(value: object) -> bool:
    """True if an operand belongs to another library with its own operators on arrays."""
    return type(value).__module__.partition(".")[0] in _LIBRARIES


def is_converted(value: object, shape: Shape) -> bool:
    """True if an operator of a value of this shape converts the operand to an array, instead of deferring to its reflected operator.

    NumPy's arrays convert sequences and objects with `__array__`, unless these define `__array_ufunc__` or `__array_priority__`; scalars
    defer.
    """
    if is_foreign(value):
        return True
    kind = type(value)
    if not shape or issubclass(kind, (str, bytes, dict)) or hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_priority__"):
        return False
    return hasattr(kind, "__array__") or (hasattr(kind, "__len__") and hasattr(kind, "__getitem__"))


def plain_data(value: Operand) -> Operand:
    """The array data of another library's operand; operands of the usual kinds are returned unchanged.

    Raises:
        UnsupportedFunction: the array's library would interpret it differently.
    """
    kind = type(value)
    if kind is np.ndarray or kind is float:
        return value
    if isinstance(value, np.ndarray):
        name = next((base.__name__ for base in kind.__mro__ if base.__name__ in ("MaskedArray", "matrix")), None)
        if name is not None and not is_tracked(value):
            refuse(f"{'a masked array' if name == 'MaskedArray' else 'an np.matrix'} met a tracked array", value,
                   _MASKED if name == "MaskedArray" else _MATRIX)  # fmt: skip
        return value
    if not is_foreign(value):
        return value
    if kind.__module__.startswith("xarray."):
        refuse_named_axes(value)
    held = getattr(value, "_values", None)  # a column that was assigned a tracked array
    return held if is_tracked(held) else value.to_numpy()


def refuse(what: str, value: Operand, fix: str) -> NoReturn:
    got = f"{type(value).__name__}, shape {value.shape}" if hasattr(value, "shape") else type(value).__name__
    raise UnsupportedFunction(what, at=user_site(), got=got, fix=fix)


def refuse_named_axes(value: Operand) -> NoReturn:
    """xarray's arrays are aligned by the names of axes, which tracked arrays do not have."""
    refuse(f"an xarray {type(value).__name__} met a tracked array", value, "use array.to_numpy(), and axes by their number")
