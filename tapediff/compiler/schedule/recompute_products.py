"""Recomputes large stacks of products where they are read again, instead of storing them.

A stack larger than the cache takes all its memory, and as much time to write and read back as a short product. The values computed from it
are often small sums over the rows of each matrix, which must be complete before the reverse pass reads the stack again. With a second
product there, both are computed matrix by matrix (`row_blocking.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..loop_ir.dependencies import read_by, written_by
from ..loop_ir.program import Access, Group, Item, LoopNest, RoutineCall, Step, Storage

# Smaller stacks are kept: most of them fits into the second-level cache.
SMALLEST = 16_000_000
# Limit on the terms of a product's sums. 64 terms take as long as writing the result to memory and reading it back; more take longer, but
# not by as much as the memory saved.
MOST_TERMS = 128


def recompute_products(groups: Sequence[Group], storages: Sequence[Storage]) -> tuple[list[Group], list[Storage], list[int]]:
    """The groups with second products, the storages with their results, and the numbers of groups before which nothing may move: a second
    product would join the first."""
    groups, storages, cuts = list(groups), list(storages), list[int]()
    for result in [g.result for g in groups if isinstance(g, RoutineCall) and _is_large(g, storages)]:
        at = next(k for k, group in enumerate(groups) if isinstance(group, RoutineCall) and group.result == result)
        _recompute(at, groups, storages, cuts)
    return groups, storages, cuts


def _is_large(call: RoutineCall, storages: Sequence[Storage]) -> bool:
    is_product = call.routine == "product" and call.failure < 0 and call.count > 1
    result = storages[call.result]
    return is_product and call.sizes[2] <= MOST_TERMS and result.home == "workspace" and result.bytes >= SMALLEST


def _recompute(at: int, groups: list[Group], storages: list[Storage], cuts: list[int]) -> None:
    """Add a second product, if a value of all rows lies between the readers of the first and of the second."""
    call = groups[at]
    assert isinstance(call, RoutineCall)
    again = _second_reader(call, groups, at)
    large = [s for s, _ in call.operands if storages[s].bytes >= SMALLEST and storages[s].home == "workspace"]
    copies = [_copy_of(storage, groups, storages) for storage in dict.fromkeys(large)]
    if again < 0 or any(copy is None for copy in copies):
        return
    renamed: dict[int, int] = {}
    for storage in (*dict.fromkeys(large), call.result):
        renamed[storage] = len(storages)
        storages.append(replace(storages[storage], number=len(storages)))
    nests = [replace(copy, body=tuple([_renamed(step, renamed, True) for step in copy.body])) for copy in copies if copy is not None]
    operands = tuple([(renamed.get(storage, storage), offset) for storage, offset in call.operands])
    # Place products that are read again in the same group together.
    place = max((cut for cut in cuts if at < cut <= again), default=again)
    second = [*nests, replace(call, operands=operands, result=renamed[call.result])]
    groups[again:] = [_group_renamed(group, renamed) for group in groups[again:]]
    groups[place:place] = second
    cuts[:] = sorted({place, *(cut + len(second) if cut > place else cut for cut in cuts)})


def _second_reader(call: RoutineCall, groups: Sequence[Group], at: int) -> int:
    """The first group that reads both the product and a value that needs all of its rows; -1 if there is none.

    Also -1 if anything but nests and calls reads the product.
    """
    by_rows, by_all = {call.result}, set[int]()
    found = -1
    for number, group in enumerate(groups[at + 1 :], at + 1):
        reads = {s for item in group.body for s in read_by(item)}
        writes = {s for item in group.body for s in written_by(item)}
        if call.result in reads and not isinstance(group, (LoopNest, RoutineCall)):
            return -1
        if call.result in reads and found < 0 and not by_all.isdisjoint(reads):
            found = number
        if not by_all.isdisjoint(reads) or (not by_rows.isdisjoint(reads) and _rows(group) != call.count):
            by_all |= writes
        elif not by_rows.isdisjoint(reads):
            by_rows |= {s for item in group.body for s in _kept_rows(item)}
            by_all |= writes - by_rows
    return found


def _rows(group: Group) -> int:
    if isinstance(group, RoutineCall):
        return group.count
    return group.domain[0] if isinstance(group, LoopNest) else 0


def _kept_rows(item: Item) -> list[int]:
    """The storages that an item writes row by row, not as a sum over rows."""
    if isinstance(item, Step):
        return [item.write.storage] if item.write.strides and item.write.strides[0] else []
    return list(written_by(item))


def _copy_of(storage: int, groups: Sequence[Group], storages: Sequence[Storage]) -> LoopNest | None:
    """A nest that recomputes an array, by one step whose operands are still in memory; None if it takes more."""
    writers = [(g, i) for g in groups for i in g.body if storage in written_by(i)]
    if len(writers) != 1:
        return None
    ((nest, step),) = writers
    if not isinstance(nest, LoopNest) or not isinstance(step, Step) or step.combine is not None:
        return None
    written_here = {item.write.storage for item in nest.body}
    operands = [storages[read.storage] for read in step.reads if isinstance(read, Access)]
    if any(o.number in written_here or (o.home == "workspace" and o.bytes >= SMALLEST) for o in operands):
        return None
    return LoopNest(nest.domain, (step,)) if step.domain == nest.domain else None


def _group_renamed(group: Group, renamed: dict[int, int]) -> Group:
    if isinstance(group, LoopNest):
        return replace(group, body=tuple([_renamed(step, renamed) for step in group.body]))
    if isinstance(group, RoutineCall):
        return replace(group, operands=tuple([(renamed.get(storage, storage), offset) for storage, offset in group.operands]))
    return group


def _renamed(step: Step, renamed: dict[int, int], writes: bool = False) -> Step:
    """The step with its reads, and with `writes` its write, in the new storages."""
    reads = tuple([replace(r, storage=renamed.get(r.storage, r.storage)) if isinstance(r, Access) else r for r in step.reads])
    write = replace(step.write, storage=renamed[step.write.storage]) if writes else step.write
    return replace(step, reads=reads, write=write)
