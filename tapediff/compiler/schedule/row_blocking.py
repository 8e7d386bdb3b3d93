"""Row blocking: several nests over the same rows of large arrays run in turn on each block of rows.

A matrix that several nests read, as in a matrix-vector product and its transpose in the reverse pass, is loaded from memory once, and
values passed between nests stay in the cache, in a buffer of one block. Nests may share blocks if each row that one writes is read only in
the same row of the others. Reductions over rows continue from block to block, so they keep their order.

Products of stacks of matrices take part, too: a row is then a matrix. Blocks are as few matrices as possible, as each is long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..loop_ir.collapse_loops import LANES, collapsed
from ..loop_ir.dependencies import may_veto, read_by, relies_on_guards, written_by
from ..loop_ir.program import (
    Access,
    Extent,
    Group,
    Item,
    Literal,
    LoopNest,
    RoutineCall,
    RowBlocks,
    Step,
    Storage,
    Straight,
)

# Bytes of a block of rows in all arrays together: a first-level cache. Blocks of 16 to 100 kB were within 10 % of each other.
BLOCK_BYTES = 32_000
# Shorter blocks lose more in loop overhead than they save.
SHORTEST_BLOCK = 16
# Nests with fewer entries a row do not take part in blocks of single matrices.
SHORTEST_MATRIX = 64
# Shared arrays up to this size are in the cache anyway.
SMALLEST_SHARED = 48_000

# Limit on trials; each looks at all groups.
MOST_TRIALS = 32


def block_rows(groups: Sequence[Group], storages: Sequence[Storage], cuts: Sequence[int] = ()) -> tuple[list[Group], list[Storage]]:
    """The groups, with nests that share large arrays in RowBlocks; groups between them move before or after.

    Storages that only one such group needs are shrunk to one block.

    Args:
        cuts: the numbers of groups that nothing moves across.
    """
    storages = list(storages)
    done: list[Group] = []
    for start, stop in pairwise([0, *cuts, len(groups)]):
        done = _block_section(done, list(groups[start:stop]), list(groups[stop:]), storages)
    return done, storages


def _block_section(done: list[Group], groups: list[Group], later: list[Group], storages: list[Storage]) -> list[Group]:
    for _ in range(MOST_TRIALS):
        start, stop, rows = _sharing(groups, storages)
        if start == stop:
            break
        split = _Split(rows, storages, any(isinstance(g, RoutineCall) and _rows_of(g) == rows for g in groups[start:stop]))
        for group in groups[start:stop]:
            split.add(group)
        blocks = _row_blocks(split, storages, [*done, *groups, *later])
        if blocks is None:
            done, groups = [*done, *groups[: start + 1]], groups[start + 1 :]
        else:
            done, groups = [*done, *groups[:start], *split.before, blocks], [*split.after, *groups[stop:]]
    return [*done, *groups]


def _sharing(groups: list[Group], storages: Sequence[Storage]) -> tuple[int, int, int]:
    """The first nest that shares a large array with a later one over as many rows; the end of the last nest of such a pair; and these
    rows."""
    users: dict[tuple[int, int], list[int]] = {}
    for number, group in enumerate(groups):
        rows = _rows_of(group)
        for storage in {s for item in group.body for s in (*read_by(item), *written_by(item))} if rows else ():
            item = storages[storage]
            if item.in_memory and item.bytes >= SMALLEST_SHARED:
                users.setdefault((storage, rows), []).append(number)
    pairs = [(numbers[0], rows, numbers[-1] + 1) for (_, rows), numbers in users.items() if len(numbers) > 1]
    if not pairs:
        return 0, 0, 0
    start, chosen, _ = min(pairs)
    return start, max(end for _, rows, end in pairs if rows == chosen), chosen


def _rows_of(group: Group) -> int:
    """The number of rows of a group that may run in blocks; 0 for others."""
    if isinstance(group, RoutineCall):
        rows = group.count if group.routine == "product" and group.failure < 0 else 0
    else:
        rows = group.domain[0] if isinstance(group, LoopNest) and not isinstance(group.domain[0], Extent) else 0
    return rows if rows >= 2 * LANES else 0


@dataclass(slots=True)
class _Split:
    """Groups in three parts: nests that may run in blocks of `rows`, and the groups before and after them.

    Attributes:
        of_matrices: True if rows are matrices of a stack, to run one by one.
    """

    rows: int
    storages: Sequence[Storage]
    of_matrices: bool = False
    before: list[Group] = field(default_factory=list)
    members: list[LoopNest | RoutineCall] = field(default_factory=list)
    after: list[Group] = field(default_factory=list)
    # The rows of each storage that a member writes; the storages that groups after the blocks write.
    written: dict[int, Row | None] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    # True if a guard, or a call that may fail like one, is after the blocks: items that rely on it must stay after it.
    veto: bool = False

    def add(self, group: Group) -> None:
        if isinstance(group, RoutineCall) and self._call_joins(group):
            self.members.append(group)
            self.written[group.result] = Row(group.advances[-1], 0)
        elif isinstance(group, LoopNest) and self._joins(group):
            self.members.append(group)
            for item in group.body:
                row = row_of(item.write, item.domain)
                known = self.written.get(item.write.storage, row)
                self.written[item.write.storage] = row if row == known else None
        elif isinstance(group, Straight):
            early = tuple([item for item in group.body if not self._waits(item)])
            chosen = set(map(id, early))
            late = tuple([item for item in group.body if id(item) not in chosen])
            self.before += [Straight(early)] if early else []
            self.after += [Straight(late)] if late else []
        elif any(self._is_late(item) for item in group.body):
            self.after.append(group)
            for item in group.body:
                self._delay(item)
        else:
            self.before.append(group)

    def _waits(self, item: Item) -> bool:
        """True if an item must run after the blocks; its dependents then must, too."""
        is_late = self._is_late(item)
        if is_late:
            self._delay(item)
        return is_late

    def _delay(self, item: Item) -> None:
        self.late.update(written_by(item))
        self.veto = self.veto or may_veto(item)

    def _is_late(self, item: Item) -> bool:
        """True if an item depends on the members, or on groups after them."""
        touched = {*read_by(item), *written_by(item)}
        if not touched.isdisjoint(self.late) or not touched.isdisjoint(self.written):
            return True
        return self.veto and relies_on_guards(item, self.storages)

    def _joins(self, nest: LoopNest) -> bool:
        """True if a nest is over the same rows, and of arrays that the members write reads, at each row, only that row."""
        if _rows_of(nest) != self.rows or (self.of_matrices and math.prod(nest.domain[1:]) < SHORTEST_MATRIX):
            return False
        for item in nest.body:
            for access in (*item.reads, item.write):
                if isinstance(access, Literal):
                    continue
                if access.storage in self.late:
                    return False
                if access.storage in self.written:
                    row = row_of(access, item.domain)
                    if row is None or row != self.written[access.storage]:
                        return False
            if self.veto and relies_on_guards(item, self.storages):
                return False
        return True


    def _call_joins(self, call: RoutineCall) -> bool:
        """_joins for products of the matrices of a stack."""
        if _rows_of(call) != self.rows or not self.late.isdisjoint(read_by(call)) or self.late.intersection(written_by(call)):
            return False
        operands = operand_rows(call)
        return all(row is not None and row == self.written.get(storage, row) for storage, row in operands)


@dataclass(frozen=True, slots=True)
class Row:
    """The length of a row, and the shift in rows, of accesses that stay within one row of a storage at each row of the loop."""

    length: int
    shift: int


def row_of(access: Access, domain: tuple[int, ...]) -> Row | None:
    """The rows that an access stays within; None where it does not."""
    length = access.strides[0] if access.strides else 0
    if length <= 0 or access.index_read >= 0:
        return None
    inner = [stride * (extent - 1) for stride, extent in zip(access.strides[1:], domain[1:])]
    first = access.offset + sum(min(0, k) for k in inner)
    last = access.offset + sum(max(0, k) for k in inner)
    return Row(length, first // length) if first // length == last // length else None


def operand_rows(call: RoutineCall) -> list[tuple[int, Row | None]]:
    """The storages that a product of stacks reads, with the rows that hold its matrices; None if a matrix crosses rows."""
    m, n, k, x_row, x_column, y_row, y_column = call.sizes
    lasts = (m - 1) * x_row + (k - 1) * x_column, (k - 1) * y_row + (n - 1) * y_column
    return [
        (storage, Row(advance, offset // advance) if advance > 0 and offset % advance + last < advance else None)
        for (storage, offset), advance, last in zip(call.operands, call.advances, lasts)
    ]


def _row_blocks(split: _Split, storages: list[Storage], groups: list[Group]) -> RowBlocks | None:
    """The members as one group, if they share enough to pay."""
    row_bytes, shared = _shared_bytes(split, storages)
    if shared < SMALLEST_SHARED:
        return None
    shortest = _fewest_matrices(split.members) if any(isinstance(m, RoutineCall) for m in split.members) else SHORTEST_BLOCK
    rows = max(shortest, BLOCK_BYTES // row_bytes // LANES * LANES)
    if split.rows < 2 * rows:
        return None
    return RowBlocks(tuple(split.members), split.rows, rows, _block_buffers(split, storages, groups, rows))


def _fewest_matrices(members: Sequence[LoopNest | RoutineCall]) -> int:
    """The fewest rows that are whole vectors even in nests whose loops all collapse into one."""
    lengths = [math.prod(m.domain[1:]) for m in members if isinstance(m, LoopNest) and len(collapsed(m).domain) == 1]
    return math.lcm(*(LANES // math.gcd(LANES, length) for length in lengths))


def _shared_bytes(split: _Split, storages: Sequence[Storage]) -> tuple[int, int]:
    """Bytes of one row of all arrays together, and of the largest array that several members use row by row."""
    accesses: dict[int, list[tuple[int, Row | None]]] = {}
    for number, nest in enumerate(split.members):
        for storage, row in _accessed_rows(nest):
            accesses.setdefault(storage, []).append((number, row))
    shared = row_bytes = 0
    for storage, found in accesses.items():
        lengths = [row.length for _, row in found if row is not None]
        if not lengths or not storages[storage].in_memory:
            continue
        row_bytes += 8 * max(lengths)
        if len({number for number, row in found if row is not None}) > 1:
            shared = max(shared, 8 * max(lengths) * split.rows)
    return row_bytes, shared


def _accessed_rows(member: LoopNest | RoutineCall) -> list[tuple[int, Row | None]]:
    if isinstance(member, RoutineCall):
        return [*operand_rows(member), (member.result, Row(member.advances[-1], 0))]
    accesses = [(access, item) for item in member.body for access in (*item.reads, item.write)]
    return [(access.storage, row_of(access, item.domain)) for access, item in accesses if isinstance(access, Access)]


def _block_buffers(
    split: _Split, storages: list[Storage], groups: list[Group], rows: int
) -> tuple[tuple[int, int], ...]:
    """The storages that only the members need, shrunk to one block, with their row lengths."""
    members = set(map(id, split.members))
    elsewhere = {s for g in groups if id(g) not in members for i in g.body for s in (*read_by(i), *written_by(i))}
    buffers: list[tuple[int, int]] = []
    for storage, row in split.written.items():
        item = storages[storage]
        if row is None or storage in elsewhere or item.home != "workspace" or not item.in_memory:
            continue
        if all(_keeps_to(row, item, storage) for member in split.members for item in member.body):
            buffers.append((storage, row.length))
            storages[storage] = replace(item, size=(rows + split.rows % rows) * row.length)
    return tuple(buffers)


def _keeps_to(row: Row, step: Step | RoutineCall, storage: int) -> bool:
    """True if a step touches the storage within its row only, and no reduction over it continues in the next block."""
    if isinstance(step, RoutineCall):
        return not row.shift
    for access in (*step.reads, step.write):
        if isinstance(access, Access) and access.storage == storage:
            if row.shift or row_of(access, step.domain) != row:
                return False
    if step.combine is None or step.write.storage != storage:
        return True
    moving = [k for k, stride in enumerate(step.write.strides) if stride]
    return math.prod(step.write.strides[: moving[-1] + 1]) != 0 and moving[-1] + 1 < len(step.write.strides)
