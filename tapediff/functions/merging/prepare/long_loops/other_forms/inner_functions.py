"""Inner functions that assign to variables of the function around them, and branch on data or are called in long loops, are part of it.

```
def step(v):                           for v in values:
    nonlocal s                             .step1.v = v
    s = 0.9 * s + v                        s = 0.9 * s + .step1.v
    return s * s                           total += s * s
for v in values:
    total += step(v)
```
They do nothing but compute numbers and assign them to variables, and nothing but calls asks for them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....nodes import Transformer, assign, copied, near, walk
from ....variables import Names, assigned, blocks_of
from ...exits.early_exits import EarlyExits
from ...exits.jumps import has_jump


class Inner(NamedTuple):
    """An inner function.

    Attributes:
        node: its definition.
        names: of its arguments.
        shared: the variables of the function around it that it assigns to.
        body: its statements, without the declaration of these and the `return` that it ends in.
        value: of that.
    """

    node: ast.FunctionDef
    names: list[str]
    shared: Names
    body: list[ast.stmt]
    value: ast.expr


def without_inner_functions(
    body: list[ast.stmt], is_long: Callable[[ast.For | ast.While], bool], branches: Callable[[ast.FunctionDef], bool],
    is_library: Callable[[ast.expr], bool],
) -> list[ast.FunctionDef]:  # fmt: skip
    """Puts what such functions compute in the places of their calls, in place; the functions.

    Args:
        is_long: whether one turn of a loop is recorded.
        branches: whether recordings had guards in a function.
        is_library: whether a function is surely none of the user's.
    """
    found: list[ast.FunctionDef] = []
    for node in [node for node in body if isinstance(node, ast.FunctionDef)]:
        inner = _inner(node, is_library)
        at = body.index(node)
        parts = [part for statement in body for part in walk(statement)]
        if inner is None or any(isinstance(part, ast.Nonlocal | ast.Global) for s in body if s is not node for part in walk(s)):
            continue
        named = [part for part in parts if isinstance(part, ast.Name) and part.id == node.name]
        defined = sum(isinstance(part, _DEFINITIONS) and part.name == node.name for part in parts)
        calls = _Calls(inner, is_library)
        calls.find(body[at + 1 :])
        # Of two calls the same expressions would stand in two places.
        if len(named) != 1 or defined > 1 or len(calls.found) != 1:
            continue
        in_long = any(isinstance(p, ast.For | ast.While) and is_long(p) and not calls.found.isdisjoint(walk(p)) for p in parts)
        if not in_long and not branches(node):
            continue
        del body[at]
        body[at:] = calls.replaced(body[at:])
        found.append(node)
    return found


def _inner(node: ast.FunctionDef, is_library: Callable[[ast.expr], bool]) -> Inner | None:
    """A function that only computes numbers and assigns them to variables, some of which are not its own; None of any other one."""
    args = node.args
    if node.decorator_list or args.posonlyargs or args.kwonlyargs or args.defaults or args.vararg or args.kwarg:
        return None
    shared = frozenset(name for s in node.body if isinstance(s, ast.Nonlocal) for name in s.names)
    statements = [copied(s) for s in node.body if not isinstance(s, ast.Nonlocal) and not _is_text(s)]
    if not shared or not all(_computes(part, node.name, is_library) for s in statements for part in walk(s)):
        return None
    statements = EarlyExits(lambda _: True).of_function(statements)
    value: ast.expr = ast.copy_location(ast.Constant(None), node)
    if statements and isinstance(last := statements[-1], ast.Return):
        statements.pop()
        value = last.value or value
    if has_jump(statements, (ast.Return,)):
        return None
    return Inner(node, [part.arg for part in args.args], shared, statements, value)


def _computes(part: ast.AST, name: str, is_library: Callable[[ast.expr], bool]) -> bool:
    """Whether a part of a function is one that only computes and assigns numbers."""
    if isinstance(part, ast.stmt):
        targets = part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AugAssign) else []
        is_plain = all(isinstance(part, (ast.Name, ast.Tuple, ast.Store)) for target in targets for part in walk(target))
        return is_plain and isinstance(part, (ast.Assign, ast.AugAssign, ast.If, ast.Return, ast.Pass))
    if isinstance(part, ast.Call):
        return is_library(part.func) and not part.keywords
    if isinstance(part, ast.Name):
        return part.id != name
    return not isinstance(part, _SCOPES)


class _Calls:
    """The calls of one such function.

    Args:
        inner: the function.
    """

    def __init__(self, inner: Inner, is_library: Callable[[ast.expr], bool]) -> None:
        self._inner, self._is_library = inner, is_library
        self._by_statement: dict[ast.stmt, ast.Call] = {}
        self.found: set[ast.AST] = set()
        self._count = 0

    def find(self, body: Sequence[ast.stmt]) -> None:
        """Note the calls in whose places statements may stand before their own."""
        for statement in body:
            call = self._call_of(statement)
            if call is not None:
                self._by_statement[statement] = call
                self.found.add(call)
            for block in blocks_of(statement):
                self.find(block)

    def _call_of(self, statement: ast.stmt) -> ast.Call | None:
        """The only call in a statement that surely computes it, and reads nothing else that the function assigns to."""
        value = statement.test if isinstance(statement, ast.If) else getattr(statement, "value", None)
        if not isinstance(statement, (ast.If, ast.Expr, ast.Assign, ast.AugAssign)) or value is None:
            return None
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not all(target is None or isinstance(target, (ast.Name, ast.Tuple)) for target in targets):
            return None
        own = [value, *(target for target in targets if target is not None)]
        calls = [part for part in _parts(own) if isinstance(part, ast.Call) and self._is_it(part)]
        if len(calls) != 1 or len(calls[0].args) != len(self._inner.names) or calls[0].keywords:
            return None
        (call,) = calls
        given = {part for argument in call.args for part in walk(argument)}
        if any(isinstance(part, ast.Starred) for part in given):
            return None
        others = [part for part in _parts(own) if part not in given and part is not call and part is not call.func]
        if any(isinstance(part, ast.Name) and part.id in self._inner.shared for part in others):
            return None
        if not all(self._is_simple(part) for part in others) or not all(self._is_simple(part) for part in given):
            return None
        return call

    def _is_it(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Name) and call.func.id == self._inner.node.name

    def _is_simple(self, part: ast.AST) -> bool:
        """Whether an expression is always computed, and looks at nothing but numbers."""
        if isinstance(part, ast.Call):
            return self._is_library(part.func) and not part.keywords
        if isinstance(part, ast.Compare):
            return len(part.ops) == 1
        return not isinstance(part, (*_SCOPES, ast.IfExp, ast.BoolOp, ast.Starred))

    def replaced(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements with what the calls compute."""
        made: list[ast.stmt] = []
        for statement in body:
            for block in blocks_of(statement):
                block[:] = self.replaced(block)
            call = self._by_statement.get(statement)
            if call is not None:
                before, value = self._computed(call)
                made += before
                put = _Put(call, value)
                for name in ("value", "test"):
                    if isinstance(getattr(statement, name, None), ast.expr):
                        setattr(statement, name, put.visit(getattr(statement, name)))
                if isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Name, ast.Constant)):
                    continue
            made.append(statement)
        return made

    def _computed(self, call: ast.Call) -> tuple[list[ast.stmt], ast.expr]:
        """What stands before the statement of a call, and in the place of the call."""
        inner = self._inner
        self._count += 1
        own = (assigned(inner.body) | {*inner.names}) - inner.shared
        new = {name: f".{inner.node.name}{inner.node.lineno}.{self._count}.{name.lstrip('.')}" for name in own}
        before: list[ast.stmt] = [assign(new[name], given, call) for name, given in zip(inner.names, call.args)]
        renamed = _Renamed(new)
        return [*before, *(renamed.visit(copied(s)) for s in inner.body)], near(renamed.visit(copied(inner.value)), call)


def _parts(nodes: Sequence[ast.AST]) -> list[ast.AST]:
    return [part for node in nodes for part in walk(node)]


class _Put(Transformer):
    def __init__(self, call: ast.Call, value: ast.expr) -> None:
        self._call, self._value = call, value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._value if node is self._call else self.generic_visit(node)


class _Renamed(Transformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return near(ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node), node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_SCOPES = (
    ast.Lambda, *_DEFINITIONS, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom,
    ast.Await, ast.JoinedStr,
)  # fmt: skip
