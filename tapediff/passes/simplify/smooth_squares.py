"""Smooth squares of functions with a kink at 0, such as abs: abs(x)**2, norm(x)**2, hypot(x, y)**2.

The chain rule through the kink is right to first order only: the derivative of norm(x) at 0, which is 0, times that of the square gives a
zero Hessian of norm(x)**2. So the cotangent of the square skips the op, and goes to the values that the square is a smooth function of.
Factors and rearrangements between the two are handled: (norm(x - y) / scale)**4, norm(x, axis=1)[k]**2. Also hypot reads only the squares
of its operands: hypot(hypot(x, y), z) is smooth where x and y are 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...ir.instruction import CONSTANT, INPUT, Instruction, Operand, some_of
from ...ir.tape import Tape
from ...ops.arrays.indexing import RegionCotangent, assemble
from ...ops.arrays.shape import broadcast
from ...ops.declaration.op import Rule, declared_op
from ...ops.elementwise.arithmetic import (
    ABSOLUTE,
    COPYSIGN,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    NEGATIVE,
    SQUARE,
    integer_power,
)
from ...ops.elementwise.comparison import EQUAL, SELECT
from ...ops.elementwise.elementary import HYPOT
from ...ops.matrices.products import MATMUL
from ..columns import as_columns, first_two

# Ops whose square is a function of their operands' squares: rules from the cotangent of one square to those of the others.
SQUARES_OF_SQUARES: dict[object, tuple[Rule, ...]] = {
    ABSOLUTE: (lambda w, z, x: w,),
    COPYSIGN: (lambda w, z, x, y: w,),
    HYPOT: (lambda w, z, x, y: w, lambda w, z, x, y: w),
    MULTIPLY: (lambda w, z, x, y: w * SQUARE(y), lambda w, z, x, y: w * SQUARE(x)),
}

# Powers of their first operand, if the exponent is even, or both operands are the same.
_EVEN = (MULTIPLY, MATMUL, SQUARE, INTEGER_POWER)

_OTHER, _SQUARED, _PRODUCT, _PASSED = range(4)


class Squares:
    """The values whose square is a smooth function, and the cotangents of those squares collected so far.

    Attributes:
        leads: for each such value, the position of the operand that leads to it; -1 if its own op has such a square.
        pending: by number of a value, cotangents of its square and their qualities.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.pending: dict[int, list[tuple[Operand, int]]] = {}
        self.leads: dict[int, int] = {}
        columns = self.columns = as_columns(tape.instructions)
        ops = [i.op for i in columns.templates]
        roles = np.array([_SQUARED if op.squared is not None else _PRODUCT if op is MULTIPLY else
                          _PASSED if op is NEGATIVE or op is DIVIDE or op.moves else _OTHER for op in ops], np.int8)  # fmt: skip
        first, second = first_two(columns)
        roles = roles[columns.which]
        is_given = np.array([op is INPUT or op is CONSTANT for op in ops], bool)[columns.which]
        looks = (roles == _PASSED) & ~is_given[first] | (roles == _PRODUCT) & (first != second) & ~(is_given[first] & is_given[second])
        numbers, leads = np.flatnonzero(looks | (roles == _SQUARED)), self.leads
        for number, role, i, j in zip(*(each.tolist() for each in (numbers, roles[numbers], first[numbers], second[numbers]))):
            if role == _SQUARED:
                leads[number] = -1
            elif i in leads:
                leads[number] = 0
            elif role == _PRODUCT and j in leads:
                leads[number] = 1

    def candidates(self) -> Iterable[tuple[int, Instruction]]:
        """Instructions that may read such squares, with their numbers."""
        columns = self.columns
        first, _ = first_two(columns)
        is_hypot = np.array([i.op is HYPOT for i in columns.templates], bool)[columns.which]
        is_lead = np.zeros(first.size + 1, bool)
        is_lead[list(self.leads)] = True
        is_even = np.array([i.op in _EVEN for i in columns.templates], bool)[columns.which]
        numbers = np.flatnonzero(is_hypot | (is_even & is_lead[first])).tolist()
        return zip(numbers, some_of(self.tape.instructions, numbers))

    def is_square(self, instruction: Instruction) -> bool:
        """True if the instruction is an even power of such a value."""
        op, inputs, params, *_ = instruction
        if not self.leads or not inputs or inputs[0] not in self.leads:
            return False
        if op is MULTIPLY or op is MATMUL:
            return inputs[0] == inputs[1] and (op is MULTIPLY or len(self.tape.instructions[inputs[0]].type.shape) == 1)
        return op is SQUARE or (op is INTEGER_POWER and params[0] > 0 and params[0] % 2 == 0)

    def squared_operands(self, instruction: Instruction) -> tuple[int, ...]:
        """Return the positions of the operands that are such values and of which the instruction reads only the square."""
        if self.leads and instruction.op is HYPOT:
            return tuple(k for k, i in enumerate(instruction.inputs) if i in self.leads)
        return (0,) if self.is_square(instruction) else ()

    def rules(self, number: int) -> list[tuple[Rule, bool]]:
        """Return (rule, of_square) per operand of such a value: from its square's cotangent to that of the operand, or of its square."""
        instruction, lead = self.tape.instructions[number], self.leads[number]
        of_squares = SQUARES_OF_SQUARES.get(instruction.op, ())
        return [
            (of_squares[k], True) if k < len(of_squares) and i in self.leads else (rule, k == lead)
            for k, (i, rule) in enumerate(zip(instruction.inputs, square_rules(instruction, lead)))
        ]  # fmt: skip

    def total(self, number: int) -> tuple[Operand, list[int]]:
        """The cotangent of a value's square, and the qualities of its terms."""
        terms, qualities = zip(*self.pending.pop(number))
        parts = [term for term in terms if isinstance(term, RegionCotangent)]
        rest = [term for term in terms if not isinstance(term, RegionCotangent)]
        if parts:
            shape = self.tape.instructions[number].type.shape
            rest.append(assemble([p.z_bar for p in parts], [p.region for p in parts], shape))
        total = rest[0]
        for term in rest[1:]:
            total = total + term
        return total, list(qualities)


def square_bar_of(instruction: Instruction, z_bar: Operand, z: Operand, x: Operand) -> Operand:
    """Return the cotangent of x**2, from that of an even power of x, or of a hypot of x and another."""
    if instruction.op is HYPOT:
        at_origin = EQUAL(z, 0.0)
        return SELECT(at_origin, 0.0, z_bar * (0.5 / SELECT(at_origin, 1.0, z)))
    if instruction.op is MATMUL:
        return broadcast(z_bar, x.shape)
    exponent = instruction.params[0] if instruction.op is INTEGER_POWER else 2
    return z_bar if exponent == 2 else z_bar * (0.5 * exponent * integer_power(x, exponent - 2))


def square_rules(instruction: Instruction, lead: int) -> tuple[Rule, ...]:
    """Rules that take the cotangent of a value's square.

    They give the operands' cotangents; for the operand at position `lead`, its square's.
    """
    op = declared_op(instruction)
    if lead < 0:
        assert op.squared is not None
        return op.squared
    if op is MULTIPLY:
        rules = (lambda w, z, x, y: w * SQUARE(y), lambda w, z, x, y: w * (2.0 * y * SQUARE(x)))
        return rules if lead == 0 else (lambda w, z, x, y: rules[1](w, z, y, x), lambda w, z, x, y: rules[0](w, z, y, x))
    if op is DIVIDE:
        return (lambda w, z, x, y: w / SQUARE(y), lambda w, z, x, y: w * (-2.0 * SQUARE(z) / y))
    if op is NEGATIVE:
        return (lambda w, z, x: w,)
    assert not callable(op.vjp)
    return op.vjp
