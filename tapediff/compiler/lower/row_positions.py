"""Positions that form whole rows of an array, as in `x[rows]`: a row is read contiguously from its first position on."""

from __future__ import annotations

import math

import numpy as np

from ...ir.instruction import CONSTANT, INT64
from ...ir.tape import Tape
from ...ops import Op
from ...ops.elementwise.arithmetic import ADD
from ..loop_ir.views import contiguous

# Fewer positions than this are not looked at.
FEWEST_POSITIONS = 64


def row_axes(positions: np.ndarray) -> int:
    """The number of trailing axes along which constant positions are consecutive, in several rows; 0 if they are not."""
    axes = 0
    while axes + 1 < positions.ndim:
        rows = positions.reshape(-1, math.prod(positions.shape[-axes - 1 :]))
        if not all(_are_consecutive(some) for some in (rows[:4], rows)):
            break
        axes += 1
    return axes if axes and 1 < math.prod(positions.shape[-axes:]) < positions.size else 0


def _are_consecutive(rows: np.ndarray) -> bool:
    return np.array_equal(rows, rows[:, :1] + np.arange(rows.shape[1]))


def tail_strides(shape: tuple[int, ...], axes: int) -> tuple[int, ...]:
    """The strides of the entries of a row, along the axes of positions of `shape`."""
    return (*(0 for _ in shape[:-axes]), *contiguous(shape[-axes:]))


def computed_row_axes(tape: Tape, number: int) -> tuple[int, int]:
    """For positions that add 0, 1, 2, ... to the first one of each row: the first positions, and the number of row axes; else -1, 0."""
    _, inputs, _, type_, _ = tape.instructions[number]
    for starts, steps in (inputs, inputs[::-1]):
        op, _, params, *_ = tape.instructions[steps]
        if op is not CONSTANT or not params[0].ndim:
            continue
        axes, shape = params[0].ndim, tape.instructions[starts].type.shape
        is_row = np.array_equal(params[0].reshape(-1), np.arange(params[0].size)) and params[0].size > 1
        if is_row and type_.shape[-axes:] == params[0].shape and shape == (*type_.shape[:-axes], *(1,) * axes) and len(shape) > axes:
            return starts, axes
    return -1, 0


def only_positions(tape: Tape) -> frozenset[int]:
    """Constants and sums that may be rows of positions, and have no other use."""
    used: set[int] = set()
    otherwise: set[int] = set(tape.outputs)
    for op, inputs, *_ in tape.instructions:
        place = op.positions[0] if isinstance(op, Op) and op.positions is not None else -1
        if place < 0:
            otherwise.update(inputs)
        else:
            used.add(inputs[place])
            otherwise.update(inputs[:place], inputs[place + 1 :])
    return frozenset(k for k in used - otherwise if _may_be_rows(tape, k))


def _may_be_rows(tape: Tape, number: int) -> bool:
    op, _, _, type_, _ = tape.instructions[number]
    return (op is CONSTANT or op is ADD) and type_.dtype == INT64 and len(type_.shape) > 1 and type_.size >= FEWEST_POSITIONS
