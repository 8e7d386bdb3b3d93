"""Values needed only under a condition, and their costs: the dear sides of selections by one bool.

Backward dataflow from the outputs: the operands of a selection, `and` or `or` other than its test are needed for one outcome of the test.
Values cheaper than a call are needed wherever the enclosing selection is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.settings import settings
from ..ir.instruction import BOOL_SCALAR, CONSTANT, INPUT, Instruction, TupleType, ValueType
from ..ir.tape import Tape
from ..ops import Elementwise, Op
from ..ops.control.calls import GET, LOOP, TupleOp
from ..ops.elementwise.comparison import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, SELECT
from .loops.save_or_recompute import additions_of

# In additions: the least cost of a side for a call to pay, 0.1 us; and the number of array elements computed at once.
DEAR, LANES = 400.0, 4.0
# Deeper nested tests are not distinguished.
DEEPEST = 100

ALWAYS = 0


class Demand:
    """The conditions under which the values of a tape are needed.

    Attributes:
        parents, tests: by place, the enclosing place, and the test value with its outcome that leads from there; none for ALWAYS.
        places: by value, the place that needs it; -1 if nothing reads it.
        costs: by value, its cost in additions; DEAR if it may fail.
        dear: by place, the innermost enclosing place, or itself, that costs more than a call. Cheap values are needed there.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.parents, self.tests, self._depths = [ALWAYS], [(-1, True)], [0]
        self._within: dict[tuple[int, int, bool], int] = {}
        instructions = tape.instructions
        self.places = [-1] * len(instructions)
        for output in tape.outputs:
            self.places[output] = ALWAYS
        for number in range(len(instructions) - 1, -1, -1):
            self._read(number, instructions[number])
        for number, instruction in enumerate(instructions):
            if instruction.op is GET:
                self.places[number] = self.places[instruction.inputs[0]]
        self.costs = [_cost(tape, number, i) if self.places[number] > 0 else 0.0 for number, i in enumerate(instructions)]
        self.dear = self._dear()

    def _read(self, number: int, instruction: Instruction) -> None:
        op, inputs, _, type_, _ = instruction
        place = self.places[number]
        if place < 0 or not isinstance(op, Op) or _has_length_of_data(self.tape, instruction):
            # Guards and unread values must stay as well.
            place = self.places[number] = ALWAYS
        if type_ == BOOL_SCALAR and op in (LOGICAL_AND, LOGICAL_OR):
            self._need(inputs[0], place)
            self._need(inputs[1], self._inside(place, inputs[0], op is LOGICAL_AND))
        elif op is SELECT and self.tape.instructions[inputs[0]].type.size == 1:
            self._need(inputs[0], place)
            self._need(inputs[1], self._inside(place, inputs[0], True))
            self._need(inputs[2], self._inside(place, inputs[0], False))
        else:
            for i in inputs:
                self._need(i, place)

    def _need(self, number: int, place: int) -> None:
        known = self.places[number]
        self.places[number] = place if known < 0 else self._around(known, place)

    def _around(self, a: int, b: int) -> int:
        """The innermost place around both."""
        while a != b:
            # A place has a greater number than its parent.
            a, b = (self.parents[a], b) if a > b else (a, self.parents[b])
        return a

    def _inside(self, place: int, test: int, holds: bool) -> int:
        """Return the place inside another one that a test's outcome leads to; nested places for a conjunction."""
        # Tests still to visit, and conjunctions whose place is cached under the first place.
        first, left, whole = place, [(test, holds)], list[tuple[int, bool]]()
        around: set[int] | None = None
        while left:
            test, holds = left.pop()
            op, inputs = self.tape.instructions[test][:2]
            known = self._within.get((place, test, holds))
            if known is not None:
                place, around = known, None
            elif op is LOGICAL_NOT:
                left.append((inputs[0], not holds))
            elif op is (LOGICAL_AND if holds else LOGICAL_OR):
                if place == first:
                    whole.append((test, holds))
                left += [(inputs[1], holds), (inputs[0], holds)]
            else:
                around = self._tests_around(place) if around is None else around
                is_new = test not in around and self._depths[place] < DEEPEST and op is not CONSTANT
                self._within[place, test, holds] = place = self._made(place, test, holds) if is_new else place
                around.add(test)
            while whole and len(left) < len(whole):
                self._within[(first, *whole.pop())] = place
        return place

    def _tests_around(self, place: int) -> set[int]:
        found = set[int]()
        while place != ALWAYS:
            found.add(self.tests[place][0])
            place = self.parents[place]
        return found

    def _made(self, place: int, test: int, holds: bool) -> int:
        self.parents.append(place)
        self.tests.append((test, holds))
        self._depths.append(self._depths[place] + 1)
        return len(self.parents) - 1

    def _dear(self) -> list[int]:
        total = [0.0] * len(self.parents)
        for place, cost in zip(self.places, self.costs):
            total[place] += cost
        is_dear = [False] * len(total)
        for place in range(len(total) - 1, 0, -1):
            is_dear[place] = total[place] >= DEAR
            if not is_dear[place]:
                total[self.parents[place]] += total[place]
        found = [ALWAYS]
        for place in range(1, len(total)):
            found.append(place if is_dear[place] else found[self.parents[place]])
        return found

    def where(self, number: int) -> int:
        """Return the dear place that needs a value."""
        return self.dear[self.places[number]]

    @property
    def has_any(self) -> bool:
        """True if there are dear sides."""
        return any(self.dear)

    def tests_of_dear(self) -> set[int]:
        """The tests that lead to dear places."""
        found, pending = set[int](), set(self.dear)
        while pending:
            place = pending.pop()
            if place != ALWAYS:
                # Other tests have one axis, which would broadcast the scalars they select.
                if self.tape.instructions[self.tests[place][0]].type == BOOL_SCALAR:
                    found.add(self.tests[place][0])
                pending.add(self.parents[place])
        return found


def demand_of(tape: Tape) -> Demand | None:
    """Return when values are needed; None for tapes without dear sides."""
    if SELECT not in tape.ops or "dear_sides" in settings.left_out:
        return None
    found = Demand(tape)
    return found if found.has_any else None


def may_fail(op: object) -> bool:
    """True if the op may fail, or not terminate, on values that the program has not computed."""
    return isinstance(op, TupleOp) or (isinstance(op, Op) and (op.raises or op.fails_on_integers))


def _cost(tape: Tape, number: int, instruction: Instruction) -> float:
    op = instruction.op
    if op in (INPUT, CONSTANT, GET):
        return 0.0
    if may_fail(op) and op is not LOOP:
        return DEAR
    cost = additions_of(tape, number, True)
    return cost / LANES if isinstance(op, Elementwise) and instruction.type.shape else cost


def _has_length_of_data(tape: Tape, instruction: Instruction) -> bool:
    """True for loops of run-time length and for readers of their results: no call takes these arrays."""
    types = [tape.instructions[i].type for i in instruction.inputs]
    items: Sequence[object] = instruction.type.items if isinstance(instruction.type, TupleType) else (instruction.type,)
    return not all(isinstance(t, (ValueType, TupleType)) for t in (*types, *items))
