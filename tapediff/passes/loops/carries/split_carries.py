"""Scalar replacement of small carried arrays: a loop carries their entries as numbers.

The state of a model is often a vector computed entry by entry in each iteration; as numbers its entries stay in registers:

    for y in ys:                             for y in ys:
        x = [x[0] + dt x[1], f(x, y)]    →       a, b = a + dt b, f(a, b, y)
                                             x = [a, b]
"""

from __future__ import annotations

from dataclasses import dataclass

from ....ir.instruction import INPUT, Instruction, ValueType
from ....ir.rewriter import BodyBuilder, Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE
from ....ops.arrays.regions import entries_of_vector
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, RECALL, LoopForm
from ..loop_builder import Items, loop_like, only_body, with_loops

# Each is a register of the loop, and one of the reverse loop.
MOST_NUMBERS = 16
# Larger bodies are left as they are.
LARGEST_BODY = 2_000


@dataclass(frozen=True)
class Plan:
    """How a loop carries numbers.

    Attributes:
        callee: of an iteration.
        sizes: by carry, the number of scalars it becomes; 0 for one that stays as it is.
    """

    callee: Callee
    sizes: tuple[int, ...]

    @property
    def places(self) -> list[int]:
        """Return the position of each carry's first number among all carries, and their total number."""
        found = [0]
        for size in self.sizes:
            found.append(found[-1] + (size or 1))
        return found


def split_carries(tape: Tape) -> Tape:
    """The tape with such loops, also in the bodies of its loops; the tape itself where there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies.
    """
    return with_loops(tape, lambda loop, _: _plan(*loop.params), _emitted)


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.stops or form.variant_given or form.saves_carries or form.length is None:
        return None
    return callee.once(("split carries", form.carries), lambda: _made(callee, form.carries))


def _made(callee: Callee, carries: int) -> Plan | None:
    whole = only_body(callee)
    if whole is None or len(whole) > LARGEST_BODY or any(i.op in (CALL, RECALL) for i in whole.instructions):
        return None
    # Nests are a few loops deep.
    body = split_carries(whole)
    entries = [_entries(body, k) for k in range(carries)]
    if body is whole and not any(entries):
        return None
    sizes = tuple(0 if found is None else len(found) for found in entries)
    return Plan(callee.fixed(_of_numbers(body, entries)), sizes)


# An entry of the carried array: a value of the body, or a position in the array of the previous iteration.
Entry = tuple[str, int]


def _entries(body: Tape, k: int) -> list[Entry] | None:
    """Return the entries of a carry if an iteration reads and computes it only entry by entry."""
    given, result = body.inputs[k], body.outputs[k]
    type_ = body.instructions[given].type
    if not type_.is_float or len(type_.shape) != 1 or not 0 < type_.size <= MOST_NUMBERS or result == given:
        return None
    if given in body.outputs:
        return None
    for number, (op, inputs, _, made, _) in enumerate(body.instructions):
        is_result = op is REPLACE and number == result and given not in inputs[1:]
        if given in inputs and not is_result and not (op is INDEX and made.shape == ()):
            return None
    op, parts, params, _, _ = body.instructions[result]
    if op is REPLACE:
        if parts[0] != given:
            return None
        found: list[Entry | None] = [("given", j) for j in range(type_.size)]
        parts = parts[1:]
    elif op is ASSEMBLE and params[2]:
        found = [None] * type_.size
    else:
        return None
    for part, region in zip(parts, params[0]):
        if region.counts != (1,) or body.instructions[part].type.shape != ():
            return None
        found[region.starts[0]] = "value", part
    return None if None in found else [entry for entry in found if entry is not None]


def _of_numbers(body: Tape, entries: list[list[Entry] | None]) -> Tape:
    """Return the body with scalar carries."""
    made = BodyBuilder(body)
    numbers: dict[int, list[int]] = {}
    for old, found in zip(body.inputs, entries):
        if found is None:
            made.take([old])
        else:
            numbers[old] = [made.add_input(ValueType((), body.instructions[old].type.dtype)) for _ in found]
    made.take(body.inputs[len(entries) :])
    results = {body.outputs[k]: (body.inputs[k], found) for k, found in enumerate(entries) if found is not None}

    def handed_on(given: int, found: list[Entry]) -> list[int]:
        return [numbers[given][at] if kind == "given" else made.number[at] for kind, at in found]

    for number, (op, operands, params, _, _) in enumerate(body.instructions):
        if op is INDEX and operands[0] in numbers:
            made.number[number] = numbers[operands[0]][params[0].starts[0]]
        elif number in results:
            made.number[number] = _assembled(made, handed_on(*results[number]))
        elif op is not INPUT:
            made.copy(number)
    outputs: list[int] = []
    for given, number, found in zip(body.inputs, body.outputs, entries):
        outputs += [made.number[number]] if found is None else handed_on(given, found)
    return made.body((*outputs, *(made.number[n] for n in body.outputs[len(entries) :])))


def _assembled(made: Rewriter, numbers: list[int]) -> int:
    """Assemble an array of numbers."""
    return made.make(ASSEMBLE, tuple(numbers), (entries_of_vector(len(numbers)), (len(numbers),), True))


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    carries, streams, constants = loop.params[1].parts(loop.inputs)
    numbers: list[int] = []
    for operand, size in zip(carries, plan.sizes):
        regions = entries_of_vector(size)
        numbers += [made.make(INDEX, (operand,), (region,)) for region in regions] if size else [operand]
    new, places = loop_like(made, loop, plan.callee, numbers, streams, constants), plan.places

    def item(k: int) -> int:
        if k >= len(plan.sizes) or not plan.sizes[k]:
            return made.make(GET, (new,), (places[k] if k < len(plan.sizes) else k - len(plan.sizes) + places[-1],))
        entries = [made.make(GET, (new,), (place,)) for place in range(places[k], places[k + 1])]
        return _assembled(made, entries)

    return item
