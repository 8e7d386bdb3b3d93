"""Guards in a repeated body: one instruction after the loop checks those of all iterations.

Until then, the iterations after a failing guard run on a wrong path. Their results are unused, so it only matters that they can run:
instructions that may raise, not terminate, or run the user's code must stay after their guard, and prevent rolling. Positions
in arrays are clamped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ...base.source_location import Site
from ...ir.guard_rows import EACH, GuardRow, width_of
from ...ir.instruction import (
    BOOL,
    BOOL_SCALAR,
    CONSTANT,
    FLOAT64,
    FLOAT_SCALAR,
    GUARD,
    INT64,
    INT_SCALAR,
    AnyType,
    Instruction,
    Params,
    Primitive,
    ValueType,
)
from ...ir.tape import Tape
from ...ops import Op
from ...ops.arrays.indexing import ASSEMBLE, Region, Regions
from ...ops.arrays.shape import RESHAPE
from ...ops.control.calls import LOOP, TupleOp
from ...ops.elementwise.arithmetic import ADD, CONVERT, MAXIMUM, MINIMUM, TRUNC
from ...ops.elementwise.comparison import NOT_EQUAL
from .vectorize import Emitter

# Integers up to here are exact as floats.
LARGEST_WHOLE = 2.0**53

def may_run_off_its_path(instruction: Instruction) -> bool:
    """True if an instruction terminates and raises nothing on any operands (positions in arrays apart)."""
    op = instruction.op
    if isinstance(op, TupleOp):
        if op is not LOOP or instruction.params[1].length is None:
            return False
        # Rolled loops have no variants, so their bodies can be checked.
        tape = instruction.params[0].only_tape()
        return (
            tape is not None
            and not instruction.params[0].may_branch
            and all(map(may_run_off_its_path, tape.instructions))
        )
    # NumPy has no negative powers of integers, and processors no integer division by zero.
    return not isinstance(op, Op) or not (op.lapack or (op.fails_on_integers and instruction.type.dtype == INT64))


def may_be_rolled(body: Sequence[Instruction], guards: Sequence[Instruction]) -> bool:
    """True if the guards of all iterations, in their order, may be checked after the last iteration."""
    expected = guards[0].params[2]
    for _, _, params, _, _ in guards:
        if params[2] != expected:
            return False
        if params[0] == "int" and not abs(params[1]) <= LARGEST_WHOLE:
            return False
        expected += width_of(params)
    return all(map(may_run_off_its_path, body))


def in_range(emitter: Emitter, tape: Tape, instruction: Instruction, operands: tuple[int, ...]) -> tuple[int, ...]:
    """Clamp positions in the operands of an instruction of `tape`: a guard before it may have failed."""
    if not isinstance(instruction.op, Op) or instruction.op.positions is None:
        return operands
    place, array = instruction.op.positions
    if emitter.instructions[operands[place]].op is CONSTANT:
        return operands
    shape = instruction.params[0] if array is None else tape.instructions[instruction.inputs[array]].type.shape
    least, most = (emitter.constant(v, INT_SCALAR) for v in (0, math.prod(shape) - 1))
    positions = emitter.instructions[operands[place]]
    if positions.op is MINIMUM and positions.inputs[1] == most:
        return operands
    kept = emitter.make(MINIMUM, (emitter.make(MAXIMUM, (operands[place], least)), most))
    return (*operands[:place], kept, *operands[place + 1 :])


class EmitsAll(Emitter, Protocol):
    """Also emits guards: the ArrayBuilder."""

    def emit(
        self, op: Primitive, inputs: tuple[int, ...], params: Params, type_: AnyType, site: Site | None
    ) -> int: ...


class GuardColumn(NamedTuple):
    """A guard of a body: its value, stacked over iterations, and the guard at every iteration."""

    value: int
    guards: Sequence[Instruction]


def make_guard(emitter: EmitsAll, columns: Sequence[GuardColumn]) -> None:
    """Emit the guard of all iterations. `emitter` is the ArrayBuilder."""
    all_truth = all(column.guards[0].params[0] == "bool" or _entries_are_truth(column) for column in columns)
    dtype = BOOL if all_truth else FLOAT64
    parts = [_rows(emitter, column, dtype) for column in columns]
    outcomes = [_outcomes(column, dtype) for column in columns]
    value = parts[0] if len(parts) == 1 else _side_by_side(emitter, parts)
    kinds, sites = zip(*(pair for column in columns for pair in _entries(column.guards[0])))
    first = columns[0].guards[0]
    params = (EACH, np.concatenate(outcomes, axis=1), first.params[2], GuardRow(kinds, sites))
    params[1].flags.writeable = False
    emitter.emit(GUARD, (value,), params, BOOL_SCALAR, first.site)


def _entries_are_truth(column: GuardColumn) -> bool:
    params = column.guards[0].params
    return params[0] == EACH and set(params[3].kinds) == {"bool"}


def _entries(guard: Instruction) -> list[tuple[str, Site | None]]:
    """Return kind and line of each entry in a row of a guard."""
    params = guard.params
    if params[0] != EACH:
        return [(params[0], guard.site)]
    return list(zip(params[3].kinds, params[3].sites)) * (params[1].size // len(params[3].kinds))


def _outcomes(column: GuardColumn, dtype: np.dtype) -> np.ndarray:
    return np.array([np.ravel(guard.params[1]) for guard in column.guards]).astype(dtype)


def _rows(emitter: Emitter, column: GuardColumn, dtype: np.dtype) -> int:
    """Return the values of the guards, one row per iteration, in the form that is compared."""
    guard = column.guards[0]
    kind, value = guard.params[0], column.value
    type_ = emitter.instructions[value].type
    if kind == "bool" and type_.dtype != BOOL:
        value = emitter.make(NOT_EQUAL, (value, emitter.constant(0, ValueType((), type_.dtype))))
    elif kind == "int" and type_.is_float:
        # Adding zero turns -0.0 into 0.0, as int() does.
        value = emitter.make(TRUNC, (_converted(emitter, value, FLOAT64),))
        value = emitter.make(ADD, (value, emitter.constant(0.0, FLOAT_SCALAR)))
    value = _converted(emitter, value, dtype)
    shape = (type_.shape[0], width_of(guard.params))
    return value if type_.shape == shape else emitter.make(RESHAPE, (value,), (shape,))


def _converted(emitter: Emitter, value: int, dtype: np.dtype) -> int:
    if emitter.instructions[value].type.dtype == dtype:
        return value
    return emitter.make(CONVERT, (value,), (dtype,))


def _side_by_side(emitter: Emitter, parts: Sequence[int]) -> int:
    shapes = [emitter.instructions[part].type.shape for part in parts]
    width = sum(shape[1] for shape in shapes)
    starts = np.cumsum([0, *(shape[1] for shape in shapes)])
    regions = Regions(Region((0, int(k)), (1, 1), shape, shape) for k, shape in zip(starts, shapes))
    return emitter.make(ASSEMBLE, tuple(parts), (regions, (shapes[0][0], width), True))
