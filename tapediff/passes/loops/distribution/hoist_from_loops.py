"""Vectorises loop code that is independent of the carries: computed for all iterations at once, on SIMD lanes.

The reverse pass of a loop knows the saved carries, so often only a few products remain in the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....base.source_location import Site
from ....ir.instruction import CONSTANT, INPUT, Primitive, TupleType, ValueType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops import Elementwise
from ....ops.arrays.indexing import INDEX, Region
from ....ops.arrays.shape import RESHAPE
from ....ops.control.callee import Callee
from ....ops.control.calls import GET, LOOP, LoopForm, TupleOp, loop_items
from ....ops.elementwise.arithmetic import CONVERT

# Shorter loops are left alone.
FEWEST_ITERATIONS = 16

# The kinds of a body's values: they depend on constants only, on entries of streams, or on carries.
CONSTANTS, ENTRIES, CARRIES = range(3)


@dataclass(frozen=True)
class Plan:
    """How a loop is split.

    Attributes:
        body: the original tape of an iteration.
        outside: the values of the body that are computed outside, in order.
        callee: of the shorter loop.
        streams: the streams that it still reads; those of `crossing` follow.
        crossing: the hoisted values that it reads.
        direct: further results of the loop that are entirely computed outside, by their number among the outputs.
    """

    body: Tape
    outside: tuple[int, ...]
    callee: Callee
    streams: tuple[int, ...]
    crossing: tuple[int, ...]
    direct: dict[int, int]


def hoist_from_loops(tape: Tape) -> Tape:
    plans = {n: p for n, i in tape.numbered(LOOP) if (p := _plan(*i.params)) is not None}
    if not plans:
        return tape
    rewriter = Rewriter(tape)
    moved: dict[int, dict[int, int]] = {}
    outside: dict[int, dict[int, int]] = {}
    for number, (op, inputs, params, type_, site) in enumerate(tape.instructions):
        plan = plans.get(number)
        if plan is not None:
            operands = [rewriter.number[i] for i in inputs]
            form: LoopForm = params[1]
            values = _Outside(rewriter, plan, form, operands).computed()
            rewriter.number[number] = _shorter_loop(rewriter, plan, form, operands, values, site)
            moved[number] = _moved_items(plan, form)
            outside[number] = {k: values[v] for k, v in plan.direct.items()}
        elif op is GET and inputs[0] in plans:
            whole, k = inputs[0], params[0]
            if k in outside[whole]:
                rewriter.number[number] = outside[whole][k]
            else:
                returned = (rewriter.number[whole],)
                rewriter.number[number] = rewriter.emit(GET, returned, (moved[whole][k],), type_, site)
        else:
            rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()


# Choosing values to hoist


def _plan(callee: Callee, form: LoopForm) -> Plan | None:
    if form.length is None or form.length < FEWEST_ITERATIONS or callee.may_branch or not callee.is_compiled:
        return None
    return callee.once(("hoisted", form.carries, form.streams), lambda: _made(callee, form))


def _made(callee: Callee, form: LoopForm) -> Plan | None:
    body: Tape = callee.variant_tape(0)
    kinds = _kinds(body, form)
    entries = [n for n, kind in enumerate(kinds) if kind == ENTRIES and body.instructions[n].op is not INPUT]
    if not any(_is_costly(body.instructions[n].op) for n in entries):
        return None
    outside = tuple(n for n, kind in enumerate(kinds) if kind != CARRIES and body.instructions[n].op is not INPUT)
    chosen = set(entries)
    read = {i for n, kind in enumerate(kinds) if kind == CARRIES for i in body.instructions[n].inputs}
    read.update(body.outputs[: form.carries])
    direct = {k: v for k, v in enumerate(body.outputs) if k >= form.carries and v in chosen}
    crossing = tuple(n for n in entries if n in read)
    inputs = body.inputs[form.carries : form.carries + form.streams]
    read.update(v for k, v in enumerate(body.outputs) if k not in direct)
    streams = tuple(k for k, v in enumerate(inputs) if v in read)
    rest = _rest(body, form, kinds, streams, crossing, direct)
    return Plan(body, outside, callee.fixed(rest), streams, crossing, direct)


def _kinds(body: Tape, form: LoopForm) -> list[int]:
    kinds: list[int] = []
    for op, inputs, params, _, _ in body.instructions:
        if op is INPUT:
            position = params[0]
            streamed = form.carries <= position < form.carries + form.streams
            kinds.append(CARRIES if position < form.carries else ENTRIES if streamed else CONSTANTS)
            continue
        kind = max((kinds[i] for i in inputs), default=CONSTANTS)
        whole = isinstance(op, Elementwise) or op is INDEX or op is CONVERT or op is RESHAPE
        is_tuple_or_item = isinstance(op, TupleOp) or op is GET
        kinds.append(CARRIES if is_tuple_or_item or (kind == ENTRIES and not whole) else kind)
    return kinds


def _is_costly(op: Primitive) -> bool:
    return isinstance(op, Elementwise) and op.is_costly


def _rest(
    body: Tape, form: LoopForm, kinds: list[int], streams: tuple[int, ...], crossing: tuple[int, ...],
    direct: dict[int, int],
) -> Tape:  # fmt: skip
    """The tape of the rest of an iteration."""
    rewriter = Rewriter(body)
    first = form.carries + form.streams
    sources = [*body.inputs[: form.carries], *(body.inputs[form.carries + k] for k in streams), *crossing,
               *body.inputs[first:]]  # fmt: skip
    for position, old in enumerate(sources):
        rewriter.number[old] = rewriter.emit(INPUT, (), (position,), body.instructions[old].type, None)
    inputs = tuple(rewriter.number[old] for old in sources)
    for number, instruction in enumerate(body.instructions):
        if instruction.op is not INPUT and kinds[number] != ENTRIES:
            rewriter.number[number] = rewriter.copy(number)
    outputs = tuple(rewriter.number[v] for k, v in enumerate(body.outputs) if k not in direct)
    active = tuple(k for k, old in enumerate(sources) if body.instructions[old].type.is_float)
    return Tape(tuple(rewriter.instructions), inputs, outputs, body.name, active, True)


# The new instructions


def _shorter_loop(
    rewriter: Rewriter, plan: Plan, form: LoopForm, operands: list[int], values: dict[int, int], site: Site | None
) -> int:
    first, constants = form.leading + form.carries, form.leading + form.carries + form.streams
    streams = [operands[first + k] for k in plan.streams] + [values[v] for v in plan.crossing]
    new = replace(form, streams=len(streams))
    type_ = TupleType(loop_items(plan.callee, new))
    return rewriter.emit(LOOP, (*operands[:first], *streams, *operands[constants:]), (plan.callee, new), type_, site)


def _moved_items(plan: Plan, form: LoopForm) -> dict[int, int]:
    """Return the new positions of the items that the loop still returns."""
    count = len(plan.body.outputs) + (form.carries if form.saves_carries else 0) + int(form.returns_variants)
    left = [k for k in range(count) if k not in plan.direct]
    return {k: place for place, k in enumerate(left)}


class _Outside:
    """Appends the instructions that compute a body's values for all iterations; their first extent is the loop's length."""

    def __init__(self, rewriter: Rewriter, plan: Plan, form: LoopForm, operands: list[int]) -> None:
        self.rewriter, self.body = rewriter, plan.body
        assert form.length is not None
        self.length = form.length
        self.outside = plan.outside
        self.kinds = _kinds(plan.body, form)
        self.values = {v: operands[form.leading + k] for k, v in enumerate(plan.body.inputs)}

    def computed(self) -> dict[int, int]:
        for number in self.outside:
            op, inputs, params, type_, site = self.body.instructions[number]
            if op is CONSTANT or self.kinds[number] == CONSTANTS:
                operands = tuple([self.values[i] for i in inputs])
                self.values[number] = self.rewriter.emit(op, operands, params, type_, site)
                continue
            if op is INDEX:
                params = (_of_all(params[0], self.length),)
            elif op is RESHAPE:
                params = ((self.length, *type_.shape),)
            is_whole = op is INDEX or op is RESHAPE
            operands = tuple([self.values[i] if is_whole else self._aligned(i, len(type_.shape)) for i in inputs])
            whole = ValueType((self.length, *type_.shape), type_.dtype)
            self.values[number] = self.rewriter.emit(op, operands, params, whole, site)
        return self.values

    def _aligned(self, number: int, axes: int) -> int:
        """Insert axes so that a value of all iterations broadcasts from the right, as in each iteration."""
        value, shape = self.values[number], self.body.instructions[number].type.shape
        if self.kinds[number] == CONSTANTS or len(shape) == axes:
            return value
        grown = ValueType(
            (self.length, *(1,) * (axes - len(shape)), *shape), self.rewriter.instructions[value].type.dtype
        )
        return self.rewriter.emit(RESHAPE, (value,), (grown.shape,), grown, None)


def _of_all(region: Region, length: int) -> Region:
    """Return the same slice of every entry."""
    return Region((0, *region.starts), (1, *region.steps), (length, *region.counts), (length, *region.shape))
