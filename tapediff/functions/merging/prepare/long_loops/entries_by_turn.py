"""Entries that each turn of a long loop adds to an array or a list are variables of the turn, and results of it.

```
for t in range(1, n):                      before = h[0]
    h[t] = a + b * h[t - 1]                for t in range(1, n):
    kept.append(h[t])                          now = a + b * before
                                               last = now
                                               before = now
                                           h[1:n] = all of `now`; kept += all of `last`
```
An array is written at one distance from the number of the turn and read at others; what it held before the loop, where that is read, is
gone through beside the loop's own values. A list is appended to once in every turn, and read from its end or by the number of the turn.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...nodes import Transformer, assign, call, children, load, near, place, walk, whole_number
from ...rules import LONG, Broken, Known
from ...variables import Names, assigned, blocks_of, bound_by, read_first, surely_assigned
from ..containers.growing.growing_lists import appended_to
from .own_arrays import changed_in_place, own_arrays
from .which_loops import gone_over

# So many entries before the newest one are carried from turn to turn.
MOST_BEFORE = 16


class Entry(NamedTuple):
    """Where an array is read or written in a turn.

    Attributes:
        offset: from the number of the turn; for `from_end`, from the end of a list.
        rest: the indices behind the first one.
    """

    offset: int
    rest: tuple[int, ...]
    from_end: bool = False


@dataclass
class Column:
    """The entries that turns write at the same indices behind the first one.

    Attributes:
        array: the variable that holds the array or list.
        rest: these indices.
        prefix: with which the names of its variables begin.
        written: the distance of the entry that is written from the number of the turn; None for a list that is read from its end only.
        before: how many entries before the newest one are carried.
        ahead: the distances at which is read what was there before the loop.
    """

    array: str
    rest: tuple[int, ...]
    prefix: str
    is_list: bool
    written: int | None
    before: int = 0
    ahead: set[int] = field(default_factory=set)

    @property
    def now(self) -> str:
        return f"{self.prefix}now"

    def earlier(self, turns: int) -> str:
        return f"{self.prefix}before{turns}" if turns else self.now

    def first(self, offset: int) -> str:
        return f"{self.prefix}first{offset}"


@dataclass(frozen=True)
class TurnEntries:
    """What a loop has become.

    Attributes:
        before: the statements before it.
        values: what it goes over, with what was in its arrays before.
        target: of a turn.
        kept: the variable that holds what a turn writes.
        columns: for the run time, where that goes.
    """

    before: list[ast.stmt]
    values: ast.expr
    target: ast.expr
    kept: str
    columns: ast.expr


def entries_by_turn(facts: Known, node: ast.For) -> TurnEntries | None:
    """Rewrites the body of a loop, in place; None if it writes no entries.

    Raises:
        Broken: it writes or reads them in other ways; the body is spoilt then.
    """
    # What a turn makes for itself it may write to as it likes.
    own = own_arrays(facts, node.body)
    stored = stored_to(node.body) - own
    appends = {name: s for s in node.body if (name := appended_to(s)) is not None and name not in own}
    if not stored and not appends:
        return None
    counter, step = counter_of(facts, node)
    for name in sorted(stored | appends.keys()):
        if not facts.is_own(name):
            raise Broken("shared", node, f"{name} is shared with another function")
        if name in assigned([node]) or (name in stored and name in appends):
            raise Broken("writes", node, f"the loop binds {name} and writes to it")
    if counter in assigned(node.body):
        raise Broken("writes", node, f"the loop binds {counter}")
    reading = _Reading(frozenset(stored), frozenset(appends), counter)
    for statement in node.body:
        reading.statement(statement)
    columns = _columns(reading, node, step, facts.number())
    _rewrite(node.body, _Entries(reading, columns, step, node))
    _add_firsts(columns, node)
    kept, values = f"{columns[0].prefix}kept", f"{columns[0].prefix}values"
    node.body.append(assign(kept, ast.Tuple([load(column.now) for column in columns], ast.Load()), node))
    for column in columns:
        node.body += [assign(column.earlier(k), load(column.earlier(k - 1)), node) for k in range(column.before, 0, -1)]
    read = read_first(node.body) - surely_assigned(node.target)
    others = sorted(filter(facts.is_of_program, read))
    return _made(facts, node, columns, step, others, kept, values)


def _made(
    facts: Known, node: ast.For, columns: Sequence[Column], step: int, others: Sequence[str], kept: str, values: str
) -> TurnEntries:
    """What stands around the loop."""
    rows = [column.first(offset) for column in columns for offset in sorted(column.ahead)]
    earlier = [column.earlier(k) for column in columns for k in range(1, column.before + 1)]
    prefixes = tuple([column.prefix for column in columns])
    has_in_place = any(name.startswith(prefixes) for name in changed_in_place(facts, node.body))
    shapes = _tuple([
        _tuple([
            load(c.array), _tuple([*map(ast.Constant, c.rest)]), ast.Constant(c.is_list), ast.Constant(c.written), ast.Constant(step),
            ast.Constant(has_in_place), ast.Constant(c.now),
        ]) for c in columns
    ])  # fmt: skip
    asked = _tuple([_tuple([ast.Constant(c.before), _tuple([ast.Constant(k) for k in sorted(c.ahead)])]) for c in columns])
    arguments = [place(node, LONG), load(values), shapes, asked, _tuple([load(name) for name in others])]
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in [*earlier, *(f"{name}s" for name in rows)]]
    before = [assign(values, gone_over(facts, node.iter), node)]
    before.append(near(ast.Assign([ast.Tuple(targets, ast.Store())], call("first_entries", arguments, node)), node))
    made: ast.expr = load(values)
    target: ast.expr = node.target
    if rows:
        made = call("zipped", [made, *(load(f"{name}s") for name in rows)], node)
        target = near(ast.Tuple([target, *(ast.Name(name, ast.Store()) for name in rows)], ast.Store()), node)
    return TurnEntries(before, made, target, kept, shapes)


def _tuple(parts: Sequence[ast.expr]) -> ast.expr:
    return ast.Tuple(list(parts), ast.Load())


def stored_to(body: Sequence[ast.stmt]) -> set[str]:
    """The variables to whose entries statements write."""
    parts = [part for statement in body for part in walk(statement) if isinstance(part, ast.Subscript)]
    return {part.value.id for part in parts if isinstance(part.value, ast.Name) and not isinstance(part.ctx, ast.Load)}


def counter_of(facts: Known, node: ast.For) -> tuple[str, int]:
    """The variable that counts the turns of a loop, and by how much; an empty name where there is none."""
    target, values, step = node.target, node.iter, 1
    if facts.is_builtin(values, zip) and isinstance(values, ast.Call) and isinstance(target, ast.Tuple):
        if len(values.args) != len(target.elts) or not target.elts:
            return "", 1
        target, values = target.elts[0], values.args[0]
    if facts.is_builtin(values, enumerate) and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    elif facts.is_builtin(values, range) and isinstance(values, ast.Call):
        known = whole_number(values.args[2]) if len(values.args) == 3 else 1
        if known not in (1, -1):
            return "", 1
        step = known
    else:
        return "", 1
    return (target.id, step) if isinstance(target, ast.Name) else ("", 1)


class _Reading:
    """The entries that a turn reads and writes, in the order of its statements.

    Args:
        arrays, lists: those that it writes to, and appends to.
        counter: counts its turns.

    Attributes:
        entries: by node, where an entry stands.
        written: by array, where its turns write.
        is_behind: the reads of lists behind what their turn appends.
    """

    def __init__(self, arrays: Names, lists: Names, counter: str) -> None:
        self.arrays, self.lists, self._counter = arrays, lists, counter
        self.entries: dict[ast.Subscript, Entry] = {}
        self.written: dict[str, set[Entry]] = {name: set() for name in sorted(arrays)}
        self.is_behind: set[ast.Subscript] = set()
        self._appended: set[str] = set()

    def statement(self, node: ast.stmt) -> None:
        """Note the entries of one of the turn's statements."""
        name = appended_to(node)
        if name in self.lists:
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            if name in self._appended:
                raise Broken("containers", node, f"it appends to {name} twice")
            self._within(node.value.args[0])
            self._appended.add(name or "")
        else:
            self._within(node)

    def _within(self, node: ast.AST) -> None:
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Name) and part.id in self.arrays | self.lists:
                raise Broken("writes", part, f"a turn writes to {part.id}, and uses it as a whole")
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id in self.arrays | self.lists:
                self._note(part, part.value.id)
                pending += children(part.slice)
            else:
                pending += children(part)

    def _note(self, node: ast.Subscript, name: str) -> None:
        entry = self._entry(node.slice, name in self.lists)
        if entry is None:
            raise Broken("writes", node, f"a turn writes to {name}, and uses {ast.unparse(node)}")
        self.entries[node] = entry
        if not isinstance(node.ctx, ast.Load):
            self.written[name].add(entry)
        if name in self._appended:
            self.is_behind.add(node)

    def _entry(self, index: ast.expr, is_list: bool) -> Entry | None:
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        while len(parts) > 1 and isinstance(parts[-1], ast.Slice) and not any((parts[-1].lower, parts[-1].upper, parts[-1].step)):
            parts.pop()
        rest = [whole_number(part) for part in parts[1:]]
        if not parts or any(k is None or k < 0 for k in rest) or (is_list and rest):
            return None
        from_end = whole_number(parts[0])
        if from_end is not None:
            return Entry(from_end, (), True) if is_list and from_end < 0 else None
        offset = offset_from(parts[0], self._counter)
        return None if offset is None else Entry(offset, tuple(k for k in rest if k is not None))


def offset_from(node: ast.expr, counter: str) -> int | None:
    """How far an index is from the number of the turn; None where it is another one."""
    if isinstance(node, ast.Name):
        return 0 if node.id == counter else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub)):
        return None
    sides = [(node.left, node.right)] if isinstance(node.op, ast.Sub) else [(node.left, node.right), (node.right, node.left)]
    for side, other in sides:
        by = whole_number(other)
        if isinstance(side, ast.Name) and side.id == counter and by is not None:
            return -by if isinstance(node.op, ast.Sub) else by
    return None


def _columns(reading: _Reading, node: ast.For, step: int, number: int) -> list[Column]:
    columns: list[Column] = []

    def prefix() -> str:
        return f".entries{number}.{len(columns)}."

    for name, entries in reading.written.items():
        for rest in sorted({entry.rest for entry in entries}):
            offsets = {entry.offset for entry in entries if entry.rest == rest}
            others = {entry.rest for entry in entries} - {rest}
            if len(offsets) > 1 or any(other[: len(rest)] == rest for other in others):
                raise Broken("writes", node, f"a turn writes to {name} at several places")
            columns.append(Column(name, rest, prefix(), False, min(offsets)))
    for name in sorted(reading.lists):
        asked = [(n, e) for n, e in reading.entries.items() if n.value.id == name and not e.from_end]  # type: ignore[attr-defined]
        # The entries before the one that is appended are there; it is asked at run time whether that is right.
        wanted = [entry.offset + (n not in reading.is_behind) for n, entry in asked]
        if wanted and step != 1:
            raise Broken("writes", node, f"a turn appends to {name}, and reads it backwards")
        columns.append(Column(name, (), prefix(), True, max(wanted) if wanted else None))
    return columns


class _Entries(Transformer):
    """Entries as variables of the turn."""

    def __init__(self, reading: _Reading, columns: Sequence[Column], step: int, loop: ast.For) -> None:
        self.reading, self._columns, self._step, self.loop = reading, columns, step, loop

    def column(self, name: str, rest: tuple[int, ...] = ()) -> Column | None:
        """The column in which an entry, or what it is a part of, is written."""
        return next((c for c in self._columns if c.array == name and rest[: len(c.rest)] == c.rest), None)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        entry = self.reading.entries.get(node)
        if entry is None:
            return self.generic_visit(node)
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        column = self.column(name, entry.rest)
        if column is None:
            if any(c.array == name and c.rest[: len(entry.rest)] == entry.rest for c in self._columns):
                raise Broken("writes", node, f"a turn writes to parts of {ast.unparse(node)}")
            raise Broken("writes", node, f"a turn writes to {name}, and reads {ast.unparse(node)}")
        if not isinstance(node.ctx, ast.Load):
            return near(ast.Name(column.now, ast.Store()), node)
        made: ast.expr = load(self._variable(column, node, entry))
        if rest := entry.rest[len(column.rest) :]:
            made = ast.Subscript(made, ast.Tuple([*map(ast.Constant, rest)], ast.Load()), ast.Load())
        return near(made, node)

    def _variable(self, column: Column, node: ast.Subscript, entry: Entry) -> str:
        if entry.from_end:
            turns = -entry.offset - (node in self.reading.is_behind)
        else:
            assert column.written is not None
            turns = (column.written - entry.offset) * self._step
        if turns < 0 and column.is_list:
            raise Broken("writes", node, f"{ast.unparse(node)} is not there yet")
        if turns < 0:
            column.ahead.add(entry.offset)
            return column.first(entry.offset)
        if turns > MOST_BEFORE:
            raise Broken("writes", node, f"{ast.unparse(node)} is {turns} turns old")
        column.before = max(column.before, turns)
        return column.earlier(turns)


def _rewrite(body: list[ast.stmt], entries: _Entries) -> None:
    """The statements of a turn, in place: what they store is as its array has it at once."""
    made: list[ast.stmt] = []
    for node in body:
        name = appended_to(node)
        column = entries.column(name) if name in entries.reading.lists and name is not None else None
        if column is not None:
            assert isinstance(node, ast.Expr)
            assert isinstance(node.value, ast.Call)
            made.append(assign(column.now, entries.visit(node.value.args[0]), node))
            continue
        if isinstance(node, ast.AugAssign) and node.target in entries.reading.entries:
            assert isinstance(node.target, ast.Subscript)
            old = ast.Subscript(node.target.value, node.target.slice, ast.Load())
            entries.reading.entries[old] = entries.reading.entries[node.target]
            value = near(ast.copy_location(ast.BinOp(near(old, node), node.op, node.value), node), node)
            node = near(ast.copy_location(ast.Assign([node.target], value), node), node)
        for block in blocks_of(node):
            _rewrite(block, entries)
        before = assigned([node])
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, entries.visit(value))
            elif name == "targets":
                node.targets = [entries.visit(target) for target in value]  # type: ignore[attr-defined]
        made.append(node)
        if not blocks_of(node):
            for new in sorted(assigned([node]) - before):
                made.append(assign(new, call("stored_by_turn", [place(entries.loop, LONG), load(new), ast.Constant(new)], node), node))
    body[:] = made


def _add_firsts(columns: Sequence[Column], node: ast.For) -> None:
    """Let entries that a turn may not write, or reads before it does, be what they were before the loop."""
    first, bound = read_first(node.body), bound_by(node.body) or frozenset()
    for column in columns:
        if column.is_list or (column.now in bound and column.now not in first):
            continue
        assert column.written is not None
        column.ahead.add(column.written)
        node.body.insert(0, assign(column.now, load(column.first(column.written)), node))
