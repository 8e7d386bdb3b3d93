"""From tape to scheduled loop program: put rows in blocks, lower, end loops, recompute stencils, fuse, rematerialize, recompute products,
place in memory, block by rows, merge, cut into bands, plan memory.

Each stage takes groups and storages and gives new ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.settings import settings
from ..ir.tape import Tape
from ..passes.loops.selects_by_jumps import selects_by_jumps
from ..passes.pipeline import FINISH, run_passes
from ..transforms.lanes.rows_in_blocks import rows_in_blocks
from .loop_ir.ends import end_loops
from .loop_ir.program import Group, Interpreted, Program, Storage, assembled
from .loop_ir.short_inputs import short_inputs
from .lower.lower import Lowered, lower
from .schedule.cut_into_bands import cut_into_bands
from .schedule.fusion import schedule
from .schedule.loop_invariants import split_invariants
from .schedule.memory_plan import ALIGNMENT, plan_memory
from .schedule.merge_nearly_equal import merge_nearly_equal
from .schedule.placement import place_in_memory
from .schedule.recompute_products import recompute_products
from .schedule.recompute_stencils import recompute_stencils
from .schedule.rematerialize import rematerialize
from .schedule.row_blocking import block_rows
from .schedule.split_long import split_long


def build_program(tape: Tape, threads: int = 0, *, ends_loops: bool = True) -> Program:
    """The scheduled loop program of a tape, with its memory plan.

    Args:
        threads: the most threads that may share a loop; long sums are then cut into bands. 0: no sum is cut.
        ends_loops: loops over arrays of many sizes may end where the data end.
    """
    lowered = lower(_finished(tape), threads)
    steps = end_loops(lowered.steps, lowered.storages, lowered.constants) if ends_loops else lowered.steps
    steps, storages = recompute_stencils(steps, lowered.storages)
    groups, storages = rematerialize(schedule(steps, storages), storages)
    return _planned(lowered, storages, [], split_long(groups), threads, is_body=False)


def build_body(tape: Tape, varying: set[int], carries: int, threads: int = 0, in_place: Sequence[int] = ()) -> Program:
    """The program of a loop's body: its first `before` groups run once, as they depend on none of the inputs `varying`.

    Args:
        in_place: the carries that an iteration reads and writes in place.
    """
    lowered = lower(selects_by_jumps(_finished(tape), carries), threads, in_place)
    steps, storages = recompute_stencils(lowered.steps, lowered.storages)
    early, steps = split_invariants(steps, storages, varying)
    before, groups = schedule(early, storages), schedule(steps, storages)
    groups, storages = rematerialize(groups, storages, before)
    return _planned(lowered, storages, before, split_long(groups), threads, is_body=True)


def _finished(tape: Tape) -> Tape:
    if rows_in_blocks.__name__ not in settings.left_out:
        tape = rows_in_blocks(tape)
    return run_passes(tape, FINISH)


def _planned(
    lowered: Lowered, storages: Sequence[Storage], before: list[Group], body: list[Group], threads: int, *, is_body: bool
) -> Program:  # fmt: skip
    """The program of groups that run once and the groups after them."""
    body, storages, cuts = recompute_products(body, storages)
    storages = place_in_memory([*before, *body], storages)
    body, blocked = block_rows(body, storages, cuts)
    body = merge_nearly_equal(body, blocked)
    if threads:
        before, blocked = cut_into_bands(before, blocked, storages, threads, is_body=False)
        body, blocked = cut_into_bands(body, blocked, storages, threads, is_body)
    groups, storages = [*before, *body], blocked
    storages, workspace_bytes = plan_memory(groups, storages, len(before))
    groups, slots = _translated(groups, storages)
    slots_at = 0
    if slots:
        slots_at = workspace_bytes + -workspace_bytes % ALIGNMENT
        workspace_bytes = slots_at + 8 * slots
    return Program(
        lowered.tape.name, storages, groups, lowered.constants, len(lowered.tape.inputs), len(lowered.tape.outputs),
        lowered.failures, workspace_bytes, len(before), slots_at, threads, frozenset() if is_body else short_inputs(groups, storages),
    )  # fmt: skip


def _translated(groups: list[Group], storages: Sequence[Storage]) -> tuple[list[Group], int]:
    """The groups, interpreted ones with byte code, and the most values that one has. Values of one group are not needed in the next, so all
    groups use the same slots."""
    if not any(isinstance(group, Interpreted) for group in groups):
        return groups, 0
    from .bytecode.translate import Translation, translated

    several = assembled(groups)
    groups = [translated(storages, group, several) if isinstance(group, Interpreted) else group for group in groups]
    return groups, max(group.slots for group in groups if isinstance(group, Translation))
