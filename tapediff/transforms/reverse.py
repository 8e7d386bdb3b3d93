"""Adds the adjoint instructions of a tape to the tape itself: derivatives are ordinary instructions.

Rules are called on tracked values of a recorder that knows types only, so no arithmetic is done here and the result is folded,
fused and compiled, or differentiated again, like any other tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidTape
from ..instruction import CONSTANT, GUARD, INPUT, Instruction, StackType, ValueType
from ..ops import Elementwise, Op
from ..ops.arithmetic import DIVIDE, MULTIPLY
from ..ops.calls import ITEM, LOOP, ItemPart, LoopForm, RecordOp
from ..ops.comparison import EQUAL, IS_NAN, LOGICAL_AND, SELECT
from ..ops.indexing import Part, assemble
from ..ops.shape import unbroadcast
from ..recorder import Recorder
from ..tape import Tape
from ..tracked import TrackedArray


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
    (output,) = tape.outputs
    recorder = _continued(tape)
    with recorder:
        adjoints = _Adjoints(tape, recorder, {tape.inputs[k] for k in wrt})
        output_type = tape.instructions[output].type
        # Tracked even when it is 1, so that rules broadcast it as an instruction and not as an array of ones.
        one = np.ones(output_type.shape, output_type.dtype)
        start = recorder.input(one, active=True) if seed else recorder.tracked_constant(one)
        adjoints.add(output, start, masked=False)
        adjoints.propagate()
        outputs = [output] if keep_outputs else []
        outputs += adjoints.results(wrt)
    return _finished(recorder, outputs)


def pullback(tape: Tape, wrt: Sequence[int], seeds: Sequence[int], masked: bool) -> Tape:
    """The tape that maps a tape's inputs, and cotangents of its outputs at the positions `seeds`, to cotangents of the inputs `wrt`.

    Args:
        masked: the cotangents may be exact zeros of something that was discarded.
    """
    recorder = _continued(tape)
    with recorder:
        adjoints = _Adjoints(tape, recorder, {tape.inputs[k] for k in wrt})
        for k in seeds:
            type_ = tape.output_types[k]
            adjoints.add(tape.outputs[k], recorder.input(np.ones(type_.shape, type_.dtype), active=True), masked)
        adjoints.propagate()
        outputs = adjoints.results(wrt)
    return _finished(recorder, outputs)


def _continued(tape: Tape) -> Recorder:
    """A recorder that goes on behind a tape's last instruction, knowing types only."""
    recorder = Recorder(tape.name, concrete=False)
    recorder.instructions.extend(tape.instructions)
    recorder.inputs.extend(tape.inputs)
    recorder.active_inputs.extend(tape.active_inputs)
    recorder.guard_count = len(tape.guards)
    return recorder


def _finished(recorder: Recorder, outputs: Sequence[int]) -> Tape:
    inputs, active = tuple(recorder.inputs), tuple(recorder.active_inputs)
    return Tape(tuple(recorder.instructions), inputs, tuple(outputs), recorder.name, active, True)


def _result(recorder: Recorder, cotangent: Any, type_: ValueType) -> int:
    if type(cotangent) is TrackedArray:
        if cotangent.type.shape != type_.shape:
            raise InvalidTape("a cotangent has another shape than its value", got=f"{cotangent.type} for {type_}")
        return cotangent._id
    value = np.broadcast_to(0.0 if cotangent is None else cotangent, type_.shape)
    return recorder.constant(np.array(value, dtype=type_.dtype, order="C"))


class _Adjoints:
    """The cotangents collected so far, and the sweep that carries them from the output to the inputs."""

    def __init__(self, tape: Tape, recorder: Recorder, sources: set[int]) -> None:
        self.tape = tape
        self.recorder = recorder
        self.active = _active_values(tape, sources)
        self.dense: dict[int, list[Any]] = {}
        self.parts: dict[int, list[Part]] = {}
        # Of records, by item.
        self.items: dict[int, dict[int, list[Any]]] = {}
        # Values whose cotangent may be an exact zero because something downstream discarded them.
        self.masked: set[int] = set()

    def value(self, number: int) -> TrackedArray:
        return TrackedArray(self.recorder, number, None, self.tape.instructions[number].type)

    def add(self, number: int, cotangent: Any, masked: bool) -> None:
        if cotangent is None or not self.active[number]:
            return
        if type(cotangent) is TrackedArray:
            self.dense.setdefault(number, []).append(cotangent)
        elif isinstance(cotangent, Part):
            self.parts.setdefault(number, []).append(cotangent)
        elif isinstance(cotangent, ItemPart):
            self.items.setdefault(number, {}).setdefault(cotangent.k, []).append(cotangent.z_bar)
        else:
            self.dense.setdefault(number, []).append(cotangent)
        if masked:
            self.masked.add(number)

    def total(self, number: int) -> tuple[Any, bool]:
        dense = self.dense.pop(number, [])
        parts = self.parts.pop(number, None)
        if parts:
            shape = self.tape.instructions[number].type.shape
            dense.append(assemble([p.z_bar for p in parts], [p.region for p in parts], shape))
        if not dense:
            return None, False
        return self._sum(number, dense), number in self.masked

    def _sum(self, number: int, terms: Sequence[Any]) -> Any:
        total = terms[0]
        if len(terms) == 1:
            return total
        is_stack = isinstance(self.tape.instructions[number].type, StackType)
        for term in terms[1:]:
            total = self._stacks_added(number, total, term) if is_stack else total + term
        return total

    def _stacks_added(self, number: int, x: Any, y: Any) -> Any:
        """The sum of two cotangents of a stack, which is an item of a loop that knows its length."""
        loop = self.tape.instructions[self.tape.instructions[number].inputs[0]]
        callee, form = loop.params
        count = loop.inputs[form.leading - 1]
        if form.stops:
            count_item = len(callee.out_types) - 1
            counted = ITEM(self.value(self.tape.instructions[number].inputs[0]), k=count_item)
        else:
            counted = self.value(count)
        adder = callee.adder(x.type.item)
        record = LOOP(counted, x, y, callee=adder, form=LoopForm(0, 2, 0, None))
        return ITEM(record, k=0)

    def results(self, wrt: Sequence[int]) -> list[int]:
        """The value numbers of the cotangents of the tape's inputs."""
        numbers = [self.tape.inputs[k] for k in wrt]
        return [_result(self.recorder, self.total(i)[0], self.tape.instructions[i].type) for i in numbers]

    def propagate(self) -> None:
        instructions = self.tape.instructions
        # Once for all: entering it for every instruction took a twentieth of the time.
        with np.errstate(all="ignore"):
            for number in range(len(instructions) - 1, -1, -1):
                if not self.active[number]:
                    continue
                instruction = instructions[number]
                if number in self.items:
                    self._apply_record_rule(number, instruction, self.items.pop(number))
                if instruction.op is INPUT or (number not in self.dense and number not in self.parts):
                    continue
                z_bar, masked = self.total(number)
                if z_bar is not None:
                    self.recorder.site = instruction.site
                    self._apply_rules(number, instruction, z_bar, masked)
        self.recorder.site = None

    def _apply_record_rule(self, number: int, instruction: Instruction, items: dict[int, list[Any]]) -> None:
        op: Op = instruction.op
        self.recorder.site = instruction.site
        z_bars: list[Any] = [None] * len(instruction.type.items)  # type: ignore[attr-defined]  # only records have items
        for k, terms in items.items():
            z_bars[k] = sum(terms[1:], terms[0]) if len(terms) > 1 else terms[0]
        inputs = [self.value(i) for i in instruction.inputs]
        active = [self.active[i] for i in instruction.inputs]
        rule: Any = op.vjp
        named = op.named(instruction.params)
        cotangents = rule(z_bars, self.value(number), *inputs, active=active, masked=number in self.masked, **named)
        for i, cotangent in zip(instruction.inputs, cotangents):
            self.add(i, cotangent, True)

    def _apply_rules(self, number: int, instruction: Instruction, z_bar: Any, masked: bool) -> None:
        op: Op = instruction.op
        named = op.named(instruction.params)
        inputs = [self.value(i) for i in instruction.inputs]
        z = self.value(number)
        discards = masked or op.masks
        if callable(op.vjp):
            for i, cotangent in zip(instruction.inputs, op.vjp(z_bar, z, *inputs, **named)):
                self.add(i, cotangent, discards)
            return
        is_elementwise = isinstance(op, Elementwise)
        guarded = masked and is_elementwise and not op.linear and not self._multiplies_by_finite(instruction)
        for i, rule in zip(instruction.inputs, op.vjp):
            if rule is None or not self.active[i]:
                continue
            cotangent = rule(z_bar, z, *inputs, **named)
            if cotangent is None:
                continue
            if guarded:
                # A discarded branch contributes exactly 0, whatever its derivative: 0 times infinity must not be NaN. A finite
                # product is left alone, as its own derivative is not 0 where the cotangent only happens to be.
                cotangent = SELECT(LOGICAL_AND(EQUAL(z_bar, 0.0), IS_NAN(cotangent)), 0.0, cotangent)
            if is_elementwise:
                cotangent = unbroadcast(cotangent, self.tape.instructions[i].type.shape)
            self.add(i, cotangent, discards)

    def _multiplies_by_finite(self, instruction: Instruction) -> bool:
        """x * c and x / c by a finite constant: nothing that could turn a zero cotangent into NaN."""
        x, y = (
            (self.tape.instructions[i] for i in instruction.inputs)
            if len(instruction.inputs) == 2
            else (instruction, instruction)
        )
        if instruction.op is DIVIDE:
            return y.op is CONSTANT and bool(np.isfinite(y.params[0]).all() and y.params[0].all())
        return instruction.op is MULTIPLY and any(c.op is CONSTANT and np.isfinite(c.params[0]).all() for c in (x, y))


def _active_values(tape: Tape, sources: set[int]) -> list[bool]:
    """Which values depend differentiably on the sources."""
    active: list[bool] = []
    for number, (op, inputs, _, type_, _) in enumerate(tape.instructions):
        if op is INPUT or op is CONSTANT or op is GUARD:
            active.append(number in sources)
        elif isinstance(op, RecordOp):
            active.append(any(active[i] for i in inputs))
        elif not type_.is_float:
            active.append(False)
        elif callable(op.vjp):
            active.append(any(active[i] for i in inputs))
        else:
            active.append(any(active[i] and rule is not None for i, rule in zip(inputs, op.vjp)))
    return active
