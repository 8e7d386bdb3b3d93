"""`int(x)` of whole numbers that are data is data in functions with long loops: Python would ask for it, and each one would be a path.

```
k = int(np.argmax(-((x[i] - means) ** 2)))           k = as_int(int, np.argmax(...))
counts[k] += 1                                       counts[k] += 1
```
"""

from __future__ import annotations

import ast

from ....nodes import Transformer, call, place
from ....rules import Known

# The last part of the place of such a call.
INT = 19


class Ints(Transformer):
    """The calls of int in an expression."""

    def __init__(self, facts: Known) -> None:
        self._facts = facts

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_int = self._facts.is_builtin(node, int) and len(node.args) == 1 and not node.keywords
        if not is_int or isinstance(node.args[0], (ast.Starred, ast.Constant)):
            return node
        return call("as_int", [place(node, INT), node.func, node.args[0]], node)
