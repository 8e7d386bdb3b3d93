"""Dear sides of selections as calls, which run only where their side is taken.

What is needed only where a condition holds, see passes/demand.py, is gathered until something else reads of it. Then there is one call of
all that was gathered, of two variants: nothing but zeros, and the side. Derivatives are taken before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...base.settings import settings
from ...ir.instruction import CONSTANT, INPUT, INT64, Instruction, Operand, TupleType, ValueType
from ...ir.interpreter import run
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Op
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.regions import entries_of_vector
from ...ops.arrays.shape import BROADCAST
from ...ops.control.calls import CALL_VARIANT, GET
from ...ops.elementwise.arithmetic import CONVERT
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT
from ...passes.demand import ALWAYS, Demand, demand_of, is_costly
from ...passes.simplify.dead_code import dead_code
from .callee import TapeCallee

# In additions: less of a side, gathered alone, is computed always.
LEAST_GATHERED = 100.0


class SideCallee(TapeCallee):
    """A side of a branch: variant 1 computes it. Variant 0 gives zeros, or anything: nothing that is chosen reads it."""

    is_side = True

    def only_tape(self) -> Tape | None:
        return None

    def variant_tape(self, number: int) -> Tape:
        return self.plain_tape(number, None)

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        return self._tape if number else _of_zeros(self._tape)

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        return run(self.plain_tape(number or 0, None), inputs), number or 0


def _of_zeros(tape: Tape) -> Tape:
    made = Rewriter(tape)
    inputs = [made.emit(INPUT, (), (k,), type_, None) for k, type_ in enumerate(tape.input_types)]
    outputs: list[int] = []
    for type_ in tape.output_types:
        zero = made.constant(0, ValueType((), type_.dtype))
        outputs.append(made.make(BROADCAST, (zero,), (type_.shape,)) if type_.shape else zero)
    return replace(tape, instructions=tuple(made.instructions), inputs=tuple(inputs), outputs=tuple(outputs))


def dear_sides(tape: Tape) -> Tape:
    """The tape with its dear sides as calls. It is to be compiled: no derivative is taken of it."""
    demand = None if dear_sides.__name__ in settings.left_out else demand_of(tape)
    return tape if demand is None else _Gathering(tape, demand).rewritten()


class _Side:
    """What is gathered for one call.

    Attributes:
        place: where it is needed.
        members: its values, in order.
    """

    __slots__ = ("members", "place")

    def __init__(self, place: int) -> None:
        self.place, self.members = place, list[int]()


class _Gathering:
    """A tape whose dear sides become calls."""

    def __init__(self, tape: Tape, demand: Demand) -> None:
        self.tape, self.demand = tape, demand
        self.rewriter = Rewriter(tape)
        # By place, the side that is being gathered; and by value, the side that it is of.
        self.open: dict[int, _Side] = {}
        self.sides: list[_Side | None] = [None] * len(tape.instructions)
        self.called = set[int]()
        self.conditions: dict[int, int] = {}
        self.readers: list[list[int]] = [[] for _ in tape.instructions]
        for number, instruction in enumerate(tape.instructions):
            for i in instruction.inputs:
                self.readers[i].append(number)
        for output in tape.outputs:
            self.readers[output].append(-1)

    def rewritten(self) -> Tape:
        for number, instruction in enumerate(self.tape.instructions):
            place = ALWAYS if instruction.op in (INPUT, CONSTANT) else self.demand.where(number)
            if place == ALWAYS:
                self._close_those_of(instruction.inputs)
                self.rewriter.number[number] = self.rewriter.copy(number)
            elif self.sides[number] is None:
                self._gather(number, instruction, place)
        return dead_code(self.rewriter.finish())

    def _gather(self, number: int, instruction: Instruction, place: int) -> None:
        self._close_those_of(instruction.inputs, but=place)
        side = self.open.setdefault(place, _Side(place))
        # No side is handed a tuple: its items are of the same one.
        for member in (number, *(self.readers[number] if isinstance(instruction.type, TupleType) else ())):
            side.members.append(member)
            self.sides[member] = side

    def _close_those_of(self, values: Iterable[int], but: int = ALWAYS) -> None:
        """Make the calls that give some values, if they are not made yet."""
        for i in values:
            side = self.sides[i]
            if side is not None and side.place != but and self.open.get(side.place) is side:
                self._close(side)

    def _close(self, side: _Side) -> None:
        del self.open[side.place]
        condition = self._condition(side.place)
        if condition is not None and (self._is_worth_a_call(side) or self._reads_results(side)):
            self._call(side, condition)
            return
        for number in side.members:
            self.rewriter.number[number] = self.rewriter.copy(number)

    def _is_worth_a_call(self, side: _Side) -> bool:
        costs = self.demand.costs
        return sum(costs[n] for n in side.members) >= LEAST_GATHERED or any(is_costly(self.tape.instructions[n].op) for n in side.members)

    def _reads_results(self, side: _Side) -> bool:
        """True for what reads results of calls: it must not run where these did not."""
        return any(i in self.called for n in side.members for i in self.tape.instructions[n].inputs)

    def _condition(self, place: int) -> int | None:
        """The number of the condition of a place, or of the innermost one around it that is known by now; None if all are needed always."""
        known = self.conditions.get(place)
        if known is not None or place == ALWAYS:
            return known
        (test, holds), parent = self.demand.tests[place], self.demand.parents[place]
        around = self._condition(parent)
        self._close_those_of((test,))
        number = self.rewriter.number[test]
        if number < 0:
            return around
        if not holds:
            number = self.rewriter.make(LOGICAL_NOT, (number,))
        number = number if around is None else self.rewriter.make(LOGICAL_AND, (around, number))
        if parent == ALWAYS or parent in self.conditions:
            self.conditions[place] = number
        return number

    # Calls

    def _call(self, side: _Side, condition: int) -> None:
        rewriter, members = self.rewriter, set(side.members)
        self.called |= members
        given, read_again = self._results(side, members)
        body = Rewriter(self.tape)
        operands = self._arguments(side, members)
        for k, number in enumerate(operands):
            body.number[number] = body.emit(INPUT, (), (k,), self.tape.instructions[number].type, None)
        for number in side.members:
            for i in self.tape.instructions[number].inputs:
                self._copy_into(body, i)
            body.number[number] = body.copy(number)
        packs, arrays = self._packs(given)
        results = [body.number[n] for n in arrays]
        for pack in packs:
            type_ = ValueType((len(pack),), self.tape.instructions[pack[0]].type.dtype)
            parts = tuple([body.number[n] for n in pack])
            results.append(body.emit(ASSEMBLE, parts, (entries_of_vector(len(pack)), type_.shape, True), type_, None))
        inputs = tuple(range(len(operands)))
        active = tuple(k for k in inputs if body.instructions[k].type.is_float)
        made = Tape(tuple(body.instructions), inputs, tuple(results), f"a side of {self.tape.name}", active, True)
        callee = SideCallee(made.name, made)
        chosen = rewriter.make(CONVERT, (condition,), (INT64,))
        called = rewriter.make(CALL_VARIANT, (chosen, *[rewriter.number[n] for n in operands]), (callee,))
        items = [rewriter.make(GET, (called,), (k,)) for k in range(len(results))]
        for number, item in zip(arrays, items):
            rewriter.number[number] = item
        for pack, item in zip(packs, items[len(arrays) :]):
            for number, region in zip(pack, entries_of_vector(len(pack))):
                rewriter.number[number] = rewriter.make(INDEX, (item,), (region,))
        for number in read_again:
            rewriter.number[number] = rewriter.copy(number)

    def _results(self, side: _Side, members: set[int]) -> tuple[list[int], list[int]]:
        """The values of a side that others read, and those that are other ways to read these."""
        instructions = self.tape.instructions
        read = {n for n in side.members if any(reader not in members for reader in self.readers[n])}
        given, read_again = list[int](), list[int]()
        for number in reversed(side.members):
            if number in read:
                inputs = instructions[number].inputs
                is_view = _is_view(instructions[number]) and inputs[0] in members
                if is_view and (inputs[0] in read or 2 * instructions[number].type.size >= instructions[inputs[0]].type.size):
                    read.add(inputs[0])
                    read_again.append(number)
                else:
                    given.append(number)
        return given[::-1], read_again[::-1]

    def _packs(self, given: Sequence[int]) -> tuple[list[list[int]], list[int]]:
        """Numbers of one dtype that are handed over as one array, and what is handed over by itself."""
        instructions = self.tape.instructions
        packs: dict[np.dtype, list[int]] = {}
        for number in given:
            if not instructions[number].type.shape:
                packs.setdefault(instructions[number].type.dtype, []).append(number)
        found = [pack for pack in packs.values() if len(pack) > 1]
        packed = {number for pack in found for number in pack}
        return found, [number for number in given if number not in packed]

    def _arguments(self, side: _Side, members: set[int]) -> list[int]:
        """What a side reads of others: the arrays in place of what only reads them in another way."""
        found: dict[int, None] = {}
        for number in side.members:
            for i in self.tape.instructions[number].inputs:
                while i not in members and self._is_copied(i):
                    if self.tape.instructions[i].op is CONSTANT:
                        break
                    (i,) = self.tape.instructions[i].inputs
                if i not in members and self.tape.instructions[i].op is not CONSTANT:
                    found[i] = None
        return list(found)

    def _is_copied(self, number: int) -> bool:
        """True for what each call has of its own."""
        instruction = self.tape.instructions[number]
        return instruction.op is CONSTANT or _is_view(instruction)

    def _copy_into(self, body: Rewriter, number: int) -> None:
        path = []
        while body.number[number] < 0:
            path.append(number)
            if self.tape.instructions[number].op is CONSTANT:
                break
            (number,) = self.tape.instructions[number].inputs
        for n in reversed(path):
            body.number[n] = body.copy(n)


def _is_view(instruction: Instruction) -> bool:
    """True for another way to read an array."""
    return isinstance(instruction.op, Op) and instruction.op.is_view and instruction.op is not GET and len(instruction.inputs) == 1

