"""Lowers calls and loops of callees: where their operands, their carries and their results are in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.instruction import INT_SCALAR, DynamicArrayType, Instruction, ValueType
from ...ops.calls import LoopForm, loop_items
from ..loop_ir.program import KINDS, Invoke, Literal
from ..loop_ir.views import Place
from .step_builder import CONSTANT_ALIGNMENT, StepBuilder

# Numbers repeated more often than this are written to memory at every run instead.
LARGEST_CONSTANT = 64

# A tuple itself is nowhere; only its items are.
NOWHERE = Place((), -1, 0, (), Literal(0.0, "f64"))


class CallLowering(StepBuilder):
    """The building blocks that calls, loops and GET name in their declarations."""

    def get(self, i: Instruction) -> None:
        self.places.append(self.tuples[i.inputs[0]][i.params[0]])

    def call_tuple(self, i: Instruction) -> None:
        self._once(i, (*i.params[0].out_types, INT_SCALAR))

    def variant_tuple(self, i: Instruction) -> None:
        self._once(i, i.params[0].out_types)

    def _once(self, i: Instruction, types: tuple[ValueType, ...]) -> None:
        self._invoke(i, tuple(self._result(t) for t in types), types)

    def loop_tuple(self, i: Instruction) -> None:
        callee, form = i.params
        types = loop_items(callee, form)
        further = len(types) - (form.carries if form.keeps else 0)
        items = [self._result(t) for t in types[form.carries : further]]
        if form.keeps:
            finals, slots, kept = self._kept_carries(callee.in_types[: form.carries], form)
        else:
            finals, slots = self._alternating_carries(callee.in_types[: form.carries], form)
            kept = []
        scratch = self.storage((), "i1").storage if form.stops else -1
        self._invoke(i, (*finals, *items, *kept), types, tuple(slots), scratch)

    def _alternating_carries(self, types: Any, form: LoopForm) -> tuple[list[Place], list[int]]:
        """Two places for each carry, which iterations read and write in turn; the result is in one of them."""
        pairs = [self.storage((2, *t.shape), KINDS[t.dtype.kind]) for t in types]
        slots = [pair.storage for pair in pairs]
        if form.length is None:
            return [self._result(t) for t in types], slots
        return [_entry(pair, form.length % 2) for pair in pairs], slots

    def _kept_carries(self, types: Any, form: LoopForm) -> tuple[list[Place], list[int], list[Place]]:
        """One place for each iteration and one more, so that each writes its carry where the next one reads it."""
        length = form.length
        if length is None:
            kept = [self._result(DynamicArrayType(t)) for t in types]
            return [self._result(t) for t in types], [-1] * len(kept), kept
        whole = [self.storage((length + 1, *t.shape), KINDS[t.dtype.kind]) for t in types]
        first, last = (1, 0) if form.backwards else (0, length)
        kept = []
        for place in whole:
            entry = _entry(place, first)
            kept.append(Place((length, *entry.shape), place.storage, entry.offset, place.strides))
        return [_entry(place, last) for place in whole], [place.storage for place in whole], kept

    def _result(self, type_: ValueType | DynamicArrayType) -> Place:
        if isinstance(type_, DynamicArrayType):
            return self.storage((), "i64")
        return self.storage(type_.shape, KINDS[type_.dtype.kind])

    def _invoke(
        self, i: Instruction, items: tuple[Place, ...], types: Any, slots: tuple[int, ...] = (), scratch: int = -1
    ) -> None:
        operands = tuple(self._operand(k) for k in i.inputs)
        operand_types = tuple(self.tape.instructions[k].type for k in i.inputs)
        places = tuple((place.storage, place.offset) for place in items)
        self.steps.append(
            Invoke(i.op, i.params, operands, places, (operand_types, tuple(types)), slots, scratch, self.site)
        )
        self.tuples[len(self.places)] = items
        self.places.append(NOWHERE)

    def _operand(self, number: int) -> tuple[int, int]:
        """A contiguous array at an address; a number that stands in the code becomes a constant in memory."""
        place = self.places[number]
        if place.literal is None or np.prod(place.shape) > LARGEST_CONSTANT:
            place = self.in_memory(number)
            return place.storage, place.offset
        dtype = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}[place.literal.kind]
        self.constants.extend(b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT))
        kept = self.storage(place.shape, place.literal.kind, "constant", len(self.constants))
        self.constants.extend(np.full(place.shape, place.literal.value, dtype).tobytes())
        return kept.storage, 0


def _entry(place: Place, number: int) -> Place:
    """One of the arrays that a storage holds beside each other."""
    return Place(place.shape[1:], place.storage, place.offset + number * place.strides[0], place.strides[1:])
