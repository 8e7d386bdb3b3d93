"""Computes cheap values again where they are read shifted, instead of storing them for another loop.

y[1:] - y[:-1] reads y[i + 1] and y[i]. They cannot share a loop with what computes y[i], but with what computes the two from x they
can. The operations and the values are the same, so no bit changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from ..ops.declaration import has_costly
from .dependencies import read_by, written_by
from .places import contiguous
from .positions import Positions, positions_of
from .program import Access, Step, Storage

# What one step may compute again, in cheap operations; a division counts as so many. Arrays that stay in the first-level cache are
# stored and read at little cost: for 1000 second differences 0.23 us stored and 0.30 us computed again, for 100 000 of them 50 and
# 27 us. Neither pays for planes of 100 x 100, whose edges make many short loops.
MOST_OPERATIONS = 16
MOST_OPERATIONS_IN_CACHE = 12
MOST_OPERATIONS_IN_PLANES = 8
SMALLEST_LARGE = 2500
DIVISION = 4
# Each reader has code of its own for it.
MOST_READERS = 12


def recompute_shifted(steps: list[Any], storages: list[Storage]) -> list[Any]:
    """The steps, with shifted reads of cheap values replaced where all readers of such a value can do without it."""
    if not any(isinstance(step, Step) and step.domain for step in steps):
        return steps
    sources = _Sources(steps, storages)
    if not sources.readers:
        return steps
    _store_what_is_dear(sources)
    result: list[Any] = []
    for step in steps:
        if isinstance(step, Step) and any(sources.is_shifted(read, step) for read in step.reads):
            copies = _Copies(step, sources, storages)
            reads = tuple(copies.read(read) if sources.is_shifted(read, step) else read for read in step.reads)
            result += copies.steps
            step = replace(step, reads=reads)
        result.append(step)
    return _without_unread(result, sources)


class _Sources:
    """The values that one step computes element by element, and where they are read.

    Attributes:
        writers: of each storage that a step could compute again: that step.
        readers: the steps that read such a storage elsewhere than at the point that writes it.
        stored: those that are stored all the same.
    """

    def __init__(self, steps: list[Any], storages: list[Storage]) -> None:
        self.writers: dict[int, Step] = {}
        self.readers: dict[int, list[Step]] = {}
        self.stored = _needed_whole(steps)
        several: set[int] = set()
        for step in steps:
            if isinstance(step, Step):
                storage = step.write.storage
                if storage in self.writers or storage in several or not _is_elementwise(step, storages[storage]):
                    several.add(storage)
                    self.writers.pop(storage, None)
                else:
                    self.writers[storage] = step
        for step in steps:
            for read in step.reads if isinstance(step, Step) else ():
                if isinstance(read, Access) and self.is_shifted(read, step):
                    self.readers.setdefault(read.storage, []).append(step)
        for storage, readers in self.readers.items():
            # Where a value is repeated, by broadcasting for example, it would be computed again each time.
            repeated = any(math.prod(reader.domain) > storages[storage].size for reader in readers)
            if repeated or len(readers) > MOST_READERS:
                self.stored.add(storage)

    def is_shifted(self, read: Any, reader: Step) -> bool:
        """Whether a step reads a value, which is to be computed again, elsewhere than at the point that writes it."""
        if not isinstance(read, Access) or read.storage in self.stored or read.storage not in self.writers:
            return False
        writer = self.writers[read.storage]
        return reader.domain != writer.domain or read != writer.write


def _needed_whole(steps: list[Any]) -> set[int]:
    """What routines, callees and guards read, and what those write, be it after a step that gives the first value."""
    others = [step for step in steps if not isinstance(step, Step)]
    return {storage for item in others for storage in (*read_by(item), *written_by(item))}


def _is_elementwise(step: Step, storage: Storage) -> bool:
    """Whether a step assigns each element of a whole array, by a few machine instructions on values at the same point."""
    if storage.home != "workspace" or storage.size <= 1 or step.combine is not None or step.running or step.beside:
        return False
    if any(isinstance(access, Access) and access.via >= 0 for access in (*step.reads, step.write)):
        return False
    whole = step.write.offset == 0 and step.write.strides == contiguous(step.domain)
    return whole and math.prod(step.domain) == storage.size and not has_costly(step.expression)


def _operations(step: Step) -> int:
    if step.expression == "r0":
        return 0
    return DIVISION if "/" in step.expression or "sqrt" in step.expression else 1


def _moved(read: Access, domain: tuple[int, ...], writer: Step) -> Positions | None:
    """Where the writer's loop is when it computes what is read; None if that cannot be said."""
    return None if read.via >= 0 else positions_of(read, domain, writer.domain)


@dataclass(slots=True)
class _Tree:
    """What it takes to compute values again over a domain: each value, by where it is read, with the operations for it alone."""

    sources: _Sources
    domain: tuple[int, ...]
    nodes: dict[Access, int] = field(default_factory=dict)

    def add(self, read: Any) -> bool:
        """Add a value and what it depends on; whether all of it can be computed."""
        writer = self.sources.writers.get(read.storage) if isinstance(read, Access) else None
        if writer is None or read in self.nodes or read.storage in self.sources.stored:
            return True
        moved = _moved(read, self.domain, writer)
        if moved is None:
            return False
        self.nodes[read] = _operations(writer)
        return all(self.add(moved.translated(a)) for a in writer.reads if isinstance(a, Access))

    @property
    def operations(self) -> int:
        return sum(self.nodes.values())


def _store_what_is_dear(sources: _Sources) -> None:
    """Add to what is stored until the rest can be computed by all who read it, in few operations."""
    waiting = {id(step): step for readers in sources.readers.values() for step in readers}
    while True:
        refused: set[int] = set()
        for step in waiting.values():
            tree = _Tree(sources, step.domain)
            reads = [r for r in step.reads if isinstance(r, Access) and sources.is_shifted(r, step)]
            refused |= {read.storage for read in reads if not tree.add(read)}
            if tree.operations > _most_operations(step, reads, sources):
                refused.add(_dearest(tree))
        if not refused:
            return
        sources.stored |= refused


def _most_operations(step: Step, reads: list[Access], sources: _Sources) -> int:
    if len(step.domain) > 1:
        return MOST_OPERATIONS_IN_PLANES
    is_large = any(math.prod(sources.writers[read.storage].domain) >= SMALLEST_LARGE for read in reads)
    return MOST_OPERATIONS if is_large else MOST_OPERATIONS_IN_CACHE


def _dearest(tree: _Tree) -> int:
    """The value that takes the most to compute at all the places where it is needed."""
    costs: dict[int, int] = {}
    for node in tree.nodes:
        alone = _Tree(tree.sources, tree.domain)
        alone.add(node)
        costs[node.storage] = costs.get(node.storage, 0) + alone.operations
    return max(costs, key=lambda storage: costs[storage])


class _Copies:
    """The steps that compute again what one step reads shifted, over that step's domain."""

    def __init__(self, reader: Step, sources: _Sources, storages: list[Storage]) -> None:
        self.reader = reader
        self.sources = sources
        self.storages = storages
        self.steps: list[Step] = []
        self.known: dict[Access, Access] = {}

    def read(self, read: Any) -> Any:
        """What to read in place of a value: the same one computed here, or itself if it is stored."""
        writer = self.sources.writers.get(read.storage) if isinstance(read, Access) else None
        if writer is None or read.storage in self.sources.stored:
            return read
        if read not in self.known:
            domain = self.reader.domain
            moved = _moved(read, domain, writer)
            assert moved is not None, "only what can be computed again is not stored"
            reads = tuple(
                self.read(moved.translated(a)) if isinstance(a, Access) else a for a in writer.reads
            )
            number = len(self.storages)
            self.storages.append(Storage(number, math.prod(domain), self.storages[read.storage].kind))
            write = Access(number, 0, contiguous(domain))
            self.steps.append(replace(writer, domain=domain, reads=reads, write=write))
            self.known[read] = write
        return self.known[read]


def _without_unread(steps: list[Any], sources: _Sources) -> list[Any]:
    """Drop the steps whose values nobody reads any more."""
    counts: dict[int, int] = {}
    for step in steps:
        for read in step.reads if isinstance(step, Step) else ():
            if isinstance(read, Access):
                counts[read.storage] = counts.get(read.storage, 0) + 1
    kept = []
    for step in reversed(steps):
        storage = step.write.storage if isinstance(step, Step) else -1
        if storage in sources.writers and storage not in sources.stored and not counts.get(storage):
            for read in step.reads:
                if isinstance(read, Access):
                    counts[read.storage] -= 1
        else:
            kept.append(step)
    return kept[::-1]
