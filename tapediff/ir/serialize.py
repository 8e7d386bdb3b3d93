"""The pickled form of tapes: a few arrays and tables instead of an object for each instruction."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from ..base.source_location import Site
from .instruction import CONSTANT, FLOAT64, AnyType, Instruction, Operand, Params, Primitive

# As in the recorder: calling the class costs three times as much.
_new_tuple = tuple.__new__

Entry = TypeVar("Entry")
# The pickled fields of an object, by name; for a tape, tables and arrays.
State: TypeAlias = dict[str, Any]


class _Table(Generic[Entry]):
    """The distinct items of a sequence, in order of first occurrence, and the index of each item among them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.places: list[int] = []
        self._known: dict[Hashable, int] = {}

    def add(self, key: Hashable, entry: Entry) -> None:
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = len(self.entries)
            self.entries.append(entry)
        self.places.append(place)

    def packed(self) -> tuple[list[Entry], np.ndarray]:
        return self.entries, np.array(self.places, np.int32)


def packed(instructions: Sequence[Instruction]) -> State:
    """The instructions as tables of ops, types, sites and parameters, arrays of indices into these, and arrays of operands."""
    ops, types, sites, params = _Table[Primitive](), _Table[AnyType](), _Table[Site | None](), _Table[Params]()
    operands: list[int] = []
    counts: list[int] = []
    numbers: list[np.ndarray] = []
    for op, inputs, parameters, type_, site in instructions:
        ops.add(op, op)
        types.add(type_, type_)
        sites.add(id(site), site)
        if op is CONSTANT and type_.shape == () and type_.dtype == FLOAT64:
            numbers.append(parameters[0])
            params.places.append(-1)
        else:
            # By identity, as 1 == 1.0 == True.
            params.add(id(parameters), parameters)
        operands += inputs
        counts.append(len(inputs))
    params.entries = [_without_dtypes(entry) for entry in params.entries]
    return {
        "ops": ops.packed(), "types": types.packed(), "sites": sites.packed(), "params": params.packed(),
        "operands": np.array(operands, np.int32), "counts": np.array(counts, np.int32), "numbers": np.array(numbers, np.float64),
    }  # fmt: skip


def unpacked(state: State) -> tuple[Instruction, ...]:
    """The instructions again."""
    ops, types, sites = (_column(*state[name]) for name in ("ops", "types", "sites"))
    entries, places = state["params"]
    entries = [_with_dtypes(entry) for entry in entries]
    operands, end = state["operands"].tolist(), 0
    numbers = iter(_frozen(np.array(state["numbers"], np.float64)))
    result = []
    for op, type_, site, place, count in zip(ops, types, sites, places.tolist(), state["counts"].tolist()):
        start, end = end, end + count
        params = entries[place] if place >= 0 else (next(numbers),)
        result.append(_new_tuple(Instruction, (op, tuple(operands[start:end]), params, type_, site)))
    return tuple(result)


def _column(entries: list[Entry], places: np.ndarray) -> list[Entry]:
    return [entries[place] for place in places.tolist()]


def _frozen(numbers: np.ndarray) -> list[np.ndarray]:
    """Read-only 0-d views."""
    numbers.flags.writeable = False
    return [numbers[k, ...] for k in range(numbers.size)]


class _DtypeName(str):
    """A dtype among parameters. Unpickled dtypes equal NumPy's own but are not identical, so comparisons by `is` would fail."""

    __slots__ = ()


def _without_dtypes(params: Params) -> Params:
    return tuple([_DtypeName(p.str) if isinstance(p, np.dtype) else p for p in params])


def _with_dtypes(params: Params) -> Params:
    return tuple([_restored(p) for p in params])


def _restored(param: Operand) -> Operand:
    if type(param) is _DtypeName:
        return np.dtype(str(param))
    if isinstance(param, np.ndarray):
        array = param.view(np.dtype(param.dtype.str))
        array.flags.writeable = False
        return array
    return param
