"""Where the least, or the largest, of some values is, as one position:

```
k = free.index(min(free))                              k = least_at(free)
k = min(range(n), key=lambda j: cost(j))               k = least_at([cost(j) for j in range(n)])
k = min(range(len(free)), key=free.__getitem__)        k = least_at(free, len(free))
k, t = min(enumerate(free), key=lambda p: p[1])        k = least_at(free); t = free[k]
t, k = min((t, k) for k, t in enumerate(free))         the same
```
Python compares the values one by one: a turn of a long loop would have a path for each order of the values, and has one for each position.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...nodes import Transformer, assign, call, copied, load, near, place, walk, whole_number
from ...rules import Known
from ...variables import replace_each


def with_least_entries(facts: Known, body: Sequence[ast.stmt], is_long: Callable[[ast.For | ast.While], bool]) -> None:
    """Replaces such expressions in long loops, in place."""
    positions = _Positions(facts)
    for loop in [part for statement in body for part in walk(statement) if isinstance(part, (ast.For, ast.While)) and is_long(part)]:
        replace_each(loop.body, lambda node: _assigned(facts, node))
        loop.body[:] = [positions.visit(node) for node in loop.body]


# The last part of the place of such an expression.
LEAST = 20


class _Positions(Transformer):
    def __init__(self, facts: Known) -> None:
        self._facts = facts

    def _inner(self, node: ast.AST) -> ast.AST:
        """Functions in the loop have to be found in the source where they are called."""
        return node

    visit_Lambda = visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _inner

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = None
        if self._facts.may_merge((node.lineno, node.col_offset, LEAST)):
            found = _index_of_least(self._facts, node) or _least_of_range(self._facts, node)
        return self.generic_visit(node if found is None else found)


def _position(values: ast.expr, function: ast.expr, at: ast.expr, count: ast.expr | None = None) -> ast.Call:
    """Of the first `count` values, or of all of them."""
    return call("least_at", [place(at, LEAST), values, copied(function), *([] if count is None else [count])], at)


def _index_of_least(facts: Known, node: ast.Call) -> ast.expr | None:
    """values.index(min(values))"""
    called = node.func
    if not (isinstance(called, ast.Attribute) and called.attr == "index" and isinstance(called.value, ast.Name)):
        return None
    if len(node.args) != 1 or node.keywords or not _is_least(facts, node.args[0]):
        return None
    least = node.args[0]
    assert isinstance(least, ast.Call)
    is_same = len(least.args) == 1 and not least.keywords and isinstance(least.args[0], ast.Name) and least.args[0].id == called.value.id
    return _position(called.value, least.func, node) if is_same else None


def _is_least(facts: Known, node: ast.expr) -> bool:
    return facts.is_builtin(node, min, max)


def _key(node: ast.expr) -> ast.expr | None:
    """The only keyword of a call of one argument."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or len(node.keywords) != 1 or node.keywords[0].arg != "key":
        return None
    return node.keywords[0].value


def _least_of_range(facts: Known, node: ast.Call) -> ast.expr | None:
    """min(range(n), key=...)"""
    key = _key(node)
    if key is None or not _is_least(facts, node) or not facts.is_builtin(node.args[0], range):
        return None
    over = node.args[0]
    assert isinstance(over, ast.Call)
    if len(over.args) != 1 or over.keywords or isinstance(over.args[0], ast.Starred):
        return None
    name = _parameter(key) if isinstance(key, ast.Lambda) else None
    entries = _entries_by(key, name)
    if entries is not None:
        return _position(entries, node.func, node, over.args[0])
    if name is None or not isinstance(key, ast.Lambda) or any(isinstance(part, ast.NamedExpr) for part in walk(key)):
        return None
    each = ast.comprehension(ast.Name(name, ast.Store()), over, [], 0)
    return _position(near(ast.copy_location(ast.ListComp(key.body, [each]), node), node), node.func, node)


def _entries_by(key: ast.expr, name: str | None) -> ast.Name | None:
    """The variable of which `key` gives the entries: values.__getitem__, or lambda j: values[j]."""
    if isinstance(key, ast.Attribute) and key.attr == "__getitem__" and isinstance(key.value, ast.Name):
        return key.value
    entry = key.body if isinstance(key, ast.Lambda) else None
    if not isinstance(entry, ast.Subscript) or not isinstance(entry.slice, ast.Name) or entry.slice.id != name:
        return None
    return entry.value if isinstance(entry.value, ast.Name) and entry.value.id != name else None


def _parameter(node: ast.Lambda) -> str | None:
    """The name of the only parameter of a function."""
    args = node.args
    others = (*args.posonlyargs, *args.kwonlyargs, args.vararg, args.kwarg, *args.defaults)
    return args.args[0].arg if len(args.args) == 1 and not any(others) else None


def _assigned(facts: Known, node: ast.stmt) -> list[ast.stmt]:
    """`k, t = ...` as two statements; others as they are."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Tuple):
        return [node]
    targets = [part.id for part in node.targets[0].elts if isinstance(part, ast.Name)]
    if len(targets) != 2 or len(node.targets[0].elts) != 2 or targets[0] == targets[1] or not _is_least(facts, node.value):
        return [node]
    assert isinstance(node.value, ast.Call)
    found = _numbered_by_key(facts, node.value), _numbered_by_pairs(facts, node.value)
    values = found[0] or found[1]
    if values is None or values.id in targets or not facts.may_merge((node.value.lineno, node.value.col_offset, LEAST)):
        return [node]
    position = _position(values, node.value.func, node.value)
    is_last = found[0] is None and facts.is_builtin(node.value, max)
    numbered = [ast.keyword("is_numbered", ast.Constant(True)), ast.keyword("is_last", ast.Constant(is_last))]
    position.keywords += [near(each, node.value) for each in numbered]
    at, value = targets if found[0] is not None else targets[::-1]
    entry = near(ast.copy_location(ast.Subscript(copied(values), load(at), ast.Load()), node.value), node.value)
    return [assign(at, position, node), assign(value, entry, node)]


def _enumerated(facts: Known, node: ast.expr) -> ast.Name | None:
    """The variable of which the entries are numbered from zero on."""
    if not facts.is_builtin(node, enumerate) or not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
        return None
    return node.args[0] if isinstance(node.args[0], ast.Name) else None


def _numbered_by_key(facts: Known, node: ast.Call) -> ast.Name | None:
    """min(enumerate(values), key=lambda p: p[1])"""
    key = _key(node)
    if not isinstance(key, ast.Lambda):
        return None
    name, entry = _parameter(key), key.body
    if name is None or not isinstance(entry, ast.Subscript) or not isinstance(entry.value, ast.Name) or entry.value.id != name:
        return None
    return _enumerated(facts, node.args[0]) if whole_number(entry.slice) in (1, -1) else None


def _numbered_by_pairs(facts: Known, node: ast.Call) -> ast.Name | None:
    """min((t, k) for k, t in enumerate(values)): of equal values the first; max takes the last of them."""
    if len(node.args) != 1 or node.keywords:
        return None
    over = node.args[0]
    if not isinstance(over, (ast.GeneratorExp, ast.ListComp)) or len(over.generators) != 1:
        return None
    each = over.generators[0]
    pairs = [part for part in (each.target, over.elt) if isinstance(part, ast.Tuple) and len(part.elts) == 2]
    names = [[part.id for part in pair.elts if isinstance(part, ast.Name)] for pair in pairs]
    if len(names) != 2 or len(names[0]) != 2 or names[0] != names[1][::-1] or names[0][0] == names[0][1] or each.ifs or each.is_async:
        return None
    return _enumerated(facts, each.iter)
