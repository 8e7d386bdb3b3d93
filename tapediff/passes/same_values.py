"""Finds the values of one body that another body computes as well: by the same operations on the same operands."""

from __future__ import annotations

from typing import Any

from ..instruction import CONSTANT, INPUT, Instruction
from ..ops.calls import RecordOp
from ..tape import Tape

# By input of a body: what it is of another one, an input or an output of it, and which; None if nothing.
Sources = tuple[tuple[str, int] | None, ...]


def same_values(body: Tape, other: Tape, sources: Sources) -> dict[int, int]:
    """For values of a body, their numbers in the other one."""
    known: dict[Any, int] = {}
    for number, instruction in enumerate(other.instructions):
        if instruction.op is not INPUT:
            known.setdefault(_key(instruction, instruction.inputs), number)
    same: dict[int, int] = {}
    for position, source in enumerate(sources):
        if source is not None:
            kind, place = source
            same[body.inputs[position]] = (other.inputs if kind == "input" else other.outputs)[place]
    for number, instruction in enumerate(body.instructions):
        if instruction.op is INPUT or any(i not in same for i in instruction.inputs):
            continue
        found = known.get(_key(instruction, tuple([same[i] for i in instruction.inputs])))
        if found is not None:
            same[number] = found
    return same


def _key(instruction: Instruction, operands: tuple[int, ...]) -> Any:
    op, _, params, type_, _ = instruction
    if op is CONSTANT:
        params = (params[0].tobytes(),)
    if isinstance(op, RecordOp) and not params[0].is_pure:
        return object()
    return op, operands, params, type_
