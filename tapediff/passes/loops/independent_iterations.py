"""Loops of independent iterations become operations on arrays of all iterations, and what they add up becomes a sum of an array.

    s = 0.0
    for x in xs:                       s = np.sum(np.exp(xs))
        s = s + np.exp(x)       →

So td.scan and td.fori_loop take as long as the same loop in plain Python, and round as that one, which passes/rolling/classify_slots.py
takes apart. A loop with a recurrence is left as it is: what it adds up beside that waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...base.source_location import Site
from ...ir.instruction import BOOL, INPUT, Instruction, Operand, Params, Primitive, ValueType
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops.arrays.reductions import SUM
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm
from ...ops.elementwise.arithmetic import ADD, SUBTRACT
from ..rolling.vectorize import LARGEST_ARRAY, Batch, is_batchable, spread

# Shorter loops are left alone; so are larger bodies, and iterations that work on larger arrays, which fill the lanes by themselves.
FEWEST_ITERATIONS, LARGEST_BODY, LARGEST_VALUE = 8, 10_000, 256


@dataclass(frozen=True)
class Plan:
    """How a loop is taken apart.

    Attributes:
        body: the tape of an iteration before.
        sums: by carry, the values of the body that are added to it, with their signs.
        outside: the values of the body that are computed for all iterations at once, or once for all, in order.
        varying: those of the body that differ between iterations.
        direct: results of the loop that are values from outside: their numbers among the outputs, and in the body.
    """

    body: Tape
    sums: dict[int, list[tuple[int, int]]]
    outside: tuple[int, ...]
    varying: frozenset[int]
    direct: dict[int, int]


def independent_iterations(tape: Tape) -> Tape:
    """The tape with such loops taken apart; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops.
    """
    if LOOP not in tape.ops:
        return tape
    plans = {n: p for n, i in enumerate(tape.instructions) if i.op is LOOP and (p := _plan(*i.params)) is not None}
    if not plans:
        return tape
    rewriter, items = Rewriter(tape), dict[int, dict[int, int]]()
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        if number in plans:
            items[number] = _Taken(rewriter, plans[number], tape.instructions[number]).items()
        elif op is GET and inputs[0] in plans:
            rewriter.number[number] = items[inputs[0]][params[0]]
        else:
            rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()


# Which loops


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    is_special = form.stops or form.variant_given or form.saves_carries or form.recomputes
    if form.length is None or form.length < FEWEST_ITERATIONS or is_special or not callee.is_compiled:
        return None
    body = callee.only_tape()
    if body is None or len(body) > LARGEST_BODY:
        return None
    key = ("independent", form.carries, form.streams, form.length)
    return callee.once(key, lambda: _made(body, form))


def _made(body: Tape, form: LoopForm) -> Plan | None:
    sums = _sums(body, form)
    read = {v for terms in sums.values() for v, _ in terms}.union(body.outputs[form.carries :])
    if len(sums) < form.carries or not read.isdisjoint(_left(body, form)):
        return None
    direct = {k: v for k, v in enumerate(body.outputs) if k >= form.carries}
    first = form.carries + form.streams
    varying = set(body.inputs[form.carries : first])
    for n, i in enumerate(body.instructions):
        if any(j in varying for j in i.inputs):
            varying.add(n)
    outside = tuple(n for n in _needed(body, read) if body.instructions[n].op is not INPUT)
    return Plan(body, sums, outside, frozenset(varying), direct)


def _sums(body: Tape, form: LoopForm) -> dict[int, list[tuple[int, int]]]:
    """The carries that iterations only add to: what they add, with signs."""
    readers: dict[int, list[int]] = {}
    for n, i in enumerate(body.instructions):
        for read in i.inputs:
            readers.setdefault(read, []).append(n)
    returned = list(body.outputs)
    found = dict[int, list[tuple[int, int]]]()
    for k in range(form.carries):
        at, terms = body.inputs[k], list[tuple[int, int]]()
        type_ = body.instructions[at].type
        while len(readers.get(at, ())) == 1 and at not in returned:
            op, inputs, _, made, _ = body.instructions[readers[at][0]]
            if (op is not ADD and (op is not SUBTRACT or inputs[0] != at)) or made != type_ or type_.dtype == BOOL:
                break
            terms.append((inputs[1] if inputs[0] == at else inputs[0], -1 if op is SUBTRACT else 1))
            at = readers[at][0]
        if terms and at == body.outputs[k] and not readers.get(at) and returned.count(at) == 1:
            found[k] = terms
    return found


def _left(body: Tape, form: LoopForm) -> set[int]:
    """The values that depend on carries, or cannot be computed for all iterations at once."""
    assert form.length is not None
    left = set(body.inputs[: form.carries])
    fixed = set(body.inputs[form.carries + form.streams :])
    for n, i in enumerate(body.instructions):
        if i.op is INPUT:
            continue
        if any(j in left for j in i.inputs):
            left.add(n)
        elif all(j in fixed for j in i.inputs):
            # Once for all: whatever the op.
            fixed.add(n)
        else:
            types = [body.instructions[j].type for j in i.inputs]
            fits = isinstance(i.type, ValueType) and all(isinstance(t, ValueType) and t.size <= LARGEST_VALUE for t in (i.type, *types))
            if not fits or not is_batchable(i, types, form.length, [j in fixed for j in i.inputs]):
                left.add(n)
    largest = max((body.instructions[v].type.size for v in body.inputs[form.carries : form.carries + form.streams]), default=1)
    return left if largest * form.length <= LARGEST_ARRAY else set(range(len(body.instructions)))


def _needed(body: Tape, wanted: Iterable[int]) -> list[int]:
    """The values that others are computed from, and these, in order."""
    needed, pending = set[int](), list(wanted)
    while pending:
        number = pending.pop()
        if number not in needed:
            needed.add(number)
            pending += body.instructions[number].inputs
    return sorted(needed)


# The new instructions


class _Taken:
    """Appends what a loop becomes."""

    def __init__(self, rewriter: Rewriter, plan: Plan, loop: Instruction) -> None:
        self.rewriter, self.plan, self.loop = rewriter, plan, loop
        self.form: LoopForm = loop.params[1]
        assert self.form.length is not None
        self.length = self.form.length
        self.operands = [rewriter.number[i] for i in loop.inputs]
        self.site: Site | None = loop.site
        self.values = dict(zip(plan.body.inputs, self.operands))
        self.instructions = rewriter.instructions

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int:
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        return self.rewriter.emit(op, inputs, params, type_, self.site)

    def constant(self, value: Operand, type_: ValueType) -> int:
        return self.rewriter.constant(value, type_)

    def items(self) -> dict[int, int]:
        """The results of the loop, by their numbers."""
        plan = self.plan
        for number in plan.outside:
            self.values[number] = self._outside(number)
        return {k: self._total(k) for k in plan.sums} | {k: self._whole(v) for k, v in plan.direct.items()}

    def _outside(self, number: int) -> int:
        instruction = self.plan.body.instructions[number]
        self.site = instruction.site
        operands = [self.values[i] for i in instruction.inputs]
        if number not in self.plan.varying:
            return self.rewriter.keep(instruction, tuple(operands))
        varies = [i in self.plan.varying for i in instruction.inputs]
        return Batch(self, self.length, operands, varies).emit(instruction)

    def _whole(self, number: int) -> int:
        return self.values[number] if number in self.plan.varying else spread(self, self.values[number], self.length)

    def _total(self, carry: int) -> int:
        total, self.site = self.operands[carry], self.loop.site
        for value, sign in self.plan.sums[carry]:
            added = self.make(SUM, (self._whole(value),), ((0,),))
            total = self.make(ADD if sign > 0 else SUBTRACT, (total, added))
        return total
