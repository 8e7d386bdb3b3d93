"""Which operations of a long tape run together, in both sweeps: those that are alike, have the same adjoint and need nothing of each other.

    elements → a key for each operation: its form, and what its adjoint is → runs of operations with one key

What is not active, or does not reach the result, has no adjoint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....ir.tape import Tape
from ....ops.arrays.indexing import GATHER
from ....ops.declaration.op import Op
from ....ops.matrices.products import MATMUL
from .discarded import MODES, adjoint_modes
from .several import OF_SEVERAL
from .tables import OPERANDS, Elements, Form, Unsuited

# Bits of a key behind the number of a form: which operands get a cotangent, and what the adjoint does about discarded ones.
ADJOINTS = 1 << OPERANDS
KEYS = MODES * ADJOINTS


def keys_of(tape: Tape, elements: Elements, wrt: Sequence[int] | None) -> np.ndarray:
    """By operation: its form, and what its adjoint is."""
    forms = np.array(elements.form_of, np.int64) * KEYS
    if not wrt:
        return forms
    if tape.output_types[0].shape != ():
        raise Unsuited
    modes = np.frombuffer(adjoint_modes(tape, {tape.inputs[k] for k in wrt}, elements.squares), np.uint8).astype(np.int64)
    wanted = np.array(_wanted(tape, elements, wrt), np.int64)
    return forms + wanted + ADJOINTS * modes[np.array(elements.makers, np.int64)] * (wanted > 0)


def _wanted(tape: Tape, elements: Elements, wrt: Sequence[int]) -> list[int]:
    """By operation, the operands to whose cotangents it adds, as bits."""
    rule_bits = [_rule_bits(form) for form in elements.forms]
    together = [_together(form) for form in elements.forms]
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
        if bits:
            for all_of_them in together[form]:
                if bits & all_of_them:
                    bits |= all_of_them
            active[result] = 1
        wanted.append(bits)
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
    if op in OF_SEVERAL:
        return (1 << len(form.kinds)) - 1
    return sum(1 << k for k, rule in enumerate(op.vjp) if rule is not None and form.kinds[k] == "f64")


@dataclass(frozen=True, slots=True)
class Runs:
    """Operations in runs.

    Attributes:
        of: by operation, the number of its run.
        keys: by run, the key of its operations.
    """

    of: np.ndarray
    keys: list[int]


def _together(form: Form) -> tuple[int, ...]:
    """Operands that have a cotangent if one of them has, so that there are not as many handlers as choices of several operands."""
    if form.op not in OF_SEVERAL:
        return ()
    count = len(form.kinds)
    if form.op is MATMUL:
        row = (1 << count // 2) - 1
        return row, row << count // 2
    return ((1 << count) - 1,)


def grouped(elements: Elements, keys: Sequence[int]) -> Runs:
    """Every operation in the first run of its key behind those that make its operands; guards in their order, and look-ups behind them."""
    lookups = {key for key in set(keys) if elements.forms[key // KEYS].op is GATHER}
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
        if result < 0:
            earliest = max(earliest, last_guard)
        elif key in lookups:
            earliest = max(earliest, last_guard + 1)
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
