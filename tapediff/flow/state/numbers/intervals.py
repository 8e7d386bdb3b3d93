"""Interval arithmetic, on a few values or on a least and a greatest one."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from ...anything import Object

Bounds: TypeAlias = "frozenset[float] | tuple[float, float]"

# Maximum number of distinct values.
MOST_VALUES = 24
ANYTHING: Bounds = (-math.inf, math.inf)


def ends(bounds: Bounds) -> tuple[float, float]:
    """The least and the greatest value; arbitrary if there is none."""
    if not bounds:
        return -math.inf, math.inf
    return bounds if type(bounds) is tuple else (min(bounds), max(bounds))


def exactly(value: object) -> Bounds:
    if not isinstance(value, (int, float, np.number, np.bool_)) or value != value:
        return ANYTHING
    return frozenset((value.item() if isinstance(value, np.generic) else value,))  # pyright: ignore[reportArgumentType]


def of_array(values: np.ndarray) -> Bounds:
    if values.dtype.kind not in "bif" or not values.size or np.isnan(values).any():
        return ANYTHING
    if values.size <= MOST_VALUES:
        return frozenset(values.ravel().tolist())
    return values.min().item(), values.max().item()


_OPPOSITE = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}


def where(found: Bounds, name: str, holds: bool, other: tuple[float, float], *, is_int: bool = False) -> Bounds:
    """The values for which a comparison with another number may have the outcome `holds`."""
    low, high = other
    if not holds and name == "equal":
        return frozenset(v for v in found if not low == high == v) if type(found) is frozenset else found
    name = name if holds else _OPPOSITE[name]
    at_most, at_least = name in ("less", "less_equal", "equal"), name in ("greater", "greater_equal", "equal")
    is_open = name in ("less", "greater")
    if type(found) is frozenset:
        return frozenset(
            v for v in found
            if (not at_most or (v < high if is_open else v <= high)) and (not at_least or (v > low if is_open else v >= low))
        )  # fmt: skip
    least, most = found
    if is_int and is_open:
        low, high = low + 1, high - 1
    return max(least, low) if at_least else least, min(most, high) if at_most else most


def union(a: Bounds, b: Bounds) -> Bounds:
    if type(a) is frozenset and type(b) is frozenset:
        return _limited(a | b)
    (low, high), (least, most) = (ends(part) if part else (math.inf, -math.inf) for part in (a, b))
    return min(low, least), max(high, most)


def _limited(values: Iterable[float]) -> Bounds:
    found = frozenset(values)
    if any(v != v for v in found):
        return ANYTHING
    return found if len(found) <= MOST_VALUES else (min(found), max(found))


def _by_ends(combine: Callable[[float, float], float]) -> Callable[[Bounds, Bounds], Bounds]:
    """Bounds of an operation with extremes at its operands' ends."""

    def rule(a: Bounds, b: Bounds) -> Bounds:
        if not a or not b:
            return frozenset()
        if type(a) is frozenset and type(b) is frozenset:
            return _limited(combine(p, q) for p in a for q in b)
        found = [combine(p, q) for p in ends(a) for q in ends(b)]
        return ANYTHING if any(v != v for v in found) else (min(found), max(found))

    return rule


def _each(change: Callable[[float], float]) -> Callable[[Bounds], Bounds]:
    """Bounds of a nondecreasing function."""
    return lambda a: _limited(map(change, a)) if type(a) is frozenset else (change(ends(a)[0]), change(ends(a)[1]))


def _magnitude(a: Bounds) -> Bounds:
    if type(a) is frozenset:
        return _limited(map(abs, a))
    low, high = a
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _divided(combine: Callable[[float, float], float]) -> Callable[[Bounds, Bounds], Bounds]:
    """Bounds of // or % by a known positive number."""

    def rule(a: Bounds, b: Bounds) -> Bounds:
        if type(b) is not frozenset or len(b) != 1 or not next(iter(b)) > 0 or not a:
            return ANYTHING
        divisor = next(iter(b))
        low, high = ends(a)
        if type(a) is frozenset and math.isfinite(low) and math.isfinite(high):
            return _limited(combine(v, divisor) for v in a)
        if combine is operator.mod:
            if type(divisor) is int:
                return 0, divisor - 1
            return 0, divisor
        first, last = (v if math.isinf(v) else combine(v, divisor) for v in (low, high))
        return first, last

    return rule


def _converted(a: Bounds, type_: Object) -> Bounds:
    kind = type_.dtype.kind
    if kind == "f":
        return _each(float)(a)
    return _each(lambda v: v if math.isinf(v) else int(v))(a)


def _whole(rounded: Callable[[float], float]) -> Callable[[float], float]:
    return lambda v: v if math.isinf(v) else rounded(v)


def _of_bits(a: Bounds, b: Bounds, *, is_and: bool = False) -> Bounds:
    """Bounds of bitwise operations."""
    (low, high), (least, most) = ends(a), ends(b)
    if is_and and (low >= 0 or least >= 0):
        # No other bits than those of a number that is not negative.
        return 0, min(end for start, end in ((low, high), (least, most)) if start >= 0)
    if not all(map(math.isfinite, (low, high, least, most))):
        return ANYTHING
    largest = 2 ** max(int(end).bit_length() for end in (low, high, least, most)) - 1
    return 0 if low >= 0 and least >= 0 else -largest - 1, largest


_same = _each(lambda v: v)
RULES: dict[str, Callable[..., Bounds]] = {
    "select": union, "add": _by_ends(operator.add), "subtract": _by_ends(operator.sub), "multiply": _by_ends(operator.mul),
    "minimum": _by_ends(min), "maximum": _by_ends(max), "floor_divide": _divided(operator.floordiv), "remainder": _divided(operator.mod),
    "bitwise_and": functools.partial(_of_bits, is_and=True), "bitwise_or": _of_bits, "bitwise_xor": _of_bits,
    "absolute": _magnitude, "negative": lambda a: _limited(-v for v in a) if type(a) is frozenset else (-a[1], -a[0]),
    "convert": _converted, "floor": _each(_whole(math.floor)), "ceil": _each(_whole(math.ceil)), "trunc": _each(_whole(math.trunc)),
    "rint": _each(_whole(round)), "index": _same, "reshape": _same, "gather": _same,
    "sin": lambda _: (-1.0, 1.0), "cos": lambda _: (-1.0, 1.0), "tanh": lambda _: (-1.0, 1.0), "expit": lambda _: (0.0, 1.0),
    "exp": lambda _: (0.0, math.inf), "square": lambda _: (0.0, math.inf), "sqrt": lambda _: (0.0, math.inf),
}  # fmt: skip
