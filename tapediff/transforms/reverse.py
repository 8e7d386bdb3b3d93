"""Adds the adjoint instructions of a tape to the tape itself: derivatives are ordinary instructions.

Comes in: a tape, and the inputs to differentiate by. Goes out: the tape with their cotangents, which `cotangents.py` adds up.
Rules are called on tracked values of a recorder that knows types only, so no arithmetic is done here and the result is folded,
fused and compiled, or differentiated again, like any other tape.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.source_location import Site, adjoint_site
from ..errors import InvalidTape
from ..ir.instruction import CONSTANT, INPUT, DynamicArrayType, Instruction, Operand, ValueType, item_types
from ..ir.tape import Tape
from ..ops import Elementwise, Op
from ..ops.arrays.indexing import INDEX
from ..ops.arrays.shape import unbroadcast
from ..ops.control.calls import NonzeroCotangent
from ..ops.control.solution import SOLUTION
from ..ops.declaration.op import declared_op
from ..ops.elementwise.arithmetic import DIVIDE, MULTIPLY
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, LOGICAL_NOT, SELECT
from ..ops.elementwise.elementary import HYPOT
from ..passes.activity import active_values
from ..passes.demand import demand_of
from ..passes.simplify.smooth_squares import Squares, square_bar_of
from ..recording.arrays.tracked import TrackedArray
from ..recording.recorder import Recorder
from .cotangents import MAYBE_DISCARDED, NONZERO, NOT_YET_SEEDED, Chosen, Cotangents


def reverse(tape: Tape, wrt: Sequence[int], *, seed: bool = False, keep_outputs: bool = True) -> Tape:
    """The tape that also computes the gradient of its (single) output.

    Args:
        tape: a tape with one floating-point output, of any shape if `seed`.
        wrt: positions of the inputs to differentiate with respect to.
        seed: take the cotangent of the output as one more input (a vector-Jacobian product); otherwise it is 1.
        keep_outputs: return the tape's output before the cotangents.

    Returns:
        A tape with outputs (output, *cotangents), or the cotangents alone.
    """
    return continued(tape).run(_reverse, tape, wrt, seed, keep_outputs)


def _reverse(recorder: Recorder, tape: Tape, wrt: Sequence[int], seed: bool, keep_outputs: bool) -> Tape:
    (output,) = tape.outputs
    sweep = _Sweep(tape, recorder, {tape.inputs[k] for k in wrt})
    output_type = tape.instructions[output].type
    # Tracked even when it is 1, so that rules broadcast it as an instruction and not as an array of ones.
    one = np.ones(output_type.shape, output_type.dtype)
    start = recorder.input(one, active=True) if seed else recorder.tracked_constant(one)
    sweep.cotangents.add(output, start, NONZERO)
    sweep.propagate()
    outputs = [output] if keep_outputs else []
    outputs += sweep.results(wrt)[0]
    return finished(recorder, outputs)


@dataclass(frozen=True)
class Pullback:
    """A tape of cotangents, with their qualities.

    Attributes:
        tape: from a tape's inputs, and cotangents of its outputs, to cotangents of its inputs.
        qualities: of the resulting cotangents: ABSENT, NONZERO, NOT_YET_SEEDED or MAYBE_DISCARDED.
        hides_not_yet_seeded: True if it has selections because cotangents are not yet seeded.
    """

    tape: Tape
    qualities: tuple[int, ...]
    hides_not_yet_seeded: bool


def pullback(tape: Tape, wrt: Sequence[int], seeds: Mapping[int, int]) -> Pullback:
    """From a tape's inputs, and cotangents of its outputs at the positions `seeds`, to cotangents of the inputs `wrt`.

    Args:
        seeds: the qualities of those cotangents, by position.
    """
    return continued(tape).run(_pullback, tape, wrt, seeds)


def _pullback(recorder: Recorder, tape: Tape, wrt: Sequence[int], seeds: Mapping[int, int]) -> Pullback:
    sweep = _Sweep(tape, recorder, {tape.inputs[k] for k in wrt})
    for k, quality in seeds.items():
        type_ = tape.output_types[k]
        sweep.cotangents.add(tape.outputs[k], recorder.input(np.ones(type_.shape, type_.dtype), active=True), quality)
    sweep.propagate()
    outputs, qualities = sweep.results(wrt)
    return Pullback(finished(recorder, outputs), qualities, sweep.hides_not_yet_seeded)


def continued(tape: Tape) -> Recorder:
    """Return a recorder that continues after a tape's last instruction, with types but no values."""
    recorder = Recorder(tape.name, concrete=False)
    recorder.instructions = list(tape.instructions)
    recorder.inputs.extend(tape.inputs)
    recorder.active_inputs.extend(tape.active_inputs)
    recorder.guard_count = tape.guard_count
    return recorder


def finished(recorder: Recorder, outputs: Sequence[int]) -> Tape:
    inputs, active = tuple(recorder.inputs), tuple(recorder.active_inputs)
    return Tape(tuple(recorder.instructions), inputs, tuple(outputs), recorder.name, active, True)


def result_of(recorder: Recorder, cotangent: Operand, type_: ValueType) -> int:
    """Return the number of a value's cotangent: a constant if it is plain or None."""
    if type(cotangent) is TrackedArray:
        if cotangent.type.shape != type_.shape:
            raise InvalidTape("a cotangent has another shape than its value", got=f"{cotangent.type} for {type_}")
        return cotangent._id
    value = np.broadcast_to(0.0 if cotangent is None else cotangent, type_.shape)
    return recorder.constant(np.array(value, dtype=type_.dtype, order="C"))


class _Sweep:
    """Carries the cotangents of a tape from its output to its inputs, by the rule of each operation."""

    def __init__(self, tape: Tape, recorder: Recorder, sources: set[int]) -> None:
        self.tape = tape
        self.recorder = recorder
        self.active = active_values(tape, sources)
        self.cotangents = Cotangents(tape, recorder, self.active)
        self.hides_not_yet_seeded = False
        self.squares = Squares(tape)
        demand = demand_of(tape)
        # Cotangents chosen by one of these tests are selected at the very end, so that their operands are needed on their side only.
        self.tests = set[int]() if demand is None else demand.tests_of_dear()
        self.joined: dict[Hashable, TrackedArray] = {}
        # One object for each of the tape's, as recordings tell templates apart by identity.
        self._sites: dict[int, Site | None] = {}

    def results(self, wrt: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
        """The value numbers of the cotangents of the tape's inputs, and their qualities."""
        numbers = [self.tape.inputs[k] for k in wrt]
        totals = [self.cotangents.total(i) for i in numbers]
        types = [self.tape.instructions[i].type for i in numbers]
        found = [result_of(self.recorder, total, type_) for (total, _), type_ in zip(totals, types)]
        return found, tuple(quality for _, quality in totals)

    # Once for all instructions: entering it for each took a twentieth of the time.
    @np.errstate(all="ignore")
    def propagate(self) -> None:
        instructions, found = self.tape.instructions, self.cotangents
        for number in range(len(instructions) - 1, -1, -1):
            if not self.active[number]:
                continue
            instruction = instructions[number]
            if number in found.items:
                self._apply_record_rule(number, instruction, found.items.pop(number))
            if number in self.squares.pending:
                self._apply_square_rules(number, instruction)
            if instruction.op is INPUT or not (number in found.dense or number in found.parts or number in found.chosen_parts):
                continue
            z_bar, quality = found.total_or_chosen(number)
            if z_bar is not None:
                self.recorder.site = self._site(instruction.site)
                self._apply_rules(number, instruction, z_bar, quality)
        # The cotangents of the inputs are added up from here on.
        self.recorder.site = self._site(instructions[-1].site)

    def _site(self, site: Site | None) -> Site | None:
        known = self._sites.get(id(site))
        if known is None:
            known = self._sites[id(site)] = adjoint_site(site)
        return known

    def _apply_record_rule(self, number: int, instruction: Instruction, items: dict[int, list[Operand]]) -> None:
        op = declared_op(instruction)
        self.recorder.site = self._site(instruction.site)
        types = item_types(instruction)
        z_bars: list[Operand] = [None] * len(types)
        chosen = _in_common([term for terms in items.values() for term in terms])
        for k, terms in items.items():
            terms = [t.cotangent if chosen else t.selected() if isinstance(t, Chosen) else t for t in terms]
            z_bars[k] = self.cotangents.sum(terms, number if isinstance(types[k], DynamicArrayType) else -1)
        inputs = [self.cotangents.value(i) for i in instruction.inputs]
        active = [self.active[i] for i in instruction.inputs]
        assert callable(op.vjp), "ops of tuples have one rule for all operands"
        named = op.named(instruction.params)
        quality = self.cotangents.quality(number)
        self.hides_not_yet_seeded |= quality == NOT_YET_SEEDED
        cotangents = op.vjp(z_bars, self.cotangents.value(number), *inputs, active=active, maybe_discarded=quality != NONZERO, **named)
        for i, cotangent in zip(instruction.inputs, cotangents):
            if chosen is not None:
                cotangent = cotangent.z_bar if isinstance(cotangent, NonzeroCotangent) else cotangent
                self._add_under(i, chosen, cotangent, MAYBE_DISCARDED)
            elif isinstance(cotangent, NonzeroCotangent):
                self.cotangents.add(i, cotangent.z_bar, NONZERO)
            else:
                self.cotangents.add(i, cotangent, MAYBE_DISCARDED)

    def _add_under(self, operand: int, chosen: Chosen, cotangent: Operand, quality: int) -> None:
        """Add a cotangent under the same mask as the one that it comes from."""
        if cotangent is not None:
            self.cotangents.add(operand, chosen._replace(cotangent=cotangent, quality=quality), MAYBE_DISCARDED)

    def _apply_rules(self, number: int, instruction: Instruction, z_bar: Operand, quality: int) -> None:
        op = declared_op(instruction)
        if op is SELECT:
            self._choose(instruction, z_bar if isinstance(z_bar, Chosen) else None, z_bar, quality)
            return
        if isinstance(z_bar, Chosen):
            if isinstance(op, Elementwise) and not self.squares.squared_operands(instruction):
                self._apply_rules_where_chosen(number, instruction, z_bar)
                return
            if self._is_dear(z_bar) and not isinstance(op, Elementwise):
                self._apply_rules_under(number, instruction, z_bar)
                return
            z_bar = z_bar.selected()
        named = op.named(instruction.params)
        inputs = [self.cotangents.value(i) for i in instruction.inputs]
        z = self.cotangents.value(number)
        # Parts of an array get their quality when all are there; see `total`.
        passed = MAYBE_DISCARDED if op.masks and op is not INDEX else quality
        if callable(op.vjp):
            asked = {"active": [self.active[i] for i in instruction.inputs]} if op is SOLUTION else {}
            for i, cotangent in zip(instruction.inputs, op.vjp(z_bar, z, *inputs, **asked, **named)):
                self.cotangents.add(i, cotangent, passed)
            return
        guarded = quality != NONZERO and not multiplies_by_finite(self.tape, instruction)
        squared = self.squares.squared_operands(instruction)
        for k in squared:
            i = instruction.inputs[k]
            if self.active[i]:
                square_bar = square_bar_of(instruction, z_bar, z, inputs[k])
                square_bar = self._passed_to(i, op, z_bar, square_bar, quality if guarded else NONZERO)
                self.squares.pending.setdefault(i, []).append((square_bar, quality))
        if squared and op is not HYPOT:
            return
        for k, (i, rule) in enumerate(zip(instruction.inputs, op.vjp)):
            if rule is None or not self.active[i] or k in squared:
                continue
            cotangent = rule(z_bar, z, *inputs, **named)
            if cotangent is not None:
                self.cotangents.add(i, self._passed_to(i, op, z_bar, cotangent, quality if guarded else NONZERO), passed)

    def _apply_rules_where_chosen(self, number: int, instruction: Instruction, z_bar: Chosen) -> None:
        """As above, for a cotangent where a mask holds."""
        op = declared_op(instruction)
        passed = MAYBE_DISCARDED if op.masks else z_bar.quality
        guarded = NONZERO if multiplies_by_finite(self.tape, instruction) else z_bar.quality
        inputs = [self.cotangents.value(i) for i in instruction.inputs]
        named = op.named(instruction.params)
        assert not callable(op.vjp), "ops of arrays have a rule for each operand"
        for i, rule in zip(instruction.inputs, op.vjp):
            if rule is not None and self.active[i]:
                cotangent = rule(z_bar.cotangent, self.cotangents.value(number), *inputs, **named)
                if cotangent is not None:
                    cotangent = self._guarded(op, z_bar.cotangent, cotangent, guarded)
                    self._add_chosen(i, z_bar._replace(cotangent=cotangent, quality=passed), instruction)

    def _is_dear(self, chosen: Chosen) -> bool:
        return chosen.mask._id in self.tests

    def _apply_rules_under(self, number: int, instruction: Instruction, z_bar: Chosen) -> None:
        """As _apply_rules_where_chosen for other ops: if the test fails, their results are not chosen, whatever they are."""
        op = declared_op(instruction)
        inputs = [self.cotangents.value(i) for i in instruction.inputs]
        value, named = self.cotangents.value(number), op.named(instruction.params)
        quality = MAYBE_DISCARDED if op.masks else z_bar.quality
        if callable(op.vjp):
            asked = {"active": [self.active[i] for i in instruction.inputs]} if op is SOLUTION else {}
            found = op.vjp(z_bar.cotangent, value, *inputs, **asked, **named)
        else:
            found = [
                None if rule is None or not self.active[i] else rule(z_bar.cotangent, value, *inputs, **named)
                for i, rule in zip(instruction.inputs, op.vjp)
            ]
        for i, cotangent in zip(instruction.inputs, found):
            self._add_under(i, z_bar, cotangent, quality)

    def _choose(self, instruction: Instruction, before: Chosen | None, z_bar: Operand, quality: int) -> None:
        """Apply the rules of `select`: its mask, combined with an earlier one, chooses the cotangents."""
        mask, *values = instruction.inputs
        is_test = mask in self.tests
        if before is not None and is_test and not self._is_dear(before):
            before, z_bar = None, before.selected()
        for i, where in zip(values, (True, False)):
            if not self.active[i]:
                continue
            chooses = self.cotangents.value(mask), where
            if before is None:
                self._add_chosen(i, Chosen(*chooses, z_bar, quality), instruction)
            elif before.mask._id == mask:
                if before.where is where:
                    self._add_chosen(i, before, instruction)
            elif self._is_dear(before) and not is_test:
                here = Chosen(*chooses, before.cotangent, before.quality).selected()
                self._add_chosen(i, before._replace(cotangent=here, quality=MAYBE_DISCARDED), instruction)
            else:
                self._add_chosen(i, before._replace(mask=self._joined((before.mask, before.where), chooses), where=True), instruction)

    def _joined(self, *both: tuple[TrackedArray, bool]) -> TrackedArray:
        """Return the mask that is true where both choose."""
        key = tuple((mask._id, where) for mask, where in both)
        known = self.joined.get(key)
        if known is None:
            known = self.joined[key] = LOGICAL_AND(*(mask if where else LOGICAL_NOT(mask) for mask, where in both))
            if self.tests.issuperset(mask._id for mask, _ in both):
                self.tests.add(known._id)
        return known

    def _add_chosen(self, operand: int, chosen: Chosen, instruction: Instruction) -> None:
        """Add to the cotangent of an operand; as an array where the operand was broadcast."""
        shape = self.tape.instructions[operand].type.shape
        if shape == instruction.type.shape == np.shape(chosen.cotangent):
            self.cotangents.add(operand, chosen, MAYBE_DISCARDED)
        elif self._is_dear(chosen):
            self._add_under(operand, chosen, unbroadcast(chosen.cotangent, shape), chosen.quality)
        else:
            self.cotangents.add(operand, unbroadcast(chosen.selected(), shape), MAYBE_DISCARDED)

    def _apply_square_rules(self, number: int, instruction: Instruction) -> None:
        """As above, for the cotangent of the value's square."""
        op = declared_op(instruction)
        self.recorder.site = self._site(instruction.site)
        square_bar, qualities = self.squares.total(number)
        quality = NONZERO if NONZERO in qualities else max(qualities)
        named = op.named(instruction.params)
        inputs = [self.cotangents.value(i) for i in instruction.inputs]
        for i, (rule, of_square) in zip(instruction.inputs, self.squares.rules(number)):
            if rule is None or not self.active[i]:
                continue
            cotangent = self._passed_to(i, op, square_bar, rule(square_bar, self.cotangents.value(number), *inputs, **named), quality)
            if of_square:
                passed = MAYBE_DISCARDED if op.masks else quality
                self.squares.pending.setdefault(i, []).append((cotangent, passed))
            else:
                self.cotangents.add(i, cotangent, quality)

    def _passed_to(self, operand: int, op: Op, z_bar: Operand, cotangent: Operand, quality: int) -> Operand:
        """Return the result of a rule as it is added to the operand's cotangent: guarded, and summed over broadcast axes."""
        if not isinstance(op, Elementwise):
            return cotangent
        return unbroadcast(self._guarded(op, z_bar, cotangent, quality), self.tape.instructions[operand].type.shape)

    def _guarded(self, op: Op, z_bar: Operand, cotangent: Operand, quality: int) -> Operand:
        """A discarded branch contributes exactly 0, whatever its derivative: 0 times infinity must not be NaN.

        A finite product stays as it is: its own derivative is not 0 where the cotangent is 0 by chance.
        """
        if quality == NONZERO or not isinstance(op, Elementwise) or op.linear:
            return cotangent
        self.hides_not_yet_seeded |= quality == NOT_YET_SEEDED
        return SELECT(LOGICAL_AND(EQUAL(z_bar, 0.0), IS_NAN(cotangent)), 0.0, cotangent)


def multiplies_by_finite(tape: Tape, instruction: Instruction) -> bool:
    """True for x * c and x / c by a finite constant, which cannot turn a zero cotangent into NaN."""
    x, y = (tape.instructions[i] for i in instruction.inputs) if len(instruction.inputs) == 2 else (instruction, instruction)
    if instruction.op is DIVIDE:
        return y.op is CONSTANT and _is_finite(y.params[0]) and bool(y.params[0].all())
    return instruction.op is MULTIPLY and any(c.op is CONSTANT and _is_finite(c.params[0]) for c in (x, y))


def _is_finite(value: np.ndarray) -> bool:
    return math.isfinite(value) if value.shape == () else bool(np.isfinite(value).all())


def _in_common(terms: Sequence[Operand | Chosen]) -> Chosen | None:
    """Return one of several cotangents with a common mask and side; None for others."""
    first = terms[0]
    if not all(isinstance(term, Chosen) for term in terms):
        return None
    return first if len({(term.mask._id, term.where) for term in terms}) == 1 else None
