"""Containers as arguments and results: which values are containers, their contents, and mismatches with the recorded ones."""

from __future__ import annotations

import enum
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NoReturn, Protocol, TypeVar

import numpy as np

from ..errors import ArgumentMismatch, DtypeMismatch
from .arguments import (
    MARKS,
    Cache,
    Constant,
    ConstantOrCache,
    Mark,
    Output,
    argument_name,
    container_kind,
    container_refused,
    holds_only_numbers,
    marked,
    unwrap,
)
from .buffers import Buffer, buffer_of, require_apart
from .instruction import Computes, Tree, UserFunction, ValueType, is_tracked
from .pytree import (
    ARRAY,
    MIXED,
    NOTHING,
    REGISTERED,
    TreeDef,
    count_leaves,
    first_entries,
    holds_arrays,
    is_complex,
    is_dataclass,
    is_made_for,
    is_registered,
    is_static,
    parts_of,
    static_leaf,
    unflatten,
)

Trees = tuple[TreeDef, ...]


class Dataclass(Protocol):
    """Any dataclass, to type checkers."""

    __dataclass_fields__: ClassVar[dict[str, Tree]]


# A container as argument: its gradient is one of the same type. Lists are excluded, as a list of numbers stands for an array.
Container = TypeVar("Container", bound=dict[Tree, Tree] | tuple[Tree, ...] | Dataclass)

# Argument types other than containers: a fast test for nearly every argument.
_ONE_VALUE = frozenset((np.ndarray, float, int, bool, str, bytes, type(None), np.float64, np.float32, np.int64))


def is_container(argument: Tree) -> bool:
    """True if an argument is flattened: anything with parts, except lists of numbers only, which stand for an array.

    A dataclass without arrays and floats is a setting, like a string.
    """
    kind = type(argument)
    if kind in _ONE_VALUE:
        return False
    if kind is tuple or kind is dict:
        return True
    if kind is list:
        return not holds_only_numbers(argument)
    if kind in MARKS:
        return kind is not Constant or is_container(argument.value)
    if is_tracked(argument) or is_complex(argument):
        return False
    return is_registered(kind) or (holds_arrays(argument) if is_dataclass(argument) else parts_of(argument) is not None)


def flatten_arguments(
    args: Sequence[Tree], whole: Sequence[int] = (), f: UserFunction | None = None
) -> tuple[list[Tree], Trees | None]:
    """The arrays and numbers in the arguments, and the treedef of each; None where no argument is a container.

    Args:
        args: the arguments of a call.
        whole: positions of arguments that are not flattened.
        f: the function, for messages.
    """
    if not any(map(is_container, args)):
        return list(args), None
    leaves: list[Tree] = []
    trees: list[TreeDef] = []
    for position, argument in enumerate(args):
        inside, tree = ([argument], ARRAY) if position in whole else flatten_argument(argument, position, f)
        leaves += inside
        trees.append(tree)
    if any(map(has_buffers, trees)):
        require_separate(args)
    return leaves, tuple(trees)


def flatten_argument(argument: Tree, position: int = 0, f: UserFunction | None = None) -> tuple[list[Tree], TreeDef]:
    """The arrays and numbers in one argument, and its treedef."""
    if not is_container(argument):
        return [argument], ARRAY
    leaves: list[Tree] = []
    return leaves, _flatten(argument, leaves, lambda part: _refused(part, position, f))


def _flatten(tree: Tree, leaves: list[Tree], refuse: Callable[[object], NoReturn], mark: Mark | None = None) -> TreeDef:
    kind = type(tree)
    if kind in MARKS:
        return _flatten(tree.value, leaves, refuse, kind)
    if not is_container(tree):
        if kind is list or is_tracked(tree) or (kind is not bool and _is_leaf(tree)):
            if mark is Cache or mark is Output:
                return static_leaf(buffer_of(tree, mark))
            leaves.append(tree if mark is None else Constant(tree))
            return ARRAY if mark is not ConstantOrCache else MIXED
        if container_kind(tree) is not None and not is_dataclass(tree):
            refuse(tree)
        return _static(tree, refuse)
    container, keys, parts = parts_of(tree) or (None, (), ())
    return TreeDef(container, keys, tuple([_flatten(part, leaves, refuse, mark) for part in parts]))


def _is_leaf(value: object) -> bool:
    return isinstance(value, (np.ndarray, np.generic, numbers.Number)) or (
        hasattr(value, "__array__") and not isinstance(value, type)
    )


def _static(value: object, refuse: Callable[[object], NoReturn]) -> TreeDef:
    if hasattr(value, "__next__"):
        refuse(value)
    try:
        return static_leaf(value)
    except TypeError:
        refuse(value)


def _refused(part: object, position: int, f: UserFunction | None) -> NoReturn:
    container = container_kind(part)
    if container is not None:
        raise container_refused(container, position, f)
    raise DtypeMismatch(
        f"{argument_name(position, f)} holds something that is neither an array nor a container nor hashable",
        got=type(part).__name__, fix="pass arrays, numbers, strings and None; td.register_container makes a class a container",
    )  # fmt: skip


def flatten_result(result: Tree) -> tuple[list[Tree], TreeDef]:
    """The values that a function returned, and their treedef."""
    leaves: list[Tree] = []
    return leaves, _flatten_result(result, leaves)


# Types allowed among results besides arrays; anything else is converted to an array, or refused.
_NAMES = (str, bytes, type(None), enum.Enum, type)


def _flatten_result(tree: Tree, leaves: list[Tree], is_inside: bool = False) -> TreeDef:
    if issubclass(type(tree), Computes) and (parts := tree.first_entries()) is not None:
        axes, arrays = parts
        leaves += arrays
        return first_entries(axes)
    is_array = isinstance(tree, np.ndarray) and not is_complex(tree)
    found = None if is_tracked(tree) or is_array else parts_of(tree)
    if found is not None:
        return TreeDef(found[0], found[1], tuple([_flatten_result(part, leaves, True) for part in found[2]]))
    if is_inside and isinstance(tree, _NAMES):
        return static_leaf(tree)
    leaves.append(tree)
    return ARRAY


def _is_buffer(tree: Tree, recorded: Buffer) -> bool:
    """True if an argument is a td.Cache or td.Output of one array like the recorded one."""
    mark = type(tree)
    if mark is not Cache and mark is not Output:
        return False
    is_one = isinstance(tree.value, (np.ndarray, list)) or is_tracked(tree.value)
    return is_one and buffer_of(tree.value, mark) == recorded


# Recorded and given


def flatten_as(treedef: TreeDef, tree: Tree, leaves: list[Tree], *, is_exact: bool = True) -> bool:
    """Append the leaves of a tree that should have this treedef; False if it has another.

    Args:
        is_exact: values other than arrays must equal those of the treedef; else they may be anything, as in a tangent.
    """
    if treedef.kind is None:
        leaves.append(tree)
        return True
    if treedef.kind is Buffer:
        return not is_exact or _is_buffer(tree, treedef.keys.value)
    if is_static(treedef):
        tree = unwrap(tree)
        return not is_exact or treedef.keys.is_like(tree)
    mark = type(tree) if type(tree) in MARKS else None
    found = parts_of(tree if mark is None else tree.value)
    if found is None or found[1] != treedef.keys or len(found[2]) != len(treedef.parts):
        return False
    if found[0] is not treedef.kind and not is_made_for(treedef, found[0], found[2]):
        return False
    parts = found[2] if mark is None else [marked(mark, part) for part in found[2]]
    return all(flatten_as(inside, part, leaves, is_exact=is_exact) for inside, part in zip(treedef.parts, parts))


def leaf_names(names: Sequence[str], trees: Trees) -> list[str]:
    """The names of the leaves of arguments in messages: params['w'][0]."""
    return [name for root, tree in zip(names, trees) for name, _ in entries(tree, root)]


def entries(treedef: TreeDef, root: str) -> Iterator[tuple[str, TreeDef]]:
    """The leaves of a treedef, including values other than arrays, each with the expression that reaches it."""
    if treedef.kind is None:
        yield root, treedef
    elif not is_static(treedef):
        yield from (entry for text, part in _inside(treedef) for entry in entries(part, root + text))


def _inside(treedef: TreeDef) -> Iterator[tuple[str, TreeDef]]:
    kind, keys, parts = treedef
    for k, part in enumerate(parts):
        if kind in REGISTERED or not keys:
            name = getattr(kind, "_fields", ())[k : k + 1]
            yield (f".{name[0]}" if name else f"[{k}]"), part
        else:
            yield (f".{keys[k]}" if hasattr(kind, "__dataclass_fields__") else f"[{keys[k]!r}]"), part


def part_names(treedef: TreeDef) -> Sequence[Tree]:
    """The names of the parts of a container: keys of a dict, names of fields, else positions."""
    kind, keys, parts = treedef
    return list(getattr(kind, "_fields", range(len(parts)))) if kind in REGISTERED or not keys else list(keys)


def rows_of(treedef: TreeDef, leaves: Iterator[Tree], root: str) -> Iterator[tuple[str, str]]:
    """The rows (name, type) of a table of arguments: one for each leaf, value and empty container."""
    if treedef.kind is None:
        yield root, _type_text(next(leaves))
    elif is_static(treedef):
        yield root, repr(treedef.keys)
    else:
        what = treedef.kind.__name__
        if treedef.keys and treedef.kind not in REGISTERED and not hasattr(treedef.kind, "__dataclass_fields__"):
            what += " of " + ", ".join(map(repr, treedef.keys))
        yield root, what if treedef.keys else f"{what} of {len(treedef.parts)}"
        for text, part in _inside(treedef):
            yield from rows_of(part, leaves, root + text)


def _type_text(leaf: Tree) -> str:
    if isinstance(leaf, ValueType):
        return str(leaf)
    if is_tracked(leaf):
        return str(leaf.type)
    array = np.asarray(leaf.value if type(leaf) is Constant else leaf)
    dtype = np.dtype(np.int64) if array.dtype.kind in "iu" else array.dtype
    return str(ValueType(array.shape, dtype)) if array.dtype != object else type(leaf).__name__


def mismatch(name: str, recorded: Sequence[tuple[str, str]], given: Sequence[tuple[str, str]]) -> ArgumentMismatch:
    """The error for arguments that differ from the recorded ones: a line for each argument and leaf, with a tick or a cross."""
    old, new = dict(recorded), dict(given)
    width = max(map(len, {**old, **new}), default=0)
    rows = [(key, old.get(key, "nothing"), new.get(key, "nothing")) for key in {**old, **new}]
    lines = [f"{'✓' if a == b else '✗'} {key:<{width}}  recorded {a}, given {b}" for key, a, b in rows]
    return ArgumentMismatch(
        f"the arguments of {name} differ from the recorded ones", got="\n       ".join(lines),
        fix="pass arguments of the recorded structure; or use td.GuardedTape(f), which keeps a tape for each",
    )  # fmt: skip


# Derivatives


def positions_of(trees: Trees) -> list[range]:
    """The positions of the leaves of each argument among all leaves."""
    counts = [count_leaves(tree) for tree in trees]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    return [range(start, start + count) for start, count in zip(starts, counts)]


def only(treedef: TreeDef, active: Iterator[bool]) -> TreeDef:
    """The treedef of a gradient: with None in place of each leaf that is not active."""
    if treedef.kind is None:
        return ARRAY if next(active) else NOTHING
    if treedef.kind is Buffer:
        return NOTHING
    return treedef._replace(parts=tuple([only(part, active) for part in treedef.parts]))


# Buffers


def has_buffers(treedef: TreeDef) -> bool:
    """True if a treedef has arrays that the function may write to: those of td.Cache, td.Output and td.ConstantOrCache."""
    return treedef.kind is Buffer or treedef == MIXED or any(map(has_buffers, treedef.parts))


def opened(treedef: TreeDef) -> TreeDef:
    """The treedef of the arguments as the function gets them, with buffers as ordinary arrays."""
    if treedef.kind is None or treedef.kind is Buffer:
        return ARRAY
    return treedef._replace(parts=tuple(map(opened, treedef.parts)))


def slots(treedef: TreeDef) -> Iterator[Buffer | TreeDef]:
    """For each array that the function gets: the buffer, or the treedef of an input of the tape."""
    if treedef.kind is None:
        yield treedef
    elif treedef.kind is Buffer:
        yield treedef.keys.value
    else:
        for part in treedef.parts:
            yield from slots(part)


def holds_output(argument: Tree) -> bool:
    """True if an argument is a td.Output, or a container with one in it."""
    kind = type(argument)
    if kind in _ONE_VALUE or is_tracked(argument) or kind in MARKS:
        return kind is Output
    found = parts_of(argument)
    return found is not None and any(map(holds_output, found[2]))


def outputs_among(args: Sequence[Tree]) -> tuple[int, ...]:
    """The positions of the arguments that are results."""
    return tuple([k for k, argument in enumerate(args) if type(argument) not in _ONE_VALUE and holds_output(argument)])


def require_separate(args: Sequence[Tree]) -> None:
    """Raise ArgumentMismatch if an array that the function may write to shares memory with another one."""
    written: list[np.ndarray] = []
    others: list[np.ndarray] = []
    waiting: list[tuple[Tree, bool]] = [(argument, False) for argument in args]
    while waiting:
        tree, is_written = waiting.pop()
        if type(tree) in MARKS:
            waiting.append((tree.value, type(tree) is not Constant))
        elif is_tracked(tree):
            continue  # a new array
        elif isinstance(tree, np.ndarray):
            (written if is_written else others).append(tree)
        elif (found := parts_of(tree)) is not None:
            waiting += [(part, is_written) for part in found[2]]
    require_apart(written, others)


def structured(result: TreeDef | None, returns_tuple: bool, values: Sequence[Tree]) -> Tree:
    """The results of a function, as it returned them."""
    if result is not None:
        return unflatten(result, values)
    return tuple(values) if returns_tuple else values[0]
