"""Pytrees: nested containers of arrays, flattened into their arrays and a treedef that can be compared and hashed.

Containers are tuples, named tuples, lists, dicts, dataclasses, and the classes given to td.register_container; and complex values, as
pairs of real ones, since tapes have no complex type.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import ArgumentMismatch, InvalidGuardValue
from .instruction import Computes, Operand, Tree, is_tracked
from .keys import static_key, value_key


class Pair:
    """A complex value of a recording: real and imaginary part, of one shape. Its subclass ComplexArray behaves like NumPy's arrays."""

    __slots__ = ("im", "re")

    def __init__(self, re: Operand, im: Operand) -> None:
        self.re, self.im = re, im


def is_complex(value: Operand) -> bool:
    """True if a value is complex: tracked, or a plain number or array."""
    kind = type(value)
    return issubclass(kind, (Pair, complex)) or (issubclass(kind, (np.ndarray, np.generic)) and value.dtype.kind == "c")


def taken_apart(value: Operand) -> tuple[Operand, Operand]:
    """The parts of a complex value: float64 arrays or numbers for a plain one."""
    if issubclass(type(value), Pair):
        return value.re, value.im
    array = np.asarray(value, np.complex128)
    return (array.real.copy(), array.imag.copy()) if array.shape else (float(array.real), float(array.imag))


def put_together(re: Operand, im: Operand) -> Operand:
    """The complex value with these parts, to the bit; plain if they are plain."""
    if is_tracked(re) or is_tracked(im):
        return (re if is_tracked(re) else im)._recorder.complex_pair(re, im)
    made = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.complex128)
    made.real, made.imag = re, im
    return made if made.shape else made[()]


class FirstEntries:
    """The kind of a result whose shape is data: its parts are an array, and how many of its first entries it is along some axes."""


class TreeDef(NamedTuple):
    """A tree without its arrays: containers, keys, and values other than arrays.

    Attributes:
        kind: the container's type; None for an array; the type of any other value.
        keys: of a dict; a dataclass's field names; the rest of an object of a registered class; the key of a value other than an array.
        parts: the treedefs inside.
        value: a value other than an array, not compared itself.
    """

    kind: type | None
    keys: Any = ()  # a tuple; a _Value for a value other than an array, `int` for an integer
    parts: tuple[TreeDef, ...] = ()


class _Value:
    """A value other than an array, in a treedef; equal to others of the same type and bits."""

    __slots__ = ("key", "value")

    def __init__(self, value: Tree) -> None:
        self.value = value
        self.key = static_key(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Value and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def is_like(self, value: Any) -> bool:
        """True if a value is the same, as far as known."""
        return type(value) is type(self.value) and static_key(value) == self.key

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> tuple[type[_Value], tuple[object]]:
        return _Value, (self.value,)  # the key may be an identity


class _Held(_Value):
    """An object compared by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = id(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Held and self.value is other.value

    def __hash__(self) -> int:
        return self.key

    def is_like(self, value: Any) -> bool:
        return type(value) is type(self.value)

    def __reduce__(self) -> Any:
        return _Held, (self.value,)


ARRAY = TreeDef(None)
NOTHING = TreeDef(type(None), _Value(None))
# A Python integer among arguments, which must stay one for isinstance().
INTEGER = TreeDef(None, int)
# An array that a function may read as data or write to as scratch.
MIXED = TreeDef(None, "mixed")


# The two functions given to register_container: from an object to its parts and the rest, and back.
TakeApart: TypeAlias = Callable[[Any], tuple[Iterable[Tree], Hashable]]
PutTogether: TypeAlias = Callable[[Any, Any], Tree]
# Class given to register_container -> its two functions.
REGISTERED: dict[type, tuple[TakeApart, PutTogether]] = {}


REGISTERED[Pair] = (lambda z: (taken_apart(z), None), lambda _, parts: put_together(*parts))
REGISTERED[FirstEntries] = (lambda _: ((), ()), lambda axes, parts: _first_entries(axes, *parts))


def _first_entries(axes: Sequence[int], whole: Operand, *counts: Operand) -> Operand:
    if any(np.ndim(count) for count in counts):
        raise ArgumentMismatch("results have shapes that are data, which differ between rows", got=f"{len(counts[0])} rows",
                               fix="call the function for each row; or return arrays of one shape")  # fmt: skip
    index = [slice(None)] * np.ndim(whole)
    for axis, count in zip(axes, counts):
        index[axis] = slice(int(count))
    return np.array(whole[tuple(index)])


def first_entries(axes: Sequence[int]) -> TreeDef:
    """The treedef of a result that is the first entries of an array along some axes, counted from the end."""
    return TreeDef(FirstEntries, (_Value(tuple(axes)),), (ARRAY,) * (1 + len(axes)))


def has_first_entries(treedef: TreeDef | None) -> bool:
    """True if a result's shape is data."""
    return treedef is not None and (treedef.kind is FirstEntries or any(map(has_first_entries, treedef.parts)))


def register_container(
    cls: type, flatten: TakeApart, unflatten: PutTogether
) -> type:
    """Make a class a container, as dicts and dataclasses are: as argument, result, and structure of gradients.

    Args:
        cls: the class; its subclasses are not included.
        flatten: flatten(object) -> (parts, rest): the parts that hold arrays, and the rest of the object, hashable.
        unflatten: unflatten(rest, parts) -> object; the parts may be tracked arrays, so it must not look at them.

    Returns:
        The class.

    Source: the order of arguments is that of jax.tree_util.register_pytree_node.
    """
    REGISTERED[cls] = (flatten, unflatten)
    return cls


def is_registered(kind: type) -> bool:
    """True if a class was given to register_container. The classes of scipy.sparse are registered at their first use."""
    if kind not in REGISTERED and kind.__module__.startswith("scipy.sparse."):
        import_module(f"{__name__.partition('.')[0]}.sparse.arrays").register(kind)  # above this folder, and needed by few programs
    return kind in REGISTERED


def is_made_for(treedef: TreeDef, kind: type, parts: Sequence[Tree]) -> bool:
    """True if unflattening the treedef gives a `kind`: functions and callers get such objects in place of SciPy's matrices."""
    if not is_registered(treedef.kind) or len(treedef.keys) != 1:  # type: ignore[arg-type]  # of a container
        return False
    return type(REGISTERED[treedef.kind][1](treedef.keys[0].value, parts)) is kind  # type: ignore[index]


def is_dataclass(tree: object) -> bool:
    return hasattr(type(tree), "__dataclass_fields__")


def parts_of(tree: Tree) -> tuple[type, tuple[Hashable, ...], Sequence[Tree]] | None:
    """The type, keys and parts of a container, dicts in their own order; None for other values."""
    kind = type(tree)
    if is_complex(tree):
        return Pair, (_Value(None),), taken_apart(tree)
    if kind in REGISTERED:
        parts, rest = REGISTERED[kind][0](tree)
        return kind, (_Value(rest),), tuple(parts)
    if kind is tuple or kind is list or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        return kind, (), tree
    if kind is dict or kind is OrderedDict:
        return kind, tuple(tree), tuple([tree[key] for key in tree])
    if is_dataclass(tree):
        names = tuple(field.name for field in dataclasses.fields(kind))
        return kind, names, tuple(getattr(tree, name) for name in names)
    return None


def static_leaf(value: object) -> TreeDef:
    """The treedef of a value other than an array or container; raises TypeError if it is not hashable."""
    held = _Value(value)
    hash(held)
    return TreeDef(type(value), held)


def held_leaf(value: Any) -> TreeDef:
    """The treedef of anything that is passed on unchanged; arrays are copied."""
    try:
        value_key(value)
    except InvalidGuardValue:
        return TreeDef(type(value), _Held(value))
    return static_leaf(value)


def is_static(treedef: TreeDef) -> bool:
    """True if a treedef is that of a single value other than an array."""
    return isinstance(treedef.keys, _Value)


def flatten(tree: Tree, *, arguments: bool = False, settles: bool = True) -> tuple[list[Tree], TreeDef]:
    """The arrays and numbers of a tree, and its treedef.

    Args:
        tree: tuples, named tuples, lists and dicts of arrays and numbers; other values become part of the treedef.
        arguments: mark Python integers in the treedef, and make Python bools part of it.
        settles: take the arrays that operands of type `Computes` stand for; else they are leaves themselves.
    """
    leaves: list[Tree] = []
    return leaves, _flatten(tree, leaves, arguments, settles)


def _flatten(tree: Tree, leaves: list[Tree], arguments: bool, settles: bool = True) -> TreeDef:
    kind = type(tree)
    if issubclass(kind, Computes):
        if not settles:
            leaves.append(tree)
            return ARRAY
        tree = tree.settled()
        kind = type(tree)
    is_array = isinstance(tree, (np.ndarray, np.number, np.bool_))
    if kind is complex or (is_array and not is_tracked(tree) and tree.dtype.kind == "c"):
        return TreeDef(Pair, (_Value(None),), tuple(_flatten(part, leaves, arguments, settles) for part in taken_apart(tree)))
    if is_tracked(tree) or kind is float or kind is int or is_array:
        leaves.append(tree)
        return INTEGER if kind is int and arguments else ARRAY
    if kind is bool and not arguments:
        leaves.append(tree)
        return ARRAY
    if isinstance(tree, (tuple, list)):
        return TreeDef(kind, (), tuple(_flatten(part, leaves, arguments, settles) for part in tree))
    if kind is dict or kind is OrderedDict:
        # Sorted, as dicts are equal in any order, and OrderedDicts are not.
        keys = tuple(sorted(tree) if kind is dict and all(type(key) is str for key in tree) else tree)
        return TreeDef(kind, keys, tuple(_flatten(tree[key], leaves, arguments, settles) for key in keys))
    if kind in REGISTERED or (is_dataclass(tree) and holds_arrays(tree)):
        _, keys, parts = parts_of(tree) or (None, (), ())
        return TreeDef(kind, keys, tuple(_flatten(part, leaves, arguments, settles) for part in parts))
    try:
        value = _Value(tree)
        hash(value)
    except TypeError as error:
        raise ArgumentMismatch(
            "a value is neither an array, a tuple, list or dict of arrays, nor hashable", got=type(tree).__name__,
            fix="pass its arrays in a tuple or dict",
        ) from error  # fmt: skip
    return TreeDef(kind, value)


def holds_arrays(tree: Tree) -> bool:
    """True if there is an array, a tracked value or a float somewhere in a tree."""
    if is_tracked(tree) or type(tree) is float or isinstance(tree, (np.ndarray, np.generic)):
        return True  # also for complex arrays, which pretend to be NumPy's
    found = parts_of(tree)
    return found is not None and any(map(holds_arrays, found[2]))


def holds_tracked(tree: Tree) -> bool:
    """True if there is a tracked value somewhere in a tree."""
    found = None if is_tracked(tree) else parts_of(tree)
    return is_tracked(tree) if found is None else any(map(holds_tracked, found[2]))


def unflatten(treedef: TreeDef, leaves: Iterable[Tree]) -> Tree:
    """The tree of this treedef with these arrays, or with the next ones of an iterator."""
    return _unflatten(treedef, iter(leaves))


def _unflatten(treedef: TreeDef, leaves: Iterator[Tree]) -> Tree:
    kind, keys, parts = treedef
    if kind is None:
        return next(leaves)
    if isinstance(keys, _Value):
        return own_value(treedef)
    return assembled(treedef, [_unflatten(part, leaves) for part in parts])


def own_value(treedef: TreeDef) -> Tree:
    """A value of a treedef, for the caller: arrays are copied."""
    value = treedef.keys.value
    return value.copy() if isinstance(value, np.ndarray) else value


def assembled(treedef: TreeDef, made: list[Tree]) -> Tree:
    """The container of a treedef with these parts."""
    kind: Tree = treedef.kind
    keys = treedef.keys
    if kind is tuple or kind is list:
        return kind(made)
    if kind is dict or kind is OrderedDict:
        return kind(zip(keys, made))
    if kind in REGISTERED:
        return REGISTERED[kind][1](keys[0].value, made)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, made)  # a named tuple, whose constructor may have other parameters
    return _dataclass(kind, keys, made) if hasattr(kind, "__dataclass_fields__") else kind(made)


def _dataclass(kind: type, names: Sequence[str], values: Sequence[Tree]) -> Tree:
    """An object with these fields, made without its constructor, which may look at the values, or compute fields from others."""
    made = object.__new__(kind)
    for name, value in zip(names, values):
        object.__setattr__(made, name, value)
    return made


def integers(treedef: TreeDef) -> list[int]:
    """The positions of Python integers among the arrays of a tree."""
    return [k for k, leaf in enumerate(_leaves(treedef)) if leaf == INTEGER]


def _leaves(treedef: TreeDef) -> list[TreeDef]:
    return [treedef] if treedef.kind is None else [leaf for part in treedef.parts for leaf in _leaves(part)]


def count_leaves(treedef: TreeDef) -> int:
    """The number of arrays in a tree."""
    return 1 if treedef.kind is None else sum(map(count_leaves, treedef.parts))


def has_values(treedef: TreeDef) -> bool:
    """True if a treedef holds values other than arrays."""
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
    if hasattr(kind, "__dataclass_fields__") and kind not in REGISTERED:
        text = ", ".join(f"{name}={part}" for name, part in zip(keys, inside))
    return f"({text})" if kind is tuple else f"{kind.__name__}({text})"


def packed(treedef: TreeDef, names: list[str]) -> str:
    """A Python expression that builds a tree of this treedef from arrays with these names, which are popped from the list."""
    if treedef.kind is None:
        return names.pop(0)
    if not treedef.parts and treedef.kind not in (tuple, list):
        return repr(None)
    inside = [packed(part, names) for part in treedef.parts]
    return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"


def paths(treedef: TreeDef, path: str = "") -> list[str]:
    """The path from the root of a tree to each array."""
    if treedef.kind is None:
        return [path]
    return [p for k, part in enumerate(treedef.parts) for p in paths(part, f"{path}[{k}]")]


def has_only_tuples(treedef: TreeDef) -> bool:
    """True if a tree consists of tuples alone, which numba's types can express."""
    if treedef.kind is None or (not treedef.parts and treedef.kind is type(None)):
        return True
    return treedef.kind is tuple and all(map(has_only_tuples, treedef.parts))
