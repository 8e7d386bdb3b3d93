"""Declared sizes: `td.Size("n")` in the shapes of `td.spec`, for functions whose tapes serve all sizes from the first call on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import DTypeLike

from ...errors import ArgumentMismatch
from ...ir.arguments import Marker
from ...ir.instruction import Operand, Tree


class Size:
    """The size of an axis that differs between calls; axes with the same one have equal sizes.

    Args:
        name: for messages.
        most: the largest value, if it is known: one recording serves all up to it.
    """

    __slots__ = ("most", "name")

    def __init__(self, name: str, most: int | None = None) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ArgumentMismatch("a size has a name", got=repr(name)[:60], fix='td.Size("n")')
        if most is not None and (type(most) is not int or most < 1):
            raise ArgumentMismatch("the largest size is a positive int", got=repr(most)[:60], fix=f'td.Size("{name}", most=1000)')
        self.name, self.most = name, most

    def __repr__(self) -> str:
        return self.name


class Spec:
    """The shape and dtype of an array argument; made by td.spec."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int | Size, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(repr, self.shape))}]"

    def example(self, sizes: Mapping[Size, int]) -> np.ndarray:
        """An array of such a type."""
        return np.ones([sizes[n] if isinstance(n, Size) else n for n in self.shape], self.dtype)


def spec(shape: int | Size | Sequence[int | Size], dtype: DTypeLike = float) -> Spec:
    """Declare the shape and dtype of an array argument, with sizes that differ between calls.

    Args:
        shape: of ints and td.Size; one of these alone for a vector.
        dtype: of the array.

    Returns:
        What stands for the argument in `td.GuardedTape(f, sizes=...)`; prints as `float64[n, 3]`.

    Raises:
        ArgumentMismatch: an extent is neither a size nor an int from 0 on.
    """
    extents = (shape,) if isinstance(shape, (int, np.integer, Size)) else tuple(shape)
    for extent in extents:
        is_int = isinstance(extent, (int, np.integer)) and not isinstance(extent, bool) and extent >= 0
        if not is_int and not isinstance(extent, Size):
            raise ArgumentMismatch("an extent is a td.Size or an int", got=repr(extent)[:60], fix='td.spec((td.Size("n"), 3))')
    return Spec(tuple(n if isinstance(n, Size) else int(n) for n in extents), np.dtype(dtype))


def sizes_in(specs: Sequence[Tree]) -> list[Size]:
    """The sizes in some arguments and their containers, each once."""
    found: dict[Size, None] = {}
    _replaced(specs, lambda one: found.update(dict.fromkeys(n for n in one.shape if isinstance(n, Size))))
    return list(found)


def example(specs: Sequence[Tree], sizes: Mapping[Size, int]) -> list[Tree]:
    """Arguments of the declared types."""
    return [_replaced(one, lambda array: array.example(sizes)) for one in specs]


def _replaced(part: Tree, change: Callable[[Spec], Operand]) -> Tree:
    """An argument with other leaves in place of its arrays' types."""
    if isinstance(part, Spec):
        return change(part)
    if isinstance(part, Marker):
        return type(part)(_replaced(part.value, change))
    if type(part) is dict:
        return {key: _replaced(value, change) for key, value in part.items()}
    if type(part) in (list, tuple):
        return type(part)([_replaced(one, change) for one in part])
    return part
