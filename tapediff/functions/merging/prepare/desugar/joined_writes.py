"""Branches that end in writes to one entry, or in appends to one list, write after the branch what they have chosen:

```
v[j] = a * v[j + 1]                 v[j] = a * v[j + 1]             if test:                if test:
if test:                            if test:                            x.append(a)             chosen = a
    v[j] = b                            chosen = b                  else:                   else:
                                    else:                               x.append(b)             chosen = b
                                        chosen = v[j]                                       x.append(chosen)
                                    v[j] = chosen
```
A side that leaves an entry alone writes what is there, which the program has just read or written. So every turn of a loop writes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import count

from ...nodes import assign, copied, load, near, walk
from ...rules import Known
from ...uses.kinds import appended_value, lists_among
from ...variables import Names, assigned, blocks_of
from ..exits.jumps import has_jump

_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Raise)


def with_joined_writes(facts: Known, body: Sequence[ast.stmt]) -> None:
    """Rewrites such branches in loops, in place."""
    parts = [part for statement in body for part in walk(statement)]
    loops = [part for part in parts if isinstance(part, (ast.For, ast.While))]
    if not loops:
        return
    names = (f".written.at{k}" for k in count())
    lists = lists_among(parts, frozenset(part.id for part in parts if isinstance(part, ast.Name)))
    pending, seen = [loop.body for loop in loops], set[int]()
    while pending:
        block = pending.pop()
        if id(block) in seen:
            continue
        seen.add(id(block))
        block[:] = _joined(facts, block, names, lists)
        pending += [inner for node in block for inner in blocks_of(node)]


def _joined(facts: Known, block: Sequence[ast.stmt], names: Iterator[str], lists: Names) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for k, node in enumerate(block):
        target = _written_by(node) if isinstance(node, ast.If) and facts.looks_at_data(node.test) else None
        if target is None or not isinstance(node, ast.If) or not _is_of_numbers(target, lists):
            made.append(node)
            continue
        is_known = isinstance(target, ast.Subscript) and _is_known(target, [*block[:k], node])
        if not _may_join(node, target, is_known):
            made.append(node)
            continue
        name = next(names)
        _choose(node, target, name)
        after = ast.Assign([target], load(name)) if isinstance(target, ast.Subscript) else ast.Expr(ast.Call(target, [load(name)], []))
        made += [node, near(ast.copy_location(after, node), node)]
    return made


def _is_of_numbers(target: _Target, lists: Names) -> bool:
    """Whether a list of numbers is written to, or an entry of a matrix; others, and constant places, are treated otherwise."""
    if isinstance(target.value, ast.Name) and target.value.id in lists:
        return isinstance(target, ast.Attribute) or any(isinstance(part, ast.Name) for part in walk(target.slice))
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple)


# What is written to: an entry, or the method that appends to a list.
_Target = ast.Subscript | ast.Attribute


def _target_of(node: ast.stmt) -> _Target | None:
    """Where a statement writes, if it does nothing else."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found = appended_value(node.value)
        is_append = found is not None and not isinstance(found[1], ast.Starred)
        return node.value.func if is_append and isinstance(node.value.func, ast.Attribute) else None
    if not isinstance(node, (ast.Assign, ast.AugAssign)):
        return None
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0] if len(node.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    return target if all(isinstance(part, _SIMPLE) for part in walk(target.slice)) else None


_SIMPLE = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)


def _written_by(node: ast.If) -> _Target | None:
    """Where one of the sides of a branch writes at its end."""
    for owner, name in _sides(node):
        side = getattr(owner, name)
        target = _target_of(side[-1]) if side else None
        if target is not None:
            return copied(target)
    return None


def _sides(node: ast.If) -> list[tuple[ast.If, str]]:
    """Where the statements of each side stand, those of `elif` included; an `else` that is not there is empty."""
    found = [(node, "body")]
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        found.append((node, "body"))
    return [*found, (node, "orelse")]


def _may_join(node: ast.If, target: _Target, is_known: bool) -> bool:
    """Whether all sides end in such a write, or may; and nothing in them changes where that is."""
    is_append = isinstance(target, ast.Attribute)
    for owner, name in _sides(node):
        side = getattr(owner, name)
        writes = bool(side) and _writes_to(side[-1], target)
        if has_jump(side, _JUMPS) or not (writes or (is_known and not is_append)):
            return False
    place = {part.id for part in walk(target) if isinstance(part, ast.Name)}
    return place.isdisjoint(assigned([node]))


def _is_known(target: ast.Subscript, before: Sequence[ast.stmt]) -> bool:
    """Whether statements before, or the test of the branch, which is the last of these, surely read the entry or write it: it is there."""
    wanted = {ast.dump(ast.Subscript(target.value, target.slice, context)) for context in (ast.Load(), ast.Store())}
    names = {part.id for part in walk(target) if isinstance(part, ast.Name)}
    for node in reversed(before):
        is_branch = node is before[-1] and isinstance(node, ast.If)
        if not is_branch and not names.isdisjoint(assigned([node])):
            return False
        parts: list[ast.AST] = [node.test] if isinstance(node, ast.If) else [node]
        if isinstance(node, (ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef)):
            continue
        if any(ast.dump(part) in wanted for part in _surely_run(parts)):
            return True
    return False


def _surely_run(parts: list[ast.AST]) -> Iterator[ast.AST]:
    """The expressions that are computed in any case."""
    pending = list(parts)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.IfExp):
            pending.append(node.test)
        elif isinstance(node, ast.BoolOp):
            pending.append(node.values[0])
        elif isinstance(node, ast.Compare):
            pending += [node.left, node.comparators[0]]
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            pending += ast.iter_child_nodes(node)


def _writes_to(node: ast.stmt, target: _Target) -> bool:
    found = _target_of(node)
    return found is not None and ast.dump(found) == ast.dump(target)


def _choose(node: ast.If, target: _Target, name: str) -> None:
    """Assign to a variable what each side writes, in place."""
    for owner, field in _sides(node):
        setattr(owner, field, _side(getattr(owner, field), target, name, node))


def _side(side: list[ast.stmt], target: _Target, name: str, at: ast.stmt) -> list[ast.stmt]:
    if not side or not _writes_to(side[-1], target):
        return [*side, assign(name, _read(target, at), at)]
    *before, last = side
    if isinstance(last, ast.AugAssign):
        changed = near(ast.copy_location(ast.AugAssign(ast.Name(name, ast.Store()), last.op, last.value), last), last)
        return [*before, assign(name, _read(target, last), last), changed]
    appended = appended_value(last.value) if isinstance(last, ast.Expr) else None
    value = last.value if isinstance(last, ast.Assign) else appended[1] if appended is not None else None
    assert value is not None, "it is one of these"
    return [*before, assign(name, value, last)]


def _read(target: _Target, at: ast.stmt) -> ast.expr:
    """The entry that is written to, before it is."""
    assert isinstance(target, ast.Subscript), "one may only append"
    return near(ast.copy_location(ast.Subscript(copied(target.value), copied(target.slice), ast.Load()), at), at)
