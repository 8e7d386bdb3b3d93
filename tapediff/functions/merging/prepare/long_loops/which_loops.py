"""Loops of so many turns that these are not recorded one by one: where they stand, and what they go over."""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Mapping
from types import CodeType
from typing import NamedTuple, TypeAlias

import numpy as np

from .....ir.instruction import Tree
from .....recording.arrays.tracked import TrackedArray
from ...nodes import call, children, walk
from ...rules import Known
from ...variables import reads, surely_assigned
from ..exits.jumps import has_jump
from ..source import NoSource, definition_of
from .counted_whiles import counted
from .other_forms.comprehensions import Comprehension

# Loops of fewer turns are recorded turn by turn, unless they are in a nest of loops that has very many turns in all.
SHORTEST = 200


class Nest(NamedTuple):
    """The fewest turns of a loop in a nest, and of the nest."""

    shortest: int
    turns: int


# Operations on numbers become byte code in microseconds; those on arrays take a hundred times as long to compile.
OF_NUMBERS, OF_ARRAYS = Nest(50, 5_000), Nest(10, 1_000)

# A loop that data ends takes as long as thousands of operations.
AROUND_LOOPS = Nest(10, 10)

Loop: TypeAlias = ast.For | ast.While | Comprehension

# In reports.
LONG_LOOP = "a loop of which one turn is recorded"
COUNTED_BY_DATA = "a loop with a number of turns that each call decides"


def loops_around(code: CodeType, line: int, names: Mapping[str, Tree], least: Nest = OF_NUMBERS) -> list[Loop]:
    """The loops and comprehensions of a function around one of its lines, and those within them.

    Args:
        names: what its names stand for. Loops that are short, as these tell, are left out.
        least: how long those in a nest have to be.
    """
    try:
        pending: list[ast.AST] = [definition_of(code)]
    except NoSource:
        return []
    found: list[Loop] = []
    for node in pending:
        inner = [part for part in children(node) if not isinstance(part, (ast.FunctionDef, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef))]
        for part in inner:
            if isinstance(part, _LOOPS) and part.lineno <= line <= (part.end_lineno or part.lineno):
                found += _long_loops(part, names, least)
            else:
                pending.append(part)
    return found


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)


def _long_loops(outermost: Loop, names: Mapping[str, Tree], least: Nest) -> list[Loop]:
    """The long loops of a nest, from the outermost inwards."""
    # For each loop the most turns that it has with those around it and in it.
    nest: dict[Loop, int] = {}
    turns: dict[Loop, int | None] = {}
    inside: list[tuple[ast.AST, int, list[Loop]]] = [(outermost, 1, [])]
    while inside:
        node, before, loops = inside.pop()
        if isinstance(node, _LOOPS):
            turns[node] = count = _turns_of(node, names)
            before, loops = before * (SHORTEST if count is None else count), [*loops, node]
            for loop in loops:
                nest[loop] = max(nest.get(loop, 0), before)
        inside += [(part, before, loops) for part in children(node)]
    return [loop for loop, count in turns.items() if _is_long(count, nest[loop], least)]


def turns_around(code: CodeType, line: int, names: Mapping[str, Tree]) -> int:
    """How many turns the loops of a function around one of its lines have together; those of which it is not known count as one."""
    try:
        node: ast.AST | None = definition_of(code)
    except NoSource:
        return 1
    found = 1
    while node is not None:
        inner = [part for part in children(node) if getattr(part, "lineno", line) <= line <= (getattr(part, "end_lineno", None) or line)]
        node = next((part for part in inner if isinstance(part, ast.stmt)), None)
        if isinstance(node, (ast.For, ast.While)):
            found *= _turns_of(node, names) or 1
    return found


def _is_long(turns: int | None, of_nest: int, least: Nest) -> bool:
    return turns is None or turns >= SHORTEST or (turns >= least.shortest and of_nest >= least.turns)


def lines_of_tests(loop: Loop) -> list[int]:
    """The lines of a loop on which it asks for what it goes over, or where to leave a turn, which may be known without data until now."""
    if isinstance(loop, ast.While):
        count = counted(loop)
        items = frozenset[str]() if count is None else frozenset([count.name])
    else:
        items = surely_assigned(loop.target if isinstance(loop, ast.For) else loop.generators[0].target)
    asking = [part for part in walk(loop) if isinstance(part, (ast.If, ast.IfExp))]
    of_items = {part for part in asking if not items.isdisjoint(reads(part.test)) and not _asks_for_text(part.test)}
    return [part.test.lineno for part in asking if part in of_items or _leaves(part)]


def _asks_for_text(node: ast.expr) -> bool:
    """Whether a test compares with strings or None, which are no data, and does nothing else."""
    if isinstance(node, ast.BoolOp):
        return all(map(_asks_for_text, node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _asks_for_text(node.operand)
    if not isinstance(node, ast.Compare) or len(node.ops) > 1:
        return False
    sides = [node.left, *node.comparators]
    parts = [part for side in sides for part in (side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side])]
    constants = [part for part in parts if isinstance(part, ast.Constant)]
    return bool(constants) and all(type(part.value) is str or part.value is None for part in constants)


def _leaves(node: ast.If | ast.IfExp) -> bool:
    return isinstance(node, ast.If) and has_jump([node], (ast.Break, ast.Continue, ast.Return))


def _turns_of(loop: Loop, names: Mapping[str, Tree]) -> int | None:
    """How many turns a loop has; None where that cannot be told without running code of the user's, or only data decides on it."""
    if not isinstance(loop, ast.While):
        return _turns(loop.iter if isinstance(loop, ast.For) else loop.generators[0].iter, names)
    count = counted(loop)
    if count is None or count.step is None or count.step < 0:
        return None
    end = _whole_number(count.end, names)
    # Where it began is not known any more: loops upwards mostly do at zero.
    return None if end is None else end // count.step


def _turns(node: ast.expr, names: Mapping[str, Tree]) -> int | None:
    """Over how many values a loop goes, as its names stand now; None where that cannot be told without running code of the user's."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and node.args:
        function = names.get(node.func.id, getattr(builtins, node.func.id, None))
        if function is range:
            bounds = [_whole_number(part, names) for part in node.args]
            known = [bound for bound in bounds if bound is not None]
            return len(range(*known)) if 0 < len(known) == len(bounds) <= 3 and known[2:] != [0] else None
        if function in (list, tuple) and len(node.args) == 1:
            return _turns(node.args[0], names)
        counts = [_turns(part, names) for part in (node.args if function is zip else node.args[:1])]
        known = [count for count in counts if count is not None]
        return min(known) if function in (zip, enumerate, reversed) and known else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "arange" and len(node.args) == 1:
        module = names.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
        return _whole_number(node.args[0], names) if module is np else None
    return _length(node, names)


def _length(node: ast.expr, names: Mapping[str, Tree]) -> int | None:
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(value, (list, tuple, range)):
        return len(value)
    shape = _shape(node, names)
    return shape[0] if shape else None


def _shape(node: ast.expr, names: Mapping[str, Tree]) -> tuple[int, ...]:
    """The shape of a variable that holds an array; of others none."""
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    return value.shape if isinstance(value, (np.ndarray, TrackedArray)) else ()


def _whole_number(node: ast.expr, names: Mapping[str, Tree]) -> int | None:
    """The value of an expression of whole numbers and lengths; None of another one."""
    if isinstance(node, (ast.Constant, ast.Name)):
        value = node.value if isinstance(node, ast.Constant) else names.get(node.id)
        return value if type(value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _whole_number(node.operand, names)
        return None if found is None else -found
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _whole_number(node.left, names), _whole_number(node.right, names)
        if left is None or right is None or (not right and isinstance(node.op, (ast.FloorDiv, ast.Mod))):
            return None
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_WHOLE_NUMBERS and not node.keywords:
        function, found = _OF_WHOLE_NUMBERS[node.func.id], [_whole_number(part, names) for part in node.args]
        known = [number for number in found if number is not None]
        is_known = names.get(node.func.id, function) is function and len(known) == len(found) >= 1
        return function(known) if is_known and function is not int else known[0] if is_known and len(known) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return _length(node.args[0], names)
    if isinstance(node, ast.Attribute) and node.attr == "size" and (shape := _shape(node.value, names)):
        return math.prod(shape)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        shape, axis = _shape(node.value.value, names), _whole_number(node.slice, names)
        return shape[axis] if axis is not None and -len(shape) <= axis < len(shape) else None
    return None


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_OF_WHOLE_NUMBERS: dict[str, Callable[..., int]] = {"int": int, "min": min, "max": max}


def gone_over(facts: Known, node: ast.expr) -> ast.expr:
    """What a long loop goes over; of zip, enumerate and reversed it is to be known what they are made of."""
    if facts.is_builtin(node, enumerate, zip, reversed):
        assert isinstance(node, ast.Call)
        if not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
            return call("over", [node.func, *(gone_over(facts, a) for a in node.args)], node)
    return node
