"""The cost model: a rough estimate of a loop step's time per element, in additions."""

from __future__ import annotations

import ast
from functools import cache

from ...ops.declaration.scalar_expressions import has_costly
from ..loop_ir.program import Storage

# The cost of an exponential or a logarithm, and of a division or a root, in additions.
FUNCTION = 40
DIVISION = 12
# The cost of reading and writing an element; FAR times as much if not in the second-level cache. Both cache levels cost the same: with four
# arrays of 80 kB recomputed by three operations each, two variances took 10.4 us, and stored 8.7.
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
    """The factor on the cost of reading an array: FAR if it does not fit into a near cache."""
    return FAR if storage.bytes > NEAR_BYTES else 1
