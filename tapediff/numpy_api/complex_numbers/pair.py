"""Complex values as their real and imaginary parts: detects, splits and joins them."""

from __future__ import annotations

import numpy as np

from ...base.source_location import user_site
from ...errors import UnsupportedFunction
from ...ir.instruction import FLOAT64, Operand, is_tracked
from ...ir.pytree import Pair, is_complex, put_together, taken_apart
from ...ops.arrays.shape import BROADCAST
from ...ops.elementwise.arithmetic import CONVERT
from ..joining import as_value
from ..kinds import COMPLEX128, FLOAT32, kind_of


def holds_complex(value: Operand) -> bool:
    """True if a value is complex, or a list or tuple with a complex value somewhere."""
    if type(value) in (list, tuple):
        # A long list of numbers is looked through at the speed of C.
        may_be = any(issubclass(kind, _MAY_BE_COMPLEX) for kind in set(map(type, value)))
        return may_be and any(map(holds_complex, value))
    return is_complex(value) or (type(value) is np.ndarray and value.dtype == object and any(map(is_complex, value.flat)))


_MAY_BE_COMPLEX = (Pair, complex, np.complexfloating, np.ndarray, list, tuple)


def refused(name: str, fix: str, got: str = "") -> UnsupportedFunction:
    return UnsupportedFunction(f"{name} is not supported on complex tracked arrays", at=user_site(), got=got or None, fix=fix)


def parts(value: Operand) -> tuple[Operand, Operand]:
    """The real and imaginary part of a value; the imaginary part of a real one is the number 0.0.

    Lists give arrays.
    """
    kind = type(value)
    if issubclass(kind, Pair):
        return value.re, value.im
    if is_tracked(value):
        return _as_float64(value), 0.0
    if kind is complex:
        return value.real, value.imag
    if kind in (float, int):
        return value, 0.0
    if kind in (list, tuple) or (kind is np.ndarray and value.dtype == object):
        return as_value(_mapped(value, 0)), as_value(_mapped(value, 1))
    array = np.asarray(value)
    if array.dtype.kind == "c":
        _require_double(array.dtype)
        return taken_apart(array)
    return array, 0.0


def both(value: Operand) -> tuple[Operand, Operand]:
    """The parts of a value, each of the value's shape."""
    re, im = parts(value)
    return re, np.zeros(np.shape(re)) if type(im) is float and np.shape(re) else im


def _mapped(value: Operand, k: int) -> Operand:
    """Map a nested list to one part of each entry."""
    if type(value) in (list, tuple):
        return [_mapped(v, k) for v in value]
    if type(value) is np.ndarray and value.dtype == object:
        return [_mapped(v, k) for v in value]
    return both(value)[k]


def _require_double(dtype: np.dtype) -> None:
    if dtype != COMPLEX128:
        raise UnsupportedFunction(
            f"complex numbers of dtype {dtype} in a recorded function", at=user_site(), fix="use complex128: z.astype(complex)"
        )


def _as_float64(value: Operand) -> Operand:
    if value.dtype == FLOAT32:
        raise UnsupportedFunction(
            "a tracked array of float32 together with complex numbers", at=user_site(), got=kind_of(value),
            fix="complex numbers are complex128 here: convert first, x.astype(float)",
        )  # fmt: skip
    return value if value.dtype is FLOAT64 else CONVERT(value, dtype=FLOAT64)


def pair(re: Operand, im: Operand) -> Operand:
    """The complex value with these parts: tracked if one of them is."""
    if not is_tracked(re) and not is_tracked(im):
        return put_together(re, im)
    recorder = max((v._recorder for v in (re, im) if is_tracked(v)), key=lambda r: r.level)
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    return recorder.complex_pair(*(_of_shape(v, shape, recorder) for v in (re, im)))


def _of_shape(part: Operand, shape: tuple[int, ...], recorder: Operand) -> Operand:
    if not is_tracked(part):
        part = np.asarray(part, FLOAT64)
        part = recorder.tracked_constant(part)
    elif part.dtype is not FLOAT64:
        part = _as_float64(part)
    return part if part.shape == shape else BROADCAST(part, shape=shape)


def joined(re: Operand, im: Operand) -> Operand:
    """Pair two results, which may be tuples or lists of arrays."""
    if isinstance(re, (tuple, list)):
        made = [joined(a, b) for a, b in zip(re, im)]
        return made if isinstance(re, list) else type(re)(*made) if hasattr(re, "_fields") else tuple(made)
    return pair(re, im)
