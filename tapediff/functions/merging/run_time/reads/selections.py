"""What a mask that is data selects, as z[z > 0]: as long as data says, so that it is kept as the whole array and its mask.

It is computed with element by element, over all entries, and those that the mask selects are summed up, or reduced in another way. All else
is refused, and the mask is guarded where the array is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .....ir.instruction import BOOL, FLOAT64, INT64, Operand, Tree, is_tracked
from .....numpy_api.shaping import copy
from .....ops.elementwise.arithmetic import ROOT
from .....recording.arrays.tracked import TrackedArray
from .....recording.arrays.views import Computes
from .....recording.masks import holds
from .....recording.recorder import current_recorder
from ...plain_numbers import note_plain
from ...rules import Refused

_Function: TypeAlias = Callable[..., Operand]

DTYPES = (FLOAT64, INT64, BOOL)

# A loop over more entries is recorded as it stands.
MOST_TURNS = 10_000

# Arguments of reductions that are left as they are unless they say something.
_SAYS_NOTHING = (None, False, np._NoValue)  # type: ignore[attr-defined]  # NumPy's own default


class Selection(Computes, NDArrayOperatorsMixin):
    """The entries of an array that a mask selects.

    Args:
        data: the array; its first axes are those of the mask.
        mask: tracked bools.
        refuse: makes the error of a use that is not known.
    """

    __slots__ = ("_data", "_mask", "_refuse", "_shares")

    def __init__(self, data: Operand, mask: Operand, refuse: Callable[[str], Refused]) -> None:
        self._data, self._mask, self._refuse = data, mask, refuse
        # Another one shows some of its entries, as a view does, so that none of them is changed in place.
        self._shares = False

    def _like(self, data: Operand) -> Selection:
        return Selection(data, self._mask, self._refuse)

    def _view(self, view: Selection) -> Selection:
        self._shares = view._shares = True
        return view

    # As an array

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.ndarray

    dtype = property(lambda self: self._data.dtype)
    ndim = property(lambda self: 1 + self._rest)
    size = property(lambda self: self._count(math.prod(self._data.shape[self._mask.ndim :])))
    shape = property(lambda self: (self._count(), *self._data.shape[self._mask.ndim :]))

    @property
    def _rest(self) -> int:
        """How many axes there are behind those of the mask."""
        return self._data.ndim - self._mask.ndim

    @property
    def T(self) -> Operand:
        self._shares = True
        return _Transposed(self) if self._rest == self._mask.ndim == 1 else self if not self._rest else self._refused("a transpose")

    def length(self) -> Operand:
        """len(x), as an int of Python's that is data."""
        return self._count()

    def is_empty(self) -> Operand:
        """Whether nothing is selected, as data."""
        return np.logical_not(np.any(self._mask))

    def turns(self) -> list[tuple[Operand, Operand]] | None:
        """Whether each entry of the array is selected, and the entry; None of rows, and of very many."""
        if self._rest or self._mask.ndim > 1 or len(self._mask) > MOST_TURNS:
            return None
        self._shares = True
        return [(self._mask[k], self._data[k]) for k in range(len(self._mask))]

    def _count(self, each: int = 1) -> Operand:
        return note_plain(np.sum(self._mask) * each)

    def _refused(self, got: str) -> Operand:
        raise self._refuse(got)

    def __len__(self) -> int:
        return self._refused("a length that has to be an int")

    def __iter__(self) -> Operand:
        return self._refused("a loop over the entries")

    def __bool__(self) -> bool:
        return self._refused("a bool")

    def __float__(self) -> float:
        return self._refused("a float")

    def __setitem__(self, index: Operand, value: Operand) -> None:
        self._refused("a write to some of the entries")

    def __array__(self, *_: Operand, **__: Operand) -> np.ndarray:
        return self._refused("an array")

    def __getattr__(self, name: str) -> Operand:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        return self._refused(f"the attribute {name}")

    def __getitem__(self, index: Operand) -> Operand:
        if isinstance(index, Selection) and index.dtype == BOOL and not index._rest and self._is_beside(index):
            return Selection(self._data, np.logical_and(self._mask, index._data), self._refuse)
        if type(index) is int and self._mask.ndim == 1:
            return self._data[self._place(index)]
        if isinstance(index, slice) and self._mask.ndim == 1 and index.step is None:
            found = self._between(index)
            if found is not None:
                return self._view(found)
        parts = index if type(index) is tuple else (index,)
        if parts and (parts[0] is Ellipsis or parts[0] == slice(None)) and all(map(_is_basic, parts)):
            whole = () if parts[0] is Ellipsis else (slice(None),) * (self._mask.ndim - 1)
            if len([part for part in parts[1:] if part is not None]) <= self._rest:
                return self._view(self._like(self._data[(*whole, *parts)]))
        return self._refused(f"the entries {index!r}" if not is_tracked(index) else "entries at other places")

    def _place(self, number: int) -> Operand:
        """The place of the first, second, ... entry that is selected, or of the last ones."""
        before = np.cumsum(self._mask)
        is_one = before == (number + 1 if number >= 0 else before[-1] + number + 1)
        if holds(lambda: np.logical_not(np.any(np.logical_and(is_one, self._mask)))):
            raise IndexError(f"index {number} is out of bounds for axis 0 with size {np.count_nonzero(self._mask._value)}")
        return np.argmax(is_one)

    def _between(self, part: slice) -> Operand:
        """The first entries that are selected, or the last ones, or those between; None of all of them."""
        if part.start is part.stop is None or not all(end is None or type(end) is int for end in (part.start, part.stop)):
            return None
        number, mask = np.cumsum(self._mask), self._mask
        if part.start:
            mask = np.logical_and(mask, number > (part.start if part.start > 0 else number[-1] + part.start))
        if part.stop is not None:
            mask = np.logical_and(mask, number <= (part.stop if part.stop >= 0 else number[-1] + part.stop))
        return Selection(self._data, mask, self._refuse)

    def written_at(self, array: Operand, index: Operand) -> Operand:
        is_beside = type(index) is TrackedArray and index.type.dtype == BOOL and _are_same(self._mask, index)
        if not is_beside or array.shape != self._data.shape or array.dtype != self.dtype:
            return self._refused("a write of the entries to other places")
        return self._filled(array)

    def entries_of(self, array: Operand) -> Operand:
        """The entries of an array at positions that a mask selects; others may not be there."""
        if self.dtype != INT64 or self._rest:
            return self._refused("an index")
        count, at = len(array), self._data
        is_there = type(at) is np.ndarray and bool(np.all((at >= -count) & (at < count)))
        at = at if is_there else self._filled(0)
        return self._like(array[at] if is_tracked(array) or not is_tracked(at) else current_recorder().tracked_constant(array)[at])

    # Element by element

    def _is_beside(self, other: Selection) -> bool:
        return _are_same(self._mask, other._mask)

    def _each(self, function: _Function, operands: Sequence[Operand]) -> Operand:
        """A function of NumPy's, of the entries one by one."""
        whole: list[Operand] = []
        for operand in operands:
            if isinstance(operand, Selection):
                if not self._is_beside(operand) or operand._rest != self._rest:
                    return self._refused("arrays that two masks have selected")
                whole.append(operand._data)
            elif np.ndim(operand) and np.ndim(operand) > self._rest:
                return self._refused("an array beside it")
            else:
                whole.append(operand)
        return self._like(np.errstate(all="ignore")(function)(*whole))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Operand, **named: Operand) -> Operand:
        out = named.pop("out", None)
        if (named and method == "__call__") or ufunc.nout != 1:
            return self._refused(f"np.{ufunc.__name__} with arguments by name")
        if method == "reduce" and ufunc in _REDUCTIONS and out is None and inputs[0] is self:
            return _REDUCTIONS[ufunc](self, **{"axis": 0, **named})
        if method != "__call__":
            return self._refused(f"np.{ufunc.__name__}.{method}")
        found = self._product(*inputs) if ufunc == np.matmul else self._each(ufunc, inputs) if ufunc.signature is None else None
        if out is None and found is not None:
            return found
        is_whole = found is not None and found.dtype == self.dtype and found._data.shape == self._data.shape
        if found is None or not is_whole or out is None or len(out) != 1 or out[0] is not self or self._shares:
            return self._refused(f"np.{ufunc.__name__}")
        self._data = found._data  # an operator such as +=
        return self

    def __array_function__(self, function: _Function, _: object, args: tuple[Operand, ...], named: dict[str, Operand]) -> Operand:
        name = getattr(function, "__name__", "?")
        if function in _EACH and not named:
            return self._each(function, args)
        known = _FUNCTIONS.get(function)
        if known is None or not isinstance(args[0] if args else None, Selection):
            return self._refused(f"np.{name}")
        return known(*args, **named)

    def astype(self, dtype: Operand, *_: Operand, **named: Operand) -> Operand:
        if np.dtype(dtype) not in DTYPES:
            return self._refused(f"a conversion to {np.dtype(dtype)}")
        if np.dtype(dtype) == self.dtype and named.get("copy") is False:
            return self
        return self._like(self._data.astype(dtype))

    def copy(self, *_: Operand) -> Operand:
        return self._like(self._data)

    def clip(self, low: Operand = None, high: Operand = None) -> Operand:
        return self._each(np.clip, (self, low, high))

    # Reductions

    def _reduced(self, function: _Function, fill: Operand, axis: Operand, others: dict[str, Operand], needs_one: str = "") -> Operand:
        """A reduction by NumPy, where entries that are not selected count as `fill`; `needs_one`: what NumPy calls one of no entries."""
        if any(value not in _SAYS_NOTHING for value in others.values()):
            return self._refused(f"the argument {next(iter(others))}=")
        behind = self._axis_behind(axis)
        if behind is not None:
            return self._like(function(self._data, axis=behind))
        if needs_one and holds(self.is_empty):
            raise ValueError(f"zero-size array to reduction operation {needs_one} which has no identity")
        over = None if axis is None else tuple(range(self._mask.ndim))
        return function(self._filled(fill), axis=over)

    def _axis_behind(self, axis: Operand) -> int | None:
        """The axis of the data that is meant, unless it is those of the mask."""
        if axis is None:
            return None
        if type(axis) is not int or not -self.ndim <= axis < self.ndim:
            return self._refused(f"the axis {axis!r}")
        axis %= self.ndim
        return axis - 1 + self._mask.ndim if axis else None

    def _filled(self, fill: Operand) -> Operand:
        mask = np.reshape(self._mask, (*self._mask.shape, *[1] * self._rest))
        return np.where(mask, self._data, fill)

    def sum(self, axis: Operand = None, **others: Operand) -> Operand:
        return self._reduced(np.sum, False if self.dtype == BOOL else 0, axis, others)

    def prod(self, axis: Operand = None, **others: Operand) -> Operand:
        return self._reduced(np.prod, True if self.dtype == BOOL else 1, axis, others)

    def any(self, axis: Operand = None, **others: Operand) -> Operand:
        return (self != 0)._reduced(np.any, False, axis, others)

    def all(self, axis: Operand = None, **others: Operand) -> Operand:
        return (self != 0)._reduced(np.all, True, axis, others)

    def max(self, axis: Operand = None, **others: Operand) -> Operand:
        return self._extreme(np.max, -np.inf, axis, others, "maximum")

    def min(self, axis: Operand = None, **others: Operand) -> Operand:
        return self._extreme(np.min, np.inf, axis, others, "minimum")

    def _extreme(self, function: _Function, fill: float, axis: Operand, others: dict[str, Operand], name: str) -> Operand:
        if self.dtype != FLOAT64:
            return self._refused(f"the {name} of {self.dtype}")
        return self._reduced(function, fill, axis, others, name)

    def ptp(self, axis: Operand = None) -> Operand:
        return self.max(axis) - self.min(axis)

    def mean(self, axis: Operand = None, **others: Operand) -> Operand:
        behind = self._axis_behind(axis)
        if behind is not None:
            return self._reduced(np.mean, 0, axis, others)
        return np.true_divide(self.sum(axis, **others), self._numbers(axis))

    def var(self, axis: Operand = None, *, ddof: Operand = 0, **others: Operand) -> Operand:
        behind = self._axis_behind(axis)
        if behind is not None:
            return self._like(np.var(self._data, axis=behind, ddof=ddof)) if not others else self._refused("a variance")
        apart = self - self.mean(axis)
        return np.true_divide((apart * apart).sum(axis, **others), np.maximum(self._numbers(axis) - ddof, 0))

    def std(self, axis: Operand = None, *, ddof: Operand = 0, **others: Operand) -> Operand:
        found = self.var(axis, ddof=ddof, **others)
        return self._each(ROOT, (found,)) if isinstance(found, Selection) else ROOT(found)

    def _numbers(self, axis: Operand) -> Operand:
        """Over how many entries a reduction goes."""
        each = math.prod(self._data.shape[self._mask.ndim :]) if axis is None else 1
        return np.sum(self._mask) * each

    def cumsum(self, axis: Operand = None) -> Operand:
        if self._rest or self._mask.ndim > 1 or axis not in (None, 0, -1):
            return self._refused("np.cumsum along an axis")
        return self._like(np.cumsum(self._filled(0)))

    # In order

    def sorted(self, axis: Operand = -1) -> Selection:
        """The entries in order: before all others, which come where NaN does, at the end."""
        if self._rest or self._mask.ndim > 1 or axis not in (0, -1) or self.dtype != FLOAT64:
            return self._refused("np.sort along an axis")
        is_one = np.arange(len(self._mask)) < np.sum(self._mask)
        return Selection(np.sort(self._filled(np.nan)), is_one, self._refuse)

    def median(self, axis: Operand = None) -> Operand:
        """The middle one of an odd number, else half of the sum of the two in the middle; NaN of none, and where one is NaN."""
        if axis not in (None, 0, -1):
            return self._refused("such a median")
        values, count = self.sorted()._data, np.sum(self._mask)
        last = np.maximum(count - 1, 0)
        low, high = values[last // 2], values[np.minimum(count // 2, last)]
        return np.where(np.isnan(values[last]), np.nan, np.where(count % 2 == 1, low, (low + high) * 0.5))

    def quantile(self, q: Operand, axis: Operand = None) -> Operand:
        """Where one is NaN, NaN; of no entries what NumPy gives or raises."""
        if np.ndim(q) or is_tracked(q) or axis not in (None, 0, -1):
            return self._refused("such a quantile")
        if holds(self.is_empty):
            return np.quantile(np.empty(0), q)
        values, last = self.sorted()._data, np.maximum(np.sum(self._mask) - 1, 0)
        at = q * last
        below = np.floor(at)
        low, high = values[below.astype(np.int64)], values[np.ceil(at).astype(np.int64)]
        return np.where(np.isnan(values[last]), np.nan, low + (high - low) * (at - below))

    # Products

    def dot(self, other: Operand) -> Operand:
        return self._product(self, other)

    def _product(self, left: Operand, right: Operand) -> Operand:
        if isinstance(left, Selection) and self._mask.ndim == 1:
            if left._rest == 1 and not isinstance(right, Selection) and np.ndim(right) in (1, 2):
                return self._like(np.matmul(left._data, right))
            if isinstance(right, Selection) and left._rest == right._rest == 0 and left._is_beside(right):
                return np.sum((left * right)._filled(0))
        return self._refused("a matrix product")


class _Transposed(NamedTuple):
    """The transpose of rows that a mask selects, of which only products with what it selects are known."""

    rows: Selection

    def __matmul__(self, other: Operand) -> Operand:
        rows = self.rows
        if not isinstance(other, Selection) or not rows._is_beside(other) or other._rest > 1:
            return rows._refused("a transpose")
        return np.matmul(rows._filled(0).T, other._filled(0))

    def __getattr__(self, name: str) -> Operand:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.rows._refused(f"the attribute {name} of a transpose")


def selected(array: Tree, index: Tree, refuse: Callable[[str], Refused]) -> Selection | None:
    """array[index] where the index is a mask that is data, or begins with one; None of anything else."""
    is_array = type(array) in (TrackedArray, np.ndarray) and array.dtype in DTYPES
    if isinstance(index, Selection):
        return index.entries_of(array) if is_array and array.ndim else None
    mask, *rest = index if type(index) is tuple else (index,)
    if type(mask) is not TrackedArray or mask.type.dtype != BOOL or not mask.type.shape or not all(map(_is_basic, rest)):
        return None
    if not is_array or array.shape[: mask.ndim] != mask.shape or any(part is None or part is Ellipsis for part in rest):
        return None
    if len(rest) > array.ndim - mask.ndim:
        return None
    data = array[(*[slice(None)] * mask.ndim, *rest)] if rest else array
    # Later writes are not seen by what was selected before.
    return Selection(copy(data) if type(data) is TrackedArray else data.copy(), copy(mask), refuse)


def _is_basic(part: Operand) -> bool:
    is_known = isinstance(part, (slice, EllipsisType, type(None))) and not (isinstance(part, slice) and _is_open(part))
    return is_known or (type(part) is int)


def _is_open(part: slice) -> bool:
    return any(is_tracked(end) for end in (part.start, part.stop, part.step))


def _are_same(a: Operand, b: Operand) -> bool:
    """Whether two masks are the same value, or the same comparison of the same values."""
    if a._recorder is not b._recorder:
        return False
    if a._id == b._id:
        return True
    one, other = (a._recorder.instructions[mask._id] for mask in (a, b))
    return one[:3] == other[:3]


def _average(a: Selection, axis: Operand = None, weights: Operand = None) -> Operand:
    if weights is None:
        return a.mean(axis)
    if a._rest or axis not in (None, 0):
        return a._refused("np.average along an axis")
    total = weights.sum() if isinstance(weights, Selection) else a._refused("other weights")
    if holds(lambda: total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return np.true_divide((a * weights).sum(), total)


def _norm(x: Selection) -> Operand:
    return ROOT((x * x).sum())


# By NumPy's function.
_EACH = frozenset((np.where, np.clip))
_REDUCTIONS: dict[_Function, _Function] = {
    np.add: Selection.sum, np.multiply: Selection.prod, np.maximum: Selection.max, np.minimum: Selection.min,
    np.logical_and: Selection.all, np.logical_or: Selection.any,
}  # fmt: skip
_FUNCTIONS: dict[_Function, _Function] = {
    np.sum: Selection.sum, np.prod: Selection.prod, np.max: Selection.max, np.min: Selection.min, np.amax: Selection.max,
    np.amin: Selection.min, np.any: Selection.any, np.all: Selection.all, np.mean: Selection.mean, np.var: Selection.var,
    np.std: Selection.std, np.ptp: Selection.ptp, np.dot: Selection.dot, np.inner: Selection.dot, np.copy: Selection.copy,
    np.cumsum: Selection.cumsum, np.sort: Selection.sorted, np.median: Selection.median, np.quantile: Selection.quantile,
    np.percentile: lambda a, q, axis=None: a.quantile(q / 100, axis),
    np.average: _average, np.linalg.norm: _norm, np.count_nonzero: lambda a: (a != 0).sum(), np.size: lambda a: a.size,
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim,
}  # fmt: skip
