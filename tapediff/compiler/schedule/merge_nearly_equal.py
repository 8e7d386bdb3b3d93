"""Merges loops of nearly equal extents: n and n - 1 entries, for an array and its differences.

They have all whole vectors but the last few in common, and the merged loop reads and computes shared values once. Reductions keep
their order, as each step keeps its own extent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..loop_ir.collapse_loops import LANES
from ..loop_ir.dependencies import may_veto, read_by, relies_on_guards, written_by
from ..loop_ir.program import Extent, Group, LoopNest, Step, Storage

SHORTEST = 8 * LANES
LONGEST_BODY = 200


def merge_nearly_equal(groups: Sequence[Group], storages: Sequence[Storage]) -> list[Group]:
    """The groups; each one-dimensional nest joins the last earlier nest that it can run with."""
    result: list[Group] = []
    for group in groups:
        if not (isinstance(group, LoopNest) and _may_merge(group) and _joined(group, result, storages)):
            result.append(group)
    return result


def _may_merge(nest: LoopNest) -> bool:
    return len(nest.domain) == 1 and nest.domain[0] >= SHORTEST and not isinstance(nest.domain[0], Extent)


def _joined(nest: LoopNest, earlier: list[Group], storages: Sequence[Storage]) -> bool:
    """Add the nest to an earlier one that reads the same arrays, past groups that it does not depend on. False if there is none."""
    read = {s for item in nest.body for s in read_by(item) if storages[s].in_memory and storages[s].size >= SHORTEST}
    needed = {s for item in nest.body for s in read_by(item)}
    whole = {s for item in nest.body if not item.is_disjoint_part for s in written_by(item)}
    parts = {s for item in nest.body if item.is_disjoint_part for s in written_by(item)}
    relies = any(relies_on_guards(item, storages) for item in nest.body)
    for k in range(len(earlier) - 1, -1, -1):
        other = earlier[k]
        for item in other.body:
            # Disjoint parts of an array may be written in any order.
            apart = isinstance(item, Step) and item.is_disjoint_part
            if not (needed | whole | (set() if apart else parts)).isdisjoint(written_by(item)):
                return False
        if relies and any(may_veto(item) for item in other.body):
            return False
        if isinstance(other, LoopNest) and _may_merge(other) and abs(other.domain[0] - nest.domain[0]) <= LANES:
            alike = any(not read.isdisjoint(read_by(item)) for item in other.body)
            if alike and len(other.body) + len(nest.body) <= LONGEST_BODY:
                earlier[k] = LoopNest(max(other.domain, nest.domain), (*other.body, *nest.body))
                return True
    return False
