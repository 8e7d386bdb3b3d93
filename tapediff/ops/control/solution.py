"""The solution of an equation: a value that was found somehow, with the derivative that the implicit function theorem gives it."""

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
    """Of residual(z, *inputs) = 0: z's cotangent, solved with the transposed slope at z, is pulled back through the residual.

    All of it is in terms of z itself, of which this is the rule too: so higher derivatives follow.
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


# found, then what the residual takes beside it.
SOLUTION = Op(
    "solution",
    evaluate=lambda found, *_: found,
    infer=_type,
    vjp=_rule,
    params=("residual", "slope"),
    lower=lambda low, i: low.reshape(i),
    is_view=True,
    exact=True,
    promote=(),
    floats_only=False,
    examples=lambda rng: (),
)

OPS = (SOLUTION,)
