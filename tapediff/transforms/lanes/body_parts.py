"""Parts of the body of a loop, as bodies of other loops."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.source_location import Site
from ...ir.instruction import INPUT, Param, TupleType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.control.calls import GET, LOOP, LoopForm, loop_items


def part_of_body(body: Tape, inputs: Sequence[int], outputs: Sequence[int], wanted: Sequence[int]) -> Tape:
    """Return a tape of some instructions of a body, in their order, with values of the body as inputs."""
    made = Rewriter(body)
    for position, old in enumerate(inputs):
        made.number[old] = made.emit(INPUT, (), (position,), body.instructions[old].type, None)
    given = set(inputs)
    for old in wanted:
        if old not in given and body.instructions[old].op is not INPUT:
            made.number[old] = made.copy(old)
    active = tuple(k for k, old in enumerate(inputs) if body.instructions[old].type.is_float)
    numbers = tuple(made.number[old] for old in inputs)
    return Tape(tuple(made.instructions), numbers, tuple(made.number[v] for v in outputs), body.name, active, True)


def emit_loop(made: Rewriter, callee: Param, form: LoopForm, operands: Sequence[int], site: Site | None) -> list[int]:
    """Emit a loop; return its items."""
    type_ = TupleType(loop_items(callee, form))
    number = made.emit(LOOP, tuple(operands), (callee, form), type_, site)
    return [made.emit(GET, (number,), (k,), item, site) for k, item in enumerate(type_.items)]
