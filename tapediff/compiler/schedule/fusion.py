"""Fuses steps into loop nests: each step goes into the first group where everything it reads is ready.

Two steps share a nest when they have the same domain and every value that one hands to the other is read at the loop point
that writes it. Nothing that a guard could still veto is written to the caller's arrays before the last guard.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from ...ir.guard_rows import EACH
from ..loop_ir.program import Access, Exit, Group, Invoke, Literal, RoutineCall, Step, Storage


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
    target = step.result if isinstance(step, RoutineCall) else step.write.storage
    return storages[target].home == "output"


# LLVM takes quadratic time over long functions: longer straight-line code is cut into functions of this many steps, and where
# loops have more than that in all, each is a function.
LONGEST_STRAIGHT = 400
MOST_IN_LOOPS = 1000
# Between many loops and calls there are many short stretches of straight-line code. Beyond this many steps in all, those that are
# longer than a call of a function are functions, too.
MOST_STRAIGHT = 2000
SHORTEST_CHUNK = 4

# What is a function of its own, by the form of the group that it was.
CHUNKS = {"straight": "chunk", "nest": "nest chunk", "alone": "alone chunk"}


# Where a program has more straight-line steps than this in all, LLVM would take too long over them, and those groups of them are
# interpreted that are no shorter than SHORTEST_INTERPRETED. A step takes 12 us to compile and then 0.2 to 0.4 ns to run; interpreted
# 0.7 ns where many equal ones stand together, and up to 3 ns in a chain. So compiling pays after 10 000 to 40 000 calls; what it is
# to take at most is about a quarter of a second.
MOST_COMPILED = 20_000
SHORTEST_INTERPRETED = 200


def cut_long(groups: list[Group]) -> list[Group]:
    """Make chunks of long straight-line groups, of many of them, and of many loops: functions, which pass numbers to each other through
    the workspace."""
    in_loops = sum(len(group.body) for group in groups if group.form == "nest")
    straight = sum(len(group.body) for group in groups if group.form == "straight")
    result: list[Group] = []
    for group in groups:
        if group.form == "straight" and straight > MOST_COMPILED and len(group.body) >= SHORTEST_INTERPRETED:
            result.append(Group("interpreted", (), group.body))
        elif group.form == "straight" and len(group.body) > LONGEST_STRAIGHT:
            for start in range(0, len(group.body), LONGEST_STRAIGHT):
                result.append(Group("chunk", (), group.body[start : start + LONGEST_STRAIGHT]))
        elif group.form == "straight" and straight > MOST_STRAIGHT and len(group.body) >= SHORTEST_CHUNK:
            result.append(Group("chunk", (), group.body))
        elif group.form in ("nest", "alone") and in_loops > MOST_IN_LOOPS and 0 not in group.domain:
            result.append(Group(CHUNKS[group.form], group.domain, group.body))
        else:
            result.append(group)
    return result


# Nests that grow longer than this are begun anew, for the same reason.
LONGEST_NEST = 400


@dataclass(slots=True)
class _Writers:
    """What has written a storage so far, as much of it as the place of the next step depends on.

    Attributes:
        straight: the last group of straight-line code that writes it; -1 for none.
        other: the last of the other groups that do.
        sole: the step that does so there; None if there are several, or one that no reader can share a nest with.
        whole: the last group with a writer that is no part of an array, and `whole_in_nest` the last that is no straight-line code.
    """

    straight: int = -1
    other: int = -1
    sole: Step | None = None
    whole: int = -1
    whole_in_nest: int = -1

    @property
    def last(self) -> int:
        return max(self.straight, self.other)

    def add(self, number: int, form: str, item: Any) -> None:
        if form == "straight":
            self.straight = max(self.straight, number)
        elif number >= self.other:
            shares = form == "nest" and isinstance(item, Step) and number > self.other
            self.other, self.sole = number, item if shares else None
        if not (isinstance(item, Step) and item.is_disjoint_part):
            self.whole = max(self.whole, number)
            if form != "straight":
                self.whole_in_nest = max(self.whole_in_nest, number)

    def read_from(self, step: Step, read: Access) -> int:
        """The first loop nest that may read it: that of the writer where each value is read at the loop point that writes it."""
        after = self.straight + 1 if self.straight >= 0 else -1
        if self.other < 0:
            return after
        fusable = self.sole is not None and is_same_point(step, read, self.sole)
        return max(after, self.other if fusable else self.other + 1)

    def written_from(self, step: Step) -> int:
        """The first group that may write more of it. Parts of one array stand after the fill, and beside each other."""
        if step.domain != ():
            last = self.whole if step.is_disjoint_part else self.last
            return last + 1 if last >= 0 else -1
        last, in_nest = (self.whole, self.whole_in_nest) if step.is_disjoint_part else (self.last, self.other)
        return max(last, in_nest + 1 if in_nest >= 0 else -1)


_NONE = _Writers()


class _Scheduler:
    def __init__(self, storages: list[Storage]) -> None:
        self.storages = storages
        self.groups: list[Group] = []
        self.writers: dict[int, _Writers] = {}
        self.by_domain: dict[tuple[int, ...], list[int]] = {}
        self.last_exit = -1
        self.last_failing_call = -1
        self.last_veto = -1

    def add(self, step: Any) -> None:
        if isinstance(step, RoutineCall):
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

    def _wrote(self, storage: int, number: int, item: Any) -> None:
        """Note that a group writes a storage."""
        self.writers.setdefault(storage, _Writers()).add(number, self.groups[number].form, item)

    def _ready(self, storage: int) -> int:
        """The last group that writes a storage."""
        return self.writers.get(storage, _NONE).last

    def _add_call(self, call: RoutineCall) -> None:
        self.groups.append(Group("call", (), [call]))
        number = len(self.groups) - 1
        self._wrote(call.result, number, call)
        if call.failure >= 0:
            self.last_failing_call = number

    def _add_invoke(self, invoke: Invoke) -> None:
        """Behind the guards recorded before it, as only they make sure that the callee is meant to see its operands."""
        self.groups.append(Group("invoke", (), [invoke]))
        number = len(self.groups) - 1
        for storage in invoke.written:
            self._wrote(storage, number, invoke)
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
        if step.domain == () and not step.is_scan:
            number = self._straight(self._earliest_straight(step), step)
        elif step.is_scan:
            number = self._append("alone", step.domain, step)
        else:
            number = self._first(step.domain, max(self._earliest(step), self._range_checked(step), 0))
            if number < 0:
                number = self._append("nest", step.domain, step)
            else:
                self.groups[number].body.append(step)
                if len(self.groups[number].body) >= LONGEST_NEST:
                    self.by_domain[step.domain].remove(number)
        self._wrote(step.write.storage, number, step)

    def _earliest_straight(self, step: Step) -> int:
        """The first group for a step outside loops: as `_earliest`, written out, as tapes of Python loops have thousands of these."""
        earliest = 0
        for read in step.reads:
            if type(read) is Access:
                if read.index_read >= 0:
                    earliest = max(earliest, self._range_checked(step))
                writers = self.writers.get(read.storage)
                if writers is not None:
                    ready = writers.other + 1 if writers.other >= writers.straight else writers.straight
                    if ready > earliest:
                        earliest = ready
        write = step.write
        if write.index_read >= 0:
            earliest = max(earliest, self._range_checked(step))
        writers = self.writers.get(write.storage)
        if writers is not None:
            earliest = max(earliest, writers.written_from(step))
        if self.storages[write.storage].home == "output":
            earliest = max(earliest, self.last_veto)
        return earliest

    def _range_checked(self, step: Step) -> int:
        """Computed indices are used only behind the guards recorded before: one of them checks that they are in range."""
        indices = [step.reads[a.index_read] for a in (*step.reads, step.write) if type(a) is Access and a.index_read >= 0]
        if not indices or all(isinstance(k, Literal) or self.storages[k.storage].home == "constant" for k in indices):
            return -1
        return self.last_exit if step.domain == () else self.last_exit + 1

    def _add_empty(self, step: Step) -> None:
        """A loop over nothing: only a reduction has a result, its neutral element, which the emitter writes."""
        if step.combine is not None and step.write.storage not in self.writers:
            number = self._append("nest", step.domain, step)
            self._wrote(step.write.storage, number, step)

    def _earliest(self, step: Step) -> int:
        """The first group for a step over a domain."""
        earliest = -1
        for read in step.reads:
            if isinstance(read, Access):
                writers = self.writers.get(read.storage)
                if writers is not None:
                    earliest = max(earliest, writers.read_from(step, read))
        writers = self.writers.get(step.write.storage)
        if writers is not None:
            earliest = max(earliest, writers.written_from(step))
        if self.storages[step.write.storage].home == "output" and self.last_veto >= 0:
            earliest = max(earliest, self.last_veto + 1)
        return earliest


def is_same_point(reader: Step, read: Access, writer: Step) -> bool:
    """Whether the reader reads, at every loop point, exactly what the writer assigned at that point."""
    return (
        writer.domain == reader.domain
        and writer.combine is None
        and read.index_read < 0
        and writer.write.index_read < 0
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
            elif isinstance(item, RoutineCall):
                writer_of.setdefault(item.result, []).append((number, item))
            elif isinstance(item, Invoke):
                for storage in item.written:
                    writer_of.setdefault(storage, []).append((number, item))
    for storage in storages:
        if storage.home == "workspace":
            storage.in_memory = _must_be_stored(storage, writer_of.get(storage.number, []))
    chunks = {number for number, group in enumerate(groups) if group.form in (*CHUNKS.values(), "interpreted")}
    for number, group in enumerate(groups):
        for item in group.body:
            if isinstance(item, Step):
                for read in item.reads:
                    if type(read) is not Access or storages[read.storage].in_memory:
                        continue
                    # A number of the same group: the usual case of long straight-line code.
                    is_local = storages[read.storage].size == 1 and writer_of[read.storage][0][0] == number
                    if not is_local or read.index_read >= 0:
                        crosses = _leaves_chunk(read.storage, number, chunks, storages, writer_of)
                        if crosses or _needs_address(read, item, number, storages, writer_of):
                            storages[read.storage].in_memory = True
            elif isinstance(item, RoutineCall):
                for storage, _ in (*item.operands, (item.result, 0)):
                    storages[storage].in_memory = True
            elif isinstance(item, Invoke):
                for storage in (*item.written, *(s for s, _ in item.operands)):
                    storages[storage].in_memory = True
            else:
                if item.guard_kind in ("array", EACH):
                    storages[item.report[0]].in_memory = True
                if storages[item.read.storage].size > 1:
                    storages[item.read.storage].in_memory = True
                if _leaves_chunk(item.read.storage, number, chunks, storages, writer_of):
                    storages[item.read.storage].in_memory = True


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
    if step.write.index_read >= 0 or step.is_scan:
        return True
    if storage.size == 1:
        return False
    return step.combine is not None


def _needs_address(read: Access, step: Step, group: int, storages: list[Storage], writers: dict[int, Any]) -> bool:
    storage = storages[read.storage]
    if storage.home != "workspace":
        return False
    if read.index_read >= 0:
        return True
    if storage.size <= 1:
        return False
    written_at, writer = writers[read.storage][0]
    return written_at != group or not is_same_point(step, read, writer)
