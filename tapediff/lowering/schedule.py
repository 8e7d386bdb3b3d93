"""Fuses steps into loop nests: each step goes into the first group where everything it reads is ready.

Two steps share a nest when they have the same domain and every value that one hands to the other is read at the loop point
that writes it. Nothing that a guard could still veto is written to the caller's arrays before the last guard.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from .program import Access, Call, Exit, Group, Invoke, Literal, Step, Storage


def schedule(steps: list[Any], storages: list[Storage]) -> list[Group]:
    scheduler = _Scheduler(storages)
    late = [s for s in steps if _writes_output(s, storages)]
    late_ids = set(map(id, late))
    for step in steps:
        if id(step) not in late_ids:
            scheduler.add(step)
    scheduler.last_veto = max(scheduler.last_exit, scheduler.last_failing_call)
    for step in late:
        scheduler.add(step)
    return scheduler.groups


def _writes_output(step: Any, storages: list[Storage]) -> bool:
    if isinstance(step, (Exit, Invoke)):
        return False
    target = step.result if isinstance(step, Call) else step.write.storage
    return storages[target].home == "output"


# LLVM takes quadratic time over long blocks: longer straight-line code is cut into functions of this many steps.
LONGEST_STRAIGHT = 400


def cut_straight(groups: list[Group]) -> list[Group]:
    """Cut long straight-line groups into chunks, which pass numbers to each other through the workspace."""
    result: list[Group] = []
    for group in groups:
        if group.form == "straight" and len(group.body) > LONGEST_STRAIGHT:
            for start in range(0, len(group.body), LONGEST_STRAIGHT):
                result.append(Group("chunk", (), group.body[start : start + LONGEST_STRAIGHT]))
        else:
            result.append(group)
    return result


class _Scheduler:
    def __init__(self, storages: list[Storage]) -> None:
        self.storages = storages
        self.groups: list[Group] = []
        # For each storage, the groups and steps that write it, in order.
        self.writers: dict[int, list[tuple[int, Any]]] = {}
        self.by_domain: dict[tuple[int, ...], list[int]] = {}
        self.last_exit = -1
        self.last_failing_call = -1
        self.last_veto = -1

    def add(self, step: Any) -> None:
        if isinstance(step, Call):
            self._add_call(step)
        elif isinstance(step, Invoke):
            self._add_invoke(step)
        elif isinstance(step, Exit):
            self._add_exit(step)
        elif 0 in step.domain:
            self._add_empty(step)
        else:
            self._add_step(step)

    def _append(self, form: str, domain: tuple[int, ...], item: Any) -> int:
        self.groups.append(Group(form, domain, [item]))
        if form != "call":
            self.by_domain.setdefault((*domain, -1) if form == "alone" else domain, []).append(len(self.groups) - 1)
        return len(self.groups) - 1

    def _ready(self, storage: int) -> int:
        """The last group that writes a storage."""
        return max((group for group, _ in self.writers.get(storage, ())), default=-1)

    def _add_call(self, call: Call) -> None:
        self.groups.append(Group("call", (), [call]))
        number = len(self.groups) - 1
        self.writers.setdefault(call.result, []).append((number, call))
        if call.failure >= 0:
            self.last_failing_call = number

    def _add_invoke(self, invoke: Invoke) -> None:
        """Behind the guards recorded before it, as only they make sure that the callee is meant to see its operands."""
        self.groups.append(Group("invoke", (), [invoke]))
        number = len(self.groups) - 1
        for storage in invoke.written:
            self.writers.setdefault(storage, []).append((number, invoke))
        self.last_failing_call = number

    def _add_exit(self, exit_: Exit) -> None:
        earliest = max(
            self._ready(exit_.read.storage), self._ready(exit_.report[0]), self.last_exit, self.last_failing_call, 0
        )
        number = self._straight(earliest, exit_)
        self.last_exit = number

    def _straight(self, earliest: int, item: Any) -> int:
        number = self._first((), earliest)
        if number < 0:
            return self._append("straight", (), item)
        self.groups[number].body.append(item)
        return number

    def _first(self, domain: tuple[int, ...], earliest: int) -> int:
        """The first group over a domain that is not before `earliest`; -1 for none."""
        numbers = self.by_domain.get(domain, ())
        place = bisect_left(numbers, earliest)
        return numbers[place] if place < len(numbers) else -1

    def _add_step(self, step: Step) -> None:
        earliest = max(self._earliest(step), self._range_checked(step), 0)
        if step.domain == () and not step.running:
            number = self._straight(earliest, step)
        elif step.running:
            number = self._append("alone", step.domain, step)
        else:
            number = self._first(step.domain, earliest)
            if number < 0:
                number = self._append("nest", step.domain, step)
            else:
                self.groups[number].body.append(step)
        self.writers.setdefault(step.write.storage, []).append((number, step))

    def _range_checked(self, step: Step) -> int:
        """Computed positions are used only behind the guards recorded before: one of them checks that they are in range."""
        indices = [step.reads[a.via] for a in (*step.reads, step.write) if isinstance(a, Access) and a.via >= 0]
        if all(isinstance(k, Literal) or self.storages[k.storage].home == "constant" for k in indices):
            return -1
        return self.last_exit if step.domain == () else self.last_exit + 1

    def _add_empty(self, step: Step) -> None:
        """A loop over nothing: only a reduction has a result, its neutral element, which the emitter writes."""
        if step.combine is not None and not self.writers.get(step.write.storage):
            number = self._append("nest", step.domain, step)
            self.writers.setdefault(step.write.storage, []).append((number, step))

    def _earliest(self, step: Step) -> int:
        earliest = -1
        for read in step.reads:
            if not isinstance(read, Access):
                continue
            for group, writer in self.writers.get(read.storage, ()):
                fusable = isinstance(writer, Step) and (step.domain == () or is_same_point(step, read, writer))
                fusable = fusable and self.groups[group].form == ("straight" if step.domain == () else "nest")
                earliest = max(earliest, group if fusable else group + 1)
        for group, writer in self.writers.get(step.write.storage, ()):
            # Parts of one array: after the fill; beside each other only outside loops.
            earliest = max(earliest, group if step.domain == () and writer.domain == () else group + 1)
        if self.storages[step.write.storage].home == "output" and self.last_veto >= 0:
            earliest = max(earliest, self.last_veto if step.domain == () else self.last_veto + 1)
        return earliest


def is_same_point(reader: Step, read: Access, writer: Step) -> bool:
    """Whether the reader reads, at every loop point, exactly what the writer assigned at that point."""
    return (
        writer.domain == reader.domain
        and writer.combine is None
        and read.via < 0
        and writer.write.via < 0
        and read.offset == writer.write.offset
        and read.strides == writer.write.strides
    )


def place_in_memory(groups: list[Group], storages: list[Storage]) -> None:
    """Decide which storages need an address: those read in another nest, at another point, or by a routine."""
    writer_of: dict[int, list[tuple[int, Any]]] = {}
    for number, group in enumerate(groups):
        for item in group.body:
            if isinstance(item, Step):
                writer_of.setdefault(item.write.storage, []).append((number, item))
            elif isinstance(item, Call):
                writer_of.setdefault(item.result, []).append((number, item))
            elif isinstance(item, Invoke):
                for storage in item.written:
                    writer_of.setdefault(storage, []).append((number, item))
    for storage in storages:
        if storage.home == "workspace":
            storage.in_memory = _must_be_stored(storage, writer_of.get(storage.number, []))
    chunks = {number for number, group in enumerate(groups) if group.form == "chunk"}
    for number, group in enumerate(groups):
        for item in group.body:
            if isinstance(item, Call):
                for storage, _ in (*item.operands, (item.result, 0)):
                    storages[storage].in_memory = True
            elif isinstance(item, Invoke):
                for storage in (*item.written, *(s for s, _ in item.operands)):
                    storages[storage].in_memory = True
            elif isinstance(item, Exit):
                if item.guard_kind == "array":
                    storages[item.report[0]].in_memory = True
                if storages[item.read.storage].size > 1:
                    storages[item.read.storage].in_memory = True
                if _leaves_chunk(item.read.storage, number, chunks, storages, writer_of):
                    storages[item.read.storage].in_memory = True
            else:
                for read in item.reads:
                    if isinstance(read, Access):
                        crosses = _leaves_chunk(read.storage, number, chunks, storages, writer_of)
                        if crosses or _needs_address(read, item, number, storages, writer_of):
                            storages[read.storage].in_memory = True


def _leaves_chunk(
    storage: int, reader: int, chunks: set[int], storages: list[Storage], writers: dict[int, Any]
) -> bool:
    """Whether a number is written in one function and read in another."""
    if storages[storage].home != "workspace" or storage not in writers:
        return False
    written_at = writers[storage][0][0]
    return written_at != reader and (written_at in chunks or reader in chunks)


def _must_be_stored(storage: Storage, writers: list[tuple[int, Any]]) -> bool:
    if len(writers) != 1 or not isinstance(writers[0][1], Step):
        return True
    step = writers[0][1]
    if step.write.via >= 0 or step.running:
        return True
    if storage.size == 1:
        return False
    return step.combine is not None


def _needs_address(read: Access, step: Step, group: int, storages: list[Storage], writers: dict[int, Any]) -> bool:
    storage = storages[read.storage]
    if storage.home != "workspace":
        return False
    if read.via >= 0:
        return True
    if storage.size <= 1:
        return False
    written_at, writer = writers[read.storage][0]
    return written_at != group or not is_same_point(step, read, writer)
