"""Powers by many different integers as one operation with its exponent as data.

```
v = [u**j * d**(n - j) for j in range(n)]
```
A power by a known integer is compiled as its own product: if each iteration has another exponent, the iterations are not isomorphic, and
each is compiled on its own.
"""

from __future__ import annotations

from ....ir.instruction import FLOAT64, FLOAT_SCALAR
from ....ir.tape import Tape
from ....ops.elementwise.arithmetic import INTEGER_POWER, POWER
from ...column_rewriter import ColumnRewriter

# Powers by fewer different integers are faster as products.
FEWEST_EXPONENTS = 8


def alike_powers(tape: Tape) -> Tape:
    """Rewrite powers by integers as powers by constants, if there are many.

    Cost: linear in the length of the tape if so; else a search for them.
    """
    powers = [(n, i) for n, i in tape.numbered(INTEGER_POWER) if i.type.dtype == FLOAT64]
    exponents = {i.params[0] for _, i in powers}
    if len(exponents) < FEWEST_EXPONENTS:
        return tape
    rewriter = ColumnRewriter(tape)
    constants = {exponent: rewriter.constant(float(exponent), FLOAT_SCALAR) for exponent in sorted(exponents)}
    for number, (_, (base,), (exponent,), type_, site) in rewriter.changing(powers):
        rewriter.number[number] = rewriter.emit(POWER, (rewriter.number[base], constants[exponent]), (), type_, site)
    return rewriter.finish()
