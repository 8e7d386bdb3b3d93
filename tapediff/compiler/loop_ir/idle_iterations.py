"""Loops of a callee whose last iterations leave every carry as it is: those of entries that do not exist, which a mask tells.

The callee's tape is evaluated with what is known of its streams beyond an end: each carry has to come out as it went in. A loop that
goes backwards begins there, so its carries then have their first values; of another one, a carry may change that nothing reads after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...ir.instruction import BOOL, CONSTANT, GUARD, INPUT, Instruction, Primitive
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.arrays.indexing import ASSEMBLE, GATHER, PUT, SCATTER_ADD
from ...ops.arrays.reductions import SUM
from ...ops.control.callee import Callee
from ...ops.control.loop_forms import LoopForm
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_OR, SELECT
from ...ops.matrices.products import MATMUL
from .beyond import NO_ENDS, Beyond, Carry, Ends, EntryOf, Known, evaluated


class Idle(NamedTuple):
    """The effects of a loop's iterations from an end on.

    Attributes:
        ends: of the iterations that change a carry; None if it is not known.
        changed: the carries that other iterations change as well; `ends` is right if nothing reads their last values.
        carries: the carries that have one value in all iterations.
        outputs: what is known of the callee's other outputs beyond.
    """

    ends: Ends | None
    changed: frozenset[int]
    carries: dict[int, Beyond]
    outputs: list[Known]


def idle_iterations(callee: Callee, form: LoopForm, streams: Mapping[int, Known], first: Mapping[int, Known]) -> Idle | None:
    """Find the effects of a loop beyond the entries that exist; None if nothing is known.

    Args:
        streams: by input of the callee, the value beyond an end.
        first: by carry, its value before the first iteration, if it is a constant.
    """
    if form.length is None or form.stops or form.variant_given or form.returns_variants or not callee.is_compiled or callee.may_branch:
        return None
    tape = callee.only_tape()
    if tape is None or any(i.op is GUARD for i in tape.instructions):
        return None
    fixed = {}
    for k, value in first.items():
        made = tape.instructions[tape.outputs[k]]
        if isinstance(value, Beyond) and made.op is CONSTANT and np.all(made.params[0] == value.value):
            fixed[k] = value
    beyond = NO_ENDS.union(*(one.ends for one in streams.values() if isinstance(one, Beyond)))
    of_carries: dict[int, Known] = {k: Carry(NO_ENDS, k) for k in range(form.carries)}
    if form.backwards:
        of_carries |= {k: one._replace(ends=beyond) for k, one in first.items() if isinstance(one, Beyond)}
    while True:
        given, known = {**of_carries, **fixed, **streams}, list[Known]()
        for instruction in tape.instructions:
            known.append(_value(instruction, known, given, tape))
        found = {k: _kept(known[tape.outputs[k]], of_carries[k]) for k in of_carries if k not in fixed}
        others = {k for k, end in found.items() if end is None and of_carries[k] is not None}
        if not others:
            break
        # At first, whether it keeps any value, not its first one alone.
        of_carries |= {k: None if isinstance(of_carries[k], Carry) else Carry(NO_ENDS, k) for k in others}
    changed = frozenset(k for k, end in found.items() if end is None)
    ends = None if changed and form.backwards else NO_ENDS.union(*(end for end in found.values() if end))
    return Idle(ends, changed, fixed, [known[output] for output in tape.outputs[form.carries :]])


def _kept(after: Known, before: Known) -> Ends | None:
    """The end from which a carry comes out of an iteration as it went in; None if it does not."""
    if isinstance(after, (Beyond, Carry)) and isinstance(before, type(after)) and after[1] == before[1]:
        return after.ends
    return None


def _value(instruction: Instruction, known: list[Known], inputs: Mapping[int, Known], tape: Tape) -> Known:
    op = instruction.op
    if op is INPUT:
        return inputs.get(instruction.params[0])
    if op is CONSTANT:
        array = np.asarray(instruction.params[0])
        return Beyond(NO_ENDS, array.flat[0]) if array.size and (array == array.flat[0]).all() else None
    given = [known[k] for k in instruction.inputs]
    if isinstance(op, Elementwise):
        found = evaluated(op.scalar, dict(zip(op.arguments, given)))
        changes = isinstance(found, Carry) and tape.input_types[found.number] != instruction.type
        return None if changes else found
    if op is GATHER or op is PUT or op is SCATTER_ADD:
        return _at_positions(op, instruction.inputs, given)
    if len(given) == 1 and isinstance(given[0], EntryOf) and op.moves and instruction.type.size == 1:
        return given[0]
    values = [one for one in given if isinstance(one, Beyond)]
    zeros = [one for one in values if one.value == 0]
    # Copies of one number; sums and parts of zeros; and products with these.
    is_copy = isinstance(op, Op) and op.moves and len(values) == len(given) > 0 and all(one.value == values[0].value for one in values)
    if is_copy or (op in (SUM, ASSEMBLE) and len(zeros) == len(given) > 0):
        return values[0]._replace(ends=NO_ENDS.union(*(one.ends for one in values)))
    # As in beyond.py, not where entries exist.
    return next((zero for zero in zeros if zero.ends), None) if op is MATMUL else None


def _at_positions(op: Primitive, inputs: tuple[int, ...], given: list[Known]) -> Known:
    """The facts about entries that are read or written at positions that data decide."""
    first, *others = given
    if op is SCATTER_ADD:
        return first if isinstance(first, Beyond) and first.value == 0 else None
    if not isinstance(first, Carry):
        return None
    if op is GATHER:
        return EntryOf(first.ends, (first.number, inputs[1]))
    # Writes what is there.
    value = others[0]
    if isinstance(value, EntryOf) and value.place == (first.number, inputs[2]):
        return first._replace(ends=first.ends | value.ends)
    return None


def with_constants(callee: Callee, values: Mapping[int, bool]) -> Callee:
    """A callee with the same inputs, some of which have one value in all iterations: what they select is selected."""
    tape = callee.only_tape()
    assert tape is not None, "it has been evaluated"
    return callee.once(("constants", *sorted(values.items())), lambda: callee.fixed(_selected(tape, values)))


def _selected(tape: Tape, values: Mapping[int, bool]) -> Tape:
    made, known, inputs = Rewriter(tape), dict[int, np.ndarray](), dict[int, int]()
    for old, instruction in enumerate(tape.instructions):
        op, given, type_ = instruction.op, instruction.inputs, instruction.type
        new = made.copy(old)
        if op is INPUT:
            inputs[old] = new
            if instruction.params[0] in values:
                known[old] = np.full(type_.shape, values[instruction.params[0]])
        elif op is SELECT and given[0] in known and (known[given[0]] == known[given[0]].flat[0]).all():
            chosen = given[1 if known[given[0]].flat[0] else 2]
            if tape.instructions[chosen].type == type_:
                made.number[old] = made.number[chosen]
        elif isinstance(op, Elementwise) and given and type_.dtype == BOOL:
            held = [known.get(k) for k in given]
            # One operand of a conjunction or a disjunction may decide.
            decides = {LOGICAL_AND: False, LOGICAL_OR: True}.get(op)
            if all(one is not None for one in held):
                known[old] = np.broadcast_to(op.evaluate(*held, *instruction.params), type_.shape)
            elif any(one is not None and (one == decides).all() for one in held):
                known[old] = np.full(type_.shape, decides)
        if old in known:
            made.number[old] = made.constant(known[old], type_)
    return replace(made.finish(), inputs=tuple(inputs[k] for k in tape.inputs))
