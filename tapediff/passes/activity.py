"""Activity: the values of a tape that depend differentiably on others."""

from __future__ import annotations

from ..ir.instruction import CONSTANT, GUARD, INPUT, Instruction
from ..ir.tape import Tape
from ..ops.control.calls import TupleOp
from ..ops.declaration.op import Op
from .columns import as_columns, first_two

# Bit set: the operands that the result depends on differentiably. _MORE: check each operand. _GIVEN: active only if it is a source.
_FIRST, _SECOND, _MORE, _GIVEN = 1, 2, 4, -1


def active_values(tape: Tape, sources: set[int]) -> list[bool]:
    """Mark the values that depend differentiably on the sources."""
    columns = as_columns(tape.instructions)
    templates, ways = columns.templates, [_way(template) for template in columns.templates]
    first, second = first_two(columns)
    # One more, for absent operands.
    active = [False] * (first.size + 1)
    for number, template, i, j in zip(range(first.size), columns.which.tolist(), first.tolist(), second.tolist()):
        way = ways[template]
        if way == _GIVEN:
            active[number] = number in sources
        elif way & _MORE:
            op, inputs, *_ = templates[template]
            rules = op.vjp if isinstance(op, Op) and not callable(op.vjp) else inputs
            active[number] = any(active[i] and rule is not None for i, rule in zip(inputs, rules))
        elif way:
            active[number] = (way & _FIRST > 0 and active[i]) or (way & _SECOND > 0 and active[j])
    return active[:-1]


def _way(template: Instruction) -> int:
    op, inputs, _, type_, _ = template
    if op is INPUT or op is CONSTANT or op is GUARD:
        return _GIVEN
    if not isinstance(op, TupleOp) and (not type_.is_float or not isinstance(op, Op)):
        return 0
    if len(inputs) > 2:
        return _MORE
    if isinstance(op, TupleOp) or callable(op.vjp):
        return _FIRST | _SECOND
    return sum(1 << k for k, rule in enumerate(op.vjp[:2]) if rule is not None)
