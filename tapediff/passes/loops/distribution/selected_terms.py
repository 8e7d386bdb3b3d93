"""Moves a selection between sums into the term: select(c, s + a, s - b) → s + select(c, a, -b).

    s = np.where(r > 0, s + a, s - b)          s = s + np.where(r > 0, a, -b)
"""

from __future__ import annotations

import numpy as np

from ....ir.instruction import BOOL, INPUT, ValueType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.elementwise.arithmetic import ADD, NEGATIVE, SUBTRACT
from ....ops.elementwise.comparison import SELECT


def with_selected_terms(body: Tape, carries: int) -> Tape:
    """Return the tape of an iteration whose first `carries` inputs are carried, with such sums; itself if there are none.

    Cost: linear in its length.
    """
    if SELECT not in body.ops:
        return body
    chains = _chains(body, carries)
    if not chains:
        return body
    made = Rewriter(body)
    # By value of a chain, the amount added to the carry.
    added: dict[int, int | None] = {}
    for number, (op, inputs, _, type_, _) in enumerate(body.instructions):
        if number not in chains:
            made.number[number] = made.copy(number)
        elif op is INPUT:
            made.number[number], added[number] = made.copy(number), None
        elif op is SELECT:
            sides = tuple([_or_zeros(made, added[i], type_) for i in inputs[1:]])
            added[number] = made.make(SELECT, (made.number[inputs[0]], *sides))
        else:
            term = made.number[inputs[inputs[0] in chains]]
            term = made.make(NEGATIVE, (term,)) if op is SUBTRACT else term
            known = added[inputs[inputs[0] not in chains]]
            added[number] = term if known is None else made.make(ADD, (known, term))
    for k in range(carries):
        change = added.get(body.outputs[k])
        if change is not None:
            made.number[body.outputs[k]] = made.make(ADD, (made.number[body.inputs[k]], change))
    return made.finish()


def _or_zeros(made: Rewriter, number: int | None, type_: ValueType) -> int:
    return made.constant(np.zeros(type_.shape, type_.dtype)[()], type_) if number is None else number


def _chains(body: Tape, carries: int) -> set[int]:
    """Return the values of chains of additions to a carry, with a selected term, if nothing else reads the carry."""
    carry_of = {n: k for k, n in enumerate(body.inputs[:carries]) if _is_summed(body.instructions[n].type)}
    spoilt, selected = set[int](), set[int]()
    for number, (op, inputs, _, type_, _) in enumerate(body.instructions):
        found = [i for i in inputs if i in carry_of]
        if not found:
            continue
        k = carry_of[found[0]]
        is_sum = op is ADD or (op is SUBTRACT and inputs[0] == found[0])
        is_choice = op is SELECT and [carry_of.get(i) for i in inputs[1:]] == [k, k]
        if type_ == body.instructions[body.inputs[k]].type and ((is_sum and len(found) == 1) or is_choice):
            carry_of[number] = k
            selected.update([k] if is_choice else [])
        else:
            spoilt.update(carry_of[i] for i in found)
    for position, number in enumerate(body.outputs):
        if number in carry_of and carry_of[number] != position:
            spoilt.add(carry_of[number])
    kept = {k for k in selected - spoilt if carry_of.get(body.outputs[k]) == k}
    return {n for n, k in carry_of.items() if k in kept}


def _is_summed(type_: ValueType) -> bool:
    return isinstance(type_, ValueType) and type_.dtype != BOOL
