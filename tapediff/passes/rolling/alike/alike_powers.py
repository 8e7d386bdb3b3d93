"""Powers by many different whole numbers as one operation with its exponent as data.

```
v = [u**j * d**(n - j) for j in range(n)]
```
A power by a whole number that is known is a product of its own: with every turn another one, turns are not alike, and each would be
compiled on its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....ir.instruction import (
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    OWN,
    TWO,
    ColumnInstructions,
    Columns,
    Instruction,
    columns_of,
)
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.elementwise.arithmetic import INTEGER_POWER, POWER
from ...columns import renumber

# Powers by fewer different numbers are faster as the products that they are.
FEWEST_EXPONENTS = 8


def alike_powers(tape: Tape) -> Tape:
    """The tape with its powers by whole numbers as powers by constants, if these are many.

    Cost: linear in the length of the tape, where they are; else as much as to look for them.
    """
    if INTEGER_POWER not in tape.ops:
        return tape
    instructions = tape.instructions
    columns = columns_of(instructions)
    candidates = tape.all_of(INTEGER_POWER) if columns is None else columns.templates
    exponents = {i.params[0] for i in candidates if i.op is INTEGER_POWER and i.type.dtype == FLOAT64}
    if len(exponents) < FEWEST_EXPONENTS:
        return tape
    if columns is not None:
        assert isinstance(instructions, ColumnInstructions)
        return _in_columns(tape, instructions, columns, sorted(exponents))
    rewriter = Rewriter(tape)
    constants: dict[int, int] = {}
    for number, (op, inputs, params, type_, site) in enumerate(instructions):
        if op is INTEGER_POWER and type_.dtype == FLOAT64:
            (exponent,) = params
            if exponent not in constants:
                constants[exponent] = rewriter.constant(float(exponent), FLOAT_SCALAR)
            rewriter.number[number] = rewriter.emit(POWER, (rewriter.number[inputs[0]], constants[exponent]), (), type_, site)
        else:
            rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()


def _in_columns(tape: Tape, instructions: ColumnInstructions, columns: Columns, exponents: list[int]) -> Tape:
    """The same of a long tape, with the constants before all else."""
    templates, takes, which, first, second = columns
    later = len(exponents)
    made = Columns(list(templates), takes.copy(), which.copy(), first.copy(), second.copy())
    number = np.arange(which.size) + later
    renumber(made, np.ones(which.size, bool), number)
    places = {exponent: k for k, exponent in enumerate(exponents)}
    for k, (op, inputs, params, type_, site) in enumerate(made.templates):
        if op is not INTEGER_POWER or type_.dtype != FLOAT64:
            continue
        place = places[params[0]]
        if made.takes[k] == OWN:
            made.templates[k] = Instruction(POWER, (*inputs, place), (), type_, site)
        else:
            made.templates[k] = Instruction(POWER, inputs, (), type_, site)
            made.takes[k] = TWO
            made.second[made.which == k] = place
    constants: list[Instruction] = []
    for exponent in exponents:
        value = np.array(float(exponent))
        value.flags.writeable = False
        constants.append(Instruction(CONSTANT, (), (value,), FLOAT_SCALAR, None))
    given = np.full(later, -1, made.first.dtype)
    whole = Columns(
        [*constants, *made.templates], np.concatenate([np.full(later, OWN, made.takes.dtype), made.takes]),
        np.concatenate([np.arange(later, dtype=made.which.dtype), made.which + later]), np.concatenate([given, made.first]),
        np.concatenate([given.astype(made.second.dtype), made.second]),
    )  # fmt: skip
    return replace(
        tape, instructions=instructions.like(whole), inputs=tuple(k + later for k in tape.inputs),
        outputs=tuple(k + later for k in tape.outputs),
    )  # fmt: skip
