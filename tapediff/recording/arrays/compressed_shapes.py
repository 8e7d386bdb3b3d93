"""NumPy's functions that join, repeat and rearrange compressed arrays; None for arguments that need the masks at this point."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Operand, is_tracked
from ...numpy_api.joining import as_value
from ...numpy_api.kinds import Axis
from ...numpy_api.reducing import axes_of
from .compressed_lengths import aligned, is_compressed, lesser


def concatenate(arrays: Operand, axis: int = 0) -> Operand:
    parts = [part if is_compressed(part) else as_value(part) for part in arrays]
    like = next(part for part in parts if is_compressed(part))
    ((place,), ndim) = axes_of(axis, like.ndim), like.ndim
    axis = place - ndim
    others = {k for part in parts if is_compressed(part) for k in part.kept} - {axis}
    if any(part.ndim != ndim for part in parts) or any(not is_compressed(part) or others - {*part.kept} for part in parts if others):
        return None
    kept = {}
    for k in others:
        parts = aligned([(part, k) for part in parts])
        if parts[0] is None:
            return None
        kept[k] = parts[0].kept[k]
    whole = np.concatenate([part.whole if is_compressed(part) else part for part in parts], axis=axis)
    if not any(is_compressed(part) and axis in part.kept for part in parts):
        return type(like)(whole, kept)
    own = [_kept(part, axis, like) for part in parts]
    if any(one.length is None for one in own):
        return type(like)(whole, {**kept, axis: type(own[0])(np.concatenate([one.mask for one in own]))})
    places = numbers = np.arange(sum(one.extent for one in own))
    begin = count = 0
    for one in own:
        # A part begins where the parts before it end.
        if is_tracked(count):
            places = np.where(numbers >= count, numbers - count + begin, places)
        begin, count = begin + one.extent, count + one.length
    made = type(like)(whole, kept)
    whole = made._along(np.clip(places, 0, begin - 1), axis) if is_tracked(places) else whole
    return type(like)(whole, {**kept, axis: type(own[0]).first(count, begin)})


def _kept(part: Operand, axis: int, like: Operand) -> Operand:
    """What is selected along an axis: by default everything."""
    if is_compressed(part) and axis in part.kept:
        return part.kept[axis]
    extent = (part.whole.type.shape if is_compressed(part) else part.shape)[axis]
    kind: Operand = type(next(iter(like.kept.values())))
    return kind.first(extent, extent)


def append(arr: Operand, values: Operand, axis: int | None = None) -> Operand:
    if axis is None:
        return concatenate([arr, np.ravel(values)]) if np.ndim(arr) == 1 else None
    return concatenate([arr, values], axis)


def hstack(tup: Operand) -> Operand:
    parts = [part if is_compressed(part) else np.atleast_1d(as_value(part)) for part in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


def array_split(ary: Operand, indices_or_sections: Operand, axis: int = 0) -> Operand:
    """Parts of nearly equal length, of which the first ones may have one entry more."""
    if type(indices_or_sections) is not int or indices_or_sections < 1 or np.ndim(ary) != 1 or axis:
        return None
    each = ary.shape[0] // indices_or_sections
    more = ary.shape[0] - each * indices_or_sections
    ends = [each * k + lesser(k, more) for k in range(indices_or_sections + 1)]
    return [ary[start:end] for start, end in pairwise(ends)]


def vstack(tup: Operand) -> Operand:
    return concatenate([part[None, :] if np.ndim(part) == 1 else part for part in tup])


def stack(arrays: Operand, axis: int = 0) -> Operand:
    """Stack vectors as rows or columns."""
    if axis not in (0, 1, -1) or any(np.ndim(part) != 1 for part in arrays):
        return None
    return concatenate([part[None, :] if axis == 0 else part[:, None] for part in _of_one_length(arrays)], axis)


def _of_one_length(arrays: Operand) -> list[Operand]:
    """Vectors entry beside entry, where that is known."""
    found = aligned([(part, -1) for part in arrays]) if all(map(is_compressed, arrays)) else [None]
    return list(arrays) if found[0] is None else found


def column_stack(tup: Operand) -> Operand:
    return concatenate([part[:, None] if np.ndim(part) == 1 else part for part in tup], 1)


def roll(a: Operand, shift: Operand, axis: int | None = None) -> Operand:
    if np.ndim(shift):
        return None
    made = a.packed()
    kept = made.kept[-1]
    count = kept.count()
    places = (np.arange(kept.extent) - shift) % np.maximum(count, 1)
    return type(a)(np.take(made.whole, places, mode="clip"), made.kept)


def transpose(a: Operand, *axes: Operand) -> Operand:
    """The entries with axes in another order."""
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    order = [k % a.ndim for k in given] if given else [*range(a.ndim)][::-1]
    places = {axis: order.index(axis % a.ndim) - a.ndim for axis in a.kept}
    return type(a)(np.transpose(a.whole, order), {places[axis]: kept for axis, kept in a.kept.items()})


def swapaxes(a: Operand, axis1: int, axis2: int) -> Operand:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, *order)


def squeeze(a: Operand, axis: Axis = None) -> Operand:
    """The entries without axes of one entry; axes whose lengths are data stay."""
    is_one = [k - a.ndim not in a.kept and extent == 1 for k, extent in enumerate(a.whole.type.shape)]
    gone = [k for k, one in enumerate(is_one) if one] if axis is None else axes_of(axis, a.ndim)
    return a[tuple(0 if k in gone else slice(None) for k in range(a.ndim))] if all(is_one[k] for k in gone) else None


def expand_dims(a: Operand, axis: int) -> Operand:
    return a[(*[slice(None)] * axes_of(axis, a.ndim + 1)[0], None)] if type(axis) is int else None


def repeat(a: Operand, repeats: Operand, axis: int | None = None) -> Operand:
    if np.ndim(repeats) or (axis is None and np.ndim(a) != 1):
        return None
    place = -1 if axis is None else axes_of(axis, a.ndim)[0] - a.ndim
    if place not in a.kept:
        return type(a)(np.repeat(a.whole, repeats, place % a.ndim), a.kept) if type(repeats) is int else None
    made = a.packed(place)
    kept = made.kept[place]
    most = current_recorder().compressed.most(repeats)
    if most is None:
        return None
    places = np.arange(kept.extent * most) // np.maximum(repeats, 1)
    made = made.with_kept(place, np.take(made.whole, np.minimum(places, kept.extent - 1), place % a.ndim), None)
    return made.with_kept(place, made.whole, type(kept).first(kept.count() * repeats, kept.extent * most))


def take(a: Operand, indices: Operand, axis: int | None = None) -> Operand:
    if is_compressed(a) and (np.ndim(a) == 1 or axis == 0):
        return a[indices if is_compressed(indices) or not isinstance(indices, (list, tuple)) else np.asarray(indices)]
    return None
