"""Turns the straight-line code of Python loops back into loops: array operations where iterations are independent, else LOOPs.

repetition.py finds a repeated body, classify_slots.py classifies its slots, and this module emits the result. One guard after the loop
checks those of its iterations (guards_of_loops.py). Two tapes that are equal up to a guard must compute its value identically:
how a body computes a value depends on nothing after the next guard, or gives the same bits.
"""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Instruction, ValueType, some_of
from ...ir.tape import Tape
from ...ops.arrays.reductions import CUMSUM, SUM
from ...ops.arrays.shape import BROADCAST
from ...ops.elementwise.arithmetic import ADD, SUBTRACT
from .array_builder import ArrayBuilder
from .build_loop import LoopBody, MakeCallee, Register
from .classify_slots import BodyPlan, RunningSum, plan_body
from .guards_of_loops import GuardColumn, in_range, make_guard
from .repetition import Finder, Repetition
from .tape_arrays import TapeArrays
from .vectorize import Batch, spread

# Nested loops are found by running the pass again.
DEEPEST_NEST = 4

# Shorter tapes have nothing to save.
SHORTEST_TAPE = 64


def reroll(tape: Tape, make_callee: MakeCallee, is_whole: bool = False) -> Tape:
    """Return the tape with loops instead of repeated instructions; itself if there are none.

    Args:
        is_whole: keep all of each body in its loop, to save memory, instead of computing parts for all iterations at once.
    """
    for _ in range(DEEPEST_NEST):
        rolled = _rolled(tape, make_callee, is_whole)
        if rolled is tape:
            break
        tape = rolled
    return tape


def _rolled(tape: Tape, make_callee: MakeCallee, is_whole: bool) -> Tape:
    if len(tape.instructions) < SHORTEST_TAPE:
        return tape
    sequence = TapeArrays(tape)
    finder = Finder(sequence)
    found = finder.next(0)
    if found is None:
        return tape
    builder = ArrayBuilder(sequence)
    place = 0
    while found is not None:
        builder.copy_members(place, found.start)
        _Rolling(builder, found, plan_body(sequence, found, is_whole)).run(make_callee)
        place = found.end
        found = finder.next(place)
    builder.copy_members(place, len(sequence))
    return builder.rebuilt()


class _Rolling:
    """A repetition that is being rolled.

    Attributes:
        fixed: new numbers of loop-invariant slots.
        arrays: new numbers of arrays of all iterations, by slot.
    """

    def __init__(self, builder: ArrayBuilder, found: Repetition, plan: BodyPlan) -> None:
        self.builder, self.found = builder, found
        self.sequence = builder.sequence
        self.plan = plan
        numbers = self.sequence.members[found.start : found.start + found.period].tolist()
        self.instructions: list[Instruction] = some_of(builder.tape.instructions, numbers)
        self.fixed: dict[int, int] = {}
        self.arrays: dict[int, int] = {}
        self.loop: LoopBody | None = None

    def run(self, make_callee: MakeCallee) -> None:
        for slot in range(self.found.period):
            if self.plan.fixed[slot]:
                self._make_fixed(slot)
        for step in self.plan.before:
            self._make(step)
        if self.plan.loop:
            self._make_loop(make_callee)
        for step in self.plan.after:
            self._make(step)
        self._make_guards()
        self._settle()

    # Operands

    def columns(self, slot: int) -> range:
        return range(int(self.found.first[slot]), int(self.found.first[slot + 1]))

    def old(self, slot: int) -> np.ndarray:
        """Return the old values of a slot, by iteration."""
        return self.sequence.members[self.found.start + slot : self.found.end : self.found.period]

    def is_fixed(self, column: int) -> bool:
        producer = int(self.found.producers[column])
        if producer >= 0:
            return self.plan.fixed[producer]
        values = self.found.values[:, column]
        return bool((values == values[0]).all())

    def operand(self, column: int) -> tuple[int, bool]:
        """Return the value of a column, and True if it is an array of all iterations."""
        producer, distance = int(self.found.producers[column]), int(self.found.distances[column])
        values = self.found.values[:, column]
        if producer < 0:
            return (
                (self.builder.value(values[0]), False)
                if self.is_fixed(column)
                else (self.builder.stacked(values, column in self.found.growing), True)
            )
        if producer in self.fixed:
            return self.fixed[producer], False
        if distance and self.loop is not None:
            known = self.loop.results.get(self.loop.register(column))
            if known is not None:
                return known, True
        array = self.arrays[producer]
        if distance:
            initial = [self.builder.value(old) for old in values[:distance].tolist()]
            array = self.builder.shifted(initial, array)
        return array, True

    # Slots

    def _make_fixed(self, slot: int) -> None:
        op, _, params, _, site = self.instructions[slot]
        self.builder.site = site
        operands = tuple([self.operand(c)[0] for c in self.columns(slot)])
        if self.plan.guards:
            operands = in_range(self.builder, self.builder.tape, self.instructions[slot], operands)
        self.fixed[slot] = self.builder.make(op, operands, params)

    def _make(self, step: int | RunningSum) -> None:
        if isinstance(step, RunningSum):
            self._make_sum(step)
            return
        instruction = self.instructions[step]
        self.builder.site = instruction.site
        operands = [self.operand(c) for c in self.columns(step)]
        self.builder.site = instruction.site
        numbers = tuple([n for n, _ in operands])
        if self.plan.guards:
            numbers = in_range(self.builder, self.builder.tape, instruction, numbers)
        if any(batched for _, batched in operands):
            batch = Batch(self.builder, self.found.count, numbers, [b for _, b in operands])
            self.arrays[step] = batch.emit(instruction)
        else:
            once = self.builder.make(instruction.op, numbers, instruction.params)
            self.arrays[step] = spread(self.builder, once, self.found.count)

    def _make_sum(self, step: RunningSum) -> None:
        builder, count = self.builder, self.found.count
        total = start = builder.value(self.found.values[0, step.start])
        parts: list[tuple[int, int]] = []
        for slot, (column, sign) in zip(step.slots, step.terms):
            number, batched = self.operand(column)
            builder.site = self.instructions[slot].site
            parts.append((number if batched else spread(builder, number, count), sign))
            added = builder.make(SUM, (parts[-1][0],), ((0,),))
            total = builder.make(ADD if sign > 0 else SUBTRACT, (total, added))
        last = self.old(step.slots[-1])
        builder.number[int(last[-1])] = total
        if bool((self.sequence.last_use[last[:-1]] >= self.found.end).any()):
            builder.settle(last[:-1], self._partial_sums(start, parts, self.instructions[step.slots[-1]].type))

    def _partial_sums(self, start: int, parts: list[tuple[int, int]], type_: ValueType) -> int:
        """Return the running sum at every iteration, for later readers."""
        builder, rank = self.builder, len(type_.shape)
        terms = builder.constant(np.zeros((), type_.dtype), ValueType((), type_.dtype))
        for number, sign in parts:
            aligned = Batch(builder, self.found.count, [number], [True]).with_rank(0, rank)
            terms = builder.make(ADD if sign > 0 else SUBTRACT, (terms, aligned))
        wide = builder.instructions[terms].type.shape
        if wide != (self.found.count, *type_.shape):
            terms = builder.make(BROADCAST, (terms,), ((self.found.count, *type_.shape),))
        return builder.make(ADD, (start, builder.make(CUMSUM, (terms,), (0, False))))

    def _make_loop(self, make_callee: MakeCallee) -> None:
        plan, sequence, end = self.plan, self.sequence, self.found.end
        body = LoopBody(self, plan.loop, bool(plan.guards))
        wanted: dict[int | Register, None] = {}
        inside = set(plan.loop)
        for step in (*plan.after, *plan.guards):
            slots = step.slots if isinstance(step, RunningSum) else (step,)
            for column in [c for slot in slots for c in self.columns(slot)]:
                producer = int(self.found.producers[column])
                if producer in inside:
                    register = body.register(column)
                    wanted[register if register in body.registers else producer] = None
        lags: dict[int, int] = {}
        for producer, initial in body.registers:
            lags[producer] = max(lags.get(producer, 0), len(initial))
        for slot in plan.loop:
            old = self.old(slot)
            if (sequence.last_use[old[: old.size - lags.get(slot, 0)]] >= end).any():
                wanted[slot] = None
        last = body.emit(make_callee, list(wanted))
        self.loop = body
        for each, number in body.results.items():
            if isinstance(each, int):
                self.arrays[each] = number
        for (slot, initial), number in last.items():
            self.builder.number[int(self.old(slot)[-len(initial)])] = number

    def _make_guards(self) -> None:
        """Emit one guard for all iterations, after them."""
        if not self.plan.guards:
            return
        columns = []
        for slot in self.plan.guards:
            (column,) = self.columns(slot)
            self.builder.site = self.instructions[slot].site
            number, batched = self.operand(column)
            guards = some_of(self.builder.tape.instructions, self.old(slot).tolist())
            columns.append(GuardColumn(number if batched else spread(self.builder, number, self.found.count), guards))
        make_guard(self.builder, columns)

    def _settle(self) -> None:
        """Record where later instructions find the values."""
        sequence, found = self.sequence, self.found
        rolled = sequence.members[found.start : found.end]
        sequence.position[rolled], sequence.known[rolled] = -1, found.end - 1
        for slot, number in self.fixed.items():
            old = self.old(slot)
            sequence.same[old] = old[0]
            self.builder.number[int(old[0])] = number
        for slot, array in self.arrays.items():
            self.builder.settle(self.old(slot), array)
