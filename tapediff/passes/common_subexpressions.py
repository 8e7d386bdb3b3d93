"""Removes instructions that compute what an earlier one already has: same op, same operands, same parameters."""

from __future__ import annotations

from typing import Any

from ..instruction import CONSTANT, GUARD, INPUT, Instruction
from ..ops.calls import RecordOp
from ..tape import Tape
from .rewrite import Rewriter

# Comparing larger constants by content costs more than a second copy.
LARGEST_COMPARED = 4096


def common_subexpressions(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    known: dict[Any, int] = {}
    numbers = rewriter.number
    for number, instruction in enumerate(tape.instructions):
        key = _key(instruction, numbers)
        earlier = known.get(key) if key is not None else None
        if earlier is None:
            earlier = rewriter.copy(number)
            if key is not None:
                known[key] = earlier
        numbers[number] = earlier
    return rewriter.finish()


def _key(instruction: Instruction, numbers: list[int]) -> Any:
    op, inputs, params, _, _ = instruction
    if not params:
        return (op, tuple([numbers[i] for i in inputs]))
    if op is INPUT or op is GUARD:
        return None
    if isinstance(op, RecordOp) and not params[0].is_pure:
        return None
    if op is CONSTANT:
        array = params[0]
        return (array.shape, array.dtype.char, array.tobytes() if array.size <= LARGEST_COMPARED else id(array))
    return (op, tuple([numbers[i] for i in inputs]), params)
