"""Ends loops where the data end: an axis of which only the first n entries exist, n an integer of the call, is run to n.

A loop ends there if nothing that it computes beyond is needed: sums get the neutral value, and what it stores is read by loops that end
there too. Forwards, the values beyond are found where they are constants (`beyond.py`); backwards, the loops are ended, the last first, as
each one tells what it reads. An array that is read as a whole, and is constant beyond, is filled before. At last the masks that hold up
to the end are left out, and the copies that they leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...ir.instruction import BOOL, DynamicArrayType, ValueType
from ...ops.control.calls import LOOP
from ...ops.control.loop_forms import LoopForm
from .beyond import (
    NO_ENDS,
    Axis,
    Beyond,
    Ends,
    Identity,
    Integer,
    IsNegative,
    Known,
    Range,
    axis_of,
    evaluated,
    shifted,
)
from .dependencies import is_same_point, read_by, written_by
from .idle_iterations import Idle, idle_iterations, with_constants
from .leading_blocks import access, end_of_operands, ended, form_of, own_routine, reads_of, zeros_of_result
from .program import Access, Extent, Invoke, Item, Literal, RoutineCall, Step, Storage, neutral
from .views import contiguous

# By axis of a storage, the end of the entries that are read; axes that are not there are read as a whole.
Needed = dict[Axis, Ends]


@np.errstate(all="ignore")
def end_loops(steps: Sequence[Item], storages: Sequence[Storage], constants: bytes) -> list[Item]:
    """The steps; loops end at integers of the call where what they compute beyond is not needed."""
    if not any(isinstance(step, Step) and step.expression == "exists(r0, r1)" for step in steps):
        return list(steps)
    steps = [own_routine(step) if isinstance(step, RoutineCall) and step.count == 1 else step for step in steps]
    values = _Values(steps, storages, constants)
    return without_masks(_Ending(values).ended(steps), values) if values.has_ends else list(steps)


class _Values:
    """Facts about the entries beyond an end, forwards.

    Attributes:
        of_step: by number of a step, for each loop, what is known of its value.
        by_axis: by storage and axis, the value beyond.
        integers: by storage, the integers that may be ends, and whether they are negative.
        in_parts: the storages that several steps write; `filled`: by storage, the number that one of these fills it with.
        squares: by storage of a square matrix that is the unit matrix beyond an end, its order and that end.
        of_call: by number of a call of a routine, the end of its operands.
        idle: by number of a loop of a callee, what its iterations do beyond.
        has_ends: some value is constant beyond an integer.
    """

    def __init__(self, steps: Sequence[Item], storages: Sequence[Storage], constants: bytes) -> None:
        self.storages, self._constants = storages, constants
        seen = set[int]()
        self.several = {s for step in steps for s in written_by(step) if s in seen or seen.add(s)}
        self.in_parts = self.several - {s for step in steps if not isinstance(step, Step) for s in written_by(step)}
        self.by_axis: dict[int, dict[Axis, Beyond]] = {}
        self.of_step: dict[int, list[Known]] = {}
        self.integers: dict[int, Integer | IsNegative] = {
            s.number: Integer(s.number) for s in storages if s.home == "input" and s.kind == "i64" and s.size == 1
        }
        self.filled: dict[int, Literal] = {}
        self.squares: dict[int, tuple[int, Ends] | None] = {}
        self.of_call: dict[int, Ends | None] = {}
        self.has_ends, self.idle = False, dict[int, Idle]()
        for number, step in enumerate(steps):
            if isinstance(step, Invoke):
                self._note_invoke(number, step)
            elif isinstance(step, RoutineCall):
                self._note_call(number, step)
            elif isinstance(step, Step) and step.domain:
                self.of_step[number] = self._of_step(step)
            elif isinstance(step, Step):
                known = evaluated(step.expression, {name: self._of_number(read) for name, read in zip(step.names, step.reads)})
                if step.write.storage in self.in_parts:
                    self._note_part(step, [])
                elif isinstance(known, (Integer, IsNegative)) and step.write.storage not in self.several and not step.combine:
                    self.integers[step.write.storage] = known

    def _of_number(self, read: Access | Literal) -> Known:
        return _literal(read) if isinstance(read, Literal) else self.integers.get(read.storage) if read.index_read < 0 else None

    def _of_step(self, step: Step) -> list[Known]:
        known = [evaluated(step.expression, self._reads(step, level)) for level in range(len(step.domain))]
        write, item = step.write, self.storages[step.write.storage]
        unit = known[0]
        if isinstance(unit, Identity) and unit == known[-1] and self._is_square(write, step.domain) and item.number not in self.several:
            self.squares[item.number] = step.domain[0], unit.ends
        if item.number in self.in_parts:
            self._note_part(step, known)
        for level, value in enumerate(known):
            if not (isinstance(value, Beyond) and value.ends):
                continue
            self.has_ends = True
            place = axis_of(write, step.domain, level, item.size)
            keeps = step.combine is None or value.value == neutral(step.combine, item.kind)
            # Of all entries along the axis, by this step alone.
            axis = write.strides[level], step.domain[level]
            if place == (axis, 0) and keeps and not step.is_scan and item.number not in self.several:
                is_whole = step.combine is None
                self.by_axis.setdefault(item.number, {})[axis] = value if is_whole else value._replace(before=None)
        return known

    def _note_part(self, step: Step, known: list[Known]) -> None:
        """Note what is known of an array that is filled, and then written in parts: the parts are as filled beyond their ends."""
        number, size = step.write.storage, self.storages[step.write.storage].size
        if _is_fill(step, size) and isinstance(step.reads[0], Literal):
            self.filled[number] = step.reads[0]
            return
        fill, before, found = self.filled.get(number), self.by_axis.get(number), dict[Axis, Beyond]()
        for level, value in enumerate(known):
            if fill and isinstance(value, Beyond) and value.ends and value.value == fill.value and step.combine is None:
                axes = [(axis, 0) for axis in _axes_of_diagonal(step.write, step.domain, level, size)]
                place = axis_of(step.write, step.domain, level, size)
                for axis, first in [*axes, *[place] * (place is not None)]:
                    found[axis] = Beyond(shifted(value.ends, first), fill.value)
        if before is not None:
            found = {axis: one._replace(ends=one.ends | before[axis].ends) for axis, one in found.items() if axis in before}
        self.by_axis[number] = found

    def _reads(self, step: Step, level: int) -> dict[str, Known]:
        known = {name: self.of_read(read, step.domain, level) for name, read in zip(step.names, step.reads)}
        return known | {name: None for name, _ in step.parameters}

    def of_read(self, read: Access | Literal, domain: tuple[int, ...], level: int) -> Known:
        """The facts about a read, along a loop."""
        if isinstance(read, Literal):
            return _literal(read)
        item = self.storages[read.storage]
        if read.index_read >= 0:
            return None
        if not read.strides[level]:
            return self.integers.get(read.storage)
        if item.home == "constant" and item.kind == "i64":
            return self._range(read, domain, level, item)
        if item.home == "constant" or read.storage in self.squares:
            return self._of_square(read, domain, level)
        by_axis = self.by_axis.get(read.storage)
        if by_axis is None:
            return None
        place = axis_of(read, domain, level, item.size)
        known = None if place is None else by_axis.get(place[0])
        return None if known is None or place is None else known._replace(ends=shifted(known.ends, -place[1]))

    def _of_square(self, read: Access, domain: tuple[int, ...], level: int) -> Known:
        """The facts about a read of a matrix that is the unit matrix beyond an end, or of its diagonal."""
        if read.offset or not (self._is_square(read, domain) or _is_diagonal(read, level)):
            return None
        if read.storage not in self.squares:
            self.squares[read.storage] = self._unit(self.storages[read.storage])
        square = self.squares[read.storage]
        if square is None:
            return None
        order, ends = square
        if _is_diagonal(read, level):
            return Beyond(ends, 1.0) if read.strides[level] == order + 1 and domain[level] <= order else None
        return Identity(ends) if domain == (order, order) else None

    def _is_square(self, place: Access, domain: tuple[int, ...]) -> bool:
        """True for all entries of a square matrix, by rows or by columns."""
        return len(domain) == 2 and domain[0] == domain[1] and {*place.strides} == {1, int(domain[0])} and not place.offset

    def _unit(self, item: Storage) -> tuple[int, Ends] | None:
        order = math.isqrt(item.size)
        if item.kind != "f64" or order**2 != item.size or order < 2:
            return None
        array = np.frombuffer(self._constants, np.float64, item.size, item.position).reshape(order, order)
        return (order, NO_ENDS) if (array == np.eye(order)).all() else None

    def _range(self, read: Access, domain: tuple[int, ...], level: int, item: Storage) -> Range | None:
        if any(stride for k, stride in enumerate(read.strides) if k != level):
            return None
        array = np.frombuffer(self._constants, np.int64, item.size, item.position)
        entries = array[read.offset + read.strides[level] * np.arange(domain[level])]
        return Range(int(entries[0])) if (entries == entries[0] + np.arange(len(entries))).all() else None

    # Routines

    def _note_call(self, number: int, call: RoutineCall) -> None:
        form = form_of(call)
        if form is None:
            return
        end = self.of_call[number] = end_of_operands(call, form, self.of_read)
        if form.result is None or call.result in self.several:
            return
        if form.makes_square and end:
            self.squares[call.result] = call.sizes[0], end
        result, domain = access(form.result, call.result, 0, call.sizes)
        for level, zero in enumerate(zeros_of_result(call, form, end, self.of_read)):
            place = axis_of(result, domain, level, self.storages[call.result].size)
            if zero and place is not None:
                self.by_axis.setdefault(call.result, {})[place[0]] = Beyond(zero, 0.0)

    # Loops of callees

    def _note_invoke(self, number: int, invoke: Invoke) -> None:
        if invoke.op is not LOOP or any(isinstance(type_, DynamicArrayType) for types in invoke.types for type_ in types):
            return
        callee, form = invoke.params
        sizes = list(map(_size, callee.in_types))
        streams = {k: self.of_stream(invoke.operands[form.leading + k], sizes[k]) for k in streams_of(form)}
        first = {k: self.repeated(invoke.operands[form.leading + k], sizes[k]) for k in range(form.carries)}
        idle = idle_iterations(callee, form, streams, first)
        if idle is None:
            return
        self.idle[number] = idle
        stacks = list(zip(range(form.carries, len(callee.out_types)), idle.outputs))
        stacks += [(len(invoke.items) - form.carries + k, idle.carries.get(k)) for k in invoke.kept]
        for k, value in stacks:
            type_ = invoke.types[1][k]
            place = self.axis(invoke.items[k], 0 if isinstance(type_, DynamicArrayType) else _size(type_) // form.length)
            if isinstance(value, Beyond) and place is not None:
                found = value._replace(ends=shifted(value.ends, place[1]), before=None)
                self.by_axis.setdefault(invoke.items[k][0], {})[place[0]] = found

    def axis(self, place: tuple[int, int], size: int) -> tuple[Axis, int] | None:
        """The outermost axis of an array with entries of a size, and the first entry of a part of it."""
        storage, offset = place
        return None if not size or offset % size else ((size, self.storages[storage].size // size), offset // size)

    def of_stream(self, place: tuple[int, int], size: int) -> Known:
        """The facts about the entries of an array that a loop reads one by one."""
        found = self.axis(place, size)
        known = None if found is None else self.by_axis.get(place[0], {}).get(found[0])
        return None if known is None or found is None else known._replace(ends=shifted(known.ends, -found[1]))

    def repeated(self, place: tuple[int, int], size: int) -> Known:
        """The only number in a constant."""
        item = self.storages[place[0]]
        if item.home != "constant" or not size:
            return None
        dtype = {"f64": np.float64, "i64": np.int64, "i1": np.bool_}[item.kind]
        array = np.frombuffer(self._constants, dtype, item.size, item.position)[place[1] : place[1] + size]
        return Beyond(NO_ENDS, array[0]) if (array == array[0]).all() else None


def _literal(literal: Literal) -> Beyond:
    return Beyond(NO_ENDS, np.bool_(literal.value) if literal.kind == "i1" else literal.value)


class _Ending:
    """Ends the loops, the last step first.

    Attributes:
        needed: by storage, what later steps read of it; storages that are not there are not read.
        reads: the same of each read of what a loop of a callee writes, with the first entry that may be read, and the end of these.
    """

    def __init__(self, values: _Values) -> None:
        self.values, self.storages = values, values.storages
        self.needed: dict[int, Needed] = {s.number: {} for s in values.storages if s.home == "output"}
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
            elif isinstance(step, RoutineCall) and number in self.values.of_call:
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
            ends, value = self._end_of(step, level, self.values.of_step[number][level])
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
        if _is_fill(step, size):
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
        needed, place = self.needed.get(item.number), axis_of(write, step.domain, level, item.size)
        if write.index_read >= 0 or needed is None:
            return None, None
        diagonal = _axes_of_diagonal(write, step.domain, level, item.size)
        if diagonal and all(axis in needed for axis in diagonal):
            return NO_ENDS.union(*(needed[axis] for axis in diagonal)), None
        if place is None:
            return None, None
        axis, first = place
        if axis in needed:
            return shifted(needed[axis], -first), None
        if constant is None or self.values.by_axis.get(item.number, {}).get(axis) is None or step.combine:
            return None, None
        return constant.ends, Literal(np.asarray(constant.value).item(), item.kind)

    # Reads

    def _note_step(self, step: Step) -> None:
        for read in step.reads:
            if isinstance(read, Access):
                self._note_read(read, step.domain)

    def _note_read(self, read: Access, domain: tuple[int, ...]) -> None:
        found, size = Needed(), self.storages[read.storage].size
        for level, extent in enumerate(domain):
            if isinstance(extent, Extent):
                place = axis_of(read, domain, level, size)
                if place is not None:
                    found[place[0]] = shifted(extent.ends, place[1])
                found |= dict.fromkeys(_axes_of_diagonal(read, domain, level, size), extent.ends)
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
        return ended(call, form, self.values.of_call[number], (along[0], along[1]))

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
        idle = self.values.idle.get(number)
        if idle is None or idle.ends is None:
            return invoke
        (callee, form), ends = invoke.params, idle.ends
        last = [(*item, _size(type_)) for item, type_ in zip(invoke.items[: form.carries], callee.out_types)]
        kept = len(invoke.items) - form.carries
        stacks = [(k, _size(type_)) for k, type_ in enumerate(callee.out_types) if k >= form.carries]
        stacks += [(kept + k, _size(callee.in_types[k])) for k in invoke.kept]
        for k, size in stacks:
            found = self._end_of_stack(invoke.items[k], size, last)
            if found is None:
                return invoke
            ends |= found
        return replace(invoke, stop=ends)

    def _end_of_stack(self, place: tuple[int, int], size: int, last: list[tuple[int, int, int]]) -> Ends | None:
        """The end of the entries of a stack that are read, but for the last carries, which are always there."""
        found, needed = self.values.axis(place, size), None
        for read, first, end in self.reads[place[0]]:
            if not any(storage == place[0] and offset <= first and end <= offset + width for storage, offset, width in last):
                needed = read if needed is None else _joined(needed, read)
        if needed is None:
            return NO_ENDS
        return None if found is None or found[0] not in needed else shifted(needed[found[0]], -found[1])

    def _note_invoke(self, invoke: Invoke) -> None:
        form = invoke.params[1] if invoke.op is LOOP else None
        for k, ((storage, offset), type_) in enumerate(zip(invoke.operands, invoke.types[0])):
            size = self.storages[storage].size if isinstance(type_, DynamicArrayType) else _size(type_)
            read = Needed()
            if invoke.stop and form is not None and k - form.leading in streams_of(form):
                place = self.values.axis((storage, offset), _size(invoke.params[0].in_types[k - form.leading]))
                if place is not None:
                    read[place[0]] = shifted(invoke.stop, place[1])
            self._note(storage, read, offset, offset + size)


def _is_fill(step: Step, size: int) -> bool:
    """True for a step that writes one number to all entries of a storage."""
    is_number = len(step.reads) == 1 and isinstance(step.reads[0], Literal) and step.expression == "r0"
    return is_number and step.domain == (size,) and step.write.strides == (1,) and not step.combine


def _is_diagonal(place: Access, level: int) -> bool:
    """True if a loop alone moves through a storage, and not entry by entry."""
    return place.index_read < 0 and place.strides[level] > 2 and sum(map(bool, place.strides)) == 1


def _axes_of_diagonal(place: Access, domain: tuple[int, ...], level: int, size: int) -> list[Axis]:
    """The rows and the columns of a matrix whose diagonal a loop runs along, if it is one."""
    order = place.strides[level] - 1
    is_one = _is_diagonal(place, level) and not place.offset and domain[level] <= order and size % order == 0
    return [(order, size // order), (1, order)] if is_one else []


def _joined(a: Needed, b: Needed) -> Needed:
    return {axis: a[axis] | b[axis] for axis in a if axis in b}


def _size(type_: ValueType) -> int:
    return math.prod(type_.shape)


def streams_of(form: LoopForm) -> range:
    """The inputs of a callee that are entries of arrays."""
    return range(form.carries, form.carries + form.streams)


# Masks


class _Written(NamedTuple):
    """A step whose value is a number, or a copy of another array in the same layout."""

    step: Step
    value: Literal | Access


def without_masks(steps: Sequence[Item], values: _Values) -> list[Item]:
    """The steps without masks that are True up to the ends of the loops that read them, and without the copies that they leave."""
    known: dict[int, _Written] = {}
    found = list[Item]()
    for step in steps:
        if isinstance(step, Step) and any(isinstance(extent, Extent) for extent in step.domain):
            step = _simplified(replace(step, reads=tuple([_read(read, step, values, known) for read in step.reads])))
            value = _value(step)
            if value is not None and step.write.storage not in values.several and not step.is_disjoint_part:
                known[step.write.storage] = _Written(step, value)
        elif isinstance(step, Invoke) and step.stop:
            step = _without_mask(step, values)
        elif isinstance(step, RoutineCall) and known:
            step = replace(step, operands=tuple([_source(place, known) for place in step.operands]))
        found.append(step)
    used = {s.number for s in values.storages if s.home == "output"}
    left = list[Item]()
    for step in reversed(found):
        if isinstance(step, Step) and step.write.storage not in used:
            continue
        used.update(read_by(step))
        left.append(step)
    return left[::-1]


def _without_mask(invoke: Invoke, values: _Values) -> Invoke:
    """A loop of a callee whose masks are True up to its end, and whose other carries of one value are constants."""
    callee, form = invoke.params
    known = dict[int, bool]()
    for k in streams_of(form):
        mask = values.of_stream(invoke.operands[form.leading + k], _size(callee.in_types[k]))
        if isinstance(mask, Beyond) and mask.before is not None and mask.ends == invoke.stop:
            known[k] = bool(mask.before)
        elif isinstance(mask, Beyond) and not mask.ends and isinstance(mask.value, (bool, np.bool_)):
            known[k] = bool(mask.value)
    first = {k: values.repeated(invoke.operands[form.leading + k], _size(callee.in_types[k])) for k in range(form.carries)}
    idle = idle_iterations(callee, form, {}, first)
    known |= {k: bool(one.value) for k, one in (idle.carries.items() if idle else ()) if callee.in_types[k].dtype == BOOL}
    return replace(invoke, params=(with_constants(callee, known), form)) if known else invoke


def _read(read: Access | Literal, step: Step, values: _Values, known: dict[int, _Written]) -> Access | Literal:
    if isinstance(read, Literal) or read.index_read >= 0:
        return read
    kind = values.storages[read.storage].kind
    for level, extent in enumerate(step.domain):
        mask = values.of_read(read, step.domain, level) if isinstance(extent, Extent) and read.strides[level] else None
        if isinstance(mask, Beyond) and mask.before is not None and isinstance(extent, Extent) and mask.ends == extent.ends:
            return Literal(bool(mask.before), kind)
    written = known.get(read.storage)
    if written is None or not is_same_point(step, read, written.step):
        return read
    return written.value


def _source(operand: tuple[int, int], known: dict[int, _Written]) -> tuple[int, int]:
    """The array of which an operand of a routine is a copy."""
    written = known.get(operand[0])
    if written is None or not isinstance(written.value, Access) or written.value.strides != written.step.write.strides:
        return operand
    return written.value.storage, operand[1] + written.value.offset - written.step.write.offset


def _simplified(step: Step) -> Step:
    """A step whose selection is known as the number that is selected."""
    if step.expression == "select(r0, r1, r2)" and isinstance(step.reads[0], Literal):
        chosen = step.reads[1 if step.reads[0].value else 2]
        if isinstance(chosen, Literal) or chosen.index_read < 0:
            return replace(step, expression="r0", reads=(chosen,))
    return step


def _value(step: Step) -> Literal | Access | None:
    if step.combine is not None or step.write.index_read >= 0:
        return None
    if step.expression == "r0" and not step.parameters and isinstance(step.reads[0], Access):
        return step.reads[0] if step.write.strides == contiguous(step.domain) and step.reads[0].index_read < 0 else None
    if step.parameters or not all(isinstance(read, Literal) and read.kind == "i1" for read in step.reads):
        return None
    known = evaluated(step.expression, {name: _literal(read) for name, read in zip(step.names, step.reads) if isinstance(read, Literal)})
    return Literal(bool(known.value), "i1") if isinstance(known, Beyond) and isinstance(known.value, (bool, np.bool_)) else None
