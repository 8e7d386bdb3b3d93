"""Callees of rolled loops: one for each distinct body."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence

from ...base.fork_locks import new_lock
from ...base.held_locks import holding
from ...ir.instruction import CONSTANT, Instruction, Operand
from ...ir.tape import Tape
from .callee import Callee, TapeCallee, without_guards
from .inlined_callee import InlinedCallee, branching_calls


class BodyCallee(TapeCallee):
    """A callee with one tape, which may call others."""

    def plain_tape(self, number: int, inputs: Sequence[Operand] | None) -> Tape:
        return without_guards(self._tape)


_lock = new_lock()
_callees: weakref.WeakValueDictionary[Hashable, Callee] = weakref.WeakValueDictionary()


@holding(_lock)
def callee_of(tape: Tape) -> Callee:
    """The callee of a loop's body. Equal bodies share one, so they are compiled once and their loops are isomorphic."""
    key = (tuple(map(_key, tape.instructions)), tape.outputs)
    known = _callees.get(key)
    if known is None:
        calls = branching_calls(tape)
        name = f"a loop of {tape.name}"
        known = InlinedCallee(name, tape, calls[0]) if len(calls) == 1 else BodyCallee(name, tape)
        _callees[key] = known
    return known


def _key(instruction: Instruction) -> Hashable:
    op, inputs, params, type_, _ = instruction
    if op is CONSTANT:
        params = (params[0].tobytes(),)
    return op, inputs, params, type_
