"""Loop-invariant code motion: finds the steps of a loop's body with the same result at every iteration, to run once before it."""

from __future__ import annotations

from collections.abc import Sequence

from ..loop_ir.dependencies import written_by
from ..loop_ir.program import Access, Item, Literal, Step, Storage


def split_invariants(
    steps: Sequence[Item], storages: Sequence[Storage], varying: set[int]
) -> tuple[list[Item], list[Item]]:
    """The invariant steps, and the others; `varying` are the positions of the inputs that change from iteration to iteration."""
    writers: dict[int, list[Item]] = {}
    for step in steps:
        for storage in written_by(step):
            writers.setdefault(storage, []).append(step)
    fixed = {s.number for s in storages if s.home == "constant" or (s.home == "input" and s.position not in varying)}
    invariant: set[int] = set()
    for step in steps:
        if not isinstance(step, Step) or not _is_invariant(step, fixed, storages):
            continue
        invariant.add(id(step))
        # Decided at the last writer, after all others have been seen.
        if all(id(writer) in invariant for writer in writers[step.write.storage]):
            fixed.add(step.write.storage)
    # If a storage has one writer in the loop, all its writers stay there.
    early: list[Item] = [s for s in steps if id(s) in invariant and isinstance(s, Step) and s.write.storage in fixed]
    chosen = set(map(id, early))
    return early, [s for s in steps if id(s) not in chosen]


def _is_invariant(step: Step, fixed: set[int], storages: Sequence[Storage]) -> bool:
    if 0 in step.domain or storages[step.write.storage].home != "workspace":
        return False
    for read in step.reads:
        if isinstance(read, Access) and read.storage not in fixed:
            return False
    for access in (*step.reads, step.write):
        if isinstance(access, Access) and access.index_read >= 0:
            # Computed indices are used after the guards that check them.
            index = step.reads[access.index_read]
            if not isinstance(index, Literal) and storages[index.storage].home != "constant":
                return False
    return True
