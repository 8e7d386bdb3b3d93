"""Squares of functions with a kink at 0, such as sqrt(x) ** 2, as one operation that also takes x.

See passes/simplify/smooth_squares.py. The square of r = sqrt(x) is an operation on r and x: r * r, whose derivative is that of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ....ir.instruction import Instruction, Operand
from ....ir.tape import Tape
from ....ops.declaration.op import Elementwise, Op, Rule
from ....ops.elementwise.arithmetic import INTEGER_POWER
from ....ops.elementwise.elementary import HYPOT
from ....passes.simplify.smooth_squares import Squares, square_rules

# An operation has at most this many operands.
MOST_OPERANDS = 4


@dataclass(frozen=True, slots=True)
class KinkSquare:
    """The square of a value r, or of a multiple of r.

    Attributes:
        op: squares its first operand.
        operands: the value that is squared; for a multiple, r and the factor; the operands of r.
        differentiated: the operands with a derivative.
    """

    op: Elementwise
    operands: tuple[int, ...]
    differentiated: tuple[int, ...]


def kink_squares(tape: Tape) -> dict[int, KinkSquare | None]:
    """The squares by instruction number; None where there is no such operation."""
    if all(op.squared is None for op in tape.ops):
        return {}
    squares = Squares(tape)
    return {n: _kink_square(tape, squares, i) for n, i in squares.candidates() if squares.squared_operands(i)}


def _kink_square(tape: Tape, squares: Squares, square: Instruction) -> KinkSquare | None:
    if square.op is HYPOT or (square.op is INTEGER_POWER and square.params[0] != 2):
        return None
    (number, *_), instructions = square.inputs, tape.instructions
    lead, scaled = squares.leads[number], instructions[number]
    if lead < 0:
        sources = scaled.inputs
        if any(i in squares.leads for i in sources):
            return None
        return KinkSquare(_squaring(scaled.op), (number, *sources), sources)
    root = scaled.inputs[lead]
    if squares.leads[root] >= 0 or not isinstance(scaled.op, Elementwise):
        return None
    factors, sources = [i for k, i in enumerate(scaled.inputs) if k != lead], instructions[root].inputs
    operands = (number, root, *factors, *sources)
    if len(operands) > MOST_OPERANDS or any(i in squares.leads for i in (*factors, *sources)):
        return None
    return KinkSquare(_squaring_scaled(scaled.op, lead, instructions[root].op), operands, (*factors, *sources))


@cache
def _squaring(op: Op) -> Elementwise:
    """Square its first operand r; the others are the operands of r = op(...)."""
    assert op.squared is not None
    return _square(op.name, op.squared, 1)


def _square(name: str, rules: Sequence[Rule], undifferentiated: int) -> Elementwise:
    of_square = [None if rule is None else lambda w, z, *operands, rule=rule: rule(w, *operands) for rule in rules]
    return Elementwise(f"square_of_{name}", lambda r, *_: r * r, "x * x", vjp=(*[None] * undifferentiated, *of_square))


@cache
def _squaring_scaled(by: Op, lead: int, op: Op) -> Elementwise:
    """Square its first operand, a multiple of r; the others are r, the factor, and the operands of r = op(...)."""
    assert op.squared is not None
    rules = square_rules(Instruction(by, (), (), None, None), lead)
    factors = len(rules) - 1

    def passed(w: Operand, operands: Sequence[Operand], k: int) -> Operand:
        scaled, root, *others = operands
        both = [*others[:factors]]
        both.insert(lead, root)
        rule = rules[k]
        assert rule is not None
        return rule(w, scaled, *both)

    def of_source(rule: Rule) -> Rule:
        if rule is None:
            return None
        return lambda w, scaled, root, *others: rule(passed(w, (scaled, root, *others), lead), root, *others[factors:])

    of_factors = [lambda w, *operands, k=k: passed(w, operands, k) for k in range(len(rules)) if k != lead]
    return _square(f"{by.name}_of_{op.name}", [*of_factors, *map(of_source, op.squared)], 2)
