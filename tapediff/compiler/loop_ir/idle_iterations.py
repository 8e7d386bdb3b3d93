"""Loops of a callee whose last iterations leave every carry as it is: those of entries that do not exist, which a mask tells.

The callee's tape is evaluated with what is known of its streams beyond an end: each carry has to come out as it went in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...ir.instruction import CONSTANT, GUARD, INPUT, Instruction
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.arrays.indexing import ASSEMBLE
from ...ops.arrays.reductions import SUM
from ...ops.control.callee import Callee
from ...ops.control.loop_forms import LoopForm
from ...ops.matrices.products import MATMUL
from .beyond import NO_ENDS, Beyond, Carry, Ends, Known, evaluated


class Idle(NamedTuple):
    """What the iterations of a loop do from an end on.

    Attributes:
        ends: of the iterations that change a carry; None if it is not known.
        carries: the carries that have one value in all iterations.
        outputs: what is known of the callee's other outputs beyond.
    """

    ends: Ends | None
    carries: dict[int, Beyond]
    outputs: list[Known]


def idle_iterations(callee: Callee, form: LoopForm, streams: Mapping[int, Known], first: Mapping[int, Known]) -> Idle | None:
    """What a loop does beyond the entries that exist; None if nothing is known.

    Args:
        streams: by input of the callee, the value beyond an end.
        first: by carry, its value before the first iteration, if it is a constant.
    """
    if form.length is None or form.stops or form.variant_given or form.returns_variants or not callee.is_compiled or callee.may_branch:
        return None
    tape = callee.only_tape()
    if tape is None or any(i.op is GUARD for i in tape.instructions):
        return None
    fixed = {}
    for k, value in first.items():
        made = tape.instructions[tape.outputs[k]]
        if isinstance(value, Beyond) and made.op is CONSTANT and np.all(made.params[0] == value.value):
            fixed[k] = value
    given = {**{k: Carry(NO_ENDS, k) for k in range(form.carries)}, **fixed, **streams}
    known = list[Known]()
    for instruction in tape.instructions:
        known.append(_value(instruction, known, given, tape))
    ends: Ends | None = NO_ENDS
    for k, output in enumerate(tape.outputs[: form.carries]):
        found = known[output]
        if k not in fixed and ends is not None:
            ends = ends | found.ends if isinstance(found, Carry) and found.number == k else None
    return Idle(ends or None, fixed, [known[output] for output in tape.outputs[form.carries :]])


def _value(instruction: Instruction, known: list[Known], inputs: Mapping[int, Known], tape: Tape) -> Known:
    op = instruction.op
    if op is INPUT:
        return inputs.get(instruction.params[0])
    if op is CONSTANT:
        array = np.asarray(instruction.params[0])
        return Beyond(NO_ENDS, array.flat[0]) if array.size and (array == array.flat[0]).all() else None
    given = [known[k] for k in instruction.inputs]
    if isinstance(op, Elementwise):
        found = evaluated(op.scalar, dict(zip(op.arguments, given)))
        changes = isinstance(found, Carry) and tape.input_types[found.number] != instruction.type
        return None if changes else found
    values = [one for one in given if isinstance(one, Beyond)]
    zeros = [one for one in values if one.value == 0]
    # Copies of one number; and sums of zeros, and products with these.
    is_copy = op is ASSEMBLE and sum(tape.instructions[k].type.size for k in instruction.inputs) == instruction.type.size
    is_copy |= isinstance(op, Op) and op.moves
    is_one = len(values) == len(given) > 0 and all(one.value == values[0].value for one in values)
    if (is_copy and is_one) or (op is SUM and zeros):
        return values[0]._replace(ends=NO_ENDS.union(*(one.ends for one in values)))
    return zeros[0] if op is MATMUL and zeros else None
