"""Peels the last iteration of loops whose last carries are not all used.

The reverse pass begins with the last iteration. A carry that nothing uses has an exact zero cotangent there, which must not meet an
infinity, so every iteration would have to check. Outside of the loop there is just no cotangent.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.instruction import Instruction, TupleType, ValueType
from ....ir.rewriter import Rewriter
from ....ir.tape import Tape
from ....ops.arrays.indexing import ASSEMBLE, INDEX, Region, Regions
from ....ops.arrays.shape import RESHAPE
from ....ops.control.callee import Callee
from ....ops.control.calls import CALL, GET, LOOP, RECALL, LoopCotangents, LoopForm, loop_items
from ...activity import active_values
from ...simplify.dead_code import dead_code

# For shorter loops, a second copy of the body gains little.
FEWEST_ITERATIONS = 16

# Passes over the tape: carries may be passed on for a few iterations before something uses them.
MOST_PEELED = 3

# Larger bodies are left in their loop.
LARGEST_BODY = 1000


def peel_last_iterations(tape: Tape) -> Tape:
    for _ in range(MOST_PEELED):
        chosen = _chosen(tape)
        if not chosen:
            break
        # Fewer items are used then, and perhaps not all results of an iteration.
        tape = dead_code(_peeled(tape, chosen))
    return tape


# Choosing loops


def _chosen(tape: Tape) -> set[int]:
    loops = [n for n, i in tape.numbered(LOOP) if _may_be_peeled(*i.params)]
    if not loops:
        return set()
    active = active_values(tape, {tape.inputs[k] for k in tape.active_inputs})
    asked = _asked(tape)
    items: dict[int, set[int]] = {n: set() for n in loops}
    for number, (op, inputs, params, *_) in enumerate(tape.instructions):
        if op is GET and inputs[0] in items and asked[number]:
            items[inputs[0]].add(params[0])
    return {n for n in loops if items[n] and _hides_not_yet_seeded(tape.instructions[n], active, items[n])}


def _may_be_peeled(callee: Callee, form: LoopForm) -> bool:
    if form.length is None or form.length < FEWEST_ITERATIONS or form.saves_carries or form.variant_given or not callee.is_compiled:
        return False
    tape = callee.only_tape()
    # A call that may take another path must keep its place.
    return tape is not None and len(tape) <= LARGEST_BODY and not any(i.op in (CALL, RECALL) for i in tape.instructions)


def _hides_not_yet_seeded(loop: Instruction, active: list[bool], items: set[int]) -> bool:
    callee, form = loop.params
    carried = [active[i] for i in loop.inputs[form.leading :]]
    streamed, constant = form.carries, form.carries + form.streams
    which = LoopCotangents(
        form.carries,
        form.streams,
        tuple(k for k in range(form.carries) if carried[k]),
        tuple(k for k in range(form.streams) if carried[streamed + k]),
        tuple(k for k in range(form.constants) if carried[constant + k]),
        tuple(sorted(k - form.carries for k in items if k >= form.carries and callee.out_types[k].is_float)),
        (),
    )
    given = tuple(sorted(k for k in items if k < form.carries and callee.out_types[k].is_float))
    return callee.loop_flow(which, given).hides_not_yet_seeded


def _asked(tape: Tape) -> list[bool]:
    """Return the values that the outputs depend on through floats."""
    asked = [False] * len(tape.instructions)
    for output in tape.outputs:
        asked[output] = True
    for number in range(len(tape.instructions) - 1, -1, -1):
        type_ = tape.instructions[number].type
        if asked[number] and (type_.is_float or isinstance(type_, TupleType)):
            for i in tape.instructions[number].inputs:
                asked[i] = True
    return asked


# The new instructions


def _peeled(tape: Tape, chosen: set[int]) -> Tape:
    rewriter = Rewriter(tape)
    results: dict[int, list[int]] = {}
    for number, (op, inputs, params, _, _) in enumerate(tape.instructions):
        if number in chosen:
            results[number] = _Peeling(rewriter, tape.instructions[number]).results()
        elif op is GET and inputs[0] in chosen:
            rewriter.number[number] = results[inputs[0]][params[0]]
        else:
            rewriter.number[number] = rewriter.copy(number)
    return rewriter.finish()


class _Peeling:
    """One loop, one iteration shorter, and the instructions of its last iteration."""

    def __init__(self, rewriter: Rewriter, loop: Instruction) -> None:
        self.rewriter, self.site = rewriter, loop.site
        self.callee, self.form = loop.params
        self.operands = [rewriter.number[i] for i in loop.inputs]
        self.length: int = self.form.length
        # The positions of the last iteration's entries, and of the first of the others.
        self.place, self.rest = (0, 1) if self.form.backwards else (self.length - 1, 0)

    def results(self) -> list[int]:
        """The items of the whole loop."""
        form, callee, rewriter = self.form, self.callee, self.rewriter
        first, constant = form.leading + form.carries, form.leading + form.carries + form.streams
        streams = self.operands[first:constant]
        shorter = replace(form, length=self.length - 1)
        operands = (*self.operands[:first], *map(self._others, streams), *self.operands[constant:])
        type_ = TupleType(loop_items(callee, shorter))
        returned = rewriter.emit(LOOP, operands, (callee, shorter), type_, self.site)
        items = [rewriter.emit(GET, (returned,), (k,), each, self.site) for k, each in enumerate(type_.items)]
        arguments = [*items[: form.carries], *map(self._last, streams), *self.operands[constant:]]
        last = rewriter.splice(callee.only_tape(), arguments)
        return [
            *last[: form.carries],
            *(self._joined(others, one) for others, one in zip(items[form.carries :], last[form.carries :])),
        ]

    def _others(self, stream: int) -> int:
        """Select the entries of all iterations but the last."""
        _, *shape = self.rewriter.instructions[stream].type.shape
        return self._part(stream, self.rest, self.length - 1, (self.length - 1, *shape))

    def _last(self, stream: int) -> int:
        _, *shape = self.rewriter.instructions[stream].type.shape
        return self._part(stream, self.place, 1, tuple(shape))

    def _part(self, array: int, start: int, count: int, shape: tuple[int, ...]) -> int:
        type_ = self.rewriter.instructions[array].type
        region = _rows(start, count, type_.shape, shape)
        return self.rewriter.emit(INDEX, (array,), (region,), ValueType(shape, type_.dtype), self.site)

    def _joined(self, others: int, one: int) -> int:
        """Join a further result of the others and of the last iteration."""
        type_: ValueType = self.rewriter.instructions[one].type
        shape = (self.length, *type_.shape)
        row = self.rewriter.emit(
            RESHAPE, (one,), ((1, *type_.shape),), ValueType((1, *type_.shape), type_.dtype), self.site
        )
        rest = (self.length - 1, *type_.shape)
        regions = Regions(
            (_rows(self.rest, self.length - 1, shape, rest), _rows(self.place, 1, shape, (1, *type_.shape)))
        )
        return self.rewriter.emit(
            ASSEMBLE, (others, row), (regions, shape, True), ValueType(shape, type_.dtype), self.site
        )


def _rows(start: int, count: int, shape: tuple[int, ...], result: tuple[int, ...]) -> Region:
    """Some entries of an array along its first axis."""
    _, *inner = shape
    return Region((start, *(0,) * len(inner)), (1,) * len(shape), (count, *inner), result)
