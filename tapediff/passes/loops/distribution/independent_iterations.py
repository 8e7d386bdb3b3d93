"""Loop distribution: independent computations run for all iterations at once, and accumulated terms become a sum of an array.

    s = 0.0                            h = x0
    for x in xs:                       for x in xs:                        what is left: a recurrence
        h = a * h + x                      h = a * h + x
        s = s + np.exp(h)       →          hs.append(h)
                                       s = np.sum(np.exp(hs))

Without a recurrence no loop is left. So td.scan and td.fori_loop take as long as the same loop in plain Python, and round as that one,
which passes/rolling/classify_slots.py splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ....base.source_location import Site
from ....ir.instruction import BOOL, INPUT, Instruction, Operand, Params, Primitive, TupleType, ValueType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.reductions import SUM
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, loop_items
from ....ops.elementwise.arithmetic import ADD, SUBTRACT
from ...column_rewriter import ColumnRewriter
from ...rolling.vectorize import LARGEST_ARRAY, Batch, is_batchable, spread
from ..counted_loops import loops_and_items
from .selected_terms import with_selected_terms

# Shorter loops are left alone; so are larger bodies, and iterations on larger arrays, which fill the lanes by themselves.
FEWEST_ITERATIONS, LARGEST_BODY, LARGEST_VALUE = 8, 10_000, 256


# A loop with a recurrence is split for costly functions of so many numbers at most; it may return so many numbers for each of them.
LARGEST_SCALAR, MOST_HANDED_ON = 4, 4


@dataclass(frozen=True)
class Plan:
    """How a loop is split.

    Attributes:
        body: the original tape of an iteration.
        sums: by carry, the values of the body added to it, with their signs.
        outside: the values of the body computed for all iterations at once, or once (loop-invariant), in order.
        varying: the values of the body that differ between iterations.
        direct: further results of the loop: their numbers among the outputs, and in the body.
        rest: the remaining loop; None if nothing remains.
    """

    body: Tape
    sums: dict[int, list[tuple[int, int]]]
    outside: tuple[int, ...]
    varying: frozenset[int]
    direct: dict[int, int]
    rest: Rest | None


@dataclass(frozen=True)
class Rest:
    """The loop over a recurrence.

    Attributes:
        callee: of an iteration.
        carries, streams: the remaining ones, by their numbers in the original loop.
        handed_on: the values of the body that it returns for each iteration.
    """

    callee: Callee
    carries: tuple[int, ...]
    streams: tuple[int, ...]
    handed_on: tuple[int, ...]


def independent_iterations(tape: Tape) -> Tape:
    """Return the tape with such loops split; itself if there are none.

    Cost: linear in the number of instructions, of the tape and of the bodies of loops.
    """
    if LOOP not in tape.ops:
        return tape
    plans = {n: p for n, i in tape.numbered(LOOP) if (p := _plan(*i.params)) is not None}
    if not plans:
        return tape
    rewriter, items = ColumnRewriter(tape), dict[int, dict[int, int]]()
    for number, instruction in rewriter.changing(loops_and_items(tape, plans)):
        op, inputs, params, _, _ = instruction
        if op is LOOP:
            items[number] = _Taken(rewriter, plans[number], instruction).items()
        else:
            rewriter.number[number] = items[inputs[0]][params[0]]
    return rewriter.finish()


# Choosing loops


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    is_special = form.stops or form.variant_given or form.saves_carries or form.recomputes
    if form.length is None or form.length < FEWEST_ITERATIONS or is_special or not callee.is_compiled:
        return None
    body = callee.only_tape()
    if body is None or len(body) > LARGEST_BODY:
        return None
    key = ("independent", form.carries, form.streams, form.length)
    return callee.once(key, lambda: _made(callee, with_selected_terms(body, form.carries), form))


def _made(callee: Callee, body: Tape, form: LoopForm) -> Plan | None:
    sums = _sums(body, form)
    recurrent = [k for k in range(form.carries) if k not in sums]
    direct = {k: v for k, v in enumerate(body.outputs) if k >= form.carries}
    wanted = {v for terms in sums.values() for v, _ in terms}.union(direct.values())
    parts = _Parts(body, form, wanted, [body.outputs[k] for k in recurrent])
    handed_on = parts.handed_on
    if not parts.fits or (recurrent and not _is_worthwhile(body, parts)) or (handed_on and not recurrent):
        return None
    first = form.carries + form.streams
    varying = {*body.inputs[form.carries : first], *handed_on}
    outside = tuple(n for n in sorted(parts.outside) if body.instructions[n].op is not INPUT)
    for n in outside:
        if any(j in varying for j in body.instructions[n].inputs):
            varying.add(n)
    rest = _rest(callee, body, form, recurrent, tuple(sorted(handed_on))) if recurrent else None
    return Plan(body, sums, outside, frozenset(varying), direct, rest)


class _Parts:
    """Splits a body: the values computed for all iterations at once, and those that the recurrence has to return for them.

    Args:
        wanted: the values of the body needed outside.
        recurrent: the next values of the loop's carries.

    Attributes:
        fits: True if the loop's streams are not too large.
        outside: the values computed outside, and the inputs that they read.
        handed_on: the values that the loop returns at each iteration.
    """

    def __init__(self, body: Tape, form: LoopForm, wanted: Iterable[int], recurrent: Iterable[int]) -> None:
        assert form.length is not None
        streams = body.inputs[form.carries : form.carries + form.streams]
        self.fits = max((body.instructions[v].type.size for v in streams), default=1) * form.length <= LARGEST_ARRAY
        left, depends = _left(body, form)
        inside = set(_needed(body, recurrent))
        self.outside, self.handed_on = set[int](), set[int]()
        pending = set(wanted)
        for n in range(len(body.instructions) - 1, -1, -1):
            if n not in pending:
                continue
            op = body.instructions[n].op
            is_known = n in inside and (n in depends or (isinstance(op, Elementwise) and op.is_costly))
            if n in left or is_known:
                self.handed_on.add(n)
            else:
                self.outside.add(n)
                pending.update(body.instructions[n].inputs)


def _is_worthwhile(body: Tape, parts: _Parts) -> bool:
    """True if costly functions of few numbers leave a loop that stays."""
    handed_on = sum(body.instructions[n].type.size for n in parts.handed_on)
    costly = 0
    for n in parts.outside:
        op, _, _, type_, _ = body.instructions[n]
        if isinstance(op, Elementwise) and op.is_costly and type_.size <= LARGEST_SCALAR:
            costly += type_.size
    return costly > 0 and handed_on <= MOST_HANDED_ON * costly


def _rest(callee: Callee, body: Tape, form: LoopForm, carries: Sequence[int], handed_on: tuple[int, ...]) -> Rest:
    """Return the loop without the values computed outside."""
    outputs = [*(body.outputs[k] for k in carries), *handed_on]
    needed = set(_needed(body, outputs))
    first = form.carries + form.streams
    streams = tuple(k for k, n in enumerate(body.inputs[form.carries : first]) if n in needed)
    sources = [*(body.inputs[k] for k in carries), *(body.inputs[form.carries + k] for k in streams), *body.inputs[first:]]
    made = Rewriter(body)
    for position, n in enumerate(sources):
        made.number[n] = made.emit(INPUT, (), (position,), body.instructions[n].type, body.instructions[n].site)
    for n in sorted(needed):
        if body.instructions[n].op is not INPUT:
            made.number[n] = made.copy(n)
    active = tuple(k for k, n in enumerate(sources) if body.instructions[n].type.is_float)
    inputs = tuple(made.number[n] for n in sources)
    tape = Tape(tuple(made.instructions), inputs, tuple(made.number[n] for n in outputs), body.name, active, True)
    return Rest(callee.fixed(tape), tuple(carries), streams, handed_on)


def _sums(body: Tape, form: LoopForm) -> dict[int, list[tuple[int, int]]]:
    """Return the carries that iterations only add to: the added values, with signs."""
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


def _left(body: Tape, form: LoopForm) -> tuple[set[int], set[int]]:
    """The values that cannot be computed for all iterations at once, and those that depend on carries."""
    assert form.length is not None
    depends = set(body.inputs[: form.carries])
    left = set(depends)
    fixed = set(body.inputs[form.carries + form.streams :])
    for n, i in enumerate(body.instructions):
        if i.op is INPUT:
            continue
        if all(j in fixed for j in i.inputs):
            # Loop-invariant: any op will do.
            fixed.add(n)
            continue
        if any(j in depends for j in i.inputs):
            depends.add(n)
        types = [body.instructions[j].type for j in i.inputs]
        fits = isinstance(i.type, ValueType) and all(isinstance(t, ValueType) and t.size <= LARGEST_VALUE for t in (i.type, *types))
        if not fits or not is_batchable(i, types, form.length, [j in fixed for j in i.inputs]):
            left.add(n)
    return left, depends


def _needed(body: Tape, wanted: Iterable[int]) -> list[int]:
    """Return the wanted values and all that they are computed from, in order."""
    needed, pending = set[int](), list(wanted)
    while pending:
        number = pending.pop()
        if number not in needed:
            needed.add(number)
            pending += body.instructions[number].inputs
    return sorted(needed)


# The new instructions


class _Taken:
    """Emits the replacement of a loop."""

    def __init__(self, rewriter: Rewriter, plan: Plan, loop: Instruction) -> None:
        self.rewriter, self.plan, self.loop = rewriter, plan, loop
        self.form: LoopForm = loop.params[1]
        assert self.form.length is not None
        self.length = self.form.length
        self.operands = [rewriter.number[i] for i in loop.inputs]
        self.site: Site | None = loop.site
        self.values = dict(zip(plan.body.inputs, self.operands[self.form.leading :]))
        self.instructions = rewriter.instructions

    def make(self, op: Primitive, inputs: tuple[int, ...], params: Params = ()) -> int:
        type_ = op.infer(*[self.instructions[i].type for i in inputs], **op.named(params))
        return self.rewriter.emit(op, inputs, params, type_, self.site)

    def constant(self, value: Operand, type_: ValueType) -> int:
        return self.rewriter.constant(value, type_)

    def items(self) -> dict[int, int]:
        """The results of the loop, by their numbers."""
        plan = self.plan
        carried = {} if plan.rest is None else self._recurrence(plan.rest)
        for number in plan.outside:
            self.values[number] = self._outside(number)
        return carried | {k: self._total(k) for k in plan.sums} | {k: self._whole(v) for k, v in plan.direct.items()}

    def _recurrence(self, rest: Rest) -> dict[int, int]:
        """Emit the remaining loop; return its last carries, by their numbers."""
        form, leading = self.form, self.form.leading
        first, constants = leading + form.carries, leading + form.carries + form.streams
        new = replace(form, carries=len(rest.carries), streams=len(rest.streams))
        chosen = [*(self.operands[leading + k] for k in rest.carries), *(self.operands[first + k] for k in rest.streams)]
        inputs = (*self.operands[:leading], *chosen, *self.operands[constants:])
        loop = self.rewriter.emit(LOOP, inputs, (rest.callee, new), TupleType(loop_items(rest.callee, new)), self.site)
        for place, number in enumerate(rest.handed_on):
            self.values[number] = self.make(GET, (loop,), (len(rest.carries) + place,))
        return {k: self.make(GET, (loop,), (place,)) for place, k in enumerate(rest.carries)}

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
