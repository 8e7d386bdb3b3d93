"""Functions of which every call is known: lambdas and inner functions that are only called, and global functions of the user's.

Values go into their variables, and out of the calls. So what they do with a number is known as if they stood where they are called.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import NamedTuple, TypeAlias

from ..nodes import Transformer, children, copied, walk
from ..purity import is_users
from ..rules import Resolve
from ..variables import Flows, Names

Definition: TypeAlias = ast.FunctionDef | ast.Lambda
# The node that a function was compiled from; None if it is not to be looked into.
LookInto: TypeAlias = Callable[[FunctionType], Definition | None]

# So many nodes of other functions are looked at beside those of the function itself.
MOST_NODES = 4_000


class Known(NamedTuple):
    """A function of which the calls are known.

    Attributes:
        name: by which it is called.
        given: by argument of one of the calls, the name of the variable that gets it.
    """

    name: str
    function: Definition
    calls: list[ast.Call]
    given: dict[ast.expr, str]

    @property
    def returns(self) -> list[ast.Return]:
        """Its statements that give a result; none of a lambda."""
        found: list[ast.Return] = []
        pending: list[ast.AST] = list(self.function.body) if isinstance(self.function, ast.FunctionDef) else []
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Return):
                found.append(node)
            elif not isinstance(node, ast.FunctionDef):
                pending += [part for part in children(node) if isinstance(part, ast.stmt)]
        return found


def known_inner(parts: Sequence[ast.AST]) -> list[Known]:
    """The lambdas and functions that a function binds to a name once, and does nothing with but call them.

    Args:
        parts: the nodes of the function's body.
    """
    bound = Counter(n.id for n in parts if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound.update(n.arg if isinstance(n, ast.arg) else n.name for n in parts if isinstance(n, (ast.arg, ast.FunctionDef, ast.ClassDef)))
    bound.update(name for n in parts if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names)
    loaded = Counter(n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    found: list[Known] = []
    for name, function in _definitions(parts):
        calls = [n for n in parts if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]
        if bound[name] == 1 and loaded[name] == len(calls):
            known = _known(name, function, calls)
            found += [] if known is None else [known]
    return found


def _definitions(parts: Sequence[ast.AST]) -> Iterator[tuple[str, Definition]]:
    for node in parts:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.FunctionDef):
            yield node.name, node


def _known(name: str, function: Definition, calls: list[ast.Call]) -> Known | None:
    """A function with its calls; None if it is not simple, or it is not seen which argument each variable gets."""
    args = function.args
    if args.vararg or args.kwarg or any(isinstance(n, _UNUSUAL) for n in walk(function)) or getattr(function, "decorator_list", ()):
        return None
    given: dict[ast.expr, str] = {}
    places, keywords = [a.arg for a in (*args.posonlyargs, *args.args)], {a.arg for a in (*args.args, *args.kwonlyargs)}
    for call in calls:
        is_plain = len(call.args) <= len(places) and not any(isinstance(a, ast.Starred) for a in call.args)
        if not is_plain or not all(k.arg in keywords for k in call.keywords):
            return None
        given.update(zip(call.args, places))
        given.update((k.value, k.arg) for k in call.keywords if k.arg)
    return Known(name, function, calls, given)


class OtherFunctions:
    """The global functions that a function calls by their names, and those that these call.

    Args:
        parts: the nodes of the function's body.
        resolve: the object that a name stands for in the function; None for its variables.
        resolve_global: the same for global and built-in names.
        look_into: see LookInto.

    Attributes:
        resolve: resolve_global.
        parts: the nodes of the others: copies, in which variables have names that no other function has.
        known: the functions.
        divide: one of them has a quotient or power.
    """

    def __init__(self, parts: Sequence[ast.AST], resolve: Resolve, resolve_global: Resolve, look_into: LookInto) -> None:
        self.parts: list[ast.AST] = []
        self.resolve, self._look_into = resolve_global, look_into
        self._definitions: dict[str, Definition | None] = {}
        self._names: dict[str, Names] = {}
        calls: dict[str, list[ast.Call]] = {}
        # What is called in the copies is found there.
        pending: list[tuple[Sequence[ast.AST], Resolve]] = [(parts, resolve)]
        while pending:
            nodes, resolved = pending.pop()
            for call in nodes:
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                    continue
                name = call.func.id
                function = resolved(name)
                if not is_users(function) or not isinstance(function, FunctionType):
                    continue
                if name not in self._definitions:
                    made = self._definitions[name] = self._copy(function, len(self._definitions))
                    inner = [] if made is None else walk(made)
                    if len(self.parts) + len(inner) > MOST_NODES:
                        made, inner = None, []
                        self._definitions[name] = None
                    self.parts += inner
                    pending.append((inner, resolve_global))
                calls.setdefault(name, []).append(call)
        found = [_known(name, made, calls[name]) for name, made in self._definitions.items() if made is not None]
        self.known = [known for known in found if known is not None]
        self.divide = any(may_fail(known.function) for known in self.known)

    def _copy(self, function: FunctionType, number: int) -> Definition | None:
        """The definition of a function with names of its own; None if it is not simple."""
        code = function.__code__
        definition = None if code.co_freevars or code.co_cellvars else self._look_into(function)
        nodes = [] if definition is None else walk(definition)
        if not isinstance(definition, ast.FunctionDef) or any(isinstance(n, (ast.Lambda, ast.FunctionDef)) for n in nodes[1:]):
            return None
        own = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        renamed = _Renamed(frozenset(own.union(n.arg for n in nodes if isinstance(n, ast.arg))), f"{number}:")
        return renamed.visit(copied(definition))


def may_fail(function: Definition) -> bool:
    """Whether a function has a quotient or a power, for which Python may raise an error."""
    operations = (n for n in walk(function) if isinstance(n, (ast.BinOp, ast.AugAssign)))
    return any(isinstance(n.op, (ast.Div, ast.Mod, ast.FloorDiv, ast.Pow)) for n in operations)


class _Renamed(Transformer):
    """Gives variables other names."""

    def __init__(self, names: Names, prefix: str) -> None:
        self._names, self._prefix = names, prefix

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._names:
            node.id = self._prefix + node.id
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._prefix + node.arg
        return node


def flows_through(functions: Sequence[Known], reads: Callable[[ast.AST], Names]) -> Flows:
    """The names whose values go into the variables of functions, or are their results: these go into the name of the function."""
    flows: Flows = []
    for known in functions:
        flows += [(reads(argument), frozenset([variable])) for argument, variable in known.given.items()]
        flows += [(reads(node.value), frozenset([known.name])) for node in known.returns if node.value is not None]
    return flows


# Functions with these have other results than those that they return, or other variables.
_UNUSUAL = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom,
    ast.Delete, ast.NamedExpr, ast.Try, ast.With, ast.Match,
)  # fmt: skip
