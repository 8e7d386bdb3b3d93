"""Scalar replacement of small carried arrays: a loop carries their entries as numbers.

The state of a model is often a vector computed entry by entry in each iteration; as numbers its entries stay in registers:

    for y in ys:                             for y in ys:
        x = [x[0] + dt x[1], f(x, y)]    →       a, b = a + dt b, f(a, b, y)
                                             x = [a, b]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....ir.instruction import INPUT, Instruction, TupleType, ValueType, item_types
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import ASSEMBLE, INDEX, REPLACE, Region
from ....ops.arrays.regions import Regions
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, RECALL, LoopForm, loop_items

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
    if LOOP not in tape.ops:
        return tape
    plans = {n: plan for n, i in tape.numbered(LOOP) if (plan := _plan(*i.params)) is not None}
    if not plans:
        return tape
    made = Rewriter(tape)
    for number, instruction in enumerate(tape.instructions):
        op, inputs, params, type_, site = instruction
        if number in plans:
            made.number[number] = _loop(made, instruction, plans[number])
        elif op is GET and inputs[0] in plans:
            plan, loop = plans[inputs[0]], made.number[inputs[0]]
            places, k = plan.places, params[0]
            if k >= len(plan.sizes) or not plan.sizes[k]:
                place = places[k] if k < len(plan.sizes) else k - len(plan.sizes) + places[-1]
                made.number[number] = made.emit(GET, (loop,), (place,), type_, site)
                continue
            items = item_types(made.instructions[loop])
            numbers = [made.emit(GET, (loop,), (place,), items[place], site) for place in range(places[k], places[k + 1])]
            made.number[number] = _assembled(made, numbers, type_)
        else:
            made.number[number] = made.copy(number)
    return made.finish()


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.stops or form.variant_given or form.saves_carries or form.length is None or callee.may_branch or not callee.is_compiled:
        return None
    return callee.once(("split carries", form.carries), lambda: _made(callee, form.carries))


def _made(callee: Callee, carries: int) -> Plan | None:
    whole = callee.only_tape()
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
    made, inputs = Rewriter(body), list[int]()
    numbers: dict[int, list[int]] = {}

    def add(type_: ValueType) -> int:
        inputs.append(made.emit(INPUT, (), (len(inputs),), type_, None))
        return inputs[-1]

    for k, old in enumerate(body.inputs):
        type_ = body.instructions[old].type
        found = entries[k] if k < len(entries) else None
        if found is None:
            made.number[old] = add(type_)
        else:
            numbers[old] = [add(ValueType((), type_.dtype)) for _ in found]
    results = {body.outputs[k]: (body.inputs[k], found) for k, found in enumerate(entries) if found is not None}

    def handed_on(given: int, found: list[Entry]) -> list[int]:
        return [numbers[given][at] if kind == "given" else made.number[at] for kind, at in found]

    for number, (op, operands, params, type_, _) in enumerate(body.instructions):
        if op is INDEX and operands[0] in numbers:
            made.number[number] = numbers[operands[0]][params[0].starts[0]]
        elif number in results:
            made.number[number] = _assembled(made, handed_on(*results[number]), type_)
        elif op is not INPUT:
            made.number[number] = made.copy(number)
    outputs: list[int] = []
    for k, number in enumerate(body.outputs):
        found = entries[k] if k < len(entries) else None
        outputs += [made.number[number]] if found is None else handed_on(body.inputs[k], found)
    active = tuple(k for k, n in enumerate(inputs) if made.instructions[n].type.is_float)
    return Tape(tuple(made.instructions), tuple(inputs), tuple(outputs), body.name, active, True)


def _assembled(made: Rewriter, numbers: list[int], type_: ValueType) -> int:
    """Assemble an array of numbers."""
    regions = Regions([Region((j,), (1,), (1,), ()) for j in range(len(numbers))])
    return made.emit(ASSEMBLE, tuple(numbers), (regions, type_.shape, True), type_, None)


def _loop(made: Rewriter, loop: Instruction, plan: Plan) -> int:
    form: LoopForm = loop.params[1]
    operands = [made.number[i] for i in loop.inputs]
    carries: list[int] = []
    for operand, size in zip(operands[form.leading :], plan.sizes):
        type_ = ValueType((), made.instructions[operand].type.dtype)
        regions = [Region((j,), (1,), (1,), ()) for j in range(size)]
        carries += [made.emit(INDEX, (operand,), (region,), type_, loop.site) for region in regions] if size else [operand]
    form = replace(form, carries=len(carries))
    inputs = (*operands[: form.leading], *carries, *operands[form.leading + len(plan.sizes) :])
    return made.emit(LOOP, inputs, (plan.callee, form), TupleType(loop_items(plan.callee, form)), loop.site)
