"""Builds one LOOP from the slots of a repeated body that depend on their own earlier iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from ...ir.instruction import CONSTANT, Instruction, Param, ValueType
from ...ir.rewriter import BodyBuilder
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, LoopForm
from .array_builder import ArrayBuilder
from .guards_of_loops import in_range
from .repetition import Repetition

# Constants up to this size are literals of the body.
LARGEST_LITERAL = 64

# Makes the callee of a LOOP from the tape of its body.
MakeCallee: TypeAlias = Callable[[Tape], Param]

# A carry: the slot that computes it, and its old values for the first iterations, one for each iteration that it lags.
Register = tuple[int, tuple[int, ...]]

# The kind of an operand's source, and its key: see LoopBody._sources.
Source: TypeAlias = tuple[str, int | Register]


class SupportsOperands(Protocol):
    """Gives the operands of slots outside of the loop, and True if they have a leading axis of iterations."""

    @property
    def builder(self) -> ArrayBuilder: ...

    @property
    def found(self) -> Repetition: ...

    def is_fixed(self, column: int) -> bool: ...

    def operand(self, column: int) -> tuple[int, bool]: ...


class LoopBody:
    """The body of a LOOP under construction.

    Attributes:
        registers: the carries, each with its initial old value.
        results: the new number of the stacked output of each slot or register.
    """

    def __init__(self, rolling: SupportsOperands, slots: Sequence[int], is_guarded: bool) -> None:
        self.is_guarded = is_guarded
        self.rolling, self.slots = rolling, slots
        self.builder, self.found = rolling.builder, rolling.found
        numbers = self.builder.sequence.members[self.found.start : self.found.start + self.found.period].tolist()
        self.instructions: dict[int, Instruction] = {k: self.builder.tape.instructions[numbers[k]] for k in slots}
        self.registers: dict[Register, int] = {}
        self.results: dict[int | Register, int] = {}
        self._streams: dict[int, None] = {}
        self._constants: dict[int, None] = {}
        # By column: ("slot", k), ("carry", register), ("stream", number), ("constant", number) or ("literal", old value).
        self._sources: dict[int, Source] = {}
        for k in slots:
            for c in range(self.found.first[k], self.found.first[k + 1]):
                self._sources[c] = self._source(c)

    def register(self, column: int) -> Register:
        """The register that a column reads from earlier iterations."""
        distance = int(self.found.distances[column])
        return int(self.found.producers[column]), tuple(self.found.values[:distance, column].tolist())

    def _source(self, column: int) -> Source:
        producer, distance = int(self.found.producers[column]), int(self.found.distances[column])
        if producer in self.instructions:
            if not distance:
                return "slot", producer
            _, initial = self.register(column)
            for lag in range(1, distance + 1):
                self.registers.setdefault((producer, initial[distance - lag :]), initial[distance - lag])
            return "carry", (producer, initial)
        if self.rolling.is_fixed(column) and producer < 0:
            old = int(self.found.values[0, column])
            first = self.builder.tape.instructions[old]
            if first.op is CONSTANT and first.type.size <= LARGEST_LITERAL:
                return "literal", old
        number, is_array = self.rolling.operand(column)
        (self._streams if is_array else self._constants)[number] = None
        return ("stream" if is_array else "constant"), number

    def emit(self, make_callee: MakeCallee, wanted: Sequence[int | Register]) -> dict[Register, int]:
        """Emit the loop; return the last value of every register. `wanted`: the slots and registers to stack over iterations."""
        builder, count = self.builder, self.found.count
        tape = self._tape(wanted)
        callee = make_callee(tape)
        form = LoopForm(len(self.registers), len(self._streams), len(self._constants), count)
        builder.site = self.instructions[self.slots[0]].site
        initial = [builder.value(old) for old in self.registers.values()]
        loop = builder.make(LOOP, (*initial, *self._streams, *self._constants), (callee, form))
        items = [builder.make(GET, (loop,), (k,)) for k in range(len(tape.outputs))]
        self.results = dict(zip(wanted, items[len(initial) :]))
        return dict(zip(self.registers, items))

    def _tape(self, wanted: Sequence[int | Register]) -> Tape:
        """Return the tape of one iteration: registers, streams and constants to the registers' next values and the wanted ones."""
        made = BodyBuilder(self.builder.tape)
        places = {key: made.add_input(type_) for key, type_ in self._inputs()}
        for k in self.slots:
            op, _, params, type_, site = self.instructions[k]
            sources = [self._sources[c] for c in range(self.found.first[k], self.found.first[k + 1])]
            for source in sources:
                if source[0] == "literal" and isinstance(source[1], int) and source not in places:
                    places[source] = made.copy(source[1])
            operands = tuple([places[s] for s in sources])
            if self.is_guarded:
                operands = in_range(made, self.builder.tape, self.instructions[k], operands)
            places["slot", k] = made.emit(op, operands, params, type_, site)
        outputs = [
            places["slot", slot] if len(initial) == 1 else places["carry", (slot, initial[1:])]
            for slot, initial in self.registers
        ]
        outputs += [places["slot" if isinstance(each, int) else "carry", each] for each in wanted]
        return made.body(outputs)

    def _inputs(self) -> Iterator[tuple[Source, ValueType]]:
        for register in self.registers:
            yield ("carry", register), self.instructions[register[0]].type
        for number in self._streams:
            type_ = self.builder.instructions[number].type
            yield ("stream", number), ValueType(type_.shape[1:], type_.dtype)
        for number in self._constants:
            yield ("constant", number), self.builder.instructions[number].type
