"""A function of one row, over the rows of its arguments: one recorded loop, whose iterations are independent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import ArgumentMismatch, ShapeMismatch
from ..ir.instruction import Operand, Tree
from ..ir.pytree import (
    ARRAY,
    TreeDef,
    count_leaves,
    describe_treedef,
    flatten,
    holds_tracked,
    parts_of,
    paths,
    unflatten,
)
from .loops import scan

# An axis, None for an argument that all rows share, or a container of these with the structure of an argument.
Axes = Tree


def vmap(f: Callable[..., Tree], /, *args: Tree, in_axes: Axes = 0, out_axes: Axes = 0, **named: Tree) -> Tree:
    """Call f for each row of its arguments, and stack the results; see td.vmap."""
    # Further arguments, which a GuardedTape may have got by name, have rows along their first axis.
    given_axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(given_axes) > len(args):
        raise ArgumentMismatch("in_axes of td.vmap has more entries than there are arguments",
                               got=f"{len(given_axes)} for {len(args)} arguments", fix="an axis for each, or one for all")  # fmt: skip
    labels = [*(f"argument {k}" for k in range(len(args))), *(f"argument {name}" for name in named)]
    streams: list[Operand] = []
    counts: dict[int, str] = {}
    pairs = zip((*args, *named.values()), (*given_axes, *[0] * len(labels)), labels)
    # In tuples, as a body's closure is searched for tracked values in a few levels of lists and dicts only.
    given = tuple([_split(*one, streams, counts) for one in pairs])
    if not streams:
        raise ArgumentMismatch("td.vmap was given no argument with rows", got=f"in_axes={in_axes!r}", fix="call the function itself")
    if len(counts) > 1:
        raise ShapeMismatch(
            "arguments of td.vmap have different numbers of rows", got=", ".join(f"{n} in {label}" for n, label in counts.items()),
            fix="name the axis of the rows in in_axes=; None for an argument that all rows share; stack a list of rows, np.stack(rows), "
            "padded to one length",
        )  # fmt: skip

    def row(_: None, entries: Sequence[Operand]) -> tuple[None, Tree]:
        rest = iter(entries)
        values = [unflatten(treedef, [next(rest) if one is None else one[0] for one in shared]) for treedef, shared in given]
        return None, f(*values[: len(args)], **dict(zip(named, values[len(args) :])))

    row.__name__ = getattr(f, "__name__", "f")
    row.__dict__["verb"] = "td.vmap"  # for messages
    leaves, treedef = flatten(scan(row, None, streams)[1])
    axes = _expanded(out_axes, treedef, "the result")
    placed = [_moved(leaf, 0, axis, "the result") for leaf, axis in zip(leaves, axes) if axis is not None]
    if len(placed) < len(leaves):
        raise ArgumentMismatch("out_axes of td.vmap names an axis for every result", got=f"out_axes={out_axes!r}",
                               fix="compute what is the same for all rows outside")  # fmt: skip
    return unflatten(treedef, placed)


def _split(
    value: Tree, axes: Axes, label: str, streams: list[Operand], counts: dict[int, str]
) -> tuple[TreeDef, tuple[tuple[Operand] | None, ...]]:
    """The structure of an argument, and its leaves that all rows share, None in place of those with rows.

    Args:
        streams: receives those with rows, along their first axis.
        counts: receives the numbers of rows, with the argument that has them.
    """
    # What all rows share may be any object.
    leaves, treedef = ([value], ARRAY) if axes is None and not holds_tracked(value) else flatten(value)
    shared: list[tuple[Operand] | None] = []
    for leaf, axis, place in zip(leaves, _expanded(axes, treedef, label), paths(treedef, label) if len(leaves) > 1 else [label]):
        shared.append((leaf,) if axis is None else None)
        if axis is not None:
            streams.append(_moved(leaf, axis, 0, place))
            counts.setdefault(np.shape(streams[-1])[0], place)
    return treedef, tuple(shared)


def _moved(leaf: Operand, source: int, destination: int, label: str) -> Operand:
    """The array with its rows along another axis."""
    rank = np.ndim(leaf)
    for axis in (source, destination):
        if not -rank <= axis < rank:
            raise ShapeMismatch(f"{label} of td.vmap has no axis {axis} of rows", got=f"shape {np.shape(leaf)}",
                                fix="in_axes= and out_axes= name the axes; None for an argument that all rows share")  # fmt: skip
    return leaf if source == destination else np.moveaxis(leaf, source, destination)


def _expanded(axes: Axes, treedef: TreeDef, label: str) -> list[int | None]:
    """The axis of each leaf, of one axis for all or a container of axes."""
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        return [None if axes is None else int(axes)] * count_leaves(treedef)
    found = parts_of(axes)
    kind, keys, parts = found or (None, (), ())
    if kind is dict and treedef.kind is dict:
        parts = [parts[keys.index(key)] for key in treedef.keys if key in keys]
    if found is None or kind is not treedef.kind or len(parts) != len(treedef.parts) or len(keys) != len(treedef.keys):
        raise ArgumentMismatch(
            f"the axes of {label} of td.vmap have another structure", got=f"{axes!r} for {describe_treedef(treedef)}",
            fix="one axis for all arrays, or a container of axes with the argument's structure",
        )  # fmt: skip
    return [axis for part, inside in zip(parts, treedef.parts) for axis in _expanded(part, inside, label)]
