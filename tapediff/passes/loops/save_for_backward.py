"""Lets the reverse pass of a loop read values that the loop has computed, instead of computing them again.

The body of the reverse loop begins with that of the loop, on the saved carries. Values it needs of that, if costlier to compute than to
store and load, become one more result of the loop and one more stream of the reverse loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.source_location import Site
from ...ir.instruction import INPUT, Params, TupleType, ValueType, item_types
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX, Region, Regions
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm, loop_items
from ..simplify.dead_code import dead_code
from .save_or_recompute import FEWEST_ITERATIONS, needed_values, worth_saving
from .value_numbering import SameValues, Sources, same_values


@dataclass(frozen=True)
class Plan:
    """The values that a loop saves for another one, its reader.

    Attributes:
        loop: the loop's number on the tape.
        body: of the reader.
        packs: scalars of that body that the loop computes as well; those of one dtype are packed into one array.
        arrays: the other such values of that body.
        same: maps values of the reader's body to those of the loop's body.
        streams: the streams that the reader still reads.
        callee: the new callee of the reader.
    """

    loop: int
    body: Tape
    packs: tuple[tuple[int, ...], ...]
    arrays: tuple[int, ...]
    same: SameValues
    streams: tuple[int, ...]
    callee: Callee

    @property
    def residuals(self) -> tuple[int, ...]:
        """Return all saved values."""
        return (*(v for pack in self.packs for v in pack), *self.arrays)

    @property
    def types(self) -> tuple[ValueType, ...]:
        """Return the types of the further results."""
        packed = [ValueType((len(pack),), self.body.instructions[pack[0]].type.dtype) for pack in self.packs]
        return (*packed, *(self.body.instructions[v].type for v in self.arrays))


# A loop, its reverse loop, the reverse loop of that one, and so on: as many as the order of the derivative.
MOST_ROUNDS = 4


def save_for_backward(tape: Tape) -> Tape:
    for _ in range(MOST_ROUNDS):
        plans: dict[int, Plan] = {}
        is_all = True
        for number, instruction in enumerate(tape.instructions):
            plan = _plan(tape, number) if instruction.op is LOOP else None
            if plan is None:
                continue
            if plan.loop in plans:
                # The source gets another body now, with other value numbers.
                is_all = False
            elif all(_agree(plan, other) for other in plans.values() if other.loop == plan.loop):
                plans[number] = plan
        if plans:
            tape = _Saving(tape, plans).rewritten()
        if is_all:
            break
    return tape


# Choosing values to save


def _plan(tape: Tape, reader: int) -> Plan | None:
    """The values that a loop recomputes although an earlier one has computed them."""
    callee, form = tape.instructions[reader].params
    if not _is_suitable(callee, form):
        return None
    loop = _read_by(tape, reader)
    if loop is None:
        return None
    source, source_form = tape.instructions[loop].params
    if not _is_suitable(source, source_form) or source_form.length != form.length:
        return None
    sources = _sources(tape, loop, reader)
    make = lambda: _made(source, source_form, callee, form, sources)  # noqa: E731 -- the next line is its only use
    made = callee.once(("residuals", source, source_form, form, sources), make)
    return None if made is None else replace(made, loop=loop)


def _agree(plan: Plan, other: Plan) -> bool:
    """True if a loop's body can serve two readers: a loop in it has one form."""
    ours, theirs = plan.same.loops, other.same.loops
    return all(ours[number] == theirs[number] for number in ours.keys() & theirs.keys())


def _is_suitable(callee: Callee, form: LoopForm) -> bool:
    return (
        (form.length is None or form.length >= FEWEST_ITERATIONS)
        and not form.recomputes
        and callee.is_compiled
        and callee.only_tape() is not None
    )


def _read_by(tape: Tape, reader: int) -> int | None:
    """Return the loop whose saved carries another one reads as streams."""
    form: LoopForm = tape.instructions[reader].params[1]
    first = form.leading + form.carries
    for operand in tape.instructions[reader].inputs[first : first + form.streams]:
        item = tape.instructions[operand]
        if item.op is GET and tape.instructions[item.inputs[0]].op is LOOP:
            source, source_form = tape.instructions[item.inputs[0]].params
            if item.params[0] >= _first_saved(source, source_form):
                return item.inputs[0]
    return None


def _first_saved(callee: Callee, form: LoopForm) -> int:
    """Return the number of the first saved carry among a loop's items."""
    items = len(loop_items(callee, form))
    return items - form.carries if form.saves_carries else items


def _results(callee: Callee, form: LoopForm) -> int:
    """Return the number of results of an iteration without the final `goes on` of a while loop."""
    return len(callee.out_types) - int(form.stops)


def _sources(tape: Tape, loop: int, reader: int) -> Sources:
    """Map each input of the reader's body to the equal value of the loop's body, as ("input" or "output", position)."""
    callee, form = tape.instructions[loop].params
    reading: LoopForm = tape.instructions[reader].params[1]
    operands = tape.instructions[loop].inputs[form.leading :]
    # A value used for several streams matches each once, in order: both bodies use the same order.
    given: dict[int, list[int]] = {}
    for k, operand in reversed(list(enumerate(operands))[form.carries :]):
        given.setdefault(operand, []).append(k)
    constant = form.carries + form.streams
    sources: list[tuple[str, int] | None] = []
    for k, operand in enumerate(tape.instructions[reader].inputs[reading.leading :]):
        item = tape.instructions[operand]
        is_stream = reading.carries <= k < reading.carries + reading.streams
        known = given.get(operand)
        found = None
        if k < reading.carries:
            pass
        elif known is not None and (known[-1] < constant) == is_stream:
            found = ("input", known.pop() if len(known) > 1 else known[-1])
        elif is_stream and item.op is GET and item.inputs[0] == loop:
            first, place = _first_saved(callee, form), item.params[0]
            if place >= first:
                found = ("input", place - first)
            elif form.carries <= place < _results(callee, form):
                found = ("output", place)
        sources.append(found)
    return tuple(sources)


def _made(source: Callee, source_form: LoopForm, callee: Callee, form: LoopForm, sources: Sources) -> Plan | None:
    body, loop_body = callee.variant_tape(0), source.variant_tape(0)
    same = same_values(body, loop_body, sources)
    residuals = worth_saving(body, same, loop_body, source_form)
    if not residuals and set(body.inputs[form.carries : form.carries + form.streams]) <= needed_values(body, ()):
        return None
    packs: dict[np.dtype[np.generic], list[int]] = {}
    for v in residuals:
        if body.instructions[v].type.shape == ():
            packs.setdefault(body.instructions[v].type.dtype, []).append(v)
    arrays = tuple(v for v in residuals if body.instructions[v].type.shape != ())
    plan = Plan(-1, body, tuple(map(tuple, packs.values())), arrays, same, (), callee)
    tape, streams = _reading(plan, form)
    return replace(plan, streams=streams, callee=callee.fixed(tape))


def _reading(plan: Plan, form: LoopForm) -> tuple[Tape, tuple[int, ...]]:
    """Return the reader's body with the residuals as streams, and the streams that it still reads."""
    body = plan.body
    needed = needed_values(body, plan.residuals)
    first, constant = form.carries, form.carries + form.streams
    streams = tuple(k for k in range(form.streams) if body.inputs[first + k] in needed)
    sources = [*body.inputs[:first], *(body.inputs[first + k] for k in streams)]
    rewriter = Rewriter(body)
    for old in sources:
        rewriter.number[old] = _input(rewriter, body.instructions[old].type)
    added = [_input(rewriter, type_) for type_ in plan.types]
    for old in body.inputs[constant:]:
        rewriter.number[old] = _input(rewriter, body.instructions[old].type)
    for pack, packed in zip(plan.packs, added):
        for place, old in enumerate(pack):
            type_ = body.instructions[old].type
            rewriter.number[old] = rewriter.emit(INDEX, (packed,), (_entry(place, len(pack)),), type_, None)
    for old, number in zip(plan.arrays, added[len(plan.packs) :]):
        rewriter.number[old] = number
    residuals = set(plan.residuals)
    for number, instruction in enumerate(body.instructions):
        if instruction.op is not INPUT and number in needed and number not in residuals:
            rewriter.number[number] = rewriter.copy(number)
    outputs = tuple(rewriter.number[v] for v in body.outputs)
    inputs = tuple(k for k, i in enumerate(rewriter.instructions) if i.op is INPUT)
    active = tuple(k for k, n in enumerate(inputs) if rewriter.instructions[n].type.is_float)
    return Tape(tuple(rewriter.instructions), inputs, outputs, body.name, active, True), streams


def _input(rewriter: Rewriter, type_: ValueType) -> int:
    return rewriter.emit(INPUT, (), (len(rewriter.instructions),), type_, None)


def _entry(place: int, count: int) -> Region:
    """Select one number of a vector."""
    return Region((place,), (1,), (1,), ())


# The new instructions


class _Saving:
    """A tape whose loops save residuals for others."""

    def __init__(self, tape: Tape, plans: dict[int, Plan]) -> None:
        self.tape, self.plans = tape, plans
        self.rewriter = Rewriter(tape)
        self.readers: dict[int, list[int]] = {}
        # By reader: the numbers of its new streams. Empty if it only reads less, such as no carries if its body is linear.
        self.added: dict[int, list[int]] = {}
        for reader, plan in plans.items():
            self.added[reader] = []
            if plan.residuals:
                self.readers.setdefault(plan.loop, []).append(reader)

    def rewritten(self) -> Tape:
        rewriter = self.rewriter
        for number, (op, inputs, params, type_, site) in enumerate(self.tape.instructions):
            if op is LOOP and (number in self.plans or number in self.readers):
                rewriter.number[number] = self._loop(number)
            elif op is GET and inputs[0] in self.readers:
                place = params[0] + self._moved(inputs[0], params[0])
                rewriter.number[number] = rewriter.emit(GET, (rewriter.number[inputs[0]],), (place,), type_, site)
            else:
                rewriter.number[number] = rewriter.copy(number)
        return rewriter.finish()

    def _loop(self, number: int) -> int:
        """A loop that reads residuals, or saves some, or both."""
        _, inputs, (callee, form), _, site = self.tape.instructions[number]
        operands = [self.rewriter.number[i] for i in inputs]
        plan = self.plans.get(number)
        if plan is not None:
            first, constant = form.leading + form.carries, form.leading + form.carries + form.streams
            streams = [operands[first + k] for k in plan.streams] + self.added[number]
            operands = [*operands[:first], *streams, *operands[constant:]]
            callee, form = plan.callee, replace(form, streams=len(streams))
        readers = self.readers.get(number, [])
        if readers:
            callee = _saving_callee(callee, [self.plans[reader] for reader in readers], form.stops)
        returned = _emit_loop(self.rewriter, tuple(operands), (callee, form), site)
        place = _results(*self.tape.instructions[number].params)
        for reader in readers:
            count = len(self.plans[reader].types)
            self.added[reader] = [self._item(returned, place + k) for k in range(count)]
            place += count
        return returned

    def _item(self, returned: int, k: int) -> int:
        return self.rewriter.emit(GET, (returned,), (k,), item_types(self.rewriter.instructions[returned])[k], None)

    def _moved(self, loop: int, item: int) -> int:
        """Return the shift of a loop's item: new results precede the saved carries."""
        if item < _results(*self.tape.instructions[loop].params):
            return 0
        return sum(len(self.plans[reader].types) for reader in self.readers[loop])


def _saving_callee(callee: Callee, plans: Sequence[Plan], stops: bool) -> Callee:
    """Return the callee that also returns the residuals of its readers, in their order."""
    key = ("saving", stops, *(plan.callee for plan in plans))
    return callee.once(key, lambda: _made_saving_callee(callee, plans, stops))


def _made_saving_callee(callee: Callee, plans: Sequence[Plan], stops: bool) -> Callee:
    tape: Tape = callee.variant_tape(0)
    rewriter = Rewriter(tape)
    loops = {number: params for plan in plans for number, params in plan.same.loops.items()}
    for number, (_, inputs, _, _, site) in enumerate(tape.instructions):
        if number in loops:
            # The same results, and more after them.
            operands = tuple([rewriter.number[i] for i in inputs])
            rewriter.number[number] = _emit_loop(rewriter, operands, loops[number], site)
        else:
            rewriter.number[number] = rewriter.copy(number)
    results = [result for plan in plans for result in _saved(rewriter, plan)]
    whole = rewriter.finish()
    place = len(whole.outputs) - int(stops)
    outputs = (*whole.outputs[:place], *results, *whole.outputs[place:])
    return callee.fixed(dead_code(replace(whole, outputs=outputs)), extends=callee)


def _saved(rewriter: Rewriter, plan: Plan) -> list[int]:
    """The residuals that a saving callee returns for one reader."""
    found: list[int] = []
    for value in plan.residuals:
        if value in plan.same.numbers:
            found.append(rewriter.number[plan.same.numbers[value]])
        else:
            loop, place = plan.same.items[value]
            type_ = plan.body.instructions[value].type
            found.append(rewriter.emit(GET, (rewriter.number[loop],), (place,), type_, None))
    packed: list[int] = []
    for pack, type_ in zip(plan.packs, plan.types):
        regions = Regions(_entry(k, len(pack)) for k in range(len(pack)))
        parts, found = tuple(found[: len(pack)]), found[len(pack) :]
        packed.append(rewriter.emit(ASSEMBLE, parts, (regions, type_.shape, True), type_, None))
    return [*packed, *found]


def _emit_loop(rewriter: Rewriter, operands: tuple[int, ...], params: Params, site: Site | None) -> int:
    type_ = TupleType(loop_items(*params))
    return rewriter.emit(LOOP, operands, params, type_, site)
