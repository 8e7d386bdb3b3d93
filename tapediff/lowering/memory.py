"""The memory plan: an offset in the workspace for every stored array; arrays that are not alive together share memory."""

from __future__ import annotations

from .program import Access, Call, Exit, Group, Storage

ALIGNMENT = 64


def plan_memory(groups: list[Group], storages: list[Storage]) -> int:
    """Set each stored workspace array's byte offset; returns the bytes needed in all."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, group in enumerate(groups):
        for item in group.body:
            for storage in _touched(item):
                if storage >= 0:
                    first.setdefault(storage, number)
                    last[storage] = number
    ending: dict[int, list[int]] = {}
    for storage, number in last.items():
        ending.setdefault(number, []).append(storage)
    starting: dict[int, list[int]] = {}
    for storage, number in first.items():
        starting.setdefault(number, []).append(storage)
    space = _Space()
    for number in range(len(groups)):
        for storage in starting.get(number, ()):
            item = storages[storage]
            if item.home == "workspace" and item.in_memory:
                item.position = space.take(_rounded(item.bytes))
        for storage in ending.get(number, ()):
            item = storages[storage]
            if item.home == "workspace" and item.in_memory:
                space.give(item.position, _rounded(item.bytes))
    return space.end


def _touched(item: object) -> list[int]:
    if isinstance(item, Call):
        return [item.result, *(storage for storage, _ in item.operands)]
    if isinstance(item, Exit):
        return [item.read.storage, item.report[0]]
    return [item.write.storage, *(r.storage for r in item.reads if isinstance(r, Access))]  # type: ignore[attr-defined]


def _rounded(size: int) -> int:
    return max(ALIGNMENT, size + -size % ALIGNMENT)


class _Space:
    """Free stretches of the workspace, in address order; the smallest that fits is taken."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.end = 0

    def take(self, size: int) -> int:
        fitting = [(length, start) for start, length in self.free if length >= size]
        if not fitting:
            start = self.end
            self.end += size
            return start
        length, start = min(fitting)
        self.free.remove((start, length))
        if length > size:
            self.free.append((start + size, length - size))
            self.free.sort()
        return start

    def give(self, start: int, length: int) -> None:
        self.free.append((start, length))
        self.free.sort()
        joined: list[tuple[int, int]] = []
        for s, n in self.free:
            if joined and joined[-1][0] + joined[-1][1] == s:
                joined[-1] = (joined[-1][0], joined[-1][1] + n)
            else:
                joined.append((s, n))
        self.free = joined
