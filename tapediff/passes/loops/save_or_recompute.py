"""Chooses the residuals that a loop saves for its reverse pass: values costlier to recompute than to store and load."""

from __future__ import annotations

from ...ir.instruction import BOOL, CONSTANT, FLOAT64, INPUT, INT64, ValueType
from ...ir.tape import Tape
from ...ops import Elementwise, Op
from ...ops.control.callee import Callee
from ...ops.control.calls import LOOP, LoopForm, TupleOp
from ..reach import needed_values, reached_from
from .value_numbering import SameValues

# Shorter loops are left alone. Loops of a few iterations are not: if nested, each level would recompute the inner ones.
FEWEST_ITERATIONS = 2

# Bytes that a loop may save, carries included; the largest sizes that stay in the first cache, and in any cache.
LARGEST_SAVED = 1 << 27
LARGEST_NEAR = 1 << 15
LARGEST_CACHED = 1 << 20

# Costs in additions: to store and load a scalar, near, away (of arrays, computed on lanes) and far; to divide; to compute exp and the like,
# also for all iterations at once.
STORED, STORED_AWAY, STORED_FAR = 1.5, 4.0, 6.0
LANES = 8
DIVIDED = 5.0
COSTLY, COSTLY_OUTSIDE = 20.0, 3.0
# An op that is not elementwise.
ROUTINE = 50.0


def worth_saving(body: Tape, same: SameValues, other: Tape, form: LoopForm) -> list[int]:
    """Choose the values of a reading body to save, among those that the body of the loop `form` has as well."""
    needed = needed_values(body, body.outputs)
    follows = reached_from(other, other.inputs[: form.carries])
    crossing = [n for n in _crossing(body, same, needed) if body.instructions[n].op not in (INPUT, CONSTANT)]
    saved = (form.length or 0) * sum(8 * body.instructions[n].type.size for n in crossing)
    available: set[int] = set()
    residuals: list[int] = []
    room = LARGEST_SAVED // (form.length or 1) - sum(
        8 * other.instructions[i].type.size for i in other.inputs[: form.carries]
    )
    for number in crossing:
        instruction = body.instructions[number]
        price = _price(saved, instruction.type.size)
        cone = {n for n in needed_values(body, [number], available) - available if body.instructions[n].op not in (INPUT, CONSTANT)}
        costs = sum(additions_of(body, n, follows[same.origin(n)]) for n in cone)
        fits = 8 * instruction.type.size <= room
        is_saved = follows[same.origin(number)] and _is_saved_kind(instruction.type) and costs > price and fits
        if is_saved:
            residuals.append(number)
            room -= 8 * instruction.type.size
            available.add(number)
        else:
            available |= cone
    return residuals


def _price(saved: int, size: int) -> float:
    """Return the cost to store and load a value of an iteration, given the total bytes of all values."""
    if saved > LARGEST_CACHED:
        return STORED_FAR * size
    return (STORED_AWAY if saved > LARGEST_NEAR and size >= LANES else STORED) * size


def _is_saved_kind(type_: ValueType) -> bool:
    """True for floats, and for integers such as positions: values that an iteration returns unchanged."""
    return isinstance(type_, ValueType) and type_.dtype in (FLOAT64, INT64, BOOL)


def _crossing(body: Tape, same: SameValues, needed: set[int]) -> list[int]:
    """Return the values that the other body has, and that an instruction only in this body reads, in order."""
    read = set(body.outputs)
    for number in needed:
        if number not in same:
            read.update(body.instructions[number].inputs)
    return sorted(n for n in read if n in same)


def additions_of(body: Tape, number: int, follows: bool) -> float:
    op, inputs, params, type_, _ = body.instructions[number]
    if op.is_view:
        return 0.0
    if op is LOOP:
        return cost_of_loop(*params)
    if isinstance(op, Elementwise):
        each = (COSTLY if follows else COSTLY_OUTSIDE) if op.is_costly else DIVIDED if op.divides else 1.0
        return each * type_.size
    if isinstance(op, Op) and op.additions is not None:
        return op.additions(type_, [body.instructions[i].type for i in inputs])
    return ROUTINE if isinstance(op, TupleOp) else ROUTINE + type_.size


def cost_of(tape: Tape) -> float:
    """Return the cost of a tape, in additions."""
    return sum(additions_of(tape, n, False) for n, i in enumerate(tape.instructions) if isinstance(i.op, Op))


def cost_of_loop(callee: Callee, form: LoopForm) -> float:
    """Return the cost of a loop, in additions; of one iteration if its length is known only at run time."""
    tape = callee.only_tape()
    if tape is None:
        return ROUTINE * (form.length or 1)
    each = sum(additions_of(tape, n, True) for n, i in enumerate(tape.instructions) if i.op not in (INPUT, CONSTANT))
    return each * (form.length or 1)
