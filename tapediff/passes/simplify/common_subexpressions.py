"""Removes instructions whose value an earlier one has: same op, same operands, same parameters."""

from __future__ import annotations

from collections.abc import Hashable

from ...ir.instruction import CONSTANT, GUARD, INPUT, Instruction, Params, Primitive
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import TupleOp

# Comparing larger constants by content costs more than a second copy.
LARGEST_COMPARED = 4096

# See ir/rewriter.py.
_new_tuple = tuple.__new__


def common_subexpressions(tape: Tape) -> Tape:
    rewriter = Rewriter(tape)
    known: dict[Hashable, int] = {}
    numbers, made, count = rewriter.number, rewriter.instructions, 0
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        operands = inputs
        # Up to the first value that is found again, all have their old numbers.
        if number != count:
            operands = (numbers[inputs[0]], numbers[inputs[1]]) if len(inputs) == 2 else tuple([numbers[i] for i in inputs])
        key = _key(op, operands, params) if params else (op, operands)
        earlier = known.setdefault(key, count) if key is not None else count
        if earlier == count:
            if operands != inputs:
                instruction = _new_tuple(Instruction, (op, operands, params, type_, site))
            made.append(instruction)
            count += 1
        numbers[number] = earlier
    return tape if count == len(numbers) else rewriter.finish()


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
