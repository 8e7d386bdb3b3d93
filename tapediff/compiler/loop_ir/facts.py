"""Facts about the entries of arrays beyond an end: those that are constants, and matrices that are the unit matrix there."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...ir.instruction import DynamicArrayType, ValueType
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
    is_diagonal,
    places_of,
    shifted,
)
from .dependencies import written_by
from .idle_iterations import Idle, idle_iterations
from .leading_blocks import access, end_of_operands, form_of, zeros_of_result
from .program import Access, Invoke, Item, Literal, RoutineCall, Step, Storage, neutral


class Facts:
    """What is known of the entries of each storage beyond an end.

    Attributes:
        of_step: by number of a step, for each loop, what is known of its value.
        axes: by storage, the axes that steps run along.
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
        self.axes = self._axes(steps)
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
        return literal(read) if isinstance(read, Literal) else self.integers.get(read.storage) if read.index_read < 0 else None

    def _of_step(self, step: Step) -> list[Known]:
        if 0 in step.domain:
            return [None] * len(step.domain)
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
        """Note what is known of an array that is written in parts, perhaps after it was filled."""
        number, size = step.write.storage, self.storages[step.write.storage].size
        if is_fill(step, size) and isinstance(step.reads[0], Literal):
            self.filled[number] = step.reads[0]
            return
        fill, before, found = self.filled.get(number), self.by_axis.get(number), dict[Axis, Beyond]()
        for level, value in enumerate(known):
            is_filled = isinstance(value, Beyond) and value.ends and (fill is None or value.value == fill.value)
            if isinstance(value, Beyond) and is_filled and step.combine is None and not step.is_scan:
                for axis, first in self.places(step.write, step.domain, level):
                    found[axis] = Beyond(shifted(value.ends, first), value.value)
        if before is not None:
            both = [axis for axis in found if axis in before and before[axis].value == found[axis].value]
            found = {axis: found[axis]._replace(ends=found[axis].ends | before[axis].ends) for axis in both}
        self.by_axis[number] = found

    def places(self, access: Access, domain: tuple[int, ...], level: int) -> list[tuple[Axis, int]]:
        """The axes that a loop runs along, each with the entry at which it begins."""
        return places_of(access, domain, level, self.storages[access.storage].size, self.axes.get(access.storage, ()))

    def _axes(self, steps: Sequence[Item]) -> dict[int, dict[Axis, None]]:
        found: dict[int, dict[Axis, None]] = {}
        for step in steps:
            if not isinstance(step, Step):
                continue
            for read in (*step.reads, step.write):
                if isinstance(read, Access):
                    size, axes = self.storages[read.storage].size, found.setdefault(read.storage, {})
                    places = [axis_of(read, step.domain, level, size) for level in range(len(step.domain))]
                    axes |= dict.fromkeys(place[0] for place in places if place is not None)
        return found

    def _reads(self, step: Step, level: int) -> dict[str, Known]:
        known = {name: self.of_read(read, step.domain, level) for name, read in zip(step.names, step.reads)}
        return known | {name: None for name, _ in step.parameters}

    def of_read(self, read: Access | Literal, domain: tuple[int, ...], level: int) -> Known:
        """The facts about a read, along a loop."""
        if isinstance(read, Literal):
            return literal(read)
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
        for axis, first in self.places(read, domain, level):
            if axis in by_axis:
                return by_axis[axis]._replace(ends=shifted(by_axis[axis].ends, -first))
        return None

    def _of_square(self, read: Access, domain: tuple[int, ...], level: int) -> Known:
        """The facts about a read of a matrix that is the unit matrix beyond an end, or of its diagonal."""
        if read.offset or not (self._is_square(read, domain) or is_diagonal(read, level)):
            return None
        if read.storage not in self.squares:
            self.squares[read.storage] = self._unit(self.storages[read.storage])
        square = self.squares[read.storage]
        if square is None:
            return None
        order, ends = square
        if is_diagonal(read, level):
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
        sizes = list(map(size_of, callee.in_types))
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
            place = self.axis(invoke.items[k], 0 if isinstance(type_, DynamicArrayType) else size_of(type_) // form.length)
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


def is_fill(step: Step, size: int) -> bool:
    """True for a step that writes one number to all entries of a storage."""
    is_number = len(step.reads) == 1 and isinstance(step.reads[0], Literal) and step.expression == "r0"
    return is_number and step.domain == (size,) and step.write.strides == (1,) and not step.combine


def literal(number: Literal) -> Beyond:
    """A number as a fact."""
    return Beyond(NO_ENDS, np.bool_(number.value) if number.kind == "i1" else number.value)


def size_of(type_: ValueType) -> int:
    """The entries of an array."""
    return math.prod(type_.shape)


def streams_of(form: LoopForm) -> range:
    """The inputs of a callee that are entries of arrays."""
    return range(form.carries, form.carries + form.streams)
