"""Checks that the rows of nests are independent: they can run in any order, and at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..loop_ir.program import Access, LoopNest, RoutineCall, Step
from .row_blocking import Row, operand_rows, row_of


@dataclass(frozen=True, slots=True)
class _Place:
    """The addresses that row k writes: within its own row, or those of an injective access."""

    row: Row | None
    access: Access | None = None


def are_independent(members: Sequence[LoopNest | RoutineCall]) -> bool:
    """True if each row writes only its own entries, and of written arrays reads only its own row. Sums over rows do not count."""
    written: dict[int, _Place] = {}
    for member in members:
        for storage, place in _writes(member):
            if place is None or written.setdefault(storage, place) != place:
                return False
    return all(_reads_own_rows(member, written) for member in members)


def _writes(member: LoopNest | RoutineCall) -> list[tuple[int, _Place | None]]:
    if isinstance(member, RoutineCall):
        m, n = member.sizes[:2]
        return [(member.result, _Place(Row(member.advances[-1], 0)) if member.advances[-1] >= m * n else None)]
    return [(step.write.storage, _place(step)) for step in member.body if not is_sum(step)]


def is_sum(step: Step) -> bool:
    """True for a reduction over rows, except at computed places."""
    return step.combine is not None and step.write.index_read < 0 and step.write.strides[0] == 0


def _place(step: Step) -> _Place | None:
    access = step.write
    if access.index_read >= 0 or step.is_scan or not access.strides[0]:
        return None
    row = row_of(access, step.domain)
    if row is not None:
        return _Place(row)
    return _Place(None, access) if _meets_none_twice(access, step.domain) else None


def _meets_none_twice(access: Access, domain: tuple[int, ...]) -> bool:
    """True if all points have different addresses, apart from loops with stride 0: each stride exceeds the reach of all shorter ones."""
    reach = 0
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(access.strides, domain) if stride):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


def _reads_own_rows(member: LoopNest | RoutineCall, written: dict[int, _Place]) -> bool:
    if isinstance(member, RoutineCall):
        return all(written.get(storage, _Place(row)) == _Place(row) for storage, row in operand_rows(member))
    for step in member.body:
        for read in step.reads:
            if isinstance(read, Access) and read.storage in written:
                place = written[read.storage]
                if place.row is None:
                    if read != place.access:
                        return False
                elif row_of(read, step.domain) != place.row:
                    return False
    return True
