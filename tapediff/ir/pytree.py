"""Pytrees: nested tuples, lists and dicts of arrays, flattened into their arrays and a treedef that can be compared and hashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentMismatch
from .instruction import is_tracked
from .keys import static_key


class TreeDef(NamedTuple):
    """A tree without its arrays: containers, keys, and values that are no arrays.

    Attributes:
        kind: the container's type; None for an array, and `type(...)` of a value that is none.
        keys: of a dict; a key of the value that is no array.
        parts: the treedefs inside.
        value: a value that is no array, not compared by itself.
    """

    kind: Any
    keys: Any = ()
    parts: tuple[Any, ...] = ()


class _Value:
    """A value that is no array, in a treedef; equal to others of the same type and bits."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = static_key(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Value and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> Any:
        return _Value, (self.value,)  # the key may be an identity


ARRAY = TreeDef(None)
# A Python integer among arguments, which isinstance() is to recognise as one.
INTEGER = TreeDef(None, int)


def flatten(tree: Any, *, arguments: bool = False) -> tuple[list[Any], TreeDef]:
    """The arrays and numbers of a tree, and its treedef.

    Args:
        tree: tuples, named tuples, lists and dicts of arrays and numbers; other values become part of the treedef.
        arguments: Python integers are told from others; Python bools are part of the treedef.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, arguments)


def _flatten(tree: Any, leaves: list[Any], arguments: bool) -> TreeDef:
    kind = type(tree)
    if is_tracked(tree) or kind is float or kind is int or isinstance(tree, (np.ndarray, np.number, np.bool_)):
        leaves.append(tree)
        return INTEGER if kind is int and arguments else ARRAY
    if kind is bool and not arguments:
        leaves.append(tree)
        return ARRAY
    if isinstance(tree, (tuple, list)):
        return TreeDef(kind, (), tuple(_flatten(part, leaves, arguments) for part in tree))
    if kind is dict:
        # In one order, as dicts of another order are equal.
        keys = tuple(sorted(tree) if all(type(key) is str for key in tree) else tree)
        return TreeDef(kind, keys, tuple(_flatten(tree[key], leaves, arguments) for key in keys))
    try:
        value = _Value(tree)
        hash(value)
    except TypeError as error:
        raise ArgumentMismatch(
            "a value is neither an array, a tuple, list or dict of arrays, nor hashable", got=type(tree).__name__,
            fix="pass its arrays in a tuple or dict",
        ) from error  # fmt: skip
    return TreeDef(kind, value)


def unflatten(treedef: TreeDef, leaves: Sequence[Any]) -> Any:
    """The tree of this treedef with these arrays."""
    return _unflatten(treedef, iter(leaves))


def _unflatten(treedef: TreeDef, leaves: Iterator[Any]) -> Any:
    kind, keys, parts = treedef
    if kind is None:
        return next(leaves)
    if isinstance(keys, _Value):
        return keys.value
    made = [_unflatten(part, leaves) for part in parts]
    if kind is dict:
        return dict(zip(keys, made))
    if hasattr(kind, "_fields"):
        return kind(*made)
    return kind(made)


def integers(treedef: TreeDef) -> list[int]:
    """Which arrays of a tree are Python integers."""
    return [k for k, leaf in enumerate(_leaves(treedef)) if leaf == INTEGER]


def _leaves(treedef: TreeDef) -> list[TreeDef]:
    return [treedef] if treedef.kind is None else [leaf for part in treedef.parts for leaf in _leaves(part)]


def has_values(treedef: TreeDef) -> bool:
    """Whether a treedef holds values that are no arrays."""
    return isinstance(treedef.keys, _Value) or any(map(has_values, treedef.parts))


def describe_treedef(treedef: TreeDef) -> str:
    """A treedef as text, arrays as stars."""
    kind, keys, parts = treedef
    if kind is None:
        return "*"
    if isinstance(keys, _Value):
        return repr(keys)
    inside = [describe_treedef(part) for part in parts]
    if kind is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, inside)) + "}"
    text = ", ".join(inside)
    if kind is list:
        return f"[{text}]"
    return f"({text})" if kind is tuple else f"{kind.__name__}({text})"


def packed(treedef: TreeDef, names: list[str]) -> str:
    """The expression of a tree of this treedef, its arrays by these names, in turn; names are taken off the list."""
    if treedef.kind is None:
        return names.pop(0)
    if not treedef.parts and treedef.kind not in (tuple, list):
        return repr(None)
    inside = [packed(part, names) for part in treedef.parts]
    return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"


def paths(treedef: TreeDef, path: str = "") -> list[str]:
    """How each array of a tree is reached from its root."""
    if treedef.kind is None:
        return [path]
    return [p for k, part in enumerate(treedef.parts) for p in paths(part, f"{path}[{k}]")]


def has_only_tuples(treedef: TreeDef) -> bool:
    """Whether a tree is made of tuples alone, which numba's types can follow."""
    if treedef.kind is None or (not treedef.parts and treedef.kind is type(None)):
        return True
    return treedef.kind is tuple and all(map(has_only_tuples, treedef.parts))
