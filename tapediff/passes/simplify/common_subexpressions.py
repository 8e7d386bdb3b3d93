"""Removes instructions whose value an earlier one has: same op, same operands, same parameters."""

from __future__ import annotations

from collections.abc import Hashable

from ...ir.instruction import CONSTANT, GUARD, INPUT, Params, Primitive
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import TupleOp

# Comparing larger constants by content costs more than a second copy.
LARGEST_COMPARED = 4096


def common_subexpressions(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    known: dict[Hashable, int] = {}
    numbers = rewriter.number
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, *_ = instruction
        operands = tuple([numbers[i] for i in inputs])
        key = _key(op, operands, params) if params else (op, operands)
        earlier = known.get(key) if key is not None else None
        if earlier is None:
            earlier = rewriter.keep(instruction, operands)
            if key is not None:
                known[key] = earlier
        numbers[number] = earlier
    return rewriter.finish()


def _key(op: Primitive, operands: tuple[int, ...], params: Params) -> Hashable:
    """Equal for instructions that are alike; None for those that nothing is like."""
    if op is INPUT or op is GUARD:
        return None
    if isinstance(op, TupleOp) and not params[0].is_pure:
        return None
    if op is CONSTANT:
        array = params[0]
        return (array.shape, array.dtype.char, array.tobytes() if array.size <= LARGEST_COMPARED else id(array))
    return (op, operands, params)
