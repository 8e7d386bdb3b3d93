"""What the items of a loop program read and write, and which must not overtake a guard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .program import Access, Exit, Invoke, Literal, RoutineCall, Step, Storage


def read_by(item: Any) -> Iterable[int]:
    """The storages that a step, a call, an invoke or an exit reads."""
    if isinstance(item, Step):
        return [r.storage for r in item.reads if isinstance(r, Access)]
    if isinstance(item, Exit):
        return [item.read.storage, item.report[0]]
    return [storage for storage, _ in item.operands]


def written_by(item: Any) -> Iterable[int]:
    """The storages that a step, a call or an invoke writes."""
    if isinstance(item, Step):
        return [item.write.storage]
    if isinstance(item, RoutineCall):
        return [item.result]
    return item.written if isinstance(item, Invoke) else []


def may_veto(item: Any) -> bool:
    """Whether an item may end the run: a guard, a routine that can fail, a callee."""
    return isinstance(item, (Exit, Invoke)) or (isinstance(item, RoutineCall) and item.failure >= 0)


def relies_on_guards(item: Any, storages: list[Storage]) -> bool:
    """Whether an item must not run before a guard that stands before it: it ends the run, writes for the caller, or uses
    computed indices."""
    if may_veto(item) or any(storages[storage].home == "output" for storage in written_by(item)):
        return True
    return isinstance(item, Step) and _uses_computed_indices(item, storages)


def _uses_computed_indices(step: Step, storages: list[Storage]) -> bool:
    indices = [step.reads[a.index_read] for a in (*step.reads, step.write) if isinstance(a, Access) and a.index_read >= 0]
    return any(not isinstance(k, Literal) and storages[k.storage].home != "constant" for k in indices)
