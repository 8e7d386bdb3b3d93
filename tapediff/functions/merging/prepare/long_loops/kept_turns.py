"""What only some turns of a long loop append, or write to entries of an array, as their numbers say, all turns give, and behind the loop
those are taken.

```
                                           .where = [t % 10 == 0 for t in range(n)]
for t in range(n):                         for t in range(n):
    x = f(x)                                   x = f(x)
    if t % 10 == 0:                            .all.append(x)
        kept.append(x)                     append_where(.where, .all, kept)
```
What is computed for it, `kept.append(np.log(x))`, still is in those turns only: others give any number.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...nodes import assign, call, copied, load, near, place, placeholder, walk
from ...rules import KEPT, Known
from ...variables import Names, assigned, read_first, reads, replace_each, surely_assigned
from ..containers.growing.growing_lists import appended_to
from ..exits.jumps import has_jump
from .entries_by_turn import counter_of
from .peeled import at_line, is_known, of_each
from .which_loops import gone_over


class Kept(NamedTuple):
    """A statement that some turns come to.

    Attributes:
        name: of the list or array.
        entry: where it is written in an array; None of what is appended.
        value: what is kept.
        test: which turns come to it.
    """

    name: str
    entry: ast.expr | None
    value: ast.expr
    test: ast.expr


def with_kept_turns(facts: Known, body: list[ast.stmt], is_long: Callable[[ast.For], bool], without_guards: int) -> None:
    """Lets all turns of long loops give what some of them keep, in place.

    Args:
        without_guards: a line that looks at no data.
    """

    dicts = _dicts(facts, body)

    def replaced(node: ast.stmt) -> list[ast.stmt]:
        return _replaced(facts, node, dicts, without_guards) if isinstance(node, ast.For) and is_long(node) else [node]

    replace_each(body, replaced)


def _dicts(facts: Known, body: Sequence[ast.stmt]) -> Names:
    """The variables that are bound to nothing but new dicts, each written out."""
    parts = [part for statement in body for part in walk(statement)]
    made = [part for part in parts if isinstance(part, ast.Assign) and isinstance(part.value, ast.Dict) and len(part.targets) == 1]
    targets = {part.targets[0] for part in made}
    bound = [part for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)]
    others = {part.id for part in bound if part not in targets}
    return frozenset(part.id for part in bound if part.id not in others and facts.is_own(part.id))


def _replaced(facts: Known, node: ast.For, dicts: Names, line: int) -> list[ast.stmt]:
    counter, _ = counter_of(facts, node)
    if not counter or counter in assigned(node.body) or has_jump(node.body, (ast.Break, ast.Continue, ast.Return)):
        return [node]
    before, after, made = list[ast.stmt](), list[ast.stmt](), list[ast.stmt]()
    for statement in node.body:
        found, appends = _kept(facts, node, statement, counter), list[ast.stmt]()
        if found:
            assert isinstance(statement, ast.If)
            statement.body = statement.body[: -len(found)]
        for kept in found:
            assert isinstance(statement, ast.If)
            number, value = facts.number(), kept.value
            names = tuple([load(f".{name}{number}") for name in ("all", "where", "index")])
            _around(facts, node, kept, names, before, after, dicts, line)
            if not _is_there(value):
                name = f".kept{number}"
                statement.body.append(assign(name, value, value))
                statement.orelse.append(assign(name, placeholder(), value))
                value = near(load(name), value)
            append = near(ast.Call(ast.Attribute(load(names[0].id), "append", ast.Load()), [value], []), value)
            appends.append(near(ast.copy_location(ast.Expr(append), value), value))
        made += [*([] if found and not statement.body else [statement]), *appends]  # type: ignore[attr-defined]  # a branch
    node.body = made
    return [*before, node, *after]


def _around(
    facts: Known, node: ast.For, kept: Kept, names: Sequence[ast.Name], before: list[ast.stmt], after: list[ast.stmt],
    dicts: Names, line: int,
) -> None:  # fmt: skip
    """What stands before and behind the loop for one of the statements."""
    counter, _ = counter_of(facts, node)
    values, where, index = (name.id for name in names)
    at = place(kept.test, KEPT)
    others = sorted(name for name in read_first(node.body) - surely_assigned(node.target) - {kept.name} if not name.startswith("."))
    # What turns read goes into no number.
    shown = [part for name in others for part in (_entries(node, name) if name in dicts else [load(name)])]
    apart = ast.Expr(call("require_kept_apart", [at, load(kept.name), ast.Tuple(shown, ast.Load())], node))
    numbers = call("numbers_of", [copied(at), gone_over(facts, copied(node.iter))], node)
    before.append(near(ast.copy_location(apart, node), node))
    before.append(assign(where, of_each(kept.test, counter, numbers), node))
    arguments = [copied(at), load(where), load(values), load(kept.name)]
    if kept.entry is not None:
        before.append(assign(index, of_each(kept.entry, counter, copied(numbers)), node))
        arguments.append(load(index))
    before.append(assign(values, ast.List([], ast.Load()), node))
    keep = ast.Expr(call("append_where" if kept.entry is None else "write_where", arguments, node))
    after.append(near(ast.copy_location(keep, node), node))
    for statement in (*before, *after):
        at_line(statement, line)


def _entries(node: ast.For, name: str) -> list[ast.expr]:
    """What a loop may read of a dict: where it uses entries of fixed keys, only these."""
    parts = walk(node)
    bases = [part for part in parts if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant)]
    own = {part.value: part for part in bases if isinstance(part.value, ast.Name) and part.value.id == name}
    if any(isinstance(part, ast.Name) and part.id == name and part not in own for part in parts):
        return [load(name)]
    made = [copied(part) for part in own.values()]
    for part in made:
        part.ctx = ast.Load()
    return [*{ast.dump(part): part for part in made}.values()]


def _kept(facts: Known, node: ast.For, statement: ast.stmt, counter: str) -> list[Kept]:
    """What the last statements of a branch keep, where the number of the turn decides on that."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return []
    bound, where = assigned([node]), (statement.test.lineno, statement.test.col_offset, KEPT)
    if not facts.may_merge(where) or counter not in reads(statement.test) or not is_known(statement.test, bound - {counter}):
        return []
    found: list[Kept] = []
    for part in reversed(statement.body):
        kept = _keeps(part, statement.test)
        if kept is None or not _is_alone(facts, node, kept.name, part):
            break
        if kept.entry is not None and not (counter in reads(kept.entry) and is_known(kept.entry, bound - {counter})):
            break
        found.insert(0, kept)
    return found


def _keeps(node: ast.stmt, test: ast.expr) -> Kept | None:
    name = appended_to(node)
    if name is not None:
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        return Kept(name, None, node.value.args[0], test)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and isinstance(node, ast.Assign):
        return Kept(target.value.id, target.slice, node.value, test)
    return None


def _is_there(node: ast.expr) -> bool:
    """Whether an expression only asks for what a turn has computed in any case, or copies it."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
        node = node.func.value
    return isinstance(node, ast.Name)


def _is_alone(facts: Known, node: ast.For, name: str, statement: ast.stmt) -> bool:
    """Whether a loop uses a variable in one statement only, and there once."""
    uses = [part for part in walk(node) if isinstance(part, ast.Name) and part.id == name]
    own = [part for part in walk(statement) if isinstance(part, ast.Name) and part.id == name]
    return facts.is_own(name) and len(uses) == len(own) == 1
