"""Values that were computed in any way, with a derivative rule of their own."""

from __future__ import annotations

import numpy as np

from ...ir.instruction import Operand
from ..declaration.op import Op
from ..elementwise.structure import STOP_GRADIENT


def _sine_rule(z_bar: Operand, z: Operand, x: Operand) -> tuple[Operand]:
    return (z_bar * np.cos(x),)


# rule(z_bar, z, *inputs) gives the cotangents of the inputs, by tracked operations, so that higher derivatives follow.
GIVEN = Op(
    "given",
    evaluate=lambda value, *_: value,
    infer=lambda value, *_, rule: value,
    vjp=lambda z_bar, z, value, *inputs, rule: (None, *rule(z_bar, z, *inputs)),
    params=("rule",),
    lower=lambda low, i: low.reshape(i),
    examples=lambda rng: [
        (lambda x: GIVEN(STOP_GRADIENT(np.sin(x)), x, rule=_sine_rule), (rng.normal(size=shape),)) for shape in ((), (3,), (2, 3))
    ],
)

OPS = (GIVEN,)
