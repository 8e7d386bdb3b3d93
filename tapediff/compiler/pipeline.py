"""From tape to scheduled loop program: lower, fuse, decide what is stored and what computed again, and where."""

from __future__ import annotations

from ..ir.tape import Tape
from .bytecode.translate import translated
from .loop_ir.program import Group, Program
from .lower.lower import Lowering, lower, to_program
from .schedule.fusion import cut_long, place_in_memory, schedule
from .schedule.loop_invariants import split_invariants
from .schedule.memory_plan import ALIGNMENT, plan_memory
from .schedule.merge_nearly_equal import merge_nearly_equal
from .schedule.recompute_stencils import recompute_stencils
from .schedule.rematerialize import rematerialize
from .schedule.row_blocking import form_bands


def build_program(tape: Tape) -> Program:
    """The scheduled loop program of a tape, with its memory plan."""
    low = lower(tape)
    groups = schedule(recompute_stencils(low.steps, low.storages), low.storages)
    return _planned(low, [], cut_long(rematerialize(groups, low.storages)))


def build_body(tape: Tape, varying: set[int]) -> Program:
    """The program of a loop's body: its first `before` groups run once, as they depend on none of the inputs `varying`."""
    low = lower(tape)
    early, steps = split_invariants(recompute_stencils(low.steps, low.storages), low.storages, varying)
    before, groups = schedule(early, low.storages), schedule(steps, low.storages)
    return _planned(low, before, cut_long(rematerialize(groups, low.storages, before)))


def _planned(low: Lowering, before: list[Group], body: list[Group]) -> Program:
    place_in_memory([*before, *body], low.storages)
    groups = [*before, *merge_nearly_equal(form_bands(body, low.storages), low.storages)]
    program = to_program(low, groups)
    program.before = len(before)
    program.workspace_bytes = plan_memory(groups, low.storages, len(before))
    _translate(program)
    return program


def _translate(program: Program) -> None:
    """Translate what is to be interpreted. The values of one group are not needed in the next, so all use the same slots."""
    interpreted = [group for group in program.groups if group.form == "interpreted"]
    if not interpreted:
        return
    assembled = program.assembled()
    program.slots_at = program.workspace_bytes + -program.workspace_bytes % ALIGNMENT
    for group in interpreted:
        group.translation = translated(program, group, assembled)
    slots = max(group.translation.slots for group in interpreted)
    program.workspace_bytes = program.slots_at + 8 * slots
