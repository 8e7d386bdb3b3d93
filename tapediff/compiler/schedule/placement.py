"""Decides which storages are in memory; the others live in registers alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.guard_rows import EACH
from ..loop_ir.dependencies import is_same_point, read_by, written_by
from ..loop_ir.program import Access, Exit, Group, Interpreted, Item, Outlined, Step, Storage


def place_in_memory(groups: Sequence[Group], storages: Sequence[Storage]) -> list[Storage]:
    """The storages: in memory where another nest, another point or a routine reads them, and where no register can hold them."""
    placement = _Placement(groups, storages)
    stored = {s.number for s in storages if s.home != "workspace" or placement.must_be_stored(s)}
    for number, group in enumerate(groups):
        for item in group.body:
            if not isinstance(item, Step):
                stored.update(placement.needed_by(number, item))
                continue
            for read in item.reads:
                if type(read) is Access and read.storage not in stored and placement.is_loaded(read, item, number):
                    stored.add(read.storage)
    return [_stored(s, s.number in stored) for s in storages]


def _stored(storage: Storage, in_memory: bool) -> Storage:
    """The storage with this choice of memory or registers."""
    if storage.in_memory == in_memory:
        return storage
    return Storage(storage.number, storage.size, storage.kind, storage.home, storage.position, in_memory)


class _Placement:
    """The writers of each storage, and their functions.

    Attributes:
        writers: by storage, the groups that write it, each with the item.
        functions: the groups that become separate functions.
    """

    def __init__(self, groups: Sequence[Group], storages: Sequence[Storage]) -> None:
        self.storages = storages
        self.writers: dict[int, list[tuple[int, Item]]] = {}
        for number, group in enumerate(groups):
            for item in group.body:
                if isinstance(item, Step):
                    self.writers.setdefault(item.write.storage, []).append((number, item))
                else:
                    for storage in written_by(item):
                        self.writers.setdefault(storage, []).append((number, item))
        self.functions = {number for number, group in enumerate(groups) if isinstance(group, (Outlined, Interpreted))}

    def must_be_stored(self, storage: Storage) -> bool:
        """True if no register can hold it: several items write it, or a routine, a scan, or a step at computed indices."""
        writers = self.writers.get(storage.number, ())
        if len(writers) != 1:
            return True
        step = writers[0][1]
        if not isinstance(step, Step) or step.write.index_read >= 0 or step.is_scan:
            return True
        return storage.size != 1 and step.combine is not None

    def needed_by(self, group: int, item: Item) -> Iterable[int]:
        """The storages that a routine, a callee or a guard needs at an address."""
        if not isinstance(item, Exit):
            return (*read_by(item), *written_by(item))
        looked_at = item.read.storage
        needed = [item.report[0]] if item.guard_kind in ("array", EACH) else []
        if self.storages[looked_at].size > 1 or self._leaves_function(looked_at, group):
            needed.append(looked_at)
        return needed

    def is_loaded(self, read: Access, step: Step, group: int) -> bool:
        """True if a step of a group must read a workspace storage from memory."""
        written_at, writer = self.writers[read.storage][0]
        is_number = self.storages[read.storage].size <= 1
        # Fast path: a number of the same group, the usual case of long straight-line code.
        if read.index_read < 0 and is_number and written_at == group:
            return False
        if read.index_read >= 0 or self._leaves_function(read.storage, group):
            return True
        is_local = written_at == group and isinstance(writer, Step) and is_same_point(step, read, writer)
        return not is_number and not is_local

    def _leaves_function(self, storage: int, reader: int) -> bool:
        """True if a number is written in one function and read in another."""
        if self.storages[storage].home != "workspace" or storage not in self.writers:
            return False
        written_at = self.writers[storage][0][0]
        return written_at != reader and (written_at in self.functions or reader in self.functions)
