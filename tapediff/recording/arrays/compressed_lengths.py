"""Lengths of compressed arrays that are data: which ones are equal, and arrays entry beside entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...base.current_recording import current_recorder
from ...ir.instruction import Computes, Operand, is_tracked
from ...numpy_api.joining import as_value
from .equal_values import are_equal


def is_compressed(value: Operand) -> bool:
    return issubclass(type(value), Computes)


def raise_where(condition: Operand, error: Callable[[], Exception]) -> None:
    """Raise an error where a condition holds; by a guard, if no other way is known."""
    recorder = current_recorder()
    if recorder.raise_where is not None:
        recorder.raise_where(condition, error)
    elif condition:
        raise error()


def settled(value: Operand) -> Operand:
    """A value with plain NumPy's arrays in place of compressed ones."""
    if is_compressed(value):
        return value.settled()
    return type(value)(map(settled, value)) if type(value) in (list, tuple) else value


def are_alike(a: Operand, b: Operand) -> bool:
    """True if two selections are known to be of the same places."""
    if a is b or are_equal(a.mask, b.mask):
        return True
    if a.length is None or b.length is None or a.extent != b.extent:
        return False
    return current_recorder().compressed.are_equal(a.length, b.length) is True


def aligned(parts: Sequence[tuple[Operand, int]]) -> list[Operand]:
    """Arrays whose lengths along the given axes agree, entry beside entry; Nones if that is not known."""
    first = parts[0][0].kept[parts[0][1]]
    if all(are_alike(first, array.kept[axis]) for array, axis in parts):
        return [array for array, _ in parts]
    made = [(array.packed(axis), axis) for array, axis in parts]
    lengths = [array.kept[axis].length for array, axis in made]
    if not all(is_same_length(lengths[0], length) for length in lengths[1:]):
        return [None] * len(parts)
    shortest = min((array.kept[axis] for array, axis in made), key=lambda kept: kept.extent)
    return [array.resized(axis, shortest) for array, axis in made]


def is_same_length(a: Operand, b: Operand) -> bool:
    """True if two lengths are equal: by the same operations, or by a guard."""
    return (is_tracked(a) and is_tracked(b) and are_equal(a, b)) or bool(current_recorder().compressed.are_equal(a, b))


def lesser(a: Operand, b: Operand) -> Operand:
    """The minimum of two lengths."""
    is_below = current_recorder().compressed.is_below
    if type(found := is_below(b, a)) is bool:
        return b if found else a
    return b if is_below(a, b) is False else np.minimum(a, b)


def greater(a: Operand, b: Operand) -> Operand:
    """The maximum of two lengths."""
    is_below = current_recorder().compressed.is_below
    if type(found := is_below(a, b)) is bool:
        return b if found else a
    return b if is_below(b, a) is False else np.maximum(a, b)


def from_start(position: Operand, count: Operand) -> Operand:
    """A position, or a negative one counted from the end."""
    is_negative = current_recorder().compressed.is_below(position, 0)
    if type(is_negative) is bool:
        return position + count if is_negative else position
    return np.where(is_negative, position + count, position)


def of_full_length(value: Operand, axis: int, like: Operand) -> Operand:
    """An array as a compressed one of which everything is selected along an axis."""
    if not is_compressed(value):
        value = as_value(value)
        value = type(like)(value if is_tracked(value) else current_recorder().tracked_constant(value), {})
    extent = value.whole.type.shape[axis]
    kind: Operand = type(next(iter(like.kept.values())))
    return value.with_kept(axis, value.whole, kind.first(extent, extent))


def broadcast(values: Sequence[Operand]) -> tuple[list[Operand], dict[int, Operand]] | None:
    """Operands of equal lengths in place of compressed arrays, and what is kept of the result; None if lengths may differ."""
    operands, kept = list(values), {}
    for axis in sorted({axis for value in values if is_compressed(value) for axis in value.kept}):
        places = [k for k, value in enumerate(operands) if is_compressed(value) and axis in value.kept]
        for k, value in enumerate(operands):
            shape = value.whole.type.shape if is_compressed(value) else np.shape(value)
            if k not in places and len(shape) >= -axis and shape[axis] != 1:
                operands[k] = of_full_length(value, axis, operands[places[0]])
                places.append(k)
        found = aligned([(operands[k], axis) for k in places])
        if found[0] is None:
            return None
        for k, value in zip(places, found):
            operands[k] = value
        kept[axis] = found[0].kept[axis]
    return [value.whole if is_compressed(value) else value for value in operands], kept
