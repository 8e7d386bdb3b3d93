"""Operations on several numbers, the parts of reductions and products of small arrays: formulas and derivative rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from ....ir.instruction import Operand, Primitive
from ....ops.arrays.reductions import MAX, MIN, SUM
from ....ops.elementwise.arithmetic import ADD, MAXIMUM, MINIMUM, MULTIPLY
from ....ops.elementwise.comparison import EQUAL, IS_NAN, LOGICAL_OR, SELECT
from ....ops.matrices.products import MATMUL


class Several(NamedTuple):
    """An operation on numbers of any count.

    Attributes:
        value: the result, from the numbers.
        shares: the cotangents of the numbers, from that of the value, the value and the numbers.
    """

    value: Callable[[Sequence[Operand]], Operand]
    shares: Callable[[Operand, Operand, Sequence[Operand]], Sequence[Operand]]


def _total(terms: Sequence[Operand]) -> Operand:
    """Sum pairwise, for short dependency chains."""
    while len(terms) > 1:
        half = len(terms) // 2
        terms = [*map(ADD, terms[:half], terms[half : 2 * half]), *terms[2 * half :]]
    return terms[0]


def _halves(numbers: Sequence[Operand]) -> tuple[Sequence[Operand], Sequence[Operand]]:
    return numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]


def _dot_shares(z_bar: Operand, z: Operand, numbers: Sequence[Operand]) -> list[Operand]:
    left, right = _halves(numbers)
    return [z_bar * other for other in (*right, *left)]


def _extremum_shares(z_bar: Operand, z: Operand, numbers: Sequence[Operand]) -> list[Operand]:
    """Equal shares for all extremal numbers. NaN counts as extremal, since it won."""
    chosen = [LOGICAL_OR(EQUAL(x, z), IS_NAN(x)) for x in numbers]
    share = z_bar / _total([SELECT(c, 1.0, 0.0) for c in chosen])
    return [SELECT(c, share, 0.0) for c in chosen]


# A dot product's operands: the entries of one vector, then those of the other.
OF_SEVERAL: dict[Primitive, Several] = {
    SUM: Several(_total, lambda z_bar, z, numbers: [z_bar] * len(numbers)),
    MATMUL: Several(lambda numbers: _total([*map(MULTIPLY, *_halves(numbers))]), _dot_shares),
    MAX: Several(lambda numbers: reduce(MAXIMUM, numbers), _extremum_shares),
    MIN: Several(lambda numbers: reduce(MINIMUM, numbers), _extremum_shares),
}
