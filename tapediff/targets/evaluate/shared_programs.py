"""One program for tapes that differ in constants alone: derived and compiled once for all of them.

A function that takes a step number is recorded at every step, as Python may do anything with it. Usually it does the same operations
with other constants. These constants become inputs of the program, which is differentiated once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType, FunctionType, MethodType
from typing import Generic, TypeVar

import numpy as np

from ...base.held_locks import drop_oldest
from ...ir.instruction import CONSTANT, INPUT, Instruction, Operand, UserFunction
from ...ir.tape import Tape

# The most programs of one function, for other paths or shapes.
MOST_PROGRAMS = 4

# The most functions differentiated without compiling, and the bytes of constants kept for each.
MOST_FUNCTIONS = 32
MOST_BYTES = 1 << 20


class Program:
    """A tape with some of its constants made inputs.

    Attributes:
        tape: the tape; former constants are its last inputs.
        lifted: the instructions of the former constants.
    """

    __slots__ = ("base", "lifted", "tape")

    def __init__(self, base: Tape, lifted: tuple[int, ...] = ()) -> None:
        self.base, self.lifted = base, lifted
        self.tape = _lift(base, lifted) if lifted else base

    def constants(self, tape: Tape) -> list[Operand]:
        """The values of its inputs after the arguments, for a given tape."""
        return [tape.instructions[k].params[0] for k in self.lifted]


P = TypeVar("P", bound=Program)


class Programs(Generic[P]):
    """The programs of one function."""

    __slots__ = ("_make", "known")

    def __init__(self, make: Callable[..., P]) -> None:
        self._make = make
        self.known: tuple[P, ...] = ()

    def of(self, tape: Tape) -> P:
        """Return the program that computes the same as a tape; make it from the tape if there is none."""
        for program in self.known:
            differing = differing_constants(program.base, tape)
            if differing is None:
                continue
            if not set(differing) <= set(program.lifted):
                lifted = tuple(sorted({*program.lifted, *differing}))
                self._keep(self._make(program.base, lifted), program)
                return self.known[0]
            return program
        self._keep(self._make(tape), None)
        return self.known[0]

    def _keep(self, program: P, instead_of: P | None) -> None:
        rest = [p for p in self.known if p is not instead_of]
        self.known = (program, *rest[: MOST_PROGRAMS - 1])  # replaced, never mutated: other threads read it


_of_functions: dict[int, tuple[CodeType, Programs[Program]]] = {}


def programs_of(f: UserFunction) -> Programs[Program] | None:
    """The programs of a function that is recorded at every call, keyed by its code, as a lambda is a new object each time."""
    while isinstance(f, MethodType):
        f = f.__func__
    if type(f) is not FunctionType:
        return None
    known = _of_functions.get(id(f.__code__))
    if known is None:
        known = _of_functions[id(f.__code__)] = f.__code__, Programs(Program)
        drop_oldest(_of_functions, MOST_FUNCTIONS)
    return known[1]


def is_small(tape: Tape) -> bool:
    """True if a tape may be kept after its call."""
    return sum(i.params[0].nbytes for i in tape.instructions if i.op is CONSTANT) <= MOST_BYTES


def differing_constants(base: Tape, tape: Tape) -> list[int] | None:
    """The constants in which two tapes differ; None if they differ in anything else."""
    ours, theirs = base.instructions, tape.instructions
    same = (
        len(ours) == len(theirs)
        and base.inputs == tape.inputs
        and base.outputs == tape.outputs
        and base.active_inputs == tape.active_inputs
        and base.returns_tuple == tape.returns_tuple
        and base.result == tape.result
        and base.aux == tape.aux
    )
    if not same:
        return None
    differing: list[int] = []
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a[0] is not b[0] or a[1] != b[1] or a[3] != b[3]:
            return None
        if a[2] is b[2]:
            continue
        if a[0] is CONSTANT:
            if not _is_same_array(a[2][0], b[2][0]):
                if number in base.outputs and not a[3].is_float:
                    return None  # an int that is returned counts as a float because it is a constant
                differing.append(number)
        elif not _is_same(a[2], b[2]):
            return None
    return differing


def _is_same(a: Operand, b: Operand) -> bool:
    """True if two parameters are equal; arrays, and floats that are NaN or zero, are compared by bits."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, np.ndarray):
        return _is_same_array(a, b)
    if type(a) is float:
        return a.hex() == b.hex()
    return bool(a == b)


def _is_same_array(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())


def _lift(base: Tape, lifted: Sequence[int]) -> Tape:
    instructions, inputs = list(base.instructions), list(base.inputs)
    for number in lifted:
        instructions[number] = Instruction(INPUT, (), (len(inputs),), base.instructions[number].type, None)
        inputs.append(number)
    return replace(base, instructions=tuple(instructions), inputs=tuple(inputs), arguments=None, names=())
