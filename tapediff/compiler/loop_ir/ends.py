"""Ends loops where the data end: an axis of which only the first n entries exist, n an integer of the call, is run to n.

A loop ends there if nothing that it computes beyond is needed: sums get the neutral value, and what it stores is read by loops that end
there too, or selected by a mask. Forwards, the values beyond are found where they are constants (`beyond.py`); backwards, the loops are
ended, the last first, as each one tells what it reads. An array that is read as a whole, and is constant beyond, is filled there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .beyond import Axis, Beyond, Ends, Integer, IsNegative, Known, Range, axis_of, evaluated, shifted, unused
from .dependencies import read_by
from .program import Access, Fill, Group, Literal, LoopNest, Step, Storage, Straight, assembled, neutral

# By axis of a storage, the end of the entries that are read; axes that are not there are read as a whole.
Needed = dict[Axis, Ends]

_NO_ENDS: Ends = frozenset()


def end_loops(groups: Sequence[Group], storages: Sequence[Storage], constants: bytes) -> list[Group]:
    """The groups; loops end at integers of the call where what they compute beyond is not needed."""
    if not any(s.home == "input" and s.kind == "i64" and s.size == 1 for s in storages):
        return list(groups)
    values = _Values(groups, storages, constants)
    return _Ending(values).ended(groups) if values.has_ends else list(groups)


class _Values:
    """What is known of the entries beyond an end, forwards.

    Attributes:
        of_step: by group and step, for each loop, what is known of the step's value.
        by_axis: by storage and axis, the value beyond.
        integers: by storage, the integers that may be ends, and whether they are negative.
        has_ends: some value is constant beyond an integer.
    """

    def __init__(self, groups: Sequence[Group], storages: Sequence[Storage], constants: bytes) -> None:
        self.storages, self._constants = storages, constants
        self.several, self._ranges = assembled(groups), dict[int, np.ndarray | None]()
        self.by_axis: dict[int, dict[Axis, Beyond]] = {}
        self.of_step: dict[tuple[int, int], list[Known]] = {}
        self.integers: dict[int, Integer | IsNegative] = {
            s.number: Integer(s.number) for s in storages if s.home == "input" and s.kind == "i64" and s.size == 1
        }
        self.has_ends = False
        for number, group in enumerate(groups):
            if isinstance(group, LoopNest):
                for k, step in enumerate(group.body):
                    self.of_step[number, k] = self._of_step(step)
            elif isinstance(group, Straight):
                for item in group.body:
                    if isinstance(item, Step):
                        self._note_integer(item)

    def _note_integer(self, step: Step) -> None:
        item = self.storages[step.write.storage]
        if item.kind == "i64" and item.size == 1 and not item.in_memory and item.home == "workspace":
            known = evaluated(step.expression, {name: self._of_number(read) for name, read in zip(step.names, step.reads)})
            self.integers[item.number] = known if isinstance(known, Integer) else Integer(item.number)
        elif item.kind == "i1" and item.size == 1:
            known = evaluated(step.expression, {name: self._of_number(read) for name, read in zip(step.names, step.reads)})
            if isinstance(known, IsNegative):
                self.integers[item.number] = known

    def _of_number(self, read: Access | Literal) -> Known:
        return _literal(read) if isinstance(read, Literal) else self.integers.get(read.storage) if read.index_read < 0 else None

    def _of_step(self, step: Step) -> list[Known]:
        known = [evaluated(step.expression, self.reads(step, level)) for level in range(len(step.domain))]
        write = step.write
        for level, value in enumerate(known):
            if not (isinstance(value, Beyond) and value.ends):
                continue
            self.has_ends = True
            place = axis_of(write, step.domain, level, self.storages[write.storage].size)
            keeps = step.combine is None or value.value == neutral(step.combine, self.storages[write.storage].kind)
            # Of all entries along the axis, by this step alone.
            if place is not None and place[1] == 0 and place[0][1] == step.domain[level] and keeps and not step.is_scan:
                if write.storage not in self.several:
                    self.by_axis.setdefault(write.storage, {})[place[0]] = value
        return known

    def reads(self, step: Step, level: int) -> dict[str, Known]:
        """What is known of each read, along a loop."""
        known = {name: self._of_read(read, step, level) for name, read in zip(step.names, step.reads)}
        return known | {name: None for name, _ in step.parameters}

    def _of_read(self, read: Access | Literal, step: Step, level: int) -> Known:
        if isinstance(read, Literal):
            return _literal(read)
        item = self.storages[read.storage]
        if read.index_read >= 0:
            return None
        if not read.strides[level]:
            return self.integers.get(read.storage)
        if item.home == "constant" and item.kind == "i64":
            return self._range(read, step, level, item)
        place = axis_of(read, step.domain, level, item.size)
        known = None if place is None else self.by_axis.get(read.storage, {}).get(place[0])
        return None if known is None or place is None else known._replace(ends=shifted(known.ends, -place[1]))

    def _range(self, read: Access, step: Step, level: int, item: Storage) -> Range | None:
        if any(stride for k, stride in enumerate(read.strides) if k != level):
            return None
        array = np.frombuffer(self._constants, np.int64, item.size, item.position)
        places = read.offset + read.strides[level] * np.arange(step.domain[level])
        entries = array[places]
        return Range(int(entries[0])) if (entries == entries[0] + np.arange(len(entries))).all() else None


def _literal(literal: Literal) -> Beyond:
    return Beyond(_NO_ENDS, np.bool_(literal.value) if literal.kind == "i1" else literal.value)


class _Ending:
    """Ends the loops, the last group first.

    Attributes:
        needed: by storage, what the groups after this one read of it; storages that are not there are not read.
    """

    def __init__(self, values: _Values) -> None:
        self.values, self.storages = values, values.storages
        self.needed: dict[int, Needed] = {s.number: {} for s in values.storages if s.home == "output"}

    def ended(self, groups: Sequence[Group]) -> list[Group]:
        found = list(groups)
        for number in range(len(groups) - 1, -1, -1):
            group = groups[number]
            if isinstance(group, LoopNest):
                found[number] = group = self._ended(number, group)
                self._note_nest(number, group)
                continue
            for item in group.body:
                for storage in read_by(item):
                    self.needed[storage] = {}
        return found

    def _ended(self, number: int, nest: LoopNest) -> LoopNest:
        stops, fills = list[Ends](), list[Fill]()
        for level in range(len(nest.domain)):
            ends: Ends | None = _NO_ENDS
            filled = list[Fill]()
            for k, step in enumerate(nest.body):
                found = self._end_of(step, level, nest, self.values.of_step[number, k][level], filled)
                ends = None if found is None or ends is None else ends | found
                if ends is None:
                    break
            stops.append(ends or _NO_ENDS)
            fills += filled if ends else ()
        return replace(nest, stops=tuple(stops), fills=tuple(fills)) if any(stops) else nest

    def _end_of(self, step: Step, level: int, nest: LoopNest, value: Known, filled: list[Fill]) -> Ends | None:
        """The end at which a loop may stop for a step; none if it does not matter, None if it has to run on."""
        write, item = step.write, self.storages[step.write.storage]
        if step.domain[level] != nest.domain[level]:
            return None
        constant = value if isinstance(value, Beyond) and value.ends else None
        if not write.strides[level]:
            if step.combine is None or constant is None or constant.value != neutral(step.combine, item.kind):
                return None
            return constant.ends if write.index_read < 0 or step.combine == "add" else None
        if write.index_read >= 0:
            return None
        needed = self.needed.get(write.storage)
        if needed is None:
            return _NO_ENDS
        place = axis_of(write, step.domain, level, item.size)
        if place is None:
            return None
        axis, first = place
        if axis in needed:
            return shifted(needed[axis], -first)
        if constant is None or axis not in self.values.by_axis.get(write.storage, {}) or axis[0] * axis[1] != item.size:
            return None
        # All entries of the storage beyond, one after the other.
        filled.append(Fill(write.storage, axis[0], level, Literal(np.asarray(constant.value).item(), item.kind)))
        return constant.ends

    # What a nest reads

    def _note_nest(self, number: int, nest: LoopNest) -> None:
        for k in range(len(nest.body) - 1, -1, -1):
            step = nest.body[k]
            ends = [stop or None for stop in nest.stops] if nest.stops else [None] * len(nest.domain)
            ends = [self._read_until(step, level) if end is None else end for level, end in enumerate(ends)]
            self._note_step(step, ends)

    def _read_until(self, step: Step, level: int) -> Ends | None:
        """The end of the points at which a step's value is needed, though the loop goes on; None if it is needed at all."""
        write = step.write
        needed = self.needed.get(write.storage)
        if needed is None or not write.strides[level] or _may_fail(step):
            return None
        place = axis_of(write, step.domain, level, self.storages[write.storage].size)
        if place is None or place[0] not in needed:
            return None
        return shifted(needed[place[0]], -place[1])

    def _note_step(self, step: Step, ends: list[Ends | None]) -> None:
        indices = {read.index_read for read in (*step.reads, step.write) if isinstance(read, Access)}
        left_out = [unused(step.expression, self.values.reads(step, level)) for level in range(len(step.domain))]
        for k, (name, read) in enumerate(zip(step.names, step.reads)):
            if isinstance(read, Literal):
                continue
            found = Needed()
            for level in range(len(step.domain)):
                names, until = left_out[level]
                end = ends[level]
                if end is None and name in names and until and k not in indices:
                    end = until
                place = axis_of(read, step.domain, level, self.storages[read.storage].size)
                if end is not None and place is not None:
                    found[place[0]] = shifted(end, place[1])
            known = self.needed.get(read.storage)
            if known is None:
                self.needed[read.storage] = found
            else:
                self.needed[read.storage] = {axis: known[axis] | found[axis] for axis in known if axis in found}


def _may_fail(step: Step) -> bool:
    """True if any numbers would not do: positions, and divisors of integers."""
    return "integer_" in step.expression or any(isinstance(read, Access) and read.index_read >= 0 for read in step.reads)
