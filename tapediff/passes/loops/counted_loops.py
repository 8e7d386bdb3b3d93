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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...base.token import blake2b
from ...errors import GuardFailed
from ...ir.instruction import CONSTANT, GUARD, Instruction, Primitive, ValueType
from ...ir.interpreter import check_guard
from ...ir.rewriter import Rewriter, part_of_tape
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.arrays.indexing import GATHER
from ...ops.arrays.shape import RESHAPE
from ...ops.control.callee import Callee
from ...ops.control.calls import LoopForm
from ...ops.elementwise.arithmetic import ADD, CONVERT, SUBTRACT
from ...ops.elementwise.comparison import LOGICAL_AND, LOGICAL_OR
from ..reach import needed_values
from ..simplify.array_entries import read_at
from .loop_builder import Items, items_without, loop_like, with_loops

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
    return with_loops(tape, lambda loop, _: _plan(tape, loop), _emitted)


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
    carries, *others = ([tape.instructions[i] for i in part] for part in form.parts(loop.inputs))
    _, *given = form.parts(body.inputs)
    steps = _steps(body, carries)
    starts = {k: int(carries[k].params[0]) for k in steps}
    rows, whole = ({n: i.params[0] for n, i in zip(*part) if is_table(i)} for part in zip(given, others))
    if not steps and not rows and (GUARD in body.ops or not is_new):
        return None
    digests = ((n, blake2b(table.tobytes(), digest_size=32).digest()) for n, table in (*rows.items(), *whole.items()))
    key = "counted", form, *starts.items(), *digests
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
    tables = tables | {n: i.params[0] for n, i in enumerate(body.instructions) if is_table(i)}
    iterations = np.arange(form.length, dtype=np.int64)
    counts = {k: starts[k] + steps[k] * (iterations[::-1] if form.backwards else iterations) for k in steps}
    known = integers_of(body, {body.inputs[k]: values for k, values in counts.items()} | rows, form.length, tables)
    if known is None or not all(_holds(body, guard, known) for guard, i in enumerate(body.instructions) if i.op is GUARD):
        return None
    same = {*form.parts(body.inputs)[2], *(n for n, i in enumerate(body.instructions) if i.op is CONSTANT)}
    gathers = dict[int, Gathered]()
    for n, (op, inputs, _, type_, _) in enumerate(body.instructions):
        if op is GATHER and inputs[0] in same and inputs[1] in known:
            gathers[n] = Gathered(inputs[0], known[inputs[1]])
        elif op is RESHAPE and inputs[0] in gathers:
            found = gathers[inputs[0]]
            gathers[n] = Gathered(found.source, found.positions.reshape(form.length, *type_.shape))
    if not (gathers or is_new or GUARD in body.ops):
        return None
    read = needed_values(body, [v for k, v in enumerate(body.outputs) if k not in steps], set(gathers))
    streams = {n: found for n, found in gathers.items() if n in read} | {
        body.inputs[k]: values for k, values in counts.items() if body.inputs[k] in read
    }
    last = {k: starts[k] + steps[k] * form.length for k in steps}
    carries, entries, constants = form.parts(body.inputs)
    sources = [n for k, n in enumerate(carries) if k not in steps]
    sources += [*(n for n in entries if n in read), *streams, *(n for n in constants if n in read)]
    made = callee.fixed(part_of_tape(body, sources, [n for k, n in enumerate(body.outputs) if k not in steps]))
    return Plan(body, made, last, frozenset(read.intersection((*entries, *constants))), tuple(streams.values()))


@np.errstate(all="ignore")
def integers_of(
    body: Tape, counts: Mapping[int, np.ndarray], length: int, tables: Mapping[int, np.ndarray]
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


def is_table(instruction: Instruction) -> bool:
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


# The new instructions


def _emitted(made: Rewriter, loop: Instruction, plan: Plan) -> Items:
    """The loop of streams."""
    form: LoopForm = loop.params[1]
    carries, entries, constants = form.parts(loop.inputs)
    _, given, same = form.parts(plan.body.inputs)
    operands = dict(zip(same, constants))
    streams = [operand for n, operand in zip(given, entries) if n in plan.read]
    for stream in plan.streams:
        is_array = isinstance(stream, Gathered)
        streams.append(_entries(made, stream, plan.body, operands) if is_array else made.constant(stream, _COUNT))
    others = [operand for k, operand in enumerate(carries) if k not in plan.counters]
    new = loop_like(made, loop, plan.callee, others, streams, [operand for n, operand in operands.items() if n in plan.read])
    items = items_without(made, new, plan.counters)
    return lambda k: made.constant(plan.counters[k], _COUNT) if k in plan.counters else items(k)


def _entries(made: Rewriter, stream: Gathered, body: Tape, same: dict[int, int]) -> int:
    """Select the entries of an array for all iterations."""
    _, _, params, type_, _ = body.instructions[stream.source]
    assert isinstance(type_, ValueType)
    array = same[stream.source] if stream.source in same else made.constant(params[0], type_)
    return read_at(made, array, stream.positions)
