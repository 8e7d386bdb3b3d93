"""Containers of arrays, as arguments and gradients may be: mapped leaf by leaf, flattened, and raveled into one vector.

Containers are dicts, tuples, named tuples, lists, dataclasses and the classes given to td.register_container. Their leaves are arrays and
numbers, plain or tracked; None, strings and other values belong to the structure. A complex value is a container of two real leaves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .errors import ArgumentMismatch, DtypeMismatch, ShapeMismatch
from .ir.instruction import Operand, Tree
from .ir.pytree import TreeDef, count_leaves, describe_treedef, flatten as _flatten, unflatten as _unflatten

__all__ = ["flatten", "leaves", "map", "ravel", "unflatten"]


def flatten(tree: Tree) -> tuple[list[Operand], TreeDef]:
    """The leaves of a container, and its structure.

    Args:
        tree: a container, an array or a number. The leaves are not copied.

    Returns:
        (leaves, treedef): the leaves in order, those of a dict by its sorted keys where these are strings; and the rest, which can be
        compared and hashed.

    Raises:
        ArgumentMismatch: a value that is neither an array, a container nor hashable.

    Cost: linear in the number of leaves.
    Source: names and order of results are those of jax.tree.flatten.
    """
    return _flatten(tree)


def leaves(tree: Tree) -> list[Operand]:
    """The leaves of a container; see td.tree.flatten."""
    return _flatten(tree)[0]


def unflatten(treedef: TreeDef, leaves: Iterable[Tree]) -> Tree:
    """The container of a structure with these leaves.

    Args:
        treedef: of td.tree.flatten.
        leaves: as many as the structure has; any values.

    Raises:
        ArgumentMismatch: another number of leaves.

    Source: the signature is that of jax.tree.unflatten.
    """
    given = list(leaves)
    if len(given) != count_leaves(treedef):
        raise ArgumentMismatch(
            "td.tree.unflatten was given another number of leaves than the structure has",
            got=f"{len(given)} leaves for {describe_treedef(treedef)}", fix="td.tree.unflatten(treedef, leaves)",
        )  # fmt: skip
    return _unflatten(treedef, given)


def map(f: Callable[..., Tree], tree: Tree, *rest: Tree) -> Tree:
    """A container of the same structure, of f's results for each leaf.

    Args:
        f: called with a leaf of each container.
        tree, rest: containers of one structure; leaves may differ in shape and dtype.

    Raises:
        ArgumentMismatch: containers of different structures.

    Cost: one call of f for each leaf.
    Source: the signature is that of jax.tree.map.

    ```python
    updated = td.tree.map(lambda p, g: p - 0.1 * g, parameters, td.gradient(loss, parameters))
    ```
    """
    first, treedef = _flatten(tree)
    columns = [first]
    for number, other in enumerate(rest, 2):
        found, its = _flatten(other)
        if its != treedef:
            raise ArgumentMismatch(
                f"td.tree.map goes through containers of one structure, and container {number} has another",
                got=f"{describe_treedef(treedef)} and {describe_treedef(its)}",
            )  # fmt: skip
        columns.append(found)
    return _unflatten(treedef, [f(*row) for row in zip(*columns)])


def ravel(tree: Tree) -> tuple[Operand, Callable[[Operand], Tree]]:
    """The leaves of a container as one vector, and the function from such vectors to containers.

    Args:
        tree: a container of float arrays and numbers, plain or tracked.

    Returns:
        (vector, unravel): a vector of float64, or of float32 where all leaves are float32; unravel(vector) has the structure, shapes and
        dtypes of `tree`, with arrays of its own. unravel can be pickled, and takes tracked vectors.

    Raises:
        DtypeMismatch: an array of integers or booleans, which a vector of floats would not give back.
        ShapeMismatch: unravel was given a vector of another length.

    Cost: one copy of each leaf.
    Source: names and results are those of jax.flatten_util.ravel_pytree.

    ```python
    start, unravel = td.tree.ravel({"a": np.zeros(3), "b": 1.0})
    objective = td.value_and_grad(lambda x: loss(unravel(x)))
    ```
    """
    found, treedef = _flatten(tree)
    arrays = [np.float64(leaf) if type(leaf) in (float, int) else leaf for leaf in found]
    for kind in {np.dtype(getattr(array, "dtype", bool)) for array in arrays}:
        if kind.kind != "f":
            raise DtypeMismatch("td.tree.ravel takes floats", got=f"a leaf of dtype {kind}",
                                fix="pass floats, np.asarray(x, float); keep data in a container of its own")  # fmt: skip
    layout = tuple((np.shape(array), str(array.dtype)) for array in arrays)
    unravel = functools.partial(_unraveled, treedef, layout)
    if not arrays:
        return np.zeros(0), unravel
    dtype = np.result_type(*[array.dtype for array in arrays])
    return np.concatenate([np.ravel(array).astype(dtype) for array in arrays]), unravel


def _unraveled(treedef: TreeDef, layout: Sequence[tuple[tuple[int, ...], str]], vector: Operand) -> Tree:
    """The container with the entries of a vector."""
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape, _ in layout)]).tolist()
    vector = np.asarray(vector) if isinstance(vector, (list, tuple)) else vector
    if np.shape(vector) != (ends[-1],):
        raise ShapeMismatch("a vector does not have the entries of the container that was raveled",
                            got=f"shape {np.shape(vector)}, not ({ends[-1]},)")  # fmt: skip
    parts = []
    for start, end, (shape, dtype) in zip(ends, ends[1:], layout):
        part = vector[start:end].reshape(shape).copy() if shape else vector[start]
        parts.append(part if part.dtype == dtype else part.astype(dtype))
    return _unflatten(treedef, parts)
