"""Rematerialisation: computes cheap values again in the nests that read them, instead of storing them and loading them back.

A step is placed where its operands are first ready, often in a nest that does not otherwise use its result: then it moves to its reader, at
no extra cost. If another step needs it in the first nest, it is recomputed if that takes less time than memory does. Recomputed steps only
read operands that are in memory anyway. Values are the same to the last bit: the same operations on the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..loop_ir.collapse_loops import LANES, collapsed
from ..loop_ir.dependencies import is_same_point, read_by, written_by
from ..loop_ir.index_maps import IndexMap, index_map_of
from ..loop_ir.program import Access, Group, Item, LoopNest, Step, Storage
from ..loop_ir.views import contiguous
from .cost_model import LOAD, STORE, cost_of, memory_factor
from .placement import place_in_memory

# Smaller arrays stay: they are in the cache, and a nest of few vectors waits for the end of each chain of steps. Two nests of 200 elements
# with a division and a logarithm took 0.28 us, and one 0.31.
SMALLEST = 512
# Longer chains of steps stay: each is code in every nest that reads its result.
MOST_STEPS = 6
# Longer nests are left unchanged, and so are the values that they read: searching each for every value takes too long, and they have enough
# to compute while they wait for memory.
LONGEST_NEST = 120
# Loops of a nest that collapse into one long loop must still do so, unless its rows are this long.
SHORTEST_ROW = 32


def rematerialize(
    groups: Sequence[Group], storages: Sequence[Storage], before: Sequence[Group] = ()
) -> tuple[list[Group], list[Storage]]:
    """The groups with values recomputed in their readers, without empty ones; and the storages.

    Args:
        before: groups that run once before these, which only read their storages.
    """
    if not any(isinstance(group, LoopNest) for group in groups):
        return list(groups), list(storages)
    nests = _Nests(groups, place_in_memory([*before, *groups], storages))
    for number, nest in nests.nests.items():
        for step in list(nest.body) if len(nest.body) <= LONGEST_NEST else ():
            if nests.may_move(step):
                nests.consider(number, step)
    return nests.scheduled(), nests.storages


@dataclass(slots=True)
class _Nest:
    """A loop nest with a mutable body."""

    domain: tuple[int, ...]
    body: list[Step]


@dataclass(slots=True)
class _Recomputation:
    """The steps that one nest computes instead of reading a value: inserted before the step at `place`; the last one gives the value."""

    number: int
    place: int
    old: Access
    new: Access
    steps: list[Step]
    cost: float


class _Nests:
    """The nests of a program, and who reads and writes the storages.

    Attributes:
        nests: by group number.
        writers: by storage, the items that write it.
        readers: by storage, the nests whose steps read it, and the number of reads.
        pinned: storages read by other groups than nests, or by a step at computed indices.
    """

    def __init__(self, groups: Sequence[Group], storages: list[Storage]) -> None:
        self.groups = groups
        self.storages = storages
        self.nests: dict[int, _Nest] = {}
        self.writers: dict[int, list[Item]] = {}
        self.readers: dict[int, dict[int, int]] = {}
        self.pinned: set[int] = set()
        for number, group in enumerate(groups):
            if isinstance(group, LoopNest):
                self.nests[number] = _Nest(group.domain, list(group.body))
            for item in group.body:
                for storage in written_by(item):
                    self.writers.setdefault(storage, []).append(item)
                if isinstance(item, Step):
                    self._enter_reads(number, item)
                else:
                    self.pinned.update(read_by(item))

    def _enter_reads(self, number: int, step: Step) -> None:
        by_index = any(a.index_read >= 0 for a in (*step.reads, step.write) if isinstance(a, Access))
        for storage in read_by(step):
            self._count(storage, number, 1)
            if by_index or number not in self.nests:
                self.pinned.add(storage)

    def scheduled(self) -> list[Group]:
        """The groups in their current state."""
        changed = [
            LoopNest(nest.domain, tuple(nest.body)) if (nest := self.nests.get(number)) else group
            for number, group in enumerate(self.groups)
        ]
        return [group for group in changed if group.body]

    def _count(self, storage: int, number: int, change: int) -> None:
        counts = self.readers.setdefault(storage, {})
        counts[number] = counts.get(number, 0) + change
        if not counts[number]:
            del counts[number]

    def may_move(self, step: Step) -> bool:
        """True if a stored value is written by this step alone, point by point, and read by nests only."""
        storage = self.storages[step.write.storage]
        if storage.home != "workspace" or not storage.in_memory or storage.size < SMALLEST:
            return False
        return storage.number not in self.pinned and self._is_plain(step)

    def _is_plain(self, step: Step) -> bool:
        storage = self.storages[step.write.storage]
        if len(self.writers[storage.number]) != 1 or step.combine is not None or step.is_scan or step.is_disjoint_part:
            return False
        if step.write.index_read >= 0 or any(isinstance(r, Access) and r.index_read >= 0 for r in step.reads):
            return False
        is_whole = math.prod(step.domain) == storage.size and step.write.offset == 0
        return is_whole and step.write.strides == contiguous(step.domain)

    def _is_sole(self, step: Step) -> bool:
        """True if a read of the storage in the same nest gives the step's result: no other step writes parts of the array."""
        storage = step.write.storage
        is_one = len(self.writers[storage]) == 1 and self.storages[storage].home == "workspace"
        return is_one and step.combine is None and step.write.index_read < 0

    def consider(self, number: int, step: Step) -> None:
        """Have the readers of a step's result in other nests compute it, if that takes less time."""
        needed = self._needed(number, step)
        if needed is None:
            return
        plans: list[_Recomputation] = []
        count = len(self.storages)
        for reader in self.readers.get(step.write.storage, {}):
            if reader != number:
                plan = self._planned(reader, step, needed)
                if plan is None:
                    del self.storages[count:]
                    return
                plans.append(plan)
        storage = self.storages[step.write.storage]
        saved = STORE * memory_factor(storage) * storage.size + self._saved(number, step, needed)
        if plans and sum(plan.cost for plan in plans) < saved:
            for plan in plans:
                self._apply(plan)
            self.storages[storage.number] = replace(storage, in_memory=False)
            self._drop_unread(number, needed)
        else:
            del self.storages[count:]

    def _needed(self, number: int, step: Step) -> list[Step] | None:
        """The steps of a nest from values in memory to a step's result; None if there are many, or if one cannot move."""
        found = [step]
        for current in found:
            for read in current.reads:
                if not isinstance(read, Access) or self._is_available(read.storage):
                    continue
                writer = self.writers[read.storage][0]
                if not isinstance(writer, Step) or not self._is_plain(writer) or not is_same_point(current, read, writer):
                    return None
                if not any(writer is known for known in found):
                    found.append(writer)
            if len(found) > MOST_STEPS:
                return None
        chosen = set(map(id, found))
        return [item for item in self.nests[number].body if id(item) in chosen]

    def _is_available(self, storage: int) -> bool:
        """True if a value can be read anywhere after its writer."""
        item = self.storages[storage]
        return item.home in ("input", "constant") or item.size == 1 or item.in_memory

    def _planned(self, number: int, step: Step, needed: list[Step]) -> _Recomputation | None:
        """A plan for a nest to recompute a step's result, and the extra time compared with reading it; None if it cannot."""
        body, domain = self.nests[number].body, self.nests[number].domain
        if len(body) > LONGEST_NEST:
            return None
        storage = step.write.storage
        accesses = {r for item in body for r in item.reads if isinstance(r, Access) and r.storage == storage}
        if len(accesses) != 1:
            return None
        (old,) = accesses
        index_map = index_map_of(old, domain, step.domain)
        if index_map is None or _points(old, domain) > self.storages[storage].size:
            return None
        place = next(k for k, item in enumerate(body) if old in item.reads)
        steps, new = self._translated(needed, index_map, old, domain, body[:place])
        present = {r for item in body for r in item.reads}
        written = {item.write.storage for item in body}
        added = {r for item in steps for r in item.reads if isinstance(r, Access) and r not in present}
        made = {item.write.storage for item in steps}
        cost = _times(old, domain) * sum(cost_of(item.expression) for item in steps) - self._load(old, domain)
        cost += sum(self._load(read, domain) for read in added if read.storage not in made | written)
        if not self._keeps_its_loops(number, steps):
            return None
        return _Recomputation(number, place, old, new, steps, cost)

    def _translated(
        self, needed: list[Step], index_map: IndexMap, old: Access, domain: tuple[int, ...], present: list[Step]
    ) -> tuple[list[Step], Access]:
        """The steps over another domain, without those already there; and the access to the last one's result."""
        known = {_key(item): item.write for item in present if self._is_sole(item)}
        results: dict[int, Access] = {}
        steps: list[Step] = []
        result = old
        for step in needed:
            reads = tuple(
                results.get(r.storage, index_map.translated(r)) if isinstance(r, Access) else r for r in step.reads
            )
            moved = replace(step, domain=domain, reads=reads)
            result = known.get(_key(moved), None)
            if result is None:
                fresh = replace(self.storages[step.write.storage], number=len(self.storages), in_memory=False)
                self.storages.append(fresh)
                result = Access(fresh.number, old.offset, old.strides)
                steps.append(replace(moved, write=result))
            results[step.write.storage] = result
        return steps, result

    def _load(self, read: Access, domain: tuple[int, ...]) -> float:
        """The cost of reading a value in a nest."""
        return LOAD * memory_factor(self.storages[read.storage]) * _times(read, domain)

    def _saved(self, number: int, step: Step, needed: list[Step]) -> float:
        """The cost that a nest saves if it does not store a result: the steps that only this result needs, and their reads."""
        dead = self._unread(number, step, needed)
        gone = set(map(id, dead))
        rest = [item for item in self.nests[number].body if id(item) not in gone]
        still = {r for item in rest for r in item.reads} | {item.write.storage for item in rest}
        reads = {r for item in dead for r in item.reads if isinstance(r, Access)}
        here = {item.write.storage for item in self.nests[number].body}
        saved = math.prod(step.domain) * sum(cost_of(item.expression) for item in dead)
        return saved + sum(
            self._load(read, step.domain) for read in reads if read not in still and read.storage not in here
        )

    def _unread(self, number: int, step: Step, needed: list[Step]) -> list[Step]:
        """The steps whose results are unread if no other nest reads the last one."""
        dead: list[Step] = []
        counts = {item.write.storage: self.readers.get(item.write.storage, {}).get(number, 0) for item in needed}
        for item in reversed(needed):
            if counts[item.write.storage] == 0:
                dead.append(item)
                for read in item.reads:
                    if isinstance(read, Access) and read.storage in counts:
                        counts[read.storage] -= 1
        return dead

    def _keeps_its_loops(self, number: int, steps: list[Step]) -> bool:
        """True if the loops of a nest still collapse as before, or if its rows are long enough."""
        nest = self.nests[number]
        after = collapsed(LoopNest(nest.domain, (*steps, *nest.body))).domain
        return after[-1] >= SHORTEST_ROW or len(after) == len(collapsed(LoopNest(nest.domain, tuple(nest.body))).domain)

    def _apply(self, plan: _Recomputation) -> None:
        body = self.nests[plan.number].body
        for step in plan.steps:
            self.writers[step.write.storage] = [step]
        for k in range(plan.place, len(body)):
            if plan.old in body[k].reads:
                reads = tuple(plan.new if read == plan.old else read for read in body[k].reads)
                body[k] = self._replaced(plan.number, body[k], replace(body[k], reads=reads))
        body[plan.place : plan.place] = plan.steps
        for step in plan.steps:
            self._count_reads(plan.number, step, 1)

    def _replaced(self, number: int, old: Step, new: Step) -> Step:
        self._count_reads(number, old, -1)
        self._count_reads(number, new, 1)
        writers = self.writers[old.write.storage]
        writers[next(k for k, item in enumerate(writers) if item is old)] = new
        return new

    def _count_reads(self, number: int, step: Step, change: int) -> None:
        for read in step.reads:
            if isinstance(read, Access):
                self._count(read.storage, number, change)

    def _drop_unread(self, number: int, needed: list[Step]) -> None:
        body = self.nests[number].body
        for item in reversed(needed):
            if not self.readers.get(item.write.storage):
                body[:] = [step for step in body if step is not item]
                self._count_reads(number, item, -1)


def _points(read: Access, domain: tuple[int, ...]) -> int:
    """The number of times a nest computes a value that depends on the loop indices of this access; inner loops hoist the rest."""
    level = max((k for k, stride in enumerate(read.strides) if stride), default=-1)
    return math.prod(domain[: level + 1])


def _times(read: Access, domain: tuple[int, ...]) -> int:
    """The same in elements of SIMD lanes: outside the innermost loop numbers are computed one by one."""
    points = _points(read, domain)
    return points if read.strides and read.strides[-1] else LANES * points


def _key(step: Step) -> tuple[object, ...]:
    return (step.expression, step.parameters, step.reads)
