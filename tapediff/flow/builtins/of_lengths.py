"""Arrays whose lengths are data, made by NumPy's functions of a length, or of a list of data-dependent length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Computes, ValueType
from ...numpy_api.joining import as_value
from ...recording.arrays.compressed import DTYPES, MOST_ENTRIES, Kept
from ...recording.arrays.tracked import TrackedArray
from ..anything import Object
from ..containers.compressed import Compressed
from ..containers.entries import is_conditional
from ..state.numbers.bounds import bounds_of, ends
from ..state.numbers.python_numbers import is_int
from ..state.tables.columns import counted
from ..state.values import CHOICES, counted_from, is_data, packed_count, parts

# Maximum number of entries of an array of data-dependent length.
_MOST_ENTRIES = 4096


def of_length(f: Object, args: tuple[Object, ...], named: dict[str, Object]) -> Object:
    """An array by one of NumPy's functions of lengths, some of which are data; None for others."""
    f = getattr(f, "original", f)
    name = getattr(f, "__name__", "")
    made = _FUNCTIONS.get(name)
    return None if made is None or getattr(np, name, None) != f else made(f, *args, **named)


def _of_shape(f: Object, shape: Object, *args: Object, **named: Object) -> Object:
    """Zeros, ones, or an array of one number."""
    lengths = tuple(shape) if type(shape) in (tuple, list) else (shape,)
    extents: list[Object] = [_largest(length) if is_data(length) else length for length in lengths]
    if not any(map(is_data, lengths)) or any(type(extent) is not int for extent in extents) or np.prod(extents) > MOST_ENTRIES:
        return None
    made = _full(tuple(extents), *args, **named) if f.__name__ in ("full", "broadcast_to") else f(tuple(extents), *args, **named)
    return _first(made, {k - len(lengths): length for k, length in enumerate(lengths) if is_data(length)})


def _full(shape: tuple[int, ...], fill_value: Object, dtype: Object = None) -> Object:
    made = np.broadcast_to(fill_value, shape)
    return made.astype(dtype) if dtype is not None else made.copy()


def _broadcast(f: Object, array: Object, shape: Object) -> Object:
    """A number or an array, repeated along axes that it lacks."""
    lengths = tuple(shape) if type(shape) in (tuple, list) else (shape,)
    if np.ndim(array) and any(map(is_data, lengths[len(lengths) - np.ndim(array) :])):
        return None
    return _of_shape(f, shape, array)


def _repeated(f: Object, a: Object, repeats: Object) -> Object:
    """np.repeat or np.tile of a vector or number, as often as data say."""
    most, a = _largest(repeats), np.ravel(a)
    if most is None or issubclass(type(a), Computes):
        return None
    numbers = np.arange(len(a) * most)
    places = numbers % max(len(a), 1) if f.__name__ == "tile" else np.minimum(numbers // np.maximum(repeats, 1), len(a) - 1)
    return _first(np.take(a, places), {-1: repeats * len(a)})


def _square(f: Object, n: Object, M: Object = None, k: int = 0, **named: Object) -> Object:
    """The unit matrix."""
    extent = _largest(n)
    if extent is None or M is not None or extent**2 > MOST_ENTRIES:
        return None
    return _first(np.eye(extent, k=k, **named), {-1: n, -2: n})


def _range(_: Object, start: Object, stop: Object = None, step: Object = 1, **named: Object) -> Object:
    """np.arange of ints."""
    start, stop = (0, start) if stop is None else (start, stop)
    if type(step) is not int or step < 1 or not (_is_int(start) and _is_int(stop)):
        return None
    length = stop - start if type(start) is not int or start else stop
    length = length if step == 1 else (length + (step - 1)) // step
    if is_data(length) and ends(bounds_of(length))[0] < 0:
        length = np.maximum(length, 0)
    extent = _largest(length)
    if extent is None:
        return None
    made = _first(np.arange(extent, **named) * step, {-1: length})
    return made if made is None or (type(start) is int and not start) else made + start


def _steps(f: Object, start: Object, stop: Object, num: Object, *args: Object, **named: Object) -> Object:
    """np.linspace of two numbers or more."""
    extent = _largest(num)
    if args or named or extent is None or np.ndim(start) or np.ndim(stop) or ends(bounds_of(num))[0] < 0:
        return None
    numbers = current_recorder().tracked_constant(np.arange(extent, dtype=float))
    last = np.where(num > 1, num - 1, 1)
    made = np.where(numbers == num - 1, stop, start + numbers * ((stop - start) / last))
    return _first(np.where(numbers == 0.0, start, made) + 0.0, {-1: num})


_FUNCTIONS: dict[str, Callable[..., Object]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full"), _of_shape), **dict.fromkeys(("eye", "identity"), _square), "arange": _range,
    "linspace": _steps, "broadcast_to": _broadcast, "repeat": _repeated, "tile": _repeated,
}  # fmt: skip


def _is_int(value: Object) -> bool:
    return type(value) is int or (is_data(value) and value.dtype.kind == "i")


def _largest(length: Object) -> int | None:
    """The largest possible value of a length; None if that is not known, or too large."""
    if not is_data(length):
        return None
    most = Compressed.most(length)
    return most if most is not None and most <= _MOST_ENTRIES else None


def _first(made: Object, lengths: dict[int, Object]) -> Object:
    """The first entries of an array along some axes."""
    if made.dtype not in DTYPES:
        return None
    whole = made if is_data(made) else current_recorder().tracked_constant(made)
    kept = {id(length): Kept.first(length, made.shape[axis]) for axis, length in lengths.items()}
    return Compressed(whole, {axis: kept[id(length)] for axis, length in lengths.items()})


def compressed_list(value: Object) -> Object:
    """A list of data-dependent length as an array, if its entries are of one shape and dtype; other values as they are."""
    if not isinstance(value, (list, tuple)) or not is_conditional(value):
        return value
    conditions, entries = zip(*parts(value))
    types = set(map(_type_of, entries))
    kind = types.pop()
    if types or kind is None or kind.dtype not in DTYPES:
        return value
    whole, tests = as_value(list(entries)), list(conditions)
    if type(whole) is not TrackedArray:
        whole = current_recorder().tracked_constant(whole)
    return Compressed(whole, {-1 - len(kind.shape): _kept(tests)})


def _kept(conditions: list[Object]) -> Kept:
    """The entries of a list that exist."""
    if packed_count(conditions) < len(conditions):
        return Kept(as_value(conditions))
    first = next(k for k, condition in enumerate(conditions) if is_data(condition))
    covered, _ = counted_from(conditions, first)
    if covered == len(conditions) - first:
        return Kept.first(counted(conditions), len(conditions))
    mask = as_value(conditions)
    return Kept(mask, np.sum(mask))


def _type_of(entry: Object) -> ValueType | None:
    """The type of an entry of an array; None if it depends on data."""
    if type(entry) in CHOICES:
        return None
    if type(entry) is TrackedArray:
        return entry.type if entry.type.shape or entry.type.dtype.kind != "f" or is_int(entry) is False else None
    return ValueType(np.shape(entry), np.asarray(entry).dtype) if isinstance(entry, (int, float, np.generic, np.ndarray)) else None
