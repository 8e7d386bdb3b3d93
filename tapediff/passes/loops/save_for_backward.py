"""Lets the reverse pass of a loop read values that the loop has computed, instead of computing them again.

The body of the reverse loop begins with that of the loop, on the saved carries. Values it needs of that, if costlier to compute than to
store and load, become one more result of the loop and one more stream of the reverse loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ...ir.instruction import Instruction, ValueType
from ...ir.rewriter import BodyBuilder, Rewriter
from ...ir.tape import Tape
from ...ops.arrays.indexing import ASSEMBLE, INDEX
from ...ops.arrays.regions import entries_of_vector
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm, loop_items
from ..reach import needed_values
from ..simplify.dead_code import dead_code
from .loop_builder import Items, loop_like, with_loops
from .save_or_recompute import FEWEST_ITERATIONS, worth_saving
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
    if not residuals and set(body.inputs[form.carries : form.carries + form.streams]) <= needed_values(body, body.outputs):
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
    body, residuals = plan.body, plan.residuals
    needed = needed_values(body, body.outputs, residuals)
    carries, entries, constants = form.parts(body.inputs)
    streams = tuple(k for k, n in enumerate(entries) if n in needed)
    made = BodyBuilder(body)
    made.take((*carries, *(entries[k] for k in streams)))
    added = [made.add_input(type_) for type_ in plan.types]
    made.take(constants)
    for pack, packed in zip(plan.packs, added):
        for old, region in zip(pack, entries_of_vector(len(pack))):
            made.number[old] = made.make(INDEX, (packed,), (region,))
    for old, number in zip(plan.arrays, added[len(plan.packs) :]):
        made.number[old] = number
    return made.body_of(body.outputs), streams


# The new instructions


class _Saving:
    """A tape whose loops save residuals for others."""

    def __init__(self, tape: Tape, plans: dict[int, Plan]) -> None:
        self.tape, self.plans = tape, plans
        self.readers: dict[int, list[int]] = {}
        # By reader: the numbers of its new streams. Empty if it only reads less, such as no carries if its body is linear.
        self.added: dict[int, list[int]] = {}
        for reader, plan in plans.items():
            self.added[reader] = []
            if plan.residuals:
                self.readers.setdefault(plan.loop, []).append(reader)

    def rewritten(self) -> Tape:
        return with_loops(self.tape, lambda _, number: number if number in self.plans or number in self.readers else None, self._emitted)

    def _emitted(self, made: Rewriter, loop: Instruction, number: int) -> Items:
        """Emit a loop that reads residuals, or saves some, or both."""
        callee, form = loop.params
        carries, streams, constants = form.parts(loop.inputs)
        plan, readers = self.plans.get(number), self.readers.get(number, [])
        place, count = _results(callee, form), sum(len(self.plans[reader].types) for reader in readers)
        if plan is not None:
            streams, callee = [*(streams[k] for k in plan.streams), *self.added[number]], plan.callee
        if readers:
            callee = _saving_callee(callee, [self.plans[reader] for reader in readers], form.stops)
        returned = loop_like(made, loop, callee, carries, streams, constants)
        added = iter([made.make(GET, (returned,), (k,)) for k in range(place, place + count)])
        for reader in readers:
            self.added[reader] = list(islice(added, len(self.plans[reader].types)))
        # New results precede the saved carries.
        return lambda k: made.make(GET, (returned,), (k if k < place else k + count,))


def _saving_callee(callee: Callee, plans: Sequence[Plan], stops: bool) -> Callee:
    """Return the callee that also returns the residuals of its readers, in their order."""
    key = ("saving", stops, *(plan.callee for plan in plans))
    return callee.once(key, lambda: _made_saving_callee(callee, plans, stops))


def _made_saving_callee(callee: Callee, plans: Sequence[Plan], stops: bool) -> Callee:
    tape: Tape = callee.variant_tape(0)
    rewriter = Rewriter(tape)
    loops = {number: params for plan in plans for number, params in plan.same.loops.items()}
    for number, instruction in enumerate(tape.instructions):
        source = instruction.inputs[0] if instruction.op is GET else None
        if number in loops:
            # The same results, and more after them.
            rewriter.site = instruction.site
            rewriter.number[number] = rewriter.make(LOOP, tuple([rewriter.number[i] for i in instruction.inputs]), loops[number])
        elif source in loops and instruction.params[0] >= (first := _results(*tape.instructions[source].params)):
            # Its number of iterations comes after all results.
            item = instruction.params[0] + _results(*loops[source]) - first
            rewriter.number[number] = rewriter.make(GET, (rewriter.number[source],), (item,))
        else:
            rewriter.copy(number)
    rewriter.site = None
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
            found.append(rewriter.make(GET, (rewriter.number[loop],), (place,)))
    packed: list[int] = []
    for pack, type_ in zip(plan.packs, plan.types):
        parts, found = tuple(found[: len(pack)]), found[len(pack) :]
        packed.append(rewriter.make(ASSEMBLE, parts, (entries_of_vector(len(pack)), type_.shape, True)))
    return [*packed, *found]
