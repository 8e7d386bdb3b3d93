"""Long loops that ask for the number of the turn as up to three loops, of which the turns take the same path: the first turns, the last
ones, and those between them.

```
for t in range(n):             .start, .first, .last, .stop, .known = what t < 2 is from where to where
    if t < 2: a()              for t in range(.start, .first): if .known[0] or t < 2: a() else: b()
    else: b()                  for t in range(.first, .last): if .known[1]: a() else: b()
                               for t in range(.last, .stop): if .known[2] or t < 2: a() else: b()
```
Where it asks more often, and of other tests, such as `t % 10 == 0`, the number of the turn is data, on which branches decide as on others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...nodes import (
    ARITHMETIC,
    Node,
    Transformer,
    assign,
    branch,
    call,
    children,
    copied,
    load,
    near,
    place,
    placeholder,
    walk,
    whole_number,
)
from ...rules import COMPARISONS, FIRST, PEELED, Known
from ...variables import (
    NONE,
    Binding,
    Liveness,
    Names,
    assigned,
    bound_by,
    read_first,
    reads,
    replace_each,
    surely_assigned,
)
from ..exits.jumps import JUMPS, has_jump
from .entries_by_turn import counter_of
from .which_loops import gone_over

_NAMES: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

# Loops with more nodes are not copied.
MOST_NODES = 2_000

# So begin the names of the variables that hold such comparisons.
IS = ".is"


def with_peeled_turns(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool], without_guards: int) -> None:
    """Peels long loops over ranges, in place.

    Args:
        without_guards: a line that looks at no data.
    """

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name) or not facts.is_builtin(node.iter, range):
            return [node]
        is_wanted = is_long(node) and facts.may_merge((node.lineno, node.col_offset, PEELED))
        return _peeled(facts, node, without_guards) if is_wanted else [node]

    replace_each(body, replaced)


def with_first_values(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool], line: int, arguments: Names) -> None:
    """Lets variables that the first turn of a long loop binds, as its number says, have a value before it, in place.

    ```
                                       require_first([t == 0 for t in [0]]); s = any number
    for t in range(n):                 for t in range(n):
        if t == 0: s = y[t]                if t == 0: s = y[t]
        else: s = f(s, y[t])               else: s = f(s, y[t])
    ```
    Args:
        line: that looks at no data.
        arguments: of the function.
    """
    bound, after = Binding(body, arguments).before, Liveness(body).after

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.For) or not is_long(node):
            return [node]
        return [*_first_values(facts, node, (read_first(node.body) | after[node]) - (bound.get(node) or NONE), line), node]

    replace_each(body, replaced)


def _first_values(facts: Known, node: ast.For, wanted: Names, line: int) -> list[ast.stmt]:
    """The statements before a loop. `wanted`: variables that are asked for, and may have no value before it."""
    counter, _ = counter_of(facts, node)
    made: list[ast.stmt] = []
    if not counter or counter in assigned(node.body):
        return made
    for k, statement in enumerate(node.body):
        if not isinstance(statement, ast.If) or has_jump(node.body[: k + 1], JUMPS):
            continue
        names = (bound_by(statement.body) or NONE) & wanted - read_first(node.body[:k]) - surely_assigned(node.target)
        is_asked = counter in reads(statement.test) and is_known(statement.test, assigned([node]) - {counter})
        is_wanted = facts.may_merge((statement.test.lineno, statement.test.col_offset, FIRST))
        at = place(statement.test, FIRST)
        if names and is_asked and is_wanted and all(map(facts.is_own, names)):
            first = call("first_number", [at, gone_over(facts, copied(node.iter))], node)
            asked = call("require_first", [copied(at), of_each(statement.test, counter, first)], node)
            new = [near(ast.copy_location(ast.Expr(asked), node), node), *(assign(name, placeholder(), node) for name in sorted(names))]
            made += [at_line(each, line) for each in new]
    return made


def of_each(value: ast.expr, counter: str, numbers: ast.expr) -> ast.expr:
    """The values of an expression for some numbers of turns."""
    return ast.ListComp(copied(value), [ast.comprehension(ast.Name(counter, ast.Store()), numbers, [], 0)])


def is_known(node: ast.expr, bound: Names) -> bool:
    """Whether an expression is arithmetic and comparisons of whole numbers that no turn changes, but for the number of the turn."""
    return all(isinstance(part, _KNOWN) for part in walk(node)) and bound.isdisjoint(reads(node))


_KNOWN = (*ARITHMETIC, *COMPARISONS, ast.Mod, ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.Not)


def _peeled(facts: Known, node: ast.For, line: int) -> list[ast.stmt]:
    """The loop, with its first and last turns before and behind it where a test asks for their numbers."""
    assert isinstance(node.target, ast.Name)
    assert isinstance(node.iter, ast.Call)
    counter, values, bound = node.target.id, node.iter, assigned([node])
    step = values.args[2] if len(values.args) == 3 else ast.Constant(1)
    tests = [part.test for statement in node.body for part in walk(statement) if isinstance(part, (ast.If, ast.IfExp, ast.While))]
    parts = [part for test in tests for part in _compared(test)]
    found = [part for part in dict.fromkeys(parts) if _sides(part, counter, bound) is not None]
    has_exits = bool(node.orelse) or has_jump(node.body, (ast.Break, ast.Return))
    if not found or has_exits or whole_number(step) is None or len(walk(node)) > MOST_NODES or counter in assigned(node.body):
        return [node]
    number = facts.number()
    names = [f"{IS}{number}.{k}" for k in range(len(found))]
    sides = [_sides(part, counter, bound) for part in found]
    asked = [ast.Tuple([ast.Constant(side[0]), copied(side[1])], ast.Load()) for side in sides if side is not None]
    ends = [f".first{number}", f".last{number}", f".stop{number}"]
    peeled = call("peeled", [place(node, PEELED), copied(values), ast.Tuple(list(asked), ast.Load())], node)
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in (f".start{number}", *ends)]
    targets += [ast.Tuple([ast.Name(f"{name}.{k}", ast.Store()) for name in names], ast.Store()) for k in range(3)]
    before = near(ast.Assign([ast.Tuple(targets, ast.Store())], peeled), node)
    loops: list[ast.stmt] = [before]
    asking_for = dict(zip(found, names))
    for k, (start, stop) in enumerate(zip((f".start{number}", *ends), ends)):
        made = copied(node)
        pairs = dict(zip(walk(node), walk(made)))
        made.iter = near(ast.copy_location(ast.Call(load("range"), [load(start), load(stop), copied(step)], []), values), values)
        replace = _Replaced({pairs[part]: name for part, name in asking_for.items()}, line)
        known = [
            at_line(assign(name, call("is_so", [load(f"{name}.{k}"), copied(part)], node), node), line) for part, name in asking_for.items()
        ]
        made.body = [*known, *(replace.visit(statement) for statement in made.body)]
        has_turns = ast.Compare(load(start), [ast.NotEq()], [load(stop)])
        loops.append(made if k == 1 else branch(at_line(near(has_turns, node), line), [made], [], node))
    return loops


def _compared(test: ast.expr) -> list[ast.Compare]:
    """The comparisons in a test, but for those of comprehensions, which have variables of their own."""
    found, pending = list[ast.Compare](), list[ast.AST]([test])
    while pending:
        part = pending.pop()
        if not isinstance(part, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            found += [part] if isinstance(part, ast.Compare) else []
            pending += children(part)
    return found


def _sides(node: ast.Compare, counter: str, bound: Names) -> tuple[str, ast.expr] | None:
    """A comparison of the counter with what no turn changes."""
    name = _NAMES.get(type(node.ops[0])) if len(node.ops) == 1 else None
    if name is None:
        return None
    for side, other, found in ((node.left, node.comparators[0], name), (node.comparators[0], node.left, _MIRRORED[name])):
        parts = walk(other)
        is_fixed = all(isinstance(part, ARITHMETIC) for part in parts)
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        if isinstance(side, ast.Name) and side.id == counter and is_fixed and bound.isdisjoint(names):
            return found, other
    return None


class _Replaced(Transformer):
    """Comparisons as variables."""

    def __init__(self, names: dict[ast.AST, str], line: int) -> None:
        self._names, self._line = names, line

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        name = self._names.get(node)
        return self.generic_visit(node) if name is None else at_line(load(name), self._line)


def at_line(node: Node, line: int) -> Node:
    """The node, in a line that looks at no data."""
    for part in walk(node):
        if "lineno" in part._attributes:
            part.__dict__.update(lineno=line, end_lineno=line, col_offset=0, end_col_offset=0)
    return node
