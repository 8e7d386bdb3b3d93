"""The cost model: roughly how many additions a step of a loop takes for each element."""

from __future__ import annotations

import ast
from functools import cache

from ...ops.declaration.scalar_expressions import has_costly
from ..loop_ir.program import Storage

# An exponential or a logarithm, and a division or a root, in units of an addition.
FUNCTION = 40
DIVISION = 12
# Reading and writing an element; beyond the second cache, that many times as much. From the second as from the first: with four
# arrays of 80 kB computed again by three operations each, two variances took 10.4 us, and stored 8.7.
LOAD = 1
STORE = 1.5
FAR = 3
NEAR_BYTES = 256_000


@cache
def cost_of(expression: str) -> int:
    """The cost of an expression, in additions."""
    total = 0
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.BinOp):
            total += DIVISION if isinstance(node.op, ast.Div) else 1
        elif isinstance(node, (ast.UnaryOp, ast.Compare)):
            total += 1
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            total += FUNCTION if has_costly(f"{name}()") else DIVISION if name == "sqrt" else 1
    return total


def memory_factor(storage: Storage) -> int:
    """How much longer it takes to read an array than from a near cache: FAR times if it is too large for one."""
    return FAR if storage.bytes > NEAR_BYTES else 1
