"""Short lists of the function's own that are sorted, and heaps of a fixed number of entries, by comparisons that are written out:

```
free = [0.0] * 3                            free = [0.0] * 3
free.sort()                                 a, b, c = free[0], free[1], free[2]
                                            if b < a: a, b = b, a
                                            if c < b: b, c = c, b
                                            if b < a: a, b = b, a
                                            free[0], free[1], free[2] = a, b, c
t = heapq.heappop(free)                     t = free[0]
heapq.heappush(free, t + s)                 free[0] = t + s
                                            ... as above, but for the third comparison
```
A heap of numbers of which only the least is read, and that gets another one each time, is kept in order. NaN, which is in no order, is
refused.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ...nodes import assign, call, children, load, near, place, walk, whole_number
from ...rules import Known, Place
from ...variables import blocks_of, each_assigned, replace_each
from ..exits.jumps import has_jump

# In places, of sorts.
SORT = 21

# Longer ones are as many comparisons as the square of that.
MOST_SORTED = 6

_Resolve: TypeAlias = Callable[[str], object]

_HEAP = (heapq.heappop, heapq.heappush, heapq.heapreplace, heapq.heappushpop, heapq.heapify)


def with_short_sorts(facts: Known, body: list[ast.stmt]) -> set[int]:
    """Rewrites such statements, in place; the lines at which they look at data."""
    resolve, may_merge = facts.resolve, facts.may_merge
    nodes = [node for statement in body for node in walk(statement)]
    sorts = [node for node in nodes if isinstance(node, ast.Expr) and _sorted_name(node)]
    names = {_sorted_name(node) for node in sorts} | {name for node in nodes if (name := _heap_name(node, resolve))}
    if not names:
        return set()
    lists = _Lists(nodes, resolve)
    found = {name: length for name in sorted(names) if (length := lists.length(name))}
    heaps = {name for name in found if any(_heap_name(node, resolve) == name for node in nodes)}
    found = {name: length for name, length in found.items() if name not in heaps or lists.is_heap(name)}
    rewriting = _Rewriting(found, heaps, resolve, may_merge)
    concerned = [node.value for node in nodes if isinstance(node, (ast.Expr, ast.Assign)) and rewriting.concerns(node)]
    if not any(map(facts.looks_at_data, concerned)):
        return set()
    # All uses of a heap are rewritten, or none.
    for name in sorted(heaps & found.keys()):
        if not rewriting.is_paired(body, name) or not all(may_merge(_place(node)) for node in nodes if _heap_name(node, resolve) == name):
            del found[name]
    replace_each(body, rewriting.made)
    return rewriting.lines


def _place(node: ast.AST) -> Place:
    return node.lineno, node.col_offset, SORT  # type: ignore[attr-defined]  # an expression or statement


def _sorted_name(node: ast.Expr) -> str:
    """The variable of values.sort(), also with reverse=True."""
    found = node.value
    if not isinstance(found, ast.Call) or found.args or not isinstance(found.func, ast.Attribute) or found.func.attr != "sort":
        return ""
    is_known = all(key.arg == "reverse" and isinstance(key.value, ast.Constant) for key in found.keywords)
    return found.func.value.id if is_known and isinstance(found.func.value, ast.Name) else ""


def _heap_function(node: ast.AST, resolve: _Resolve) -> object:
    """The function of heapq that an expression calls."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    function, found = node.func, None
    if isinstance(function, ast.Name):
        found = resolve(function.id)
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and resolve(function.value.id) is heapq:
        found = getattr(heapq, function.attr, None)
    return found if any(found is each for each in _HEAP) else None


def _heap_name(node: ast.AST, resolve: _Resolve) -> str:
    """The variable of the heap that a call is of."""
    if _heap_function(node, resolve) is None or not isinstance(node, ast.Call) or not node.args:
        return ""
    return node.args[0].id if isinstance(node.args[0], ast.Name) else ""


class _Lists:
    """The lists of one function."""

    def __init__(self, nodes: Sequence[ast.AST], resolve: _Resolve) -> None:
        self._nodes, self._resolve = nodes, resolve
        self._parents = {child: node for node in nodes for child in children(node)}
        assigns = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
        # By the variable that is bound.
        self._bound = {target: value for node in assigns for target, value in each_assigned(node.targets, node.value)}

    def _uses(self, name: str) -> list[ast.Name]:
        return [node for node in self._nodes if isinstance(node, ast.Name) and node.id == name]

    def length(self, name: str) -> int:
        """How many entries a list has that is the function's own; 0 where that is not known, or it is used not only by entries."""
        lengths = set[int]()
        for node in self._uses(name):
            parent = self._parents.get(node)
            if node in self._bound:
                lengths.add(_length_of(self._bound[node], self._resolve))
            elif not isinstance(node.ctx, ast.Load) or not self._is_by_entries(node, parent):
                return 0
        inner = [n for f in self._nodes if isinstance(f, (ast.FunctionDef, ast.Lambda, ast.ClassDef)) for n in walk(f)]
        if len(lengths) != 1 or any(isinstance(n, ast.Name) and n.id == name for n in inner):
            return 0
        found = lengths.pop()
        return found if 2 <= found <= MOST_SORTED else 0

    def _is_by_entries(self, node: ast.Name, parent: ast.AST | None) -> bool:
        if isinstance(parent, ast.Subscript):
            return parent.value is node and not isinstance(parent.slice, ast.Slice) and not isinstance(parent.ctx, ast.Del)
        if isinstance(parent, ast.Call):
            is_builtin = isinstance(parent.func, ast.Name) and any(self._resolve(parent.func.id) is f for f in (len, sum, min, max))
            return is_builtin or _heap_name(parent, self._resolve) == node.id
        if isinstance(parent, ast.Attribute):
            return parent.attr in ("sort", "index", "count")
        if isinstance(parent, (ast.If, ast.While)):
            return node is parent.test
        return isinstance(parent, (ast.For, ast.comprehension)) and node is parent.iter

    def is_heap(self, name: str) -> bool:
        """Whether of a heap only the least entry is read, and what does not depend on the order of the others; and it begins as one."""
        for node in self._uses(name):
            parent = self._parents.get(node)
            if isinstance(parent, ast.Subscript) and (whole_number(parent.slice) != 0 or not isinstance(parent.ctx, ast.Load)):
                return False
            if isinstance(parent, (ast.Attribute, ast.For, ast.comprehension)):
                return False
            if node in self._bound and not _are_alike(self._bound[node]):
                return False
        return True


def _are_alike(node: ast.expr) -> bool:
    """Whether a list is made of one constant."""
    entries = node.left if isinstance(node, ast.BinOp) else node
    parts = entries.elts if isinstance(entries, ast.List) else []
    are_simple = all(isinstance(part, (ast.Constant, ast.UnaryOp)) for part in parts)
    return bool(parts) and are_simple and len({ast.dump(part) for part in parts}) == 1


def _length_of(node: ast.expr, resolve: _Resolve) -> int:
    """How many entries a list has that an expression makes; 0 where that is not written out."""
    if isinstance(node, ast.List):
        return 0 if any(isinstance(part, ast.Starred) for part in node.elts) else len(node.elts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
        return _length_of(node.left, resolve) * (whole_number(node.right) or 0)
    if isinstance(node, ast.ListComp) and len(node.generators) == 1 and not node.generators[0].ifs:
        over = node.generators[0].iter
        is_range = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and resolve(over.func.id) is range and len(over.args) == 1
        return (whole_number(over.args[0]) or 0) if is_range and isinstance(over, ast.Call) else 0
    return 0


class _Rewriting:
    """Writes comparisons out.

    Args:
        lengths: of the lists that are known.
        heaps: those that are heaps.

    Attributes:
        lines: of the comparisons.
    """

    def __init__(self, lengths: dict[str, int], heaps: set[str], resolve: _Resolve, may_merge: Callable[[Place], bool]) -> None:
        self._lengths, self._heaps, self._resolve, self._may_merge = lengths, heaps, resolve, may_merge
        self.lines = set[int]()

    def concerns(self, node: ast.Expr | ast.Assign) -> bool:
        """Whether a statement is one of those that are rewritten."""
        name = _heap_name(node.value, self._resolve) or (_sorted_name(node) if isinstance(node, ast.Expr) else "")
        return name in self._lengths

    def is_paired(self, body: list[ast.stmt], name: str) -> bool:
        """Whether of a heap an entry is taken and another one given each time, in statements of one block without others of it between."""
        pending, known = [body], 0
        while pending:
            block = pending.pop()
            taken = False
            for node in block:
                function = self._function_of(node, name)
                if function is heapq.heappop or function is heapq.heappush:
                    if taken is (function is heapq.heappop):
                        return False
                    taken, known = not taken, known + 1
                    if function is heapq.heappush and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                        pushed = [part for value in node.value.args[1:] for part in walk(value)]
                        if any(isinstance(part, ast.Name) and part.id == name for part in pushed):
                            return False  # which lacks what was taken
                elif function is heapq.heapreplace:
                    if taken:
                        return False
                    known += 1
                elif taken and any(isinstance(part, ast.Name) and part.id == name for part in walk(node)):
                    return False
                if taken and has_jump([node], (ast.Break, ast.Continue, ast.Return)):
                    return False
            if taken:
                return False
            pending += [inner for node in block for inner in blocks_of(node)]
        calls = [part for statement in body for part in walk(statement) if _heap_name(part, self._resolve) == name]
        return known == len(calls)

    def _function_of(self, node: ast.stmt, name: str) -> object:
        """The function of heapq that a statement is a call of, of one heap: an assignment to a variable, or without a result."""
        if isinstance(node, ast.Assign):
            is_known = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and _heap_name(node.value, self._resolve) == name
            function = _heap_function(node.value, self._resolve) if is_known else None
            return function if function is heapq.heappop or function is heapq.heapreplace else None
        if isinstance(node, ast.Expr) and _heap_name(node.value, self._resolve) == name:
            return _heap_function(node.value, self._resolve)
        return None

    def made(self, node: ast.stmt) -> list[ast.stmt]:
        """What takes the place of a statement."""
        if isinstance(node, ast.Expr) and (name := _sorted_name(node)) in self._lengths and self._may_merge(_place(node.value)):
            assert isinstance(node.value, ast.Call)
            is_down = any(isinstance(key.value, ast.Constant) and bool(key.value.value) for key in node.value.keywords)
            length = self._lengths[name]
            pairs = [(a, a + 1) for last in range(length - 1, 0, -1) for a in range(last)]
            return list(self._in_order(name, pairs, node, is_down))
        if not isinstance(node, (ast.Expr, ast.Assign)):
            return [node]
        name = _heap_name(node.value, self._resolve)
        function = self._function_of(node, name) if name in self._heaps and name in self._lengths else None
        if function is None or not isinstance(node.value, ast.Call):
            return [node]
        first = ast.Subscript(load(name), ast.Constant(0), ast.Load())
        if function is heapq.heappop:
            value = near(ast.copy_location(first, node.value), node.value)
            return [near(ast.copy_location(ast.Assign(node.targets, value), node), node)] if isinstance(node, ast.Assign) else []
        new, before = node.value.args[1], list[ast.stmt]()
        if function is heapq.heapreplace:
            given = f".pushed.{name}"
            before.append(ast.Assign([ast.Name(given, ast.Store())], new))
            before += [ast.Assign(node.targets, first)] if isinstance(node, ast.Assign) else []
            new = load(given)
        store = ast.Assign([ast.Subscript(load(name), ast.Constant(0), ast.Store())], new)
        made = [near(ast.copy_location(statement, node), node) for statement in [*before, store]]
        pairs = [(a, a + 1) for a in range(self._lengths[name] - 1)]
        return [*made, *self._in_order(name, pairs, node)]

    def _in_order(self, name: str, pairs: Sequence[tuple[int, int]], at: ast.stmt, is_down: bool = False) -> Iterator[ast.stmt]:
        """Comparisons of neighbours, as variables, which change places unless they are in order."""
        self.lines.add(at.lineno)
        count = self._lengths[name]
        held = [f".sorted{k}.{name}" for k in range(count)]
        yield _assigned(held, [_entry(name, k, ast.Load()) for k in range(count)], at)
        yield assign(held[0], call("no_nan", [place(at.value, SORT), *map(load, held)], at), at)  # type: ignore[attr-defined]  # of an expression
        for a, b in pairs:
            left, right = (a, b) if is_down else (b, a)
            swapped = _assigned([held[a], held[b]], [load(held[b]), load(held[a])], at)
            test = ast.Compare(load(held[left]), [ast.Lt()], [load(held[right])])
            yield near(ast.copy_location(ast.If(test, [swapped], []), at), at)
        targets: list[ast.expr] = [_entry(name, k, ast.Store()) for k in range(count)]
        written = ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple([*map(load, held)], ast.Load()))
        yield near(ast.copy_location(written, at), at)


def _assigned(names: Sequence[str], values: list[ast.expr], at: ast.stmt) -> ast.stmt:
    """Several variables at once."""
    made = ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], ast.Tuple(values, ast.Load()))
    return near(ast.copy_location(made, at), at)


def _entry(name: str, k: int, context: ast.expr_context) -> ast.Subscript:
    return ast.Subscript(load(name), ast.Constant(k), context)
