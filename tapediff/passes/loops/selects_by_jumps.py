"""Selections on the critical path of a loop's recurrence, as jumps, which the processor predicts.

A selection waits for its condition: a bounce, a rejected step or a limit tested at every iteration adds the latency of a comparison and a
selection, 6 to 10 cycles, whereas a mispredicted jump costs some 20. So jumps pay only if the condition depends on the carries, and the
selected value returns to them. Elsewhere the processor overlaps iterations, and selections stay. So do minimum and maximum of two numbers,
which are one instruction.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.instruction import INPUT, Instruction, ValueType
from ...ir.tape import Tape
from ...ops.elementwise.comparison import ORDERINGS, SELECT, SELECT_BY_JUMP

# With more carries, finding which depend on which takes long.
MOST_CARRIES = 64


def selects_by_jumps(tape: Tape, carries: int) -> Tape:
    """Return the tape of an iteration, whose first `carries` inputs and outputs are carried, with such scalar selections as jumps."""
    if not 0 < carries <= MOST_CARRIES or not any(_is_candidate(tape, i) for i in tape.instructions):
        return tape
    chosen = _in_recurrences(tape, carries)
    if not chosen:
        return tape
    instructions = list(tape.instructions)
    for number in chosen:
        instructions[number] = instructions[number]._replace(op=SELECT_BY_JUMP)
    return replace(tape, instructions=tuple(instructions))


def _is_candidate(tape: Tape, instruction: Instruction) -> bool:
    """True for a scalar selection that is not the minimum or maximum of the compared numbers."""
    op, inputs, _, type_, _ = instruction
    if op is not SELECT or not isinstance(type_, ValueType) or type_.shape != ():
        return False
    test = tape.instructions[inputs[0]]
    is_limit = test.op in ORDERINGS and set(test.inputs) == set(inputs[1:])
    return not is_limit


def _in_recurrences(tape: Tape, carries: int) -> set[int]:
    """Return the candidates whose condition depends on a carry that their result reaches, in this iteration or a later one."""
    instructions = tape.instructions
    # Bit sets: the carries that a value depends on, and the carries whose next values depend on it.
    sources, targets = [0] * len(instructions), [0] * len(instructions)
    for number, (op, inputs, params, _, _) in enumerate(instructions):
        if op is INPUT and params[0] < carries:
            sources[number] = 1 << params[0]
        for i in inputs:
            sources[number] |= sources[i]
    for k, number in enumerate(tape.outputs[:carries]):
        targets[number] |= 1 << k
    for number in range(len(instructions) - 1, -1, -1):
        for i in instructions[number].inputs:
            targets[i] |= targets[number]
    reached = _closure([targets[number] for number in tape.inputs[:carries]])
    return {
        number
        for number, instruction in enumerate(instructions)
        if _is_candidate(tape, instruction)
        and any(targets[number] >> k & 1 and reached[k] & sources[instruction.inputs[0]] for k in range(carries))
    }


def _closure(following: list[int]) -> list[int]:
    """By carry: the carries that depend on it after any number of iterations, itself included."""
    reached = [1 << k | bits for k, bits in enumerate(following)]
    for via in range(len(reached)):
        for k, bits in enumerate(reached):
            if bits >> via & 1:
                reached[k] = bits | reached[via]
    return reached
