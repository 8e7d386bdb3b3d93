"""The solution of an equation: a value found in any way, with its derivative by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir.instruction import Operand, ValueType
from ..declaration.op import Op
from .callee import Callee
from .calls import CALL, CALL_VARIANT, GET


def _rule(
    z_bar: Operand, z: Operand, found: Operand, *inputs: Operand, active: Sequence[bool], residual: Callee, slope: Callee
) -> list[Operand]:
    """For residual(z, *inputs) = 0: solve for z's cotangent with the transposed slope at z, and pull it back through the residual.

    The rule uses z itself, to which the same rule applies, so higher derivatives follow.
    """
    matrix = GET(CALL(z, *inputs, callee=slope), k=0)
    solved = np.linalg.solve(np.transpose(matrix), np.reshape(z_bar, (-1,)))
    wrt = tuple(k for k, is_active in enumerate(active) if is_active and k > 0)
    # The variant that the residual takes at the solution: its pullback is that of the same path.
    path = GET(CALL(z, *inputs, callee=residual), k=len(residual.out_types))
    derived = residual.pullback(wrt, (0,), True)
    returned = CALL_VARIANT(path, z, *inputs, -np.reshape(solved, z.shape), callee=derived)
    cotangents: list[Operand] = [None] * len(active)
    for place, k in enumerate(wrt):
        cotangents[k] = GET(returned, k=place)
    return cotangents


def _type(found: ValueType, *_: ValueType, residual: Callee, slope: Callee) -> ValueType:
    return found


# Inputs: `found`, then the other inputs of the residual.
SOLUTION = Op(
    "solution",
    evaluate=lambda found, *_: found,
    infer=_type,
    vjp=_rule,
    params=("residual", "slope"),
    lower=lambda low, i: low.reshape(i),
    is_view=True,
    promote=(),
    examples=lambda rng: (),
)

OPS = (SOLUTION,)
