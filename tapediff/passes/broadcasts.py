"""Moves broadcasts behind elementwise ops, which broadcast by themselves: nothing is computed once per copy."""

from __future__ import annotations

from ..instruction import ValueType
from ..ops import Elementwise
from ..ops.shape import BROADCAST, RESHAPE
from ..tape import Tape
from .rewrite import Rewriter


def sink_broadcasts(tape: Tape) -> Tape:
    if not any(i.op is BROADCAST or i.op is RESHAPE for i in tape.instructions):
        return tape
    rewriter = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        if isinstance(op, Elementwise) and type_.shape:
            operands = tuple(_before_broadcast(rewriter, rewriter.number[i], len(type_.shape)) for i in inputs)
            if operands != tuple(rewriter.number[i] for i in inputs):
                natural: ValueType = op.infer(*(rewriter.instructions[i].type for i in operands), **op.named(params))
                small = rewriter.emit(op, operands, params, natural, site)
                grown = natural.shape == type_.shape
                rewriter.number[number] = (
                    small if grown else rewriter.emit(BROADCAST, (small,), (type_.shape,), type_, site)
                )
                continue
        rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()


def _before_broadcast(rewriter: Rewriter, number: int, most: int) -> int:
    """The value that is broadcast or reshaped into value `number`, if it broadcasts by itself to an array of `most` axes."""
    op, inputs, _, type_, _ = rewriter.instructions[number]
    if op is not BROADCAST and not (op is RESHAPE and type_.size == 1):
        return number
    source = inputs[0]
    while rewriter.instructions[source].op is RESHAPE and rewriter.instructions[source].type.size == 1:
        source = rewriter.instructions[source].inputs[0]
    return source if len(rewriter.instructions[source].type.shape) <= most else number
