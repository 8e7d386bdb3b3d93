"""Finds nests over the same rows of large arrays, and has them run one after the other on each block of rows: bands.

A matrix that several nests read, as a matrix-vector product and its transpose in the backward pass do, comes from memory once, and
what one nest hands to the next stays in the cache, in an array as long as a block. Nests may share bands when each row of what one
writes is read in the same row of the others. Reductions over rows go on from block to block, so their order is what it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..loop_ir.collapse_loops import LANES
from ..loop_ir.dependencies import may_veto, read_by, relies_on_guards, written_by
from ..loop_ir.program import Access, Bands, Group, Step, Storage

# What the rows of a block take together: what a first-level cache holds. Blocks of 16 to 100 kB were within 10 % of each other.
BLOCK_BYTES = 32_000
# Shorter blocks cost more in loops that begin and end than they save.
SHORTEST_BLOCK = 16
# Where nothing that nests share is larger than this, it is in the cache all along.
SMALLEST_SHARED = 48_000

# Each trial looks at all groups.
MOST_TRIALS = 32


def form_bands(groups: list[Group], storages: list[Storage]) -> list[Group]:
    """The groups, with nests that share large arrays in bands; what stands between them moves before or behind."""
    done: list[Group] = []
    for _ in range(MOST_TRIALS):
        start, stop = _sharing(groups, storages)
        if start == stop:
            break
        split = _Split(groups[start].domain[0], storages)
        for group in groups[start:stop]:
            split.add(group)
        bands = _bands(split, storages, [*done, *groups])
        if bands is None:
            done, groups = [*done, *groups[: start + 1]], groups[start + 1 :]
        else:
            done, groups = [*done, *groups[:start], *split.before, bands], [*split.after, *groups[stop:]]
    return [*done, *groups]


def _sharing(groups: list[Group], storages: list[Storage]) -> tuple[int, int]:
    """The first nest that has a large array in common with a later one over the same rows; the end of the last nest of such a pair."""
    users: dict[tuple[int, int], list[int]] = {}
    for number, group in enumerate(groups):
        if _may_share(group):
            for storage in {s for item in group.body for s in (*read_by(item), *written_by(item))}:
                item = storages[storage]
                if item.in_memory and item.bytes >= SMALLEST_SHARED:
                    users.setdefault((storage, group.domain[0]), []).append(number)
    pairs = [(numbers[0], rows, numbers[-1] + 1) for (_, rows), numbers in users.items() if len(numbers) > 1]
    if not pairs:
        return 0, 0
    start, chosen, _ = min(pairs)
    return start, max(end for _, rows, end in pairs if rows == chosen)


def _may_share(group: Group) -> bool:
    return group.form == "nest" and 0 not in group.domain and group.domain[0] >= 2 * LANES


@dataclass(slots=True)
class _Split:
    """Groups in three parts: nests that may run in bands over `rows`, and what runs before and behind them."""

    rows: int
    storages: list[Storage]
    before: list[Group] = field(default_factory=list)
    members: list[Group] = field(default_factory=list)
    after: list[Group] = field(default_factory=list)
    # The rows of each storage that a member writes; the storages of which parts are written behind the bands.
    written: dict[int, _Row | None] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    # Whether a guard, or what may fail like one, is behind the bands: nothing may overtake it that relies on it.
    veto: bool = False

    def add(self, group: Group) -> None:
        if self._joins(group):
            self.members.append(group)
            for item in group.body:
                row = _row(item.write, item.domain)
                known = self.written.get(item.write.storage, row)
                self.written[item.write.storage] = row if row == known else None
        elif group.form == "straight":
            early = [item for item in group.body if not self._waits(item)]
            chosen = set(map(id, early))
            late = [item for item in group.body if id(item) not in chosen]
            self.before += [Group("straight", (), early)] if early else []
            self.after += [Group("straight", (), late)] if late else []
        elif any(self._is_late(item) for item in group.body):
            self.after.append(group)
            for item in group.body:
                self._delay(item)
        else:
            self.before.append(group)

    def _waits(self, item: Any) -> bool:
        """Whether an item is to run behind the bands; what depends on it then is, too."""
        is_late = self._is_late(item)
        if is_late:
            self._delay(item)
        return is_late

    def _delay(self, item: Any) -> None:
        self.late.update(written_by(item))
        self.veto = self.veto or may_veto(item)

    def _is_late(self, item: Any) -> bool:
        """Whether an item depends on the members, or on what is behind them."""
        touched = {*read_by(item), *written_by(item)}
        if not touched.isdisjoint(self.late) or not touched.isdisjoint(self.written):
            return True
        return self.veto and relies_on_guards(item, self.storages)

    def _joins(self, group: Group) -> bool:
        """Whether a group is a nest over the same rows, and needs of the members nothing but the row that it is at."""
        if not _may_share(group) or group.domain[0] != self.rows:
            return False
        for item in group.body:
            for access in (*item.reads, item.write):
                if not isinstance(access, Access):
                    continue
                if access.storage in self.late:
                    return False
                if access.storage in self.written:
                    row = _row(access, item.domain)
                    if row is None or row != self.written[access.storage]:
                        return False
            if self.veto and relies_on_guards(item, self.storages):
                return False
        return True


@dataclass(frozen=True, slots=True)
class _Row:
    """Of accesses that stay within row k of a storage at row k of the loop: how long a row is, and how many rows they are off."""

    length: int
    shift: int


def _row(access: Access, domain: tuple[int, ...]) -> _Row | None:
    length = access.strides[0] if access.strides else 0
    if length <= 0 or access.index_read >= 0:
        return None
    inner = [stride * (extent - 1) for stride, extent in zip(access.strides[1:], domain[1:])]
    first = access.offset + sum(min(0, k) for k in inner)
    last = access.offset + sum(max(0, k) for k in inner)
    return _Row(length, first // length) if first // length == last // length else None


def _bands(split: _Split, storages: list[Storage], groups: list[Group]) -> Group | None:
    """The members as one group, if they share enough for that to pay."""
    accesses: dict[int, list[tuple[int, _Row | None]]] = {}
    for number, group in enumerate(split.members):
        for item in group.body:
            for access in (*item.reads, item.write):
                if isinstance(access, Access):
                    accesses.setdefault(access.storage, []).append((number, _row(access, item.domain)))
    shared = row_bytes = 0
    for storage, found in accesses.items():
        lengths = [row.length for _, row in found if row is not None]
        if not lengths or not storages[storage].in_memory:
            continue
        row_bytes += 8 * max(lengths)
        if len({number for number, row in found if row is not None}) > 1:
            shared = max(shared, 8 * max(lengths) * split.rows)
    if shared < SMALLEST_SHARED:
        return None
    rows = max(SHORTEST_BLOCK, BLOCK_BYTES // row_bytes // LANES * LANES)
    if split.rows < 2 * rows:
        return None
    return Group(
        "bands", (split.rows,), [item for group in split.members for item in group.body],
        Bands(tuple(split.members), rows, _windows(split, storages, groups, rows)),
    )  # fmt: skip


def _windows(split: _Split, storages: list[Storage], groups: list[Group], rows: int) -> tuple[tuple[int, int], ...]:
    """The storages that only the members need, and how long a row is; each is cut down to one block."""
    members = set(map(id, split.members))
    elsewhere = {s for g in groups if id(g) not in members for i in g.body for s in (*read_by(i), *written_by(i))}
    windows: list[tuple[int, int]] = []
    for storage, row in split.written.items():
        item = storages[storage]
        if row is None or storage in elsewhere or item.home != "workspace" or not item.in_memory:
            continue
        if all(_keeps_to(row, step, storage) for group in split.members for step in group.body):
            windows.append((storage, row.length))
            item.size = (rows + split.rows % rows) * row.length
    return tuple(windows)


def _keeps_to(row: _Row, step: Step, storage: int) -> bool:
    """Whether a step touches the storage within its row, and leaves nothing in it to be added to by the next block."""
    for access in (*step.reads, step.write):
        if isinstance(access, Access) and access.storage == storage:
            if row.shift or _row(access, step.domain) != row:
                return False
    if step.combine is None or step.write.storage != storage:
        return True
    moving = [k for k, stride in enumerate(step.write.strides) if stride]
    return math.prod(step.write.strides[: moving[-1] + 1]) != 0 and moving[-1] + 1 < len(step.write.strides)
