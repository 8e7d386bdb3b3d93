"""Which variables a statement reads and assigns, which are bound before it, and which are still needed after it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .nodes import children, is_appended, is_entry, is_least_at, is_of_arrays, walk

Names: TypeAlias = frozenset[str]
NONE: Names = frozenset()


def reads(node: ast.AST | None) -> Names:
    """The names that an expression or statement may read, also in functions and comprehensions inside it."""
    found: set[str] = set()
    pending = [node] if node is not None else []
    while pending:
        part = pending.pop()
        if isinstance(part, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            # Their variables are their own; what they go over first is not among them.
            inner = frozenset().union(*map(reads, children(part)))
            own = frozenset().union(*(surely_assigned(generator.target) for generator in part.generators))
            found |= (inner - own) | reads(part.generators[0].iter)
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            found.add(part.id)
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
        pending += children(part)
    return frozenset(found)


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """The names that statements may bind, those of comprehensions left out."""
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        elif isinstance(node, ast.comprehension):
            pending.append(node.iter)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        pending += children(node)
    return frozenset(found)


def surely_assigned(target: ast.expr) -> Names:
    """The names that an assignment to this target binds."""
    return frozenset(n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


@dataclass(frozen=True)
class _Jumps:
    """What is needed where a jump leads."""

    after_break: Names = NONE
    after_continue: Names = NONE


class Liveness:
    """Which variables may still be read after each statement of a function.

    Attributes:
        after: by the statement, the names.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.before = self._block(body, NONE, _Jumps())

    def _block(self, body: Sequence[ast.stmt], after: Names, jumps: _Jumps) -> Names:
        for statement in reversed(body):
            self.after[statement] = after
            after = self._statement(statement, after, jumps)
        return after

    def _statement(self, node: ast.stmt, after: Names, jumps: _Jumps) -> Names:
        if isinstance(node, ast.If):
            return reads(node.test) | self._block(node.body, after, jumps) | self._block(node.orelse, after, jumps)
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, after, jumps)
        if isinstance(node, ast.Return):
            return reads(node.value)
        if isinstance(node, ast.Raise):
            return reads(node)
        if isinstance(node, ast.Break):
            return jumps.after_break
        if isinstance(node, ast.Continue):
            return jumps.after_continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound = frozenset().union(*map(surely_assigned, targets)) if node.value is not None else NONE
            return (after - bound) | reads(node)
        if isinstance(node, (ast.Expr, ast.AugAssign, ast.Assert, ast.Pass)):
            return after | reads(node)
        # Others may be left in the middle: all that they read, and nothing that they bind, counts.
        for part in blocks_of(node):
            self._block(part, after | reads(node), _Jumps(after | jumps.after_break, after | jumps.after_continue))
        return after | reads(node) | jumps.after_break | jumps.after_continue

    def _loop(self, node: ast.For | ast.While, after: Names, jumps: _Jumps) -> Names:
        left = after | self._block(node.orelse, after, jumps)
        own = reads(node.test) if isinstance(node, ast.While) else NONE
        targets = surely_assigned(node.target) if isinstance(node, ast.For) else NONE
        head = left | own
        while True:
            turn = head | (self._block(node.body, head, _Jumps(left, head)) - targets)
            if turn == head:
                return head | (reads(node.iter) if isinstance(node, ast.For) else NONE)
            head = turn


class Binding:
    """Which variables are surely bound before each statement of a function.

    Attributes:
        before: by the statement, the names; None after a jump.
    """

    def __init__(self, body: Sequence[ast.stmt], arguments: Names) -> None:
        self.before: dict[ast.stmt, Names | None] = {}
        self.after = self._block(body, arguments)

    def _block(self, body: Sequence[ast.stmt], bound: Names | None) -> Names | None:
        for statement in body:
            self.before[statement] = bound
            bound = None if bound is None else self._statement(statement, bound)
        return bound

    def _statement(self, node: ast.stmt, bound: Names) -> Names | None:
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return None
        if isinstance(node, ast.If):
            first, second = self._block(node.body, bound), self._block(node.orelse, bound)
            return second if first is None else first if second is None else first & second
        if isinstance(node, (ast.For, ast.While)):
            self._block(node.body, bound | (surely_assigned(node.target) if isinstance(node, ast.For) else NONE))
            self._block(node.orelse, bound)
            return bound
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return bound.union(*map(surely_assigned, targets)) if node.value is not None else bound
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
            return bound | assigned([node])
        if isinstance(node, ast.Delete):
            return bound - assigned([node])
        for part in blocks_of(node):
            self._block(part, bound - assigned([node]))
        # A `del` in there unbinds, whatever else it does.
        unbound = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
        handlers = {n.name for n in walk(node) if isinstance(n, ast.ExceptHandler) and n.name}
        return bound - unbound - handlers


def blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """The statement lists inside a statement, but for functions and classes."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    found = [getattr(node, field) for field in ("body", "orelse", "finalbody") if getattr(node, field, None)]
    found += [handler.body for handler in getattr(node, "handlers", ())]
    found += [case.body for case in getattr(node, "cases", ())]
    return found


def replace_each(body: list[ast.stmt], replaced: Callable[[ast.stmt], list[ast.stmt]]) -> None:
    """Puts others in the place of statements, in place: of these first, and then of those that the others hold."""
    pending = [body]
    while pending:
        block = pending.pop()
        block[:] = [made for node in block for made in replaced(node)]
        pending += [inner for node in block for inner in blocks_of(node)]


def read_first(body: Sequence[ast.stmt]) -> Names:
    """The names that statements may read before they have bound them themselves."""
    return Liveness(body).before


def bound_by(body: Sequence[ast.stmt]) -> Names | None:
    """The names that statements surely bind; None if they never end."""
    return Binding(body, NONE).after


Flows: TypeAlias = list[tuple[Names, Names]]


def flows_of(nodes: Iterable[ast.AST], reads: Callable[[ast.AST], Names], ends: Collection[ast.AST]) -> Flows:
    """For each assignment the names whose values may go into it, and those that it binds; `ends`: assignments that bind other values."""
    flows: Flows = []
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None and node not in ends:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target, value in each_assigned(targets, node.value):
                flows.append((reads(value), names_outside_indices(target)))
        elif isinstance(node, (ast.For, ast.comprehension)):
            flows.append((reads(node.iter), names_outside_indices(node.target)))
    return flows


def each_assigned(targets: Sequence[ast.expr], value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value; those of tuples one by one, where these are written out."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for target in targets:
        is_written_out = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
        if is_written_out and not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):  # type: ignore[union-attr]
            found += zip(target.elts, value.elts)  # type: ignore[union-attr]
        else:
            found.append((target, value))
    return found


def reads_of_ints(node: ast.AST) -> Names:
    """As reads_of_values, but for names that only go into floats: by a quotient, a call, a float beside them."""
    return reads_within(node, makes_a_float)


def reads_of_values(node: ast.AST) -> Names:
    """The names whose values may go into that of an expression: not those that only decide."""
    return reads_within(node, lambda _: False)


def reads_within(node: ast.AST, ends_at: Callable[[ast.AST], bool]) -> Names:
    """As reads_of_values, but for names in expressions at which that ends."""
    found: set[str] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        if isinstance(part, ast.IfExp):
            pending += [part.body, part.orelse]
        elif isinstance(part, ast.Call) and is_entry(part):
            pending.append(part.args[2])
        elif isinstance(part, ast.Call) and (is_of_arrays(part) or is_least_at(part.func)):
            continue  # where the least value is, the values only decide
        elif not ends_at(part):
            pending += children(part)
    return frozenset(found)


def makes_a_float(part: ast.AST, depth: int = 0) -> bool:
    """Whether a value is a float whatever number a name in it is, or none."""
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, ast.Div) or any(_is_float(side, depth) for side in (part.left, part.right))
    return isinstance(part, ast.Compare) or (isinstance(part, ast.Call) and not is_entry(part) and not is_appended(part))


def _is_float(side: ast.expr, depth: int) -> bool:
    if isinstance(side, ast.BinOp):
        return depth < 2 and makes_a_float(side, depth + 1)
    return isinstance(side, ast.Constant) and type(side.value) is float


def names_outside_indices(node: ast.expr) -> Names:
    """The names in an expression: of a target those that are bound, or whose entries and attributes are; not those in indices."""
    found: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Name):
            found.add(part.id)
        pending += [part.value] if isinstance(part, ast.Subscript) else children(part)
    return frozenset(found)
