"""Reads and writes of the items of a loop program, and the items that may not move above a guard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .program import Access, Exit, InPlace, Invoke, Item, Literal, RoutineCall, Step, Storage


def read_by(item: Item) -> Iterable[int]:
    """The storages that a step, a call, an invoke or an exit reads."""
    if isinstance(item, Step):
        return [r.storage for r in item.reads if isinstance(r, Access)]
    if isinstance(item, Exit):
        return [item.read.storage, item.report[0]]
    if isinstance(item, InPlace):
        return read_by(item.step)
    return [storage for storage, _ in item.operands]


def written_by(item: Item) -> Iterable[int]:
    """The storages that a step, a call or an invoke writes."""
    if isinstance(item, Step):
        return [item.write.storage]
    if isinstance(item, RoutineCall):
        return [item.result]
    if isinstance(item, InPlace):
        return written_by(item.step)
    return item.written if isinstance(item, Invoke) else ()


def may_veto(item: Item) -> bool:
    """True if an item may end the run: a guard, a routine that can fail, a callee."""
    return isinstance(item, (Exit, Invoke)) or (isinstance(item, RoutineCall) and item.failure >= 0)


def relies_on_guards(item: Item, storages: Sequence[Storage]) -> bool:
    """True if an item must stay after the guards before it: it may fail, writes for the caller, or uses computed indices."""
    if may_veto(item) or any(storages[storage].home == "output" for storage in written_by(item)):
        return True
    return isinstance(item, Step) and _uses_computed_indices(item, storages)


def _uses_computed_indices(step: Step, storages: Sequence[Storage]) -> bool:
    indices = [step.reads[a.index_read] for a in (*step.reads, step.write) if isinstance(a, Access) and a.index_read >= 0]
    return any(not isinstance(k, Literal) and storages[k.storage].home != "constant" for k in indices)


def is_same_point(reader: Step, read: Access, writer: Step) -> bool:
    """True if the reader reads, at every loop point, exactly the value that the writer assigned at that point."""
    return (
        writer.domain == reader.domain
        and writer.combine is None
        and read.index_read < 0
        and writer.write.index_read < 0
        and read.offset == writer.write.offset
        and read.strides == writer.write.strides
    )
