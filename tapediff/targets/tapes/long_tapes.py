"""Detect long tapes of scalar operations, whose gradient needs no tape of its own: see compiler/bytecode/sweeps/program.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...base.settings import settings
from ...ir.instruction import CONSTANT, INPUT, Instruction, ValueType, columns_of
from ...ir.tape import Tape
from ...ops.control.calls import LOOP
from .gradient_tape import READY, require_gradient

if TYPE_CHECKING:
    from ...compiler.loop_ir.program import Program

# Shorter tapes compile in a quarter of a second, and run a little faster compiled.
FEWEST_INSTRUCTIONS = 1000

# Loops that shorten a tape by less than this are chance repetitions of a few iterations.
MOST_ROLLED = 3

# LLVM takes half a second or more for this many array operations; in the time for one, this many instructions become byte code.
MANY_ON_ARRAYS, INSTRUCTIONS_FOR_ONE = 500, 8

# LLVM takes a second or more for this many loops; this many recorded instructions of each take about as long as byte code.
MANY_LOOPS, INSTRUCTIONS_IN_ONE = 50, 1000

# The most array entries for each instruction of a scalar tape.
MOST_ENTRIES = 0.5


def is_long(tape: Tape) -> bool:
    """True if a tape may have a long program."""
    return len(tape.instructions) >= FEWEST_INSTRUCTIONS


def _is_little_shorter(rolled: Tape, tape: Tape) -> bool:
    """True if a tape would not be much longer without its loops or array operations."""
    is_little_shorter = is_long(rolled) and tape.save_limit is None and len(tape.instructions) < MOST_ROLLED * len(rolled.instructions)
    return is_little_shorter and (LOOP in rolled.ops or operations_on_arrays(rolled) > operations_on_arrays(tape))


def _is_slow_to_compile(rolled: Tape, tape: Tape) -> bool:
    """True if the rolled tape has so many array operations outside loops that byte code of the recorded tape is ready sooner."""
    on_arrays = operations_on_arrays(rolled)
    return on_arrays >= MANY_ON_ARRAYS and tape.save_limit is None and len(tape.instructions) < INSTRUCTIONS_FOR_ONE * on_arrays


def _has_many_loops(rolled: Tape, tape: Tape) -> bool:
    """True if a tape has so many short loops that byte code of the recorded tape, which batches isomorphic operations, is ready
    sooner."""
    if LOOP not in rolled.ops:
        return False
    loops = sum(n for i, n in zip(*_kinds(rolled)) if i.op is LOOP)
    return loops >= MANY_LOOPS and len(tape.instructions) < INSTRUCTIONS_IN_ONE * loops


def operations_on_arrays(tape: Tape) -> int:
    """The number of operations on arrays, without those that only move entries."""
    found = zip(*_kinds(tape))
    return sum(n for i, n in found if isinstance(i.type, ValueType) and i.type.shape and not i.op.moves and i.op not in _GIVEN)


_GIVEN = (CONSTANT, INPUT)


def _is_of_numbers(tape: Tape) -> bool:
    """True if the arrays of a tape have few entries compared with its scalars, so that byte code is as fast as loops over batches."""
    templates, counts = _kinds(tape)
    entries = sum(n * i.type.size for i, n in zip(templates, counts) if i.type.shape and i.op is not CONSTANT and i.op is not INPUT)
    return MOST_ENTRIES * len(tape.instructions) >= entries


def _kinds(tape: Tape) -> tuple[Sequence[Instruction], Sequence[int]]:
    """Instructions of a tape, and the number of similar ones for each."""
    columns = columns_of(tape.instructions)
    if columns is None:
        return tape.instructions, [1] * len(tape.instructions)
    return columns.templates, np.bincount(columns.which, minlength=len(columns.templates)).tolist()


def long_program(tape: Tape, wrt: tuple[int, ...] | None) -> tuple[Tape, Program] | None:
    """The program of the value, and of the gradient by `wrt`, of a long tape, with a tape that has the types of its inputs and outputs;
    None if the tape is to be compiled."""
    from ...functions.callees.rolled_loop import prepared, prepared_apart, prepared_straight, rolled_apart

    tape = tape.without_aux()
    if not is_long(tape):
        return None
    if wrt is not None:
        tape = require_gradient(tape, wrt)
    # Imported when the first long tape is compiled, as all of the compiler.
    from ...compiler.bytecode.sweeps.program import swept

    ready, rolled, program = tape, tape, None
    if settings.roll_loops and tape.save_limit is None:
        rolled = rolled_apart(tape)
        if _has_many_loops(rolled, tape):
            ready = prepared_straight(tape)
            program = swept(ready, wrt)
        elif _is_of_numbers(rolled):
            ready = prepared_apart(tape)
            program = swept(ready, wrt) if is_long(ready) else None
    if program is None:
        ready = rolled = prepared(tape)
        program = swept(ready, wrt) if is_long(ready) else None
    if program is None and (_is_little_shorter(ready, tape) or _is_slow_to_compile(ready, tape)):
        ready = prepared_straight(tape)
        program = swept(ready, wrt)
    if program is None:
        if wrt is not None:
            tape.derived[READY] = rolled
        return None
    if wrt is None:
        return ready, program
    return replace(ready, outputs=(*ready.outputs, *[ready.inputs[k] for k in wrt]), returns_tuple=True, result=None), program
