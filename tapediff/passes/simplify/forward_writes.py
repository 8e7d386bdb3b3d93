"""Forwards values written into an array to their reads, and assembles an array written in parts at once.

Every write of a recording makes a new version of the array. Here a version is first only a map of entries (see array_entries.py): a read of
some entries becomes a read of the values written there, and a version needed as a whole array is assembled from these values. A loop that
fills n entries so costs n, not n copies of the array, and its derivative as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable

import numpy as np

from ...ir.instruction import CONSTANT, INT64, Instruction, ValueType, some_of
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, GATHER, INDEX, PUT, REPLACE, Region, Regions
from ...ops.arrays.shape import RESHAPE, TRANSPOSE
from ..column_rewriter import ColumnRewriter
from ..columns import as_columns, first_two, operands_of
from ..rows import in_shape
from .array_entries import (
    MOST_STRETCHES,
    POSITION,
    SHIFT,
    Piece,
    entry_region,
    holes_in_a_box,
    own_entries,
    read_box,
    single_source,
    sources_of,
    split,
)  # fmt: skip

RESHAPED = (RESHAPE, TRANSPOSE)
WRITTEN = frozenset((REPLACE, ASSEMBLE))
FORWARDED = frozenset((INDEX, *WRITTEN, *RESHAPED))


# Rounds that propagate versions through reads of reads.
MOST_ROUNDS = 6

# Smaller slices of arrays are made of their entries.
SMALLEST_SHIFTED = 32


def forward_writes(tape: Tape, kept: Collection[int] = ()) -> Tape:
    """Drop versions of arrays that are only read in parts; `kept` are versions that are made anyway, and read from."""
    if not {REPLACE, ASSEMBLE} & tape.ops:
        return tape
    return _Forwarder(tape, _read_in_shifts(tape).union(kept)).run()


def _read_in_shifts(tape: Tape) -> set[int]:
    """Return array versions with a large written box and several large reads across its edge, such as the neighbours of a stencil:
    assembling each read would take several times the work of one array for all."""
    across: dict[int, set[Hashable]] = {}
    if REPLACE not in tape.ops:
        return set()
    known: dict[int, Region | None] = {}
    for _, inputs, params, type_, _ in _large_reads(tape):
        version = tape.instructions[inputs[0]]
        if version.op is not REPLACE or 4 * type_.size < version.type.size:
            continue
        written = _large_box(tape, inputs[0], known)
        if written is not None and _lies_across(params[0], written):
            across.setdefault(inputs[0], set()).add(params[0][:3])
    return {version for version, regions in across.items() if len(regions) > 1}


def _large_box(tape: Tape, version: int, known: dict[int, Region | None]) -> Region | None:
    """The box of at least half of a version's entries that was written last, if only small parts were written since."""
    passed: list[int] = []
    found = None
    while version not in known:
        op, inputs, params, type_, _ = tape.instructions[version]
        if op is not REPLACE:
            break
        passed.append(version)
        large = [region for region in params[0] if 2 * math.prod(region.counts) >= type_.size]
        if large:
            found = large[0] if len(params[0]) == 1 else None
            break
        version = inputs[0]
    found = known.get(version, found)
    known.update(dict.fromkeys(passed, found))
    return found


def _large_reads(tape: Tape) -> list[Instruction]:
    columns = as_columns(tape.instructions)
    are_large = np.array([i.op is INDEX and i.type.size >= SMALLEST_SHIFTED for i in columns.templates], bool)
    return some_of(tape.instructions, np.flatnonzero(are_large[columns.which]).tolist())


def _lies_across(read: Region, written: Region) -> bool:
    """True if a read overlaps what was written, and also other entries."""
    is_inside = True
    for a, s, n, b, t, m in zip(*read[:3], *written[:3]):
        ends, others = sorted((a, a + s * (n - 1))), sorted((b, b + t * (m - 1)))
        if ends[1] < others[0] or others[1] < ends[0]:
            return False
        is_inside &= others[0] <= ends[0] and ends[1] <= others[1]
    return not is_inside


class _Entries:
    """A version of an array.

    Attributes:
        written: its entries, as written.
        home: its entries in arrays assembled since, if these hold many of them; None if equal to `written`.
        made: the value that equals the whole version, if there is one.
    """

    __slots__ = ("home", "made", "written")

    def __init__(self, written: np.ndarray, home: np.ndarray | None = None, made: int | None = None) -> None:
        self.written, self.home, self.made = written, home, made

    def copy(self) -> _Entries:
        return _Entries(self.written.copy(), None if self.home is None else self.home.copy(), self.made)

    def at_home(self) -> np.ndarray | None:
        """Return the entries in larger arrays, if known there."""
        return self.home if self.made is None else own_entries(self.made, self.written.shape)

    def part(self, region: Region) -> _Entries:
        home = self.at_home()
        return _Entries(_box(self.written, region), None if home is None else _box(home, region))


class _Forwarder(ColumnRewriter):
    """Rebuilds a tape. `versions[i]` holds the entries of old value i, if it was made by writes.

    Only writes, and reads of written values, are processed one by one.
    """

    def __init__(self, tape: Tape, kept: Collection[int]) -> None:
        super().__init__(tape)
        columns = as_columns(tape.instructions)
        # By number: op, type and, unless these are in columns, parameters.
        self.old = [columns.templates[k] for k in columns.which.tolist()]
        self.kept = frozenset(kept)
        self.versions: dict[int, _Entries] = {}
        # The old values needed as arrays, and the last instruction that needs only their entries.
        self.needed = [False] * len(tape.instructions)
        self.last_reader = [-1] * len(tape.instructions)
        self.parts: dict[int, set[tuple[object, ...]]] = {}
        for wanted in (*tape.outputs, *kept):
            self.needed[wanted] = True

    def run(self) -> Tape:
        columns, count = as_columns(self.tape.instructions), len(self.tape.instructions)
        first, _ = first_two(columns)
        is_forwarded, is_made = (np.array([i.op in ops for i in columns.templates], bool)[columns.which] for ops in (FORWARDED, WRITTEN))
        of, _, counts = operands_of(columns)
        users = np.repeat(np.arange(count), counts)
        # Reads of unwritten values stay as they are; so do arrays assembled from such values, if no forwarded op reads them.
        chosen = is_made | (is_forwarded & is_forwarded[first])
        for _ in range(MOST_ROUNDS):
            again = is_made | (is_forwarded & chosen[first])
            if np.array_equal(again, chosen):
                break
            chosen = again
        is_apart = np.array([i.op is ASSEMBLE for i in columns.templates], bool)[columns.which]
        is_apart[users[chosen[of]]] = is_apart[of[chosen[users]]] = False
        numbers = np.flatnonzero(chosen & ~is_apart).tolist()
        if not numbers:
            return self.tape
        # The order does not matter: a value's readers come after it.
        needed = np.array(self.needed, bool)
        needed[of[~is_forwarded[users]]] = True
        self.needed = needed.tolist()
        instructions = some_of(self.tape.instructions, numbers)
        for number, instruction in zip(reversed(numbers), reversed(instructions)):
            self._plan(number, instruction)
        for number, instruction in self.changing(zip(numbers, instructions)):
            self.add(number, instruction)
        return self.finish()

    def _plan(self, number: int, instruction: Instruction) -> None:
        op = instruction.op
        forwarded = self._is_forwarded(instruction)
        whole = not forwarded or (self.needed[number] and op is not REPLACE and not self._is_read(instruction))
        for i in instruction.inputs:
            if whole:
                self.needed[i] = True
            if forwarded and self.last_reader[i] < 0:
                self.last_reader[i] = number

    def _is_read(self, instruction: Instruction) -> bool:
        """True if a read needs no array: single entries, exact parts of an assembled array, or reads of other versions."""
        op, inputs, params, type_, _ = instruction
        if op is not INDEX:
            return False
        joined = self.old[inputs[0]]
        if joined.op is not ASSEMBLE or type_.size == 1:
            return True
        parts = self.parts.get(inputs[0])
        if parts is None:
            parts = self.parts[inputs[0]] = {region[:3] for region in joined.params[0]}
        return params[0][:3] in parts

    def _is_forwarded(self, instruction: Instruction) -> bool:
        op, inputs, params, type_, _ = instruction
        if op not in FORWARDED or (op is ASSEMBLE and not params[2]) or type_.size == 0:
            return False
        dtype, old = type_.dtype, self.old
        for i in inputs:
            other = old[i][3].dtype
            if other is not dtype and other != dtype:
                return False
        return True

    def add(self, number: int, instruction: Instruction) -> None:
        op, self.site = instruction[0], instruction[4]
        if not self._is_forwarded(instruction):
            numbers = self.number
            numbers[number] = self.keep(instruction, tuple([numbers[i] for i in instruction[1]]))
            return
        if op is REPLACE:
            self._write(number, instruction)
        elif op is ASSEMBLE:
            self._assembled(number, instruction)
        elif instruction.inputs[0] not in self.versions:
            self.number[number] = self.copy(number)
        elif op is INDEX:
            self._read(number, instruction)
        else:
            self._reshaped(number, instruction)
        if number in self.kept:
            self.versions.pop(number, None)
        for i in instruction.inputs:
            if self.last_reader[i] == number:
                self.versions.pop(i, None)

    # Instructions of the new tape

    def _read(self, number: int, instruction: Instruction) -> None:
        entries, region = self.versions[instruction.inputs[0]], instruction.params[0]
        if self.needed[number]:
            self.number[number] = self.part(entries, region, instruction.type)
        if self.last_reader[number] >= 0:
            self.versions[number] = entries.part(region)
            self.versions[number].made = self.number[number] if self.needed[number] else None

    def _reshaped(self, number: int, instruction: Instruction) -> None:
        if self.needed[number]:
            self.number[number] = self.copy(number)
        if self.last_reader[number] >= 0:
            entries = self._taken(instruction.inputs[0], number)
            home = entries.at_home()
            written = np.asarray(instruction.op.evaluate(entries.written, *instruction.params))
            home = None if home is None else np.asarray(instruction.op.evaluate(home, *instruction.params))
            self.versions[number] = _Entries(written, home, self.number[number] if self.needed[number] else None)

    def _assembled(self, number: int, instruction: Instruction) -> None:
        regions, shape, _ = instruction.params
        if self.needed[number]:
            self.number[number] = self.copy(number)
        if self.last_reader[number] < 0:
            return
        written = np.full(shape, -1, np.int64)
        numbers, versions, entries = self.number, self.versions, 0
        for i, region in zip(instruction.inputs, regions):
            if not region[3] and i not in versions:
                written[region[0]] = numbers[i] << SHIFT
                entries += 1
            else:
                written[region.slices] = self._entries_of(i).written.reshape(region.counts)
        # Disjoint parts: as many single entries as the array has cover it.
        if entries < written.size and (written < 0).any():
            zeros = self.constant(np.zeros(shape, instruction.type.dtype), instruction.type)
            written = np.where(written < 0, own_entries(zeros, shape), written)
        self.versions[number] = _Entries(written, None, self.number[number] if self.needed[number] else None)

    def _write(self, number: int, instruction: Instruction) -> None:
        base, *values = instruction.inputs
        needed = self.needed[number]
        # An existing array changed once keeps its write.
        made = self._written_once(number, instruction) if needed and self._exist(instruction.inputs) else None
        if made is None or self.last_reader[number] >= 0:
            entries = self._taken(base, number, values)
            home = entries.at_home() if made is None else None
            for i, region in zip(values, instruction.params[0]):
                if region.shape == () and home is None and i not in self.versions:
                    entries.written[region.starts] = self.number[i] << SHIFT
                    continue
                value = self._entries_of(i)
                value_home = value.at_home()
                if made is None and value_home is not None and home is None:
                    home = entries.written.copy()
                if made is None and home is not None:
                    home[region.slices] = (value.written if value_home is None else value_home).reshape(region.counts)
                entries.written[region.slices] = value.written.reshape(region.counts)
            entries.home, entries.made = home, made
            if needed and made is None:
                made = entries.made = self.part(entries, _all_of(instruction.type.shape), instruction.type)
                entries.home = None
            if self.last_reader[number] >= 0:
                self.versions[number] = entries
        if made is not None:
            self.number[number] = made

    def _written_once(self, number: int, instruction: Instruction) -> int:
        regions, shape = instruction.params[0], instruction.type.shape
        if len(regions) == 1 and regions[0].counts == shape and set(regions[0].steps) <= {1}:
            return in_shape(self, self.number[instruction.inputs[1]], shape)
        return self.copy(number)

    # The entries of old values

    def _exist(self, numbers: tuple[int, ...]) -> bool:
        return all(self.number[i] >= 0 for i in numbers)

    def _entries_of(self, old: int) -> _Entries:
        known = self.versions.get(old)
        if known is None:
            known = _Entries(own_entries(self.number[old], self.old[old].type.shape))
        return known

    def _taken(self, old: int, reader: int, also_read: list[int] | tuple[()] = ()) -> _Entries:
        """Return the entries of a value for `reader` to change: the original for their last reader, else a copy."""
        entries = self._entries_of(old)
        return entries.copy() if old in self.versions and (self.last_reader[old] > reader or old in also_read) else entries

    # Values from entries

    def part(self, entries: _Entries, region: Region, type_: ValueType) -> int:
        """Return a region of a version, made of as few values as possible."""
        if region.shape == ():
            return self._entry(int(entries.written[region.starts]))
        box = entries.written[region.slices]
        # If this array exists, a slice of another value is no better: their cotangents would be collected apart.
        whole_only = entries.made is not None and box.size > 1
        number = self._from_one(box, type_.shape, whole_only)
        if number is not None:
            return number
        if entries.made is not None:
            return self.make(INDEX, (entries.made,), (region,))
        if entries.home is not None:
            box_at_home = entries.home[region.slices]
            number = self._from_one(box_at_home, type_.shape)
            if number is not None:
                return number
            if sources_of(box_at_home).size < sources_of(box).size:
                box = box_at_home
        number = self._together(box.reshape(type_.shape), type_)
        if entries.home is None:
            entries.home = entries.written.copy()
        entries.home[region.slices] = own_entries(number, region.counts)
        return number

    def _entry(self, entry: int) -> int:
        source, position = entry >> SHIFT, entry & POSITION
        shape = self.instructions[source].type.shape
        if math.prod(shape) == 1:
            return in_shape(self, source, ())
        return self.make(INDEX, (source,), (entry_region(position, shape),))

    def _from_one(self, box: np.ndarray, shape: tuple[int, ...], whole_only: bool = False) -> int | None:
        source = single_source(box)
        if source is None or (whole_only and box.size != self.instructions[source].type.size):
            return None
        return read_box(self, source, box & POSITION, shape)

    def _together(self, entries: np.ndarray, type_: ValueType) -> int:
        """A new array of entries from several values."""
        shape, flat = type_.shape, entries.reshape(-1)
        holes = holes_in_a_box(flat, shape, self.instructions)
        if holes is not None:
            places, filled = holes
            return self._joined(self._together(filled, type_), split(places, flat[places], shape, self.instructions), type_)
        base, kept = self._base(flat, shape)
        if base is None:
            pieces = split(np.arange(flat.size), flat, shape, self.instructions)
        else:
            places = np.flatnonzero(~kept)
            pieces = split(places, flat[places], shape, self.instructions)
            if self._is_zero(base):
                base = None if pieces else base
            elif len(pieces) > 1 or 2 * places.size > flat.size:
                # The rest of the original array becomes a part as well, if it is simple enough.
                rest = np.flatnonzero(kept)
                stretches = split(rest, flat[rest], shape, self.instructions)
                if len(stretches) <= MOST_STRETCHES and all(p.target is not None for p in stretches):
                    base, pieces = None, pieces + stretches
        return self._joined(base, pieces, type_)

    def _joined(self, base: int | None, pieces: list[Piece], type_: ValueType) -> int:
        boxes = [p for p in pieces if p.target is not None]
        boxes.sort(key=lambda p: p.positions.ndim)  # single entries first, all in a row
        regions = Regions(p.target for p in boxes if p.target is not None)
        parts = [read_box(self, p.source, p.positions, r.shape) for p, r in zip(boxes, regions)]
        assert None not in parts, "split() makes boxes of boxes"
        if base is None and not parts:
            base = self.constant(np.zeros(type_.shape, type_.dtype), type_)
        if base is None:
            result = self.make(ASSEMBLE, tuple(parts), (regions, type_.shape, True))  # type: ignore[arg-type]
        else:
            result = base if not parts else self.make(REPLACE, (base, *parts), (regions,))  # type: ignore[arg-type]
        for p in pieces:
            if p.target is None:
                there, here = (self.constant(k, ValueType(k.shape, INT64)) for k in (p.positions, p.places))
                values = self.make(GATHER, (p.source, there))
                result = self.make(PUT, (result, values, here), (True,))
        return result

    def _base(self, flat: np.ndarray, shape: tuple[int, ...]) -> tuple[int | None, np.ndarray]:
        """Return the value of this shape that has most of the entries at their own positions, and a mask of those."""
        in_place = (flat & POSITION) == np.arange(flat.size)
        sources, counts = np.unique(flat[in_place] >> SHIFT, return_counts=True)
        for k in np.argsort(-counts, kind="stable"):
            if self.instructions[int(sources[k])].type.shape == shape:
                return int(sources[k]), in_place & (flat >> SHIFT == sources[k])
        return None, in_place

    def _is_zero(self, number: int) -> bool:
        op, _, params, *_ = self.instructions[number]
        return op is CONSTANT and not np.any(np.frombuffer(params[0].tobytes(), np.uint8))


def _box(entries: np.ndarray, region: Region) -> np.ndarray:
    return np.array(entries[region.slices]).reshape(region.shape)


def _all_of(shape: tuple[int, ...]) -> Region:
    return Region((0,) * len(shape), (1,) * len(shape), shape, shape)
