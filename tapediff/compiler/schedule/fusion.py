"""Fuses steps into loop nests: each step joins the first group in which all its operands are ready.

Two steps share a nest if they have the same domain, and each value passed between them is read at the loop point that writes it. Outputs of
the caller are written only after the last guard.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ..loop_ir.dependencies import is_same_point
from ..loop_ir.program import (
    Access,
    EmptyReduction,
    Exit,
    Group,
    InPlace,
    Invoke,
    Item,
    Literal,
    LoopNest,
    RoutineCall,
    Scan,
    Step,
    Storage,
    Straight,
)  # fmt: skip


def schedule(steps: Sequence[Item], storages: Sequence[Storage]) -> list[Group]:
    """The groups of a program, in execution order. Steps that write outputs come last."""
    scheduler = _Scheduler(storages)
    late = [s for s in steps if _writes_output(s, storages)]
    late += [s for s in steps if isinstance(s, InPlace) and s.is_last]
    # Scattered additions join the nest that computes their addends, if the array is filled before it.
    scattered = {s.write.storage for s in steps if isinstance(s, Step) and s.write.index_read >= 0 and s.domain != ()}
    fills = [s for s in steps if _fills(s, scattered)] if len(scattered) <= MOST_FILLED_EARLY else []
    # Fill the caller's arrays early only if nothing can fail.
    early = fills if not any(map(_may_fail, steps)) else [s for s in fills if not _writes_output(s, storages)]
    for step in early:
        scheduler.add(step)
    placed = set(map(id, (*late, *early)))
    for step in steps:
        if id(step) not in placed:
            scheduler.add(step)
    scheduler.last_veto = max(scheduler.last_exit, scheduler.last_failing_call)
    placed = set(map(id, early))
    for step in late:
        if id(step) not in placed:
            scheduler.add(step)
    return [group.frozen() if isinstance(group, (_Straight, _Nest)) else group for group in scheduler.groups]


def _fills(step: Item, storages: set[int]) -> bool:
    """True if a step sets one of these arrays to a number."""
    if not isinstance(step, Step):
        return False
    return step.write.storage in storages and step.write.index_read < 0 and all(isinstance(r, Literal) for r in step.reads)


def _may_fail(step: Item) -> bool:
    return isinstance(step, (Exit, Invoke)) or (isinstance(step, RoutineCall) and step.failure >= 0)


def _writes_output(step: Item, storages: Sequence[Storage]) -> bool:
    if isinstance(step, (Exit, InPlace, Invoke)):
        return False
    target = step.result if isinstance(step, RoutineCall) else step.write.storage
    return storages[target].home == "output"


# With more arrays than this, each is filled where it is needed: a filled one occupies memory.
MOST_FILLED_EARLY = 8
# A nest longer than this is closed and a new one begun: LLVM takes quadratic time over long functions.
LONGEST_NEST = 400


@dataclass(slots=True)
class _Straight:
    """A Straight group that still grows."""

    body: list[Step | Exit]

    def frozen(self) -> Straight:
        return Straight(tuple(self.body))


@dataclass(slots=True)
class _Nest:
    """A LoopNest that still grows."""

    domain: tuple[int, ...]
    body: list[Step]

    def frozen(self) -> LoopNest:
        return LoopNest(self.domain, tuple(self.body))


_Growing = _Straight | _Nest | Scan | EmptyReduction | RoutineCall | Invoke | InPlace


@dataclass(slots=True)
class _Writers:
    """The last groups that wrote a storage: enough to place the next access.

    Attributes:
        straight: the last group of straight-line code that writes it; -1 for none.
        other: the last other group that writes it.
        sole: the step that writes it there; None if there are several, or if no reader can share its nest.
        whole: the last group that writes more than a disjoint part, and `whole_in_nest` the last one outside straight-line code.
    """

    straight: int = -1
    other: int = -1
    sole: Step | None = None
    whole: int = -1
    whole_in_nest: int = -1

    @property
    def last(self) -> int:
        return max(self.straight, self.other)

    def add(self, number: int, group: _Growing, item: Item) -> None:
        is_straight = isinstance(group, _Straight)
        if is_straight:
            self.straight = max(self.straight, number)
        elif number >= self.other:
            shares = isinstance(group, _Nest) and number > self.other
            self.other, self.sole = number, item if shares and isinstance(item, Step) else None
        if not (isinstance(item, Step) and item.is_disjoint_part):
            self.whole = max(self.whole, number)
            if not is_straight:
                self.whole_in_nest = max(self.whole_in_nest, number)

    def read_from(self, step: Step, read: Access) -> int:
        """The first loop nest that may read it: the writer's, if each value is read at the loop point that writes it."""
        after = self.straight + 1 if self.straight >= 0 else -1
        if self.other < 0:
            return after
        fusable = self.sole is not None and is_same_point(step, read, self.sole)
        return max(after, self.other if fusable else self.other + 1)

    def written_from(self, step: Step) -> int:
        """The first group that may write more of it. Disjoint parts of an array come after the fill, in any order."""
        if step.domain != ():
            last = self.whole if step.is_disjoint_part else self.last
            return last + 1 if last >= 0 else -1
        last, in_nest = (self.whole, self.whole_in_nest) if step.is_disjoint_part else (self.last, self.other)
        return max(last, in_nest + 1 if in_nest >= 0 else -1)


_NONE = _Writers()


class _Scheduler:
    """Places steps one by one, each in time independent of the number of earlier steps."""

    def __init__(self, storages: Sequence[Storage]) -> None:
        self.storages = storages
        self.groups: list[_Growing] = []
        self.writers: dict[int, _Writers] = {}
        # The groups that may still grow; nests by their domain.
        self.straights: list[int] = []
        self.nests: dict[tuple[int, ...], list[int]] = {}
        self.last_exit = -1
        self.last_failing_call = -1
        self.last_veto = -1

    def add(self, item: Item) -> None:
        if isinstance(item, RoutineCall):
            self._add_call(item)
        elif isinstance(item, Invoke):
            self._add_invoke(item)
        elif isinstance(item, Exit):
            self._add_exit(item)
        elif isinstance(item, InPlace):
            self._wrote(item.step.write.storage, self._append(item), item)
        elif 0 in item.domain:
            self._add_empty(item)
        else:
            self._add_step(item)

    def _append(self, group: _Growing) -> int:
        self.groups.append(group)
        return len(self.groups) - 1

    def _wrote(self, storage: int, number: int, item: Item) -> None:
        """Note that a group writes a storage."""
        self.writers.setdefault(storage, _Writers()).add(number, self.groups[number], item)

    def _ready(self, storage: int) -> int:
        """The last group that writes a storage."""
        return self.writers.get(storage, _NONE).last

    def _add_call(self, call: RoutineCall) -> None:
        number = self._append(call)
        self._wrote(call.result, number, call)
        if call.failure >= 0:
            self.last_failing_call = number

    def _add_invoke(self, invoke: Invoke) -> None:
        """Place it after the guards recorded before: only they ensure that the callee's operands are valid."""
        number = self._append(invoke)
        for storage in invoke.written:
            self._wrote(storage, number, invoke)
        self.last_failing_call = number

    def _add_exit(self, exit_: Exit) -> None:
        earliest = max(
            self._ready(exit_.read.storage), self._ready(exit_.report[0]), self.last_exit, self.last_failing_call, 0
        )
        number = self._straight(earliest, exit_)
        self.last_exit = number

    def _straight(self, earliest: int, item: Step | Exit) -> int:
        """Add to the first straight-line group at or after `earliest`; return its number."""
        number = _first(self.straights, earliest)
        if number < 0:
            number = self._append(_Straight([item]))
            self.straights.append(number)
        else:
            group = self.groups[number]
            assert isinstance(group, _Straight)
            group.body.append(item)
        return number

    def _nest(self, earliest: int, step: Step) -> int:
        """Add to the first nest over the step's domain at or after `earliest`; return its number."""
        nests = self.nests.setdefault(step.domain, [])
        number = _first(nests, earliest)
        if number < 0:
            number = self._append(_Nest(step.domain, [step]))
            nests.append(number)
        else:
            group = self.groups[number]
            assert isinstance(group, _Nest)
            group.body.append(step)
            if len(group.body) >= LONGEST_NEST:
                nests.remove(number)
        return number

    def _add_step(self, step: Step) -> None:
        if step.is_scan:
            number = self._append(Scan(step))
        elif step.domain == ():
            number = self._straight(self._earliest_straight(step), step)
        else:
            number = self._nest(max(self._earliest(step), self._range_checked(step), 0), step)
        self._wrote(step.write.storage, number, step)

    def _earliest_straight(self, step: Step) -> int:
        """The first group for a step outside loops: `_earliest`, inlined by hand, as unrolled Python loops have thousands of these."""
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
        """Computed indices are used only after the guards before: one of them checks their range."""
        indices = [step.reads[a.index_read] for a in (*step.reads, step.write) if type(a) is Access and a.index_read >= 0]
        if not indices or all(isinstance(k, Literal) or self.storages[k.storage].home == "constant" for k in indices):
            return -1
        return self.last_exit if step.domain == () else self.last_exit + 1

    def _add_empty(self, step: Step) -> None:
        """A loop without iterations: only a reduction has a result, its neutral element."""
        if step.combine is not None and step.write.storage not in self.writers:
            self._wrote(step.write.storage, self._append(EmptyReduction(step)), step)

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


def _first(numbers: list[int], earliest: int) -> int:
    """The first of ascending numbers that is not below `earliest`; -1 for none."""
    place = bisect_left(numbers, earliest)
    return numbers[place] if place < len(numbers) else -1
