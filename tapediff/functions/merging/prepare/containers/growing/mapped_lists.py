"""Lists that data makes longer, and of which sums and the like of functions of the entries are asked: these are lists of their own.

```
kept = []                                  kept, squares = [], []
for v in x:                                for v in x:
    if v > 0:                                  if v > 0:
        kept.append(v)                             entry = v; kept.append(entry); squares.append(entry**2)
return sum(e**2 for e in kept)             return sum(squares)
```
So is `np.sum(np.array(kept) ** 2)`. What is left is for growing_lists.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np

from ....nodes import Transformer, assign, copied, is_call_of_run_time, load, near, walk, whole_number
from ....uses.kinds import is_one
from ....variables import Names, reads, replace_each
from ..decided import Decided
from ..scope import Scope
from .growing_lists import appended_to

# By a name, and whether an entry of what it stands for is read.
IsFixed: TypeAlias = Callable[[str, bool], bool]


class Mapped(NamedTuple):
    """A list of what a function gives for the entries of another one.

    Attributes:
        name: its name.
        entry: the variable that stands for an entry in `value` and `tests`.
        tests: an entry is left out unless all of them hold.
    """

    name: str
    entry: str
    value: ast.expr
    tests: list[ast.expr]


def with_mapped_lists(body: list[ast.stmt], scope: Scope) -> Names:
    """Adds such lists to a function, in place; their names."""
    nodes = [n for statement in body for n in walk(statement)]
    appends = [n for n in nodes if isinstance(n, ast.Expr) and appended_to(n) in scope.names]
    if not appends:
        return frozenset()
    decided = Decided(body, scope.looks_at_data).statements
    names = {name for n in appends if n in decided and (name := appended_to(n)) is not None}
    lists = {name: made for name in names if (made := _made_empty(body, nodes, name)) is not None}
    if not lists:
        return frozenset()
    finder = _Finder(lists, scope, {name: _fixed(body, made, scope.is_library) for name, made in lists.items()})
    for statement in body:
        finder.visit(statement)
    if finder.found:
        _add(body, finder.found)
    return frozenset(mapped.name for found in finder.found.values() for mapped in found)


def _made_empty(body: Sequence[ast.stmt], nodes: Sequence[ast.AST], name: str) -> ast.Assign | None:
    """The only assignment to a variable, if it is of an empty list, and in no loop or branch."""
    stores = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    for statement in body:
        if isinstance(statement, ast.Assign) and len(stores) == 1 and stores[0] in _targets(statement):
            given = dict(_pairs(statement)).get(stores[0])
            return statement if isinstance(given, ast.List) and not given.elts else None
    return None


def _targets(node: ast.Assign) -> list[ast.expr]:
    return [target for target, _ in _pairs(node)]


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    if len(node.targets) != 1:
        return []
    (target,) = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
        return list(zip(target.elts, node.value.elts))
    return [(target, node.value)]


def _fixed(body: Sequence[ast.stmt], made: ast.stmt, is_library: Callable[[ast.expr], bool]) -> IsFixed:
    """Whether what a name stands for, or an entry of it, stays what it is as long as there is a list: only then it makes no difference that
    it is read when an entry is appended.

    Args:
        made: makes the list.
    """
    nodes = [n for statement in body for n in walk(statement)]
    inner = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda))]
    later = [n for statement in (*body[body.index(made) + 1 :], *inner) for n in walk(statement)]
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    # What these get, or one of its views, may have other entries afterwards.
    writes = any(isinstance(n, (ast.Subscript, ast.Attribute)) and not isinstance(n.ctx, ast.Load) for n in nodes)
    writes |= any(k.arg in (None, "out") for n in calls for k in n.keywords)
    changed = {n.id for n in later if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    others = [n for n in calls if not is_library(n.func) and not (isinstance(n.func, ast.Attribute) and n.func.attr == "append")]
    changed.update(name for n in others for part in (*n.args, *n.keywords) for name in reads(part))
    by_entry = {n.value for n in nodes if isinstance(n, ast.Subscript)}
    used_whole = {n.id for n in nodes if isinstance(n, ast.Name) and n not in by_entry}
    return lambda name, is_entry: not (writes or name in changed or (is_entry and name in used_whole))


class _Finder(Transformer):
    """Replaces what is asked of the entries by the names of lists.

    Args:
        is_fixed: by list, whether what a name stands for stays what it is as long as there is the list.

    Attributes:
        found: by the name of a list, those that are made of it.
    """

    def __init__(self, lists: Collection[str], scope: Scope, is_fixed: Mapping[str, IsFixed]) -> None:
        self._lists, self._scope, self._is_fixed = lists, scope, is_fixed
        self.found: dict[str, list[Mapped]] = {}

    def _stay(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _stay

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if node.keywords or is_call_of_run_time(node):
            return node
        if len(node.args) == 1 and (self._scope.is_builtin(node, sum, max, min, len) or self._is_numpy(node.func, "sum", "mean")):
            node.args = [self._of_comprehension(node.args[0]) or self._of_array(node.args[0]) or node.args[0]]
        elif not node.args and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean"):
            node.func.value = self._of_array(node.func.value) or node.func.value
        return node

    def _is_numpy(self, function: ast.expr, *names: str) -> bool:
        is_attribute = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr in names
        return is_attribute and is_one(self._scope.resolve(function.value.id), [np])  # type: ignore[union-attr]

    def _of_comprehension(self, node: ast.expr) -> ast.expr | None:
        if not isinstance(node, (ast.GeneratorExp, ast.ListComp)) or len(node.generators) != 1:
            return None
        (part,) = node.generators
        if not isinstance(part.iter, ast.Name) or part.iter.id not in self._lists or not isinstance(part.target, ast.Name) or part.is_async:
            return None
        if not all(self._only_computes(inner, part.iter.id, part.target.id) for inner in (node.elt, *part.ifs)):
            return None
        return self._named(part.iter.id, part.target.id, node.elt, part.ifs, node)

    def _of_array(self, node: ast.expr) -> ast.expr | None:
        """Of operations that take an array of the entries one by one."""
        arrays = [part for part in walk(node) if isinstance(part, ast.Call) and self._list_of(part) is not None]
        if len(arrays) != 1 or arrays[0] is node:
            return None
        (array,) = arrays
        name, entry = self._list_of(array) or "", ".entry"
        value = copied(node)
        of_copy = walk(value)[walk(node).index(array)]
        value = _Put(of_copy, near(load(entry), array)).visit(value)
        if not self._only_computes(value, name, entry):
            return None
        array.args = [self._named(name, entry, value, [], node)]
        return array

    def _list_of(self, node: ast.Call) -> str | None:
        """The list of which a call makes an array."""
        if not self._is_numpy(node.func, "array", "asarray") or len(node.args) != 1 or node.keywords:
            return None
        (argument,) = node.args
        return argument.id if isinstance(argument, ast.Name) and argument.id in self._lists else None

    def _only_computes(self, node: ast.expr, name: str, entry: str) -> bool:
        """Whether an expression is of an entry and of what never changes, and raises no error of Python's."""
        pending: list[ast.AST] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Name):
                if part.id != entry and (part.id in self._lists or not self._is_fixed[name](part.id, False)):
                    return False
            elif isinstance(part, ast.Subscript):
                base = part.value.id if isinstance(part.value, ast.Name) else ""
                if not base or whole_number(part.slice) is None or not self._is_fixed[name](base, True):
                    return False
            elif isinstance(part, ast.Call):
                is_plain = self._scope.is_builtin(part, abs) or self._is_numpy(part.func, *_ELEMENTWISE)
                if not is_plain or part.keywords or len(part.args) != 1:
                    return False
                pending += part.args
            elif isinstance(part, ast.BinOp):
                if isinstance(part.op, (ast.Div, ast.Pow)):
                    if not isinstance(part.right, ast.Constant) or not _is_plain_divisor(part.right.value):
                        return False
                elif not isinstance(part.op, (ast.Add, ast.Sub, ast.Mult)):
                    return False
                pending += (part.left, part.right)
            elif isinstance(part, ast.Compare):
                if len(part.ops) != 1 or not isinstance(part.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                    return False
                pending += (part.left, *part.comparators)
            elif isinstance(part, ast.UnaryOp) and isinstance(part.op, (ast.USub, ast.UAdd)):
                pending.append(part.operand)
            elif not isinstance(part, ast.Constant) or type(part.value) not in (int, float):
                return False
        return True

    def _named(self, name: str, entry: str, value: ast.expr, tests: list[ast.expr], at: ast.expr) -> ast.expr:
        found = self.found.setdefault(name, [])
        found.append(Mapped(f".{name}.{len(found)}", entry, value, tests))
        return near(ast.copy_location(load(found[-1].name), at), at)


_ELEMENTWISE = (
    "abs absolute fabs exp log log1p expm1 sqrt square sin cos tan tanh sinh cosh arctan arcsinh sign".split()
)  # fmt: skip


def _is_plain_divisor(value: object) -> bool:
    return type(value) in (int, float) and value > 0  # type: ignore[operator]  # of a number


class _Put(Transformer):
    def __init__(self, node: ast.AST, instead: ast.expr) -> None:
        self._node, self._instead = node, instead

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._instead if node is self._node else self.generic_visit(node)


def _add(body: list[ast.stmt], lists: dict[str, list[Mapped]]) -> None:
    """Adds the lists where those are made whose entries they take, and their entries where these are appended."""
    numbers = count(1)

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        name = appended_to(node)
        if name in lists:
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            entry = f".{name}:entry{next(numbers)}"
            given, node.value.args[0] = node.value.args[0], near(load(entry), node)
            return [assign(entry, given, node), node, *(new for mapped in lists[name] for new in _appended(mapped, entry, node))]
        made = [t.id for t in _targets(node) if isinstance(t, ast.Name) and t.id in lists] if isinstance(node, ast.Assign) else []
        return [node, *(assign(mapped.name, ast.List([], ast.Load()), node) for each in made for mapped in lists[each])]

    replace_each(body, replaced)


def _appended(mapped: Mapped, entry: str, at: ast.Expr) -> list[ast.stmt]:
    renamed = _Renamed(mapped.entry, entry)
    append = ast.Call(ast.Attribute(load(mapped.name), "append", ast.Load()), [renamed.visit(copied(mapped.value))], [])
    made: list[ast.stmt] = [near(ast.copy_location(ast.Expr(append), at), at)]
    for test in reversed(mapped.tests):
        made = [near(ast.copy_location(ast.If(renamed.visit(copied(test)), made, []), at), at)]
    return made


class _Renamed(Transformer):
    def __init__(self, name: str, instead: str) -> None:
        self._name, self._instead = name, instead

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(load(self._instead), node), node) if node.id == self._name else node
