"""Expensive sides of selections as calls, which run only if the side is taken.

Values needed only under one condition (see demand.py) are gathered until something else reads one of them. They then become one call with
two variants: zeros, and the side. Derivatives are taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..ir.instruction import CONSTANT, INPUT, INT64, Instruction, TupleType, ValueType
from ..ir.rewriter import BodyBuilder, Rewriter
from ..ir.tape import Tape
from ..ops import Elementwise, Op
from ..ops.arrays.indexing import ASSEMBLE, INDEX
from ..ops.arrays.regions import entries_of_vector
from ..ops.arrays.shape import RESHAPE
from ..ops.control.calls import CALL_VARIANT, GET
from ..ops.elementwise.arithmetic import CONVERT
from ..ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT
from .demand import ALWAYS, Demand, demand_of, may_fail
from .simplify.dead_code import dead_code

# In additions: cheaper parts of a side, as gathered, are always computed.
LEAST_GATHERED = 100.0


def dear_sides(tape: Tape, callee_of: Callable[[Tape], object]) -> Tape:
    """Return the tape with its dear sides as calls. Compile only: no derivative is taken of it."""
    demand = demand_of(tape)
    return tape if demand is None else _Gathering(tape, demand, callee_of).rewritten()


class _Side:
    """The values gathered for one call.

    Attributes:
        place: the place that needs the values.
        members: its values, in order.
    """

    __slots__ = ("members", "place")

    def __init__(self, place: int) -> None:
        self.place, self.members = place, list[int]()


class _Gathering:
    """A tape whose dear sides become calls."""

    def __init__(self, tape: Tape, demand: Demand, callee_of: Callable[[Tape], object]) -> None:
        self.tape, self.demand, self.callee_of = tape, demand, callee_of
        self.rewriter = Rewriter(tape)
        # By place, the side being gathered; by value, its side.
        self.open: dict[int, _Side] = {}
        self.sides: list[_Side | None] = [None] * len(tape.instructions)
        # Results of calls, arbitrary if the call did not run, and the values computed from them.
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
        # A tuple never crosses into a side: its items join the same side.
        for member in (number, *(self.readers[number] if isinstance(instruction.type, TupleType) else ())):
            side.members.append(member)
            self.sides[member] = side

    def _close_those_of(self, values: Iterable[int], but: int = ALWAYS) -> None:
        """Emit the pending calls that give these values."""
        for i in values:
            side = self.sides[i]
            if side is not None and side.place != but and self.open.get(side.place) is side:
                self._close(side)

    def _close(self, side: _Side) -> None:
        del self.open[side.place]
        condition = self._condition(side.place)
        costs, instructions = self.demand.costs, self.tape.instructions
        reads_results = any(i in self.called for n in side.members for i in instructions[n].inputs)
        is_small = sum(costs[n] for n in side.members) < LEAST_GATHERED and not any(may_fail(instructions[n].op) for n in side.members)
        is_harmless = not reads_results or all(_takes_anything(instructions[n]) for n in side.members)
        runs_always = condition is None or (is_small and is_harmless)
        if condition is not None and not runs_always:
            self._call(side, condition)
        else:
            for number in side.members:
                self.rewriter.number[number] = self.rewriter.copy(number)
        if reads_results or not runs_always:
            self.called.update(side.members)

    def _condition(self, place: int) -> int | None:
        """Return the condition of a place, or of the innermost known one around it; None if its values are always needed."""
        known = self.conditions.get(place)
        if known is not None or place == ALWAYS:
            return known
        (test, holds), parent = self.demand.tests[place], self.demand.parents[place]
        around = self._condition(parent)
        self._close_those_of((test,))
        number = self.rewriter.number[test]
        if number < 0:
            return around
        if self.rewriter.instructions[number].type.shape:
            number = self.rewriter.make(RESHAPE, (number,), ((),))
        if not holds:
            number = self.rewriter.make(LOGICAL_NOT, (number,))
        number = number if around is None else self.rewriter.make(LOGICAL_AND, (around, number))
        if parent == ALWAYS or parent in self.conditions:
            self.conditions[place] = number
        return number

    # Calls

    def _call(self, side: _Side, condition: int) -> None:
        rewriter, members = self.rewriter, set(side.members)
        given, read_again = self._results(side, members)
        body = BodyBuilder(replace(self.tape, name=f"a side of {self.tape.name}"))
        operands = self._arguments(side, members)
        body.take(operands)
        for number in side.members:
            for i in self.tape.instructions[number].inputs:
                self._copy_into(body, i)
            body.number[number] = body.copy(number)
        packs, arrays = self._packs(given)
        results = [body.number[n] for n in arrays]
        for pack in packs:
            parts = tuple([body.number[n] for n in pack])
            results.append(body.make(ASSEMBLE, parts, (entries_of_vector(len(pack)), (len(pack),), True)))
        made = body.body(results)
        chosen = rewriter.make(CONVERT, (condition,), (INT64,))
        called = rewriter.make(CALL_VARIANT, (chosen, *[rewriter.number[n] for n in operands]), (self.callee_of(made),))
        items = [rewriter.make(GET, (called,), (k,)) for k in range(len(results))]
        for number, item in zip(arrays, items):
            rewriter.number[number] = item
        for pack, item in zip(packs, items[len(arrays) :]):
            for number, region in zip(pack, entries_of_vector(len(pack))):
                rewriter.number[number] = rewriter.make(INDEX, (item,), (region,))
        for number in read_again:
            rewriter.number[number] = rewriter.copy(number)

    def _results(self, side: _Side, members: set[int]) -> tuple[list[int], list[int]]:
        """Return the values of a side that others read, and the views that are recreated from them."""
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
        """Group scalars of one dtype into arrays; return the groups, and the values returned singly."""
        instructions = self.tape.instructions
        packs: dict[np.dtype, list[int]] = {}
        for number in given:
            if not instructions[number].type.shape:
                packs.setdefault(instructions[number].type.dtype, []).append(number)
        found = [pack for pack in packs.values() if len(pack) > 1]
        packed = {number for pack in found for number in pack}
        return found, [number for number in given if number not in packed]

    def _arguments(self, side: _Side, members: set[int]) -> list[int]:
        """The operands of a side; a view is replaced by its array, unless that is a value of another side, which gives the view alone."""
        found: dict[int, None] = {}
        for number in side.members:
            for i in self.tape.instructions[number].inputs:
                while i not in members and self._is_copied(i):
                    if self.tape.instructions[i].op is CONSTANT:
                        break
                    (array,) = self.tape.instructions[i].inputs
                    if array not in members and self.rewriter.number[array] < 0:
                        break
                    i = array
                if i not in members and self.tape.instructions[i].op is not CONSTANT:
                    found[i] = None
        return list(found)

    def _is_copied(self, number: int) -> bool:
        """True for constants and views, which each call copies."""
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
    """True for views of an array."""
    return isinstance(instruction.op, Op) and instruction.op.is_view and instruction.op is not GET and len(instruction.inputs) == 1



def _takes_anything(instruction: Instruction) -> bool:
    """True if any operand values are safe: the results are no positions, counts or lengths."""
    op, type_ = instruction.op, instruction.type
    return isinstance(op, Elementwise) and not op.fails_on_integers and isinstance(type_, ValueType) and type_.dtype.kind in "fb"
