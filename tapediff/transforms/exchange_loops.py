"""A loop of independent iterations around loops becomes these loops, over all the iterations at once.

```
for k in range(100):               carry = starts                    # arrays of 100
    carry = starts[k]              for t in range(50):
    for t in range(50):        →       carry = f(carry, xs[:, t])
        carry = f(carry, xs[k, t])
```

A recurrence takes its steps one after the other; those of the iterations of another loop run beside each other then, in SIMD lanes.
Each value is computed from the same ones by the same operations, so that it has the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..ir.instruction import CONSTANT, INPUT, AnyType, Instruction, TupleType, ValueType
from ..ir.rewriter import Rewriter
from ..ir.tape import Tape
from ..ops import Elementwise
from ..ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ..ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ..ops.control.calls import GET, LOOP, LoopForm, loop_items
from ..passes.rolling.vectorize import is_batchable, spread
from .map_rows import LoopCallee, RowMapper, map_rows

# Fewer iterations fill no lanes; the arrays of more would leave the second cache at every step.
FEWEST, MOST = 4, 1 << 14

# Operations from constants to a stream that are done in another order.
LONGEST_CHAIN = 16

# Values of more entries fill the lanes by themselves.
LARGEST_VALUE = 4


def exchange_loops(tape: Tape, loop_callee: LoopCallee) -> Tape:
    """The tape with loops exchanged where that can be done; the tape itself where there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of such loops.
    """
    wanted = {n: body for n, i in enumerate(tape.instructions) if i.op is LOOP and (body := _body(i)) is not None}
    if not wanted:
        return tape
    made = Rewriter(tape)
    items: dict[int, list[int]] = {}
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, _, _ = instruction
        if number in wanted:
            body, count = wanted[number]
            streams = range(params[1].streams)
            whole = map_rows(body, streams, count, loop_callee, mapper=_Exchanged)
            items[number] = made.splice(whole, [made.number[i] for i in inputs])
        elif op is GET and inputs[0] in items:
            made.number[number] = items[inputs[0]][params[0]]
        else:
            made.number[number] = made.copy(number)
    return _swap_early(made.finish())


def _swap_early(tape: Tape) -> Tape:
    """The tape with streams computed in the order in which loops read them, where they are made of constants and numbers."""
    made = Rewriter(tape)
    uses = Counter(i for instruction in tape.instructions for i in instruction.inputs)
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        chain = _chain(tape, inputs[0], uses) if op is TRANSPOSE else None
        if chain is None:
            made.number[number] = made.copy(number)
            continue
        swapped: dict[int, int] = {}
        for old in chain:
            kind, operands, (*given,), type_, site = tape.instructions[old]
            type_ = ValueType(tuple(type_.shape[k] for k in params[0]), type_.dtype)
            if kind is CONSTANT:
                swapped[old] = made.constant(np.transpose(given[0], params[0]), type_)
            else:
                read = tuple([swapped[i] if i in swapped else made.number[i] for i in operands])
                swapped[old] = made.emit(kind, read, tuple(given), type_, site)
        made.number[number] = swapped[inputs[0]]
    return made.finish()


def _chain(tape: Tape, number: int, uses: Counter[int]) -> list[int] | None:
    """The values of the shape of a value that it is made of, elementwise, of constants and numbers, in order; None if there are others."""
    shape = tape.instructions[number].type.shape
    found, pending = {number}, [number]
    while pending:
        old = pending.pop()
        op, inputs, _, type_, _ = tape.instructions[old]
        if type_.shape != shape or len(found) > LONGEST_CHAIN:
            return None
        if op is CONSTANT:
            continue
        if not isinstance(op, Elementwise) or uses[old] > 1:
            return None
        read = [i for i in inputs if tape.instructions[i].type.shape and i not in found]
        found.update(read)
        pending += read
    return sorted(found)


def _body(loop: Instruction) -> tuple[Tape, int] | None:
    """One iteration of a loop around loops, and how many there are; None where the loops are not to be exchanged."""
    callee, form = loop.params
    if form.carries or form.length is None or not FEWEST <= form.length <= MOST or _is_special(form):
        return None
    body = callee.only_tape()
    if body is None or not any(i.op is LOOP for i in body.instructions):
        return None
    return (body, form.length) if all(_is_simple(i, body, form.length) for i in body.instructions) else None


def _is_special(form: LoopForm) -> bool:
    return form.stops or form.variant_given or form.saves_carries or form.recomputes


def _is_simple(instruction: Instruction, tape: Tape, count: int) -> bool:
    """Whether an instruction of an iteration gives the same bits when it is done for all iterations at once."""
    op, inputs, params, _, _ = instruction
    types: list[AnyType] = [tape.instructions[i].type for i in inputs]
    if op is LOOP:
        callee, form = params
        inner = callee.only_tape()
        if inner is None or form.length is None or form.backwards or _is_special(form):
            return False
        return all(i.op is not LOOP and _is_simple(i, inner, count) for i in inner.instructions)
    if op is GET:
        return tape.instructions[inputs[0]].op is LOOP
    if op is INPUT or op is CONSTANT:
        return True
    if not isinstance(instruction.type, ValueType) or instruction.type.size > LARGEST_VALUE:
        return False
    values = [t for t in types if isinstance(t, ValueType)]
    return (isinstance(op, Elementwise) or op in _MOVES) and is_batchable(instruction, values, count, [False] * len(types))


_MOVES = (ASSEMBLE, BROADCAST, INDEX, REPLACE, RESHAPE, TRANSPOSE)


class _Exchanged(RowMapper):
    """Gives the loops in an iteration an axis for all iterations."""

    def _loop(self, number: int, instruction: Instruction, batched: Sequence[bool]) -> None:
        callee, form = instruction.params
        body = callee.only_tape()
        # Carries that do not differ at first may do so later.
        has_rows = [k < form.carries or is_row for k, is_row in enumerate(batched)]
        rows = [k for k, has in enumerate(has_rows) if has]
        whole = self.loop_callee(map_rows(body, rows, self.count, self.loop_callee))
        operands = [self._operand(k, i, form, batched[k]) for k, i in enumerate(instruction.inputs)]
        type_ = TupleType(loop_items(whole, form))
        loop = self.emit(LOOP, tuple(operands), (whole, form), type_, instruction.site)
        for item in self._items_of(number):
            k = self.tape.instructions[item].params[0]
            made = self.emit(GET, (loop,), (k,), type_.items[k], instruction.site)
            self.per_row[item] = True
            self.number[item] = made if k < form.carries else self._swapped(made)

    def _operand(self, k: int, old: int, form: LoopForm, is_row: bool) -> int:
        number = self.number[old]
        if k < form.carries:
            return number if is_row else spread(self, number, self.count)
        return self._swapped(number) if is_row and k < form.carries + form.streams else number

    def _swapped(self, number: int) -> int:
        """The axes of steps and of iterations in the other order."""
        rank = len(self.instructions[number].type.shape)
        return self.make(TRANSPOSE, (number,), ((1, 0, *range(2, rank)),))
