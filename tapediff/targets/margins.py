"""Margins: the distance of a point from the next branch of a tape, by NumPy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir.guard_rows import single_outcome
from ..ir.instruction import CONSTANT, GUARD, INPUT, Guard, Instruction, Operand, Outcome, Param
from ..ir.tape import Tape
from ..ops.control.calls import CALL, LOOP, loop_with_numpy
from ..ops.elementwise.arithmetic import CONVERT, TRUNC
from ..ops.elementwise.comparison import SELECT


@dataclass(frozen=True, slots=True)
class Margin:
    """One comparison that decides how a function goes on, and the distance of its two sides.

    Attributes:
        at: the user's line, as file:line in function.
        kind: "guard" where Python looked at it; "where" where it chooses between arrays; "kink" where a maximum, minimum, clip
            or absolute value has its corner.
        comparison: less, less_equal, greater, ..., maximum, absolute, or int for an integer that Python looked at.
        left, right: the two sides; of arrays the elements that are closest.
        margin: left - right; NaN where there is no distance, as from NaN.
        outcome: of the comparison there: a bool; for int the integer; for kinks True if left is the greater.
        tie: the two sides are equal.
        index: the position of the closest elements; () for scalars.
        count: of the elements for which the comparison holds; for int the sum of the integers.
        moves: True if the comparison depends on a differentiable argument; False if it depends on data and constants alone.
    """

    at: str
    kind: str
    comparison: str
    left: float
    right: float
    margin: float
    outcome: bool | int | float
    tie: bool
    index: tuple[int, ...] = ()
    count: float = 0
    moves: bool = True

    def __str__(self) -> str:
        where = f" at {self.index}" if self.index else ""
        return f"{self.comparison}({self.left!r}, {self.right!r}){where}, margin {self.margin:.3g}"

    def __repr__(self) -> str:
        return f"<{self.kind} {self} → {self.outcome}{', a tie' if self.tie else ''}; {self.at}>"


def margins(tape: Tape, inputs: Sequence[Operand]) -> list[Margin]:
    """Every comparison that guards of a tape depend on, in order, then the kinks and jumps of its results."""
    return _margins(tape, inputs, tape.active_inputs)


def _margins(tape: Tape, inputs: Sequence[Operand], active: Collection[int]) -> list[Margin]:
    """Like `margins`; `active` are the positions of the inputs that may move."""
    values, moving = values_at(tape, inputs), _moving(tape, active)
    found = [m for guard in tape.guards for m in guard_margins(tape, values, guard, moving)]
    needed = _needed_by_outputs(tape)
    for number, instruction in enumerate(tape.instructions):
        if instruction.op in (CALL, LOOP):
            found += _inside(tape, values, instruction, moving)
        if number in needed:
            found += _kinks(tape, values, number, moving)
    return found


def _moving(tape: Tape, active: Collection[int]) -> set[int]:
    """The values that depend on some inputs."""
    found: set[int] = set()
    for number, instruction in enumerate(tape.instructions):
        is_active = instruction.op is INPUT and instruction.params[0] in active
        if is_active or not found.isdisjoint(instruction.inputs):
            found.add(number)
    return found


def _inside(tape: Tape, values: Sequence[Operand], instruction: Instruction, moving: set[int]) -> list[Margin]:
    """The margins of called functions; for a loop, over all iterations, those closest to another outcome."""
    operands = [values[i] for i in instruction.inputs]
    # In a loop, carries may come to depend on anything.
    is_one_call = instruction.op is CALL
    active = [k for k, i in enumerate(instruction.inputs) if i in moving or (not is_one_call and moving)]
    watched = _Watched(instruction.params[0], active)
    if not hasattr(watched.callee, "variants"):  # a user's primitive, which is opaque
        return []
    if instruction.op is CALL:
        _, number = watched.answer(None, operands)
        called: Tape = watched.callee.variants[number].tape
        # The condition of td.cond is compared by the caller.
        given = [(g, called.inputs.index(g.value)) for g in called.guards if g.value in called.inputs]
        outside = [_decisions(tape, values, instruction.inputs[k], str(g.site), "guard", g.kind, moving) for g, k in given]
        return [*(margin for found in outside for margin in found), *watched.found]
    loop_with_numpy(watched, instruction.params[1], operands)
    closest: dict[tuple[str, str, str], Margin] = {}
    for margin in watched.found:
        place = (margin.at, margin.kind, margin.comparison)
        if place not in closest or abs(margin.margin) < abs(closest[place].margin):
            closest[place] = margin
    return list(closest.values())


class _Watched:
    """A callee that notes the margins of every run."""

    def __init__(self, callee: Param, active: Collection[int]) -> None:
        self._active = active
        self.callee, self.in_types, self.out_types = callee, callee.in_types, callee.out_types
        self.found: list[Margin] = []

    def answer(self, number: int | None, inputs: Sequence[Operand]) -> tuple[list[Operand], int]:
        outputs, ran = self.callee.answer(number, inputs)
        self.found += _margins(self.callee.variants[ran].tape, inputs, self._active)
        return outputs, ran


@np.errstate(all="ignore")
def values_at(tape: Tape, inputs: Sequence[Operand], guard: int | None = None) -> list[Operand]:
    """Every value of a tape, ignoring its guards; up to the guard of this ordinal if given."""
    values: list[Operand] = []
    for op, ids, params, _, _ in tape.instructions:
        if op is CONSTANT:
            values.append(params[0])
        elif op is INPUT:
            values.append(inputs[params[0]])
        elif op is GUARD:
            values.append(None)
            if params[2] == guard:
                break
        else:
            values.append(op.evaluate(*[values[i] for i in ids], *params))
    return values


def guard_margins(tape: Tape, values: Sequence[Operand], guard: Guard, moving: set[int] | None = None) -> list[Margin]:
    """The comparisons that a guard depends on, through `and`, `or`, `not`, all() and any()."""
    at = str(guard.site or "unknown line")
    return _decisions(tape, values, guard.value, at, "guard", guard.kind, moving)


def _decisions(
    tape: Tape, values: Sequence[Operand], top: int, at: str, kind: str, looked_at: str, moving: set[int] | None
) -> list[Margin]:
    found: list[Margin] = []
    pending, seen = [top], {top}
    while pending:
        number = pending.pop()
        instruction = tape.instructions[number]
        op, ids = instruction.op, instruction.inputs
        operands = [values[i] for i in ids]
        if op.compares is not None and not instruction.type.is_float:
            closest = _closest(at, kind, op.name, *op.compares(values[number], *operands, *instruction.params))
            found += _marked(closest, number, moving)
            # Integers and bools change where the comparisons that made them do.
            below = [i for i in ids if i not in seen and not tape.instructions[i].type.is_float]
            seen.update(below)
            pending += reversed(below)
        elif instruction.type.is_float and not _is_count(tape, instruction):
            found += _marked(_number(tape, values, number, at, kind, looked_at), number, moving)
        else:
            below = [i for i in ids if i not in seen]
            seen.update(below)
            pending += reversed(below)
    return found


def _marked(found: list[Margin], number: int, moving: set[int] | None) -> list[Margin]:
    return found if moving is None or number in moving else [replace(margin, moves=False) for margin in found]


def _is_count(tape: Tape, instruction: Instruction) -> bool:
    """True for a float made from integers or bools, which changes where those do."""
    return instruction.op is CONVERT and not tape.instructions[instruction.inputs[0]].type.is_float


def _number(tape: Tape, values: Sequence[Operand], number: int, at: str, kind: str, looked_at: str) -> list[Margin]:
    """The margin of a number whose truth or integer part decides."""
    value = values[number]
    if looked_at == "bool":
        return _closest(at, kind, "not_equal", value, 0.0, np.not_equal(value, 0.0))
    rounding = tape.instructions[number].op
    if rounding.jump is None:
        rounding = TRUNC
    else:
        value = values[tape.instructions[number].inputs[0]]
    assert rounding.jump is not None
    return _closest(at, kind, "int", value, rounding.jump(np.asarray(value)), rounding.evaluate(value))


def _kinks(tape: Tape, values: Sequence[Operand], number: int, moving: set[int]) -> list[Margin]:
    op, ids, params, type_, site = tape.instructions[number]
    at = str(site or "unknown line")
    if op is SELECT:
        return _decisions(tape, values, ids[0], at, "where", "bool", moving)
    if op.compares is None or not type_.is_float:
        return []
    found = _closest(at, "kink", op.name, *op.compares(values[number], *[values[i] for i in ids], *params))
    return _marked(found, number, moving)


def _needed_by_outputs(tape: Tape) -> set[int]:
    """The values that the outputs depend on."""
    needed = set(tape.outputs[: tape.value_count])
    for number in range(len(tape.instructions) - 1, -1, -1):
        if number in needed:
            needed.update(tape.instructions[number].inputs)
    return needed


def _closest(at: str, kind: str, name: str, left: Operand, right: Operand, outcome: Outcome) -> list[Margin]:
    """The pair of elements with the smallest distance; empty for an empty array."""
    if np.size(left) == 0 or np.size(right) == 0:
        return []
    left, right, outcome = np.broadcast_arrays(left, right, outcome)
    distance = apart(left, right)
    distance = np.where(np.isnan(distance), np.inf, distance)
    distance = np.where(np.equal(left, right), 0.0, distance)  # also of infinities
    index = tuple(int(k) for k in np.unravel_index(int(np.argmin(distance)), distance.shape))
    a, b = left[index].item(), right[index].item()
    tie = a == b
    came_to = single_outcome("int", outcome[index]) if name == "int" else outcome[index].item()
    margin = 0.0 if tie else float(a) - float(b)
    return [Margin(at, kind, name, float(a), float(b), margin, came_to, tie, index, np.sum(outcome, dtype=float).item())]


@np.errstate(all="ignore")
def apart(a: Operand, b: Operand) -> Operand:
    """The distance between the elements of two arrays."""
    return np.abs(np.asarray(a, float) - np.asarray(b, float))
