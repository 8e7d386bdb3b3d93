"""Lowers calls and loops of callees: allocates their operands, carries and results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...ir.instruction import INT_SCALAR, DynamicArrayType, Instruction, ValueType, item_types
from ...ops.control.calls import GET, LoopForm, loop_items
from ..llvm.values import KINDS
from ..loop_ir.program import Invoke, ItemType, Literal
from ..loop_ir.views import StridedView
from .in_place import Places, carries_in_place
from .step_builder import CONSTANT_ALIGNMENT, StepBuilder

# Numbers repeated more often than this are written to memory at every run instead.
LARGEST_CONSTANT = 64

# A tuple has no storage; only its items have.
NOWHERE = StridedView((), -1, 0, (), Literal(0.0, "f64"))


class CallLowering(StepBuilder):
    """The methods that calls, loops and GET name in their declarations."""

    # For the body of a loop that writes carries in place.
    places: Places

    def get(self, i: Instruction) -> None:
        assert i.type == item_types(self.tape.instructions[i.inputs[0]])[i.params[0]], "an item is of the type that it was recorded with"
        self.views.append(self.tuples[i.inputs[0]][i.params[0]])

    def call_tuple(self, i: Instruction) -> None:
        self._once(i, (*i.params[0].out_types, INT_SCALAR))

    def variant_tuple(self, i: Instruction) -> None:
        self._once(i, i.params[0].out_types)

    def _once(self, i: Instruction, types: tuple[ValueType, ...]) -> None:
        self._invoke(i, tuple(self._result(t) for t in types), types)

    def loop_tuple(self, i: Instruction) -> None:
        callee, form = i.params
        types = loop_items(callee, form)
        further = len(types) - (form.carries if form.saves_carries else 0)
        items = [self._result(t) for t in types[form.carries : further]]
        in_place = carries_in_place(callee, form)
        if form.saves_carries:
            read = [k for k in range(form.carries) if further + k in self._items_read[len(self.views)] or form.length is None]
            finals, slots, kept = self._kept_carries(callee.in_types[: form.carries], form, read)
        else:
            read, kept = [], []
            finals, slots = self._alternating_carries(callee.in_types[: form.carries], form, in_place)
        for k in in_place:
            carried = i.inputs[form.leading + k]
            if self.places.carry.get(len(self.views), -1) == self.places.carry.get(carried, -2):
                # Share the array of the enclosing loop.
                finals[k] = self.views[carried]
                slots[k] = finals[k].storage
        scratch = self.storage((), "i1").storage if form.stops else -1
        self._invoke(i, (*finals, *items, *kept), types, tuple(slots), scratch, in_place, tuple(read))

    @cached_property
    def _items_read(self) -> dict[int, set[int]]:
        """By tuple, the items that an instruction reads."""
        found = defaultdict[int, set[int]](set)
        for _, item in self.tape.numbered(GET):
            found[item.inputs[0]].add(item.params[0])
        return found

    def _alternating_carries(
        self, types: Sequence[ValueType], form: LoopForm, in_place: Sequence[int]
    ) -> tuple[list[StridedView], list[int]]:
        """Two entries for each carry, which iterations alternate between; one for a carry written in place. The result is in one of
        them."""
        finals, slots = list[StridedView](), list[int]()
        for k, type_ in enumerate(types):
            if k in in_place:
                finals.append(self._result(type_))
                slots.append(finals[-1].storage)
                continue
            final, slot = self._pair(type_, form)
            finals.append(final)
            slots.append(slot)
        return finals, slots

    def _pair(self, type_: ValueType, form: LoopForm) -> tuple[StridedView, int]:
        pair = self.storage((2, *type_.shape), KINDS[type_.dtype.kind])
        return self._result(type_) if form.length is None else _entry(pair, form.length % 2), pair.storage

    def _kept_carries(
        self, types: Sequence[ValueType], form: LoopForm, read: Sequence[int]
    ) -> tuple[list[StridedView], list[int], list[StridedView]]:
        """Carries that are read later get one entry for each iteration and one more: each iteration writes its carry where the next one
        reads it."""
        length = form.length
        if length is None:
            kept = [self._result(DynamicArrayType(t)) for t in types]
            return [self._result(t) for t in types], [-1] * len(kept), kept
        first, last = (1, 0) if form.backwards else (0, length)
        finals, slots, kept = list[StridedView](), list[int](), list[StridedView]()
        for k, type_ in enumerate(types):
            if k in read:
                whole = self.storage((length + 1, *type_.shape), KINDS[type_.dtype.kind])
                final, slot = _entry(whole, last), whole.storage
                kept.append(StridedView((length, *type_.shape), slot, _entry(whole, first).offset, whole.strides))
            else:
                final, slot = self._pair(type_, form)
                kept.append(final)
            finals.append(final)
            slots.append(slot)
        return finals, slots, kept

    def _result(self, type_: ValueType | DynamicArrayType) -> StridedView:
        if isinstance(type_, DynamicArrayType):
            return self.storage((), "i64")
        return self.storage(type_.shape, KINDS[type_.dtype.kind])

    def _invoke(
        self, i: Instruction, items: tuple[StridedView, ...], types: Sequence[ItemType], slots: tuple[int, ...] = (),
        scratch: int = -1, in_place: tuple[int, ...] = (), kept: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        operands = tuple(self._operand(k) for k in i.inputs)
        operand_types = tuple(self.tape.instructions[k].type for k in i.inputs)
        pairs = tuple((view.storage, view.offset) for view in items)
        self.steps.append(
            Invoke(i.op, i.params, operands, pairs, (operand_types, tuple(types)), slots, scratch, self.site, in_place, kept)
        )
        self.tuples[len(self.views)] = items
        self.views.append(NOWHERE)

    def _operand(self, number: int) -> tuple[int, int]:
        """A contiguous array at an address; a literal becomes a constant in memory."""
        view = self.views[number]
        if view.literal is None or np.prod(view.shape) > LARGEST_CONSTANT:
            view = self.in_memory(number)
            return view.storage, view.offset
        dtype = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}[view.literal.kind]
        self.constants.extend(b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT))
        kept = self.storage(view.shape, view.literal.kind, "constant", len(self.constants))
        self.constants.extend(np.full(view.shape, view.literal.value, dtype).tobytes())
        return kept.storage, 0


def _entry(view: StridedView, number: int) -> StridedView:
    """One of the equal arrays that a storage holds."""
    return StridedView(view.shape[1:], view.storage, view.offset + number * view.strides[0], view.strides[1:])
