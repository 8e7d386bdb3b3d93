"""Computes cheap values again where a stencil reads them shifted, instead of storing them for another loop.

y[1:] - y[:-1] reads y[i + 1] and y[i]. It cannot share a loop with the step that computes y[i], but it can with copies of that step
that compute the two from x. The operations and the values are the same, so no bit changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeGuard

from ...ops.declaration.scalar_expressions import has_costly
from ..loop_ir.dependencies import read_by, written_by
from ..loop_ir.index_maps import IndexMap, index_map_of
from ..loop_ir.program import Access, Item, Literal, Step, Storage
from ..loop_ir.views import contiguous

# Cheap operations that one step may recompute; a division counts as DIVISION of them. Arrays in the first-level cache are cheap to store
# and read: for 1000 second differences 0.23 us stored and 0.30 us recomputed, for 100 000 of them 50 and 27 us.
MOST_OPERATIONS = 16
MOST_OPERATIONS_IN_CACHE = 12
MOST_OPERATIONS_IN_SMALL_PLANES = 8
SMALLEST_LARGE = 2500
DIVISION = 4
# Each reader has its own copy of the code. The derivative of a stencil in planes has 30 to 60 readers: its edges and corners. For a heat
# equation recomputing takes 0.8 of the time from planes of 64 x 64 on, and 0.6 if they do not fit into the second-level cache.
MOST_READERS, MOST_READERS_OF_LARGE = 12, 64
# Larger trees of values are cut, and after this many rounds all values that a reader reads shifted are stored.
MOST_VALUES = 32
MOST_ROUNDS = 16
# Likewise for all readers once trees have this many values in all, at 25 us each: 200 arrays, each computed from two neighbours in the one
# before, have 42,000 values, and none is worth recomputing.
MOST_VALUES_IN_ALL = 10_000


def recompute_stencils(
    steps: Sequence[Item], storages: Sequence[Storage]
) -> tuple[Sequence[Item], Sequence[Storage]]:
    """The steps, with shifted reads of cheap values replaced where all readers of such a value can do without it; and the storages."""
    if not any(isinstance(step, Step) and step.domain for step in steps):
        return steps, storages
    sources = _Sources(steps, storages)
    if not sources.readers:
        return steps, storages
    _store_costly(sources)
    storages = list(storages)
    result: list[Item] = []
    for step in steps:
        if isinstance(step, Step) and any(sources.is_shifted(read, step) for read in step.reads):
            copies = _Copies(step, sources, storages)
            reads = tuple(copies.read(read) if sources.is_shifted(read, step) else read for read in step.reads)
            result += copies.steps
            step = replace(step, reads=reads)
        result.append(step)
    return _without_unread(result, sources), storages


class _Sources:
    """The values that one step computes element by element, and their readers.

    Attributes:
        writers: by storage that can be recomputed, the step that writes it.
        numbers: the position of that step in the program.
        readers: the steps that read it at another point than the one that writes it.
        computed: the storages that are not stored: steps that read them shifted recompute them.
        prices: the operations of the writer.
        reads: accesses by number, as used in trees: they are compared far more often than made.
    """

    def __init__(self, steps: Sequence[Item], storages: Sequence[Storage]) -> None:
        self.writers: dict[int, Step] = {}
        self.numbers: dict[int, int] = {}
        self.readers: dict[int, list[Step]] = {}
        stored = _needed_whole(steps)
        self.reads: list[Access] = []
        self._numbers: dict[Access, int] = {}
        self._operands: dict[tuple[int, ...], dict[int, list[int] | None]] = {}
        several: set[int] = set()
        for number, step in enumerate(steps):
            if isinstance(step, Step):
                storage = step.write.storage
                if storage in self.writers or storage in several or not _is_elementwise(step, storages[storage]):
                    several.add(storage)
                    self.writers.pop(storage, None)
                else:
                    self.writers[storage] = step
                    self.numbers[storage] = number
        self.computed = self.writers.keys() - stored
        self.prices = {storage: _operations(writer) for storage, writer in self.writers.items()}
        for step in [step for step in steps if isinstance(step, Step)]:
            for read in step.reads:
                if self.is_shifted(read, step):
                    self.readers.setdefault(read.storage, []).append(step)
        for storage, readers in self.readers.items():
            # A value that is repeated, as by broadcasting, would be recomputed each time.
            size = storages[storage].size
            repeated = any(math.prod(reader.domain) > size for reader in readers)
            if repeated or len(readers) > (MOST_READERS_OF_LARGE if size >= SMALLEST_LARGE else MOST_READERS):
                self.computed.discard(storage)

    def is_shifted(self, read: Access | Literal, reader: Step) -> TypeGuard[Access]:
        """True if a step reads a value to recompute at another point than the one that writes it."""
        if not isinstance(read, Access) or read.storage not in self.computed:
            return False
        writer = self.writers[read.storage]
        return reader.domain != writer.domain or read != writer.write

    def shifted_by(self, reader: Step) -> list[Access]:
        return [read for read in reader.reads if self.is_shifted(read, reader)]

    def number(self, read: Access) -> int:
        number = self._numbers.setdefault(read, len(self.reads))
        if number == len(self.reads):
            self.reads.append(read)
        return number

    def operands_in(self, domain: tuple[int, ...]) -> dict[int, list[int] | None]:
        """The known operands of values, for reads by a loop over a domain."""
        return self._operands.setdefault(domain, {})

    def operands_of(self, value: int, domain: tuple[int, ...]) -> list[int] | None:
        """The operands of a value that a loop over a domain reads; None if there is no index map."""
        read = self.reads[value]
        writer = self.writers[read.storage]
        moved = _moved(read, domain, writer)
        reads = [r for r in writer.reads if isinstance(r, Access)]
        found = None if moved is None else [self.number(moved.translated(r)) for r in reads]
        self.operands_in(domain)[value] = found
        return found


def _needed_whole(steps: Sequence[Item]) -> set[int]:
    """The storages that routines, callees and guards read or write."""
    others = [step for step in steps if not isinstance(step, Step)]
    return {storage for item in others for storage in (*read_by(item), *written_by(item))}


def _is_elementwise(step: Step, storage: Storage) -> bool:
    """True if a step assigns each element of a whole array, by a few machine instructions on values at the same point."""
    if storage.home != "workspace" or storage.size <= 1 or step.combine is not None or step.is_scan or step.is_disjoint_part:
        return False
    if any(isinstance(access, Access) and access.index_read >= 0 for access in (*step.reads, step.write)):
        return False
    whole = step.write.offset == 0 and step.write.strides == contiguous(step.domain)
    return whole and math.prod(step.domain) == storage.size and not has_costly(step.expression)


def _operations(step: Step) -> int:
    if step.expression == "r0":
        return 0
    return DIVISION if "/" in step.expression or "sqrt" in step.expression else 1


def _moved(read: Access, domain: tuple[int, ...], writer: Step) -> IndexMap | None:
    """The writer's loop indices as functions of the reader's; None if they are not affine."""
    return None if read.index_read >= 0 else index_map_of(read, domain, writer.domain)


class _Tree:
    """The values that one step needs to recompute its shifted reads; its own reads come first.

    It is cut at MOST_VALUES: larger ones cost too much anyway. Sets of values are the bits of a number.

    Attributes:
        storages: by value, its storage.
        direct: the number of values that the step itself reads.
        operations: the operations of all values.
        is_cut: True if there are more values.
        lost: the set of values without an index map into their writer's loop.
        reached: by value, the set of values it is computed from, itself included.
    """

    def __init__(self, step: Step, sources: _Sources) -> None:
        self.sources = sources
        self.storages: list[int] = []
        self.operations = self.lost = 0
        self.is_cut = False
        self.number_of: dict[int, int] = {}
        values: list[int] = []
        self._enter(map(sources.number, sources.shifted_by(step)), values)
        self.direct = len(values)
        operands: list[list[int]] = []
        reads, computed, known = sources.reads, sources.computed, sources.operands_in(step.domain)
        for value in values:
            needed = known[value] if value in known else sources.operands_of(value, step.domain)
            if needed is None:
                self.lost |= 1 << len(operands)
            operands.append(self._enter([read for read in needed or () if reads[read].storage in computed], values))
        self.reached = self._reached(operands)

    def _enter(self, reads: Iterable[int], values: list[int]) -> list[int]:
        """The numbers of values; new values get the next numbers."""
        numbers: list[int] = []
        for read in reads:
            number = self.number_of.get(read)
            if number is None:
                if len(values) == MOST_VALUES:
                    self.is_cut = True
                    continue
                number = self.number_of[read] = len(values)
                values.append(read)
                storage = self.sources.reads[read].storage
                self.storages.append(storage)
                self.operations += self.sources.prices[storage]
            numbers.append(number)
        return numbers

    def _reached(self, operands: list[list[int]]) -> list[int]:
        reached = [0] * len(operands)
        for k in sorted(range(len(operands)), key=lambda k: self.sources.numbers[self.storages[k]]):
            reached[k] = 1 << k
            for operand in operands[k]:
                reached[k] |= reached[operand]
        return reached

    def costliest(self) -> int:
        """The storage that takes the most operations at all points where it is needed."""
        prices: dict[int, int] = {}
        for k, storage in enumerate(self.storages):
            price = self.sources.prices[storage]
            prices[price] = prices.get(price, 0) | 1 << k
        costs: dict[int, int] = {}
        for storage, reached in zip(self.storages, self.reached):
            cost = costs.get(storage, 0)
            for price, values in prices.items():
                cost += price * (reached & values).bit_count()
            costs[storage] = cost
        return max(costs, key=lambda storage: costs[storage])


def _store_costly(sources: _Sources) -> None:
    """Let more values be stored until every reader can compute the rest in few operations."""
    waiting = {id(step): step for readers in sources.readers.values() for step in readers}
    # By storage, the steps whose trees contain it: reconsidered when it is stored.
    trees_with: dict[int, list[Step]] = {}
    values = 0
    for round_ in count(1):
        refused: set[int] = set()
        for step in waiting.values():
            if values > MOST_VALUES_IN_ALL:
                refused.update(read.storage for read in sources.shifted_by(step))
                continue
            tree = _Tree(step, sources)
            values += len(tree.storages)
            found = _refused(tree, step, sources)
            if found and round_ >= MOST_ROUNDS:
                found = {read.storage for read in sources.shifted_by(step)}
            refused |= found
            for storage in dict.fromkeys(tree.storages):
                trees_with.setdefault(storage, []).append(step)
        if not refused:
            return
        sources.computed -= refused
        waiting = {id(step): step for storage in sorted(refused) for step in trees_with.pop(storage, ())}


def _refused(tree: _Tree, step: Step, sources: _Sources) -> set[int]:
    """Storages of a tree that must be stored: those without an index map, and the costliest if it takes too many operations."""
    refused = {tree.storages[k] for k in range(tree.direct) if tree.reached[k] & tree.lost}
    if tree.is_cut or tree.operations > _most_operations(step, tree.storages[: tree.direct], sources):
        refused.add(tree.costliest())
    return refused


def _most_operations(step: Step, storages: list[int], sources: _Sources) -> int:
    if any(math.prod(sources.writers[storage].domain) >= SMALLEST_LARGE for storage in storages):
        return MOST_OPERATIONS
    return MOST_OPERATIONS_IN_CACHE if len(step.domain) <= 1 else MOST_OPERATIONS_IN_SMALL_PLANES


class _Copies:
    """The steps that compute the shifted reads of one step over that step's domain."""

    def __init__(self, reader: Step, sources: _Sources, storages: list[Storage]) -> None:
        self.reader = reader
        self.sources = sources
        self.storages = storages
        self.steps: list[Step] = []
        self.known: dict[Access, Access] = {}

    def read(self, read: Access) -> Access:
        """The access that replaces a read of a value: of the copy computed here, or itself if the value is stored."""
        if read.storage not in self.sources.computed:
            return read
        if read not in self.known:
            writer, domain = self.sources.writers[read.storage], self.reader.domain
            moved = _moved(read, domain, writer)
            assert moved is not None, "values without an index map are stored"
            reads = tuple(self.read(moved.translated(a)) if isinstance(a, Access) else a for a in writer.reads)
            number = len(self.storages)
            self.storages.append(Storage(number, math.prod(domain), self.storages[read.storage].kind))
            write = Access(number, 0, contiguous(domain))
            self.steps.append(replace(writer, domain=domain, reads=reads, write=write))
            self.known[read] = write
        return self.known[read]


def _without_unread(steps: list[Item], sources: _Sources) -> list[Item]:
    """Drop steps whose values are no longer read."""
    counts: dict[int, int] = {}
    for step in steps:
        for read in step.reads if isinstance(step, Step) else ():
            if isinstance(read, Access):
                counts[read.storage] = counts.get(read.storage, 0) + 1
    kept: list[Item] = []
    for step in reversed(steps):
        if isinstance(step, Step) and step.write.storage in sources.computed and not counts.get(step.write.storage):
            for read in step.reads:
                if isinstance(read, Access):
                    counts[read.storage] -= 1
        else:
            kept.append(step)
    return kept[::-1]
