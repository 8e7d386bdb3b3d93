"""The memory plan: an offset in the workspace for every stored array.

Arrays that are not alive together share memory; so do two where a loop reads the one for the last time, entry by entry, and writes
the other in the same order.
"""

from __future__ import annotations

from dataclasses import replace

from .dependencies import read_by, written_by
from .program import Access, Group, Storage

ALIGNMENT = 64
SMALL = 8


def plan_memory(groups: list[Group], storages: list[Storage], before: int = 0) -> int:
    """Set each stored workspace array's byte offset; returns the bytes needed in all.

    The first `before` groups run once and the others again and again, so what the former write is needed until the end.
    """
    first, last = _lifetimes(groups, storages, before)
    ending: dict[int, list[int]] = {}
    for storage, number in last.items():
        ending.setdefault(number, []).append(storage)
    starting: dict[int, list[int]] = {}
    for storage, number in first.items():
        starting.setdefault(number, []).append(storage)
    # Numbers are packed beside each other, in front of the arrays.
    numbers, arrays = _Space(), _Space()
    for number in range(len(groups)):
        left = [k for k in ending.get(number, ()) if _is_planned(storages[k])]
        for storage in starting.get(number, ()):
            item = storages[storage]
            if not _is_planned(item):
                continue
            known = next((k for k in left if _takes_place(storages[k], item, groups[number])), -1)
            if known >= 0:
                left.remove(known)
                item.position = storages[known].position
            else:
                item.position = numbers.take(SMALL) if item.size == 1 else arrays.take(_rounded(item.bytes))
        for storage in left:
            item = storages[storage]
            if item.size == 1:
                numbers.give(item.position, SMALL)
            else:
                arrays.give(item.position, _rounded(item.bytes))
    start = numbers.end + -numbers.end % ALIGNMENT
    for storage in first:
        item = storages[storage]
        if item.home == "workspace" and item.in_memory and item.size != 1:
            item.position += start
    return start + arrays.end


def _is_planned(item: Storage) -> bool:
    return item.home == "workspace" and item.in_memory


def _takes_place(old: Storage, new: Storage, group: Group) -> bool:
    """Whether a nest that is the last to read one array may write another over it: each entry after it has been read."""
    if group.form not in ("nest", "nest chunk") or old.size == 1 or (old.size, old.kind) != (new.size, new.kind):
        return False
    writers = [step for step in group.body if step.write.storage == new.number]
    if (
        len(writers) != 1
        or writers[0].combine is not None
        or writers[0].write.via >= 0
        or 0 in writers[0].write.strides
    ):
        return False
    written = False
    for step in group.body:
        for read in step.reads:
            if isinstance(read, Access) and read.storage == old.number:
                same = replace(read, storage=new.number) == writers[0].write and step.domain == writers[0].domain
                if written or not same:
                    return False
        written = written or step is writers[0]
        if step.write.storage == old.number:
            return False
    return True


def _lifetimes(groups: list[Group], storages: list[Storage], before: int) -> tuple[dict[int, int], dict[int, int]]:
    """The first and the last group that needs each storage that has an address."""
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
    """Free stretches of the workspace. One of the same length is reused first, else the start of the shortest longer one."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.end = 0

    def take(self, size: int) -> int:
        fitting = (
            size
            if self.free.get(size)
            else min((n for n, starts in self.free.items() if starts and n > size), default=0)
        )
        if not fitting:
            self.end += size
            return self.end - size
        start = self.free[fitting].pop()
        if fitting > size:
            self.give(start + size, fitting - size)
        return start

    def give(self, start: int, length: int) -> None:
        self.free.setdefault(length, []).append(start)
