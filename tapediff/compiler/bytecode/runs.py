"""Which operations of a long tape run together, in both sweeps: those that are alike, have the same adjoint and need nothing of each other.

    elements → a key for each operation: its form, and what its adjoint is → runs of operations with one key

What is not active, or does not reach the result, has no adjoint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir.instruction import INPUT
from ...ir.tape import Tape
from ...ops.arrays.indexing import INDEX
from ...ops.arrays.regions import Region, cover
from ...ops.declaration.op import Elementwise, Op
from ...ops.elementwise.comparison import SELECT
from ...passes.activity import active_values
from ...passes.simplify.smooth_squares import Squares
from ...transforms.reverse import multiplies_by_finite
from .elements import Elements, Form, Unsuited

# Bits of a key behind the number of a form: which operands get a cotangent, and whether the adjoint selects exact zeros.
OPERANDS = 4
GUARDED = 1 << OPERANDS
KEYS = 2 * GUARDED


def keys_of(tape: Tape, elements: Elements, wrt: Sequence[int] | None) -> np.ndarray:
    """By operation: its form, and what its adjoint is."""
    forms = np.array(elements.form_of, np.int64) * KEYS
    if not wrt:
        return forms
    if tape.output_types[0].shape != ():
        raise Unsuited
    guarded = _guarded(tape, {tape.inputs[k] for k in wrt})
    wanted = np.array(_wanted(tape, elements, wrt), np.int64)
    return forms + wanted + GUARDED * (guarded[np.array(elements.makers, np.int64)] & (wanted > 0))


def _wanted(tape: Tape, elements: Elements, wrt: Sequence[int]) -> list[int]:
    """By operation, the operands to whose cotangents it adds, as bits."""
    rule_bits = [_rule_bits(form) for form in elements.forms]
    active = bytearray(len(elements.kinds))
    for k in wrt:
        first, size = elements.inputs[k]
        active[first : first + size] = b"\1" * size
    wanted: list[int] = []
    for form, row, result in zip(elements.form_of, elements.rows, elements.results):
        bits = active[row[0]]
        if len(row) > 1:
            bits |= active[row[1]] << 1
            for k in range(2, len(row)):
                bits |= active[row[k]] << k
        bits &= rule_bits[form]
        wanted.append(bits)
        if bits:
            active[result] = 1
    reached = bytearray(len(elements.kinds))
    reached[elements.ids[tape.outputs[0]]] = 1
    for k in range(len(wanted) - 1, -1, -1):
        bits = wanted[k]
        if bits:
            if not reached[elements.results[k]]:
                wanted[k] = 0
                continue
            for operand in elements.rows[k]:
                if bits & 1:
                    reached[operand] = 1
                bits >>= 1
    return wanted


def _rule_bits(form: Form) -> int:
    op = form.op
    if form.kind != "f64" or not isinstance(op, Op) or callable(op.vjp):
        return 0
    if len(form.kinds) > OPERANDS:
        raise Unsuited
    return sum(1 << k for k, rule in enumerate(op.vjp) if rule is not None and form.kinds[k] == "f64")


def _guarded(tape: Tape, sources: set[int]) -> np.ndarray:
    """By instruction: whether its cotangent may be an exact zero of something discarded, which its adjoint must not make NaN of. As in
    transforms/reverse.py; transforms/cotangents.py explains the qualities. Raises Unsuited where there are rules of its own."""
    instructions = tape.instructions
    found = np.zeros(len(instructions), bool)
    used = {instruction[0] for instruction in instructions}
    if any(op.squared is not None for op in used) and any(map(Squares(tape).is_square, instructions)):
        raise Unsuited
    # Entries of the inputs are parts of what needs no cotangent but their own.
    reads_parts = INDEX in used and any(i[0] is INDEX and instructions[i[1][0]][0] is not INPUT for i in instructions)
    if not reads_parts and not any(isinstance(op, Op) and op.masks and op is not INDEX for op in used):
        return found
    active = active_values(tape, sources)
    if SELECT in used and any(i.op is SELECT and active[n] for n, i in enumerate(instructions)):
        raise Unsuited
    # 0: no cotangent yet, 1: perhaps discarded, 2: not.
    quality = bytearray(len(instructions))
    quality[tape.outputs[0]] = 2
    parts: dict[int, list[Region]] = {}
    for number in range(len(instructions) - 1, -1, -1):
        op, inputs, *_ = instruction = instructions[number]
        if not active[number] or op is INPUT:
            continue
        if number in parts:
            own = 2 if quality[number] != 1 and cover(parts[number], instruction.type.shape) else 1
            quality[number] = max(quality[number], own)
        if not quality[number] or not isinstance(op, Op):
            continue
        passed = 1 if op.masks and op is not INDEX else quality[number]
        multiplies = isinstance(op, Elementwise) and not op.linear and not multiplies_by_finite(tape, instruction)
        found[number] = multiplies and quality[number] == 1
        for k, i in enumerate(inputs):
            if not active[i] or (not callable(op.vjp) and op.vjp[k] is None):
                continue
            if op is INDEX:
                if instructions[i].op is not INPUT:
                    parts.setdefault(i, []).append(instruction.params[0])
                    quality[i] = max(quality[i], passed) if passed == 1 else quality[i]
            else:
                quality[i] = max(quality[i], passed)
    return found


@dataclass(frozen=True, slots=True)
class Runs:
    """Operations in runs.

    Attributes:
        of: by operation, the number of its run.
        keys: by run, the key of its operations.
    """

    of: np.ndarray
    keys: list[int]


def grouped(elements: Elements, keys: Sequence[int]) -> Runs:
    """Every operation in the first run of its key behind those that make its operands; guards in their order."""
    run_of, runs, of = [-1] * len(elements.kinds), list[int](), list[int]()
    runs_of: dict[int, list[int]] = {}
    last_guard = 0
    for key, row, result in zip(keys, elements.rows, elements.results):
        earliest = run_of[row[0]]
        if len(row) > 1:
            other = run_of[row[1]]
            earliest = other if other > earliest else earliest
            if len(row) > 2:
                earliest = max([earliest, *[run_of[operand] for operand in row[2:]]])
        earliest += 1
        if result < 0 and earliest < last_guard:
            earliest = last_guard
        numbers = runs_of.get(key)
        if numbers is None:
            numbers = runs_of[key] = []
        if numbers and numbers[-1] >= earliest:
            number = numbers[bisect_left(numbers, earliest)]
        else:
            number = len(runs)
            numbers.append(number)
            runs.append(key)
        of.append(number)
        if result >= 0:
            run_of[result] = number
        else:
            last_guard = number
    return Runs(np.array(of, np.int64), runs)
