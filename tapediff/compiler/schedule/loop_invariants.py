"""Finds the steps of a loop's body that give the same at every iteration, so that they run once before it."""

from __future__ import annotations

from typing import Any

from ..loop_ir.program import Access, Literal, RoutineCall, Step, Storage


def split_invariants(steps: list[Any], storages: list[Storage], varying: set[int]) -> tuple[list[Any], list[Any]]:
    """The steps that depend on nothing that changes, and the others; `varying` are the inputs that do change, by position."""
    writers: dict[int, list[Any]] = {}
    for step in steps:
        for storage in _written(step):
            writers.setdefault(storage, []).append(step)
    fixed = {s.number for s in storages if s.home == "constant" or (s.home == "input" and s.position not in varying)}
    invariant: set[int] = set()
    for step in steps:
        # A storage counts with its last writer: those before have been looked at by then.
        target = _target(step)
        if target is None or storages[target].home != "workspace" or not _may_run_early(step, fixed, storages):
            continue
        invariant.add(id(step))
        if all(id(writer) in invariant for writer in writers[target]):
            fixed.add(target)
    # What is only partly written before the loop is written in it.
    early = [s for s in steps if id(s) in invariant and _target(s) in fixed]
    chosen = set(map(id, early))
    return early, [s for s in steps if id(s) not in chosen]


def _written(step: Any) -> tuple[int, ...]:
    if isinstance(step, Step):
        return (step.write.storage,)
    if isinstance(step, RoutineCall):
        return (step.result,)
    return getattr(step, "written", ())


def _target(step: Any) -> int | None:
    """The storage that a step writes, if it is a step that may run before the loop at all."""
    if isinstance(step, Step):
        return step.write.storage if 0 not in step.domain else None
    return None


def _may_run_early(step: Step, fixed: set[int], storages: list[Storage]) -> bool:
    for read in step.reads:
        if isinstance(read, Access) and read.storage not in fixed:
            return False
    for access in (*step.reads, step.write):
        if isinstance(access, Access) and access.index_read >= 0:
            # Computed indices are used behind the guards that check them.
            index = step.reads[access.index_read]
            if not isinstance(index, Literal) and storages[index.storage].home != "constant":
                return False
    return True
