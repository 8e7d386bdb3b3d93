"""Adds the adjoint instructions of a tape to the tape itself: derivatives are ordinary instructions.

Rules are called on tracked values of a recorder that knows types only, so no arithmetic is done here and the result is folded,
fused and compiled, or differentiated again, like any other tape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import InvalidTape
from ..ir.instruction import CONSTANT, INPUT, DynamicArrayType, Instruction, Operand, ValueType, item_types
from ..ir.tape import Tape
from ..ops import Elementwise, Op
from ..ops.arrays.indexing import INDEX, RegionCotangent, assemble
from ..ops.arrays.regions import cover
from ..ops.arrays.shape import unbroadcast
from ..ops.control.calls import GET, LOOP, ItemCotangent, LoopForm, NonzeroCotangent
from ..ops.control.solution import SOLUTION
from ..ops.declaration.op import declared_op
from ..ops.elementwise.arithmetic import DIVIDE, MULTIPLY
from ..ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_AND, LOGICAL_NOT, SELECT
from ..passes.activity import active_values
from ..passes.simplify.smooth_squares import Squares, square_bar_of, square_rules
from ..recording.arrays.tracked import TrackedArray
from ..recording.recorder import Recorder

# The quality of a cotangent. ABSENT: there is none. NONZERO: the chain rule gives it, and it is zero only by chance. NOT_YET_SEEDED:
# it may be an exact zero because nothing uses the value yet, as with the last carries of a loop. MAYBE_DISCARDED: it may be an exact
# zero, in whole or in part, because a later operation did not choose the value. The last two need a selection where a derivative may
# be infinite.
ABSENT, NONZERO, NOT_YET_SEEDED, MAYBE_DISCARDED = range(4)


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
    adjoints = _Adjoints(tape, recorder, {tape.inputs[k] for k in wrt})
    output_type = tape.instructions[output].type
    # Tracked even when it is 1, so that rules broadcast it as an instruction and not as an array of ones.
    one = np.ones(output_type.shape, output_type.dtype)
    start = recorder.input(one, active=True) if seed else recorder.tracked_constant(one)
    adjoints.add(output, start, NONZERO)
    adjoints.propagate()
    outputs = [output] if keep_outputs else []
    outputs += adjoints.results(wrt)[0]
    return finished(recorder, outputs)


@dataclass(frozen=True)
class Pullback:
    """A tape of cotangents, and where they come from.

    Attributes:
        tape: from a tape's inputs, and cotangents of its outputs, to cotangents of its inputs.
        qualities: of the resulting cotangents: ABSENT, NONZERO, NOT_YET_SEEDED or MAYBE_DISCARDED.
        hides_not_yet_seeded: whether it has selections because cotangents are not yet seeded.
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
    adjoints = _Adjoints(tape, recorder, {tape.inputs[k] for k in wrt})
    for k, quality in seeds.items():
        type_ = tape.output_types[k]
        adjoints.add(tape.outputs[k], recorder.input(np.ones(type_.shape, type_.dtype), active=True), quality)
    adjoints.propagate()
    outputs, qualities = adjoints.results(wrt)
    return Pullback(finished(recorder, outputs), qualities, adjoints.hides_not_yet_seeded)


def continued(tape: Tape) -> Recorder:
    """A recorder that goes on behind a tape's last instruction, knowing types only."""
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
    """The number of a cotangent of a value of that type: a constant where it is plain or None."""
    if type(cotangent) is TrackedArray:
        if cotangent.type.shape != type_.shape:
            raise InvalidTape("a cotangent has another shape than its value", got=f"{cotangent.type} for {type_}")
        return cotangent._id
    value = np.broadcast_to(0.0 if cotangent is None else cotangent, type_.shape)
    return recorder.constant(np.array(value, dtype=type_.dtype, order="C"))


class _Chosen(NamedTuple):
    """A cotangent where a mask holds, or where it does not, and exact zeros elsewhere.

    The chain rule goes on with the cotangent itself, so that what is discarded need not be told from zeros that meet infinity.

    Attributes:
        quality: of the cotangent there: NONZERO, NOT_YET_SEEDED or MAYBE_DISCARDED.
    """

    mask: TrackedArray
    where: bool
    cotangent: Operand
    quality: int

    def selected(self) -> Operand:
        return SELECT(self.mask, *((self.cotangent, 0.0) if self.where else (0.0, self.cotangent)))


class _Adjoints:
    """The cotangents collected so far, and the sweep that carries them from the output to the inputs."""

    def __init__(self, tape: Tape, recorder: Recorder, sources: set[int]) -> None:
        self.tape = tape
        self.recorder = recorder
        self.active = active_values(tape, sources)
        self.dense: dict[int, list[Operand | _Chosen]] = {}
        self.parts: dict[int, list[RegionCotangent]] = {}
        # Of tuples, by item.
        self.items: dict[int, dict[int, list[Operand]]] = {}
        # Values of which some cotangent is MAYBE_DISCARDED, some is NOT_YET_SEEDED, and some that concerns all of the value is NONZERO.
        self.maybe_discarded: set[int] = set()
        self.not_yet_seeded: set[int] = set()
        self.nonzero: set[int] = set()
        self.hides_not_yet_seeded = False
        self.squares = Squares(tape)

    def value(self, number: int) -> TrackedArray:
        return TrackedArray(self.recorder, number, None, self.tape.instructions[number].type)

    def add(self, number: int, cotangent: Operand, quality: int) -> None:
        if cotangent is None or not self.active[number]:
            return
        # type() and not isinstance(): the __class__ property of tracked arrays is slow to ask.
        kind = type(cotangent)
        if kind is RegionCotangent:
            self.parts.setdefault(number, []).append(cotangent)
        elif kind is ItemCotangent:
            self.items.setdefault(number, {}).setdefault(cotangent.k, []).append(cotangent.z_bar)
        else:
            self.dense.setdefault(number, []).append(cotangent)
            if quality == NONZERO:
                self.nonzero.add(number)
        if quality == MAYBE_DISCARDED:
            self.maybe_discarded.add(number)
        elif quality == NOT_YET_SEEDED:
            self.not_yet_seeded.add(number)

    def total(self, number: int) -> tuple[Operand, int]:
        """The cotangent of a value, and its quality."""
        total, quality = self.total_or_chosen(number)
        return total.selected() if isinstance(total, _Chosen) else total, quality

    def total_or_chosen(self, number: int) -> tuple[Operand | _Chosen, int]:
        dense = self.dense.pop(number, [])
        parts = self.parts.pop(number, None)
        if parts:
            shape = self.tape.instructions[number].type.shape
            regions = [p.region for p in parts]
            dense.append(assemble([p.z_bar for p in parts], regions, shape))
            if number not in self.maybe_discarded and number not in self.not_yet_seeded and cover(regions, shape):
                self.nonzero.add(number)
            else:
                self.maybe_discarded.add(number)
        if not dense:
            return None, ABSENT
        dense = self._joined(number, dense)
        if len(dense) == 1:
            return dense[0], self.quality(number)
        instruction = self.tape.instructions[number]
        loop = instruction.inputs[0] if isinstance(instruction.type, DynamicArrayType) else -1
        return self._sum(dense, loop), self.quality(number)

    def _joined(self, number: int, terms: list[Operand | _Chosen]) -> list[Operand | _Chosen]:
        """Terms of both sides of one mask as one; others as arrays where there are several."""
        if len(terms) == 1:
            return terms
        chosen = [term for term in terms if isinstance(term, _Chosen)]
        if len(chosen) < len(terms) or len({term.mask._id for term in chosen}) > 1:
            return [term.selected() if isinstance(term, _Chosen) else term for term in terms]
        sides = [self._side(chosen, where) for where in (True, False) if any(term.where is where for term in chosen)]
        if len(sides) == 1:
            return list(sides)
        if sides[0].quality == sides[1].quality == NONZERO:
            self.nonzero.add(number)
        return [SELECT(chosen[0].mask, sides[0].cotangent, sides[1].cotangent)]

    def _side(self, chosen: Sequence[_Chosen], where: bool) -> _Chosen:
        terms = [term for term in chosen if term.where is where]
        qualities = {term.quality for term in terms}
        return terms[0]._replace(
            cotangent=self._sum([term.cotangent for term in terms]), quality=NONZERO if NONZERO in qualities else max(qualities)
        )

    def quality(self, number: int) -> int:
        """A sum is an exact zero of something discarded only where all its terms are."""
        if number in self.nonzero:
            return NONZERO
        if number in self.maybe_discarded:
            return MAYBE_DISCARDED
        return NOT_YET_SEEDED if number in self.not_yet_seeded else NONZERO

    def _sum(self, terms: Sequence[Operand], loop: int = -1) -> Operand:
        """The sum of cotangents; of dynamic arrays, which are items of a loop."""
        total = terms[0]
        for term in terms[1:]:
            total = total + term if loop < 0 else self._stacks_added(loop, total, term)
        return total

    def _stacks_added(self, number: int, x: Operand, y: Operand) -> Operand:
        """The sum of two cotangents of a dynamic array that is an item of a loop, which knows its length."""
        loop = self.tape.instructions[number]
        callee, form = loop.params
        count = loop.inputs[form.leading - 1]
        if form.stops:
            count_item = len(callee.out_types) - 1
            counted = GET(self.value(number), k=count_item)
        else:
            counted = self.value(count)
        adder = callee.adder(x.type.item)
        returned = LOOP(counted, x, y, callee=adder, form=LoopForm(0, 2, 0, None))
        return GET(returned, k=0)

    def results(self, wrt: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
        """The value numbers of the cotangents of the tape's inputs, and their qualities."""
        numbers = [self.tape.inputs[k] for k in wrt]
        totals = [self.total(i) for i in numbers]
        types = [self.tape.instructions[i].type for i in numbers]
        found = [result_of(self.recorder, total, type_) for (total, _), type_ in zip(totals, types)]
        return found, tuple(quality for _, quality in totals)

    # Once for all: entering it for every instruction took a twentieth of the time.
    @np.errstate(all="ignore")
    def propagate(self) -> None:
        instructions = self.tape.instructions
        for number in range(len(instructions) - 1, -1, -1):
            if not self.active[number]:
                continue
            instruction = instructions[number]
            if number in self.items:
                self._apply_record_rule(number, instruction, self.items.pop(number))
            if number in self.squares.pending:
                self._apply_square_rules(number, instruction)
            if instruction.op is INPUT or (number not in self.dense and number not in self.parts):
                continue
            z_bar, quality = self.total_or_chosen(number)
            if z_bar is not None:
                self.recorder.site = instruction.site
                self._apply_rules(number, instruction, z_bar, quality)
        self.recorder.site = None

    def _apply_record_rule(self, number: int, instruction: Instruction, items: dict[int, list[Operand]]) -> None:
        op = declared_op(instruction)
        self.recorder.site = instruction.site
        types = item_types(instruction)
        z_bars: list[Operand] = [None] * len(types)
        for k, terms in items.items():
            z_bars[k] = self._sum(terms, number if isinstance(types[k], DynamicArrayType) else -1)
        inputs = [self.value(i) for i in instruction.inputs]
        active = [self.active[i] for i in instruction.inputs]
        assert callable(op.vjp), "ops of tuples have one rule for all operands"
        named = op.named(instruction.params)
        quality = self.quality(number)
        self.hides_not_yet_seeded |= quality == NOT_YET_SEEDED
        cotangents = op.vjp(z_bars, self.value(number), *inputs, active=active, maybe_discarded=quality != NONZERO, **named)
        for i, cotangent in zip(instruction.inputs, cotangents):
            if isinstance(cotangent, NonzeroCotangent):
                self.add(i, cotangent.z_bar, NONZERO)
            else:
                self.add(i, cotangent, MAYBE_DISCARDED)

    def _apply_rules(self, number: int, instruction: Instruction, z_bar: Operand, quality: int) -> None:
        op = declared_op(instruction)
        if op is SELECT:
            self._choose(instruction, z_bar if isinstance(z_bar, _Chosen) else None, z_bar, quality)
            return
        if isinstance(z_bar, _Chosen):
            if isinstance(op, Elementwise) and not self.squares.is_square(instruction):
                self._apply_rules_where_chosen(number, instruction, z_bar)
                return
            z_bar = z_bar.selected()
        named = op.named(instruction.params)
        inputs = [self.value(i) for i in instruction.inputs]
        z = self.value(number)
        # Parts of an array are looked at when they are all there; see `total`.
        passed = MAYBE_DISCARDED if op.masks and op is not INDEX else quality
        if callable(op.vjp):
            asked = {"active": [self.active[i] for i in instruction.inputs]} if op is SOLUTION else {}
            for i, cotangent in zip(instruction.inputs, op.vjp(z_bar, z, *inputs, **asked, **named)):
                self.add(i, cotangent, passed)
            return
        guarded = quality != NONZERO and not multiplies_by_finite(self.tape, instruction)
        if self.squares.is_square(instruction):
            i = instruction.inputs[0]
            square_bar = self._guarded(op, z_bar, square_bar_of(instruction, z_bar, inputs[0]), quality if guarded else NONZERO)
            self.squares.pending.setdefault(i, []).append((square_bar, quality))
            return
        for i, rule in zip(instruction.inputs, op.vjp):
            if rule is None or not self.active[i]:
                continue
            cotangent = rule(z_bar, z, *inputs, **named)
            if cotangent is not None:
                self.add(i, self._passed_to(i, op, z_bar, cotangent, quality if guarded else NONZERO), passed)

    def _apply_rules_where_chosen(self, number: int, instruction: Instruction, z_bar: _Chosen) -> None:
        """As above, for a cotangent where a mask holds."""
        op = declared_op(instruction)
        passed = MAYBE_DISCARDED if op.masks else z_bar.quality
        guarded = NONZERO if multiplies_by_finite(self.tape, instruction) else z_bar.quality
        inputs = [self.value(i) for i in instruction.inputs]
        named = op.named(instruction.params)
        assert not callable(op.vjp), "ops of arrays have a rule for each operand"
        for i, rule in zip(instruction.inputs, op.vjp):
            if rule is not None and self.active[i]:
                cotangent = rule(z_bar.cotangent, self.value(number), *inputs, **named)
                if cotangent is not None:
                    cotangent = self._guarded(op, z_bar.cotangent, cotangent, guarded)
                    self._add_chosen(i, z_bar._replace(cotangent=cotangent, quality=passed), instruction)

    def _choose(self, instruction: Instruction, before: _Chosen | None, z_bar: Operand, quality: int) -> None:
        """The rules of `select`, whose cotangents are chosen by its mask, among those that were chosen before."""
        mask, *values = instruction.inputs
        for i, where in zip(values, (True, False)):
            if not self.active[i]:
                continue
            if before is None:
                self._add_chosen(i, _Chosen(self.value(mask), where, z_bar, quality), instruction)
            elif before.mask._id != mask:
                both = (before.mask, before.where), (self.value(mask), where)
                joined = LOGICAL_AND(*(m if is_so else LOGICAL_NOT(m) for m, is_so in both))
                self._add_chosen(i, before._replace(mask=joined, where=True), instruction)
            elif before.where is where:
                self._add_chosen(i, before, instruction)

    def _add_chosen(self, operand: int, chosen: _Chosen, instruction: Instruction) -> None:
        """Add to the cotangent of an operand; as an array where the operand was broadcast."""
        shape = self.tape.instructions[operand].type.shape
        if shape == instruction.type.shape == np.shape(chosen.cotangent):
            self.add(operand, chosen, MAYBE_DISCARDED)
        else:
            self.add(operand, unbroadcast(chosen.selected(), shape), MAYBE_DISCARDED)

    def _apply_square_rules(self, number: int, instruction: Instruction) -> None:
        """As above, for the cotangent of the value's square."""
        op = declared_op(instruction)
        self.recorder.site = instruction.site
        square_bar, qualities = self.squares.total(number)
        quality = NONZERO if NONZERO in qualities else max(qualities)
        named = op.named(instruction.params)
        inputs = [self.value(i) for i in instruction.inputs]
        lead = self.squares.leads[number]
        for k, (i, rule) in enumerate(zip(instruction.inputs, square_rules(instruction, lead))):
            if rule is None or not self.active[i]:
                continue
            cotangent = self._passed_to(i, op, square_bar, rule(square_bar, self.value(number), *inputs, **named), quality)
            if k == lead:
                passed = MAYBE_DISCARDED if op.masks else quality
                self.squares.pending.setdefault(i, []).append((cotangent, passed))
            else:
                self.add(i, cotangent, quality)

    def _passed_to(self, operand: int, op: Op, z_bar: Operand, cotangent: Operand, quality: int) -> Operand:
        """The result of a rule in the form in which it is added to the operand's cotangent: guarded, and summed over broadcast axes."""
        if not isinstance(op, Elementwise):
            return cotangent
        return unbroadcast(self._guarded(op, z_bar, cotangent, quality), self.tape.instructions[operand].type.shape)

    def _guarded(self, op: Op, z_bar: Operand, cotangent: Operand, quality: int) -> Operand:
        """A discarded branch contributes exactly 0, whatever its derivative: 0 times infinity must not be NaN.

        A finite product is left alone, as its own derivative is not 0 where the cotangent only happens to be.
        """
        if quality == NONZERO or op.linear or not isinstance(op, Elementwise):
            return cotangent
        self.hides_not_yet_seeded |= quality == NOT_YET_SEEDED
        return SELECT(LOGICAL_AND(EQUAL(z_bar, 0.0), IS_NAN(cotangent)), 0.0, cotangent)


def multiplies_by_finite(tape: Tape, instruction: Instruction) -> bool:
    """x * c and x / c by a finite constant: nothing that could turn a zero cotangent into NaN."""
    x, y = (tape.instructions[i] for i in instruction.inputs) if len(instruction.inputs) == 2 else (instruction, instruction)
    if instruction.op is DIVIDE:
        return y.op is CONSTANT and _is_finite(y.params[0]) and bool(y.params[0].all())
    return instruction.op is MULTIPLY and any(c.op is CONSTANT and _is_finite(c.params[0]) for c in (x, y))


def _is_finite(value: np.ndarray) -> bool:
    return math.isfinite(value) if value.shape == () else bool(np.isfinite(value).all())
