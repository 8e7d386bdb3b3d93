"""Kinds of expressions and statements, as far as the uses of values depend on them: what is called, what is stored, what is asked."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from ....recording.python_state.math_functions import NAMES as MATH
from ..nodes import is_call_of_run_time, is_least_at
from ..rules import Resolve
from ..variables import NONE, Names, each_assigned

GIVEN = "given"


def kind_of_call(call: ast.Call, resolve: Resolve, given: Names = NONE) -> str:
    """What a call is of.

    Args:
        resolve: the object that a name stands for; None for variables.
        given: the variables that a function gets from outside.

    Returns:
        "number": a built-in function from numbers to a number, or to an iterator over what it is given. "same": a function of NumPy's or
        math's that does with an int as with a float; "sign": that also sees the sign of zero; "numpy": another one of NumPy's. "array":
        what an array of floats gets. "index": of the run time, of an index that may be data. GIVEN: of a function that is an argument, or
        that an inner function sees. "": something else.
    """
    function = call.func
    if is_least_at(function):
        return "same"
    if is_call_of_run_time(call):
        if isinstance(function, ast.Attribute) and function.attr in _OF_INDICES:
            return "index"
        if isinstance(function, ast.Attribute) and function.attr in _OF_NUMBERS:
            return "sign" if function.attr in ("sum_of", "mean_of") else "number"
        return "array" if isinstance(function, ast.Attribute) and function.attr in _INTO_ARRAYS else ""
    if isinstance(function, ast.Name):
        found = resolve(function.id)
        if is_one(found, (abs, max, min, sum, zip, enumerate, reversed)):
            return "number"
        name = getattr(found, "__name__", "") if _of_numpy(found) else None
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = resolve(function.value.id)
        if module is math and function.attr in MATH:
            return "sign" if function.attr in ASK_SIGN else "same"
        name = function.attr if module is np else None
    elif isinstance(function, ast.Attribute) and _is_linalg(function.value, resolve):
        return "numpy"
    else:
        name = None
    if name is None:
        return GIVEN if isinstance(function, ast.Name) and function.id in given else ""
    return "sign" if name in ASK_SIGN else "same" if name in _SAME else "numpy"


def _is_linalg(node: ast.expr, resolve: Resolve) -> bool:
    """Whether an expression is `np.linalg`."""
    if not isinstance(node, ast.Attribute) or node.attr != "linalg":
        return False
    return isinstance(node.value, ast.Name) and resolve(node.value.id) is np


# Of the run time, of numbers that are as good as data.
_OF_NUMBERS = ("appended", "sum_of", "mean_of", "set_aside", "choose_turn", "as_data", "of_table", "there", "no_nan")
# Of the run time, with an index that may be data as the second argument.
_OF_INDICES = ("index", "entry_at", "entry_within", "entry_of_matrix", "position", "entry_of_copy", "put", "kept_int")

# Of the run time: what goes in ends in an array of float64, or nowhere.
_INTO_ARRAYS = (
    "stored", "stored_row", "written", "whole", "fresh", "first_entries", "stored_by_turn", "state_to_write", "state_of_turn",
    "require_apart", "require_kept_apart", "append_where", "write_where",
)  # fmt: skip


def _of_numpy(found: object) -> bool:
    return getattr(found, "__module__", None) == "numpy" or type(found).__module__ == "numpy"


# NumPy's functions that do with an int what they do with the equal float.
_SAME = frozenset(
    "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh "
    "abs absolute fabs add subtract maximum minimum fmax fmin where sum mean less less_equal greater greater_equal equal not_equal "
    "isnan isfinite isinf hypot logaddexp sign clip rint floor ceil trunc".split()
)
ASK_SIGN = frozenset("arctan2 atan2 copysign signbit divide true_divide reciprocal float_power nextafter".split())


def asks_for_none(node: ast.Compare) -> bool:
    """Whether a comparison asks whether a value is None, which no number is, plain or data."""
    return all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops) and all(
        isinstance(c, ast.Constant) and c.value is None for c in node.comparators
    )


def is_store(node: ast.stmt) -> TypeGuard[ast.Assign | ast.AugAssign]:
    """Whether an assignment is of one number to one entry, or some, of what a variable holds, or of several that are written out."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        target = node.target
    else:
        return False
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and _may_be_numbers(node.value)


def _may_be_numbers(value: ast.expr) -> bool:
    if isinstance(value, (ast.Tuple, ast.List)):
        return not any(isinstance(part, (ast.Starred, ast.Tuple, ast.List)) for part in value.elts)
    return isinstance(value, _NUMBERS)


def never_divides_by_zero(node: ast.BinOp) -> bool:
    """Whether an operation is none that needs its divisor to be looked at, as % and // do, but by a positive int that is written out."""
    if not isinstance(node.op, (ast.Mod, ast.FloorDiv)):
        return True
    return isinstance(node.right, ast.Constant) and type(node.right.value) is int and node.right.value > 0


def base_of_store(node: ast.Assign | ast.AugAssign) -> str:
    """The variable to an entry of which `is_store` assigns."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.value.id if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else ""


def lists_among(parts: Iterable[ast.AST], own: Names) -> Names:
    """Those of some variables that are lists of numbers wherever they are bound, each made for it, or for another one of these."""
    bound: dict[str, set[str]] = {}
    others: set[str] = set()
    known: set[ast.AST] = set()
    assigns = [node for node in parts if isinstance(node, ast.Assign) and len(node.targets) == 1]
    for target, value in [pair for node in assigns for pair in each_assigned(node.targets, node.value)]:
        if isinstance(target, ast.Name) and (_makes_a_list(value) or isinstance(value, ast.Name)):
            bound.setdefault(target.id, set()).update({value.id} if isinstance(value, ast.Name) else ())
            known.add(target)
    for node in parts:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in known:
            others.add(node.id)
    found = {name for name in own & bound.keys() if name not in others}
    while left := {name for name in found if not bound[name] <= found}:
        found -= left
    return frozenset(found)


def same_lists(parts: Iterable[ast.AST], lists: Names) -> list[tuple[Names, Names]]:
    """For each assignment of one list to another the variables that are the same list then, each as what goes into the other one."""
    assigns = [node for node in parts if isinstance(node, ast.Assign) and len(node.targets) == 1]
    pairs = [pair for node in assigns for pair in each_assigned(node.targets, node.value)]
    names = [(target.id, value.id) for target, value in pairs if isinstance(target, ast.Name) and isinstance(value, ast.Name)]
    return [(frozenset([target]), frozenset([value])) for target, value in names if {target, value} <= lists]


def appended_value(node: ast.AST) -> tuple[str, ast.expr] | None:
    """The variable of a list, and what a call appends to it."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or not isinstance(node.func, ast.Attribute):
        return None
    is_append = node.func.attr == "append" and isinstance(node.func.value, ast.Name)
    return (node.func.value.id, node.args[0]) if is_append and isinstance(node.func.value, ast.Name) else None


def _makes_a_list(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) and _makes_a_list(node.left)
    entries = node.elts if isinstance(node, ast.List) else [node.elt] if isinstance(node, ast.ListComp) else [None]
    return all(isinstance(entry, (*_NUMBERS, ast.Constant, ast.Subscript)) for entry in entries)


# Expressions whose value may be a number.
_NUMBERS = (ast.Name, ast.BinOp, ast.UnaryOp, ast.Call, ast.IfExp)


def is_one(found: object, wanted: Iterable[object]) -> bool:
    """Whether an object is one of these, which need not be comparable."""
    return any(found is each for each in wanted)


def is_read(node: ast.AST) -> bool:
    """Whether a node reads an entry, or a row, at what is no constant and no slice."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    is_known = all(isinstance(part, (ast.Constant, ast.Slice)) for part in parts)
    return not is_known and not any(isinstance(part, ast.Starred) for part in parts)
