"""Loops that store little for the reverse pass: only the carries before each block of iterations, which is computed again.

```
for t in range(n):                 for b in range(count):           # the carries are stored `count` times
    carry = f(carry, xs[t])   →        for t in range(size):        # and again while a block is differentiated
                                           carry = f(carry, xs[b * size + t])
                                   for t in range(count * size, n): # the last ones are stored as before
                                       carry = f(carry, xs[t])
```

Iterations in blocks are computed twice. As many as fit stay after the blocks, so that the cost grows evenly as the limit shrinks; blocks
are nested if one level is not enough.
Source: Griewank & Walther (2008), Evaluating Derivatives, chapter 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...ir.instruction import CONSTANT, FLOAT64, INPUT, Instruction, Param, ValueType
from ...ir.rewriter import BodyBuilder, Rewriter
from ...ir.tape import Tape
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm, loop_items
from ..rows import joined, part_of, with_leading
from .loop_builder import Items, emit_loop, only_body, with_loops
from .save_or_recompute import LARGEST_SAVED, STORED_FAR, additions_of

# Shorter loops are left alone.
FEWEST_ITERATIONS = 4

# Nested blocks: each level computes all iterations once more, and holds about so many arrays of the carries' size.
MOST_LEVELS, OF_A_LEVEL = 6, 10

# Makes the callee of a loop from the tape of its body.
MakeCallee = Callable[[Tape], Param]


@dataclass(frozen=True)
class Plan:
    """How a loop is divided.

    Attributes:
        count, size: blocks, and iterations of each; no blocks where `count` is 0.
        inner: of the iterations of one block, and of those after the blocks; None to leave them as they are.
        recomputes: only the carries are stored.
    """

    count: int = 0
    size: int = 0
    inner: Plan | None = None
    recomputes: bool = False


def checkpoint_loops(tape: Tape, limit: float, make_callee: MakeCallee) -> Tape:
    """The tape with loops in blocks where they would save more than about `limit` bytes for the reverse pass; else the tape itself.

    Loops in the bodies of others are divided as well. Sums over iterations are then added up block by block.
    """
    wanted = {n: found for n, i in tape.numbered(LOOP) if (found := _planned(i, limit, make_callee))}
    for _, item in tape.numbered(GET):
        if (loop := item.inputs[0]) in wanted and item.params[0] >= _results(*tape.instructions[loop].params):
            del wanted[loop]  # its carries are read already: the tape is a derivative

    def emitted(made: Rewriter, loop: Instruction, found: tuple[Callee, Plan | None]) -> Items:
        callee, plan = found
        return _Division(made, callee, make_callee).emit(loop.inputs, loop.params[1], plan).__getitem__

    return with_loops(tape, lambda _, number: wanted.get(number), emitted)


def _results(callee: Callee, form: LoopForm) -> int:
    """Return the number of a loop's items without the saved carries."""
    return len(loop_items(callee, replace(form, saves_carries=False)))


# Choosing loops and plans


def _planned(loop: Instruction, limit: float, make_callee: MakeCallee) -> tuple[Callee, Plan | None] | None:
    """The callee of a loop and how it is divided; None for a loop that stays as it is."""
    callee, form = loop.params
    if form.length is None or form.variant_given or form.stops or not callee.is_compiled:
        return None
    body = only_body(callee)
    inside = body if body is None else checkpoint_loops(body, limit, make_callee)
    carried = 8 * sum(t.size for t in callee.in_types[: form.carries])
    residuals = 0 if body is None or form.recomputes else _residual_bytes(body, form, carried)
    plan = _plan(form.length, max(carried, 8), max(carried + residuals, 8), limit)
    if inside is body or inside is None:
        return None if plan is None else (callee, plan)
    return make_callee(inside), plan


def _plan(length: int, carried: int, saved: int, limit: float) -> Plan | None:
    """Return the cheapest plan that keeps a loop below a limit; None if it is below already.

    Args:
        carried, saved: bytes of an iteration: of its carries, and of all its saved values.
    """
    if length * saved <= limit or length < FEWEST_ITERATIONS:
        return None
    for recomputes, each in ((False, saved), (True, carried)):
        if length * each <= limit:
            return Plan(recomputes=recomputes)
        # Blocks need carried * count + saved * size, the others saved * (length - count * size). This count gives the fewest in blocks.
        beyond = length * each - limit
        count = 1 + max(1, round(math.sqrt(1 + beyond / carried)))
        size = math.ceil((count * carried + beyond) / ((count - 1) * each))
        if count * size <= length:
            return Plan(count, size, Plan(recomputes=True) if recomputes else None)
    counts = [math.ceil(length ** (1 / levels)) for levels in range(2, MOST_LEVELS + 1)]
    needed = [carried * (count + OF_A_LEVEL) * levels for levels, count in enumerate(counts, 2)]
    levels = next((k for k, each in enumerate(needed, 2) if each <= limit), 2 + needed.index(min(needed)))
    return _nested(length, levels)


def _nested(length: int, levels: int) -> Plan:
    """Plan nested blocks of so many levels; the innermost store their carries."""
    count = math.ceil(length ** (1 / levels))
    if levels == 1 or count >= length:
        return Plan(recomputes=True)
    # An exact division needs fewer loops, each of which has arrays of its own.
    count = next((k for k in range(count, min(2 * count, length)) if length % k == 0), count)
    return Plan(count, length // count, _nested(length // count, levels - 1))


def _residual_bytes(body: Tape, form: LoopForm, carried: int) -> int:
    """Estimate the bytes that a loop saves per iteration in addition to its carries."""
    total = 0
    for number, (op, _, params, type_, _) in enumerate(body.instructions):
        if op is LOOP:
            total += 8 * sum(t.size for t in loop_items(params[0], replace(params[1], saves_carries=True)) if isinstance(t, ValueType))
        elif isinstance(type_, ValueType) and type_.dtype == FLOAT64 and op not in (INPUT, CONSTANT):
            total += 8 * type_.size * (additions_of(body, number, True) > STORED_FAR * type_.size)
    assert form.length, "the caller has seen to it"
    return min(total, max(0, LARGEST_SAVED // form.length - carried))


# The new instructions


@dataclass(frozen=True)
class _Division:
    """Emits the loops that replace one loop."""

    rewriter: Rewriter
    callee: Callee
    make_callee: MakeCallee

    def emit(self, operands: Sequence[int], form: LoopForm, plan: Plan | None) -> list[int]:
        """Emit the loop; return its items without the saved carries."""
        if plan is None or not plan.count:
            return self._loop(operands, replace(form, recomputes=form.recomputes or (plan is not None and plan.recomputes)), self.callee)
        assert form.length is not None, "the caller has seen to it"
        whole, left = plan.count * plan.size, form.length - plan.count * plan.size
        carries, streams, constants = form.parts(operands)
        at, rest = (left, 0) if form.backwards else (0, whole)
        blocked = [with_leading(self.rewriter, part_of(self.rewriter, stream, at, whole), (plan.count, plan.size), 1) for stream in streams]
        outer = replace(form, length=plan.count, recomputes=True, single_variant=form.saves_carries)
        items = self._loop([*carries, *blocked, *constants], outer, self._block(form, plan))
        first, stacked = items[: form.carries], [with_leading(self.rewriter, item, (whole,), 2) for item in items[form.carries :]]
        if not left:
            return [*first, *stacked]
        others = [part_of(self.rewriter, stream, rest, left) for stream in streams]
        after = Plan(recomputes=True) if plan.inner is not None and plan.inner.count * plan.inner.size > left else plan.inner
        last = self.emit([*first, *others, *constants], replace(form, length=left), after)
        pairs = zip(stacked, last[form.carries :])
        return [*last[: form.carries], *(joined(self.rewriter, [b, a] if form.backwards else [a, b]) for a, b in pairs)]

    def _loop(self, operands: Sequence[int], form: LoopForm, callee: Callee) -> list[int]:
        return emit_loop(self.rewriter, callee, form, operands)[: _results(callee, form)]

    def _block(self, form: LoopForm, plan: Plan) -> Callee:
        """The callee that does one block."""
        made = BodyBuilder(Tape((), (), (), "a block of iterations"))
        made.site = self.rewriter.site
        for kind, types in enumerate(form.parts(self.callee.in_types)):
            for type_ in types:
                made.add_input(ValueType((plan.size, *type_.shape), type_.dtype) if kind == 1 else type_, made.site)
        inner = replace(form, length=plan.size, saves_carries=False, single_variant=False)
        return self.make_callee(made.body(replace(self, rewriter=made).emit(made.inputs, inner, plan.inner)))
