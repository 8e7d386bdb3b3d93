"""What the number of a long loop's turn is in its first turn, and in all others: so tests of it may be known."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from ...nodes import whole_number
from ...rules import Known
from ...variables import Names, assigned, each_assigned
from ..long_loops.peeled import is_known
from .known_tests import COMPARE


class Counter(NamedTuple):
    """The variable that counts the turns: where it begins, as a whole number or an expression, and by which steps it goes on."""

    name: str
    first: int | ast.expr
    step: int


def counter_of(facts: Known, target: ast.expr, values: ast.expr, before: Sequence[ast.stmt]) -> Counter | None:
    """What counts the turns of a loop over some values; `before`: the statements before it."""
    if facts.is_builtin(values, zip) and isinstance(values, ast.Call) and isinstance(target, ast.Tuple) and target.elts and values.args:
        target, values = target.elts[0], values.args[0]
    if not isinstance(values, ast.Call) or values.keywords:
        return None
    first: ast.expr = ast.Constant(0)
    step: int | None = 1
    if facts.is_builtin(values, enumerate) and isinstance(target, ast.Tuple) and target.elts:
        target, first = target.elts[0], values.args[1] if len(values.args) == 2 else first
    elif facts.is_builtin(values, range) and values.args:
        first = values.args[0] if len(values.args) > 1 else first
        step = whole_number(values.args[2]) if len(values.args) == 3 else 1
    else:
        return None
    if not isinstance(target, ast.Name) or not step:
        return None
    known = _number_of(first, before)
    return Counter(target.id, first if known is None else known, step)


def _number_of(node: ast.expr, before: Sequence[ast.stmt]) -> int | None:
    """The whole number that an expression is behind some statements; None if that is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _number_of(node.left, before), _number_of(node.right, before)
        return None if left is None or right is None else left + right
    if not isinstance(node, ast.Name):
        return whole_number(node)
    last = next((statement for statement in reversed(before) if node.id in assigned([statement])), None)
    values = each_assigned(last.targets, last.value) if isinstance(last, ast.Assign) else []
    found = [value for target, value in values if node.id in assigned([target])]
    return whole_number(found[0]) if len(found) == 1 else None


def outcome(node: ast.expr, counter: Counter | None, is_first: bool, bound: Names) -> bool | None:
    """How a test of the number of the turn comes out, in the first turn or in all others; None if that is not known."""
    if counter is None:
        return None
    if isinstance(node, ast.Name):
        zero = _from_first(ast.Constant(0), counter, bound)
        return _compared(ast.NotEq, counter, zero, is_first) if node.id == counter.name else None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    op = type(node.ops[0])
    for side, other, found in ((node.left, node.comparators[0], op), (node.comparators[0], node.left, _MIRRORED.get(op, op))):
        if isinstance(side, ast.Name) and side.id == counter.name:
            return _compared(found, counter, _from_first(other, counter, bound), is_first)
    return None


_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def _from_first(node: ast.expr, counter: Counter, bound: Names) -> int | None:
    """How far a number is from that of the first turn."""
    known = whole_number(node)
    if isinstance(counter.first, int):
        return None if known is None else known - counter.first
    is_same = is_known(node, bound | {counter.name}) and ast.dump(node) == ast.dump(counter.first)
    return 0 if is_same else None


def _compared(op: type[ast.cmpop], counter: Counter, other: int | None, is_first: bool) -> bool | None:
    """A comparison of the distance from the first number with another one."""
    compare = COMPARE.get(op)
    if other is None or compare is None:
        return None
    if is_first:
        return compare(0, other)
    if op in (ast.Eq, ast.NotEq):
        return None if other % counter.step == 0 and other // counter.step > 0 else op is ast.NotEq
    # So far away that it stays as it is.
    last = counter.step * (abs(other) + 2)
    return compare(counter.step, other) if compare(counter.step, other) == compare(last, other) else None
