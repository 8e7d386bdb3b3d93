"""The memory plan: an offset in the workspace for every stored array.

Arrays with disjoint lifetimes share memory; so do two if a loop reads one for the last time, entry by entry, and writes the other in the
same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..loop_ir.dependencies import read_by, written_by
from ..loop_ir.program import Access, Bands, Group, LoopNest, Outlined, Storage

ALIGNMENT = 64
SMALL = 8


def plan_memory(groups: Sequence[Group], storages: Sequence[Storage], before: int = 0) -> tuple[list[Storage], int]:
    """The storages, with byte offsets for those in the workspace; and the size of the workspace.

    The first `before` groups run once and the others repeatedly, so the results of the first are needed until the end.
    """
    first, last = _lifetimes(groups, storages, before)
    ending = _by_group(last)
    starting = _by_group(first)
    # Numbers are packed together, before the arrays.
    numbers, arrays = _Space(), _Space()
    offsets: dict[int, int] = {}
    for number, group in enumerate(groups):
        left = dict.fromkeys(k for k in ending.get(number, ()) if _is_planned(storages[k]))
        begun = [storages[k] for k in starting.get(number, ()) if _is_planned(storages[k])]
        overwritten = _Overwritten(group, left, storages) if left and begun else None
        for item in begun:
            known = -1 if overwritten is None else overwritten.by(item)
            if known >= 0:
                del left[known]
                offsets[item.number] = offsets[known]
            else:
                offsets[item.number] = numbers.take(SMALL) if item.size == 1 else arrays.take(_rounded(item.bytes))
        for storage in left:
            item = storages[storage]
            if item.size == 1:
                numbers.give(offsets[storage], SMALL)
            else:
                arrays.give(offsets[storage], _rounded(item.bytes))
    start = numbers.end + -numbers.end % ALIGNMENT
    planned = list(storages)
    for storage, offset in offsets.items():
        item = storages[storage]
        position = offset if item.size == 1 else start + offset
        planned[storage] = Storage(storage, item.size, item.kind, item.home, position, item.in_memory)
    return planned, start + arrays.end


def _by_group(groups: dict[int, int]) -> dict[int, list[int]]:
    """The storages of each group, from the group of each storage."""
    storages: dict[int, list[int]] = {}
    for storage, number in groups.items():
        storages.setdefault(number, []).append(storage)
    return storages


def _is_planned(item: Storage) -> bool:
    return item.home == "workspace" and item.in_memory


# Size and kind of an array, and domain, offset, strides and index read of the accesses to it.
_Pattern: TypeAlias = tuple[int, str, tuple[int, ...], int, tuple[int, ...], int]


class _Overwritten:
    """Arrays that a nest may overwrite with others: it reads them for the last time, each entry before it is overwritten.

    Attributes:
        arrays: by access pattern of the reads, the arrays left, each with the number of the last step that reads it.
        writers: by storage, the numbers of the steps that write it.
    """

    def __init__(self, group: Group, left: Iterable[int], storages: Sequence[Storage]) -> None:
        nest = group.group if isinstance(group, (Outlined, Bands)) else group
        self.body = nest.body if isinstance(nest, LoopNest) else ()
        self.arrays: dict[_Pattern, dict[int, int]] = {}
        self.writers: dict[int, list[int]] = {}
        # The pattern and the last step of its reads, an empty one before the first; None if there are several patterns.
        reads: dict[int, tuple[_Pattern | tuple[()], int] | None] = {k: ((), -1) for k in left if storages[k].size != 1}
        for number, step in enumerate(self.body):
            for read in step.reads:
                if isinstance(read, Access) and (known := reads.get(read.storage)) is not None:
                    item = storages[read.storage]
                    pattern = (item.size, item.kind, step.domain, read.offset, read.strides, read.index_read)
                    reads[read.storage] = (pattern, number) if known[0] in ((), pattern) else None
            self.writers.setdefault(step.write.storage, []).append(number)
        for storage, known in reads.items():
            if known is not None and known[0] and storage not in self.writers:
                self.arrays.setdefault(known[0], {})[storage] = known[1]

    def by(self, new: Storage) -> int:
        """Take the first array that a storage may overwrite; -1 for none."""
        writers = self.writers.get(new.number, ())
        if len(writers) != 1:
            return -1
        step, write = self.body[writers[0]], self.body[writers[0]].write
        if step.combine is not None or write.index_read >= 0 or 0 in write.strides:
            return -1
        arrays = self.arrays.get((new.size, new.kind, step.domain, write.offset, write.strides, write.index_read), {})
        found = next((storage for storage, last in arrays.items() if last <= writers[0]), -1)
        arrays.pop(found, None)
        return found


def _lifetimes(groups: Sequence[Group], storages: Sequence[Storage], before: int) -> tuple[dict[int, int], dict[int, int]]:
    """The first and last group that uses each storage that has an address."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, group in enumerate(groups):
        for item in group.body:
            for storage in (*read_by(item), *written_by(item)):
                if storage >= 0 and storages[storage].in_memory:
                    first.setdefault(storage, number)
                    last[storage] = number
    for storage, number in first.items():
        if number < before:
            last[storage] = len(groups) - 1
    return first, last


def _rounded(size: int) -> int:
    return max(ALIGNMENT, size + -size % ALIGNMENT)


class _Space:
    """Free stretches of the workspace. Best fit: one of the same length first, else the start of the shortest longer one."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.end = 0

    def take(self, size: int) -> int:
        longer = (n for n, starts in self.free.items() if starts and n > size)
        fitting = size if self.free.get(size) else min(longer, default=0)
        if not fitting:
            self.end += size
            return self.end - size
        start = self.free[fitting].pop()
        if fitting > size:
            self.give(start + size, fitting - size)
        return start

    def give(self, start: int, length: int) -> None:
        self.free.setdefault(length, []).append(start)
