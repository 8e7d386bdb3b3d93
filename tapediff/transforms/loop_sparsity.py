"""Index sets through loops: a carry-independent result of an iteration depends only on the entries of that iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..ir.instruction import INPUT, Instruction, ValueType, item_types
from ..ir.tape import Tape
from ..ops.control.loop_forms import LoopForm
from .sparsity_rules import Pattern


class IndexSets(Protocol):
    """The index sets of a tape's values so far; see sparsity.py."""

    tape: Tape
    sets: list[Pattern | None]

    def size(self, number: int) -> int: ...
    def union(self, numbers: Sequence[int], size: int) -> Pattern | None: ...
    def grouped(self, number: int, groups: np.ndarray, size: int) -> Pattern | None: ...
    def united(self, x: Pattern | None, y: Pattern | None) -> Pattern | None: ...


def loop_items(patterns: IndexSets, instruction: Instruction) -> list[Pattern | None] | None:
    """Return the index sets of the items of a loop, in order; None if every item depends on everything.

    Args:
        patterns: of the values before.
        instruction: the loop.
    """
    callee, form = instruction.params
    types = item_types(instruction)
    if callee.may_branch or form.stops or form.length is None or not form.single_variant:
        return None
    body: Tape = callee.variant_tape(0)
    operands = instruction.inputs[form.leading :]
    has_sets = [patterns.sets[i] is not None for i in operands]
    reads = _reads(body)
    varying = _varying_carries(body, form, has_sets, reads)
    results = len(body.outputs) - form.carries
    found: list[Pattern | None] = []
    for k, type_ in enumerate(types):
        is_result = form.carries <= k < form.carries + results
        read = reads[body.outputs[k]] if k < len(body.outputs) else {k - len(body.outputs)}
        if not isinstance(type_, ValueType) or not type_.is_float:
            found.append(None)
        elif is_result and not read & varying:
            found.append(_own_iteration(patterns, form, operands, read, type_))
        elif read & varying or any(has_sets[position] for position in read):
            found.append(patterns.union([i for i in operands if patterns.sets[i] is not None], type_.size))
        else:
            found.append(None)
    return found


def _reads(body: Tape) -> list[set[int]]:
    """Return, by value of a body, the positions of the inputs that it depends on."""
    reads: list[set[int]] = []
    for op, inputs, params, _, _ in body.instructions:
        reads.append({params[0]} if op is INPUT else set().union(*(reads[i] for i in inputs)))
    return reads


def _varying_carries(body: Tape, form: LoopForm, has_sets: Sequence[bool], reads: Sequence[set[int]]) -> set[int]:
    """The carries that have index sets in some iteration."""
    with_sets = {position for position, has in enumerate(has_sets) if has}
    varying = {k for k in range(form.carries) if has_sets[k]}
    while True:
        more = {k for k in range(form.carries) if reads[body.outputs[k]] & (varying | with_sets)} - varying
        if not more:
            return varying
        varying |= more


def _own_iteration(patterns: IndexSets, form: LoopForm, operands: Sequence[int], read: set[int], type_: ValueType) -> Pattern | None:
    """Return the index sets of a stacked result: each row depends on that row of the streams, and on all constants."""
    result = None
    row = type_.size // max(1, form.length or 1)
    for position in sorted(read):
        number = operands[position]
        if patterns.sets[number] is None:
            continue
        if position < form.carries + form.streams:
            groups = np.repeat(np.arange(form.length or 0), patterns.size(number) // max(1, form.length or 1))
            rows = patterns.grouped(number, groups, row)
        else:
            rows = patterns.union([number], type_.size)
        result = patterns.united(result, rows)
    return result
