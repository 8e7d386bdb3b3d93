"""Adds the adjoint instructions of a tape to the tape itself: derivatives are ordinary instructions.

Rules are called on tracked values of a recorder that knows types only, so no arithmetic is done here and the result is folded,
fused and compiled, or differentiated again, like any other tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidTape
from ..instruction import CONSTANT, GUARD, INPUT, Instruction, ValueType
from ..ops import Elementwise, Op
from ..ops.arithmetic import DIVIDE, MULTIPLY
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
    recorder = Recorder(tape.name, concrete=False)
    with recorder:
        recorder.instructions.extend(tape.instructions)
        recorder.inputs.extend(tape.inputs)
        recorder.active_inputs.extend(tape.active_inputs)
        recorder.guard_count = len(tape.guards)
        adjoints = _Adjoints(tape, recorder, {tape.inputs[k] for k in wrt})
        output_type = tape.instructions[output].type
        # Tracked even when it is 1, so that rules broadcast it as an instruction and not as an array of ones.
        one = np.ones(output_type.shape, output_type.dtype)
        start = recorder.input(one, active=True) if seed else recorder.tracked_constant(one)
        adjoints.add(output, start, masked=False)
        adjoints.propagate()
        outputs = [output] if keep_outputs else []
        for k in wrt:
            outputs.append(_result(recorder, adjoints.total(tape.inputs[k])[0], tape.instructions[tape.inputs[k]].type))
    return Tape(
        tuple(recorder.instructions),
        tuple(recorder.inputs),
        tuple(outputs),
        tape.name,
        tuple(recorder.active_inputs),
        True,
    )


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
        # Values whose cotangent may be an exact zero because something downstream discarded them.
        self.masked: set[int] = set()

    def value(self, number: int) -> TrackedArray:
        return TrackedArray(self.recorder, number, None, self.tape.instructions[number].type)

    def add(self, number: int, cotangent: Any, masked: bool) -> None:
        if cotangent is None or not self.active[number]:
            return
        if isinstance(cotangent, Part):
            self.parts.setdefault(number, []).append(cotangent)
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
        total = dense[0]
        for term in dense[1:]:
            total = total + term
        return total, number in self.masked

    def propagate(self) -> None:
        for number in range(len(self.tape.instructions) - 1, -1, -1):
            if not self.active[number] or (number not in self.dense and number not in self.parts):
                continue
            instruction = self.tape.instructions[number]
            if instruction.op is INPUT:
                continue
            z_bar, masked = self.total(number)
            if z_bar is not None:
                self.recorder.site = instruction.site
                with np.errstate(all="ignore"):
                    self._apply_rules(number, instruction, z_bar, masked)
        self.recorder.site = None

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
        elif type_.dtype.kind != "f":
            active.append(False)
        elif callable(op.vjp):
            active.append(any(active[i] for i in inputs))
        else:
            active.append(any(active[i] and rule is not None for i, rule in zip(inputs, op.vjp)))
    return active
