"""Code that is recorded once and runs many times, in loops: it may do nothing but compute values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from ...base.source_location import is_library_file
from ...recording.arrays.tracked import TrackedArray
from .nodes import Placed, call, is_call_of_run_time, place
from .rules import Broken

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Return)

_REFUSED = (
    ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.JoinedStr, ast.SetComp, ast.DictComp, ast.Starred,
)  # fmt: skip


def check_statements(body: Sequence[ast.stmt]) -> None:
    """Raise unless statements only compute values and assign them to variables.

    Raises:
        Broken: with the first that does something else.
    """
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not isinstance(node, _STATEMENTS) and not is_text:
                raise Broken("assignments", node, ast.unparse(node).split("\n")[0])
            if isinstance(node, (ast.For, ast.While)) and node.orelse:
                raise Broken("jumps", node, "a loop has an else")
            if isinstance(node, ast.AnnAssign) and node.value is None:
                raise Broken("assignments", node, ast.unparse(node))
        elif isinstance(node, _REFUSED):
            raise Broken("calls", node, ast.unparse(node))
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            raise Broken("assignments", node, f"it assigns to {ast.unparse(node)}")
        elif isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            if not all(isinstance(c, ast.Constant) for c in node.comparators):
                raise Broken("test", node, ast.unparse(node))
        elif isinstance(node, ast.Call) and any(k.arg in (None, "out", "where") for k in node.keywords):
            raise Broken("calls", node, f"it calls {ast.unparse(node)}")
        pending += ast.iter_child_nodes(node)


class Checked(ast.NodeTransformer):
    """Puts a check at run time around everything that may be code of its own: calls, attributes, entries.

    Args:
        site: the loop that is given up where a check fails, or the helper.
    """

    def __init__(self, site: Placed) -> None:
        self._site = site

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if is_call_of_run_time(node):
            node.args = [self.visit(a) for a in node.args]
            return node
        if isinstance(node.func, ast.Attribute):
            owner = self.visit(node.func.value)
            function = call("pure_method", [place(self._site), owner, ast.Constant(node.func.attr)], node)
        else:
            function = call("pure", [place(self._site), self.visit(node.func)], node)
        node.func, node.args = function, [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return call("attribute", [place(self._site), self.visit(node.value), ast.Constant(node.attr)], node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return call("entry", [place(self._site), self.visit(node.value), _index(self.visit(node.slice))], node)


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: slices have no other form."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(e) for e in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return call("section", parts, parts[0] if hasattr(parts[0], "lineno") else node)


# Functions that compute values and nothing else

_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs max min sum len range enumerate zip round float int bool isinstance tuple list reversed any all divmod pow slice"
    ).split()
)

# Methods of arrays that neither write nor leave.
_METHODS = frozenset(
    "sum prod mean std var min max argmin argmax any all cumsum cumprod dot reshape ravel flatten transpose swapaxes squeeze copy astype "
    "clip round conj take repeat trace diagonal".split()
)


def is_pure(function: Any) -> bool:
    """Whether a function of a library computes values and nothing else."""
    if any(function is each for each in _BUILTINS) or isinstance(function, np.ufunc):
        return True
    if isinstance(function, type):
        fields = getattr(function, "_fields", None) or getattr(function, "__dataclass_fields__", None)
        plain = "__post_init__" not in vars(function) and issubclass(function, (tuple, np.generic))
        return bool(fields and plain) or issubclass(function, np.generic)
    if type(function) in (BuiltinFunctionType, BuiltinMethodType) and getattr(function, "__self__", None).__class__ is type(builtins):
        return getattr(function, "__module__", None) == "math"
    module = getattr(function, "__module__", None) or ""
    is_numpy = module.partition(".")[0] == "numpy" and not module.startswith(("numpy.random", "numpy.lib._npyio", "numpy.testing"))
    is_special = module.startswith("scipy.special") or module.startswith("tapediff.functions")
    name = getattr(function, "__name__", "")
    return (is_numpy or is_special) and callable(function) and not isinstance(function, MethodType) and name not in _CHANGES


# NumPy's functions that write into their arguments, look at more than them, or call back.
_CHANGES = frozenset(
    "copyto put place putmask put_along_axis fill_diagonal save savez savetxt load loadtxt seterr seterrcall setbufsize printoptions "
    "set_printoptions apply_along_axis apply_over_axes vectorize frompyfunc piecewise fromfunction nditer errstate".split()
)


def is_pure_method(owner: Any, name: str) -> bool:
    """Whether a method of an array or number computes a value and nothing else."""
    return name in _METHODS and type(owner) in (TrackedArray, np.ndarray, np.float64, np.int64, np.bool_)


def is_users(function: Any) -> bool:
    return type(function) is FunctionType and not is_library_file(function.__code__.co_filename)
