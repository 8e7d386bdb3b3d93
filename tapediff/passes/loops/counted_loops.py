"""Turns loop reads at known positions into streams, and drops guards on such positions that hold at every iteration.

`td.fori_loop(0, 100, lambda k, s: s + x[k], 0.0)` checks at every iteration that k is a position of x, and gathers x[k]. But k is a carry
that begins at 0 and grows by 1, so its values are known:

    for k in range(100):                 for x_k in x:
        check 0 <= k < 100         →         s = s + x_k
        s = s + x[k]

As a loop of streams it has one path, and values independent of its carries are computed for all iterations at once. Streams of constant
integers are known as well: so td.scan(..., np.arange(100)) reads x, and so do long loops over a range.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from ...errors import GuardFailed
from ...ir.instruction import CONSTANT, GUARD, INPUT, Instruction, Primitive, TupleType, ValueType
from ...ir.interpreter import check_guard
from ...ir.rewriter import Rewriter
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.arrays.indexing import GATHER, INDEX, Region
from ...ops.arrays.shape import RESHAPE
from ...ops.control.callee import Callee
from ...ops.control.calls import GET, LOOP, LoopForm, loop_items
from ...ops.elementwise.arithmetic import ADD, CONVERT, SUBTRACT
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_OR
from ..column_rewriter import ColumnRewriter

# Limits: on the total of numbers computed here for all iterations together, and on the instructions of a body.
MOST_NUMBERS, LARGEST_BODY = 1 << 24, 10_000

_COUNT = ValueType((), np.dtype(np.int64))


@dataclass(frozen=True)
class Gathered:
    """Entries of an array, a row of them for each iteration.

    Attributes:
        source: the number of the array in the body: a constant, or an input that is the same at every iteration.
        positions: flat ones, shape (iterations, ...).
    """

    source: int
    positions: np.ndarray


@dataclass(frozen=True)
class Plan:
    """How a loop of known positions is rewritten.

    Attributes:
        body: the original tape of an iteration.
        callee: of an iteration.
        counters: the carries that count, with their last values.
        read: the streams and constants that the loop still takes, as inputs of the body.
        streams: the added streams, after the kept ones: entries of arrays, or the values of a counter.
    """

    body: Tape
    callee: Callee
    counters: dict[int, int]
    read: frozenset[int]
    streams: tuple[Gathered | np.ndarray, ...]


def counted_loops(tape: Tape) -> Tape:
    """The tape with such loops; itself if there are none."""
    if LOOP not in tape.ops:
        return tape
    plans = {n: p for n, i in tape.numbered(LOOP) if (p := _plan(tape, i)) is not None}
    if not plans:
        return tape
    rewriter = ColumnRewriter(tape)
    for number, instruction in rewriter.changing(loops_and_items(tape, plans)):
        op, inputs, params, type_, site = instruction
        if op is LOOP:
            rewriter.number[number] = _emitted(rewriter, instruction, plans[number])
            continue
        counters, k = plans[inputs[0]].counters, params[0]
        if k in counters:
            rewriter.number[number] = rewriter.constant(counters[k], _COUNT)
        else:
            place = k - sum(other < k for other in counters)
            rewriter.number[number] = rewriter.emit(GET, (rewriter.number[inputs[0]],), (place,), type_, site)
    return rewriter.finish()


def loops_and_items(tape: Tape, loops: Container[int]) -> list[tuple[int, Instruction]]:
    """Return some loops of a tape and the GETs of their results, in order."""
    return [(n, i) for n, i in tape.numbered(LOOP, GET) if (n if i.op is LOOP else i.inputs[0]) in loops]


# Choosing loops


def _plan(tape: Tape, loop: Instruction) -> Plan | None:
    callee, form = loop.params
    form: LoopForm
    if not form.length or form.stops or form.variant_given or form.saves_carries or not callee.is_compiled:
        return None
    recorded = callee.only_path()
    if recorded is None or len(recorded) > LARGEST_BODY:
        return None
    # Nests are a few loops deep.
    body = callee.once("counted within", lambda: counted_loops(recorded))
    is_new = body is not recorded
    if not (is_new or GUARD in body.ops or GATHER in body.ops):
        return None
    first = [tape.instructions[i] for i in loop.inputs[form.leading : form.leading + form.carries]]
    steps = _steps(body, first)
    starts = {k: int(first[k].params[0]) for k in steps}
    given = {n: tape.instructions[i] for n, i in zip(body.inputs, loop.inputs[form.leading :])}
    whole = {n: i.params[0] for n, i in given.items() if _is_table(i) and n not in body.inputs[: form.carries]}
    rows = {n: whole.pop(n) for n in body.inputs[form.carries : form.carries + form.streams] if n in whole}
    if not steps and not rows and (GUARD in body.ops or not is_new):
        return None
    key = "counted", form, *starts.items(), *((n, sha256(table.tobytes()).digest()) for n, table in (*rows.items(), *whole.items()))
    return callee.once(key, lambda: _made(callee, body, form, starts, steps, rows, whole, is_new))


def _steps(body: Tape, first: Sequence[Instruction]) -> dict[int, int]:
    """Return the step of each carry that counts from a known number."""
    found: dict[int, int] = {}
    for k, start in enumerate(first):
        op, inputs, *_ = body.instructions[body.outputs[k]]
        is_count = (op is ADD and body.inputs[k] in inputs) or (op is SUBTRACT and body.inputs[k] == inputs[0])
        if not is_count or start.op is not CONSTANT or start.type != _COUNT:
            continue
        by = body.instructions[inputs[inputs[0] == body.inputs[k]]]
        if by.op is CONSTANT and by.type == _COUNT:
            found[k] = -int(by.params[0]) if op is SUBTRACT else int(by.params[0])
    return found


def _made(
    callee: Callee, body: Tape, form: LoopForm, starts: dict[int, int], steps: dict[int, int], rows: dict[int, np.ndarray],
    tables: dict[int, np.ndarray], is_new: bool,
) -> Plan | None:  # fmt: skip
    """`rows`, `tables`: the integer and bool constants among the streams, and among the loop's constants.

    `is_new`: an inner loop was rewritten, so the body has changed.
    """
    assert form.length is not None
    tables = tables | {n: i.params[0] for n, i in enumerate(body.instructions) if _is_table(i)}
    iterations = np.arange(form.length, dtype=np.int64)
    counts = {k: starts[k] + steps[k] * (iterations[::-1] if form.backwards else iterations) for k in steps}
    known = _known(body, {body.inputs[k]: values for k, values in counts.items()} | rows, form.length, tables)
    if known is None or not all(_holds(body, guard, known) for guard, i in enumerate(body.instructions) if i.op is GUARD):
        return None
    same = {*body.inputs[form.carries + form.streams :], *(n for n, i in enumerate(body.instructions) if i.op is CONSTANT)}
    gathers = dict[int, Gathered]()
    for n, (op, inputs, _, type_, _) in enumerate(body.instructions):
        if op is GATHER and inputs[0] in same and inputs[1] in known:
            gathers[n] = Gathered(inputs[0], known[inputs[1]])
        elif op is RESHAPE and inputs[0] in gathers:
            found = gathers[inputs[0]]
            gathers[n] = Gathered(found.source, found.positions.reshape(form.length, *type_.shape))
    if not (gathers or is_new or GUARD in body.ops):
        return None
    read = _read(body, [v for k, v in enumerate(body.outputs) if k not in steps], set(gathers))
    streams = {n: found for n, found in gathers.items() if n in read} | {
        body.inputs[k]: values for k, values in counts.items() if body.inputs[k] in read
    }
    last = {k: starts[k] + steps[k] * form.length for k in steps}
    made = callee.fixed(_body_of_streams(body, form, steps, tuple(streams), read))
    return Plan(body, made, last, frozenset(read.intersection(body.inputs[form.carries :])), tuple(streams.values()))


@np.errstate(all="ignore")
def _known(
    body: Tape, counts: dict[int, np.ndarray], length: int, tables: dict[int, np.ndarray]
) -> dict[int, np.ndarray] | None:
    """Evaluate the integers of all iterations that depend only on counters, known streams and constants, as arrays of the loop's length.

    Not floats: a kernel may differ in the last digit. None if there are too many.
    """
    known, room = dict(counts), MOST_NUMBERS
    for number, (op, inputs, params, type_, _) in enumerate(body.instructions):
        if not any(i in known for i in inputs):
            continue
        if not all(i in known or i in tables for i in inputs):
            if type_.size == 1 and _is_settled(op, [known[i] for i in inputs if i in known]):
                known[number] = np.full((length, *type_.shape), op is LOGICAL_OR)
            continue
        moves = op is RESHAPE or op is CONVERT or op is GATHER
        if not isinstance(op, Op) or not (moves or isinstance(op, Elementwise)) or op.raises or type_.is_float:
            continue
        room -= length * type_.size
        if room < 0:
            return None
        if op is RESHAPE:
            known[number] = known[inputs[0]].reshape(length, *type_.shape)
        elif op is GATHER:
            if inputs[0] in tables and inputs[1] in known:
                known[number] = tables[inputs[0]].ravel()[known[inputs[1]]]
        else:
            operands = [_aligned(known[i], len(type_.shape)) if i in known else tables[i] for i in inputs]
            if not (op.fails_on_integers and np.any(operands[-1] <= 0)):
                known[number] = np.broadcast_to(op.evaluate(*operands, *params), (length, *type_.shape)).astype(type_.dtype, copy=False)
    return known


def _is_settled(op: Primitive, values: Sequence[np.ndarray]) -> bool:
    """True if the known operands decide a conjunction or disjunction at every iteration."""
    return any(bool(np.all(v)) if op is LOGICAL_OR else not np.any(v) for v in values) if op in (LOGICAL_AND, LOGICAL_OR) else False


def _is_table(instruction: Instruction) -> bool:
    """True for a constant of integers or bools."""
    return instruction.op is CONSTANT and not instruction.type.is_float


def _aligned(values: np.ndarray, axes: int) -> np.ndarray:
    """Insert axes so that the values of all iterations broadcast from the right, as in each iteration."""
    length, *shape = values.shape
    return values.reshape(length, *(1,) * (axes - len(shape)), *shape)


def _holds(body: Tape, guard: int, known: dict[int, np.ndarray]) -> bool:
    """True if a guard holds at every iteration, whatever the arguments."""
    _, (asked,), params, _, site = body.instructions[guard]
    if asked not in known:
        return False
    try:
        for value in np.unique(known[asked], axis=0):
            check_guard(params, value, site)
    except GuardFailed:
        return False
    return True


def _read(body: Tape, outputs: Sequence[int], streams: set[int]) -> set[int]:
    """Return the values that outputs depend on, stopping at the new streams."""
    read, pending = set[int](), list(outputs)
    while pending:
        number = pending.pop()
        if number not in read:
            read.add(number)
            if number not in streams:
                pending += body.instructions[number].inputs
    return read


def _body_of_streams(body: Tape, form: LoopForm, counters: dict[int, int], streams: Sequence[int], read: set[int]) -> Tape:
    """Return the tape of an iteration. `streams`: the values that become streams, after the kept ones."""
    made, old = Rewriter(body), form.carries + form.streams
    carries = [number for k, number in enumerate(body.inputs[: form.carries]) if k not in counters]
    entries, same = ([n for n in part if n in read] for part in (body.inputs[form.carries : old], body.inputs[old:]))
    sources = [*carries, *entries, *streams, *same]
    for position, number in enumerate(sources):
        _, _, _, type_, site = body.instructions[number]
        made.number[number] = made.emit(INPUT, (), (position,), type_, site)
    taken = set(sources)
    for number, instruction in enumerate(body.instructions):
        if number in read and number not in taken and instruction.op is not INPUT:
            made.number[number] = made.copy(number)
    inputs = tuple(made.number[number] for number in sources)
    outputs = tuple(made.number[number] for k, number in enumerate(body.outputs) if k not in counters)
    active = tuple(k for k, number in enumerate(sources) if body.instructions[number].type.is_float)
    return Tape(tuple(made.instructions), inputs, outputs, body.name, active, True)


# The new instructions


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> int:
    """The loop of streams."""
    form: LoopForm = loop.params[1]
    operands = [made.number[i] for i in loop.inputs]
    first, constants = form.leading + form.carries, form.leading + form.carries + form.streams
    carries = [operand for k, operand in enumerate(operands[form.leading : first]) if k not in plan.counters]
    same = dict(zip(plan.body.inputs[form.carries + form.streams :], operands[constants:]))
    streams = [
        _entries(made, stream, plan.body, same, loop) if isinstance(stream, Gathered) else made.constant(stream, _COUNT)
        for stream in plan.streams
    ]
    taken = dict(zip(plan.body.inputs[form.carries :], operands[first:]))
    streams = [*(taken[n] for n in plan.body.inputs[form.carries : form.carries + form.streams] if n in plan.read), *streams]
    read = [operand for n, operand in same.items() if n in plan.read]
    new = replace(form, carries=len(carries), streams=len(streams), constants=len(read))
    inputs = (*operands[: form.leading], *carries, *streams, *read)
    return made.emit(LOOP, inputs, (plan.callee, new), TupleType(loop_items(plan.callee, new)), loop.site)


def _entries(made: Rewriter, stream: Gathered, body: Tape, same: dict[int, int], loop: Instruction) -> int:
    """Select the entries of an array for all iterations: a slice if they are equally spaced, else a gather."""
    _, _, params, type_, _ = body.instructions[stream.source]
    assert isinstance(type_, ValueType)
    array = same[stream.source] if stream.source in same else made.constant(params[0], type_)
    flat, whole = stream.positions.ravel(), ValueType(stream.positions.shape, type_.dtype)
    region = _region(flat)
    if region is None:
        positions = made.constant(stream.positions, _COUNT)
        return made.emit(GATHER, (array, positions), (), whole, loop.site)
    every = ValueType((type_.size,), type_.dtype)
    array = _reshaped(made, array, every, loop)
    if flat.size != type_.size or flat[0] != 0:
        array = made.emit(INDEX, (array,), (region,), ValueType(flat.shape, type_.dtype), loop.site)
    return _reshaped(made, array, whole, loop)


def _region(positions: np.ndarray) -> Region | None:
    """Return the slice of a flat array with these positions; None if they do not ascend by equal steps."""
    step = int(positions[1] - positions[0]) if positions.size > 1 else 1
    if step < 1 or not np.array_equal(positions, positions[0] + step * np.arange(positions.size)):
        return None
    return Region((int(positions[0]),), (step,), positions.shape, positions.shape)


def _reshaped(made: Rewriter, number: int, type_: ValueType, loop: Instruction) -> int:
    if made.instructions[number].type == type_:
        return number
    return made.emit(RESHAPE, (number,), (type_.shape,), type_, loop.site)


