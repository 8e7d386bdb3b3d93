"""Merges loops over nearly the same stretch: those of n and of n - 1 entries, of an array and of its differences.

They have all whole vectors but the last few in common. What they read alike is then read, and computed, once. The order of a
reduction is what it was, as each step still has its own extent.
"""

from __future__ import annotations

from ..loop_ir.collapse_loops import LANES
from ..loop_ir.dependencies import may_veto, read_by, relies_on_guards, written_by
from ..loop_ir.program import Group, Step, Storage

SHORTEST = 8 * LANES
LONGEST_BODY = 200


def merge_nearly_equal(groups: list[Group], storages: list[Storage]) -> list[Group]:
    """The groups, where each one-dimensional nest joins the first that it may run with."""
    result: list[Group] = []
    for group in groups:
        if not (_may_merge(group) and _joined(group, result, storages)):
            result.append(group)
    return result


def _may_merge(group: Group) -> bool:
    return group.form == "nest" and len(group.domain) == 1 and group.domain[0] >= SHORTEST


def _joined(group: Group, earlier: list[Group], storages: list[Storage]) -> bool:
    """Add the group to an earlier nest, past groups that it does not depend on, if there is one that reads what it reads."""
    read = {s for item in group.body for s in read_by(item) if storages[s].in_memory and storages[s].size >= SHORTEST}
    needed = {s for item in group.body for s in read_by(item)}
    whole = {s for item in group.body if not item.is_disjoint_part for s in written_by(item)}
    parts = {s for item in group.body if item.is_disjoint_part for s in written_by(item)}
    relies = any(relies_on_guards(item, storages) for item in group.body)
    for k in range(len(earlier) - 1, -1, -1):
        other = earlier[k]
        for item in other.body:
            # Parts of one array may be written in any order.
            apart = isinstance(item, Step) and item.is_disjoint_part
            if not (needed | whole | (set() if apart else parts)).isdisjoint(written_by(item)):
                return False
        if relies and any(may_veto(item) for item in other.body):
            return False
        if _may_merge(other) and abs(other.domain[0] - group.domain[0]) <= LANES:
            alike = any(not read.isdisjoint(read_by(item)) for item in other.body)
            if alike and len(other.body) + len(group.body) <= LONGEST_BODY:
                domain = (max(other.domain[0], group.domain[0]),)
                earlier[k] = Group("nest", domain, [*other.body, *group.body])
                return True
    return False
