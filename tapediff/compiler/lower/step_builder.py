"""Builds the loop steps of a tape one by one: storages for results, constants, copies and fills. Nothing is fused yet."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.instruction import FLOAT64, Instruction
from ...ir.tape import Tape
from ..loop_ir.program import KINDS, Access, Exit, Invoke, Literal, RoutineCall, Step, Storage
from ..loop_ir.views import Place, contiguous

CONSTANT_ALIGNMENT = 64

CONVERSIONS = {
    ("f64", "i64"): "to_i64(x)", ("i1", "i64"): "to_i64(x)", ("i64", "f64"): "to_f64(x)", ("i1", "f64"): "to_f64(x)",
    ("f64", "i1"): "not_equal(x, 0.0)", ("i64", "i1"): "not_equal(x, 0)",
}  # fmt: skip


class StepBuilder:
    """Collects the steps of one tape. `self.places[i]` tells where value i is, `self.tuples[i]` where the items of tuple i are."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.storages: list[Storage] = []
        self.steps: list[Step | Exit | RoutineCall | Invoke] = []
        self.places: list[Place] = []
        self.tuples: dict[int, tuple[Place, ...]] = {}
        self.constants = bytearray()
        self.failures: list[str] = []
        # The arrays that guards look at, and the outcomes that these want.
        self.looked_at: set[tuple[int, bytes]] = set()
        self._input_storages: dict[int, int] = {}
        # How numbers that operations without dimensions make are written, and read, by their storages.
        self.numbers: dict[int, Access] = {}
        # Expressions of elementwise ops in terms of r0, r1, ..., by op and by the kinds of operand and result.
        self.expressions: dict[Any, str] = {}
        self.site: Any = None

    # Storages and places

    def storage(self, shape: tuple[int, ...], kind: str, home: str = "workspace", position: int = -1) -> Place:
        size = math.prod(shape)
        self.storages.append(Storage(len(self.storages), size, kind, home, position))
        return Place(shape, len(self.storages) - 1, 0, contiguous(shape))

    def constant(self, array: np.ndarray) -> Place:
        kind = KINDS[array.dtype.kind]
        if kind == "f64":
            array = array.astype(np.float64)
        if array.size == 1:
            return Place(array.shape, -1, 0, (0,) * array.ndim, Literal(array.reshape(-1)[0].item(), kind))
        self.constants.extend(b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT))
        place = self.storage(array.shape, kind, "constant", len(self.constants))
        self.constants.extend(np.ascontiguousarray(array).tobytes())
        return place

    def kind_of(self, place: Place) -> str:
        return place.literal.kind if place.literal is not None else self.storages[place.storage].kind

    def place(self, number: int) -> Place:
        return self.places[number]

    def result(self, instruction: Instruction) -> Place:
        shape, dtype = instruction.type
        kind = "f64" if dtype is FLOAT64 else KINDS[dtype.kind]
        if shape == ():
            number = len(self.storages)
            self.storages.append(Storage(number, 1, kind))
            place = Place((), number, 0, ())
        else:
            place = self.storage(shape, kind)
        self.places.append(place)
        return place

    # Steps

    def step(
        self, domain: tuple[int, ...], reads: list[tuple[Place, tuple[int, ...]]], expression: str, target: Place,
        strides: tuple[int, ...], combine: str | None = None, **more: Any,
    ) -> None:  # fmt: skip
        """Append a step; extents of 1 are dropped from the domain. Each read is a place with its strides over the domain."""
        kept = tuple(k for k, extent in enumerate(domain) if extent != 1)
        accesses: list[Access | Literal] = []
        for place, read_strides in reads:
            if place.literal is not None:
                accesses.append(place.literal)
            else:
                accesses.append(Access(place.storage, place.offset, tuple(read_strides[k] for k in kept)))
        if more.pop("gather", False):
            first, source = accesses[0], accesses[1]
            assert isinstance(source, Access)
            accesses = [first, replace(source, via=0)]
        via = 0 if more.pop("scatter", False) else -1
        write = Access(target.storage, target.offset, tuple(strides[k] for k in kept), via)
        parameters = more.pop("parameters", ())
        self.steps.append(Step(tuple(domain[k] for k in kept), tuple(accesses), expression, parameters, write, combine,
                               site=self.site, **more))  # fmt: skip

    def spread(self, place: Place, shape: tuple[int, ...]) -> tuple[Place, tuple[int, ...]]:
        """A place as a read over a domain of `shape`, by NumPy's broadcasting."""
        extra = len(shape) - len(place.shape)
        strides = tuple(0 if e == 1 else s for s, e in zip(place.strides, place.shape))
        return place, (0,) * extra + strides

    def copy(self, source: Place, target: Place, combine: str | None = None) -> None:
        self.step(target.shape, [self.spread(source, target.shape)], "r0", target, target.strides, combine)

    def fill(self, value: Any, target: Place) -> None:
        kind = self.storages[target.storage].kind
        zero = Place((), -1, 0, (), Literal(value, kind))
        # One loop over the whole storage, so that the fill is a memset.
        size = self.storages[target.storage].size
        self.step((size,), [(zero, (0,))], "r0", Place((size,), target.storage, 0, (1,)), (1,))

    def in_memory(self, number: int) -> Place:
        """A value as a contiguous array at an address, for a routine; copied if it is a view or a number."""
        place = self.places[number]
        if place.is_contiguous:
            return place
        fresh = self.storage(place.shape, self.kind_of(place))
        self.copy(place, fresh)
        return fresh

    def floats_in_memory(self, number: int) -> Place:
        """As in_memory, with masks and integers turned into floats."""
        place = self.places[number]
        conversion = CONVERSIONS.get((self.kind_of(place), "f64"))
        if conversion is None:
            return self.in_memory(number)
        fresh = self.storage(place.shape, "f64")
        self.step(place.shape, [self.spread(place, place.shape)], rename(conversion, ("x",)), fresh, fresh.strides)
        return fresh


def rename(expression: str, names: tuple[str, ...]) -> str:
    """The expression in terms of r0, r1, ...; the names of declarations are single letters, so words are safe to replace."""
    cached = _renamed.get((expression, names))
    if cached is None:
        table = {name: f"r{k}" for k, name in enumerate(names)}
        cached = re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m.group(), m.group()), expression)
        _renamed[expression, names] = cached
    return cached


_renamed: dict[tuple[str, tuple[str, ...]], str] = {}
