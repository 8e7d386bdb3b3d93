"""Elementwise operations on piecewise arrays: computed part by part, from the sources of the parts.

np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u reads two arrays, each assembled from a large box and a strip. Cut along their edges, the sum
is nine boxes of a plane, or three of a vector, each computed from boxes of u alone. No intermediate array is stored: inside a plane this
equals the stencil written with slices. The same holds for boxes of a padded array; and the cotangents of slices, sums of shifted boxes,
join the operations that read them. The operations and their order stay, so only the sign of a zero may change: sums of
parts began with 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...ir.instruction import Instruction, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX, Region, Regions
from ...ops.arrays.partition import Part, partition
from ...ops.arrays.shape import RESHAPE
from ...ops.elementwise.arithmetic import ADD

# Entries per part. Smaller arrays stay in the first-level cache, and the code for the parts takes longer to compile than it saves.
FEWEST_ENTRIES = 400

# Limits for one group of operations: each part is code of its own.
MOST_REGIONS, MOST_PARTS, MOST_INSTRUCTIONS = 80, 27, 500

Shape = tuple[int, ...]
Ints = tuple[int, ...]


class Group(NamedTuple):
    """Operations computed part by part.

    Attributes:
        members: their numbers, in order.
        dissolved: the assembled arrays that they read, and boxes of these, that nothing else reads.
        parts: the common partition of the members' shape.
    """

    members: list[int]
    dissolved: set[int]
    parts: list[Part]


def elementwise_by_parts(tape: Tape) -> Tape:
    joins = {n for n, i in tape.numbered(ASSEMBLE) if _may_be_cut(i)}
    groups = _Groups(tape, joins).found() if joins else []
    if not groups:
        return tape
    rewriter = Rewriter(tape)
    cutters = {member: cutter for group in groups for cutter in [_Cutter(rewriter, group)] for member in group.members}
    dissolved = {number for group in groups for number in group.dissolved}
    read_whole = set(tape.outputs)
    for number, instruction in enumerate(tape.instructions):
        read_whole.update(i for i in instruction.inputs if i in cutters and cutters[i] is not cutters.get(number))
    for number in range(len(tape.instructions)):
        cutter = cutters.get(number)
        if cutter is None and number not in dissolved:
            rewriter.number[number] = rewriter.copy(number)
        elif cutter is not None and number in read_whole:
            rewriter.number[number] = cutter.joined(number)
    return rewriter.finish()


class _Groups:
    """Finds operations connected by the arrays that they read, and selects the groups that pay."""

    def __init__(self, tape: Tape, joins: set[int]) -> None:
        self.tape, self.instructions = tape, tape.instructions
        self.users: dict[int, list[int]] = {}
        # Union-find parents of members and dissolved values; the first of a group is its root.
        self.group_of: dict[int, int] = {}
        may_be_member = self._look(joins)
        self.dissolved = self._dissolved(joins, may_be_member)
        outputs = set(tape.outputs)
        # Stored anyway, so later operations may read it.
        stored = {n for n in may_be_member if n in outputs or any(u not in may_be_member for u in self.users.get(n, ()))}
        self.members: set[int] = set()
        for number in sorted(may_be_member):
            for i in self._of_its_shape(number):
                if i in self.dissolved or (i in self.members and i not in stored):
                    self.members.add(number)
                    self._connect(i, number)

    def _look(self, joins: set[int]) -> set[int]:
        """Note the readers of assembled arrays and of their results; return the elementwise operations among them."""
        reached, found = set(joins), set()
        for number, instruction in enumerate(self.instructions):
            near = [i for i in instruction.inputs if i in reached]
            for i in dict.fromkeys(near):
                self.users.setdefault(i, []).append(number)
            if not near:
                continue
            if _is_cheap(instruction) and any(i in reached for i in self._of_its_shape(number)):
                found.add(number)
                reached.add(number)
            elif _is_box(instruction):
                reached.add(number)
        return found

    def _of_its_shape(self, number: int) -> list[int]:
        shape = self.instructions[number].type.shape
        return [i for i in self.instructions[number].inputs if self.instructions[i].type.shape == shape]

    def _dissolved(self, joins: set[int], may_be_member: set[int]) -> set[int]:
        """Return assembled arrays, and boxes of them, whose final readers are all elementwise operations of their shape."""
        found: set[int] = set()
        outputs = set(self.tape.outputs)
        for number in sorted(self.users, reverse=True):
            if (number in joins or _is_box(self.instructions[number])) and number not in outputs:
                if all(
                    self._takes_boxes(user, number) if user in found else user in may_be_member and number in self._of_its_shape(user)
                    for user in self.users[number]
                ):
                    found.add(number)
        return found

    def _takes_boxes(self, reader: int, value: int) -> bool:
        """True if a box, or an assembled array, reads a value with its dimensions unchanged."""
        op, inputs, params, *_ = self.instructions[reader]
        return op is INDEX or all(r.shape == r.counts for i, r in zip(inputs, params[0]) if i == value)

    def _first(self, number: int) -> int:
        while (other := self.group_of.setdefault(number, number)) != number:
            self.group_of[number] = self.group_of[other]
            number = other
        return number

    def _connect(self, a: int, b: int) -> None:
        a, b = self._first(a), self._first(b)
        self.group_of[max(a, b)] = min(a, b)

    def found(self) -> list[Group]:
        for number in self.dissolved:
            for user in self.users[number]:
                self._connect(number, user)
        members: dict[int, list[int]] = {}
        dissolved: dict[int, set[int]] = {}
        for number in sorted(self.members):
            members.setdefault(self._first(number), []).append(number)
        for number in self.dissolved:
            dissolved.setdefault(self._first(number), set()).add(number)
        made = [self._group(members[first], dissolved[first]) for first in members if first in dissolved]
        return [group for group in made if group is not None]

    def _group(self, members: list[int], dissolved: set[int]) -> Group | None:
        """Return the group and its parts; None if it would store as much as before, or the code for the parts would be long."""
        shape = self.instructions[members[0]].type.shape
        if any(self.instructions[n].type.shape != shape for n in members):
            return None
        inside, outputs = set(members), set(self.tape.outputs)
        stored = sum(n not in outputs and any(u not in inside for u in self.users.get(n, ())) for n in members)
        if stored >= sum(self.instructions[n].op is ASSEMBLE for n in dissolved):
            return None
        read = {i for n in members for i in self._of_its_shape(n) if i in dissolved}
        boxes = _Boxes(self.instructions, dissolved)
        regions: list[Region] = []
        for value in sorted(read):
            for region in boxes.edges(value, shape):
                regions.append(region)
                if len(regions) > MOST_REGIONS:
                    return None
        parts = partition(regions, shape, MOST_REGIONS, MOST_PARTS)
        if parts is None or FEWEST_ENTRIES * len(parts) > math.prod(shape):
            return None
        if len(parts) * (len(members) + len(regions) // 2) > MOST_INSTRUCTIONS:
            return None
        # An entry that no part covers is zero, and no box to read it from exists.
        is_covered = all(boxes.is_covered(value, part.starts, part.counts) for part in parts for value in read)
        return Group(members, dissolved, parts) if is_covered else None


def _may_be_cut(join: Instruction) -> bool:
    regions = join.params[0]
    return join.type.size >= 2 * FEWEST_ENTRIES and len(regions) <= MOST_REGIONS and all(map(_is_dense, regions))


def _is_cheap(instruction: Instruction) -> bool:
    return isinstance(instruction.op, Elementwise) and bool(instruction.type.shape) and not instruction.op.is_costly


def _is_box(instruction: Instruction) -> bool:
    """True if it reads adjacent entries and keeps all dimensions."""
    if instruction.op is not INDEX:
        return False
    region = instruction.params[0]
    return region.shape == region.counts and _is_dense(region)


def _is_dense(region: Region) -> bool:
    """True for adjacent entries, in ascending order."""
    return all(step == 1 or count == 1 for step, count in zip(region.steps, region.counts)) and 0 not in region.counts


class _Boxes:
    """Traces boxes of dissolved values to the values that they were assembled from."""

    def __init__(self, instructions: Sequence[Instruction], dissolved: set[int]) -> None:
        self.instructions, self.dissolved = instructions, dissolved

    def source(self, value: int, starts: Ints) -> tuple[int, Ints]:
        """Return the value that a dissolved box is read from, and its start there."""
        while value in self.dissolved and self.instructions[value].op is INDEX:
            region = self.instructions[value].params[0]
            value, starts = self.instructions[value].inputs[0], tuple(a + b for a, b in zip(starts, region.starts))
        return value, starts

    def covering(self, join: int, starts: Ints, counts: Ints) -> list[tuple[int, Shape, Ints]]:
        """Return the parts that contain a box, with their shapes and its start in each."""
        found = []
        for part, region in zip(self.instructions[join].inputs, self.instructions[join].params[0]):
            within = tuple(a - b for a, b in zip(starts, region.starts))
            if all(0 <= a and a + n <= m for a, n, m in zip(within, counts, region.counts)):
                found.append((part, region.counts, within))
        return found

    def edges(self, value: int, shape: Shape) -> Iterator[Region]:
        """Yield boxes of an array of this shape whose edges are all part boundaries inside a value."""
        waiting = [(value, (0,) * len(shape), (0,) * len(shape), shape)]
        while waiting:
            # The box at `starts` of `value` is the box at `at` of the array.
            value, starts, at, counts = waiting.pop()
            value, starts = self.source(value, starts)
            if value not in self.dissolved:
                continue
            for part, region in zip(self.instructions[value].inputs, self.instructions[value].params[0]):
                first = tuple(max(a, b) for a, b in zip(starts, region.starts))
                ends = tuple(min(a + n, b + m) for a, n, b, m in zip(starts, counts, region.starts, region.counts))
                within = tuple(e - f for e, f in zip(ends, first))
                if min(within) <= 0:
                    continue
                place = tuple(p + f - a for p, f, a in zip(at, first, starts))
                yield _box(place, within)
                waiting.append((part, tuple(f - b for f, b in zip(first, region.starts)), place, within))

    def is_covered(self, value: int, starts: Ints, counts: Ints) -> bool:
        waiting = [(value, starts)]
        while waiting:
            value, starts = self.source(*waiting.pop())
            if value in self.dissolved:
                found = self.covering(value, starts, counts)
                if not found:
                    return False
                waiting += [(part, within) for part, _, within in found]
        return True


class _Cutter:
    """Emits the operations of one group part by part."""

    def __init__(self, rewriter: Rewriter, group: Group) -> None:
        self.rewriter, self.group = rewriter, group
        self.instructions = rewriter.tape.instructions
        self.members = set(group.members)
        self.boxes = _Boxes(self.instructions, group.dissolved)
        self.shape: Shape = self.instructions[group.members[0]].type.shape
        # Emitted values, by member or operand, and part.
        self.made: dict[tuple[int, int], int] = {}

    def joined(self, number: int) -> int:
        """Emit all parts of a member, and assemble them."""
        needed, waiting = {number}, [number]
        while waiting:
            for i in self.instructions[waiting.pop()].inputs:
                if i in self.members and i not in needed:
                    needed.add(i)
                    waiting.append(i)
        order = sorted(needed)
        for k, part in enumerate(self.group.parts):
            for member in order:
                if (member, k) not in self.made:
                    self.made[member, k] = self._operation(self.instructions[member], k, part)
        boxes = Regions(_box(part.starts, part.counts) for part in self.group.parts)
        inputs = tuple([self.made[number, k] for k in range(len(boxes))])
        return self.rewriter.emit(ASSEMBLE, inputs, (boxes, self.shape, True), *self.instructions[number][3:])

    def _operation(self, instruction: Instruction, k: int, part: Part) -> int:
        op, inputs, params, type_, site = instruction
        operands: list[int] = []
        for i in inputs:
            if (i, k) not in self.made:
                self.made[i, k] = self._operand(i, part)
            operands.append(self.made[i, k])
        return self.rewriter.emit(op, tuple(operands), params, ValueType(part.counts, type_.dtype), site)

    def _operand(self, value: int, part: Part) -> int:
        """Return a part of a value that is not a member; axes of length 1 broadcast."""
        shape = self.instructions[value].type.shape
        if value in self.boxes.dissolved:
            return self._sum(value, shape, part.starts, part.counts)
        first = len(part.counts) - len(shape)
        starts = tuple(0 if n == 1 else a for n, a in zip(shape, part.starts[first:]))
        counts = tuple(1 if n == 1 else c for n, c in zip(shape, part.counts[first:]))
        return self._read(value, shape, starts, counts)

    def _sum(self, value: int, shape: Shape, starts: Ints, counts: Ints) -> int:
        """Return a box of a value: the sum of the parts that contain it, in their order. Recurses at most MOST_REGIONS deep."""
        source, starts = self.boxes.source(value, starts)
        if source not in self.boxes.dissolved:
            return self._read(source, shape if source == value else self.instructions[source].type.shape, starts, counts)
        total, site = -1, self.instructions[source].site
        for part, part_shape, within in self.boxes.covering(source, starts, counts):
            box = self._sum(part, part_shape, within, counts)
            type_ = self.rewriter.instructions[box].type
            total = box if total < 0 else self.rewriter.emit(ADD, (total, box), (), type_, site)
        return total

    def _read(self, value: int, shape: Shape, starts: Ints, counts: Ints) -> int:
        """Read a box of a stored value, in this shape."""
        number = self.rewriter.number[value]
        if self.instructions[value].type.shape != shape:
            number = self.rewriter.make(RESHAPE, (number,), (shape,))
        return number if counts == shape else self.rewriter.make(INDEX, (number,), (_box(starts, counts),))


def _box(starts: Ints, counts: Ints) -> Region:
    return Region(tuple(starts), (1,) * len(counts), tuple(counts), tuple(counts))
