"""Loop interchange: a loop of independent iterations around loops becomes these loops, over all the iterations at once.

```
for k in range(100):               carry = starts                    # arrays of 100
    carry = starts[k]              for t in range(50):
    for t in range(50):        →       carry = f(carry, xs[:, t])
        carry = f(carry, xs[k, t])
```

A recurrence takes its steps one after the other, but the steps of independent outer iterations run together in SIMD lanes. Each value is
computed from the same operands by the same operations, so that it has the same bits.

If the iterations carry a sum, or another value that the inner loops do not need, that becomes a separate loop after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...ir.instruction import CONSTANT, INPUT, AnyType, Instruction, Param, ValueType
from ...ir.rewriter import Rewriter, part_of_tape
from ...ir.tape import Tape
from ...ops import Elementwise
from ...ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ...ops.arrays.shape import BROADCAST, RESHAPE, TRANSPOSE
from ...ops.control.calls import GET, LOOP, LoopForm
from ...passes.loops.loop_builder import Items, emit_loop, items_without, loop_like, with_loops
from ...passes.reach import reached_from
from ...passes.rolling.vectorize import is_batchable, spread
from ..map_rows import LoopCallee, RowMapper, map_rows

# Fewer iterations fill no lanes. If all take their steps together, the entries that they carry are limited: they are kept for the reverse
# pass, unless blocks of iterations run one after the other (transforms/lanes/rows_in_blocks.py).
FEWEST, MOST_ENTRIES = 4, 1 << 25

# Limit on the operations from constants to a stream that are reordered.
LONGEST_CHAIN = 16

# Larger values fill the lanes by themselves.
LARGEST_VALUE = 4


def exchange_loops(tape: Tape, loop_callee: LoopCallee) -> Tape:
    """Exchange loops where possible; return the tape itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of such loops.
    """
    tape = _carries_apart(tape, loop_callee)

    def emitted(made: Rewriter, loop: Instruction, found: tuple[Tape, int]) -> Items:
        body, count = found
        whole = map_rows(body, range(loop.params[1].streams), count, loop_callee, mapper=_Exchanged)
        return made.splice(whole, loop.inputs).__getitem__

    made = with_loops(tape, lambda loop, _: _body(loop), emitted)
    return tape if made is tape else _swap_early(made)


def _swap_early(tape: Tape) -> Tape:
    """Compute transposed streams of constants and scalars directly in the order in which loops read them."""
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
    """Return the elementwise computations that lead to a value from constants and scalars, in order; None if it has other sources."""
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
    """Return one iteration of a loop around loops, and their number; None if the loops are not to be exchanged."""
    callee, form = loop.params
    if form.carries or not _may_be_around(form):
        return None
    body = callee.only_tape()
    return None if body is None or not _may_exchange(body, form.length) else (body, form.length)


def _may_be_around(form: LoopForm) -> bool:
    return form.length is not None and form.length >= FEWEST and not _is_special(form)


def _may_exchange(body: Tape, count: int) -> bool:
    """True if an iteration without carries has loops, and all of it can be batched over iterations."""
    loops = [i.params for i in body.instructions if i.op is LOOP]
    if not loops or not all(_is_simple(i, body, count) for i in body.instructions):
        return False
    entries = sum(form.length * sum(type_.size for type_ in callee.out_types) for callee, form in loops)
    return count * entries <= MOST_ENTRIES


def _carries_apart(tape: Tape, loop_callee: LoopCallee) -> Tape:
    """Split loops around inner loops that do not depend on their carries: into a loop of all that does not, and the rest."""
    return with_loops(tape, lambda loop, _: _halves(loop, loop_callee), _both)


@dataclass(frozen=True)
class _Halves:
    """A loop in two parts.

    Attributes:
        free: the body independent of carries. Its outputs are streams of the rest.
        rest: the other body.
        streams: the streams of the loop that the rest reads, too.
        direct: results of the loop that the first part returns, by number.
    """

    free: Param
    rest: Param
    streams: tuple[int, ...]
    direct: dict[int, int]


def _both(made: Rewriter, loop: Instruction, halves: _Halves) -> Items:
    """Emit both loops."""
    form: LoopForm = loop.params[1]
    carries, streams, constants = form.parts(loop.inputs)
    first = emit_loop(made, halves.free, replace(form, carries=0, backwards=False), (*streams, *constants))
    read = [*(streams[k] for k in halves.streams), *first]
    last = items_without(made, loop_like(made, loop, halves.rest, carries, read, constants), halves.direct)
    return lambda k: first[halves.direct[k]] if k in halves.direct else last(k)


def _halves(loop: Instruction, loop_callee: LoopCallee) -> _Halves | None:
    """Split a loop; None if it has no carries, or its inner loops depend on them."""
    callee, form = loop.params
    body = callee.only_tape() if form.carries and _may_be_around(form) else None
    if body is None or not any(i.op is LOOP for i in body.instructions):
        return None
    after = reached_from(body, body.inputs[: form.carries])
    computed = [n for n, i in enumerate(body.instructions) if not after[n] and i.op is not INPUT and i.op is not CONSTANT]
    read = {i for n, instruction in enumerate(body.instructions) if after[n] for i in instruction.inputs}
    direct = [v for k, v in enumerate(body.outputs) if k >= form.carries and v in set(computed)]
    crossing = [n for n in computed if n in read or n in body.outputs]
    carries, entries, constants = form.parts(body.inputs)
    free = part_of_tape(body, body.inputs[form.carries :], crossing)
    if any(i.op is LOOP for n, i in enumerate(body.instructions) if after[n]) or not _may_exchange(free, form.length):
        return None
    kept = [v for k, v in enumerate(body.outputs) if k < form.carries or v not in direct]
    needed = {*read, *kept}
    streams = tuple(k for k, v in enumerate(entries) if v in needed)
    rest = part_of_tape(body, [*carries, *(entries[k] for k in streams), *crossing, *constants], kept)
    places = {k: crossing.index(v) for k, v in enumerate(body.outputs) if k >= form.carries and v in direct}
    return _Halves(loop_callee(free), loop_callee(rest), streams, places)


def _is_special(form: LoopForm) -> bool:
    return form.stops or form.variant_given or form.saves_carries or form.recomputes


def _is_simple(instruction: Instruction, tape: Tape, count: int) -> bool:
    """True if an instruction of an iteration gives the same bits when it is batched over iterations."""
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
    """Adds a batch axis for all iterations to inner loops."""

    def _loop(self, number: int, instruction: Instruction, batched: Sequence[bool]) -> None:
        callee, form = instruction.params
        body = callee.only_tape()
        # Carries that are equal at first may differ later.
        has_rows = [k < form.carries or is_row for k, is_row in enumerate(batched)]
        rows = [k for k, has in enumerate(has_rows) if has]
        whole = self.loop_callee(map_rows(body, rows, self.count, self.loop_callee))
        operands = [self._operand(k, i, form, batched[k]) for k, i in enumerate(instruction.inputs)]
        loop = self.make(LOOP, tuple(operands), (whole, form))
        for item in self._items_of(number):
            k = self.tape.instructions[item].params[0]
            made = self.make(GET, (loop,), (k,))
            self.per_row[item] = True
            self.number[item] = made if k < form.carries else self._swapped(made)

    def _operand(self, k: int, old: int, form: LoopForm, is_row: bool) -> int:
        number = self.number[old]
        if k < form.carries:
            return number if is_row else spread(self, number, self.count)
        return self._swapped(number) if is_row and k < form.carries + form.streams else number

    def _swapped(self, number: int) -> int:
        """Swap the axes of steps and iterations."""
        rank = len(self.instructions[number].type.shape)
        return self.make(TRANSPOSE, (number,), ((1, 0, *range(2, rank)),))
