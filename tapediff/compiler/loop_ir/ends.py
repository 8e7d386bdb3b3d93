"""Ends loops where the data end: an axis of which only the first n entries exist, n an integer of the call, is run to n.

A loop ends there if nothing that it computes beyond is needed: sums get the neutral value, and what it stores is read by loops that end
there too. Forwards, the values beyond are found where they are constants (`facts.py`); backwards, the loops are ended, the last first, as
each one tells what it reads. An array that is read as a whole, and is constant beyond, is filled before. At last the masks that hold up
to the end are left out (`masks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...ir.instruction import DynamicArrayType
from ...ops.control.calls import LOOP
from .beyond import NO_ENDS, Axis, Beyond, Ends, Known, axis_of, shifted
from .dependencies import read_by
from .facts import Facts, is_fill, size_of, streams_of
from .leading_blocks import access, ended, form_of, own_routine, reads_of
from .masks import without_masks
from .program import Access, Extent, Invoke, Item, Literal, RoutineCall, Step, Storage, neutral

# By axis of a storage, the end of the entries that are read; axes that are not there are read as a whole.
Needed = dict[Axis, Ends]


@np.errstate(all="ignore")
def end_loops(steps: Sequence[Item], storages: Sequence[Storage], constants: bytes) -> list[Item]:
    """The steps; loops end at integers of the call where what they compute beyond is not needed."""
    if not any(isinstance(step, Step) and step.expression == "exists(r0, r1)" for step in steps):
        return list(steps)
    steps = [own_routine(step) if isinstance(step, RoutineCall) and step.count == 1 else step for step in steps]
    facts = Facts(steps, storages, constants)
    return without_masks(_Ending(facts).ended(steps), facts) if facts.has_ends else list(steps)


class _Ending:
    """Ends the loops, the last step first.

    Attributes:
        needed: by storage, what later steps read of it; storages that are not there are not read.
        reads: the same of each read of what a loop of a callee writes, with the first entry that may be read, and the end of these.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts, self.storages = facts, facts.storages
        self.needed: dict[int, Needed] = {s.number: {} for s in facts.storages if s.home == "output"}
        self.reads: dict[int, list[tuple[Needed, int, int]]] = {}
        self._extents: dict[tuple[int, Ends, int], Extent] = {}

    def ended(self, steps: Sequence[Item]) -> list[Item]:
        found = list[Item]()
        self.reads = {storage: [] for step in steps if isinstance(step, Invoke) for storage in step.written}
        for number in range(len(steps) - 1, -1, -1):
            step, fills = steps[number], []
            if isinstance(step, Step):
                if 0 not in step.domain:
                    step, fills = self._ended(number, step)
                self._note_step(step)
            elif isinstance(step, Invoke):
                step = self._ended_invoke(number, step)
                self._note_invoke(step)
            elif isinstance(step, RoutineCall) and number in self.facts.of_call:
                step = self._ended_call(number, step)
                self._note_call(step)
            else:
                for storage in read_by(step):
                    self._note(storage, {}, 0, self.storages[storage].size)
            found += [step, *fills]
        return found[::-1]

    def _ended(self, number: int, step: Step) -> tuple[Step, list[Step]]:
        """A step with its ends; and the fill before it, if what it writes is read as a whole."""
        domain, filled = list(step.domain), None
        for level in range(len(domain)):
            ends, value = self._end_of(step, level, self.facts.of_step[number][level])
            if ends:
                domain[level] = self._extent(domain[level], ends)
                filled = filled if value is None else value
        if tuple(domain) == step.domain:
            domain = self._rows_of_fill(step)
        if tuple(domain) == step.domain:
            return step, []
        step = replace(step, domain=tuple(domain))
        if filled is None:
            return step, []
        item = self.storages[step.write.storage]
        fill = Step((item.size,), (filled,), "r0", (), Access(item.number, 0, (1,)), site=step.site)
        return replace(step, is_disjoint_part=True), [fill]

    def _extent(self, extent: int, ends: Ends, scale: int = 1) -> Extent:
        # One object for equal ones, which are compared often.
        return self._extents.setdefault((extent, ends, scale), Extent(extent, ends, scale))

    def _rows_of_fill(self, step: Step) -> list[int]:
        """The domain of a fill of a whole array entry by entry, which ends where its rows do."""
        size = self.storages[step.write.storage].size
        if is_fill(step, size):
            for (row, extent), ends in self.needed.get(step.write.storage, {}).items():
                if row * extent == size:
                    return [self._extent(size, ends, row)]
        return list(step.domain)

    def _end_of(self, step: Step, level: int, known: Known) -> tuple[Ends | None, Literal | None]:
        """The end at which a loop may stop, None if it has to run on; and the number to fill an array with."""
        write, item = step.write, self.storages[step.write.storage]
        constant = known if isinstance(known, Beyond) and known.ends else None
        if not write.strides[level]:
            is_neutral = step.combine is not None and constant is not None and constant.value == neutral(step.combine, item.kind)
            return (constant.ends if is_neutral and constant and (write.index_read < 0 or step.combine == "add") else None), None
        needed = self.needed.get(item.number)
        if write.index_read >= 0 or needed is None:
            return None, None
        places = self.facts.places(write, step.domain, level)
        for axis, first in places:
            if axis in needed:
                return shifted(needed[axis], -first), None
        by_axis = self.facts.by_axis.get(item.number, {})
        if constant is None or step.combine or not places or places[0][0] not in by_axis or item.number in self.facts.in_parts:
            return None, None
        return constant.ends, Literal(np.asarray(constant.value).item(), item.kind)

    # Reads

    def _note_step(self, step: Step) -> None:
        for read in step.reads:
            if isinstance(read, Access):
                self._note_read(read, step.domain)

    def _note_read(self, read: Access, domain: tuple[int, ...]) -> None:
        found = Needed()
        for level, extent in enumerate(domain):
            if isinstance(extent, Extent):
                found |= {axis: shifted(extent.ends, first) for axis, first in self.facts.places(read, domain, level)}
        self._note(read.storage, found, *self._entries(read, domain))

    def _note(self, storage: int, found: Needed, first: int, end: int) -> None:
        known = self.needed.get(storage)
        self.needed[storage] = found if known is None else _joined(known, found)
        if storage in self.reads:
            self.reads[storage].append((found, first, end))

    def _entries(self, read: Access, domain: tuple[int, ...]) -> tuple[int, int]:
        """The first entry of a storage that a step may read, and the end of these."""
        if read.index_read >= 0:
            return 0, self.storages[read.storage].size
        moves = [stride * (extent - 1) for stride, extent in zip(read.strides, domain)]
        return read.offset + sum(min(0, move) for move in moves), read.offset + sum(max(0, move) for move in moves) + 1

    # Routines

    def _ended_call(self, number: int, call: RoutineCall) -> RoutineCall:
        form = form_of(call)
        assert form is not None, "it has been looked at"
        along, size, needed = list[Ends | None]([None, None]), self.storages[call.result].size, self.needed.get(call.result)
        if form.result is not None and needed is not None:
            result, domain = access(form.result, call.result, 0, call.sizes)
            for level in (0, 1):
                place = axis_of(result, domain, level, size)
                along[level] = None if place is None else needed.get(place[0])
        return ended(call, form, self.facts.of_call[number], (along[0], along[1]))

    def _note_call(self, call: RoutineCall) -> None:
        form = form_of(call)
        assert form is not None, "it has been looked at"
        reads = reads_of(call, form)
        for read, domain in reads:
            self._note_read(read, domain)
        for storage, _ in call.operands[len(reads) :]:
            self._note(storage, {}, 0, self.storages[storage].size)

    # Loops of callees

    def _ended_invoke(self, number: int, invoke: Invoke) -> Invoke:
        idle = self.facts.idle.get(number)
        if idle is None or idle.ends is None:
            return invoke
        (callee, form), ends = invoke.params, idle.ends
        last = [(*item, size_of(type_)) for item, type_ in zip(invoke.items[: form.carries], callee.out_types)]
        if any(self._is_read(*last[k]) for k in idle.changed):
            return invoke
        kept = len(invoke.items) - form.carries
        stacks = [(k, size_of(type_)) for k, type_ in enumerate(callee.out_types) if k >= form.carries]
        stacks += [(kept + k, size_of(callee.in_types[k])) for k in invoke.kept]
        for k, size in stacks:
            found = self._end_of_stack(invoke.items[k], size, last)
            if found is None:
                return invoke
            ends |= found
        return replace(invoke, stop=ends)

    def _is_read(self, storage: int, offset: int, size: int) -> bool:
        """True if a later step may read some of the entries."""
        is_output = self.storages[storage].home == "output"
        return is_output or any(first < offset + size and offset < end for _, first, end in self.reads[storage])

    def _end_of_stack(self, place: tuple[int, int], size: int, last: list[tuple[int, int, int]]) -> Ends | None:
        """The end of the entries of a stack that are read, but for the last carries, which are always there."""
        found, needed = self.facts.axis(place, size), None
        for read, first, end in self.reads[place[0]]:
            if not any(storage == place[0] and offset <= first and end <= offset + width for storage, offset, width in last):
                needed = read if needed is None else _joined(needed, read)
        if needed is None:
            return NO_ENDS
        return None if found is None or found[0] not in needed else shifted(needed[found[0]], -found[1])

    def _note_invoke(self, invoke: Invoke) -> None:
        form = invoke.params[1] if invoke.op is LOOP else None
        for k, ((storage, offset), type_) in enumerate(zip(invoke.operands, invoke.types[0])):
            size = self.storages[storage].size if isinstance(type_, DynamicArrayType) else size_of(type_)
            read = Needed()
            if invoke.stop and form is not None and k - form.leading in streams_of(form):
                place = self.facts.axis((storage, offset), size_of(invoke.params[0].in_types[k - form.leading]))
                if place is not None:
                    read[place[0]] = shifted(invoke.stop, place[1])
            self._note(storage, read, offset, offset + size)


def _joined(a: Needed, b: Needed) -> Needed:
    return {axis: a[axis] | b[axis] for axis in a if axis in b}
