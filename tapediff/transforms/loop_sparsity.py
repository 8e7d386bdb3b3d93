"""Index sets through loops: a result of an iteration depends on the entries of that iteration, and through its carries on those before.

A carry that is replaced in each iteration, not updated, remembers one iteration: a chain has the sparse Hessian of a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ..ir.instruction import INPUT, Instruction, ValueType, item_types
from ..ir.tape import Tape
from ..ops.control.callee import Callee
from ..ops.control.loop_forms import LoopForm
from .sparsity_rules import Pattern


class IndexSets(Protocol):
    """The index sets of a tape's values so far; see sparsity.py."""

    tape: Tape
    sets: list[Pattern | None]
    columns: int

    def size(self, number: int) -> int: ...
    def union(self, numbers: Sequence[int], size: int) -> Pattern | None: ...
    def grouped(self, number: int, groups: np.ndarray, size: int) -> Pattern | None: ...
    def repeated(self, rows: Pattern, size: int) -> Pattern: ...
    def united(self, x: Pattern | None, y: Pattern | None) -> Pattern | None: ...
    def follows(self, type_: object) -> bool: ...
    def body_of(self, callee: Callee, form: LoopForm) -> Tape | None: ...


def loop_items(patterns: IndexSets, instruction: Instruction) -> list[Pattern | None] | None:
    """Return the index sets of the items of a loop, in order; None if every item depends on everything.

    Args:
        patterns: of the values before.
        instruction: the loop.
    """
    callee, form = instruction.params
    types = item_types(instruction)
    if form.stops or form.length is None or (body := patterns.body_of(callee, form)) is None:
        return None
    operands = instruction.inputs[form.leading :]
    has_sets = [patterns.sets[i] is not None for i in operands]
    reads = _reads(body)
    varying = _varying_carries(body, form, has_sets, reads)
    carried = _remembered(patterns, body, form, operands, varying, reads)
    endless = varying - carried.keys()
    results = len(body.outputs) - form.carries
    found: list[Pattern | None] = []
    for k, type_ in enumerate(types):
        is_result = form.carries <= k < form.carries + results
        read = reads[body.outputs[k]] if k < len(body.outputs) else {k - len(body.outputs)}
        if not isinstance(type_, ValueType) or not patterns.follows(type_):
            found.append(None)
        elif (is_result and not read & endless) or (k >= len(body.outputs) and k - len(body.outputs) in carried):
            rows = _by_iteration(patterns, form, operands, read, carried)
            found.append(None if rows is None else patterns.repeated(rows, type_.size // max(1, form.length or 1)))
        elif k in carried:
            rows = _by_iteration(patterns, form, operands, read, carried)
            last = None if rows is None else rows[:1] if form.backwards else rows[-1:]
            found.append(None if last is None else patterns.repeated(last, type_.size))
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


def _remembered(
    patterns: IndexSets, body: Tape, form: LoopForm, operands: Sequence[int], varying: set[int], reads: Sequence[set[int]]
) -> dict[int, Pattern | None]:
    """Return the index sets, by iteration, of the carries that depend on a few iterations before: those that read no circle of carries."""
    known: dict[int, Pattern | None] = {}
    while form.length:
        ready = [k for k in varying - known.keys() if reads[body.outputs[k]] & varying <= known.keys()]
        if not ready:
            break
        for k in ready:
            left = _by_iteration(patterns, form, operands, reads[body.outputs[k]], known)
            known[k] = _handed_on(patterns, operands[k], left, form)
    return known


def _handed_on(patterns: IndexSets, initial: int, left: Pattern | None, form: LoopForm) -> Pattern | None:
    """Return the index sets of a carry at the start of each iteration: those that the iteration before left, or the initial ones."""
    from scipy.sparse import csr_array, vstack

    if left is None and patterns.sets[initial] is None:
        return None
    columns = patterns.columns
    first = csr_array((1, columns), dtype=bool) if patterns.sets[initial] is None else patterns.union([initial], 1)
    others = csr_array(((form.length or 1) - 1, columns), dtype=bool)
    if left is not None:
        others = left[1:] if form.backwards else left[:-1]
    return vstack([others, first] if form.backwards else [first, others], format="csr")


def _by_iteration(
    patterns: IndexSets, form: LoopForm, operands: Sequence[int], read: set[int], carried: Mapping[int, Pattern | None]
) -> Pattern | None:
    """Return the index sets of a value of the body: in each row what streams, carries and constants contribute in that iteration."""
    result, length = None, form.length or 0
    for position in sorted(read):
        number = operands[position]
        if position < form.carries:
            rows = carried.get(position)
        elif patterns.sets[number] is None:
            rows = None
        elif position < form.carries + form.streams:
            groups = np.repeat(np.arange(length), patterns.size(number) // max(1, length))
            rows = patterns.grouped(number, groups, 1)
        else:
            rows = patterns.union([number], length)
        result = patterns.united(result, rows)
    return result
