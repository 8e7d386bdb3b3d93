"""The auxiliary results of a function that returns (y, aux): the part that depends on tracked values, and the rest, which must not."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import ArgumentMismatch, TrackedValueEscaped
from .instruction import Computes, is_tracked
from .pytree import ARRAY, TreeDef, held_leaf, parts_of

# Most values inside an object that are visited.
MOST_LOOKED_AT = 10_000

# A variable of a closure that is not assigned yet.
EMPTY_CELL = CellType()


def split_result(result: Any, name: str) -> tuple[Any, Any]:
    """y and aux of what a function returned.

    Raises:
        ArgumentMismatch: the result is not a pair.
    """
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        got = f"a {type(result).__name__} of {len(result)}" if isinstance(result, (tuple, list)) else type(result).__name__
        raise ArgumentMismatch(f"with has_aux=True, {name} must return (y, aux)", got=got,
                               fix="return the value and a container of everything else")  # fmt: skip
    return result[0], result[1]


def flatten_aux(aux: Any, name: str) -> tuple[list[Any], TreeDef]:
    """The tracked values in auxiliary results, and a treedef that holds everything else.

    Raises:
        TrackedValueEscaped: a tracked value is in an object that is not a container, where it could not be recomputed.
    """
    leaves: list[Any] = []
    return leaves, _flatten(aux, leaves, name)


def _flatten(tree: Any, leaves: list[Any], name: str) -> TreeDef:
    if _is_recorded(tree):
        leaves.append(tree)
        return ARRAY
    found = None if isinstance(tree, np.ndarray) else parts_of(tree)
    if found is not None:
        return TreeDef(found[0], found[1], tuple([_flatten(part, leaves, name) for part in found[2]]))
    if any(map(_is_recorded, _inside(tree))):
        raise TrackedValueEscaped(
            f"the auxiliary result of {name} holds a tracked value in an object that is no container", got=type(tree).__name__,
            fix="return tuples, lists, dicts or dataclasses; td.register_container makes a class a container",
        )  # fmt: skip
    return held_leaf(tree.copy() if isinstance(tree, np.ndarray) else tree)


def _is_recorded(value: Any) -> bool:
    """True if a value is tracked, or an array in which there are tracked values."""
    # Tracked arrays pretend to be arrays, WholeNumber to be int.
    if is_tracked(value) or issubclass(type(value), Computes) or is_tracked(getattr(value, "tracked", None)):
        return True
    return isinstance(value, np.ndarray) and value.dtype == object and any(map(is_tracked, value.flat))


# Types without values inside that could be tracked.
_OPAQUE = (bool, int, float, complex, str, bytes, type(None), type, ModuleType, np.ndarray, np.generic, np.dtype)


def _inside(root: Any) -> Iterator[Any]:
    """The contents of an object, at any depth: attributes, entries, and the closure of a function."""
    seen, pending = {id(root)}, [root]
    while pending and len(seen) <= MOST_LOOKED_AT:
        for value in _next(pending.pop()):
            if id(value) in seen or (isinstance(value, _OPAQUE) and not _is_recorded(value)):
                continue
            seen.add(id(value))
            yield value
            pending.append(value)


def _next(value: Any) -> list[Any]:
    if isinstance(value, _OPAQUE):
        return []
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != EMPTY_CELL]
        return [*cells, *(value.__defaults__ or ())]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    found = list(getattr(value, "__dict__", {}).values())
    found += [getattr(value, name) for kind in type(value).__mro__ for name in _slots(kind) if hasattr(value, name)]
    if isinstance(value, dict):
        found += [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
        found += list(value)
    return found


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
