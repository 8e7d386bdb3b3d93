"""At the end of a recording: calls of sub-tapes whose bodies have got a merged form since they were recorded."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.instruction import Instruction
from ..ops.control.callee import Callee
from .instruction_columns import GrowingColumns


def take_merged_forms(instructions: GrowingColumns | list[Instruction], calls: Sequence[int], is_called: bool) -> None:
    """Let calls of callees that had more variants when they were recorded call the merged form.

    Args:
        calls: the numbers of these instructions, in order.
        is_called: the recording is one of a body, which may be a loop's.
    """
    by_callee: dict[Callee, list[int]] = {}
    for number in calls:
        by_callee.setdefault(instructions[number].params[0], []).append(number)
    for callee, numbers in by_callee.items():
        made = callee.replacement() or callee.replacement(is_apart=True)
        if made is None or (callee.replacement() is None and (is_called or not _are_apart(instructions, numbers))):
            continue
        for number in numbers:
            instruction = instructions[number]
            instructions[number] = instruction._replace(params=(made, *instruction.params[1:]))


def _are_apart(instructions: GrowingColumns | list[Instruction], calls: Sequence[int]) -> bool:
    """Whether no call needs the result of another one."""
    among, later = set(calls), set[int]()
    for number in range(calls[0], calls[-1] + 1):
        if not later.isdisjoint(instructions[number].inputs):
            if number in among:
                return False
            later.add(number)
        elif number in among:
            later.add(number)
    return True
